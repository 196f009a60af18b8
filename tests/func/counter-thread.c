/* Counters per thread, opened by name, with the real kernel: software events, the
 * clock and zero; who may read what; and the one clear error of a machine without
 * a PMU.
 */
#include "func.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <tare/tare.h>
#include <unistd.h>

static void touch(int pages)
{
	char *const p = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED, "mmap");
	madvise(p, (size_t)pages * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < pages; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, (size_t)pages * 4096);
}

static struct tare_counter *open_or_skip(const char *name)
{
	struct tare_counter *c;
	struct tare_why why;
	const int err = tare_counter_open(name, &c, &why);
	if (err == TARE_E_PARANOID || err == TARE_E_SECCOMP || err == TARE_E_NO_PERF)
		SKIP("no counters here: %s", why.what);
	CHECK(err == 0, "%s: %s", tare_err_name(err), why.what);
	return c;
}

/* n page faults between two reads are exactly n: two of the same length differ
 * from two of another by the difference of their pages. */
static uint64_t faults_between(struct tare_counter *c, int pages)
{
	uint64_t before, after;
	CHECK(tare_counter_read(c, &before) == 0, "read");
	touch(pages);
	CHECK(tare_counter_read(c, &after) == 0, "read");
	return after - before;
}

static void counts_faults(const char *name)
{
	struct tare_counter *const c = open_or_skip(name);
	const char *reason;
	CHECK(tare_counter_path(c, &reason) == TARE_PATH_READ, "path");
	CHECK(strstr(reason, "the kernel counts this event itself"), "reason: %s", reason);
	faults_between(c, 10);
	CHECK(WHEN_STILL(IS_COUNT(faults_between(c, 1000), 1000u)), "%s", name);
	CHECK(WHEN_STILL(IS_COUNT(faults_between(c, 1), 1u)), "%s", name);
	CHECK(WHEN_STILL(IS_COUNT(faults_between(c, 77), 77u)), "%s", name);
	struct tare_overhead o;
	CHECK(tare_counter_overhead(c, &o) == 0, "overhead");
	CHECK(o.typical == 0 && o.min == 0, "an empty pair: %" PRIu64, o.typical);
	struct tare_sample s;
	CHECK(tare_counter_sample(c, &s) == 0, "sample");
	CHECK(s.value >= 1078 && s.provenance == TARE_PROV_RAW && !s.scaled, "sample");
	CHECK(s.enabled_ns > 0 && s.enabled_ns == s.running_ns, "times");
	uint64_t v = 0;
	CHECK(WHEN_STILL(tare_counter_reset(c) == 0 && tare_counter_read(c, &v) == 0 && v == 0),
	      "after reset: %" PRIu64, v);
	CHECK(tare_counter_status(c) == 0, "status");
	tare_counter_close(c);
}

struct other {
	struct tare_counter *theirs;
	uint64_t own;
};

static void *other_thread(void *arg)
{
	struct other *const o = arg;
	uint64_t v;
	CHECK(tare_counter_read(o->theirs, &v) == TARE_E_WRONG_THREAD, "another's counter");
	struct tare_counter *const mine = open_or_skip("page-faults:u");
	faults_between(mine, 10);
	CHECK(WHEN_STILL((o->own = faults_between(mine, 300), IS_COUNT(o->own, 300u))), "%" PRIu64, o->own);
	tare_counter_close(mine);
	return NULL;
}

static void belongs_to_its_thread(void)
{
	struct tare_counter *const c = open_or_skip("page-faults:u");
	struct other o = { .theirs = c };
	pthread_t t;
	uint64_t before, after;
	CHECK(tare_counter_read(c, &before) == 0, "read");
	pthread_create(&t, NULL, other_thread, &o);
	pthread_join(t, NULL);
	CHECK(tare_counter_read(c, &after) == 0, "read");
	CHECK(SANITIZED || after - before < 100, "the other thread's faults are in ours: %" PRIu64,
	      after - before);
	CHECK(tare_counter_status(c) == TARE_STATUS_WRONG_THREAD, "status");
	tare_counter_close(c);
}

static void clock_and_zero(void)
{
	struct tare_counter *c = open_or_skip("wall-time");
	uint64_t a, b;
	const char *reason;
	CHECK(tare_counter_path(c, &reason) == TARE_PATH_CLOCK && *reason, "path");
	CHECK(tare_counter_read(c, &a) == 0, "read");
	usleep(2000);
	CHECK(tare_counter_read(c, &b) == 0 && b >= a + 2000000, "a clock runs");
	CHECK(a < b && a < 60000000000ull, "from 0 on");
	tare_counter_close(c);
	c = open_or_skip("zero");
	CHECK(tare_counter_path(c, NULL) == TARE_PATH_ZERO, "path");
	CHECK(tare_counter_read(c, &a) == 0 && a == 0, "zero");
	CHECK(tare_counter_read_pair(c, &a) == 0 && a == 0, "zero");
	tare_counter_close(c);
}

static void refuses(void)
{
	struct tare_counter *c;
	struct tare_why why;
	CHECK(tare_counter_open("no-such-event", &c, &why) == TARE_E_EVENT_UNKNOWN && !c, "%s",
	      why.what);
	CHECK(tare_counter_open("page-faults,zero", &c, &why) == TARE_E_INVALID && !c, "%s",
	      why.what);
	CHECK(strstr(why.what, "one event"), "%s", why.what);
	tare_counter_close(NULL);
	/* Whatever instructions:u does on this machine, it does not open and lie. */
	const int err = tare_counter_open("instructions:u", &c, &why);
	if (err == 0) {
		CHECK(tare_counter_path(c, NULL) != TARE_PATH_AUTO, "path");
		tare_counter_close(c);
	} else {
		CHECK(!c && why.code == err && why.what[0] && *tare_err_remedy(err), "%s",
		      why.what);
		printf("instructions:u: %s\n", why.what);
	}
}

int main(void)
{
	counts_faults("page-faults:u");
	counts_faults("minor-faults:u");
	belongs_to_its_thread();
	clock_and_zero();
	refuses();
	return 0;
}
