/* Which event counts interrupts, and how well that is proved. The search itself comes before the
 * sections, which use its result (interrupt-event.h); here it is reported. */
#include "experiment.h"

#include <inttypes.h>
#include <stdio.h>

static void origin(const struct interrupt_event *e, char *out, size_t size)
{
	if (e->from == INTERRUPT_FROM_SCAN)
		snprintf(out, size, "found by a scan of %u codes%s%s", e->tried,
			 e->row ? "; the tables call it " : "", e->row ? e->row : "");
	else
		snprintf(out, size, "%s 0x%04" PRIx64 ", from the table of %s%s", e->row, e->raw,
			 e->uarch, e->from == INTERRUPT_FROM_VENDOR ? ", another CPU of this vendor" : "");
}

/* "/proc/interrupts has 107, 100 ticks passed" */
static void compared_with(const struct interrupt_event *e, char *out, size_t size)
{
	if (e->interrupts == UINT64_MAX)
		snprintf(out, size, "%" PRIu64 " ticks passed (/proc/interrupts cannot be read)", e->ticks);
	else
		snprintf(out, size, "/proc/interrupts has %" PRIu64 ", %" PRIu64 " ticks passed",
			 e->interrupts, e->ticks);
}

static int run(struct verify *v, struct tare_why *why)
{
	static const char name[] = "interrupt-event";
	const struct interrupt_event *const e = &v->interrupts;
	struct tare_verify_finding *f = NULL;
	char from[128], compared[128];

	(void)why;
	compared_with(e, compared, sizeof(compared));
	origin(e, from, sizeof(from));
	switch (e->proof) {
	case INTERRUPT_EXACT:
		f = verify_find(v, name, e->name, TARE_VERDICT_GOOD, "%s counts interrupts%s (%s): %" PRIu64
				", and instructions:u counts %u too much for each; %s", e->name,
				e->and_faults ? " and page faults" : "", from, e->count, e->each, compared);
		break;
	case INTERRUPT_NEAR:
		f = verify_find(v, name, e->name, TARE_VERDICT_CAVEAT, "%s counts interrupts%s (%s), not "
				"exactly: %" PRIu64 ", where %s and instructions:u counts %" PRIu64
				" too much", e->name, e->and_faults ? " and page faults" : "", from,
				e->count, compared, e->excess);
		break;
	case INTERRUPT_UNTESTED:
		f = verify_find(v, name, e->name, TARE_VERDICT_INFO, "%s (%s) is not tested: too few "
				"interrupts came, by /proc/interrupts and ticks", e->name, from);
		break;
	case INTERRUPT_NONE:
		f = v->search_ended[0] ?
			verify_find(v, name, NULL, TARE_VERDICT_INFO, "whether an event counts interrupts is "
				    "not known: the search ended after %u codes (%s)", e->tried,
				    v->search_ended) :
			verify_find(v, name, NULL, TARE_VERDICT_INFO, "no event counts interrupts, of %u codes "
				    "that were tried", e->tried);
		break;
	}
	verify_number(f, "raw", (double)e->raw);
	verify_number(f, "count", (double)e->count);
	verify_number(f, "excess", (double)e->excess);
	if (e->interrupts != UINT64_MAX)
		verify_number(f, "proc_interrupts", (double)e->interrupts);
	verify_number(f, "ticks", (double)e->ticks);
	verify_number(f, "each", e->each);
	verify_number(f, "codes", e->tried);
	return 0;
}

const struct experiment experiment_interrupt_event = {
	.name = "interrupt-event",
	.about = "which event counts interrupts, by comparing candidates with known loops",
	.hardware = true,
	.run = run,
};
