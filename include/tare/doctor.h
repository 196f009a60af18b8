/* Why counting does not work, or not well, on this machine, and what to do: `tare doctor`.
 *
 *	struct tare_doctor_report *r;
 *	if (tare_doctor(NULL, NULL, &r, &why) < 0) …
 *	puts(r->conclusion);
 *	for (size_t i = 0; i < r->n_results; i++)
 *		printf("%s: %s\n", r->results[i].is->title, r->results[i].finding);
 *	tare_doctor_free(r);
 *
 * The doctor reads facts from files (/proc, /sys) and tries what no file tells: it opens
 * events, counts code whose counts are known, and traces a child. A test can replace both, so
 * that every finding can be produced on any machine: with a root directory that has proc/
 * and sys/ below it, and with a struct of probes.
 *
 * Threads: any thread; a report is used by one thread at a time, and read by any.
 *
 * Side effects: tare_doctor() takes some tenths of a second. It forks children and waits for them,
 * so a SIGCHLD handler of the program runs. On a hybrid machine it keeps the calling thread on one
 * core type, and it sets the personality (ASLR) of the calling thread; both are as before when it
 * returns. The other functions have no side effects.
 */
#ifndef TARE_DOCTOR_H
#define TARE_DOCTOR_H

#include <tare/cpu.h>
#include <tare/err.h>
#include <tare/event.h>
#include <tare/growth.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tare_verdict {
	TARE_VERDICT_GOOD,
	TARE_VERDICT_INFO,	/* worth knowing; spoils nothing, or does not apply here */
	TARE_VERDICT_CAVEAT,	/* counts work, but this changes or limits them */
	TARE_VERDICT_BAD,	/* something does not work at all */
};
const char *tare_verdict_name(enum tare_verdict v);	/* "good", "info" …; "unknown". Static */

/* The exit status of `tare doctor`. */
enum tare_doctor_status {
	TARE_DOCTOR_GOOD = 0,
	TARE_DOCTOR_CANNOT_COUNT = 1,	/* neither hardware counters nor the software engine */
	TARE_DOCTOR_CAVEATS = 2,
};

/* One finding that is possible. `check` and `code` are stable names for
 * programs; the texts are for people. All static; meaning and remedy may be "". */
struct tare_doctor_finding {
	const char *check;		/* "pmu" */
	const char *code;		/* "hidden" */
	const char *title;		/* "Hardware counters" */
	enum tare_verdict verdict;
	const char *meaning;		/* what it does to a count */
	const char *remedy;		/* what a person can do */
};

/* One row of the report. */
struct tare_doctor_result {
	const struct tare_doctor_finding *is;
	char finding[384];		/* what was seen, with its values */
	const char *remedy;		/* is->remedy, or one that fits better; static */
	uint64_t reserved[2];
};

struct tare_doctor_report {
	enum tare_doctor_status status;
	bool hardware;			/* hardware counters open and count */
	bool engine;			/* the software engine can start */
	char conclusion[256];		/* one line: "PMU hidden by KVM; counting in software" */
	struct tare_cpu cpu;
	size_t n_results;
	struct tare_doctor_result *results;
};

/* Code whose counts are known by inspection (src/known/ARCH/regions.S). */
enum tare_region {
	TARE_REGION_LOOP,	/* n rounds: 4 instructions, of which 1 load, 1 store and
				 * 1 conditional branch */
	TARE_REGION_LOCKED,	/* n atomic additions: x86 `lock add`, arm64 ldxr/stxr */
	TARE_REGION_CPUID,	/* n conditional branches, each between two CPUIDs (x86);
				 * the same branches alone elsewhere */
};

/* What reading a counter in user space gave. The counter runs all the time, so
 * before <= kernel <= after where both ways see the same counter. */
struct tare_rdpmc_answer {
	bool capable;			/* the page's cap_user_rdpmc */
	unsigned index;			/* the page's index; 0: not readable now */
	uint64_t before;		/* read in user space */
	uint64_t kernel;		/* then by read(2) */
	uint64_t after;			/* and again in user space */
	uint64_t reserved[2];
};

/* What the doctor tries rather than reads. Each function gets `arg`; those that return
 * int give 0 (or what is said) or a negative errno. Where one is NULL, the machine is asked.
 *
 *	struct tare_doctor_probes p = TARE_DOCTOR_PROBES_INIT;
 *	p.open = my_open;
 */
struct tare_doctor_probes {
	size_t size;			/* set by TARE_DOCTOR_PROBES_INIT */
	void *arg;
	void (*cpu)(void *arg, struct tare_cpu *cpu);
	/* Keeps the calling thread on these CPUs ("0-7,16"), those of one core type of
	 * a hybrid machine, whose events count nowhere else. NULL: as before. */
	void (*stay_on)(void *arg, const char *cpus);
	/* Opens and closes the event for the calling thread. */
	int (*open)(void *arg, const struct tare_encoding *e);
	/* Do n of the event fit on the counters at once? A pinned group of n:
	 * 1 all counted, 0 the kernel refused to open that many, -EBUSY opened
	 * but not scheduled (somebody else holds counters). */
	int (*fits)(void *arg, const struct tare_encoding *e, unsigned n);
	/* The event over n rounds of the region, less what 0 rounds give; the
	 * smallest of a few tries (an interrupt can only add). */
	int (*count)(void *arg, const struct tare_encoding *e, enum tare_region region,
		     uint64_t n, uint64_t *value);
	/* The event over that many milliseconds of busy user mode. */
	int (*spin)(void *arg, const struct tare_encoding *e, unsigned ms, uint64_t *value);
	/* As count for TARE_REGION_LOOP, with the counter overflowing half-way:
	 * *fired tells how often that was seen. */
	int (*overflow)(void *arg, const struct tare_encoding *e, uint64_t n,
			uint64_t *value, unsigned *fired);
	/* Reads the event in user space. -EFAULT: the instruction trapped. */
	int (*rdpmc)(void *arg, const struct tare_encoding *e, struct tare_rdpmc_answer *a);
	/* Is the software engine there, and does it find what it needs? 0 or a
	 * negative enum tare_err, with why. */
	int (*engine)(void *arg, struct tare_why *why);
	/* What it needs first: a child that is traced over its exec. */
	int (*trace)(void *arg);
	/* Can address space randomisation be turned off for a child? */
	int (*no_aslr)(void *arg);
	/* Length of the kernel's tick; 0: unknown. */
	uint64_t (*tick_ns)(void *arg);
	const char *(*environment)(void *arg, const char *name);
};
#define TARE_DOCTOR_PROBES_INIT TARE_INIT(struct tare_doctor_probes)

/* The probes that ask the machine; their `arg` is not used. Static. */
const struct tare_doctor_probes *tare_doctor_probes(void);

/* Runs every check. root NULL: the real /proc and /sys. probes NULL: this machine. Fails only with
 * TARE_E_NOMEM, TARE_E_INVALID or TARE_E_OPTION_UNKNOWN: whatever is missing on the machine is a
 * finding. */
int tare_doctor(const char *root, const struct tare_doctor_probes *probes,
		struct tare_doctor_report **report, struct tare_why *why);
void tare_doctor_free(struct tare_doctor_report *report);	/* NULL is allowed */

/* Every finding that the doctor can make: i from 0 until NULL. */
const struct tare_doctor_finding *tare_doctor_finding_at(size_t i);

#ifdef __cplusplus
}
#endif
#endif
