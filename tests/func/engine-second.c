/* A larger workload for comparing with other tools: sorting, hashing, recursion,
 * floating point, calls through pointers. No libc in the work itself, because
 * other tools hide CPU features and libc then chooses other functions.
 * usage: engine-second ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N 512
static uint32_t v[N];
static uint64_t state = 88172645463325252ull;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void quick(uint32_t *a, int n)
{
	if (n < 2)
		return;
	const uint32_t pivot = a[n / 2];
	int i = 0, j = n - 1;
	while (i <= j) {
		while (a[i] < pivot)
			i++;
		while (a[j] > pivot)
			j--;
		if (i <= j) {
			const uint32_t t = a[i];
			a[i++] = a[j];
			a[j--] = t;
		}
	}
	quick(a, j + 1);
	quick(a + i, n - i);
}

static uint64_t add(uint64_t x) { return x + 3; }
static uint64_t rotate(uint64_t x) { return x << 9 | x >> 55; }
static uint64_t times(uint64_t x) { return x * 31; }
static uint64_t (*const ops[])(uint64_t) = { add, rotate, times };

static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1;
	uint64_t sum = 0;
	double area = 0;
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < N; i++)
			v[i] = (uint32_t)next();
		quick(v, N);
		for (int i = 0; i < N; i++)
			sum = ops[v[i] % 3](sum ^ v[i]);
		sum += (uint64_t)fib(15);
		for (int i = 1; i < 200; i++)
			area += 1.0 / (i * (double)i);
		/* a repeated string instruction: 1 for hardware, more for some tools */
		void *to = v;
		unsigned long n = 100;
		__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
	}
	printf("%d %016lx %a\n", rounds, (unsigned long)sum, area);
	return 0;
}
