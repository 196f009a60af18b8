/* Reading the trace of a run (soft/abi/trace-abi.h) while it is written.
 *
 * A thread waits for full slots and hands their words to the caller's function. When the command has
 * ended, soft_trace_stop() reads what is left in all slots: what killed threads wrote, too.
 */
#ifndef LAUNCH_SOFT_TRACE_H
#define LAUNCH_SOFT_TRACE_H

#include <tare/err.h>
#include <tare/trace.h>

struct soft_shared;
struct soft_trace;

/* 0 and *t; NULL in *t where `trace` is NULL. TARE_E_NOMEM. */
int soft_trace_start(struct soft_trace **t, const struct tare_trace *trace, int memfd,
		     struct soft_shared *shared, struct tare_why *why);
void soft_trace_stop(struct soft_trace *t);	/* NULL is allowed */

#endif
