/* Invariants between events: relations that hold for every program, as `tare verify -- COMMAND`
 * checks them.
 *
 *	struct tare_invariants_options o = TARE_INVARIANTS_OPTIONS_INIT;
 *	struct tare_invariants *r;
 *	o.argv = argv;
 *	if (tare_invariants_check(&o, &r, &why) < 0) …
 *	for (size_t i = 0; i < r->n; i++)
 *		printf("%s: %s\n", r->list[i].text, tare_invariant_state_name(r->list[i].state));
 *	tare_invariants_free(r);
 *
 * No instruction is a branch without being an instruction, and no conditional branch is taken more
 * often than it is executed: such relations need no known code. The events of a relation are
 * counted in the same run of the command, all of the time. If there are more events than counters,
 * the command runs several times, each time with the events of some of the relations; every batch
 * also counts a witness, which tells whether the runs were the same: instructions without interrupts,
 * where there are counters for that, or else instructions:u.
 *
 * Threads: every function here may be called by several threads at the same time.
 *
 * Side effects: those of tare_measure(), once for each batch and run.
 */
#ifndef TARE_INVARIANTS_H
#define TARE_INVARIANTS_H

#include <tare/err.h>
#include <tare/event.h>
#include <tare/growth.h>
#include <tare/measure.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tare_invariant_state {
	TARE_INVARIANT_HOLDS,		/* in every run */
	TARE_INVARIANT_BROKEN,		/* in some run: left and right are of the worst one */
	TARE_INVARIANT_NOT_CHECKED,	/* `reason` says why */
};
const char *tare_invariant_state_name(enum tare_invariant_state s);	/* "holds". Static */

/* One relation: the sum of some events = or <= the sum of others. */
struct tare_invariant {
	const char *text;		/* "cond-branches:u <= branches:u". Static */
	const char *why;		/* why it must be so, as a clause. Static */
	bool equal;			/* =, not <= */
	enum tare_invariant_state state;
	uint64_t left, right;		/* the sums */
	uint64_t excess;		/* by how much it is broken; 0 */
	unsigned broken_runs;
	char reason[256];		/* why it was not checked; or "" */
	uint64_t reserved[4];
};

/* Allocated by the library. */
struct tare_invariants {
	enum tare_backend backend;	/* what counted */
	bool virtual_pmu;		/* the counters are those of `tare run` … */
	bool simulated;			/* … which has counting errors */
	unsigned runs, batches;
	int exit_status;		/* of the command, the first that is not 0 */
	bool witnesses_agree;		/* all batches of each run executed the same */
	uint64_t least_witness, most_witness;
	size_t n;
	struct tare_invariant *list;
	size_t checked, broken;
	const char *witness;		/* the event: "instructions-minus-irqs:u". Static */
	unsigned compared;		/* batches that have it: the others have no counter for that */
};

struct tare_invariants_options {
	size_t size;			/* set by TARE_INVARIANTS_OPTIONS_INIT (tare/growth.h) */
	char *const *argv;
	unsigned runs;			/* 0: 1 */
	enum tare_backend backend;
	bool aslr;			/* leave ASLR on */
	volatile const int *stop;	/* when *stop != 0: end early with TARE_E_TIMEOUT */
};
#define TARE_INVARIANTS_OPTIONS_INIT TARE_OPTIONS_INIT(invariants)

/* Runs the command, and checks all relations whose events this machine has. 0 and *result, to be
 * freed with tare_invariants_free(); or a negative error: no command, nothing can count. */
int tare_invariants_check(const struct tare_invariants_options *o, struct tare_invariants **result,
			  struct tare_why *why);
void tare_invariants_free(struct tare_invariants *r);	/* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
