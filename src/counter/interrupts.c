/* Summing the columns of /proc/interrupts.
 *
 *	           CPU0       CPU1
 *	  0:         10          0   IO-APIC   2-edge      timer
 *	LOC:     104231      98711   Local timer interrupts
 *	ERR:          0
 *
 * The first line names the online CPUs, so a column is found by name, not by
 * position; ERR and MIS have a single column for the whole machine and are not
 * interrupts the program was stopped by.
 */
#include "interrupts.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 1024

static size_t read_header(const char *line, const cpu_set_t *cpus, bool *take)
{
	size_t n = 0;
	for (const char *p = strstr(line, "CPU"); p && n < MAX_COLUMNS; p = strstr(p, "CPU")) {
		p += 3;
		const unsigned long cpu = strtoul(p, NULL, 10);
		take[n++] = cpu < CPU_SETSIZE && CPU_ISSET(cpu, cpus);
	}
	return n;
}

static uint64_t sum_line(const char *line, const bool *take, size_t n)
{
	const char *p = strchr(line, ':');
	uint64_t sum = 0;
	size_t column = 0;
	for (p = p ? p + 1 : ""; column < n; column++) {
		char *end;
		const unsigned long long v = strtoull(p, &end, 10);
		if (end == p)
			break;
		sum += take[column] ? v : 0;
		p = end;
	}
	/* Fewer columns than CPUs: a line about the machine, not the CPUs. */
	return column == n ? sum : 0;
}

uint64_t interrupts_total(const char *root, const cpu_set_t *cpus)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/interrupts", root);
	FILE *const f = fopen(path, "re");
	if (!f)
		return 0;
	bool take[MAX_COLUMNS];
	char *line = NULL;
	size_t cap = 0, columns = 0;
	uint64_t sum = 0;
	if (getline(&line, &cap, f) > 0)
		columns = read_header(line, cpus, take);
	while (columns && getline(&line, &cap, f) > 0)
		sum += sum_line(line, take, columns);
	free(line);
	fclose(f);
	return sum;
}
