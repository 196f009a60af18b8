#include "parts.h"

#include "why.h"

#include <stdlib.h>
#include <string.h>

struct tare_parts *parts_new(size_t dumps)
{
	struct tare_parts *const p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->dumps = calloc(dumps + 1, sizeof(*p->dumps));
	if (p->dumps)
		return p;
	free(p);
	return NULL;
}

void parts_free(struct tare_parts *p)
{
	for (size_t i = 0; p && i < p->n_dumps; i++) {
		free((char *)p->dumps[i].name);
		free(p->dumps[i].counts);
	}
	if (p)
		free(p->dumps);
	free(p);
}

bool parts_dump_init(struct tare_dump *d, const char *name, const struct tare_measurement *m)
{
	char *const copy = strdup(name);
	struct tare_count *const counts = calloc(m->n_counts + 1, sizeof(*counts));
	if (!copy || !counts) {
		free(copy);
		free(counts);
		return false;
	}
	for (size_t i = 0; i < m->n_counts; i++)
		counts[i] = (struct tare_count){ .event = m->counts[i].event, .unit = m->counts[i].unit,
						 .state = TARE_COUNT_NOT_OPENED, .code = TARE_E_NOT_OPENED };
	*d = (struct tare_dump){ .name = copy, .counts = counts };
	return true;
}

bool parts_refuse(const struct tare_measure_options *o, struct tare_why *why)
{
	if (o->starts_off & ~7u)
		return why_set(why, TARE_E_INVALID, "starts_off: %#x is no enum tare_starts_off", o->starts_off);
	if (o->starts_off && (o->pid || o->tid))
		return why_set(why, TARE_E_INVALID, "starts_off: a process that runs already asks for nothing");
	if (o->starts_off && o->starts_off != TARE_OFF_UNTIL_ASKED && o->backend == TARE_BACKEND_HW)
		return why_set(why, TARE_E_INVALID, "starts_off: hardware counters are switched for the whole "
			       "command (TARE_OFF_UNTIL_ASKED), not for each process or thread");
	if ((o->starts_off || o->control) && o->n_stops)
		return why_set(why, TARE_E_INVALID, "stops and limits count the whole run, not parts of it "
			       "(--delay -1, --control)");
	if (o->watch && (!o->code || !o->calls || !o->watch->next))
		return why_set(why, TARE_E_INVALID, "watch: functions are watched where calls are followed: .code and .calls");
	if (o->watch && o->n_stops)
		return why_set(why, TARE_E_INVALID, "watch: stops and limits count the whole run, not parts of it");
	if (o->leave_out && (!o->code || o->calls || o->trace))
		return why_set(why, TARE_E_INVALID, "leave_out: only which code ran (.code) can be left out, not calls or a "
			       "trace");
	if (o->control && !o->control->on_ready)
		return why_set(why, TARE_E_INVALID, "control: no function (on_ready)");
	return false;
}

struct tare_count parts_since(const struct tare_count *now, const struct tare_count *before)
{
	struct tare_count d = *now;
	if (now->state != TARE_COUNT_OK || before->state != TARE_COUNT_OK)
		return d;
	d.enabled_ns -= before->enabled_ns;
	d.running_ns -= before->running_ns;
	d.raw -= before->raw;
	d.value = now->value > before->value ? now->value - before->value : 0;
	if (now->provenance == TARE_PROV_SCALED && d.running_ns)
		d.value = (uint64_t)((unsigned __int128)d.raw * d.enabled_ns / d.running_ns);
	return d;
}

static void no_count(struct tare_count *c, int code)
{
	c->state = TARE_COUNT_NOT_SCHEDULED;
	c->code = code;
	c->provenance = TARE_PROV_NONE;
	c->lower_bound = c->perturbed = false;
	c->value = c->raw = c->vdso = 0;
}

void parts_judge(const struct tare_measure_options *o, struct tare_measurement *m)
{
	const struct tare_parts *const p = m->parts;
	if (!p)
		return;
	for (size_t i = 0; i < m->n_counts; i++) {
		struct tare_count *const c = &m->counts[i];
		const struct tare_event *const e = tare_events_at(o->events, i);
		if (c->state != TARE_COUNT_OK || e->kind == TARE_EVENT_ZERO)
			continue;
		if (p->started_off && !p->on)
			no_count(c, TARE_E_NEVER_ON);
		else if (m->backend == TARE_BACKEND_SOFT ? !tare_engine_counts(e) :
			 e->kind == TARE_EVENT_WALL_TIME || e->kind == TARE_EVENT_MINUS_TOTAL)
			no_count(c, TARE_E_WHOLE_ONLY);
	}
}
