/* Profiles: reading and writing .mm_profdata files.
 *
 *	struct tare_profile *p;
 *	if (tare_profile_open("run.mm_profdata", &p, &why) < 0) …
 *	struct tare_profile_cursor *c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
 *	struct tare_profile_event e;
 *	while (tare_profile_next(c, &e)) {
 *		char name[256];
 *		tare_profile_text(p, e.id, name, sizeof(name), NULL);
 *		…
 *	}
 *	tare_profile_cursor_free(c);
 *	tare_profile_close(p);
 *
 * The format is measureme's, so files of `rustc -Z self-profile` are readable and
 * measureme's tools read files written here. Versions 8 and 9 are read, 9 is
 * written. The file is mapped and never trusted; what real files lack (a tail,
 * names, valid escapes) is a warning, what no writer writes is TARE_E_FORMAT.
 *
 * Threads: any thread may call tare_profile_open(), tare_profile_open_memory(),
 * tare_profile_create() and, on one open profile, tare_profile_info(), tare_profile_warnings(),
 * tare_profile_cursor_new() and tare_profile_text(). A cursor and a writer are used by one thread at
 * a time. tare_profile_close() is called when no thread uses the profile any more.
 *
 * Side effects: an open profile is mapped memory and has no descriptor. A writer has one descriptor,
 * closed by exec.
 */
#ifndef TARE_PROFILE_H
#define TARE_PROFILE_H

#include <tare/err.h>
#include <tare/growth.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tare_profile;

struct tare_profile_unit {
	const char *name;
	uint64_t factor;	/* how many counts one of it is */
};

struct tare_profile_thread {
	uint32_t id;
	const char *name;
	uint64_t reserved[2];
};

struct tare_profile_info {
	const char *path;
	uint32_t version;
	uint64_t size_bytes;
	uint64_t n_events;
	bool has_metadata;		/* false: the program died before writing any */
	bool complete;			/* the file has a tidy end, as far as can be told */
	uint64_t start_time_ns;		/* since the epoch */
	uint32_t process_id;
	const char *cmd;
	const char *counter;		/* "wall-time", "instructions:u"; "" when not named */
	const char *unit;		/* of the values: "ns", "instructions" */
	const struct tare_profile_unit *units;	/* ascending; units[0] is `unit` */
	size_t n_units;
	bool is_time;			/* values are nanoseconds */
	bool own_axis_per_thread;	/* each thread's values start at its own 0 */
	const char *cpu;		/* as written by tare, or "" */
	const char *provenance;		/* "exact", "raw", … or "" */
	uint64_t clamped;		/* intervals whose counter ran backwards */
	uint64_t dropped;		/* events lost at recording time */
	uint64_t pages;			/* full pages written during the recording, and what that */
	uint64_t page_cost;		/* counted: in ns it is in the events, else in none */
	const struct tare_profile_thread *threads;	/* named ones, by id */
	size_t n_threads;
};

/* What was tolerated. `count` grows while events are walked and names read. */
enum tare_profile_warning_kind {
	TARE_PROFILE_TRUNCATED,		/* ends inside a page or a record */
	TARE_PROFILE_NO_STREAM,		/* a stream is missing altogether */
	TARE_PROFILE_NO_METADATA,
	TARE_PROFILE_UNFINISHED,	/* written by tare, but never closed */
	TARE_PROFILE_BAD_ESCAPE,	/* metadata with \' or \u{…} */
	TARE_PROFILE_DUPLICATE_ID,	/* index entries given twice: the last counts */
	TARE_PROFILE_UNKNOWN_ID,	/* ids without a string: shown as <unknown> */
	TARE_PROFILE_LOST_STRING,	/* strings the cut-off tail held: <unknown> */
	TARE_PROFILE_BAD_EVENT_ID,	/* label or argument empty or with control bytes */
	TARE_PROFILE_BACKWARDS,		/* intervals that end before they start */
	TARE_PROFILE_LONG_STRING,	/* texts of more than 1 MiB: cut */
	TARE_PROFILE_OVERLAP,		/* siblings that overlap without nesting */
	TARE_PROFILE_WARNINGS,		/* how many kinds this version has; grows */
};

struct tare_profile_warning {
	enum tare_profile_warning_kind kind;
	uint64_t count;
	char text[200];
	uint64_t reserved[2];
};

/* `path` "-" reads standard input (a pipe is first copied to an unnamed file in
 * $TMPDIR). The profile keeps no descriptor open. 0, or TARE_E_NO_FILE, TARE_E_IO, TARE_E_FORMAT,
 * TARE_E_NOMEM, TARE_E_INVALID; *p is then NULL. */
int tare_profile_open(const char *path, struct tare_profile **p, struct tare_why *why);
/* The bytes stay the caller's and must outlive the profile. */
int tare_profile_open_memory(const void *bytes, size_t size, struct tare_profile **p,
			     struct tare_why *why);
void tare_profile_close(struct tare_profile *p);	/* NULL is allowed */
/* Valid until the profile is closed. NULL of NULL. */
const struct tare_profile_info *tare_profile_info(const struct tare_profile *p);
/* Fills up to `max` entries, one for each kind of warning; returns how many kinds there are. */
size_t tare_profile_warnings(const struct tare_profile *p, struct tare_profile_warning *out,
			     size_t max);

enum tare_profile_type { TARE_PROFILE_INTERVAL, TARE_PROFILE_INSTANT, TARE_PROFILE_INTEGER };

struct tare_profile_event {
	enum tare_profile_type type;
	uint32_t thread;
	uint64_t kind, id;	/* string ids: see tare_profile_text */
	uint64_t start;		/* instant: its value; integer: the integer */
	uint64_t end;		/* interval only */
	uint64_t reserved[2];
};

enum tare_profile_direction { TARE_PROFILE_FORWARD, TARE_PROFILE_BACKWARD };

struct tare_profile_cursor;
/* File order, or its reverse. NULL: out of memory. Pages already passed are given
 * back to the kernel. */
struct tare_profile_cursor *tare_profile_cursor_new(struct tare_profile *p,
						    enum tare_profile_direction d);
/* False after the last event. */
bool tare_profile_next(struct tare_profile_cursor *c, struct tare_profile_event *e);
void tare_profile_cursor_free(struct tare_profile_cursor *c);	/* NULL is allowed */

/* The text of a string id into out (NUL-terminated, cut to fit), like snprintf:
 * returns its whole length or a negative error (a cycle, an address outside the
 * file). Invalid UTF-8 becomes U+FFFD; an unmapped id gives "<unknown>". In an
 * event id the bytes 0x1E separate label and arguments. Texts are cut to 1 MiB. */
long tare_profile_text(struct tare_profile *p, uint64_t id, char *out, size_t size,
		       struct tare_why *why);

/* Writing. Strings first, then the events that use them; intervals when they end,
 * per thread in the order of their ends. Not for several threads at once: that is
 * tare/record.h. */
struct tare_profile_writer;

/* What the file says about the recording; options as in tare/growth.h. */
struct tare_profile_create_options {
	size_t size;			/* set by TARE_PROFILE_CREATE_OPTIONS_INIT */
	uint64_t start_time_ns;
	uint32_t process_id;
	const char *cmd;
	const char *counter;		/* "wall-time", "instructions:u", … */
	const struct tare_profile_unit *units;	/* NULL: by the counter's name; more than one must
						 * stay until tare_profile_finish() */
	size_t n_units;
	const char *cpu;		/* NULL: left out */
	const char *provenance;		/* NULL: left out */
	bool own_axis_per_thread;
};
#define TARE_PROFILE_CREATE_OPTIONS_INIT TARE_OPTIONS_INIT(profile_create)

/* `meta` may be NULL: nothing is known. */
int tare_profile_create(const char *path, const struct tare_profile_create_options *meta,
			struct tare_profile_writer **w, struct tare_why *why);
/* A string id for `text`; an event id for a label with up to 31 arguments. Each call
 * writes the text again: keep the id. 0: out of memory, or writing the file has failed. */
uint64_t tare_profile_string(struct tare_profile_writer *w, const char *text, size_t len);
uint64_t tare_profile_event_id(struct tare_profile_writer *w, uint64_t label,
			       const uint64_t *args, size_t n_args);
/* TARE_E_RANGE: end before start, or a value beyond 48 bits. */
int tare_profile_put(struct tare_profile_writer *w, const struct tare_profile_event *e);
/* Names a thread in the metadata. */
void tare_profile_name_thread(struct tare_profile_writer *w, uint32_t id, const char *name);
/* Writes what is left and the final metadata, closes, frees; the first error of
 * the whole writing is returned. w may be NULL. */
int tare_profile_finish(struct tare_profile_writer *w, struct tare_why *why);

#ifdef __cplusplus
}
#endif
#endif
