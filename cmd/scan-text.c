/* tare scan: the result for people. */
#include "scan.h"

#include "grid.h"
#include "term.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

const char *scan_counts_text(unsigned counts, const char *like)
{
	switch (counts) {
	case TARE_SCAN_COUNTS_FAULTS: return "page faults";
	case TARE_SCAN_COUNTS_INTERRUPTS: return "interrupts";
	case TARE_SCAN_COUNTS_FAULTS | TARE_SCAN_COUNTS_INTERRUPTS:
		return "page faults and interrupts";
	}
	return like;
}

static bool is_proved(const struct tare_scan_found *f)
{
	return f->is_excess || f->exact;
}

static const char *proof(const struct tare_scan_found *f)
{
	return f->is_excess ? "equals the excess of instructions:u in every trial" :
	       f->exact ? "as expected in every trial" : "near what is expected";
}

static void cell(struct grid *g, const char *text)
{
	buf_str(&g->text, text);
	grid_done(g);
}

static void number(struct grid *g, uint64_t n)
{
	if (n == UINT64_MAX)
		buf_str(&g->text, "?");
	else
		buf_grouped(&g->text, n);
	grid_done(g);
}

static void trials(struct buf *b, const struct tare_scan_found *f)
{
	static const char *const titles[] = { "  rounds", "pages", "calls", "interrupts", "ticks", "excess", "expected",
					      "counted" };
	struct grid g = { .columns = sizeof(titles) / sizeof(titles[0]) };

	for (size_t i = 0; i < g.columns; i++)
		cell(&g, titles[i]);
	for (size_t i = 0; i < f->n_trials; i++) {
		const struct tare_scan_trial *const t = &f->trials[i];
		buf_str(&g.text, "  ");
		number(&g, t->rounds);
		number(&g, t->pages);
		number(&g, t->calls);
		number(&g, t->interrupts);
		number(&g, t->ticks);
		if (t->excess == INT64_MIN)
			buf_str(&g.text, "?");
		else
			buf_printf(&g.text, "%" PRId64, t->excess);
		grid_done(&g);
		number(&g, t->wanted);
		number(&g, t->count);
	}
	grid_plain(&g, b);
	grid_free(&g);
}

static void whole(struct buf *b, const struct tare_scan_plan *plan, const struct tare_scan_found *f,
		  const char *like)
{
	buf_printf(b, "\n%s%s%s  counts %s; %s\n", term_style(STDOUT_FILENO, STYLE_BOLD), f->event,
		   term_style(STDOUT_FILENO, STYLE_NONE), scan_counts_text(f->counts, like), proof(f));
	buf_printf(b, "  selector 0x%02" PRIx64 ", ", f->code);
	if (plan->mask_bits)
		buf_printf(b, "mask 0x%02" PRIx64 "; ", f->mask);
	buf_printf(b, "%s%s\n", f->name ? "the tables call it " : "not in the tables",
		   f->name ? f->name : "");
	trials(b, f);
}

/* One line of what came near, where other codes are proved: "r2010:u  interrupts, 104 instead of 107". */
static void brief(struct buf *b, const struct tare_scan_found *f, const char *like)
{
	uint64_t count = 0, wanted = 0;

	for (size_t i = 0; i < f->n_trials; i++) {
		count += f->trials[i].count;
		wanted += f->trials[i].wanted;
	}
	buf_printf(b, "  %-9s %s, ", f->event, scan_counts_text(f->counts, like));
	buf_grouped(b, count);
	buf_str(b, " instead of ");
	buf_grouped(b, wanted);
	buf_printf(b, "%s%s\n", f->name ? "; the tables call it " : "", f->name ? f->name : "");
}

void scan_text(struct buf *b, const struct tare_scan_plan *plan,
	       const struct tare_scan_result *result, const char *like)
{
	buf_grouped(b, result->tried);
	buf_str(b, result->tried == 1 ? " code tried, " : " codes tried, ");
	buf_grouped(b, result->refused);
	buf_str(b, " of them refused by the kernel, ");
	buf_grouped(b, result->silent);
	buf_str(b, " that never counted\n");
	if (!result->n_found)
		buf_printf(b, "No code of 0x%" PRIx64 "-0x%" PRIx64 " counts %s.\n", plan->first_code,
			   plan->last_code, like);
	bool proved = false, near = false;
	for (size_t i = 0; i < result->n_found; i++)
		proved |= is_proved(&result->found[i]);
	for (size_t i = 0; i < result->n_found; i++) {
		const struct tare_scan_found *const f = &result->found[i];
		if (!proved || is_proved(f)) {
			whole(b, plan, f, like);
			continue;
		}
		if (!near)
			buf_str(b, "\nNear, but not equal, in all trials together:\n");
		near = true;
		brief(b, f, like);
	}
}
