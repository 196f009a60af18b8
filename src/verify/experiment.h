/* Experiments: what tare_verify() does one after the other.
 *
 * An experiment is a file experiment-NAME.c that ends in
 *
 *	const struct experiment experiment_NAME = {
 *		.name = "NAME", .about = "one line", .run = run,
 *	};
 *
 * and is registered by one line in experiment-list.h and one in meson.build. It counts with
 * trial.h, and says what it found with verify_find():
 *
 *	struct tare_verify_finding *const f =
 *		verify_find(v, "registers", s->event->name, TARE_VERDICT_GOOD, "same on %u", n);
 *	verify_number(f, "registers", n);
 *
 * The sections run first (sections.c): each event over all kernels. What they saw is in the
 * subjects. The experiments that look for causes (h p E F D M U) add to a subject's causes with
 * verify_cause(); verdict.c makes the row of it at the end.
 */
#ifndef VERIFY_EXPERIMENT_H
#define VERIFY_EXPERIMENT_H

#include "interrupt-event.h"
#include "kernel.h"
#include "trial.h"

#include <tare/verify.h>

#include <sched.h>

/* One run of one kernel, as a subject's event counted it. */
struct observation {
	double excess;			/* count - expected */
	double counted_interrupts;	/* by the event; NaN: none */
	double listed_interrupts;	/* by /proc/interrupts */
	double faults;			/* page faults of this thread */
	double ns;			/* how long it took */
	double instructions;		/* that were executed */
};

#define PAGE_RUNS 5

/* Where the number of interrupts is taken from. */
enum interrupt_source { BY_NOTHING, BY_EVENT, BY_PROC, BY_TICKS };

/* One event that is examined. */
struct subject {
	const struct tare_event *event;	/* NULL: not available (`reason`) */
	const char *name;		/* of the event */
	const char *also;		/* what the architecture calls its code, or NULL */
	enum tare_role role;
	int kind;			/* enum kernel_event: what its count is compared with; -1 */
	bool counted;			/* the sections ran */
	bool absent;			/* the kernel does not have it */
	bool unsteady;			/* comparisons of its counts tell nothing */
	bool dead;			/* it counted nothing where something was expected */
	struct observation *seen;	/* [kernel * runs + run]; of v->kernels */
	struct observation pages[PAGE_RUNS]; /* fresh pages against touched ones */
	enum interrupt_source source;
	double per_interrupt;		/* found so far; 0: no deviation */
	double per_fault;
	double per_instruction;		/* where the event is not repeatable: of all code */
	double noise;			/* greatest distance of a run of plain code from the middle
					 * one, interrupts and page faults subtracted */
	double *known;			/* by kernel: what instructions and exceptions add in each
					 * pass; NULL: not examined */
	double *raised;			/* of it, exceptions of arithmetic; likewise */
	bool has_end;			/* the end of a loop deviates, and is a cause */
	double per_exception[2];	/* x87, SSE */
	unsigned replays;		/* locked instructions whose deviation is not repeatable */
	bool counts_uops;
	size_t n_deviating, n_tried;	/* cases that deviate, of those that it is to count */
	double per_jump;		/* what a jump around cases adds, as far as known */
	bool has_jump;
	char reason[256];
	struct tare_verify_cause *causes;
	size_t n_causes;
};

/* Subjects that are counted at the same time. */
struct batch {
	struct subject *subjects[TRIAL_EVENTS];
	const struct tare_event *events[TRIAL_EVENTS];
	size_t n;			/* subjects */
	size_t n_events;		/* one more where interrupts are counted: the last */
};

struct verify {
	struct tare_verify_options o;
	struct tare_verify_report *report;
	struct tare_cpu cpu;
	bool soft;			/* the engine counts, not a PMU */
	const char *why_soft;		/* … because hardware cannot; NULL: it was asked for */
	const struct tare_event **asked; /* the caller's events, in user mode */
	size_t n_asked;
	unsigned runs;
	cpu_set_t cpus;			/* that the caller may use; this thread stays on one of them */
	struct set_aside *aside;	/* registers that nothing is counted on; NULL */
	int aside_register;		/* … because this one counts wrongly; -1 */
	size_t most_events;		/* at once, for the same reason; 0: as many as fit */
	void *memory;			/* kernel_memory_open() */
	const struct kernel **kernels;	/* those that run here */
	uint64_t *loops;		/* of each in one run */
	size_t n_kernels;
	struct subject *subjects;
	size_t n_subjects;
	struct batch *batches;		/* made by the sections */
	size_t n_batches;
	const struct tare_event *filler; /* takes registers that count wrongly */
	unsigned fillers;
	unsigned at_once;		/* events that fit on good registers; 0: as many as open */
	bool moves;			/* the kernel moves events to other registers: one is left free */
	unsigned bits;			/* counters wrap after so many; 0: where the kernel says */
	const struct tare_event *irq;	/* an event that counts interrupts; NULL: none */
	struct interrupt_event interrupts; /* how that was found */
	char search_ended[256];		/* why the search for it was not made to the end; or empty */
	bool no_interrupts;		/* none came, of any kind that is known here */
	double irq_per_fault;		/* what that event counts for a page fault */
	bool reads_proc;		/* /proc/interrupts is read around each run */
	bool has_pages;			/* the experiment with fresh pages was done */
	struct tare_events **lists;	/* own the events */
	size_t n_lists;
	double share;			/* of the work that is done */
	double sections_share;		/* … that the sections are */
};

struct experiment {
	const char *name, *about;
	bool hardware;			/* makes no sense in the engine */
	bool cause;			/* looks for a cause: without it an event may have one more */
	/* What these find must be known before this one blames something else: they run whenever it does.
	 * NULL at the end; NULL: none. */
	const char *const *with;
	/* 0, or a negative error that ends everything (TARE_E_NOMEM, TARE_E_STOLEN, *stop). What is
	 * missing on a machine is a finding. */
	int (*run)(struct verify *v, struct tare_why *why);
};

/* In the order of experiment-list.h; NULL at the end. */
extern const struct experiment *const experiments[];

/* Adds a finding; NULL: out of memory, which verify_number() accepts. */
struct tare_verify_finding *verify_find(struct verify *v, const char *experiment, const char *event,
					enum tare_verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void verify_number(struct tare_verify_finding *f, const char *name, double value);
/* Adds a cause to the subject; NULL: out of memory. */
struct tare_verify_cause *verify_cause(struct subject *s, enum tare_cause cause, double amount,
				       double error, const char *per);
/* Why there is no verdict; the first reason stays. */
void verify_doubt(struct subject *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* An event by name, kept until the end; NULL: no such event here. */
const struct tare_event *verify_event(struct verify *v, const char *name);
/* 0, or TARE_E_TIMEOUT where the caller wants an end. */
int verify_progress(struct verify *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int verify_stopped(const struct verify *v, struct tare_why *why);

/* What a run counts that another one is compared with: of each event, and page faults. */
#define BASE_FAULTS TRIAL_EVENTS
#define BASE_SIZE (TRIAL_EVENTS + 1)

/* Opens a trial of the batch's events. */
int batch_open(const struct verify *v, const struct batch *b, struct trial *t, struct tare_why *why);
/* Runs the code once: what each subject of the batch counted, and what happened meanwhile, with
 * `base` (or NULL) subtracted. .excess is the count. */
int batch_count(const struct verify *v, const struct batch *b, struct trial *t,
		const struct trial_code *code, const int64_t *base, struct observation *out,
		struct tare_why *why);
/* What the code counts, typically: the middle one of a few runs. base[BASE_SIZE]. */
int batch_base(const struct batch *b, struct trial *t, const struct trial_code *code, int64_t *base,
	       struct tare_why *why);
/* Counters that wrap early lose a multiple of their range; what is counted is smaller than that. */
int64_t verify_unwrapped(const struct verify *v, int64_t count);
/* Is this error of a kind that ends one event's examination, and not everything? */
bool verify_is_lost(int err);

/* What a run of a kernel is expected to count of a subject. */
uint64_t verify_expected(const struct verify *v, const struct subject *s, size_t kernel);
/* What stays of the excess after interrupts and page faults are subtracted. */
double verify_rest(const struct verify *v, const struct subject *s, const struct observation *seen);
/* The number of interrupts by that source. */
double verify_interrupts(const struct verify *v, const struct observation *seen,
			 enum interrupt_source source);
/* How much of a rest is no more than noise. */
double verify_limit(const struct subject *s);
/* What a page fault adds, as far as fresh pages and the amount per interrupt tell; *error: greatest
 * distance of one of the runs. 0 where it cannot be told from noise. */
double verify_per_fault(const struct verify *v, const struct subject *s, double *error);
/* What the exceptions of a case add. */
double verify_exceptions_of(const struct subject *s, const struct kernel *k, size_t c);
/* Can so much in a pass of the kernel be the exceptions of its arithmetic? */
bool verify_is_exceptions(const struct subject *s, const struct kernel *k, double each);
/* The middle one of n values, which are sorted. */
double verify_median(double *values, size_t n);
/* Interrupts of the CPU that this thread is kept on, from /proc/interrupts. */
uint64_t verify_proc_interrupts(void);

/* Looks for a register that counts wrongly, and keeps events away from it until
 * registers_release(): what is found of the events is then not the register's. */
int registers_set_aside(struct verify *v);
void registers_release(struct verify *v);
/* Registers that another process or thread has to fill first (v->filler), so that it counts on good ones. */
unsigned registers_to_fill(const struct verify *v);

/* Does this event, of which inspection of code gives no count, count nothing where it must count?
 * False where no work is known that it has to count. */
bool silent_is(enum tare_role role, const struct tare_event *event);
/* Why the event gets the verdict that it never counts; s->dead is set. */
void verify_dead(struct subject *s);

/* The parts of tare_verify(), in order. */
int registers_check(struct verify *v, struct tare_why *why);
/* Does the experiment run: wanted, or taken along by one that is, and possible here? */
bool verify_runs(const struct verify *v, const struct experiment *e);
/* Experiments on causes that do not run: "lazy-fp, generated"; "" if all do, or if the engine counts, which
 * has no causes to look for. Returns out. */
const char *verify_left_out(const struct verify *v, char *out, size_t size);
int sections_run(struct verify *v, struct tare_why *why);
int verdict_make(struct verify *v);

#endif
