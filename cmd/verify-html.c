/* tare verify --html: the report as one page, with plots. */
#include "verify-show.h"

#include "html.h"

#include <tare/version.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A number as people read it: whole where it is large, grouped by commas. */
static void number_text(char *out, size_t size, double v, bool sign)
{
	struct buf b = { 0 };
	if (!isfinite(v)) {
		snprintf(out, size, "?");
		return;
	}
	buf_str(&b, v < 0 ? "\xe2\x88\x92" : sign && v > 0 ? "+" : "");
	if (fabs(v) < 100 && v != round(v))
		buf_printf(&b, "%.3g", fabs(v));
	else
		buf_grouped(&b, (uint64_t)llround(fabs(v)));
	snprintf(out, size, "%s", b.data ? b.data : "");
	buf_free(&b);
}

static void number_cell(struct buf *b, double v, bool sign)
{
	char text[64];
	number_text(text, sizeof(text), v, sign);
	html_number(b, isfinite(v) ? v : 0, "%s", text);
}

static const char *verdict_class(const struct tare_verify_row *r)
{
	switch (r->verdict) {
	case TARE_EVENT_DETERMINISTIC: return "w good";
	case TARE_EVENT_DEVIATES: return "w caveat";
	case TARE_EVENT_NEVER_COUNTS: return "w bad";
	case TARE_EVENT_INCONCLUSIVE: return "w info";
	default: return "dim";
	}
}

/* Why an event has no count or no verdict. In the table it would be as wide as three columns. */
static void reasons(struct buf *b, const struct tare_verify_report *r)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct tare_verify_row *const row = &r->rows[i];
		if (!row->reason[0])
			continue;
		buf_str(b, "<p class=\"dim\"><span class=\"m\">");
		html_text(b, row->event);
		buf_str(b, "</span>: ");
		html_text(b, row->word);
		buf_str(b, ": ");
		html_text(b, row->reason);
		buf_str(b, "</p>\n");
	}
}

static void events_table(struct buf *b, const struct tare_verify_report *r)
{
	static const char *const titles[] = { "event", "verdict", "expected", "mean", "\xc2\xb1",
					      "difference", "residue", "detection limit", NULL };
	html_heading(b, "Events",
		     "Expected is what inspection of the code gives for one run; mean and \xc2\xb1 (the greatest "
		     "distance of a run from the mean) are what was counted. The residue is what remains "
		     "after all causes are subtracted. A deviation per pass of a loop that is larger "
		     "than the detection limit would have been found. A click on a heading sorts.");
	html_table_begin(b, titles);
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct tare_verify_row *const row = &r->rows[i];
		html_row(b, "");
		html_cell(b, "m", "%s", row->event);
		html_cell(b, verdict_class(row), "%s", row->word);
		if (row->runs) {
			number_cell(b, (double)row->expected, false);
			number_cell(b, row->mean, false);
			number_cell(b, row->distance, false);
			number_cell(b, row->difference, true);
			number_cell(b, row->residue, false);
			html_number(b, row->limit, "%.2g", row->limit);
		} else {
			for (int k = 0; k < 6; k++)
				html_cell(b, NULL, "%s", "");
		}
		html_row_end(b);
	}
	html_table_end(b);
	reasons(b, r);
}

/* ---- plots ---- */

/* To the right of a bar is room for what it is. */
enum { WIDTH = 1000, LEFT = 340, RIGHT = 680, RUNS_RIGHT = 800, ROW = 26, TOP = 30 };
#define CHARACTER 8		/* of a number, at most so wide */

static const char *const colours[TARE_CAUSE_COUNT] = {
	"#4477aa", "#ee6677", "#228833", "#ccbb44", "#aa3377", "#66ccee", "#888888",
};

static double largest_difference(const struct tare_verify_report *r)
{
	double most = 0;
	for (size_t i = 0; i < r->n_rows; i++) {
		double plus = 0, minus = 0;
		for (size_t k = 0; k < r->rows[i].n_causes; k++) {
			const double share = r->rows[i].causes[k].share;
			*(share < 0 ? &minus : &plus) += fabs(share);
		}
		most = fmax(most, fmax(plus, minus));
	}
	return most;
}

/* Logarithmic from 1 count on: causes differ by many powers of ten. */
static double bar_length(double count, double most)
{
	return count < 1 ? 0 : (RIGHT - LEFT) * log10(1 + count) / log10(1 + fmax(most, 9));
}

/* A line for each power of ten; numbers as far as there is room. */
static void scale(struct buf *b, double most, int height)
{
	double end = 0;
	for (double at = 1; at <= fmax(most, 9) * 1.001; at *= 10) {
		const double x = LEFT + bar_length(at, most);
		char text[64];
		number_text(text, sizeof(text), at, false);
		buf_printf(b, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, TOP - 6,
			   height);
		const double half = (double)strlen(text) * CHARACTER / 2;
		if (x - half < end)
			continue;
		html_svg_text(b, x, TOP - 12, "mid", text);
		end = x + half;
	}
}

static bool deviates(const struct tare_verify_row *row)
{
	for (size_t k = 0; k < row->n_causes; k++)
		if (fabs(row->causes[k].share) >= 1)
			return true;
	return false;
}

/* The causes of one event, one bar each: the parts that add up to its difference. */
static void bars_of(struct buf *b, const struct tare_verify_row *row, double most, double *y)
{
	double sum[TARE_CAUSE_COUNT] = { 0 };
	bool named = false;
	for (size_t k = 0; k < row->n_causes; k++)
		sum[row->causes[k].cause] += row->causes[k].share;
	for (int c = 0; c < TARE_CAUSE_COUNT; c++) {
		char text[128], number[64];
		if (fabs(sum[c]) < 1)
			continue;
		if (!named)
			html_svg_text(b, LEFT - 10, *y + 14, "end", row->event);
		named = true;
		number_text(number, sizeof(number), sum[c], true);
		snprintf(text, sizeof(text), "%c %s (%s)", tare_cause_letter((enum tare_cause)c), number,
			 tare_cause_name((enum tare_cause)c));
		const double length = fmax(bar_length(fabs(sum[c]), most), 2);
		buf_printf(b, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"%s><title>", LEFT,
			   *y + 2, length, ROW - 8, colours[c], sum[c] < 0 ? " fill-opacity=\".35\"" : "");
		html_text(b, text);
		buf_str(b, "</title></rect>\n");
		html_svg_text(b, LEFT + length + 8, *y + 15, "", text);
		*y += ROW - 4;
	}
	*y += named ? 6 : 0;
}

static void causes_plot(struct buf *b, const struct tare_verify_report *r)
{
	const double most = largest_difference(r);
	double height = TOP + 10, y = TOP;
	for (size_t i = 0; i < r->n_rows; i++)
		for (size_t k = 0; deviates(&r->rows[i]) && k < r->rows[i].n_causes + 1; k++)
			height += ROW;
	html_heading(b, "Difference by cause",
		     "How much each cause adds to one run of all kernels, on a logarithmic scale. Pale bars are "
		     "counts that are missing.");
	if (height <= TOP + 10) {
		buf_str(b, "<p>No event deviates.</p>\n");
		return;
	}
	struct buf bars = { 0 };
	for (size_t i = 0; i < r->n_rows; i++)
		bars_of(&bars, &r->rows[i], most, &y);
	html_svg_begin(b, "difference of each event by cause", WIDTH, (int)y + 10);
	scale(b, most, (int)y);
	buf_add(b, bars.data, bars.len);
	buf_free(&bars);
	html_svg_end(b);
}

/* Each run is a dot: its distance from the mean. The scale is linear, and of each event. */
static void runs_of(struct buf *b, const struct tare_verify_row *row, double y)
{
	const double middle = (LEFT + RUNS_RIGHT) / 2.0, half = (RUNS_RIGHT - LEFT) / 2.0 - 8;
	char text[256], number[64], other[64];
	html_svg_text(b, LEFT - 10, y + 14, "end", row->event);
	buf_printf(b, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, RUNS_RIGHT,
		   y + 10, y + 10);
	buf_printf(b, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", middle, middle,
		   y + 2, y + 18);
	for (unsigned k = 0; k < row->runs; k++) {
		const double from_mean = row->excess[k] - row->difference;
		const double x = middle + (row->distance ? from_mean / row->distance * half : 0);
		number_text(number, sizeof(number), (double)row->expected + row->excess[k], false);
		number_text(other, sizeof(other), row->excess[k], true);
		snprintf(text, sizeof(text), "run %u: %s, %s from what is expected", k + 1, number, other);
		buf_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" fill-opacity=\".6\"><title>", x, y + 10,
			   row->excess[k] ? "#c4432b" : "#2a8f4e");
		html_text(b, text);
		buf_str(b, "</title></circle>\n");
	}
	number_text(number, sizeof(number), row->difference, true);
	number_text(other, sizeof(other), row->distance, false);
	snprintf(text, sizeof(text), "%s \xc2\xb1%s", number, other);
	html_svg_text(b, WIDTH - 2, y + 14, "end", text);
}

static void runs_plot(struct buf *b, const struct tare_verify_report *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n_rows; i++)
		n += r->rows[i].runs && r->rows[i].excess;
	html_heading(b, "Runs",
		     "Each dot is one run; the middle of a line is the mean of its runs, and its ends are the "
		     "greatest distance of a run from the mean. On the right: how far the mean is from what is "
		     "expected, \xc2\xb1 that distance. Green: the run counted what is expected.");
	if (!n)
		return;
	html_svg_begin(b, "distance of each run from the mean", WIDTH, (int)n * ROW + 10);
	double y = 0;
	for (size_t i = 0; i < r->n_rows; i++) {
		if (!r->rows[i].runs || !r->rows[i].excess)
			continue;
		runs_of(b, &r->rows[i], y);
		y += ROW;
	}
	html_svg_end(b);
}

/* ---- the rest ---- */

static void causes_table(struct buf *b, const struct tare_verify_report *r)
{
	static const char *const titles[] = { "event", "cause", "amount", "per", "instruction", "found with",
					      NULL };
	size_t n = 0;
	for (size_t i = 0; i < r->n_rows; i++)
		n += r->rows[i].n_causes;
	if (!n)
		return;
	html_heading(b, "Causes", NULL);
	html_table_begin(b, titles);
	for (size_t i = 0; i < r->n_rows; i++)
		for (size_t k = 0; k < r->rows[i].n_causes; k++) {
			const struct tare_verify_cause *const c = &r->rows[i].causes[k];
			html_row(b, "");
			html_cell(b, "m", "%s", r->rows[i].event);
			html_cell(b, NULL, "%c %s", tare_cause_letter(c->cause), tare_cause_name(c->cause));
			html_number(b, c->amount, "%+.3g \xc2\xb1%.1g", c->amount, c->error);
			html_cell(b, NULL, "%s", c->per);
			html_cell(b, "m", "%s", c->instruction);
			html_cell(b, NULL, "%s%s%s", c->kernel, c->kernel[0] && c->source[0] ? ", " : "", c->source);
			html_row_end(b);
		}
	html_table_end(b);
}

static void findings_table(struct buf *b, const struct tare_verify_report *r)
{
	static const char *const titles[] = { "verdict", "experiment", "event", "finding", NULL };
	if (!r->n_findings)
		return;
	html_heading(b, "Other experiments", NULL);
	html_table_begin(b, titles);
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct tare_verify_finding *const f = &r->findings[i];
		html_row(b, "");
		html_cell(b, tare_verdict_name(f->verdict), "%s", tare_verdict_name(f->verdict));
		html_cell(b, NULL, "%s", f->experiment);
		html_cell(b, "m", "%s", f->event ? f->event : "");
		html_cell(b, NULL, "%s", f->text);
		html_row_end(b);
	}
	html_table_end(b);
}

/* At the top: what is wrong with counters concerns all that follows. */
static void bad_list(struct buf *b, const struct tare_verify_report *r)
{
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct tare_verify_finding *const f = &r->findings[i];
		if (f->verdict != TARE_VERDICT_BAD)
			continue;
		buf_str(b, "<p class=\"bad\">bad: ");
		html_text(b, f->experiment);
		if (f->event) {
			buf_str(b, ": ");
			html_text(b, f->event);
		}
		buf_str(b, ": ");
		html_text(b, f->text);
		buf_str(b, "</p>\n");
	}
}

static void kernels_list(struct buf *b, const struct tare_verify_report *r)
{
	html_heading(b, "Kernels", "Code whose counts are known, of one run:");
	buf_str(b, "<p class=\"m\">");
	for (size_t i = 0; i < r->n_kernels; i++) {
		buf_str(b, i ? " " : "");
		html_text(b, r->kernels[i]);
	}
	buf_str(b, "</p>\n");
	for (size_t i = 0; i < r->n_skipped; i++) {
		buf_str(b, "<p class=\"dim\">not run: ");
		html_text(b, r->skipped[i]);
		buf_str(b, "</p>\n");
	}
}

void verify_html(struct buf *b, const struct tare_verify_report *r)
{
	char title[160];
	snprintf(title, sizeof(title), "tare verify: %s%s",
		 r->cpu.brand[0] ? r->cpu.brand : r->cpu.uarch ? r->cpu.uarch->title : "unknown CPU",
		 r->backend == TARE_BACKEND_SOFT ? ", software engine" : r->simulated ? ", virtual PMU" : "");
	html_begin(b, title);
	buf_str(b, "<p>");
	html_text(b, r->conclusion);
	buf_str(b, "</p>\n");
	bad_list(b, r);
	buf_printf(b, "<p class=\"dim\">%u run%s", r->runs, r->runs == 1 ? "" : "s");
	if (r->path) {
		buf_str(b, "; counters read by ");
		html_text(b, r->path);
	}
	if (r->interrupts[0]) {
		buf_str(b, "; interrupts counted by ");
		html_text(b, r->interrupts);
	}
	buf_str(b, "; tare " TARE_VERSION "</p>\n");
	events_table(b, r);
	causes_plot(b, r);
	runs_plot(b, r);
	findings_table(b, r);
	causes_table(b, r);
	kernels_list(b, r);
	html_end(b);
}
