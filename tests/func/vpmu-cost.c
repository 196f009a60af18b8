/* A program that opens no counter pays nothing for the virtual PMU: the code that runs is
 * that of the plain engine, to the last byte, and what it counts too.
 * usage: vpmu-cost PROGRAM */
#include "func.h"
#include "model.h"
#include "soft-run.h"

#include <stdio.h>
#include <string.h>

struct work {
	const struct soft_shared *shared;
	uint64_t tasks, blocks, bytes, counts[SOFT_EVENTS];
};

static void add_up(const struct soft_shared *s, void *arg)
{
	struct work *const w = arg;
	w->shared = NULL;
	for (uint32_t i = 1; i < s->n_records; i++) {
		const struct soft_record *const r = &s->records[i];
		w->tasks++;
		w->blocks += r->blocks;
		w->bytes += r->code_bytes;
		for (int k = 0; k < SOFT_EVENTS; k++)
			w->counts[k] += r->counts[k];
	}
}

static int plain_setup(int memfd, struct soft_shared *shared, void *arg, struct tare_why *why)
{
	(void)memfd;
	(void)why;
	((struct work *)arg)->shared = shared;
	return 0;
}

static void plain_end(pid_t child, void *arg)
{
	(void)child;
	add_up(((struct work *)arg)->shared, arg);
}

int main(int argc, char **argv)
{
	struct tare_why why;
	struct tare_run_report *report;
	CHECK(argc == 2, "usage: vpmu-cost PROGRAM");
	CHECK(engine_available(&why) == 0, "the engine does not run: %s", why.what);
	struct work plain = { 0 }, idle = { 0 };
	const struct soft_hooks hooks = { .setup = plain_setup, .before_reap = plain_end, .arg = &plain };
	const struct tare_measure_options mo = { .size = sizeof(mo), .argv = argv + 1 };
	struct tare_measurement m = { 0 };
	CHECK(soft_run(&mo, &hooks, &m, &why) == 0, "%s", why.what);
	const struct tare_run_options ro = { .size = sizeof(ro), .argv = argv + 1,
					     .cpu = "zen2", .all_tasks = true };
	CHECK(run_watched(&ro, add_up, &idle, &report, &why) == 0, "%s", why.what);
	CHECK(report->exit_status == 0, "exit status %d", report->exit_status);
	CHECK(report->n_tasks == 2 && !report->tasks[0].not_counted, "%zu tasks", report->n_tasks);
	tare_run_report_free(report);
	printf("blocks %ju, bytes %ju, instructions %ju\n", (uintmax_t)idle.blocks,
	       (uintmax_t)idle.bytes, (uintmax_t)idle.counts[SOFT_INSTRUCTIONS]);
	CHECK(plain.tasks == 2 && plain.blocks > 20 && plain.bytes > 300, "%ju tasks, %ju blocks",
	      (uintmax_t)plain.tasks, (uintmax_t)plain.blocks);
	CHECK(idle.blocks == plain.blocks, "%ju blocks", (uintmax_t)idle.blocks);
	CHECK(idle.bytes == plain.bytes, "%ju bytes", (uintmax_t)idle.bytes);
	CHECK(memcmp(idle.counts, plain.counts, sizeof(idle.counts)) == 0, "the counts differ");
	return 0;
}
