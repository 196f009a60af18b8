/* What the files of this room share: the builder.
 *
 * A profile is made in three ways: of a run (codeprofile-make.c), of a file (codeprofile-read.c) and of
 * other profiles (codeprofile-merge.c). All of them feed a builder, which stores every object, file,
 * function and instruction once, adds counts, and in the end sorts the arrays and sums up what follows
 * from the instructions: lines, functions, objects, and inclusive values.
 *
 *	struct builder b;
 *	builder_open(&b, n_events);
 *	const uint32_t object = builder_object(&b, &(struct tare_codeprofile_object){ … });
 *	const uint32_t function = builder_function(&b, &(struct tare_codeprofile_function){ … });
 *	const uint32_t insn = builder_insn(&b, &(struct tare_codeprofile_insn){ … });
 *	builder_insn_counts(&b, insn)[0] += 5;
 *	err = builder_finish(&b, &profile, why);	// also after a failure: frees what there is
 *
 * The functions that add return the place of the entry, and TARE_CODEPROFILE_NONE for lack of memory,
 * which builder_finish() returns as an error. Places of functions and instructions are places in the
 * builder; in the finished profile the entries are sorted.
 */
#ifndef CODEPROFILE_ROOM_H
#define CODEPROFILE_ROOM_H

#include <tare/codeprofile.h>

#define NONE TARE_CODEPROFILE_NONE

/* Places of entries, by the hash of their keys. */
struct places {
	struct places_slot {
		uint32_t place;		/* 1 + the place; 0: free */
		uint32_t hash;		/* its low half */
	} *slots;
	size_t cap, n;
};

struct text_chunk;

/* What belongs to a profile besides its arrays. */
struct tare_codeprofile_store {
	struct text_chunk *texts;
	int64_t *counts[8];		/* blocks of counts, freed with the profile */
};

/* An array of n_events counts per entry, which moves as it grows. */
struct count_rows {
	int64_t *rows;
	size_t n, cap;
};

struct builder {
	struct tare_codeprofile *p;
	size_t n_events;
	size_t cap_objects, cap_files, cap_functions, cap_insns, cap_tasks, cap_shares, cap_contexts,
		cap_syscalls, cap_reasons;
	struct places texts, objects, files, functions, insns, shares, contexts, syscalls, tasks;
	const char **interned;
	size_t n_interned, cap_interned;
	struct count_rows insn_counts, task_counts, share_counts, context_counts;
	bool failed;			/* out of memory */
};

void builder_open(struct builder *b, size_t n_events);
/* Sorts, sums up and hands the profile over. */
int builder_finish(struct builder *b, struct tare_codeprofile **p, struct tare_why *why);

/* The text, stored once; "" for NULL and for lack of memory. */
const char *builder_text(struct builder *b, const char *text);
const char *builder_text_n(struct builder *b, const char *text, size_t n);

/* Each is stored once: objects by path, build-id, kind and deleted; files by path; functions by object,
 * offset and name; instructions by function, offset and bytes. Texts are copied, counts ignored. */
uint32_t builder_object(struct builder *b, const struct tare_codeprofile_object *o);
uint32_t builder_file(struct builder *b, const char *path, int64_t mtime);
uint32_t builder_function(struct builder *b, const struct tare_codeprofile_function *f);
uint32_t builder_insn(struct builder *b, const struct tare_codeprofile_insn *i);
/* The same for instructions that come in the order of a finished profile, within each object: no hash table is
 * needed. Not to be mixed with builder_insn(). */
uint32_t builder_insn_in_order(struct builder *b, const struct tare_codeprofile_insn *i);
/* Room for n instructions, before the first one is added. False: out of memory. */
bool builder_expect_insns(struct builder *b, size_t n);
/* By pid, tid and `exe`: a process that executes another program is another task. */
uint32_t builder_task(struct builder *b, const struct tare_codeprofile_task *t);
/* A context by parent, function, site and entry; calls are added. */
uint32_t builder_context(struct builder *b, const struct tare_codeprofile_context *c);
void builder_syscall(struct builder *b, const struct tare_codeprofile_syscall *s);
void builder_event(struct builder *b, size_t i, const struct tare_codeprofile_event *e);
/* Why counts are lower bounds; the same reason once. */
void builder_reason(struct builder *b, const char *text);

/* The counts of an entry, to be added to. Valid until the next entry is added; NULL for place NONE. */
int64_t *builder_insn_counts(struct builder *b, uint32_t insn);
int64_t *builder_task_counts(struct builder *b, uint32_t task);
int64_t *builder_context_counts(struct builder *b, uint32_t context);
int64_t *builder_share(struct builder *b, uint32_t task, uint32_t function);

/* From the contexts of a profile whose other arrays are finished (codeprofile-inclusive.c): inclusive values of
 * functions in `rows`, edges with theirs, and calls of functions. *edge_rows is to be freed with the profile.
 * False: out of memory. */
bool inclusive_sum(struct tare_codeprofile *p, int64_t *rows, int64_t **edge_rows);

/* Is the context entered by a jump (codeprofile-inclusive.c)? */
bool codeprofile_is_tail(const struct tare_codeprofile *p, const struct tare_codeprofile_context *c);

/* The profile, with calls, without the stubs of PLTs (codeprofile-plt.c). TARE_E_NOMEM: `why` may not be filled. */
int codeprofile_without_stubs(const struct tare_codeprofile *p, struct tare_codeprofile **out, struct tare_why *why);

/* Adds the sizes of n counts to *sum. False: with these counts, sums over the rows of a profile or differences could exceed
 * an int64_t; no run is that long, but a damaged file can say so. */
bool add_sizes(uint64_t *sum, const int64_t *counts, size_t n);

/* Room for one more entry in an array that has n. False: out of memory, and the array is as it was. */
bool more_room(void *array, size_t *cap, size_t n, size_t size);
/* The first room of an array, for n entries, in large pages where the kernel has them: touching new memory page by
 * page would take more time than filling it. False: out of memory. */
bool first_room(void *array, size_t *cap, size_t n, size_t size);

/* A hash of n bytes, continued from h (first: HASH_START). */
#define HASH_START 14695981039346656037ull
uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n);
uint64_t hash_u64(uint64_t h, uint64_t v);
/* Looks for an entry: *slot is the 1 + place of the first entry for which same(arg, place) holds, or the
 * free slot for it, which the caller fills, and then counts in t->n. NULL: out of memory. */
uint32_t *places_find(struct places *t, uint64_t hash, bool (*same)(const void *arg, uint32_t place),
		      const void *arg);
void places_free(struct places *t);

#endif
