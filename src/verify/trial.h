/* A trial: run known code once, and read what the events count of it.
 *
 *	struct trial_code code = {.kernel = k, .loops = 1000};
 *	struct trial t;
 *	if (trial_open(&(struct trial_options){.events = e, .n = 3}, &t, &why) < 0) …
 *	trial_run(&t, &code, counts, &why);
 *	trial_close(&t);
 *
 * This is the only place of the room where something is counted: an experiment chooses code,
 * events and surroundings, calls trial_run() as often as it wants, and compares. It does not know
 * what counts.
 *
 *  - trial-hw.c	perf_event_open through the room `counter`: a PMU, the virtual PMU of
 *			`tare run`, an emulated kernel's. The code runs in this thread, between
 *			two reads.
 *  - trial-soft.c	the software engine alone: the code runs in a child process under
 *			tare_measure(), twice, with and without loops; the difference counts.
 *
 * What the reads themselves count is taken off: it is measured with no code between them
 * (trial_open), and its spread is part of the detection limit.
 */
#ifndef VERIFY_TRIAL_H
#define VERIFY_TRIAL_H

#include "kernel.h"

#include <tare/counter.h>
#include <tare/event.h>

#define TRIAL_EVENTS 16

struct trial_code {
	const struct kernel *kernel;	/* NULL: `function` */
	struct kernel_part *part;	/* instead of the whole kernel; NULL: all of it */
	uint64_t loops;
	void (*function)(void *);	/* any other code, hardware only */
	void *argument;
};

/* The report's ways of reading: two reads, or a count that starts or stops. */
enum trial_pattern { TRIAL_READ_READ, TRIAL_START_READ, TRIAL_READ_STOP, TRIAL_START_STOP };

struct trial_options {
	const struct tare_event *const *events;	/* counted at the same time; used while the trial is open */
	size_t n;
	bool soft;			/* in the engine */
	enum tare_path path;		/* hardware: as in struct tare_counter_options */
	enum tare_serializer serializer;
	enum trial_pattern pattern;
	const struct tare_event *filler; /* hardware: this event takes so many registers first, so */
	unsigned fillers;		/* that the others get later ones */
	const char *const *child;	/* soft: the words of the command that runs a kernel; its
					 * name and loops are added (tare_verify_child) */
};

struct trial {
	struct trial_options o;
	uint64_t overhead[TRIAL_EVENTS];		/* what the reads count, typical */
	uint64_t overhead_spread[TRIAL_EVENTS];	/* … and greatest distance from it */
	uint64_t faults;		/* page faults of this thread in the last run */
	void *state;
};

int trial_open(const struct trial_options *o, struct trial *t, struct tare_why *why);
/* counts[n]; a count that went below 0 stays signed. TARE_E_STOLEN and the other errors of
 * tare_group_read(). */
int trial_run(struct trial *t, const struct trial_code *code, int64_t *counts, struct tare_why *why);
void trial_close(struct trial *t);

/* Known code runs in user mode: an event that says nothing of modes is counted there. Its name with :u, or false
 * where it has a modifier or takes none, or is for the engine only. */
bool trial_user_name(const struct tare_event *e, char *name, size_t size);

#endif
