/* speedscope's file format: per thread the opening and closing of frames in order.
 *
 * The file gives an interval when it ends, and walking backwards gives the points
 * last first. They are put into an unnamed file, 8 bytes each, and read from its
 * end: no memory grows with the events.
 */
#include "event-text.h"

#include "options-copy.h"
#include "why.h"

#include <tare/analysis.h>
#include <tare/version.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK 8192u

/* A point in the unnamed file: its frame << 1 | opens, and above these 32 bits how much later
 * the point was that was put there before. Where one of both has no room, there are three words: the
 * time of the point before, the frame, and WIDE. */
#define MARK_BITS 32
#define WIDE UINT32_MAX

/* What begins all lines that open, or close, one frame. */
struct head {
	uint64_t frame;			/* as in struct mark */
	size_t len;			/* 0: none yet */
	char text[48];
};

#define HEADS 1024u
#define LINE_BYTES 80u			/* at most, with the bytes that are copied along */

struct frame {
	uint64_t start, end;
	uint32_t name;
};

struct scope {
	struct tare_profile *p;
	const struct tare_export_options *o;
	struct sink out;
	struct event_texts texts;
	int spool;
	uint64_t n_words;		/* in the spool */
	uint64_t words[CHUNK];
	size_t n;
	uint64_t at;			/* of the last mark */
	struct frame *stack;
	uint32_t depth, cap;
	uint64_t first, last;
	struct head heads[HEADS];
	struct near_digits near;
	struct tare_why *why;
};

static int write_words(struct scope *s)
{
	const size_t n = s->n;
	s->n = 0;
	s->n_words += n;
	return spool_write(s->spool, s->words, n * sizeof(*s->words), s->why);
}

static inline __attribute__((always_inline)) int put_word(struct scope *s, uint64_t word)
{
	s->words[s->n++] = word;
	return __builtin_expect(s->n == CHUNK, 0) ? write_words(s) : 0;
}

static __attribute__((noinline)) int put_wide(struct scope *s, uint64_t before, uint64_t frame)
{
	int err = put_word(s, before);
	if (err == 0)
		err = put_word(s, frame);
	return err == 0 ? put_word(s, WIDE) : err;
}

static inline __attribute__((always_inline)) int put_mark(struct scope *s, uint64_t at, uint32_t name,
							  bool opens)
{
	const uint64_t frame = (uint64_t)name << 1 | opens, before = s->at, later = before - at;
	s->at = at;
	if (__builtin_expect((later >> (64 - MARK_BITS)) != 0, 0) || __builtin_expect(frame >= WIDE, 0))
		return put_wide(s, before, frame);
	return put_word(s, later << MARK_BITS | frame);
}

static int leave(struct scope *s)
{
	const struct frame *const f = &s->stack[--s->depth];
	return put_mark(s, f->start, f->name, true);
}

static bool grow_stack(struct scope *s)
{
	const uint32_t cap = s->cap ? 2 * s->cap : 64;
	struct frame *const stack = realloc(s->stack, cap * sizeof(*stack));
	if (!stack)
		return false;
	s->stack = stack;
	s->cap = cap;
	return true;
}

static inline __attribute__((always_inline)) int enter(struct scope *s, const struct mm_event *e)
{
	const uint64_t start = e->p1, end = e->p2 < e->p1 ? e->p1 : e->p2;
	while (s->depth) {
		const struct frame *const top = &s->stack[s->depth - 1];
		if (top->start <= start && end <= top->end)
			break;
		s->depth--;
		const int err = put_mark(s, top->start, top->name, true);
		if (__builtin_expect(err < 0, 0))
			return err;
	}
	const uint32_t name = resolve(s->texts.labels, e->id);
	if (__builtin_expect(name == NO_NAME, 0))
		return s->texts.labels->err;
	if (__builtin_expect(s->texts.kinds.slot[kinds_slot(&s->texts.kinds, e->kind)].name == NO_NAME, 0))
		return s->texts.kinds.resolver->err;
	s->first = start < s->first ? start : s->first;
	s->last = end > s->last ? end : s->last;
	if (__builtin_expect(start == end, 0)) {	/* nothing is inside */
		if (is_hole(e))
			return hole_error(s->p, s->why);
		const int err = put_mark(s, end, name, false);
		return err < 0 ? err : put_mark(s, start, name, true);
	}
	if (__builtin_expect(s->depth == s->cap, 0)) {
		if (s->depth > NESTING_MOST)
			return nesting_error(s->p, NESTING_MOST, s->why);
		if (!grow_stack(s))
			return why_set(s->why, TARE_E_NOMEM, "export");
	}
	s->stack[s->depth++] = (struct frame){ start, end, name };
	return put_mark(s, end, name, false);
}

/* A thread with intervals, and the records between which they lie. */
struct place {
	uint32_t thread;
	uint64_t first, end;
};

struct places {
	struct place *list;
	uint32_t n, cap;
};

static int collect(struct scope *s, const struct place *place)
{
	struct walk w;
	struct run run;
	struct tare_profile *const p = s->p;
	int err = 0;
	walk_range(&w, p, true, place->first, place->end);
	while (err == 0 && walk_next(&w, &run)) {
		for (size_t i = run.n; err == 0 && i-- > 0;) {
			struct mm_event e;
			mm_decode(run.records + i * p->record_size, p->wide, &e);
			if (e.thread != place->thread || e.p2 >= MM_INTEGER ||
			    (e.p2 > e.p1 ? e.p2 - e.p1 : 0) < s->o->least)
				continue;
			err = enter(s, &e);
		}
		if (s->o->progress.tell && run.first % (1u << 20) < run.n)
			s->o->progress.tell(s->o->progress.arg, p->info.n_events - run.first,
					    p->info.n_events);
	}
	walk_done(&w);
	while (err == 0 && s->depth)
		err = leave(s);
	return err;
}

/* A line up to its value. */
static const struct head *head_of(struct scope *s, uint64_t frame)
{
	static const char opens[] = ",\n{\"type\":\"O\",\"frame\":";
	static const char closes[] = ",\n{\"type\":\"C\",\"frame\":";
	struct head *const h = &s->heads[frame % HEADS];
	if (__builtin_expect(h->len && h->frame == frame, 1))
		return h;
	char text[24];
	char *const end = text + sizeof(text);
	const char *const number = u64_digits(end, frame >> 1);
	char *at = mempcpy(h->text, frame & 1 ? opens : closes, sizeof(opens) - 1);
	at = mempcpy(at, number, (size_t)(end - number));
	at = mempcpy(at, ",\"at\":", 6);
	h->frame = frame;
	h->len = (size_t)(at - h->text);
	return h;
}

/* Values never go back, even where intervals overlap. */
static void write_line(struct scope *s, uint64_t frame, uint64_t at, bool first)
{
	const struct head *const h = head_of(s, frame);
	char *const line = sink_room(&s->out, LINE_BYTES);
	memcpy(line, h->text, sizeof(h->text));
	char *end = u64_near(&s->near, line + h->len, at);
	*end++ = '}';
	if (__builtin_expect(first, 0)) {
		end -= 2;			/* without the comma and the end of the line before */
		memmove(line, line + 2, (size_t)(end - line));
	}
	sink_filled(&s->out, end);
}

/* The words before those in memory. */
static int read_words(struct scope *s)
{
	s->n = s->n_words < CHUNK ? s->n_words : CHUNK;
	s->n_words -= s->n;
	const size_t bytes = s->n * sizeof(*s->words);
	const ssize_t n = pread(s->spool, s->words, bytes, (off_t)(s->n_words * sizeof(*s->words)));
	return n == (ssize_t)bytes ? 0
	       : why_errno(s->why, TARE_E_IO, n < 0 ? errno : EIO, "temporary file");
}

static inline int take_word(struct scope *s, uint64_t *word)
{
	const int err = __builtin_expect(!s->n, 0) ? read_words(s) : 0;
	*word = err == 0 ? s->words[--s->n] : 0;
	return err;
}

static int write_reversed(struct scope *s)
{
	uint64_t at = s->first, mark_at = s->at, before, frame;
	for (bool first = true; s->n || s->n_words; first = false, mark_at = before) {
		int err = take_word(s, &frame);
		before = mark_at + (frame >> MARK_BITS);
		frame &= UINT32_MAX;
		if (__builtin_expect(frame == WIDE, 0)) {
			err = take_word(s, &frame);
			if (err == 0)
				err = take_word(s, &before);
		}
		if (__builtin_expect(err < 0, 0))
			return err;
		at = mark_at > at ? mark_at : at;
		write_line(s, frame, at, first);
	}
	return 0;
}

static void text(struct scope *s, const char *raw)
{
	struct buf b = { 0 };
	escape_json(&b, raw, strlen(raw));
	sink_add(&s->out, b.data, b.len);
	buf_free(&b);
}

static int one_thread(struct scope *s, const struct place *place, bool *first)
{
	const uint32_t thread = place->thread;
	const char *const name = thread_name(&s->p->info, thread);
	if (lseek(s->spool, 0, SEEK_SET) < 0)
		return why_errno(s->why, TARE_E_IO, errno, "temporary file");
	s->n = 0;
	s->n_words = 0;
	s->at = UINT64_MAX;
	s->first = UINT64_MAX;
	s->last = 0;
	int err = collect(s, place);
	if (err < 0 || s->first == UINT64_MAX)
		return err;
	sink_str(&s->out, *first ? "" : ",\n");
	*first = false;
	sink_str(&s->out, "{\"type\":\"evented\",\"name\":\"thread ");
	sink_u64(&s->out, thread);
	if (name) {
		sink_str(&s->out, " (");
		text(s, name);
		sink_str(&s->out, ")");
	}
	sink_str(&s->out, s->p->info.is_time ? "\",\"unit\":\"nanoseconds\"" : "\",\"unit\":\"none\"");
	sink_str(&s->out, ",\"startValue\":");
	sink_u64(&s->out, s->first);
	sink_str(&s->out, ",\"endValue\":");
	sink_u64(&s->out, s->last);
	sink_str(&s->out, ",\"events\":[\n");
	err = write_reversed(s);
	sink_str(&s->out, "\n]}");
	return err;
}

static bool add_place(struct places *l, uint32_t thread, uint64_t number)
{
	if (l->n == l->cap) {
		const uint32_t cap = l->cap ? 2 * l->cap : 64;
		struct place *const list = realloc(l->list, cap * sizeof(*list));
		if (!list)
			return false;
		l->list = list;
		l->cap = cap;
	}
	l->list[l->n++] = (struct place){ .thread = thread, .first = number };
	return true;
}

static int compare_places(const void *a, const void *b)
{
	const uint32_t x = ((const struct place *)a)->thread, y = ((const struct place *)b)->thread;
	return x < y ? -1 : x > y;
}

/* Threads that have intervals, in the order of their numbers. */
static int thread_list(struct tare_profile *p, struct places *l)
{
	struct threads t = { 0 };
	struct walk w;
	struct run run;
	bool ok = true;
	walk_init(&w, p, false);
	while (ok && walk_next(&w, &run)) {
		for (size_t i = 0; ok && i < run.n; i++) {
			struct mm_event e;
			mm_decode(run.records + i * p->record_size, p->wide, &e);
			if (e.p2 >= MM_INTEGER)
				continue;
			const uint32_t k = threads_index(&t, e.thread);
			ok = k != UINT32_MAX && (k < l->n || add_place(l, e.thread, run.first + i));
			if (ok)
				l->list[k].end = run.first + i + 1;
		}
	}
	walk_done(&w);
	threads_free(&t);
	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), compare_places);
	return ok ? 0 : TARE_E_NOMEM;
}

static int write_all(struct scope *s)
{
	struct places l = { 0 };
	bool first = true;
	int err = thread_list(s->p, &l);
	if (err < 0) {
		free(l.list);
		return why_set(s->why, err, "export");
	}
	sink_str(&s->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			  "\"exporter\":\"tare " TARE_VERSION "\",\n\"name\":\"");
	text(s, s->p->info.path);
	if (*s->p->info.counter) {
		sink_str(&s->out, ", ");
		text(s, s->p->info.counter);
	}
	sink_str(&s->out, "\",\n\"activeProfileIndex\":0,\n\"profiles\":[\n");
	for (uint32_t i = 0; err == 0 && i < l.n; i++)
		err = one_thread(s, &l.list[i], &first);
	sink_str(&s->out, "\n],\n\"shared\":{\"frames\":[\n");
	for (uint32_t i = 0; i < s->texts.names.n; i++) {
		sink_str(&s->out, i ? ",\n{\"name\":\"" : "{\"name\":\"");
		text(s, names_text(&s->texts.names, i));
		sink_str(&s->out, "\"}");
	}
	sink_str(&s->out, "\n]}}\n");
	free(l.list);
	return err;
}

int tare_export_speedscope(struct tare_profile *p, const struct tare_export_options *given,
			   const struct tare_output *out, struct tare_why *why)
{
	struct tare_export_options o;
	int err = options_copy(&o, sizeof(o), given, "tare_export_options", why);
	if (err < 0)
		return err;
	if (!p || !out || !out->write)
		return why_set(why, TARE_E_INVALID, "no profile, or no output given");
	struct scope *const s = calloc(1, sizeof(*s));
	if (!s)
		return why_set(why, TARE_E_NOMEM, "export");
	s->p = p;
	s->o = &o;
	s->why = why;
	s->spool = spool_file(why);
	err = s->spool < 0 ? s->spool : 0;
	if (err == 0)
		err = event_texts_open(&s->texts, p, o.args ? RESOLVE_ARGS : RESOLVE_LABEL, escape_none, why);
	if (err == 0)
		err = sink_open(&s->out, out->write, out->arg, why);
	if (err == 0)
		err = write_all(s);
	const int closed = s->out.data ? sink_close(&s->out, err == 0 ? why : NULL) : 0;
	event_texts_close(&s->texts);
	if (s->spool >= 0)
		close(s->spool);
	free(s->stack);
	free(s);
	return err < 0 ? err : closed;
}
