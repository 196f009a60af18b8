/* More events than counters: they take turns, and say so; the chapter's blind spot.
 * Run by `tare run --cpu zen2`, which has six counters. */
#include "vpmu.h"

#define N 8

struct value {
	uint64_t value, enabled, running;
};

static struct value value_of(int fd)
{
	struct value v;
	CHECK(read(fd, &v, sizeof(v)) == (ssize_t)sizeof(v), "read: %s", strerror(errno));
	return v;
}

int main(void)
{
	struct perf_event_attr a = vpmu_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	int fds[N], shared = 0;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	struct perf_event_attr pinned = a;
	pinned.pinned = 1;
	const int exact = vpmu_open(&pinned, 0, -1, -1, 0);
	const struct value start = value_of(exact);
	for (int i = 0; i < N; i++) {
		fds[i] = vpmu_open(&a, 0, -1, -1, 0);
		CHECK(fds[i] >= 0, "event %d: %d", i, fds[i]);
	}
	/* two phases: branches first, hardly any after */
	vpmu_loop(30000000);
	long n = 2000000;	/* not a loop of C, which a compiler may unroll */
	__asm__ volatile("1:\n .rept 30\n nop\n .endr\n dec %0\n jnz 1b" : "+r"(n) : : "cc");
	uint64_t running = 0;
	const struct value true_end = value_of(exact);
	CHECK(true_end.enabled == true_end.running, "pinned: always on");
	const uint64_t truth = true_end.value - start.value;
	bool wrong = false;
	for (int i = 0; i < N; i++) {
		const struct value v = value_of(fds[i]);
		CHECK(v.running > 0 && v.running <= v.enabled, "event %d: %ju of %ju", i,
		      (uintmax_t)v.running, (uintmax_t)v.enabled);
		shared += v.running < v.enabled;
		running += v.running * 1000 / v.enabled;
		const double scaled = (double)v.value * (double)v.enabled / (double)v.running;
		wrong |= scaled < 0.9 * (double)truth || scaled > 1.1 * (double)truth;
	}
	/* five counters are left for eight */
	CHECK(shared == N, "%d of %d took turns", shared, N);
	CHECK(running > 4900 && running < 5100, "%ju thousandths of 5 counters", (uintmax_t)running);
	CHECK(wrong, "a scaled value that is visibly wrong");
	CHECK(truth > 32000000 && truth < 32001000, "%ju", (uintmax_t)truth);

	/* a pinned event beyond the counters reads as end of file */
	int more[6], dead = 0;
	struct value v;
	for (int i = 0; i < 6; i++) {
		more[i] = vpmu_open(&pinned, 0, -1, -1, 0);
		dead += read(more[i], &v, sizeof(v)) == 0;
	}
	CHECK(dead == 1, "%d pinned events without a counter", dead);
	return 0;
}
