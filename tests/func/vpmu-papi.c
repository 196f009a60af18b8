/* PAPI_overflow and PAPI_profil, inside `tare run`: each overflow is where and when it should be. */
#include "sampling.h"

#include <papi.h>

#define EVERY 100000
#define LOOPS 1000000ull

static unsigned overflows, in_loop;

static void on_overflow(int set, void *address, long long vector, void *context)
{
	(void)set;
	(void)vector;
	(void)context;
	overflows++;
	in_loop += (uintptr_t)address >= (uintptr_t)loop_dec && (uintptr_t)address < (uintptr_t)loop_end;
}

static int new_set(void)
{
	int set = PAPI_NULL;
	CHECK(PAPI_create_eventset(&set) == PAPI_OK, "eventset");
	const int err = PAPI_add_event(set, PAPI_TOT_INS);
	CHECK(err == PAPI_OK, "PAPI_TOT_INS: %s", PAPI_strerror(err));
	return set;
}

static long long run(int set)
{
	long long count;
	CHECK(PAPI_start(set) == PAPI_OK, "start");
	loop(LOOPS);
	CHECK(PAPI_stop(set, &count) == PAPI_OK, "stop");
	CHECK(count > (long long)(2 * LOOPS), "%lld instructions", count);
	return count;
}

int main(void)
{
	CHECK(PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT, "PAPI_library_init");
	int set = new_set();
	int err = PAPI_overflow(set, PAPI_TOT_INS, EVERY, 0, on_overflow);
	CHECK(err == PAPI_OK, "PAPI_overflow: %s", PAPI_strerror(err));
	long long count = run(set);
	/* (what PAPI's own handler runs is counted, too) */
	CHECK(overflows >= 2 * LOOPS / EVERY && overflows <= (unsigned)(count / EVERY) && in_loop + 1 >= overflows,
	      "%u overflows, %u in the loop, %lld instructions", overflows, in_loop, count);
	CHECK(PAPI_overflow(set, PAPI_TOT_INS, 0, 0, on_overflow) == PAPI_OK, "off");

	static unsigned short hits[64];
	unsigned sum = 0;
	set = new_set();
	const vptr_t from = (vptr_t)((uintptr_t)loop_dec & ~15ul);
	err = PAPI_profil(hits, sizeof(hits), from, 65536, set, PAPI_TOT_INS, EVERY, PAPI_PROFIL_POSIX);
	CHECK(err == PAPI_OK, "PAPI_profil: %s", PAPI_strerror(err));
	count = run(set);
	for (unsigned i = 0; i < 64; i++)
		sum += hits[i];
	CHECK(sum >= 2 * LOOPS / EVERY - 1 && sum <= (unsigned)(count / EVERY), "%u hits, %lld instructions", sum,
	      count);
	return 0;
}
