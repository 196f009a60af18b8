/* One line per event, in file order: for spreadsheets and scripts. */
#include "export-show.h"

#include "buf.h"
#include "profiles.h"
#include "sink.h"
#include "text-marks.h"
#include "why.h"

#include <string.h>

struct csv {
	struct text_marks marks;
	struct sink out;
	struct buf scratch;
};

/* RFC 4180: these need quotes. */
static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '"' || text[i] == ',' || text[i] == '\n' || text[i] == '\r')
			return false;
	return true;
}

static void put_quoted(struct sink *out, const char *text, size_t len)
{
	sink_add(out, "\"", 1);
	for (size_t i = 0; i < len; i++)
		sink_add(out, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
	sink_add(out, "\"", 1);
}

static inline void put_text(struct csv *c, uint32_t number, const char *text, size_t len)
{
	if (text_is_plain(&c->marks, number, text, len))
		sink_add(&c->out, text, len);
	else
		put_quoted(&c->out, text, len);
}

/* The arguments are one field, with "; " between them. */
static void put_args(struct csv *c, const struct tare_stream_event *e)
{
	struct buf *const scratch = &c->scratch;
	scratch->len = 0;
	for (size_t i = 0; i < e->args_len; i++) {
		if (e->args[i] == TARE_STREAM_SEPARATOR)
			buf_str(scratch, "; ");
		else
			buf_chr(scratch, e->args[i]);
	}
	if (is_plain(scratch->data, scratch->len))
		sink_add(&c->out, scratch->data, scratch->len);
	else
		put_quoted(&c->out, scratch->data, scratch->len);
}

/* Numbers are made from their last digit on, and so are the fields with numbers. */
static char *field_before(char *at, uint64_t value)
{
	at = u64_digits(at, value);
	*--at = ',';
	return at;
}

static char *empty_before(char *at, size_t n)
{
	return memset(at - n, ',', n);
}

/* start, end, duration and value. */
static void put_values(struct sink *out, const struct tare_stream_event *e)
{
	char line[128];
	char *const end = line + sizeof(line);
	char *at = end;
	*--at = '\n';
	switch (e->type) {
	case TARE_PROFILE_INTERVAL:
		at = empty_before(at, 1);
		at = field_before(at, e->end > e->start ? e->end - e->start : 0);
		at = field_before(at, e->end);
		at = field_before(at, e->start);
		break;
	case TARE_PROFILE_INSTANT:
		at = empty_before(at, 3);
		at = field_before(at, e->start);
		break;
	case TARE_PROFILE_INTEGER:
		at = field_before(at, e->start);
		at = empty_before(at, 3);
		break;
	}
	sink_add(out, at, (size_t)(end - at));
}

static void put_head(struct sink *out, const struct tare_stream_event *e)
{
	static const struct { char text[12]; size_t len; } types[] = {
		[TARE_PROFILE_INTERVAL] = { ",interval,", 10 },
		[TARE_PROFILE_INSTANT] = { ",instant,", 9 },
		[TARE_PROFILE_INTEGER] = { ",integer,", 9 },
	};
	char line[32];
	char *const type = line + 16;
	memcpy(type, types[e->type].text, sizeof(types[0].text));
	const char *const at = u64_digits(type, e->thread);
	sink_add(out, at, (size_t)(type - at) + types[e->type].len);
}

static void put_event(struct csv *c, const struct tare_stream_event *e)
{
	put_head(&c->out, e);
	put_text(c, e->kind_number, e->kind, e->kind_len);
	sink_add(&c->out, ",", 1);
	put_text(c, e->label_number, e->label, e->label_len);
	sink_add(&c->out, ",", 1);
	if (e->args_len)
		put_args(c, e);
	put_values(&c->out, e);
}

int export_csv(struct tare_profile *p, const struct export_csv *o, int fd, struct tare_why *why)
{
	const struct tare_stream_options so = TARE_OPTIONS(stream, .progress = o->progress);
	struct tare_stream *s;
	struct tare_stream_event e;
	struct csv c = { .marks = { is_plain } };
	int err = tare_stream_open(p, &so, &s, why);
	if (err < 0)
		return err;
	err = sink_open(&c.out, fd_write, &fd, why);
	if (err == 0)
		sink_str(&c.out, "thread,type,kind,label,arguments,start,end,duration,value\n");
	while (err == 0 && !c.out.sys_errno && (err = tare_stream_next(s, &e, why)) > 0) {
		err = 0;
		if (e.type == TARE_PROFILE_INTERVAL && o->least &&
		    (e.end > e.start ? e.end - e.start : 0) < o->least)
			continue;
		put_event(&c, &e);
	}
	if (err == 0 && buf_failed(&c.scratch))
		err = why_set(why, TARE_E_NOMEM, "export");
	const int closed = c.out.data ? sink_close(&c.out, err < 0 ? NULL : why) : 0;
	tare_stream_close(s);
	text_marks_free(&c.marks);
	buf_free(&c.scratch);
	return err < 0 ? err : closed;
}
