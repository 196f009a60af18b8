/* Code of another process of the run that this one writes: by PTRACE_POKETEXT, by a write to
 * /proc/PID/mem, by process_vm_writev.
 *
 * The kernel tells that process nothing. So the writer's engine says it in the record of the task and sends it a
 * signal (TRACED_HINT); the task's engine drops all blocks before the task goes on (traced.c), as after a write to its
 * own /proc/self/mem. A task that its tracer has stopped takes the signal before its next instruction; any
 * other one sees new code late, as another CPU may.
 */
#include "guest-room.h"
#include "procfs.h"
#include "sys.h"

void others_code_written(struct soft_record *r)
{
	const struct k_siginfo hint = { .signo = SIGTRAP, .code = TRACED_HINT };
	__atomic_store_n(&r->code_written, 1, __ATOMIC_RELEASE);
	sys4(__NR_rt_tgsigqueueinfo, r->pid, r->tid, SIGTRAP, &hint);
}

void others_memory_written(struct thread *t, long nr, const uint64_t *a)
{
	struct proc_file f = { .pid = a[0] };
	if (nr != __NR_process_vm_writev && (!proc_identify((long)a[0], &f) || f.kind != PROC_MEM))
		return;
	struct soft_record *const r = proc_is_own(t, f.pid) ? NULL : record_find((int32_t)f.pid);
	if (r && r->pid != E.pid)
		others_code_written(r);
}
