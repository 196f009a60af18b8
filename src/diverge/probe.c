#include "diverge-room.h"

#include "why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

struct running {
	struct diverge *v;
	const struct probe_request *r;
	struct probe *p;
	uint64_t stops;
};

/* ---- time ---- */

#define STAGE_NS 60000000000ull
#define STAGE_RUNS 30

uint64_t diverge_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void diverge_begin_stage(struct diverge *v, enum tare_diverge_stage stage)
{
	v->stage = stage;
	v->over_at = diverge_now() + STAGE_NS + STAGE_RUNS * v->longest_ns;
}

bool diverge_is_over(const struct diverge *v)
{
	return diverge_now() >= v->over_at;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* ---- a stop ---- */

struct track *diverge_probe_track(const struct probe *p, uint32_t task)
{
	for (size_t i = 0; i < p->n_tracks; i++)
		if (p->tracks[i].task == task)
			return &p->tracks[i];
	return NULL;
}

static struct track *track_of(struct running *g, const struct tare_stop *s)
{
	struct probe *const p = g->p;
	struct track *t = diverge_probe_track(p, s->branch);
	if (t)
		return t;
	struct track *const more = realloc(p->tracks, (p->n_tracks + 1) * sizeof(*more));
	if (!more)
		return NULL;
	p->tracks = more;
	t = &more[p->n_tracks++];
	*t = (struct track){ .task = s->branch, .pid = s->pid, .tid = s->tid, .begun = g->stops };
	return t;
}

static bool make_room(struct track *t, bool states)
{
	if (t->n < t->room)
		return true;
	const size_t room = t->room ? t->room * 2 : 256;
	struct look *const looks = realloc(t->looks, room * sizeof(*looks));
	if (looks)
		t->looks = looks;
	struct state *const all = looks && states ? realloc(t->states, room * sizeof(*all)) : NULL;
	if (all)
		t->states = all;
	if (!looks || (states && !all))
		return false;
	t->room = room;
	return true;
}

static uint64_t hash_memory(const struct tare_stop *s, const struct flow_memory *m)
{
	uint8_t bytes[FLOW_LARGEST];
	const size_t n = tare_stop_read(s, m->address, bytes, m->size);
	uint64_t h = mix(1, n);
	for (size_t i = 0; i < n; i++)
		h = mix(h, bytes[i]);
	return h;
}

/* With ASLR every run has its own addresses, so that only counts can be compared. */
static struct look look_at(const struct running *g, const struct tare_stop *s)
{
	uint64_t way = 0;
	for (size_t i = 0; i < s->n_counts; i++)
		way = mix(way, s->counts[i].value);
	const bool moves = g->v->o->aslr;
	return (struct look){
		.count = s->count,
		.pc = s->pc,
		.way = moves ? mix(way, s->pc & 0xfff) : mix(mix(way, s->way), s->pc),
		.memory = g->r->watched ? hash_memory(s, &g->r->watched[g->r->side]) : 0,
		.call = (int32_t)s->system_call,
	};
}

static void fill_registers(const struct tare_stop *s, uint64_t *r)
{
	static const char *const names[STATE_REGISTERS] = {
		"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
		"r14", "r15", "eflags", "fs_base", "gs_base", "rip",
	};
	for (int i = 0; i < STATE_REGISTERS; i++) {
		r[i] = 0;
		for (size_t k = 0; k < s->n_registers; k++)
			if (strcmp(s->registers[k].name, names[i]) == 0)
				r[i] = s->registers[k].value;
	}
}

/* "/dev/urandom", "pipe:[4711]" */
static void fill_descriptor(const struct tare_stop *s, struct state *st)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)s->pid, (int)st->registers[STATE_RDI]);
	const ssize_t n = readlink(link, st->descriptor, sizeof(st->descriptor) - 1);
	st->descriptor[n > 0 ? n : 0] = '\0';
}

#define CALL_CLONE 56
#define CALL_CLONE3 435

/* Where clone() puts the number of the new task. */
static void fill_task_words(const struct tare_stop *s, struct state *st)
{
	const uint64_t *const r = st->registers;
	uint64_t args[4];		/* struct clone_args: flags, pidfd, child_tid, parent_tid … */
	if (s->system_call == CALL_CLONE) {
		st->task_words[0] = r[STATE_RDX];
		st->task_words[1] = r[10];
	} else if (s->system_call == CALL_CLONE3 && tare_stop_read(s, r[STATE_RDI], args, sizeof(args)) == sizeof(args)) {
		st->task_words[0] = args[2];
		st->task_words[1] = args[3];
	}
}

static void fill_state(const struct tare_stop *s, struct state *st)
{
	uint8_t bytes[15];
	fill_registers(s, st->registers);
	const size_t n = tare_stop_read(s, s->pc, bytes, sizeof(bytes));
	diverge_flow(&st->flow, bytes, n, st->registers);
	if (s->system_call >= 0) {
		fill_descriptor(s, st);
		fill_task_words(s, st);
	}
	for (unsigned i = 0; i < st->flow.n_reads; i++)
		tare_stop_read(s, st->flow.reads[i].address, st->read[i], st->flow.reads[i].size);
}

static int on_stop(const struct tare_stop *s, void *arg)
{
	struct running *const g = arg;
	const struct probe_request *const r = g->r;
	g->stops++;
	if (g->stops % 64 == 0 && diverge_is_over(g->v)) {
		g->p->cut = true;
		return TARE_STOP_KILL;
	}
	if ((r->task && s->branch != r->task) || s->rule)
		return TARE_STOP_GO_ON;
	struct track *const t = track_of(g, s);
	if (!t || !make_room(t, r->states)) {
		g->p->failed = true;
		return TARE_STOP_KILL;
	}
	const struct look at = look_at(g, s);
	t->looks[t->n] = at;
	if (r->states) {
		t->states[t->n] = (struct state){ .at = at };
		fill_state(s, &t->states[t->n]);
	}
	t->n++;
	/* The addresses of another run name nothing in this one. */
	if (r->states && g->v->o->aslr && t->n % 1024 == 0)
		diverge_note_places(g->v, r->side, s, t);
	const bool last = r->until && s->count >= r->until;
	if (r->at_end && r->at_each && !last)
		r->at_end(s, r->side, r->arg);
	if (!last)
		return TARE_STOP_GO_ON;
	if (r->states)
		diverge_note_places(g->v, r->side, s, t);
	if (r->at_end)
		r->at_end(s, r->side, r->arg);
	g->p->reached = true;
	return r->task ? TARE_STOP_KILL : TARE_STOP_GO_ON;
}

/* ---- a run ---- */

/* The command starts with the environment of this process. */
static char **use_environment(const struct diverge *v, int side)
{
	char **const old = environ;
	char *const *const other = side && v->o->other_environment ? v->o->other_environment : v->o->environment;
	if (other)
		environ = (char **)(uintptr_t)other;
	return old;
}

static int measure(struct diverge *v, struct tare_measure_options *o, int side, struct tare_measurement **m)
{
	o->argv = side && v->o->other_argv ? v->o->other_argv : v->o->argv;
	o->events = v->events;
	o->backend = TARE_BACKEND_SOFT;
	o->machine = side && v->o->other_machine ? v->o->other_machine : v->o->machine;
	o->aslr = v->o->aslr && !v->still;
	o->stop = v->o->stop;
	if (v->o->on_run)
		v->o->on_run(v->stage, v->run, v->o->arg);
	v->run++;
	char **const old = use_environment(v, side);
	const int err = tare_measure(o, m, v->why);
	environ = old;
	if (!err && v->o->stop && *v->o->stop) {
		tare_measurement_free(*m);
		*m = NULL;
		return why_set(v->why, TARE_E_INTERRUPTED, "%s", v->o->argv[0]);
	}
	return err;
}

int diverge_probe_whole(struct diverge *v, int side, struct tare_measurement **m)
{
	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
	o.code = v->o->on_whole && !v->still;
	o.per_task = v->o->on_whole && !v->still;
	const uint64_t begin = diverge_now();
	const int err = measure(v, &o, side, m);
	if (diverge_now() - begin > v->longest_ns)
		v->longest_ns = diverge_now() - begin;
	return err;
}

void diverge_probe_free(struct probe *p)
{
	for (size_t i = 0; i < p->n_tracks; i++) {
		free(p->tracks[i].looks);
		free(p->tracks[i].states);
	}
	free(p->tracks);
	*p = (struct probe){ 0 };
}

/* What a thread had counted at its end, as a last look. Images of one process have entries in their order. */
static void note_ends(struct probe *p, const struct tare_measurement *m, const struct probe_request *r)
{
	for (size_t i = 0; i < p->n_tracks; i++) {
		struct track *const t = &p->tracks[i];
		size_t k = 0;
		for (size_t before = 0; before < i; before++)
			k += p->tracks[before].tid == t->tid;
		const struct tare_task *task = NULL;
		for (size_t j = 0; j < m->n_tasks && !task; j++)
			if (m->tasks[j].tid == t->tid && m->tasks[j].counts && k-- == 0)
				task = &m->tasks[j];
		if (!task || !t->n || !make_room(t, r->states))
			continue;
		uint64_t way = 2;
		for (size_t j = 0; j < m->n_counts; j++)
			way = mix(way, task->counts[j].value);
		const uint64_t last = t->looks[t->n - 1].count, value = task->counts[0].value;
		const struct look end = { .count = value > last ? value + 1 : last + r->every + 1, .way = way, .call = -1 };
		t->looks[t->n] = end;
		if (r->states)
			t->states[t->n] = (struct state){ .at = end };
		t->n++;
		t->ended = true;
	}
}

int diverge_probe_run(struct diverge *v, const struct probe_request *r, struct probe *p)
{
	struct running g = { .v = v, .r = r, .p = p };
	const struct tare_event *const e = tare_events_at(v->events, 0);
	const struct tare_stop_rule rules[2] = {
		{ .event = e, .n = r->every, .first = r->first, .every = true, .then = TARE_STOP_CALL, .branch = r->task },
		{ .event = e, .n = r->coarse, .first = 1, .every = true, .then = TARE_STOP_CALL },
	};
	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
	struct tare_measurement *m;
	*p = (struct probe){ 0 };
	o.stops = rules;
	o.n_stops = r->coarse ? 2 : 1;
	o.on_stop = on_stop;
	o.arg = &g;
	o.per_task = true;
	v->d->searched++;
	const int err = measure(v, &o, r->side, &m);
	if (err) {
		diverge_probe_free(p);
		return err;
	}
	if (!p->reached && !p->cut)
		note_ends(p, m, r);
	tare_measurement_free(m);
	if (!p->failed)
		return 0;
	diverge_probe_free(p);
	return why_set(v->why, TARE_E_NOMEM, "the stops of a run");
}

int diverge_pair_run(struct diverge *v, struct probe_request r, struct pair *p)
{
	static const struct track none;
	*p = (struct pair){ .track = { &none, &none } };
	for (r.side = 0; r.side < 2; r.side++) {
		const int err = diverge_probe_run(v, &r, &p->side[r.side]);
		if (err) {
			diverge_pair_free(p);
			return err;
		}
		const struct track *const t = r.task ? diverge_probe_track(&p->side[r.side], r.task) : NULL;
		if (t)
			p->track[r.side] = t;
		if (p->side[r.side].cut) {
			diverge_pair_free(p);
			p->track[0] = p->track[1] = &none;
			return 0;
		}
	}
	return 0;
}

void diverge_pair_free(struct pair *p)
{
	diverge_probe_free(&p->side[0]);
	diverge_probe_free(&p->side[1]);
}
