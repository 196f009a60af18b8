/* What tare run and tare record say about a run under the virtual PMU that has ended. */
#ifndef CMD_RUN_REPORT_H
#define CMD_RUN_REPORT_H

#include <tare/run.h>

/* Warnings on stderr: programs that asked for cycles, programs whose events include the kernel,
 * and one line for each program that ran natively, with the reason and the way out. */
void report_run(const char *command, const struct tare_run_report *r);

#endif
