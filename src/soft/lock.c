/* The engine's lock. */
#include "engine.h"
#include "sys.h"

void lock_take(void)
{
	uint32_t free = 0;
	if (!__atomic_compare_exchange_n(&E.lock, &free, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED)) {
		while (__atomic_exchange_n(&E.lock, 2, __ATOMIC_ACQUIRE))
			sys4(__NR_futex, &E.lock, FUTEX_WAIT_PRIVATE, 2, 0);
	}
}

bool lock_try(void)
{
	static const int64_t nap[2] = { 0, 1000000 };
	for (int i = 0; i < 100; i++) {
		uint32_t free = 0;
		if (__atomic_compare_exchange_n(&E.lock, &free, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		sys2(__NR_nanosleep, nap, 0);
	}
	return false;
}

void lock_drop(void)
{
	if (__atomic_exchange_n(&E.lock, 0, __ATOMIC_RELEASE) == 2)
		sys3(__NR_futex, &E.lock, FUTEX_WAKE_PRIVATE, 1);
}

uint64_t now_ns(void)
{
	int64_t ts[2];
	sys2(__NR_clock_gettime, CLOCK_MONOTONIC, ts);
	return (uint64_t)ts[0] * 1000000000u + (uint64_t)ts[1];
}
