/* The time-stamp counter decides how often a loop runs. */
int main(void)
{
	volatile int n = 0;
	unsigned low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	for (unsigned i = 0; i < (low >> 4 & 63); i++)
		n = n + 1;
	return 0;
}
