/* The code log of a run: which code ran how often.
 *
 * It is written where SOFT_FLAG_CODE_LOG is set, in the run's memfd from CODE_LOG_OFFSET on, in
 * chunks of CODE_CHUNK bytes. A process takes a chunk when it has something to write
 * (soft_shared.code_chunks) and appends records to it; a child of fork goes on in the chunk of its
 * parent. Records are written when counts are folded: at the end of a thread, at exec, exit and
 * when the code cache is emptied; and when a part of a block ran (a signal, a fault).
 *
 *	CODE_MAPS	the executable mappings of the process that the records after it are of
 *			begin here
 *	CODE_MAP	one of them: its line of /proc/self/maps
 *	CODE_RUNS	a range of code without a jump in it ran so often; or less often than said
 *			before (runs < 0)
 *	CODE_TAKEN	the branch at the end of that range was taken so often
 *	CODE_CONTEXT	a context of the call graph (tare/code.h), and what was counted in it since
 *			the last record of the same context; with SOFT_FLAG_CALLS
 *	CODE_SYSCALL	system calls, since the last record of the same kind
 *	CODE_BLOCK	a block of the trace (trace-abi.h)
 *	CODE_ZERO	the counts of the task are 0 again: what it wrote since its last CODE_DUMP is
 *			not counted
 *	CODE_DUMP	what the task wrote since its last CODE_DUMP is part of dump number `runs`
 *
 * The sum of runs × instructions over all records of a task is the task's count of instructions
 * (soft_record.counts), and likewise for every other event of the instructions.
 */
#ifndef SOFT_CODE_ABI_H
#define SOFT_CODE_ABI_H

#include "abi.h"

#define CODE_CHUNK	(1ull << 20)
#define CODE_CHUNKS	8192u
#define CODE_LOG_OFFSET	(4ull << 30)
#define CODE_LOG_END	(CODE_LOG_OFFSET + CODE_CHUNKS * CODE_CHUNK)
#define ZONE_CODE_LOG	(ZONE_BASE + 0xe00000000ull)	/* chunk N is at N × CODE_CHUNK */
_Static_assert(ZONE_CODE_LOG + CODE_CHUNKS * CODE_CHUNK <= ZONE_THREADS, "layout");

enum code_kind { CODE_NOTHING, CODE_MAPS, CODE_MAP, CODE_RUNS, CODE_TAKEN, CODE_CONTEXT, CODE_SYSCALL,
		 CODE_BLOCK, CODE_ZERO, CODE_DUMP };

/* At the start of a chunk. */
struct code_chunk {
	uint64_t used;		/* bytes, this header included; may be more than there are: full */
	uint64_t pad;
};

struct code_record {
	uint16_t size;		/* of the whole, a multiple of 8; written last. 0: the process was
				 * killed while it wrote */
	uint8_t kind;		/* enum code_kind */
	uint8_t n_insns;
	uint32_t record;	/* the task, in soft_shared.records */
	int32_t pid;		/* its process */
	uint16_t len;		/* bytes that follow: the code, or the line */
	uint16_t pad;
	uint64_t pc;
	int64_t runs;
	uint8_t bytes[];
};

/* After a CODE_CONTEXT. Its pc is the entry, its runs the calls. */
struct code_context {
	uint32_t id;		/* in its task; a parent is written before its children */
	uint32_t parent;
	uint64_t site;
	uint8_t kind;		/* enum tare_code_context_kind, which the launcher checks */
	uint8_t repeats, cut;
	uint8_t signal;
	uint32_t n_events;	/* bits of code_context_events(), lowest first */
	int64_t counts[];
};

/* The events that contexts count, as 1 << enum soft_event. */
static inline uint32_t code_context_events(uint32_t event_mask)
{
	return event_mask ? event_mask | 1u << SOFT_INSTRUCTIONS : (1u << SOFT_TAKEN) - 1;
}

/* After a CODE_SYSCALL. Its pc is the instruction, its runs the times. */
struct code_syscall {
	int32_t number;
	uint32_t context;	/* 0: none */
	uint64_t errors;
};

#endif
