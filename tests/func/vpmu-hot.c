/* Three parts of its time in hot(), one in warm(): for profilers. Built without optimisation, so that all functions
 * have frame pointers. */
#include <stdint.h>
#include <stdlib.h>

void hot(uint64_t n);
void warm(uint64_t n);

static volatile uint64_t sum;

__attribute__((noinline)) void hot(uint64_t n)
{
	while (n--)
		sum += n;
}

__attribute__((noinline)) void warm(uint64_t n)
{
	while (n--)
		sum += n;
}

int main(int argc, char **argv)
{
	const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	hot(3 * n);
	warm(n);
	return sum == 1;
}
