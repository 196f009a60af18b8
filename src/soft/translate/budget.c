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

static void limit_run(struct thread *t, unsigned kind, uint64_t left)
{
	if (!(t->code.stops >> kind & 1) || left < t->code.stop_after[kind])
		t->code.stop_after[kind] = (uint8_t)left;
	t->code.stops |= 1u << kind;
	t->code.single_pc = t->pc;
	t->vpmu.stepping = true;
}

void budget_share(struct thread *t, unsigned kind, uint64_t left, uint32_t all_to)
{
	uint64_t *const bank = mem_of(t)->acc[kind], sum = (left - 1) / VPMU_CODE_BANKS + 1;
	uint64_t total = 0, given = 0;
	for (unsigned i = 0; i < VPMU_BANKS; i++)
		total += bank[i];
	for (unsigned i = 0; i < VPMU_CODE_BANKS; i++) {
		bank[i] = -(all_to == VPMU_CODE_BANKS ? sum : i == all_to ? left : 1);
		given += bank[i];
	}
	bank[VPMU_BANKS - 1] = total - given;
}

void budget_set(struct thread *t, unsigned kind, uint64_t left, const struct block_to_run *next)
{
	const uint64_t in_next = next ? next->vec[kind] : SOON;
	if (in_next >= left)
		limit_run(t, kind, left);
	if (kind == SOFT_TAKEN)
		mem_of(t)->taken_budget = (int64_t)left - 1;
	else
		budget_share(t, kind, left, next && in_next > (left - 1) / VPMU_CODE_BANKS ? next->bank :
					    VPMU_CODE_BANKS);
}

void budget_limit(struct thread *t, unsigned kind, uint64_t left)
{
	limit_run(t, kind, left);
	budget_share(t, kind, 1, VPMU_CODE_BANKS);
}
