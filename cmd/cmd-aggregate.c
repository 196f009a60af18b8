/* tare aggregate FILES…: N runs lined up, and which intervals vary. */
#include "command.h"
#include "complain.h"
#include "profiles.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct aggregate_opts {
	bool json, no_macro, no_micro, by_name;
	unsigned limit, top;
	int compat, sort;
	const char *output;
};

static const char *const sorts[] = { "self", "variation", "percent", "name", NULL };

static const struct opt opts[] = {
	{ OPT_UINT, 'n', "limit", "N", "values of each list of extremes (default 10)",
	  TO(aggregate_opts, limit), .min = 1, .max = 1000000 },
	{ OPT_UINT, 't', "top", "N", "items of the table of self values (default 10)",
	  TO(aggregate_opts, top), .min = 1, .max = 4e9 },
	{ OPT_CHOICE, 's', "sort", "KEY", "of that table: self (default), variation, percent (the "
	  "variation's share) or name", TO(aggregate_opts, sort), .choices = sorts },
	{ OPT_FLAG, 'g', "by-name", NULL, "also the variations grouped by the name they lie in",
	  TO(aggregate_opts, by_name) },
	{ OPT_FLAG, 0, "no-macro", NULL, "without the table of self values",
	  TO(aggregate_opts, no_macro) },
	{ OPT_FLAG, 0, "no-micro", NULL, "without the lists of sample intervals",
	  TO(aggregate_opts, no_micro) },
	{ OPT_FLAG, 'j', "json", NULL, "JSON (schema tare.aggregate/1)", TO(aggregate_opts, json) },
	{ OPT_FILE, 'o', "output", "FILE", "write there instead of stdout",
	  TO(aggregate_opts, output) },
	{ OPT_CHOICE, 0, "compat", "TOOL", "measureme: byte for byte what its `summarize aggregate` prints",
	  TO(aggregate_opts, compat), .choices = compat_words },
	{ OPT_END },
};

static int aggregate(const struct aggregate_opts *o, struct tare_profile **p, size_t n, int fd,
		     struct tare_why *why)
{
	struct tare_aggregate *a;
	const struct tare_aggregate_opts ao = { .limit = o->limit, .measureme = o->compat == 1,
						.by_name = o->by_name,
						.sort = (enum tare_macro_sort)o->sort,
						.progress = profile_progress("aggregate") };
	const struct tare_aggregate_print print = { .measureme = o->compat == 1, .top = o->top,
						    .no_macro = o->no_macro,
						    .by_name = o->by_name,
						    .no_micro = o->no_micro };
	int err = tare_aggregate(p, n, &ao, &a, why);
	progress_clear();
	if (err == 0 && o->json) {
		err = tare_aggregate_json(a, fd, why);
	} else if (err == 0) {
		const int text_fd = term_text_begin(fd);
		err = tare_aggregate_text(a, &print, text_fd, why);
		if (!term_text_end(text_fd, fd) && err == 0) {
			*why = (struct tare_why){ .code = TARE_E_IO, .sys_errno = errno };
			snprintf(why->what, sizeof(why->what), "%s", strerror(errno));
			err = why->code;
		}
	}
	tare_aggregate_free(a);
	return err;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct aggregate_opts o = { 0 };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	size_t n = (size_t)(argc - first);
	if (!n) {
		complain("aggregate: profiles are wanted, one per run (.mm_profdata files)");
		return EXIT_USAGE;
	}
	struct tare_profile **const p = profiles_get((const char *const *)argv + first, &n);
	if (!p)
		return EXIT_BAD;
	struct tare_why why = { 0 };
	const int fd = export_open(o.output);
	int status = fd < 0 ? EXIT_BAD : EXIT_GOOD;
	if (fd >= 0 && aggregate(&o, p, n, fd, &why) < 0) {
		complain_why(&why);
		status = EXIT_BAD;
	}
	for (size_t i = 0; i < n; i++)
		profile_cautions(p[i]);
	profiles_close(p, n);
	return fd < 0 ? status : export_close(fd, o.output, status);
}

const struct command cmd_aggregate = {
	.name = "aggregate",
	.summary = "line up the profiles of several runs; which intervals vary",
	.usage = "[OPTION]… FILE…",
	.about = "Lines up N runs of one program point by point and prints, per sample interval, "
		 "the smallest and largest value and half their difference: the extremes with "
		 "where they are, a histogram, and the self value of each name over the runs. "
		 "Where the runs went different ways it says so and compares the rest.",
	.opts = opts,
	.run = run,
};
