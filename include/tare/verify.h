/* Which events of this machine can be trusted, found out by experiment: `tare verify`.
 *
 *	struct tare_verify_report *r;
 *	if (tare_verify(NULL, &r, &why) < 0) …
 *	for (size_t i = 0; i < r->n_rows; i++)
 *		printf("%s %s\n", r->rows[i].event, r->rows[i].word);
 *	tare_verify_free(r);
 *
 * The method is the paper's: code whose counts are known by inspection runs several times, each
 * event is compared with what is expected, and every deviation is traced to its cause by an
 * experiment that changes one thing. No verdict is taken from a table.
 *
 * Threads: any thread; a report is used by one thread at a time, and read by any.
 *
 * Side effects: tare_verify() runs some billions of instructions. It keeps the calling thread on
 * one CPU, opens and closes counters, maps memory, starts threads and child processes, and waits
 * for them. All is as before when it returns.
 */
#ifndef TARE_VERIFY_H
#define TARE_VERIFY_H

#include <tare/cpu.h>
#include <tare/doctor.h>
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

/* Why a count differs from what is expected. The letters are those of the paper's Table 6. */
enum tare_cause {
	TARE_CAUSE_INTERRUPTS,	/* h: hardware interrupts */
	TARE_CAUSE_FAULTS,	/* p: page faults */
	TARE_CAUSE_EXCEPTIONS,	/* E: x87 and SSE exceptions */
	TARE_CAUSE_LAZY_FP,	/* F: the first use of the floating-point unit */
	TARE_CAUSE_OVERCOUNTED,	/* D: an instruction is counted too often */
	TARE_CAUSE_UNDERCOUNTED, /* M: an instruction is not counted, or not always */
	TARE_CAUSE_UOPS,	/* U: the event counts micro-operations */
	TARE_CAUSE_COUNT,	/* how many this version has; grows */
};
char tare_cause_letter(enum tare_cause cause);		/* 'h'; '?' where it is none */
const char *tare_cause_name(enum tare_cause cause);	/* "interrupts"; "unknown". Static */

/* One cause of an event's deviation, with its amount. */
struct tare_verify_cause {
	enum tare_cause cause;
	double amount;			/* for each occurrence; negative: too little is counted */
	double error;			/* greatest distance of `amount` from the truth, estimated */
	const char *per;		/* "interrupt", "page fault", "exception", "first use",
					 * "execution" */
	double share;			/* of the row's difference, mean of the runs */
	char instruction[96];		/* D, M: its text ("cpuid"); "" for the others */
	char kernel[24];		/* D, M: the kernel that has the instruction; or "" */
	char code[32];			/* D, M: bytes of the instruction, in hexadecimal; or "" */
	char source[64];		/* what the deviation was compared with: an event's name,
					 * "/proc/interrupts", "fresh pages" … */
	uint64_t reserved[4];
};

/* One kernel of a row: a section of code whose counts are known. */
struct tare_verify_section {
	const char *kernel;		/* "int_arith". Static */
	uint64_t expected;		/* of one run */
	double mean, distance;		/* of the runs; greatest distance of one from the mean */
	double rest;			/* mean - expected, after interrupts and page faults are
					 * subtracted */
	double limit;			/* smallest deviation for each pass of the kernel's loop
					 * that would have been seen */
	uint64_t passes;		/* passes of its loop in one run */
	uint64_t reserved[2];
};

enum tare_event_verdict {
	TARE_EVENT_DETERMINISTIC,	/* every run as expected */
	TARE_EVENT_DEVIATES,		/* and every cause is known: `letters` */
	TARE_EVENT_NEVER_COUNTS,	/* it opens, and stays 0 */
	TARE_EVENT_NOT_AVAILABLE,	/* the paper's "–": this machine does not have the event */
	TARE_EVENT_NOT_RUN,		/* the paper's "!" */
	TARE_EVENT_INCONCLUSIVE,	/* `reason` says why; letters may name some causes */
};
const char *tare_event_verdict_name(enum tare_event_verdict v);	/* "deterministic". Static */

/* One event. */
struct tare_verify_row {
	const char *event;		/* its name, as it was counted */
	const char *role;		/* "cond-branches", … (tare_role_name()). Static */
	enum tare_event_verdict verdict;
	char letters[12];		/* "hpEF"; "" */
	const char *word;		/* what the paper's Table 6 would have: "hpEF",
					 * "DETERMINISTIC", "–", "!"; "?" where inconclusive */
	char reason[256];		/* why there is no verdict, or that it never counts; or "" */
	unsigned runs;
	uint64_t expected;		/* of one run of all kernels */
	double mean, distance;		/* of the runs; greatest distance of one from the mean */
	double *excess;			/* of each run: count - expected; NULL where runs is 0 */
	double difference;		/* mean - expected */
	double residue;			/* greatest distance of a run from what is expected, after
					 * all causes are subtracted */
	double limit;			/* the detection limit: a deviation for each pass of a
					 * loop that is larger would have been found */
	double interrupts, faults;	/* of one run, mean; NaN where unknown */
	size_t n_causes;
	struct tare_verify_cause *causes;
	size_t n_sections;
	struct tare_verify_section *sections;
	uint64_t reserved[4];
};

/* One result of another experiment (the registers in turn, invariants, …). */
struct tare_verify_number {
	const char *name;		/* "per_read". Static */
	double value;
};
#define TARE_VERIFY_NUMBERS 8
struct tare_verify_finding {
	const char *experiment;		/* a stable name: "registers". Static */
	const char *event;		/* of a row, or NULL: of no single event */
	enum tare_verdict verdict;	/* as the doctor's */
	char text[256];			/* for people */
	size_t n_numbers;
	struct tare_verify_number numbers[TARE_VERIFY_NUMBERS];
	uint64_t reserved[4];
};

struct tare_verify_report {
	struct tare_cpu cpu;
	enum tare_backend backend;	/* what counted */
	bool simulated;			/* a virtual PMU: nothing here is true of this machine's */
	const char *path;		/* how counters were read: "rdpmc", "read", "engine" */
	unsigned runs;
	bool quick;
	char interrupts[64];		/* what the number of interrupts was taken from; or "" */
	size_t n_kernels;		/* that ran */
	const char *const *kernels;
	size_t n_skipped;		/* "avx512: this CPU lacks avx512f" */
	const char *const *skipped;
	size_t n_rows;
	struct tare_verify_row *rows;
	size_t n_findings;
	struct tare_verify_finding *findings;
	char conclusion[256];		/* one line */
	size_t n_experiments;		/* that ran */
	const char *const *experiments;	/* their names. Static */
};

/* Where the search for an event that counts interrupts begins. What comes before is left out. */
enum tare_interrupts_from {
	TARE_INTERRUPTS_TABLE,		/* the events that the tables have for this CPU */
	TARE_INTERRUPTS_VENDOR,		/* those of all other CPUs of its vendor */
	TARE_INTERRUPTS_SCAN,		/* every code, as tare_scan_run() does */
};

struct tare_verify_options {
	size_t size;			/* set by TARE_VERIFY_OPTIONS_INIT (tare/growth.h) */
	const struct tare_events *events; /* NULL: all of this CPU whose counts inspection gives */
	const char *const *kernels;	/* names, NULL at the end; NULL: all */
	const char *const *experiments;	/* names (tare_verify_experiment()), NULL at the end; NULL:
					 * all */
	unsigned runs;			/* 0: 10, or 3 where quick */
	bool quick;			/* a tenth of the code */
	enum tare_backend backend;
	/* The software engine runs kernels in a child: the words of a command that calls
	 * tare_verify_child() with two more words; NULL at the end. NULL: it cannot be used. */
	const char *const *child;
	/* Called first with what is going to happen and how long that takes, and share 0; then with
	 * what happens now. NULL: not called. */
	void (*progress)(const char *text, double share, void *arg);
	void *arg;
	volatile const int *stop;	/* when *stop != 0: end early with TARE_E_TIMEOUT */
	uint64_t seed;			/* of the order of generated instructions */
	enum tare_interrupts_from interrupts_from;
};
#define TARE_VERIFY_OPTIONS_INIT TARE_OPTIONS_INIT(verify)

/* `o` may be NULL. 0 and *report, to be freed with tare_verify_free(); or a negative error: nothing
 * on this machine can count, a name is unknown, the counters were taken away. */
int tare_verify(const struct tare_verify_options *o, struct tare_verify_report **report,
		struct tare_why *why);
void tare_verify_free(struct tare_verify_report *report);	/* NULL is allowed */

/* What the command of options.child does: runs a kernel and returns 0, or a negative error. */
int tare_verify_child(const char *kernel, const char *loops, struct tare_why *why);

/* The kernels and the experiments by number, from 0 until NULL; *about (may be NULL) receives one
 * line. Static. */
const char *tare_verify_kernel(size_t i, const char **about);
const char *tare_verify_experiment(size_t i, const char **about);

#ifdef __cplusplus
}
#endif
#endif
