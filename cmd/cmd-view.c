/* tare view FILE: the events of a profile, one per line. */
#include "buf.h"
#include "command.h"
#include "complain.h"
#include "profiles.h"
#include "term.h"
#include "view-show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct view_opts {
	const char *thread, *range, *kind, *label;
	uint64_t skip, count;
	bool info;
	int compat;
};

static const struct opt opts[] = {
	{ OPT_STRING, 't', "thread", "N", "show only events of this thread", TO(view_opts, thread) },
	{ OPT_STRING, 'r', "range", "FROM-TO", "show only events that touch these values",
	  TO(view_opts, range) },
	{ OPT_STRING, 'k', "kind", "TEXT", "show only events with TEXT in their kind", TO(view_opts, kind) },
	{ OPT_STRING, 'l', "label", "TEXT", "show only events with TEXT in their label",
	  TO(view_opts, label) },
	{ OPT_U64, 's', "skip", "N", "skip the first N of these events", TO(view_opts, skip) },
	{ OPT_U64, 'n', "count", "N", "show N events", TO(view_opts, count) },
	{ OPT_FLAG, 'i', "info", NULL, "show only what the file says of itself", TO(view_opts, info) },
	{ OPT_CHOICE, 0, "compat", "TOOL", "measureme: print byte for byte what its mmview prints",
	  TO(view_opts, compat), .choices = compat_words },
	{ OPT_END },
};

static bool parse(const struct view_opts *o, struct view_show *show)
{
	uint64_t thread = 0;
	struct tare_stream_options *const v = &show->events;
	*show = (struct view_show){ .events = TARE_OPTIONS(stream, .kind = o->kind, .label = o->label),
				    .skip = o->skip, .count = o->count };
	if (o->thread && (!text_to_u64(o->thread, &thread) || thread > UINT32_MAX)) {
		complain("view: --thread needs a number, not \"%s\"", o->thread);
		return false;
	}
	v->one_thread = o->thread != NULL;
	v->thread = (uint32_t)thread;
	if (!o->range)
		return true;
	char *const copy = strdup(o->range);
	char *const dash = copy ? strchr(copy, '-') : NULL;
	bool good = dash != NULL;
	if (dash) {
		*dash = '\0';
		v->to = UINT64_MAX;
		good = (!*copy || text_to_u64(copy, &v->from)) &&
		       (!dash[1] || text_to_u64(dash + 1, &v->to)) && v->from <= v->to;
	}
	free(copy);
	if (!good)
		complain("view: --range needs FROM-TO with FROM not above TO, not \"%s\"", o->range);
	return good;
}

/* A text of the file, of which nothing is known: it may not move the cursor. */
static void show_text(const char *what, const char *text)
{
	struct buf b = { 0 };
	buf_str(&b, text);
	if (b.len)
		text_printable(b.data, b.len);
	printf("%s%s\n", what, b.len ? b.data : "");
	buf_free(&b);
}

static void show_command(const char *what, const char *command)
{
	struct buf b = { 0 };
	buf_str(&b, command);
	size_t words = 1;
	for (const char *p = command; *p; p++)
		words += *p == ' ';
	term_command(&b, 0, words);
	printf("%s%s\n", what, b.len ? b.data : "");
	buf_free(&b);
}

static void show_info(const struct tare_profile_info *i)
{
	char thread[32];
	printf("file        %s\nversion     %u\nsize        %" PRIu64 " bytes\n"
	       "events      %" PRIu64 "\ncomplete    %s\n", i->path, i->version, i->size_bytes,
	       i->n_events, i->complete ? "yes" : "no");
	if (!i->has_metadata)
		return;
	show_text("counter     ", *i->counter ? i->counter : "not named");
	show_text("unit        ", i->unit);
	show_command("command     ", i->cmd);
	printf("process     %u\nstart       %" PRIu64 " ns since the epoch\n", i->process_id,
	       i->start_time_ns);
	if (*i->cpu)
		show_text("cpu         ", i->cpu);
	if (*i->provenance)
		show_text("provenance  ", i->provenance);
	if (i->own_axis_per_thread)
		printf("axis        each thread's values start at its own 0\n");
	for (size_t k = 0; k < i->n_threads; k++) {
		snprintf(thread, sizeof(thread), "thread %-4u ", i->threads[k].id);
		show_text(thread, i->threads[k].name);
	}
	if (i->clamped)
		printf("clamped     %" PRIu64 "\n", i->clamped);
	if (i->dropped)
		printf("dropped     %" PRIu64 "\n", i->dropped);
	if (i->pages)
		printf("pages       %" PRIu64 " written while recording, %" PRIu64 " %s, %s\n", i->pages,
		       i->page_cost, i->unit, i->is_time ? "events of their own" : "in no event");
}

static int run(const struct command *self, int argc, char **argv)
{
	struct view_opts o = { 0 };
	struct view_show show;
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (argc - first != 1) {
		complain("view: %s; name one .mm_profdata file, or - for standard input",
			 argc == first ? "no profile given" : "more than one profile given");
		return EXIT_USAGE;
	}
	if (!parse(&o, &show))
		return EXIT_USAGE;
	struct tare_profile *const p = profile_get(argv[first]);
	if (!p)
		return EXIT_BAD;
	struct tare_why why = { 0 };
	int status = EXIT_GOOD;
	if (o.info) {
		show_info(tare_profile_info(p));
	} else {
		const int err = o.compat == COMPAT_MEASUREME
				? view_measureme(p, &show, STDOUT_FILENO, &why)
				: view_text(p, &show, STDOUT_FILENO, &why);
		if (err < 0) {
			complain_why(&why);
			status = EXIT_BAD;
		} else if (err == VIEW_EMPTY || !tare_profile_info(p)->n_events) {
			fputs("No events.\n", stderr);	/* as mmview has it */
		}
	}
	profile_cautions(p);
	tare_profile_close(p);
	return status;
}

const struct command cmd_view = {
	.name = "view",
	.summary = "print the events of a profile",
	.usage = "[OPTION]… FILE",
	.about = "One line per event, in file order: its number, thread, type, start, end, duration "
		 "(in the counter's unit), kind and name.",
	.opts = opts,
	.run = run,
};
