/* One run under the software engine: starts the command, watches it, collects the result.
 *
 * The caller's thread does that here. The engine's image and the shared memory come from
 * soft-setup.h, a tracer thread puts the engine into each new image (soft-tracer.h), and the
 * records that processes leave become counts and tasks in soft-results.h.
 */
#include "soft-run.h"

#include "code.h"
#include "kept-store.h"
#include "left-out.h"
#include "measure-room.h"
#include "privilege.h"
#include "soft-deadlock.h"
#include "soft-machine.h"
#include "soft-results.h"
#include "soft-setup.h"
#include "soft-trace.h"
#include "soft-stop.h"
#include "soft-tracer.h"
#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A process that is killed (by the kernel, out of memory or CPU time) cannot report: the maximum age
 * of the counts that are then used. Reading them takes some 100 µs; where there is much code and it
 * takes longer, it is done less often. */
#define LOOK_NS 500000000u

struct soft {
	const struct tare_measure_options *o;
	const struct soft_hooks *hooks;
	struct tare_measurement *m;
	struct soft_setup setup;
	struct soft_tracer tracer;
	struct soft_results results;
	struct soft_trace *trace;
	struct soft_stops stops;
	struct left_out left_out;
	struct child child;
};

/* A command that has ignored SIGTERM cannot report after SIGKILL: it is stopped and its counts are
 * read first. */
static void look_before_kill(void *arg)
{
	struct soft *const s = arg;
	kill(s->child.pid, SIGSTOP);
	for (int i = 0; i < 100; i++) {
		siginfo_t info = { .si_pid = 0 };
		if (waitid(P_PID, (id_t)s->child.pid, &info,
			   WSTOPPED | WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
			break;
		usleep(1000);
	}
	soft_results_look(&s->results);
}

static uint64_t cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec t;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t) < 0)
		return UINT64_MAX;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_running(pid_t pid)
{
	char path[64], text[512] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *const f = fopen(path, "re");
	const size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	const char *const state = n ? strrchr(text, ')') : NULL;
	return state && state[1] && state[2] == 'R';
}

/* A program that has written a command goes on to its read() of the answer: counts are exact if they are
 * taken there. One that does not wait for the answer runs on, and is not waited for: 2 ms of CPU time. */
static void wait_until_it_waits(pid_t pid)
{
	enum { ENOUGH_NS = 2000000, TRIES = 50000, NAP_US = 200 };
	const uint64_t begin = cpu_ns(pid);
	for (int i = 0; i < TRIES && is_running(pid) && cpu_ns(pid) - begin < ENOUGH_NS; i++)
		usleep(NAP_US);
}

static bool is_left_out(const struct soft *s)
{
	return s->o->leave_out && *s->o->leave_out;
}

static uint64_t look_until(const struct soft *s, const struct watch *w)
{
	const uint64_t until = watch_until(w), look = launch_now_ns() + DEADLOCK_LOOK_NS;
	return s->o->hermetic && look < until ? look : until;
}

static void watch_command(struct soft *s)
{
	struct watch w;
	s->left_out.off = is_left_out(s);
	watch_start(&w, s->o, s->m, s->child.start_ns);
	w.before_kill = look_before_kill;
	w.arg = s;
	uint64_t look_ns = s->child.start_ns + LOOK_NS;
	while (!child_wait(&s->child, look_until(s, &w), w.wake)) {
		if (!s->m->stopped && !s->m->timed_out)
			soft_deadlock_look(s->setup.memfd, s->o, s->m->world);
		if (launch_now_ns() >= look_ns) {
			const uint64_t begin = launch_now_ns();
			soft_results_look(&s->results);
			const uint64_t end = launch_now_ns();
			look_ns = end + LOOK_NS + 200 * (end - begin);
		}
		const enum watch_verdict v = watch_check(&w, s->child.pid);
		if (v != WATCH_INTERVAL && v != WATCH_CONTROL)
			continue;
		if (v == WATCH_CONTROL)
			wait_until_it_waits(s->child.pid);
		soft_results_look_well(&s->results);
		soft_results_totals(&s->results, s->o, s->m);
		if (s->o->leave_out)
			left_out_look(&s->left_out, &s->results, s->setup.memfd);
		if (v == WATCH_INTERVAL && s->hooks->on_interval)
			s->hooks->on_interval(s->m, s->hooks->arg);
		if (v == WATCH_CONTROL && s->hooks->on_control)
			s->hooks->on_control(&w, s->hooks->arg);
		left_out_switch(&s->left_out, is_left_out(s), s->setup.memfd);
	}
}

/* The command itself could not be entered: an error if that was asked for, or if it is for want of
 * memory. */
static int refused(const struct soft *s, struct tare_why *why)
{
	const struct soft_tracer *const t = &s->tracer;
	if (t->inject_errno == EEXIST)
		return why_set(why, TARE_E_NOT_COUNTED, "%s: %s", s->o->argv[0],
			       soft_reason_text(WHY_NO_PLACE));
	if (t->inject_errno)
		return why_errno(why, soft_memory_code(t->inject_errno), t->inject_errno,
				 "entering %s", s->o->argv[0]);
	if (t->inject_reason && s->o->refuse_uncounted)
		return why_set(why, TARE_E_NOT_COUNTED, "%s: %s", s->o->argv[0],
			       soft_reason_text((uint32_t)t->inject_reason));
	return 0;
}

/* The command gains privileges: it is not traced, and gets no descriptor of ours. */
static int run_natively(struct soft *s, struct tare_why *why)
{
	uint32_t index;
	struct soft_record *const r = soft_setup_record(&s->setup, 0, &index);
	r->reason = WHY_SETUID;
	snprintf(r->exe, sizeof(r->exe), "%s", s->o->argv[0]);
	__atomic_store_n(&r->state, REC_NATIVE, __ATOMIC_RELEASE);
	s->tracer.inject_reason = WHY_SETUID;
	return refused(s, why);
}

/* The kernel places the mappings of an image below its stack, by the limit. */
static void set_stack_limit(pid_t pid)
{
	struct rlimit l;
	if (prlimit(pid, RLIMIT_STACK, NULL, &l) == 0) {
		l.rlim_cur = l.rlim_max < 8u << 20 ? l.rlim_max : 8u << 20;
		prlimit(pid, RLIMIT_STACK, &l, NULL);
	}
}

/* Forks the command, attaches to it, and lets it exec. On failure no child is left. */
static int start(struct soft *s, struct tare_why *why)
{
	struct child_plan plan = { .argv = s->o->argv, .aslr = s->o->aslr };
	const bool native = gains_privilege(s->o->argv[0]);
	int err = native ? run_natively(s, why) : 0;
	if (err)
		return err;
	if (!native) {
		plan.inherit[0] = s->setup.memfd;
		plan.inherit[1] = s->setup.own.fd;
	}
	err = child_start(&s->child, &plan, why);
	if (err)
		return err;
	s->tracer.child = s->results.child = s->child.pid;
	if (native)
		s->setup.shared->records[1].pid = s->setup.shared->records[1].tid = s->child.pid;
	else
		err = soft_tracer_start(&s->tracer, &s->child, why);
	if (!err && s->o->hermetic)
		set_stack_limit(s->child.pid);
	if (!err && s->hooks->before_exec)
		err = s->hooks->before_exec(s->child.pid, s->hooks->arg, why);
	if (err) {
		child_abandon(&s->child);
		return err;
	}
	return child_exec(&s->child, why);
}

/* Watches the command to its end and reaps it. Returns how long a tick of the TSC was, in ns. */
static double run_to_end(struct soft *s)
{
	const uint64_t ticks = __builtin_ia32_rdtsc(), begin_ns = launch_now_ns();
	watch_command(s);
	/* In a still world the others may wait for the command's turn to end. */
	if (s->o->hermetic && (s->m->timed_out || s->m->stopped))
		soft_stop_rest(s->setup.shared);
	const uint64_t end_ns = launch_now_ns(), end_ticks = __builtin_ia32_rdtsc();
	s->m->wall_ns = end_ns - s->child.start_ns;
	if (s->hooks->before_reap)
		s->hooks->before_reap(s->child.pid, s->hooks->arg);
	child_reap(&s->child, s->m);
	soft_tracer_stop(&s->tracer);
	soft_trace_stop(s->trace);
	s->trace = NULL;
	return (double)(end_ns - begin_ns) / (double)(end_ticks - ticks);
}

static int collect(struct soft *s, double ns_per_tick, struct tare_why *why)
{
	soft_results_settle(&s->results, &s->tracer);
	soft_results_log_code(&s->results, s->setup.memfd);
	if (s->o->leave_out && !left_out_end(&s->left_out, &s->results, s->setup.memfd))
		return why_set(why, TARE_E_NOMEM, "the code of %s", s->o->argv[0]);
	if ((s->o->code || s->o->trace) && !(s->m->code = code_keep(s->setup.memfd, s->setup.shared)))
		return why_set(why, TARE_E_NOMEM, "the code of %s", s->o->argv[0]);
	soft_results_totals(&s->results, s->o, s->m);
	soft_results_translated(&s->results, ns_per_tick, s->m);
	if (soft_stop_results(&s->stops, s->m))
		return why_set(why, TARE_E_NOMEM, "the stops of %s", s->o->argv[0]);
	if (soft_machine_beyond(&s->setup.shared->machine, s->m->world))
		return why_set(why, TARE_E_NOMEM, "the machine of %s", s->o->argv[0]);
	const struct soft_files *const files = &s->setup.shared->files;
	if (files->err)
		return why_errno(why, TARE_E_IO, files->err, "files of the machine in %s", files->dir);
	soft_hermetic_left(&s->setup.shared->hermetic, s->m->world);
	int err = refused(s, why);
	if (!err)
		err = soft_results_parts(&s->results, s->o, s->m, why);
	if (!err)
		err = soft_results_failure(&s->results, why);
	return err ? err : soft_results_tasks(&s->results, s->o, s->m, why);
}

static int machine_files(struct soft_setup *s, const char *machine, struct tare_why *why)
{
	const int err = soft_machine_files(s->shared, &s->folder, machine);
	return err ? why_errno(why, TARE_E_IO, err, "files of the machine in %s", s->shared->files.dir) : 0;
}

int soft_run(const struct tare_measure_options *o, const struct soft_hooks *hooks,
	     struct tare_measurement *m, struct tare_why *why)
{
	struct soft s = { .o = o, .hooks = hooks, .m = m };
	int err = soft_setup_open(&s.setup, o, why);
	if (err)
		return err;
	s.tracer = (struct soft_tracer){ .setup = &s.setup, .went_native = hooks->went_native,
					 .arg = hooks->arg, .stops = &s.stops };
	s.results.shared = s.setup.shared;
	s.stops = (struct soft_stops){ .o = o, .results = &s.results };
	pthread_mutex_init(&s.results.looking, NULL);
	if (hooks->setup && o->machine)		/* it writes over the machine's files */
		err = machine_files(&s.setup, o->machine, why);
	if (!err && hooks->setup)
		err = hooks->setup(s.setup.memfd, s.setup.shared, hooks->arg, why);
	if (!err)
		err = soft_trace_start(&s.trace, o->trace, s.setup.memfd, s.setup.shared, why);
	if (!err)
		err = kept_store_open(&s.tracer.store, o, &s.setup, why);
	if (!err)
		err = start(&s, why);
	if (!err)
		err = collect(&s, run_to_end(&s), why);
	soft_tracer_stop(&s.tracer);
	if (!err)
		kept_store_write(s.tracer.store, m);
	kept_store_close(s.tracer.store);
	soft_trace_stop(s.trace);
	soft_setup_close(&s.setup);
	soft_results_free(&s.results);
	left_out_free(&s.left_out);
	pthread_mutex_destroy(&s.results.looking);
	return err;
}

/* The first bytes of a file, as text; the number of them, or a negative errno. */
static ssize_t first_bytes(const char *path, char *out, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
	const int err = errno;
	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n < 0 ? -err : n;
}

static bool says(const char *status, const char *line)
{
	return strstr(status, line);
}

/* Can nothing refuse to trace a child? No tracer and no seccomp filter (strace -f, containers), no
 * restriction by Yama, no security module that gives this process a label of its own. */
static bool nothing_forbids_ptrace(void)
{
	char text[4096];
	if (first_bytes("/proc/self/status", text, sizeof(text)) <= 0 ||
	    !says(text, "\nTracerPid:\t0\n") || !says(text, "\nSeccomp:\t0\n"))
		return false;
	ssize_t n = first_bytes("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text));
	if (n != -ENOENT && (n <= 0 || text[0] > '1'))
		return false;
	n = first_bytes("/proc/self/attr/current", text, sizeof(text));
	return n == -EINVAL || (n > 0 && strncmp(text, "unconfined", strlen("unconfined")) == 0 &&
				!strchr(text, ':'));
}

/* Tries it where a seccomp profile, Yama or a security module may refuse ptrace. (A child that shares
 * memory would be cheaper than a fork, but inside `tare run` it would be a thread of the program that a
 * debugger holds.) */
int soft_available(struct tare_why *why)
{
	static bool works;	/* atomic; a success is remembered, since each try costs a fork */
	struct child c;
	if (__atomic_load_n(&works, __ATOMIC_RELAXED) || nothing_forbids_ptrace())
		return 0;
	char *const argv[] = { "true", NULL };
	int err = child_start(&c, &(struct child_plan){ .argv = argv, .aslr = true }, why);
	if (err)
		return err;
	if (ptrace(PTRACE_SEIZE, c.pid, 0, 0) < 0)
		err = child_no_ptrace(&c, errno, "entering", why);
	child_abandon(&c);
	if (!err)
		__atomic_store_n(&works, true, __ATOMIC_RELAXED);
	return err;
}
