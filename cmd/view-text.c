/* One line per event, in file order, for people. */
#include "view-show.h"

#include "profiles.h"

#include <string.h>

static void put_args(struct sink *out, const struct tare_stream_event *e)
{
	const char *at = e->args;
	const char *const end = at + e->args_len;
	for (unsigned i = 0; i < e->n_args; i++) {
		const char *const next = memchr(at, TARE_STREAM_SEPARATOR, (size_t)(end - at));
		if (i)
			sink_str(out, ", ");
		sink_line(out, at, (size_t)((next ? next : end) - at));
		at = next ? next + 1 : end;
	}
}

static uint64_t duration(const struct tare_stream_event *e)
{
	return e->end > e->start ? e->end - e->start : 0;
}

/* The columns of a line before the names, where every number fits: numbers are written into
 * spaces from their right ends. */
#define HEAD "          thread     interval                                                   "
enum { NUMBER_END = 8, THREAD_AT = 17, TYPE_AT = 21, START_END = 46, END_END = 63, LENGTH_END = 78 };

static bool put_head(struct sink *out, const struct tare_stream_event *e)
{
	char line[sizeof(HEAD)] = HEAD;
	const uint64_t most = 100000000000000ull;		/* 14 digits */
	if (e->number >= 100000000 || e->thread >= 10 || e->start >= most || e->end >= most)
		return false;
	u64_digits(line + NUMBER_END, e->number);
	line[THREAD_AT] = (char)('0' + e->thread);
	u64_digits(line + START_END, e->start);
	if (e->type == TARE_PROFILE_INTERVAL) {
		u64_digits(line + END_END, e->end);
		u64_digits(line + LENGTH_END, duration(e));
	} else {
		memcpy(line + TYPE_AT, e->type == TARE_PROFILE_INTEGER ? "integer " : "instant ", 8);
	}
	sink_add(out, line, LENGTH_END + 2);
	return true;
}

static void put_wide_head(struct sink *out, const struct tare_stream_event *e)
{
	static const char blank[] = "                                ";
	static const char *const types[] = {
		[TARE_PROFILE_INTERVAL] = " interval ", [TARE_PROFILE_INSTANT] = " instant  ",
		[TARE_PROFILE_INTEGER] = " integer  ",
	};
	sink_u64_right(out, e->number, 8);
	sink_str(out, "  thread ");
	sink_u64_left(out, e->thread, 3);
	sink_str(out, types[e->type]);
	sink_u64_right(out, e->start, 16);
	if (e->type == TARE_PROFILE_INTERVAL) {
		sink_str(out, " ");
		sink_u64_right(out, e->end, 16);
		sink_str(out, " ");
		sink_u64_right(out, duration(e), 14);
	} else {
		sink_add(out, blank, 1 + 16 + 1 + 14);
	}
	sink_str(out, "  ");
}

static bool is_plain(const char *text, size_t len)
{
	return !memchr(text, '\n', len) && !memchr(text, '\r', len);
}

static inline void put_text(struct viewer *v, uint32_t number, const char *text, size_t len)
{
	if (text_is_plain(&v->marks, number, text, len))
		sink_add(&v->out, text, len);
	else
		sink_line(&v->out, text, len);
}

static void put_event(struct viewer *v, const struct tare_stream_event *e)
{
	struct sink *const out = &v->out;
	if (!put_head(out, e))
		put_wide_head(out, e);
	put_text(v, e->kind_number, e->kind, e->kind_len);
	sink_add(out, "  ", 2);
	put_text(v, e->label_number, e->label, e->label_len);
	if (e->n_args) {
		sink_add(out, "(", 1);
		put_args(out, e);
		sink_add(out, ")", 1);
	}
	sink_add(out, "\n", 1);
}

int view_with(struct viewer *v, struct tare_profile *p, const struct view_show *o, int fd,
	      struct tare_why *why)
{
	uint64_t seen = 0, shown = 0;
	struct tare_stream *s;
	struct tare_stream_event e;
	int err = tare_stream_open(p, &o->events, &s, why);
	if (err < 0)
		return err;
	err = sink_open(&v->out, fd_write, &fd, why);
	while (err == 0 && !v->out.sys_errno && (!o->count || shown < o->count) &&
	       (err = tare_stream_next(s, &e, why)) > 0) {
		err = 0;
		if (seen++ < o->skip)
			continue;
		v->put(v, &e);
		shown++;
	}
	const int closed = v->out.data ? sink_close(&v->out, err < 0 ? NULL : why) : 0;
	tare_stream_close(s);
	return err < 0 ? err : closed;
}

int view_text(struct tare_profile *p, const struct view_show *o, int fd, struct tare_why *why)
{
	struct viewer v = { .put = put_event, .marks = { is_plain } };
	const int err = view_with(&v, p, o, fd, why);
	text_marks_free(&v.marks);
	return err;
}
