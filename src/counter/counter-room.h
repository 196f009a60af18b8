/* What a struct tare_counter hides, and where it is in memory.
 *
 *	page 0   struct counter_cold: everything but the fast read
 *	page 1   … struct tare_counter, at the very end; wiped on fork
 *	page 2   the first event's perf page
 *	page 3   the second event's, for a corrected counter
 *
 * The public struct ends where the perf page begins, so that the inline read needs
 * one register for both. Its page has MADV_WIPEONFORK: a child of any kind of fork
 * finds zeros there, and zeros mean "slow path", which then says why. The cold page
 * is copied as usual, so that the child still knows what to reopen.
 */
#ifndef COUNTER_ROOM_H
#define COUNTER_ROOM_H

#include "bundle.h"

#include <tare/counter.h>

struct counter_cold {
	struct tare_event event;	/* its name is ours: in `name`, or from malloc where longer */
	char name[64];			/* here, since leak checkers do not look into mapped memory */
	struct tare_counter_options o;
	struct bundle b;
	struct part parts[2];
	uint64_t start;			/* total that is taken off; not while the fast read is armed */
	uint64_t armed_at;		/* while it is: the total at which a value of bias was 0 */
	uint64_t last;			/* last value given */
	uint64_t age;			/* another number after each counter_skip() */
	uint64_t again;			/* as in struct tare_counter, of either path */
	uint64_t disturbed;		/* 1: the next read of the slow path begins again */
};

struct counter_cold *counter_cold(const struct tare_counter *c);
/* New memory for one counter; NULL: out of memory. */
struct tare_counter *counter_alloc(void);
void counter_free(struct tare_counter *c);

/* Arms the fast read from what part_sync() left in the parts, or disarms it. */
void counter_arm(struct tare_counter *c);
void counter_disarm(struct tare_counter *c);
/* From now on values are n less: what the owner counted for itself. With signals blocked. A
 * read that this interrupted (in a signal handler) begins again. */
void counter_skip(struct tare_counter *c, uint64_t n);
/* What a read counts that begins again: taken off each time. To measure it, compare reads
 * after counter_disturb(c, true), which begin again once, with those after `false`. It
 * returns false where such a read takes the slow path instead. */
void counter_set_again(struct tare_counter *c, uint64_t n);
bool counter_disturb(struct tare_counter *c, bool really);

/* How a number came about; `core`: of a core PMU, not the kernel's own events. */
enum tare_provenance counter_provenance(enum perf_simulated sim, bool core, bool corrected,
					bool scaled);
bool counter_is_core(const struct tare_encoding *e);
uint64_t counter_now_ns(void);
/* A sample from the values of an event and, if it has one, of what is subtracted. */
int counter_sample(struct tare_sample *s, const struct perf_value *v, bool pair, uint64_t start,
		   enum perf_simulated sim, bool core);

#endif
