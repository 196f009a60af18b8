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

struct tare_run_opts {
	char *const *argv;
	const char *cpu;	/* a model, see tare_run_model(); NULL: the one nearest to this CPU */
	const char *flaws;	/* comma-separated, see tare_run_flaw(); NULL or "": none */
	uint64_t seed;		/* of what the flaws do at random */
	bool aslr;		/* leave ASLR on */
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
