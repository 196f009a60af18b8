/* Is the new count worse?
 *
 * Exact and corrected counts of a program that does the same in every run are proof as they
 * stand: equal counts are the same, and a difference is a change, even if it is one. That the
 * program does the same is seen where the runs of each file agree and one of the files has at
 * least two runs. Counts that vary by themselves (hash seeds, addresses, time), and all raw
 * counts, are judged by how much they vary (noise.h). Runs of different layouts (stat --layouts)
 * show the band in which layout alone moves a count: a count in the other file's band is the same.
 * Scaled counts are estimates, and times
 * vary with the machine: neither is judged unless asked for. */
#include "compare.h"
#include "noise.h"
#include "term.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *compare_verdict_name(enum compare_verdict v)
{
	static const char *const names[] = {
		[COMPARE_SAME] = "same",
		[COMPARE_IMPROVED] = "improved",
		[COMPARE_NOT_JUDGED] = "not-judged",
		[COMPARE_CANNOT] = "cannot-compare",
		[COMPARE_REGRESSION] = "regression",
	};
	return names[v];
}

/* ---- one event ---- */

static bool set(struct compare_line *l, enum compare_verdict v, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool set(struct compare_line *l, enum compare_verdict v, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(l->reason, sizeof(l->reason), fmt, ap);
	va_end(ap);
	l->verdict = v;
	return true;
}

static bool is_proof(enum tare_provenance p)
{
	/* What is in an incomplete count is exact; what it lacks is judged by refuse(). */
	return p == TARE_PROV_EXACT || p == TARE_PROV_CORRECTED || p == TARE_PROV_INCOMPLETE;
}

/* What cannot be compared at all, whatever the numbers. True: the verdict is in. */
static bool refuse(struct compare_line *l, const struct compare_rules *r, bool threshold,
		   const struct noise_test *test)
{
	const struct compare_series *const a = l->base, *const b = l->new;
	if (!a || !b)
		return set(l, a ? COMPARE_CANNOT : COMPARE_NOT_JUDGED, "only in %s",
			   a ? "the base" : "the new file");
	if (!a->sum.n || !b->sum.n)
		return set(l, COMPARE_CANNOT, "%s has no value for it",
			   a->sum.n ? "the new file" : "the base");
	if (!r->allow_scaled &&
	    (a->provenance == TARE_PROV_SCALED || b->provenance == TARE_PROV_SCALED))
		return set(l, COMPARE_CANNOT, "scaled: an estimate is no proof (--allow-scaled)");
	if (a->user_only != b->user_only)
		return set(l, COMPARE_CANNOT, "one of them is of user mode only");
	/* What is never counted is missing in both; what was cut off, each time more or less. */
	if ((a->cut_off || b->cut_off) && !threshold)
		return set(l, COMPARE_CANNOT, "incomplete: processes were cut off");
	if (a->incomplete != b->incomplete && !threshold)
		return set(l, COMPARE_CANNOT, "incomplete in %s only",
			   a->incomplete ? "the base" : "the new file");
	if (strcmp(a->unit, "ns") == 0 && !threshold)
		return set(l, COMPARE_NOT_JUDGED, "a time");
	if ((a->perturbed || b->perturbed) && !threshold)
		return set(l, COMPARE_NOT_JUDGED, "perturbed by the engine");
	if (is_proof(a->provenance) != is_proof(b->provenance) && !threshold)
		return set(l, COMPARE_CANNOT, "%s against %s",
			   tare_provenance_name(a->provenance),
			   tare_provenance_name(b->provenance));
	if (!is_proof(a->provenance) && !threshold && a->provenance != TARE_PROV_SCALED &&
	    !test->enough)
		return set(l, COMPARE_NOT_JUDGED,
			   "raw, too few runs to tell from noise (stat -r 5, or a threshold)");
	return false;
}

static bool one_value(const struct compare_series *s)
{
	return s->sum.min == s->sum.max;
}

/* It differs for certain. */
static void judge_change(struct compare_line *l, const struct compare_rules *r, double by)
{
	if (fabs(by) <= l->allowed)
		set(l, COMPARE_SAME, "within the threshold");
	else if (by < 0 && !r->any_change)
		set(l, COMPARE_IMPROVED, "%s", "");
	else
		set(l, COMPARE_REGRESSION, "%s", "");
}

static void set_within(struct compare_line *l, double margin, bool enough)
{
	struct buf text = { 0 };
	put_real(&text, margin, margin < 10 ? 1 : 0);
	set(l, COMPARE_SAME, "it varies by itself; %zu and %zu runs show changes beyond ±%s%s",
	    l->base->sum.n, l->new->sum.n, text.data, enough ? "" : ", more runs smaller ones");
	buf_free(&text);
}

/* A difference that so few runs do not prove. */
static void judge_few(struct compare_line *l, const struct compare_rules *r,
		      const struct noise *noise)
{
	const size_t n = l->base->sum.n, m = l->new->sum.n;
	if (noise->difference < 0 && !r->any_change)
		set(l, COMPARE_SAME, "fewer; %zu and %zu runs are too few to call it improved "
		    "(stat -r 10)", n, m);
	else if (noise->verdict == NOISE_TOO_FEW)
		set(l, COMPARE_CANNOT, "it varies by itself, and %zu and %zu runs are too few to "
		    "tell a change from that (stat -r 10)", n, m);
	else
		set(l, COMPARE_CANNOT, "they differ, and one run on either side does not tell "
		    "whether it varies by itself (stat -r 2)");
}

static void judge_values(struct compare_line *l, const struct compare_rules *r, bool threshold,
			 struct noise_test *test)
{
	const bool proof = is_proof(l->base->provenance) && is_proof(l->new->provenance);
	const struct noise noise = noise_judge(test, l->base->values, l->new->values, proof);
	switch (noise.verdict) {
	case NOISE_SAME:
		set(l, COMPARE_SAME, "%s", "");
		break;
	case NOISE_WITHIN:
		set_within(l, noise.margin, test->enough);
		break;
	case NOISE_BEYOND:
		judge_change(l, r, noise.difference);
		break;
	case NOISE_TOO_FEW:
	case NOISE_ONE_EACH:
		if (threshold)
			judge_change(l, r, noise.difference);
		else
			judge_few(l, r, &noise);
		break;
	}
}

/* Exact counts of different layouts: a change is real if the bands do not touch. */
static void judge_bands(struct compare_line *l, const struct compare_rules *r)
{
	const struct summary *const a = &l->base->sum, *const b = &l->new->sum;
	struct buf text = { 0 };
	if (a->min == b->min && a->max == b->max) {
		set(l, COMPARE_SAME, "%s", "");
		return;
	}
	if (a->min > b->max || b->min > a->max) {
		judge_change(l, r, l->delta);
		return;
	}
	const struct summary *const wider = a->max - a->min > b->max - b->min ? a : b;
	put_real(&text, (double)(wider->max - wider->min) / 2, 1);
	set(l, COMPARE_SAME, "inside the band in which layout alone moves it (±%s)", text.data);
	buf_free(&text);
}

static void judge_line(struct compare_line *l, const struct compare_rules *r)
{
	double allowed = 0;
	/* A time is judged only by a threshold that names it. */
	const bool threshold = l->base && l->new &&
		thresholds_allow(r->thresholds, r->n_thresholds, l->event,
				 summary_midpoint(&l->base->sum), strcmp(l->base->unit, "ns") == 0,
				 &allowed);
	if (l->base && l->new && l->base->sum.n && l->new->sum.n) {
		const struct summary *const a = &l->base->sum, *const b = &l->new->sum;
		/* Whole numbers until the last step: a difference of 1 in 10^18 is one. */
		const __int128 twice = (__int128)b->min + b->max - a->min - a->max;
		l->delta = (double)twice / 2;
		const double mid = summary_midpoint(a);
		l->percent = mid > 0 ? 100 * l->delta / mid : l->delta != 0 ? INFINITY : 0;
	}
	l->allowed = allowed;
	struct noise_test test;
	if (!noise_test_init(&test, l->base && l->base->sum.n ? l->base->sum.n : 1,
			     l->new && l->new->sum.n ? l->new->sum.n : 1))
		abort();
	if (!refuse(l, r, threshold, &test)) {
		l->varies = is_proof(l->base->provenance) &&
			    (!one_value(l->base) || !one_value(l->new));
		if (l->layouts && !threshold && is_proof(l->base->provenance) && is_proof(l->new->provenance))
			judge_bands(l, r);
		else
			judge_values(l, r, threshold, &test);
	}
	noise_test_free(&test);
}

/* ---- a pair of files ---- */

static bool wanted(const struct compare_rules *r, const char *event)
{
	if (!r->only)
		return true;
	for (const char *const *o = r->only; *o; o++)
		if (strcmp(*o, event) == 0)
			return true;
	return false;
}

static void add_line(struct comparison *c, const char *event)
{
	struct compare_line *const more = realloc(c->lines, (c->n_lines + 1) * sizeof(*more));
	if (!more)
		abort();
	c->lines = more;
	more[c->n_lines++] = (struct compare_line){
		.event = event,
		.base = compare_find(c->base, event),
		.new = compare_find(c->new, event),
		.layouts = c->base->layouts || c->new->layouts,
	};
}

static void collect_lines(struct comparison *c, const struct compare_rules *r)
{
	for (size_t i = 0; i < c->base->n_series; i++)
		if (wanted(r, c->base->series[i].event))
			add_line(c, c->base->series[i].event);
	for (size_t i = 0; i < c->new->n_series; i++)
		if (wanted(r, c->new->series[i].event) &&
		    !compare_find(c->base, c->new->series[i].event))
			add_line(c, c->new->series[i].event);
}

static void note_single(struct comparison *c, const struct compare_file *f)
{
	if (f->n_complete == 1)
		buf_printf(&c->notes, "%s has one run, which does not show how much the "
			   "counts vary\n", f->path);
}

/* What a file says of its correction of an event; NULL: nothing. */
static const char *correction_of(const struct compare_file *f, const char *event)
{
	const struct json_node *const all = json_get(f->root, "summary");
	for (const struct json_node *n = all ? all->first : NULL; n; n = n->next)
		if (!strcmp(json_text(n, "event") ? json_text(n, "event") : "", event))
			return json_text(json_get(n, "correction"), "text");
	return NULL;
}

static void note_corrections(struct comparison *c)
{
	for (size_t i = 0; i < c->n_lines; i++) {
		const char *const event = c->lines[i].event;
		const char *const a = correction_of(c->base, event), *const b = correction_of(c->new, event);
		if (a && *a)
			buf_printf(&c->notes, "%s, base: %.320s\n", event, a);
		if (b && *b)
			buf_printf(&c->notes, "%s, new: %.320s\n", event, b);
	}
}

static void put_command(struct buf *out, const struct compare_file *f)
{
	buf_chr(out, '\'');
	const size_t start = out->len;
	buf_str(out, f->command.data);
	term_command(out, start, f->n_words);
	buf_chr(out, '\'');
}

static void note_commands(struct comparison *c)
{
	if (strcmp(c->base->command.data, c->new->command.data) == 0)
		return;
	buf_str(&c->notes, "the commands differ: ");
	put_command(&c->notes, c->base);
	buf_str(&c->notes, ", ");
	put_command(&c->notes, c->new);
	buf_chr(&c->notes, '\n');
}

static void collect_notes(struct comparison *c)
{
	const struct compare_file *const a = c->base, *const b = c->new;
	note_commands(c);
	if (strcmp(a->backend, b->backend) != 0)
		buf_printf(&c->notes, "the backends differ: %s, %s\n", a->backend, b->backend);
	if (a->aslr_off != b->aslr_off)
		buf_printf(&c->notes, "address space randomisation was %s in the base and %s in "
			   "the new file\n", a->aslr_off ? "off" : "on", b->aslr_off ? "off" : "on");
	if (a->n_uncounted || b->n_uncounted)
		buf_printf(&c->notes, "processes that were not counted: %zu, %zu; the counts cover "
			   "only the other processes\n", a->n_uncounted, b->n_uncounted);
	if (a->n_runs != a->n_complete || b->n_runs != b->n_complete)
		buf_printf(&c->notes, "runs that were cut short are left out: %zu, %zu\n",
			   a->n_runs - a->n_complete, b->n_runs - b->n_complete);
	note_single(c, a);
	if (strcmp(a->path, b->path) != 0)
		note_single(c, b);
}

static bool is_mixed(const struct compare_file *f)
{
	return f->n_parts && f->n_parts < f->n_complete;
}

/* Reasons why the files cannot be compared at all. */
static bool refuse_files(struct comparison *c)
{
	const struct compare_file *const a = c->base, *const b = c->new;
	c->verdict = COMPARE_CANNOT;
	if (!a->n_complete || !b->n_complete)
		snprintf(c->reason, sizeof(c->reason), "%s has no complete run",
			 a->n_complete ? b->path : a->path);
	else if (!a->same_status || !b->same_status)
		snprintf(c->reason, sizeof(c->reason), "the runs of %s ended with different "
			 "statuses", a->same_status ? b->path : a->path);
	else if (a->status != b->status)
		snprintf(c->reason, sizeof(c->reason), "the command's exit status was %d and is "
			 "%d", (int)a->status, (int)b->status);
	else if (a->n_uncounted * b->n_complete != b->n_uncounted * a->n_complete)
		snprintf(c->reason, sizeof(c->reason), "not the same number of processes could "
			 "be counted");
	else if (is_mixed(a) || is_mixed(b))
		snprintf(c->reason, sizeof(c->reason), "some runs of %s are counted whole, others in parts",
			 is_mixed(a) ? a->path : b->path);
	else if (!a->n_parts != !b->n_parts)
		snprintf(c->reason, sizeof(c->reason), "%s counts parts of the run, %s the whole run",
			 a->n_parts ? a->path : b->path, a->n_parts ? b->path : a->path);
	return c->reason[0] != '\0';
}

/* Counts from different environments: their differences are shown and prove nothing. */
static bool refuse_environment(struct comparison *c, const struct compare_rules *r)
{
	if (!c->differences.len || r->ignore_environment)
		return false;
	c->verdict = COMPARE_CANNOT;
	snprintf(c->reason, sizeof(c->reason), "not measured under the same conditions; measure "
		 "both in the same way (tare stat --clean-env), or judge all the same with "
		 "--ignore-environment");
	for (size_t i = 0; i < c->n_lines; i++)
		if (c->lines[i].verdict != COMPARE_CANNOT)
			set(&c->lines[i], COMPARE_NOT_JUDGED, "other conditions");
	return true;
}

static void note_unchanged(struct comparison *c)
{
	const char *const a = json_text(c->base->program, "id");
	const char *const b = json_text(c->new->program, "id");
	if (c->verdict == COMPARE_REGRESSION && a && b && strcmp(a, b) == 0)
		buf_printf(&c->notes, "the executable is the same file (%s): what changed is what it "
			   "reads or what surrounds it\n", json_text(c->base->program, "path"));
}

static enum compare_verdict worst_line(struct comparison *c, const struct compare_rules *r)
{
	enum compare_verdict worst = COMPARE_SAME;
	size_t judged = 0;
	for (size_t i = 0; i < c->n_lines; i++) {
		const enum compare_verdict v = c->lines[i].verdict;
		judged += v == COMPARE_SAME || v == COMPARE_IMPROVED || v == COMPARE_REGRESSION;
		/* What was named and cannot be judged is no success. */
		const bool named = r->only && v == COMPARE_NOT_JUDGED;
		const enum compare_verdict counts = named ? COMPARE_CANNOT :
						    v == COMPARE_NOT_JUDGED ? COMPARE_SAME : v;
		if (counts > worst)
			worst = counts;
	}
	if (judged)
		return worst;
	snprintf(c->reason, sizeof(c->reason), "no event could be judged");
	return COMPARE_CANNOT;
}

void compare_judge(struct comparison *c, const struct compare_file *base,
		   const struct compare_file *new, const struct compare_rules *rules)
{
	*c = (struct comparison){ .base = base, .new = new };
	collect_lines(c, rules);
	collect_notes(c);
	note_corrections(c);
	compare_environment(c);
	for (size_t i = 0; i < c->n_lines; i++)
		judge_line(&c->lines[i], rules);
	if (!refuse_files(c) && !refuse_environment(c, rules))
		c->verdict = worst_line(c, rules);
	compare_note_causes(c);
	note_unchanged(c);
}

void compare_free(struct comparison *c)
{
	free(c->lines);
	free(c->functions);
	buf_free(&c->notes);
	buf_free(&c->differences);
}

enum compare_verdict compare_overall(const struct comparison *c, size_t n)
{
	enum compare_verdict worst = COMPARE_SAME;
	for (size_t i = 0; i < n; i++)
		if (c[i].verdict > worst)
			worst = c[i].verdict;
	return worst;
}
