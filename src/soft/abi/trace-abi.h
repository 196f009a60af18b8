/* The trace of a run: the blocks that its threads ran, in order, and the addresses of the memory that
 * their instructions used. For simulations of caches.
 *
 * It is written where SOFT_FLAG_TRACE is set (and SOFT_FLAG_CODE_LOG with it). A thread takes a slot
 * of the run's memfd when it has something to write, and fills its words; when they are full it waits
 * until the launcher has read them. The words of a block are
 *
 *	TRACE_BLOCK | where the record of its code is in the code log (CODE_BLOCK), from the log's
 *	start
 *	with SOFT_FLAG_CALLS: its context, times trace_slot.context_size
 *
 * and then for each of its instructions the words of trace_words() (decode.h): addresses. A block that
 * is left early, by a signal or a fault, has fewer. No address looks like the word of a block: such an
 * address is not canonical, and its use faults.
 *
 * Between blocks stand marks: TRACE_MARK | TRACE_ON, TRACE_OFF (counting is switched), TRACE_ZERO, TRACE_DUMP + the
 * number of the dump (what was counted until there is zeroed, or part of the dump), TRACE_ZERO_THREAD (what the thread counted
 * since the last of both).
 *
 * The words behind those of a slot are 0, so that the launcher also reads what a killed thread wrote.
 */
#ifndef SOFT_TRACE_ABI_H
#define SOFT_TRACE_ABI_H

#include "code-abi.h"

#define TRACE_BLOCK	0x7ace000000000000ull
#define TRACE_IS_BLOCK(word) ((word) >> 48 == TRACE_BLOCK >> 48)
#define TRACE_MARK	0x7acf000000000000ull
#define TRACE_IS_MARK(word) ((word) >> 48 == TRACE_MARK >> 48)
enum trace_mark { TRACE_ON, TRACE_OFF, TRACE_ZERO, TRACE_ZERO_THREAD, TRACE_DUMP };
#define TRACE_CODE(word) ((word) & ~(0xffffull << 48))

enum trace_state { TRACE_FREE, TRACE_FILLS, TRACE_FULL };

#define TRACE_SLOT	(1ull << 18)
#define TRACE_SLOTS	4096u
#define TRACE_OFFSET	CODE_LOG_END
#define TRACE_END	(TRACE_OFFSET + TRACE_SLOTS * TRACE_SLOT)
#define ZONE_TRACE	(ZONE_BASE + 0xd00000000ull)	/* slot N is at N × TRACE_SLOT */

struct trace_slot {
	uint32_t state;		/* enum trace_state; futex: a thread waits while it is TRACE_FULL */
	uint32_t record;	/* the task, in soft_shared.records */
	int32_t pid, tid;
	uint32_t context_size;
	uint32_t off;		/* counting is off, … */
	uint32_t part;		/* … and so many dumps and zeros came before the first word */
	uint32_t pad;
	uint64_t words[];
};
#define TRACE_WORDS ((TRACE_SLOT - sizeof(struct trace_slot)) / 8 - 1)	/* the last one stays 0 */

#endif
