#include "loops.h"

#include "why.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

const struct kernel *loops_plain(void)
{
	return kernel_by_name("loop_plain");
}

const struct kernel *loops_atomic(void)
{
	return kernel_by_name("loop_atomic");
}

struct loops_rival {
	pthread_t thread;
	_Atomic uint64_t *cell;		/* in the line that the kernel adds to, beside its word */
	_Atomic bool started, stop;
	uint64_t additions;
};

static void *fight(void *argument)
{
	struct loops_rival *const r = argument;
	do {
		atomic_fetch_add_explicit(r->cell, 1, memory_order_relaxed);
		r->additions++;
		atomic_store_explicit(&r->started, true, memory_order_relaxed);
	} while (!atomic_load_explicit(&r->stop, memory_order_relaxed));
	return NULL;
}

/* The signals of the process are for its own threads. */
static int create_without_signals(struct loops_rival *r)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int err = pthread_create(&r->thread, NULL, fight, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int loops_rival_start(void *memory, struct loops_rival **rival, struct tare_why *why)
{
	struct loops_rival *const r = calloc(1, sizeof(*r));
	if (!r)
		return why_set(why, TARE_E_NOMEM, "a thread that fights for a cache line");
	r->cell = (_Atomic uint64_t *)((char *)memory + sizeof(uint64_t));
	const int err = create_without_signals(r);
	if (err) {
		free(r);
		return why_errno(why, TARE_E_NOMEM, err, "a thread that fights for a cache line");
	}
	while (!atomic_load_explicit(&r->started, memory_order_relaxed))
		sched_yield();
	*rival = r;
	return 0;
}

uint64_t loops_rival_stop(struct loops_rival *rival)
{
	if (!rival)
		return 0;
	atomic_store_explicit(&rival->stop, true, memory_order_relaxed);
	pthread_join(rival->thread, NULL);
	const uint64_t additions = rival->additions;
	free(rival);
	return additions;
}
