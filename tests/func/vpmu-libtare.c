/* libtare's counters inside a program, on a virtual PMU: the instruction path and
 * read(2), threads, fork, and what becomes of a counter that moves, is taken away
 * or wraps. Run by `tare run --cpu MODEL --flaws FLAW`, with FLAW as argument. */
#include "vpmu.h"

#include <tare/counter.h>

#include <inttypes.h>
#include <pthread.h>
#include <sys/wait.h>

static struct tare_counter *open_counter(const char *name, enum tare_path path)
{
	struct tare_counter *c;
	struct tare_why why;
	const int err = tare_counter_open(name, &c, &why);
	CHECK(err == 0, "%s: %s", name, why.what);
	const char *reason;
	CHECK(tare_counter_path(c, &reason) == path, "%s: %s", name, reason);
	return c;
}

/* Nothing but the reads depends on n, so two lengths differ by the loop alone. */
__attribute__((noinline)) static uint64_t region(struct tare_counter *c, uint64_t n)
{
	uint64_t before, after;
	int err = tare_counter_read(c, &before);
	vpmu_loop(n);
	err |= tare_counter_read(c, &after);
	CHECK(err == 0, "read: %d", err);
	return after - before;
}

static void exact(struct tare_counter *c, uint64_t per_round)
{
	const uint64_t one = region(c, 1);
	for (uint64_t n = 2; n < 1000000; n *= 5) {
		const uint64_t got = region(c, n);
		CHECK(got - one == per_round * (n - 1), "%" PRIu64 ": %" PRIu64, n, got - one);
	}
}

static void *in_thread(void *arg)
{
	(void)arg;
	struct tare_counter *const c = open_counter("instructions:u", TARE_PATH_RDPMC);
	exact(c, 2);
	tare_counter_close(c);
	return NULL;
}

static void forked(struct tare_counter *c)
{
	const pid_t pid = fork();
	if (pid == 0) {
		uint64_t v;
		struct tare_why why;
		CHECK(tare_counter_read(c, &v) == TARE_E_FORKED, "a parent's counter");
		CHECK(tare_counter_reopen(c, &why) == 0, "%s", why.what);
		exact(c, 2);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	CHECK(status == 0, "child: %x", status);
}

static void plain(void)
{
	struct tare_counter *const c = open_counter("instructions:u", TARE_PATH_RDPMC);
	exact(c, 2);
	struct tare_counter *const b = open_counter("branches:u", TARE_PATH_RDPMC);
	exact(b, 1);
	struct tare_sample s;
	CHECK(tare_counter_sample(c, &s) == 0 && !s.scaled && s.value > 0, "sample");
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, in_thread, NULL) == 0, "thread");
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	forked(c);
	exact(c, 2);
	CHECK(tare_counter_status(c) == 0, "status %x", tare_counter_status(c));
	tare_counter_close(b);
	tare_counter_close(c);
}

/* Every 5 virtual ms, 15 million instructions, it is on another register; the count
 * goes on, and the status tells. */
static void moved(void)
{
	struct tare_counter *const c = open_counter("branches:u", TARE_PATH_RDPMC);
	const uint64_t n = 20000000, one = region(c, 1);
	for (int i = 0; i < 4; i++) {
		const uint64_t got = region(c, n) - one - (n - 1);
		/* the long way round has branches of its own */
		CHECK(got < 2000, "%" PRIu64 " too many", got);
	}
	CHECK(tare_counter_status(c) & TARE_STATUS_MOVED, "status %x", tare_counter_status(c));
	tare_counter_close(c);
}

static void stolen(void)
{
	struct tare_counter *const c = open_counter("instructions:u", TARE_PATH_RDPMC);
	uint64_t v;
	CHECK(tare_counter_read(c, &v) == 0, "before");
	vpmu_loop(20000000);
	const int err = tare_counter_read(c, &v);
	CHECK(err == TARE_E_STOLEN, "read: %d", err);
	CHECK(tare_counter_status(c) & TARE_STATUS_STOLEN, "status %x", tare_counter_status(c));
	tare_counter_close(c);
}

int main(int argc, char **argv)
{
	const char *const flaw = argc > 1 ? argv[1] : "";
	if (strcmp(flaw, "moved") == 0)
		moved();
	else if (strcmp(flaw, "stolen") == 0)
		stolen();
	else
		plain();
	return 0;
}
