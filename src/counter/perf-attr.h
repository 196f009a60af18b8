/* One perf_event_open: from an encoding to a file descriptor, and what a read of
 * that descriptor gives. Thin: everything that decides lives elsewhere.
 */
#ifndef COUNTER_PERF_ATTR_H
#define COUNTER_PERF_ATTR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <tare/event.h>

/* Fills attr for counting: no sampling, both times in the read format. */
void perf_attr_fill(struct perf_event_attr *attr, const struct tare_encoding *e);

/* The system call. Returns the descriptor (close-on-exec) or -errno. */
int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd);

struct perf_value {
	uint64_t value, enabled, running;
	uint64_t lost;		/* where the event was opened with PERF_FORMAT_LOST; else 0 */
};

/* Reads one event opened with perf_attr_fill's format, PERF_FORMAT_LOST added or not. 0; 1: end
 * of file, which is how a pinned event without a counter reads; or -errno. */
int perf_read(int fd, struct perf_value *v);

/* Reads a whole group through its leader (the leader was opened with
 * PERF_FORMAT_GROUP added): n values with common times. As perf_read. */
int perf_read_group(int fd, struct perf_value *v, unsigned n);

#endif
