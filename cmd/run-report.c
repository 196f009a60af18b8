#include "run-report.h"

#include "complain.h"

#include <stdio.h>
#include <string.h>

#define MAX_LINES 16

static const char *program(const struct tare_task *t)
{
	return t->exe[0] ? t->exe : t->comm;
}

static bool same_case(const struct tare_task *a, const struct tare_task *b)
{
	return b->not_counted && strcmp(a->not_counted, b->not_counted) == 0 &&
	       strcmp(program(a), program(b)) == 0;
}

/* Has an earlier task the same program and reason? */
static bool is_repeated(const struct tare_run_report *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_case(&r->tasks[i], &r->tasks[k]))
			return true;
	return false;
}

static void report_task(const char *command, const struct tare_run_report *r, size_t i)
{
	const struct tare_task *const t = &r->tasks[i];
	size_t others = 0;
	for (size_t k = i + 1; k < r->n_tasks; k++)
		others += same_case(t, &r->tasks[k]);
	char more[40] = "";
	if (others)
		snprintf(more, sizeof(more), " and %zu more", others);
	caution("%s: %s (process %d%s): %s; counts that include it are too low%s%s", command,
		program(t), (int)t->pid, more, t->not_counted,
		t->remedy ? "; to count it: " : "", t->remedy ? t->remedy : "");
}

void report_run(const char *command, const struct tare_run_report *r)
{
	if (r->asked_cycles[0])
		caution("%s: %s asked for cycles, which the virtual PMU does not have; `tare run "
			"--cycles` counts one for each instruction", command, r->asked_cycles);
	if (r->kernel_as_user[0])
		caution("%s: events of %s include the kernel; they counted user mode only "
			"(--kernel-as-user)", command, r->kernel_as_user);
	size_t programs = 0;
	for (size_t i = 0; i < r->n_tasks; i++)
		if (r->tasks[i].not_counted && !is_repeated(r, i) && ++programs <= MAX_LINES)
			report_task(command, r, i);
	if (programs > MAX_LINES)
		caution("%s: %zu more programs were not counted", command, programs - MAX_LINES);
}
