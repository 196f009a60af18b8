/* Counts the sorting, and neither making the numbers nor checking them:
 *
 *	cc -O2 sort.c -o sort $(pkg-config --cflags tare)
 *	tare stat --delay -1 -e instructions:u ./sort
 *
 * Nothing is linked. Without tare the program runs as it would without the two calls. */
#include <tare/region.h>

#include <stdio.h>
#include <stdlib.h>

#define N 20000

static int compare(const void *a, const void *b)
{
	const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	return x < y ? -1 : x > y;
}

int main(void)
{
	static unsigned numbers[N];
	unsigned seed = 1;
	for (int i = 0; i < N; i++)
		numbers[i] = seed = seed * 1664525u + 1013904223u;
	tare_region_start();
	qsort(numbers, N, sizeof(numbers[0]), compare);
	tare_region_stop();
	for (int i = 1; i < N; i++)
		if (numbers[i - 1] > numbers[i])
			return 1;
	puts("sorted");
	return 0;
}
