/* What the in-guest tests share: the known loop, and settings of the kernel. */
#ifndef KERNEL_GUEST_H
#define KERNEL_GUEST_H

#include <stdbool.h>
#include <stdint.h>

/* 8 instructions a round, plus one `ret`; n >= 1. */
void known_loop(uint64_t n);

/* Reads or writes /proc/sys/kernel/NAME. -1 when there is none. */
int sysctl_get(const char *name);
void sysctl_set(const char *name, int value);

/* Runs a program with stdout and stderr in a buffer the caller frees. Gives the
 * exit status as a shell does (128+N for signals). uid 0 keeps root. */
int guest_run(char *const argv[], unsigned uid, char **output);

/* The suites, one per machine that is booted; see init.c. */
void suite_machine(void);		/* the emulated PMU itself, raw */

#endif
