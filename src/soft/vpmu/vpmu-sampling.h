/* Overflow of virtual counters, and what follows from it: samples, wake-ups, signals.
 *
 *	vpmu-overflow.c	stopping a task at exactly the N-th event; what happens there
 *	vpmu-kernel.c	events of the kernel's that sample
 *	vpmu-access.c	the address that an instruction uses
 *	vpmu-ring.c	ring buffers: where they are, writing records, who is woken up
 *	vpmu-sample.c	the bytes of SAMPLE records
 *	vpmu-sideband.c	the records MMAP, MMAP2, COMM, FORK, EXIT
 *	vpmu-poll.c	poll, select and fcntl on descriptors of events
 *	vpmu-epoll.c	epoll on them
 *
 * The exact stop. A task's code adds up events block by block, so C would learn of the N-th event
 * after its block has run. To stop at the event itself, code of a mode with `budgets` (translate.h)
 * adds what a block is worth before the block runs, and looks whether the event's budget allows
 * it; if not, it leaves the cache before the block (LINK_TICK), and C takes the counts of the block
 * back. Looking costs one jump that is not taken: the banks that code adds to are negative, as much
 * as the budget, and adding sets the carry flag when it is used up. The last bank, which only C
 * changes, makes the sum right. A budget is how many events are missing, less one, shared by the
 * banks: so the block with the N-th event never runs as a whole. vpmu_tick() computes how many are
 * missing. If the block that is about to run has so many (or the chain that begins with it: it adds for
 * its uncounted blocks, too), its first part is translated, up to the instruction that makes the N-th
 * event (thread.code.stops). That part runs once, and is kept for the next time; then
 * vpmu_stepped() finds the overflow with the program's state right after the instruction. If it
 * has not, budgets are shared out again.
 *
 * In a process that sees the flags of its faults (cache.precise), a load or store leaves no flag free before
 * it. There a block asks behind its first instructions, up to four, if flags are free then (mode.late), and
 * budgets end as many events early.
 *
 * Only C of the task itself writes its budgets, out of the cache. A task that changes events of
 * another one sets `stale` in its slot and kicks it (vpmu_tell()).
 *
 * Skid (flaws.skid). After the exact stop the task runs on, as the sampler's interrupt_at says: the
 * clock needs an exact stop then, too. Only there the overflow happens, with all that follows from it,
 * so that registers, counters and signal contexts are those of a CPU that noticed it late. A system
 * call ends the skid: the kernel would see the interrupt at once.
 *
 * A process has budgets in its code from its first event with a sample period on; before that,
 * nothing of this costs anything.
 */
#ifndef SOFT_VPMU_SAMPLING_H
#define SOFT_VPMU_SAMPLING_H

#include "vpmu-room.h"

#include <linux/perf_event.h>

/* A ring buffer: the pages behind the page of the event that it belongs to, whose data_head and
 * data_tail it uses. */
struct vpmu_ring {
	uint64_t at;		/* from VPMU_RINGS_OFFSET */
	uint64_t size;		/* bytes, a power of two; 0: there is none */
	uint64_t head;		/* grows downwards with attr.write_backward */
	uint64_t wakeup, watermark;	/* as in the kernel's struct perf_buffer */
	uint64_t lost;		/* records for which there was no room, not reported yet */
	uint64_t hidden_since;	/* reader_ns() soon after records began to be missing in data_head, or 0 */
	uint64_t stuck_at;	/* 1 + data_tail of a reader that let a writer wait in vain */
	uint32_t events;	/* samples since the last wake-up */
	uint32_t hidden;	/* records that are not in data_head */
	int32_t reader;		/* the process that has mapped it last */
	uint32_t overwrite, paused;
	uint32_t ready;		/* poll() has something to say */
};

/* What an event is besides a counter. Like the event, it is guarded by vpmu_shared.lock. */
struct vpmu_sampler {
	/* from its attributes */
	uint64_t type, regs_user, regs_intr;
	uint32_t stack_user, wakeup;
	uint16_t max_stack;
	uint8_t precise, freq, watermark, mmap, mmap_data, mmap2, comm, task, id_all, backward;
	uint8_t no_user_chain, no_kernel_chain;
	/* overflow */
	uint8_t on;		/* it has a period */
	uint64_t hz;		/* attr.sample_freq */
	uint64_t period;
	uint64_t next;		/* vpmu_total() of the next overflow */
	uint64_t since;		/* the clock at the last one, or when the event was enabled */
	uint64_t interrupt_at;	/* flaws.skid: the clock when the overflow is noticed; 0: none waits */
	uint64_t overflows;	/* so far: the skid of each is drawn from it */
	uint64_t tick;		/* flaws.throttle: the tick of the last overflow, … */
	uint32_t in_tick;	/* … and how many there were in it */
	uint64_t limit;		/* PERF_EVENT_IOC_REFRESH: so many until it is disabled; 0: none */
	uint64_t lost;		/* samples for which there was no room */
	/* output */
	uint32_t output;	/* the event to whose ring its records go; 0: its own */
	int32_t signal, owner_kind, owner, fd;	/* fcntl F_SETSIG, F_SETOWN_EX; of O_ASYNC */
	uint32_t async;
	struct vpmu_ring ring;
};
_Static_assert(sizeof(struct vpmu_sampler) <= VPMU_SAMPLER_SIZE, "layout");

#define VPMU_SAMPLER_CHUNK 1024u
extern uint8_t vpmu_samplers_mapped[VPMU_MAX_EVENTS / VPMU_SAMPLER_CHUNK];
void vpmu_map_samplers(uint32_t event);
static inline struct vpmu_sampler *vpmu_sampler(uint32_t event)
{
	if (!vpmu_samplers_mapped[event / VPMU_SAMPLER_CHUNK])
		vpmu_map_samplers(event);
	return (struct vpmu_sampler *)(ZONE_VPMU_SAMPLERS + event * VPMU_SAMPLER_SIZE);
}

/* Its group is counted as a whole, at the first CPU: `perf record` with :S. */
static inline bool vpmu_has_period(uint32_t event)
{
	return !vpmu_event(event)->software && vpmu_event(event)->sampler && vpmu_sampler(event)->on;
}

/* The event that was opened: it has the ring and the signal of all events inherited from it. */
static inline uint32_t vpmu_root(uint32_t event)
{
	return vpmu_event(event)->parent ? vpmu_event(event)->parent : event;
}

/* What is being said about a task, while the lock is held. */
struct moment {
	struct thread *t;
	uint64_t ip;		/* of the instruction that made the event; with skid, of the next one */
	uint64_t addr;		/* an event of the kernel's: PERF_SAMPLE_ADDR, … */
	const uint64_t *kernel;	/* … and in the kernel its call chain: the number of addresses, then these */
	uint64_t ns;		/* filled in when a record needs it: vpmu_time() */
};

/* vpmu-overflow.c */
long sampling_reasons_against(const struct perf_event_attr *attr);	/* the kernel's errors */
NEEDS_VPMU_LOCK struct vpmu_sampler *sampler_take(uint32_t event);	/* from now on it has one */
NEEDS_VPMU_LOCK void sampling_open(uint32_t event, const struct perf_event_attr *attr);
NEEDS_VPMU_LOCK void sampling_inherit(uint32_t from, uint32_t to);
NEEDS_VPMU_LOCK void sampling_free(uint32_t event);
NEEDS_VPMU_LOCK long sampling_period(uint32_t event, uint64_t period);
NEEDS_VPMU_LOCK long sampling_refresh(uint32_t event, uint64_t n);
/* Sets the budgets of all events: what is missing to the next overflows; for instructions at most
 * `clock`, if that is not 0. If `next`, the block that the task is about to run, has an overflow in
 * it, only the first part of it will run. */
NEEDS_VPMU_LOCK void sampling_budgets(struct thread *t, uint64_t clock,
				      const struct block_to_run *next);
/* A system call: a limited run ended there, or an interrupt waits (flaws.skid). */
/* Would the task run past the next overflow of one of its events? */
NEEDS_VPMU_LOCK bool sampling_stops_late(uint32_t slot);
TAKES_VPMU_LOCK void sampling_call(struct thread *t);
NEEDS_VPMU_LOCK void sampling_tick(struct thread *t);	/* flaws.throttle: events count again */
NEEDS_VPMU_LOCK void sampling_last(struct thread *t);	/* the task ends or execs */
/* The event's period is over, or not; may drop the lock. */
NEEDS_VPMU_LOCK void sampling_counted(struct moment *m, uint32_t event);
bool sampling_needs_sampler(const struct perf_event_attr *attr);

/* vpmu-kernel.c */
/* Is it one of those that the virtual PMU samples, and can this kernel tell of it? */
bool kernel_is_sampled_here(const struct perf_event_attr *attr, uint32_t leader);
int kernel_row(const struct perf_event_attr *attr);	/* of these */
uint64_t kernel_gross(const struct vpmu_event *e, uint64_t clock);	/* as vpmu_row_count() */
NEEDS_VPMU_LOCK uint32_t kernel_wanted(uint32_t slot);	/* vpmu_slot.wants_told */
TAKES_VPMU_LOCK void kernel_follow(struct thread *t);	/* the task is told of what is wanted */
void kernel_stop_telling(struct thread *t);		/* it ends, or execs */
NEEDS_VPMU_LOCK void kernel_catch_up(struct thread *t);	/* what it was told and is not sampled yet */

/* vpmu-access.c */
/* The budgets are set: if a stop of one of these kinds is in the next run, its address is wanted. */
void access_note(struct thread *t, uint32_t kinds);
uint64_t access_address(const struct thread *t, unsigned kind, bool precise);	/* 0: not known */

/* vpmu-ring.c */
NEEDS_VPMU_LOCK long ring_make(uint32_t event, uint64_t pages, bool overwrite);
NEEDS_VPMU_LOCK void ring_free(uint32_t event);
NEEDS_VPMU_LOCK void ring_show(uint32_t event);	/* data_head is up to date, if it has a ring */
NEEDS_VPMU_LOCK void rings_show_of(uint32_t slot);	/* … of the rings that this task writes to */
/* The event whose ring gets the records of the event; 0: none does. */
NEEDS_VPMU_LOCK uint32_t ring_of(uint32_t event);
NEEDS_VPMU_LOCK long ring_redirect(uint32_t event, uint32_t to);
/* Adds a record to the ring of the event. False: the ring was full, another process reads it, and
 * there is room now; the lock was dropped meanwhile, so the record is to be made again. */
NEEDS_VPMU_LOCK bool ring_put(const struct moment *m, uint32_t event, struct perf_event_header *h,
			      bool is_sample);

/* vpmu-sample.c */
uint64_t vpmu_time(const struct vpmu_event *e);
NEEDS_VPMU_LOCK void sample_put(struct moment *m, uint32_t event, uint64_t period);
/* The fields that end every other record, if attr.sample_id_all; returns the new end. */
NEEDS_VPMU_LOCK uint8_t *sample_id(struct moment *m, uint32_t event, uint8_t *end);
uint64_t sample_id_size(const struct vpmu_sampler *s);

/* vpmu-sideband.c */
NEEDS_VPMU_LOCK void sideband_comm(struct thread *t, const char *name, bool exec);
/* Before an exec of the program at that path, which will say nothing itself. */
NEEDS_VPMU_LOCK void sideband_native(struct thread *t, uint64_t path);
/* The pages of an event are mapped: in /proc/self/maps they have another name. */
NEEDS_VPMU_LOCK void sideband_ring(struct thread *t, uint64_t at, uint64_t size, uint64_t prot);
TAKES_LOCK TAKES_VPMU_LOCK void sideband_image(struct thread *t);	/* after an exec */
NEEDS_VPMU_LOCK void sideband_fork(struct thread *t, uint32_t slot, int32_t pid, int32_t tid,
				   int32_t parent, int32_t creator, bool inherited);
NEEDS_VPMU_LOCK void sideband_exit(struct thread *t);
NEEDS_VPMU_LOCK void sideband_throttle(struct moment *m, uint32_t event, bool on);

/* vpmu-poll.c */
#define POLL_FIRST_NS 50000	/* how long to nap before looking again, at first … */
#define POLL_LAST_NS 8000000	/* … and at most */
long poll_call(struct thread *t, long nr, const uint64_t *a, bool *done);
long select_call(struct thread *t, long nr, const uint64_t *a, bool *done);
NEEDS_VPMU_LOCK int16_t poll_revents(uint32_t event);	/* takes POLLIN away, as the kernel does */
bool poll_timespec(uint64_t at, int64_t *ns);	/* of the program; *ns -1: no limit. False: not a time */
/* Waits for a descriptor, or none (-1), for less than a second. `mask`: the last arguments of ppoll. */
long poll_nap(struct thread *t, int32_t fd, int64_t ns, const uint64_t *mask);
/* fcntl or ioctl about signals */
TAKES_VPMU_LOCK long async_call(struct thread *t, uint32_t event, long nr, const uint64_t *a);
NEEDS_VPMU_LOCK void async_signal(uint32_t event, bool last);	/* POLL_IN, or POLL_HUP */

/* vpmu-epoll.c */
TAKES_VPMU_LOCK long epoll_change(struct thread *t, const uint64_t *a, bool *done);	/* epoll_ctl */
TAKES_VPMU_LOCK long epoll_wait_call(struct thread *t, long nr, const uint64_t *a, bool *done);
TAKES_VPMU_LOCK void epoll_forget(struct thread *t, uint32_t first, uint32_t last);	/* these descriptors are closed */

/* vpmu-calls.c */
bool event_mapped_here(uint32_t event);

/* vpmu-read.c */
NEEDS_VPMU_LOCK unsigned read_words(uint64_t *words, uint32_t event);

#endif
