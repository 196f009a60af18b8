/* Inside the room vpmu: what its files share.
 *
 *	vpmu.c		tasks, values, which event is on which counter, the pages
 *	vpmu-calls.c	perf_event_open, ioctl, mmap
 *	vpmu-fds.c	its descriptors, and where they come from
 *	vpmu-holds.c	which process holds which event; those that were killed
 *	vpmu-read.c	what read() gives
 *	vpmu-flaws.c	what the flaws add, and when
 *	vpmu-insns.c	instructions that count more than once, or not at all
 *	vpmu-kernel.c	events of the kernel's that sample
 *	vpmu-decoys.c	codes that the model's table does not name
 *	vpmu-files.c	sysfs and procfs as the model has them
 *	vpmu-cpuid.c	cpuid
 *	vpmu-clock.c	what code must add up; turns, counters that move
 *	vpmu-order.c	threads begin one after the other
 *	vpmu-sampling.h	overflow and samples: files of its own
 *
 * A task's clock is the number of instructions it retired, VPMU_HZ to the virtual
 * second; everything (multiplexing, interrupts, times) is a function of it, so a
 * run repeats to the last count.
 */
#ifndef SOFT_VPMU_ROOM_H
#define SOFT_VPMU_ROOM_H

#include "vpmu.h"
#include "vpmu-abi.h"

#define VPMU_PER_NS	3ull			/* instructions to the virtual nanosecond */
#define VPMU_TICK	(4000000ull * VPMU_PER_NS)	/* 4 ms, as the kernel rotates */

static inline struct vpmu_shared *vpmu(void) { return (struct vpmu_shared *)ZONE_VPMU; }
static inline struct vpmu_event *vpmu_event(uint32_t i) { return &vpmu()->events[i]; }
#define SLOT_RESERVED (-1)			/* as tid of a task that is being made */
static inline struct vpmu_slot *vpmu_slot(uint32_t i) { return &vpmu()->slots[i]; }

/* The tasks' memory is mapped where it is needed, so many at a time: all of it would be half a
 * gigabyte of address space, which may be limited. */
#define VPMU_CHUNK 256u
extern uint8_t vpmu_mapped[VPMU_MAX_TASKS / VPMU_CHUNK];
void vpmu_map_tasks(uint32_t slot);
static inline struct vpmu_task_mem *vpmu_mem(uint32_t slot)
{
	if (!vpmu_mapped[slot / VPMU_CHUNK])
		vpmu_map_tasks(slot);
	return (struct vpmu_task_mem *)(ZONE_VPMU_TASKS + slot * VPMU_TASK_SIZE);
}

/* So are the events' pages: most events have none mapped. */
#define VPMU_PAGE_CHUNK 1024u
extern uint8_t vpmu_pages_mapped[VPMU_MAX_EVENTS / VPMU_PAGE_CHUNK];
void vpmu_map_pages(uint32_t event);
static inline void *vpmu_page(uint32_t event)
{
	if (!vpmu_pages_mapped[event / VPMU_PAGE_CHUNK])
		vpmu_map_pages(event);
	return (void *)(ZONE_VPMU_PAGES + event * 4096ull);
}

/* Is it on a counter while it counts? Software events are not: the kernel counts them, or, while they sample,
 * vpmu-kernel.c does. */
static inline bool vpmu_needs_counter(const struct vpmu_event *e)
{
	return !e->software && e->row <= VPMU_DECOY_ROW;
}

static inline uint64_t vpmu_sum(uint32_t slot, unsigned k)
{
	const uint64_t *const a = vpmu_mem(slot)->acc[k];
	uint64_t sum = 0;
	for (unsigned i = 0; i < VPMU_BANKS; i++)
		sum += __atomic_load_n(&a[i], __ATOMIC_RELAXED);
	return sum;
}

/* vpmu.c */
uint64_t vpmu_since_zero(const struct vpmu_shared *v);	/* the TSC in ns, from time_zero on */
uint64_t vpmu_clock(uint32_t slot);			/* instructions of its task */
NEEDS_VPMU_LOCK void vpmu_start_clock(uint32_t slot);	/* an event is about to be opened */
NEEDS_VPMU_LOCK uint32_t vpmu_next_group(uint32_t slot, bool pinned, uint64_t after);
void vpmu_lock(struct thread *t);			/* vpmu_shared.lock */
void vpmu_unlock(void);
NEEDS_VPMU_LOCK uint64_t vpmu_value(const struct vpmu_event *e);	/* its own, up to now */
NEEDS_VPMU_LOCK uint64_t vpmu_total(const struct vpmu_event *e);	/* … since it was opened */
NEEDS_VPMU_LOCK void vpmu_times(const struct vpmu_event *e, uint64_t *enabled, uint64_t *running);
/* Did its task run natively while the event was enabled? */
NEEDS_VPMU_LOCK bool vpmu_lost(const struct vpmu_event *e);
NEEDS_VPMU_LOCK void vpmu_schedule(uint32_t slot);
NEEDS_VPMU_LOCK void vpmu_schedule_new(uint32_t event);
/* Moves the first event that another counter can count, with the others where they need it. */
NEEDS_VPMU_LOCK void vpmu_move(uint32_t slot);
NEEDS_VPMU_LOCK void vpmu_set_state(uint32_t event, bool on);
NEEDS_VPMU_LOCK void vpmu_want(uint32_t slot);
/* The task stops for overflows from now on: events that others enabled meanwhile begin to count. */
NEEDS_VPMU_LOCK void vpmu_noticed(uint32_t slot);
/* Would the group and an event of that row fit on an unused PMU? */
NEEDS_VPMU_LOCK bool vpmu_fits(uint32_t leader, uint32_t extra_row);
NEEDS_VPMU_LOCK uint32_t vpmu_new_event(uint32_t slot);
/* True: the other events of the task must be scheduled. */
NEEDS_VPMU_LOCK bool vpmu_free_event(uint32_t event);
NEEDS_VPMU_LOCK void vpmu_show(uint32_t event);	/* updates its mapped page */

/* vpmu-flaws.c */
/* What the row would have counted since the task began. `before`: as of before an rdpmc that the
 * sums include; `clock` is then one less than the task's clock. */
NEEDS_VPMU_LOCK uint64_t vpmu_row_count(uint32_t slot, uint32_t row, uint64_t clock, bool before);
uint64_t vpmu_engine_count(uint32_t slot, unsigned k, bool before);	/* an event of the engine */
bool vpmu_is_flawed(uint32_t row);	/* more than the engine's event: C must answer rdpmc */
uint32_t vpmu_wanted(uint32_t row);	/* what code must add up for it: 1 << enum soft_event */
NEEDS_VPMU_LOCK uint64_t vpmu_interrupts(uint32_t slot, uint64_t clock);	/* until that time */
NEEDS_VPMU_LOCK uint64_t vpmu_all_interrupts(void);		/* of all tasks that ever were */
void vpmu_note_usage(struct thread *t);	/* brings the task's page faults and switches up to date */
/* How many of the last events of the row an rdpmc of the task misses now. */
uint64_t vpmu_missed(uint32_t slot, uint32_t row);

uint64_t vpmu_mix(uint64_t x);		/* a number that looks random */
uint64_t vpmu_seed(uint32_t slot);	/* of all that is random in a task */

void vpmu_fp_begin(const struct thread *t);

/* vpmu-decoys.c */
NEEDS_VPMU_LOCK uint64_t vpmu_decoy(uint32_t slot, uint64_t code, uint64_t clock, bool before);
uint32_t vpmu_decoy_wanted(uint64_t code);

/* vpmu-clock.c */
/* Changes the code, if it does not count what is wanted of the task. False: a debugger holds another task of this
 * memory in the code. */
TAKES_LOCK bool vpmu_can_follow(struct thread *t);
NEEDS_VPMU_LOCK void vpmu_tell(struct thread *t);	/* signals tasks that must count more */
/* Ends what vpmu_pauses() began, where C goes on without vpmu_follow(): a signal makes the task follow soon. */
void vpmu_goes_on(struct thread *t);
/* Does the task's code count what is wanted of it, and stop where it must? So does a task in a system call. */
bool vpmu_has_followed(const struct vpmu_slot *s);
/* Until when the task may run: the clock and its events. `next`: the block that it is about to run,
 * or NULL. */
NEEDS_VPMU_LOCK void vpmu_set_budgets(struct thread *t, const struct block_to_run *next);

/* vpmu-order.c */
void order_child_first(uint32_t slot, long tid);	/* in the creator, after the clone */
void order_step_aside(struct thread *t);		/* its first steps are done */
void order_syscall(struct thread *t, long nr, const uint64_t *a);

/* vpmu-calls.c */
int vpmu_named_row(uint64_t code);	/* the row with that raw code, counted or not; or negative */
extern uint32_t vpmu_maps;		/* pages of events mapped here */
extern uint32_t vpmu_readable;		/* … of these, of events that rdpmc may read */
void vpmu_maps_after_fork(void);
NEEDS_VPMU_LOCK void vpmu_maps_before_exec(int step);	/* -1: they go; +1: it failed */

/* vpmu-files.c */
/* Is it the file in /proc with the task's name, and do its events want to know of that? */
bool vpmu_is_own_comm(const struct thread *t, uint64_t fd);
TAKES_VPMU_LOCK long vpmu_write(struct thread *t, const uint64_t *a, bool *done);

/* vpmu-read.c */
/* Must a read of the software event be answered here? */
bool vpmu_reads(uint32_t event);
TAKES_VPMU_LOCK long vpmu_read_event(struct thread *t, uint32_t event, uint64_t to, uint64_t size);
TAKES_VPMU_LOCK long vpmu_readv_event(struct thread *t, uint32_t event, uint64_t iov, uint64_t n);

/* vpmu-fds.c */
extern uint32_t vpmu_fds;		/* descriptors of events in this process */
uint32_t fd_event(uint64_t fd);		/* 0: the descriptor is of no event */
long fd_of_event(uint32_t event);	/* negative: this process has none */
NEEDS_VPMU_LOCK long fd_new(uint32_t event, bool cloexec);
NEEDS_VPMU_LOCK bool fd_note(const struct thread *t, uint32_t fd, uint32_t event);
TAKES_VPMU_LOCK void fd_forget(struct thread *t, uint32_t fd);
uint64_t fd_kernel_id(uint64_t fd);	/* 0: not an event of the kernel's */
TAKES_VPMU_LOCK long fd_dup(struct thread *t, long nr, const uint64_t *a);
TAKES_VPMU_LOCK void fd_close_range(struct thread *t, const uint64_t *a);
TAKES_VPMU_LOCK long fd_message(struct thread *t, long nr, const uint64_t *a, bool *done);
NEEDS_VPMU_LOCK void vpmu_fds_after_exec(void);
/* Adds how many descriptors each event has in this process. */
NEEDS_VPMU_LOCK void fds_count(uint32_t *by_event);

/* vpmu-holds.c */
/* This process has one descriptor or mapping of the event more, … */
NEEDS_VPMU_LOCK void hold_take(uint32_t event);
/* … and one less; the last one frees the event. */
NEEDS_VPMU_LOCK void hold_drop(uint32_t event);
/* Before a process is made, whose slot is t->vpmu.child_slot, … */
NEEDS_VPMU_LOCK void holds_making(struct thread *t);
/* … and after; pid 0: it was not made. */
NEEDS_VPMU_LOCK void holds_made(uint32_t slot, int32_t pid);
NEEDS_VPMU_LOCK void holds_forked(uint32_t slot);	/* in the child of a fork */
NEEDS_VPMU_LOCK void holds_before_exec(const struct thread *t);
NEEDS_VPMU_LOCK void holds_after_exec(uint32_t slot);	/* after vpmu_fds_after_exec() */
NEEDS_VPMU_LOCK void holds_end(const struct thread *t);	/* the last thread ends */
NEEDS_VPMU_LOCK void holds_collect(bool hard);	/* frees what only killed processes held */
NEEDS_VPMU_LOCK void holds_relock(void);

#endif
