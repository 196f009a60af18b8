/* The native referee: counts what a command retires, one PTRACE_SINGLESTEP at a
 * time, from the first user instruction after exec to its last exit.
 *
 *	stepcount [-c] [-f] [-e EVENT,…] [-o FILE] [-p] [-t FILE] [-s FILE] -- COMMAND…
 *
 *	-c	command and tracer share one CPU: three times as fast, but the
 *		command can tell (sort asks how many CPUs it may use)
 *	-f	follow threads, forks and their execs (otherwise they run free)
 *	-e	events to print, default all; see event_names
 *	-o	where to print them, as lines `event value` (default stderr)
 *	-p	also one line per task: `task N event value`, in order of birth
 *	-t	every retired instruction's address, one hex number a line
 *	-s	every retired instruction's address, the events it made (a hex number, bits in the
 *		order of event_names), and the registers after it, in gdb's order up to eflags
 *
 * ASLR is off. The exit status is the command's, 128+N for a signal.
 *
 * What the kernel's single-stepping really does, and what is made of it:
 *
 * - A stop after a step is SIGTRAP with si_code TRAP_TRACE, and TRAP_BRKPT when
 *   the step was over a system call. The instruction retired.
 * - A rep string instruction traps after every iteration with an unchanged rip;
 *   it retired when rip moved on. One that is interrupted counts once.
 * - Any other signal stop means that nothing retired: a fault leaves rip on the
 *   instruction, an asynchronous signal is seen before the next instruction.
 *   When the signal has a handler, the kernel stops once more at the handler's
 *   first instruction with si_code SIGTRAP: nothing retired there either.
 * - int3 and int1 raise the program's own SIGTRAP; rip has advanced, they count.
 * - mov ss and pop ss suppress the trap: the step covers two instructions.
 * - A call into the vsyscall page is emulated by the kernel in the fault: the
 *   trap comes only after the instruction it returned to. Nothing retires there.
 * - exit and exit_group never come back: they are counted at the exit event,
 *   as is any system call in which a thread dies with its process.
 * - A restarted system call is executed, and counted, again, as by hardware.
 *
 * Not handled: programs that set TF themselves (the trap would be theirs).
 */
#include "zclass.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS_MAX 4096
#define CACHE_SIZE (1u << 18)
#define VSYSCALL_PAGE UINT64_C(0xffffffffff600000)

struct task {
	pid_t tid;
	bool started;		/* has passed its first stop */
	bool gone;
	bool injected;		/* resumed with a signal: a handler may be entered */
	uint64_t pc;		/* of the instruction the next step runs */
	struct zclass cls;	/* of that instruction */
	bool will_jump;		/* if it is a jcc to the next instruction */
	uint64_t count[EV_COUNT];
};

/* Decoding costs more than stepping; the bytes are compared at every use, so
 * that self-modifying code is decoded anew. */
struct cached {
	uint64_t pc;
	uint8_t bytes[16];
	struct zclass cls;
};

static struct task tasks[TASKS_MAX];
static unsigned n_tasks;
static struct cached cache[CACHE_SIZE];
static bool follow, share;
static FILE *trace, *states;
static int cpu;		/* that tracer and tracee share */

static void die(const char *what)
{
	fprintf(stderr, "stepcount: %s: %s\n", what, strerror(errno));
	exit(125);
}

static struct task *task_of(pid_t tid)
{
	for (unsigned i = n_tasks; i-- > 0;)
		if (tasks[i].tid == tid && !tasks[i].gone)
			return &tasks[i];
	if (n_tasks == TASKS_MAX) {
		fprintf(stderr, "stepcount: more than %d tasks\n", TASKS_MAX);
		exit(125);
	}
	tasks[n_tasks].tid = tid;
	return &tasks[n_tasks++];
}

static uint64_t reg(pid_t tid, size_t offset)
{
	errno = 0;
	return (uint64_t)ptrace(PTRACE_PEEKUSER, tid, offset, NULL);
}

/* Up to 16 bytes; fewer at the end of a mapping. */
static unsigned fetch(pid_t tid, uint64_t pc, uint8_t bytes[16])
{
	struct iovec to = { bytes, 16 };
	const unsigned to_page_end = 4096 - (pc & 4095);
	struct iovec from[2] = {
		{ (void *)pc, to_page_end < 16 ? to_page_end : 16 },	/* NOLINT */
		{ (void *)(pc + to_page_end), to_page_end < 16 ? 16 - to_page_end : 0 },
	};
	const ssize_t n = process_vm_readv(tid, &to, 1, from, to_page_end < 16 ? 2 : 1, 0);
	if (n > 0)
		return (unsigned)n;
	/* execute-only pages: the kernel reads them for ptrace alone */
	unsigned got = 0;
	for (; got < 16; got += 8) {
		errno = 0;
		const long word = ptrace(PTRACE_PEEKTEXT, tid, pc + got, NULL);
		if (errno)
			break;
		memcpy(bytes + got, &word, 8);
	}
	return got;
}

static struct zclass classify(pid_t tid, uint64_t pc)
{
	uint8_t bytes[16] = { 0 };
	const unsigned avail = fetch(tid, pc, bytes);
	struct cached *const c = &cache[(pc ^ pc >> 18) & (CACHE_SIZE - 1)];
	if (c->pc != pc || memcmp(c->bytes, bytes, 16)) {
		c->pc = pc;
		memcpy(c->bytes, bytes, 16);
		c->cls = avail ? zclass_of(bytes, avail) : (struct zclass){ .events = 1 };
	}
	return c->cls;
}

static uint64_t rip_of(const struct task *t)
{
	return reg(t->tid, offsetof(struct user_regs_struct, rip));
}

/* Does condition `cond` of jcc hold with these flags? */
static bool holds(unsigned cond, uint64_t flags)
{
	const bool cf = flags & 1, pf = flags & 4, zf = flags & 0x40, sf = flags & 0x80,
		   of = flags & 0x800;
	const bool even[8] = { of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of };
	return even[cond >> 1] != (cond & 1);
}

/* Looks at the instruction that the next step is going to run. */
static void look(struct task *t, uint64_t pc)
{
	t->pc = pc;
	if ((t->pc & ~UINT64_C(4095)) == VSYSCALL_PAGE) {
		const uint64_t sp = reg(t->tid, offsetof(struct user_regs_struct, rsp));
		t->pc = (uint64_t)ptrace(PTRACE_PEEKDATA, t->tid, sp, NULL);
	}
	t->cls = classify(t->tid, t->pc);
	if (t->cls.jcc_to_next)
		t->will_jump = holds(t->cls.cond, reg(t->tid, offsetof(struct user_regs_struct,
								       eflags)));
}

static void print_state(const struct task *t, uint64_t pc, uint32_t events)
{
	struct user_regs_struct r = { 0 };
	ptrace(PTRACE_GETREGS, t->tid, NULL, &r);
	const unsigned long long regs[] = { r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
					    r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip,
					    r.eflags };
	fprintf(states, "%" PRIx64 " %" PRIx32, pc, events);
	for (size_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		fprintf(states, " %llx", regs[i]);
	fputc('\n', states);
}

static void count(struct task *t, uint64_t pc, struct zclass c, uint64_t next)
{
	uint32_t events = c.events;
	const bool jumped = c.jcc_to_next ? t->will_jump : next != pc + c.length;
	if ((events & 1u << EV_COND) && jumped)
		events |= 1u << EV_TAKEN;
	for (int e = 0; e < EV_COUNT; e++)
		t->count[e] += events >> e & 1;
	if (trace)
		fprintf(trace, "%" PRIx64 "\n", pc);
	if (states)
		print_state(t, pc, events);
	if (!c.known)
		fprintf(stderr, "stepcount: unknown instruction at %#" PRIx64 "\n", pc);
}

static void retired(struct task *t, uint64_t next)
{
	if (t->cls.rep_string && next == t->pc)
		return;
	count(t, t->pc, t->cls, next);
	if (t->cls.shadows_next && next != t->pc + t->cls.length) {
		const uint64_t second = t->pc + t->cls.length;
		count(t, second, classify(t->tid, second), next);
	}
}

static void step(struct task *t, int sig)
{
	t->injected = sig != 0;
	if (ptrace(PTRACE_SINGLESTEP, t->tid, NULL, sig) < 0 && errno != ESRCH)
		die("PTRACE_SINGLESTEP");
}

/* The last instruction of a task: the system call it never came back from. */
static void at_exit_event(struct task *t)
{
	const int64_t nr = (int64_t)reg(t->tid, offsetof(struct user_regs_struct, orig_rax));
	if (t->started && nr >= 0 && (t->cls.events & 1u << EV_SYSCALLS))
		count(t, t->pc, t->cls, 0);
	t->gone = true;
	ptrace(PTRACE_CONT, t->tid, NULL, 0);
}

/* Why a SIGTRAP stop came is asked only where there is a choice: asking costs
 * as much as stepping. */
static int trap_code(const struct task *t, uint64_t next)
{
	siginfo_t si = { .si_code = TRAP_TRACE };
	const bool doubtful = t->injected || next == t->pc || t->cls.breakpoint ||
			      (t->cls.events & 1u << EV_SYSCALLS);
	if (doubtful)
		ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &si);
	return si.si_code;
}

static void on_trap(struct task *t)
{
	const uint64_t next = rip_of(t);
	const int code = trap_code(t, next);
	if (code == SI_USER || code == SI_TKILL || code == SI_QUEUE) {
		step(t, SIGTRAP);		/* kill(pid, SIGTRAP) */
		return;
	}
	const bool theirs = t->cls.breakpoint && code != SIGTRAP;
	if (code != SIGTRAP)			/* else: a handler's frame was built */
		retired(t, next);
	look(t, next);
	step(t, theirs ? SIGTRAP : 0);
}

static void on_event(struct task *t, int event)
{
	unsigned long arg = 0;
	switch (event) {
	case PTRACE_EVENT_EXIT:
		at_exit_event(t);
		return;
	case PTRACE_EVENT_EXEC:
		/* By a thread that is not the leader: it took over the leader's id. */
		ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &arg);
		if (arg && (pid_t)arg != t->tid) {
			struct task *const old = task_of((pid_t)arg);
			t->gone = true;
			old->tid = t->tid;
			t = old;
		}
		break;
	default:
		break;
	}
	step(t, 0);
}

static void on_stop(pid_t tid, int status)
{
	struct task *const t = task_of(tid);
	const int sig = WSTOPSIG(status);
	const int event = status >> 16;
	if (!t->started) {
		t->started = true;
		look(t, rip_of(t));
		step(t, 0);
		return;
	}
	if (event)
		on_event(t, event);
	else if (sig == SIGTRAP)
		on_trap(t);
	else
		step(t, sig);			/* nothing retired */
}

/* Tracer and tracee take turns: on one CPU that is three times as fast. */
static void share_cpu(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The first stop of the command is its exec: its exit is not an instruction. */
static pid_t start(char **argv)
{
	const pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		if (share)
			share_cpu();
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		fprintf(stderr, "stepcount: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	int status;
	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		die("the command did not start");
	long opts = PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
	if (follow)
		opts |= PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, opts) < 0)
		die("PTRACE_SETOPTIONS");
	ptrace(PTRACE_CONT, pid, NULL, 0);
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	if (!WIFSTOPPED(status) || status >> 16 != PTRACE_EVENT_EXEC)
		exit(127);
	/* Still inside execve: one step to its end runs no user instruction. */
	ptrace(PTRACE_SINGLESTEP, pid, NULL, 0);
	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		die("lost at exec");
	return pid;
}

static int run(pid_t pid)
{
	struct task *const first = task_of(pid);
	first->started = true;
	look(first, rip_of(first));
	step(first, 0);
	int result = 0;
	for (;;) {
		int status;
		const pid_t tid = waitpid(-1, &status, __WALL);
		if (tid < 0 && errno == ECHILD)
			return result;
		if (tid < 0)
			die("waitpid");
		if (WIFSTOPPED(status)) {
			on_stop(tid, status);
			continue;
		}
		if (tid == pid)
			result = WIFEXITED(status) ? WEXITSTATUS(status)
						   : 128 + WTERMSIG(status);
	}
}

static void print(FILE *out, const char *list, bool per_task)
{
	for (int e = 0; e < EV_COUNT; e++) {
		const char *const found = list ? strstr(list, event_names[e]) : "";
		const size_t n = strlen(event_names[e]);
		if (!found || (list && found[n] && found[n] != ',') ||
		    (list && found != list && found[-1] != ','))
			continue;
		uint64_t sum = 0;
		for (unsigned i = 0; i < n_tasks; i++)
			sum += tasks[i].count[e];
		fprintf(out, "%s %" PRIu64 "\n", event_names[e], sum);
		for (unsigned i = 0; per_task && i < n_tasks; i++)
			fprintf(out, "task %u %s %" PRIu64 "\n", i, event_names[e],
				tasks[i].count[e]);
	}
}

int main(int argc, char **argv)
{
	const char *list = NULL;
	const char *out_path = NULL;
	bool per_task = false;
	int opt;
	while ((opt = getopt(argc, argv, "+cfe:o:ps:t:")) != -1) {
		switch (opt) {
		case 'c': share = true; break;
		case 'f': follow = true; break;
		case 'e': list = optarg; break;
		case 'o': out_path = optarg; break;
		case 'p': per_task = true; break;
		case 's':
		case 't':
			*(opt == 's' ? &states : &trace) = fopen(optarg, "we");
			if (!(opt == 's' ? states : trace))
				die(optarg);
			break;
		default: return 125;
		}
	}
	if (optind == argc) {
		fprintf(stderr, "usage: stepcount [-c] [-f] [-e EVENT,…] [-o FILE] [-p] "
			"[-t FILE] [-s FILE] -- COMMAND…\n");
		return 125;
	}
	zclass_init();
	cpu = sched_getcpu();
	const pid_t pid = start(argv + optind);
	if (share)
		share_cpu();
	const int result = run(pid);
	FILE *const out = out_path ? fopen(out_path, "we") : stderr;
	if (!out)
		die(out_path);
	print(out, list, per_task);
	if (fflush(out) != 0 || (trace && fclose(trace) != 0) ||
	    (states && fclose(states) != 0))
		die("writing");
	return result;
}
