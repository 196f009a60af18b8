/* The program's system calls. Most go to the kernel through the gate as they are; those that would
 * show the engine to the program, or disturb it, are handled here or in other files. */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

#define CLASSES_OF_SYSCALL 4
struct guest_state guest;

long gate(struct thread *t, long nr, const uint64_t *a)
{
	const uint64_t args[7] = { (uint64_t)nr, a[0], a[1], a[2], a[3], a[4], a[5] };
	return gate_call(t, args);
}

/* ---- descriptors: the engine's own is hidden, and stays open ---- */

/* The program wants the number of the engine's descriptor: gives it another number. */
static long move_reserved(uint64_t wanted)
{
	const long fd = sys3(__NR_fcntl, wanted, F_DUPFD, wanted > 1024 ? wanted + 1 : 900);
	if (fd < 0)
		return fd;
	E.reserved_fd = (uint32_t)fd;
	return 0;
}

/* Calls whose first argument is a descriptor: on the engine's own they fail with EBADF. */
static bool takes_fd(long nr)
{
	switch (nr) {
	case __NR_read: case __NR_write: case __NR_fstat: case __NR_lseek: case __NR_ioctl:
	case __NR_pread64: case __NR_pwrite64: case __NR_readv: case __NR_writev:
	case __NR_preadv: case __NR_pwritev: case __NR_preadv2: case __NR_pwritev2:
	case __NR_dup: case __NR_fcntl: case __NR_flock: case __NR_fsync: case __NR_fdatasync:
	case __NR_ftruncate: case __NR_fchdir: case __NR_fchmod: case __NR_fchown:
	case __NR_getdents: case __NR_getdents64: case __NR_fstatfs: case __NR_fadvise64:
	case __NR_readahead: case __NR_fgetxattr: case __NR_fsetxattr: case __NR_flistxattr:
	case __NR_fremovexattr: case __NR_fallocate: case __NR_splice: case __NR_sendfile:
	case __NR_copy_file_range: case __NR_newfstatat: case __NR_statx: case __NR_syncfs:
	case __NR_sync_file_range: case __NR_vmsplice: case __NR_tee:
		return true;
	default:
		return false;
	}
}

static long fd_syscall(struct thread *t, long nr, const uint64_t *a)
{
	const uint32_t ours = E.reserved_fd;
	switch (nr) {
	case __NR_close:
		if ((uint32_t)a[0] == ours)
			return -EBADF;
		break;
	case __NR_dup2:
	case __NR_dup3:
		if ((uint32_t)a[0] == ours)
			return -EBADF;
		if ((uint32_t)a[1] == ours && move_reserved(ours) < 0)
			return -EBADF;
		break;
	case __NR_close_range:
		if ((uint32_t)a[0] <= ours && (uint32_t)a[1] >= ours && a[0] <= a[1]) {
			/* in two pieces, around the engine's descriptor */
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
	case ARCH_SET_GS:
		if (a[1] >= USER_END)
			return -EPERM;
		app_gs_set(t, a[1]);
		return 0;
	case ARCH_GET_GS:
		return put_guest(a[1], &t->app_gs, 8) ? 0 : -EFAULT;
	case ARCH_SET_CPUID:
		guest.cpuid_forbidden |= !a[1];
		return gate(t, __NR_arch_prctl, a);
	case ARCH_REQ_XCOMP_PERM: {
		const long ret = gate(t, __NR_arch_prctl, a);
		if (ret == 0 && a[1] < 64)
			guest.fp.permitted |= 1ull << a[1];
		return ret;
	}
	case ARCH_SHSTK_ENABLE:		/* our returns are not its returns */
		return -EOPNOTSUPP;
	default: {
		const long ret = gate(t, __NR_arch_prctl, a);
		trace_fs(t);
		return ret;
	}
	}
}

static long do_mdwe(struct thread *t, const uint64_t *a)
{
	const uint64_t ask[6] = { PR_GET_MDWE };
	const long known = gate(t, __NR_prctl, ask);
	if (known < 0)
		return known;		/* an older kernel, without this call */
	if (a[0] == PR_GET_MDWE)
		return a[1] | a[2] | a[3] | a[4] ? -EINVAL : (long)guest.mdwe;
	const uint64_t bits = PR_MDWE_REFUSE_EXEC_GAIN | PR_MDWE_NO_INHERIT;
	if (a[2] | a[3] | a[4] || a[1] & ~bits || a[1] == PR_MDWE_NO_INHERIT)
		return -EINVAL;
	if (guest.mdwe && guest.mdwe != a[1])
		return -EPERM;
	guest.mdwe = (uint32_t)a[1];
	return 0;
}

static long do_prctl(struct thread *t, const uint64_t *a)
{
	switch ((int)a[0]) {
	case PR_SET_SYSCALL_USER_DISPATCH:	/* compares addresses of the code cache */
		return a[1] ? -EINVAL : gate(t, __NR_prctl, a);
	case PR_SET_SECCOMP:
		return seccomp_syscall(t, __NR_prctl, a);
	case PR_SET_TSC:
		cache.no_tsc = true;	/* never cleared: other threads may be translating */
		return gate(t, __NR_prctl, a);
	case PR_SET_MDWE:
	case PR_GET_MDWE:
		return do_mdwe(t, a);
	default:
		return gate(t, __NR_prctl, a);
	}
}

/* Calls by which the program may write to code through /proc/…/mem: this also writes to guarded
 * pages. */
static bool may_write_mem(long nr)
{
	return nr == __NR_write || nr == __NR_pwrite64 || nr == __NR_writev ||
	       nr == __NR_pwritev || nr == __NR_pwritev2;
}

#define ALL_MEMORY 0, USER_END

/* A call that needs nothing but writable memory: the kernel cannot write to guarded pages. Then it
 * fails with EFAULT and is made again. (Calls for which that would be too late: outputs.c.) */
long plain_syscall(struct thread *t, long nr, const uint64_t *a)
{
	long ret = gate(t, nr, a);
	if (ret == -EFAULT && pages_unguard(t, ALL_MEMORY))
		ret = gate(t, nr, a);
	if (guest.mem_open && ret > 0 && may_write_mem(nr)) {
		lock_take();
		cache_invalidate(ALL_MEMORY);
		lock_drop();
	}
	if (ret > 0 && (nr == __NR_process_vm_writev || (guest.others_mem_open && may_write_mem(nr))))
		others_memory_written(t, nr, a);
	return ret;
}

/* A process that kills itself with SIGKILL reports its counts before. */
static long do_kill(struct thread *t, long nr, const uint64_t *a)
{
	const int32_t sig = (int32_t)a[nr == __NR_tgkill ? 2 : 1], to = (int32_t)a[0];
	if (sig == SIGKILL && to > 0 && (to == E.pid || (nr == __NR_tkill && to == t->tid)) &&
	    !t->is_vfork)
		signal_fatal(t, sig);
	if (sig == SIGSTOP && (to == E.pid || to == t->tid))
		traced_asked(t);	/* a process that waits for this stop may trace this one */
	return gate(t, nr, a);
}

long syscall_usual(struct thread *t, long nr, const uint64_t *a)
{
	bool done = false;
	if (t->task.strict)
		seccomp_strict(t, nr);
	if ((uint32_t)a[0] == E.reserved_fd && takes_fd(nr))
		return -EBADF;
	if (E.stops)
		exact_call(t, nr);
	if (E.vpmu) {
		const long ret = vpmu_syscall(t, nr, a, &done);
		if (done)
			return ret;
	}
	if (E.machine) {
		const long ret = machine_syscall(t, nr, a, &done);
		if (done)
			return ret;
	}
	if (E.shared->files.of) {
		const long ret = files_syscall(t, nr, a, &done);
		if (done)
			return ret;
	}
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
	case __NR_rt_sigtimedwait:
	case __NR_rt_sigpending:
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
	case __NR_brk:
	case __NR_shmat:
	case __NR_shmdt: {
		const long ret = memory_syscall(t, nr, a);
		if (E.vpmu)
			vpmu_memory(t, nr, a, ret);
		if (cache.traced && (nr == __NR_mmap || nr == __NR_mprotect))
			traced_code(t);
		return ret;
	}
	case __NR_close:
	case __NR_close_range:
	case __NR_dup2:
	case __NR_dup3:
		return fd_syscall(t, nr, a);
	case __NR_open:
	case __NR_openat:
	case __NR_openat2:
	case __NR_readlink:
	case __NR_readlinkat:
	case __NR_getdents64: {
		const long ret = proc_syscall(t, nr, a, &done);
		return done ? ret : plain_syscall(t, nr, a);
	}
	case __NR_ptrace:
		return ptrace_syscall(t, a);
	case __NR_wait4:
	case __NR_waitid:
		return wait_syscall(t, nr, a);
	case __NR_read:
	case __NR_pread64:
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
	case __NR_lseek: {
		long ret = 0;
		if (__atomic_load_n(&E.shared->flags, __ATOMIC_RELAXED) & SOFT_FLAG_PROC)
			ret = proc_read(t, nr, a, &done);
		return done ? ret : plain_syscall(t, nr, a);
	}
	case __NR_seccomp:
		return seccomp_syscall(t, nr, a);
	case __NR_rseq:
		return rseq_syscall(t, a);
	case __NR_set_tid_address:
		outputs_keep(t, WRITTEN_TID, a[0], 4);
		return plain_syscall(t, nr, a);
	case __NR_arch_prctl:
		return do_arch_prctl(t, a);
	case __NR_prctl:
		return do_prctl(t, a);
	case __NR_kill:
	case __NR_tgkill:
	case __NR_tkill:
		return do_kill(t, nr, a);
	default:
		return plain_syscall(t, nr, a);
	}
}

/* The syscall instruction at t->pc was counted with its block, but not executed. */
static void uncount_syscall(struct thread *t)
{
	static const uint8_t of[CLASSES_OF_SYSCALL] = { SOFT_INSTRUCTIONS, SOFT_BRANCHES,
							SOFT_SYSCALLS, SOFT_FAR };
	for (int i = 0; i < CLASSES_OF_SYSCALL; i++)
		count_add(t, of[i], -1, &cache.modes[cache.mode]);
	if (cache.counts_taken || cache.modes[cache.mode].taken)
		count_add(t, SOFT_TAKEN, -1, &cache.modes[cache.mode]);
	count_way(t, t->pc, SYSCALL_SIZE, -1);
	uint8_t bytes[SYSCALL_SIZE];
	if (code_log_wanted() && copy_guest(bytes, (const void *)t->pc, sizeof(bytes)))
		code_log_part(t, t->pc, bytes, sizeof(bytes), 1, -1);
}

/* A system call has returned. In the child of a fork it is its parent's. */
static void log_syscall(struct thread *t, uint64_t pc, long nr, long ret)
{
	const bool made = t->task.exec_counted;
	t->task.exec_counted = false;
	if (ret == GATE_ABORTED || ret == GATE_RESTART)
		return;
	if (!ret && (nr == __NR_clone || nr == __NR_clone3 || nr == __NR_fork || nr == __NR_vfork))
		return;
	if (made)			/* an exec that failed after its counts were written */
		calls_syscall_failed(t, pc, nr);
	else
		calls_syscall(t, pc, nr, ret < 0 && ret >= -4095);
}

uint64_t syscall_exit(struct thread *t, const struct link *l)
{
	const uint64_t a[6] = { t->regs[RDI], t->regs[RSI], t->regs[RDX],
				t->regs[R10], t->regs[R8], t->regs[R9] };
	t->pc = l->target;
	t->exit_link = 1;
	if (t->task.rseq)
		rseq_check(t);
	const long nr = (long)(int32_t)t->regs[RAX];
	const bool logs = code_log_wanted();
	if (logs && nr == __NR_rt_sigreturn)
		calls_syscall(t, l->target - SYSCALL_SIZE, nr, false);
	const bool outputs = cache.may_guard && outputs_begin(t, nr, a);
	const long ret = E.hermetic ? hermetic_syscall(t, nr, a) : syscall_usual(t, nr, a);
	if (outputs)
		outputs_end(t);
	if (logs)
		log_syscall(t, l->target - SYSCALL_SIZE, nr, ret);
	if (E.vpmu) {
		if (nr != __NR_rt_sigreturn)	/* it does not wait for anything */
			vpmu_called(t);
		vpmu_follow(t);
	}
	if (ret == GATE_ABORTED || ret == GATE_RESTART) {
		t->pc = l->target - SYSCALL_SIZE;
		step_undone(t);
		if (ret == GATE_ABORTED)
			uncount_syscall(t);
		return resume(t);
	}
	if (ret != GATE_TRAPPED)
		t->regs[RAX] = (uint64_t)ret;
	t->regs[RCX] = l->target;
	t->regs[R11] = t->rflags;
	return resume(t);
}
