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
 * Another thread opens its own. A counter is never multiplexed unless the options
 * ask for it (struct tare_counter_options): it is on a hardware counter all the
 * time, or opening or reading it is an error.
 *
 * The *path* is how a counter is read: by an instruction (rdpmc; on arm64 a system
 * register), by read(2), or from a clock. tare_counter_open() takes the best path that
 * works, and tare_counter_path() tells which one and why. The instruction path costs 11
 * instructions (20 for a corrected pair), the serialising one included, and
 * always the same number, so that a read does not add noise of its own:
 *
 *  - A read takes no lock, and retries in one case only (below). The page says where the
 *    counter is (`index`) and what must be added to the register (`offset`); the
 *    kernel changes them only in an interrupt or system call of this very thread.
 *    So one comparison *after* the register was read tells whether both still have
 *    the values that the counter remembers. If not, the slow path finds out what
 *    happened: the counter moved to another register, the kernel rewound it after an
 *    overflow, or it was taken away. The slow path corrects the first two, and
 *    records all three in the counter's status.
 *  - index and the low half of offset are neighbours in the page, and eight bytes
 *    are compared at once. An overflow changes the low half of offset: the kernel
 *    restarts the register one period lower, and the period is 2^(width-1) - 1 (or
 *    2^31 - 1 where it cannot write the upper half), never a multiple of 2^32.
 *  - The register has `width` bits, with the sign in the topmost; instead of two
 *    shifts, (register ^ sign) + bias, with the sign, offset and start in bias.
 *  - A signal handler can change bias between the two: the recorder takes off what it
 *    counted for itself (tare/record.h). The word that a read begins with then gets another
 *    number in bits that rdpmc does not look at, the same comparison finds it, and the read
 *    begins again. What that counted is taken off as well (`again`, where it was measured).
 *
 * fork: the kernel does not give a child its parent's pages, and rdpmc is
 * forbidden to it. A child finds the counter switched off, however it was forked
 * (the words that the fast read looks at are wiped by the kernel): reads give
 * TARE_E_FORKED, and tare_counter_reopen() gives the child a counter of its own.
 *
 * Threads:
 *  - Any thread: tare_counter_open(), tare_counter_open_event(), tare_group_open(), the functions
 *    that give names and texts, tare_serialize(), tare_serialize_with(), tare_serializer_auto(),
 *    tare_read_guard_install(), tare_read_guard_remove().
 *  - The owner: tare_counter_read(), _read_pair(), _read_slow(), _sample(), _reset(), _overhead(),
 *    tare_group_read(), _sample(), _reset(). Another thread gets TARE_E_WRONG_THREAD, except from an
 *    inline read by instruction: that is too short to check, and gives a meaningless number.
 *  - One thread at a time: tare_counter_path(), _serializer(), _status(), _close(),
 *    tare_group_path(), _status(), _close(), and tare_counter_reopen(), which makes the calling
 *    thread the owner.
 *  - Signal handlers of the owner: tare_counter_read(), _read_pair(), _read_slow(),
 *    tare_serialize(), tare_serialize_with(). A handler must not interrupt a sample, a reset or a
 *    reopen of the same counter.
 *
 * Side effects: an open counter has one descriptor (a corrected counter two, a group one for each
 * event), closed by exec, and four pages of memory; clocks have no descriptor. Opening loads
 * libpfm4 where tare/event.h says so. Only the read guard changes a signal disposition.
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

/* The instruction that makes a read see everything that was executed before it, and
 * nothing after it. */
enum tare_serializer {
	TARE_SERIALIZE_AUTO,	/* only to ask for: the best of this CPU */
	TARE_SERIALIZE_NONE,
	TARE_SERIALIZE_LFENCE,	/* x86, where it waits for all before it to retire */
	TARE_SERIALIZE_MFENCE,
	TARE_SERIALIZE_SERIALIZE, /* x86, Alder Lake and Sapphire Rapids on */
	TARE_SERIALIZE_CPUID,	/* any x86; a trap of some 1,000 cycles in a VM */
	TARE_SERIALIZE_ISB,	/* arm64 */
};

/* What happened to a counter since it was opened: bits. */
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

/* A value, and how it came about. */
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

/* The difference of two reads with nothing between them. Subtract `typical` from the
 * difference of two reads to get the count of the code between them. */
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
	uint64_t select;	/* 0: take the slow path. x86: rdpmc's ecx below a number that is
				 * never 0, and another one whenever bias changed; arm64: the
				 * function that reads */
	uint64_t sign;
	uint64_t bias;
	uint64_t key;		/* index and low half of offset, as in the page */
	uint64_t pair;		/* as select, for what is subtracted and read first; 0: no
				 * pair, or the slow path */
	uint64_t select2;	/* of a pair: the event itself, read second */
	uint64_t sign2, key2;	/* of what is subtracted */
	const void *page2;
	uint64_t alive;		/* 0 in a forked child, like all of the above */
	uint64_t check;		/* what the fast read compares with: key, and the word that it
				 * began with (x86: select or pair, and step; arm64: age) */
	uint64_t step;		/* of a pair, x86: from pair's register to select2's */
	uint64_t again;		/* counted by a read that begins again */
	uint64_t age;		/* arm64: another number whenever bias changed */
	uint64_t unused[2];
};

/* By name: one event of the language of tare_events_parse(), "instructions:u",
 * "instructions-minus-irqs:u", "wall-time", "page-faults" … On error *c is NULL
 * and `why` has the cause, with the kernel's errno. */
int tare_counter_open(const char *name, struct tare_counter **c, struct tare_why *why);
/* By event; `o` may be NULL. The event is copied. */
int tare_counter_open_event(const struct tare_event *event, const struct tare_counter_options *o,
			    struct tare_counter **c, struct tare_why *why);
/* Frees the memory and the descriptors. Any thread. NULL is allowed. */
void tare_counter_close(struct tare_counter *c);

/* The count since tare_counter_open(), or since the last reset. 0, or
 * TARE_E_STOLEN, TARE_E_FORKED, TARE_E_WRONG_THREAD (not on the instruction path: a few
 * instructions cannot find out which thread runs them), TARE_E_NOT_OPENED, TARE_E_IO;
 * *value is then the last value that was read. A read of a corrected counter first reads
 * the event that is subtracted: an interrupt between the two makes the value one too
 * large, never too small; an interval that begins with that read is one too small. This is so
 * whether the CPU counts an interrupt when it is taken or with the kernel's iret: for user mode both
 * have happened, or neither. Only a value that the kernel reads between interrupt and iret, of another
 * task that was switched out or killed there, depends on it: it is one too small where the event
 * counts the iret and the subtracted event the interrupt (`tare verify --experiment iret`).
 * Neither pointer may be NULL. */
TARE_INLINE int tare_counter_read(struct tare_counter *c, uint64_t *value);
/* The same, faster for a counter of two events (…-minus-…). Either function
 * gives the right value for any counter. */
TARE_INLINE int tare_counter_read_pair(struct tare_counter *c, uint64_t *value);
/* Reads by system call, with times and provenance. Returns what tare_counter_read() returns, and
 * TARE_E_NOT_SCHEDULED when an unpinned event never had a counter. */
int tare_counter_sample(struct tare_counter *c, struct tare_sample *s);
/* From now on values start at 0. Returns what tare_counter_read() returns. */
int tare_counter_reset(struct tare_counter *c);

/* The path, and why that one: *reason (may be NULL) is a sentence that lives as long as the
 * counter. TARE_PATH_AUTO of NULL. */
enum tare_path tare_counter_path(const struct tare_counter *c, const char **reason);
const char *tare_path_name(enum tare_path path);	/* "rdpmc"; "unknown". Static */
/* The serialising instruction in use: NONE when there is no register to read. */
enum tare_serializer tare_counter_serializer(const struct tare_counter *c);
/* Bits of enum tare_status; they stay set until tare_counter_reopen(). */
unsigned tare_counter_status(const struct tare_counter *c);
/* "moved, wrapped", or "ok", cut to fit; returns out. */
char *tare_status_text(unsigned status, char *out, size_t size);
/* What a read costs in units of the event itself: some CPUs count a fence as a store, and
 * cpuid as a branch. Measured by this call, with some 200 reads. */
int tare_counter_overhead(struct tare_counter *c, struct tare_overhead *o);
/* Opens the same event again for the calling thread: in a forked child, or after
 * the counter was stolen. Values start at 0. On error the counter stays closed
 * (reads return TARE_E_NOT_OPENED), and can be reopened later. */
int tare_counter_reopen(struct tare_counter *c, struct tare_why *why);

/* Several events of one thread that are on counters at the same time and are read together:
 * after one serialising instruction, or by one system call. The functions do what their
 * namesakes for one counter do. */
struct tare_group;
/* The events need not outlive the call. `o` may be NULL. */
int tare_group_open(const struct tare_event *const *events, size_t n,
		    const struct tare_counter_options *o, struct tare_group **g,
		    struct tare_why *why);
void tare_group_close(struct tare_group *g);	/* NULL is allowed */
int tare_group_read(struct tare_group *g, uint64_t *values);	/* n values, in the events' order */
int tare_group_sample(struct tare_group *g, struct tare_sample *s);	/* n samples */
int tare_group_reset(struct tare_group *g);
enum tare_path tare_group_path(const struct tare_group *g, const char **reason);
unsigned tare_group_status(const struct tare_group *g);

/* The serialising instruction that AUTO means on this CPU, and executing it alone. */
enum tare_serializer tare_serializer_auto(void);
const char *tare_serializer_name(enum tare_serializer s);	/* "lfence" */
void tare_serialize(void);
/* Executes this one. TARE_E_INVALID when this CPU does not have it. */
int tare_serialize_with(enum tare_serializer s);

/* x86: the administrator can forbid rdpmc while programs use it (0 in the PMU's rdpmc
 * file). The kernel does not notify programs and leaves `index` in the page: the next read by
 * instruction ends in SIGSEGV, in every thread. With the guard, such a read continues by
 * read(2), and so do later reads of that counter (until tare_counter_reopen()); its path is
 * then TARE_PATH_READ and its status TARE_STATUS_FELL_BACK. Fast reads cost the same with and
 * without the guard.
 *
 * Side effect: the guard is a SIGSEGV handler for the whole process, until it is removed. It
 * handles a fault only at an rdpmc of the inline reads, in whatever program or library they were
 * inlined (dlopen included), and passes every other signal to the handler or default action that
 * was there before, with the mask of that handler. So install the guard after other SIGSEGV
 * handlers, or let those handlers pass on faults that are not theirs. A thread that blocks SIGSEGV
 * is not guarded: the kernel ends a process that faults while the signal is blocked. A child of
 * fork inherits the guard, exec ends it. libtare must stay loaded while the guard is installed.
 *
 * The calls are counted, so that two libraries in one process can use the guard: the last
 * tare_read_guard_remove() restores the former disposition. If the program has installed another
 * handler in the meantime, tare_read_guard_remove() returns TARE_E_BUSY and the guard stays, since
 * that handler may pass faults on to it; the guard cannot be installed again before that handler is
 * gone. Any thread. arm64: both functions do nothing and return 0, since the kernel there also
 * clears the index, and reads continue by read(2). */
int tare_read_guard_install(void);
int tare_read_guard_remove(void);

/* What the inline reads call when they cannot read a register. Not for use by hand. */
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
