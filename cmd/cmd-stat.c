/* tare stat: count what a command executes. */
#include "clean-env.h"
#include "command.h"
#include "complain.h"
#include "gate.h"
#include "keep-code.h"
#include "measuring.h"
#include "output.h"
#include "stat.h"
#include "term.h"
#include "world-show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_LIMIT = 123 };	/* --limit ended the command */

static const char *const backends[] = { "auto", "hw", "soft", NULL };

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "What is counted" },
	{ OPT_EVENTS, 'e', "event", "LIST", "events, as tare-events(7) describes them; "
	  "may be given again", TO(stat_opts, events) },
	{ OPT_UINT, 'p', "pid", "PID", "count a running process, until it ends, or for as long "
	  "as COMMAND runs, or until Ctrl-C", TO(stat_opts, pid), .min = 1, .max = 4194304 },
	{ OPT_UINT, 't', "tid", "TID", "count a running thread", TO(stat_opts, tid),
	  .min = 1, .max = 4194304 },
	{ OPT_EVENTS, 'M', "metrics", "LIST", "metrics, of which `tare list` shows the names; the "
	  "events they need are counted by themselves", TO(stat_opts, metrics), .word = stat_metric_word },
	{ OPT_COUNT, 'd', "detailed", NULL, "more events: caches on hardware (-dd, -ddd: still "
	  "more), kinds of instructions in software", TO(stat_opts, detailed) },
	{ OPT_FLAG, 0, "mix", NULL, "also show how often each opcode ran, counted by the software "
	  "engine", TO(stat_opts, mix) },
	{ OPT_FILE, 0, "mix-from", "FILE", "correct the counts of the hardware by the mix that FILE has "
	  "(tare stat --mix -j) and this machine's certificate", TO(stat_opts, mix_from) },
	{ OPT_FLAG, 0, "functions", NULL, "also show the counts of each function, counted by the software engine; with -j "
	  "for `tare compare`, which then names the functions that explain a change", TO(stat_opts, functions) },
	{ OPT_LIST, 0, "in", "FUNCTION", "count only while FUNCTION is on the stack of the thread, in the software "
	  "engine; a name or a wildcard; may be given again", TO(stat_opts, in) },
	{ OPT_FLAG, 'n', "null", NULL, "count nothing, show the time only", TO(stat_opts, null) },
	{ OPT_FLAG, 0, "all-user", NULL, "count every event in user mode only",
	  TO(stat_opts, all_user) },
	{ OPT_FLAG, 0, "all-kernel", NULL, "count every event in the kernel only",
	  TO(stat_opts, all_kernel) },
	{ OPT_FLAG, 'i', "no-inherit", NULL, "leave out the processes and threads that the "
	  "command starts", TO(stat_opts, no_inherit) },
	{ OPT_FLAG, 0, "per-thread", NULL, "also show every process and thread by itself",
	  TO(stat_opts, per_thread) },
	{ OPT_GROUP, .help = "How it is run" },
	{ OPT_UINT, 'r', "repeat", "N", "run N times and show the spread; 0: until Ctrl-C",
	  TO(stat_opts, repeat), .min = 0, .max = 1000000 },
	{ OPT_CHOICE, 0, "backend", "WHICH", "auto (hardware counters where they work, else the "
	  "software engine), hw or soft", TO(stat_opts, backend), .choices = backends },
	{ OPT_FLAG, 0, "exact", NULL, "never multiplex: run in batches that fit the counters",
	  TO(stat_opts, exact) },
	{ OPT_FLAG, 0, "aslr", NULL, "leave address space randomisation on",
	  TO(stat_opts, aslr) },
	{ OPT_STRING, 0, "machine", "NAME", MACHINE_HELP, TO(stat_opts, machine), .word = tare_machine },
	{ OPT_STRING, 0, "hermetic", "SEED", HERMETIC_HELP, TO(stat_opts, hermetic), .optional = true },
	{ OPT_STRING, 0, "schedule", "SEED", SCHEDULE_HELP, TO(stat_opts, schedule) },
	{ OPT_UINT, 0, "layouts", "K", "run K times, each time with the stack, the program, its libraries, the heap and the "
	  "environment at other addresses (layouts 1 to K): how much counts move by layout alone", TO(stat_opts, layouts),
	  .min = 2, .max = 10000 },
	{ OPT_FLAG, 0, "clean-env", NULL, "run the command in a fixed environment: "
	  CLEAN_ENV_HELP, TO(stat_opts, clean_env) },
	{ OPT_LIST, 0, "keep", "VAR", "with --clean-env or --hermetic, leave this variable in; may be given "
	  "again", TO(stat_opts, keep) },
	{ OPT_STRING, 0, "keep-code", "FOLDER", KEEP_CODE_HELP, TO(stat_opts, keep_code), .optional = true },
	{ OPT_UINT, 0, "timeout", "MS", "end the command after MS milliseconds",
	  TO(stat_opts, timeout_ms), .min = 10, .max = 4e9 },
	{ OPT_LIST, 0, "limit", "EVENT=N", "end the command, with all that it has started, when it "
	  "exceeds N events; may be given again", TO(stat_opts, limit) },
	{ OPT_LIST, 0, "stop-at", "EVENT=N", "stop each thread after exactly N events; may be given "
	  "again", TO(stat_opts, stop_at) },
	{ OPT_FLAG, 0, "every", NULL, "with --stop-at: also after 2N, 3N, … events",
	  TO(stat_opts, every) },
	{ OPT_STRING, 0, "then", "WHAT", "what follows a stop: dump (the default: registers, backtrace, "
	  "counts), continue, signal[:NAME], gdb", TO(stat_opts, then) },
	{ OPT_INT, 'D', "delay", "MS", "leave out the first MS milliseconds of the command; -1: count "
	  "nothing until the program (tare_region(3)) or --control switches counting on",
	  TO(stat_opts, delay_ms), .min = -1, .max = 86400000 },
	{ OPT_STRING, 0, "control", "HOW", "fd:CTL[,ACK] or fifo:CTL[,ACK]: take commands (enable, "
	  "disable, ping …) from CTL and answer with ack on ACK", TO(stat_opts, control) },
	{ OPT_STRING, 0, "pre", "CMD", "run CMD with sh before each run, uncounted",
	  TO(stat_opts, pre) },
	{ OPT_STRING, 0, "post", "CMD", "run CMD with sh after each run, uncounted",
	  TO(stat_opts, post) },
	{ OPT_FLAG, 'S', "sync", NULL, "call sync(2) before each run", TO(stat_opts, sync) },
	{ OPT_FLAG, 0, "refuse-uncounted", NULL, "fail where the software engine meets a program "
	  "that it cannot enter, instead of running it uncounted", TO(stat_opts, refuse) },
	{ OPT_GROUP, .help = "How it is shown (on standard error)" },
	{ OPT_FLAG, 'j', "json", NULL, "JSON, schema tare.stat/1", TO(stat_opts, json) },
	{ OPT_STRING, 'x', "field-separator", "SEP", "fields separated by SEP, in perf stat's "
	  "order", TO(stat_opts, separator) },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE; -: standard output",
	  TO(stat_opts, output) },
	{ OPT_FLAG, 0, "append", NULL, "add to the end of FILE", TO(stat_opts, append) },
	{ OPT_FLAG, 0, "table", NULL, "also show every run by itself", TO(stat_opts, table) },
	{ OPT_UINT, 'I', "interval-print", "MS", "show what was counted in every MS milliseconds",
	  TO(stat_opts, interval_ms), .min = 1, .max = 86400000 },
	{ OPT_UINT, 0, "interval-count", "N", "show only the first N intervals of -I",
	  TO(stat_opts, interval_count), .min = 1, .max = 1000000 },
	{ OPT_FLAG, 'v', "verbose", NULL, "say how each event is counted, and which run begins",
	  TO(stat_opts, verbose) },
	{ OPT_FLAG, 'B', "big-num", NULL, "numbers with separators: they always have them",
	  TO(stat_opts, big_num) },
	/* Of perf stat, and not to be had here. */
#define CPUS "tare counts a command, a process or a thread, not CPUs; use perf stat for that"
	{ OPT_REFUSED, 'a', "all-cpus", .help = CPUS },
	{ OPT_REFUSED, 'A', "no-aggr", .help = CPUS },
	{ OPT_REFUSED, 'C', "cpu", .help = CPUS "; to pin the command: taskset -c LIST" },
	{ OPT_REFUSED, 'G', "cgroup", .help = CPUS },
	{ OPT_REFUSED, 0, "for-each-cgroup", .help = CPUS },
	{ OPT_REFUSED, 0, "per-socket", .help = CPUS },
	{ OPT_REFUSED, 0, "per-die", .help = CPUS },
	{ OPT_REFUSED, 0, "per-cache", .help = CPUS },
	{ OPT_REFUSED, 0, "per-cluster", .help = CPUS },
	{ OPT_REFUSED, 0, "per-core", .help = CPUS },
	{ OPT_REFUSED, 0, "per-node", .help = CPUS },
	{ OPT_REFUSED, 0, "percore-show-thread", .help = CPUS },
	{ OPT_REFUSED, 0, "smi-cost", .help = CPUS },
	{ OPT_REFUSED, 0, "iostat", .help = CPUS },
#undef CPUS
	{ OPT_REFUSED, 'g', "group", .help = "braces make a group: -e '{a,b}'" },
#define BPF "tare uses no BPF; use perf stat for that"
	{ OPT_REFUSED, 'b', "bpf-prog", .help = BPF },
	{ OPT_REFUSED, 0, "bpf-counters", .help = BPF },
	{ OPT_REFUSED, 0, "bpf-attr-map", .help = BPF },
#undef BPF
#define TOPDOWN "the metrics that tare knows are ratios of two events: see -M and `tare list`"
	{ OPT_REFUSED, 0, "topdown", .help = TOPDOWN },
	{ OPT_REFUSED, 0, "td-level", .help = TOPDOWN },
	{ OPT_REFUSED, 'T', "transaction", .help = TOPDOWN },
	{ OPT_REFUSED, 0, "metric-only", .help = "a ratio without its counts cannot be judged; "
	  "-M shows both" },
	{ OPT_REFUSED, 0, "metric-no-group", .help = "metrics are never grouped; --exact keeps "
	  "their events from being multiplexed" },
	{ OPT_REFUSED, 0, "metric-no-merge", .help = "metrics are never grouped; --exact keeps "
	  "their events from being multiplexed" },
#undef TOPDOWN
	{ OPT_REFUSED, 0, "no-scale", .help = "a multiplexed count without scaling is of unknown "
	  "size; --exact avoids multiplexing, and -j has the unscaled value as `raw`" },
	{ OPT_REFUSED, 'c', "scale", .help = "multiplexed counts are always scaled, and marked" },
	{ OPT_REFUSED, 0, "no-big-num", .help = "for programs there are -x and -j" },
	{ OPT_REFUSED, 0, "log-fd", .help = "name a file: -o FILE, or -o /dev/fd/N" },
	{ OPT_REFUSED, 0, "interval-clear", .help = "there is no such mode; watch(1) clears the "
	  "screen" },
	{ OPT_REFUSED, 0, "summary", .help = "the intervals of -I add up to the total; -j has "
	  "both" },
	{ OPT_REFUSED, 0, "no-csv-summary", .help = "-I prints no summary" },
	{ OPT_REFUSED, 0, "quiet", .help = "-o /dev/null" },
	{ OPT_REFUSED, 0, "metric-no-threshold", .help = "no metric has a threshold; they are all shown alike" },
	{ OPT_REFUSED, 0, "no-merge", .help = "every event is shown as it was asked for" },
	{ OPT_REFUSED, 0, "hybrid-merge", .help = "name the PMU: cpu_core/instructions/, "
	  "cpu_atom/instructions/" },
	{ OPT_REFUSED, 0, "cputype", .help = "name the PMU: cpu_core/instructions/, "
	  "cpu_atom/instructions/" },
	{ OPT_REFUSED, 0, "filter", .help = "filters belong to tracepoints, and tare counts none; "
	  "use perf stat for that" },
#define TPEBS "the retire latencies of instructions are in samples, and tare stat only counts; use perf stat for that"
	{ OPT_REFUSED, 0, "record-tpebs", .help = TPEBS },
	{ OPT_REFUSED, 0, "tpebs-mode", .help = TPEBS },
#undef TPEBS
	{ OPT_REFUSED, 0, "json-output", .help = "perf's JSON is another one; -j writes tare.stat/1" },
	{ OPT_END },
};

/* ---- options ---- */

/* Such runs keep no code, whatever TARE_KEEP_CODE says. */
static bool keeps_no_code(const struct stat_opts *o)
{
	return o->backend == TARE_BACKEND_HW || o->mix_from || o->pid || o->tid || o->aslr || o->machine || o->hermetic ||
	       o->mix || o->functions || o->in.n || o->stop_at.n || o->limit.n;
}

/* What perf allows and what would mean nothing, or something else than it seems. */
static const char *conflict(const struct stat_opts *o)
{
	if (o->interval_count && !o->interval_ms)
		return "--interval-count counts the intervals of -I, which is not given";
	const bool gated = o->delay_ms > 0 || o->control;
	if (gated && o->exact)
		return o->control ? "--control and --exact cannot be combined: the batches would be switched "
				    "at different instructions" :
				    "--delay and --exact cannot be combined: the batches would begin at "
				    "different instructions";
	if (gated && o->per_thread)
		return o->control ? "--control and --per-thread cannot be combined" :
				    "--delay and --per-thread cannot be combined";
	if (gated && o->mix)
		return o->control ? "--control and --mix cannot be combined; a program can switch the mix by "
				    "itself: see tare_region(3)" :
				    "--delay and --mix cannot be combined; a program can switch the mix by "
				    "itself: see tare_region(3)";
	if (o->delay_ms < 0 && !o->control && (o->limit.n || o->stop_at.n))
		return "--delay -1 cannot be combined with --limit and --stop-at, which count the whole run";
	if (o->delay_ms < 0 && !o->control && (o->pid || o->tid))
		return "--delay -1 waits for the program to switch counting on, and a process that runs "
		       "already cannot be asked; use --control";
	if (o->delay_ms < 0 && o->per_thread && o->backend == TARE_BACKEND_HW)
		return "--delay -1 and --per-thread cannot be combined with --backend hw";
	if (o->null && (o->events || o->metrics || o->detailed))
		return "--null counts nothing; it cannot be combined with --event, --metrics or "
		       "--detailed";
	if (o->mix && o->backend == TARE_BACKEND_HW)
		return "--mix and --backend hw cannot be combined: only the software engine sees opcodes";
	if (o->mix && (o->separator || o->interval_ms || o->null))
		return "--mix cannot be combined with --field-separator, --interval-print or --null; "
		       "--json lists every opcode";
	if (o->mix_from && (o->mix || o->backend == TARE_BACKEND_SOFT || o->separator || o->interval_ms || o->null))
		return "--mix-from corrects counts of the hardware; it cannot be combined with --mix, --backend "
		       "soft, --field-separator, --interval-print or --null";
	if (o->mix && (o->pid || o->tid))
		return "--mix wants a command to run: only the software engine sees opcodes, and it "
		       "cannot enter a process that runs already";
	if (o->machine && (o->backend == TARE_BACKEND_HW || o->mix_from))
		return "--machine wants the software engine: with hardware counters the program runs natively and "
		       "sees the host's CPU; leave --backend hw or --mix-from out";
	if (o->machine && (o->pid || o->tid))
		return "--machine wants a command to run: a process that runs already has asked for its CPU";
	if (o->hermetic && (o->backend == TARE_BACKEND_HW || o->mix_from))
		return "--hermetic wants the software engine: with hardware counters the program runs natively and "
		       "sees the host's time, random numbers, process ids and files; leave --backend hw or --mix-from out";
	if (o->functions && (o->backend == TARE_BACKEND_HW || o->mix_from))
		return "--functions wants the software engine, which alone knows the code that ran";
	if (o->functions && (o->pid || o->tid))
		return "--functions wants a command to run: the software engine cannot enter a process that runs "
		       "already";
	if (o->functions && (o->separator || o->interval_ms || o->null || gated || o->in.n))
		return "--functions cannot be combined with --field-separator, --interval-print, --null, --delay, "
		       "--control or --in";
	if (o->in.n && (o->backend == TARE_BACKEND_HW || o->mix_from))
		return "--in wants the software engine: hardware counters would also count what switches them "
		       "on and off at every call and return";
	if (o->in.n && (o->pid || o->tid))
		return "--in wants a command to run: only the software engine follows calls, and it cannot enter a "
		       "process that runs already";
	if (o->in.n && (o->per_thread || o->interval_ms || o->delay_ms || o->null || o->mix))
		return "--in cannot be combined with --per-thread, --interval-print, --delay, --null or --mix";
	if (o->keep_code && (o->backend == TARE_BACKEND_HW || o->mix_from || o->pid || o->tid))
		return "--keep-code wants the software engine and a command to run: nothing else translates code";
	if (o->keep_code && keeps_no_code(o))
		return "--keep-code cannot be combined with --aslr, --machine, --hermetic, --mix, --functions, --in, "
		       "--stop-at or --limit: code of such runs is not kept";
	if (o->all_user && o->all_kernel)
		return "--all-user and --all-kernel cannot be combined; without both, all is "
		       "counted";
	return NULL;
}

static bool check_options(const struct stat_opts *o, bool command)
{
	const bool attach = o->pid || o->tid;
	const char *bad = NULL;
	if (!command && !attach) {
		complain("stat: no command to run; usage: tare stat [OPTION]… [--] COMMAND [ARG]…");
		return false;
	}
	if (o->pid && o->tid)
		bad = "--pid and --tid cannot be combined";
	else if (o->json && o->separator)
		bad = "--json and --field-separator cannot be combined";
	else if (o->separator && !o->separator[0])
		bad = "--field-separator wants at least one character";
	else if (o->interval_ms && o->repeat != 1)
		bad = "--interval-print and --repeat cannot be combined";
	else if (o->interval_ms && o->exact)
		bad = "--interval-print and --exact cannot be combined";
	else if (attach && o->exact)
		bad = "--exact runs a command again and again; it cannot be combined with --pid "
		      "or --tid";
	else if (attach && !command && o->repeat != 1)
		bad = "--repeat wants a command to run";
	else if (o->keep.n && !o->clean_env)
		bad = "--keep wants --clean-env or --hermetic; without it every variable is kept";
	else if (o->layouts && (o->repeat != 1 || o->interval_ms))
		bad = "--layouts makes one run of each layout; it cannot be combined with --repeat or --interval-print";
	else if (o->layouts && (o->backend == TARE_BACKEND_HW || o->mix_from || o->aslr))
		bad = "--layouts wants the software engine, which moves the program, without --aslr; leave --backend hw, "
		      "--mix-from and --aslr out";
	else if (o->layouts && (!command || o->pid || o->tid))
		bad = "--layouts wants a command to run: a process that runs already cannot be moved";
	else if (o->schedule && !o->hermetic)
		bad = "--schedule wants --hermetic; otherwise the host's scheduler orders threads";
	else if (o->hermetic && !command)
		bad = "--hermetic wants a command to run: a process that runs already has seen another world";
	else if (o->clean_env && !command)
		bad = "--clean-env wants a command to run";
	else
		bad = conflict(o);
	if (bad)
		complain("stat: %s", bad);
	return !bad;
}

/* ---- events ---- */

static bool choose_text(struct stat_session *s, struct buf *text)
{
	if (s->o->events)
		buf_str(text, s->o->events);
	else if (s->o->null)
		buf_str(text, "zero");		/* opens no counter */
	else if (!s->o->metrics)
		stat_default_events(s, text);
	if (!stat_set_mode(s, text))
		return false;
	stat_add_details(s, text);
	return stat_add_metrics(s, text);
}

static bool choose_events(struct stat_session *s)
{
	struct tare_why why = { 0 };
	struct buf text = { 0 };
	if (!choose_text(s, &text)) {
		buf_free(&text);
		return false;
	}
	const int err = tare_events_parse(text.data, &s->cpu, &s->events, &why);
	buf_free(&text);
	if (err) {
		complain_why(&why);
		return false;
	}
	s->n_events = s->o->null ? 0 : tare_events_count(s->events);
	stat_place_metrics(s);
	return true;
}

/* ---- the end ---- */

/* Fields have no place for the reason why a count is missing. */
static void name_uncounted(const struct stat_session *s)
{
	unsigned lines = 0;
	for (size_t r = 0; r < s->n_runs; r++) {
		const struct tare_measurement *const m = stat_part(&s->runs[r]);
		for (size_t i = 0; i < m->n_tasks; i++) {
			const struct tare_task *const t = &m->tasks[i];
			const char *const reason = t->not_counted ? t->not_counted : t->cut_off;
			if (reason && lines++ < 10)
				caution("%s %d (%s) was not counted%s: %s%s%s",
					t->is_thread ? "thread" : "process", (int)t->tid, t->comm,
					t->not_counted ? "" : " to its end", reason,
					t->remedy ? "; to count it: " : "", t->remedy ? t->remedy : "");
		}
	}
}

/* Where the text of people, which has these lines, is not shown at the end. */
static void name_blind_spots(const struct stat_session *s)
{
	for (size_t i = 0; i < s->n_events; i++) {
		struct buf text = { 0 };
		if (stat_blind_line(s, i, &text))
			caution("the scaled count of %s; it may be wrong: %s", text.data,
				STAT_BLIND_REMEDY);
		buf_free(&text);
	}
}

static bool print(const struct stat_session *s, struct output *out)
{
	struct buf text = { 0 };
	if (s->n_runs == 0)
		return true;
	if (!s->o->json && (s->o->interval_ms || s->o->separator))
		stat_stops_warn(s);
	if (s->o->json)
		stat_json(s, &text);
	else if (s->o->interval_ms)
		return true;		/* shown as it went */
	else if (s->o->separator)
		stat_csv(s, &text);
	else
		stat_text(s, out->fd, &text);
	if (buf_failed(&text))
		abort();
	const bool written = output_write(out, text.data, text.len);
	if (s->o->separator && !s->o->json)
		name_uncounted(s);
	buf_free(&text);
	return written;
}

static int command_status(const struct stat_session *s)
{
	int status = 0;
	if (s->n_runs && stat_part(&s->runs[s->n_runs - 1])->timed_out && !measuring_attached)
		return EXIT_TIMEOUT;
	if (s->n_runs && stat_part(&s->runs[s->n_runs - 1])->limited)
		return EXIT_LIMIT;
	if (measuring_caught && !measuring_attached)
		return 128 + measuring_caught;
	for (size_t r = 0; r < s->n_runs; r++)
		for (size_t p = 0; p < s->runs[r].n_parts; p++)
			if (!status)
				status = s->runs[r].parts[p]->exit_status;
	return status;
}

static void warn_of_statuses(const struct stat_session *s)
{
	for (size_t r = 1; r < s->n_runs; r++) {
		const int a = stat_part(&s->runs[0])->exit_status;
		const int b = stat_part(&s->runs[r])->exit_status;
		if (s->runs[r].complete && a != b) {
			caution("the exit status of run 1 is %d, of run %zu %d", a, r + 1, b);
			return;
		}
	}
}

static void tell_of_kept_code(const struct stat_session *s)
{
	for (size_t r = 0; r < s->n_runs; r++)
		for (size_t i = 0; i < s->runs[r].n_parts; i++)
			if (s->runs[r].parts[i])
				keep_code_tell(s->keep_code, s->runs[r].parts[i]);
}

/* The first event that was asked for and got no count; NULL: all did. */
static const struct tare_why *lacking(const struct stat_session *s)
{
	for (size_t r = 0; r < s->n_runs; r++)
		for (size_t p = 0; p < s->runs[r].n_parts; p++)
			if (s->runs[r].parts[p]->lacking.code)
				return &s->runs[r].parts[p]->lacking;
	return NULL;
}

static void free_session(struct stat_session *s)
{
	for (size_t r = 0; r < s->n_runs; r++) {
		struct stat_run *const run = &s->runs[r];
		for (size_t p = 0; p < run->n_parts; p++)
			tare_measurement_free(run->parts[p]);
		for (size_t i = 0; i < run->n_intervals; i++)
			free(run->intervals[i].counts);
		free(run->parts);
		free(run->intervals);
		free(run->counts);
		free(run->turns);
	}
	for (size_t b = 0; b < s->n_batches; b++) {
		tare_events_free(s->batches[b].events);
		free(s->batches[b].index);
	}
	free(s->batches);
	free(s->metrics);
	free(s->runs);
	tare_events_free(s->events);
}

static void free_lists(const struct stat_opts *o)
{
	free(o->keep.items);
	free(o->stop_at.items);
	free(o->limit.items);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct stat_opts o = { .repeat = 1 };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (o.separator && strcmp(o.separator, "\\t") == 0)
		o.separator = "\t";
	o.clean_env |= o.hermetic != NULL;
	if (!check_options(&o, first < argc)) {
		free_lists(&o);
		return EXIT_FAILED;
	}
	struct keep_code keep_code = { .folder = "" };
	if ((!keeps_no_code(&o) && !keep_code_choose(&keep_code, o.keep_code)) || !machine_usable(o.machine) || !hermetic_usable(o.hermetic) || !hermetic_usable(o.schedule) || !stat_mix_load(&o) ||
	    !gate_control_open(&(struct gate_options){ "stat", o.delay_ms, o.control, false })) {
		free_lists(&o);
		return EXIT_FAILED;
	}
	if (o.mix || o.functions || o.in.n || o.machine || o.hermetic || o.layouts)
		o.backend = TARE_BACKEND_SOFT;
	if (o.mix_from)
		o.backend = TARE_BACKEND_HW;
	if (o.layouts)
		o.repeat = o.layouts;
	measuring_attached = o.pid || o.tid;
	struct stat_stops stops = { 0 };
	struct stat_session s = { .o = &o, .keep_code = &keep_code, .stops = &stops, .argv = argv + first };
	struct output out;
	tare_cpu_detect(&s.cpu);
	if ((o.stop_at.n || o.limit.n) && o.backend == TARE_BACKEND_AUTO)
		o.backend = TARE_BACKEND_SOFT;	/* the one that stops without skid */
	if (!stat_stops_load(&stops, &o, &s.cpu) || !choose_events(&s) || !stat_functions_check(&s) || !stat_in_check(&s)) {
		free_session(&s);
		stat_stops_free(&stops);
		free_lists(&o);
		return EXIT_FAILED;
	}
	if (!output_open(&out, o.output)) {
		free_session(&s);
		stat_stops_free(&stops);
		free_lists(&o);
		return EXIT_FAILED;
	}
	out.append = o.append;
	if (o.verbose)
		stat_explain(&s);
	measuring_catch_signals();
	char **const ours = environ;
	s.envp = o.clean_env ? clean_environment(&o.keep, o.hermetic != NULL) : environ;
	environ = s.envp;		/* which the command inherits */
	int status = stat_all_runs(&s, &out);
	environ = ours;
	bool written = print(&s, &out);
	written &= output_close(&out);
	warn_of_statuses(&s);
	tell_of_kept_code(&s);
	gate_control_close();
	if (s.n_runs && !o.json && (o.separator || o.interval_ms))
		name_blind_spots(&s);
	if (!status)
		status = written ? command_status(&s) : EXIT_FAILED;
	if (lacking(&s)) {
		complain_why(lacking(&s));
		status = EXIT_FAILED;
	}
	free_session(&s);
	stat_stops_free(&stops);
	if (o.clean_env)
		clean_environment_free(s.envp);
	free_lists(&o);
	return status;
}

const struct command cmd_stat = {
	.name = "stat",
	.summary = "count what a command executes",
	.usage = "[OPTION]… [--] COMMAND [ARG]…",
	.about = "Runs COMMAND and counts what it and its children execute, with hardware "
		 "counters where they work and in software where they do not. Every count says "
		 "how it came about: exact, corrected, raw or scaled.",
	.opts = opts,
	.runs_command = true,
	.run = run,
};
