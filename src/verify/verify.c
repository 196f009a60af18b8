/* tare_verify(): chooses what counts, the events and the kernels, runs the sections and then the
 * experiments, and has the verdicts made. */
#include "experiment.h"
#include "generated.h"

#include "options-copy.h"
#include "perf-facts.h"
#include "why.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RUNS 10			/* the paper's */
#define QUICK_RUNS 3
#define MAX_RUNS 10000
#define QUICK_PART 10		/* of the loops */
#define FIRST_PART 100		/* of the loops, to find out how long all of them take */
#define EXPERIMENT_WORK 1e8	/* an experiment takes as long as so many instructions, roughly */

#define EXPERIMENT(name) extern const struct experiment experiment_##name;
#include "experiment-list.h"
#undef EXPERIMENT
const struct experiment *const experiments[] = {
#define EXPERIMENT(name) &experiment_##name,
#include "experiment-list.h"
#undef EXPERIMENT
	NULL,
};

const char *tare_verify_experiment(size_t i, const char **about)
{
	for (size_t k = 0; k <= i; k++)
		if (!experiments[k])
			return NULL;
	if (about)
		*about = experiments[i]->about;
	return experiments[i]->name;
}

const char *tare_verify_kernel(size_t i, const char **about)
{
	if (i >= n_kernels)
		return NULL;
	if (about)
		*about = kernels[i]->about;
	return kernels[i]->name;
}

int verify_stopped(const struct verify *v, struct tare_why *why)
{
	if (v->o.stop && *v->o.stop)
		return why_set(why, TARE_E_TIMEOUT, "verify: stopped before its end");
	return 0;
}

int verify_progress(struct verify *v, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (v->o.progress)
		v->o.progress(text, v->share, v->o.arg);
	return verify_stopped(v, NULL);
}

/* ---- events ---- */

static int keep_list(struct verify *v, struct tare_events *list)
{
	struct tare_events **const all = realloc(v->lists, (v->n_lists + 1) * sizeof(*all));
	if (!all) {
		tare_events_free(list);
		return TARE_E_NOMEM;
	}
	v->lists = all;
	v->lists[v->n_lists++] = list;
	return 0;
}

static const struct tare_event *parse_event(struct verify *v, const char *name,
					    struct tare_why *why)
{
	struct tare_events *list;
	if (tare_events_parse(name, NULL, &list, why) < 0 || keep_list(v, list) < 0)
		return NULL;
	return tare_events_at(list, 0);
}

const struct tare_event *verify_event(struct verify *v, const char *name)
{
	struct tare_why why;
	return parse_event(v, name, &why);
}

/* What a role is compared with. Micro-operations are compared with what they are called after:
 * that they differ is what an experiment has to find. */
static int kind_of(enum tare_role role)
{
	switch (role) {
	case TARE_ROLE_LOAD_UOPS: return KERNEL_LOADS;
	case TARE_ROLE_STORE_UOPS: return KERNEL_STORES;
	case TARE_ROLE_INSTRUCTIONS_FIXED:
	case TARE_ROLE_INSTRUCTIONS_PRECISE: return KERNEL_INSTRUCTIONS;
	default: return kernel_event_of_role(role);
	}
}

static struct subject *add_subject(struct verify *v, const char *name, enum tare_role role,
				   const struct tare_event *event)
{
	struct subject *const all = realloc(v->subjects, (v->n_subjects + 1) * sizeof(*all));
	if (!all)
		return NULL;
	v->subjects = all;
	struct subject *const s = &all[v->n_subjects];
	*s = (struct subject){ .event = event, .name = strdup(name), .role = role,
			       .kind = kind_of(role) };
	if (!s->name)
		return NULL;
	v->n_subjects++;
	return s;
}

static const struct tare_event *in_user_mode(struct verify *v, const struct tare_event *e)
{
	char name[200];
	struct tare_why why;
	if (!trial_user_name(e, name, sizeof(name)))
		return e;
	const struct tare_event *const user = parse_event(v, name, &why);
	return user ? user : e;
}

/* The events of the caller's list. */
static int choose_asked(struct verify *v, struct tare_why *why)
{
	v->n_asked = v->o.events ? tare_events_count(v->o.events) : 0;
	v->asked = calloc(v->n_asked + 1, sizeof(*v->asked));
	if (!v->asked)
		return why_set(why, TARE_E_NOMEM, "events");
	for (size_t i = 0; i < v->n_asked; i++) {
		const struct tare_event *const e = tare_events_at(v->o.events, i);
		if (e->kind == TARE_EVENT_WALL_TIME || e->kind == TARE_EVENT_ZERO)
			return why_set(why, TARE_E_INVALID, "verify: %s is no event that a counter counts", e->name);
		v->asked[i] = in_user_mode(v, e);
	}
	return 0;
}

static bool same_encoding(const struct tare_encoding *a, const struct tare_encoding *b)
{
	return a->type == b->type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2;
}

static bool has_subject(const struct verify *v, const struct tare_event *e)
{
	for (size_t i = 0; i < v->n_subjects; i++) {
		const struct tare_event *const have = v->subjects[i].event;
		if (have && have->kind == e->kind && same_encoding(&have->base, &e->base))
			return true;
	}
	return false;
}

/* An event that has to be found by name, or a row that says why it cannot be. */
static int subject_by_name(struct verify *v, const char *name, enum tare_role role)
{
	struct tare_why why = { 0 };
	char text[160];
	snprintf(text, sizeof(text), "%s:u", name);
	const struct tare_event *const e = parse_event(v, text, &why);
	if (e && has_subject(v, e))
		return 0;
	struct subject *const s = add_subject(v, text, role, e && !e->needs_engine ? e : NULL);
	if (!s)
		return TARE_E_NOMEM;
	if (!s->event)
		verify_doubt(s, "%s", e ? e->why_engine : why.what);
	return 0;
}

static bool has_raw(const struct tare_uarch *u, uint64_t raw)
{
	for (size_t i = 0; i < u->n_events; i++)
		if (u->events[i].has_raw && u->events[i].raw == raw)
			return true;
	return false;
}

/* Where inspection gives no count, there is no row; but for what does not count at all. */
static int subject_if_silent(struct verify *v, const struct tare_event_row *row)
{
	struct tare_why why;
	char text[160];
	snprintf(text, sizeof(text), "%s:u", row->name);
	const struct tare_event *const e = parse_event(v, text, &why);
	if (!e || !silent_is(row->role, e) || has_subject(v, e))
		return 0;
	struct subject *const s = add_subject(v, text, row->role, e);
	if (!s)
		return TARE_E_NOMEM;
	verify_dead(s);
	return 0;
}

/* Arm's cores have events of the architecture in common. The kernel opens the code of each, whether
 * this core counts it or not: only a trial can tell. A name of the architecture that the core's table
 * does not have is not parsed, so the code is what is opened. */
static int subjects_of_architecture(struct verify *v)
{
	const struct tare_uarch *const core = v->cpu.uarch, *const u = tare_uarch_by_name("pmuv3");
	int err = 0;
	for (size_t i = 0; u && !err && i < u->n_events; i++) {
		const struct tare_event_row *const row = &u->events[i];
		char code[24];
		if (!core && kind_of(row->role) < 0)
			err = subject_if_silent(v, row);
		if (kind_of(row->role) < 0 || !row->has_raw || (core && has_raw(core, row->raw)))
			continue;
		const size_t before = v->n_subjects;
		snprintf(code, sizeof(code), "r%04" PRIx64, row->raw);
		err = subject_by_name(v, core ? code : row->name, row->role);
		if (!err && core && v->n_subjects > before)
			v->subjects[before].also = row->name;
	}
	return err;
}

static int subjects_of_cpu(struct verify *v)
{
	const struct tare_uarch *const u = v->cpu.uarch;
	int err = 0;
	for (size_t i = 0; u && !err && i < u->n_events; i++)
		err = kind_of(u->events[i].role) < 0 ? subject_if_silent(v, &u->events[i]) :
			subject_by_name(v, u->events[i].name, u->events[i].role);
	if (!err && v->cpu.arch == TARE_ARCH_ARM64)
		return subjects_of_architecture(v);
	if (!u)
		err = subject_by_name(v, "instructions", TARE_ROLE_INSTRUCTIONS);
	if (!u && !err)
		err = subject_by_name(v, "branches", TARE_ROLE_BRANCHES);
	return err;
}

/* All that kernels know, by the names that mean the same on each CPU. */
static int subjects_of_engine(struct verify *v)
{
	for (int k = 0; k < KERNEL_EVENTS; k++) {
		struct tare_why why;
		char name[64];
		const enum tare_role role = kernel_event_role((enum kernel_event)k);
		snprintf(name, sizeof(name), "%s:u", tare_role_name(role));
		const struct tare_event *const e = parse_event(v, name, &why);
		if (e && tare_engine_counts(e) && !add_subject(v, e->name, role, e))
			return TARE_E_NOMEM;
	}
	return 0;
}

static int subjects_of_list(struct verify *v)
{
	for (size_t i = 0; i < v->n_asked; i++) {
		const struct tare_event *const e = v->asked[i];
		struct subject *const s = add_subject(v, e->name, e->role, e);
		if (!s)
			return TARE_E_NOMEM;
		if (e->base.exclude_user) {
			s->event = NULL;
			verify_doubt(s, "known code runs in user mode, which this event leaves out: count :u");
		} else if (v->soft && !tare_engine_counts(e)) {
			s->event = NULL;
			verify_doubt(s, "%s", tare_err_sentence(TARE_E_EVENT_UNCOUNTABLE));
		} else if (!v->soft && e->needs_engine) {
			s->event = NULL;
			verify_doubt(s, "%s", e->why_engine);
		} else if (!v->soft && silent_is(e->role, e)) {
			verify_dead(s);
		} else if (s->kind < 0) {
			verify_doubt(s, "inspection of code does not give the count of this event");
		}
	}
	return 0;
}

static int choose_subjects(struct verify *v, struct tare_why *why)
{
	const int err = v->o.events ? subjects_of_list(v) :
			v->soft ? subjects_of_engine(v) : subjects_of_cpu(v);
	return err ? why_set(why, err, "events") : 0;
}

static bool in_list(const char *const *names, const char *name)
{
	for (; names && *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

/* ---- which experiments run ---- */

static bool takes_along(const struct experiment *e, const char *name)
{
	return in_list(e->with, name);
}

/* Was the experiment asked for, or one that builds on what it finds? */
static bool is_asked_for(const struct verify *v, const struct experiment *e)
{
	if (!v->o.experiments || in_list(v->o.experiments, e->name))
		return true;
	for (size_t i = 0; experiments[i]; i++)
		if (in_list(v->o.experiments, experiments[i]->name) && takes_along(experiments[i], e->name))
			return true;
	return false;
}

bool verify_runs(const struct verify *v, const struct experiment *e)
{
	return is_asked_for(v, e) && !(e->hardware && v->soft);
}

const char *verify_left_out(const struct verify *v, char *out, size_t size)
{
	size_t at = 0;
	out[0] = '\0';
	for (size_t i = 0; !v->soft && experiments[i]; i++)
		if (experiments[i]->cause && !verify_runs(v, experiments[i]) && at < size)
			at += (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "", experiments[i]->name);
	return out;
}

static bool runs_by_name(const struct verify *v, const char *name)
{
	for (size_t i = 0; experiments[i]; i++)
		if (!strcmp(experiments[i]->name, name))
			return verify_runs(v, experiments[i]);
	return false;
}

/* The search for it takes long, and nothing but these experiments uses the event. */
static bool needs_interrupts(const struct verify *v)
{
	return runs_by_name(v, "interrupts") || runs_by_name(v, "interrupt-event") || runs_by_name(v, "iret");
}

/* … and goes through all codes only for those that were asked for. */
static bool scans_for_interrupts(const struct verify *v)
{
	const char *const *const asked = v->o.experiments;
	return !asked || in_list(asked, "interrupts") || in_list(asked, "interrupt-event") ||
	       in_list(asked, "iret");
}

static void search_progress(const char *text, void *arg)
{
	verify_progress(arg, "%s", text);
}

/* An event that counts interrupts, found by experiment. */
static int choose_interrupts(struct verify *v, struct tare_why *why)
{
	const struct interrupt_search search = {
		.cpu = &v->cpu, .from = (enum interrupt_from)v->o.interrupts_from,
		.quick = v->o.quick, .no_scan = !scans_for_interrupts(v), .bits = v->bits, .stop = v->o.stop,
		.progress = search_progress, .arg = v,
	};
	struct tare_why refused;

	if (v->soft || !needs_interrupts(v))
		return 0;
	verify_progress(v, "looking for an event that counts interrupts");
	const int err = interrupt_event_find(&search, &v->interrupts, &refused);
	if (verify_stopped(v, why))
		return TARE_E_TIMEOUT;
	if (err == TARE_E_NOMEM)
		return why_set(why, err, "%s", refused.what);
	if (err)
		snprintf(v->search_ended, sizeof(v->search_ended), "%s", refused.what);
	if (v->interrupts.proof != INTERRUPT_NONE)
		v->irq = verify_event(v, v->interrupts.name);
	return 0;
}

/* ---- kernels ---- */

static int unknown_name(const char *what, const char *name, struct tare_why *why)
{
	why_set(why, TARE_E_INVALID, "verify: no %s is called '%s'", what, name);
	why_remedy(why, "`tare verify --list` shows the kernels and the experiments");
	return TARE_E_INVALID;
}

static int check_names(const struct verify *v, struct tare_why *why)
{
	for (const char *const *n = v->o.kernels; n && *n; n++)
		if (!kernel_by_name(*n))
			return unknown_name("kernel", *n, why);
	for (const char *const *n = v->o.experiments; n && *n; n++) {
		size_t i = 0;
		while (experiments[i] && strcmp(experiments[i]->name, *n))
			i++;
		if (!experiments[i])
			return unknown_name("experiment", *n, why);
	}
	return 0;
}

/* Keeps `text`, which is freed with the report. */
static int skip(struct tare_verify_report *r, char *text)
{
	const char **const all = text ? realloc((void *)r->skipped, (r->n_skipped + 1) * sizeof(*all)) : NULL;
	if (!all) {
		free(text);
		return TARE_E_NOMEM;
	}
	r->skipped = all;
	all[r->n_skipped++] = text;
	return 0;
}

static int skip_kernel(struct tare_verify_report *r, const struct kernel *k, const char *lacks)
{
	char *text;
	return asprintf(&text, "%s: this machine lacks %s", k->name, lacks) < 0 ? TARE_E_NOMEM : skip(r, text);
}

/* Experiments that the engine cannot do, or on causes that nobody asked for: one line for all of them. */
static int skip_experiments(struct verify *v)
{
	char names[400] = "", *text;
	size_t at = 0;
	for (size_t i = 0; experiments[i]; i++)
		if (is_asked_for(v, experiments[i]) && !verify_runs(v, experiments[i]))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", at ? ", " : "",
					       experiments[i]->name);
	if (at)
		return asprintf(&text, "%s: the software engine has no counters to try this with", names) < 0 ?
			       TARE_E_NOMEM : skip(v->report, text);
	if (!verify_left_out(v, names, sizeof(names))[0])
		return 0;
	return asprintf(&text, "%s: not asked for; an event may have causes that these look for", names) < 0 ?
		       TARE_E_NOMEM : skip(v->report, text);
}

static int choose_kernels(struct verify *v, struct tare_why *why)
{
	struct tare_verify_report *const r = v->report;
	const char **const names = calloc(n_kernels + 1, sizeof(*names));
	v->kernels = calloc(n_kernels + 1, sizeof(*v->kernels));
	v->loops = calloc(n_kernels + 1, sizeof(*v->loops));
	r->kernels = names;
	if (!names || !v->kernels || !v->loops)
		return why_set(why, TARE_E_NOMEM, "kernels");
	for (size_t i = 0; i < n_kernels; i++) {
		const struct kernel *const k = kernels[i];
		if (v->o.kernels && !in_list(v->o.kernels, k->name))
			continue;
		const char *const lacks = kernel_lacks(k);
		if (lacks && skip_kernel(r, k, lacks) < 0)
			return why_set(why, TARE_E_NOMEM, "kernels");
		if (lacks)
			continue;
		const uint64_t loops = v->o.quick ? k->loops / QUICK_PART : k->loops;
		v->loops[v->n_kernels] = loops ? loops : 1;
		v->kernels[v->n_kernels] = k;
		names[v->n_kernels++] = k->name;
	}
	r->n_kernels = v->n_kernels;
	if (v->n_kernels)
		return 0;
	why_set(why, TARE_E_INVALID, "verify: none of the kernels can run: %s", r->skipped[0]);
	why_remedy(why, "`tare verify --list` shows the kernels");
	return TARE_E_INVALID;
}

/* ---- what counts ---- */

static int try_event(const struct tare_event *e, struct tare_why *why)
{
	struct trial t;
	const int err = trial_open(&(struct trial_options){ .events = &e, .n = 1 }, &t, why);
	if (!err)
		trial_close(&t);
	return err;
}

/* There is a PMU if one of the events opens; the error is that of the first one. */
static int try_hardware(struct verify *v, struct tare_why *why)
{
	int err = 0;
	if (!v->o.events) {
		const struct tare_event *const e = parse_event(v, "instructions:u", why);
		return e ? try_event(e, why) : why->code ? (int)why->code : TARE_E_NOMEM;
	}
	for (size_t i = 0; i < v->n_asked; i++) {
		const struct tare_event *const e = v->asked[i];
		struct tare_why later = { 0 };
		if (e->needs_engine)
			continue;
		const int failed = try_event(e, err ? &later : why);
		if (!failed)
			return 0;
		err = err ? err : failed;
	}
	return err ? err : why_set(why, TARE_E_NO_PMU, "verify: no event that hardware counts");
}

static int try_engine(struct verify *v, struct tare_why *why)
{
	struct tare_events *list;
	if (!v->o.child)
		return why_set(why, TARE_E_INVALID,
			       "verify: the software engine needs a command that runs kernels");
	int err = tare_events_parse("instructions:u", NULL, &list, why);
	if (err)
		return err;
	err = tare_backend_for(list, TARE_BACKEND_SOFT, NULL, 0, why);
	tare_events_free(list);
	return err < 0 ? err : 0;
}

/* The kernel looks at permissions first: with them an event may have no PMU all the same. Sysfs names the PMUs
 * to everybody. */
static bool has_no_pmu(void)
{
	struct perf_facts f;
	perf_facts_read(&f, "");
	return !f.n_pmus && access("/sys/bus/event_source/devices/software", F_OK) == 0;
}

static int choose_backend(struct verify *v, struct tare_why *why)
{
	struct tare_why hw_why = { 0 };
	if (v->o.backend != TARE_BACKEND_SOFT) {
		int err = try_hardware(v, &hw_why);
		if (!err)
			return 0;
		const bool forbidden = err == TARE_E_PARANOID || err == TARE_E_PERMISSION;
		if (forbidden && has_no_pmu())
			err = why_set(&hw_why, TARE_E_NO_PMU, "verify: /sys/bus/event_source/devices has no PMU of a CPU");
		else if (forbidden)
			why_remedy(&hw_why, "as root: sysctl kernel.perf_event_paranoid=1; or examine the software "
				   "engine: `tare verify --backend soft`");
		/* A reason to count something else: there is no PMU, or a container's filter hides it,
		 * which the user cannot change from inside. */
		const bool none = err == TARE_E_NO_PMU || err == TARE_E_NO_PERF ||
				  err == TARE_E_EVENT_UNSUPPORTED || err == TARE_E_SECCOMP;
		if (v->o.backend == TARE_BACKEND_HW || !none) {
			*why = hw_why;
			return err;
		}
	}
	const int err = try_engine(v, why);
	if (err && hw_why.code) {
		char engine[128];
		snprintf(engine, sizeof(engine), "%.100s", why->what);
		why_set(why, hw_why.code, "verify: nothing can count here: %.100s; and %s",
			hw_why.what, engine);
		return hw_why.code;
	}
	v->soft = !err;
	v->why_soft = hw_why.code ? tare_err_sentence(hw_why.code) : NULL;
	return err;
}

/* ---- the plan ---- */

static size_t count_experiments(const struct verify *v)
{
	size_t n = 0;
	for (size_t i = 0; experiments[i]; i++)
		n += verify_runs(v, experiments[i]);
	return n;
}

static uint64_t instructions_of_run(const struct verify *v)
{
	uint64_t n = 0;
	for (size_t k = 0; k < v->n_kernels; k++)
		n += v->loops[k] * v->kernels[k]->each[KERNEL_INSTRUCTIONS];
	return n;
}

static size_t countable(const struct verify *v)
{
	size_t n = 0;
	for (size_t i = 0; i < v->n_subjects; i++)
		n += v->subjects[i].event && v->subjects[i].kind >= 0 && !v->subjects[i].reason[0];
	return n;
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs a small part of the kernel, twice, because the first time loads the code. Returns how long that
 * took; 0: it could not be counted. */
static double time_kernel(struct trial *t, const struct kernel *k, uint64_t part)
{
	const struct trial_code code = { .kernel = k, .loops = part };
	int64_t counts[TRIAL_EVENTS];
	double begin = 0;
	for (int i = 0; i < 2; i++) {
		begin = now_s();
		if (trial_run(t, &code, counts, NULL) < 0)
			return 0;
	}
	return now_s() - begin;
}

/* One run of all kernels by a batch of events; *each: an instruction of a plain loop, which experiments are
 * estimated with. In the engine a run is a process, whose start takes longer than the code: one of them is tried. */
static double time_run(const struct verify *v, double *each)
{
	const struct tare_event *event = NULL;
	struct trial t;
	double sum = 0;
	*each = 0;
	for (size_t i = 0; i < v->n_subjects && !event; i++)
		if (v->subjects[i].kind >= 0 && !v->subjects[i].reason[0])
			event = v->subjects[i].event;
	if (!event || trial_open(&(struct trial_options){ .events = &event, .n = 1, .soft = v->soft,
							  .child = v->o.child }, &t, NULL) < 0)
		return 0;
	for (size_t k = 0; !v->soft && k < v->n_kernels; k++) {
		const uint64_t part = v->loops[k] / FIRST_PART + 1;
		sum += time_kernel(&t, v->kernels[k], part) * (double)v->loops[k] / (double)part;
	}
	const struct kernel *const plain = kernel_by_name("loop_plain");
	if (plain && !v->soft) {
		const uint64_t loops = plain->loops / FIRST_PART + 1;
		*each = time_kernel(&t, plain, loops) / (double)(loops * plain->each[KERNEL_INSTRUCTIONS]);
	}
	if (v->soft) {
		sum = time_kernel(&t, v->kernels[0], 1) * (double)v->n_kernels;
		*each = sum / (double)instructions_of_run(v);
	}
	trial_close(&t);
	return sum;
}

static void say_plan(struct verify *v)
{
	const unsigned counters = v->cpu.gp_counters ? v->cpu.gp_counters : 4;
	const size_t n = countable(v), at_once = v->soft ? TRIAL_EVENTS : counters > 1 ? counters - 1 : 1;
	const uint64_t batches = (n + at_once - 1) / at_once;
	const double one = (double)instructions_of_run(v), all = one * (double)(v->runs * batches);
	const double experiments_work = EXPERIMENT_WORK * (double)count_experiments(v), work = all + experiments_work;
	double each;
	const double run = time_run(v, &each);
	const double seconds = ceil(run * (double)(v->runs * batches) + each * experiments_work);
	v->sections_share = all / work;
	const bool billions = all >= 1e9;
	const uint64_t tenths = (uint64_t)(all / (billions ? 1e8 : 1e5) + 0.5);
	verify_progress(v, "%zu event%s, %zu kernel%s, %u run%s: %" PRIu64 ".%u %s instructions, in %s; about %.0f "
			"second%s", n, n == 1 ? "" : "s", v->n_kernels, v->n_kernels == 1 ? "" : "s", v->runs,
			v->runs == 1 ? "" : "s", tenths / 10, (unsigned)(tenths % 10),
			billions ? "billion" : "million", v->soft ? "the software engine" : v->report->simulated ? "a virtual PMU" :
			"hardware counters", seconds, seconds == 1 ? "" : "s");
}

/* ---- all of it ---- */

/* One CPU: events of a hybrid machine count on one core type, and /proc/interrupts has a column
 * for each CPU. Threads of experiments that migrate set their own mask. */
static bool stay_here(cpu_set_t *before)
{
	cpu_set_t one;
	const int cpu = sched_getcpu();
	if (cpu < 0 || sched_getaffinity(0, sizeof(*before), before) < 0)
		return false;
	CPU_ZERO(&one);
	CPU_SET((unsigned)cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

static int run_experiments(struct verify *v, struct tare_why *why)
{
	const size_t n = count_experiments(v);
	const char **const names = calloc(n + 1, sizeof(*names));
	size_t done = 0;
	v->report->experiments = names;
	if (!names)
		return why_set(why, TARE_E_NOMEM, "experiments");
	for (size_t i = 0; experiments[i]; i++) {
		const struct experiment *const e = experiments[i];
		if (!verify_runs(v, e))
			continue;
		v->share = v->sections_share + (1 - v->sections_share) * (double)done++ / (double)n;
		int err = verify_progress(v, "%s", e->about);
		if (!err)
			err = e->run(v, why);
		if (err)
			return verify_stopped(v, why) ? TARE_E_TIMEOUT : err;
		names[v->report->n_experiments++] = e->name;
	}
	return 0;
}

static int prepare(struct verify *v, struct tare_why *why)
{
	struct tare_verify_report *const r = v->report;
	tare_cpu_detect(&v->cpu);
	r->cpu = v->cpu;
	v->runs = v->o.runs ? v->o.runs : v->o.quick ? QUICK_RUNS : RUNS;
	if (v->runs > MAX_RUNS)
		return why_set(why, TARE_E_RANGE, "verify: %u runs; at most %d", v->runs, MAX_RUNS);
	int err = check_names(v, why);
	if (!err)
		err = choose_asked(v, why);
	if (!err)
		err = choose_backend(v, why);
	if (err)
		return err;
	r->runs = v->runs;
	r->quick = v->o.quick;
	r->backend = v->soft ? TARE_BACKEND_SOFT : TARE_BACKEND_HW;
	r->simulated = !v->soft && perf_is_virtual("");
	err = choose_subjects(v, why);
	if (!err)
		err = choose_kernels(v, why);
	if (!err && skip_experiments(v) < 0)
		err = why_set(why, TARE_E_NOMEM, "experiments");
	return err;
}

static void verify_end(struct verify *v)
{
	for (size_t i = 0; i < v->n_subjects; i++) {
		free((char *)v->subjects[i].name);
		free(v->subjects[i].seen);
		free(v->subjects[i].causes);
		free(v->subjects[i].known);
		free(v->subjects[i].raised);
	}
	for (size_t i = 0; i < v->n_lists; i++)
		tare_events_free(v->lists[i]);
	registers_release(v);
	kernel_memory_close(v->memory);
	free(v->lists);
	free((void *)v->asked);
	free(v->batches);
	free(v->subjects);
	free((void *)v->kernels);
	free(v->loops);
}

static int verify_all(struct verify *v, struct tare_why *why)
{
	int err = prepare(v, why);
	if (err)
		return err;
	v->memory = kernel_memory_open(why);
	if (!v->memory)
		return TARE_E_NOMEM;
	err = registers_check(v, why);
	if (err)
		return err;
	say_plan(v);
	if (registers_set_aside(v) < 0)
		return why_set(why, TARE_E_NOMEM, "registers");
	v->reads_proc = true;
	err = choose_interrupts(v, why);
	if (!err)
		err = sections_run(v, why);
	if (!err)
		err = run_experiments(v, why);
	if (!err && verdict_make(v) < 0)
		err = why_set(why, TARE_E_NOMEM, "verdicts");
	return err;
}

int tare_verify(const struct tare_verify_options *options, struct tare_verify_report **report,
		struct tare_why *why)
{
	struct verify v = { 0 };
	struct tare_why unwanted;

	if (!why)
		why = &unwanted;
	if (!report)
		return why_set(why, TARE_E_INVALID, "tare_verify: report is NULL");
	*report = NULL;
	int err = options_copy(&v.o, sizeof(v.o), options, "tare_verify_options", why);
	if (err)
		return err;
	v.report = calloc(1, sizeof(*v.report));
	if (!v.report)
		return why_set(why, TARE_E_NOMEM, "a report");
	const bool kept = stay_here(&v.cpus);
	err = verify_all(&v, why);
	if (kept)
		sched_setaffinity(0, sizeof(v.cpus), &v.cpus);
	verify_end(&v);
	if (err)
		tare_verify_free(v.report);
	else
		*report = v.report;
	return err;
}

/* The number has twenty digits always: what the child executes must not depend on it. */
int tare_verify_child(const char *kernel, const char *loops, struct tare_why *why)
{
	const bool generated = kernel && !strncmp(kernel, GENERATED_NAME, strlen(GENERATED_NAME));
	const struct kernel *const k = kernel ? kernel_by_name(kernel) : NULL;
	if ((!k && !generated) || !loops || strlen(loops) != 20 || strspn(loops, "0123456789") != 20)
		return why_set(why, TARE_E_INVALID, "a kernel and its loops, twenty digits");
	uint64_t n = 0;
	for (int i = 0; i < 20; i++)
		n = n * 10 + (uint64_t)(loops[i] - '0');
	if (generated)
		return generated_child(strtoull(kernel + strlen(GENERATED_NAME), NULL, 10), n, why);
	void *const memory = kernel_memory_open(why);
	if (!memory)
		return TARE_E_NOMEM;
	k->run(n, memory);
	kernel_memory_close(memory);
	return 0;
}
