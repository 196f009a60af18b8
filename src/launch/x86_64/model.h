/* The virtual PMU's description, made from the tables of the cpu room. */
#ifndef LAUNCH_MODEL_H
#define LAUNCH_MODEL_H

#include "vpmu-abi.h"

#include <tare/err.h>
#include <tare/run.h>

#include <stdbool.h>
#include <stddef.h>

struct model;		/* an identity: what cpuid says of the CPU */

const struct model *model_find(const char *name, struct tare_why *why);	/* NULL: nearest to here */
void model_fill(const struct model *m, struct vpmu_model *out);
void model_add_cycles(struct vpmu_model *m, bool on);	/* not on: the rows exist and are refused */

/* Flaws of that model from a list like "interrupts=1000,overcount". */
int model_flaws(const struct model *m, const char *list, struct vpmu_flaws *out,
		struct tare_why *why);

/* Writes the files that show the model into `dir` (made by the caller). `marker` is the text of the
 * PMU's file tare_simulated. 0 or an errno. */
int model_files(struct vpmu_shared *v, const char *marker, const char *dir);

/* tare_run(); `ended` (may be NULL) is called with the run's memory when the command has ended. */
int run_watched(const struct tare_run_options *o,
		void (*ended)(const struct soft_shared *shared, void *arg), void *arg,
		struct tare_run_report **report, struct tare_why *why);

#endif
