/* Trials in the software engine: a child runs the kernel, and tare_measure() counts it.
 *
 * What the child counts before and after the kernel is the same in each run, so the difference of
 * a run with loops and one without is what the loops count. That makes counts of the engine exact,
 * and each trial two processes.
 *
 * What a kernel counts outside of its loop is known by inspection and is added, so that
 * trial_run() gives what it gives on hardware.
 */
#include "trial-kinds.h"

#include "why.h"

#include <tare/measure.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct soft {
	struct tare_events *events;
};

/* The names joined with commas, as one list: tare_measure() takes no array of events. */
static int parse_names(const struct trial *t, struct tare_events **list, struct tare_why *why)
{
	size_t size = 1;
	for (size_t i = 0; i < t->o.n; i++)
		size += strlen(t->o.events[i]->name) + 1;
	char *const text = calloc(1, size);
	if (!text)
		return why_set(why, TARE_E_NOMEM, "names of events");
	for (size_t i = 0; i < t->o.n; i++) {
		strcat(text, i ? "," : "");
		strcat(text, t->o.events[i]->name);
	}
	const int err = tare_events_parse(text, NULL, list, why);
	free(text);
	return err;
}

int trial_soft_open(struct trial *t, struct tare_why *why)
{
	if (!t->o.child)
		return why_set(why, TARE_E_INVALID, "no command that runs kernels in the engine");
	struct soft *const s = calloc(1, sizeof(*s));
	if (!s)
		return why_set(why, TARE_E_NOMEM, "a trial");
	t->state = s;
	const int err = parse_names(t, &s->events, why);
	if (err)
		trial_close(t);
	return err;
}

static int measured(const struct tare_measurement *m, const struct trial *t, int64_t *counts,
		    struct tare_why *why)
{
	if (m->exit_status)
		return why_set(why, TARE_E_ENGINE, "%s: exit status %d", t->o.child[0],
			       m->exit_status);
	for (size_t i = 0; i < t->o.n; i++) {
		const struct tare_count *const c = &m->counts[i];
		if (c->state != TARE_COUNT_OK || c->provenance != TARE_PROV_EXACT)
			return why_set(why, c->code ? c->code : TARE_E_NOT_COUNTED,
				       "%s: the engine gave no exact count", c->event);
		counts[i] = (int64_t)c->value;
	}
	return 0;
}

static int run_child(struct trial *t, const char *kernel, uint64_t loops, int64_t *counts,
		     struct tare_why *why)
{
	const struct soft *const s = t->state;
	size_t n = 0;
	while (t->o.child[n])
		n++;
	/* The same length whatever the number is: the length of the arguments moves the stack. */
	char number[24];
	snprintf(number, sizeof(number), "%020ju", (uintmax_t)loops);
	char **const argv = calloc(n + 3, sizeof(*argv));
	if (!argv)
		return why_set(why, TARE_E_NOMEM, "a command line");
	for (size_t i = 0; i < n; i++)
		argv[i] = (char *)t->o.child[i];
	argv[n] = (char *)kernel;
	argv[n + 1] = number;
	struct tare_measurement *m;
	int err = tare_measure(&TARE_OPTIONS(measure, .argv = argv, .events = s->events,
					     .backend = TARE_BACKEND_SOFT), &m, why);
	free(argv);
	if (err)
		return err;
	err = measured(m, t, counts, why);
	tare_measurement_free(m);
	return err;
}

int trial_soft_run(struct trial *t, const struct trial_code *code, int64_t *counts,
		   struct tare_why *why)
{
	int64_t base[TRIAL_EVENTS];
	if (!code->kernel || code->part)
		return why_set(why, TARE_E_INVALID, "the engine runs whole kernels only");
	int err = run_child(t, code->kernel->name, 0, base, why);
	if (!err)
		err = run_child(t, code->kernel->name, code->loops, counts, why);
	for (size_t i = 0; !err && i < t->o.n; i++) {
		const int kind = kernel_event_of_role(t->o.events[i]->role);
		counts[i] -= base[i];
		if (kind >= 0)
			counts[i] += (int64_t)code->kernel->once[kind];
	}
	return err;
}

void trial_soft_close(struct trial *t)
{
	struct soft *const s = t->state;
	tare_events_free(s->events);
	free(s);
}
