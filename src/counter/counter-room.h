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

#include "part.h"
#include "perf-facts.h"

#include <sys/types.h>
#include <tare/counter.h>

#define COUNTER_ALIVE 0x657261742d657461u

struct counter_cold {
	struct tare_event event;	/* its name is ours */
	struct tare_counter_opts o;
	enum tare_path path;
	enum tare_serializer serializer;
	struct tare_why reason;		/* why this path; .what is a sentence */
	struct part parts[2];
	unsigned n_parts;		/* 0 (no event), 1 or 2 */
	bool pinned;
	bool wiped_on_fork;		/* the kernel knows MADV_WIPEONFORK */
	enum perf_simulated simulated;
	pid_t pid, tid;			/* whose it is */
	uint64_t start;			/* value at the last reset */
	uint64_t last;			/* last value given */
	unsigned status;		/* enum tare_status */
};

/* Of a pair the event itself (part 0) is the second to be read. */
static inline bool counter_second(const struct counter_cold *k, unsigned part)
{
	return k->n_parts == 2 && part == 0;
}

struct counter_cold *counter_cold(const struct tare_counter *c);
/* New, wiped-on-fork memory for one counter; NULL: out of memory. */
struct tare_counter *counter_alloc(void);
void counter_free(struct tare_counter *c);

/* The calling thread's id; a system call only the first time. */
pid_t counter_self(void);
void counter_self_is(pid_t tid);	/* after asking: the cached one is a parent's after fork */

/* Arms the fast read from what part_sync() left in the parts, or disarms it. */
void counter_arm(struct tare_counter *c);
void counter_disarm(struct tare_counter *c);

/* How a number of such events came about. */
enum tare_provenance counter_provenance(enum perf_simulated sim, bool core, bool corrected,
					bool scaled);

#endif
