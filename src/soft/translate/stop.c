/* Keeping the other threads out of the code cache, so that it may be emptied and tables moved.
 *
 * A thread is *inside* from its lookup of a block (under the lock) until C has read everything
 * about the way it left the cache (left_cache()). Only while it is inside does it hold addresses
 * of the cache, or ids of blocks and links.
 *
 *	stop_others()	  sets cache.stopping, so that lookups wait, and kicks threads that are
 *			  inside with a signal. A thread in the cache leaves it at once (kicked()
 *			  in signal.c). A thread in C on its way in is sent back to the lookup
 *			  by thread.again. A thread in C on its way out needs no signal. Threads
 *			  in a system call are not inside and keep sleeping.
 *	release_others()  lets lookups go on; they find the new state.
 *
 * The lock is not held while the other threads leave: they need it to find the program's state
 * (recover.c).
 */
#include "translate-room.h"
#include "sys.h"

#define PATIENCE_NS 2000000000ull	/* then a debugger may hold the thread */

void lock_take_to_enter(struct thread *t)
{
	lock_take();
	while (cache.stopping) {
		lock_drop();
		sys4(__NR_futex, &cache.stopping, FUTEX_WAIT_PRIVATE, 1, 0);
		lock_take();
	}
}

static void kick(struct thread *t)
{
	__atomic_store_n(&t->code.kicked, true, __ATOMIC_RELAXED);
	const struct k_siginfo info = { .signo = SIGTRAP, .code = STOP_KICK };
	sys4(__NR_rt_tgsigqueueinfo, t->is_vfork ? t->tid : E.pid, t->tid, SIGTRAP, &info);
}

/* Kicks the threads that are inside. True: there are none. */
static bool kick_others(const struct thread *self)
{
	bool none = true;
	for (uint32_t i = 0; i < E.n_threads; i++) {
		struct thread *const t = thread_at(i);
		if (t == self || !t->in_use || !__atomic_load_n(&t->code.inside, __ATOMIC_ACQUIRE))
			continue;
		none = false;
		kick(t);
	}
	return none;
}

/* Is one that is inside stopped? Any other leaves when it gets a CPU, which takes its time on a
 * busy machine. */
static bool held_inside(const struct thread *self)
{
	for (uint32_t i = 0; i < E.n_threads; i++) {
		const struct thread *const t = thread_at(i);
		if (t == self || !t->in_use || !__atomic_load_n(&t->code.inside, __ATOMIC_ACQUIRE))
			continue;
		const char state = task_state(t->tid);
		if (state == 't' || state == 'T' || !state)
			return true;
	}
	return false;
}

static void let_in(void)
{
	__atomic_store_n(&cache.stopping, 0, __ATOMIC_RELEASE);
	sys3(__NR_futex, &cache.stopping, FUTEX_WAKE_PRIVATE, 0x7fffffff);
}

bool stop_others(struct thread *t)
{
	static const int64_t nap[2] = { 0, 50000 };
	lock_take_to_enter(t);
	__atomic_store_n(&cache.stopping, 1, __ATOMIC_RELEASE);
	lock_drop();
	const uint64_t begin = now_ns();
	while (!kick_others(t)) {
		const uint64_t waited = now_ns() - begin;
		if (waited > LONGEST_WAIT_NS || (waited > PATIENCE_NS && held_inside(t))) {
			let_in();
			return false;
		}
		sys2(__NR_nanosleep, nap, 0);
	}
	lock_take();
	return true;
}

void release_others(void)
{
	let_in();
	lock_drop();
}
