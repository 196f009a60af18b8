/* A page of code that is written again and again, and then rests: with an argument, else only the second part.
 * engine-rests.py compares how long the code came out. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define FUNCTIONS 380

typedef unsigned function(unsigned);

/* lea n(%rdi), %eax; ret */
static function *write_function(unsigned char *at, unsigned n)
{
	at[0] = 0x8d;
	at[1] = 0x87;
	memcpy(at + 2, &n, 4);
	at[6] = 0xc3;
	return (function *)at;
}

int main(int argc, char **argv)
{
	unsigned char *const page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned sum = 0;
	(void)argv;
	for (unsigned i = 0; argc > 1 && i < 60; i++)
		sum += write_function(page, i)(1) != i + 1;
	nanosleep(&(struct timespec){ argc > 1 ? 2 : 0, 0 }, NULL);
	/* a store to other code: pages that have rested are noticed then */
	for (unsigned i = 0; i < 2; i++)
		sum += write_function(page + 4096, i)(1) != i + 1;
	for (unsigned i = 0; i < FUNCTIONS; i++)
		write_function(page + 1024 + 8 * i, i);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		sum += ((function *)(page + 1024 + 8 * i))(1) != i + 1;
	puts(sum ? "WRONG" : "right");
	return 0;
}
