/* Work with a known number of instructions and page faults. */
#include "known-work.h"

#include "interrupts.h"
#include "regions.h"
#include "why.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TRIES 7			/* of the rest: one of them meets no interrupt */
#define FIRST_ROUNDS 20000	/* of a calibration */
#define AROUND 4		/* times as many interrupts in the work as around it */

struct kept {
	cpu_set_t cpus;
};

int known_work_stay(struct kept **before, unsigned *cpu, struct tare_why *why)
{
	struct kept *const k = calloc(1, sizeof(*k));
	cpu_set_t one;

	*before = NULL;
	if (!k)
		return why_set(why, TARE_E_NOMEM, "the CPUs that the thread may use");
	const int on = sched_getcpu();
	CPU_ZERO(&one);
	if (on >= 0 && on < CPU_SETSIZE)
		CPU_SET((unsigned)on, &one);
	if (on < 0 || sched_getaffinity(0, sizeof(k->cpus), &k->cpus) < 0 ||
	    sched_setaffinity(0, sizeof(one), &one) < 0) {
		const int e = errno;
		free(k);
		return why_errno(why, TARE_E_PERMISSION, e, "staying on CPU %d", on);
	}
	*before = k;
	*cpu = (unsigned)on;
	return 0;
}

void known_work_let_go(struct kept *before)
{
	if (before)
		sched_setaffinity(0, sizeof(before->cpus), &before->cpus);
	free(before);
}

/* The coarse clocks advance once a tick, so their resolution is the tick. */
double known_work_tick_ns(void)
{
	struct timespec t;
	clock_getres(CLOCK_MONOTONIC_COARSE, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void work(void *arg)
{
	const struct known_work *const w = arg;
	const size_t page = w->pages ? w->size / w->pages : 0;
	uint64_t cell = 0;

	region_loop(w->rounds, &cell);
	for (uint64_t i = 0; i < w->pages; i++)
		*(volatile char *)(w->memory + i * page) = 1;
	for (uint64_t i = 0; i < w->calls; i++)
		syscall(SYS_getppid);
}

struct trial_code known_work_code(struct known_work *w)
{
	return (struct trial_code){ .function = work, .argument = w };
}

int known_work_prepare(struct known_work *w, struct tare_why *why)
{
	w->memory = NULL;
	w->size = w->pages * (size_t)sysconf(_SC_PAGESIZE);
	if (w->size) {
		w->memory = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		if (w->memory == MAP_FAILED) {
			w->memory = NULL;
			return why_errno(why, TARE_E_NOMEM, errno, "%zu bytes", w->size);
		}
		/* one fault for each page, not for each huge page */
		madvise(w->memory, w->size, MADV_NOHUGEPAGE);
	}
	w->ns_before = cpu_ns();
	w->before = (struct buf){ 0 };
	if (!interrupts_read("", &w->before))
		buf_free(&w->before);
	return 0;
}

/* Both texts are summed up afterwards: that takes so many instructions that interrupts would come. */
void known_work_stop(struct known_work *w)
{
	struct buf after = { 0 };
	const bool known = interrupts_read("", &after) && w->before.len;
	const double ns = cpu_ns() - w->ns_before;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(w->on, &one);
	w->ticks = (uint64_t)(ns / known_work_tick_ns() + 0.5);
	w->interrupts = known ? interrupts_sum(&after, &one) - interrupts_sum(&w->before, &one) :
				KNOWN_WORK_UNKNOWN;
	buf_free(&after);
}

void known_work_finish(struct known_work *w)
{
	buf_free(&w->before);
	if (w->memory)
		munmap(w->memory, w->size);
	w->memory = NULL;
}

int known_work_rest(struct trial *t, const struct known_work *w, int64_t *counts,
		    struct tare_why *why)
{
	struct known_work again = *w;
	const struct trial_code code = known_work_code(&again);
	int64_t now[TRIAL_EVENTS];

	again.rounds = 0;
	for (unsigned k = 0; k < TRIES; k++) {
		const int err = trial_run(t, &code, now, why);
		if (err)
			return err;
		for (size_t i = 0; i < t->o.n; i++)
			counts[i] = k && counts[i] < now[i] ? counts[i] : now[i];
	}
	return 0;
}

/* The interrupts that come during so many rounds, or the ticks; and what comes around them. */
static int interrupts_in(unsigned cpu, uint64_t rounds, uint64_t *n)
{
	struct known_work w = { .rounds = rounds, .on = cpu };

	const int err = known_work_prepare(&w, NULL);
	if (err)
		return err;
	work(&w);
	known_work_stop(&w);
	known_work_finish(&w);
	*n = w.interrupts == KNOWN_WORK_UNKNOWN ? w.ticks : w.interrupts;
	return 0;
}

uint64_t known_work_calibrate(unsigned cpu, unsigned n, uint64_t most)
{
	uint64_t around = 0, came = 0;

	for (unsigned k = 0; k < TRIES; k++) {
		if (interrupts_in(cpu, 0, &came) < 0)
			return 0;
		around = came > around ? came : around;
	}
	came = 0;
	for (uint64_t rounds = FIRST_ROUNDS; rounds <= (came >= n / 4 ? 8 * most : most); rounds *= 2) {
		if (interrupts_in(cpu, rounds, &came) < 0)
			return 0;
		const uint64_t enough = n > AROUND * around ? n : AROUND * around;
		if (came >= enough)
			return rounds / came * enough;
	}
	return 0;
}
