/* Counters for each process and thread of a command separately.
 *
 * Inherited counters give only the sum of a tree. So each task gets counters of its own, opened
 * while it is stopped before its first instruction: ptrace reports every fork, vfork and clone,
 * and the new task waits for the tracer. A task is not stopped between its start and its end.
 *
 * ptrace belongs to a thread, and wait() without __WNOTHREAD would reap children of the program
 * that uses the library. So one thread of the library forks the command, traces it and waits for
 * it; the caller's thread watches the clock. struct tracer belongs to that thread until it is
 * joined; the caller's thread reads child.pid and child.start_ns after the byte on `started`.
 */
#include "measure-backend.h"
#include "measure-room.h"
#include "set.h"
#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct live_task {
	struct counter_set *set;	/* NULL: ended, its counts are final */
};

struct tracer {
	const struct tare_measure_options *o;
	struct tare_measurement *m;
	struct tare_why why;
	const struct tare_event **events;
	struct child child;
	int aslr_off;			/* of the command's latest image: 1, 0, -1 unknown */
	int error;			/* what the tracer thread returns */
	int done;			/* pipe end; closed when it is over */
	int started;			/* pipe end: one byte once the command runs */
	struct live_task *live;		/* one per task of the measurement */
	size_t capacity;
};

/* ---- tasks ---- */

static void read_link_or_line(const char *path, bool link, char *out, size_t size)
{
	ssize_t n;
	if (link) {
		n = readlink(path, out, size - 1);
	} else {
		const int fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd >= 0 ? read(fd, out, size - 1) : -1;
		if (fd >= 0)
			close(fd);
	}
	if (n <= 0)
		return;			/* keep what was known */
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static void learn_names(struct tare_task *t)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)t->tid);
	read_link_or_line(path, false, t->comm, sizeof(t->comm));
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)t->tid);
	read_link_or_line(path, true, t->exe, sizeof(t->exe));
}

/* The process a thread belongs to. */
static pid_t group_of(pid_t tid)
{
	char path[64], line[128];
	pid_t group = tid;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	FILE *const f = fopen(path, "re");
	if (!f)
		return tid;
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, "Tgid:", 5) == 0)
			group = (pid_t)atoi(line + 5);
	fclose(f);
	return group;
}

/* The live task with this id; -1: none. The ids of ended tasks are reused. */
static ssize_t find_live(const struct tracer *t, pid_t tid)
{
	for (size_t i = t->m->n_tasks; i-- > 0;)
		if (t->live[i].set && t->m->tasks[i].tid == tid)
			return (ssize_t)i;
	return -1;
}

static int grow(struct tracer *t)
{
	if (t->m->n_tasks < t->capacity)
		return 0;
	const size_t more = t->capacity ? t->capacity * 2 : 16;
	struct tare_task *const tasks = realloc(t->m->tasks, more * sizeof(*tasks));
	if (!tasks)
		return TARE_E_NOMEM;
	t->m->tasks = tasks;
	struct live_task *const live = realloc(t->live, more * sizeof(*live));
	if (!live)
		return TARE_E_NOMEM;
	t->live = live;
	t->capacity = more;
	return 0;
}

static int add_task(struct tracer *t, pid_t tid, bool first)
{
	const struct counter_set_opts co = { .pid = tid, .enable_on_exec = first,
					     .pinned = t->o->pinned, .user_fallback = true };
	struct counter_set *set = NULL;
	int err = grow(t);
	if (err)
		return why_set(&t->why, err, "task %d", (int)tid);
	err = counter_set_open(t->events, t->m->n_counts, &co, &set, &t->why);
	for (size_t i = 0; !err && i < t->m->n_counts; i++) {
		const struct tare_why *const w = counter_set_why(set, i);
		if (w->code) {
			t->why = *w;
			err = w->code;
		}
	}
	struct tare_count *const counts =
		err ? NULL : calloc(t->m->n_counts + 1, sizeof(*counts));
	if (!err && !counts)
		err = why_set(&t->why, TARE_E_NOMEM, "task %d", (int)tid);
	if (err) {
		counter_set_close(set);
		return err;
	}
	struct tare_task *const task = &t->m->tasks[t->m->n_tasks];
	*task = (struct tare_task){ .tid = tid, .pid = group_of(tid), .counts = counts };
	task->is_thread = task->pid != tid;
	t->live[t->m->n_tasks++].set = set;
	learn_names(task);
	return 0;
}

/* Is the event changed by the stops of the tracer? A stop is a context switch and takes time; it
 * causes no page fault. */
static bool disturbed(const struct tare_event *e)
{
	if (e->kind == TARE_EVENT_WALL_TIME)
		return true;
	if (e->kind == TARE_EVENT_ZERO || e->base.type != PERF_TYPE_SOFTWARE)
		return false;
	switch (e->base.config) {
	case PERF_COUNT_SW_CPU_CLOCK:
	case PERF_COUNT_SW_TASK_CLOCK:
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
	case PERF_COUNT_SW_CPU_MIGRATIONS:
		return true;
	default:
		return false;
	}
}

static void finish_task(struct tracer *t, size_t i, const char *cut_off)
{
	struct tare_task *const task = &t->m->tasks[i];
	counter_set_read_target(t->live[i].set, 0, task->counts);
	for (size_t k = 0; k < t->m->n_counts; k++) {
		task->counts[k].user_only = counter_set_user_only(t->live[i].set, k);
		task->counts[k].perturbed = disturbed(t->events[k]);
	}
	counter_set_close(t->live[i].set);
	t->live[i].set = NULL;
	task->cut_off = cut_off;
}

/* ---- stops ---- */

/* Reads names and personality after an exec and again at the end, because a program can change
 * both. (After SIGKILL there may be no stop at the end.) */
static void learn(struct tracer *t, pid_t tid)
{
	const ssize_t i = find_live(t, tid);
	if (i >= 0)
		learn_names(&t->m->tasks[i]);
	if (tid == t->child.pid)
		t->aslr_off = child_aslr_off(&t->child);
}

/* exec by a thread that does not lead its group: the other threads end without a ptrace stop, and
 * the calling thread takes the leader's id. */
static void on_exec(struct tracer *t, pid_t tid)
{
	unsigned long former = 0;
	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &former);
	if (former && (pid_t)former != tid) {
		const ssize_t leader = find_live(t, tid);
		if (leader >= 0)
			finish_task(t, (size_t)leader, NULL);
		const ssize_t caller = find_live(t, (pid_t)former);
		if (caller >= 0) {
			t->m->tasks[caller].tid = tid;
			t->m->tasks[caller].pid = tid;
			t->m->tasks[caller].is_thread = false;
		}
	}
	learn(t, tid);
}

/* Handles one stop and lets the task continue. */
static int on_stop(struct tracer *t, pid_t tid, int status)
{
	const int event = status >> 16;
	const int sig = WSTOPSIG(status);
	int err = 0;
	switch (event) {
	case 0:				/* a signal: deliver it */
		ptrace(PTRACE_CONT, tid, NULL, (void *)(long)sig);
		return 0;
	case PTRACE_EVENT_STOP:
		if (find_live(t, tid) < 0 && !t->o->no_inherit)
			err = add_task(t, tid, false);
		if (sig != SIGTRAP) {	/* stopped by SIGSTOP and the like: stays stopped */
			ptrace(PTRACE_LISTEN, tid, NULL, NULL);
			return err;
		}
		break;
	case PTRACE_EVENT_EXEC:
		on_exec(t, tid);
		break;
	case PTRACE_EVENT_EXIT:
		learn(t, tid);
		break;
	}
	ptrace(PTRACE_CONT, tid, NULL, NULL);
	return err;
}

static uint64_t timeval_ns(struct timeval v)
{
	return (uint64_t)v.tv_sec * 1000000000u + (uint64_t)v.tv_usec * 1000u;
}

static void on_end(struct tracer *t, pid_t tid, int status, const struct rusage *ru)
{
	const ssize_t i = find_live(t, tid);
	if (i >= 0)
		finish_task(t, (size_t)i, NULL);
	if (tid != t->child.pid)
		return;
	t->m->wall_ns = launch_now_ns() - t->child.start_ns;
	t->m->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	t->m->user_ns = timeval_ns(ru->ru_utime);
	t->m->system_ns = timeval_ns(ru->ru_stime);
}

/* Detaches from tasks that outlive the command; they are counted up to now. */
static void release_rest(struct tracer *t)
{
	for (size_t i = 0; i < t->m->n_tasks; i++) {
		int status;
		const pid_t tid = t->m->tasks[i].tid;
		if (!t->live[i].set)
			continue;
		finish_task(t, i, "it outlived the command");
		if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 &&
		    waitpid(tid, &status, __WALL | __WNOTHREAD) == tid && WIFSTOPPED(status)) {
			const bool signal = status >> 16 == 0;
			ptrace(PTRACE_DETACH, tid, NULL,
			       (void *)(long)(signal ? WSTOPSIG(status) : 0));
		}
	}
}

static int trace_until_end(struct tracer *t)
{
	int err = 0;
	for (;;) {
		int status;
		struct rusage ru;
		const pid_t tid = wait4(-1, &status, __WALL | __WNOTHREAD, &ru);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			break;
		if (WIFSTOPPED(status)) {
			const int e = on_stop(t, tid, status);
			if (e && !err) {
				err = e;
				kill(t->child.pid, SIGKILL);
			}
			continue;
		}
		on_end(t, tid, status, &ru);
		if (tid == t->child.pid)
			break;
	}
	release_rest(t);
	return err;
}

/* ---- the thread ---- */

static int seize(struct tracer *t)
{
	const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
	const long own = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
	const long which = t->o->no_inherit ? own : options;
	if (ptrace(PTRACE_SEIZE, t->child.pid, NULL, (void *)which) == 0)
		return 0;
	return child_no_ptrace(&t->child, errno, "following each thread of", &t->why);
}

static int trace_command(struct tracer *t)
{
	int err = child_start(&t->child, &(struct child_plan){ .argv = t->o->argv,
								 .aslr = t->o->aslr }, &t->why);
	if (err)
		return err;
	err = add_task(t, t->child.pid, true);
	if (!err)
		err = seize(t);
	if (err) {
		child_abandon(&t->child);
		return err;
	}
	/* The exec stops the child, so nothing is read from it before trace_until_end(). */
	child_release(&t->child);
	while (write(t->started, "", 1) < 0 && errno == EINTR)
		;
	err = trace_until_end(t);
	const int failed = child_exec_failure(&t->child, &t->why);
	return failed ? failed : err;
}

static void *tracer_thread(void *arg)
{
	struct tracer *const t = arg;
	t->error = trace_command(t);
	close(t->started);
	close(t->done);
	return NULL;
}

/* ---- sums ---- */

/* The sum gets the worst state and provenance. A task that was never scheduled adds nothing; if it
 * ran, the sum is a lower bound. */
static void add_up(struct tare_count *sum, const struct tare_count *c)
{
	if (c->state == TARE_COUNT_STOLEN || c->state == TARE_COUNT_NOT_OPENED) {
		sum->state = c->state;
		sum->code = c->code;
		return;
	}
	sum->enabled_ns += c->enabled_ns;
	sum->running_ns += c->running_ns;
	sum->user_only |= c->user_only;
	sum->perturbed |= c->perturbed;
	if (c->state != TARE_COUNT_OK) {
		sum->lower_bound |= c->enabled_ns != 0;
		return;
	}
	sum->value += c->value;
	sum->raw += c->raw;
	if (c->provenance > sum->provenance)
		sum->provenance = c->provenance;
}

static void sum_tasks(struct tracer *t)
{
	for (size_t k = 0; k < t->m->n_counts; k++) {
		struct tare_count *const sum = &t->m->counts[k];
		sum->state = TARE_COUNT_OK;
		sum->code = 0;
		for (size_t i = 0; i < t->m->n_tasks; i++)
			add_up(sum, &t->m->tasks[i].counts[k]);
		if (t->events[k]->kind == TARE_EVENT_WALL_TIME)
			sum->value = sum->raw = sum->enabled_ns = sum->running_ns = t->m->wall_ns;
		if (sum->state == TARE_COUNT_OK && sum->provenance == TARE_PROV_NONE) {
			sum->state = TARE_COUNT_NOT_SCHEDULED;
			sum->code = TARE_E_NOT_SCHEDULED;
			sum->lower_bound = false;
		}
		if (sum->lower_bound)
			counter_set_mark_incomplete(sum);
	}
}

/* The caller's thread: the clock and the stop flag. */
static void watch_tracer(struct tracer *t, int done, int started)
{
	struct watch w;
	char byte;
	ssize_t n;
	while ((n = read(started, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		return;			/* the command did not start */
	watch_start(&w, t->o, t->m, t->child.start_ns);
	while (!launch_wait(t->child.pid, done, watch_until(&w), false, NULL))
		watch_check(&w, t->child.pid);
}

static int refuse(const struct tracer *t, struct tare_why *why)
{
	if (t->o->interval_ms)
		return why_set(why, TARE_E_INVALID,
			       "intervals of each thread of a command (attach with --pid instead)");
	for (size_t i = 0; i < t->m->n_counts; i++)
		if (t->events[i]->kind == TARE_EVENT_MINUS_TOTAL)
			return why_set(why, TARE_E_INVALID, "%s: its correction is known for whole "
				       "runs only, not for each thread", t->events[i]->name);
	return 0;
}

static int run_traced(struct tracer *t, struct tare_why *why)
{
	int done[2], started[2];
	pthread_t thread;
	if (pipe2(done, O_CLOEXEC) < 0)
		return why_errno(why, TARE_E_IO, errno, "pipe");
	if (pipe2(started, O_CLOEXEC) < 0) {
		close(done[0]);
		close(done[1]);
		return why_errno(why, TARE_E_IO, errno, "pipe");
	}
	t->done = done[1];
	t->started = started[1];
	const int err = pthread_create(&thread, NULL, tracer_thread, t);
	if (err) {
		close(done[1]);
		close(started[1]);
		why_errno(why, TARE_E_NOMEM, err, "a thread");
	} else {
		watch_tracer(t, done[0], started[0]);
		pthread_join(thread, NULL);
	}
	close(done[0]);
	close(started[0]);
	return err ? TARE_E_NOMEM : 0;
}

int measure_tasks(const struct tare_measure_options *o, struct tare_measurement *m,
		  struct tare_why *why)
{
	struct tracer t = { .o = o, .m = m, .events = event_array(o->events),
			    .aslr_off = -1 };
	if (!t.events)
		return why_set(why, TARE_E_NOMEM, "a run");
	int err = refuse(&t, why);
	if (!err)
		err = run_traced(&t, why);
	if (!err && t.error) {
		*why = t.why;
		err = t.error;
	}
	if (!err) {
		sum_tasks(&t);
		measure_explain(o, m, NULL);
		child_tell_aslr(&t.child, t.aslr_off, m);
	}
	if (t.child.pid)
		child_close(&t.child);
	for (size_t i = 0; i < m->n_tasks; i++)
		counter_set_close(t.live[i].set);
	free(t.live);
	free(t.events);
	return err;
}
