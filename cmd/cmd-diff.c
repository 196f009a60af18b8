/* tare diff BASE CHANGE: shows what changed between profiles, or between groups of runs.
 * Exit 0: compared; 1: an item grew beyond --threshold; 2: cannot compare. */
#include "command.h"
#include "complain.h"
#include "diff-show.h"
#include "profiles.h"
#include "sink.h"
#include "term.h"
#include "threshold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_COMPARED = 0, EXIT_GREW = 1, EXIT_CANNOT = 2 };
enum { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON };

struct diff_opts {
	struct opt_list base, change, exclude, thresholds;
	bool json, all;
	unsigned top;
	int by, compat, format;
	double share;
	const char *output;
};

static const char *const formats[] = { "text", "markdown", "json", NULL };
static const char *const by_words[] = { "label", "kind", "args", "thread", NULL };

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "What to compare" },
	{ OPT_LIST, 'b', "base", "FILE", "one more run of the base group", TO(diff_opts, base) },
	{ OPT_LIST, 'c', "change", "FILE", "one more run of the changed group",
	  TO(diff_opts, change) },
	{ OPT_CHOICE, 0, "by", "WHAT", "label (default), kind, args or thread", TO(diff_opts, by),
	  .choices = by_words },
	{ OPT_LIST, 'e', "exclude", "TEXT", "leave out names with TEXT in them",
	  TO(diff_opts, exclude) },
	{ OPT_GROUP, .help = "For CI" },
	{ OPT_LIST, 'T', "threshold", "[NAME=]N[%]", "exit with 1 when an item grew by more than N, or N "
	  "percent of the base, and by more than the runs' own variation; for the item NAME or for "
	  "all; may be given again", TO(diff_opts, thresholds) },
	{ OPT_REAL, 0, "share", "PCT", "judge names without a threshold of their own only if they "
	  "have at least PCT % of the total (default 1)", TO(diff_opts, share), .min = 0, .max = 100 },
	{ OPT_GROUP, .help = "How to show it" },
	{ OPT_FLAG, 'a', "all", NULL, "also show what is the same", TO(diff_opts, all) },
	{ OPT_UINT, 'n', "top", "N", "show only the N largest differences", TO(diff_opts, top),
	  .min = 1, .max = 4e9 },
	{ OPT_CHOICE, 'f', "format", "FORMAT", "text, markdown or json (schema tare.diff/1)",
	  TO(diff_opts, format), .choices = formats },
	{ OPT_FLAG, 'j', "json", NULL, "the same as --format json", TO(diff_opts, json) },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE instead of standard output", TO(diff_opts, output) },
	{ OPT_CHOICE, 0, "compat", "TOOL", "measureme: print byte for byte what its `summarize diff` prints",
	  TO(diff_opts, compat), .choices = compat_words },
	{ OPT_END },
};

static bool is_json(const struct diff_opts *o)
{
	return o->json || o->format == FORMAT_JSON;
}

struct group {
	const char **paths;
	size_t n_paths, n;
	struct tare_profile **profiles;
	struct tare_summary **summaries;
};

static void add_path(struct group *g, const char *path)
{
	const char **const grown = realloc(g->paths, (g->n_paths + 1) * sizeof(*grown));
	if (!grown)
		abort();
	g->paths = grown;
	g->paths[g->n_paths++] = path;
}

static bool load(struct group *g, const struct diff_opts *o, struct tare_why *why)
{
	const struct tare_summarize_options so = TARE_OPTIONS(summarize,
		.by = (enum tare_group_by)o->by,
		.progress = profile_progress("diff"));
	size_t n = g->n_paths;
	g->profiles = profiles_get(g->paths, &n);
	if (!g->profiles)
		return false;
	g->n = n;
	g->summaries = calloc(g->n + 1, sizeof(*g->summaries));
	if (!g->summaries)
		return false;
	for (size_t i = 0; i < g->n; i++) {
		const int err = tare_summarize(g->profiles[i], &so, &g->summaries[i], why);
		progress_clear();
		profile_cautions(g->profiles[i]);
		if (err < 0) {
			complain_why(why);
			return false;
		}
	}
	return true;
}

static void unload(struct group *g)
{
	for (size_t i = 0; g->summaries && i < g->n; i++)
		tare_summary_free(g->summaries[i]);
	free(g->summaries);
	if (g->profiles)
		profiles_close(g->profiles, g->n);
	free(g->paths);
}

/* How far a row grew beyond what it may: 0, or more. A name with too little share of the
 * total is judged only by a threshold that names it. */
static double excess(const struct compare_threshold *t, size_t n,
		     const struct tare_diff_row *r, bool small)
{
	double allowed;
	if (r->verdict <= TARE_DIFF_WITHIN || r->self <= 0 ||
	    !thresholds_allow(t, n, r->name, diff_middle(&r->base), small, &allowed))
		return 0;
	return (double)r->self > allowed ? (double)r->self - allowed : 0;
}

static int judge(const struct diff_opts *o, const struct tare_diff *d,
		 const struct compare_threshold *t, size_t n)
{
	const struct tare_diff_row *worst = &d->total;
	double most = excess(t, n, &d->total, false);
	const double least = o->share / 100 * diff_middle(&d->total.change);
	for (size_t i = 0; i < d->n_rows; i++) {
		const struct tare_diff_row *const r = &d->rows[i];
		const double e = excess(t, n, r, diff_middle(&r->change) < least);
		if (e > most) {
			most = e;
			worst = r;
		}
	}
	if (most == 0)
		return EXIT_COMPARED;
	const double base = diff_middle(&worst->base), by = (double)worst->self;
	const double allowed = round((by - most) * 1000) / 1000;
	const char *const sure = worst->verdict == TARE_DIFF_BEYOND ? "the runs' own variation and "
								     : "";
	const char *const unsure = worst->verdict == TARE_DIFF_BEYOND ? ""
		: "; so few runs do not tell whether it varies by itself";
	if (base > 0)
		complain("%s grew by %.15g (%.4g%%), beyond %sits threshold of %.15g%s", worst->name, by,
			 100 * by / base, sure, allowed, unsure);
	else
		complain("%s grew by %.15g, beyond %sits threshold of %.15g%s", worst->name, by, sure,
			 allowed, unsure);
	return EXIT_GREW;
}

/* A misspelt name would silently judge nothing: that is an error. */
static bool all_known(const struct tare_diff *d, const struct compare_threshold *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool known = !t[i].event;
		for (size_t k = 0; !known && k <= d->n_rows; k++) {
			const char *const name = k < d->n_rows ? d->rows[k].name : d->total.name;
			known = strlen(name) == t[i].event_len &&
				memcmp(name, t[i].event, t[i].event_len) == 0;
		}
		if (!known) {
			complain("diff: --threshold: no profile has the name \"%.*s\"",
				 (int)t[i].event_len, t[i].event);
			return false;
		}
	}
	return true;
}

static void make_text(const struct diff_opts *o, const struct tare_diff *d, struct buf *text)
{
	const struct diff_show show = { .exclude = o->exclude.items, .n_exclude = o->exclude.n,
					.all = o->all, .top = o->top };
	const bool measureme = o->compat == COMPAT_MEASUREME;
	if (is_json(o) && measureme)
		diff_measureme_json(d, text);
	else if (is_json(o))
		diff_json(d, &show, text);
	else if (measureme)
		diff_measureme_text(d, &show, text);
	else if (o->format == FORMAT_MARKDOWN)
		diff_markdown(d, &show, text);
	else
		diff_text(d, &show, text);
}

static int show(const struct diff_opts *o, const struct tare_diff *d)
{
	struct tare_why why = { 0 };
	struct buf text = { 0 };
	int fd = export_open(o->output);
	if (fd < 0)
		return EXIT_CANNOT;
	make_text(o, d, &text);
	const int err = is_json(o) ? sink_buf(&text, fd_write, &fd, &why)
				   : text_write(&text, fd, &why);
	buf_free(&text);
	if (err < 0)
		complain_why(&why);
	return export_close(fd, o->output, err < 0 ? EXIT_BAD : EXIT_GOOD) == EXIT_GOOD
		? EXIT_COMPARED : EXIT_CANNOT;
}

static int diff(const struct diff_opts *o, const struct compare_threshold *t, size_t n_t,
		struct group *base, struct group *change)
{
	struct tare_why why = { 0 };
	struct tare_diff *d = NULL;
	if (!load(base, o, &why) || !load(change, o, &why))
		return EXIT_CANNOT;
	if (tare_diff((const struct tare_summary *const *)base->summaries, base->n,
		      (const struct tare_summary *const *)change->summaries, change->n, NULL,
		      &d, &why) < 0) {
		complain_why(&why);
		return EXIT_CANNOT;
	}
	int status = all_known(d, t, n_t) ? show(o, d) : EXIT_CANNOT;
	if (status == EXIT_COMPARED)
		status = judge(o, d, t, n_t);
	tare_diff_free(d);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct diff_opts o = { .share = 1 };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	struct group base = { 0 }, change = { 0 };
	if (argc - first == 2) {
		add_path(&base, argv[first]);
		add_path(&change, argv[first + 1]);
	}
	for (size_t i = 0; i < o.base.n; i++)
		add_path(&base, o.base.items[i]);
	for (size_t i = 0; i < o.change.n; i++)
		add_path(&change, o.change.items[i]);
	int status = EXIT_USAGE;
	struct compare_threshold *t = NULL;
	size_t n_t = 0;
	if ((argc != first && argc - first != 2) || !base.n_paths || !change.n_paths)
		complain("diff: name two profiles or two directories of profiles, the base first "
			 "(or give --base and --change once for each run)");
	else if (thresholds_parse("diff", &o.thresholds, &t, &n_t))
		status = diff(&o, t, n_t, &base, &change);
	free(t);
	unload(&base);
	unload(&change);
	return status;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "show what changed between two profiles, or groups of runs",
	.usage = "[OPTION]… BASE CHANGE",
	.about = "BASE and CHANGE are profiles, or directories with one profile per run. With "
		 "several runs a difference is marked `beyond` when it is real, `within` when the "
		 "runs' own variation explains it, and `unclear` when there are too few runs to "
		 "tell. Exit status: 0 compared, 1 an item grew beyond --threshold, 2 cannot "
		 "compare.",
	.opts = opts,
	.run = run,
};
