/* tare summarize FILE…: the values of a profile's intervals, summed up per name. */
#include "command.h"
#include "complain.h"
#include "export-show.h"
#include "profiles.h"
#include "sink.h"
#include "summarize-show.h"
#include "term.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct summarize_opts {
	bool json, tree;
	double percent;
	unsigned top;
	int by, sort, compat;
	const char *output;
};

static const char *const by_words[] = { "label", "kind", "args", "thread", NULL };
static const char *const sort_words[] = { "self", "total", "count", "name", "hits", NULL };

static const struct opt opts[] = {
	{ OPT_REAL, 'p', "percent-above", "PCT", "show only items with at least PCT % of the total",
	  TO(summarize_opts, percent), .min = 0, .max = 100 },
	{ OPT_UINT, 'n', "top", "N", "show only the first N items", TO(summarize_opts, top),
	  .min = 1, .max = 4e9 },
	{ OPT_CHOICE, 's', "sort", "KEY", "self (default), total, count, name or hits",
	  TO(summarize_opts, sort), .choices = sort_words },
	{ OPT_CHOICE, 'b', "by", "WHAT", "one row per label (default), kind, label with args, or thread",
	  TO(summarize_opts, by), .choices = by_words },
	{ OPT_FLAG, 't', "tree", NULL, "show the call tree instead of a table", TO(summarize_opts, tree) },
	{ OPT_FLAG, 'j', "json", NULL, "JSON (schema tare.summary/1)", TO(summarize_opts, json) },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE instead of standard output",
	  TO(summarize_opts, output) },
	{ OPT_CHOICE, 0, "compat", "TOOL", "measureme: print byte for byte what its `summarize` prints",
	  TO(summarize_opts, compat), .choices = compat_words },
	{ OPT_END },
};

static int show_tree(const struct summarize_opts *o, struct tare_profile *p, int fd,
		     struct tare_why *why)
{
	struct tare_stacks *t;
	const struct tare_stacks_options so = TARE_OPTIONS(stacks,
		.by_thread = o->by == TARE_BY_THREAD, .args = o->by == TARE_BY_ARGS,
		.progress = profile_progress("summarize"));
	int err = tare_stacks_collect(p, &so, &t, why);
	progress_clear();
	if (err == 0)
		err = stacks_text(t, o->percent, fd, why);
	tare_stacks_free(t);
	return err;
}

static int summarize(const struct summarize_opts *o, struct tare_profile **p, size_t n, int fd,
		     struct tare_why *why)
{
	const struct tare_summarize_options so = TARE_OPTIONS(summarize,
		.by = (enum tare_group_by)o->by,
		.progress = profile_progress("summarize"));
	const struct summarize_show show = { .percent_above = o->percent, .top = o->top,
					     .sort = (enum summarize_sort)o->sort };
	const bool measureme = o->compat == COMPAT_MEASUREME;
	struct buf text = { 0 };
	struct tare_summary **const s = calloc(n + 1, sizeof(*s));
	int err = s ? 0 : TARE_E_NOMEM;
	for (size_t i = 0; err == 0 && i < n; i++) {
		err = tare_summarize(p[i], &so, &s[i], why);
		progress_clear();
		if (err == 0 && !o->json) {
			if (i)
				buf_chr(&text, '\n');
			if (!measureme) {
				err = summarize_text(s[i], &show, &text, fd, why);
				continue;
			}
			summarize_measureme_text(s[i], &show, &text);
			err = text_write(&text, fd, why);
			text.len = 0;
		}
	}
	const struct tare_summary *const *const all = (const struct tare_summary *const *)s;
	if (err == 0 && o->json && measureme)
		summarize_measureme_json(all, n, &text);
	else if (err == 0 && o->json)
		summarize_json(all, n, &show, &text);
	if (err == 0 && o->json)
		err = sink_buf(&text, fd_write, &fd, why);
	buf_free(&text);
	for (size_t i = 0; s && i < n; i++)
		tare_summary_free(s[i]);
	free(s);
	return err;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct summarize_opts o = { 0 };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	size_t n = (size_t)(argc - first);
	if (!n) {
		complain("summarize: no profile given; name a .mm_profdata file, or - for standard input");
		return EXIT_USAGE;
	}
	if (o.tree && (o.json || o.compat == COMPAT_MEASUREME || o.sort || o.top || o.by == TARE_BY_KIND)) {
		complain("summarize: with --tree, only --percent-above, --by args and --by thread are possible");
		return EXIT_USAGE;
	}
	struct tare_profile **const p = profiles_get((const char *const *)argv + first, &n);
	if (!p)
		return EXIT_BAD;
	struct tare_why why = { 0 };
	const int fd = export_open(o.output);
	int status = fd < 0 ? EXIT_BAD : EXIT_GOOD;
	int err = 0;
	for (size_t i = 0; o.tree && fd >= 0 && err == 0 && i < n; i++) {
		if (n > 1)
			dprintf(fd, "%s%s:\n", i ? "\n" : "", tare_profile_info(p[i])->path);
		err = show_tree(&o, p[i], fd, &why);
	}
	if (!o.tree && fd >= 0)
		err = summarize(&o, p, n, fd, &why);
	for (size_t i = 0; i < n; i++)
		profile_cautions(p[i]);
	if (err < 0) {
		complain_why(&why);
		status = EXIT_BAD;
	}
	profiles_close(p, n);
	return fd < 0 ? status : export_close(fd, o.output, status);
}

const struct command cmd_summarize = {
	.name = "summarize",
	.summary = "sum up the intervals of a profile, per name",
	.usage = "[OPTION]… FILE…",
	.about = "Reads .mm_profdata files (tare record, rustc -Z self-profile) and prints for each "
		 "name its self value (without the intervals inside), its share of the total, its "
		 "value with the intervals inside, and the number of its intervals, in the counter's "
		 "own unit.",
	.opts = opts,
	.run = run,
};
