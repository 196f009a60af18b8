/* What the kernel writes for the program: results of system calls, and words that it keeps up to date.
 *
 * The kernel cannot write to a guarded page (pages.c). Most calls can be made again then, with the
 * pages writable (plain_syscall()). But a call like wait4 or accept takes something away before it
 * writes what that was, or the first part of its work is done and the rest not. And the page may be
 * guarded while the call waits, because another thread runs code there: gcc puts code for nested
 * functions into stacks. So the engine notes what such a call writes before it is made, and pages
 * of that are not guarded.
 */
#include "guest-room.h"
#include "sys.h"

/* A call writes as many bytes to the address in its argument `at`: `size`, times its argument `times` if
 * that is not NONE. */
#define NONE 7
#define MOST 256		/* where the size is not known, and no more is likely */

static const struct output {
	uint16_t nr;
	uint16_t size;
	uint8_t at, times;
} outputs[] = {
	{ __NR_read, 1, 1, 2 },
	{ __NR_pread64, 1, 1, 2 },
	{ __NR_recvfrom, 1, 1, 2 },
	{ __NR_recvfrom, 128, 4, NONE },
	{ __NR_recvfrom, 4, 5, NONE },
	{ __NR_recvmmsg, 64, 1, 2 },
	{ __NR_recvmmsg, 16, 4, NONE },
	{ __NR_sendmmsg, 64, 1, 2 },
	{ __NR_accept, 128, 1, NONE },
	{ __NR_accept, 4, 2, NONE },
	{ __NR_accept4, 128, 1, NONE },
	{ __NR_accept4, 4, 2, NONE },
	{ __NR_getsockopt, MOST, 3, NONE },
	{ __NR_getsockopt, 4, 4, NONE },
	{ __NR_wait4, 4, 1, NONE },
	{ __NR_wait4, 144, 3, NONE },
	{ __NR_waitid, 128, 2, NONE },
	{ __NR_waitid, 144, 4, NONE },
	{ __NR_rt_sigtimedwait, 128, 1, NONE },
	{ __NR_rt_sigpending, 8, 0, NONE },
	{ __NR_clone, 4, 2, NONE },
	{ __NR_clone, 4, 3, NONE },
	{ __NR_msgrcv, 1, 1, 2 },
	{ __NR_msgrcv, 8, 1, NONE },
	{ __NR_mq_timedreceive, 1, 1, 2 },
	{ __NR_mq_timedreceive, 4, 3, NONE },
	{ __NR_sendfile, 8, 2, NONE },
	{ __NR_splice, 8, 1, NONE },
	{ __NR_splice, 8, 3, NONE },
	{ __NR_copy_file_range, 8, 1, NONE },
	{ __NR_copy_file_range, 8, 3, NONE },
	{ __NR_getdents, 1, 1, 2 },
	{ __NR_getdents64, 1, 1, 2 },
	{ __NR_getrandom, 1, 0, 1 },
	{ __NR_ioctl, MOST, 2, NONE },
	{ __NR_prctl, MOST, 1, NONE },
	{ __NR_arch_prctl, 8, 1, NONE },
	{ __NR_ptrace, MOST, 3, NONE },
	{ __NR_setitimer, 32, 2, NONE },
	{ __NR_timer_settime, 32, 3, NONE },
	{ __NR_timerfd_settime, 32, 3, NONE },
	{ __NR_prlimit64, 16, 3, NONE },
	{ __NR_nanosleep, 16, 1, NONE },
	{ __NR_clock_nanosleep, 16, 3, NONE },
	{ __NR_poll, 8, 0, 1 },
	{ __NR_ppoll, 8, 0, 1 },
	{ __NR_ppoll, 16, 2, NONE },
	{ __NR_select, 128, 1, NONE },
	{ __NR_select, 128, 2, NONE },
	{ __NR_select, 128, 3, NONE },
	{ __NR_select, 16, 4, NONE },
	{ __NR_pselect6, 128, 1, NONE },
	{ __NR_pselect6, 128, 2, NONE },
	{ __NR_pselect6, 128, 3, NONE },
	{ __NR_pselect6, 16, 4, NONE },
	{ __NR_epoll_wait, 12, 1, 2 },
	{ __NR_epoll_pwait, 12, 1, 2 },
	{ __NR_epoll_pwait2, 12, 1, 2 },
	{ __NR_io_getevents, 32, 3, 2 },
	{ __NR_io_pgetevents, 32, 3, 2 },
};

/* The ranges that a call writes. What there is no room for goes to the last one, which then holds
 * all that is between, too. */
struct ranges {
	struct written of[WRITTEN - WRITTEN_CALL];
	unsigned n;
};

static void add(struct ranges *r, uint64_t start, uint64_t size)
{
	const unsigned most = sizeof(r->of) / sizeof(r->of[0]);
	if (!start || !size || start >= USER_END)
		return;
	const uint64_t end = size < USER_END - start ? start + size : USER_END;
	if (r->n < most) {
		r->of[r->n++] = (struct written){ start, end };
		return;
	}
	struct written *const last = &r->of[most - 1];
	if (start < last->start)
		last->start = start;
	if (end > last->end)
		last->end = end;
}

#define MOST_PIECES 1024	/* UIO_MAXIOV */

static void add_pieces(struct ranges *r, uint64_t at, uint64_t n)
{
	struct { uint64_t base, size; } piece;
	for (uint64_t i = 0; i < n && i < MOST_PIECES; i++)
		if (copy_guest(&piece, (const void *)(at + i * sizeof(piece)), sizeof(piece)))
			add(r, piece.base, piece.size);
}

static void add_message(struct ranges *r, uint64_t at)
{
	struct { uint64_t name, name_size, iov, n_iov, control, control_size, flags; } m;
	if (!copy_guest(&m, (const void *)at, sizeof(m)))
		return;
	add(r, at, sizeof(m));
	add(r, m.name, (uint32_t)m.name_size);
	add(r, m.control, m.control_size);
	add_pieces(r, m.iov, m.n_iov);
}

#define MESSAGE_SIZE 64		/* of struct mmsghdr */

static void add_nested(struct ranges *r, long nr, const uint64_t *a)
{
	struct clone_args c;
	switch (nr) {
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
	case __NR_process_vm_readv:
		add_pieces(r, a[1], a[2]);
		break;
	case __NR_recvmsg:
		add_message(r, a[1]);
		break;
	case __NR_recvmmsg:
		for (uint64_t i = 0; i < (uint32_t)a[2] && i < MOST_PIECES; i++)
			add_message(r, a[1] + i * MESSAGE_SIZE);
		break;
	case __NR_clone3:
		if (a[1] < CLONE_ARGS_SIZE_VER0 || !copy_guest(&c, (const void *)a[0], CLONE_ARGS_SIZE_VER0))
			break;
		add(r, c.pidfd, 4);
		add(r, c.child_tid, 4);
		add(r, c.parent_tid, 4);
		break;
	default:
		break;
	}
}

bool outputs_begin(struct thread *t, long nr, const uint64_t *a)
{
	struct ranges r = { .n = 0 };
	for (unsigned i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		const struct output *const o = &outputs[i];
		if (o->nr != nr)
			continue;
		const uint64_t times = o->times == NONE ? 1 : a[o->times];
		add(&r, a[o->at], times < USER_END / o->size ? times * o->size : USER_END);
	}
	add_nested(&r, nr, a);
	if (!r.n)
		return false;
	lock_take();
	for (unsigned i = 0; i < r.n; i++)
		pages_written_by_kernel(t, WRITTEN_CALL + i, r.of[i].start, r.of[i].end - r.of[i].start);
	lock_drop();
	return true;
}

void outputs_end(struct thread *t)
{
	lock_take();
	for (unsigned i = WRITTEN_CALL; i < WRITTEN; i++)
		pages_written_by_kernel(t, i, 0, 0);
	lock_drop();
}

void outputs_keep(struct thread *t, unsigned which, uint64_t start, uint64_t size)
{
	lock_take();
	pages_written_by_kernel(t, which, start, size);
	lock_drop();
}
