/* Two threads go through the same functions for the first time, side by side, through
 * pointers: each finds code that the other is just translating.
 */
#include <pthread.h>
#include <stdio.h>

#define F1(n) __attribute__((noinline)) static long f##n(long x) \
	{ return x % 3 ? x * (0x##n + 3) + 1 : x / 2 + 0x##n; }
#define F4(n) F1(n##0) F1(n##1) F1(n##2) F1(n##3)
#define F16(n) F4(n##0) F4(n##1) F4(n##2) F4(n##3)
#define F64(n) F16(n##0) F16(n##1) F16(n##2) F16(n##3)
#define F256(n) F64(n##0) F64(n##1) F64(n##2) F64(n##3)
F256(1) F256(2) F256(3) F256(4)
#undef F1
#define F1(n) f##n,
static long (*const all[])(long) = { F256(1) F256(2) F256(3) F256(4) };
enum { N = sizeof(all) / sizeof(all[0]) };

static pthread_barrier_t start;

static void *walk(void *arg)
{
	long *const x = arg;
	pthread_barrier_wait(&start);
	for (int i = 0; i < N; i++)
		*x = all[i](*x) % 1000003;
	return NULL;
}

int main(void)
{
	pthread_t t[2];
	long x[2] = { 12345, 12345 };
	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, walk, &x[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%ld %ld\n", x[0], x[1]);
	return 0;
}
