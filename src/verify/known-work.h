/* Work with a known number of instructions and page faults, and a number of interrupts that is
 * looked up afterwards: what events are compared with that count disturbances.
 *
 *	struct known_work w = { .rounds = 100000, .pages = 500 };
 *	known_work_prepare(&w, &why);		maps fresh pages
 *	trial_run(&t, &known_work_code(&w), counts, &why);
 *	known_work_stop(&w);			fills w.interrupts and w.ticks
 *	known_work_finish(&w);			unmaps the pages
 *
 * The loop takes 4 instructions a round (regions.h). What the rest takes, call, touching of
 * pages and return, is counted by running the work again with 0 rounds over the pages that are
 * touched already (known_work_rest()). So the excess of `instructions:u` is known too.
 */
#ifndef VERIFY_KNOWN_WORK_H
#define VERIFY_KNOWN_WORK_H

#include "buf.h"
#include "trial.h"

#define KNOWN_WORK_PER_ROUND 4
#define KNOWN_WORK_UNKNOWN UINT64_MAX

struct known_work {
	uint64_t rounds, pages;
	uint64_t calls;			/* system calls: far transfers that are no interrupts */
	unsigned on;			/* the CPU that the thread is kept on */
	uint64_t interrupts;		/* of that CPU meanwhile; or KNOWN_WORK_UNKNOWN */
	struct buf before;		/* /proc/interrupts, where it can be read */
	uint64_t ticks;			/* of the kernel's timer, in the thread's CPU time meanwhile */
	double ns_before;
	char *memory;
	size_t size;
};

int known_work_prepare(struct known_work *w, struct tare_why *why);
struct trial_code known_work_code(struct known_work *w);
/* Right after the work: what is executed before this is called is interrupted, too. */
void known_work_stop(struct known_work *w);
void known_work_finish(struct known_work *w);
double known_work_tick_ns(void);	/* the length of a tick */
/* After the work ran: the same without rounds and without page faults, the least of some tries: no
 * interrupt is in it. */
int known_work_rest(struct trial *t, const struct known_work *w, int64_t *counts,
		    struct tare_why *why);

/* So many rounds that at least n interrupts come meanwhile (ticks, where /proc/interrupts
 * cannot be read), and most of them during the work: far more than without any rounds.
 * 0: fewer than a quarter of n come in `most` rounds, or than n in eight times as many. The limit is
 * work, not time: a loaded machine gets as many interrupts for it as an idle one, or more. */
uint64_t known_work_calibrate(unsigned cpu, unsigned n, uint64_t most);

/* Keeps the calling thread on the CPU that it runs on now. Returns its number; *before is for
 * known_work_let_go(). */
struct kept;
int known_work_stay(struct kept **before, unsigned *cpu, struct tare_why *why);
void known_work_let_go(struct kept *before);	/* NULL is allowed */

#endif
