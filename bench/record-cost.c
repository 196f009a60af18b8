/* What an interval costs, counted by the counter that is recorded: a loop of begin and
 * end against loops of two reads and of nothing. Without a PMU, inside `tare run`.
 *
 *	record-cost COUNTER N
 *
 * Prints instructions an interval, of these what two reads take, the rest; and ns. The
 * pages that are written in between are in the ns and not in the instructions of an
 * interval: those are of N intervals that fit into one page.
 */
#include <tare/record.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define OPAQUE(x) __asm__ volatile("" : "+r"(x)::"memory")

static struct tare_counter *counter;
static struct tare_recorder *recorder;
static uint64_t kind, id;

static uint64_t now(void)
{
	uint64_t v = 0;
	if (tare_counter_read(counter, &v) < 0)
		exit(1);
	return v;
}

static uint64_t nothing(unsigned n)
{
	const uint64_t start = now();
	for (unsigned i = 0; i < n; i++)
		OPAQUE(i);
	return now() - start;
}

static uint64_t reads(struct tare_record_thread *t, unsigned n)
{
	const uint64_t start = now();
	for (unsigned i = 0; i < n; i++) {
		uint64_t a = 0, b = 0;
		OPAQUE(i);
		if (tare_record_now(t, t->depth, &a) || tare_record_now(t, t->depth, &b))
			exit(1);
		OPAQUE(a);
		OPAQUE(b);
	}
	return now() - start;
}

static uint64_t intervals(struct tare_record_thread *t, unsigned n)
{
	const uint64_t start = now();
	for (unsigned i = 0; i < n; i++) {
		struct tare_interval v;
		OPAQUE(i);
		tare_record_begin(t, &v, kind, id);
		__asm__ volatile("" :: "r"(&v) : "memory");
		tare_record_end(t, &v);
	}
	return now() - start;
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *const name = argc > 1 ? argv[1] : "instructions:u";
	const unsigned many = argc > 2 ? (unsigned)atoi(argv[2]) : 1000000, n = 4000;
	struct tare_why why = { 0 };
	if (tare_counter_open("instructions:u", &counter, &why) < 0 ||
	    tare_record_start(&TARE_OPTIONS(record, .counter = name, .name = "cost"), &recorder,
			      &why) < 0) {
		fprintf(stderr, "record-cost: %s: %s\n%s\n", why.what, tare_err_sentence(why.code),
			tare_err_remedy(why.code));
		return 77;
	}
	kind = tare_record_kind(recorder, "GenericActivity");
	id = tare_record_string(recorder, "interval");
	struct tare_record_thread *const t = tare_record_here(recorder);
	const uint64_t loop = nothing(n), two = reads(t, n) - loop, all = intervals(t, n) - loop;
	tare_record_flush(recorder);
	const double start = seconds();
	intervals(t, many);
	const double ns = 1e9 * (seconds() - start) / many;
	printf("%-28s %8.2f %8.2f %8.2f %8.1f\n", name, (double)all / n, (double)two / n,
	       ((double)all - (double)two) / n, ns);
	return tare_record_stop(recorder, &why) < 0;
}
