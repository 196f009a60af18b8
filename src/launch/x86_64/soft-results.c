#include "soft-results.h"
#include "soft-watch.h"

#include "live.h"
#include "live-code.h"
#include "parts.h"
#include "role-events.h"
#include "why.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint32_t soft_event_mask(const struct tare_events *events)
{
	uint32_t mask = 0;
	for (size_t i = 0; i < tare_events_count(events); i++) {
		const struct tare_event *const e = tare_events_at(events, i);
		if (tare_engine_counts(e))
			mask |= 1u << role_event(e->role);
	}
	return mask;
}

/* ---- records ---- */

static bool counted(const struct soft_results *s, const struct soft_record *r)
{
	return !(s->shared->flags & SOFT_FLAG_NO_INHERIT) || r->pid == s->child;
}

static uint32_t n_records(const struct soft_results *s)
{
	if (s->settled)
		return s->n_settled;
	const uint32_t n = __atomic_load_n(&s->shared->n_records, __ATOMIC_ACQUIRE);
	return n < SOFT_MAX_RECORDS ? n : SOFT_MAX_RECORDS;
}

static struct soft_record *records(const struct soft_results *s)
{
	return s->settled ? s->settled : s->shared->records;
}

/* ---- processes that run ---- */

/* Does a process with that pid exist? */
static bool alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* What is kept of live processes for the code log, at most: thousands of threads can have run the same code. */
#define MOST_LIVE_CODE (256u << 20)

static void look_at_code(struct soft_results *s, uint32_t j)
{
	struct live_code *const c = &s->live_code[j];
	s->n_live_code = j >= s->n_live_code ? j + 1 : s->n_live_code;
	s->live_code_bytes -= c->records.cap;
	if (s->live_code_bytes < MOST_LIVE_CODE)
		live_code_read(s->shared, j, c);
	s->live_code_bytes += c->records.cap;
}

/* A process that has ended has written its own log. */
static void forget_code(struct soft_results *s, uint32_t j)
{
	s->live_code_bytes -= s->live_code[j].records.cap;
	live_code_free(&s->live_code[j]);
}

/* False if the counts of a living process could not be read, because it was just adding them
 * up. */
static bool look_now(struct soft_results *s, bool child_lives)
{
	if (!s->live)
		s->live = calloc(SOFT_MAX_RECORDS, sizeof(*s->live));
	if (!s->live_code && s->shared->flags & SOFT_FLAG_CODE_LOG)
		s->live_code = calloc(SOFT_MAX_RECORDS, sizeof(*s->live_code));
	const uint32_t n = n_records(s);
	bool all = true;
	for (uint32_t j = 1; s->live && j < n; j++) {
		struct soft_record *const r = &s->shared->records[j];
		uint64_t now[SOFT_EVENTS];
		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != REC_RUNNING) {
			if (s->live_code)
				forget_code(s, j);
			continue;
		}
		if (!live_read(s->shared, j, now)) {
			all &= (r->pid == s->child && !child_lives) || !alive(r->pid);
			continue;
		}
		/* counts grow, but for a request of the program to start over (zero) */
		const bool over = s->live[j][SOFT_EVENTS] != r->zeroed;
		for (int k = 0; k < SOFT_EVENTS; k++)
			if (over || now[k] > s->live[j][k])
				s->live[j][k] = now[k];
		s->live[j][SOFT_EVENTS] = r->zeroed;
		if (s->live_code)
			look_at_code(s, j);
	}
	return all;
}

static bool look(struct soft_results *s, bool child_lives)
{
	pthread_mutex_lock(&s->looking);
	const bool all = look_now(s, child_lives);
	pthread_mutex_unlock(&s->looking);
	return all;
}

/* Adds a record for each process that stood between its old image and the new one when the tracer
 * stopped: the new image runs natively. (One that has not execed yet has no new image.) */
static uint32_t add_traced(const struct soft_tracer *tracer, struct soft_record *copy, uint32_t n)
{
	const uint32_t known = n;
	for (int i = 0; i < tracer->n_traced; i++) {
		const struct traced *const t = &tracer->traced[i];
		if (!t->record || t->record >= known || copy[t->record].state != REC_EXECED)
			continue;	/* the command itself, or not execed yet */
		struct soft_record *const r = &copy[n++];
		r->pid = r->tid = t->pid;
		r->reason = WHY_ENDED;
		r->state = REC_NATIVE;
		soft_tracer_name(t->pid, r);
	}
	return n;
}

/* Adds one record for all images that ran natively and have none, so that they are not forgotten. */
static uint32_t add_beyond(const struct soft_results *s, struct soft_record *copy, uint32_t n)
{
	if (!__atomic_load_n(&s->shared->native_beyond, __ATOMIC_RELAXED))
		return n;
	struct soft_record *const r = &copy[n];
	r->pid = r->tid = s->child;
	r->reason = WHY_BEYOND;
	r->state = REC_NATIVE;
	snprintf(r->comm, sizeof(r->comm), "others");
	return n + 1;
}

bool soft_results_look(struct soft_results *s)
{
	return look(s, true);
}

void soft_results_look_well(struct soft_results *s)
{
	for (int i = 0; i < 50 && !look(s, true); i++)
		usleep(1000);
}

void soft_results_settle(struct soft_results *s, const struct soft_tracer *tracer)
{
	for (int i = 0; i < 50 && !look(s, false); i++)
		usleep(1000);
	const uint32_t n = n_records(s);
	struct soft_record *const copy = calloc(n + 2 + (size_t)tracer->n_traced, sizeof(*copy));
	if (!copy)
		return;			/* then the records are read while they change */
	for (uint32_t j = 0; j < n; j++) {
		/* pairs with the store that sets the state last */
		const uint32_t state = __atomic_load_n(&s->shared->records[j].state, __ATOMIC_ACQUIRE);
		copy[j] = s->shared->records[j];
		copy[j].state = state;
	}
	s->settled = copy;
	s->n_settled = add_beyond(s, copy, add_traced(tracer, copy, n));
}

static bool seen_live(const struct soft_results *s, const struct soft_record *r)
{
	const size_t j = (size_t)(r - records(s));
	return s->live && s->live[j][SOFT_INSTRUCTIONS] > r->counts[SOFT_INSTRUCTIONS];
}

/* The count in a record or, where its task has not reported, the count of the last look. */
static uint64_t record_count(const struct soft_results *s, uint32_t j, int k)
{
	const struct soft_record *const r = &records(s)[j];
	const uint32_t state = __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
	const bool reported = state != REC_RUNNING && state != REC_FAILED;
	const uint64_t in_record = __atomic_load_n(&r->counts[k], __ATOMIC_RELAXED);
	return reported || !s->live || s->live[j][k] < in_record ? in_record : s->live[j][k];
}

static void fill_count(struct tare_count *c, uint64_t value)
{
	c->value = c->raw = value;
	c->state = TARE_COUNT_OK;
	c->code = 0;
	c->provenance = TARE_PROV_EXACT;
}

/* No process of the command was entered: then there is no count, not a count of 0. */
static bool nothing_counted(const struct soft_results *s)
{
	const uint32_t n = n_records(s);
	bool native = false;
	for (uint32_t j = 1; j < n; j++) {
		const uint32_t state = __atomic_load_n(&records(s)[j].state, __ATOMIC_ACQUIRE);
		if (state != REC_NATIVE && state != REC_FREE)
			return false;
		native |= state == REC_NATIVE;
	}
	return native;
}

void soft_results_totals(const struct soft_results *s, const struct tare_measure_options *o,
			 struct tare_measurement *m)
{
	const uint32_t n = n_records(s);
	const bool nothing = nothing_counted(s);
	for (size_t i = 0; i < m->n_counts; i++) {
		const struct tare_event *const e = tare_events_at(o->events, i);
		const int k = role_event(e->role);
		if (!tare_engine_counts(e))
			continue;
		uint64_t sum = 0, vdso = 0;
		for (uint32_t j = 0; j < n; j++) {
			if (!counted(s, &records(s)[j]))
				continue;
			sum += record_count(s, j, k);
			vdso += __atomic_load_n(&records(s)[j].vdso[k], __ATOMIC_RELAXED);
		}
		fill_count(&m->counts[i], sum);
		m->counts[i].vdso = vdso;
		if (nothing) {
			m->counts[i].state = TARE_COUNT_NOT_OPENED;
			m->counts[i].code = TARE_E_NOT_COUNTED;
			m->counts[i].provenance = TARE_PROV_NONE;
		}
	}
}

/* A forked child begins with its parent's numbers (had_…), which count once. */
void soft_results_translated(const struct soft_results *s, double ns_per_tick,
			     struct tare_measurement *m)
{
	const uint32_t n = n_records(s);
	uint64_t ticks = 0;
	for (uint32_t j = 1; j < n; j++) {
		const struct soft_record *const r = &records(s)[j];
		m->translated.blocks += r->blocks - r->had_blocks;
		m->translated.code_bytes += r->code_bytes - r->had_code;
		m->translated.source_bytes += r->source_bytes - r->had_source;
		ticks += r->translate_ticks - r->had_ticks;
	}
	m->translated.ns = (uint64_t)((double)ticks * ns_per_tick);
}

#define NATIVELY ": ran natively"
#define NO_PLACE "has memory of its own where the engine goes (0x440000000000)"

static const struct {
	uint32_t reason;
	const char *text, *remedy;
} reasons[] = {
	{ WHY_32BIT, "not a 64-bit x86 program" NATIVELY,
	  "build the program for x86-64, or count with hardware counters" },
	{ WHY_SETUID, "set-uid, set-gid or with capabilities" NATIVELY,
	  "run a copy of the program without these rights" },
	{ WHY_NO_PTRACE, "ptrace was refused" NATIVELY,
	  "allow ptrace (container: --cap-add SYS_PTRACE; Yama: kernel.yama.ptrace_scope below 2)" },
	{ WHY_NO_MEMORY, "no memory for the engine" NATIVELY, "raise ulimit -v or -d" },
	{ WHY_NO_PLACE, NO_PLACE NATIVELY, "link the program to another address" },
	{ WHY_NO_INHERIT, "a child, left out as asked (--no-inherit)", NULL },
	{ WHY_ENDED, "started when the command had ended" NATIVELY,
	  "let the command wait for the processes that it starts" },
	{ WHY_PTRACED, "traced by another program" NATIVELY,
	  "run the program without its tracer" },
	{ WHY_BEYOND, "programs beyond the first 65,000 tasks" NATIVELY,
	  "count parts of the command separately" },
	{ WHY_UNREADABLE, "may be executed but not read" NATIVELY,
	  "make the program's file readable (chmod +r)" },
};

const char *soft_reason_text(uint32_t reason)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].reason == reason)
			return reasons[i].text;
	return "could not be entered" NATIVELY;
}

const char *soft_reason_remedy(uint32_t reason)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].reason == reason)
			return reasons[i].remedy;
	return NULL;
}

/* NULL: the task has reported everything, or reports nothing here: counters of the virtual PMU are
 * in shared memory and have all counts at any time. */
static const char *cut_off_text(const struct soft_results *s, const struct soft_record *r)
{
	if (s->shared->flags & SOFT_FLAG_VPMU && r->state != REC_FAILED)
		return NULL;
	switch (r->state) {
	case REC_FAILED:
		return "the engine failed in it";
	case REC_HANDED:
		return "handed over to a debugger: counted until it stopped";
	case REC_STARTING:
	case REC_RUNNING:
		if (r->is_thread)
			return NULL;
		if (r->pid != s->child && alive(r->pid))
			return seen_live(s, r) ?
			       "still running: counted until the command ended" :
			       "still running: what it counted so far is not in the totals";
		return seen_live(s, r) ?
		       "killed before it could report: counted until it was last looked at" :
		       "killed before it could report: its counts are missing";
	default:
		return NULL;
	}
}

static bool worth_a_task(const struct soft_results *s, const struct tare_measure_options *o,
			 const struct soft_record *r)
{
	if (r->state == REC_FREE || !r->pid)
		return false;		/* without a pid: it may never have started */
	return o->per_task || (r->state == REC_NATIVE && r->reason != WHY_NO_INHERIT) ||
	       cut_off_text(s, r);
}

static const char *short_name(const struct soft_record *r)
{
	const char *const name = strrchr(r->exe, '/');
	return r->comm[0] || !r->exe[0] ? r->comm : name ? name + 1 : r->exe;
}

static int fill_task(const struct soft_results *s, const struct tare_measure_options *o, uint32_t j,
		     struct tare_measurement *m)
{
	const struct soft_record *const r = &records(s)[j];
	struct tare_task *const t = &m->tasks[m->n_tasks++];
	t->pid = r->pid;
	t->tid = r->tid ? r->tid : r->pid;
	t->is_thread = r->is_thread;
	snprintf(t->comm, sizeof(t->comm), "%.15s", short_name(r));
	snprintf(t->exe, sizeof(t->exe), "%.127s", r->exe);
	t->not_counted = r->state == REC_NATIVE ? soft_reason_text(r->reason) : NULL;
	t->remedy = r->state == REC_NATIVE ? soft_reason_remedy(r->reason) : NULL;
	t->cut_off = cut_off_text(s, r);
	if (!m->n_counts)
		return 0;
	t->counts = calloc(m->n_counts, sizeof(*t->counts));
	if (!t->counts)
		return TARE_E_NOMEM;
	for (size_t i = 0; i < m->n_counts; i++) {
		const struct tare_event *const e = tare_events_at(o->events, i);
		const int k = role_event(e->role);
		t->counts[i] = (struct tare_count){ .event = m->counts[i].event,
						    .unit = m->counts[i].unit,
						    .state = TARE_COUNT_NOT_OPENED };
		if (tare_engine_counts(e) && r->state != REC_NATIVE)
			fill_count(&t->counts[i], record_count(s, j, k));
		t->counts[i].vdso = k >= 0 ? r->vdso[k] : 0;
	}
	return 0;
}

int soft_results_tasks(const struct soft_results *s, const struct tare_measure_options *o,
		       struct tare_measurement *m, struct tare_why *why)
{
	const uint32_t n = n_records(s);
	size_t want = 0;
	for (uint32_t j = 0; j < n; j++)
		want += worth_a_task(s, o, &records(s)[j]);
	if (!want)
		return 0;
	m->tasks = calloc(want, sizeof(*m->tasks));
	if (!m->tasks)
		return why_set(why, TARE_E_NOMEM, "%zu tasks", want);
	for (uint32_t j = 0; j < n && m->n_tasks < want; j++)
		if (worth_a_task(s, o, &records(s)[j]) && fill_task(s, o, j, m))
			return why_set(why, TARE_E_NOMEM, "counts of %zu tasks", want);
	return 0;
}

/* ---- parts ---- */

static bool fill_dump(const struct soft_dump *from, const struct tare_measure_options *o,
		      const struct tare_measurement *m, struct tare_dump *to)
{
	char room[4096];
	if (!parts_dump_init(to, soft_watch_dump_name(o, from->name, room, sizeof(room)), m))
		return false;
	to->pid = from->pid;
	for (size_t i = 0; i < m->n_counts; i++) {
		const struct tare_event *const e = tare_events_at(o->events, i);
		if (!tare_engine_counts(e))
			continue;
		fill_count(&to->counts[i], from->counts[role_event(e->role)]);
		to->counts[i].vdso = from->vdso[role_event(e->role)];
	}
	return true;
}

int soft_results_parts(const struct soft_results *s, const struct tare_measure_options *o,
		       struct tare_measurement *m, struct tare_why *why)
{
	const struct soft_shared *const sh = s->shared;
	const uint32_t asked = __atomic_load_n(&sh->parts.dumps, __ATOMIC_ACQUIRE);
	const uint32_t n = asked < SOFT_MAX_DUMPS ? asked : SOFT_MAX_DUMPS;
	if (!o->starts_off && !sh->parts.on && !sh->parts.off && !sh->parts.zeroed && !asked &&
	    !sh->parts.missed)
		return 0;
	struct tare_parts *const p = m->parts = parts_new(n);
	if (!p)
		return why_set(why, TARE_E_NOMEM, "%" PRIu32 " dumps", n);
	p->started_off = o->starts_off;
	p->on = sh->parts.on;
	p->off = sh->parts.off;
	p->zeroed = sh->parts.zeroed;
	p->missed = sh->parts.missed;
	p->lost_dumps = asked - n;
	for (uint32_t i = 0; i < n; i++) {
		const struct soft_dump *const d = &sh->dumps[i];
		if (!__atomic_load_n(&d->ready, __ATOMIC_ACQUIRE) ||	/* killed while it dumped */
		    (o->no_inherit && d->pid != s->child))
			continue;
		if (!fill_dump(d, o, m, &p->dumps[p->n_dumps]))
			return why_set(why, TARE_E_NOMEM, "%" PRIu32 " dumps", n);
		p->dumps[p->n_dumps++].number = i + 1;
	}
	return 0;
}

static int failure_code(uint32_t reason)
{
	switch (reason) {
	case WHY_NO_MEMORY: return TARE_E_NOMEM;
	case WHY_REFUSED: return TARE_E_NOT_COUNTED;
	default: return TARE_E_ENGINE;
	}
}

int soft_results_failure(const struct soft_results *s, struct tare_why *why)
{
	const uint32_t n = n_records(s);
	for (uint32_t j = 0; j < n; j++) {
		const struct soft_record *const r = &records(s)[j];
		if (r->state == REC_FAILED)
			return why_set(why, failure_code(r->reason), "process %d (%s): %.190s",
				       (int)r->pid, short_name(r), r->message);
	}
	return 0;
}

void soft_results_log_code(const struct soft_results *s, int memfd)
{
	for (uint32_t j = 1; s->live_code && s->settled && j < s->n_settled && j < SOFT_MAX_RECORDS; j++) {
		const struct soft_record *const r = &s->settled[j];
		/* What was reported after the last look is in the log, and would be there twice. */
		if (r->state == REC_RUNNING && s->live_code[j].records.len &&
		    r->counts[SOFT_INSTRUCTIONS] == s->live_code[j].reported)
			live_code_write(memfd, s->shared, &s->live_code[j]);
	}
}

void soft_results_free(struct soft_results *s)
{
	for (uint32_t j = 0; s->live_code && j < s->n_live_code; j++)
		live_code_free(&s->live_code[j]);
	free(s->live_code);
	free(s->live);
	free(s->settled);
}
