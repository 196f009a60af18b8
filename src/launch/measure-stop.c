/* A stop or limit with hardware counters: the command's first thread, followed with ptrace.
 *
 * A counter's interrupt comes late, by up to the machine's skid. So the counter overflows before the
 * N-th event, by twice the skid of this machine, which the rule has, or overflow_skid() measures, and
 * the rest is single-stepped, and counted by looking at the instructions (step.h). The first STEP_ONLY events
 * need no counter. Where the skid is more than can be stepped (emulators deliver the interrupt with
 * the next tick of the clock), or an interrupt comes later than it ever did while the skid was
 * measured, the run fails and says so: it never stops at another event.
 *
 * Untested on real hardware: tests/engine/stops.py tests the steps, stops-skid.py all of it with the
 * virtual PMU and its skid, tests/kernel with the PMU of an emulated arm64 machine.
 */
#include "measure-backend.h"
#include "measure-room.h"
#include "overflow.h"
#include "set.h"
#include "step.h"
#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_ONLY 10000		/* so many events are stepped from the start, without a counter */
#define OVERFLOWS 40		/* to measure the skid with, before the run */
#define MAX_MARGIN 100000	/* events; a step takes some microseconds */

struct stopper {
	const struct tare_measure_options *o;
	struct tare_measurement *m;
	const struct tare_stop_rule *rule;
	struct counter_set *set;
	struct child child;
	pid_t pid;
	int fd;			/* the counter that overflows; -1: none */
	uint64_t margin;
	uint64_t target;	/* the count to stop at */
	uint64_t steps_over;	/* what the counter shows more than was counted at the last stop */
	uint64_t last_pc;
	int signal;		/* to be delivered when it goes on */
	bool entered;		/* the exec has been seen, … */
	bool in_exec;		/* … and is the system call that the process is in */
	bool over;
};

static int prepare_counter(struct stopper *s, struct tare_why *why)
{
	uint64_t skid;
	s->fd = -1;
	if (s->target <= STEP_ONLY && !s->rule->every)
		return 0;
	skid = s->rule->skid;
	const int err = skid ? 0 : overflow_skid(s->rule->event, OVERFLOWS, NULL, &skid, why);
	if (err)
		return err;
	s->margin = 2 * skid + 100;
	if (s->margin <= MAX_MARGIN)
		return 0;
	why_set(why, TARE_E_INVALID, "%s=%" PRIu64 ": interrupts of this machine come up to %" PRIu64
		" events late, more than can be single-stepped (%d)", s->rule->event->name, s->rule->n,
		skid, MAX_MARGIN);
	why_remedy(why, "stop with the software engine (--backend soft), or within the first %d events",
		   STEP_ONLY);
	return TARE_E_INVALID;
}

/* ---- a stop ---- */

static int call_program(struct stopper *s)
{
	struct tare_stop_register registers[STEP_REGISTERS];
	struct tare_count *const counts = calloc(s->m->n_counts + 1, sizeof(*counts));
	struct tare_stop stop = { .pid = s->pid, .tid = s->pid, .count = s->target, .last_pc = s->last_pc,
				  .system_call = -1, .several_threads = true, .registers = registers };
	stop.n_registers = step_registers(s->pid, registers, &stop.pc);
	if (counts && counter_set_read(s->set, counts) == 0) {
		stop.counts = counts;
		stop.n_counts = s->m->n_counts;
	}
	const int go = s->o->on_stop(&stop, s->o->arg);
	free(counts);
	return go;
}

/* False: the command is to end. */
static bool at_target(struct stopper *s)
{
	struct tare_stop_result *const r = &s->m->stops[0];
	uint64_t now = s->target;
	const bool limit = s->rule->then == TARE_STOP_END;
	r->hits += !limit;
	bool goes_on = !limit;
	if (s->rule->then == TARE_STOP_SIGNAL)
		s->signal = s->rule->signal;
	else if (s->rule->then == TARE_STOP_CALL)
		goes_on = call_program(s) != TARE_STOP_KILL;
	if (!goes_on) {
		s->m->limited = r->ended = true;
		r->pid = r->tid = s->pid;
		r->pc = s->last_pc;
		return false;
	}
	if (s->fd >= 0 && overflow_read(s->fd, &now))
		s->steps_over = now - s->target;
	s->target = s->rule->every ? s->target + s->rule->n : UINT64_MAX;
	return true;
}

/* ---- steps ---- */

/* Has the process a handler for that signal? */
static bool catches(pid_t pid, int sig)
{
	char path[40], line[128];
	unsigned long long caught = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *const f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SigCgt: %llx", &caught) == 1)
			break;
	if (f)
		fclose(f);
	return caught >> (sig - 1) & 1;
}

/* Counts one step. Returns the events made; *ended: the process has. */
static unsigned step_once(struct stopper *s, bool *ended, struct tare_why *why)
{
	struct step_at at;
	const int sig = s->signal;
	const bool handler = sig && catches(s->pid, sig);	/* (an ignored signal changes nothing) */
	step_look(s->pid, &at);
	s->signal = 0;
	if (at.exclusive || !at.known) {
		why_set(why, TARE_E_INVALID, "0x%" PRIx64 ": single-stepping %s", at.pc, at.exclusive ?
			"an exclusive load, whose store would never succeed" :
			"an instruction that cannot be read");
		*ended = true;
		return 0;
	}
	const int stop = ptrace(PTRACE_SINGLESTEP, s->pid, 0, sig) < 0 ? OVERFLOW_ENDED : overflow_stop(s->pid, false);
	if (stop == OVERFLOW_ENDED) {
		*ended = true;		/* with its last system call */
		return 0;
	}
	if (stop >> 8 == PTRACE_EVENT_EXEC) {	/* its system call has retired */
		s->in_exec = true;
		s->last_pc = at.pc;
		return step_worth(&at, s->rule->event->role);
	}
	if (stop != SIGTRAP) {		/* nothing retired */
		if (stop >> 8 == 0 && stop != OVERFLOW_SIGNAL)
			s->signal = stop;
		return 0;
	}
	const uint64_t now = step_pc(s->pid);
	const bool returns = s->in_exec;	/* the first step is the return from execve */
	s->in_exec = false;
	if (handler || (returns && now == at.pc) || !step_retired(&at, now))
		return 0;		/* (after a signal, the first instruction of its handler is next) */
	s->last_pc = at.pc;
	return step_worth(&at, s->rule->event->role);
}

static int step_to_target(struct stopper *s, uint64_t count, bool *ended, struct tare_why *why)
{
	while (count < s->target && !*ended)
		count += step_once(s, ended, why);
	if (why->code)
		return why->code;
	if (!*ended && !at_target(s))
		*ended = s->over = true;
	return 0;
}

/* ---- the run ---- */

/* Goes on until the counter overflows, or the target is near. */
static int go_on(struct stopper *s, uint64_t count, bool *ended, struct tare_why *why)
{
	while (!*ended && s->target != UINT64_MAX && s->target - count <= s->margin + STEP_ONLY) {
		const int err = step_to_target(s, count, ended, why);
		if (err)
			return err;
		count = s->rule->every ? s->target - s->rule->n : 0;
	}
	if (*ended)
		return 0;
	if (s->fd >= 0 && s->target != UINT64_MAX) {
		const uint64_t period = s->target - count - s->margin;
		ioctl(s->fd, PERF_EVENT_IOC_PERIOD, &period);
	}
	ptrace(PTRACE_CONT, s->pid, 0, s->signal);
	s->signal = 0;
	s->in_exec = false;
	return 0;
}

static int on_overflow(struct stopper *s, bool *ended, struct tare_why *why)
{
	uint64_t count;
	if (!overflow_read(s->fd, &count))
		return why_set(why, TARE_E_STOLEN, "%s", s->rule->event->name);
	count -= s->steps_over;
	if (count > s->target)
		return why_set(why, TARE_E_INVALID, "%s=%" PRIu64 ": the interrupt came %" PRIu64 " events "
			       "after the overflow, later than expected (%" PRIu64 "); there is no exact stop",
			       s->rule->event->name, s->target, count - s->target + s->margin, s->margin);
	return go_on(s, count, ended, why);
}

static int follow(struct stopper *s, struct tare_why *why)
{
	struct watch w;
	bool ended = false;
	int err = 0;
	watch_start(&w, s->o, s->m, s->child.start_ns);
	while (!err && !ended) {
		const int stop = overflow_stop(s->pid, true);
		if (stop == OVERFLOW_NO_STOP) {
			watch_check(&w, s->pid);
			usleep(200);
			continue;
		}
		if (stop == OVERFLOW_ENDED)
			break;
		if (stop >> 8 == PTRACE_EVENT_EXEC && !s->entered) {
			s->entered = s->in_exec = true;
			counter_set_started(s->set);
			err = go_on(s, 0, &ended, why);
		} else if (stop == OVERFLOW_SIGNAL && s->fd >= 0 && s->target != UINT64_MAX) {
			err = on_overflow(s, &ended, why);
		} else {
			const bool group = stop >> 8 == PTRACE_EVENT_STOP && (stop & 0xff) != SIGTRAP;
			ptrace(group ? PTRACE_LISTEN : PTRACE_CONT, s->pid, 0,
			       stop >> 8 || stop == OVERFLOW_SIGNAL ? 0 : stop);
		}
	}
	if (err || s->over)
		kill(s->pid, SIGKILL);
	while (overflow_stop(s->pid, false) != OVERFLOW_ENDED)		/* a stop from before the kill */
		ptrace(PTRACE_CONT, s->pid, 0, 0);
	return err;
}

static int open_all(struct stopper *s, const struct tare_event **events, struct tare_why *why)
{
	const struct counter_set_opts co = { .pid = s->pid, .inherit = !s->o->no_inherit,
					     .enable_on_exec = true, .user_fallback = true };
	int err = counter_set_open(events, s->m->n_counts, &co, &s->set, why);
	for (size_t i = 0; !err && i < s->m->n_counts; i++)
		if (counter_set_why(s->set, i)->code) {
			*why = *counter_set_why(s->set, i);
			err = why->code;
		}
	if (err || !s->margin)
		return err;
	s->fd = overflow_open(s->rule->event, s->pid, UINT64_MAX >> 2, true);
	return s->fd >= 0 ? 0 : why_errno(why, TARE_E_NOT_OPENED, -s->fd, "%s with overflows",
					  s->rule->event->name);
}

static int run(struct stopper *s, const struct tare_event **events, struct tare_why *why)
{
	const struct child_plan plan = { .argv = s->o->argv, .aslr = s->o->aslr };
	int err = child_start(&s->child, &plan, why);
	if (err)
		return err;
	s->pid = s->child.pid;
	/* The counters first: in `tare run` they say that the new image is to be counted, though it is
	 * traced (soft/guest/tracer.c). */
	err = open_all(s, events, why);
	if (!err && ptrace(PTRACE_SEIZE, s->pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0)
		err = child_no_ptrace(&s->child, errno, "stopping", why);
	if (err) {
		child_abandon(&s->child);
		return err;
	}
	child_release(&s->child);
	err = follow(s, why);
	s->m->wall_ns = launch_now_ns() - s->child.start_ns;
	const int failed = child_exec_failure(&s->child, why);
	if (failed)
		return failed;
	counter_set_read(s->set, s->m->counts);
	for (size_t i = 0; i < s->m->n_counts; i++) {
		s->m->counts[i].user_only = counter_set_user_only(s->set, i);
		s->m->counts[i].perturbed = true;	/* by the steps */
	}
	child_reap(&s->child, s->m);
	return err;
}

static int refuse(const struct tare_measure_options *o, struct tare_why *why)
{
	if (o->n_stops > 1)
		why_set(why, TARE_E_INVALID, "%zu stops and limits with hardware counters, which can stop at one: "
			"the command is single-stepped to it", o->n_stops);
	else if (o->per_task || o->interval_ms || o->delay_ms)
		why_set(why, TARE_E_INVALID, "a stop or limit with hardware counters, and %s: the command is "
			"followed with ptrace, and read only at its end",
			o->per_task ? "counts of each thread" : o->delay_ms ? "a delay" : "intervals");
	else
		return 0;
	why_remedy(why, "stop with the software engine (--backend soft), which can do both");
	return TARE_E_INVALID;
}

int measure_stop(const struct tare_measure_options *o, struct tare_measurement *m, struct tare_why *why)
{
	struct stopper s = { .o = o, .m = m, .rule = o->stops, .fd = -1 };
	int err = refuse(o, why);
	if (err)
		return err;
	/* a limit is exceeded by the event after the last one that is allowed */
	s.target = s.rule->n + (s.rule->then == TARE_STOP_END);
	const struct tare_event **const events = event_array(o->events);
	m->stops = calloc(1, sizeof(*m->stops));
	if (!events || !m->stops) {
		free(events);
		return why_set(why, TARE_E_NOMEM, "a run");
	}
	m->n_stops = 1;
	err = prepare_counter(&s, why);
	if (!err)
		err = run(&s, events, why);
	if (s.fd >= 0)
		close(s.fd);
	counter_set_close(s.set);
	free(events);
	return err;
}
