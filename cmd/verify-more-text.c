/* One short table for each experiment on registers, reads and surroundings.
 *
 * The rows are the findings; what is not good has its sentence below the table. */
#include "verify-more.h"

#include "grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum form { COUNT, SIGNED, PERCENT, ONE_IN, TENTH, YES_NO };

struct column {
	const char *title, *number;	/* the name of the number of a finding */
	enum form form;
};

#define COLUMNS 6
static const struct table {
	const char *experiment, *title;
	struct column columns[COLUMNS];
} tables[] = {
	{ "registers", "The same event on every register in turn",
	  { { "REGISTERS", "registers", COUNT }, { "HELD", "held", COUNT },
	    { "DEVIATING", "deviating", COUNT }, { "COUNT", "usual", COUNT },
	    { "WORST", "worst", COUNT }, { "LIMIT", "limit", ONE_IN } } },
	{ "loaded", "Alone, and beside other counting registers",
	  { { "OTHERS", "others", COUNT }, { "ALONE", "alone", COUNT },
	    { "LOADED", "loaded", COUNT }, { "LIMIT", "limit", ONE_IN } } },
	{ "wrap", "Beyond the end of a register",
	  { { "BITS", "width", COUNT }, { "EVENTS TO THE END", "events_to_the_end", COUNT }, { "ACROSS", "across", COUNT },
	    { "ELSEWHERE", "elsewhere", COUNT }, { "LIMIT", "limit", ONE_IN } } },
	{ "migration", "With a move to another CPU and back",
	  { { "WITHOUT", "without", COUNT }, { "WITH", "with", COUNT },
	    { "LIMIT", "limit", ONE_IN } } },
	{ "core-types", "With a move to another kind of core and back",
	  { { "WITHOUT", "without", COUNT }, { "WITH", "with", COUNT },
	    { "LIMIT", "limit", ONE_IN } } },
	{ "sibling", "Beside a busy sibling",
	  { { "WITHOUT", "without", COUNT }, { "WITH", "with", COUNT },
	    { "LIMIT", "limit", ONE_IN } } },
	{ "threads", "In more threads than there are CPUs",
	  { { "THREADS", "threads", COUNT }, { "SWITCHES", "switches", COUNT },
	    { "DEVIATING", "deviating", COUNT }, { "ALONE", "alone", COUNT },
	    { "WORST", "worst", COUNT }, { "LIMIT", "limit", ONE_IN } } },
	{ "contended", "While another thread fights for the cache line",
	  { { "WITHOUT", "without", COUNT }, { "WITH", "with", COUNT },
	    { "LIMIT", "limit", ONE_IN } } },
	{ "patterns", "Error of a pair of reads, starts and stops, in events",
	  { { "RDPMC", "by_instruction", YES_NO }, { "READ-READ", "read_read", SIGNED },
	    { "START-READ", "start_read", SIGNED }, { "READ-STOP", "read_stop", SIGNED },
	    { "START-STOP", "start_stop", SIGNED }, { "SPREAD", "spread", COUNT } } },
	{ "serialisers", "Difference by serialising instruction, in events",
	  { { "NONE", "none", SIGNED }, { "LFENCE", "lfence", SIGNED },
	    { "MFENCE", "mfence", SIGNED }, { "SERIALIZE", "serialize", SIGNED },
	    { "CPUID", "cpuid", SIGNED }, { "ISB", "isb", SIGNED } } },
	{ "replay", "Use for replay: an event in an ordinary program",
	  { { "INSTRUCTIONS PER EVENT", "instructions_per_event", TENTH },
	    { "LONGEST GAP", "longest_gap", COUNT }, { "USEFUL", "useful", YES_NO } } },
	{ "skid", "How late the interrupt of an overflow comes, in events",
	  { { "OVERFLOWS", "overflows", COUNT }, { "MOST", "most", COUNT } } },
	{ "multiplexing", "Error of scaled counts, by length of the program's phases",
	  { { "PHASE ms", "phase_ms", TENTH }, { "TURN ms", "turn_ms", TENTH },
	    { "ON A COUNTER", "share", PERCENT }, { "MEAN ERROR", "mean_error", PERCENT },
	    { "GREATEST", "greatest_error", PERCENT } } },
};
#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

bool verify_more_has(const char *experiment)
{
	for (size_t i = 0; i < N_TABLES; i++)
		if (!strcmp(tables[i].experiment, experiment))
			return true;
	return false;
}

static const double *number_of(const struct tare_verify_finding *f, const char *name)
{
	for (size_t i = 0; i < f->n_numbers; i++)
		if (!strcmp(f->numbers[i].name, name))
			return &f->numbers[i].value;
	return NULL;
}

static void put_number(struct buf *b, enum form form, double v)
{
	const uint64_t size = fabs(v) < 9e15 ? (uint64_t)(fabs(v) + 0.5) : 0;
	switch (form) {
	case SIGNED:
		if (size)
			buf_chr(b, v < 0 ? '-' : '+');
		buf_grouped(b, size);
		break;
	case PERCENT:
		buf_printf(b, "%.1f%%", 100 * v);
		break;
	case ONE_IN:
		buf_str(b, "1 in ");
		buf_grouped(b, v > 0 ? (uint64_t)(1 / v + 0.5) : 0);
		break;
	case TENTH:
		buf_printf(b, "%.1f", v);
		break;
	case YES_NO:
		buf_str(b, v ? "yes" : "no");
		break;
	default:
		buf_grouped(b, size);
	}
}

/* Does a finding of this experiment have the number? Columns without numbers are left out. */
static bool has_number(const struct tare_verify_report *r, const struct table *t, const char *name)
{
	for (size_t i = 0; i < r->n_findings; i++)
		if (!strcmp(r->findings[i].experiment, t->experiment) &&
		    number_of(&r->findings[i], name))
			return true;
	return false;
}

static void put_row(struct grid *g, const struct table *t, const bool *shown,
		    const struct tare_verify_finding *f)
{
	grid_cell(g, f->event ? f->event : "", f->event ? strlen(f->event) : 0);
	for (size_t c = 0; c < COLUMNS && t->columns[c].title; c++) {
		const double *const v = number_of(f, t->columns[c].number);
		if (!shown[c])
			continue;
		if (v)
			put_number(&g->text, t->columns[c].form, *v);
		grid_done(g);
	}
	const char *const verdict = tare_verdict_name(f->verdict);
	grid_cell(g, verdict, strlen(verdict));
}

/* What has one number or none is a sentence only; so are moves, which no column shows. */
static bool is_row(const struct tare_verify_finding *f, const struct table *t)
{
	return !strcmp(f->experiment, t->experiment) && f->n_numbers > 1 && !number_of(f, "moves");
}

static void put_table(struct buf *b, const struct tare_verify_report *r, const struct table *t)
{
	bool shown[COLUMNS] = { false };
	struct grid g = { .columns = 2 };
	size_t rows = 0;
	for (size_t c = 0; c < COLUMNS && t->columns[c].title; c++) {
		shown[c] = has_number(r, t, t->columns[c].number);
		g.columns += shown[c];
	}
	grid_cell(&g, "EVENT", 5);
	for (size_t c = 0; c < COLUMNS && t->columns[c].title; c++)
		if (shown[c])
			grid_cell(&g, t->columns[c].title, strlen(t->columns[c].title));
	grid_cell(&g, "VERDICT", 7);
	for (size_t i = 0; i < r->n_findings; i++)
		if (is_row(&r->findings[i], t)) {
			put_row(&g, t, shown, &r->findings[i]);
			rows++;
		}
	if (rows)
		grid_plain(&g, b);
	grid_free(&g);
}

/* Sentences of what is not good; one that all events share stands once. */
static void put_sentences(struct buf *b, const struct tare_verify_report *r, const struct table *t)
{
	const bool estimates = !strcmp(t->experiment, "multiplexing") ||
			       !strcmp(t->experiment, "replay");
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct tare_verify_finding *const f = &r->findings[i];
		if (strcmp(f->experiment, t->experiment) || f->verdict == TARE_VERDICT_GOOD ||
		    (estimates && f->n_numbers && f->verdict == TARE_VERDICT_INFO))
			continue;
		bool first = true, alone = true;
		for (size_t k = 0; k < r->n_findings; k++) {
			const bool same = !strcmp(r->findings[k].experiment, f->experiment) &&
					  !strcmp(r->findings[k].text, f->text);
			first &= k >= i || !same;
			alone &= k == i || !same;
		}
		if (first)
			buf_printf(b, "%s: %s%s%s\n", tare_verdict_name(f->verdict),
				   alone && f->event ? f->event : "", alone && f->event ? ": " : "",
				   f->text);
	}
}

void verify_more_text(struct buf *b, const struct tare_verify_report *r)
{
	for (size_t t = 0; t < N_TABLES; t++) {
		bool any = false;
		for (size_t i = 0; i < r->n_findings; i++)
			any |= !strcmp(r->findings[i].experiment, tables[t].experiment);
		if (!any)
			continue;
		buf_printf(b, "\n%s (%s)\n", tables[t].title, tables[t].experiment);
		put_table(b, r, &tables[t]);
		put_sentences(b, r, &tables[t]);
	}
}
