/* The report's bump allocator with a second thread that fights for the cache line: the same code as without one
 * must have the same count.
 *
 * On the report's Zen a locked instruction is executed ahead of its turn; if another CPU takes the line
 * meanwhile, it is executed again, and all that was executed with it is counted again.
 */
#include "loops.h"
#include "steady.h"

#include <sched.h>

#define PASSES 6000	/* of the loop: some 30,000 instructions, as in the other comparisons */

/* A CPU beside this one; -1: there is none. */
static int another_cpu(const cpu_set_t *may, int here)
{
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (c != here && CPU_ISSET(c, may))
			return c;
	return -1;
}

/* Threads begin where their maker may run. */
static int start_rival(struct verify *v, int here, int there, struct loops_rival **rival, struct tare_why *why)
{
	cpu_set_t only, before;
	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&only);
	CPU_SET(there, &only);
	sched_setaffinity(0, sizeof(only), &only);
	const int err = loops_rival_start(v->memory, rival, why);
	CPU_ZERO(&only);
	CPU_SET(here, &only);
	sched_setaffinity(0, sizeof(only), &only);
	sched_setaffinity(0, sizeof(before), &before);
	return err;
}

static int contend(struct verify *v, const struct subject *s, int here, int there, struct tare_why *why)
{
	const struct kernel *const k = loops_atomic();
	struct steady_code code = {
		.run = k->run, .loops = PASSES, .memory = v->memory, .bits = v->bits, .name = k->name,
		.events = (double)(k->once[s->kind] + PASSES * k->each[s->kind]),
	};
	struct loops_rival *rival = NULL;
	struct steady alone, fought;
	struct bare counter;
	struct steady_bare how = { &counter, &code };
	if (bare_open(&counter, &s->event->base, BARE_PINNED) < 0 || !bare_on(&counter)) {
		bare_close(&counter);
		return 0;
	}
	int lost = steady_count(steady_bare_count, &how, &alone);
	const int err = lost ? 0 : start_rival(v, here, there, &rival, why);
	if (!lost && !err)
		lost = steady_count(steady_bare_count, &how, &fought);
	const uint64_t additions = loops_rival_stop(rival);
	bare_close(&counter);
	if (lost)
		verify_find(v, "contended", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle");
	else if (!err && !additions)
		verify_find(v, "contended", s->name, TARE_VERDICT_INFO, "inconclusive: the other thread did not run");
	else if (!err)
		steady_judge(v, "contended", s, &code, &alone, &fought, "with a thread that fights for the cache line");
	return err;
}

static int run(struct verify *v, struct tare_why *why)
{
	const int here = sched_getcpu(), there = another_cpu(&v->cpus, here);
	const char *const lacks = kernel_lacks(loops_atomic());
	int err = 0;
	if (there < 0) {
		verify_find(v, "contended", NULL, TARE_VERDICT_INFO, "not tried: this process may use one CPU only");
		return 0;
	}
	if (lacks) {
		verify_find(v, "contended", NULL, TARE_VERDICT_INFO, "not tried: this machine lacks %s", lacks);
		return 0;
	}
	steady_have_threads();
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		const struct subject *const s = &v->subjects[i];
		if (!steady_can(s) || s->kind < 0 || !loops_atomic()->each[s->kind])
			continue;
		err = verify_progress(v, "%s in two threads that fight for a cache line", s->name);
		if (!err)
			err = contend(v, s, here, there, why);
	}
	return err;
}

const struct experiment experiment_contended = {
	.name = "contended", .about = "lock xadd while another thread fights for the cache line",
	.hardware = true, .run = run,
};
