/* Running a command with a virtual PMU, as `tare run` does.
 *
 *	struct tare_run_options o = TARE_RUN_OPTIONS_INIT;
 *	struct tare_run_report *report;
 *	o.argv = argv;
 *	o.cpu = "zen2";
 *	if (tare_run(&o, &report, &why) < 0) …
 *	printf("exit status %d\n", report->exit_status);
 *	tare_run_report_free(report);
 *
 * The command and its children see the counters of that CPU: perf_event_open, rdpmc, cpuid,
 * /proc/cpuinfo and the PMU's folder in sysfs answer as on it.
 *
 * Threads: every function here may be called by several threads at the same time.
 *
 * Side effects: tare_run() starts the command as a child process, and a helper process that
 * removes the run's temporary folder if the caller is killed; both are reaped before it returns.
 * It also starts one thread, which it joins. The process gets SIGCHLD for the command, not for
 * the helper. While tare_run() runs, a folder tare-run-XXXXXX exists in TMPDIR (/tmp by default),
 * and the soft limit on open files (RLIMIT_NOFILE) of the process may be higher; the command gets
 * the caller's limit. Nothing else of the process changes, and no descriptor of the library is
 * inherited by other children of the process.
 */
#ifndef TARE_RUN_H
#define TARE_RUN_H

#include <tare/err.h>
#include <tare/growth.h>
#include <tare/measure.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be said about a run that has ended. Made by tare_run(). Lists of program names are
 * separated by ", " and "" where there is none. */
struct tare_run_report {
	int exit_status;	/* of the command, as a shell gives it: 128+N for signals */
	bool stopped;		/* *stop ended the command */
	const char *asked_cycles;	/* programs that asked for cycles and got none
					 * (tare_run_options.cycles) */
	const char *kernel_as_user;	/* programs whose events include the kernel and counted
					 * user mode alone */
	/* Processes that ran natively, without the virtual PMU: counts of events that they were
	 * to inherit do not include them. With all_tasks every process and thread of the
	 * command; those that ran natively have not_counted set. */
	size_t n_tasks;
	struct tare_task *tasks;
};

struct tare_run_options {
	size_t size;		/* set by TARE_RUN_OPTIONS_INIT (tare/growth.h) */
	char *const *argv;
	const char *cpu;	/* a model, see tare_run_model(); NULL: the one nearest to this CPU */
	const char *flaws;	/* comma-separated, see tare_run_flaw(); NULL or "": none */
	uint64_t seed;		/* of the random part of the flaws */
	bool aslr;		/* leave ASLR on */
	bool cycles;		/* cycles and ref-cycles can be counted: one for each instruction */
	bool kernel_as_user;	/* events that include the kernel count user mode instead of being
				 * refused */
	bool all_tasks;		/* list every task in the report */
	volatile const int *stop; /* when *stop != 0 (a signal handler's): end the command; may be
				 * NULL */
	const char *machine;	/* NULL: features, caches and number of CPUs are the host's; else that
				 * machine's (tare/world.h). Vendor, family, model and PMU are those
				 * of `cpu` */
};
#define TARE_RUN_OPTIONS_INIT TARE_OPTIONS_INIT(run)

/* The models and the flaws by number, from 0 until NULL; *about (may be NULL) receives the name
 * of the CPU, or what the flaw does. All strings are static. */
const char *tare_run_model(size_t i, const char **about);
const char *tare_run_flaw(size_t i, const char **about);

/* A counting error that a list of flaws plants, for tests that compare what they find with the
 * truth. No program that runs inside can ask for it. */
struct tare_run_planted {
	const char *event;	/* the name in the tables; "" for a flaw of the whole PMU */
	uint64_t code;		/* its raw code; 0 where it has none, or for the whole PMU */
	const char *role;	/* "instructions", …; "" */
	const char *cause;	/* "interrupt", "page-fault", "exception", "first-fp", "instruction",
				 * "micro-op", "replay", "iret", "entry", "migration", "switch",
				 * "early-read", "dead"; of the PMU: "interrupts",
				 * "undocumented", "speclockmap", "register", "narrow", "wrap",
				 * "moved", "stolen", "watchdog", "held" */
	const char *letter;	/* of the paper's Table 6: "h", "p", "E", "F", "D", "M", "U", or "" */
	const char *what;	/* the instruction; or whose micro-ops: "x87", "calls", "each" (of
				 * what the event is to count); "" */
	int64_t amount;		/* what one occurrence adds; of the PMU: its size or rate */
	uint64_t one_of;	/* "interrupt": one of so many is not counted; "register": one of so
				 * many counts is wrong; else 0 */
};

/* What these options plant: .cpu and .flaws are used, nothing runs. 0, *list (to be freed with
 * tare_run_planted_free()) and how many there are in *n; or an error as of tare_run(). */
int tare_run_planted(const struct tare_run_options *o, struct tare_run_planted **list, size_t *n,
		     struct tare_why *why);
void tare_run_planted_free(struct tare_run_planted *list);	/* NULL is allowed */

/* Runs the command to its end. 0 and *report, to be freed with tare_run_report_free(); or a
 * negative error, *report NULL, and no child left behind. `report` may be NULL.
 * TARE_E_NO_COMMAND where argv is NULL or empty. TARE_E_INVALID also where the process ignores
 * SIGCHLD (SIG_IGN or SA_NOCLDWAIT): the kernel then throws the exit status away. */
int tare_run(const struct tare_run_options *o, struct tare_run_report **report,
	     struct tare_why *why);
void tare_run_report_free(struct tare_run_report *report);	/* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
