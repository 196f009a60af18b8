/* One run under the software engine: shared memory, the tracer, the results.
 *
 * The caller's thread starts the command and watches it. A tracer thread of ours
 * owns all ptrace business, since ptrace belongs to a thread: it attaches to the
 * command before its first exec and to every process of the tree that asks
 * (soft/abi.h, REQ_EXEC), injects the engine at the exec stop and lets go.
 */
#include "soft-run.h"

#include "abi.h"
#include "child.h"
#include "descriptors.h"
#include "find-task.h"
#include "inject.h"
#include "live.h"
#include "measure-room.h"
#include "privilege.h"
#include "why.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_TRACED 256
/* What somebody kills (the kernel, out of memory or CPU time) cannot report: how old
 * the last look at it may be. A look takes some 100 µs; where it takes long, because
 * there is much code, it is taken less often. */
#define LOOK_NS 500000000u

/* A process between "I am going to exec" and the engine in its new image. */
struct traced {
	pid_t tid, pid;
	uint32_t record;	/* that asked; 0 for the command itself */
	uint32_t reserved_fd;
	bool trap_ignored;	/* SIGTRAP is, there */
	int32_t own_tid;	/* as it knows itself, in its pid namespace */
};

struct soft {
	struct soft_shared *shared;
	int memfd;
	struct image own;	/* in our own file, open in the command too; fd -1: not to be had */
	bool image_written;	/* to the memfd */
	pid_t child;
	pthread_t tracer;
	bool tracer_runs;
	int attach_result;	/* of the first attach; 1: not tried yet */
	bool quit;
	struct traced traced[MAX_TRACED];
	int n_traced;
	uint64_t (*live)[SOFT_EVENTS];	/* by record: what a look at it while it ran gave */
	struct soft_record *settled;	/* as they stood when the command had ended, … */
	uint32_t n_settled;		/* … since orphans go on */
	int inject_errno;	/* of the command itself */
	int inject_reason;
};

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *t)
{
	return syscall(SYS_futex, word, op, value, t, NULL, 0);
}

static bool write_all(int fd, const void *data, size_t n, off_t at)
{
	const char *p = data;
	while (n) {
		const ssize_t w = pwrite(fd, p, n, at);
		if (w <= 0)
			return false;
		p += w;
		n -= (size_t)w;
		at += w;
	}
	return true;
}

/* ---- the tracer ---- */

static void reply(struct soft_slot *r, uint32_t answer)
{
	__atomic_store_n(&r->request, REQ_NONE, __ATOMIC_RELAXED);
	__atomic_store_n(&r->reply, answer, __ATOMIC_RELEASE);
	futex(&r->reply, FUTEX_WAKE, INT_MAX, NULL);
}

static int attach(struct soft *s, struct traced t)
{
	if (s->n_traced == MAX_TRACED)
		return -EAGAIN;
	if (ptrace(PTRACE_SEIZE, t.tid, 0, PTRACE_O_TRACEEXEC) < 0)
		return -errno;
	s->traced[s->n_traced++] = t;
	return 0;
}

static void forget(struct soft *s, int i)
{
	s->traced[i] = s->traced[--s->n_traced];
}

static struct soft_record *take_record(struct soft *s, pid_t pid, uint32_t *index)
{
	*index = __atomic_fetch_add(&s->shared->n_records, 1, __ATOMIC_RELAXED);
	if (*index >= SOFT_MAX_RECORDS) {
		__atomic_fetch_add(&s->shared->overflowed, 1, __ATOMIC_RELAXED);
		*index = 0;
	}
	struct soft_record *const r = &s->shared->records[*index];
	if (*index) {
		r->pid = r->tid = pid;
		__atomic_store_n(&r->state, REC_STARTING, __ATOMIC_RELEASE);
	}
	return r;
}

static void name_of(pid_t pid, struct soft_record *r)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	const ssize_t n = readlink(path, r->exe, sizeof(r->exe) - 1);
	r->exe[n > 0 ? n : 0] = '\0';
	if (n > 0)
		return;
	/* an image that may not be looked at still has its name */
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	FILE *const f = fopen(path, "re");
	if (f && fgets(r->comm, sizeof(r->comm), f))
		r->comm[strcspn(r->comm, "\n")] = '\0';
	if (f)
		fclose(f);
}

/* Where the engine's image is for that process. Most commands need no other than our own
 * file; a copy in the memfd, which every process has, costs a few hundredths of what a
 * short run takes. */
static int image_for(struct soft *s, const struct traced *t, struct image *image)
{
	if (t->pid == s->child && !t->record && s->own.fd >= 0) {
		*image = s->own;
		return 0;
	}
	const size_t size = (size_t)(engine_elf_end - engine_elf_start);
	if (!s->image_written && !write_all(s->memfd, engine_elf_start, size, ENGINE_FILE_OFFSET))
		return -errno;
	s->image_written = true;
	*image = (struct image){ .fd = (int)t->reserved_fd, .offset = ENGINE_FILE_OFFSET };
	return 0;
}

/* The process stands at its exec stop. */
static void at_exec(struct soft *s, const struct traced *t)
{
	uint32_t index;
	struct soft_record *const r = take_record(s, t->pid, &index);
	if (t->record && index)
		r->parent = s->shared->records[t->record].parent;
	if (index)
		name_of(t->pid, r);
	struct image image;
	int err = image_for(s, t, &image);
	if (!err)
		err = inject(&(struct entry){ .pid = t->pid, .ours = t->pid == s->child,
					      .reserved_fd = t->reserved_fd, .record = index,
					      .trap_ignored = t->trap_ignored }, image);
	const bool refuse = err && s->shared->flags & SOFT_FLAG_REFUSE;
	if (refuse)
		kill(t->pid, SIGKILL);
	const bool killed = ptrace(PTRACE_DETACH, t->pid, 0, 0) < 0;
	if (killed && t->pid != s->child)
		traced_stop(t->pid, false);	/* its parent waits until we have seen it */
	if (!err || (killed && !refuse))
		return;
	if (index) {
		r->reason = err > 0 ? (uint32_t)err :
			    err == -ENOMEM || err == -ENOSPC ? WHY_NO_MEMORY :
			    err == -EEXIST ? WHY_NO_PLACE : WHY_NO_PTRACE;
		__atomic_store_n(&r->state, REC_NATIVE, __ATOMIC_RELEASE);
	}
	if (t->pid == s->child && !t->record) {
		s->inject_errno = err < 0 ? -err : 0;
		s->inject_reason = err > 0 ? err : 0;
	}
}

/* Handles one stop; true when the process is no longer ours. */
static bool on_stop(struct soft *s, const struct traced *t, pid_t who, int status)
{
	const int event = status >> 16, sig = status >> 8 & 0xff;
	if (event == PTRACE_EVENT_EXEC) {
		at_exec(s, t);
		return true;
	}
	if (event == PTRACE_EVENT_STOP) {
		/* a group stop, or one we asked for */
		if (sig == SIGTRAP)
			ptrace(PTRACE_CONT, who, 0, 0);
		else
			ptrace(PTRACE_LISTEN, who, 0, 0);
		return false;
	}
	ptrace(PTRACE_CONT, who, 0, sig);
	return false;
}

/* Looks at one traced process; true when it is done with. */
static bool poll_traced(struct soft *s, const struct traced *t)
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
		/* a thread that execs takes its leader's number: it stops under that one */
		return errno == ECHILD &&
		       (t->tid == t->pid ||
			waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0);
	}
	/* Of a traced process stops are told without being asked for: one that came
	 * after the look above is taken at the next one. */
	if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)
		return false;
	if (info.si_pid && t->tid != s->child)
		waitid(P_PID, (id_t)t->tid, &info, WEXITED | WNOHANG | __WALL);
	return info.si_pid != 0;
}

static void detach(struct soft *s, int i)
{
	const pid_t tid = s->traced[i].tid;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	const int status = traced_stop(tid, tid == s->child);
	if (status > 0)
		ptrace(PTRACE_DETACH, tid, 0, status >> 8 ? 0 : status);
	forget(s, i);
}

static void serve(struct soft *s, struct soft_slot *r)
{
	const uint32_t what = __atomic_load_n(&r->request, __ATOMIC_ACQUIRE);
	struct traced t = { .record = r->record, .reserved_fd = r->reserved_fd,
			    .trap_ignored = r->trap_ignored, .own_tid = r->tid };
	if (what == REQ_EXEC) {
		const bool found = find_task(r, &t.pid, &t.tid);
		reply(r, found && attach(s, t) == 0 ? 1 : 2);
	} else if (what == REQ_EXEC_FAILED) {
		for (int i = 0; i < s->n_traced; i++)
			if (s->traced[i].own_tid == r->tid && s->traced[i].record == r->record)
				detach(s, i--);
		reply(r, 1);
	}
}

static void serve_all(struct soft *s)
{
	for (uint32_t i = 0; i < SOFT_SLOTS; i++)
		if (__atomic_load_n(&s->shared->slots[i].request, __ATOMIC_RELAXED))
			serve(s, &s->shared->slots[i]);
}

static void *tracer_main(void *arg)
{
	struct soft *const s = arg;
	sigset_t all;
	struct sigaction on_child;
	sigfillset(&all);
	/* what is blocked is not ignored, and would wake another thread at each stop */
	if (sigaction(SIGCHLD, NULL, &on_child) == 0 && on_child.sa_handler == SIG_DFL)
		sigdelset(&all, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	struct sigaction on_trap;
	s->attach_result = attach(s, (struct traced){
		.tid = s->child, .pid = s->child, .reserved_fd = (uint32_t)s->memfd,
		.trap_ignored = sigaction(SIGTRAP, NULL, &on_trap) == 0 &&
				on_trap.sa_handler == SIG_IGN });
	__atomic_store_n(&s->tracer_runs, true, __ATOMIC_RELEASE);
	uint32_t seen = __atomic_load_n(&s->shared->requests, __ATOMIC_ACQUIRE);
	/* until the command runs nobody can ask for anything */
	siginfo_t info;
	while (s->n_traced &&
	       waitid(P_PID, (id_t)s->child, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) == 0)
		if (poll_traced(s, &s->traced[0]))
			forget(s, 0);
	while (!__atomic_load_n(&s->quit, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < s->n_traced; i++)
			if (poll_traced(s, &s->traced[i]))
				forget(s, i--);
		const uint32_t now = __atomic_load_n(&s->shared->requests, __ATOMIC_ACQUIRE);
		if (now != seen) {
			seen = now;
			serve_all(s);
			continue;
		}
		const struct timespec nap = { 0, s->n_traced ? 30000 : 100000000 };
		futex(&s->shared->requests, FUTEX_WAIT, seen, &nap);
	}
	return NULL;
}

/* ---- set up, tear down ---- */

/* A number that programs do not meet: above what they may open themselves, if the
 * hard limit allows it, so that none of theirs is taken away; but not so high that
 * each fork copies a large table. */
static int high_descriptor(int fd)
{
	const struct rlimit l = descriptors_limit();
	if (l.rlim_cur > 2048)
		return fcntl(fd, F_DUPFD, 2000);
	const int high = fcntl(fd, F_DUPFD, (int)l.rlim_cur);
	if (high >= 0)
		return high;
	return fcntl(fd, F_DUPFD, l.rlim_cur > 32 ? (int)l.rlim_cur - 24 : 3);
}

/* How large the descriptor table is that the command would have inherited. */
static uint32_t fd_table_size(void)
{
	char line[128];
	unsigned size = 0;
	FILE *const f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "FDSize: %u", &size) == 1)
			break;
	if (f)
		fclose(f);
	return size;
}

/* The engine's image as part of the file that runs here, on a descriptor from `least` on.
 * In a shared library it is not: whether the file is still the one that was mapped cannot
 * be known. */
static struct image own_image(int least)
{
	struct image none = { .fd = -1 };
	const Elf64_Phdr *const p = (const Elf64_Phdr *)getauxval(AT_PHDR);
	const uint64_t n = getauxval(AT_PHNUM), at = (uint64_t)engine_elf_start;
	uint64_t base = 1, offset = 0;
	for (uint64_t i = 0; p && i < n; i++)
		if (p[i].p_type == PT_PHDR)
			base = (uint64_t)p - p[i].p_vaddr;
	for (uint64_t i = 0; base != 1 && i < n; i++)
		if (p[i].p_type == PT_LOAD && at - base - p[i].p_vaddr < p[i].p_filesz)
			offset = p[i].p_offset + (at - base - p[i].p_vaddr);
	if (!offset || offset % 4096)
		return none;
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return none;
	const struct image own = { fcntl(fd, F_DUPFD, least), offset, true };
	close(fd);
	return own;
}

static uint32_t event_bits(const struct tare_measure_opts *o);

static int memory_code(int err)
{
	if (err == EMFILE || err == ENFILE)
		return TARE_E_TOO_MANY_FILES;
	return err == ENOMEM || err == ENOSPC ? TARE_E_NOMEM : TARE_E_ENGINE;
}

static int soft_open(struct soft *s, const struct tare_measure_opts *o, struct tare_why *why)
{
	*s = (struct soft){ .memfd = -1, .own.fd = -1, .attach_result = 1 };
	const uint32_t fd_size = fd_table_size();
	const int fd = memfd_create("tare", MFD_CLOEXEC);
	if (fd < 0)
		return why_errno(why, memory_code(errno), errno, "memfd_create");
	s->memfd = high_descriptor(fd);
	close(fd);
	if (s->memfd < 0)
		return why_errno(why, memory_code(errno), errno, "a descriptor for the engine");
	const size_t size = ENGINE_FILE_OFFSET + (size_t)(engine_elf_end - engine_elf_start);
	if (ftruncate(s->memfd, (off_t)size) < 0) {
		const int err = errno;
		close(s->memfd);
		return why_errno(why, memory_code(err), err, "shared memory for the engine");
	}
	s->shared = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE, MAP_SHARED, s->memfd, 0);
	if (s->shared == MAP_FAILED) {
		const int err = errno;
		close(s->memfd);
		return why_errno(why, memory_code(err), err, "shared memory for the engine");
	}
	s->shared->magic = SOFT_MAGIC;
	s->shared->reserved_fd = (uint32_t)s->memfd;
	s->shared->event_mask = event_bits(o);
	s->shared->flags = (o->no_inherit ? SOFT_FLAG_NO_INHERIT : 0) |
			   (o->refuse_uncounted ? SOFT_FLAG_REFUSE : 0);
	s->shared->launcher_pid = getpid();
	s->shared->fd_size = fd_size;
	if (readlink("/proc/self/ns/pid", s->shared->pid_ns, sizeof(s->shared->pid_ns) - 1) < 0)
		s->shared->pid_ns[0] = '\0';
	s->shared->n_records = 1;	/* 0 takes what does not fit */
	s->own = own_image(s->memfd + 1);
	return 0;
}

/* The command has ended. */
static void stop_tracer(struct soft *s)
{
	if (!s->tracer_runs)
		return;
	__atomic_store_n(&s->quit, true, __ATOMIC_RELEASE);
	__atomic_fetch_add(&s->shared->requests, 1, __ATOMIC_RELEASE);
	futex(&s->shared->requests, FUTEX_WAKE, INT_MAX, NULL);
	pthread_join(s->tracer, NULL);
	s->tracer_runs = false;
}

/* Orphans of the command may still ask: nobody is there any more. */
static void close_requests(struct soft *s)
{
	__atomic_store_n(&s->shared->closed, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < SOFT_SLOTS; i++)
		if (__atomic_load_n(&s->shared->slots[i].request, __ATOMIC_ACQUIRE))
			reply(&s->shared->slots[i], 2);
}

static void soft_close(struct soft *s)
{
	stop_tracer(s);
	close_requests(s);
	munmap(s->shared, sizeof(*s->shared));
	free(s->live);
	free(s->settled);
	if (s->memfd >= 0)
		close(s->memfd);
	if (s->own.fd >= 0)
		close(s->own.fd);
}

/* ---- results ---- */

static int engine_event(enum tare_role role)
{
	switch (role) {
	case TARE_ROLE_INSTRUCTIONS:
	case TARE_ROLE_INSTRUCTIONS_FIXED: return SOFT_INSTRUCTIONS;
	case TARE_ROLE_BRANCHES: return SOFT_BRANCHES;
	case TARE_ROLE_COND_BRANCHES: return SOFT_COND;
	case TARE_ROLE_TAKEN_BRANCHES: return SOFT_TAKEN;
	case TARE_ROLE_FAR_BRANCHES: return SOFT_FAR;
	case TARE_ROLE_LOADS: return SOFT_LOADS;
	case TARE_ROLE_STORES: return SOFT_STORES;
	case TARE_ROLE_MULTIPLIES: return SOFT_MULTIPLIES;
	case TARE_ROLE_DIVIDES: return SOFT_DIVIDES;
	case TARE_ROLE_CALLS: return SOFT_CALLS;
	case TARE_ROLE_RETURNS: return SOFT_RETURNS;
	case TARE_ROLE_INDIRECT_BRANCHES: return SOFT_INDIRECT;
	case TARE_ROLE_SYSCALLS: return SOFT_SYSCALLS;
	case TARE_ROLE_X87: return SOFT_X87;
	case TARE_ROLE_FP: return SOFT_FP;
	case TARE_ROLE_SIMD_INT: return SOFT_SIMD_INT;
	case TARE_ROLE_LOCKED: return SOFT_LOCKED;
	default: return -1;
	}
}

static uint32_t event_bits(const struct tare_measure_opts *o)
{
	uint32_t bits = 0;
	for (size_t i = 0; i < tare_events_count(o->events); i++) {
		const struct tare_event *const e = tare_events_at(o->events, i);
		const int k = engine_event(e->role);
		if (tare_engine_counts(e) && k >= 0)
			bits |= 1u << k;
	}
	return bits;
}

static bool counted(const struct soft *s, const struct soft_record *r)
{
	return !(s->shared->flags & SOFT_FLAG_NO_INHERIT) || r->pid == s->child;
}

static uint32_t n_records(const struct soft *s)
{
	if (s->settled)
		return s->n_settled;
	const uint32_t n = __atomic_load_n(&s->shared->n_records, __ATOMIC_ACQUIRE);
	return n < SOFT_MAX_RECORDS ? n : SOFT_MAX_RECORDS;
}

static struct soft_record *records(const struct soft *s)
{
	return s->settled ? s->settled : s->shared->records;
}

/* ---- what still runs ---- */

/* Does the process still exist under that number? */
static bool alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* Looks at everything that runs. Later looks see no less. False if there was one to look
 * at that was just adding up. */
static bool live_refresh(struct soft *s)
{
	if (!s->live)
		s->live = calloc(SOFT_MAX_RECORDS, sizeof(*s->live));
	const uint32_t n = n_records(s);
	bool all = true;
	for (uint32_t j = 1; s->live && j < n; j++) {
		struct soft_record *const r = &s->shared->records[j];
		uint64_t now[SOFT_EVENTS];
		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != REC_RUNNING)
			continue;
		if (!live_read(s->shared, j, now)) {
			all &= r->pid == s->child || !alive(r->pid);
			continue;
		}
		for (int k = 0; k < SOFT_EVENTS; k++)
			if (now[k] > s->live[j][k])
				s->live[j][k] = now[k];
	}
	return all;
}

/* What stands between its old image and the new one goes on natively. Looked for in the
 * copy: there it is either still what it was, or this. */
static uint32_t leave_traced(const struct soft *s, struct soft_record *copy, uint32_t n)
{
	const uint32_t known = n;
	for (int i = 0; i < s->n_traced; i++) {
		const struct traced *const t = &s->traced[i];
		if (!t->record || t->record >= known || copy[t->record].state != REC_EXECED)
			continue;	/* the command itself, or still what it was */
		struct soft_record *const r = &copy[n++];
		r->pid = r->tid = t->pid;
		r->reason = WHY_ENDED;
		r->state = REC_NATIVE;
		name_of(t->pid, r);
	}
	return n;
}

/* The command has ended: what its orphans do from here on is not in the result, neither
 * in the totals nor in what is said of each. */
static void settle(struct soft *s)
{
	for (int i = 0; i < 50 && !live_refresh(s); i++)
		usleep(1000);
	const uint32_t n = n_records(s);
	struct soft_record *const copy = calloc(n + 1 + (size_t)s->n_traced, sizeof(*copy));
	if (!copy)
		return;			/* then they are read as they change */
	for (uint32_t j = 0; j < n; j++) {
		/* what a state says is there before it */
		const uint32_t state = __atomic_load_n(&s->shared->records[j].state, __ATOMIC_ACQUIRE);
		copy[j] = s->shared->records[j];
		copy[j].state = state;
	}
	s->settled = copy;
	s->n_settled = leave_traced(s, copy, n);
}

static bool seen_live(const struct soft *s, const struct soft_record *r)
{
	const size_t j = (size_t)(r - records(s));
	return s->live && s->live[j][SOFT_INSTRUCTIONS] > r->counts[SOFT_INSTRUCTIONS];
}

/* What a record says or, where its task has not reported, what was seen of it. */
static uint64_t record_count(const struct soft *s, uint32_t j, int k)
{
	const struct soft_record *const r = &records(s)[j];
	const uint32_t state = __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
	const bool reported = state != REC_RUNNING && state != REC_FAILED;
	const uint64_t told = __atomic_load_n(&r->counts[k], __ATOMIC_RELAXED);
	return reported || !s->live || s->live[j][k] < told ? told : s->live[j][k];
}

/* The command took no notice of SIGTERM and cannot report after SIGKILL: it is
 * stopped and looked at first. */
static void look_before_kill(void *arg)
{
	struct soft *const s = arg;
	kill(s->child, SIGSTOP);
	for (int i = 0; i < 100; i++) {
		siginfo_t info = { .si_pid = 0 };
		if (waitid(P_PID, (id_t)s->child, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    info.si_pid)
			break;
		usleep(1000);
	}
	live_refresh(s);
}

static void fill_count(struct tare_count *c, uint64_t value)
{
	c->value = c->raw = value;
	c->state = TARE_COUNT_OK;
	c->code = 0;
	c->provenance = TARE_PROV_EXACT;
}

/* Nothing of the command was entered: then there is no count, and 0 would be none. */
static bool nothing_counted(const struct soft *s)
{
	const uint32_t n = n_records(s);
	bool native = false;
	for (uint32_t j = 1; j < n; j++) {
		const uint32_t state = __atomic_load_n(&records(s)[j].state, __ATOMIC_ACQUIRE);
		if (state != REC_NATIVE && state != REC_FREE)
			return false;
		native |= state == REC_NATIVE;
	}
	return native;
}

static void fill_totals(const struct soft *s, const struct tare_measure_opts *o,
			struct tare_measurement *m)
{
	const uint32_t n = n_records(s);
	const bool nothing = nothing_counted(s);
	for (size_t i = 0; i < m->n_counts; i++) {
		const struct tare_event *const e = tare_events_at(o->events, i);
		const int k = engine_event(e->role);
		if (!tare_engine_counts(e) || k < 0)
			continue;
		uint64_t sum = 0, vdso = 0;
		for (uint32_t j = 0; j < n; j++) {
			if (!counted(s, &records(s)[j]))
				continue;
			sum += record_count(s, j, k);
			vdso += __atomic_load_n(&records(s)[j].vdso[k], __ATOMIC_RELAXED);
		}
		fill_count(&m->counts[i], sum);
		m->counts[i].vdso = vdso;
		if (nothing) {
			m->counts[i].state = TARE_COUNT_NOT_OPENED;
			m->counts[i].code = TARE_E_NOT_COUNTED;
			m->counts[i].provenance = TARE_PROV_NONE;
		}
	}
}

/* What translating took: each image's own, a forked child's beyond its parent's. */
static void fill_translated(const struct soft *s, double ns_per_tick, struct tare_measurement *m)
{
	const uint32_t n = n_records(s);
	uint64_t ticks = 0;
	for (uint32_t j = 1; j < n; j++) {
		const struct soft_record *const r = &records(s)[j];
		m->translated.blocks += r->blocks - r->had_blocks;
		m->translated.code_bytes += r->code_bytes - r->had_code;
		m->translated.source_bytes += r->source_bytes - r->had_source;
		ticks += r->translate_ticks - r->had_ticks;
	}
	m->translated.ns = (uint64_t)((double)ticks * ns_per_tick);
}

static const char no_place[] =
	"has memory of its own where the engine goes (0x440000000000): ran natively, not counted";

static const char *reason_text(uint32_t reason)
{
	switch (reason) {
	case WHY_32BIT: return "not a 64-bit x86 program: ran natively, not counted";
	case WHY_SETUID: return "set-uid, set-gid or with capabilities: ran natively, not counted";
	case WHY_NO_PTRACE: return "ptrace was refused: ran natively, not counted";
	case WHY_NO_MEMORY: return "no memory for the engine (ulimit -v?): ran natively, not counted";
	case WHY_NO_PLACE: return no_place;
	case WHY_NO_INHERIT: return "a child, left out as asked (--no-inherit)";
	case WHY_ENDED: return "started when the command had ended: ran natively, not counted";
	case WHY_PTRACED: return "traced by another program: ran natively, not counted";
	default: return "could not be entered: ran natively, not counted";
	}
}

static const char *cut_off_text(const struct soft *s, const struct soft_record *r)
{
	switch (r->state) {
	case REC_FAILED:
		return "the engine failed in it";
	case REC_STARTING:
	case REC_RUNNING:
		if (r->is_thread)
			return NULL;
		if (r->pid != s->child && alive(r->pid))
			return seen_live(s, r) ?
			       "still running: counted until the command ended" :
			       "still running: what it counted so far is not in the totals";
		return seen_live(s, r) ?
		       "killed before it could report: counted until it was last looked at" :
		       "killed before it could report: its counts are missing";
	default:
		return NULL;
	}
}

static bool worth_a_task(const struct soft *s, const struct tare_measure_opts *o,
			 const struct soft_record *r)
{
	if (r->state == REC_FREE || !r->pid)
		return false;		/* (no number: whether it ever began is not known) */
	return o->per_task || (r->state == REC_NATIVE && r->reason != WHY_NO_INHERIT) ||
	       cut_off_text(s, r);
}

static const char *short_name(const struct soft_record *r)
{
	const char *const name = strrchr(r->exe, '/');
	return r->comm[0] || !r->exe[0] ? r->comm : name ? name + 1 : r->exe;
}

static int fill_tasks(const struct soft *s, const struct tare_measure_opts *o,
		      struct tare_measurement *m, struct tare_why *why)
{
	const uint32_t n = n_records(s);
	size_t want = 0;
	for (uint32_t j = 0; j < n; j++)
		want += worth_a_task(s, o, &records(s)[j]);
	if (!want)
		return 0;
	m->tasks = calloc(want, sizeof(*m->tasks));
	if (!m->tasks)
		return why_set(why, TARE_E_NOMEM, "%zu tasks", want);
	for (uint32_t j = 0; j < n && m->n_tasks < want; j++) {
		const struct soft_record *const r = &records(s)[j];
		if (!worth_a_task(s, o, r))
			continue;
		struct tare_task *const t = &m->tasks[m->n_tasks++];
		t->pid = r->pid;
		t->tid = r->tid ? r->tid : r->pid;
		t->is_thread = r->is_thread;
		snprintf(t->comm, sizeof(t->comm), "%.15s", short_name(r));
		snprintf(t->exe, sizeof(t->exe), "%.127s", r->exe);
		t->not_counted = r->state == REC_NATIVE ? reason_text(r->reason) : NULL;
		t->cut_off = cut_off_text(s, r);
		t->counts = calloc(m->n_counts, sizeof(*t->counts));
		if (!t->counts)
			return why_set(why, TARE_E_NOMEM, "counts of %zu tasks", want);
		for (size_t i = 0; i < m->n_counts; i++) {
			const struct tare_event *const e = tare_events_at(o->events, i);
			const int k = engine_event(e->role);
			t->counts[i] = (struct tare_count){ .event = m->counts[i].event,
							    .unit = m->counts[i].unit,
							    .state = TARE_COUNT_NOT_OPENED };
			if (tare_engine_counts(e) && k >= 0 && r->state != REC_NATIVE)
				fill_count(&t->counts[i], record_count(s, j, k));
			t->counts[i].vdso = k >= 0 ? r->vdso[k] : 0;
		}
	}
	return 0;
}

static int failure_code(uint32_t reason)
{
	switch (reason) {
	case WHY_NO_MEMORY: return TARE_E_NOMEM;
	case WHY_REFUSED: return TARE_E_NOT_COUNTED;
	default: return TARE_E_ENGINE;
	}
}

static int engine_failure(const struct soft *s, struct tare_why *why)
{
	const uint32_t n = n_records(s);
	for (uint32_t j = 0; j < n; j++) {
		const struct soft_record *const r = &records(s)[j];
		if (r->state == REC_FAILED)
			return why_set(why, failure_code(r->reason), "process %d (%s): %.190s",
				       (int)r->pid, short_name(r), r->message);
	}
	return 0;
}

/* ---- the run ---- */

static int start_tracer(struct soft *s, const struct child *c, struct tare_why *why)
{
	const int err = pthread_create(&s->tracer, NULL, tracer_main, s);
	if (err)
		return why_errno(why, TARE_E_ENGINE, err, "a thread to trace with");
	while (!__atomic_load_n(&s->tracer_runs, __ATOMIC_ACQUIRE))
		usleep(50);
	if (s->attach_result < 0 && !child_ended(c))
		return child_no_ptrace(c, -s->attach_result, "entering", why);
	return 0;
}

static void watch_command(const struct child *c, const struct tare_measure_opts *o,
			  const struct soft_hooks *hooks, struct soft *s,
			  struct tare_measurement *m)
{
	struct watch w;
	watch_start(&w, o, m, c->start_ns);
	w.before_kill = look_before_kill;
	w.arg = s;
	uint64_t look_ns = c->start_ns + LOOK_NS;
	while (!child_wait(c, watch_until(&w))) {
		if (launch_now_ns() >= look_ns) {
			const uint64_t begin = launch_now_ns();
			live_refresh(s);
			const uint64_t end = launch_now_ns();
			look_ns = end + LOOK_NS + 200 * (end - begin);
		}
		if (watch_check(&w, c->pid) == WATCH_INTERVAL && hooks->on_interval) {
			live_refresh(s);
			fill_totals(s, o, m);
			hooks->on_interval(m, hooks->arg);
		}
	}
}

static int refused(const struct soft *s, const struct tare_measure_opts *o, struct tare_why *why)
{
	if (s->inject_errno == EEXIST)
		return why_set(why, TARE_E_NOT_COUNTED, "%s: %s", o->argv[0], no_place);
	if (s->inject_errno)
		return why_errno(why, memory_code(s->inject_errno), s->inject_errno, "entering %s",
				 o->argv[0]);
	if (s->inject_reason && o->refuse_uncounted)
		return why_set(why, TARE_E_NOT_COUNTED, "%s: %s", o->argv[0],
			       reason_text((uint32_t)s->inject_reason));
	return 0;
}

static void keep_descriptors(const struct soft *s)
{
	fcntl(s->memfd, F_SETFD, FD_CLOEXEC);
	if (s->own.fd >= 0)
		fcntl(s->own.fd, F_SETFD, FD_CLOEXEC);
}

/* The command gains privileges: it is left alone from the start, and gets no
 * descriptor of ours. */
static int run_natively(struct soft *s, const struct tare_measure_opts *o, struct tare_why *why)
{
	uint32_t index;
	struct soft_record *const r = take_record(s, 0, &index);
	r->reason = WHY_SETUID;
	snprintf(r->exe, sizeof(r->exe), "%s", o->argv[0]);
	__atomic_store_n(&r->state, REC_NATIVE, __ATOMIC_RELEASE);
	s->inject_reason = WHY_SETUID;
	keep_descriptors(s);
	return refused(s, o, why);
}

int soft_run(const struct tare_measure_opts *o, const struct soft_hooks *hooks,
	     struct tare_measurement *m, struct tare_why *why)
{
	struct soft s;
	struct child c;
	int err = soft_open(&s, o, why);
	if (err)
		return err;
	if (hooks->setup && (err = hooks->setup(s.memfd, s.shared, hooks->arg, why)))
		goto out;
	const bool native = gains_privilege(o->argv[0]);
	if (native) {
		err = run_natively(&s, o, why);
		if (err)
			goto out;
	}
	err = child_start(&c, o->argv, o->aslr, why);
	/* the child has its copies; ours need not reach other children */
	keep_descriptors(&s);
	if (err)
		goto out;
	s.child = c.pid;
	if (native)
		s.shared->records[1].pid = s.shared->records[1].tid = c.pid;
	else
		err = start_tracer(&s, &c, why);
	if (!err && hooks->before_exec)
		err = hooks->before_exec(c.pid, hooks->arg, why);
	if (err) {
		child_abandon(&c);
		goto out;
	}
	err = child_exec(&c, why);
	if (err)
		goto out;
	const uint64_t ticks = __builtin_ia32_rdtsc(), begin_ns = launch_now_ns();
	watch_command(&c, o, hooks, &s, m);
	const uint64_t end_ns = launch_now_ns(), end_ticks = __builtin_ia32_rdtsc();
	m->wall_ns = end_ns - c.start_ns;
	if (hooks->before_reap)
		hooks->before_reap(c.pid, hooks->arg);
	child_reap(&c, m);
	stop_tracer(&s);
	settle(&s);
	fill_totals(&s, o, m);
	fill_translated(&s, (double)(end_ns - begin_ns) / (double)(end_ticks - ticks), m);
	err = refused(&s, o, why);
	if (!err)
		err = engine_failure(&s, why);
	if (!err)
		err = fill_tasks(&s, o, m, why);
out:
	soft_close(&s);
	return err;
}

/* Tries it: a seccomp profile, Yama or an LSM may refuse. */
int soft_available(struct tare_why *why)
{
	static bool was;	/* once is enough: it costs a fork */
	struct child c;
	if (__atomic_load_n(&was, __ATOMIC_RELAXED))
		return 0;
	char *const argv[] = { "true", NULL };
	int err = child_start(&c, argv, true, why);
	if (err)
		return err;
	if (ptrace(PTRACE_SEIZE, c.pid, 0, 0) < 0)
		err = child_no_ptrace(&c, errno, "entering", why);
	child_abandon(&c);
	if (!err)
		__atomic_store_n(&was, true, __ATOMIC_RELAXED);
	return err;
}
