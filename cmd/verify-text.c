#include "verify-show.h"
#include "verify-more.h"

#include "grid.h"
#include "term.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CAUSES 12		/* of an event, shown by default */

/* 1,234; 1,234.5 where it is no whole number; with a sign where wanted. */
static void count_add(struct buf *b, double v, bool sign)
{
	const double size = fabs(v);
	if (!(size < 9e15)) {
		buf_str(b, "?");
		return;
	}
	const double tenths = round(size * 10);
	buf_str(b, v < 0 && tenths ? "-" : sign && tenths ? "+" : "");
	buf_grouped(b, (uint64_t)tenths / 10);
	if ((uint64_t)tenths % 10)
		buf_printf(b, ".%u", (unsigned)((uint64_t)tenths % 10));
}

static void text_cell(struct grid *g, const char *text)
{
	grid_cell(g, text, strlen(text));
}

static void count_cell(struct grid *g, double v, bool sign)
{
	count_add(&g->text, v, sign);
	grid_done(g);
}

static void counts_grid(struct buf *b, const struct tare_verify_report *r)
{
	static const char *const titles[] = { "EVENT", "EXPECTED", "MEAN", "±", "DIFFERENCE",
					      "LIMIT", "VERDICT" };
	struct grid g = { .columns = 7 };
	for (size_t i = 0; i < 7; i++)
		text_cell(&g, titles[i]);
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct tare_verify_row *const row = &r->rows[i];
		text_cell(&g, row->event);
		if (row->runs) {
			count_cell(&g, (double)row->expected, false);
			count_cell(&g, row->mean, false);
			count_cell(&g, row->distance, false);
			count_cell(&g, row->difference, true);
			buf_printf(&g.text, "%.2g", row->limit);
			grid_done(&g);
		} else {
			for (int k = 0; k < 5; k++)
				text_cell(&g, "");
		}
		text_cell(&g, row->word);
	}
	grid_plain(&g, b);
	grid_free(&g);
}

static void amount_add(struct buf *b, double v)
{
	char text[40];
	if (fabs(v) < 0.01) {
		buf_printf(b, "%+.3g", v);
		return;
	}
	snprintf(text, sizeof(text), "%+.4f", v);
	size_t n = strlen(text);
	while (text[n - 1] == '0')
		n--;
	buf_add(b, text, text[n - 1] == '.' ? n - 1 : n);
}

static void cause_text(struct buf *b, const struct tare_verify_cause *c)
{
	buf_printf(b, "    %c  ", tare_cause_letter(c->cause));
	amount_add(b, c->amount);
	if (c->error >= 0.00005)
		buf_printf(b, " ±%.4g", c->error);
	buf_printf(b, " per %s", c->per);
	if (c->instruction[0])
		buf_printf(b, " of `%s` (%s)", c->instruction, c->kernel);
	if (c->source[0])
		buf_printf(b, ", by %s", c->source);
	if (c->share) {
		buf_str(b, "; ");
		count_add(b, c->share, true);
		buf_str(b, " in a run");
	}
	buf_chr(b, '\n');
}

static void sections_text(struct buf *b, const struct tare_verify_row *row)
{
	static const char *const titles[] = { "    kernel", "expected", "mean", "±", "rest",
					      "per pass" };
	struct grid g = { .columns = 6 };
	for (size_t i = 0; i < 6; i++)
		text_cell(&g, titles[i]);
	for (size_t i = 0; i < row->n_sections; i++) {
		const struct tare_verify_section *const s = &row->sections[i];
		buf_printf(&g.text, "    %s", s->kernel);
		grid_done(&g);
		count_cell(&g, (double)s->expected, false);
		count_cell(&g, s->mean, false);
		count_cell(&g, s->distance, false);
		count_cell(&g, s->rest, true);
		amount_add(&g.text, s->rest / (double)s->passes);
		grid_done(&g);
	}
	grid_plain(&g, b);
	grid_free(&g);
}

static void row_details(struct buf *b, const struct tare_verify_row *row, bool sections)
{
	if (!row->reason[0] && !row->n_causes && !(sections && row->n_sections))
		return;
	buf_printf(b, "%s: %s\n", row->event, row->word);
	if (row->reason[0])
		buf_printf(b, "    %s\n", row->reason);
	const size_t shown = row->n_causes > CAUSES + 1 && !sections ? CAUSES : row->n_causes;
	for (size_t i = 0; i < shown; i++)
		cause_text(b, &row->causes[i]);
	if (shown < row->n_causes)
		buf_printf(b, "    … %zu more; --sections shows all\n", row->n_causes - shown);
	if (sections && row->n_sections)
		sections_text(b, row);
}

static bool same_finding(const struct tare_verify_finding *a, const struct tare_verify_finding *b)
{
	return !strcmp(a->experiment, b->experiment) && a->verdict == b->verdict && !strcmp(a->text, b->text);
}

/* One line for a sentence, with the number of events that it is true of. */
static void findings_text(struct buf *b, const struct tare_verify_report *r)
{
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct tare_verify_finding *const f = &r->findings[i];
		const char *event = f->event ? f->event : "";
		size_t before = 0, n = 0;
		for (size_t k = 0; k < r->n_findings; k++) {
			n += same_finding(f, &r->findings[k]);
			before += k < i && same_finding(f, &r->findings[k]);
		}
		if (verify_more_has(f->experiment) || before)
			continue;
		if (!strncmp(f->text, event, strlen(event)))
			event = "";
		buf_printf(b, "%-7s %s: ", tare_verdict_name(f->verdict), f->experiment);
		if (n > 1)
			buf_printf(b, "%zu events: ", n);
		else if (*event)
			buf_printf(b, "%s: ", event);
		buf_printf(b, "%s\n", f->text);
	}
}

/* A part of the report, with an empty line before it. */
static void add_part(struct buf *b, struct buf *part)
{
	if (part->len) {
		buf_chr(b, '\n');
		buf_add(b, part->data, part->len);
	}
	buf_free(part);
}

void verify_text(struct buf *b, const struct tare_verify_report *r, bool sections)
{
	struct buf details = { 0 }, findings = { 0 };
	buf_printf(b, "%s%s%s\n\n", term_style(STDOUT_FILENO, STYLE_BOLD), r->conclusion,
		   term_style(STDOUT_FILENO, STYLE_NONE));
	counts_grid(b, r);
	for (size_t i = 0; i < r->n_rows; i++)
		row_details(&details, &r->rows[i], sections);
	for (size_t i = 0; i < r->n_skipped; i++)
		buf_printf(&details, "not run: %s\n", r->skipped[i]);
	add_part(b, &details);
	findings_text(&findings, r);
	add_part(b, &findings);
	verify_more_text(b, r);
}
