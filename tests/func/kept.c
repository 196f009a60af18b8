/* As a library (LIBRARY): a function that runs a loop ROUNDS times. Else: a program that runs such a loop, and
 * calls the function of the library that is named. */
#include <dlfcn.h>
#include <stdio.h>

__attribute__((noinline)) int rounds(void);
__attribute__((noinline)) int rounds(void)
{
	int n = 0;
	for (int i = 0; i < ROUNDS; i++) {
		n++;
		__asm__ volatile("" : "+r"(n));
	}
	return n;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
	int n = rounds();
	for (int i = 1; i < argc; i++) {
		void *const library = dlopen(argv[i], RTLD_NOW);
		int (*const its)(void) = library ? (int (*)(void))dlsym(library, "rounds") : NULL;
		if (!its)
			return 1;
		n += its();
		dlclose(library);
	}
	printf("%d\n", n);
	return 0;
}
#endif
