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
 * The recorder's own work is not in the values: what writing a page, and making a
 * string id, count is taken off all later values of that thread, so that an interval in
 * which a page was written counts the same as one in which none was (x86-64: to the
 * instruction, as far as the counter is exact; elsewhere a few instructions stay). The
 * profile says how many pages were written and what that counted. Time cannot be taken
 * off: of a counter in ns, each page written is an interval of its own, kind "Recorder",
 * label "page written", which no filter of kinds leaves out.
 *
 * Signal handlers may call tare_record_begin, end, instant and integer, and
 * tare_record_here on a thread that is registered already, whatever they interrupted: these
 * functions themselves, the writing of a page, another handler. What a handler records
 * lies inside the interval that it interrupted. Signals are blocked while a page is
 * written, while a string id is made, and while a thread registers or ends. All other
 * functions here take locks and are not for handlers; nor may a handler leave by
 * siglongjmp, or use the handle after tare_record_stop(). Events of a handler that runs
 * while its thread ends, and those that find both of a thread's pages full, are counted as
 * dropped.
 *
 * A crash or kill loses at most the last unwritten page of each thread; what was
 * written is readable. A full disk stops the recording, not the program, and
 * tare_record_stop() tells. A thread that ends writes its page; exit() stops the
 * recorder. After fork() the child records nothing and leaves the file alone (it may
 * start a recorder of its own); before exec(), call tare_record_flush().
 *
 * All functions take a NULL recorder and do nothing: that is what
 * tare_record_start() gives when it was not asked (struct tare_record_options).
 *
 * A page that a handler writes while it has interrupted the read of a counter of instructions,
 * in the few instructions after rdpmc, is counted in the interval of that read; order and
 * number of the records stay right.
 */
#ifndef TARE_RECORD_H
#define TARE_RECORD_H

#include <tare/counter.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tare_recorder;

/* All zero but the size is the default. */
struct tare_record_options {
	size_t size;		/* set by TARE_RECORD_OPTIONS_INIT */
	const char *counter;	/* event name; NULL: wall-time. $TARE_RECORD_COUNTER wins */
	const char *dir;	/* NULL: the current one. $TARE_RECORD_DIR wins */
	const char *name;	/* first part of the file's name; NULL: the program's */
	const char *kinds;	/* comma-separated: only these kinds; NULL: all.
				 * $TARE_RECORD_KINDS wins */
	bool only_when_asked;	/* record only when $TARE_RECORD_DIR is set (`tare record`
				 * sets it); else *r is NULL and everything does nothing */
};
#define TARE_RECORD_OPTIONS_INIT TARE_OPTIONS_INIT(record)

/* Opens the calling thread's counter to see that it works, and the file. */
int tare_record_start(const struct tare_record_options *o, struct tare_recorder **r,
		      struct tare_why *why);
/* Writes what is left and closes. Other threads may not be recording any more. The
 * first error of the whole recording is returned (disk full, a stolen counter). */
int tare_record_stop(struct tare_recorder *r, struct tare_why *why);
/* Writes out the calling thread's page, full or not. */
int tare_record_flush(struct tare_recorder *r);
const char *tare_record_path(const struct tare_recorder *r);	/* of the file, or "" */

/* A string id. Each call writes the text again: keep the id. Of a text longer than
 * 1 MiB the rest is left out. 0: failed, or (kind) filtered out; events of kind 0 are not
 * recorded and no counter is read for them. */
uint64_t tare_record_string(struct tare_recorder *r, const char *text);
uint64_t tare_record_kind(struct tare_recorder *r, const char *name);
/* Label and arguments; takes a lock, so not for the innermost loop. */
uint64_t tare_record_event_id(struct tare_recorder *r, uint64_t label, const uint64_t *args,
			      size_t n_args);

/* What happened to a recording so far. */
struct tare_record_state {
	int error;		/* 0, or the first enum tare_err */
	uint64_t clamped;	/* intervals whose counter ran backwards, or too far */
	uint64_t dropped;	/* events not recorded: misnested, disk full, counter lost */
	uint64_t misnested;	/* intervals ended while an inner one was open */
	uint64_t pages;		/* written while their thread was recording */
	uint64_t page_cost;	/* what that counted, in the counter's unit; of a counter in
				 * ns it is in the events, of others it is in none */
	uint64_t reserved[4];
};
void tare_record_state(struct tare_recorder *r, struct tare_record_state *s);

/* The calling thread's handle; registers it the first time. Never NULL: of a NULL
 * recorder, or when the thread cannot be registered (the state has the error), it
 * is one that records nothing. */
struct tare_record_thread *tare_record_here(struct tare_recorder *r);
void tare_record_name(struct tare_record_thread *t, const char *name);

/* The words of the inline functions. Not for use by hand. */
struct tare_record_thread {
	struct tare_counter *counter;
	uint8_t *next, *end;	/* the next record, and the end of the page */
	/* Gives another place for the record when `next` is beyond `end`. x86-64: not to be
	 * called from C, see tare_record_slot(). */
	uint8_t *(*room)(struct tare_record_thread *t);
	uint32_t depth;		/* 1 + open intervals, and TARE_RECORD_PAIR */
	uint32_t id;		/* already in all records of the page */
};

/* All zero: not begun; the end of it does nothing. */
struct tare_interval {
	uint64_t kind, id, start;
	uint32_t depth;
};

#define TARE_RECORD_PAIR 0x80000000u	/* in every depth: a counter of two events */
#define TARE_RECORD_NOT 0xFFFFFFFFu	/* the depth of an interval that is not recorded */

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

TARE_INLINE void tare_record_instant(struct tare_record_thread *t, uint64_t kind, uint64_t id)
{
	uint64_t now;
	if (!kind || tare_record_now(t, t->depth, &now) != 0)
		return;
	tare_record_put(t, kind, id, now & 0xFFFFFFFFFFFFull, 0xFFFFFFFFFFFFull);
}

/* `value` has 48 bits. */
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
