/* The virtual PMU's description, made from the tables of the cpu room. */
#ifndef LAUNCH_MODEL_H
#define LAUNCH_MODEL_H

#include "vpmu-abi.h"

#include <tare/err.h>
#include <tare/run.h>

#include <stdbool.h>
#include <stddef.h>

struct model;		/* an identity: who the CPU says it is */

const struct model *model_find(const char *name, struct tare_why *why);	/* NULL: nearest to here */
void model_fill(const struct model *m, struct vpmu_model *out);
void model_add_cycles(struct vpmu_model *m, bool on);	/* not on: known, but refused */

/* Flaws of that model from a list like "interrupts=1000,overcount". */
int model_flaws(const struct model *m, const char *list, struct vpmu_flaws *out,
		struct tare_why *why);

/* Writes the files that show the model into `dir` (made by the caller). `marker` is
 * what the PMU's tare_simulated says. 0 or an errno. */
int model_files(struct vpmu_shared *v, const char *marker, const char *dir);

/* tare_run(); `ended` (may be NULL) sees the run's memory when the command has ended. */
int run_watched(const struct tare_run_opts *o,
		void (*ended)(const struct soft_shared *shared, void *arg), void *arg, int *status,
		struct tare_why *why);

#endif
