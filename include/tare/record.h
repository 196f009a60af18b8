/* Recording intervals inside your own program.
 *
 *	struct tare_recorder *r;
 *	tare_record_start(&TARE_OPTIONS(record, .counter = "instructions:u"), &r, &why);
 *	const uint64_t kind = tare_record_kind(r, "GenericActivity");
 *	const uint64_t parse = tare_record_string(r, "parse");		once, not per event
 *
 *	struct tare_record_thread *t = tare_record_here(r);		once per thread
 *	struct tare_interval i;
 *	tare_record_begin(t, &i, kind, parse);
 *	…
 *	tare_record_end(t, &i);
 *
 *	tare_record_stop(r, &why);
 *
 * The result is NAME-PID.mm_profdata, or NAME-PID-2 and so on where that is there
 * already (tare/profile.h), for `tare summarize`, `tare aggregate`, and measureme's tools.
 *
 * Each thread has its own counter and buffer; no thread waits for another except
 * when a full page is written. begin and end cost at most 40 instructions on top of
 * their two counter reads, no system call and no allocation; a page of 8,191
 * events is written by one system call. A thread's values start at 0 when it
 * registers (wall-time: all threads share one axis).
 *
 * The values do not include the recorder's own work. The recorder measures what writing a page
 * or making a string id counts, and subtracts it from all later values of that thread: an
 * interval in which a page was written counts the same as one in which none was (x86-64: to
 * the instruction, as far as the counter is exact; elsewhere a few instructions remain). The
 * profile says how many pages were written and what that counted. Time cannot be
 * subtracted: for a counter in ns, each page written is an interval of its own, kind "Recorder",
 * label "page written", which a filter of kinds does not remove.
 *
 * A crash or kill loses at most the last unwritten page of each thread; what was
 * written is readable. A full disk stops the recording, not the program, and
 * tare_record_stop() returns the error. A thread that ends writes its page; exit() stops the
 * recorder. After fork() the child records nothing and leaves the file alone (the child can
 * start a recorder of its own); before exec(), call tare_record_flush().
 *
 * All functions that take a recorder do nothing when it is NULL, which is what
 * tare_record_start() gives when `only_when_asked` is set and nobody asked.
 *
 * Threads:
 *  - Any thread: all functions that take a recorder, except tare_record_stop(): that one thread
 *    calls, once, when no other thread records any more.
 *  - The owner: the functions that take a struct tare_record_thread, which belongs to the thread
 *    that called tare_record_here().
 *  - Signal handlers may call tare_record_begin(), tare_record_end(), tare_record_instant(),
 *    tare_record_integer(), and tare_record_here() on a thread that is registered already,
 *    whatever they interrupted: these functions themselves, the writing of a page, another
 *    handler. What a handler records lies inside the interval that it interrupted. Signals are
 *    blocked while a page is written, while a string id is made, and while a thread registers or
 *    ends. All other functions take locks and must not be called in handlers; nor may a handler
 *    leave by siglongjmp, or use the handle after tare_record_stop(). Events of a handler that runs
 *    while its thread ends, and those that find a thread's page full while it waits for the event
 *    that the handler interrupted, are counted as dropped (a thread has a second page for them, but
 *    cannot always go on in it). Pages that a handler writes are in no interval either, whatever instruction the
 *    handler interrupted: an interrupted read of the counter begins again, after the handler.
 *
 * Side effects: a recorder has its file's descriptor and one for each thread's counter (none for
 * wall-time), all closed by exec; a thread key; and, for the process, one atexit() function and
 * 16 KiB of memory that stay when it is stopped. It reads the environment ($TARE_RECORD_DIR,
 * $TARE_RECORD_COUNTER, $TARE_RECORD_KINDS).
 */
#ifndef TARE_RECORD_H
#define TARE_RECORD_H

#include <tare/counter.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tare_recorder;

/* All zero but the size is the default. A program with another user's rights (set-uid, set-gid,
 * capabilities) ignores the variables. */
struct tare_record_options {
	size_t size;		/* set by TARE_RECORD_OPTIONS_INIT */
	const char *counter;	/* event name; NULL: wall-time. $TARE_RECORD_COUNTER has priority */
	const char *dir;	/* NULL: the current one. $TARE_RECORD_DIR has priority */
	const char *name;	/* first part of the file's name; NULL: the program's */
	const char *kinds;	/* comma-separated: only these kinds; NULL: all.
				 * $TARE_RECORD_KINDS has priority */
	bool only_when_asked;	/* record only when $TARE_RECORD_DIR is set (`tare record`
				 * sets it); else *r is NULL, and all functions do nothing */
};
#define TARE_RECORD_OPTIONS_INIT TARE_OPTIONS_INIT(record)

/* Opens the file, and the calling thread's counter to see that it works. `o` may be NULL. 0, or an
 * error of tare_counter_open() or of the file; *r is then NULL. */
int tare_record_start(const struct tare_record_options *o, struct tare_recorder **r,
		      struct tare_why *why);
/* Writes what is left and closes the recorder. Other threads must not record any more. Returns
 * the first error of the whole recording (disk full, a stolen counter). */
int tare_record_stop(struct tare_recorder *r, struct tare_why *why);
/* Writes the calling thread's page, full or not. 0, or the first error of the recording. */
int tare_record_flush(struct tare_recorder *r);
/* The path of the file; "" of NULL. Valid until the recorder is stopped. */
const char *tare_record_path(const struct tare_recorder *r);

/* A string id. Each call writes the text again: keep the id. A text longer than 1 MiB is
 * cut. 0: the call failed, or (kind) the kind is filtered out; events of kind 0 are not
 * recorded, and no counter is read for them. */
uint64_t tare_record_string(struct tare_recorder *r, const char *text);
uint64_t tare_record_kind(struct tare_recorder *r, const char *name);
/* The id of a label with up to 31 arguments. The call takes a lock: not for the innermost
 * loop. */
uint64_t tare_record_event_id(struct tare_recorder *r, uint64_t label, const uint64_t *args,
			      size_t n_args);

/* What happened to a recording so far. */
struct tare_record_state {
	int error;		/* 0, or the first enum tare_err */
	uint64_t clamped;	/* intervals whose counter ran backwards, or too far; or that are
				 * shorter because two signal handlers met the writing of a page */
	uint64_t dropped;	/* events not recorded: misnested, disk full, counter lost */
	uint64_t misnested;	/* intervals ended while an inner one was open */
	uint64_t pages;		/* written while their thread was recording */
	uint64_t page_cost;	/* what that counted, in the counter's unit; of a counter in
				 * ns it is in the events, of others it is in none */
	uint64_t reserved[4];
};
void tare_record_state(struct tare_recorder *r, struct tare_record_state *s);

/* The calling thread's handle; the first call registers the thread. Never NULL: for a NULL
 * recorder, or when the thread cannot be registered (the state has the error), the
 * handle records nothing. It is valid until the thread ends or the recorder is stopped. */
struct tare_record_thread *tare_record_here(struct tare_recorder *r);
/* Names the thread in the profile. */
void tare_record_name(struct tare_record_thread *t, const char *name);

/* What the inline functions work with. Not for use by hand. */
struct tare_record_thread {
	struct tare_counter *counter;
	uint8_t *next, *end;	/* the next record, and the end of the page */
	/* Gives another place for the record when `next` is beyond `end`. x86-64: not to be
	 * called from C, see tare_record_slot(). */
	uint8_t *(*room)(struct tare_record_thread *t);
	uint32_t depth;		/* 1 + open intervals, and TARE_RECORD_PAIR */
	uint32_t id;		/* already in all records of the page */
};

/* All zero: not begun; tare_record_end() then does nothing. */
struct tare_interval {
	uint64_t kind, id, start;
	uint32_t depth;
};

#define TARE_RECORD_PAIR 0x80000000u	/* in every depth: a counter of two events */
#define TARE_RECORD_NOT 0xFFFFFFFFu	/* the depth of an interval that is not recorded */

/* What the inline functions call in rare cases. Not for use by hand. */
void tare_record_odd_begin(struct tare_record_thread *t, struct tare_interval *i);
void tare_record_odd_end(struct tare_record_thread *t, struct tare_interval *i, uint64_t end,
			 int err);

TARE_INLINE_PART int tare_record_now(struct tare_record_thread *t, uint32_t depth, uint64_t *value)
{
	return depth & TARE_RECORD_PAIR ? tare_counter_read_pair(t->counter, value)
					: tare_counter_read(t->counter, value);
}

/* The place of one record, taken by a single instruction: a handler that interrupts gets
 * the places after it. Beyond the page's end, t->room gives one.
 *
 * On x86-64 the way to t->room is asm, so that it has the same instructions in every
 * program: the recorder measures once how many, and takes them off. t->room keeps all
 * registers but the vector ones; it is given t on the stack, below the red zone, and leaves
 * the place there. */
TARE_INLINE_PART uint8_t *tare_record_slot(struct tare_record_thread *t)
{
	uint8_t *slot;
#if defined(__x86_64__) && !defined(__ILP32__)
	__asm__ volatile(
		"movl $32, %k[slot]\n\t"
		"xaddq %[slot], %c[next](%[t])\n\t"
		"cmpq %c[end](%[t]), %[slot]\n\t"
		"jae 1f\n"
		"2:\n\t"
		".subsection 1\n"
		"1:\n\t"
		"leaq -128(%%rsp), %%rsp\n\t"
		"pushq %[t]\n\t"
		"call *%c[room](%[t])\n\t"
		"popq %[slot]\n\t"
		"leaq 128(%%rsp), %%rsp\n\t"
		"jmp 2b\n\t"
		".previous"
		: [slot] "=&r"(slot)
		: [t] "r"(t), [next] "i"(offsetof(struct tare_record_thread, next)),
		  [end] "i"(offsetof(struct tare_record_thread, end)),
		  [room] "i"(offsetof(struct tare_record_thread, room))
		: "cc", "memory"
#ifdef __SSE2__
		, "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
		  "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#endif
#ifdef __AVX512F__
		, "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",
		  "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3",
		  "k4", "k5", "k6", "k7"
#endif
	);
#else
	slot = __atomic_fetch_add(&t->next, 32, __ATOMIC_RELAXED);
	if (__builtin_expect(slot >= t->end, 0))
		slot = t->room(t);
#endif
	return slot;
}

/* A record is 32 bytes, little-endian as the machines here are: kind, id, thread (there
 * already), the low 32 bits of p1, 48 bits of p2, the high 16 of p1. The kind is
 * written last, and 0 before: a record is finished when it has one. */
TARE_INLINE_PART void tare_record_put(struct tare_record_thread *t, uint64_t kind, uint64_t id,
				 uint64_t p1, uint64_t p2)
{
	uint8_t *const r = tare_record_slot(t);
	const uint32_t low = (uint32_t)p1;
	const uint16_t high = (uint16_t)(p1 >> 32);
	__builtin_memcpy(r + 8, &id, 8);
	__builtin_memcpy(r + 20, &low, 4);
	__builtin_memcpy(r + 24, &p2, 8);
	__builtin_memcpy(r + 30, &high, 2);
	/* pairs with the acquire of the thread that stops the recorder */
	__atomic_store_n((uint64_t *)(void *)r, kind, __ATOMIC_RELEASE);
}

/* An interval begins. It is recorded when it ends; intervals of a thread nest. */
TARE_INLINE void tare_record_begin(struct tare_record_thread *t, struct tare_interval *i,
				   uint64_t kind, uint64_t id)
{
	if (__builtin_expect(!kind, 0)) {
		i->depth = TARE_RECORD_NOT;
		return;
	}
	i->kind = kind;
	i->id = id;
	const uint32_t depth = t->depth + 1;
	t->depth = depth;
	i->depth = depth;
	uint64_t start;
	const int err = tare_record_now(t, depth, &start);
	i->start = start;
	if (__builtin_expect(err != 0, 0))
		tare_record_odd_begin(t, i);
}

/* The odd cases: not recorded at all, an inner interval is open, the read failed, a
 * value near or beyond the format's 48 bits, or one before the start: a corrected
 * counter can run back by one or two. */
TARE_INLINE void tare_record_end(struct tare_record_thread *t, struct tare_interval *i)
{
	const uint32_t depth = t->depth;
	if (__builtin_expect(i->depth != depth, 0)) {
		tare_record_odd_end(t, i, 0, 0);
		return;
	}
	uint64_t end;
	const int err = tare_record_now(t, depth, &end);
	const uint64_t start = i->start;
	if (__builtin_expect(err != 0 || ((end - start) | end) >> 47 != 0, 0)) {
		tare_record_odd_end(t, i, end, err);
		return;
	}
	t->depth--;
	i->depth = TARE_RECORD_NOT;	/* ended again: nothing */
	tare_record_put(t, i->kind, i->id, start, end);
}

/* A point in time. */
TARE_INLINE void tare_record_instant(struct tare_record_thread *t, uint64_t kind, uint64_t id)
{
	uint64_t now;
	if (!kind || tare_record_now(t, t->depth, &now) != 0)
		return;
	tare_record_put(t, kind, id, now & 0xFFFFFFFFFFFFull, 0xFFFFFFFFFFFFull);
}

/* A number of 48 bits. */
TARE_INLINE void tare_record_integer(struct tare_record_thread *t, uint64_t kind, uint64_t id,
				     uint64_t value)
{
	if (!kind)
		return;
	tare_record_put(t, kind, id, value & 0xFFFFFFFFFFFFull, 0xFFFFFFFFFFFEull);
}

#ifdef __cplusplus
}
#endif
#endif
