/* The virtual PMU's description, made from the tables of the cpu room.
 *
 *	model.c		the models: what cpuid says of each, its events
 *	model-flaws.c	flaws by name, as rows of (events, cause, amount)
 *	model-files.c	what sysfs and procfs show on it
 */
#ifndef LAUNCH_MODEL_H
#define LAUNCH_MODEL_H

#include "vpmu-abi.h"

#include <tare/cpu.h>
#include <tare/err.h>
#include <tare/run.h>

#include <stdbool.h>
#include <stddef.h>

#define MODEL_OVERCOUNTS 3

/* Instructions that a CPU counts wrong: an amount of 0 ends a list of them. */
struct model_overcount {
	enum vpmu_insn_set insns;
	enum tare_role role;	/* of the event that counts them */
	int amount;		/* … so many times more */
};

/* An identity: what cpuid says of the CPU. */
struct model {
	const char *name;	/* of the row in the cpu room */
	enum tare_vendor vendor;
	unsigned family, model, stepping;
	unsigned width;		/* of a counter, bits */
	unsigned arch_version;	/* cpuid 0xA; 0 on AMD */
	struct model_overcount overcount[MODEL_OVERCOUNTS];	/* what "overcount" means on it */
	const char *brand;
};

const struct model *model_find(const char *name, struct tare_why *why);	/* NULL: nearest to here */
void model_fill(const struct model *m, struct vpmu_model *out);
void model_add_cycles(struct vpmu_model *m, bool on);	/* not on: the rows exist and are refused */

/* Flaws of that model from a list like "interrupts=1000,overcount". `filled` has its events. */
int model_flaws(const struct model *m, const struct vpmu_model *filled, const char *list,
		struct vpmu_flaws *out, struct tare_why *why);

/* Writes the files that show the model into `dir` (made by the caller). `marker` is the text of the
 * PMU's file tare_simulated. 0 or an errno. */
int model_files(struct vpmu_shared *v, const char *marker, const char *dir);

/* tare_run(); `ended` (may be NULL) is called with the run's memory when the command has ended. */
int run_watched(const struct tare_run_options *o,
		void (*ended)(const struct soft_shared *shared, void *arg), void *arg,
		struct tare_run_report **report, struct tare_why *why);

#endif
