/* What the flaws of a model add to its counts.
 *
 * Interrupts and page faults come at times of the task's own clock that are a function of seed and
 * task. So how many there have been is computed when a count is read; nothing has to happen at the
 * time itself.
 */
#include "vpmu-room.h"

#include "decode.h"

static uint64_t mix(uint64_t x)
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

/* A program faults at the same times in every run: without the seed. */
static uint64_t faults(uint32_t slot, uint64_t clock)
{
	return happened(&vpmu_slot(slot)->faults, clock, vpmu()->flaws.fault_period,
			mix(vpmu_slot(slot)->ordinal));
}

uint64_t vpmu_extra(uint32_t slot, const struct vpmu_row *row, uint64_t clock)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	const uint64_t irqs = interrupts(slot, clock);
	const uint64_t alone = f->irq_alone ? irqs / f->irq_alone : 0;
	switch (row->kind) {
	case VPMU_INTERRUPTS:
		return irqs;
	case VPMU_INTERRUPTS_AND_FAULTS:
		return irqs + faults(slot, clock);
	case VPMU_SPECLOCKMAP:
		return vpmu_slot(slot)->locks;
	default:
		return (row->plus_irqs ? irqs - alone : 0) + (row->plus_faults ? faults(slot, clock) : 0) +
		       (f->speclock ? vpmu_mem(slot)->replayed[row->kind] : 0);
	}
}

bool vpmu_lazy(void)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	return f->irq_period || f->fault_period || f->speclock;
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
	const bool replay = s->locks++ != s->locks_before &&
			    mix(seed_of(t->vpmu.slot) + s->locks) % one_of == 0;
	for (unsigned k = 0; k < SOFT_EVENTS; k++) {
		if (!(acc >> k & 1))
			continue;
		const uint64_t now = vpmu_sum(t->vpmu.slot, k);
		if (replay)
			m->replayed[k] += now - m->at_lock[k];
		m->at_lock[k] = now;
	}
}

/* ---- instructions that count more than once, or less ---- */

static bool is_legacy(const struct insn *in, unsigned map, unsigned opcode)
{
	return in->encoding == 0 && in->map == map && in->opcode == opcode;
}

/* `reg`: the middle field of ModRM. */
static bool is_group(const struct insn *in, unsigned map, unsigned opcode, unsigned reg, bool memory)
{
	return is_legacy(in, map, opcode) && (in->modrm >> 3 & 7) == reg &&
	       (in->modrm < 0xc0) == memory;
}

/* A 66 prefix of an opcode in the map 0F, where it is part of the opcode: what is before the
 * 0F and nothing else that the decoder knows. */
static bool has_66(const struct insn *in)
{
	const int others = !!in->rex + !!in->rep + !!in->lock + !!in->addr32 + !!in->segment;
	return in->opcode_off > 1 + others;
}

static bool is_sfence(const struct insn *in) { return is_group(in, 1, 0xae, 7, false); }
static bool is_mfence(const struct insn *in) { return is_group(in, 1, 0xae, 6, false) && !in->rep; }
static bool is_clflush(const struct insn *in)
{
	return is_group(in, 1, 0xae, 7, true) && !has_66(in) && !in->rep;
}

/* fninit, fnclex (DB E3, DB E2), fnsave (DD /6). */
static bool is_x87_state(const struct insn *in)
{
	return is_group(in, 0, 0xdd, 6, true) ||
	       (is_group(in, 0, 0xdb, 4, false) && (in->modrm == 0xe3 || in->modrm == 0xe2));
}

/* Pentium D: fldcw, fldenv, frstor, maskmovq, emms, cvtpd2pi and cvttpd2pi from memory,
 * sfence, mfence. */
static bool is_like_fldcw(const struct insn *in)
{
	const bool memory = in->modrm < 0xc0;
	return is_group(in, 0, 0xd9, 5, true) || is_group(in, 0, 0xd9, 4, true) ||
	       is_group(in, 0, 0xdd, 4, true) || (is_legacy(in, 1, 0xf7) && !has_66(in)) ||
	       is_legacy(in, 1, 0x77) ||
	       ((is_legacy(in, 1, 0x2d) || is_legacy(in, 1, 0x2c)) && has_66(in) && !in->rep &&
		memory) ||
	       is_sfence(in) || is_mfence(in);
}

/* Core 2: leave loads twice; fstenv, fsave, fxsave, maskmovq, maskmovdqu and storing movups,
 * movupd, movdqu count as loads. */
static bool is_load_too(const struct insn *in)
{
	const bool memory = in->modrm < 0xc0;
	return is_legacy(in, 0, 0xc9) || is_group(in, 0, 0xd9, 6, true) ||
	       is_group(in, 0, 0xdd, 6, true) || (is_group(in, 1, 0xae, 0, true) && !in->rep) ||
	       is_legacy(in, 1, 0xf7) || (is_legacy(in, 1, 0x11) && !in->rep && memory) ||
	       (is_legacy(in, 1, 0x7f) && in->rep == 0xf3 && memory);
}

static bool is_padd_from_memory(const struct insn *in)
{
	return (is_legacy(in, 1, 0xfc) || is_legacy(in, 1, 0xfd) || is_legacy(in, 1, 0xd4)) &&
	       in->modrm < 0xc0;
}

bool vpmu_asks_x87(const struct insn *in)
{
	return E.vpmu && vpmu()->flaws.overcount & OVER_X87_STATE && is_x87_state(in);
}

/* One of these has retired; the status word from before it is stored (emit_x87_status()). */
void vpmu_x87(struct thread *t)
{
	const struct mode *const m = &cache.modes[cache.mode];
	if (m->acc && vpmu_mem(t->vpmu.slot)->x87_status & X87_EXCEPTIONS)
		count_add(t, SOFT_INSTRUCTIONS, 1, m);
}

/* What the model adds for an instruction in every run of it. */
void vpmu_overcount(uint8_t *vec, const struct insn *in)
{
	const uint32_t over = vpmu()->flaws.overcount;
	if (!over)
		return;
	if (over & OVER_FLDCW && is_like_fldcw(in))
		vec[SOFT_INSTRUCTIONS]++;
	if (over & OVER_0F && in->classes & CLASS_0F_NONBRANCH)
		vec[SOFT_COND]++;
	if (over & OVER_CPUID_BRANCH && in->special == SPECIAL_CPUID)
		vec[SOFT_BRANCHES]++;
	if (over & OVER_FENCE_STORE &&
	    (in->special == SPECIAL_CPUID || is_sfence(in) || is_mfence(in) || is_clflush(in)))
		vec[SOFT_STORES]++;
	if (over & OVER_LOADS && is_load_too(in))
		vec[SOFT_LOADS]++;
	if (over & UNDER_PADD_LOAD && is_padd_from_memory(in))
		vec[SOFT_LOADS]--;
}
