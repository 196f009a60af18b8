/* With ASLR the address of a block of memory decides. */
#include <stdlib.h>

int main(void)
{
	volatile int n = 0;
	void *const p = malloc(100000000);
	for (unsigned long i = 0; i < ((unsigned long)p >> 12 & 255); i++)
		n = n + 1;
	return 0;
}
