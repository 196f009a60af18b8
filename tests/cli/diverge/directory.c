/* The names in a folder, in the order in which the kernel gives them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	volatile int n = 0;
	DIR *const d = opendir(argc > 1 ? argv[1] : ".");
	const struct dirent *e;
	while (d && (e = readdir(d)) != 0)
		for (int i = 0; e->d_name[i] && e->d_name[i] < 'm'; i++)
			n = n + 1;
	return 0;
}
