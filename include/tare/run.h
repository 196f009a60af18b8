/* Running a command with a virtual PMU, as `tare run` does.
 *
 *	struct tare_run_opts o = { .argv = argv, .cpu = "zen2" };
 *	int status;
 *	if (tare_run(&o, &status, &why) < 0) …
 *
 * The command and its children see the counters of that CPU: perf_event_open,
 * rdpmc, cpuid, /proc/cpuinfo and the PMU's folder in sysfs answer as on it.
 */
#ifndef TARE_RUN_H
#define TARE_RUN_H

#include <tare/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a run has to say when it has ended. Names of programs are separated by ", "; "" is
 * nobody. */
struct tare_run_report {
	char asked_cycles[256];	/* asked for cycles, and there were none (tare_run_opts.cycles) */
	char kernel_as_user[256]; /* whose events that include the kernel counted user mode alone */
	size_t n_uncounted;	/* processes that ran without the virtual PMU … */
	struct {
		int pid;
		char name[32];
		const char *why;	/* static */
	} uncounted[16];	/* … and the first of them */
};

struct tare_run_opts {
	char *const *argv;
	const char *cpu;	/* a model, see tare_run_model(); NULL: the one nearest to this CPU */
	const char *flaws;	/* comma-separated, see tare_run_flaw(); NULL or "": none */
	uint64_t seed;		/* of what the flaws do at random */
	bool aslr;		/* leave ASLR on */
	bool cycles;		/* cycles and ref-cycles can be counted: one for each instruction */
	bool kernel_as_user;	/* events that include the kernel count user mode instead of being
				 * refused */
	struct tare_run_report *report; /* filled when the command has ended; may be NULL */
	volatile const int *stop; /* when *stop != 0 (a signal): end the command; may be NULL */
};

/* The models and the flaws by number, from 0 until NULL; *about (may be NULL) is
 * what a person calls it or what it does. */
const char *tare_run_model(size_t i, const char **about);
const char *tare_run_flaw(size_t i, const char **about);

/* Runs the command to its end. *status is its exit status as a shell gives it. */
int tare_run(const struct tare_run_opts *o, int *status, struct tare_why *why);

#ifdef __cplusplus
}
#endif
#endif
