/* The events of tare stat without -e: what this machine can count. */
#include "measuring.h"
#include "stat.h"

#include <stdio.h>
#include <string.h>

static const char *const kernel_events[] = { "task-clock", "context-switches", "page-faults" };
#define SOFT_EVENTS "instructions,branches,cond-branches,loads,stores"

/* Whether `text` can be counted that way here. */
static int probe(const char *text, enum tare_backend backend, const struct tare_cpu *cpu,
		 struct tare_why *why)
{
	struct tare_events *events;
	int err = tare_events_parse(text, cpu, &events, why);
	if (err)
		return err;
	err = tare_backend_for(events, backend, NULL, 0, why);
	tare_events_free(events);
	return err < 0 ? err : 0;
}

/* Whether an event can be opened, and gets a counter. */
static int probe_counter(const char *text, const struct tare_cpu *cpu)
{
	struct tare_events *events;
	struct tare_why why = { 0 };
	int err = probe(text, TARE_BACKEND_HW, cpu, &why);
	if (err || tare_events_parse(text, cpu, &events, &why) < 0)
		return err;
	if (tare_events_fit(events, &why) == 0 &&
	    (why.code == TARE_E_NO_COUNTERS || why.code == TARE_E_WATCHDOG))
		err = why.code;
	tare_events_free(events);
	return err;
}

void stat_skip_event(struct stat_session *s, const char *name)
{
	const size_t at = strlen(s->skipped);
	snprintf(s->skipped + at, sizeof(s->skipped) - at, "%s%s", at ? ", " : "", name);
}

static int probe_open(const char *text, const struct tare_cpu *cpu)
{
	return probe(text, TARE_BACKEND_HW, cpu, NULL);
}

static int probe_default(const struct stat_session *s, const char *name,
			 int (*how)(const char *text, const struct tare_cpu *cpu))
{
	char text[64];
	const char mode = stat_mode(s->o);
	snprintf(text, sizeof(text), mode ? "%s:%c" : "%s", name, mode);
	return how(text, &s->cpu);
}

/* Adds to `text` the default hardware events this machine has; s->skipped names the
 * others. Returns the number of events added. */
static size_t hardware_defaults(struct stat_session *s, struct buf *text)
{
	static const char *const names[] = { "cycles", "instructions", "branches",
					     "branch-misses" };
	size_t n = 0;
	int err = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (err != TARE_E_NO_PMU)	/* the same for all of them */
			err = probe_default(s, names[i], probe_counter);
		if (!err) {
			buf_printf(text, ",%s", names[i]);
			n++;
			continue;
		}
		stat_skip_event(s, names[i]);
	}
	return n;
}

/* Unprivileged users may be denied what only the kernel does. */
static void kernel_defaults(struct stat_session *s, struct buf *text)
{
	for (size_t i = 0; i < sizeof(kernel_events) / sizeof(kernel_events[0]); i++) {
		const char *const name = kernel_events[i];
		const int err = probe_default(s, name, probe_open);
		if (err == TARE_E_PARANOID || err == TARE_E_VIRTUAL_KERNEL || (err && stat_mode(s->o)))
			stat_skip_event(s, name);
		else
			buf_printf(text, "%s%s", text->len ? "," : "", name);
	}
}

void stat_default_events(struct stat_session *s, struct buf *text)
{
	const enum tare_backend asked = (enum tare_backend)s->o->backend;
	struct buf hardware = { 0 };
	const size_t n = asked == TARE_BACKEND_SOFT ? 0 : hardware_defaults(s, &hardware);
	/* The engine cannot attach to a running process. */
	const bool soft =
		asked == TARE_BACKEND_SOFT ||
		(!n && asked == TARE_BACKEND_AUTO && !measuring_attached &&
		 probe(SOFT_EVENTS, TARE_BACKEND_SOFT, &s->cpu, NULL) == 0);
	if (soft) {
		buf_str(text, SOFT_EVENTS);
		s->skipped[0] = '\0';
	} else {
		kernel_defaults(s, text);
		if (n)
			buf_str(text, hardware.data);
		else if (asked == TARE_BACKEND_HW)
			buf_str(text, ",cycles,instructions,branches,branch-misses");
	}
	buf_free(&hardware);
}
