/* One code and its counts: the part of a scan that uses the counters (scan-parts.h). */
#include "scan-parts.h"

#include <string.h>

void scan_code_of_raw(const struct tare_scan *s, uint64_t raw, struct scan_code *c)
{
	memset(c, 0, sizeof(*c));
	event_space_name(&s->space, raw, c->name, sizeof(c->name));
	c->event = (struct tare_event){
		.name = c->name, .kind = TARE_EVENT_PERF, .unit = "", .scale = 1.0, .group = -1,
		.base = { .type = s->space.type, .config = raw, .exclude_kernel = true,
			  .exclude_hv = true },
	};
}

void scan_code_make(const struct tare_scan *s, uint64_t code, uint64_t mask, struct scan_code *c)
{
	scan_code_of_raw(s, event_space_raw(&s->space, code, mask), c);
}

const struct tare_event *scan_beside(const struct tare_scan *s)
{
	return s->like ? tare_events_at(s->like, 0) : NULL;
}

bool scan_is_refusal(int err)
{
	switch (err) {
	case TARE_E_NOMEM:
	case TARE_E_IO:
	case TARE_E_TOO_MANY_FILES:
	case TARE_E_NO_PMU:
	case TARE_E_NO_PERF:
	case TARE_E_PARANOID:
	case TARE_E_SECCOMP:
	case TARE_E_STOLEN:
		return false;
	}
	return true;
}

int64_t scan_unwrapped(const struct tare_scan *s, int64_t difference)
{
	if (!s->bits)
		return difference;
	const unsigned unused = 64 - s->bits;
	return (int64_t)((uint64_t)difference << unused) >> unused;
}

int scan_run_trials(const struct tare_scan *s, struct trial *t, struct tare_scan_trial *trials,
		    size_t n, size_t instructions, int64_t (*counts)[TRIAL_EVENTS],
		    struct tare_why *why)
{
	for (size_t k = 0; k < n; k++) {
		struct known_work w = { .rounds = trials[k].rounds, .pages = trials[k].pages,
					.calls = trials[k].calls, .on = s->plan.cpu };
		int err = known_work_prepare(&w, why);
		if (err)
			return err;
		const struct trial_code code = known_work_code(&w);
		err = trial_run(t, &code, counts[k], why);
		known_work_stop(&w);
		int64_t rest[TRIAL_EVENTS];
		if (!err && trials[k].excess != INT64_MIN)
			err = known_work_rest(t, &w, rest, why);
		known_work_finish(&w);
		if (err)
			return err;
		if (trials[k].excess != INT64_MIN)
			trials[k].excess = scan_unwrapped(s, counts[k][instructions] - rest[instructions] -
						     (int64_t)(w.rounds * KNOWN_WORK_PER_ROUND));
		trials[k].interrupts = w.interrupts;
		trials[k].ticks = w.ticks;
		if (scan_beside(s))
			trials[k].wanted = (uint64_t)counts[k][0];
	}
	return 0;
}

bool scan_counters_are_gone(const struct tare_scan *s, struct tare_why *why)
{
	const struct tare_event *const instructions = tare_events_at(s->instructions, 0);
	struct trial t;
	struct tare_why here;

	const int err = trial_open(&(struct trial_options){ .events = &instructions, .n = 1 }, &t, &here);
	if (!err)
		trial_close(&t);
	else
		why_set(why, TARE_E_STOLEN, "%s, which could be counted when the scan began", here.what);
	return err;
}
