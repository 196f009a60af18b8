/* Measuring a whole command, as `tare stat` does.
 *
 *	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
 *	struct tare_measurement *m;
 *	o.argv = argv;
 *	o.events = list;
 *	if (tare_measure(&o, &m, &why) < 0) …
 *	for (size_t i = 0; i < m->n_counts; i++)
 *		printf("%s %" PRIu64 "\n", m->counts[i].event, m->counts[i].value);
 *	tare_measurement_free(m);
 *
 * One call is one run. The command uses the caller's standard input, output and error.
 *
 * Threads: every function here may be called by several threads at the same time; the structs
 * that are passed in must not be changed meanwhile.
 *
 * Side effects: tare_measure() starts one child process, which it reaps before it returns, and
 * for some runs one thread, which it joins. The process therefore gets SIGCHLD. While
 * tare_measure() or tare_backend_for() runs, the soft limit on open files (RLIMIT_NOFILE) of the
 * process may be higher; the command gets the caller's limit. Signal dispositions, the signal
 * mask of the caller, other limits and the working directory stay as they are, and no descriptor
 * of the library is inherited by other children of the process.
 */
#ifndef TARE_MEASURE_H
#define TARE_MEASURE_H

#include <tare/event.h>
#include <tare/growth.h>
#include <tare/trace.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tare_backend { TARE_BACKEND_AUTO, TARE_BACKEND_HW, TARE_BACKEND_SOFT };

/* How a number was obtained. A number is never shown as better than it is. */
enum tare_provenance {
	TARE_PROV_NONE,
	TARE_PROV_EXACT,	/* the software engine saw every instruction retire */
	TARE_PROV_CORRECTED,	/* hardware count, known overcount subtracted */
	TARE_PROV_RAW,		/* hardware (or kernel) count as it is */
	TARE_PROV_SCALED,	/* multiplexed: an estimate */
	TARE_PROV_SIMULATED,	/* a virtual PMU that reproduces counting errors */
	TARE_PROV_INCOMPLETE,	/* would be exact, but covers only part of the run: the true
				 * count is at least this */
};
const char *tare_provenance_name(enum tare_provenance p);	/* static, never NULL */

enum tare_count_state {
	TARE_COUNT_OK,
	TARE_COUNT_NOT_OPENED,		/* could not be opened: see .code */
	TARE_COUNT_NOT_SCHEDULED,	/* opened, but never got a counter */
	TARE_COUNT_STOLEN,		/* lost its counter during the run */
};

struct tare_code;
struct tare_stop;		/* tare/stop.h */
struct tare_stop_rule;
struct tare_stop_result;
struct tare_world;		/* tare/world.h */

struct tare_count {
	const char *event;		/* the name as the caller wrote it */
	enum tare_count_state state;
	int code;			/* enum tare_err when state is not OK */
	uint64_t value;			/* final: scaled if it had to be, corrected if asked */
	uint64_t raw;			/* as the counter stood */
	enum tare_provenance provenance;
	bool perturbed;			/* a kernel-side number (time, faults, switches) of a
					 * run that tare itself slowed down or interrupted */
	bool lower_bound;		/* the count covers only part of the run: some tasks could
					 * not be counted, or not to their end (see tasks), or a
					 * timeout or *stop ended the run. The true count is at
					 * least this. provenance is never EXACT, value never 0 */
	bool user_only;			/* user mode, though the event did not ask for that */
	uint64_t vdso;			/* software engine: the part of value that was counted in
					 * the vDSO (functions for reading clocks); it depends on
					 * the time of day */
	uint64_t enabled_ns, running_ns;
	const char *unit;
	uint64_t uncounted;		/* counted inside `tare run`: this many processes below
					 * the counter ran without the virtual PMU */
	uint64_t reserved[3];
};

struct tare_task {			/* a process or a thread of the command */
	pid_t pid, tid;
	char comm[16];
	char exe[256];
	bool is_thread;
	const char *not_counted;	/* NULL, or why this task was not counted */
	const char *cut_off;		/* NULL, or what ended the task before it reported */
	const char *remedy;		/* NULL, or what lets the task be counted; static */
	struct tare_count *counts;	/* n_counts of the measurement; NULL from tare_run() */
	uint64_t reserved[4];
};

/* What a program counted between two dumps that it asked for (tare/region.h, valgrind/callgrind.h). */
struct tare_dump {
	unsigned number;		/* of the run: 1, 2 … */
	pid_t pid;			/* of the process that asked; 0: not known (hardware) */
	const char *name;		/* as the program gave it, or "" */
	struct tare_count *counts;	/* n_counts of the measurement */
	uint64_t reserved[4];
};

/* What programs of the run asked for. All counts of the measurement are of what ran while counting
 * was on; those of the dumps are included. */
struct tare_parts {
	bool started_off;		/* counting was off at first (tare_measure_options.starts_off) */
	uint64_t on, off;		/* how often counting of a process or thread was switched */
	uint64_t zeroed;		/* how often counts were set to 0 */
	uint64_t missed;		/* requests that could not be obeyed: a debugger held a thread */
	size_t n_dumps;
	struct tare_dump *dumps;
	uint64_t lost_dumps;		/* dumps beyond those that there is room for; their counts are in
					 * the totals */
};

/* The result of a run. Strings and arrays belong to it; the names of the events belong to the
 * list that was measured and must outlive the result. */
struct tare_measurement {
	enum tare_backend backend;	/* the one used: HW or SOFT */
	const char *backend_reason;	/* why that one */
	int exit_status;		/* as a shell gives it: 128+N for signals */
	bool timed_out;			/* ended by timeout_s: counts cover part of the run */
	bool stopped;			/* ended by *stop: counts cover part of the run */
	bool aslr_off;			/* of the final image, checked, not assumed */
	const char *aslr_note;		/* NULL, or why ASLR is not as asked */
	struct tare_why lacking;	/* code 0; or the first event that was asked for and has
					 * no count: never scheduled, or its counter was lost.
					 * Other events may have counts. */
	uint64_t wall_ns, user_ns, system_ns;
	size_t n_counts;
	struct tare_count *counts;	/* one per event asked for, in order */
	size_t n_tasks;
	struct tare_task *tasks;	/* with per_task all tasks; else those that were not
					 * counted to their end */
	struct {			/* TARE_BACKEND_SOFT: work of the translator, all processes */
		uint64_t blocks, source_bytes, code_bytes, ns;
	} translated;
	struct tare_code *code;		/* with tare_measure_options.code: which code ran how often
					 * (tare/code.h); else NULL */
	bool limited;			/* ended by a limit or by on_stop (tare/stop.h): counts
					 * cover part of the run */
	size_t n_stops;
	struct tare_stop_result *stops;	/* one per rule of tare_measure_options.stops */
	struct tare_parts *parts;	/* NULL: the whole run was counted */
	struct tare_world *world;	/* what the program saw (tare/world.h); NULL: the host, with
					 * hardware counters */
	struct {			/* with tare_measure_options.keep_code */
		uint64_t read, written;	/* programs whose code came from the folder, and went there */
		uint64_t damaged;	/* files that were not used: other bytes than were written, or another
					 * owner */
		struct tare_why problem;	/* code 0; or why code could not be kept. The counts are right
						 * in any case */
	} kept;
};

/* How counting can start, besides on. The software engine knows all of them, hardware counters
 * TARE_OFF_UNTIL_ASKED. */
enum tare_starts_off {
	TARE_OFF_UNTIL_ASKED = 1,	/* off until the program's first request */
	TARE_OFF_PROCESS = 2,		/* each process is off until it asks to start, … */
	TARE_OFF_THREADS = 4,		/* … each thread until it toggles (callgrind.h) */
};

/* A descriptor from which commands come while the command runs. */
struct tare_control {
	int fd;
	/* Called when fd is readable or hung up, with the totals so far, by the thread that called
	 * tare_measure(). False: do not watch fd any more. */
	bool (*on_ready)(const struct tare_measurement *so_far, void *arg);
	void *arg;
	uint64_t reserved[4];
};

/* What happens where a function is entered that is not on the stack of the thread yet, and where it is
 * left again, by a return or by another way (an exception, longjmp). */
enum tare_watch_what {
	TARE_WATCH_IN = 1,		/* counting is on while it is on the stack */
	TARE_WATCH_TOGGLE = 2,		/* counting of the thread changes at its start and at its end */
	TARE_WATCH_DUMP_BEFORE = 4,	/* a dump (struct tare_dump) before it … */
	TARE_WATCH_DUMP_AFTER = 8,	/* … and after it */
	TARE_WATCH_ZERO_BEFORE = 16,	/* what was counted since the last dump is forgotten (enum tare_zero) */
};

struct tare_watched {
	uint64_t address;		/* its first instruction */
	unsigned what;			/* enum tare_watch_what */
	unsigned number;		/* for tare_watch.name */
};

/* Functions that switch counting. tare_watch_names_new() (tare/codeprofile.h) finds them by name. Without a call
 * graph in the result there are none: set tare_measure_options.code and .calls. With TARE_WATCH_IN and
 * _TOGGLE, counting usually starts off: TARE_OFF_THREADS. */
struct tare_watch {
	/* The first such function at w->address or after it, and below `end`, of the file that the
	 * process has mapped there. Called for each mapping of a file in which code runs, by a thread of
	 * tare_measure(), while the process waits. False: there is none. */
	bool (*next)(pid_t pid, uint64_t end, struct tare_watched *w, void *arg);
	/* The function's name, for the name of its dumps: "--dump-before=NAME" */
	const char *(*name)(unsigned number, void *arg);
	void *arg;
	uint64_t reserved[4];
};

/* What the zero request of valgrind/callgrind.h, and TARE_WATCH_ZERO_BEFORE, forget. */
enum tare_zero {
	TARE_ZERO_DEFAULT,		/* the request: what the thread has counted; the rule: what the process has */
	TARE_ZERO_PROCESS,		/* both: what the process has counted */
	TARE_ZERO_THREAD,		/* both: what the thread has counted */
};

struct tare_measure_options {
	size_t size;			/* set by TARE_MEASURE_OPTIONS_INIT (tare/growth.h) */
	char *const *argv;		/* NULL: attach until the target ends or *stop */
	pid_t pid, tid;			/* count this process or thread instead; argv, if any,
					 * then only defines the duration */
	const struct tare_events *events;
	const struct tare_cpu *cpu;	/* NULL: detect */
	enum tare_backend backend;
	bool aslr;			/* leave ASLR on */
	bool no_inherit;		/* do not count what the command starts */
	bool per_task;			/* fill tasks */
	bool refuse_uncounted;		/* fail instead of running a program uncounted */
	bool pinned;			/* --exact: never multiplex */
	double timeout_s;		/* 0: none */
	unsigned interval_ms;		/* 0: none; else on_interval is called that often, with
					 * the totals so far */
	unsigned delay_ms;		/* 0: none; else the first call of on_interval comes then
					 * (once, where interval_ms is 0): to subtract what was
					 * counted until then */
	void (*on_interval)(const struct tare_measurement *so_far, void *arg);
					/* called by the thread that called tare_measure() */
	void *arg;
	volatile const int *stop;	/* when *stop != 0 (a signal handler's): end early */
	bool code;			/* fill tare_measurement.code; with TARE_BACKEND_SOFT only */
	bool calls;			/* … with the call graph, too (tare/code.h) */
	const struct tare_trace *trace;	/* NULL: none; else fills tare_measurement.code, too, and tells
					 * which memory is used (tare/trace.h); with
					 * TARE_BACKEND_SOFT only */
	/* Stops and limits (tare/stop.h). on_stop returns an enum tare_stop_go; it gets `arg`. */
	const struct tare_stop_rule *stops;
	size_t n_stops;
	int (*on_stop)(const struct tare_stop *stop, void *arg);
	const struct tare_control *control;	/* NULL, or a descriptor to be watched */
	unsigned starts_off;		/* 0: counting is on from the first instruction; else
					 * enum tare_starts_off */
	bool valgrind;			/* software engine: the program's RUNNING_ON_VALGRIND is 1 */
	const struct tare_watch *watch;	/* NULL: none; with .calls only */
	const char *machine;		/* NULL: the program sees the host's CPU; else that machine
					 * (tare/world.h), with the software engine only */
	/* With .code: what runs while *leave_out is not 0 is left out of tare_measurement.code (its counts are
	 * for the caller to leave out). Looked at when the command starts, and after on_interval and
	 * control.on_ready have returned: what ran before they were called counts as ever. NULL: nothing is */
	const volatile int *leave_out;
	const char *hermetic;		/* not NULL: the program sees a still world, with random
					 * numbers of this seed ("": 0), and if .machine is NULL, the
					 * machine x86-64-v2 (tare/world.h); with the software engine
					 * only */
	const char *schedule;		/* with .hermetic: NULL: tasks run in order of creation; else in
					 * an order that follows from this seed */
	/* With .hermetic: all tasks wait for each other, world->waits (tare/world.h) says what for, and the run
	 * goes on like that until it is ended. Called by the thread that called tare_measure(), with .arg. NULL:
	 * nothing is */
	void (*on_deadlock)(const struct tare_world *world, void *arg);
	unsigned layout;		/* 0: stack, program, libraries and heap are where the kernel puts them; else
					 * where this number says: other addresses with each number, the same in
					 * every run. With the software engine only, and not with .aslr */
	/* The software engine reads code that earlier runs have translated from this folder, and writes what it
	 * translates there, so that short programs take less time. The counts are the same. The folder is made if
	 * it does not exist; only this user may have access to it (mode 0700). Files that were used longest ago
	 * are removed where it exceeds keep_code_bytes (0: 256 MiB). Without effect with hardware counters, .aslr,
	 * .code, .machine, .hermetic and stops. NULL: nothing is kept */
	const char *keep_code;
	uint64_t keep_code_bytes;
	unsigned zero;			/* software engine: enum tare_zero */
};
#define TARE_MEASURE_OPTIONS_INIT TARE_OPTIONS_INIT(measure)

/* The backend that tare_measure() would use for these events: TARE_BACKEND_HW or _SOFT, or a
 * negative error that names the event that cannot be counted. `reason` (may be NULL) receives
 * why, as a clause. The events are opened to find out; the first call that needs the software
 * engine also starts and ends a child process. */
int tare_backend_for(const struct tare_events *events, enum tare_backend asked,
		     char *reason, size_t reason_size, struct tare_why *why);

/* Can all these events be on counters at the same time, on this machine, now? 1 yes; 0 no, and
 * `why` says what is lacking; or a negative error when one of them cannot be opened at all. */
int tare_events_fit(const struct tare_events *events, struct tare_why *why);

/* Can the software engine count this event? It counts what retires in user mode and knows
 * nothing of time: no cycles, no misses. False for NULL. */
bool tare_engine_counts(const struct tare_event *event);

/* Runs the command, or watches the target, to its end. 0 and *m, to be freed with
 * tare_measurement_free(); or a negative error, *m NULL, and no child left behind.
 * TARE_E_INVALID also where the process ignores SIGCHLD (SIG_IGN or SA_NOCLDWAIT): the kernel
 * then throws the command's exit status away. */
int tare_measure(const struct tare_measure_options *o, struct tare_measurement **m,
		 struct tare_why *why);
void tare_measurement_free(struct tare_measurement *m);	/* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
