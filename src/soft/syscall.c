/* The program's system calls. Most go straight to the kernel through the gate;
 * those that would show or disturb the engine are handled. */
#include "engine.h"
#include "sys.h"
#include "text.h"

#include <asm/unistd.h>
#include <linux/close_range.h>
#include <linux/prctl.h>

#define CLASSES_OF_SYSCALL 4

long gate(struct thread *t, long nr, const uint64_t *a)
{
	const uint64_t args[7] = { (uint64_t)nr, a[0], a[1], a[2], a[3], a[4], a[5] };
	return gate_call(t, args);
}

/* ---- descriptors: ours must survive ---- */

static long move_reserved(struct thread *t, uint64_t wanted)
{
	/* the program wants our number: go elsewhere, once */
	const long fd = sys3(__NR_fcntl, wanted, 0, wanted > 600 ? 500 : 900);
	(void)t;
	if (fd < 0)
		return fd;
	E.reserved_fd = (uint32_t)fd;
	return 0;
}

static long fd_syscall(struct thread *t, long nr, const uint64_t *a)
{
	const uint32_t ours = E.reserved_fd;
	switch (nr) {
	case __NR_close:
		if ((uint32_t)a[0] == ours)
			return -9;
		break;
	case __NR_dup2:
	case __NR_dup3:
		if ((uint32_t)a[0] == ours)
			return -9;
		if ((uint32_t)a[1] == ours && move_reserved(t, ours) < 0)
			return -9;
		break;
	case __NR_close_range:
		if ((uint32_t)a[0] <= ours && (uint32_t)a[1] >= ours && a[0] <= a[1]) {
			/* around ours, in two pieces */
			long ret = 0;
			if ((uint32_t)a[0] < ours) {
				const uint64_t low[6] = { a[0], ours - 1, a[2] };
				ret = gate(t, nr, low);
				if (ret < 0)
					return ret;
			}
			if ((uint32_t)a[1] > ours) {
				const uint64_t high[6] = { ours + 1u, a[1], a[2] };
				ret = gate(t, nr, high);
			}
			return ret;
		}
		break;
	default:
		break;
	}
	return gate(t, nr, a);
}

/* ---- the rest ---- */

static long do_arch_prctl(struct thread *t, const uint64_t *a)
{
	switch (a[0]) {
	case 0x1001:		/* ARCH_SET_GS */
		if (a[1] >> 47)
			return -1;
		app_gs_set(t, a[1]);
		return 0;
	case 0x1004:		/* ARCH_GET_GS */
		return copy_guest((void *)a[1], &t->app_gs, 8) ? 0 : -14;
	case 0x5001:		/* ARCH_SHSTK_ENABLE: our returns are not its returns */
		return -95;
	default:
		return gate(t, __NR_arch_prctl, a);
	}
}

static long do_prctl(struct thread *t, const uint64_t *a)
{
	if (a[0] == PR_SET_SYSCALL_USER_DISPATCH && a[1])
		return -22;
	return gate(t, __NR_prctl, a);
}

/* SIGKILL leaves no time to report; who sends it to himself reports before. */
static long do_kill(struct thread *t, long nr, const uint64_t *a)
{
	const int32_t sig = (int32_t)a[nr == __NR_tgkill ? 2 : 1], to = (int32_t)a[0];
	if (sig == SIGKILL_ && to > 0 && (to == E.pid || (nr == __NR_tkill && to == t->tid)) &&
	    !t->is_vfork)
		signal_fatal(t, sig);
	return gate(t, nr, a);
}

static long handle(struct thread *t, long nr, const uint64_t *a)
{
	bool done = false;
	switch (nr) {
	case __NR_execve:
	case __NR_execveat:
		return thread_exec(t, nr, a);
	case __NR_clone:
	case __NR_clone3:
	case __NR_fork:
	case __NR_vfork:
		return thread_clone(t, nr, a);
	case __NR_exit:
	case __NR_exit_group:
		thread_exit(t, nr, a);
	case __NR_rt_sigaction:
	case __NR_rt_sigprocmask:
	case __NR_rt_sigreturn:
	case __NR_sigaltstack:
	case __NR_rt_sigsuspend:
	case __NR_ppoll:
	case __NR_pselect6:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
	case __NR_io_pgetevents:
		return signal_syscall(t, nr, a);
	case __NR_mmap:
	case __NR_munmap:
	case __NR_mprotect:
	case __NR_pkey_mprotect:
	case __NR_mremap:
	case __NR_madvise:
		return memory_syscall(t, nr, a);
	case __NR_close:
	case __NR_close_range:
	case __NR_dup2:
	case __NR_dup3:
		return fd_syscall(t, nr, a);
	case __NR_open:
	case __NR_openat:
	case __NR_getdents64: {
		const long ret = proc_syscall(t, nr, a, &done);
		return done ? ret : gate(t, nr, a);
	}
	case __NR_arch_prctl:
		return do_arch_prctl(t, a);
	case __NR_prctl:
		return do_prctl(t, a);
	case __NR_kill:
	case __NR_tgkill:
	case __NR_tkill:
		return do_kill(t, nr, a);
	default:
		return gate(t, nr, a);
	}
}

/* The syscall instruction was counted with its block but not executed. */
static void uncount_syscall(struct thread *t)
{
	static const uint8_t of[CLASSES_OF_SYSCALL] = { SOFT_INSTRUCTIONS, SOFT_BRANCHES,
							SOFT_SYSCALLS, SOFT_FAR };
	for (int i = 0; i < CLASSES_OF_SYSCALL; i++)
		t->corr[of[i]]--;
	if (E.counts_taken)
		t->corr[SOFT_TAKEN]--;
}

uint64_t syscall_exit(struct thread *t, struct link *l)
{
	const uint64_t a[6] = { t->regs[RDI], t->regs[RSI], t->regs[RDX],
				t->regs[R10], t->regs[R8], t->regs[R9] };
	t->pc = l->target;
	t->exit_link = 1;
	const long ret = handle(t, (long)(int32_t)t->regs[RAX], a);
	if (ret == GATE_ABORTED || ret == GATE_RESTART) {
		t->pc = l->target - 2;
		if (ret == GATE_ABORTED)
			uncount_syscall(t);
		return resume(t);
	}
	t->regs[RAX] = (uint64_t)ret;
	t->regs[RCX] = l->target;
	t->regs[R11] = t->rflags;
	return resume(t);
}
