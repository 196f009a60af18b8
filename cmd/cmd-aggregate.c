/* tare aggregate FILES…: aligns the profiles of N runs and shows which intervals vary. */
#include "aggregate-show.h"
#include "command.h"
#include "complain.h"
#include "profiles.h"
#include "sink.h"
#include "term.h"
#include "why.h"

struct aggregate_opts {
	bool json, no_macro, no_micro, by_name;
	unsigned limit, top;
	int compat, sort, format;
	const char *output;
};

/* The formats of --format: a name in format_words and a row here each, in the same order. The
 * text of a format for people is adapted to the locale. */
struct aggregate_format {
	int (*show)(const struct tare_aggregate *a, const struct aggregate_show *o, struct buf *out,
		    struct tare_why *why);
	bool for_people;
};
enum { FORMAT_TEXT, FORMAT_JSON };
static const char *const format_words[] = {
	[FORMAT_TEXT] = "text",
	[FORMAT_JSON] = "json",
	NULL
};
static const struct aggregate_format formats[] = {
	[FORMAT_TEXT] = { aggregate_text, .for_people = true },
	[FORMAT_JSON] = { aggregate_json },
};

/* What --compat measureme prints instead of text. */
static const struct aggregate_format format_measureme = { aggregate_measureme, .for_people = true };

static const struct aggregate_format *format_of(const struct aggregate_opts *o)
{
	const int format = o->json ? FORMAT_JSON : o->format;
	return o->compat == COMPAT_MEASUREME && format == FORMAT_TEXT ? &format_measureme
								       : &formats[format];
}

static const char *const sorts[] = { "self", "variation", "percent", "name", NULL };

static const struct opt opts[] = {
	{ OPT_UINT, 'n', "limit", "N", "show N values of each list of extremes (default 10)",
	  TO(aggregate_opts, limit), .min = 1, .max = 1000000 },
	{ OPT_UINT, 't', "top", "N", "show N items of the table of self values (default 10)",
	  TO(aggregate_opts, top), .min = 1, .max = 4e9 },
	{ OPT_CHOICE, 's', "sort", "KEY", "sort that table by self (default), variation, percent (the "
	  "variation's share) or name", TO(aggregate_opts, sort), .choices = sorts },
	{ OPT_FLAG, 'g', "by-name", NULL, "also group the variations by the name around them",
	  TO(aggregate_opts, by_name) },
	{ OPT_FLAG, 0, "no-macro", NULL, "leave out the table of self values",
	  TO(aggregate_opts, no_macro) },
	{ OPT_FLAG, 0, "no-micro", NULL, "leave out the lists of sample intervals",
	  TO(aggregate_opts, no_micro) },
	{ OPT_CHOICE, 'f', "format", "FORMAT", "text or json (schema tare.aggregate/1)",
	  TO(aggregate_opts, format), .choices = format_words },
	{ OPT_FLAG, 'j', "json", NULL, "the same as --format json", TO(aggregate_opts, json) },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE instead of standard output",
	  TO(aggregate_opts, output) },
	{ OPT_CHOICE, 0, "compat", "TOOL", "measureme: print byte for byte what its `summarize aggregate` "
	  "prints",
	  TO(aggregate_opts, compat), .choices = compat_words },
	{ OPT_END },
};

static int show(const struct aggregate_opts *o, const struct tare_aggregate *a, int fd,
		struct tare_why *why)
{
	const struct aggregate_show show = { .no_macro = o->no_macro, .no_micro = o->no_micro,
					     .by_name = o->by_name, .top = o->top };
	const struct aggregate_format *const format = format_of(o);
	struct buf text = { 0 };
	int err = format->show(a, &show, &text, why);
	if (err == 0)
		err = format->for_people ? text_write(&text, fd, why)
					 : sink_buf(&text, fd_write, &fd, why);
	buf_free(&text);
	return err;
}

static int aggregate(const struct aggregate_opts *o, struct tare_profile **p, size_t n, int fd,
		     struct tare_why *why)
{
	struct tare_aggregate *a;
	const bool measureme = o->compat == COMPAT_MEASUREME;
	const struct tare_aggregate_options ao = TARE_OPTIONS(aggregate,
		.limit = o->limit, .by_name = o->by_name,
		.identical = measureme, .any_counter = measureme, .nest_empty = measureme,
		.sort = (enum tare_macro_sort)o->sort,
		.progress = profile_progress("aggregate"));
	int err = tare_aggregate(p, n, &ao, &a, why);
	progress_clear();
	if (err == TARE_E_MISMATCH && measureme)
		why_remedy(why, "measureme's aggregate requires this; leave out --compat measureme");
	if (err == 0)
		err = show(o, a, fd, why);
	tare_aggregate_free(a);
	return err;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct aggregate_opts o = { .top = 10 };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	size_t n = (size_t)(argc - first);
	if (!n) {
		complain("aggregate: no profile given; name .mm_profdata files, one per run");
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
	.summary = "align the profiles of several runs; show which intervals vary",
	.usage = "[OPTION]… FILE…",
	.about = "Aligns N runs of one program point by point. Prints the self value of each name "
		 "over the runs, the sample intervals with the smallest and largest values and "
		 "variations, and a histogram. Where the runs have different events, the output says "
		 "so, and the rest is compared.",
	.opts = opts,
	.run = run,
};
