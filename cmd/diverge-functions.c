/* The functions in which two runs differ. */
#include "diverge-show.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *x, const void *y)
{
	const struct diverge_function *const a = x, *const b = y;
	const int d = strcmp(a->object, b->object);
	return d ? d : strcmp(a->name, b->name);
}

static uint64_t size_of(const struct diverge_function *f)
{
	const int64_t d = f->counts[1] - f->counts[0];
	return d < 0 ? (uint64_t)-d : (uint64_t)d;
}

static int by_difference(const void *x, const void *y)
{
	const uint64_t a = size_of(x), b = size_of(y);
	return a != b ? (a < b) - (a > b) : by_name(x, y);
}

/* Runs of instructions: the profiles have no other event. */
static int64_t instructions(const struct tare_codeprofile *p, const struct tare_codeprofile_function *f)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < f->n_insns; i++)
		sum += (int64_t)p->insns[f->insns + i].runs;
	return sum;
}

static size_t put(struct diverge_function *to, const struct tare_codeprofile *p, int side)
{
	for (size_t i = 0; i < p->n_functions; i++) {
		to[i] = (struct diverge_function){ .name = p->functions[i].name,
						   .object = p->objects[p->functions[i].object].path };
		to[i].counts[side] = instructions(p, &p->functions[i]);
	}
	return p->n_functions;
}

struct diverge_function *diverge_functions(const struct diverge_show *s, size_t *n)
{
	*n = 0;
	if (!s->profiles[0] || !s->profiles[1])
		return NULL;
	struct diverge_function *const all =
		calloc(s->profiles[0]->n_functions + s->profiles[1]->n_functions + 1, sizeof(*all));
	if (!all)
		return NULL;
	size_t have = put(all, s->profiles[0], 0);
	have += put(all + have, s->profiles[1], 1);
	qsort(all, have, sizeof(*all), by_name);
	size_t merged = 0;
	for (size_t i = 0; i < have; i++) {
		if (merged && by_name(&all[merged - 1], &all[i]) == 0) {
			all[merged - 1].counts[0] += all[i].counts[0];
			all[merged - 1].counts[1] += all[i].counts[1];
		} else {
			all[merged++] = all[i];
		}
	}
	qsort(all, merged, sizeof(*all), by_difference);
	while (*n < merged && size_of(&all[*n]))
		++*n;
	return all;
}
