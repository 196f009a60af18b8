/* Putting the engine into a process that has just execed.
 *
 * The kernel made the real execve, so memory layout, auxv, brk and /proc/self are
 * the program's own. At the ptrace exec stop no instruction of the new image has
 * run; the engine is mapped into the zone (soft/abi.h), given the registers, and
 * the process is let go.
 */
#ifndef LAUNCH_INJECT_H
#define LAUNCH_INJECT_H

#include "abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

extern const unsigned char engine_elf_start[], engine_elf_end[];	/* soft/engine-image.S */

/* A file with the engine's image, open in the tracee. */
struct image {
	int fd;
	uint64_t offset;
	bool close;		/* there, when it is mapped */
};

/* Waits for the next stop of a tracee: its signal, with an event in the second byte; or a
 * negative errno, ESRCH if it has ended. If it is our own child, its status is left there. */
int traced_stop(pid_t pid, bool ours);

struct entry {
	pid_t pid;
	bool ours;		/* our own child */
	bool trap_ignored;	/* it ignored SIGTRAP before its exec */
	uint32_t reserved_fd;	/* the number of the shared memory there */
	uint32_t record;
};

/* The tracee stands at its exec stop. On success it stands at the engine's first
 * instruction (detach it). Otherwise enum soft_reason > 0 (let it run natively, its
 * registers are as they were), or a negative errno. */
int inject(const struct entry *e, struct image image);

#endif
