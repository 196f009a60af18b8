/* One perf event of the calling thread and how its register is read: what
 * counters, pairs and groups are made of.
 *
 *	part_open()	the system call, with user access asked for
 *	part_map()	the page; without it only part_read() works
 *	part_sync()	from the page: where the register is and what to add to it
 *	part_quick()	the register; false when the page has changed since
 *	part_read()	by read(2)
 *
 * What the kernel does to offset (x86: x86_perf_event_set_period and _update in
 * arch/x86/events/core.c; arm64: armpmu_event_set_period in drivers/perf/arm_pmu.c):
 * a counting event's register is started at -period, period being 2^(width-1) - 1 at
 * most, so that its overflow raises an interrupt. The interrupt adds what was
 * counted and starts the register at -period again; offset (count minus the
 * register's start) has then grown by one period, index is the same. Between
 * overflow and interrupt the register is a small positive number, and
 * offset + register is right throughout, if the register is taken as signed.
 * A context switch takes the event off and puts it back with what was left of the
 * period, so offset stays, but for CPUs that want the period rounded (Broadwell's
 * INST_RETIRED.PREC_DIST): there it changes, and is noticed.
 *
 * After a read(2) or an update without restart, the kernel remembers the register
 * as read, without its sign: offset is then 2^width off until the next restart. So
 * offset + register is right modulo 2^width only, and part_sync() fixes the
 * multiple with a value from read(2).
 */
#ifndef COUNTER_PART_H
#define COUNTER_PART_H

#include "perf-attr.h"
#include "perf-diagnose.h"
#include "pmc.h"

struct part {
	int fd;				/* -1: not open */
	unsigned members;		/* of a leader: the parts of its group, itself
					 * included, which one read(2) gives; otherwise 1 */
	struct perf_event_attr attr;	/* as it was opened */
	const volatile struct perf_event_mmap_page *page;	/* NULL: no page */
	/* since the last part_sync(): */
	uint32_t index;			/* 0: not readable by the program */
	int64_t offset;
	uint64_t select, sign, bias, key;
	bool forbidden;			/* the register was readable, and then faulted (read guard) */
};

/* What part_sync() found. */
enum part_found {
	PART_SAME,		/* as remembered */
	PART_MOVED,		/* another register */
	PART_WRAPPED,		/* same register, another offset */
	PART_NO_INDEX,		/* counts (as far as read(2) knows), but not readable */
	PART_LOST,		/* pinned, and has no counter */
	PART_FAILED,		/* read(2) failed */
};

/* Opens e for the calling thread; p->members is set. A negative leader_fd makes it a leader, pinned if
 * asked. Returns 0 or the diagnosed code. */
int part_open(struct part *p, const struct tare_encoding *e, int leader_fd, bool pinned,
	      const struct perf_ask *ask, const struct perf_facts *f, struct tare_why *why);
/* Lets a leader of several parts go, which part_open() leaves disabled: a sibling
 * added to a group that is already counting stays off until the kernel happens to
 * schedule the thread anew (seen on 6.18). 0 or -errno. */
int part_enable(const struct part *leader);
/* Maps the page at exactly `where` (over whatever is there). 0 or -errno. */
int part_map(struct part *p, void *where, size_t page_size);
/* This event alone, by read(2); as perf_read(). */
int part_read(const struct part *p, struct perf_value *v);
void part_close(struct part *p);	/* the descriptor; the page is the owner's */

enum part_found part_sync(struct part *p, bool second);
/* total = events since it was opened. The caller has serialised. False: the page is not as
 * remembered, or the register was forbidden meanwhile (p->forbidden). */
bool part_quick(struct part *p, uint64_t *total);
/* With the seqlock and the page's times, for events that may be multiplexed:
 * retries while the kernel writes. False: not readable now, use read(2). */
bool part_timed(struct part *p, struct perf_value *v);
/* index and the low half of offset in one word. */
uint64_t part_key(const volatile struct perf_event_mmap_page *page);

#endif
