/* The virtual PMU's description, made from the tables of the cpu room.
 *
 *	model.c		the models: what cpuid says of each, its events
 *	model-flaws.c	flaws by name, as rows of (events, cause, amount)
 *	model-random.c	flaws drawn from a seed
 *	model-insns.c	instructions by name or opcode
 *	model-files.c	what sysfs and procfs show on it
 */
#ifndef MODEL_H
#define MODEL_H

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
	bool assumed;		/* how many is published, which instructions is not */
};

/* An identity: what cpuid says of the CPU. */
struct model {
	const char *name;	/* of the row in the cpu room */
	enum tare_vendor vendor;
	unsigned family, model, stepping;
	unsigned width;		/* of a counter, bits */
	unsigned arch_version;	/* cpuid 0xA; 0 on AMD */
	unsigned max_precise;	/* the highest precise_ip, with the flaw skid */
	struct model_overcount overcount[MODEL_OVERCOUNTS];	/* what "overcount" means on it */
	const char *brand;
};

const struct model *model_find(const char *name, struct tare_why *why);	/* NULL: nearest to here */
void model_fill(const struct model *m, struct vpmu_model *out);
void model_add_cycles(struct vpmu_model *m, bool on);	/* not on: the rows exist and are refused */

/* Flaws of that model from a list like "interrupts=1000,overcount", or "random:7". `filled` has its
 * events; some flaws change their codes. */
int model_flaws(const struct model *m, struct vpmu_model *filled, const char *list,
		struct vpmu_flaws *out, struct tare_why *why);
bool model_flaws_are_random(const char *list);

/* ---- what the files of flaws share ---- */

#define PER_SECOND 3000000000ull	/* instructions in a virtual second */
#define PER_MS (PER_SECOND / 1000)

/* A model that gets flaws. */
struct planting {
	const struct model *model;
	struct vpmu_model *rows;
	struct vpmu_flaws *out;
	uint32_t except;	/* of interrupts: undercount */
	bool iret, entry;	/* int 0x80 counts too: the kernel's iret, or the interrupt itself */
	bool paper;		/* only what was measured on the CPU, not what is assumed */
};

/* Events of the model, 1 << index: those with the name of that one; those that have any of the
 * trust bits; those of that role, with the other names of the same events. */
uint64_t rows_like(const struct vpmu_model *m, uint32_t row);
uint64_t rows_with_trust(const struct vpmu_model *m, unsigned trust);
uint64_t rows_of_role(const struct vpmu_model *m, enum tare_role role);
bool row_counts(const struct vpmu_row *r);
void flaw_add(struct planting *p, struct vpmu_flaw flaw);	/* nothing if it has no rows */
/* Instructions that the events of `rows` count `amount` times more. */
void flaw_add_insns(struct planting *p, const struct vpmu_insns *insns, uint64_t rows, int amount);
/* The events count micro-ops: several for some instructions, and now and then one again. */
void flaw_add_uops(struct planting *p, uint64_t rows, unsigned x87, unsigned calls, uint64_t period);
/* Interrupts, as far as p->out has any, for these events. */
void flaw_add_interrupts(struct planting *p, uint64_t rows);
/* Moves the interrupt event to that code. */
void flaw_hide_interrupts(struct planting *p, uint64_t code);
void flaws_draw(struct planting *p, uint64_t seed);
/* One opcode of all that the engine's decoder knows, for one event; with it perhaps interrupts and page faults. */
void flaws_draw_opcode(struct planting *p, uint64_t seed);

/* An instruction that a flaw may be about, and what every run of it counts as. */
struct model_insn {
	struct vpmu_insns set;
	bool loads, stores;
};
const struct model_insn *model_insn_at(size_t i);	/* until NULL */
int model_insns_parse(const char *text, size_t len, struct vpmu_insns *out, struct tare_why *why);

/* Writes the files that show the model into `dir` (made by the caller). `marker` is the text of the
 * PMU's file tare_simulated. 0 or an errno. */
int model_files(struct vpmu_shared *v, const char *marker, const char *dir);

/* tare_run(); `ended` (may be NULL) is called with the run's memory when the command has ended. */
int run_watched(const struct tare_run_options *o,
		void (*ended)(const struct soft_shared *shared, void *arg), void *arg,
		struct tare_run_report **report, struct tare_why *why);

#endif
