/* Trials: the part that hardware and engine share. */
#include "trial-kinds.h"

#include "why.h"

#include <stdio.h>
#include <string.h>

int trial_open(const struct trial_options *o, struct trial *t, struct tare_why *why)
{
	memset(t, 0, sizeof(*t));
	if (!o->n || o->n > TRIAL_EVENTS)
		return why_set(why, TARE_E_NO_COUNTERS, "a trial of %zu events; it takes 1 to %d",
			       o->n, TRIAL_EVENTS);
	t->o = *o;
	return o->soft ? trial_soft_open(t, why) : trial_hw_open(t, why);
}

int trial_run(struct trial *t, const struct trial_code *code, int64_t *counts, struct tare_why *why)
{
	return t->o.soft ? trial_soft_run(t, code, counts, why) :
			   trial_hw_run(t, code, counts, why);
}

void trial_close(struct trial *t)
{
	if (!t->state)
		return;
	if (t->o.soft)
		trial_soft_close(t);
	else
		trial_hw_close(t);
	t->state = NULL;
}

bool trial_user_name(const struct tare_event *e, char *name, size_t size)
{
	const size_t n = strlen(e->name);

	if (e->needs_engine || e->has_modifier || !n || e->kind == TARE_EVENT_WALL_TIME ||
	    e->kind == TARE_EVENT_ZERO)
		return false;
	snprintf(name, size, "%s%su", e->name, e->name[n - 1] == '/' ? "" : ":");
	return true;
}
