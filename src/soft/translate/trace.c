/* Writing the trace (trace-abi.h): the code in front of a block and of its instructions that does it,
 * and handing full slots to the launcher.
 *
 * A block first takes the words that it may write from the thread's budget, and leaves the cache
 * before it runs if there is no room (LINK_TRACE). So a new thread, which has no slot, asks for one
 * with its first block. All of it changes no flags.
 */
#include "calls.h"
#include "emit.h"
#include "sys.h"
#include "text.h"
#include "trace-abi.h"

#include <stddef.h>

#define OFF_TRACE_AT	((uint32_t)offsetof(struct thread, trace.at))
#define OFF_TRACE_LEFT	((uint32_t)offsetof(struct thread, trace.left))
#define OFF_TRACE_FS	((uint32_t)offsetof(struct thread, trace.fs))

bool trace_wanted(void)
{
	return E.shared->flags & SOFT_FLAG_TRACE;
}

/* ---- emitting ---- */

/* What the block may write. */
static unsigned words_of(const struct plan *p)
{
	uint8_t words[TRACE_MOST];
	unsigned n = cache.calls ? 2 : 1;
	for (int i = 0; i < p->n; i++)
		n += trace_words(&p->in[i], words);
	return n;
}

/* mov [rdx + 8 × i], r */
static void store_word(struct emit *e, unsigned i, int r)
{
	b1(e, 0x48), b1(e, 0x89), b1(e, 0x42 | (unsigned)r << 3), b1(e, 8 * i);
}

/* lea rdx, [rdx + 8 × n]; mov gs:[at], rdx; rdx and rcx as they were */
static void end_words(struct emit *e, unsigned n, struct mark m)
{
	mark(e, m);
	b1(e, 0x48), b1(e, 0x8d), b1(e, 0x92), b4(e, 8 * n);
	gs_store(e, RDX, OFF_TRACE_AT);
	mark(e, m);
	gs_load(e, RDX, OFF_S3);
	m.in_s3 = -1;
	mark(e, m);
	gs_load(e, RCX, OFF_S2);
}

/* rcx and rdx are free afterwards. */
static struct mark spill_both(struct emit *e, struct mark m)
{
	mark(e, m);
	gs_store(e, RCX, OFF_S2);
	m.in_s2 = RCX;
	mark(e, m);
	gs_store(e, RDX, OFF_S3);
	m.in_s3 = RDX;
	mark(e, m);
	return m;
}

static void emit_room(struct emit *e, const struct block *b, unsigned n)
{
	const struct mark whole = plain(b->pc, 0, e);
	struct mark m = whole;
	mark(e, m);
	gs_store(e, RCX, OFF_S3);
	m.in_s3 = RCX;
	mark(e, m);
	gs_load(e, RCX, OFF_TRACE_LEFT);
	b1(e, 0x48), b1(e, 0x8d), b1(e, 0x89), b4(e, 0 - n);	/* lea rcx, [rcx - n] */
	gs_store(e, RCX, OFF_TRACE_LEFT);
	b1(e, 0x65), b1(e, 0x0f), b1(e, 0xbe), b1(e, 0x0c), b1(e, 0x25);	/* movsx ecx, its top byte */
	b4(e, GS(OFF_TRACE_LEFT + 7));
	b1(e, 0xe3);						/* jrcxz over the exit */
	uint8_t *const over = e->w;
	b1(e, 0);
	gs_load(e, RCX, OFF_S3);
	mark(e, whole);
	exit_here(e, e->dry ? 0 : new_link(b->pc, LINK_TRACE));
	*over = (uint8_t)(e->w - over - 1);
	mark(e, m);
	gs_load(e, RCX, OFF_S3);
}

void trace_block(struct emit *e, const struct plan *p, const struct block *b)
{
	emit_room(e, b, words_of(p));
	const struct mark m = spill_both(e, plain(b->pc, 0, e));
	mov_imm64(e, RCX, TRACE_BLOCK | *(const uint64_t *)(ZONE_HEAP + b->src - 8));
	gs_load(e, RDX, OFF_TRACE_AT);
	store_word(e, 0, RCX);
	if (cache.calls) {
		gs_load(e, RCX, (uint32_t)(THREAD_CALLS + offsetof(struct calls_thread, cur)));
		store_word(e, 1, RCX);
	}
	end_words(e, cache.calls ? 2 : 1, m);
}

/* rcx becomes the address of the operand; of a gather, base and displacement. rdx is free. */
static void operand_address(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc)
{
	if (is_moffs(in)) {
		uint64_t at = 0;
		mem_copy(&at, s + in->len - (in->addr32 ? 4 : 8), in->addr32 ? 4 : 8);
		mov_imm64(e, RCX, at);
	} else if (in->rip_relative) {
		mov_imm64(e, RCX, rip_target(in, s, pc));
	} else if (in->vsib) {
		struct insn plain_base = *in;
		uint8_t bytes[16];
		mem_copy(bytes, s, in->len);
		bytes[in->modrm_off + 1] = (bytes[in->modrm_off + 1] & 7) | 4 << 3;	/* no index */
		plain_base.rex = in->rex & ~2u;
		emit_lea(e, &plain_base, bytes, RCX);
	} else {
		emit_lea(e, in, s, RCX);
	}
}

/* Adds the base of fs or gs to rcx. rdx is free. */
static void add_base(struct emit *e, unsigned segment)
{
	if (segment == 0x64 && E.has_fsgsbase)
		bn(e, 5, 0xc2ae0f48f3);				/* rdfsbase rdx */
	else
		gs_load(e, RDX, segment == 0x64 ? OFF_TRACE_FS : OFF_APP_GS);
	bn(e, 4, 0x110c8d48);					/* lea rcx, [rcx + rdx] */
}

/* ---- vectors ---- */

/* ModRM with [rdx + 8 × at + 4 × half] */
static void slot_operand(struct emit *e, unsigned reg, unsigned at, unsigned half)
{
	b1(e, 0x82 | (reg & 7) << 3), b4(e, 8 * at + 4 * half);
}

/* vmovdqu [rdx + 8 × at], a vector register whose low bytes are wanted */
static void store_vector(struct emit *e, unsigned reg, unsigned bytes, unsigned at)
{
	const unsigned size = bytes > 32 ? 2 : bytes > 16 ? 1 : 0;
	if (size < 2 && reg < 16) {
		b1(e, 0xc4), b1(e, 0x61 | (~reg & 8) << 4), b1(e, 0x7a | size << 2);
	} else {
		b1(e, 0x62), b1(e, 0x61 | (~reg & 8) << 4 | (~reg & 16));
		b1(e, 0x7e), b1(e, 0x08 | size << 5);
	}
	b1(e, 0x7f);
	slot_operand(e, reg, at, 0);
}

/* Of `n` pieces of 32 bits in a row, makes words. rcx is free. */
static void spread(struct emit *e, unsigned at, unsigned n)
{
	for (unsigned i = n; i-- > 0;) {
		b1(e, 0x8b), slot_operand(e, RCX, at + i / 2, i % 2);		/* mov ecx, [the piece] */
		b1(e, 0x89), slot_operand(e, RCX, at + i, 0);			/* mov [the word], ecx */
		b1(e, 0xc7), slot_operand(e, 0, at + i, 1), b4(e, TRACE_VECTOR);
	}
}

/* The words behind the operand's of a gather or scatter; rdx is where they are written, rcx is free. Returns how
 * many there are with it. */
static unsigned store_vsib(struct emit *e, const struct insn *in)
{
	const struct vsib_shape v = vsib_shape(in);
	const unsigned n_index = v.n * v.index / 4u, n_mask = in->encoding == 3 ? 1 : v.n * v.element / 4u;
	const unsigned index = (in->sib >> 3 & 7) | (in->rex << 2 & 8) | (in->vsib_mask & 16), mask = in->vsib_mask & 15;
	store_vector(e, index, v.n * v.index, 1);
	spread(e, 1, n_index);
	if (in->encoding == 3) {
		b1(e, 0xc5), b1(e, 0xf8), b1(e, 0x91);			/* kmovw [the word], k */
		slot_operand(e, mask, 1 + n_index, 0);
		b1(e, 0x0f), b1(e, 0xb7);				/* movzx ecx, word [the word] */
		slot_operand(e, RCX, 1 + n_index, 0);
		b1(e, 0x89), slot_operand(e, RCX, 1 + n_index, 0);
	} else {
		store_vector(e, mask, v.n * v.element, 1 + n_index);
	}
	spread(e, 1 + n_index, n_mask);
	return 1 + n_index + n_mask;
}

static int register_of(unsigned word)
{
	static const int8_t of[] = { [TRACE_OPERAND] = RCX, [TRACE_RSP] = RSP, [TRACE_RBP] = RBP,
				     [TRACE_RSI] = RSI, [TRACE_RDI] = RDI, [TRACE_RAX] = RAX,
				     [TRACE_RBX] = RBX, [TRACE_RSI_AFTER] = RSI,
				     [TRACE_RDI_AFTER] = RDI };
	return of[word];
}

static bool is_after(unsigned word)
{
	return word == TRACE_RSI_AFTER || word == TRACE_RDI_AFTER;
}

/* Has the word in a register, and returns which; may change rcx and rdx, but for an operand, whose
 * address may need them: it comes first. */
static int word_in(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc, unsigned word)
{
	const bool source = word == TRACE_RSI || word == TRACE_RSI_AFTER || word == TRACE_RBX;
	if (word == TRACE_OPERAND)
		operand_address(e, in, s, pc);
	else if (source && in->seg_used)
		bn(e, 3, word == TRACE_RBX ? 0xd98948 : 0xf18948);	/* mov rcx, rbx or rsi */
	else
		return register_of(word);
	if (in->seg_used)
		add_base(e, in->seg_used);
	return RCX;
}

void trace_insn(struct emit *e, const struct insn *in, const uint8_t *s, uint64_t pc, struct mark m,
		bool after)
{
	uint8_t words[TRACE_MOST];
	const unsigned n = trace_words(in, words);
	unsigned written = 0;
	for (unsigned i = 0; i < n; i++) {
		if (is_after(words[i]) != after)
			continue;
		if (!written)
			m = spill_both(e, m);
		const int r = word_in(e, in, s, pc, words[i]);
		gs_load(e, RDX, OFF_TRACE_AT);
		store_word(e, written++, r);
		if (in->vsib) {
			written = store_vsib(e, in);
			break;
		}
	}
	if (written)
		end_words(e, written, m);
}

/* ---- slots ---- */

static uint32_t parts;		/* dumps and zeros of the process so far */

static struct trace_slot *slot_at(uint32_t n)
{
	return (struct trace_slot *)(ZONE_TRACE + (n - 1) * TRACE_SLOT);
}

void trace_fs(struct thread *t)
{
	if (trace_wanted())
		sys2(__NR_arch_prctl, ARCH_GET_FS, &t->trace.fs);
}

static bool take_free(uint32_t n)
{
	uint32_t free = TRACE_FREE;
	zone_map_shared((uint64_t)slot_at(n), TRACE_OFFSET + (n - 1) * TRACE_SLOT, TRACE_SLOT);
	return __atomic_compare_exchange_n(&slot_at(n)->state, &free, TRACE_FILLS, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* 0: there is none. */
static uint32_t take_slot(void)
{
	const uint32_t n = __atomic_add_fetch(&E.shared->trace_slots, 1, __ATOMIC_RELAXED);
	if (n <= TRACE_SLOTS && take_free(n))
		return n;
	/* all were used: look for one whose thread has ended */
	for (uint32_t i = 1; i <= TRACE_SLOTS; i++)
		if (take_free(i))
			return i;
	__atomic_fetch_add(&E.shared->trace_lost, 1, __ATOMIC_RELAXED);
	return 0;
}

static bool launcher_is_gone(void)
{
	return sys2(__NR_kill, E.shared->launcher_pid, 0) == -ESRCH;
}

#define WASTE_WORDS 8192
_Static_assert(THREAD_TRACE + 8 * WASTE_WORDS <= THREAD_ACC, "layout");

#define MARKS_ROOM 256		/* words that blocks do not use */
#define LONG_WAITS 60		/* of a second each, until the launcher is believed to be gone */

static void hand_over(struct trace_slot *s, uint32_t next)
{
	static const int64_t second[2] = { 1, 0 };
	if (!s->words[0])
		return;
	__atomic_store_n(&s->state, TRACE_FULL, __ATOMIC_RELEASE);
	__atomic_fetch_add(&E.shared->trace_posts, 1, __ATOMIC_RELEASE);
	sys3(__NR_futex, &E.shared->trace_posts, FUTEX_WAKE, 1);
	for (int waits = 0; __atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == TRACE_FULL;) {
		const long r = sys4(__NR_futex, &s->state, FUTEX_WAIT, TRACE_FULL, second);
		waits += r == -ETIMEDOUT;
		if (waits >= LONG_WAITS && launcher_is_gone())
			break;
	}
	__atomic_store_n(&s->state, next, __ATOMIC_RELEASE);
}

void trace_room(struct thread *t)
{
	if (t->trace.slot)
		hand_over(slot_at(t->trace.slot), TRACE_FILLS);
	else
		t->trace.slot = take_slot();
	if (!t->trace.slot) {
		t->trace.at = (uint64_t)t + THREAD_TRACE;	/* what it writes is lost */
		t->trace.left = WASTE_WORDS;
		return;
	}
	struct trace_slot *const s = slot_at(t->trace.slot);
	s->record = t->record;
	s->pid = t->is_vfork ? (int32_t)sys0(__NR_getpid) : E.pid;
	s->tid = t->tid;
	s->context_size = cache.calls ? calls_node_size() : 0;
	s->off = t->code.off != 0;
	s->part = parts;
	trace_fs(t);
	t->trace.at = (uint64_t)s->words;
	t->trace.left = TRACE_WORDS - MARKS_ROOM;
}

/* There is room for it: MARKS_ROOM. Between two marks of a thread it runs, and asks for room itself. */
static void put_mark(struct thread *t, uint64_t mark)
{
	if (!t->trace.slot)
		return;			/* the slot that it will take knows */
	if (t->trace.at >= (uint64_t)(slot_at(t->trace.slot)->words + TRACE_WORDS)) {
		if (t != thread_self())
			return;
		trace_room(t);
	}
	*(uint64_t *)t->trace.at = TRACE_MARK | mark;
	t->trace.at += 8;
}

void trace_switched(struct thread *t)
{
	if (trace_wanted())
		put_mark(t, t->code.off ? TRACE_OFF : TRACE_ON);
}

void trace_part_ends(struct thread *t, uint32_t dump)
{
	if (trace_wanted())
		put_mark(t, dump ? TRACE_DUMP + (uint64_t)dump : TRACE_ZERO);
}

void trace_thread_zeroed(struct thread *t)
{
	if (trace_wanted())
		put_mark(t, TRACE_ZERO_THREAD);
}

void trace_next_part(void)
{
	parts++;
}

void trace_end(struct thread *t)
{
	if (!t->trace.slot)
		return;
	hand_over(slot_at(t->trace.slot), TRACE_FREE);
	t->trace.slot = 0;
	t->trace.left = 0;
}

void trace_forked(struct thread *t)
{
	t->trace.slot = 0;
	t->trace.left = 0;
}
