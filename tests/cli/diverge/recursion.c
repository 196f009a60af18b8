/* Parts 30 calls deep: the stack is longer than what is shown of it. */
#include <sys/random.h>

static volatile unsigned odd;

__attribute__((noinline)) static unsigned below(unsigned depth, unsigned char byte)
{
	if (depth)
		return below(depth - 1, byte) + odd;
	if (byte & 1)
		odd = odd + 1;
	return odd;
}

int main(void)
{
	unsigned char byte;
	if (getrandom(&byte, 1, 0) != 1)
		return 1;
	return below(30, byte) > 1000;
}
