/* Something to measure: counts the words of a text, again and again.
 *
 *	cc -O1 -o old work.c
 *	cc -O1 -DPLANTED -o new work.c		0.01 % more instructions
 *
 * (-O2 of some compilers vectorises only the longer of the two loops.) No stopwatch sees
 * the difference; a count does. */
#include <stdio.h>
#include <string.h>

/* gcc 14 would count 16 letters at a time, and what is planted would be more than 0.01 %. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize")
#endif

enum { SIZE = 1 << 16, ROUNDS = 200 };

static unsigned words(const char *text, size_t n)
{
	unsigned count = 0;
	int inside = 0;
	for (size_t i = 0; i < n; i++) {
		const int letter = text[i] != ' ';
		count += letter & !inside;
		inside = letter;
	}
	return count;
}

int main(void)
{
	static char text[SIZE];
	unsigned total = 0;
	for (size_t i = 0; i < SIZE; i++)
		text[i] = "a measured word "[i % 16];
	for (unsigned round = 0; round < ROUNDS; round++) {
		text[round * 16] = ' ';		/* so that no round can be left out */
		total += words(text, SIZE);
#ifdef PLANTED
		/* A needless look at the first few bytes of the text. */
		total += words(text, 8) == 99;
#endif
	}
	printf("%u\n", total);
	return 0;
}
