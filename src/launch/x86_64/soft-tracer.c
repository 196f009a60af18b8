#include "soft-tracer.h"

#include "find-task.h"
#include "kept-store.h"
#include "soft-machine.h"
#include "soft-stop.h"
#include "soft-watch.h"
#include "why.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *t)
{
	return syscall(SYS_futex, word, op, value, t, NULL, 0);
}

/* ---- traced processes ---- */

static int attach(struct soft_tracer *s, struct traced t)
{
	if (s->n_traced == SOFT_MAX_TRACED)
		return -EAGAIN;
	if (ptrace(PTRACE_SEIZE, t.tid, 0, PTRACE_O_TRACEEXEC) < 0)
		return -errno;
	s->traced[s->n_traced++] = t;
	return 0;
}

static void forget(struct soft_tracer *s, int i)
{
	s->traced[i] = s->traced[--s->n_traced];
}

void soft_tracer_name(pid_t pid, struct soft_record *r)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	const ssize_t n = readlink(path, r->exe, sizeof(r->exe) - 1);
	r->exe[n > 0 ? n : 0] = '\0';
	if (n > 0)
		return;
	/* the name of a process can be read even where its image cannot */
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	FILE *const f = fopen(path, "re");
	if (f && fgets(r->comm, sizeof(r->comm), f))
		r->comm[strcspn(r->comm, "\n")] = '\0';
	if (f)
		fclose(f);
}

static void mark_native(const struct soft_tracer *s, const struct traced *t)
{
	if (s->went_native && t->vslot)
		s->went_native(t->vslot, s->arg);
}

/* The process stands at its exec stop. */
static void at_exec(struct soft_tracer *s, const struct traced *t)
{
	uint32_t index;
	struct soft_record *const r = soft_setup_record(s->setup, t->pid, &index);
	const struct soft_record *const old = &s->setup->shared->records[t->record];
	if (t->record && index) {
		r->parent = old->parent;
		r->branch = old->branch ? soft_branch(old->branch, SOFT_BRANCH_EXEC) : 0;
		r->tracer = old->tracer;
		r->trace_options = old->trace_options;
	}
	if (!t->record && index && t->pid == s->child)
		r->branch = SOFT_BRANCH_FIRST;
	for (int k = 0; t->record && index && k < SOFT_EVENTS; k++)
		r->before[k] = old->before[k] + old->counts[k];
	if (index)
		soft_tracer_name(t->pid, r);
	kept_store_read(s->store, t->pid);
	struct image image;
	const bool first = t->pid == s->child && !t->record;
	int err = soft_setup_image(s->setup, first, (int)t->reserved_fd, &image);
	if (!err)
		err = inject(&(struct entry){ .pid = t->pid, .ours = t->pid == s->child,
					      .reserved_fd = t->reserved_fd, .record = index,
					      .trap_ignored = t->trap_ignored }, image);
	const bool refuse = err && s->setup->shared->flags & SOFT_FLAG_REFUSE;
	if (refuse)
		kill(t->pid, SIGKILL);
	else if (err)
		mark_native(s, t);	/* before it runs: its parent may read counters at its end */
	const bool killed = ptrace(PTRACE_DETACH, t->pid, 0, 0) < 0;
	if (killed && t->pid != s->child)
		traced_stop(t->pid, false);	/* its parent's wait needs our wait first */
	if (!err || (killed && !refuse))
		return;
	if (index) {
		r->reason = err > 0 ? (uint32_t)err :
			    err == -ENOMEM || err == -ENOSPC ? WHY_NO_MEMORY :
			    err == -EEXIST ? WHY_NO_PLACE : WHY_NO_PTRACE;
		__atomic_store_n(&r->state, REC_NATIVE, __ATOMIC_RELEASE);
	} else {
		__atomic_fetch_add(&s->setup->shared->native_beyond, 1, __ATOMIC_RELAXED);
	}
	if (first) {
		s->inject_errno = err < 0 ? -err : 0;
		s->inject_reason = err > 0 ? err : 0;
	}
}

/* Handles one stop; true when the process is no longer traced. */
static bool on_stop(struct soft_tracer *s, const struct traced *t, pid_t who, int status)
{
	const int event = status >> 16, sig = status >> 8 & 0xff;
	if (event == PTRACE_EVENT_EXEC) {
		at_exec(s, t);
		return true;
	}
	if (event == PTRACE_EVENT_STOP) {
		/* a group stop, or the stop of our PTRACE_INTERRUPT */
		if (sig == SIGTRAP)
			ptrace(PTRACE_CONT, who, 0, 0);
		else
			ptrace(PTRACE_LISTEN, who, 0, 0);
		return false;
	}
	ptrace(PTRACE_CONT, who, 0, sig);
	return false;
}

/* Handles what has happened to one traced process; true when it is no longer traced. */
static bool poll_traced(struct soft_tracer *s, const struct traced *t)
{
	const pid_t ids[2] = { t->pid, t->tid };
	for (int k = 0; k < (t->tid == t->pid ? 1 : 2); k++) {
		siginfo_t info = { .si_pid = 0 };
		if (waitid(P_PID, (id_t)ids[k], &info, WSTOPPED | WNOHANG | __WALL) == 0 &&
		    info.si_pid)
			return on_stop(s, t, ids[k], info.si_status << 8);
	}
	siginfo_t info = { .si_pid = 0 };
	if (waitid(P_PID, (id_t)t->tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
		/* a thread that execs takes the pid of its leader, and stops under that pid */
		return errno == ECHILD &&
		       (t->tid == t->pid ||
			waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0);
	}
	/* waitid() reports stops of a traced process without WSTOPPED too; a stop that came
	 * after the calls above is handled at the next poll. */
	if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)
		return false;
	if (info.si_pid && t->tid != s->child)
		waitid(P_PID, (id_t)t->tid, &info, WEXITED | WNOHANG | __WALL);
	return info.si_pid != 0;
}

static void detach(struct soft_tracer *s, int i)
{
	const pid_t tid = s->traced[i].tid;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	const int status = traced_stop(tid, tid == s->child);
	if (status > 0)
		ptrace(PTRACE_DETACH, tid, 0, status >> 8 ? 0 : status);
	forget(s, i);
}

static void serve(struct soft_tracer *s, struct soft_slot *r)
{
	const uint32_t what = __atomic_load_n(&r->request, __ATOMIC_ACQUIRE);
	struct traced t = { .record = r->record, .reserved_fd = r->reserved_fd,
			    .trap_ignored = r->trap_ignored, .own_tid = r->tid,
			    .vslot = r->vslot };
	if (what == REQ_EXEC) {
		const bool found = find_task(r, &t.pid, &t.tid);
		soft_setup_reply(r, found && attach(s, t) == 0 ? REPLY_GO_ON : REPLY_REFUSED);
	} else if (what == REQ_EXEC_FAILED) {
		for (int i = 0; i < s->n_traced; i++)
			if (s->traced[i].own_tid == r->tid && s->traced[i].record == r->record)
				detach(s, i--);
		soft_setup_reply(r, REPLY_GO_ON);
	} else if (what == REQ_STOP || what == REQ_OVER || what == REQ_HANDED) {
		soft_stop_serve(s->stops, r);
	} else if (what == REQ_FILES) {
		const int err = soft_machine_files(s->setup->shared, &s->setup->folder,
						   s->stops->o->machine);
		soft_setup_reply(r, err ? REPLY_REFUSED : REPLY_GO_ON);
	} else if (what == REQ_WATCH) {
		soft_watch_serve(s->stops->o, r);
	}
}

static void serve_all(struct soft_tracer *s)
{
	for (uint32_t i = 0; i < SOFT_SLOTS; i++)
		if (__atomic_load_n(&s->setup->shared->slots[i].request, __ATOMIC_RELAXED))
			serve(s, &s->setup->shared->slots[i]);
}

/* ---- the thread ---- */

/* All signals, so that handlers of the program run on its own threads. SIGCHLD stays unblocked
 * where it has its default action, which is to be ignored: a blocked one would be queued and wake
 * another thread at each stop. */
static void block_signals(void)
{
	sigset_t all;
	struct sigaction on_child;
	sigfillset(&all);
	if (sigaction(SIGCHLD, NULL, &on_child) == 0 && on_child.sa_handler == SIG_DFL)
		sigdelset(&all, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static bool ignores_trap(void)
{
	struct sigaction on_trap;
	return sigaction(SIGTRAP, NULL, &on_trap) == 0 && on_trap.sa_handler == SIG_IGN;
}

/* Until the command has entered the engine no other process can ask for anything. */
static void enter_command(struct soft_tracer *s)
{
	siginfo_t info;
	while (s->n_traced &&
	       waitid(P_PID, (id_t)s->child, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) == 0)
		if (poll_traced(s, &s->traced[0]))
			forget(s, 0);
}

/* ptrace stops are polled: a thread cannot wait for them and for requests at the same time. */
#define POLL_NS 30000
#define IDLE_NS 100000000

static void *tracer_main(void *arg)
{
	struct soft_tracer *const s = arg;
	uint32_t *const requests = &s->setup->shared->requests;
	block_signals();
	s->attach_result = attach(s, (struct traced){
		.tid = s->child, .pid = s->child, .reserved_fd = (uint32_t)s->setup->memfd,
		.trap_ignored = ignores_trap() });
	uint32_t seen = __atomic_load_n(requests, __ATOMIC_ACQUIRE);
	sem_post(&s->attached);
	enter_command(s);
	while (!__atomic_load_n(&s->quit, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < s->n_traced; i++)
			if (poll_traced(s, &s->traced[i]))
				forget(s, i--);
		const uint32_t now = __atomic_load_n(requests, __ATOMIC_ACQUIRE);
		if (now != seen) {
			seen = now;
			serve_all(s);
			continue;
		}
		const struct timespec nap = { 0, s->n_traced ? POLL_NS : IDLE_NS };
		futex(requests, FUTEX_WAIT, seen, &nap);
	}
	/* The kernel detaches them when this thread ends: their execs will not be seen. */
	for (int i = 0; i < s->n_traced; i++)
		mark_native(s, &s->traced[i]);
	return NULL;
}

int soft_tracer_start(struct soft_tracer *s, const struct child *c, struct tare_why *why)
{
	sem_init(&s->attached, 0, 0);
	const int err = pthread_create(&s->thread, NULL, tracer_main, s);
	if (err) {
		sem_destroy(&s->attached);
		return why_errno(why, TARE_E_ENGINE, err, "a thread to trace with");
	}
	s->runs = true;
	while (sem_wait(&s->attached) < 0)
		;		/* EINTR */
	sem_destroy(&s->attached);
	if (s->attach_result < 0 && !child_ended(c))
		return child_no_ptrace(c, -s->attach_result, "entering", why);
	return 0;
}

void soft_tracer_stop(struct soft_tracer *s)
{
	if (!s->runs)
		return;
	__atomic_store_n(&s->quit, true, __ATOMIC_RELEASE);
	__atomic_fetch_add(&s->setup->shared->requests, 1, __ATOMIC_RELEASE);
	futex(&s->setup->shared->requests, FUTEX_WAKE, INT_MAX, NULL);
	pthread_join(s->thread, NULL);
	s->runs = false;
}
