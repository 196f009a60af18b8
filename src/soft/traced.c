/* A process that another one traces.
 *
 * The engine fills holes in its own tables when they are hit: the table T of indirect branches,
 * the shadows of the stacks. A tracer would see these faults as signals of the program. So
 * before a process of the tree is traced, by itself (PTRACE_TRACEME) or by another one of the
 * tree (PTRACE_ATTACH, PTRACE_SEIZE), everything that can be hit is mapped; where that is not
 * possible (a limit on address space) the faults remain.
 *
 * A tracer tells the engine in its victim with a signal, before it attaches, and waits until
 * the victim has no holes.
 */
#include "engine.h"
#include "sys.h"

#include <asm/unistd.h>

#define PTRACE_TRACEME_ 0
#define PTRACE_ATTACH_ 16
#define PTRACE_SEIZE_ 0x4206
#define WAIT_ROUNDS 200			/* of half a millisecond; a stopped victim never answers */

/* The whole shadow of a stack, in one mapping. What stood there may go: see SHADOW. */
void traced_thread(struct thread *t)
{
	const long got = sys6(__NR_mmap, gs_of(t), THREAD_SHADOW, 3, 0x4032, -1, 0);
	if (got != (long)gs_of(t))
		return;
	sys3(__NR_madvise, gs_of(t), THREAD_SHADOW, 15);	/* no large pages */
	t->shadow_last = gs_of(t);
	t->shadow_common = 0;
}

void traced_code(struct thread *t)
{
	lock_take(t);
	for (uint32_t i = 0; i < E.n_regions; i++)
		table_map(E.regions[i].start, E.regions[i].end - E.regions[i].start);
	lock_drop();
}

static void prepare(struct thread *t)
{
	if (E.traced)
		return;
	E.traced = true;		/* before a thread is made that must know of it */
	traced_code(t);
	for (uint32_t i = 0; i < E.n_threads; i++)
		if (thread_at(i)->in_use)
			traced_thread(thread_at(i));
}

/* Somebody is about to trace this process. Called where the lock is free, and the program's
 * state is in struct thread. */
void traced_asked(struct thread *t)
{
	prepare(t);
	__atomic_store_n(&E.shared->records[t->record].traced, 1, __ATOMIC_RELEASE);
}

static struct soft_record *record_of(int32_t tid)
{
	const uint32_t n = __atomic_load_n(&E.shared->n_records, __ATOMIC_ACQUIRE);
	for (uint32_t i = 1; i < n && i < SOFT_MAX_RECORDS; i++) {
		struct soft_record *const r = &E.shared->records[i];
		if (r->tid == tid && __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == REC_RUNNING)
			return r;
	}
	return NULL;
}

static void ask(int32_t tid)
{
	struct soft_record *const r = record_of(tid);
	if (!r || __atomic_load_n(&r->traced, __ATOMIC_ACQUIRE))
		return;
	struct k_siginfo info = { .signo = SIGTRAP_, .code = TRACED_KICK };
	for (int i = 0; i < WAIT_ROUNDS; i++) {
		const int64_t half_ms[2] = { 0, 500000 };
		/* again and again: it comes to nothing in a system call, or in C */
		if (i % 20 == 0 && sys4(__NR_rt_tgsigqueueinfo, r->pid, tid, SIGTRAP_, &info) < 0)
			return;
		sys2(__NR_nanosleep, half_ms, 0);
		if (__atomic_load_n(&r->traced, __ATOMIC_ACQUIRE))
			return;
	}
}

long ptrace_syscall(struct thread *t, const uint64_t *a)
{
	if (a[0] == PTRACE_TRACEME_)
		traced_asked(t);
	else if (a[0] == PTRACE_ATTACH_ || a[0] == PTRACE_SEIZE_)
		ask((int32_t)a[1]);
	return ptrace_registers(t, a);
}
