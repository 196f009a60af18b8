#include "diverge-show.h"

#include "term.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_FUNCTIONS 8
#define MOST_CALLERS 8		/* of a stack */

static void style(struct buf *b, enum style s) { buf_str(b, term_style(STDOUT_FILENO, s)); }

static void command(struct buf *b, char *const *argv)
{
	for (size_t i = 0; argv[i] && b->len < 400; i++)
		buf_printf(b, "%s%.200s", i ? " " : "", argv[i]);
}

static void place(struct buf *b, const struct tare_diverge_place *p)
{
	buf_printf(b, "0x%" PRIx64, p->address);
	if (p->place[0])
		buf_printf(b, "  %s", p->place);
	buf_chr(b, '\n');
}

static void totals(struct buf *b, const struct tare_divergence *d)
{
	uint64_t low = d->n_totals ? d->totals[0] : 0, high = low;
	for (size_t i = 1; i < d->n_totals; i++) {
		low = d->totals[i] < low ? d->totals[i] : low;
		high = d->totals[i] > high ? d->totals[i] : high;
	}
	buf_str(b, " The whole runs took ");
	buf_grouped(b, low);
	if (high != low) {
		buf_str(b, " to ");
		buf_grouped(b, high);
	}
	buf_str(b, " instructions.\n");
}

static void side(struct buf *b, const struct tare_diverge_side *s, const char *name)
{
	buf_printf(b, "   %s: ", name);
	if (s->ended)
		buf_str(b, "the thread ends\n");
	else
		place(b, &s->at);
	for (size_t i = 1; i < s->n_frames && i <= MOST_CALLERS; i++) {
		buf_str(b, "      called from ");
		place(b, &s->frames[i]);
	}
	if (s->n_frames > MOST_CALLERS + 1)
		buf_printf(b, "      … %zu more callers (-j shows all) …\n", s->n_frames - MOST_CALLERS - 1);
}

/* "main", of "main+0x19 (work.c:6), program+0x1192" */
static size_t function_length(const struct tare_diverge_step *s) { return strcspn(s->at.place, "+ "); }

static bool same_function(const struct tare_diverge_step *a, const struct tare_diverge_step *b)
{
	const size_t n = function_length(a);
	return n && n == function_length(b) && strncmp(a->at.place, b->at.place, n) == 0;
}

static void step(struct buf *b, const struct tare_diverge_step *s)
{
	buf_str(b, "   ");
	buf_grouped(b, s->count);
	buf_printf(b, "  %s\n", s->what);
	if (!s->at.address)
		return;
	buf_str(b, "      ");
	place(b, &s->at);
}

#define SHOWN_FIRST 6		/* functions, … */
#define SHOWN_LAST 8		/* … and at the other end */

/* The step behind those of one function. */
static size_t next_function(const struct tare_divergence *d, size_t i)
{
	size_t next = i + 1;
	while (next < d->n_steps && same_function(&d->steps[i], &d->steps[next]))
		next++;
	return next;
}

/* Of the steps within a function the first and the last one. */
static void steps(struct buf *b, const struct tare_divergence *d)
{
	size_t n = 0, k = 0;
	for (size_t i = 0; i < d->n_steps; i = next_function(d, i))
		n++;
	for (size_t i = 0; i < d->n_steps; k++) {
		const size_t next = next_function(d, i);
		if (n > SHOWN_FIRST + SHOWN_LAST && k == SHOWN_FIRST)
			buf_printf(b, "   … %zu more functions (-j shows all) …\n", n - SHOWN_FIRST - SHOWN_LAST);
		if (k < SHOWN_FIRST || k + SHOWN_LAST >= n) {
			step(b, &d->steps[i]);
			if (next > i + 2)
				buf_printf(b, "      … %zu more in this function …\n", next - i - 2);
			if (next > i + 1)
				step(b, &d->steps[next - 1]);
		}
		i = next;
	}
}

static void cause(struct buf *b, const struct tare_divergence *d)
{
	buf_str(b, "\n Cause: ");
	style(b, STYLE_BOLD);
	buf_str(b, tare_diverge_cause_name(d->cause));
	style(b, STYLE_NONE);
	if (d->cause_text[0])
		buf_printf(b, ": %s", d->cause_text);
	buf_chr(b, '\n');
	if (!d->n_steps)
		return;
	buf_printf(b, "\n %s, by number of the instruction:\n",
		   d->cause == TARE_DIVERGE_BY_UNKNOWN ? "What is known: the value that differs, from the parting back" :
		   "The value that differs, from the parting back to the cause");
	steps(b, d);
}

static void functions(struct buf *b, const struct diverge_show *s)
{
	size_t n;
	struct diverge_function *const all = diverge_functions(s, &n);
	if (n)
		buf_str(b, "\n Functions in which the two runs differ most, in instructions:\n");
	for (size_t i = 0; i < n && i < MOST_FUNCTIONS; i++) {
		buf_str(b, "   ");
		buf_grouped_i64(b, all[i].counts[0]);
		buf_str(b, " and ");
		buf_grouped_i64(b, all[i].counts[1]);
		buf_printf(b, "  %s\n", all[i].name);
	}
	if (n > MOST_FUNCTIONS)
		buf_printf(b, "   %zu others\n", n - MOST_FUNCTIONS);
	free(all);
}

void diverge_text_show(struct buf *b, const struct diverge_show *s)
{
	const struct tare_divergence *const d = s->d;
	buf_str(b, "\n '");
	command(b, s->argv);
	if (d->found == TARE_DIVERGE_SAME) {
		buf_printf(b, "': %u runs, no two of which differ.\n", d->runs);
		totals(b, d);
		return;
	}
	buf_printf(b, "': run %u and run %u differ (%u whole runs, %u that were stopped on their way).\n", d->runs - 1,
		   d->runs, d->runs, d->searched);
	totals(b, d);
	if (d->note[0])
		buf_printf(b, " %c%s.\n", d->note[0] >= 'a' && d->note[0] <= 'z' ? d->note[0] - 32 : d->note[0], d->note + 1);
	if (d->found == TARE_DIVERGE_POINT && d->count) {
		buf_str(b, "\n They part after ");
		buf_grouped(b, d->count);
		buf_printf(b, " instructions of %s, at\n      ", d->is_thread ? "a thread" : "a process");
		place(b, &d->last);
		side(b, &d->sides[0], "one run goes on at");
		side(b, &d->sides[1], "the other one at");
	}
	if (d->found == TARE_DIVERGE_POINT)
		cause(b, d);
	functions(b, s);
}
