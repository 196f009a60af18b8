/* What the flaws of a model add to its counts.
 *
 * Interrupts and page faults come at times of the task's own clock that are a
 * function of seed and task, so how many there have been is computed when somebody
 * looks; nothing has to happen at the moment itself.
 */
#include "vpmu.h"

#include "decode.h"

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* In each quarter of a period one comes or, three times as often, does not; its
 * moment is random as well. Whole quarters are added up once: the course of a task
 * is remembered up to the one before the last, since somebody may ask for the
 * moment before an instruction that is counted already. */
#define STEPS 4

static bool comes(uint64_t seed, uint64_t step)
{
	return mix(seed + step * 0x9e3779b97f4a7c15ull) % STEPS == 0;
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
	return n + (comes(seed, step) && mix(seed ^ step) % size <= clock % size);
}

static uint64_t seed_of(uint32_t slot)
{
	return mix(vpmu()->flaws.seed * 0x9e3779b97f4a7c15ull + vpmu_slot(slot)->ordinal);
}

static uint64_t interrupts(uint32_t slot, uint64_t clock)
{
	return happened(&vpmu_slot(slot)->irqs, clock, vpmu()->flaws.irq_period, seed_of(slot));
}

/* A program faults in the same places every time: no seed. */
static uint64_t faults(uint32_t slot, uint64_t clock)
{
	return happened(&vpmu_slot(slot)->faults, clock, vpmu()->flaws.fault_period,
			mix(vpmu_slot(slot)->ordinal));
}

uint64_t vpmu_extra(uint32_t slot, const struct vpmu_row *row, uint64_t clock)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	const uint64_t irqs = interrupts(slot, clock);
	switch (row->kind) {
	case VPMU_INTERRUPTS:
		return irqs + (f->irq_extra ? irqs / f->irq_extra : 0);
	case VPMU_INTERRUPTS_AND_FAULTS:
		return irqs + faults(slot, clock);
	case VPMU_SPECLOCKMAP:
		return vpmu_slot(slot)->replays;
	default:
		return (row->plus_irqs ? irqs : 0) + (row->plus_faults ? faults(slot, clock) : 0) +
		       (f->speclock ? vpmu_mem(slot)->replayed[row->kind] : 0);
	}
}

bool vpmu_lazy(void)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	return f->irq_period || f->fault_period || f->speclock;
}

/* A locked instruction has retired. Now and then everything since the last one is
 * counted again: the speculation across it was rolled back. */
void vpmu_locked(struct thread *t)
{
	struct vpmu_slot *const s = vpmu_slot(t->vslot);
	struct vpmu_task_mem *const m = vpmu_mem(t->vslot);
	const uint32_t one_of = vpmu()->flaws.speclock;
	const uint32_t acc = E.modes[E.mode].acc;
	if (!acc)
		return;
	const bool replay = s->locks++ &&
			    mix(seed_of(t->vslot) + s->locks) % one_of == 0;
	s->replays += replay;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(acc >> k & 1))
			continue;
		const uint64_t now = vpmu_sum(t->vslot, k);
		if (replay)
			m->replayed[k] += now - m->at_lock[k];
		m->at_lock[k] = now;
	}
}

static bool is_x87(const struct insn *in, unsigned opcode, unsigned reg, bool memory)
{
	return in->encoding == 0 && in->map == 0 && in->opcode == opcode &&
	       (in->modrm >> 3 & 7) == reg && (in->modrm < 0xc0) == memory;
}

/* fninit, fnclex (DB E3, DB E2), fnsave (DD /6). */
static bool is_x87_state(const struct insn *in)
{
	return is_x87(in, 0xdd, 6, true) ||
	       (is_x87(in, 0xdb, 4, false) && (in->modrm == 0xe3 || in->modrm == 0xe2));
}

/* Overcounts that belong to an instruction, whenever it runs. */
void vpmu_overcount(uint8_t *vec, const struct insn *in)
{
	const uint32_t over = vpmu()->flaws.overcount;
	if (!over)
		return;
	if (over & OVER_X87_CONTROL && is_x87(in, 0xd9, 5, true))
		vec[SOFT_INSTRUCTIONS]++;
	if (over & OVER_X87_STATE && is_x87_state(in))
		vec[SOFT_INSTRUCTIONS]++;
	if (over & OVER_0F && in->classes & CLASS_0F_NONBRANCH)
		vec[SOFT_COND]++;
	if (over & OVER_CPUID_BRANCH && in->special == SPECIAL_CPUID)
		vec[SOFT_BRANCHES]++;
	if (over & OVER_CPUID_STORE && in->special == SPECIAL_CPUID)
		vec[SOFT_STORES]++;
}
