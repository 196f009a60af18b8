/* tare-callgrind: the command line of `valgrind --tool=callgrind`, with exact counts.
 *
 * The program tare, called by the name tare-callgrind (a link). It takes the options that programs which
 * drive callgrind pass, runs the command in the software engine and writes callgrind's file. What it
 * does not do, it says: a wrong count is worse than none.
 */
#ifndef CMD_CALLGRIND_H
#define CMD_CALLGRIND_H

#include <stdbool.h>

bool callgrind_is_name(const char *argv0);	/* ends in tare-callgrind */
int callgrind_main(int argc, char **argv);

#endif
