/* getrandom() decides a branch, far from the call. */
#include <sys/random.h>

int main(void)
{
	unsigned char b[16];
	volatile int n = 0;
	getrandom(b, sizeof(b), 0);
	for (int i = 0; i < 100000; i++)
		n = n + 1;
	for (int i = 0; i < 16; i++)
		if (b[i] & 1) {
			n = n + b[i];
			n = n + 1;
		}
	return 0;
}
