/* The end of a builder: sorts functions and instructions, gives every entry its counts, and sums up
 * lines, functions, objects and inclusive values. */
#include "codeprofile-room.h"

#include "why.h"

#include <stdlib.h>
#include <string.h>

/* Blocks of counts: places in tare_codeprofile_store.counts. */
enum { INSNS, TASKS, SHARES, CONTEXTS, EDGES, LINES, FUNCTIONS_AND_OBJECTS, INCLUSIVE };

/* ---- order ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_place(const void *a, const void *b, void *arg)
{
	const struct tare_codeprofile *const p = arg;
	const struct tare_codeprofile_function *const x = &p->functions[*(const uint32_t *)a];
	const struct tare_codeprofile_function *const y = &p->functions[*(const uint32_t *)b];
	if (x->object != y->object)
		return compare_u64(x->object, y->object);
	return x->offset != y->offset ? compare_u64(x->offset, y->offset) : strcmp(x->name, y->name);
}

/* The functions have their final places by now. */
static int by_code(const void *a, const void *b, void *arg)
{
	const struct tare_codeprofile *const p = arg;
	const struct tare_codeprofile_insn *const x = &p->insns[*(const uint32_t *)a];
	const struct tare_codeprofile_insn *const y = &p->insns[*(const uint32_t *)b];
	if (x->function != y->function)
		return compare_u64(x->function, y->function);
	if (x->offset != y->offset)
		return compare_u64(x->offset, y->offset);
	return x->size != y->size ? compare_u64(x->size, y->size) : memcmp(x->bytes, y->bytes, x->size);
}

static int by_task(const void *a, const void *b, void *arg)
{
	const struct tare_codeprofile *const p = arg;
	const struct tare_codeprofile_share *const x = &p->shares[*(const uint32_t *)a];
	const struct tare_codeprofile_share *const y = &p->shares[*(const uint32_t *)b];
	return x->task != y->task ? compare_u64(x->task, y->task) : compare_u64(x->function, y->function);
}

/* The same entries and rows of counts in another order: order[new place] = old place. */
static bool reorder(void *array, size_t n, size_t size, const uint32_t *order, int64_t **rows, size_t n_events)
{
	void **const a = array;
	char *const entries = malloc(n * size);
	int64_t *const counts = rows ? malloc(n * n_events * sizeof(*counts)) : NULL;
	if (!entries || (rows && !counts)) {
		free(entries);
		free(counts);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		memcpy(entries + i * size, (const char *)*a + order[i] * size, size);
		if (rows)
			memcpy(counts + i * n_events, *rows + order[i] * n_events,
			       n_events * sizeof(*counts));
	}
	free(*a);
	*a = entries;
	if (rows) {
		free(*rows);
		*rows = counts;
	}
	return true;
}

/* A run's instructions come in order, nearly always. */
static bool is_sorted(const uint32_t *order, size_t n, int (*compare)(const void *, const void *, void *), void *arg)
{
	for (size_t i = 1; i < n; i++)
		if (compare(&order[i - 1], &order[i], arg) > 0)
			return false;
	return true;
}

/* Sorts an array. `moved`, if wanted, becomes the new place of each old one; free() it. False: out of
 * memory. */
static bool sort(struct builder *b, void *array, size_t n, size_t size, int64_t **rows,
		 int (*compare)(const void *, const void *, void *), uint32_t **moved)
{
	uint32_t *const order = malloc((n + 1) * sizeof(*order));
	uint32_t *const back = malloc((n + 1) * sizeof(*back));
	bool ok = order && back;
	for (size_t i = 0; ok && i < n; i++)
		order[i] = (uint32_t)i;
	if (ok && n && !is_sorted(order, n, compare, b->p)) {
		qsort_r(order, n, sizeof(*order), compare, b->p);
		ok = reorder(array, n, size, order, rows, b->n_events);
	}
	for (size_t i = 0; ok && i < n; i++)
		back[order[i]] = (uint32_t)i;
	free(order);
	if (ok && moved)
		*moved = back;
	else
		free(back);
	return ok;
}

static void move(uint32_t *place, const uint32_t *moved)
{
	if (*place != NONE)
		*place = moved[*place];
}

static bool sort_functions(struct builder *b)
{
	struct tare_codeprofile *const p = b->p;
	uint32_t *moved = NULL;
	if (!sort(b, &p->functions, p->n_functions, sizeof(*p->functions), NULL, by_place, &moved))
		return false;
	for (size_t i = 0; i < p->n_insns; i++)
		move(&p->insns[i].function, moved);
	for (size_t i = 0; i < p->n_shares; i++)
		move(&p->shares[i].function, moved);
	for (size_t i = 0; i < p->n_contexts; i++)
		move(&p->contexts[i].function, moved);
	for (size_t i = 0; i < p->n_syscalls; i++)
		move(&p->syscalls[i].function, moved);
	free(moved);
	return true;
}

static bool sort_insns(struct builder *b)
{
	struct tare_codeprofile *const p = b->p;
	uint32_t *moved = NULL;
	if (!sort(b, &p->insns, p->n_insns, sizeof(*p->insns), &b->insn_counts.rows, by_code, &moved))
		return false;
	for (size_t i = 0; i < p->n_contexts; i++)
		move(&p->contexts[i].site, moved);
	free(moved);
	return true;
}

static int by_times(const void *a, const void *b)
{
	const struct tare_codeprofile_syscall *const x = a, *const y = b;
	if (x->times != y->times)
		return x->times < y->times ? 1 : -1;
	return x->number != y->number ? compare_u64(x->number, y->number) :
					compare_u64(x->function, y->function);
}

static bool sort_all(struct builder *b)
{
	struct tare_codeprofile *const p = b->p;
	if (p->n_syscalls)
		qsort(p->syscalls, p->n_syscalls, sizeof(*p->syscalls), by_times);
	return sort_functions(b) && sort_insns(b) &&
	       sort(b, &p->shares, p->n_shares, sizeof(*p->shares), &b->share_counts.rows, by_task, NULL);
}

/* ---- sums ---- */

static void add(int64_t *to, const int64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

/* Instructions of a function, by their line. */
struct in_line {
	uint32_t file, line, insn;
};

static int by_line(const void *a, const void *b)
{
	const struct in_line *const x = a, *const y = b;
	if (x->file != y->file)
		return compare_u64(x->file, y->file);
	return x->line != y->line ? compare_u64(x->line, y->line) : compare_u64(x->insn, y->insn);
}

static bool is_more(uint64_t runs, uint64_t than)
{
	return (int64_t)runs > (int64_t)than;
}

/* Lines of the function f from p->lines[n] on; how many there are then. */
static size_t sum_lines(struct tare_codeprofile *p, uint32_t f, size_t n, struct in_line *scratch, int64_t *rows)
{
	const struct tare_codeprofile_function *const function = &p->functions[f];
	for (uint32_t i = 0; i < function->n_insns; i++) {
		const struct tare_codeprofile_insn *const in = &p->insns[function->insns + i];
		scratch[i] = (struct in_line){ in->file, in->file == NONE ? 0 : in->line, function->insns + i };
	}
	qsort(scratch, function->n_insns, sizeof(*scratch), by_line);
	for (uint32_t i = 0; i < function->n_insns; i++) {
		const struct tare_codeprofile_insn *const in = &p->insns[scratch[i].insn];
		const bool same = i && scratch[i].file == scratch[i - 1].file &&
				  scratch[i].line == scratch[i - 1].line;
		if (!same) {
			p->lines[n] = (struct tare_codeprofile_line){
				.function = f, .file = scratch[i].file, .line = scratch[i].line,
				.runs = in->runs, .counts = rows + n * p->n_events };
			n++;
		}
		struct tare_codeprofile_line *const l = &p->lines[n - 1];
		if (is_more(in->runs, l->runs))
			l->runs = in->runs;
		add(rows + (n - 1) * p->n_events, in->counts, p->n_events);
	}
	return n;
}

static bool make_lines(struct tare_codeprofile *p)
{
	uint32_t most = 0;
	for (size_t i = 0; i < p->n_functions; i++)
		if (p->functions[i].n_insns > most)
			most = p->functions[i].n_insns;
	struct in_line *const scratch = calloc(most + 1, sizeof(*scratch));
	int64_t *const rows = calloc((p->n_insns + 1) * p->n_events, sizeof(*rows));
	p->store->counts[LINES] = rows;
	p->lines = calloc(p->n_insns + 1, sizeof(*p->lines));
	size_t n = 0;
	const bool ok = scratch && rows && p->lines;
	for (uint32_t f = 0; ok && f < p->n_functions; f++) {
		p->functions[f].lines = (uint32_t)n;
		n = sum_lines(p, f, n, scratch, rows);
		p->functions[f].n_lines = (uint32_t)(n - p->functions[f].lines);
	}
	p->n_lines = n;
	free(scratch);
	return ok;
}

static bool sum_functions(struct tare_codeprofile *p)
{
	int64_t *const rows = calloc((p->n_functions + p->n_objects + 1) * p->n_events, sizeof(*rows));
	p->store->counts[FUNCTIONS_AND_OBJECTS] = rows;
	if (!rows)
		return false;
	int64_t *const objects = rows + p->n_functions * p->n_events;
	for (size_t i = 0; i < p->n_objects; i++)
		p->objects[i].counts = objects + i * p->n_events;
	for (size_t i = 0; i < p->n_functions; i++)
		p->functions[i].counts = rows + i * p->n_events;
	for (uint32_t i = 0; i < p->n_insns; i++) {
		struct tare_codeprofile_function *const f = &p->functions[p->insns[i].function];
		if (!f->n_insns++)
			f->insns = i;
		add(rows + (f - p->functions) * p->n_events, p->insns[i].counts, p->n_events);
		add(objects + f->object * p->n_events, p->insns[i].counts, p->n_events);
	}
	return true;
}

/* The rows do not move any more: entries get pointers to them. */
static void place_rows(struct builder *b)
{
	struct tare_codeprofile *const p = b->p;
	int64_t **const kept = p->store->counts;
	const size_t e = b->n_events;
	kept[INSNS] = b->insn_counts.rows;
	kept[TASKS] = b->task_counts.rows;
	kept[SHARES] = b->share_counts.rows;
	kept[CONTEXTS] = b->context_counts.rows;
	b->insn_counts.rows = b->task_counts.rows = b->share_counts.rows = b->context_counts.rows = NULL;
	for (size_t i = 0; i < p->n_insns; i++)
		p->insns[i].counts = kept[INSNS] + i * e;
	for (size_t i = 0; i < p->n_tasks; i++)
		p->tasks[i].counts = kept[TASKS] + i * e;
	for (size_t i = 0; i < p->n_shares; i++)
		p->shares[i].counts = kept[SHARES] + i * e;
	for (size_t i = 0; i < p->n_contexts; i++)
		p->contexts[i].counts = kept[CONTEXTS] + i * e;
}

/* What a function executes itself is part of what it executes with all that it calls. Contexts do not say so of a
 * function that was only jumped to, where nothing says that a function begins there. */
static void include_own(const struct tare_codeprofile_function *f, int64_t *inclusive, size_t n)
{
	for (size_t e = 0; e < n; e++)
		if (inclusive[e] < f->counts[e])
			inclusive[e] = f->counts[e];
}

static bool sum_inclusive(struct tare_codeprofile *p)
{
	if (!p->has_calls)
		return true;
	int64_t *const rows = calloc((p->n_functions + 1) * p->n_events, sizeof(*rows));
	p->store->counts[INCLUSIVE] = rows;
	if (!rows || !inclusive_sum(p, rows, &p->store->counts[EDGES]))
		return false;
	for (size_t i = 0; i < p->n_functions; i++) {
		include_own(&p->functions[i], rows + i * p->n_events, p->n_events);
		p->functions[i].inclusive = rows + i * p->n_events;
	}
	return true;
}

static void free_builder(struct builder *b)
{
	places_free(&b->texts);
	places_free(&b->objects);
	places_free(&b->files);
	places_free(&b->functions);
	places_free(&b->insns);
	places_free(&b->shares);
	places_free(&b->contexts);
	places_free(&b->syscalls);
	places_free(&b->tasks);
	free(b->interned);
	free(b->insn_counts.rows);
	free(b->task_counts.rows);
	free(b->share_counts.rows);
	free(b->context_counts.rows);
}

int builder_finish(struct builder *b, struct tare_codeprofile **p, struct tare_why *why)
{
	bool ok = !b->failed && sort_all(b);
	if (ok) {
		place_rows(b);
		ok = sum_functions(b->p) && make_lines(b->p) && sum_inclusive(b->p);
	}
	free_builder(b);
	*p = ok ? b->p : NULL;
	if (ok)
		return 0;
	tare_codeprofile_free(b->p);
	return why_set(why, TARE_E_NOMEM, "a code profile");
}
