/* The event that counts interrupts, found by experiment. */
#include "interrupt-event.h"

#include "event-space.h"
#include "scan-room.h"
#include "why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_CANDIDATES 32
#define LEAST_INTERRUPTS 100	/* of all trials, to be compared with */
#define MOST_ROUNDS (1ull << 26) /* 268 million instructions: several ticks at any CONFIG_HZ */

struct candidate {
	uint64_t raw;
	const char *row, *uarch;
	enum interrupt_from from;
};

struct candidates {
	size_t n;
	struct candidate all[MOST_CANDIDATES];
};

static bool is_wanted(const struct tare_event_row *r)
{
	return r->has_raw &&
	       (r->role == TARE_ROLE_INTERRUPTS || r->role == TARE_ROLE_INTERRUPTS_AND_FAULTS);
}

/* Each code once. */
static void add_rows(struct candidates *c, const struct tare_uarch *u, enum interrupt_from from)
{
	for (size_t i = 0; u && i < u->n_events; i++) {
		const struct tare_event_row *const r = &u->events[i];
		size_t k = 0;
		if (!is_wanted(r))
			continue;
		while (k < c->n && c->all[k].raw != r->raw)
			k++;
		if (k == c->n && c->n < MOST_CANDIDATES)
			c->all[c->n++] = (struct candidate){ r->raw, r->name, u->name, from };
	}
}

static void list_candidates(const struct interrupt_search *s, struct candidates *c)
{
	const struct tare_uarch *u;

	if (s->from == INTERRUPT_FROM_TABLE)
		add_rows(c, s->cpu->uarch, INTERRUPT_FROM_TABLE);
	for (size_t i = 0; s->from != INTERRUPT_FROM_SCAN && (u = tare_uarch_at(i)); i++)
		if (u->arch == s->cpu->arch && u->vendor == s->cpu->vendor && u != s->cpu->uarch)
			add_rows(c, u, INTERRUPT_FROM_VENDOR);
}

/* tare_events_parse() knows the names of this CPU's table only. */
static void name_event(struct interrupt_event *e, const char *code)
{
	if (e->row && e->from == INTERRUPT_FROM_TABLE)
		snprintf(e->name, sizeof(e->name), "%.60s:u", e->row);
	else
		snprintf(e->name, sizeof(e->name), "%s", code);
}

/* As many as /proc/interrupts has, but for a few that came while the kernel ran, or in a trial between the
 * two reads: so well that a longer search would not find a better one. An event that misses one of 32 is
 * told from it where there are some hundred. */
static bool is_close(const struct interrupt_event *e)
{
	const uint64_t d = e->count > e->interrupts ? e->count - e->interrupts :
						      e->interrupts - e->count;
	return e->interrupts >= LEAST_INTERRUPTS && d <= e->trials + e->interrupts / 64;
}

/* Nothing better can be found. Where instructions:u does not count interrupts, or not all of them, no
 * event has a better proof than that it is close. */
static bool is_settled(const struct interrupt_event *e)
{
	return !e->and_faults && (e->proof == INTERRUPT_EXACT ||
				  (e->proof == INTERRUPT_NEAR && is_close(e)));
}

/* Better: proved by more, and interrupts alone rather than with page faults. */
static bool is_better(const struct interrupt_event *a, const struct interrupt_event *b)
{
	if (a->proof != b->proof)
		return a->proof > b->proof;
	return !a->and_faults && b->and_faults;
}

static struct interrupt_event judge(const struct tare_scan_found *f, const struct candidate *c)
{
	struct interrupt_event e = {
		.proof = f->is_excess ? INTERRUPT_EXACT : INTERRUPT_NEAR, .raw = f->raw,
		.row = c ? c->row : f->name, .uarch = c ? c->uarch : NULL,
		.from = c ? c->from : INTERRUPT_FROM_SCAN,
		.each = f->each, .and_faults = f->counts & TARE_SCAN_COUNTS_FAULTS,
	};

	name_event(&e, f->event);
	for (size_t i = 0; i < f->n_trials; i++) {
		const struct tare_scan_trial *const t = &f->trials[i];
		if (t->pages)
			continue;
		e.trials++;
		e.count += t->count;
		e.excess += t->excess > 0 ? (uint64_t)t->excess : 0;
		e.interrupts = t->interrupts == UINT64_MAX ? UINT64_MAX : e.interrupts + t->interrupts;
		e.ticks += t->ticks;
	}
	return e;
}

static void take(struct interrupt_event *best, const struct interrupt_event *e)
{
	char both[sizeof(best->both)];

	snprintf(both, sizeof(both), "%s",
		 best->both[0] || !e->and_faults || e->proof != INTERRUPT_EXACT ? best->both : e->name);
	const unsigned tried = best->tried;
	if (is_better(e, best))
		*best = *e;
	best->tried = tried;
	memcpy(best->both, both, sizeof(both));
}

static int try_candidates(struct tare_scan *scan, const struct candidates *c,
			  struct interrupt_event *best, struct tare_why *why)
{
	for (size_t i = 0; i < c->n; i++) {
		/* what this CPU's table has is proved: other tables need not be asked */
		if (is_settled(best) && c->all[i].from != INTERRUPT_FROM_TABLE)
			break;
		struct tare_scan_found f;
		bool found;
		const int err = scan_try(scan, c->all[i].raw, &f, &found, why);
		if (err)
			return err;
		best->tried++;
		if (!found)
			continue;
		const struct interrupt_event e = judge(&f, &c->all[i]);
		take(best, &e);
	}
	return 0;
}

static void say(const struct interrupt_search *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct interrupt_search *s, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->progress)
		s->progress(text, s->arg);
}

static int on_progress(const struct tare_scan_state *state, void *arg)
{
	const struct interrupt_search *const s = arg;

	say(s, "an event that counts interrupts: %s, %" PRIu64 " of %" PRIu64,
	    tare_scan_stage_name(state->stage), state->next, state->total);
	return s->stop && *s->stop;
}

/* `few`: selectors of 8 bits. */
static int open_scan(const struct interrupt_search *s, bool few, struct tare_scan **scan,
		     struct tare_why *why)
{
	struct tare_scan_options o = TARE_SCAN_OPTIONS_INIT;

	o.like = "interrupts";
	o.has_codes = few;
	o.last_code = 0xff;
	o.progress = on_progress;
	o.arg = (void *)s;
	return scan_open_with(&o, s->cpu, MOST_ROUNDS, s->bits, scan, why);
}

static double seconds_of(const struct tare_scan *scan)
{
	const struct tare_scan_plan *const p = tare_scan_plan(scan);

	return (double)p->batches * (double)p->batch_ns / 1e9;
}

static int try_all(struct tare_scan *scan, struct interrupt_event *best, struct tare_why *why)
{
	const int err = tare_scan_run(scan, why);
	const struct tare_scan_result *const r = tare_scan_result(scan);

	if (err)
		return err;
	best->tried += (unsigned)r->tried;
	for (size_t i = 0; i < r->n_found; i++) {
		const struct interrupt_event e = judge(&r->found[i], NULL);
		take(best, &e);
	}
	return 0;
}

/* The whole event space, or what of it is searched in bounded time. */
static int search_space(const struct interrupt_search *s, struct tare_scan **scan,
			struct interrupt_event *best, struct tare_why *why)
{
	if (!s->quick && seconds_of(*scan) > INTERRUPT_SCAN_SECONDS) {
		tare_scan_close(*scan);
		const int err = open_scan(s, true, scan, why);
		if (err)
			return err;
	}
	say(s, "no event of the tables counts interrupts: trying %" PRIu64 " codes, about %.0f s, and more for what is near",
	    tare_scan_plan(*scan)->codes, seconds_of(*scan));
	return try_all(*scan, best, why);
}

/* No interrupt comes here: what this CPU's table says has to do. */
static void untested(const struct candidates *c, struct interrupt_event *e)
{
	for (size_t i = 0; i < c->n && !e->name[0]; i++)
		if (c->all[i].from == INTERRUPT_FROM_TABLE) {
			*e = (struct interrupt_event){ .proof = INTERRUPT_UNTESTED, .raw = c->all[i].raw,
						       .row = c->all[i].row,
						       .uarch = c->all[i].uarch };
			name_event(e, "");
		}
}

int interrupt_event_find(const struct interrupt_search *s, struct interrupt_event *e,
			 struct tare_why *why)
{
	struct candidates c = { 0 };
	struct tare_scan *scan;

	memset(e, 0, sizeof(*e));
	list_candidates(s, &c);
	int err = open_scan(s, s->quick, &scan, why);
	if (err == TARE_E_TIMEOUT) {
		untested(&c, e);
		return 0;
	}
	if (err)
		return err;
	err = try_candidates(scan, &c, e, why);
	if (!err && !is_settled(e) && !s->no_scan)
		err = search_space(s, &scan, e, why);
	tare_scan_close(scan);
	return err;
}
