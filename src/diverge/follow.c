/* From the parting back to the cause.
 *
 * A *trail* is one value that differs: a register, flags, a vector register or a byte of memory, at a stop. The
 * instruction that wrote it last is looked up in the states before the stop. One of what that instruction read
 * differs, too, and is followed next; if nothing that it read differs, it is the origin itself. Memory that no
 * instruction of the states wrote is searched for in runs of its own (diverge_search_memory), which also finds what system
 * calls and other threads write.
 */
#include "diverge-room.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_WINDOW 1000	/* states before a stop, … */
#define LAST_WINDOW 20000	/* … and when these did not do */
#define MOST_WINDOWS 16		/* of these: a pair of runs each, so in long runs … */
#define MOST_COUNTED 200000000	/* … only until they have run so many instructions */
#define MOST_STEPS 20000	/* a random number generator that is seeded in a loop takes thousands */
#define MOST_SEARCHES 12
#define STATUS_FLAGS 0x8d5u	/* CF PF AF ZF SF OF */

enum trail_kind { TRAIL_REGISTER, TRAIL_FLAGS, TRAIL_VECTOR, TRAIL_MEMORY };

struct trail {
	enum trail_kind kind;
	unsigned number;		/* of the register; the flags */
	struct flow_memory memory[2];	/* one byte, on each side */
	uint64_t at;			/* it differs at this stop */
};

struct follower {
	struct diverge *v;
	uint32_t task;
	struct pair window;
	bool have;			/* a window */
	uint64_t first, last;		/* its stops */
	unsigned searches, windows;
	uint64_t counted;		/* instructions that were run for windows */
	struct brought end;		/* where it ended */
	bool ended;
	size_t room;
};

enum { LOST = 0, FOLLOW = 1, END = 2 };	/* or a negative error */

/* ---- the window ---- */

static const struct state *state_at(const struct follower *f, int side, uint64_t count)
{
	return &f->window.track[side]->states[count - f->first];
}

static void drop_window(struct follower *f)
{
	if (f->have)
		diverge_pair_free(&f->window);
	f->have = false;
}

/* States of the stops up to `last`, as many as `size` before it. 1, 0 or an error. */
static int get_window(struct follower *f, uint64_t last, uint64_t size)
{
	drop_window(f);
	f->first = last > size ? last - size : 1;
	f->last = last;
	const int got = diverge_search_states(f->v, f->task, f->first, last, &f->window);
	f->have = got == 1;
	return got;
}

/* ---- what the user sees ---- */

static void add_step(struct follower *f, uint64_t count, uint64_t pc, const char *what)
{
	struct tare_divergence *const d = f->v->d;
	if (d->n_steps == f->room) {
		const size_t room = f->room ? f->room * 2 : 16;
		struct tare_diverge_step *const more = realloc(d->steps, room * sizeof(*more));
		if (!more)
			return;
		d->steps = more;
		f->room = room;
	}
	d->steps[d->n_steps++] = (struct tare_diverge_step){
		.count = count, .at = { pc, diverge_text(f->v, "%s", diverge_place(f->v, 0, pc)) }, .what = what };
}

static const char *register_name(unsigned n)
{
	static const char *const names[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10",
					     "r11", "r12", "r13", "r14", "r15", "eflags", "fs_base", "gs_base", "rip" };
	return n < STATE_REGISTERS ? names[n] : "?";
}

/* The value that instruction `count` has written, as it stands at the stop behind it. */
static void note_register(struct follower *f, uint64_t count, unsigned reg)
{
	const uint64_t a = state_at(f, 0, count)->registers[reg], b = state_at(f, 1, count)->registers[reg];
	add_step(f, count, state_at(f, 0, count - 1)->at.pc,
		 diverge_text(f->v, "%s: 0x%" PRIx64 " and 0x%" PRIx64, register_name(reg), a, b));
}

static void note_memory(struct follower *f, uint64_t count, const struct flow_memory *m, unsigned a, unsigned b)
{
	add_step(f, count, state_at(f, 0, count - 1)->at.pc,
		 diverge_text(f->v, "memory at 0x%" PRIx64 ": 0x%02x and 0x%02x", m->address, a, b));
}

static int end(struct follower *f, enum tare_diverge_cause cause, const char *text)
{
	f->end.cause = cause;
	snprintf(f->end.text, sizeof(f->end.text), "%s", text);
	f->ended = true;
	return END;
}

/* ---- one instruction ---- */

/* Code of the vDSO computes the time, from memory of the kernel and the time-stamp counter, or (Linux 6.11, glibc 2.41)
 * random bytes, from a key that getrandom() gave. */
static const char *place_at(const struct follower *f, uint64_t stop)
{
	return diverge_place(f->v, 0, state_at(f, 0, stop)->at.pc);
}

static bool in_vdso(const struct follower *f, uint64_t stop)
{
	return strstr(place_at(f, stop), "[vdso]") != NULL;
}

/* The nearest stop, that one or before it, at which the vDSO ran code that has a name: it has one only for what it
 * exports. */
static uint64_t named_in_vdso(const struct follower *f, uint64_t stop)
{
	while (stop > f->first && in_vdso(f, stop) && place_at(f, stop)[0] == '[')
		stop--;
	return stop;
}

static int end_in_vdso(struct follower *f, uint64_t stop)
{
	uint64_t named = named_in_vdso(f, stop);
	if (named == f->first && f->first > 1) {
		const int got = get_window(f, stop, LAST_WINDOW);
		if (got < 0)
			return got;
		named = got ? named_in_vdso(f, stop) : 0;
	}
	if (named && in_vdso(f, named) && strstr(place_at(f, named), "getrandom"))
		return end(f, TARE_DIVERGE_BY_RANDOM, "getrandom() gave other bytes, made by code of the kernel's vDSO");
	return end(f, TARE_DIVERGE_BY_TIME, "the time, which code of the kernel's vDSO read");
}

static int other_wrote(struct follower *f, uint64_t stop)
{
	if (in_vdso(f, stop))
		return end_in_vdso(f, stop);
	add_step(f, stop, state_at(f, 0, stop)->at.pc, "no instruction of this thread wrote it");
	return end(f, TARE_DIVERGE_BY_THREAD, "another thread, or a process with the same memory, wrote it at another time");
}

static int end_at_call(struct follower *f, uint64_t stop, const struct flow_memory *m)
{
	const struct state before[2] = { *state_at(f, 0, stop), *state_at(f, 1, stop) };
	if (m && !diverge_call_writes(&before[0], m))
		return other_wrote(f, stop);
	const bool have_next = f->window.track[0]->n > stop + 1 - f->first && f->window.track[1]->n > stop + 1 - f->first;
	const struct state after[2] = { have_next ? *state_at(f, 0, stop + 1) : before[0],
					have_next ? *state_at(f, 1, stop + 1) : before[1] };
	diverge_call_result(before, after, m, &f->end);
	add_step(f, stop, before[0].at.pc, diverge_text(f->v, "%s", f->end.text));
	f->ended = true;
	return END;
}

static int end_at_source(struct follower *f, enum flow_source s, uint64_t count)
{
	static const struct { enum tare_diverge_cause cause; const char *text; } ends[] = {
		[SOURCE_CLOCK] = { TARE_DIVERGE_BY_TIME, "the time-stamp counter (rdtsc)" },
		[SOURCE_RANDOM] = { TARE_DIVERGE_BY_RANDOM, "random bits of the CPU (rdrand, rdseed)" },
		[SOURCE_CPU] = { TARE_DIVERGE_BY_CPU, "what the CPU says of itself (cpuid, xgetbv)" },
		[SOURCE_CPU_NUMBER] = { TARE_DIVERGE_BY_CPU, "the number of the CPU that the thread was on (rdpid)" },
		[SOURCE_COUNTER] = { TARE_DIVERGE_BY_OUTSIDE, "a performance counter (rdpmc)" },
	};
	add_step(f, count, state_at(f, 0, count - 1)->at.pc, ends[s].text);
	return end(f, ends[s].cause, ends[s].text);
}

/* What was read was the same at the stop before. */
static int end_at_change(struct follower *f, uint64_t count)
{
	if (in_vdso(f, count - 1))
		return end_in_vdso(f, count - 1);
	return end(f, TARE_DIVERGE_BY_THREAD, "another thread, or a process with the same memory, wrote what this instruction "
		   "read");
}

static bool differing_byte(const struct state *a, const struct state *b, unsigned i, unsigned *byte)
{
	const unsigned n = a->flow.reads[i].size < b->flow.reads[i].size ? a->flow.reads[i].size : b->flow.reads[i].size;
	for (*byte = 0; *byte < n; ++*byte)
		if (a->read[i][*byte] != b->read[i][*byte])
			return true;
	return false;
}

/* What did instruction `count` read that differs? Fills *t with it. */
static int input_of(struct follower *f, uint64_t count, struct trail *t)
{
	const struct state *const a = state_at(f, 0, count - 1), *const b = state_at(f, 1, count - 1);
	const struct flow *const w = &a->flow;
	if (!w->size)
		return LOST;
	if (w->source != SOURCE_NONE && w->source != SOURCE_CPU)
		return end_at_source(f, w->source, count);
	t->at = count - 1;
	if (a->at.call >= 0 && w->regs_read >> STATE_RAX & 1)
		return end_at_call(f, count - 1, NULL);
	for (unsigned r = 0; r < 16; r++)
		if (w->regs_read >> r & 1 && a->registers[r] != b->registers[r]) {
			t->kind = TRAIL_REGISTER;
			t->number = r;
			return FOLLOW;
		}
	if (w->source == SOURCE_CPU)
		return end_at_source(f, w->source, count);
	for (unsigned i = 0; i < w->n_reads; i++) {
		unsigned byte;
		if (!differing_byte(a, b, i, &byte))
			continue;
		t->kind = TRAIL_MEMORY;
		t->memory[0] = (struct flow_memory){ w->reads[i].address + byte, 1 };
		t->memory[1] = (struct flow_memory){ b->flow.reads[i].address + byte, 1 };
		note_memory(f, count, t->memory, a->read[i][byte], b->read[i][byte]);
		return FOLLOW;
	}
	const uint64_t flags = w->flags_read & STATUS_FLAGS;
	if ((a->registers[STATE_FLAGS] ^ b->registers[STATE_FLAGS]) & flags) {
		t->kind = TRAIL_FLAGS;
		t->number = (unsigned)flags;
		return FOLLOW;
	}
	if (w->vectors_read) {
		t->kind = TRAIL_VECTOR;
		t->number = w->vectors_read;
		return FOLLOW;
	}
	return w->n_reads ? end_at_change(f, count) : LOST;
}

/* ---- the last writer ---- */

/* A vector instruction has several inputs; the one that differs may be memory, a register, or any of the vectors:
 * every writer of one of `wanted` is asked, the latest first. */
static int follow_vector(struct follower *f, struct trail *t)
{
	uint32_t wanted = t->number;
	for (uint64_t n = t->at; n > f->first && wanted; n--) {
		const struct flow *const w = &state_at(f, 0, n - 1)->flow;
		if (w->vector_written < 0 || !(wanted >> w->vector_written & 1))
			continue;
		const int got = input_of(f, n, t);
		if (got < 0 || got == END)
			return got;
		if (got == FOLLOW && t->kind != TRAIL_VECTOR)
			return FOLLOW;
		wanted = (wanted & ~(1u << w->vector_written)) | w->vectors_read;
	}
	return LOST;
}

static int follow_register(struct follower *f, struct trail *t)
{
	const unsigned reg = t->number;
	for (uint64_t n = t->at; n > f->first; n--) {
		const struct state *const before = state_at(f, 0, n - 1);
		if (before->flow.regs_written >> reg & 1) {
			note_register(f, n, reg);
			return input_of(f, n, t);
		}
		if (before->at.call >= 0 && reg == STATE_RAX)
			return end_at_call(f, n - 1, NULL);
	}
	return LOST;
}

static int follow_flags(struct follower *f, struct trail *t)
{
	for (uint64_t n = t->at; n > f->first; n--)
		if (state_at(f, 0, n - 1)->flow.flags_touched & t->number) {
			note_register(f, n, STATE_FLAGS);
			return input_of(f, n, t);
		}
	return LOST;
}

/* What a store writes comes from what it reads. Of a string that is copied, from the same place in the source. */
static int stored_from(struct follower *f, uint64_t count, struct trail *t)
{
	const struct state *const a = state_at(f, 0, count - 1);
	const struct flow *const w = &a->flow;
	const bool copies = w->n_reads == 1 && w->regs_written >> STATE_RSI & 1 && w->regs_written >> STATE_RDI & 1;
	if (!copies)
		return input_of(f, count, t);
	for (int side = 0; side < 2; side++) {
		const uint64_t *const r = state_at(f, side, count - 1)->registers;
		t->memory[side].address += r[STATE_RSI] - r[STATE_RDI];
	}
	t->at = count - 1;
	return FOLLOW;
}

/* -1: not within the states. (A system call between may have written the byte, too.) */
static int follow_memory_here(struct follower *f, struct trail *t)
{
	for (uint64_t n = t->at; n > f->first; n--) {
		const struct state *const before = state_at(f, 0, n - 1);
		if (before->at.call >= 0)
			return LOST;
		if (diverge_flow_writes(&before->flow, t->memory[0].address))
			return stored_from(f, n, t);
	}
	return LOST;
}

/* In a copy by `rep movs`, far from its start. */
static bool copies_byte(const struct state *before, const struct state *after, uint64_t address)
{
	const uint64_t from = before->registers[STATE_RDI], to = after->registers[STATE_RDI];
	return before->flow.n_writes && before->flow.regs_written >> STATE_RDI & 1 && address >= from && address < to;
}

static int start_of_memory(struct follower *f, const struct trail *t)
{
	const int err = diverge_start_memory(f->v, f->task, t->memory, &f->end, NULL);
	f->ended = err == 0;
	return err ? err : END;
}

/* The byte at that address, if the instruction at this stop reads it. */
static bool byte_read(const struct state *st, uint64_t address, uint8_t *byte)
{
	for (unsigned i = 0; i < st->flow.n_reads; i++) {
		const uint64_t at = address - st->flow.reads[i].address;
		if (at < st->flow.reads[i].size) {
			*byte = st->read[i][at];
			return true;
		}
	}
	return false;
}

/* Has the thread read the byte several times without writing it, and found another value, on one side? Or was it the same
 * on both sides a while ago? */
static bool changed_by_others(const struct follower *f, const struct trail *t)
{
	uint8_t seen[2] = { 0 };
	bool have[2] = { false, false };
	for (uint64_t n = t->at; n > f->first; n--) {
		uint8_t now[2];
		bool reads[2];
		for (int side = 0; side < 2; side++) {
			const struct state *const st = state_at(f, side, n);
			const uint64_t address = t->memory[side].address;
			if (st->at.call >= 0 || (n < t->at && diverge_flow_writes(&st->flow, address)))
				return false;
			reads[side] = byte_read(st, address, &now[side]);
			if (reads[side] && have[side] && now[side] != seen[side])
				return true;
			if (reads[side])
				seen[side] = now[side];
			have[side] |= reads[side];
		}
		if (reads[0] && reads[1] && now[0] == now[1])
			return true;
	}
	return false;
}

static int follow_memory_far(struct follower *f, struct trail *t)
{
	uint64_t lo;
	if (changed_by_others(f, t))
		return other_wrote(f, t->at);
	if (f->searches++ >= MOST_SEARCHES || f->v->o->aslr)	/* another run has other addresses */
		return LOST;
	int got = diverge_search_memory(f->v, f->task, t->memory, t->at, &lo);
	if (got == 0 && (got = diverge_search_writer(f->v, f->task, t->memory, t->at)) == 1)
		return other_wrote(f, t->at);
	if (got <= 0)
		return got;
	if (got == 2)
		return start_of_memory(f, t);
	got = get_window(f, lo + 1, FIRST_WINDOW);
	if (got <= 0)
		return got;
	const struct state *const before = state_at(f, 0, lo), *const after = state_at(f, 0, lo + 1);
	t->at = lo + 1;
	if (diverge_flow_writes(&before->flow, t->memory[0].address) || copies_byte(before, after, t->memory[0].address))
		return stored_from(f, lo + 1, t);
	return before->at.call >= 0 ? end_at_call(f, lo, t->memory) : other_wrote(f, lo);
}

static int follow_memory(struct follower *f, struct trail *t)
{
	const int got = follow_memory_here(f, t);
	return got == LOST ? follow_memory_far(f, t) : got;
}

static int follow_once(struct follower *f, struct trail *t)
{
	switch (t->kind) {
	case TRAIL_REGISTER:	return follow_register(f, t);
	case TRAIL_FLAGS:	return follow_flags(f, t);
	case TRAIL_VECTOR:	return follow_vector(f, t);
	case TRAIL_MEMORY:	break;
	}
	return follow_memory(f, t);
}

/* The stack, or the code, lies elsewhere, and the register differs by just as much. */
static int follow_moved(struct follower *f, const struct trail *t)
{
	const struct state *const a = state_at(f, 0, t->at), *const b = state_at(f, 1, t->at);
	const uint64_t moved = a->registers[t->number] - b->registers[t->number];
	if (moved && moved == a->at.pc - b->at.pc) {
		add_step(f, t->at, a->at.pc, "the value is an address in this code");
		return end(f, TARE_DIVERGE_BY_ADDRESS, "the address at which code was mapped (ASLR)");
	}
	if (t->number != STATE_RSP)
		return LOST;
	uint64_t at_start;
	struct brought start;
	const int err = diverge_start_memory(f->v, f->task, NULL, &start, &at_start);
	if (err)
		return err;
	if (moved != at_start)
		return LOST;
	add_step(f, 1, 0, diverge_text(f->v, "rsp differs by %" PRId64 " from the start on", (int64_t)moved));
	return end(f, start.cause, start.text);
}

/* Not within the states: more of them. */
static int follow_longer(struct follower *f, struct trail *t)
{
	const struct trail was = *t;
	int got = was.kind == TRAIL_REGISTER ? follow_moved(f, t) : LOST;
	if (got == LOST)
		got = follow_once(f, t);
	if (got != LOST || f->ended || was.kind == TRAIL_MEMORY)
		return got;
	if (f->first == 1 || was.at - f->first >= LAST_WINDOW || f->windows++ == MOST_WINDOWS || f->counted > MOST_COUNTED)
		return LOST;
	f->counted += was.at;
	*t = was;
	got = get_window(f, was.at, LAST_WINDOW);
	if (got <= 0)
		return got;
	got = follow_once(f, t);
	return got;
}

static int follow_trail(struct follower *f, struct trail *t)
{
	int got = FOLLOW;
	for (unsigned i = 0; i < MOST_STEPS && got == FOLLOW; i++) {
		got = follow_longer(f, t);
		if (got == FOLLOW && t->at >= f->first && t->at <= f->last && in_vdso(f, t->at))
			got = end_in_vdso(f, t->at);
	}
	return got < 0 ? got : 0;
}

/* ---- the parting ---- */

/* The kernel puts a frame of at least 128 bytes for the red zone and 500 of state on the stack, and the number of
 * the signal into rdi. No instruction but `sub rsp` moves the stack so far, and that is no parting. */
#define SIGNAL_FRAME 628
#define CALL_SIGRETURN 15

static bool in_handler(const struct state *before, const struct state *after)
{
	const uint64_t signal = after->registers[STATE_RDI];
	if (before->at.call == CALL_SIGRETURN)	/* the next signal waits for the end of a handler */
		return signal >= 1 && signal <= 64 && after->at.pc != before->at.pc;
	return after->registers[STATE_RSP] + SIGNAL_FRAME <= before->registers[STATE_RSP] && signal >= 1 && signal <= 64;
}

/* A signal came to one side here. */
static int look_for_signal(struct follower *f, uint64_t count)
{
	const size_t i = (size_t)(count - f->first);
	for (int side = 0; side < 2; side++) {
		const struct track *const t = f->window.track[side];
		if (t->n <= i + 1 || (t->ended && t->n == i + 2) || !in_handler(&t->states[i], &t->states[i + 1]))
			continue;
		char text[200];
		const int signal = (int)t->states[i + 1].registers[STATE_RDI];
		const char *const name = sigabbrev_np(signal);
		snprintf(text, sizeof(text), "the signal%s%s came to this thread here in one run, and not in the other%s",
			 name ? ", SIG" : "", name ? name : "",
			 signal == SIGCHLD ? ": a child process ended earlier than in the other run" : "");
		f->v->by_child = signal == SIGCHLD;
		return end(f, TARE_DIVERGE_BY_SIGNAL, text);
	}
	return LOST;
}

static void describe(struct follower *f, uint64_t count)
{
	struct tare_divergence *const d = f->v->d;
	const size_t i = (size_t)(count - f->first);
	const struct look *const last = &f->window.track[0]->looks[i];
	d->found = TARE_DIVERGE_POINT;
	d->is_thread = f->window.track[0]->pid != f->window.track[0]->tid;
	d->last = (struct tare_diverge_place){ last->pc, diverge_text(f->v, "%s", diverge_place(f->v, 0, last->pc)) };
	for (int side = 0; side < 2; side++) {
		const struct track *const t = f->window.track[side];
		struct tare_diverge_side *const s = &d->sides[side];
		s->ended = t->n <= i + 1 || (t->ended && t->n == i + 2);
		if (s->ended)
			continue;
		const uint64_t pc = t->looks[i + 1].pc;
		s->at = (struct tare_diverge_place){ pc, diverge_text(f->v, "%s", diverge_place(f->v, side, pc)) };
	}
}

static int cause(struct follower *f, uint64_t count)
{
	struct trail t;
	if (look_for_signal(f, count) == END)
		return 0;
	const struct state *const here = state_at(f, 0, count);
	if (here->at.call >= 0 && !here->flow.branch) {
		end_at_call(f, count, NULL);
		return 0;
	}
	const int got = input_of(f, count + 1, &t);
	if (got < 0)
		return got;
	return got == FOLLOW ? follow_trail(f, &t) : 0;
}

#define STACK_PAIRS 4		/* that part here */

struct stacks {
	struct diverge *v;
	struct tare_diverge_side seen[2];	/* of one pair: only their frames */
};

static void at_parting(const struct tare_stop *stop, int side, void *arg)
{
	struct stacks *const s = arg;
	diverge_stack(s->v, stop, &s->seen[side]);
}

/* By where they stand: with random bytes, say, the two runs of this pair may have gone the other one's way. */
static void take_stacks(struct tare_divergence *d, struct tare_diverge_side seen[2])
{
	for (int i = 0; i < 4; i++) {
		struct tare_diverge_side *const to = &d->sides[i & 1], *const from = &seen[i >> 1];
		if (to->ended || to->n_frames || !from->n_frames || from->frames[0].address != to->at.address)
			continue;
		to->frames = from->frames;
		to->n_frames = from->n_frames;
		*from = (struct tare_diverge_side){ 0 };
	}
	free(seen[0].frames);
	free(seen[1].frames);
}

static bool has_stack(const struct tare_diverge_side *s) { return s->ended || s->n_frames; }

/* The stacks of further pairs that part in the same place. */
static int see_stacks(struct follower *f, uint64_t count)
{
	struct tare_divergence *const d = f->v->d;
	for (int i = 0; i < STACK_PAIRS && !(has_stack(&d->sides[0]) && has_stack(&d->sides[1])); i++) {
		struct stacks s = { .v = f->v };
		const int got = diverge_search_again(f->v, f->task, count, at_parting, &s);
		if (got == 1)
			take_stacks(d, s.seen);
		else {
			free(s.seen[0].frames);
			free(s.seen[1].frames);
			return got;
		}
	}
	return 0;
}

static int from_the_start(struct follower *f)
{
	struct tare_divergence *const d = f->v->d;
	d->found = TARE_DIVERGE_POINT;
	d->note = "the runs differ from the first instruction on";
	return diverge_start_memory(f->v, f->task, NULL, &f->end, NULL);
}

static void name_code(const struct tare_stop *stop, int side, void *arg)
{
	struct follower *const f = arg;
	diverge_note_places(f->v, side, stop, f->window.track[side]);
	diverge_note_places(f->v, side, stop, f->window.track[!side]);
}

/* A run that ended in the window has left no process to ask for names. */
static int see_names(struct follower *f, uint64_t count)
{
	const uint64_t every = count / 8 + 1;	/* this pair may not come so far */
	struct probe_request r = { .first = (count - 1) % every + 1, .every = every, .until = count, .task = f->task,
				   .at_end = name_code, .at_each = true, .arg = f };
	int err = 0;
	for (r.side = 0; r.side < (f->v->o->aslr ? 2 : 1) && !err; r.side++) {
		struct probe p;
		err = diverge_probe_run(f->v, &r, &p);
		if (!err)
			diverge_probe_free(&p);
	}
	return err;
}

int diverge_follow(struct diverge *v, struct parting *at)
{
	struct follower f = { .v = v, .task = at->task, .window = at->pair, .have = true, .first = at->first,
			      .last = at->count };
	struct tare_divergence *const d = v->d;
	diverge_begin_stage(v, TARE_DIVERGE_CAUSE);
	v->task = at->task;
	v->by_child = false;
	int err = 0;
	if (!at->count) {
		err = from_the_start(&f);
		f.ended = true;
	} else {
		err = see_names(&f, at->count);
		if (!err)
			describe(&f, at->count);
		if (!err && !v->o->no_cause)
			err = cause(&f, at->count);
	}
	const bool over = diverge_is_over(v);
	drop_window(&f);
	if (!err && at->count)
		err = see_stacks(&f, at->count);
	if (err)
		return err;
	d->cause = f.end.cause;
	d->cause_text = f.ended ? diverge_text(v, "%s", f.end.text) :
			v->o->no_cause ? "" :
			over ? "the time for the search was over before the value was followed to its origin" :
			f.searches > MOST_SEARCHES ? "the value came through more memory than is followed" :
			"no two further runs showed where the value came from";
	return 0;
}
