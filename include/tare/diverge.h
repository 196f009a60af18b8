/* Where two runs of a command part, and why: `tare diverge`.
 *
 *	struct tare_diverge_options o = TARE_DIVERGE_OPTIONS_INIT;
 *	struct tare_divergence *d;
 *	o.argv = argv;
 *	if (tare_diverge(&o, &d, &why) < 0) …
 *	if (d->found == TARE_DIVERGE_POINT)
 *		printf("%s\n", d->sides[0].at.place);
 *	tare_divergence_free(d);
 *
 * How it is found, with the software engine alone:
 *
 *  1. The command runs until two runs differ: in the instructions of a thread, in the code that ran, or in
 *     how the command ended.
 *  2. Two new runs stop at every N-th instruction of each thread, a few thousand times. At a stop both have
 *     the next instruction and a hash of all code that ran (struct tare_stop, `way`). The first stop at which
 *     these differ bounds the *parting*, and two further runs stop more often between it and the stop
 *     before, until the stops are one instruction apart.
 *  3. The instructions before the parting are followed one by one in both runs, with all registers. From the
 *     branch that went two ways, the value that differs is followed back to the instruction that brought it.
 *     If it came from memory, two runs are searched, as in 2, for the instruction after which this memory
 *     differs. This ends at a system call, at an instruction that reads a clock, random bits or the CPU, at
 *     what the program found in its memory at the start, or at memory that another thread wrote. Where it
 *     does not, the cause is TARE_DIVERGE_BY_UNKNOWN, and the steps say how far it came.
 *
 * Steps 2 and 3 end after 60 seconds and 30 times the slowest whole run, each, with what is known then.
 *
 * Runs that differ differ in every pair of runs, and not always in the same place. So each search is made
 * of pairs of new runs; a pair that parts earlier than the one before it sends the search back.
 *
 * Two runs that execute the same instructions the same number of times in another order between two stops are
 * not told apart there.
 *
 * Threads: one call at a time in a process. Side effects: those of tare_measure(), several times; the command
 * is run with the caller's standard input, so it must not need to read it, and again and again: it must be a
 * command that can be repeated.
 */
#ifndef TARE_DIVERGE_H
#define TARE_DIVERGE_H

#include <tare/err.h>
#include <tare/growth.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tare_events;
struct tare_measurement;

enum tare_diverge_stage {
	TARE_DIVERGE_WHOLE,		/* whole runs */
	TARE_DIVERGE_SEARCH,		/* for the parting */
	TARE_DIVERGE_CAUSE,		/* for the instruction that brought a value */
};

struct tare_diverge_options {
	size_t size;			/* set by TARE_DIVERGE_OPTIONS_INIT */
	char *const *argv;		/* the command */
	char *const *environment;	/* NULL: the caller's */
	/* What the second side has; NULL: the same. (Of another command the code must be in the same files.) */
	char *const *other_argv;
	char *const *other_environment;
	const char *other_machine;
	unsigned runs;			/* so many whole runs are made until two differ; 0: 10; at least 2 */
	const char *machine;		/* struct tare_measure_options */
	bool aslr;			/* leave ASLR on: each run has its own addresses */
	bool no_cause;			/* end with the parting */
	volatile const int *stop;	/* when *stop != 0, it ends early, with TARE_E_INTERRUPTED */
	/* Called before each run, by the calling thread. May be NULL. */
	void (*on_run)(enum tare_diverge_stage stage, unsigned run, void *arg);
	/* Called with each whole run, which has its code (tare/code.h) then, and the events that were
	 * counted. May be NULL. */
	void (*on_whole)(const struct tare_measurement *m, const struct tare_events *events, void *arg);
	void *arg;
};
#define TARE_DIVERGE_OPTIONS_INIT TARE_OPTIONS_INIT(diverge)

enum tare_diverge_found {
	TARE_DIVERGE_SAME,		/* no two of the runs differed */
	TARE_DIVERGE_POINT,		/* the parting was found */
	TARE_DIVERGE_LOST,		/* whole runs differed, but no pair of runs that were stopped did:
					 * `note` says what is known */
};

/* What brought the difference. */
enum tare_diverge_cause {
	TARE_DIVERGE_BY_UNKNOWN,
	TARE_DIVERGE_BY_RANDOM,		/* random bytes: getrandom, /dev/urandom, AT_RANDOM, rdrand */
	TARE_DIVERGE_BY_TIME,		/* a clock, or the time-stamp counter */
	TARE_DIVERGE_BY_PID,			/* the number of a process or thread */
	TARE_DIVERGE_BY_ADDRESS,		/* where memory was mapped */
	TARE_DIVERGE_BY_SIGNAL,		/* a signal arrived at another instruction */
	TARE_DIVERGE_BY_THREAD,		/* another thread or process wrote memory at another time */
	TARE_DIVERGE_BY_CPU,			/* cpuid, or the number of the CPU the thread was on */
	TARE_DIVERGE_BY_ENVIRONMENT,		/* environment variables, or their size */
	TARE_DIVERGE_BY_ARGUMENTS,
	TARE_DIVERGE_BY_DIRECTORY,		/* names or order of a directory's entries */
	TARE_DIVERGE_BY_FILE,		/* contents or data of a file */
	TARE_DIVERGE_BY_SHORT_READ,		/* one call transferred more bytes than the other */
	TARE_DIVERGE_BY_SYSTEM_CALL,		/* another result of a system call */
	TARE_DIVERGE_BY_OUTSIDE,		/* something else that the kernel gave the process */
};
const char *tare_diverge_cause_name(enum tare_diverge_cause cause);	/* "random bytes"; "unknown". Static */

struct tare_diverge_place {
	uint64_t address;
	const char *place;		/* "work+0x19 (work.c:6), program+0x1192"; "" */
};

/* One of the two runs, at the parting. */
struct tare_diverge_side {
	bool ended;			/* the thread ended here, the other one went on */
	struct tare_diverge_place at;	/* the first instruction that the other side does not execute next */
	size_t n_frames;		/* the stack, the innermost function first */
	struct tare_diverge_place *frames;
	uint64_t reserved[4];
};

/* A step on the way from the parting back to the cause. */
struct tare_diverge_step {
	uint64_t count;			/* the instruction, by number in its thread */
	struct tare_diverge_place at;
	const char *what;		/* "rax: 0x10 and 0x11", "8 bytes at 0x7ffff7e1a010: … and …" */
	uint64_t reserved[2];
};

struct tare_divergence {
	enum tare_diverge_found found;
	unsigned runs;			/* whole runs that were made … */
	unsigned searched;		/* … and runs of the search */
	size_t n_totals;
	uint64_t *totals;		/* instructions of each whole run, in order */
	const char *note;		/* "" or what limits the result */
	/* TARE_DIVERGE_POINT: */
	uint64_t count;			/* so many instructions of the thread were the same … */
	bool is_thread;			/* … that is not the first one of the command */
	struct tare_diverge_place last;	/* … of which this is the last one */
	struct tare_diverge_side sides[2];
	enum tare_diverge_cause cause;
	const char *cause_text;		/* "getrandom(0x7ff…, 16, 0) gave other bytes: … and …"; of an unknown cause,
					 * why it is not known */
	size_t n_steps;
	struct tare_diverge_step *steps;	/* from the parting to the cause */
	uint64_t reserved[4];
};

/* 0 and *d; or a negative enum tare_err, and *d is NULL: those of tare_measure(), TARE_E_INTERRUPTED. */
int tare_diverge(const struct tare_diverge_options *o, struct tare_divergence **d, struct tare_why *why);
void tare_divergence_free(struct tare_divergence *d);	/* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
