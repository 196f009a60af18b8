#include "inject.h"

#include "x86.h"

#include <elf.h>
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1ull << 20)

/* ---- the tracee's memory map ---- */

struct layout {
	uint64_t exe_start;		/* lowest mapping of the program itself */
	uint64_t stack_start, stack_end;
	uint64_t below_stack;		/* end of the highest mapping below the stack */
	uint64_t libs_start;		/* lowest mapping of the upper half */
	uint64_t vdso;
};

/* 0, a negative errno, or WHY_UNREADABLE. */
static int read_layout(pid_t pid, struct layout *l)
{
	char path[40], line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *const f = fopen(path, "re");
	if (!f)
		return -errno;
	*l = (struct layout){ 0 };
	uint64_t last_end = 0;
	while (fgets(line, sizeof(line), f)) {
		unsigned long long start, end;
		if (sscanf(line, "%llx-%llx", &start, &end) != 2 || start >> 63)
			continue;
		if (strstr(line, "[stack]")) {
			l->stack_start = start;
			l->stack_end = end;
			l->below_stack = last_end;
			continue;
		}
		if (strstr(line, "[vdso]"))
			l->vdso = start;
		if (!l->exe_start)
			l->exe_start = start;
		if (start > ZONE_END && !l->libs_start && start >= 0x700000000000ull)
			l->libs_start = start;
		last_end = end;
	}
	fclose(f);
	return l->stack_start ? 0 : WHY_UNREADABLE;
}

static uint64_t up(uint64_t x)
{
	return (x + MIB - 1) & ~(MIB - 1);
}

/* The gap the kernel leaves between its mmap area and the stack; where that is
 * small, a place well below the libraries. */
static void near_libraries(const struct layout *l, struct soft_start *s)
{
	struct rlimit stack = { 8 * MIB, 8 * MIB };
	getrlimit(RLIMIT_STACK, &stack);
	const uint64_t limit = stack.rlim_cur == RLIM_INFINITY ? 1ull << 40 : stack.rlim_cur;
	const uint64_t start = up(l->below_stack) + MIB;
	const uint64_t end = l->stack_end > limit + 4 * MIB ? l->stack_end - limit - 4 * MIB : 0;
	if (end > start && end - start >= 16 * MIB) {
		s->cache_near[0] = start;
		s->cache_near_size[0] = (end - start) & ~(MIB - 1);
	} else if (l->libs_start > 2048 * MIB) {
		s->cache_near[0] = up(l->libs_start) - 1536 * MIB;
		s->cache_near_size[0] = 512 * MIB;
	}
}

static void near_program(const struct layout *l, struct soft_start *s)
{
	if (l->exe_start < 0x100000000ull || l->exe_start >= 0x700000000000ull)
		return;
	s->cache_near[1] = up(l->exe_start) - 1024 * MIB;
	s->cache_near_size[1] = 960 * MIB;
}

/* ---- system calls in the tracee ---- */

struct remote {
	pid_t pid;
	bool ours;			/* our own child: its exit status is left for its waiter */
	uint64_t mask;			/* its blocked signals, as they were */
	bool stopped;			/* got a SIGSTOP, to be sent again at the end */
	bool trapped;			/* got a SIGTRAP of another process, likewise */
	struct user_regs_struct regs;	/* as they were at the exec stop */
	uint64_t gate;			/* a syscall instruction in its vdso */
	int n_mapped;			/* of the engine: 0 none, 1 code, 2 data, 3 thread, 4 all */
};

/* The offset of a syscall instruction in the vdso: the same in every process. */
static uint64_t vdso_gate(uint64_t vdso)
{
	const unsigned char *const p = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	for (uint64_t i = 0; p && vdso && i < 4096; i++)
		if (p[i] == 0x0f && p[i + 1] == 0x05)
			return vdso + i;
	return 0;
}

/* The process may get a signal at any time, and each signal, also an ignored one, would stop it
 * instead of the single step. So all signals are blocked until the engine is in, except SIGTRAP,
 * which the step itself raises. */
static int hold_signals(struct remote *r)
{
	const uint64_t all = ~(1ull << (SIGTRAP - 1));
	if (ptrace(PTRACE_GETSIGMASK, r->pid, sizeof(r->mask), &r->mask) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, r->pid, sizeof(all), &all) < 0)
		return -errno;
	return 0;
}

/* Is a SIGCONT pending? It is blocked like the others, and a later SIGSTOP removes it. */
static bool is_continued(pid_t pid)
{
	char path[40], line[128];
	bool found = false;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *const f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long pending;
		if (sscanf(line, "SigPnd: %llx", &pending) == 1 ||
		    sscanf(line, "ShdPnd: %llx", &pending) == 1)
			found |= pending >> (SIGCONT - 1) & 1;
	}
	if (f)
		fclose(f);
	return found;
}

static void release_signals(const struct remote *r)
{
	const bool stop = r->stopped && !is_continued(r->pid);
	ptrace(PTRACE_SETSIGMASK, r->pid, sizeof(r->mask), &r->mask);
	if (r->trapped)
		kill(r->pid, SIGTRAP);
	if (stop)
		kill(r->pid, SIGSTOP);
}

int traced_stop(pid_t pid, bool ours)
{
	for (;;) {
		siginfo_t info = { .si_pid = 0 };
		if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
			if (!ours)	/* its parent's wait needs the tracer's wait first */
				waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | __WALL);
			return -ESRCH;
		}
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | __WALL) == 0 && info.si_pid)
			return info.si_status;	/* else it was killed meanwhile */
	}
}

/* Was the SIGTRAP at which the process stands sent by a process? */
static bool is_sent(pid_t pid)
{
	siginfo_t info;
	return ptrace(PTRACE_GETSIGINFO, pid, 0, &info) == 0 && info.si_code <= 0;
}

/* Runs until the next SIGTRAP. That may be one that another process sent; the step's own then comes
 * later or, since a signal is pending only once, not at all: the caller looks at rip. SIGSTOP cannot
 * be blocked: the process continues after it. */
static int run(struct remote *r, enum __ptrace_request how)
{
	for (;;) {
		if (ptrace(how, r->pid, 0, 0) < 0)
			return -errno;
		const int status = traced_stop(r->pid, r->ours);
		if (status < 0)
			return status;
		if (status == SIGTRAP) {
			r->trapped |= is_sent(r->pid);
			return 0;
		}
		r->stopped |= (status & 0xff) == SIGSTOP;
	}
}

static long remote_call(struct remote *r, long nr, long a, long b, long c, long d, long e,
			long f)
{
	struct user_regs_struct regs = r->regs;
	regs.rip = r->gate;
	regs.rax = (unsigned long)nr;
	regs.orig_rax = (unsigned long)-1;
	regs.rdi = (unsigned long)a;
	regs.rsi = (unsigned long)b;
	regs.rdx = (unsigned long)c;
	regs.r10 = (unsigned long)d;
	regs.r8 = (unsigned long)e;
	regs.r9 = (unsigned long)f;
	if (ptrace(PTRACE_SETREGS, r->pid, 0, &regs) < 0)
		return -errno;
	do {
		const int err = run(r, PTRACE_SINGLESTEP);
		if (err < 0)
			return err;
		if (ptrace(PTRACE_GETREGS, r->pid, 0, &regs) < 0)
			return -errno;
	} while (regs.rip == r->gate);
	return (long)regs.rax;
}

static int remote_write(pid_t pid, uint64_t at, const void *from, size_t n)
{
	const struct iovec local = { (void *)from, n }, remote = { (void *)at, n };
	return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)n ? 0 : -errno;
}

/* ---- the image ---- */

static const Elf64_Phdr *segment_with(uint32_t flag)
{
	const Elf64_Ehdr *const e = (const Elf64_Ehdr *)engine_elf_start;
	const Elf64_Phdr *const p = (const Elf64_Phdr *)(engine_elf_start + e->e_phoff);
	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_flags & flag)
			return &p[i];
	return NULL;			/* cannot happen: the engine has both */
}

static uint64_t engine_entry(void)
{
	return ((const Elf64_Ehdr *)engine_elf_start)->e_entry;
}

/* The result of mmap at a fixed address: 0, or a negative errno. */
static int mapped(long got, uint64_t at)
{
	return got == (long)at ? 0 : got < 0 && got > -4096 ? (int)got : -EEXIST;
}

static uint64_t pages(uint64_t bytes)
{
	return (bytes + 4095) & ~4095ull;
}

static int map_code(struct remote *r, const struct image *image)
{
	const Elf64_Phdr *const p = segment_with(PF_X);
	return mapped(remote_call(r, SYS_mmap, (long)p->p_vaddr, (long)pages(p->p_memsz),
				  PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
				  image->fd, (long)(image->offset + p->p_offset)),
		      p->p_vaddr);
}

/* The engine's code maps the rest by itself (soft/glue.S, map_rest). */
static int map_rest(struct remote *r, const struct image *image, int fd)
{
	_Static_assert(sizeof(struct soft_shared) <= ENGINE_FILE_OFFSET, "the image is behind it");
	const Elf64_Phdr *const p = segment_with(PF_W);
	const uint64_t start = p->p_vaddr & ~4095ull;
	struct user_regs_struct regs = r->regs;
	regs.rip = engine_entry();
	regs.orig_rax = (unsigned long)-1;
	regs.rax = 1;
	regs.rsp = ZONE_THREADS + THREAD_STACK_END;
	regs.r12 = start;
	regs.r13 = pages(p->p_vaddr + p->p_memsz - start);
	regs.r14 = ZONE_SHARED;
	regs.r15 = pages(sizeof(struct soft_shared));
	regs.rbx = (unsigned long)fd;
	regs.rbp = image->close ? (unsigned long)image->fd : (unsigned long)-1;
	if (ptrace(PTRACE_SETREGS, r->pid, 0, &regs) < 0)
		return -errno;
	do {
		const int err = run(r, PTRACE_CONT);
		if (err < 0)
			return err;
		if (ptrace(PTRACE_GETREGS, r->pid, 0, &regs) < 0)
			return -errno;
	} while (engine_elf_start[regs.rip - 1 - ZONE_BASE] != 0xcc);	/* its int3 */
	/* it stopped at the first mmap that failed; rdi is the address of that mapping */
	r->n_mapped = !regs.rax ? 4 : regs.rdi == start ? 1 : regs.rdi == ZONE_THREADS ? 2 : 3;
	const int err = mapped((long)regs.rax, 0);
	return err ? err : remote_write(r->pid, p->p_vaddr, engine_elf_start + p->p_offset,
					p->p_filesz);
}

/* The engine could not be mapped completely: the program runs natively, with its whole address
 * space. */
static void unmap_all(struct remote *r, const struct image *image)
{
	const Elf64_Phdr *const code = segment_with(PF_X), *const data = segment_with(PF_W);
	const uint64_t ranges[4][2] = {
		{ code->p_vaddr, pages(code->p_memsz) },
		{ data->p_vaddr & ~4095ull, pages(data->p_memsz + (data->p_vaddr & 4095)) },
		{ ZONE_THREADS, THREAD_STACK_END }, { ZONE_SHARED, pages(sizeof(struct soft_shared)) },
	};
	for (int i = 0; i < r->n_mapped; i++)
		remote_call(r, SYS_munmap, (long)ranges[i][0], (long)ranges[i][1], 0, 0, 0, 0);
	if (image->close && r->n_mapped < 4)	/* otherwise map_rest has closed it */
		remote_call(r, SYS_close, image->fd, 0, 0, 0, 0, 0);
}

/* Whether the engine may use a feature that the CPU has. TARE_ENGINE_WITHOUT lists features
 * to do without: tests run the code for CPUs that lack them. */
static bool may_use(const char *feature, bool has)
{
	const char *const without = getenv("TARE_ENGINE_WITHOUT");
	return has && !(without && strstr(without, feature));
}

/* Asked once: cpuid is slow in a virtual machine. Two threads that ask get the same answer. */
static bool cpu_has_bmi2(void)
{
	static atomic_int known = -1;
	unsigned a, b, c, d;
	if (known < 0)
		known = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_BMI2;
	return known;
}

static void fill_start(struct soft_start *s, const struct user_regs_struct *g, uint32_t record)
{
	const uint64_t regs[16] = { g->rax, g->rcx, g->rdx, g->rbx, g->rsp, g->rbp, g->rsi, g->rdi,
				    g->r8, g->r9, g->r10, g->r11, g->r12, g->r13, g->r14, g->r15 };
	memcpy(s->regs, regs, sizeof(regs));
	s->rip = g->rip;
	s->rflags = g->eflags & ~(uint64_t)FLAG_TF;	/* TF is the tracer's */
	s->record = record;
	s->has_fsgsbase = may_use("fsgsbase", getauxval(AT_HWCAP2) >> 1 & 1);
	s->has_bmi2 = may_use("bmi2", cpu_has_bmi2());
}

/* AT_SECURE: the image gained privileges and must not be entered. 0, a negative errno,
 * or WHY_SETUID. */
static int check_secure(pid_t pid)
{
	char path[40];
	Elf64_auxv_t a;
	int secure = 0;
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	FILE *const f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fread(&a, sizeof(a), 1, f) == 1)
		if (a.a_type == AT_SECURE && a.a_un.a_val)
			secure = WHY_SETUID;
	fclose(f);
	return secure;
}

static int enter(struct remote *r, const struct image *image, const struct entry *e)
{
	const pid_t pid = r->pid;
	struct layout l = { 0 };
	struct soft_start start = { 0 };
	/* the stop lies inside execve: one step leaves it, no user instruction runs */
	int err = run(r, PTRACE_SINGLESTEP);
	if (err < 0)
		return err;
	if (ptrace(PTRACE_GETREGS, pid, 0, &r->regs) < 0)
		return -errno;
	if (r->regs.cs != USER_CS)
		return WHY_32BIT;
	err = check_secure(pid);
	if (!err)
		err = read_layout(pid, &l);
	if (err == -EACCES || err == -EPERM)
		return WHY_UNREADABLE;		/* may be executed, but not read */
	if (err)
		return err;
	r->gate = vdso_gate(l.vdso);
	if (!r->gate)
		return WHY_UNREADABLE;
	r->regs.eflags &= ~(uint64_t)FLAG_TF;
	err = map_code(r, image);
	r->n_mapped = !err;
	if (!err)
		err = map_rest(r, image, (int)e->reserved_fd);
	if (err < 0) {
		unmap_all(r, image);
		ptrace(PTRACE_SETREGS, pid, 0, &r->regs);
		return err;
	}
	fill_start(&start, &r->regs, e->record);
	start.reserved_fd = e->reserved_fd;
	start.trap_ignored = e->trap_ignored;
	near_libraries(&l, &start);
	near_program(&l, &start);
	err = remote_write(pid, ZONE_THREADS + THREAD_ALT, &start, sizeof(start));
	/* struct thread begins with a pointer to itself */
	const uint64_t self = ZONE_THREADS;
	if (!err)
		err = remote_write(pid, ZONE_THREADS, &self, sizeof(self));
	if (err < 0)
		return err;
	struct user_regs_struct regs = r->regs;
	regs.rip = engine_entry();
	regs.rax = 0;
	regs.rsp = ZONE_THREADS + THREAD_STACK_END;
	regs.gs_base = ZONE_THREADS + THREAD_AREA;
	regs.orig_rax = (unsigned long)-1;
	regs.eflags = FLAGS_OF_USER;
	return ptrace(PTRACE_SETREGS, pid, 0, &regs) < 0 ? -errno : 0;
}

int inject(const struct entry *e, struct image image)
{
	struct remote r = { .pid = e->pid, .ours = e->ours };
	int err = hold_signals(&r);
	if (err)
		return err;
	/* a process that is half entered cannot continue without the tracer */
	ptrace(PTRACE_SETOPTIONS, e->pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	err = enter(&r, &image, e);
	release_signals(&r);
	return err;
}
