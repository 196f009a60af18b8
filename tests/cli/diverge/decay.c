/* An allocator that gives memory back when enough time has passed. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct timespec last;
static void *kept[64];

static long now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	last = t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void decay(long *due)
{
	const long now = now_us();
	if (now < *due)
		return;
	*due = now + 200;
	for (int i = 0; i < 64; i++) {
		free(kept[i]);
		kept[i] = 0;
	}
}

int main(void)
{
	long due = now_us() + 200;
	for (int i = 0; i < 60000; i++) {
		decay(&due);
		if (!kept[i % 64])
			kept[i % 64] = malloc(100);
		memset(kept[i % 64], i, 100);
	}
	return 0;
}
