/* tare export --to FORMAT FILE…: writes profiles for other programs, or as a picture. */
#include "command.h"
#include "complain.h"
#include "export-show.h"
#include "profiles.h"
#include "term.h"

#include <stdio.h>
#include <string.h>

enum { TO_NOTHING = -1, TO_CHROME, TO_SPEEDSCOPE, TO_COLLAPSED, TO_FLAMEGRAPH, TO_CSV };

struct export_opts {
	int to, compat;
	const char *output, *title;
	uint64_t least;
	bool collapse, by_thread, args, instants;
};

static const char *const formats[] = { "chrome", "speedscope", "collapsed", "flamegraph", "csv",
				       NULL };

static const struct opt opts[] = {
	{ OPT_CHOICE, 't', "to", "FORMAT", "chrome, speedscope, collapsed, flamegraph or csv",
	  TO(export_opts, to), .choices = formats },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE instead of standard output", TO(export_opts, output) },
	{ OPT_GROUP, .help = "What to export" },
	{ OPT_U64, 'm', "minimum-duration", "N", "leave out intervals of less than N (with --compat: "
	  "microseconds)", TO(export_opts, least) },
	{ OPT_FLAG, 'i', "instants", NULL, "chrome: write instants, too", TO(export_opts, instants) },
	{ OPT_FLAG, 'a', "args", NULL, "arguments are part of a frame's name", TO(export_opts, args) },
	{ OPT_FLAG, 0, "by-thread", NULL, "collapsed, flamegraph: one root per thread",
	  TO(export_opts, by_thread) },
	{ OPT_FLAG, 0, "collapse-threads", NULL, "chrome: threads that do not overlap share a line",
	  TO(export_opts, collapse) },
	{ OPT_STRING, 0, "title", "TEXT", "flamegraph: the title", TO(export_opts, title) },
	{ OPT_CHOICE, 0, "compat", "TOOL", "measureme: write what its crox (chrome) and "
	  "stack_collapse (collapsed) write", TO(export_opts, compat), .choices = compat_words },
	{ OPT_END },
};

static int stacks(const struct export_opts *o, struct tare_profile *p, int fd,
		  struct tare_why *why)
{
	struct tare_stacks *t;
	const bool measureme = o->compat == COMPAT_MEASUREME;
	const struct tare_stacks_options so = TARE_OPTIONS(stacks,
		.by_thread = o->by_thread, .args = o->args,
		.root = measureme ? "rustc" : NULL,
		.raw_names = measureme, .nest_empty = measureme,
		.least = o->to == TO_COLLAPSED ? 0 : FLAMEGRAPH_LEAST,
		.progress = profile_progress("export"));
	int err = tare_stacks_collect(p, &so, &t, why);
	progress_clear();
	if (err < 0)
		return err;
	const char *const path = tare_profile_info(p)->path;
	const char *const slash = strrchr(path, '/');
	if (o->to == TO_COLLAPSED)
		err = stacks_collapsed(t, measureme, fd, why);
	else
		err = flamegraph(t, o->title ? o->title : slash ? slash + 1 : path, fd, why);
	if (err == 0 && o->to == TO_FLAMEGRAPH && !tare_stacks_info(t)->total)
		caution("%s has no interval to draw; the picture is empty", path);
	tare_stacks_free(t);
	return err;
}

static int export(const struct export_opts *o, struct tare_profile **p, size_t n, int fd,
		  struct tare_why *why)
{
	const bool measureme = o->compat == COMPAT_MEASUREME;
	const struct tare_output out = { fd_write, &fd };
	const uint64_t least = measureme ? o->least * 1000 : o->least;
	const struct tare_export_options eo = TARE_OPTIONS(export,
		.least = least, .collapse_threads = o->collapse,
		.dialect = measureme ? TARE_EXPORT_CROX : TARE_EXPORT_PLAIN,
		.instants = o->instants, .args = o->args,
		.progress = profile_progress("export"));
	switch (o->to) {
	case TO_CHROME:
		return tare_export_chrome(p, n, &eo, &out, why);
	case TO_SPEEDSCOPE:
		return tare_export_speedscope(p[0], &eo, &out, why);
	case TO_CSV:
		return export_csv(p[0], &(struct export_csv){ .least = least,
							  .progress = eo.progress }, fd, why);
	default:
		return stacks(o, p[0], fd, why);
	}
}

static int run(const struct command *self, int argc, char **argv)
{
	struct export_opts o = { .to = TO_NOTHING };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	size_t n = (size_t)(argc - first);
	if (o.to == TO_NOTHING) {
		complain("export: --to is missing: chrome, speedscope, collapsed, flamegraph or csv");
		return EXIT_USAGE;
	}
	if (!n) {
		complain("export: no profile given; name a .mm_profdata file, or - for standard input");
		return EXIT_USAGE;
	}
	struct tare_profile **const p = profiles_get((const char *const *)argv + first, &n);
	if (!p)
		return EXIT_BAD;
	if (n > 1 && o.to != TO_CHROME) {
		complain("export: only --to chrome takes several profiles");
		profiles_close(p, n);
		return EXIT_USAGE;
	}
	struct tare_why why = { 0 };
	const int fd = export_open(o.output);
	int status = fd < 0 ? EXIT_BAD : EXIT_GOOD;
	if (fd >= 0 && export(&o, p, n, fd, &why) < 0) {
		progress_clear();
		complain_why(&why);
		status = EXIT_BAD;
	}
	progress_clear();
	for (size_t i = 0; i < n; i++)
		profile_cautions(p[i]);
	profiles_close(p, n);
	return fd < 0 ? status : export_close(fd, o.output, status);
}

const struct command cmd_export = {
	.name = "export",
	.summary = "write profiles for Perfetto, speedscope or scripts; draw flame graphs",
	.usage = "--to FORMAT [OPTION]… FILE…",
	.about = "chrome: trace events for Perfetto and chrome://tracing (several profiles in one). "
		 "speedscope: for https://www.speedscope.app. collapsed: one line per stack. "
		 "flamegraph: an SVG to look at in a browser. csv: one line per event.",
	.opts = opts,
	.run = run,
};
