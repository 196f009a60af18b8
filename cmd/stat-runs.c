/* The runs of tare stat, each with its parts, intervals and hooks. */
#include "complain.h"
#include "complain.h"
#include "gate.h"
#include "keep-code.h"
#include "measuring.h"
#include "output.h"
#include "program.h"
#include "stat.h"
#include "term.h"
#include "world-show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether events will take turns, so that their counts are estimates. */
static bool takes_turns(const struct stat_session *s)
{
	struct tare_why why;
	return s->n_events > 1 && !s->o->exact && s->o->backend != TARE_BACKEND_SOFT &&
	       tare_events_fit(s->events, &why) == 0 &&
	       tare_backend_for(s->events, (enum tare_backend)s->o->backend, NULL, 0, NULL) ==
		       TARE_BACKEND_HW;
}

/* Batches are only needed where counters are scarce. */
static int plan(struct stat_session *s, struct tare_why *why)
{
	if (!s->o->exact || s->o->null)
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

struct live {			/* what on_interval needs */
	struct stat_session *s;
	struct stat_run *run;
	struct output *out;
	struct tare_count *before;	/* net counts at the end of the last interval */
	struct gate *gate;		/* --delay and --control; NULL: neither */
};

/* The counts without what came while counting was off; to be freed. */
static struct tare_count *net_counts(const struct live *l, const struct tare_measurement *m)
{
	struct tare_count *const net = calloc(l->s->n_events + 1, sizeof(*net));
	if (!net)
		abort();
	for (size_t i = 0; i < l->s->n_events; i++)
		net[i] = l->gate ? gate_net(l->gate, i, &m->counts[i]) : m->counts[i];
	return net;
}

/* Takes out of the run what came while counting was off. */
static void apply_gate(const struct live *l, struct tare_measurement *m)
{
	if (!l->gate)
		return;
	struct tare_count *const net = net_counts(l, m);
	memcpy(m->counts, net, l->s->n_events * sizeof(*net));
	free(net);
	m->wall_ns = gate_net_ns(l->gate, m->wall_ns);
	gate_switched(l->gate, &l->run->control_on, &l->run->control_off);
}

static void add_interval(struct live *l, const struct tare_measurement *so_far)
{
	struct stat_run *const r = l->run;
	struct tare_count *const net = net_counts(l, so_far);
	struct stat_interval *const more =
		realloc(r->intervals, (r->n_intervals + 1) * sizeof(*more));
	struct tare_count *const delta = calloc(l->s->n_events + 1, sizeof(*delta));
	if (!more || !delta)
		abort();
	r->intervals = more;
	for (size_t i = 0; i < l->s->n_events; i++) {
		delta[i] = stat_delta(&net[i], &l->before[i]);
		l->before[i] = net[i];
	}
	free(net);
	r->intervals[r->n_intervals++] = (struct stat_interval){
		l->gate ? gate_since(l->gate, so_far->wall_ns) : so_far->wall_ns, delta };
}

static void sample_turns(const struct live *l, const struct tare_measurement *so_far)
{
	for (size_t i = 0; l->run->turns && i < l->s->n_events; i++)
		stat_blind_sample(&l->run->turns[i], &so_far->counts[i], l->s->turn_ms);
}

static void on_interval(const struct tare_measurement *so_far, void *arg)
{
	struct live *const l = arg;
	struct buf text = { 0 };
	const unsigned most = l->s->o->interval_count;
	sample_turns(l, so_far);
	if (l->gate && gate_end_delay(l->gate, so_far))
		return;
	if (!l->s->o->interval_ms || (most && l->run->n_intervals == most))
		return;
	add_interval(l, so_far);
	if (l->run->n_intervals == most && measuring_attached && !l->s->argv[0])
		measuring_stop = 1;	/* with a command, it is waited for */
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

static int on_stop(const struct tare_stop *stopped, void *arg)
{
	const struct live *const l = arg;
	return stat_at_stop(l->s->stops, stopped);
}

#define SAMPLE_MS 20		/* how often events that take turns are read: some turns */

/* --pre and --post: whether it worked. Ctrl-C is its own affair meanwhile. */
static bool run_hook(const char *option, const char *command)
{
	if (!command)
		return true;
	progress_clear();
	const int status = system(command);
	if (status == 0)
		return true;
	if (status < 0)
		complain_errno(errno, "%s %s", option, command);
	else if (WIFSIGNALED(status))
		complain("%s \"%s\" was ended by signal %d", option, command, WTERMSIG(status));
	else
		complain("%s \"%s\" failed with status %d", option, command, WEXITSTATUS(status));
	return false;
}

/* The size of the environment is a part of a layout: a variable of 0 to 4,095 characters. */
#define PADDING "TARE_LAYOUT"

static void pad_environment(unsigned layout)
{
	char text[4096];
	const size_t n = (layout * 2654435761u >> 8) % sizeof(text);
	memset(text, 'x', n);
	text[n] = '\0';
	setenv(PADDING, text, 1);
}

static int measure_part(struct stat_session *s, struct stat_run *run,
			const struct tare_events *events, struct live *l, struct tare_why *why)
{
	const struct stat_opts *const o = s->o;
	const struct tare_measure_options mo = {
		.size = sizeof(mo),
		.argv = s->argv[0] ? s->argv : NULL,
		.pid = (pid_t)o->pid,
		.tid = (pid_t)o->tid,
		.events = events,
		.cpu = &s->cpu,
		.backend = (enum tare_backend)o->backend,
		.aslr = o->aslr,
		.machine = o->machine,
		.hermetic = o->hermetic,
		.schedule = o->schedule,
		.on_deadlock = world_deadlock,
		.layout = o->layouts ? (unsigned)s->n_runs + 1 : 0,
		.keep_code = s->keep_code->folder[0] ? s->keep_code->folder : NULL,
		.keep_code_bytes = s->keep_code->bytes,
		.no_inherit = o->no_inherit,
		.per_task = o->per_thread,
		.refuse_uncounted = o->refuse,
		.pinned = o->exact,
		.timeout_s = o->timeout_ms / 1e3,
		.interval_ms = o->interval_ms ? o->interval_ms : s->takes_turns ? SAMPLE_MS : 0,
		.delay_ms = o->delay_ms > 0 ? (unsigned)o->delay_ms : 0,
		.starts_off = o->delay_ms < 0 && !o->control ? TARE_OFF_UNTIL_ASKED : 0,
		.control = l->gate ? gate_control(l->gate) : NULL,
		.on_interval = on_interval,
		.arg = l,
		.stop = &measuring_stop,
		.code = o->mix || o->functions || o->in.n,
		.calls = o->in.n,
		.stops = s->stops->rules,
		.n_stops = s->stops->n,
		.on_stop = on_stop,
	};
	struct tare_measurement *m;
	if (o->sync)
		sync();
	if (!run_hook("--pre", o->pre))
		return STAT_COMPLAINED;
	if (o->layouts)
		pad_environment(mo.layout);
	int err = tare_measure(&mo, &m, why);
	if (o->layouts)
		unsetenv(PADDING);
	if (err)
		return err;
	err = run_hook("--post", o->post) ? stat_in_apply(s, events, m, why) : STAT_COMPLAINED;
	if (err)
		tare_measurement_free(m);
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
	if (measuring_attached)
		return false;		/* the time is all that was asked for */
	return m->timed_out || m->stopped || m->limited || (measuring_caught && m->exit_status != 0);
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
	struct live l = { s, run, out, calloc(s->n_events + 1, sizeof(*l.before)), gate_new(&(struct gate_options){ "stat", s->o->delay_ms, s->o->control, false }, s->events, s->n_events) };
	if (s->takes_turns)
		run->turns = calloc(s->n_events, sizeof(*run->turns));
	if (!run->counts || !l.before || (s->takes_turns && !run->turns))
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
		if (!err && measuring_caught && p + 1 < parts)
			run->complete = false;
	}
	if (!err) {
		if (!l.gate || !gate_delays(l.gate))
			on_interval(run->parts[0], &l);
		apply_gate(&l, run->parts[0]);
		gather(s, run);
		s->n_runs++;
	} else {
		free(run->counts);
		free(run->turns);
	}
	free(l.before);
	gate_free(l.gate);
	return err;
}

static void show_progress(const struct stat_session *s, unsigned done)
{
	char text[64];
	if (s->o->repeat == 1)
		return;
	if (s->o->repeat)
		snprintf(text, sizeof(text), "run %u of %u", done + 1, s->o->repeat);
	else
		snprintf(text, sizeof(text), "run %u", done + 1);
	if (s->o->verbose)
		fprintf(stderr, "%s\n", text);
	else if (isatty(STDOUT_FILENO))		/* the command may write there, too */
		progress_aside(text);
	else
		progress("%s", text);
}

int stat_all_runs(struct stat_session *s, struct output *out)
{
	struct tare_why why = { 0 };
	int err = plan(s, &why);
	s->takes_turns = !err && takes_turns(s);
	s->turn_ms = stat_turn_ms();
	for (unsigned i = 0; !err && !measuring_caught && (!s->o->repeat || i < s->o->repeat); i++) {
		show_progress(s, i);
		err = one_run(s, out, &why);
		if (!err && (stat_part(&s->runs[s->n_runs - 1])->timed_out ||
			     stat_part(&s->runs[s->n_runs - 1])->limited))
			break;
	}
	progress_clear();
	if (!err)
		return 0;
	if (err != STAT_COMPLAINED)
		complain_why(&why);
	if (err == TARE_E_NO_COMMAND && s->o->clean_env && !strchr(s->argv[0], '/'))
		caution("--clean-env looks in PATH=%s; name the file, or --keep PATH",
			env_get(s->envp, "PATH"));
	return measuring_status(err);
}
