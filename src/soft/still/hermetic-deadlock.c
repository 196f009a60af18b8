/* All tasks of a still world wait for each other: that is noticed, and for the launcher each task notes what it
 * waits for. Nothing is changed: the run stays so, as natively.
 *
 * When all wait, they look again every millisecond (idle() in hermetic-order.c). After LOOK_TURNS such turns in a row
 * in which nothing happened, each also looks whether only a task of the run can end its wait. A signal from outside
 * can still end some of these waits, so "deadlock" is what the launcher says, and takes back if something happens.
 */
#include "still-room.h"
#include "sys.h"

#define DEADLOCK_TURNS 400
#define FUTEX_PRIVATE 128

#define PIPE_MAGIC 0x50495045u
#define SOL_SOCKET_ 1
#define SO_PEERCRED_ 17

static bool is_of_run(int32_t shown)
{
	return shown >= HERMETIC_FIRST_PID && (uint32_t)(shown - HERMETIC_FIRST_PID) < hermetic_shared()->n_tasks;
}

bool is_inside(int64_t fd)
{
	uint64_t fs[16] = { 0 };
	struct { int32_t pid, uid, gid; } peer = { 0 };
	uint32_t size = sizeof(peer);
	if (fd < 0 || is_outside(fd))
		return false;
	if (sys2(__NR_fstatfs, fd, fs) == 0 && (uint32_t)fs[0] == PIPE_MAGIC)
		return true;
	return sys5(__NR_getsockopt, fd, SOL_SOCKET_, SO_PEERCRED_, &peer, &size) == 0 && is_of_run(id_shown(peer.pid));
}

static bool all_inside(const uint64_t *a)
{
	for (uint64_t i = 0; i < (uint32_t)a[1]; i++) {
		int32_t p[2];
		if (!copy_guest(p, (const void *)(a[0] + i * 8), sizeof(p)) || (p[0] >= 0 && !is_inside(p[0])))
			return false;
	}
	return a[1] != 0;
}

/* A mutex of glibc has its owner's id behind the word and a count; who waits for a thread's end waits for its id to
 * be cleared. Others have neither: the task is not known. */
static void note_holder(struct thread *t, const uint64_t *a)
{
	struct hermetic_task *const k = own_task(t);
	int32_t words[3];
	if (!copy_guest(words, (const void *)a[0], sizeof(words)))
		return;
	const bool mutex = words[0] > 0 && words[0] <= 2 && is_of_run(words[2]);
	const int32_t who = mutex ? words[2] : words[0];
	if (!is_of_run(who) || hermetic_task((uint32_t)(who - HERMETIC_FIRST_PID))->group != k->group)
		return;
	k->wait_mutex = mutex;
	k->wait_for = who;
}

bool waits_for_tasks(struct thread *t, long nr, const uint64_t *a)
{
	struct hermetic_task *const k = own_task(t);
	k->wait_nr = (int32_t)nr;
	k->wait_for = 0;
	k->wait_mutex = 0;
	for (int i = 0; i < 3; i++)
		k->wait_a[i] = a[i];
	switch (nr) {
	case __NR_futex:
		note_holder(t, a);
		return a[1] & FUTEX_PRIVATE || !(E.shared->hermetic.left & HERMETIC_SHARED);
	case __NR_wait4:
		k->wait_for = (int32_t)a[0] > 0 ? (int32_t)a[0] : 0;
		return true;
	case __NR_waitid:
		k->wait_for = (int32_t)a[0] == 1 /* P_PID */ ? (int32_t)a[1] : 0;
		return true;
	case __NR_flock:
	case __NR_fcntl:
	case __NR_semop:
	case __NR_semtimedop:
	case __NR_msgsnd:
	case __NR_msgrcv:
		return true;
	case __NR_poll:
	case __NR_ppoll:
		return all_inside(a);
	case __NR_read:
	case __NR_readv:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_write:
	case __NR_writev:
	case __NR_sendto:
	case __NR_sendmsg:
		return is_inside((int32_t)a[0]);
	case __NR_splice:
	case __NR_tee:
		return is_inside((int32_t)a[0]) && is_inside((int32_t)a[nr == __NR_tee ? 1 : 2]);
	default:			/* signals, epoll, select: also from outside */
		return false;
	}
}

/* A process that outlives tare is not to be left behind where it can never end: in a deadlock, or without tare, which was
 * killed. (After an orderly end, what the command left running goes on.) */
void deadlock_or_orphaned(void)
{
	const bool over = __atomic_load_n(&E.shared->closed, __ATOMIC_ACQUIRE);
	if (over ? hermetic_shared()->deadlock != 0 : launcher_was_killed())
		sys1(__NR_exit_group, 128 + SIGKILL);
}

void deadlock_notice(uint32_t for_tasks)
{
	struct hermetic_shared *const h = hermetic_shared();
	const uint64_t busy = h->progress - h->idle_progress;
	h->idle_turns = busy == h->busy_progress ? h->idle_turns + 1 : 0;
	h->busy_progress = busy;
	__atomic_store_n(&h->deadlock, h->idle_turns >= DEADLOCK_TURNS && for_tasks == h->n_live, __ATOMIC_RELEASE);
}
