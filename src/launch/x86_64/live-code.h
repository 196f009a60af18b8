/* What code a process ran so far, read from outside, for the code log (soft/abi/code-abi.h): a process that is
 * killed cannot write it itself.
 *
 *	struct live_code c = { 0 };
 *	live_code_read(shared, record, &c);	// from time to time, beside live_read()
 *	… the process was killed …
 *	live_code_write(memfd, shared, &c);	// as if the process had written it
 *	live_code_free(&c);
 */
#ifndef LAUNCH_LIVE_CODE_H
#define LAUNCH_LIVE_CODE_H

#include "abi.h"
#include "buf.h"

#include <stdbool.h>

struct live_code {
	struct buf records;		/* struct code_record, one after the other */
	uint64_t reported;		/* instructions that the task had reported before: they are in the
					 * log already */
};

/* Replaces what c has, if all of it can be read. */
void live_code_read(struct soft_shared *shared, uint32_t index, struct live_code *c);
void live_code_write(int memfd, struct soft_shared *shared, const struct live_code *c);
void live_code_free(struct live_code *c);

#endif
