/* Copies, compares and searches strings of many lengths: libc has other functions for that on each kind of CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	static char from[8192], to[8192];
	size_t sum = 0;
	for (size_t i = 0; i < sizeof(from) - 1; i++)
		from[i] = (char)('a' + i % 23);
	for (size_t n = 1; n < sizeof(from); n += 1 + n / 16) {
		memcpy(to, from, n);
		to[n] = 0;
		memmove(to + n / 3, to, n / 2);
		sum += strlen(to) + (memcmp(to, from, n) < 0) + (strchr(to, 'z') != NULL) + (memchr(from, 'w', n) != NULL);
		memset(to, (int)n, n);
	}
	printf("%zu\n", sum);
	return 0;
}
