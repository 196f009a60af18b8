/* getrandom() seeds a generator, whose first numbers are thrown away: thousands of instructions change the
 * value on its way to the branch. */
#include <stdint.h>
#include <sys/random.h>

static uint64_t numbers(uint64_t x, int n)
{
	for (int i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

int main(void)
{
	volatile int n = 0;
	uint64_t x = 1;
	if (getrandom(&x, sizeof(x), 0) != sizeof(x))
		return 1;
	x = numbers(x, 2500);
	for (int i = 10; i < 40 && x >> i & 1; i++)
		n = n + 1;
	return 0;
}
