/* The text of a process number decides what is allocated and written, as in the report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	char name[64];
	volatile int n = 0;
	sprintf(name, "%ld", (long)getpid() * 7919);
	char *const p = malloc(strlen(name) * 100);
	memset(p, name[strlen(name) - 2], strlen(name) * 100);
	for (int i = 0; i < (p[5] & 15); i++)
		n = n + 1;
	free(p);
	return 0;
}
