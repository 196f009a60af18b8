/* tare verify --programs: real programs, as in the paper's Tables 9 and 10.
 *
 * Each program of the list runs on inputs that are the same everywhere, in a folder of its own and
 * in a fixed environment, and its instructions are counted by
 *
 *	the engine	the reference: exact
 *	hardware	instructions:u as the counter says it, and corrected for interrupts
 *	callgrind	valgrind's count
 *	QEMU		qemu-user with a plugin of ours that counts what it executes
 *
 * What is not there (no PMU, no valgrind, a program that is not installed) is left out and said.
 */
#ifndef CMD_VERIFY_PROGRAMS_H
#define CMD_VERIFY_PROGRAMS_H

#include <stdbool.h>

struct verify_programs {
	unsigned runs;			/* of the engine and of hardware; 0: 3 */
	bool json;
	const char *const *only;	/* names, ended by NULL; NULL: all */
	const char *output;		/* NULL: standard output */
	volatile const int *stop;
};
/* Returns the exit status. */
int verify_programs(const struct verify_programs *o);

#endif
