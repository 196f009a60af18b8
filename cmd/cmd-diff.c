/* tare diff BASE CHANGE: what changed between profiles, or between groups of runs.
 * Exit 0: compared; 1: grew beyond --threshold; 2: cannot compare. */
#include "command.h"
#include "complain.h"
#include "profiles.h"
#include "term.h"

#include <stdlib.h>

enum { EXIT_COMPARED = 0, EXIT_GREW = 1, EXIT_CANNOT = 2 };

struct diff_opts {
	struct opt_list base, change, exclude;
	bool json, all;
	unsigned top;
	int by, compat;
	double threshold, share;
	const char *output;
};

static const char *const by_words[] = { "label", "kind", "args", "thread", NULL };

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "What is compared" },
	{ OPT_LIST, 'b', "base", "FILE", "one more run of the base group", TO(diff_opts, base) },
	{ OPT_LIST, 'c', "change", "FILE", "one more run of the changed group",
	  TO(diff_opts, change) },
	{ OPT_CHOICE, 0, "by", "WHAT", "label (default), kind, args or thread", TO(diff_opts, by),
	  .choices = by_words },
	{ OPT_LIST, 'e', "exclude", "TEXT", "leave out names with TEXT in them",
	  TO(diff_opts, exclude) },
	{ OPT_GROUP, .help = "For CI" },
	{ OPT_REAL, 'T', "threshold", "PCT", "exit with 1 when something grew by more than PCT % "
	  "beyond the runs' own variation", TO(diff_opts, threshold), .min = 0, .max = 1e9 },
	{ OPT_REAL, 0, "share", "PCT", "of single names only those with at least PCT % of the total "
	  "(default 1)", TO(diff_opts, share), .min = 0, .max = 100 },
	{ OPT_GROUP, .help = "How it is shown" },
	{ OPT_FLAG, 'a', "all", NULL, "also what is the same", TO(diff_opts, all) },
	{ OPT_UINT, 'n', "top", "N", "only the N largest differences", TO(diff_opts, top),
	  .min = 1, .max = 4e9 },
	{ OPT_FLAG, 'j', "json", NULL, "JSON (schema tare.diff/1)", TO(diff_opts, json) },
	{ OPT_FILE, 'o', "output", "FILE", "write there instead of stdout", TO(diff_opts, output) },
	{ OPT_CHOICE, 0, "compat", "TOOL", "measureme: byte for byte what its `summarize diff` prints",
	  TO(diff_opts, compat), .choices = compat_words },
	{ OPT_END },
};

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
	const struct tare_summarize_opts so = { .by = (enum tare_group_by)o->by,
						.progress = profile_progress("diff") };
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

static int judge(const struct diff_opts *o, const struct tare_diff *d)
{
	const char *name;
	if (o->threshold < 0)
		return EXIT_COMPARED;
	const double worst = tare_diff_growth(d, o->share, &name);
	if (worst <= o->threshold)
		return EXIT_COMPARED;
	complain("%s grew by %.4g%% beyond the runs' own variation; allowed are %g%%", name, worst,
		 o->threshold);
	return EXIT_GREW;
}

static int show(const struct diff_opts *o, const struct tare_diff *d)
{
	const struct tare_diff_print print = {
		.exclude = o->exclude.items, .n_exclude = o->exclude.n, .all = o->all, .top = o->top,
		.measureme = o->compat == 1,
	};
	struct tare_why why = { 0 };
	const int fd = export_open(o->output);
	if (fd < 0)
		return EXIT_CANNOT;
	const int err = o->json ? tare_diff_json(d, &print, fd, &why)
				: tare_diff_text(d, &print, fd, &why);
	if (err < 0)
		complain_why(&why);
	return export_close(fd, o->output, err < 0 ? EXIT_BAD : EXIT_GOOD) == EXIT_GOOD
		? EXIT_COMPARED : EXIT_CANNOT;
}

static int diff(const struct diff_opts *o, struct group *base, struct group *change)
{
	struct tare_why why = { 0 };
	struct tare_diff *d = NULL;
	if (!load(base, o, &why) || !load(change, o, &why))
		return EXIT_CANNOT;
	if (tare_diff((const struct tare_summary *const *)base->summaries, base->n,
		      (const struct tare_summary *const *)change->summaries, change->n, &d,
		      &why) < 0) {
		complain_why(&why);
		return EXIT_CANNOT;
	}
	int status = show(o, d);
	if (status == EXIT_COMPARED)
		status = judge(o, d);
	tare_diff_free(d);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct diff_opts o = { .threshold = -1, .share = 1 };
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
	int status = EXIT_CANNOT;
	if ((argc != first && argc - first != 2) || !base.n_paths || !change.n_paths)
		complain("diff: two profiles or directories of profiles are wanted, the base "
			 "first (or --base and --change, as often as there are runs)");
	else
		status = diff(&o, &base, &change);
	unload(&base);
	unload(&change);
	return status;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "what changed between two profiles, or groups of runs",
	.usage = "[OPTION]… BASE CHANGE",
	.about = "BASE and CHANGE are profiles, or directories with one profile per run. With "
		 "several runs a difference is marked `beyond` when it exceeds what the runs "
		 "differ by among themselves, else `within`. Exit status: 0 compared, 1 grew "
		 "beyond --threshold, 2 cannot compare.",
	.opts = opts,
	.usage_status = EXIT_CANNOT,
	.run = run,
};
