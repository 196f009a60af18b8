/* A variable that is read before it is written has what an earlier call left on the stack: random bytes. */
#include <string.h>
#include <sys/random.h>

__attribute__((noinline)) static void leave(void)
{
	unsigned char b[512];
	getrandom(b, sizeof(b), 0);
	__asm__ volatile("" : : "r"(b) : "memory");
}

__attribute__((noinline)) static int find(void)
{
	unsigned char b[512];
	volatile int n = 0;
	__asm__ volatile("" : "=m"(b));
	for (int i = 0; i < 64; i++)
		if (b[i + 200] > 127) {
			n = n + 1;
			n = n + 2;
		}
	return n;
}

int main(void)
{
	leave();
	return find() > 1000;
}
