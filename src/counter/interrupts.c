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

#include "buf.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_COLUMNS 1024

static size_t read_header(const char *line, const cpu_set_t *cpus, bool *take)
{
	size_t n = 0;
	const char *const end = strchr(line, '\n');
	for (const char *p = strstr(line, "CPU"); p && (!end || p < end) && n < MAX_COLUMNS;
	     p = strstr(p, "CPU")) {
		p += 3;
		const unsigned long cpu = strtoul(p, NULL, 10);
		take[n++] = cpu < CPU_SETSIZE && CPU_ISSET(cpu, cpus);
	}
	return n;
}

static uint64_t sum_line(const char *line, const bool *take, size_t n)
{
	const char *const last = strchrnul(line, '\n');
	const char *p = memchr(line, ':', (size_t)(last - line));
	uint64_t sum = 0;
	size_t column = 0;
	for (p = p ? p + 1 : last; column < n; column++) {
		char *end;
		const unsigned long long v = strtoull(p, &end, 10);
		if (end == p || end > last)	/* no number, or the next line's */
			break;
		sum += take[column] ? v : 0;
		p = end;
	}
	/* Fewer columns than CPUs: a line about the machine, not the CPUs. */
	return column == n ? sum : 0;
}

bool interrupts_read(const char *root, struct buf *text)
{
	char path[PATH_MAX];
	char piece[16384];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/proc/interrupts", root);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		buf_add(text, piece, (size_t)n);
	close(fd);
	return n == 0 && !buf_failed(text);
}

uint64_t interrupts_sum(const struct buf *text, const cpu_set_t *cpus)
{
	bool take[MAX_COLUMNS];
	uint64_t sum = 0;

	if (!text->len)
		return 0;
	const size_t columns = read_header(text->data, cpus, take);
	for (const char *line = strchr(text->data, '\n'); columns && line; line = strchr(line, '\n'))
		sum += sum_line(++line, take, columns);
	return sum;
}

uint64_t interrupts_total(const char *root, const cpu_set_t *cpus)
{
	struct buf text = { 0 };
	const uint64_t sum = interrupts_read(root, &text) ? interrupts_sum(&text, cpus) : 0;
	buf_free(&text);
	return sum;
}
