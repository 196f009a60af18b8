/* Code that is chosen by what the CPU says of itself. */
#include <cpuid.h>

int main(void)
{
	volatile int n = 0;
	unsigned a, b, c, d;
	__cpuid(1, a, b, c, d);
	for (int i = 0; i < 1000; i++) {
		n = n + 1;
		if (c & bit_AVX)
			n = n + 2;
	}
	return 0;
}
