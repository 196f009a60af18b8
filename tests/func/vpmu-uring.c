/* io_uring reads an event behind the virtual PMU's back: it gets an error, never the 0 of the kernel's event. Run by
 * `tare run --cpu zen2`. */
#include "sampling.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>

struct uring {
	int fd;
	char *ring;
	struct io_uring_sqe *sqes;
	struct io_uring_params p;
};

static struct uring set_up(void)
{
	struct uring u = { 0 };
	u.fd = (int)syscall(SYS_io_uring_setup, 4, &u.p);
	if (u.fd < 0 || !(u.p.features & IORING_FEAT_SINGLE_MMAP))
		return (struct uring){ .fd = -1 };
	u.ring = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, u.fd, IORING_OFF_SQ_RING);
	u.sqes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, u.fd, IORING_OFF_SQES);
	CHECK(u.ring != MAP_FAILED && u.sqes != MAP_FAILED, "rings");
	return u;
}

static unsigned *word(const struct uring *u, unsigned offset) { return (unsigned *)(u->ring + offset); }

/* The result of a read request. */
static int read_by(struct uring *u, int fd, void *to, unsigned size)
{
	*u->sqes = (struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)to, .len = size };
	const unsigned tail = *word(u, u->p.sq_off.tail);
	*word(u, u->p.sq_off.array + 4 * (tail & *word(u, u->p.sq_off.ring_mask))) = 0;
	__atomic_store_n(word(u, u->p.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	CHECK(syscall(SYS_io_uring_enter, u->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1, "io_uring_enter");
	const unsigned head = *word(u, u->p.cq_off.head);
	const struct io_uring_cqe *const cqe = (const struct io_uring_cqe *)(u->ring + u->p.cq_off.cqes) +
					       (head & *word(u, u->p.cq_off.ring_mask));
	__atomic_store_n(word(u, u->p.cq_off.head), head + 1, __ATOMIC_RELEASE);
	return cqe->res;
}

int main(void)
{
	struct perf_event_attr a = vpmu_instructions();
	a.disabled = 0;
	const int fd = open_or_die(&a, 0, -1);
	struct uring u = set_up();
	if (u.fd < 0) {
		printf("no io_uring here\n");
		return 77;
	}
	for (unsigned size = 8; size < 40; size += 8) {
		uint64_t to[5] = { 77 };
		const int res = read_by(&u, fd, to, size);
		CHECK(res == -ENOSPC && to[0] == 77, "a read of %u bytes gives %d", size, res);
	}
	CHECK(vpmu_read(fd) > 100, "read()");
	return 0;
}
