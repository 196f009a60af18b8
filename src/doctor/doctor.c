/* The doctor: runs every check and draws the conclusion.
 *
 * doctor-facts.c reads files, doctor-probes.c tries things, doctor-access.c,
 * doctor-counts.c and doctor-noise.c turn both into findings, whose texts are
 * in doctor-findings.h. */
#include "doctor-checks.h"

#include "options-copy.h"
#include "why.h"

#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_TEXT(CHECK, id, title)                                                               \
	static const char id_##CHECK[] = id;                                                       \
	static const char title_##CHECK[] = title;
DOCTOR_CHECKS(CHECK_TEXT)
#undef CHECK_TEXT

static const struct tare_doctor_finding findings[N_FINDINGS] = {
#define FINDING_ROW(CHECK, NAME, code_, verdict_, meaning_, remedy_)                               \
	[FIND_##CHECK##_##NAME] = { .check = id_##CHECK,                                           \
				    .code = code_,                                                 \
				    .title = title_##CHECK,                                        \
				    .verdict = TARE_VERDICT_##verdict_,                            \
				    .meaning = meaning_,                                           \
				    .remedy = remedy_ },
	DOCTOR_FINDINGS(FINDING_ROW)
#undef FINDING_ROW
};

const struct tare_doctor_finding *tare_doctor_finding_at(size_t i)
{
	return i < N_FINDINGS ? &findings[i] : NULL;
}

const char *tare_verdict_name(enum tare_verdict v)
{
	switch (v) {
	case TARE_VERDICT_GOOD: return "good";
	case TARE_VERDICT_INFO: return "info";
	case TARE_VERDICT_CAVEAT: return "caveat";
	case TARE_VERDICT_BAD: return "bad";
	}
	return "unknown";
}

void doctor_find(struct doctor *d, enum doctor_finding which, const char *fmt, ...)
{
	struct tare_doctor_report *const r = d->report;
	if (r->n_results == d->cap)
		return;
	struct tare_doctor_result *const row = &r->results[r->n_results++];
	va_list ap;

	row->is = &findings[which];
	row->remedy = row->is->remedy;
	va_start(ap, fmt);
	vsnprintf(row->finding, sizeof(row->finding), fmt, ap);
	va_end(ap);
}

void doctor_set_remedy(struct doctor *d, const char *remedy)
{
	d->report->results[d->report->n_results - 1].remedy = remedy;
}

struct tare_encoding doctor_generic(uint64_t config)
{
	return (struct tare_encoding){ .type = PERF_TYPE_HARDWARE, .config = config,
				       .exclude_kernel = true, .exclude_hv = true };
}

struct tare_encoding doctor_raw(uint64_t config)
{
	return (struct tare_encoding){ .type = PERF_TYPE_RAW, .config = config,
				       .exclude_kernel = true, .exclude_hv = true };
}

/* Why hardware counters are of no use, as the first half of a sentence. */
static void say_hardware(const struct doctor *d, char *out, size_t size)
{
	if (d->counts_wrong && d->counters_held)
		snprintf(out, size, "others hold all hardware counters");
	else if (d->counts_wrong)
		snprintf(out, size, "hardware counters open but do not count");
	else if (d->perf_err)
		snprintf(out, size, "the kernel refuses to count (%s)", strerror(-d->perf_err));
	else if (d->hypervisor)
		snprintf(out, size, "PMU hidden by %s", d->hypervisor);
	else
		snprintf(out, size, "no hardware counters");
}

static void conclude(struct doctor *d)
{
	struct tare_doctor_report *const r = d->report;
	unsigned n_bad = 0, n_caveat = 0;
	char hardware[128];

	for (size_t i = 0; i < r->n_results; i++) {
		n_bad += r->results[i].is->verdict == TARE_VERDICT_BAD;
		n_caveat += r->results[i].is->verdict == TARE_VERDICT_CAVEAT;
	}
	const unsigned n = n_bad + n_caveat;
	say_hardware(d, hardware, sizeof(hardware));
	r->hardware = doctor_has_pmu(d) && !d->counts_wrong;
	r->engine = !d->engine_reason;

	if (!r->hardware && !r->engine) {
		r->status = TARE_DOCTOR_CANNOT_COUNT;
		snprintf(r->conclusion, sizeof(r->conclusion), "cannot count: %s, and %s%s",
			 hardware, d->engine_reason,
			 d->perf_err ? "" : " (only the kernel's software events work)");
	} else if (!r->hardware) {
		r->status = TARE_DOCTOR_CAVEATS;
		snprintf(r->conclusion, sizeof(r->conclusion), "%s; counting in software",
			 hardware);
	} else if (n) {
		r->status = TARE_DOCTOR_CAVEATS;
		snprintf(r->conclusion, sizeof(r->conclusion),
			 "hardware counters work, with %u caveat%s", n, n == 1 ? "" : "s");
	} else {
		r->status = TARE_DOCTOR_GOOD;
		snprintf(r->conclusion, sizeof(r->conclusion), "hardware counters work");
	}
}

/* In the order of the report; later checks use what the first ones set. */
static void (*const checks[])(struct doctor *) = {
	doctor_check_cpu,
	doctor_check_perf,
	doctor_check_pmu,
	doctor_check_engine,
	doctor_check_paranoid,
	doctor_check_capabilities,
	doctor_check_seccomp,
	doctor_check_rdpmc,
	doctor_check_watchdog,
	doctor_check_counters,
	doctor_check_loop,
	doctor_check_overflow,
	doctor_check_trap,
	doctor_check_txcp,
	doctor_check_speclock,
	doctor_check_exclusive,
	doctor_check_irq,
	doctor_check_smi,
	doctor_check_smt,
	doctor_check_hybrid,
	doctor_check_tick,
	doctor_check_tickless,
	doctor_check_aslr,
	doctor_check_thp,
	doctor_check_jemalloc,
	doctor_check_clock,
};

static int no_memory(struct tare_why *why)
{
	return why_set(why, TARE_E_NOMEM, "the doctor's report");
}

#define OR_MACHINE(name) p->name = p->name ? p->name : machine->name

static void ask_machine_where_null(struct tare_doctor_probes *p)
{
	const struct tare_doctor_probes *const machine = tare_doctor_probes();
	OR_MACHINE(cpu);
	OR_MACHINE(stay_on);
	OR_MACHINE(open);
	OR_MACHINE(fits);
	OR_MACHINE(count);
	OR_MACHINE(spin);
	OR_MACHINE(overflow);
	OR_MACHINE(rdpmc);
	OR_MACHINE(engine);
	OR_MACHINE(trace);
	OR_MACHINE(no_aslr);
	OR_MACHINE(tick_ns);
	OR_MACHINE(environment);
}

int tare_doctor(const char *root, const struct tare_doctor_probes *probes,
		struct tare_doctor_report **report, struct tare_why *why)
{
	struct tare_doctor_probes own;
	/* No check makes the same finding twice. */
	struct doctor d = { .probes = &own, .cap = N_FINDINGS };

	if (!report)
		return why_set(why, TARE_E_INVALID, "no place given for the report");
	*report = NULL;
	const int err = options_copy(&own, sizeof(own), probes, "tare_doctor_probes", why);
	if (err)
		return err;
	ask_machine_where_null(&own);
	d.report = calloc(1, sizeof(*d.report));
	if (!d.report)
		return no_memory(why);
	d.report->results = calloc(d.cap, sizeof(*d.report->results));
	if (!d.report->results) {
		free(d.report);
		return no_memory(why);
	}
	doctor_facts_read(&d.facts, root ? root : "");
	d.probes->cpu(d.probes->arg, &d.report->cpu);
	const bool hybrid = d.facts.n_core_pmus > 1 && d.facts.main_cpus[0];
	if (hybrid)
		d.probes->stay_on(d.probes->arg, d.facts.main_cpus);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		checks[i](&d);
	if (hybrid)
		d.probes->stay_on(d.probes->arg, NULL);
	conclude(&d);
	*report = d.report;
	return 0;
}

void tare_doctor_free(struct tare_doctor_report *report)
{
	if (!report)
		return;
	free(report->results);
	free(report);
}
