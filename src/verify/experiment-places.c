/* The same code in other places: on two CPUs in turn, on two kinds of core, beside a busy sibling,
 * and in more threads than there are CPUs.
 *
 * A count belongs to a thread. The kernel takes it off the CPU and puts it on again whenever the
 * thread is moved or interrupted by another one; what is lost or added there shows as a difference
 * between code that runs in one piece and the same code in two halves with a move between them. With
 * more threads than CPUs the kernel's number of context switches of each run tells whether it is they
 * that add something.
 */
#include "steady.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- what the machine is ---- */

/* The text of a small file of sysfs, without its end of line; "" where there is none. */
static void sys_text(char *out, size_t size, const char *fmt, int cpu, const char *name)
{
	char path[160];
	snprintf(path, sizeof(path), fmt, cpu, name);
	FILE *const f = fopen(path, "re");
	out[0] = '\0';
	if (!f)
		return;
	if (fgets(out, (int)size, f))
		out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

/* Is the CPU in a list like "0-3,8"? */
static bool in_list(const char *list, int cpu)
{
	for (const char *p = list; *p;) {
		char *end;
		const long from = strtol(p, &end, 10);
		if (end == p)
			return false;
		long to = from;
		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (cpu >= from && cpu <= to)
			return true;
		p = *end == ',' ? end + 1 : end;
		if (*end != ',')
			return false;
	}
	return false;
}

/* What tells kinds of core apart: the PMU that has the CPU in its list, or the arm64 MIDR. */
static void core_kind(int cpu, char *out, size_t size)
{
	static const char *const pmus[] = { "cpu_core", "cpu_atom", "cpu_lowpower" };
	char text[128];
	for (size_t i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++) {
		char path[80];
		snprintf(path, sizeof(path), "/sys/devices/%s/cpus", pmus[i]);
		FILE *const f = fopen(path, "re");
		if (!f)
			continue;
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
		if (in_list(text, cpu)) {
			snprintf(out, size, "%s", pmus[i]);
			return;
		}
	}
	sys_text(text, sizeof(text), "/sys/devices/system/cpu/cpu%d/regs/identification/%s", cpu,
		 "midr_el1");
	snprintf(out, size, "%.31s", text);
}

/* Another CPU that this thread may use, of the same kind of core or of another; -1: none. */
static int other_cpu(const cpu_set_t *may, int here, bool same_kind)
{
	char mine[32], kind[32];
	core_kind(here, mine, sizeof(mine));
	for (int c = 0; c < CPU_SETSIZE; c++) {
		if (c == here || !CPU_ISSET(c, may))
			continue;
		core_kind(c, kind, sizeof(kind));
		if ((strcmp(mine, kind) == 0) == same_kind)
			return c;
	}
	return -1;
}

static int sibling_of(const cpu_set_t *may, int here)
{
	char list[256];
	sys_text(list, sizeof(list), "/sys/devices/system/cpu/cpu%d/topology/%s", here,
		 "thread_siblings_list");
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (c != here && CPU_ISSET(c, may) && in_list(list, c))
			return c;
	return -1;
}

static int go_to(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* ---- migration ---- */

struct journey {
	struct steady_bare how;
	int from, to;
	unsigned failed;
};

/* Half of the code here, half there, and back. */
static int count_journey(void *arg, int64_t *value)
{
	struct journey *const j = arg;
	uint64_t before = 0, after = 0;
	int err = bare_read(j->how.counter, &before);
	steady_code_run(j->how.code);
	j->failed += go_to(j->to) != 0;
	steady_code_run(j->how.code);
	j->failed += go_to(j->from) != 0;
	if (!err)
		err = bare_read(j->how.counter, &after);
	*value = steady_difference(j->how.code, before, after);
	return err ? TARE_E_STOLEN : 0;
}

static int migrate(struct verify *v, const struct subject *s, int here, int there,
		   const char *experiment, const char *where)
{
	struct steady_code code;
	struct bare counter;
	struct steady stay, go;
	if (!steady_code_for(v, s, &code))
		return 0;
	struct journey j = { .how = { &counter, &code }, .from = here, .to = here };
	if (bare_open(&counter, &s->event->base, 0) < 0 || !bare_on(&counter)) {
		bare_close(&counter);
		return 0;
	}
	int err = steady_count(count_journey, &j, &stay);
	j.to = there;
	if (!err)
		err = steady_count(count_journey, &j, &go);
	struct perf_value times = { 0 };
	const bool known = !err && bare_times(&counter, &times) == 0;
	const bool gaps = known && times.running < times.enabled;
	bare_close(&counter);
	if (err == TARE_E_STOLEN)
		verify_find(v, experiment, s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle");
	else if (known && times.enabled && !times.running)
		verify_find(v, experiment, s->name, TARE_VERDICT_INFO,
			    "not tried: no counter is free for the event");
	else if (!err && j.failed)
		verify_find(v, experiment, s->name, TARE_VERDICT_INFO,
			    "not tried: the kernel refused to move the thread");
	else if (!err && gaps && steady_is(&stay) && steady_is(&go) && go.value < stay.value)
		verify_find(v, experiment, s->name, TARE_VERDICT_CAVEAT,
			    "not counted %s: the event belongs to one kind of core (%.0f%% of the code "
			    "counted); open it for each kind", where,
			    100.0 * (double)go.value / (double)stay.value);
	else if (!err)
		steady_judge(v, experiment, s, &code, &stay, &go, where);
	return 0;
}

static int run_migration(struct verify *v, struct tare_why *why)
{
	char where[64];
	const int here = sched_getcpu();
	const int same = other_cpu(&v->cpus, here, true), kind = other_cpu(&v->cpus, here, false);
	int err = 0;
	if (same < 0 && kind < 0) {
		verify_find(v, "migration", NULL, TARE_VERDICT_INFO,
			    "not tried: this process may use one CPU only");
		return 0;
	}
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		err = verify_progress(v, "%s on two CPUs", v->subjects[i].name);
		snprintf(where, sizeof(where), "with a move from CPU %d to CPU %d and back", here, same);
		if (!err && same >= 0)
			err = migrate(v, &v->subjects[i], here, same, "migration", where);
		snprintf(where, sizeof(where), "with a move to another kind of core (CPU %d)", kind);
		if (!err && kind >= 0)
			err = migrate(v, &v->subjects[i], here, kind, "core-types", where);
	}
	go_to(here);
	return err;
}

/* ---- a busy sibling ---- */

struct spinner {
	pthread_t thread;
	int cpu;
	atomic_int stop, running;
};

static void *spin(void *arg)
{
	struct spinner *const s = arg;
	volatile uint64_t cell = 0;
	go_to(s->cpu);
	atomic_store(&s->running, 1);
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed))
		for (int i = 0; i < 1000; i++)
			cell = cell + 1;
	return NULL;
}

static int sibling(struct verify *v, const struct subject *s, int cpu)
{
	struct spinner spinner = { .cpu = cpu };
	struct steady_code code;
	struct bare counter;
	struct steady idle, busy;
	char where[64];
	if (!steady_code_for(v, s, &code))
		return 0;
	struct steady_bare how = { &counter, &code };
	if (bare_open(&counter, &s->event->base, BARE_PINNED) < 0 || !bare_on(&counter)) {
		bare_close(&counter);
		return 0;
	}
	int err = steady_count(steady_bare_count, &how, &idle);
	if (!err && pthread_create(&spinner.thread, NULL, spin, &spinner) == 0) {
		while (!atomic_load(&spinner.running))
			sched_yield();
		err = steady_count(steady_bare_count, &how, &busy);
		atomic_store(&spinner.stop, 1);
		pthread_join(spinner.thread, NULL);
		snprintf(where, sizeof(where), "with its sibling, CPU %d, busy", cpu);
		if (!err)
			steady_judge(v, "sibling", s, &code, &idle, &busy, where);
	}
	if (err)
		verify_find(v, "sibling", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the counter was taken away in the middle");
	bare_close(&counter);
	return 0;
}

static int run_sibling(struct verify *v, struct tare_why *why)
{
	const int cpu = sibling_of(&v->cpus, sched_getcpu());
	int err = 0;
	if (cpu < 0) {
		verify_find(v, "sibling", NULL, TARE_VERDICT_INFO,
			    "not tried: no sibling (CPU %d shares its core with no CPU that this process "
			    "may use)", sched_getcpu());
		return 0;
	}
	steady_have_threads();
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		err = verify_progress(v, "%s beside a busy sibling", v->subjects[i].name);
		if (!err)
			err = sibling(v, &v->subjects[i], cpu);
	}
	return err;
}

/* ---- more threads than CPUs ---- */

#define MAX_CPUS 31		/* that the threads share, twice as many and one more */
#define MAX_HELD 16		/* registers */

struct crowd {
	const struct verify *v;
	const struct subject *s;
	struct steady_code code;
	int cpus;
	atomic_int ready, go;		/* go: 1 count, 2 leave */
};

struct crowd_run {
	int64_t value;
	long switches;			/* context switches of the thread meanwhile */
};

struct member {
	struct crowd *crowd;
	pthread_t thread;
	void *memory;
	struct steady seen;
	struct crowd_run runs[STEADY_MOST];
	size_t n_runs;
	int err;
};

struct piece {
	const struct bare *counter;
	const struct steady_code *code;
	struct member *of;
};

static long switches_until_now(void)
{
	struct rusage u;
	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

/* Two halves with an offer to the other threads between them. */
static int count_yielding(void *arg, int64_t *value)
{
	const struct piece *const p = arg;
	uint64_t before = 0, after = 0;
	const long switches = switches_until_now();
	int err = bare_read(p->counter, &before);
	steady_code_run(p->code);
	sched_yield();
	steady_code_run(p->code);
	if (!err)
		err = bare_read(p->counter, &after);
	*value = steady_difference(p->code, before, after);
	p->of->runs[p->of->n_runs++] = (struct crowd_run){ *value, switches_until_now() - switches };
	return err ? TARE_E_STOLEN : 0;
}

/* Registers belong to a thread, so a register that counts wrongly is left out in each of them: it gets an
 * event that nothing is read of. */
static size_t hold_registers(const struct verify *v, struct bare *held)
{
	size_t n = 0;
	while (n < registers_to_fill(v) && n < MAX_HELD &&
	       bare_open(&held[n], &v->filler->base, BARE_PINNED | BARE_SILENT) == 0)
		n++;
	return n;
}

static void *be_counted(void *arg)
{
	struct member *const m = arg;
	struct steady_code code = m->crowd->code;
	struct bare counter, held[MAX_HELD];
	code.memory = m->memory;
	size_t n_held = hold_registers(m->crowd->v, held);
	m->err = bare_open(&counter, &m->crowd->s->event->base, BARE_PINNED);
	atomic_fetch_add(&m->crowd->ready, 1);
	while (!atomic_load(&m->crowd->go))
		sched_yield();
	if (atomic_load(&m->crowd->go) != 1 && !m->err)
		m->err = TARE_E_NOMEM;
	const struct piece piece = { &counter, &code, m };
	if (!m->err)
		m->err = steady_count(count_yielding, (void *)&piece, &m->seen);
	bare_close(&counter);
	while (n_held)
		bare_close(&held[--n_held]);
	return NULL;
}

/* Starts n threads, lets them count at the same time, and waits for them. */
static int run_crowd(struct member *m, size_t n, struct crowd *c)
{
	size_t started = 0;
	atomic_store(&c->ready, 0);
	atomic_store(&c->go, 0);
	for (; started < n; started++) {
		m[started].crowd = c;
		m[started].memory = kernel_memory_open(NULL);
		if (!m[started].memory)
			break;
		if (pthread_create(&m[started].thread, NULL, be_counted, &m[started])) {
			kernel_memory_close(m[started].memory);
			break;
		}
	}
	while ((size_t)atomic_load(&c->ready) < started)
		sched_yield();
	atomic_store(&c->go, started == n ? 1 : 2);
	for (size_t i = 0; i < started; i++) {
		pthread_join(m[i].thread, NULL);
		kernel_memory_close(m[i].memory);
	}
	return started == n ? 0 : TARE_E_NOMEM;
}

/* What the runs with context switches counted more than the code does alone. */
struct switched {
	size_t runs, switched, deviating;
	double switches;
	double each;			/* for each switch: the middle one of those that deviate */
};

static int look_at_switches(const struct member *m, size_t n, int64_t alone, struct switched *s)
{
	double *const each = malloc(n * STEADY_MOST * sizeof(*each));
	*s = (struct switched){ 0 };
	if (!each)
		return TARE_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t k = STEADY_WARM_UP; k < m[i].n_runs; k++) {
			const struct crowd_run *const r = &m[i].runs[k];
			s->runs++;
			s->switches += (double)r->switches;
			s->switched += r->switches > 0;
			if (r->switches > 0 && r->value != alone)
				each[s->deviating++] = (double)(r->value - alone) / (double)r->switches;
		}
	s->each = s->deviating ? verify_median(each, s->deviating) : 0;
	free(each);
	return 0;
}

/* Half of the runs with a switch deviate. A timer interrupt that makes the kernel switch may add to a
 * count, too: it comes in few runs, so a quarter of all runs must have a switch, or most runs of one thread
 * must agree on another count. */
static bool switches_count(const struct switched *s, const struct steady *alone, const struct member *m, size_t n)
{
	bool differs = s->switched * 4 >= s->runs;
	for (size_t i = 0; i < n; i++)
		differs |= !m[i].err && steady_is(&m[i].seen) && steady_compare(&m[i].seen, alone) == STEADY_DIFFERENT;
	return differs && steady_is_clear(alone) && s->deviating >= 3 && s->deviating * 2 >= s->switched;
}

static void judge_crowd(struct verify *v, const struct crowd *c, const struct steady *alone,
			const struct member *m, size_t n, const struct switched *s)
{
	char limit[48], got[32], want[32];
	struct tare_verify_finding *f;
	size_t wrong = 0, worst = 0;
	const bool per_switch = switches_count(s, alone, m, n);
	if (steady_silent(v, "threads", c->s, &c->code, alone))
		return;
	for (size_t i = 0; i < n; i++) {
		if (m[i].err) {
			verify_find(v, "threads", c->s->name, TARE_VERDICT_INFO,
				    "inconclusive: the counter was taken away in the middle");
			return;
		}
		const enum steady_compare is = steady_compare(&m[i].seen, alone);
		if (is == STEADY_UNSETTLED && !per_switch) {
			steady_unsettled(v, "threads", c->s, steady_is(alone) ? &m[i].seen : alone);
			return;
		}
		if (is != STEADY_SAME) {
			wrong++;
			worst = i;
		}
	}
	if (per_switch)
		f = verify_find(v, "threads", c->s->name, TARE_VERDICT_BAD,
				"a context switch adds %+.1f: %zu of %zu runs with one deviate", s->each,
				s->deviating, s->switched);
	else if (!wrong && s->switches == 0)
		f = verify_find(v, "threads", c->s->name, TARE_VERDICT_INFO,
				"inconclusive: the kernel switched between none of the %zu threads", n);
	else if (!wrong)
		f = verify_find(v, "threads", c->s->name, TARE_VERDICT_GOOD,
				"the same in %zu threads at once on %d CPU%s, with %.0f context switches; "
				"%s would show", n, c->cpus,
				c->cpus == 1 ? "" : "s", s->switches,
				steady_limit(&c->code, 1, limit, sizeof(limit)));
	else
		f = verify_find(v, "threads", c->s->name, TARE_VERDICT_BAD,
				"%zu of %zu threads differ: %s instead of %s", wrong, n,
				steady_number(m[worst].seen.value, got, sizeof(got)),
				steady_number(alone->value, want, sizeof(want)));
	verify_number(f, "threads", (double)n);
	verify_number(f, "deviating", (double)wrong);
	verify_number(f, "alone", (double)alone->value);
	verify_number(f, "worst", (double)m[worst].seen.value);
	verify_number(f, "switches", s->switches);
	if (per_switch)
		verify_number(f, "per_switch", s->each);
	verify_number(f, "limit", 1 / c->code.events);
}

static int crowd_of(struct verify *v, const struct subject *s, size_t n)
{
	struct crowd c = { .v = v, .s = s, .cpus = (int)(n / 2) };
	struct member one = { 0 };
	if (!steady_code_for(v, s, &c.code))
		return 0;
	struct member *const m = calloc(n, sizeof(*m));
	if (!m)
		return TARE_E_NOMEM;
	int err;
	do {
		one = (struct member){ 0 };
		err = run_crowd(&one, 1, &c);
	} while (!err && !one.err && !steady_is_clear(&one.seen) && steady_shorten(&c.code));
	if (!err && !one.err)
		err = run_crowd(m, n, &c);
	struct switched switched;
	if (!err && !one.err)
		err = look_at_switches(m, n, one.seen.value, &switched);
	if (!err && !one.err)
		judge_crowd(v, &c, &one.seen, m, n, &switched);
	free(m);
	return err;
}

static int run_threads(struct verify *v, struct tare_why *why)
{
	cpu_set_t now, few = v->cpus;
	int err = 0;
	for (int c = CPU_SETSIZE - 1; c > 0 && CPU_COUNT(&few) > MAX_CPUS; c--)
		CPU_CLR(c, &few);
	const size_t n = 2 * (size_t)CPU_COUNT(&few) + 1;
	sched_getaffinity(0, sizeof(now), &now);
	sched_setaffinity(0, sizeof(few), &few);
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		err = verify_progress(v, "%s in %zu threads", v->subjects[i].name, n);
		if (!err)
			err = crowd_of(v, &v->subjects[i], n);
	}
	sched_setaffinity(0, sizeof(now), &now);
	return err;
}

const struct experiment experiment_migration = {
	.name = "migration", .about = "the same code while the thread moves to another CPU or kind of core",
	.hardware = true, .run = run_migration,
};
const struct experiment experiment_sibling = {
	.name = "sibling", .about = "the same code beside a busy sibling (hyperthread)",
	.hardware = true, .run = run_sibling,
};
const struct experiment experiment_threads = {
	.name = "threads", .about = "the same code in more threads than there are CPUs",
	.hardware = true, .run = run_threads,
};
