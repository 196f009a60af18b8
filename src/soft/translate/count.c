/* From cells to events. The cell of a block says how often it ran, its vector what one run is
 * worth; thread.code.corr holds the corrections, which are not whole runs. */
#include "decode.h"
#include "calls.h"
#include "sys.h"
#include "text.h"
#include "vpmu-abi.h"

/* The bits of a byte, each to a byte of its own. */
static uint64_t spread(uint8_t bits)
{
	const uint64_t ones = 0x0101010101010101ull;
	return (((bits * ones & 0x8040201008040201ull) + 0x7f * ones) >> 7) & ones;
}

_Static_assert(CLASS_BRANCH == 1u << SOFT_BRANCHES && CLASS_COND == 1u << SOFT_COND &&
	       CLASS_LOAD == 1u << SOFT_LOADS && CLASS_STORE == 1u << SOFT_STORES &&
	       CLASS_CALL == 1u << SOFT_CALLS && CLASS_RET == 1u << SOFT_RETURNS &&
	       CLASS_INDIRECT == 1u << SOFT_INDIRECT && CLASS_SYSCALL == 1u << SOFT_SYSCALLS &&
	       CLASS_MUL == 1u << SOFT_MULTIPLIES && CLASS_DIV == 1u << SOFT_DIVIDES &&
	       CLASS_X87 == 1u << SOFT_X87 && CLASS_FP == 1u << SOFT_FP &&
	       CLASS_SIMD_INT == 1u << SOFT_SIMD_INT && CLASS_LOCKED == 1u << SOFT_LOCKED &&
	       CLASS_FAR == 1u << SOFT_FAR && SOFT_INSTRUCTIONS == 0 && SOFT_TAKEN == 16,
	       "an event's bit of the classes is its byte of the vector");

void count_vec(uint8_t *vec, const struct step *s, int n)
{
	uint64_t low = 0, high = 0;	/* a byte for each of the first 16 classes */
	for (int i = 0; i < n; i++) {
		low += spread((uint8_t)s[i].classes);
		if (s[i].classes >> 8)
			high += spread((uint8_t)(s[i].classes >> 8));
	}
	low += (unsigned)n;
	__builtin_memcpy(vec, &low, 8);
	__builtin_memcpy(vec + 8, &high, 8);
	for (int k = SOFT_TAKEN + 1; k < SOFT_EVENTS; k++) {	/* of these there is none so far */
		vec[k] = 0;
		for (int i = 0; i < n; i++)
			vec[k] += s[i].classes >> k & 1;
	}
	vec[SOFT_TAKEN] = 0;
}

void count_add_acc(struct thread *t, int event, int64_t n, const struct mode *m)
{
	if (!(m->acc >> event & 1))
		return;
	struct vpmu_task_mem *const mem = (void *)((uint64_t)t + THREAD_ACC);
	mem->acc[event][VPMU_BANKS - 1] += (uint64_t)n;
	/* the budget, if there is one, was for the count before */
	if (n > 0 && m->budgets >> event & 1)
		count_use_up(mem, event);
}

/* For code of mode `m`. Atomic, because another thread that empties the cache may fold this one's
 * counts at the same time. */
void count_add(struct thread *t, int event, int64_t n, const struct mode *m)
{
	if (counts_in_cells(m))
		__atomic_fetch_add(&t->code.corr[event], n, __ATOMIC_RELAXED);
	count_add_acc(t, event, n, m);
	if (cache.calls)
		calls_count(t, event, n);
}

void count_use_up(struct vpmu_task_mem *m, int event)
{
	/* (rdpmc adds up only those that code of the virtual PMU uses: the others are 0.) */
	const int banks = E.vpmu ? VPMU_FEW_BANKS : VPMU_CODE_BANKS;
	for (int i = 0; i < banks; i++) {
		m->acc[event][VPMU_BANKS - 1] += m->acc[event][i] + 1;
		m->acc[event][i] = -1ull;
		m->given[event][i] = 1;
	}
}

/* A number for each address that looks drawn at random (the last step of MurmurHash3). */
static uint64_t scatter(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

/* The sum over all code that ran. Two blocks that follow each other are worth what they would be worth as
 * one, so the sum does not depend on where blocks begin and end. */
static uint64_t way_of(uint64_t pc, uint64_t len, uint64_t runs)
{
	return (scatter(pc + len) - scatter(pc)) * runs;
}

void count_way(struct thread *t, uint64_t pc, uint16_t len, int64_t runs)
{
	__atomic_fetch_add(&t->code.way_corr, way_of(pc, len, (uint64_t)runs), __ATOMIC_RELAXED);
}

/* The first instructions of the block have run, before it asked. */
static void count_first(struct thread *t, const struct block *b, const struct mode *m)
{
	const uint8_t *const src = block_src(b);
	uint8_t vec[SOFT_EVENTS];
	const uint16_t off = plan_first(src, b->src_len, b->inc_at, vec);
	for (int k = 0; k < SOFT_EVENTS; k++)
		count_add(t, k, vec[k], m);
	for (int k = 0; in_vdso(b->pc) && k < SOFT_EVENTS; k++)
		t->code.vdso_corr[k] += vec[k];
	count_way(t, b->pc, off, 1);
	if (code_log_wanted())
		code_log_part(t, b->pc, src, off, b->inc_at, 1);
}

void count_ahead(uint32_t id, uint8_t vec[SOFT_EVENTS])
{
	const struct block *b = block_at(id);
	__builtin_memcpy(vec, b->vec, SOFT_EVENTS);
	if (!adds_ahead(&cache.modes[b->mode]) && (b->mode || !calls_add_ahead()))
		return;
	while (b->flags & BLOCK_FALLS && block_at(++id)->runs_from && !is_merged_stub(block_at(id))) {
		b = block_at(id);
		for (int k = 0; k < SOFT_EVENTS; k++)
			vec[k] += b->vec[k];
	}
}

void count_left(struct thread *t, uint32_t id)
{
	const struct mode *const m = &cache.modes[block_at(id)->mode];
	if (counts_in_cells(m))
		++*cell_of(t, id);
	const bool calls = calls_add_ahead() && !block_at(id)->mode;
	if (!m->acc && !calls)
		return;
	uint8_t vec[SOFT_EVENTS];
	count_ahead(id, vec);
	for (int k = 0; k < SOFT_EVENTS; k++) {
		count_add_acc(t, k, -(int64_t)vec[k], m);
		if (calls)
			calls_count(t, k, -(int64_t)vec[k]);
	}
}

struct block_to_run count_tick(struct thread *t, const struct link *l)
{
	const struct block *const b = block_at(l->bumps);
	const struct mode *const m = &cache.modes[b->mode];
	struct vpmu_task_mem *const mem = (void *)((uint64_t)t + THREAD_ACC);
	struct block_to_run r = { .bank = l->bumps % banks_of(m) };
	count_ahead(l->bumps, r.vec);
	for (uint32_t rest = m->acc & ((1u << l->next) - 1); rest; rest &= rest - 1) {
		const unsigned k = (unsigned)__builtin_ctz(rest);
		mem->acc[k][VPMU_BANKS - 1] -= r.vec[k];
	}
	r.vec[SOFT_TAKEN]++;		/* a conditional branch may be */
	if (m->late && l->next && b->inc_at)
		count_first(t, b, m);
	return r;
}

/* The events that were asked for. */
int events_wanted(uint8_t list[SOFT_EVENTS])
{
	const uint32_t mask = E.shared->event_mask;
	int n = 0;
	for (int k = 0; k < SOFT_EVENTS; k++)
		if (!mask || E.vpmu || mask >> k & 1)
			list[n++] = (uint8_t)k;
	return n;
}

uint64_t count_instructions(struct thread *t)
{
	uint64_t sum = t->code.past + (uint64_t)(t->code.corr[SOFT_INSTRUCTIONS] - t->code.past_corr);
	uint64_t last = 0, last_but_one = 0, c = 0;
	for (uint32_t id = 1; id <= cache.n_blocks; id++) {
		const struct block *const b = block_at(id);
		last_but_one = last;
		last = c;
		c = soft_runs(b->runs_from, *cell_of(t, id), last, last_but_one);
		sum += c * b->vec[SOFT_INSTRUCTIONS];
	}
	return sum;
}

void count_settle(struct thread *t)
{
	if (!E.hermetic)
		return;
	t->code.past = count_instructions(t);
	t->code.past_corr = t->code.corr[SOFT_INSTRUCTIONS];
}

void count_fold(struct thread *t)
{
	count_settle(t);
	t->code.past_corr = 0;
	struct soft_record *const r = &E.shared->records[t->record];
	uint64_t sum[SOFT_EVENTS], vdso[SOFT_EVENTS];
	/* Pairs with live_read() of the launcher, which takes no counts while this is odd. */
	__atomic_fetch_add(&r->folding, 1, __ATOMIC_SEQ_CST);
	const bool off = t->code.off;
	for (int k = 0; k < SOFT_EVENTS; k++) {
		sum[k] = (uint64_t)__atomic_exchange_n(&t->code.corr[k], 0, __ATOMIC_RELAXED);
		vdso[k] = (uint64_t)__atomic_exchange_n(&t->code.vdso_corr[k], 0, __ATOMIC_RELAXED);
	}
	if (off)
		part_take_parked(t, sum, vdso);
	mem_zero(t->code.parked_sum, sizeof(t->code.parked_sum));
	uint8_t wanted[SOFT_EVENTS];
	const int n_wanted = events_wanted(wanted);
	uint64_t *const cells = counts_of(t);
	const uint32_t n = cache.n_blocks;
	const bool logs = code_log_wanted();
	uint64_t last = 0, last_but_one = 0, c = 0;
	uint64_t way = __atomic_exchange_n(&t->code.way_corr, 0, __ATOMIC_RELAXED);
	if (logs)
		code_log_begin(t);
	for (uint32_t id = 1; id <= n; id++) {
		const struct block *const b = block_at(id);
		last_but_one = last;
		last = c;
		uint64_t *const cell = cells + soft_cell(id);
		c = soft_runs(b->runs_from, off ? *parked_cell(t, id) : cell[0] + cell[SOFT_CELLS_AWAY],
			      last, last_but_one);
		if (cell[0] | cell[SOFT_CELLS_AWAY])	/* do not write to pages of zeros */
			cell[0] = cell[SOFT_CELLS_AWAY] = 0;
		if (!c)
			continue;
		if (logs)
			code_log_block(t, id, c);
		if (E.stops && b->n_insns)
			way += way_of(b->pc, b->src_len, c);
		for (int i = 0; i < n_wanted; i++)
			sum[wanted[i]] += c * b->vec[wanted[i]];
		for (int i = 0; in_vdso(b->pc) && i < n_wanted; i++)
			vdso[wanted[i]] += c * b->vec[wanted[i]];
	}
	for (int k = 0; k < SOFT_EVENTS; k++)
		__atomic_fetch_add(&r->counts[k], sum[k], __ATOMIC_RELAXED);
	for (int k = 0; k < SOFT_EVENTS; k++)
		__atomic_fetch_add(&r->vdso[k], vdso[k], __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->way, way, __ATOMIC_RELAXED);
	if (logs)
		calls_fold(t);
	__atomic_fetch_add(&r->folding, 1, __ATOMIC_SEQ_CST);
	if (!t->record || r->is_thread || t->is_vfork)	/* (what a vfork child translates is its parent's) */
		return;
	r->blocks = cache.flushed_blocks + cache.n_blocks;
	r->code_bytes = cache.code_bytes;
	r->source_bytes = cache.source_bytes;
	r->translate_ticks = cache.ticks;
}

/* Record 0 is shared by many tasks (abi.h) and has no state. */
void record_state(const struct thread *t, uint32_t state)
{
	if (t->record)
		__atomic_store_n(&E.shared->records[t->record].state, state, __ATOMIC_RELEASE);
}

static void finish(struct thread *t, uint32_t state)
{
	count_fold(t);
	record_state(t, state);
}

/* A vfork child folds only itself, its parent all threads but vfork children. */
void count_fold_all(uint32_t state)
{
	struct thread *const self = thread_self();
	for (uint32_t i = 0; i < E.n_threads; i++) {
		struct thread *const t = thread_at(i);
		if (t->in_use && t->is_vfork == self->is_vfork && (!t->is_vfork || t == self))
			finish(t, state);
	}
}

#define CELLS_CHUNK (1ull << 18)

#define FIRST_CELLS (44u << 10)	/* of the blocks of the shortest program */

void count_map_cells(uint64_t bytes)
{
	while (cache.counts_mapped < bytes) {
		for (uint32_t i = 0; i < E.n_threads; i++)
			if (thread_at(i)->mapped)
				zone_map((uint64_t)counts_of(thread_at(i)) + cache.counts_mapped,
					 CELLS_CHUNK);
		if (!cache.counts_mapped)
			zone_touch((uint64_t)counts_of(thread_at(0)), FIRST_CELLS);
		cache.counts_mapped += CELLS_CHUNK;
	}
}
