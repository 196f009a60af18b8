/* Where things are, and work that depends on it a little: printf() prints addresses. usage: layout-show [more] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;
static int own;

int main(int argc, char **argv)
{
	int local;
	void *const heap = malloc(100);
	size_t size = 0;
	for (char **e = environ; *e; e++)
		size += strlen(*e) + 1;
	/* loops that an address decides on */
	for (volatile uintptr_t i = (uintptr_t)heap >> 12 & 255; i; i--)
		;
	for (volatile uintptr_t i = (uintptr_t)&local >> 4 & 63; i; i--)
		;
	for (volatile int i = 0; argc > 1 && !strcmp(argv[1], "more") && i < 100000; i++)
		;
	printf("stack=%p heap=%p program=%p library=%p environment=%zu\n", (void *)&local, heap, (void *)&own,
	       (void *)(uintptr_t)printf, size);
	free(heap);
	return 0;
}
