/* Budgets: how many events of a kind may happen before a thread must ask C. vpmu-sampling.h explains
 * how code watches them. */
#include "translate-room.h"
#include "vpmu-abi.h"

/* Right after a run that C has limited, the next one is limited, too, if so few events are missing:
 * the block would only ask at once. */
#define SOON 8

static struct vpmu_task_mem *mem_of(struct thread *t)
{
	return (void *)((uint64_t)t + THREAD_ACC);
}

static unsigned banks(void)
{
	return banks_of(&cache.modes[cache.mode]);
}

static void limit_run(struct thread *t, unsigned kind, uint64_t left)
{
	if (!(t->code.stops >> kind & 1) || left < t->code.stop_after[kind])
		t->code.stop_after[kind] = (uint8_t)left;
	t->code.stops |= 1u << kind;
	t->code.single_pc = t->pc;
	t->vpmu.stepping = true;
}

#define REMEMBERED (1u << 18)	/* events, in the share of each bank */

/* What the banks have used since they got their parts of the budget. */
static uint64_t note_use(struct vpmu_task_mem *m, unsigned kind)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < banks(); i++) {
		const uint64_t n = m->acc[kind][i] + m->given[kind][i];
		m->used[kind][i] += n < REMEMBERED ? (uint32_t)n : REMEMBERED;
		sum += m->used[kind][i];
	}
	for (unsigned i = 0; sum > REMEMBERED && i < banks(); i++)
		m->used[kind][i] /= 2;
	return sum > REMEMBERED ? sum / 2 : sum;
}

/* A bank that is used up asks, however much the others have left: each gets a part as large as what it
 * used of late. */
static uint64_t part_of(const struct vpmu_task_mem *m, unsigned kind, unsigned bank, uint64_t left, uint64_t sum)
{
	const uint64_t spare = left / 16;
	if (!sum || left >> 32)
		return left / banks();
	return (left - spare) * m->used[kind][bank] / sum + spare / banks();
}

/* The block that runs next must not ask for the same budget again: its bank gets what it needs. */
void budget_share(struct thread *t, unsigned kind, uint64_t left, const struct block_to_run *next)
{
	struct vpmu_task_mem *const m = mem_of(t);
	uint64_t *const bank = m->acc[kind];
	const uint64_t need = next && next->vec[kind] < left ? next->vec[kind] : 0;
	const uint64_t used = note_use(m, kind);
	uint64_t total = 0, given = 0;
	for (unsigned i = 0; i < VPMU_BANKS; i++)
		total += bank[i];
	for (unsigned i = 0; i < banks(); i++) {
		m->given[kind][i] = 1 + part_of(m, kind, i, left - 1 - need, used) +
				    (need && i == next->bank ? need : 0);
		bank[i] = -m->given[kind][i];
		given += bank[i];
	}
	for (unsigned i = banks(); i < VPMU_CODE_BANKS; i++)	/* of a mode with more */
		bank[i] = 0;
	bank[VPMU_BANKS - 1] = total - given;
}

static void set(struct thread *t, unsigned kind, uint64_t left, const struct block_to_run *next)
{
	if (kind == SOFT_TAKEN)
		mem_of(t)->taken_budget = (int64_t)left - 1;
	else
		budget_share(t, kind, left, next);
}

/* So many events before the stop, the budget ends. */
static uint64_t late_for(unsigned kind)
{
	return kind == SOFT_TAKEN ? 0 : cache.modes[cache.mode].late;
}

/* So few are missing that runs are limited one by one: enough of them that a block which asked late does not
 * ask again at once. */
static bool is_near(unsigned kind, uint64_t left)
{
	return left <= late_for(kind) * 5 / 2 + 8;
}

void budget_set(struct thread *t, unsigned kind, uint64_t left, const struct block_to_run *next)
{
	const uint64_t early = late_for(kind), in_next = (next ? next->vec[kind] : SOON) + early;
	const bool near = early && is_near(kind, left);
	if (in_next >= left || near)
		limit_run(t, kind, left);
	if (near)
		budget_share(t, kind, 1, NULL);
	else
		set(t, kind, left - early, next);
}

static uint64_t *bank_of(struct thread *t, uint32_t block, unsigned kind)
{
	while (block_at(block)->runs_from)
		block--;
	return &mem_of(t)->acc[kind][block % banks()];
}

bool budget_allows(struct thread *t, uint32_t block, unsigned most)
{
	for (uint32_t rest = cache.modes[cache.mode].budgets; rest; rest &= rest - 1)
		if ((int64_t)(*bank_of(t, block, (unsigned)__builtin_ctz(rest)) + most) >= 0)
			return false;
	return true;
}

void budget_use(struct thread *t, uint32_t block)
{
	for (uint32_t rest = cache.modes[cache.mode].acc; rest; rest &= rest - 1) {
		const unsigned k = (unsigned)__builtin_ctz(rest);
		*bank_of(t, block, k) += block_at(block)->vec[k];
	}
	for (int k = 0; calls_add_ahead() && k < SOFT_EVENTS; k++)
		calls_count(t, k, block_at(block)->vec[k]);
}

static uint64_t left_of(const struct vpmu_task_mem *m, unsigned kind)
{
	uint64_t left = m->stops_at[kind];
	for (unsigned i = 0; i < VPMU_BANKS; i++)
		left -= m->acc[kind][i];
	return left;
}

bool budget_again(struct thread *t, const struct block_to_run *next)
{
	const uint32_t kinds = cache.modes[cache.mode].budgets;
	const struct vpmu_task_mem *const m = mem_of(t);
	for (uint32_t rest = kinds; rest; rest &= rest - 1) {
		const unsigned k = (unsigned)__builtin_ctz(rest);
		if ((int64_t)left_of(m, k) <= next->vec[k] + (int64_t)late_for(k) || is_near(k, left_of(m, k)))
			return false;
	}
	for (uint32_t rest = kinds; rest; rest &= rest - 1) {
		const unsigned k = (unsigned)__builtin_ctz(rest);
		set(t, k, left_of(m, k) - late_for(k), next);
	}
	return true;
}
