/* Counters inside your own program, a few instructions per read.
 *
 *	struct tare_counter *c;
 *	struct tare_why why;
 *	if (tare_counter_open("instructions:u", &c, &why) < 0) …
 *	uint64_t before, after;
 *	tare_counter_read(c, &before);
 *	work();
 *	tare_counter_read(c, &after);
 *	printf("%" PRIu64 " instructions\n", after - before);
 *	tare_counter_close(c);
 *
 * A counter belongs to the thread that opened it and counts that thread only.
 * Another thread's tare_counter_open() gives it its own. A counter is never
 * multiplexed unless asked (struct tare_counter_options): it is on a hardware
 * counter all the time, or it is an error.
 *
 * How it is read is the *path*: by an instruction (rdpmc; on arm64 a system
 * register), by read(2), or a clock. The best one that works is taken, and
 * tare_counter_path() tells which and why. The instruction path costs 11
 * instructions (20 for a corrected pair), the serialising one included, and
 * always the same number, so that a read does not add noise of its own:
 *
 *  - It looks at no lock and never retries. The kernel's page says where the
 *    counter is (`index`) and what must be added to the register (`offset`); the
 *    kernel changes them only in an interrupt or system call of this very thread.
 *    So one comparison *after* the register was read tells whether both are as
 *    they were remembered. If not, the slow path finds out what happened: moved to
 *    another register, rewound by the kernel after an overflow, taken away.
 *    The first two are put right, and all are remembered in the counter's status.
 *  - index and the low half of offset are neighbours in the page, and eight bytes
 *    are compared at once. An overflow changes the low half of offset: the kernel
 *    restarts the register one period lower, and the period is 2^(width-1) - 1 (or
 *    2^31 - 1 where it cannot write the upper half), never a multiple of 2^32.
 *  - The register has `width` bits, with the sign in the topmost; instead of two
 *    shifts, (register ^ sign) + bias, with the sign, offset and start in bias.
 *
 * fork: the kernel does not give a child its parent's pages, and rdpmc is
 * forbidden to it. A child finds the counter switched off, however it was forked
 * (the words that the fast read looks at are wiped by the kernel): reads give
 * TARE_E_FORKED, and tare_counter_reopen() gives the child a counter of its own.
 */
#ifndef TARE_COUNTER_H
#define TARE_COUNTER_H

#include <tare/event.h>
#include <tare/growth.h>
#include <tare/measure.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions that are inlined always: compilers take an asm of eleven lines for
 * something large. The library also has them as symbols, for other languages. */
#ifndef TARE_INLINE
#define TARE_INLINE static inline __attribute__((always_inline))
#endif
/* Parts of these functions, which the library does not have as symbols. */
#define TARE_INLINE_PART static inline __attribute__((always_inline))

enum tare_path {
	TARE_PATH_AUTO,		/* only to ask for: the best that works */
	TARE_PATH_RDPMC,	/* an instruction: rdpmc, mrs pmevcntrN_el0 */
	TARE_PATH_READ,		/* read(2) */
	TARE_PATH_CLOCK,	/* clock_gettime: wall-time */
	TARE_PATH_ZERO,		/* nothing is read: zero */
};

/* What makes the reads of a counter see all that was executed before, and
 * nothing after. */
enum tare_serializer {
	TARE_SERIALIZE_AUTO,	/* only to ask for: the best of this CPU */
	TARE_SERIALIZE_NONE,
	TARE_SERIALIZE_LFENCE,	/* x86, where it waits for all before it to retire */
	TARE_SERIALIZE_MFENCE,
	TARE_SERIALIZE_SERIALIZE, /* x86, Alder Lake and Sapphire Rapids on */
	TARE_SERIALIZE_CPUID,	/* any x86; a trap of some 1,000 cycles in a VM */
	TARE_SERIALIZE_ISB,	/* arm64 */
};

/* What has happened to a counter since it was opened: bits. */
enum tare_status {
	TARE_STATUS_MOVED = 1 << 0,	/* to another register; values stay right */
	TARE_STATUS_WRAPPED = 1 << 1,	/* it overflowed and was rewound; values stay right */
	TARE_STATUS_FELL_BACK = 1 << 2,	/* a value came by read(2) instead; right. Also where
					 * the guard caught a fault */
	TARE_STATUS_SCALED = 1 << 3,	/* a value was an estimate (unpinned counters) */
	TARE_STATUS_STOLEN = 1 << 4,	/* the counter was taken away: TARE_E_STOLEN */
	TARE_STATUS_FORKED = 1 << 5,	/* this is a child: TARE_E_FORKED */
	TARE_STATUS_WRONG_THREAD = 1 << 6, /* another thread read it: TARE_E_WRONG_THREAD */
};

/* All zero but the size is the default. */
struct tare_counter_options {
	size_t size;			/* set by TARE_COUNTER_OPTIONS_INIT */
	enum tare_path path;		/* other than AUTO: that one or an error */
	enum tare_serializer serializer; /* other than LFENCE (arm64: ISB): not inline,
					  * some 200 instructions per read */
	bool unpinned;			/* may be multiplexed: values may be estimates */
};
#define TARE_COUNTER_OPTIONS_INIT TARE_OPTIONS_INIT(counter)

/* A value with everything there is to know about it. */
struct tare_sample {
	uint64_t value;			/* as tare_counter_read() */
	uint64_t raw;			/* the event itself, since the counter was opened */
	uint64_t minus;			/* what is subtracted, since it was opened; or 0 */
	uint64_t enabled_ns, running_ns;
	bool scaled;			/* an estimate: it had a counter for part of the time */
	double percent;			/* running / enabled × 100 */
	enum tare_provenance provenance;
	uint64_t reserved[4];
};

/* What two reads with nothing in between differ by. Subtract `typical` from a
 * difference of two reads to have what was between them. */
struct tare_overhead {
	uint64_t typical;		/* the most frequent */
	uint64_t min, max;
	unsigned samples;
	unsigned agreeing;		/* how many of them were typical */
	uint64_t reserved[2];
};

/* The words of the fast read; everything else is in the library. The kernel's
 * page follows immediately, so that one register reaches all of it; a corrected
 * counter's second page is at `page2`. Not for use by hand. */
struct tare_counter {
	uint64_t select;	/* 0: take the slow path. x86: rdpmc's ecx below a bit that
				 * makes it non-zero; arm64: the function that reads */
	uint64_t sign;
	uint64_t bias;
	uint64_t key;		/* index and low half of offset, as in the page */
	uint64_t pair;		/* as select, for what is subtracted and read first; 0: no
				 * pair, or the slow path */
	uint64_t select2;	/* of a pair: the event itself, read second */
	uint64_t sign2, key2;	/* of what is subtracted */
	const void *page2;
	uint64_t alive;		/* 0 in a forked child, like all of the above */
	uint64_t unused[6];
};

/* By name: one event of the language of tare_events_parse(), "instructions:u",
 * "instructions-minus-irqs:u", "wall-time", "page-faults" … On error *c is NULL
 * and `why` has the cause, with the kernel's errno. */
int tare_counter_open(const char *name, struct tare_counter **c, struct tare_why *why);
/* By event; `o` may be NULL. The event is copied. */
int tare_counter_open_event(const struct tare_event *event, const struct tare_counter_options *o,
			    struct tare_counter **c, struct tare_why *why);
/* By any thread. NULL is allowed. */
void tare_counter_close(struct tare_counter *c);

/* The count since tare_counter_open(), or since the last reset. 0, or
 * TARE_E_STOLEN, TARE_E_FORKED, TARE_E_WRONG_THREAD (seen only off the instruction
 * path: a few instructions cannot know who runs them), TARE_E_IO; *value is then
 * what was last known. Of a corrected counter, what is subtracted is read first: an
 * interrupt between the two reads makes the value one too large, never too small. */
TARE_INLINE int tare_counter_read(struct tare_counter *c, uint64_t *value);
/* The same for a counter of two events (…-minus-…), faster. Either function
 * gives the right value for any counter. */
TARE_INLINE int tare_counter_read_pair(struct tare_counter *c, uint64_t *value);
/* By system call, with times and provenance. */
int tare_counter_sample(struct tare_counter *c, struct tare_sample *s);
/* From now on values start at 0. */
int tare_counter_reset(struct tare_counter *c);

/* Which path, and why that one: a sentence that lives as long as the counter. */
enum tare_path tare_counter_path(const struct tare_counter *c, const char **reason);
const char *tare_path_name(enum tare_path path);
/* The serialising instruction in use: NONE when there is no register to read. */
enum tare_serializer tare_counter_serializer(const struct tare_counter *c);
/* enum tare_status bits; they stay set until tare_counter_reopen(). */
unsigned tare_counter_status(const struct tare_counter *c);
/* "moved, wrapped", or "ok"; returns out. */
char *tare_status_text(unsigned status, char *out, size_t size);
/* What reading costs in units of the event itself: fences are stores and cpuid is
 * a branch to some CPUs (the paper). Measured now, on this thread. */
int tare_counter_overhead(struct tare_counter *c, struct tare_overhead *o);
/* Opens the same event again for the calling thread: in a forked child, or after
 * the counter was stolen. Values start at 0. On error the counter stays closed
 * (reads give TARE_E_NOT_OPENED) and may be reopened again. */
int tare_counter_reopen(struct tare_counter *c, struct tare_why *why);

/* Several events of one thread that are on counters together, read together:
 * after one serialising instruction, or by one system call. */
struct tare_group;
int tare_group_open(const struct tare_event *const *events, size_t n,
		    const struct tare_counter_options *o, struct tare_group **g,
		    struct tare_why *why);
void tare_group_close(struct tare_group *g);
int tare_group_read(struct tare_group *g, uint64_t *values);	/* n of them, in order */
int tare_group_sample(struct tare_group *g, struct tare_sample *s);
int tare_group_reset(struct tare_group *g);
enum tare_path tare_group_path(const struct tare_group *g, const char **reason);
unsigned tare_group_status(const struct tare_group *g);

/* The serialising instruction that AUTO means here, and its use by itself: the
 * report stopped one kind of noise with nothing else. */
enum tare_serializer tare_serializer_auto(void);
const char *tare_serializer_name(enum tare_serializer s);	/* "lfence" */
void tare_serialize(void);
/* TARE_E_INVALID when this CPU does not have it. */
int tare_serialize_with(enum tare_serializer s);

/* x86: the administrator can forbid rdpmc while programs use it (0 in the PMU's rdpmc
 * file). The kernel tells nobody and leaves `index` in the page: the next read by
 * instruction ends in SIGSEGV, in every thread. With the guard such a read goes on by
 * read(2), and so do the counter's later ones (until tare_counter_reopen()); its path is
 * then TARE_PATH_READ and its status TARE_STATUS_FELL_BACK. Fast reads cost what they
 * cost without it.
 *
 * The guard is a SIGSEGV handler, for the whole process. It takes a fault for its own only
 * at an rdpmc of these very functions, in whatever program or library they were inlined
 * (dlopen included), and hands every other signal to the handler or default action that
 * was there before, with that one's mask. So install it after other SIGSEGV handlers, or
 * let those hand on what is not theirs. A thread that blocks SIGSEGV is not guarded: the
 * kernel ends a process that faults with the signal blocked. A child of fork inherits it,
 * exec ends it. libtare must stay loaded while it is installed.
 *
 * Calls count, so that two libraries in a process can have it: the last
 * tare_read_guard_remove() restores what was there before, unless somebody has put
 * another handler on top meanwhile (TARE_E_BUSY: then the guard stays, for that handler
 * may hand on to it, and cannot be installed again before that one is gone). By any thread. Not async-signal-safe. arm64: both do nothing and
 * return 0, since its kernel takes the index away too, and reads go on by themselves. */
int tare_read_guard_install(void);
int tare_read_guard_remove(void);

/* What the inline reads fall back on. */
int tare_counter_read_slow(struct tare_counter *c, uint64_t *value);

#if defined(__x86_64__) && !defined(__ILP32__)
#include <tare/counter-x86_64.h>
#elif defined(__aarch64__)
#include <tare/counter-aarch64.h>
#else
TARE_INLINE int tare_counter_read(struct tare_counter *c, uint64_t *value)
{
	return tare_counter_read_slow(c, value);
}
TARE_INLINE int tare_counter_read_pair(struct tare_counter *c, uint64_t *value)
{
	return tare_counter_read_slow(c, value);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
