/* Files of /proc about a process's memory or signals: procfs.c handles opening them, procfs-read.c
 * reading. */
#ifndef SOFT_PROCFS_H
#define SOFT_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;
struct engine_view;

enum proc_kind {
	PROC_OTHER,
	PROC_MAPS,		/* a line for each mapping: "START-END …" */
	PROC_SMAPS,		/* such a line and lines about it for each mapping */
	PROC_NUMA,		/* a line for each mapping: "START …" */
	PROC_ROLLUP,		/* one text: the sums of smaps */
	PROC_STATUS,		/* one text */
	PROC_AUXV, PROC_STAT,	/* one text; other than the kernel's with a machine only */
	PROC_PAGEMAP,		/* 8 bytes for each page of the address space */
	PROC_MEM,
};

/* An open file of /proc/PID or /proc/PID/task/TID. */
struct proc_file {
	long fd;
	enum proc_kind kind;
	uint64_t pid, tid;
	uint64_t ino;
};

const char *proc_last_part(const char *path);
enum proc_kind proc_kind_of(const char *last_part);
/* The link /proc/self/fd/FD, cut off to `size`; its length, or -errno. */
long proc_fd_target(uint64_t fd, char *link, size_t size);
/* False: it is not a file of a process in /proc, or of a kind that shows nothing of the engine. */
bool proc_identify(long fd, struct proc_file *f);
bool proc_is_own(const struct thread *t, uint64_t pid);
/* Where the engine's memory is in that process; false: it is not a counted one. The lock must be
 * held as long as the view is used. */
NEEDS_LOCK bool proc_view(const struct thread *t, uint64_t pid, struct engine_view *v);
/* The program's own signal masks. */
struct proc_signals { uint64_t blocked, ignored, caught; };
NEEDS_LOCK bool proc_signals(const struct proc_file *f, struct proc_signals *of);
/* Copies from the memory of another process; false: not all of it is there. */
bool proc_read_memory(uint64_t pid, void *to, const void *from, uint64_t len);

#endif
