/* Counting the counters that nobody holds, to explain why an event got none. */
#ifndef COUNTER_PERF_FREE_H
#define COUNTER_PERF_FREE_H

/* General counters that the calling thread could have now, on the CPU it runs on; -1
 * where that cannot be tried. For a moment it takes them all. */
int perf_free_counters(void);

#endif
