/* Putting the engine into a process that has just execed.
 *
 * The kernel has done the real execve, so memory layout, auxv, brk and /proc/self are the
 * program's own. At the ptrace exec stop no instruction of the new image has run: the engine is
 * mapped into the zone (abi.h) and gets the program's registers, and the tracer detaches.
 *
 * All functions are called by the thread that traces the process.
 */
#ifndef LAUNCH_INJECT_H
#define LAUNCH_INJECT_H

#include "abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

extern const unsigned char engine_elf_start[], engine_elf_end[];	/* soft/engine-image.S */
extern const unsigned char engine_digest[64];			/* of its bytes, in text */

/* A file with the engine's image, open in the tracee. */
struct image {
	int fd;
	uint64_t offset;
	bool close;		/* the tracee closes fd once the image is mapped */
};

/* Waits for the next stop of a tracee. Returns the signal, with a ptrace event in the second byte; or
 * a negative errno, ESRCH if the tracee has ended. The exit status of our own child (`ours`) stays
 * available to waitpid(). */
int traced_stop(pid_t pid, bool ours);

struct entry {
	pid_t pid;
	bool ours;		/* our own child */
	bool trap_ignored;	/* it ignored SIGTRAP before its exec */
	uint32_t reserved_fd;	/* the number of the shared memory there */
	uint32_t record;
};

/* The tracee stands at its exec stop. 0: it stands at the engine's first instruction, to be
 * detached. Otherwise it can run natively, with its registers unchanged: enum soft_reason (> 0) or a
 * negative errno says why. */
int inject(const struct entry *e, struct image image);

#endif
