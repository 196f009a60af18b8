/* The stack lies where the environment leaves it. */
int main(void)
{
	volatile int n = 0;
	int here;
	for (unsigned long i = 0; i < ((unsigned long)&here >> 4 & 63); i++)
		n = n + 1;
	return 0;
}
