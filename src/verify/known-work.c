/* Work with a known number of instructions and page faults. */
#include "known-work.h"

#include "doctor-region.h"
#include "interrupts.h"
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

uint64_t known_work_interrupts(unsigned cpu)
{
	cpu_set_t one;

	if (access("/proc/interrupts", R_OK) < 0)
		return KNOWN_WORK_UNKNOWN;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return interrupts_total("", &one);
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

	doctor_region_loop(w->rounds, &cell);
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
	w->interrupts_before = known_work_interrupts(w->on);
	w->ns_before = cpu_ns();
	return 0;
}

void known_work_finish(struct known_work *w)
{
	const double ns = cpu_ns() - w->ns_before;
	const uint64_t now = known_work_interrupts(w->on);

	w->ticks = (uint64_t)(ns / known_work_tick_ns() + 0.5);
	w->interrupts = now == KNOWN_WORK_UNKNOWN || w->interrupts_before == KNOWN_WORK_UNKNOWN ?
				KNOWN_WORK_UNKNOWN : now - w->interrupts_before;
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

uint64_t known_work_calibrate(unsigned cpu, unsigned n, uint64_t most)
{
	for (uint64_t rounds = FIRST_ROUNDS; rounds <= most; rounds *= 2) {
		struct known_work w = { .rounds = rounds, .on = cpu };
		if (known_work_prepare(&w, NULL) < 0)
			return 0;
		work(&w);
		known_work_finish(&w);
		if ((w.interrupts == KNOWN_WORK_UNKNOWN ? w.ticks : w.interrupts) >= n)
			return rounds;
	}
	return 0;
}
