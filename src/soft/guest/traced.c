/* A process that another one traces.
 *
 * The engine maps parts of its tables when a thread faults there: T, and the shadows of the stacks.
 * A tracer would see these faults as signals of the program. So before a counted process is
 * traced, because it asks for it (PTRACE_TRACEME) or by another counted process (PTRACE_ATTACH,
 * PTRACE_SEIZE), all of these parts are mapped. Where that is not possible (a limit on address
 * space), the tracer sees the faults.
 *
 * The engine in the tracer sends a signal to the engine in the tracee before it attaches, and waits
 * until the tracee has mapped everything. A process that stops itself does the same, because
 * tracers wait for such a stop; a process that another one has stopped cannot.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

#define WAIT_ROUNDS 200			/* of half a millisecond, in which the tracee wants no CPU */
enum { TRACED_HEARD = 1, TRACED_READY };	/* soft_record.traced */

/* Maps the whole shadow of a stack. Its contents are lost, which is allowed (see MAX_RETURNS). */
void traced_thread(struct thread *t)
{
	const long got = sys6(__NR_mmap, gs_of(t), THREAD_SHADOW, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (got != (long)gs_of(t))
		return;
	sys3(__NR_madvise, gs_of(t), THREAD_SHADOW, MADV_NOHUGEPAGE);
	t->shadow.last = gs_of(t);
	t->shadow.common = 0;
}

void traced_code(struct thread *t)
{
	lock_take();
	for (uint32_t i = 0; i < cache.n_regions; i++)
		table_map(cache.regions[i].start, cache.regions[i].end - cache.regions[i].start);
	lock_drop();
}

static void prepare(struct thread *t)
{
	if (cache.traced)
		return;
	cache.traced = true;		/* before a thread is made that must know of it */
	traced_code(t);
	for (uint32_t i = 0; i < E.n_threads; i++)
		if (thread_at(i)->in_use)
			traced_thread(thread_at(i));
}

/* Called where all of the program's state is in struct thread. */
void traced_asked(struct thread *t)
{
	prepare(t);
	__atomic_store_n(&E.shared->records[t->record].traced, TRACED_READY, __ATOMIC_RELEASE);
}

/* In the signal handler, where the lock may be held: resume() does the rest. */
void traced_heard(struct thread *t)
{
	t->task.trace_asked = true;		/* resume() looks */
	__atomic_store_n(&E.shared->records[t->record].traced, TRACED_HEARD, __ATOMIC_RELEASE);
}

/* A stopped task would take the signal when its tracer lets it go on, and the tracer would see
 * it. */
static bool is_stopped(int32_t tid)
{
	const char state = task_state(tid);
	return state == 'T' || state == 't' || !state;
}

static void ask(int32_t tid)
{
	struct soft_record *const r = record_find(tid);
	const struct k_siginfo info = { .signo = SIGTRAP, .code = TRACED_KICK };
	uint32_t state = TRACED_HEARD;	/* a signal is sent only when the one before was taken */
	if (!r)
		return;
	if (__atomic_load_n(&r->traced, __ATOMIC_ACQUIRE) == TRACED_READY)
		return;
	const uint64_t begin = now_ns();
	for (int i = 0; i < WAIT_ROUNDS && now_ns() - begin < LONGEST_WAIT_NS; i += !task_wants_cpu(tid)) {
		const int64_t half_ms[2] = { 0, 500000 };
		if (state == TRACED_HEARD) {
			__atomic_store_n(&r->traced, 0, __ATOMIC_RELEASE);
			if (is_stopped(tid) ||
			    sys4(__NR_rt_tgsigqueueinfo, r->pid, tid, SIGTRAP, &info) < 0)
				return;
		}
		sys2(__NR_nanosleep, half_ms, 0);
		state = __atomic_load_n(&r->traced, __ATOMIC_ACQUIRE);
		if (state == TRACED_READY)
			return;
	}
}

long ptrace_syscall(struct thread *t, const uint64_t *a)
{
	if (a[0] == PTRACE_TRACEME)
		traced_asked(t);
	else if (a[0] == PTRACE_ATTACH || a[0] == PTRACE_SEIZE)
		ask((int32_t)a[1]);
	return ptrace_registers(t, a);
}
