/* More tasks than the run has records for: a program that runs natively is still reported, and the
 * counts of all others are in the totals. */
#include "abi.h"
#include "func.h"
#include "soft-run.h"

#include <tare/measure.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As if so many tasks had run before. */
static int fill_records(int memfd, struct soft_shared *shared, void *arg, struct tare_why *why)
{
	(void)memfd;
	(void)why;
	shared->n_records = *(uint32_t *)arg;
	return 0;
}

static struct tare_count count(const char *script, uint32_t first, size_t *n_tasks,
			       struct tare_task *last)
{
	char *const argv[] = { "/bin/sh", "-c", (char *)script, NULL };
	const struct soft_hooks hooks = { .setup = fill_records, .arg = &first };
	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
	struct tare_events *events;
	struct tare_why why;
	CHECK(tare_events_parse("instructions:u", NULL, &events, &why) == 0, "%s", why.what);
	struct tare_count one = { 0 };
	struct tare_measurement m = { .n_counts = 1, .counts = &one };
	o.argv = argv;
	o.events = events;
	CHECK(soft_run(&o, &hooks, &m, &why) == 0, "%s", why.what);
	CHECK(m.exit_status == 0, "exit status %d", m.exit_status);
	*n_tasks = m.n_tasks;
	if (m.n_tasks)
		*last = m.tasks[m.n_tasks - 1];
	for (size_t i = 0; i < m.n_tasks; i++)
		free(m.tasks[i].counts);
	free(m.tasks);
	tare_events_free(events);
	return one;
}

int main(void)
{
	char path[] = "/tmp/tare-beyond-XXXXXX", script[128];
	struct tare_task task = { 0 };
	size_t n;
	const int fd = mkstemp(path);
	CHECK(fd >= 0, "mkstemp");
	snprintf(script, sizeof(script), "cp /bin/true %s && chmod 4755 %s", path, path);
	CHECK(system(script) == 0, "%s", script);
	close(fd);

	/* All records are taken after the shell's own: the counts go to the common one. */
	const struct tare_count few = count("/bin/true; /bin/true", 1, &n, &task);
	CHECK(n == 0 && few.value > 1000, "%zu tasks", n);
	const struct tare_count many = count("/bin/true; /bin/true", SOFT_MAX_RECORDS - 1, &n, &task);
	CHECK(n == 0 && many.value == few.value, "%zu tasks, %ju and %ju instructions", n,
	      (uintmax_t)few.value, (uintmax_t)many.value);

	snprintf(script, sizeof(script), "%s; %s; true", path, path);
	count(script, SOFT_MAX_RECORDS - 1, &n, &task);
	CHECK(n == 1 && strstr(task.not_counted, "ran natively") && task.remedy, "%zu tasks", n);
	unlink(path);
	return 0;
}
