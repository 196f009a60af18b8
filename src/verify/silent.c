/* Events whose counts inspection of code does not give, and that cannot be 0 all the same: exceptions,
 * and returns from them. A system call is one, and so is a page fault. */
#include "experiment.h"

#include "known-work.h"

#define PAGES 64
#define CALLS 64

static bool is_exception(enum tare_role role)
{
	return role == TARE_ROLE_EXCEPTIONS || role == TARE_ROLE_EXCEPTION_RETURNS;
}

bool silent_is(enum tare_role role, const struct tare_event *event)
{
	if (!is_exception(role) || event->kind != TARE_EVENT_PERF || event->needs_engine)
		return false;
	/* In all modes: which one an exception belongs to is the PMU's choice. */
	struct tare_event all = *event;
	const struct tare_event *const events[] = { &all };
	struct known_work w = { .pages = PAGES, .calls = CALLS };
	int64_t count = 1;
	struct tare_why why;
	struct trial t;
	all.base.exclude_kernel = false;
	if (trial_open(&(struct trial_options){ .events = events, .n = 1 }, &t, &why) < 0)
		return false;
	int err = known_work_prepare(&w, &why);
	if (!err) {
		const struct trial_code code = known_work_code(&w);
		err = trial_run(&t, &code, &count, &why);
		known_work_finish(&w);
	}
	trial_close(&t);
	return !err && count == 0;
}
