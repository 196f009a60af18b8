/* The skid of each event: how many of them happen between an overflow and its interrupt.
 *
 * A stop at exactly the N-th event (tare stat --stop-at with hardware counters) lets the counter overflow
 * before it, by more than the skid, and single-steps the rest. Every interrupt counts: the greatest skid of
 * many overflows is what the certificate keeps, not the usual one.
 */
#include "steady.h"

#include "overflow.h"
#include "step.h"

#include <inttypes.h>
#include <stdio.h>

#define OVERFLOWS 200

static void skid_of(struct verify *v, const struct subject *s)
{
	struct tare_why why;
	uint64_t most;
	char number[32];
	if (registers_to_fill(v)) {
		verify_find(v, "skid", s->name, TARE_VERDICT_INFO,
			    "not tried: it is measured in a process of its own, and a register counts wrongly");
		return;
	}
	if (overflow_skid(s->event, OVERFLOWS, v->o.stop, &most, &why) < 0) {
		verify_find(v, "skid", s->name, TARE_VERDICT_INFO, "inconclusive: %.200s",
			    why.code == TARE_E_STOLEN ? "the counter was taken away in the middle" : why.what);
		return;
	}
	struct tare_verify_finding *const f =
		verify_find(v, "skid", s->name, TARE_VERDICT_GOOD, "the interrupt of an overflow comes up to %s "
			    "event%s late, of %d overflows", steady_number((int64_t)most, number, sizeof(number)),
			    most == 1 ? "" : "s", OVERFLOWS);
	verify_number(f, "most", (double)most);
	verify_number(f, "overflows", OVERFLOWS);
}

static int run(struct verify *v, struct tare_why *why)
{
	int err = 0;
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		const struct subject *const s = &v->subjects[i];
		if (!steady_can(s) || s->event->kind != TARE_EVENT_PERF || !step_counts(s->role))
			continue;
		err = verify_progress(v, "how late interrupts of %s come", s->name);
		if (!err)
			skid_of(v, s);
	}
	return err ? err : verify_stopped(v, why);
}

const struct experiment experiment_skid = {
	.name = "skid", .about = "how many events late the interrupt of an overflow comes, at most",
	.hardware = true, .run = run,
};
