/* The event that counts interrupts, found by experiment.
 *
 * Candidates are tried against a loop of which the number of instructions is known, so long that
 * interrupts come: what the candidate counts is compared with the excess of instructions:u, and with
 * what /proc/interrupts gained on this CPU, or, where that cannot be read, with the number of ticks. The first candidates are what the tables have for this
 * CPU, then what they have for all other CPUs of the vendor; if none is proved, the whole event
 * space is searched (tare_scan_run()). The best proved one wins. Where that would take more than
 * INTERRUPT_SCAN_SECONDS, only selectors of 8 bits are searched.
 *
 *	struct interrupt_event e;
 *	if (interrupt_event_find(&(struct interrupt_search){ .cpu = &cpu }, &e, &why) < 0) …
 *	if (e.proof != INTERRUPT_NONE)
 *		verify_event(v, e.name);
 */
#ifndef VERIFY_INTERRUPT_EVENT_H
#define VERIFY_INTERRUPT_EVENT_H

#include <tare/scan.h>

#define INTERRUPT_SCAN_SECONDS 60

/* Where the candidates begin. */
enum interrupt_from { INTERRUPT_FROM_TABLE, INTERRUPT_FROM_VENDOR, INTERRUPT_FROM_SCAN };

struct interrupt_search {
	const struct tare_cpu *cpu;	/* uarch may be NULL */
	enum interrupt_from from;	/* leave out what comes before */
	bool no_scan;			/* end before the scan */
	bool quick;			/* scan selectors of 8 bits only */
	unsigned bits;			/* counters wrap after so many; 0: where the kernel says */
	volatile const int *stop;	/* when *stop != 0: end with TARE_E_TIMEOUT; or NULL */
	/* How far it is; NULL: not called. */
	void (*progress)(const char *text, void *arg);
	void *arg;
};

enum interrupt_proof {
	INTERRUPT_NONE,		/* there is no such event, or none that counts like interrupts */
	INTERRUPT_UNTESTED,	/* the tables have it, and no interrupt came to test it with */
	INTERRUPT_NEAR,		/* counts as /proc/interrupts has it, as far as that can be told */
	INTERRUPT_EXACT,	/* equals the excess of instructions:u in every trial */
};

struct interrupt_event {
	enum interrupt_proof proof;
	enum interrupt_from from;	/* where it comes from */
	char name[64];			/* "INTERRUPT_TAKEN:u" of this CPU's table; else "r002c:u" */
	uint64_t raw;
	const char *row;		/* the tables' name; NULL: undocumented */
	const char *uarch;		/* … for this CPU; NULL: it came from the scan */
	bool and_faults;		/* it counts page faults, too */
	uint64_t count, excess, interrupts, ticks;	/* of all trials without page faults; interrupts:
							 * by /proc/interrupts, UINT64_MAX: unknown */
	uint64_t trials;		/* … and how many these are */
	unsigned each;			/* what instructions:u counts too much for one; 0: not always
					 * the same */
	unsigned tried;			/* codes */
	/* An event that counts interrupts and page faults together, named likewise; or "" */
	char both[64];
};

int interrupt_event_find(const struct interrupt_search *s, struct interrupt_event *e,
			 struct tare_why *why);

#endif
