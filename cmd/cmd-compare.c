/* tare compare BASE.json NEW.json…: exit 0 same (or better), 1 regression, 2 cannot
 * compare. */
#include "command.h"
#include "compare.h"
#include "complain.h"
#include "output.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>

enum { EXIT_SAME = 0, EXIT_REGRESSION = 1, EXIT_CANNOT = 2 };
enum { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON };

struct compare_opts {
	struct opt_list thresholds;
	const char *events;
	bool allow_scaled, any_change, ignore_environment, json;
	int format;
	const char *output;
};

static const char *const formats[] = { "text", "markdown", "json", NULL };

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "What to call a regression" },
	{ OPT_LIST, 'T', "threshold", "[EVENT=]N[%]", "accept a growth of up to N counts, or "
	  "N % of the base; for EVENT or for all; may be given again", TO(compare_opts,
	  thresholds) },
	{ OPT_EVENTS, 'e', "event", "LIST", "judge only these events; an event that cannot be "
	  "judged makes the files incomparable", TO(compare_opts, events) },
	{ OPT_FLAG, 0, "any-change", NULL, "a smaller count is a regression, too", TO(compare_opts,
	  any_change) },
	{ OPT_FLAG, 0, "allow-scaled", NULL, "accept multiplexed counts, which are estimates",
	  TO(compare_opts, allow_scaled) },
	{ OPT_FLAG, 0, "ignore-environment", NULL, "judge although libc, CPU features or the "
	  "environment differ", TO(compare_opts, ignore_environment) },
	{ OPT_GROUP, .help = "How to show it (on standard output)" },
	{ OPT_CHOICE, 'f', "format", "FORMAT", "text, markdown or json", TO(compare_opts, format),
	  .choices = formats },
	{ OPT_FLAG, 'j', "json", NULL, "the same as --format json", TO(compare_opts, json) },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE", TO(compare_opts, output) },
	{ OPT_END },
};

/* a,{b,c}:u is not needed here: names as the file has them, commas inside /…/ kept. */
static const char **split_events(char *text)
{
	const char **const list = calloc(strlen(text) + 2, sizeof(*list));
	size_t n = 0;
	bool inside = false;
	if (!list)
		abort();
	list[n++] = text;
	for (char *p = text; *p; p++) {
		if (*p == '/')
			inside = !inside;
		if (*p == ',' && !inside) {
			*p = '\0';
			list[n++] = p + 1;
		}
	}
	return list;
}

/* A misspelt name would silently judge nothing: that is an error. */
static bool known_event(const struct compare_file *files, size_t n, const char *event,
			const char *option)
{
	for (size_t i = 0; i < n; i++)
		if (compare_find(&files[i], event))
			return true;
	const char *names[257];
	size_t k = 0;
	for (; k < files[0].n_series && k < 256; k++)
		names[k] = files[0].series[k].event;
	names[k] = NULL;
	const char *const near = nearest_word(event, names);
	complain("compare: %s: no file has an event \"%s\"%s%s%s", option, event,
		 near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return false;
}

static bool check_names(const struct compare_file *files, size_t n,
			const struct compare_rules *r)
{
	for (const char *const *e = r->only; e && *e; e++)
		if (!known_event(files, n, *e, "--event"))
			return false;
	for (size_t i = 0; i < r->n_thresholds; i++) {
		const struct compare_threshold *const t = &r->thresholds[i];
		if (!t->event)
			continue;
		char *const name = strndup(t->event, t->event_len);
		const bool known = name && known_event(files, n, name, "--threshold");
		free(name);
		if (!known)
			return false;
	}
	return true;
}

static bool show(const struct compare_opts *o, const struct comparison *c, size_t n)
{
	struct output out;
	struct buf text = { 0 };
	if (!output_open(&out, o->output ? o->output : "-"))
		return false;
	if (o->json || o->format == FORMAT_JSON) {
		compare_json(c, n, &text);
	} else if (o->format == FORMAT_MARKDOWN) {
		compare_markdown(c, n, &text);
	} else {
		compare_text(c, n, out.fd, &text);
		term_text(&text);
	}
	bool good = output_write(&out, text.data, text.len);
	good &= output_close(&out);
	buf_free(&text);
	return good;
}

static int compare_all(const struct compare_opts *o, const struct compare_rules *r,
		       const struct compare_file *files, size_t n)
{
	struct comparison *const c = calloc(n, sizeof(*c));
	if (!c)
		abort();
	for (size_t i = 1; i < n; i++) {
		compare_judge(&c[i - 1], &files[0], &files[i], r);
		compare_functions(&c[i - 1]);
	}
	const enum compare_verdict worst = compare_overall(c, n - 1);
	const bool shown = show(o, c, n - 1);
	for (size_t i = 1; i < n; i++)
		compare_free(&c[i - 1]);
	free(c);
	if (!shown || worst == COMPARE_CANNOT)
		return EXIT_CANNOT;
	return worst == COMPARE_REGRESSION ? EXIT_REGRESSION : EXIT_SAME;
}

static int load_and_compare(const struct compare_opts *o, const struct compare_rules *r,
			    char *const *paths, size_t n)
{
	struct compare_file *const files = calloc(n, sizeof(*files));
	int status = EXIT_CANNOT;
	size_t loaded = 0;
	if (!files)
		abort();
	for (; loaded < n; loaded++) {
		struct tare_why why = { 0 };
		if (compare_load(&files[loaded], paths[loaded], &why) < 0) {
			complain_why(&why);
			break;
		}
	}
	if (loaded == n && check_names(files, n, r))
		status = compare_all(o, r, files, n);
	for (size_t i = 0; i < loaded; i++)
		compare_unload(&files[i]);
	free(files);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct compare_opts o = { 0 };
	struct compare_rules r = { 0 };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (argc - first < 2) {
		complain("compare: name at least two files: tare compare BASE.json NEW.json…");
		return EXIT_USAGE;
	}
	int status;
	char *const names = o.events ? strdup(o.events) : NULL;
	r.allow_scaled = o.allow_scaled;
	r.any_change = o.any_change;
	r.ignore_environment = o.ignore_environment;
	r.only = names ? split_events(names) : NULL;
	if (thresholds_parse("compare", &o.thresholds, &r.thresholds, &r.n_thresholds))
		status = load_and_compare(&o, &r, argv + first, (size_t)(argc - first));
	else
		status = EXIT_USAGE;
	free(r.thresholds);
	free((void *)r.only);
	free(names);
	free(o.thresholds.items);
	return status;
}

const struct command cmd_compare = {
	.name = "compare",
	.summary = "tell whether a count got worse",
	.usage = "[OPTION]… BASE.json NEW.json…",
	.about = "Compares results of `tare stat -j`. Exact and corrected counts that are ±0 are "
		 "proof as they stand. Counts that vary by themselves, and raw counts, are judged "
		 "by how much they vary, which needs five runs on either side. Scaled counts are "
		 "refused, and so are files with another libc, CPU features or environment. Exit "
		 "status: 0 same or better, 1 regression, 2 cannot compare.",
	.opts = opts,
	.run = run,
};
