/* What the flaws of a model add to its counts.
 *
 * A flaw is a row of a table: a cause, the events that count it, and how much (vpmu-abi.h).
 * Interrupts come at times of the task's own clock that are a function of seed and task. So how
 * many there have been is computed when a count is read; nothing has to happen at the time itself.
 * Page faults and context switches are real: the kernel's number of them, noted when the task enters
 * the engine to read or switch a counter. Instructions are counted by the code itself (vpmu-insns.c).
 */
#include "vpmu-room.h"

#include "sys.h"

uint64_t vpmu_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* In each quarter of a period an interrupt comes with a probability of one quarter, at a random
 * time. Whole quarters are added up once; the sum is remembered up to the quarter before the last,
 * because a count may be read as of before an instruction that is counted already. */
#define STEPS 4

static bool comes(uint64_t seed, uint64_t step)
{
	return vpmu_mix(seed + step * 0x9e3779b97f4a7c15ull) % STEPS == 0;
}

static uint64_t happened(struct vpmu_course *c, uint64_t clock, uint64_t period, uint64_t seed)
{
	if (!period)
		return 0;
	const uint64_t size = period < STEPS ? 1 : period / STEPS, step = clock / size;
	while (c->steps + 1 < step)
		c->count += comes(seed, c->steps++);
	uint64_t n = c->count;
	for (uint64_t s = c->steps; s < step; s++)
		n += comes(seed, s);
	return n + (comes(seed, step) && vpmu_mix(seed ^ step) % size <= clock % size);
}

uint64_t vpmu_seed(uint32_t slot)
{
	return vpmu_mix(vpmu()->flaws.seed * 0x9e3779b97f4a7c15ull + vpmu_slot(slot)->ordinal);
}

uint64_t vpmu_interrupts(uint32_t slot, uint64_t clock)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	uint64_t n = happened(&vpmu_slot(slot)->irqs, clock, f->irq_period, vpmu_seed(slot));
	for (uint32_t i = 0; i < f->n_at; i++)
		n += f->irq_at[i] <= clock;
	return n;
}

static uint64_t replays(uint32_t slot, uint64_t clock)
{
	return happened(&vpmu_slot(slot)->replays, clock, vpmu()->flaws.replay_period,
			~vpmu_seed(slot));
}

uint64_t vpmu_all_interrupts(void)
{
	uint64_t n = vpmu()->past_irqs;
	for (uint32_t i = 1; i <= vpmu()->n_slots; i++)
		n += vpmu_slot(i)->has_clock ? vpmu_interrupts(i, vpmu_clock(i)) : 0;
	return n;
}

/* Do more tasks have events than there are CPUs for them? A guess: the other tasks go on. */
static bool is_crowded(void)
{
	uint64_t mask[128];		/* 8192 CPUs */
	uint32_t cpus = 0, tasks = 0;
	const long n = sys3(__NR_sched_getaffinity, 0, sizeof(mask), mask);
	for (long i = 0; i < n / 8; i++)
		for (uint64_t bits = mask[i]; bits; bits &= bits - 1)
			cpus++;
	for (uint32_t i = 1; i <= vpmu()->n_slots; i++)
		tasks += vpmu_slot(i)->events && !vpmu_slot(i)->ended;
	return n > 0 && tasks > cpus;
}

/* Where a seccomp filter of the program might refuse the call, the numbers stay as they are. */
void vpmu_note_usage(struct thread *t)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	struct rusage r;
	if ((!vpmu()->flaws.faults && !vpmu()->flaws.switches) || guest.filtered)
		return;
	if (sys2(__NR_getrusage, RUSAGE_THREAD, &r) != 0)
		return;
	s->faults = (uint64_t)(r.ru_minflt + r.ru_majflt);
	if (!vpmu()->flaws.switches)
		return;
	const uint64_t switches = (uint64_t)(r.ru_nvcsw + r.ru_nivcsw);
	if (s->events && switches != s->switches_seen && is_crowded())
		s->switches += switches - s->switches_seen;
	s->switches_seen = switches;
}

/* ---- reads that come too early ---- */

/* What follows a serialising instruction at this distance may still be in flight, but is few
 * instructions: a read that tare or another careful program makes is exact. */
#define SERIAL_REACH 1000

void vpmu_serialised(struct thread *t)
{
	if (vpmu()->flaws.early)
		vpmu_slot(t->vpmu.slot)->serial_at = vpmu_sum(t->vpmu.slot, SOFT_INSTRUCTIONS);
}

uint64_t vpmu_missed(uint32_t slot, uint32_t row)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	const uint64_t now = vpmu_sum(slot, SOFT_INSTRUCTIONS);
	if (!f->early || !(f->early_rows >> row & 1) || now - vpmu_slot(slot)->serial_at <= SERIAL_REACH)
		return 0;
	return 1 + vpmu_mix(vpmu_seed(slot) + now) % f->early;
}

uint64_t vpmu_engine_count(uint32_t slot, unsigned k, bool before)
{
	return vpmu_sum(slot, k) - (before && k == SOFT_INSTRUCTIONS);
}

static uint64_t occurred(const struct vpmu_flaw *f, uint32_t slot, uint64_t clock, bool before)
{
	const struct vpmu_slot *const s = vpmu_slot(slot);
	switch (f->cause) {
	case CAUSE_INTERRUPT:
		return vpmu_interrupts(slot, clock);
	case CAUSE_FAULT:
		return s->faults;
	case CAUSE_EXCEPTION:
		return s->exceptions;
	case CAUSE_FIRST_FP:
		return s->first_fps;
	case CAUSE_EVENT:
		return vpmu_engine_count(slot, f->which, before);
	case CAUSE_REPLAY:
		return replays(slot, clock);
	case CAUSE_IRET:
		return s->irets;
	case CAUSE_ENTRY:
		return s->entries;
	case CAUSE_MIGRATION:
		return s->migrations;
	case CAUSE_SWITCH:
		return s->switches;
	default:
		return vpmu_sum(slot, vpmu_insns_acc[f->which]);
	}
}

uint64_t vpmu_row_count(uint32_t slot, uint32_t row, uint64_t clock, bool before)
{
	const struct vpmu_flaws *const all = &vpmu()->flaws;
	const unsigned kind = vpmu()->model.rows[row].kind;
	uint64_t sum = kind < SOFT_EVENTS ? vpmu_engine_count(slot, kind, before) : 0;
	if (all->dead >> row & 1)
		return 0;
	for (uint32_t i = 0; i < all->n_rows; i++) {
		const struct vpmu_flaw *const f = &all->rows[i];
		if (!(f->rows >> row & 1))
			continue;
		const uint64_t n = occurred(f, slot, clock, before);
		sum += (n - (f->except ? n / f->except : 0)) * (uint64_t)(int64_t)f->amount;
	}
	switch (kind) {
	case VPMU_INTERRUPTS:
		return sum + vpmu_interrupts(slot, clock);
	case VPMU_INTERRUPTS_AND_FAULTS:
		return sum + vpmu_interrupts(slot, clock) + (all->faults ? vpmu_slot(slot)->faults : 0);
	case VPMU_SPECLOCKMAP:
		return sum + vpmu_slot(slot)->locks;
	default:
		return sum + (all->speclock ? vpmu_mem(slot)->replayed[kind] : 0);
	}
}

bool vpmu_is_flawed(uint32_t row)
{
	const struct vpmu_flaws *const all = &vpmu()->flaws;
	if (row >= VPMU_MAX_ROWS)
		return false;
	for (uint32_t i = 0; i < all->n_rows; i++)
		if (all->rows[i].rows >> row & 1)
			return true;
	return all->speclock || all->bad_counter || all->narrow || all->throttle ||
	       (all->dead | all->early_rows) >> row & 1 ||
	       vpmu()->model.rows[row].kind >= SOFT_EVENTS;
}

uint32_t vpmu_wanted(uint32_t row)
{
	const struct vpmu_flaws *const all = &vpmu()->flaws;
	const unsigned kind = vpmu()->model.rows[row].kind;
	uint32_t want = kind < SOFT_EVENTS ? 1u << kind : 0;
	for (uint32_t i = 0; i < all->n_rows; i++) {
		const struct vpmu_flaw *const f = &all->rows[i];
		if (!(f->rows >> row & 1))
			continue;
		if (f->cause == CAUSE_INSN)
			want |= 1u << vpmu_insns_acc[f->which];
		else if (f->cause == CAUSE_EVENT)
			want |= 1u << f->which;
	}
	return want;
}

/* A locked instruction has retired. The CPU executed ahead of it speculatively, which
 * SpecLockMapCommit counts each time (the report: one uncontended instruction is enough to see it).
 * Now and then this work is rolled back: then everything since the last locked instruction is
 * counted again. For the first one of an image nothing is: no CPU speculates across an exec. */
void vpmu_locked(struct thread *t)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	struct vpmu_task_mem *const m = vpmu_mem(t->vpmu.slot);
	const uint32_t one_of = vpmu()->flaws.speclock;
	const uint32_t acc = cache.modes[cache.mode].acc;
	if (!acc)
		return;
	const bool replay = s->locks++ != s->locks_before && (!vpmu()->flaws.contended || E.n_own > 1) &&
			    vpmu_mix(vpmu_seed(t->vpmu.slot) + s->locks) % one_of == 0;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(acc >> k & 1))
			continue;
		const uint64_t now = vpmu_sum(t->vpmu.slot, k);
		if (replay)
			m->replayed[k] += now - m->at_lock[k];
		m->at_lock[k] = now;
	}
}

/* ---- x87 and SSE ---- */

/* An instruction that may change an exception flag has retired, and the flags are not those that
 * were seen last (emit_fp_check()). `loads`: it loads the flags from memory. */
void vpmu_fp(struct thread *t, bool loads)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	struct vpmu_task_mem *const m = vpmu_mem(t->vpmu.slot);
	const uint64_t now = m->fp_now & 0xffff;
	const uint64_t last = m->fp_minus == FP_NONE ? m->fp_start : -m->fp_minus;
	s->first_fps += m->fp_minus == FP_NONE;
	s->exceptions += !loads && m->fp_minus != FP_UNKNOWN && now & ~last & FP_FLAGS;
	m->fp_minus = -now;
}

static uint64_t fp_flags(void)
{
	uint16_t status;
	uint32_t mxcsr;
	__asm__ volatile("fnstsw %0" : "=m"(status));
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	return (status & 0xff) | (mxcsr & 0xff) << 8;
}

/* A task or an image begins, with the exception flags that it inherits. */
void vpmu_fp_begin(const struct thread *t)
{
	struct vpmu_task_mem *const m = vpmu_mem(t->vpmu.slot);
	m->fp_minus = FP_NONE;
	m->fp_start = fp_flags();
}

/* The exception flags may have changed without an exception. */
void vpmu_fp_changed(struct thread *t)
{
	struct vpmu_task_mem *const m = vpmu_mem(t->vpmu.slot);
	if (m->fp_minus != FP_NONE)
		m->fp_minus = -fp_flags();
}

void vpmu_fp_replaced(struct thread *t)
{
	struct vpmu_task_mem *const m = vpmu_mem(t->vpmu.slot);
	if (m->fp_minus != FP_NONE)
		m->fp_minus = FP_UNKNOWN;
}

void vpmu_entry(struct thread *t)
{
	__atomic_fetch_add(&vpmu_slot(t->vpmu.slot)->entries, 1, __ATOMIC_RELAXED);
}

void vpmu_iret(struct thread *t)
{
	__atomic_fetch_add(&vpmu_slot(t->vpmu.slot)->irets, 1, __ATOMIC_RELAXED);
}
