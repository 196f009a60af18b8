/* The same in each run. */
int main(void)
{
	volatile int n = 0;
	for (int i = 0; i < 1000; i++)
		n = n + i;
	return 0;
}
