/* tare annotate: which code of a command executes how much. */
#include "annotate.h"
#include "annotate-diff.h"
#include "clean-env.h"
#include "command.h"
#include "complain.h"
#include "function-rules.h"
#include "gate.h"
#include "measuring.h"
#include "output.h"
#include "term.h"
#include "world-show.h"

#include <tare/tare.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "What is counted" },
	{ OPT_EVENTS, 'e', "event", "LIST", "events of the software engine, as tare-events(7) describes them; "
	  "may be given again; without it: instructions", TO(annotate_opts, events) },
	{ OPT_FLAG, 0, "calls", NULL, "follow calls: inclusive counts, how often functions were called, callers and "
	  "callees (with --function), stacks for flame graphs", TO(annotate_opts, calls) },
	{ OPT_LIST, 0, "in", "FUNCTION", "only what ran while FUNCTION was on the stack of the thread; a name or a "
	  "wildcard; may be given again", TO(annotate_opts, in) },
	{ OPT_FLAG, 'i', "no-inherit", NULL, "leave out the processes and threads that the command starts",
	  TO(annotate_opts, no_inherit) },
	{ OPT_INT, 'D', "delay", "MS", "leave out the first MS milliseconds of the command; -1: count "
	  "nothing until the program (tare_region(3)) or --control switches counting on",
	  TO(annotate_opts, delay_ms), .min = -1, .max = 86400000 },
	{ OPT_STRING, 0, "control", "HOW", "fd:CTL[,ACK] or fifo:CTL[,ACK]: take commands (enable, "
	  "disable, ping …) from CTL and answer with ack on ACK", TO(annotate_opts, control) },
	{ OPT_GROUP, .help = "How it is run" },
	{ OPT_FLAG, 0, "aslr", NULL, "leave address space randomisation on", TO(annotate_opts, aslr) },
	{ OPT_STRING, 0, "machine", "NAME", MACHINE_HELP, TO(annotate_opts, machine), .word = tare_machine },
	{ OPT_STRING, 0, "hermetic", "SEED", HERMETIC_HELP, TO(annotate_opts, hermetic), .optional = true },
	{ OPT_STRING, 0, "schedule", "SEED", SCHEDULE_HELP, TO(annotate_opts, schedule) },
	{ OPT_FLAG, 0, "clean-env", NULL, "run the command in a fixed environment: " CLEAN_ENV_HELP,
	  TO(annotate_opts, clean_env) },
	{ OPT_LIST, 0, "keep", "VAR", "with --clean-env or --hermetic, leave this variable in; may be given again",
	  TO(annotate_opts, keep) },
	{ OPT_UINT, 0, "timeout", "MS", "end the command after MS milliseconds",
	  TO(annotate_opts, timeout_ms), .min = 10, .max = 4e9 },
	{ OPT_FLAG, 0, "refuse-uncounted", NULL, "fail where the software engine meets a program that it cannot "
	  "enter, instead of running it uncounted", TO(annotate_opts, refuse) },
	{ OPT_GROUP, .help = "What is shown (of a command on standard error, of files on standard output)" },
	{ OPT_CHOICE, 0, "by", "WHAT", "function (without this option), line, insn, object or file",
	  TO(annotate_opts, by), .choices = annotate_by_words },
	{ OPT_UINT, 0, "top", "N", "show the N largest; without it 20", TO(annotate_opts, top), .min = 1,
	  .max = 4e9 },
	{ OPT_LIST, 'f', "function", "NAME", "show source and instructions of this function, with their counts; a "
	  "name or a wildcard; may be given again", TO(annotate_opts, functions) },
	{ OPT_FLAG, 0, "tree", NULL, "show the call tree", TO(annotate_opts, tree) },
	{ OPT_FLAG, 0, "syscalls", NULL, "also show how often each system call was made, and by which function",
	  TO(annotate_opts, syscalls) },
	{ OPT_FLAG, 0, "allocations", NULL, "also show how often malloc and the like were called, and by which "
	  "function", TO(annotate_opts, allocations) },
	{ OPT_FLAG, 0, "per-process", NULL, "a table for each process", TO(annotate_opts, per_process) },
	{ OPT_FLAG, 0, "per-thread", NULL, "a table for each thread", TO(annotate_opts, per_thread) },
	{ OPT_DIR, 0, "source", "DIR", "look for source files below DIR, where they are not at their own "
	  "place", TO(annotate_opts, source) },
	{ OPT_FLAG, 0, "no-names", NULL, "read no symbols: object+offset only", TO(annotate_opts, no_names) },
	{ OPT_FLAG, 'j', "json", NULL, "JSON, schema tare.annotate/1", TO(annotate_opts, json) },
	{ OPT_FILE, 0, "report", "FILE", "write the table to FILE; -: standard output",
	  TO(annotate_opts, report) },
	{ OPT_FLAG, 0, "diff", NULL, "of two profiles, BASE and NEW: what changed, by function and line (--by line: lines "
	  "only); the parts add up to the whole difference", TO(annotate_opts, diff) },
	{ OPT_GROUP, .help = "What is kept" },
	{ OPT_FILE, 'o', "output", "FILE", "write the whole profile to FILE, which tare annotate reads again; "
	  "-: standard output", TO(annotate_opts, output) },
	{ OPT_CHOICE, 0, "format", "WHICH", "what -o writes: json (the profile), collapsed (stacks), flamegraph "
	  "(SVG), callgrind, cachegrind, pprof or bbv (basic-block vector)", TO(annotate_opts, format), .choices = annotate_format_words },
	{ OPT_FILE, 0, "html", "FILE", "write a page with functions, flame graph and source to FILE",
	  TO(annotate_opts, html) },
	{ OPT_REFUSED, 'r', "repeat", .help = "a profile is of one run; to add runs up: -o FILE each, then "
	  "tare annotate FILE…" },
	{ OPT_REFUSED, 'p', "pid", .help = "the software engine cannot enter a process that runs already" },
	{ OPT_END },
};

/* ---- events ---- */

static bool parse_events(const struct annotate_opts *o, struct tare_events **events)
{
	struct tare_why why = { 0 };
	if (tare_events_parse(o->events ? o->events : "instructions", NULL, events, &why) < 0) {
		complain_why(&why);
		return false;
	}
	for (size_t i = 0; i < tare_events_count(*events); i++) {
		const struct tare_event *const e = tare_events_at(*events, i);
		if (tare_engine_counts(e))
			continue;
		complain("annotate: %s: only events of the software engine have a place in the code; `tare list` "
			 "shows them", e->name);
		tare_events_free(*events);
		return false;
	}
	return true;
}

/* ---- a run ---- */

/* Source lines take the most time of all that is read of files. */
static bool wants_lines(const struct annotate_opts *o)
{
	return (o->output && annotate_format_has_lines(o->format)) || o->html || o->json || o->functions.n ||
	       (o->by != BY_FUNCTION && o->by != BY_OBJECT);
}

static struct tare_codeprofile *profile_of(const struct annotate_opts *o, char *const *argv,
					   const struct tare_events *events, const struct tare_measurement *m)
{
	struct tare_codeprofile *p = NULL;
	struct tare_why why = { 0 };
	progress("reading symbols");
	if (tare_codeprofile_make(m, &TARE_OPTIONS(codeprofile, .events = events, .argv = argv,
						   .by_process = o->per_process, .by_thread = o->per_thread,
						   .no_names = o->no_names, .no_lines = !wants_lines(o), .no_insns = !wants_lines(o),
						   .code_totals = o->delay_ms > 0 || o->control),
				  &p, &why) < 0) {
		progress_clear();
		complain_why(&why);
	}
	progress_clear();
	return p;
}

static int status_of_run(const struct tare_measurement *m)
{
	if (m->timed_out)
		return EXIT_TIMEOUT;
	return measuring_caught ? 128 + measuring_caught : m->exit_status;
}

/* Which instructions ran in a context is not known. So where more than functions is asked for, the functions of --in
 * switch counting; else --in is a sum over contexts, which costs nothing for each call, and knows JIT code, too. */
static bool switches(const struct annotate_opts *o)
{
	return o->in.n && (wants_lines(o) || o->per_process || o->per_thread);
}

static bool wants_calls(const struct annotate_opts *o)
{
	return o->calls || o->in.n || o->tree || o->syscalls || o->allocations;
}

static struct gate_options gate_options(const struct annotate_opts *o)
{
	return (struct gate_options){ .command = "annotate", .delay_ms = o->delay_ms, .control = o->control,
				      .all_or_none = true };
}

static void end_delay(const struct tare_measurement *so_far, void *gate)
{
	gate_end_delay(gate, so_far);
}

/* Takes out of the totals what was not to be counted; the code has been left out already. */
static void apply_gate(const struct gate *g, struct tare_measurement *m, struct annotate_part *part)
{
	part->any = !gate_delays(g);
	gate_switched(g, &part->on, &part->off);
	for (size_t i = 0; i < m->n_counts; i++) {
		m->counts[i] = gate_net(g, i, &m->counts[i]);
		part->any &= m->counts[i].state == TARE_COUNT_OK;
	}
}

/* The profile of a command; NULL: *status is tare's own. */
static struct tare_codeprofile *run_command(const struct annotate_opts *o, char *const *argv, int *status,
					    struct annotate_part *part)
{
	struct tare_events *events;
	struct tare_measurement *m;
	struct tare_why why = { 0 };
	struct function_rules rules = { .matches = annotate_name_matches };
	bool ok;
	for (size_t i = 0; switches(o) && i < o->in.n; i++)
		function_rules_add(&rules, "--in", o->in.items[i], TARE_WATCH_IN);
	const struct tare_watch *const watch = function_rules_watch(&rules, &ok);
	*status = EXIT_FAILED;
	if (!ok || !parse_events(o, &events)) {
		function_rules_free(&rules);
		return NULL;
	}
	const struct gate_options go = gate_options(o);
	struct gate *const gate = gate_new(&go, events, tare_events_count(events));
	const struct tare_measure_options mo = TARE_OPTIONS(measure,
		.argv = argv, .events = events, .backend = TARE_BACKEND_SOFT, .aslr = o->aslr, .machine = o->machine,
		.hermetic = o->hermetic,
		.schedule = o->schedule,
		.on_deadlock = world_deadlock,
		.no_inherit = o->no_inherit, .per_task = true, .refuse_uncounted = o->refuse,
		.timeout_s = o->timeout_ms / 1e3, .stop = &measuring_stop, .code = true,
		.calls = wants_calls(o), .watch = watch,
		.starts_off = watch ? TARE_OFF_THREADS : o->delay_ms < 0 && !o->control ? TARE_OFF_UNTIL_ASKED : 0u,
		.delay_ms = o->delay_ms > 0 ? (unsigned)o->delay_ms : 0, .on_interval = gate ? end_delay : NULL,
		.arg = gate, .control = gate ? gate_control(gate) : NULL, .leave_out = gate ? gate_off(gate) : NULL);
	measuring_catch_signals();
	char **const ours = environ;
	char **const clean = o->clean_env ? clean_environment(&o->keep, o->hermetic != NULL) : NULL;
	environ = clean ? clean : ours;
	const int err = tare_measure(&mo, &m, &why);
	environ = ours;
	struct tare_codeprofile *p = NULL;
	if (err) {
		complain_why(&why);
		*status = measuring_status(err);
	} else {
		if (gate)
			apply_gate(gate, m, part);
		else if (m->parts && !watch)
			*part = (struct annotate_part){ !m->parts->started_off || m->parts->on, m->parts->on, m->parts->off };
		if ((gate || (m->parts && !watch)) && !part->any)
			complain("annotate: counting was never switched on: %s", o->delay_ms > 0 ?
				 "the command ended before the time of --delay was over" : o->control ?
				 "--control gave no command enable" :
				 "the program made no request (tare_region(3), callgrind.h)");
		else
			p = profile_of(o, argv, events, m);
		if (p)
			*status = status_of_run(m);
		tare_measurement_free(m);
	}
	gate_free(gate);
	function_rules_free(&rules);
	if (clean)
		clean_environment_free(clean);
	tare_events_free(events);
	return p;
}

/* ---- files ---- */

static struct tare_codeprofile *read_files(char *const *paths, size_t n)
{
	struct tare_codeprofile **const list = calloc(n, sizeof(struct tare_codeprofile *));
	struct tare_codeprofile *sum = NULL;
	struct tare_why why = { 0 };
	int err = list ? 0 : TARE_E_NOMEM;
	for (size_t i = 0; !err && i < n; i++)
		err = tare_codeprofile_read(paths[i], &list[i], &why);
	if (!err && n == 1) {
		sum = list[0];
		list[0] = NULL;
	} else if (!err) {
		err = tare_codeprofile_merge((const struct tare_codeprofile *const *)list, n, &sum, &why);
	}
	if (err)
		complain_why(&why);
	for (size_t i = 0; list && i < n; i++)
		tare_codeprofile_free(list[i]);
	free(list);
	return sum;
}

/* ---- --in ---- */

static bool is_in(const struct tare_codeprofile_function *f, void *in)
{
	return annotate_matches(in, f);
}

/* The part that --in asks for, instead of the whole. NULL: complained. */
static struct tare_codeprofile *part_of(const struct annotate_opts *o, struct tare_codeprofile *p, bool switched)
{
	struct tare_codeprofile *part = NULL;
	struct tare_why why = { 0 };
	if (!p->has_calls)
		complain("annotate: --in wants a profile that was made with --calls");
	else if (!annotate_in_found(&o->in, p))
		;
	else if (switched)
		return p;
	else if (tare_codeprofile_in(p, is_in, (void *)&o->in, &part, &why) < 0)
		complain_why(&why);
	tare_codeprofile_free(p);
	return part;
}

/* What is asked of a profile, and what it has. */
static bool has_what_is_asked(const struct annotate_opts *o, const struct tare_codeprofile *p)
{
	const bool by_task = o->per_process || o->per_thread;
	bool threads = false;
	for (size_t i = 0; i < p->n_tasks; i++)
		threads |= p->tasks[i].tid != 0;
	if ((o->tree || o->calls) && !p->has_calls)
		complain("annotate: %s wants a profile that was made with --calls", o->tree ? "--tree" : "--calls");
	else if (by_task && (!p->n_shares || threads != o->per_thread))
		complain("annotate: %s wants a profile that was made with it",
			 o->per_thread ? "--per-thread" : "--per-process");
	else
		return true;
	return false;
}

/* ---- output ---- */

static bool write_profile(const struct annotate_opts *o, const struct tare_codeprofile *p, struct output *file)
{
	struct tare_why why = { 0 };
	const struct tare_output out = { output_bytes, file };
	if (annotate_format(o->format)(p, &out, &why) == 0)
		return true;
	if (why.sys_errno)
		complain_errno(why.sys_errno, "%s", strcmp(o->output, "-") ? o->output : "standard output");
	else
		complain_why(&why);
	return false;
}

static bool show(const struct annotate_opts *o, const struct tare_codeprofile *p, const struct annotate_part *part,
		 struct output *out)
{
	struct buf text = { 0 };
	struct annotate a = { .o = o, .p = p, .fd = out->fd, .is_terminal = isatty(out->fd), .width = SIZE_MAX,
			      .part = part->any ? part : NULL };
	if (a.is_terminal)
		a.width = (size_t)term_width(out->fd);
	if (o->json)
		annotate_json(&a, &text);
	else
		annotate_text(&a, &text);
	if (buf_failed(&text))
		abort();
	const bool ok = output_write(out, text.data, text.len);
	buf_free(&text);
	return ok;
}

/* ---- options ---- */

/* Options that say how a command is run; profiles in files were made already. NULL: none is given. */
static const char *option_of_run(const struct annotate_opts *o)
{
	return o->events ? "-e" : o->no_inherit ? "--no-inherit" : o->aslr ? "--aslr" :
	       o->hermetic ? "--hermetic" : o->clean_env ? "--clean-env" : o->machine ? "--machine" :
	       o->timeout_ms ? "--timeout" : o->refuse ? "--refuse-uncounted" :
	       o->no_names ? "--no-names" : o->delay_ms ? "--delay" : o->control ? "--control" : NULL;
}

static bool check_options(const struct annotate_opts *o, bool files)
{
	const char *bad = NULL;
	if (files && !o->diff && option_of_run(o)) {
		complain("annotate: %s says how a command is run, and a profile is of a run that is over; to make "
			 "another one: tare annotate %s … -o FILE -- COMMAND", option_of_run(o), option_of_run(o));
		return false;
	}
	if ((o->delay_ms > 0 || o->control) && wants_calls(o))
		bad = "--delay and --control switch from outside, where the calls of the program are not known; they "
		      "cannot be combined with --calls, --in, --tree, --syscalls or --allocations. The program can "
		      "switch counting by itself: tare_region(3)";
	else if (o->delay_ms < 0 && !o->control && o->in.n)
		bad = "--delay -1 and --in cannot be combined: both say when counting goes on";
	else if (o->per_process && o->per_thread)
		bad = "--per-process and --per-thread cannot be combined";
	else if ((o->per_process || o->per_thread) && o->by != BY_FUNCTION && o->by != BY_OBJECT)
		bad = "--per-process and --per-thread show functions or objects, not lines, instructions or files";
	else if ((o->per_process || o->per_thread) && o->functions.n)
		bad = "--function cannot be combined with --per-process or --per-thread";
	else if (o->tree && (o->per_process || o->per_thread || o->functions.n || o->by != BY_FUNCTION))
		bad = "--tree shows functions of the whole run; it cannot be combined with --per-process, "
		      "--per-thread, --function or --by";
	else if (files && o->in.n && (o->by == BY_LINE || o->by == BY_INSN || o->by == BY_FILE || o->functions.n))
		bad = "--in knows functions and objects of a profile in a file, not lines, instructions or files; "
		      "tare annotate --in FUNCTION -o FILE -- COMMAND makes a profile of the part, which has them";
	else if (files && o->in.n && (o->per_process || o->per_thread))
		bad = "--in cannot be combined with --per-process or --per-thread where the profile is in a file";
	else if (o->schedule && !o->hermetic)
		bad = "--schedule wants --hermetic; otherwise the host's scheduler orders threads";
	else if (o->keep.n && !o->clean_env)
		bad = "--keep wants --clean-env or --hermetic; without it every variable is kept";
	else if (o->format && !o->output)
		bad = "--format says what -o writes, which is not given";
	else if (o->diff && (o->per_process || o->per_thread || o->html))
		bad = "--diff cannot be combined with --per-process, --per-thread or --html";
	else if (o->diff && (o->in.n || o->tree || o->syscalls || o->allocations))
		bad = "--diff cannot be combined with --in, --tree, --syscalls or --allocations";
	else if (o->diff && o->by != BY_FUNCTION && o->by != BY_LINE)
		bad = "--diff shows functions or lines, not instructions, objects or files";
	else if (o->diff && !annotate_diff_writes(o->format))
		bad = "--diff has the formats json, collapsed and flamegraph";
	else if (o->diff && o->events)
		bad = "--diff compares the events of the profiles; -e is for tare annotate -o FILE -- COMMAND";
	if (bad)
		complain("annotate: %s", bad);
	return !bad;
}

/* Operands behind `--` are a command; else they are files if all of them are profiles: regular files that
 * begin as one. */
static bool is_profile(const char *path)
{
	struct stat st;
	char head[64] = "";
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	FILE *const f = fopen(path, "re");
	const size_t n = f ? fread(head, 1, sizeof(head) - 1, f) : 0;
	if (f)
		fclose(f);
	head[n] = '\0';
	return strspn(head, " \t\r\n") < n && head[strspn(head, " \t\r\n")] == '{';
}

static bool are_profiles(char *const *operands, int n)
{
	int profiles = 0;
	for (int i = 0; i < n; i++)
		profiles += is_profile(operands[i]);
	return profiles == n;
}

/* What is written: all of it is opened before the command runs. */
struct outputs {
	struct output file, page, report;
};

static bool open_outputs(struct outputs *to, const struct annotate_opts *o, bool files)
{
	*to = (struct outputs){ { .fd = -1 }, { .fd = -1 }, { .fd = -1 } };
	return (!o->output || output_open(&to->file, o->output)) && (!o->html || output_open(&to->page, o->html)) &&
	       output_open(&to->report, o->report ? o->report : files ? "-" : NULL);
}

static bool close_outputs(struct outputs *to)
{
	bool ok = output_close(&to->report);
	ok &= to->file.fd < 0 || output_close(&to->file);
	ok &= to->page.fd < 0 || output_close(&to->page);
	return ok;
}

static bool write_page(const struct annotate_opts *o, const struct tare_codeprofile *p, struct output *page)
{
	struct buf text = { 0 };
	annotate_html(&(struct annotate){ .o = o, .p = p, .fd = page->fd, .width = SIZE_MAX }, &text);
	if (buf_failed(&text))
		abort();
	const int err = output_bytes(page, text.data, text.len);
	if (err)
		complain_errno(err, "%s", o->html);
	buf_free(&text);
	return !err;
}

static int annotate(const struct annotate_opts *o, char *const *operands, size_t n, bool files)
{
	struct outputs to;
	int status = files ? EXIT_BAD : EXIT_FAILED;
	if (!open_outputs(&to, o, files)) {
		close_outputs(&to);
		return status;
	}
	struct annotate_part part = { 0 };
	const struct gate_options control = gate_options(o);
	if (!gate_control_open(&control)) {
		close_outputs(&to);
		return status;
	}
	struct tare_codeprofile *p = files ? read_files(operands, n) : run_command(o, operands, &status, &part);
	gate_control_close();
	bool ok = true;
	if (p && files && !has_what_is_asked(o, p)) {
		tare_codeprofile_free(p);
		p = NULL;
	}
	if (p && o->in.n && !(p = part_of(o, p, !files && switches(o))))
		status = files ? EXIT_BAD : EXIT_FAILED;
	else if (p && files)
		status = EXIT_GOOD;
	if (p && o->output)
		ok = write_profile(o, p, &to.file);
	if (p && o->html)
		ok &= write_page(o, p, &to.page);
	if (p)
		ok &= show(o, p, &part, &to.report);
	ok &= close_outputs(&to);
	tare_codeprofile_free(p);
	if (ok)
		return status;
	return files ? EXIT_BAD : EXIT_FAILED;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct annotate_opts o = { 0 };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	o.clean_env |= o.hermetic != NULL;
	int status = EXIT_USAGE;
	const bool dashes = first > 0 && !strcmp(argv[first - 1], "--");
	const bool files = !dashes && first < argc && are_profiles(argv + first, argc - first);
	if (first == argc)
		complain("annotate: no command to run; usage: tare annotate [OPTION]… [--] COMMAND [ARG]…, or "
			 "tare annotate [OPTION]… FILE…");
	else if (o.diff && (dashes || argc - first != 2))
		complain("annotate: --diff wants two profiles, BASE and NEW; operands given: %d. tare annotate -o FILE "
			 "-- COMMAND makes a profile", argc - first);
	else if (o.diff)
		status = check_options(&o, files) ? annotate_diff(&o, argv[first], argv[first + 1]) : EXIT_USAGE;
	else if (check_options(&o, files))
		status = annotate(&o, argv + first, (size_t)(argc - first), files);
	free(o.keep.items);
	free(o.functions.items);
	free(o.in.items);
	return status;
}

const struct command cmd_annotate = {
	.name = "annotate",
	.summary = "show which code of a command executes how much",
	.usage = "[OPTION]… [--] COMMAND [ARG]… | [OPTION]… FILE… | --diff [OPTION]… BASE NEW",
	.about = "Runs COMMAND in the software engine and shows how many instructions (or other events) each "
		 "function, source line or instruction of it and its children executed: exact counts, which add "
		 "up to what `tare stat` shows. Or shows profiles that -o has written; several are added up.",
	.opts = opts,
	.runs_command = true,
	.run = run,
};
