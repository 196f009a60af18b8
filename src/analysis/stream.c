/* The events of a profile in file order, each with the texts of its kind, label and arguments.
 * Filters by thread and value come first, because they need no text. */
#include "event-text.h"

#include "options-copy.h"
#include "why.h"

#include <tare/analysis.h>

#include <stdlib.h>

_Static_assert(TARE_STREAM_SEPARATOR == MM_SEPARATOR, "the separator of the format");

struct tare_stream {
	struct tare_profile *p;
	struct tare_stream_options o;
	struct event_texts texts;
	struct walk walk;
	struct run run;
	size_t at;			/* the next record of the run */
	struct tare_why why;		/* of the texts: the caller's may be gone by then */
};

int tare_stream_open(struct tare_profile *p, const struct tare_stream_options *given,
		     struct tare_stream **out, struct tare_why *why)
{
	struct tare_stream_options o;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the stream");
	*out = NULL;
	if (!p)
		return why_set(why, TARE_E_INVALID, "no profile given");
	int err = options_copy(&o, sizeof(o), given, "tare_stream_options", why);
	if (err < 0)
		return err;
	struct tare_stream *const s = calloc(1, sizeof(*s));
	if (!s)
		return why_set(why, TARE_E_NOMEM, "%.120s: events", p->path);
	s->p = p;
	s->o = o;
	walk_init(&s->walk, p, false);
	err = event_texts_open(&s->texts, p, RESOLVE_LABEL, escape_none, &s->why);
	if (err < 0) {
		if (why)
			*why = s->why;
		tare_stream_close(s);
		return err;
	}
	*out = s;
	return 0;
}

void tare_stream_close(struct tare_stream *s)
{
	if (!s)
		return;
	walk_done(&s->walk);
	event_texts_close(&s->texts);
	free(s);
}

static inline bool in_range(const struct tare_stream_options *o, const struct mm_event *e)
{
	if (o->one_thread && e->thread != o->thread)
		return false;
	if (!o->from && !o->to)
		return true;
	const uint64_t end = e->p2 < MM_INTEGER && e->p2 > e->p1 ? e->p2 : e->p1;
	return e->p2 != MM_INTEGER && end >= o->from && e->p1 <= o->to;
}

static inline bool has_texts(const struct tare_stream *s, const struct event_text *t)
{
	const struct names *const names = &s->texts.names;
	return (!s->o.kind || strstr(names_text(names, t->kind_number), s->o.kind)) &&
	       (!s->o.label || strstr(names_text(names, t->label_number), s->o.label));
}

static bool next_run(struct tare_stream *s)
{
	const struct tare_progress *const progress = &s->o.progress;
	if (progress->tell && s->run.n && s->run.first % (1u << 20) < s->run.n)
		progress->tell(progress->arg, s->run.first, s->p->info.n_events);
	s->at = 0;
	return walk_next(&s->walk, &s->run);
}

static inline enum tare_profile_type type_of(const struct mm_event *e)
{
	return e->p2 == MM_INSTANT ? TARE_PROFILE_INSTANT
	       : e->p2 == MM_INTEGER ? TARE_PROFILE_INTEGER : TARE_PROFILE_INTERVAL;
}

/* Field by field: there may be very many events, and a compiler builds a whole struct first. */
static inline void fill(struct tare_stream_event *out, const struct mm_event *e,
			const struct event_text *t, uint64_t number)
{
	out->number = number;
	out->type = type_of(e);
	out->thread = e->thread;
	out->start = e->p1;
	out->end = e->p2 < MM_INTEGER ? e->p2 : 0;
	out->kind = t->kind;
	out->label = t->label;
	out->kind_len = t->kind_len;
	out->label_len = t->label_len;
	out->kind_number = t->kind_number;
	out->label_number = t->label_number;
	out->n_args = t->args.n_args;
	out->args = t->args.n_args ? t->args.args : "";
	out->args_len = t->args.n_args ? t->args.args_len : 0;
	for (size_t i = 0; i < sizeof(out->reserved) / sizeof(out->reserved[0]); i++)
		out->reserved[i] = 0;
}

int tare_stream_next(struct tare_stream *s, struct tare_stream_event *out, struct tare_why *why)
{
	if (!s || !out)
		return why_set(why, TARE_E_INVALID, "no stream, or no place for the event given");
	for (;;) {
		struct mm_event e;
		struct event_text t;
		if (__builtin_expect(s->at == s->run.n, 0) && !next_run(s)) {
			s->run.n = 0;
			return 0;
		}
		const size_t i = s->at++;
		mm_decode(s->run.records + i * s->p->record_size, s->p->wide, &e);
		if (!in_range(&s->o, &e))
			continue;
		const int err = event_text(&s->texts, &e, &t);
		if (err < 0) {
			if (why)
				*why = s->why;
			return err;
		}
		if (!has_texts(s, &t))
			continue;
		fill(out, &e, &t, s->run.first + i);
		return 1;
	}
}
