/* tare COMMAND …: finds the command and runs it. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		puts("tare " TARE_VERSION);
		return 0;
	}
	fputs("usage: tare COMMAND [OPTION]…\n", stderr);
	return 2;
}
