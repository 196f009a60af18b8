/* Counts of instructions that the engine has not counted: of simulated caches. They come by process and
 * address, and go to the instructions that ran there. */
#include "codeprofile-make.h"

#include <stdlib.h>

struct at_key {
	const struct maker *m;
	struct at key;
};

static uint64_t hash_at(const struct at *k)
{
	return hash_u64(hash_u64(HASH_START, k->address), (uint32_t)k->pid);
}

static bool same_at(const void *arg, uint32_t place)
{
	const struct at_key *const k = arg;
	const struct at *const x = &k->m->ats[place];
	return x->address == k->key.address && x->pid == k->key.pid;
}

bool maker_note_places(struct maker *m, pid_t pid, uint64_t address, const struct block *b)
{
	for (uint32_t i = 0; m->o->extra && i < b->n; i++) {
		struct at_key k = { m, { .pid = pid, .code = b->first + i,
					 .address = address + m->codes[b->first + i].offset - b->offset } };
		uint32_t *const slot = places_find(&m->at_table, hash_at(&k.key), same_at, &k);
		if (!slot || !more_room(&m->ats, &m->cap_ats, m->n_ats, sizeof(*m->ats)))
			return false;
		if (*slot)
			continue;
		m->ats[m->n_ats++] = k.key;
		*slot = (uint32_t)m->n_ats;
		m->at_table.n++;
	}
	return true;
}

static uint32_t task_of_process(struct maker *m, pid_t pid)
{
	for (uint32_t i = 0; i < m->b.p->n_tasks; i++)
		if (m->b.p->tasks[i].pid == pid)
			return i;
	return m->b.p->n_tasks ? 0 : NONE;
}

bool maker_extra(struct maker *m)
{
	const struct tare_codeprofile_extra *const x = m->o->extra;
	if (!x)
		return true;
	int64_t *const totals = calloc(x->n_events + 1, sizeof(*totals));
	for (size_t i = 0; totals && i < x->n_insns; i++) {
		const struct tare_codeprofile_extra_insn *const in = &x->insns[i];
		const struct at_key k = { m, { .pid = in->pid, .address = in->address } };
		const uint32_t *const slot = places_find(&m->at_table, hash_at(&k.key), same_at, &k);
		if (!slot || !*slot || !maker_wants(m, in->pid, in->tid) || (m->o->one_dump && in->dump != m->o->dump))
			continue;
		int64_t *const to = builder_insn_counts(&m->b, m->codes[m->ats[*slot - 1].code].in_profile);
		int64_t *const task = builder_task_counts(&m->b, task_of_process(m, in->pid));
		for (size_t e = 0; e < x->n_events; e++) {
			to[m->n_events + e] += (int64_t)in->counts[e];
			if (task)
				task[m->n_events + e] += (int64_t)in->counts[e];
			totals[e] += (int64_t)in->counts[e];
		}
	}
	for (size_t e = 0; totals && e < x->n_events; e++)
		builder_event(&m->b, m->n_events + e, &(struct tare_codeprofile_event){
			.name = x->names[e], .unit = "", .provenance = TARE_PROV_SIMULATED, .total = totals[e] });
	free(totals);
	return totals;
}

void maker_extra_context(const struct maker *m, uint64_t context, int64_t *counts)
{
	const struct tare_codeprofile_extra *const x = m->o->extra;
	size_t low = 0, high = x ? x->n_contexts : 0;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (x->contexts[middle].context < context)
			low = middle + 1;
		else
			high = middle;
	}
	for (; x && low < x->n_contexts && x->contexts[low].context == context; low++)
		for (size_t e = 0; (!m->o->one_dump || x->contexts[low].dump == m->o->dump) && e < x->n_events; e++)
			counts[m->n_events + e] += (int64_t)x->contexts[low].counts[e];
}
