/* tare_diverge(): whole runs until two differ; then where they part; then why. */
#include "diverge-room.h"

#include "options-copy.h"
#include "why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 10

const char *tare_diverge_cause_name(enum tare_diverge_cause cause)
{
	static const char *const names[] = {
		[TARE_DIVERGE_BY_UNKNOWN] = "unknown",
		[TARE_DIVERGE_BY_RANDOM] = "random bytes",
		[TARE_DIVERGE_BY_TIME] = "time",
		[TARE_DIVERGE_BY_PID] = "process number",
		[TARE_DIVERGE_BY_ADDRESS] = "address",
		[TARE_DIVERGE_BY_SIGNAL] = "signal",
		[TARE_DIVERGE_BY_THREAD] = "another thread or process",
		[TARE_DIVERGE_BY_CPU] = "CPU",
		[TARE_DIVERGE_BY_ENVIRONMENT] = "environment",
		[TARE_DIVERGE_BY_ARGUMENTS] = "arguments",
		[TARE_DIVERGE_BY_DIRECTORY] = "directory",
		[TARE_DIVERGE_BY_FILE] = "file",
		[TARE_DIVERGE_BY_SHORT_READ] = "short read",
		[TARE_DIVERGE_BY_SYSTEM_CALL] = "system call",
		[TARE_DIVERGE_BY_OUTSIDE] = "outside",
	};
	return (unsigned)cause < sizeof(names) / sizeof(names[0]) ? names[cause] : "unknown";
}

/* ---- texts ---- */

/* The result keeps its texts behind it, in this. */
struct result {
	struct tare_divergence d;
	size_t n_texts;
	char **texts;
};

const char *diverge_text(struct diverge *v, const char *fmt, ...)
{
	struct result *const r = (struct result *)v->d;
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	const int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return "";
	char **const more = realloc(r->texts, (r->n_texts + 1) * sizeof(*more));
	if (!more) {
		free(text);
		return "";
	}
	r->texts = more;
	return more[r->n_texts++] = text;
}

void tare_divergence_free(struct tare_divergence *d)
{
	struct result *const r = (struct result *)d;
	if (!r)
		return;
	for (size_t i = 0; i < r->n_texts; i++)
		free(r->texts[i]);
	free(r->texts);
	free(d->totals);
	free(d->steps);
	free(d->sides[0].frames);
	free(d->sides[1].frames);
	free(r);
}

/* ---- whole runs ---- */

struct whole {			/* of a run: what must be equal */
	uint64_t counts[8];
	size_t n_counts;
	int exit_status;
};

static struct whole whole_of(const struct tare_measurement *m)
{
	struct whole w = { .exit_status = m->exit_status };
	for (; w.n_counts < m->n_counts && w.n_counts < 8; w.n_counts++)
		w.counts[w.n_counts] = m->counts[w.n_counts].value;
	return w;
}

static bool same_whole(const struct whole *a, const struct whole *b)
{
	return a->exit_status == b->exit_status && memcmp(a->counts, b->counts, sizeof(a->counts)) == 0;
}

/* 1: two differ; 0: none does. */
static int whole_runs(struct diverge *v)
{
	const unsigned n = v->o->runs ? v->o->runs : RUNS;
	struct whole first = { 0 };
	v->d->totals = calloc(n, sizeof(*v->d->totals));
	if (!v->d->totals)
		return why_set(v->why, TARE_E_NOMEM, "%u runs", n);
	for (unsigned i = 0; i < n; i++) {
		struct tare_measurement *m;
		const int err = diverge_probe_whole(v, i & 1, &m);
		if (err)
			return err;
		const struct whole now = whole_of(m);
		if (v->o->on_whole)
			v->o->on_whole(m, v->events, v->o->arg);
		tare_measurement_free(m);
		v->d->totals[v->d->n_totals++] = now.counts[0];
		v->d->runs++;
		if (now.counts[0] > v->longest)
			v->longest = now.counts[0];
		if (i && !same_whole(&first, &now))
			return 1;
		first = now;
	}
	return 0;
}

/* ---- all of it ---- */

#define STILL_RUNS 3

/* With ASLR a value cannot be followed through memory, which lies elsewhere in each run. But if the runs are equal
 * without ASLR, addresses are the cause. */
static int try_still(struct diverge *v)
{
	struct whole first = { 0 };
	v->still = true;
	for (int i = 0; i < STILL_RUNS; i++) {
		struct tare_measurement *m;
		const int err = diverge_probe_whole(v, 0, &m);
		if (err)
			return err;
		const struct whole now = whole_of(m);
		tare_measurement_free(m);
		if (i && !same_whole(&first, &now))
			return 0;
		first = now;
	}
	v->d->cause = TARE_DIVERGE_BY_ADDRESS;
	v->d->cause_text = diverge_text(v, "addresses: %d runs without ASLR are equal", STILL_RUNS);
	return 0;
}

/* What an attempt has found that did not reach the cause. */
static void forget(struct tare_divergence *d)
{
	for (int side = 0; side < 2; side++) {
		free(d->sides[side].frames);
		d->sides[side] = (struct tare_diverge_side){ .at = { .place = "" } };
	}
	d->last = (struct tare_diverge_place){ .place = "" };
	d->note = d->cause_text = "";
	d->cause = TARE_DIVERGE_BY_UNKNOWN;
	d->found = TARE_DIVERGE_LOST;
	d->is_thread = false;
	d->n_steps = 0;
}

/* Where two runs part, and why. 1: the place, and not the cause. */
static int find_once(struct diverge *v)
{
	struct parting at;
	v->d->found = TARE_DIVERGE_LOST;
	diverge_begin_stage(v, TARE_DIVERGE_SEARCH);
	int got = diverge_search_parting(v, &at);
	if (got < 0)
		return got;
	if (!got) {
		v->d->note = diverge_is_over(v) ? "whole runs differed, but the time for the search was over before two runs that "
			     "were stopped on their way parted twice in the same place: try again, or make the command shorter" :
			     "whole runs differed, but runs that were stopped on their way did not part twice in the same "
			     "place: try again, or make the command do less at random";
		return 0;
	}
	v->d->count = at.count;
	got = diverge_follow(v, &at);
	return got ? got : !v->o->no_cause && v->d->cause == TARE_DIVERGE_BY_UNKNOWN;
}

#define ATTEMPTS 3
#define SHORT_NS 60000000000ull		/* attempts that may be repeated */

/* What differs may have changed its shape while it was followed: process numbers that have become shorter, say. Another
 * attempt begins anew. */
static int find_often(struct diverge *v)
{
	const uint64_t begin = diverge_now();
	int got;
	for (int i = 0; (got = find_once(v)) == 1 && i < ATTEMPTS - 1 && diverge_now() - begin < SHORT_NS; i++)
		forget(v->d);
	return got == 1 && v->o->aslr ? try_still(v) : got < 0 ? got : 0;
}

/* When a child ends, and its parent gets SIGCHLD, follows from the way of the child. So where a process of the tree parts for
 * another reason, that is the cause; otherwise the children ran at another pace. */
static int find_in_children(struct diverge *v)
{
	struct tare_divergence *const d = v->d;
	struct tare_divergence first = *d;
	int got;
	d->steps = NULL;		/* those of `first` */
	d->sides[0].frames = d->sides[1].frames = NULL;
	do {
		v->skipped[v->n_skipped++] = v->task;
		v->by_child = false;
		forget(d);
		got = find_once(v);
	} while (got == 0 && v->by_child && v->n_skipped < DIVERGE_SKIPS);
	const bool better = got == 0 && !v->by_child && d->found == TARE_DIVERGE_POINT &&
			    (d->cause != TARE_DIVERGE_BY_UNKNOWN || v->o->no_cause);
	first.searched = d->searched;
	struct tare_divergence worse = better ? first : *d;
	if (!better)
		*d = first;
	else if (!d->note[0])
		d->note = "SIGCHLD came to another process at another instruction, too, as the time that its children take differs";
	free(worse.steps);
	free(worse.sides[0].frames);
	free(worse.sides[1].frames);
	return got < 0 ? got : 0;
}

static int find(struct diverge *v)
{
	v->stage = TARE_DIVERGE_WHOLE;
	int got = whole_runs(v);
	if (got > 0)
		got = find_often(v);
	return got < 0 || !v->by_child ? got : find_in_children(v);
}

static int check(const struct tare_diverge_options *o, struct tare_why *why)
{
	if (!o->argv || !o->argv[0])
		return why_set(why, TARE_E_INVALID, "no command");
	if (o->runs == 1)
		return why_set(why, TARE_E_INVALID, "1 run: it takes two runs to see them differ");
	return 0;
}

int tare_diverge(const struct tare_diverge_options *given, struct tare_divergence **d, struct tare_why *why)
{
	struct tare_diverge_options options;
	struct diverge v = { .o = &options, .why = why };
	if (!d)
		return why_set(why, TARE_E_INVALID, "no place for the result");
	*d = NULL;
	int err = options_copy(&options, sizeof(options), given, "tare_diverge_options", why);
	if (!err)
		err = check(&options, why);
	if (err)
		return err;
	struct result *const r = calloc(1, sizeof(*r));
	if (!r)
		return why_set(why, TARE_E_NOMEM, "a result");
	v.d = &r->d;
	v.d->note = v.d->cause_text = v.d->last.place = "";
	v.d->sides[0].at.place = v.d->sides[1].at.place = "";
	err = tare_events_parse("instructions,branches,cond-branches,loads,stores", NULL, &v.events, why);
	if (!err)
		err = tare_stop_names_open(&v.names, why);
	if (!err)
		err = find(&v);
	tare_stop_names_close(v.names);
	tare_events_free(v.events);
	diverge_places_free(&v);
	if (err)
		tare_divergence_free(v.d);
	else
		*d = v.d;
	return err;
}
