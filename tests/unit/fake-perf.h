/* A kernel with a PMU, in the process of the test.
 *
 * The system calls that counting uses are replaced at link time (perf_event_open
 * through syscall, ioctl, mmap, read, close), and the instruction that reads a counter,
 * which faults on a machine without one, is carried out by the fault's handler. So
 * the code under test is the very code that runs on hardware, its inline reads
 * included, and the test decides what the PMU and the kernel do between any two of
 * its instructions.
 */
#ifndef TESTS_FAKE_PERF_H
#define TESTS_FAKE_PERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_EVENTS 8

struct fake_event {
	bool open;
	int fd;
	struct perf_event_attr attr;
	int leader_fd;
	struct perf_event_mmap_page *page;	/* NULL: not mapped */
	uint32_t index;		/* 0: on no counter */
	uint64_t count;		/* the truth, as read(2) gives it */
	bool lost;		/* pinned and out of counters: read(2) is at end of file */
	uint64_t enabled, running;	/* of read(2) */
};

struct fake_kernel {
	unsigned width;
	unsigned page_width;	/* pmc_width as the page says it; fake_reset(): width */
	bool short_period;	/* 2^31 - 1 at any width, as before full-width writes */
	bool sign_extends;	/* registers read with the sign in the upper bits */
	bool cap;		/* cap_user_rdpmc */
	unsigned counters;	/* more pinned events than these are lost */
	int open_errno;		/* every perf_event_open fails with it; 0: none */
	int mmap_errno;
	bool time;		/* cap_user_time, with a clock that stands still */
	struct fake_event events[FAKE_EVENTS];
	uint64_t regs[32];	/* as the hardware holds them: width bits */
	unsigned reads;		/* registers read so far */
	void (*before_read)(unsigned reg);	/* called by the fault handler */
	void (*after_read)(unsigned reg);
};
extern struct fake_kernel fake;

/* Starts over: width bits, all allowed, four counters, the handler installed. */
void fake_reset(unsigned width);
/* The i-th event opened since. */
struct fake_event *fake_event(unsigned i);
/* n events happen on it: count and register both move. No interrupt is taken. */
void fake_happen(struct fake_event *e, uint64_t n);
/* The overflow's interrupt: the kernel restarts the register. */
void fake_overflow(struct fake_event *e);
/* The kernel puts it on another register (index), or on none (0). */
void fake_move(struct fake_event *e, uint32_t index);
/* As after read(2): the kernel remembers the register without its sign. */
void fake_forget_sign(struct fake_event *e);

#endif
