/* The report: lists that grow, the names of causes and verdicts, and its end. */
#include "experiment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	char letter;
	const char *name;
} cause_names[TARE_CAUSE_COUNT] = {
	[TARE_CAUSE_INTERRUPTS] = { 'h', "interrupts" },
	[TARE_CAUSE_FAULTS] = { 'p', "page-faults" },
	[TARE_CAUSE_EXCEPTIONS] = { 'E', "exceptions" },
	[TARE_CAUSE_LAZY_FP] = { 'F', "lazy-fp" },
	[TARE_CAUSE_OVERCOUNTED] = { 'D', "overcounted-instructions" },
	[TARE_CAUSE_UNDERCOUNTED] = { 'M', "undercounted-instructions" },
	[TARE_CAUSE_UOPS] = { 'U', "micro-operations" },
};

char tare_cause_letter(enum tare_cause cause)
{
	return (unsigned)cause < TARE_CAUSE_COUNT ? cause_names[cause].letter : '?';
}

const char *tare_cause_name(enum tare_cause cause)
{
	return (unsigned)cause < TARE_CAUSE_COUNT ? cause_names[cause].name : "unknown";
}

const char *tare_event_verdict_name(enum tare_event_verdict v)
{
	switch (v) {
	case TARE_EVENT_DETERMINISTIC: return "deterministic";
	case TARE_EVENT_DEVIATES: return "deviates";
	case TARE_EVENT_NEVER_COUNTS: return "never-counts";
	case TARE_EVENT_NOT_AVAILABLE: return "not-available";
	case TARE_EVENT_NOT_RUN: return "not-run";
	case TARE_EVENT_INCONCLUSIVE: return "inconclusive";
	}
	return "unknown";
}

struct tare_verify_finding *verify_find(struct verify *v, const char *experiment, const char *event,
					enum tare_verdict verdict, const char *fmt, ...)
{
	struct tare_verify_report *const r = v->report;
	struct tare_verify_finding *const all =
		realloc(r->findings, (r->n_findings + 1) * sizeof(*all));
	if (!all)
		return NULL;
	r->findings = all;
	struct tare_verify_finding *const f = &all[r->n_findings++];
	*f = (struct tare_verify_finding){ .experiment = experiment, .verdict = verdict };
	f->event = event ? strdup(event) : NULL;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return f;
}

void verify_number(struct tare_verify_finding *f, const char *name, double value)
{
	if (f && f->n_numbers < TARE_VERIFY_NUMBERS)
		f->numbers[f->n_numbers++] = (struct tare_verify_number){ name, value };
}

struct tare_verify_cause *verify_cause(struct subject *s, enum tare_cause cause, double amount,
				       double error, const char *per)
{
	struct tare_verify_cause *const all = realloc(s->causes, (s->n_causes + 1) * sizeof(*all));
	if (!all)
		return NULL;
	s->causes = all;
	struct tare_verify_cause *const c = &all[s->n_causes++];
	*c = (struct tare_verify_cause){ .cause = cause, .amount = amount, .error = error,
					 .per = per };
	return c;
}

void verify_doubt(struct subject *s, const char *fmt, ...)
{
	if (s->reason[0])
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(s->reason, sizeof(s->reason), fmt, ap);
	va_end(ap);
}

void tare_verify_free(struct tare_verify_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_rows; i++) {
		free((char *)r->rows[i].event);
		free(r->rows[i].causes);
		free(r->rows[i].sections);
		free(r->rows[i].excess);
	}
	for (size_t i = 0; i < r->n_findings; i++)
		free((char *)r->findings[i].event);
	for (size_t i = 0; i < r->n_skipped; i++)
		free((char *)r->skipped[i]);
	free((void *)r->skipped);
	free((void *)r->kernels);
	free((void *)r->experiments);
	free(r->rows);
	free(r->findings);
	free(r);
}
