/* Stopping a measured command after exactly N events, and limits.
 *
 *	struct tare_events *which;
 *	uint64_t n;
 *	tare_stop_parse("instructions=1000000", NULL, &which, &n, &why);
 *	const struct tare_stop_rule rule = { .event = tare_events_at(which, 0), .n = n,
 *					     .then = TARE_STOP_CALL };
 *	o.stops = &rule;			struct tare_measure_options
 *	o.n_stops = 1;
 *	o.on_stop = show;			int show(const struct tare_stop *, void *)
 *	tare_measure(&o, &m, &why);
 *	printf("%" PRIu64 " stops\n", m->stops[0].hits);
 *
 * Every thread counts for itself, from 0 when it begins; a process that execs goes on counting. A
 * thread stops right after the instruction that makes its N-th event, before the next one. If that
 * instruction is a system call, the thread stops before the kernel makes the call.
 *
 * A limit (TARE_STOP_END) is for all threads and processes of the command together: N events may
 * happen. The event after them ends the whole tree of processes, at once and always at the same
 * instruction, unless threads run at the same time: then it is the sum of all that is exact, not
 * which thread makes the last event.
 *
 * The software engine can stop at every event that it counts. TARE_BACKEND_AUTO means the engine. With
 * TARE_BACKEND_HW one rule is possible, for the first thread of the command: a counter overflows before
 * the N-th event, by twice the delay of its interrupts that was measured on this machine, and the rest
 * is single-stepped. Where that cannot be exact, tare_measure() fails. (Untested on real hardware;
 * tested on the virtual PMU of `tare run --flaws skid`.)
 *
 * Threads: on_stop is called by a thread of the library, never twice at the same time; the stopped
 * thread waits meanwhile, other threads of the command run on.
 */
#ifndef TARE_STOP_H
#define TARE_STOP_H

#include <tare/event.h>
#include <tare/measure.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TARE_STOP_MAX_RULES 16

/* What follows a stop. */
enum tare_stop_then {
	TARE_STOP_CONTINUE,	/* it is counted, and the thread goes on */
	TARE_STOP_SIGNAL,	/* the thread gets a signal, as if by sigqueue(3) */
	TARE_STOP_CALL,		/* tare_measure_options.on_stop decides */
	TARE_STOP_END,		/* a limit: N events are allowed, the next one ends the command */
};

struct tare_stop_rule {
	const struct tare_event *event;	/* one that tare_stop_possible() allows */
	uint64_t n;			/* at least 1 */
	enum tare_stop_then then;
	bool every;			/* also after 2N, 3N, … events; not with TARE_STOP_END */
	int signal;			/* TARE_STOP_SIGNAL: its number */
	/* TARE_BACKEND_HW: how late interrupts of this event come at most, in events, where that was
	 * measured before (`tare verify --experiment skid`); 0: tare_measure() measures it. */
	uint64_t skid;
	uint64_t first;			/* where the first stop is, with the software engine; 0: after n events.
					 * With `every` the others are n events apart, from there on */
	uint32_t branch;		/* only this thread (struct tare_stop), with the software engine; 0: all */
	uint32_t reserved[1];
};

/* What on_stop wants. */
enum tare_stop_go {
	TARE_STOP_GO_ON,	/* the thread goes on */
	TARE_STOP_KILL,		/* the command is ended, with every process it has started */
	/* The process leaves the engine: from here on it runs natively and uncounted, at its own
	 * addresses with its own registers. It is stopped (SIGSTOP), so that a debugger can attach to
	 * it; SIGCONT lets it run. For a process with one thread; tare_stop_hand_over() says whether
	 * it is possible. */
	TARE_STOP_HAND_OVER,
};

struct tare_stop_register {
	const char *name;		/* as gdb has it: "rax", "rip", … */
	uint64_t value;
};

/* A thread that has stopped. Valid until on_stop returns. */
struct tare_stop {
	size_t rule;			/* index of tare_measure_options.stops */
	pid_t pid, tid;
	uint64_t count;			/* events of the rule in this thread: N, 2N, … */
	uint64_t pc;			/* the next instruction */
	uint64_t last_pc;		/* the instruction that made the event */
	long system_call;		/* the number of the call that comes next; -1: none */
	bool several_threads;		/* the process has more than one thread */
	size_t n_registers;
	const struct tare_stop_register *registers;
	size_t n_counts;
	const struct tare_count *counts;	/* of this thread, one per event of the run, since the
						 * thread began or its process execed */
	uint64_t way;			/* a hash of all code that the thread ran since it began or its process
					 * execed, and how often: equal ways give equal numbers, other ways
					 * other numbers but for a chance of 2^-64. Not which code ran before
					 * which. 0 with hardware counters */
	uint32_t task;			/* the image of a process, or the thread: numbered from 1, in the order
					 * in which they began; 0: there were too many, or hardware counters */
	uint32_t branch;		/* where it is in the tree of processes and threads: the second child of the
				 * first one, after its exec. The same task of another run has the same number,
				 * in whatever order the tasks began; two tasks of a run have different ones, but
				 * for a chance of 2^-32. 0: not known */
};

/* The result of a rule: tare_measurement.stops. */
struct tare_stop_result {
	uint64_t hits;			/* how often a thread stopped */
	bool ended;			/* the limit, or on_stop, ended the command … */
	pid_t pid, tid;			/* … by an event of this thread, … */
	uint64_t pc;			/* … made by the instruction at this address */
	uint64_t reserved[4];
};

/* "EVENT=N": one event, and a decimal number of at least 1, which may have separators (1_000_000) or
 * end in k, M or G. *event is a list with this event, for tare_events_free(). `cpu` NULL: this one. */
int tare_stop_parse(const char *text, const struct tare_cpu *cpu, struct tare_events **event,
		    uint64_t *n, struct tare_why *why);

/* Can a thread be stopped at exactly the N-th of these events, with this backend? 0, or the reason
 * why not. TARE_BACKEND_AUTO means the software engine. */
int tare_stop_possible(const struct tare_event *event, enum tare_backend backend,
		       struct tare_why *why);

/* For on_stop: */
/* Copies memory of the stopped process. Returns how many bytes could be read. */
size_t tare_stop_read(const struct tare_stop *stop, uint64_t address, void *to, size_t size);
/* Names of code, as far as they can be had: "work+0x19 (work.c:6), program+0x1192". `is_return`: the
 * address is that of a return, and the place is that of the call before it. The text goes to `text`,
 * which is returned; "" where nothing is mapped. One thread at a time uses a struct tare_stop_names,
 * which keeps what it has read of the files. */
struct tare_stop_names;
int tare_stop_names_open(struct tare_stop_names **names, struct tare_why *why);
void tare_stop_names_close(struct tare_stop_names *names);	/* NULL is allowed */
const char *tare_stop_place(struct tare_stop_names *names, const struct tare_stop *stop,
			    uint64_t address, bool is_return, char *text, size_t size);
/* The calls that led here, the innermost first: frames[0].pc is stop->pc. Returns how many there are, at
 * most `max`. They are found by what the files of the code say of each instruction (.eh_frame), through
 * signal handlers, too; where there is nothing (code of a JIT; arm64; `names` NULL), by frame pointers. */
struct tare_stop_frame {
	uint64_t pc;
	bool is_return;		/* a return address: the call is the instruction before. Not so at the stop
				 * itself, and where a signal came */
	bool by_pointer;	/* found by the frame pointer: functions that have none may be missing before it */
	uint64_t reserved;
};
size_t tare_stop_backtrace(struct tare_stop_names *names, const struct tare_stop *stop,
			   struct tare_stop_frame *frames, size_t max);
/* Why no code has a name, and what to do about it; NULL: names can be had. Known after the first
 * tare_stop_place(). */
const char *tare_stop_names_note(const struct tare_stop_names *names);
/* Can TARE_STOP_HAND_OVER be returned? 0, or the reason why not. */
int tare_stop_hand_over(const struct tare_stop *stop, struct tare_why *why);

#ifdef __cplusplus
}
#endif
#endif
