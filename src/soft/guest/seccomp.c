/* seccomp. A filter of the program would also see the engine's own system calls. So a few
 * instructions are put before it, which allow all calls from the engine's code except from the two
 * addresses at which the program's calls are made. Strict mode cannot be changed in this way: it is
 * enforced here, and the kernel does not know of it.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#define PREFIX 9
#define JUMP(op, value, yes, no) { BPF_JMP | (op) | BPF_K, (yes), (no), (uint32_t)(value) }

static long with_prefix(struct thread *t, long nr, const uint64_t *a, int at)
{
	const uint64_t hi = (uint64_t)__executable_start >> 32;
	const struct sock_filter prefix[PREFIX] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0,
		  offsetof(struct seccomp_data, instruction_pointer) + 4 },
		JUMP(BPF_JEQ, hi, 0, 6),
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0,
		  offsetof(struct seccomp_data, instruction_pointer) },
		JUMP(BPF_JEQ, (uint64_t)gate_after, 4, 0),
		JUMP(BPF_JEQ, (uint64_t)clone_after, 3, 0),
		JUMP(BPF_JGE, (uint64_t)__executable_start, 0, 2),
		JUMP(BPF_JGE, (uint64_t)etext, 1, 0),
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
		{ BPF_LD | BPF_IMM, 0, 0, 0 },		/* A starts as 0 */
	};
	struct { uint16_t len, pad[3]; uint64_t filter; } prog;
	if (!copy_guest(&prog, (const void *)a[at], sizeof(prog)))
		return -EFAULT;
	if (!prog.len || prog.len + PREFIX > BPF_MAXINSNS)
		return -EINVAL;
	struct sock_filter all[BPF_MAXINSNS];	/* 32 KiB of the engine's own stack */
	mem_copy(all, prefix, sizeof(prefix));
	if (!copy_guest(all + PREFIX, (const void *)prog.filter, prog.len * sizeof(*all)))
		return -EFAULT;
	prog.len = (uint16_t)(prog.len + PREFIX);
	prog.filter = (uint64_t)all;
	uint64_t args[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	args[at] = (uint64_t)&prog;
	const long ret = gate(t, nr, args);
	guest.filtered |= ret >= 0;
	return ret;
}

long seccomp_syscall(struct thread *t, long nr, const uint64_t *a)
{
	const bool prctl = nr == __NR_prctl;
	const uint64_t op = prctl ? a[1] - 1 : a[0];	/* SECCOMP_MODE_… is one more */
	if (op == SECCOMP_SET_MODE_FILTER)
		return with_prefix(t, nr, a, 2);
	if (op != SECCOMP_SET_MODE_STRICT)
		return gate(t, nr, a);
	if (!prctl && (a[1] || a[2]))
		return -EINVAL;
	t->task.strict = true;
	return 0;
}

void seccomp_strict(struct thread *t, long nr)
{
	if (nr == __NR_read || nr == __NR_write || nr == __NR_exit || nr == __NR_rt_sigreturn)
		return;
	if (!thread_is_last(t)) {
		const uint64_t status[1] = { SIGKILL };
		thread_exit(t, __NR_exit, status);
	}
	signal_fatal(t, SIGKILL);
}
