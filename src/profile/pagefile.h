/* A profile being written: pages out, in an order that a crash cannot spoil.
 *
 *	struct pagefile *f;
 *	pagefile_open(path, O_TRUNC, &meta, &f, &why);
 *	const uint64_t id = pagefile_string(f, &part, 1);
 *	pagefile_events(f, page, n);		page: header room, then n records
 *	pagefile_close(f, &closing, &why);
 *
 * The first write holds all headers and the metadata, so a file is readable from
 * its first page on. Strings go out before the events that use them: whatever
 * page a kill cut off, the names of those before it are there. A page is one write
 * at a known offset; one that fails (disk full) is cut off again, and the file
 * stays readable and takes no more.
 *
 * Any thread may call pagefile_string and pagefile_events; they lock.
 */
#ifndef PROFILE_PAGEFILE_H
#define PROFILE_PAGEFILE_H

#include "format.h"

#include <tare/profile.h>

#include <sys/types.h>

struct pagefile;

struct pagefile_part {
	const char *text;	/* NULL: a reference to `id` */
	size_t len;
	uint64_t id;
};

/* What is known only at the end. */
struct pagefile_closing {
	uint64_t clamped, dropped;
	uint64_t pages, page_cost;	/* see struct tare_profile_info */
	const struct tare_profile_thread *threads;
	size_t n_threads;
};

/* `flags`: O_TRUNC where a file that is there is to be written over, O_EXCL where it
 * is not; then TARE_E_IO with EEXIST. */
int pagefile_open(const char *path, int flags, const struct tare_profile_create_options *meta,
		  struct pagefile **f, struct tare_why *why);
/* 0: failed. Texts are cut to MM_TEXT_MAX bytes. */
uint64_t pagefile_string(struct pagefile *f, const struct pagefile_part *parts, size_t n);
/* `page` has MM_PAGE_HEADER_SIZE bytes of room, then n records (n > 0). */
int pagefile_events(struct pagefile *f, uint8_t *page, size_t n);
/* The first error so far, 0 if none. */
int pagefile_error(const struct pagefile *f);
int pagefile_close(struct pagefile *f, const struct pagefile_closing *closing,
		   struct tare_why *why);
/* Frees without writing: the forked child's side of a parent's file. */
void pagefile_abandon(struct pagefile *f);
/* Gives the units of a counter by its name. */
size_t pagefile_units(const char *counter, const struct tare_profile_unit **units,
		      struct tare_profile_unit scratch[1], char *name, size_t size);

#endif
