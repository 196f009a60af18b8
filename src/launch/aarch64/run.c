/* There is no software engine for this machine yet, so no virtual PMU either. */
#include <tare/run.h>

#include "why.h"

const char *tare_run_model(size_t i, const char **about)
{
	(void)i;
	(void)about;
	return NULL;
}

const char *tare_run_flaw(size_t i, const char **about)
{
	(void)i;
	(void)about;
	return NULL;
}

int tare_run_planted(const struct tare_run_options *o, struct tare_run_planted **list, size_t *n,
		     struct tare_why *why)
{
	if (list)
		*list = NULL;
	if (n)
		*n = 0;
	return tare_run(o, NULL, why);
}

void tare_run_planted_free(struct tare_run_planted *list)
{
	(void)list;
}

int tare_run(const struct tare_run_options *o, struct tare_run_report **report,
	     struct tare_why *why)
{
	(void)o;
	if (report)
		*report = NULL;
	return why_set(why, TARE_E_ENGINE, "the virtual PMU is part of the software engine, which "
		       "runs x86-64 programs only");
}

void tare_run_report_free(struct tare_run_report *report)
{
	(void)report;
}
