/* tare annotate --syscalls and --allocations: calls that cost more than their instructions, by function. */
#include "annotate.h"
#include "json.h"

#include "term.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN 20u

static void put_title(const struct annotate *a, const char *title, struct buf *out)
{
	buf_printf(out, "\n%s%s%s\n", term_style(a->fd, STYLE_BOLD), title, term_style(a->fd, STYLE_NONE));
}

static void put_times(struct buf *out, uint64_t times)
{
	struct buf cell = { 0 };
	buf_str(&cell, "");
	if (times)
		buf_grouped(&cell, times);
	buf_printf(out, "%14s", cell.data);
	buf_free(&cell);
}

static const char *function_name(const struct annotate *a, uint32_t function)
{
	return function == ANNOTATE_NONE ? "[not known]" : a->p->functions[function].name;
}

/* ---- system calls ---- */

/* All calls of one number: the functions that made them follow. */
static void put_syscall(const struct annotate *a, size_t first, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	const uint32_t number = p->syscalls[first].number;
	uint64_t times = 0, errors = 0;
	for (size_t i = first; i < p->n_syscalls; i++)
		if (p->syscalls[i].number == number) {
			times += p->syscalls[i].times;
			errors += p->syscalls[i].errors;
		}
	put_times(out, times);
	put_times(out, errors);
	buf_printf(out, "  %s\n", p->syscalls[first].name);
	for (size_t i = first; i < p->n_syscalls; i++) {
		if (p->syscalls[i].number != number)
			continue;
		put_times(out, p->syscalls[i].times);
		put_times(out, p->syscalls[i].errors);
		buf_printf(out, "    %s", term_style(a->fd, STYLE_DIM));
		annotate_cut(out, function_name(a, p->syscalls[i].function), a->width == SIZE_MAX ? SIZE_MAX :
			     a->width > 42 ? a->width - 34 : 8);
		buf_printf(out, "%s\n", term_style(a->fd, STYLE_NONE));
	}
}

void annotate_syscalls(const struct annotate *a, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	put_title(a, "         calls        errors  system call, and by which function", out);
	for (size_t i = 0; i < p->n_syscalls; i++) {
		bool seen = false;
		for (size_t k = 0; k < i && !seen; k++)
			seen = p->syscalls[k].number == p->syscalls[i].number;
		if (!seen)
			put_syscall(a, i, out);
	}
	if (!p->n_syscalls)
		buf_printf(out, "                              %s\n", p->has_calls ? "none" :
			   "not known: made without --calls, or killed before its end");
}

/* ---- allocations ---- */

/* "malloc" of "malloc", "malloc@plt", "__libc_malloc"; NULL: it does not allocate. */
static const char *allocator(const char *name)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "free", "reallocarray", "posix_memalign",
					     "aligned_alloc", "memalign", "valloc", "operator new", "operator new[]",
					     "operator delete", "operator delete[]" };
	if (!strncmp(name, "__libc_", 7))
		name += 7;
	size_t n = strcspn(name, "(@");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == n && !strncmp(names[i], name, n))
			return names[i];
	return NULL;
}

/* A stub of the PLT and the dynamic linker only pass a call on. */
static bool passes_on(const char *caller)
{
	return strstr(caller, "@plt") || !strncmp(caller, "_dl_runtime_resolve", 19);
}

struct allocation {
	const char *what;
	uint32_t caller;
	uint64_t calls;
};

static int by_calls(const void *a, const void *b)
{
	const struct allocation *const x = a, *const y = b;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	const int names = strcmp(x->what, y->what);
	return names ? names : x->caller < y->caller ? -1 : x->caller > y->caller;
}

/* The calls of functions that allocate, by function and caller, the most first; to be freed. */
static struct allocation *find_allocations(const struct annotate *a, size_t *n_found)
{
	const struct tare_codeprofile *const p = a->p;
	struct allocation *const list = calloc(p->n_edges + 1, sizeof(*list));
	size_t n = 0;
	if (!list)
		abort();
	for (size_t i = 0; i < p->n_edges; i++) {
		const struct tare_codeprofile_edge *const e = &p->edges[i];
		const char *const what = allocator(p->functions[e->callee].name);
		if (!what || passes_on(function_name(a, e->caller)))
			continue;
		size_t k = 0;
		while (k < n && (list[k].what != what || list[k].caller != e->caller))
			k++;
		if (k == n)
			list[n++] = (struct allocation){ what, e->caller, 0 };
		list[k].calls += e->calls;
	}
	if (n)
		qsort(list, n, sizeof(*list), by_calls);
	*n_found = n;
	return list;
}

void annotate_others_json(const struct annotate *a, struct json *j)
{
	const struct tare_codeprofile *const p = a->p;
	if (a->o->syscalls) {
		json_array(j, "syscalls");
		for (size_t i = 0; i < p->n_syscalls; i++) {
			const struct tare_codeprofile_syscall *const s = &p->syscalls[i];
			json_object(j, NULL);
			json_str(j, "name", s->name);
			if (s->function != ANNOTATE_NONE)
				json_str(j, "function", p->functions[s->function].name);
			json_u64(j, "times", s->times);
			json_u64(j, "errors", s->errors);
			json_end(j);
		}
		json_end(j);
	}
	if (a->o->allocations) {
		size_t n;
		struct allocation *const list = find_allocations(a, &n);
		json_array(j, "allocations");
		for (size_t i = 0; i < n; i++) {
			json_object(j, NULL);
			json_str(j, "name", list[i].what);
			json_str(j, "caller", function_name(a, list[i].caller));
			json_u64(j, "calls", list[i].calls);
			json_end(j);
		}
		json_end(j);
		free(list);
	}
}

void annotate_allocations(const struct annotate *a, struct buf *out)
{
	size_t n;
	struct allocation *const list = find_allocations(a, &n);
	put_title(a, "         calls  of", out);
	const size_t most = a->o->top ? a->o->top : SHOWN;
	for (size_t i = 0; i < n && i < most; i++) {
		put_times(out, list[i].calls);
		buf_printf(out, "  %-16s by ", list[i].what);
		annotate_cut(out, function_name(a, list[i].caller), a->width == SIZE_MAX ? SIZE_MAX :
			     a->width > 48 ? a->width - 38 : 8);
		buf_chr(out, '\n');
	}
	if (n > most)
		buf_printf(out, "%14s  %zu more callers\n", "", n - most);
	if (!n)
		buf_printf(out, "%14s  %s\n", "", a->p->has_calls ? "none" : "not known: made without --calls, or killed before its end");
	free(list);
}
