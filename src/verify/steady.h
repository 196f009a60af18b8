/* A steady count: what an event counts of some code when nothing disturbs.
 *
 * The experiments on surroundings (another register, a busy sibling, another CPU …) compare two
 * counts of the same code, read in the same way. A short piece of code runs several times, and the
 * count that most of the runs agree on is taken: an interrupt disturbs few of them, and what the
 * reads count is the same in both. So one event more or less is seen, and no expected count is
 * needed.
 */
#ifndef VERIFY_STEADY_H
#define VERIFY_STEADY_H

#include "bare.h"
#include "experiment.h"

#define STEADY_RUNS 15		/* and four times as many where less than four fifths agree */
#define STEADY_WARM_UP 3	/* runs before them that do not count */
#define STEADY_MOST (STEADY_WARM_UP + 5 * STEADY_RUNS)

/* Code of some 30,000 instructions in which the event of a subject is frequent. */
struct steady_code {
	void (*run)(uint64_t loops, void *memory);
	uint64_t loops;
	void *memory;
	double events;			/* how many of the subject's it has; 1 where unknown */
	unsigned bits;			/* counters wrap after so many; 0: where the kernel says */
	unsigned quarters;		/* how often it was shortened */
	const char *name;
};
/* False: no code here has the event, so that comparisons would say nothing. */
bool steady_code_for(const struct verify *v, const struct subject *s, struct steady_code *code);
/* A quarter of the code, where interrupts come in too many runs of it. False: it is short already. */
bool steady_shorten(struct steady_code *code);
static inline void steady_code_run(const struct steady_code *c) { c->run(c->loops, c->memory); }

struct steady {
	int64_t value;			/* that most runs agree on */
	unsigned agreeing, runs;
	int64_t min, max;
	double mean, error;		/* standard error of the mean */
};

/* Calls count() three times to warm up and then STEADY_RUNS times or more. count() returns 0 and a
 * count, or a negative error, which ends it. */
int steady_count(int (*count)(void *arg, int64_t *value), void *arg, struct steady *out);
/* A quarter of the runs agrees. */
static inline bool steady_is(const struct steady *s) { return s->agreeing * 4 >= s->runs; }
/* … or four fifths of them. */
static inline bool steady_is_clear(const struct steady *s) { return s->agreeing * 5 >= s->runs * 4; }

/* Whether two counts are the same. They are if both are steady and have the same value. Interrupts
 * can add to most of the runs: counts differ only if four fifths of the runs of each agree, or if
 * all runs of one are above those of the other. */
enum steady_compare { STEADY_SAME, STEADY_DIFFERENT, STEADY_UNSETTLED };
enum steady_compare steady_compare(const struct steady *a, const struct steady *b);
/* The same; and where interrupts come in most of the runs, so that these do not agree, whether the means
 * differ by more than chance. Only for counts that as many interrupts add to. *least: by how many events a
 * count would have had to differ to be seen; still unsettled where that is more than one in a hundred. */
enum steady_compare steady_compare_means(const struct steady *a, const struct steady *b,
					 const struct steady_code *code, double *least);
/* What a comparison shows of both: the value that most runs agree on, or the mean. */
int64_t steady_shown(const struct steady *s);

/* count() for one bare counter and some code, by read(2): TARE_E_STOLEN where it has no counter. A counter
 * that wraps early may have done so between the two reads, once. */
int64_t steady_difference(const struct steady_code *code, uint64_t before, uint64_t after);
struct steady_bare {
	const struct bare *counter;
	const struct steady_code *code;
};
int steady_bare_count(void *steady_bare, int64_t *value);

/* Runs the code again and again until the counter has counted `until` events, or jumped back: a register
 * that is narrower than the kernel knows. *at: events until then; *back: by how many it jumped. False:
 * it did not; *at is 0 where it does not count at all. *moved: the kernel moved it to another register. */
bool steady_jump(const struct bare *counter, const struct steady_code *code, uint64_t until,
		 uint64_t *at, uint64_t *back, bool *moved);

/* Whether a subject is an event of the PMU that can be counted by itself. */
bool steady_can(const struct subject *s);
/* "1 in 30,000": the least deviation that a comparison of two steady counts of this code shows, where it
 * shows `least` events. */
char *steady_limit(const struct steady_code *code, double least, char *out, size_t size);
/* 12,345 for texts; returns out. */
char *steady_number(int64_t value, char *out, size_t size);

/* An event that counts nothing of code that has it is the same everywhere, and not good: adds the finding
 * that nothing can be concluded. False: it counts. */
bool steady_silent(struct verify *v, const char *experiment, const struct subject *s,
		   const struct steady_code *code, const struct steady *seen);
/* libc's read(2) executes more in a process that has had a second thread. Makes it such a process, so that counts with and
 * without another thread can be compared. */
void steady_have_threads(void);
/* Adds the finding whether the code counts the same with something ("with a move to CPU 1") as without it. */
void steady_judge(struct verify *v, const char *experiment, const struct subject *s,
		  const struct steady_code *code, const struct steady *without, const struct steady *with,
		  const char *what);
/* Adds the finding that nothing can be concluded: the runs do not agree. */
void steady_unsettled(struct verify *v, const char *experiment, const struct subject *s,
		      const struct steady *seen);

#endif
