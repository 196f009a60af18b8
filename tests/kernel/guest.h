/* What the in-guest tests share: the known loop, and settings of the kernel. */
#ifndef KERNEL_GUEST_H
#define KERNEL_GUEST_H

#include <stdbool.h>
#include <stdint.h>

/* 8 instructions a round, plus one `ret`; n >= 1. */
void known_loop(uint64_t n);

/* For a function that is measured with two values of n: a copy of it for each
 * constant would differ by the instructions that load it. */
#define NOT_SPECIALISED __attribute__((noipa))

/* Reads or writes /proc/sys/kernel/NAME. -1 when there is none. */
int sysctl_get(const char *name);
void sysctl_set(const char *name, int value);

/* Runs a program with stdout and stderr in a buffer the caller frees. Gives the
 * exit status as a shell does (128+N for signals). uid 0 keeps root. */
int guest_run(char *const argv[], unsigned uid, char **output);
/* The same with words separated by blanks, the first a program of /bin. */
int guest_run_words(const char *words, unsigned uid, char **output);

/* Sends a file to the host, over the console: see `boot`. */
void guest_send(const char *path);

/* Takes hardware counters of CPU 0 away from everybody, with pinned events of the
 * whole CPU, which come before those of tasks. */
#define HOG_ALL 6			/* the programmable ones of this emulation */
struct hog {
	int fd[HOG_ALL];
	unsigned n;
};
void hog_counters(struct hog *hog, unsigned n);
void release_counters(struct hog *hog);

/* The suites, one per machine that is booted; see init.c. */
void suite_run(void);			/* commands of whoever boots it, by hand */
void suite_machine(void);		/* the emulated PMU itself, raw */
void suite_set(void);			/* sets of events, with a PMU */
void suite_no_pmu(void);		/* and without one */
void suite_counter_32(void);		/* counters of the program, 32 bits wide */
void suite_counter_64(void);		/* and 64 */
void suite_wrap(void);			/* past 2^31 */
void suite_migrate(void);		/* between two CPUs */
void suite_record(void);		/* profiles for the host to read */
void suite_kernels(void);		/* code with known counts */
void suite_stat(void);			/* the command tare stat */
void suite_stat_no_pmu(void);
void suite_doctor(void);		/* what tare doctor finds */
void suite_doctor_no_pmu(void);
void suite_verify(void);		/* what tare verify finds; for the host to read */
void suite_verify_any_core(void);	/* on a core that no table has */
void suite_verify_no_pmu(void);

#endif
