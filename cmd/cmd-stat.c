/* tare stat: count what a command executes. */
#include "clean-env.h"
#include "command.h"
#include "complain.h"
#include "output.h"
#include "program.h"
#include "stat.h"
#include "term.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Statuses of our own failures, apart from the command's: as env(1), timeout(1) */
enum { EXIT_TIMEOUT = 124, EXIT_FAILED = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

static const char *const backends[] = { "auto", "hw", "soft", NULL };

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "What is counted" },
	{ OPT_EVENTS, 'e', "event", "LIST", "events, as tare-events(7) describes them; "
	  "may be given again", TO(stat_opts, events) },
	{ OPT_UINT, 'p', "pid", "PID", "count a running process, until it ends, or for as long "
	  "as COMMAND runs, or until Ctrl-C", TO(stat_opts, pid), .min = 1, .max = 4194304 },
	{ OPT_UINT, 't', "tid", "TID", "count a running thread", TO(stat_opts, tid),
	  .min = 1, .max = 4194304 },
	{ OPT_FLAG, 0, "no-inherit", NULL, "leave out the processes and threads that the "
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
	{ OPT_FLAG, 0, "clean-env", NULL, "run the command in a fixed environment: "
	  CLEAN_ENV_HELP, TO(stat_opts, clean_env) },
	{ OPT_LIST, 0, "keep", "VAR", "with --clean-env, leave this variable in; may be given "
	  "again", TO(stat_opts, keep) },
	{ OPT_REAL, 0, "timeout", "S", "end the command after S seconds",
	  TO(stat_opts, timeout_s), .min = 0.001, .max = 1e9 },
	{ OPT_FLAG, 0, "refuse-uncounted", NULL, "fail where the software engine meets a program "
	  "that it cannot enter, instead of running it uncounted", TO(stat_opts, refuse) },
	{ OPT_GROUP, .help = "How it is shown (on standard error)" },
	{ OPT_FLAG, 'j', "json", NULL, "JSON, schema tare.stat/1", TO(stat_opts, json) },
	{ OPT_STRING, 'x', "field-separator", "SEP", "fields separated by SEP, in perf stat's "
	  "order", TO(stat_opts, separator) },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE; -: standard output",
	  TO(stat_opts, output) },
	{ OPT_FLAG, 0, "table", NULL, "also show every run by itself", TO(stat_opts, table) },
	{ OPT_UINT, 'I', "interval-print", "MS", "show what was counted in every MS milliseconds",
	  TO(stat_opts, interval_ms), .min = 1, .max = 86400000 },
	{ OPT_END },
};

/* ---- signals ---- */

static volatile int stop;		/* end the command */
static volatile sig_atomic_t caught;	/* the signal; no more runs after this one */
static bool attached;

/* Ctrl-C reaches the command too, from the terminal: what it does about it is its
 * own affair, and the run goes on until it ends. A signal sent to us alone, a second
 * one, or one while attached, ends the measurement. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (caught || attached || info->si_code <= 0)
		stop = 1;
	caught = number;
}

static bool is_ignored(int number)
{
	struct sigaction old;
	return sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

/* What was ignored when we were started: a shell's `&` ignores SIGINT. The command
 * finds it as it would without us. */
static bool int_was_ignored, chld_was_ignored, term_was_ignored;

static void as_they_were(void)
{
	signal(SIGINT, int_was_ignored ? SIG_IGN : SIG_DFL);
	signal(SIGTERM, term_was_ignored ? SIG_IGN : SIG_DFL);
	if (!is_ignored(SIGHUP))
		signal(SIGHUP, SIG_DFL);
	if (chld_was_ignored)
		signal(SIGCHLD, SIG_IGN);
}

static void on_file_limit(int number)
{
	(void)number;
}

static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	int_was_ignored = is_ignored(SIGINT);
	chld_was_ignored = is_ignored(SIGCHLD);
	term_was_ignored = is_ignored(SIGTERM);
	pthread_atfork(NULL, NULL, as_they_were);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
		if (numbers[i] == SIGHUP && is_ignored(SIGHUP))
			continue;	/* nohup must stay nohup */
		sigaction(numbers[i], &act, NULL);
	}
	/* A file that grows too big is an error of write(2), not our end. Caught and not
	 * ignored, so that the command finds it as it was. */
	if (!is_ignored(SIGXFSZ)) {
		const struct sigaction act = { .sa_handler = on_file_limit };
		sigaction(SIGXFSZ, &act, NULL);
	}
	/* Ignored, it would make the command's status unknowable. */
	signal(SIGCHLD, SIG_DFL);
}

/* ---- options ---- */

static bool check_options(const struct stat_opts *o, bool command)
{
	const bool attach = o->pid || o->tid;
	const char *bad = NULL;
	if (!command && !attach)
		bad = "no command to run; usage: tare stat [OPTION]… [--] COMMAND [ARG]…";
	else if (o->pid && o->tid)
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
		bad = "--keep wants --clean-env; without it every variable is kept";
	else if (o->clean_env && !command)
		bad = "--clean-env wants a command to run";
	if (bad)
		complain("stat: %s", bad);
	return !bad;
}

/* ---- events ---- */

static const char *const kernel_events[] = { "task-clock", "context-switches", "page-faults" };
#define SOFT_EVENTS "instructions,branches,cond-branches,loads,stores"

/* Whether `text` can be counted that way here. */
static int probe(const char *text, enum tare_backend backend, const struct tare_cpu *cpu,
		 struct tare_why *why)
{
	struct tare_events *events;
	int err = tare_events_parse(text, cpu, &events, why);
	if (err)
		return err;
	err = tare_backend_for(events, backend, NULL, 0, why);
	tare_events_free(events);
	return err < 0 ? err : 0;
}

/* Whether an event can be opened, and gets a counter. */
static int probe_counter(const char *text, const struct tare_cpu *cpu)
{
	struct tare_events *events;
	struct tare_why why = { 0 };
	int err = probe(text, TARE_BACKEND_HW, cpu, &why);
	if (err || tare_events_parse(text, cpu, &events, &why) < 0)
		return err;
	if (tare_events_fit(events, &why) == 0 &&
	    (why.code == TARE_E_NO_COUNTERS || why.code == TARE_E_WATCHDOG))
		err = why.code;
	tare_events_free(events);
	return err;
}

static void skip_event(struct stat_session *s, const char *name)
{
	const size_t at = strlen(s->skipped);
	snprintf(s->skipped + at, sizeof(s->skipped) - at, "%s%s", at ? ", " : "", name);
}

/* Adds to `text` the default hardware events this machine has; the others are
 * named in s->skipped. Returns how many there are. */
static size_t hardware_defaults(struct stat_session *s, struct buf *text)
{
	static const char *const names[] = { "cycles", "instructions", "branches",
					     "branch-misses" };
	size_t n = 0;
	int err = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (err != TARE_E_NO_PMU)	/* which goes for all of them */
			err = probe_counter(names[i], &s->cpu);
		if (!err) {
			buf_printf(text, ",%s", names[i]);
			n++;
			continue;
		}
		skip_event(s, names[i]);
	}
	return n;
}

/* Unprivileged users may be denied what only the kernel does. */
static void kernel_defaults(struct stat_session *s, struct buf *text)
{
	for (size_t i = 0; i < sizeof(kernel_events) / sizeof(kernel_events[0]); i++) {
		const char *const name = kernel_events[i];
		const int err = probe(name, TARE_BACKEND_HW, &s->cpu, NULL);
		if (err == TARE_E_PARANOID || err == TARE_E_VIRTUAL_KERNEL)
			skip_event(s, name);
		else
			buf_printf(text, "%s%s", text->len ? "," : "", name);
	}
}

static void default_events(struct stat_session *s, struct buf *text)
{
	const enum tare_backend asked = (enum tare_backend)s->o->backend;
	struct buf hardware = { 0 };
	const size_t n = asked == TARE_BACKEND_SOFT ? 0 : hardware_defaults(s, &hardware);
	/* The engine joins nothing that runs. */
	const bool soft =
		asked == TARE_BACKEND_SOFT ||
		(!n && asked == TARE_BACKEND_AUTO && !attached &&
		 probe(SOFT_EVENTS, TARE_BACKEND_SOFT, &s->cpu, NULL) == 0);
	if (soft) {
		buf_str(text, SOFT_EVENTS);
		s->skipped[0] = '\0';
	} else {
		kernel_defaults(s, text);
		if (n)
			buf_str(text, hardware.data);
		else if (asked == TARE_BACKEND_HW)
			buf_str(text, ",cycles,instructions,branches,branch-misses");
	}
	buf_free(&hardware);
}

static bool choose_events(struct stat_session *s)
{
	struct tare_why why = { 0 };
	struct buf text = { 0 };
	if (s->o->events)
		buf_str(&text, s->o->events);
	else
		default_events(s, &text);
	const int err = tare_events_parse(text.data, &s->cpu, &s->events, &why);
	buf_free(&text);
	if (err) {
		complain_why(&why);
		return false;
	}
	s->n_events = tare_events_count(s->events);
	return true;
}

/* Batches are only needed where counters are scarce. */
static int plan(struct stat_session *s, struct tare_why *why)
{
	if (!s->o->exact)
		return 0;
	const int backend = tare_backend_for(s->events, (enum tare_backend)s->o->backend, NULL, 0,
					     why);
	if (backend == TARE_E_NO_COUNTERS)
		return stat_plan_batches(s, why);	/* a group too large: batches have none */
	if (backend < 0)
		return backend;
	if (backend == TARE_BACKEND_SOFT || tare_events_fit(s->events, why) == 1)
		return 0;
	return stat_plan_batches(s, why);
}

/* ---- runs ---- */

struct live {			/* what on_interval needs */
	struct stat_session *s;
	struct stat_run *run;
	struct output *out;
	struct tare_count *before;
};

static void add_interval(struct live *l, const struct tare_measurement *so_far)
{
	struct stat_run *const r = l->run;
	struct stat_interval *const more =
		realloc(r->intervals, (r->n_intervals + 1) * sizeof(*more));
	struct tare_count *const delta = calloc(l->s->n_events + 1, sizeof(*delta));
	if (!more || !delta)
		abort();
	r->intervals = more;
	for (size_t i = 0; i < l->s->n_events; i++) {
		delta[i] = stat_delta(&so_far->counts[i], &l->before[i]);
		l->before[i] = so_far->counts[i];
	}
	r->intervals[r->n_intervals++] = (struct stat_interval){ so_far->wall_ns, delta };
}

static void on_interval(const struct tare_measurement *so_far, void *arg)
{
	struct live *const l = arg;
	struct buf text = { 0 };
	add_interval(l, so_far);
	const struct stat_interval *const last = &l->run->intervals[l->run->n_intervals - 1];
	if (l->s->o->json)
		return;
	if (l->s->o->separator)
		stat_csv_interval(l->s, last, &text);
	else
		stat_text_interval(l->s, last, &text);
	output_write(l->out, text.data, text.len);
	buf_free(&text);
}

static int measure_part(struct stat_session *s, struct stat_run *run,
			const struct tare_events *events, struct live *l, struct tare_why *why)
{
	const struct stat_opts *const o = s->o;
	const struct tare_measure_opts mo = {
		.argv = s->argv[0] ? s->argv : NULL,
		.pid = (pid_t)o->pid,
		.tid = (pid_t)o->tid,
		.events = events,
		.cpu = &s->cpu,
		.backend = (enum tare_backend)o->backend,
		.aslr = o->aslr,
		.no_inherit = o->no_inherit,
		.per_task = o->per_thread,
		.refuse_uncounted = o->refuse,
		.pinned = o->exact,
		.timeout_s = o->timeout_s,
		.interval_ms = o->interval_ms,
		.on_interval = on_interval,
		.arg = l,
		.stop = &stop,
	};
	struct tare_measurement *m;
	const int err = tare_measure(&mo, &m, why);
	if (err)
		return err;
	struct tare_measurement **const parts =
		realloc(run->parts, (run->n_parts + 1) * sizeof(struct tare_measurement *));
	if (!parts)
		abort();
	run->parts = parts;
	parts[run->n_parts++] = m;
	return 0;
}

/* Batch p of a run has its counts at the places its batch names. */
static void gather(const struct stat_session *s, struct stat_run *run)
{
	for (size_t i = 0; i < s->n_events; i++)
		run->counts[i] = (struct tare_count){ .state = TARE_COUNT_NOT_SCHEDULED,
						      .code = TARE_E_NOT_SCHEDULED };
	if (!s->n_batches) {
		memcpy(run->counts, run->parts[0]->counts, s->n_events * sizeof(*run->counts));
		return;
	}
	for (size_t p = 0; p < run->n_parts; p++)
		for (size_t i = 0; i < s->batches[p].n; i++)
			run->counts[s->batches[p].index[i]] = run->parts[p]->counts[i];
}

/* A command that Ctrl-C ended was cut short; one that took no notice was not. */
static bool cut_short(const struct tare_measurement *m)
{
	if (attached)
		return false;		/* the time is all that was asked for */
	return m->timed_out || m->stopped || (caught && m->exit_status != 0);
}

static int one_run(struct stat_session *s, struct output *out, struct tare_why *why)
{
	struct stat_run *const more = realloc(s->runs, (s->n_runs + 1) * sizeof(*more));
	if (!more)
		abort();
	s->runs = more;
	struct stat_run *const run = &more[s->n_runs];
	*run = (struct stat_run){ .complete = true,
				  .counts = calloc(s->n_events + 1, sizeof(*run->counts)) };
	struct live l = { s, run, out, calloc(s->n_events + 1, sizeof(*l.before)) };
	if (!run->counts || !l.before)
		abort();
	for (size_t i = 0; i < s->n_events; i++)
		l.before[i].state = TARE_COUNT_NOT_OPENED;
	const size_t parts = s->n_batches ? s->n_batches : 1;
	int err = 0;
	for (size_t p = 0; !err && run->complete && p < parts; p++) {
		err = measure_part(s, run, s->n_batches ? s->batches[p].events : s->events, &l,
				   why);
		if (!err)
			run->complete = !cut_short(run->parts[p]);
		if (!err && caught && p + 1 < parts)
			run->complete = false;
	}
	if (!err) {
		if (s->o->interval_ms)
			on_interval(run->parts[0], &l);
		gather(s, run);
		s->n_runs++;
	} else {
		free(run->counts);
	}
	free(l.before);
	return err;
}

static int status_of_error(int err)
{
	switch (err) {
	case TARE_E_NO_COMMAND:
		return EXIT_NOT_FOUND;
	case TARE_E_NOT_EXECUTABLE:
		return EXIT_NOT_EXECUTABLE;
	default:
		return EXIT_FAILED;
	}
}

static void show_progress(const struct stat_session *s, unsigned done)
{
	/* Where the command writes to the same terminal, its output is in the way. */
	if (s->o->repeat == 1 || isatty(STDOUT_FILENO))
		return;
	if (s->o->repeat)
		progress("run %u of %u", done + 1, s->o->repeat);
	else
		progress("run %u", done + 1);
}

static int all_runs(struct stat_session *s, struct output *out)
{
	struct tare_why why = { 0 };
	int err = plan(s, &why);
	for (unsigned i = 0; !err && !caught && (!s->o->repeat || i < s->o->repeat); i++) {
		show_progress(s, i);
		err = one_run(s, out, &why);
		if (!err && stat_part(&s->runs[s->n_runs - 1])->timed_out)
			break;
	}
	progress_clear();
	if (!err)
		return 0;
	complain_why(&why);
	if (err == TARE_E_NO_COMMAND && s->o->clean_env && !strchr(s->argv[0], '/'))
		caution("--clean-env looks in PATH=%s; name the file, or --keep PATH",
			env_get(s->envp, "PATH"));
	return status_of_error(err);
}

/* ---- the end ---- */

static bool print(const struct stat_session *s, struct output *out)
{
	struct buf text = { 0 };
	if (s->n_runs == 0)
		return true;
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
	buf_free(&text);
	return written;
}

static int command_status(const struct stat_session *s)
{
	int status = 0;
	if (s->n_runs && stat_part(&s->runs[s->n_runs - 1])->timed_out && !attached)
		return EXIT_TIMEOUT;
	if (caught && !attached)
		return 128 + caught;
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
	}
	for (size_t b = 0; b < s->n_batches; b++) {
		tare_events_free(s->batches[b].events);
		free(s->batches[b].index);
	}
	free(s->batches);
	free(s->runs);
	tare_events_free(s->events);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct stat_opts o = { .repeat = 1 };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (o.separator && strcmp(o.separator, "\\t") == 0)
		o.separator = "\t";
	if (!check_options(&o, first < argc))
		return EXIT_FAILED;
	attached = o.pid || o.tid;
	struct stat_session s = { .o = &o, .argv = argv + first };
	struct output out;
	tare_cpu_detect(&s.cpu);
	if (!choose_events(&s))
		return EXIT_FAILED;
	if (!output_open(&out, o.output)) {
		free_session(&s);
		return EXIT_FAILED;
	}
	catch_signals();
	char **const ours = environ;
	s.envp = o.clean_env ? clean_environment(&o.keep) : environ;
	environ = s.envp;		/* which the command inherits */
	int status = all_runs(&s, &out);
	environ = ours;
	bool written = print(&s, &out);
	written &= output_close(&out);
	warn_of_statuses(&s);
	if (!status)
		status = written ? command_status(&s) : EXIT_FAILED;
	if (lacking(&s)) {
		complain_why(lacking(&s));
		status = EXIT_FAILED;
	}
	free_session(&s);
	if (o.clean_env)
		clean_environment_free(s.envp);
	free(o.keep.items);
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
	.usage_status = EXIT_FAILED,
	.run = run,
};
