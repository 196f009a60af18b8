/* When an interrupt is counted, on entry or on return (iret.h): of the instructions, and of the events
 * that count interrupts. The answers decide how a corrected counter is subtracted. */
#include "experiment.h"

#include "iret.h"

#include <stdio.h>

static const char name[] = "iret";

static const char *meaning(enum iret_when when)
{
	switch (when) {
	case IRET_ENTRY: return "counts an interrupt by int 0x80 when the kernel is entered";
	case IRET_EXIT: return "counts the iret that ends an interrupt by int 0x80, as the report supposes";
	case IRET_BOTH: return "counts an interrupt by int 0x80 and the iret that ends it";
	case IRET_NEVER: return "counts neither an interrupt by int 0x80 nor the iret that ends it";
	case IRET_UNKNOWN: break;
	}
	return "";
}

/* Asks, and reports the answer. */
static int ask(struct verify *v, const struct tare_event *e, struct iret_answer *a,
	       struct tare_why *why)
{
	const int err = iret_ask(e, a, why);

	if (err)
		return err;
	struct tare_verify_finding *const f =
		a->when == IRET_UNKNOWN ?
		verify_find(v, name, e->name, TARE_VERDICT_INFO, "%s: not known whether the excess comes with "
			    "the interrupt or with iret: %s", e->name, a->what) :
		verify_find(v, name, e->name, TARE_VERDICT_INFO, "%s %s (%+d and %+d, in %u of %u reads)",
			    e->name, meaning(a->when), (int)a->entry, (int)a->exit, a->agreeing,
			    a->samples);
	verify_number(f, "entry", (double)a->entry);
	verify_number(f, "exit", (double)a->exit);
	verify_number(f, "samples", a->samples);
	verify_number(f, "agreeing", a->agreeing);
	return 0;
}

/* The rule for EVENT minus interrupts, from what both answered. An interrupt event that does not count
 * int 0x80 counts hardware interrupts, when they are taken. */
static void report_pair(struct verify *v, const struct iret_answer *event,
			const struct iret_answer *irq)
{
	if (event->when == IRET_UNKNOWN || event->when == IRET_BOTH)
		return;
	const int error = iret_pair_error(event->when, irq->when);
	static const char *const texts[] = { "one too small: one is added", "right",
					     "one too large: one is subtracted" };
	struct tare_verify_finding *const f =
		verify_find(v, name, NULL, TARE_VERDICT_INFO, "instructions:u minus interrupts, read by rdpmc or "
			    "by a system call, is right; read by the kernel between interrupt and iret (a task "
			    "that is switched out or killed there) it is %s", texts[error + 1]);
	verify_number(f, "pair_error", error);
}

static int run(struct verify *v, struct tare_why *why)
{
	const struct tare_event *const instructions = verify_event(v, "instructions:u");
	struct iret_answer of_instructions = { 0 }, of_irq = { 0 }, of_both;
	int err = 0;

	if (!instructions)
		return 0;
	err = ask(v, instructions, &of_instructions, why);
	if (!err && v->irq)
		err = ask(v, v->irq, &of_irq, why);
	if (!err && v->irq)
		report_pair(v, &of_instructions, &of_irq);
	const struct tare_event *const both =
		v->interrupts.both[0] ? verify_event(v, v->interrupts.both) : NULL;
	if (!err && both)
		err = ask(v, both, &of_both, why);
	return err;
}

const struct experiment experiment_iret = {
	.name = "iret",
	.about = "whether the excess of an interrupt comes when it is taken or with iret",
	.hardware = true,
	.run = run,
};
