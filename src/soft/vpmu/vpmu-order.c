/* Threads start one after the other.
 *
 * When two threads map memory at the same time, the scheduler decides which address each gets, and
 * a program that hashes addresses then takes another path: the report saw the same effect of ASLR.
 * Most threads wait for work soon after they start. So the creator of a thread waits until the
 * thread makes its first call that may block, or has run for a while. What threads do after that is
 * not ordered.
 */
#include "vpmu-room.h"

#include "sys.h"

#define FIRST_STEPS_NS	10000000ull	/* CPU time after which the creator goes on */
#define PATIENCE_NS	500000000ull	/* … and real time, if the thread waits for something */

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

static uint32_t *begun(uint32_t slot)
{
	return &vpmu_slot(slot)->begun;
}

/* The CPU time of a thread of this process; the maximum if it is gone. */
static uint64_t cpu_time(long tid)
{
	int64_t ts[2];
	if (sys2(__NR_clock_gettime, CLOCK_OF_THREAD(tid), ts) < 0)
		return ~0ull;
	return (uint64_t)ts[0] * 1000000000u + (uint64_t)ts[1];
}

void order_child_first(uint32_t slot, long tid)
{
	static const int64_t nap[2] = { 0, 1000000 };
	const uint64_t start = now_ns();
	while (!__atomic_load_n(begun(slot), __ATOMIC_ACQUIRE)) {
		sys4(__NR_futex, begun(slot), FUTEX_WAIT, 0, nap);
		const uint64_t waited = now_ns() - start;
		if (cpu_time(tid) > FIRST_STEPS_NS || waited > LONGEST_WAIT_NS ||
		    (waited > PATIENCE_NS && !task_wants_cpu((int32_t)tid)))
			break;
	}
	__atomic_store_n(begun(slot), 1, __ATOMIC_RELEASE);
}

void order_step_aside(struct thread *t)
{
	if (__atomic_load_n(begun(t->vpmu.slot), __ATOMIC_RELAXED))
		return;
	__atomic_store_n(begun(t->vpmu.slot), 1, __ATOMIC_RELEASE);
	sys3(__NR_futex, begun(t->vpmu.slot), FUTEX_WAKE, 1);
}

/* A call on a regular file never waits for another thread. */
static bool is_file(uint64_t fd)
{
	struct k_stat st;
	return sys2(__NR_fstat, fd, &st) == 0 && (st.mode & S_IFMT) == S_IFREG;
}

static bool may_block(long nr, const uint64_t *a)
{
	switch (nr) {
	case __NR_futex: {
		const unsigned op = (unsigned)a[1] & FUTEX_CMD_MASK;
		return op != FUTEX_WAKE && op != FUTEX_REQUEUE && op != FUTEX_CMP_REQUEUE &&
		       op != FUTEX_WAKE_OP && op != FUTEX_UNLOCK_PI && op != FUTEX_WAKE_BITSET;
	}
	case __NR_read:
	case __NR_readv:
	case __NR_write:
	case __NR_writev:
		return !is_file(a[0]);
	case __NR_fcntl:
		return a[1] == F_SETLKW || a[1] == F_OFD_SETLKW;
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_accept:
	case __NR_accept4:
	case __NR_connect:
	case __NR_poll:
	case __NR_ppoll:
	case __NR_select:
	case __NR_pselect6:
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
	case __NR_nanosleep:
	case __NR_clock_nanosleep:
	case __NR_pause:
	case __NR_rt_sigsuspend:
	case __NR_rt_sigtimedwait:
	case __NR_wait4:
	case __NR_waitid:
	case __NR_msgrcv:
	case __NR_msgsnd:
	case __NR_semop:
	case __NR_semtimedop:
	case __NR_mq_timedreceive:
	case __NR_mq_timedsend:
	case __NR_flock:
	case __NR_io_uring_enter:
	case __NR_io_getevents:
	case __NR_io_pgetevents:
	case __NR_futex_waitv:
	case __NR_sched_yield:
	case __NR_kill:
	case __NR_tkill:
	case __NR_tgkill:
		return true;
	default:
		return false;
	}
}

void order_syscall(struct thread *t, long nr, const uint64_t *a)
{
	if (!__atomic_load_n(begun(t->vpmu.slot), __ATOMIC_RELAXED) && may_block(nr, a))
		order_step_aside(t);
}
