/* One line per event, in file order: for spreadsheets and scripts. */
#include "export-show.h"

#include "buf.h"
#include "profiles.h"
#include "sink.h"

#include <string.h>

/* Whether one of 8 bytes is the byte. */
static inline bool has_byte(uint64_t v, unsigned char byte)
{
	const uint64_t ones = 0x0101010101010101ull, x = v ^ (ones * byte);
	return ((x - ones) & ~x & 0x80 * ones) != 0;
}

static bool wants_quotes(const char *text, size_t len)
{
	size_t i = 0;
	for (; i + 8 <= len; i += 8) {
		uint64_t v;
		memcpy(&v, text + i, 8);
		if (has_byte(v, '"') || has_byte(v, ',') || has_byte(v, '\n') || has_byte(v, '\r'))
			return true;
	}
	for (; i < len; i++)
		if (text[i] == '"' || text[i] == ',' || text[i] == '\n' || text[i] == '\r')
			return true;
	return false;
}

/* RFC 4180: quoted where it must be. */
static void put_field(struct sink *out, const char *text, size_t len)
{
	if (!wants_quotes(text, len)) {
		sink_add(out, text, len);
		return;
	}
	sink_add(out, "\"", 1);
	for (size_t i = 0; i < len; i++)
		sink_add(out, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
	sink_add(out, "\"", 1);
}

/* The arguments are one field, with "; " between them. */
static void put_args(struct sink *out, const struct tare_stream_event *e, struct buf *scratch)
{
	scratch->len = 0;
	for (size_t i = 0; i < e->args_len; i++) {
		if (e->args[i] == TARE_STREAM_SEPARATOR)
			buf_str(scratch, "; ");
		else
			buf_chr(scratch, e->args[i]);
	}
	if (scratch->len && !buf_failed(scratch))
		put_field(out, scratch->data, scratch->len);
}

static void put_values(struct sink *out, const struct tare_stream_event *e)
{
	switch (e->type) {
	case TARE_PROFILE_INTERVAL:
		sink_u64(out, e->start);
		sink_add(out, ",", 1);
		sink_u64(out, e->end);
		sink_add(out, ",", 1);
		sink_u64(out, e->end > e->start ? e->end - e->start : 0);
		sink_add(out, ",", 1);
		break;
	case TARE_PROFILE_INSTANT:
		sink_u64(out, e->start);
		sink_add(out, ",,,", 3);
		break;
	case TARE_PROFILE_INTEGER:
		sink_add(out, ",,,", 3);
		sink_u64(out, e->start);
		break;
	}
	sink_add(out, "\n", 1);
}

static void put_event(struct sink *out, const struct tare_stream_event *e, struct buf *scratch)
{
	static const char *const types[] = {
		[TARE_PROFILE_INTERVAL] = ",interval,", [TARE_PROFILE_INSTANT] = ",instant,",
		[TARE_PROFILE_INTEGER] = ",integer,",
	};
	sink_u64(out, e->thread);
	sink_str(out, types[e->type]);
	put_field(out, e->kind, e->kind_len);
	sink_add(out, ",", 1);
	put_field(out, e->label, e->label_len);
	sink_add(out, ",", 1);
	if (e->n_args)
		put_args(out, e, scratch);
	sink_add(out, ",", 1);
	put_values(out, e);
}

int export_csv(struct tare_profile *p, const struct export_csv *o, int fd, struct tare_why *why)
{
	const struct tare_stream_options so = TARE_OPTIONS(stream, .progress = o->progress);
	struct tare_stream *s;
	struct tare_stream_event e;
	struct sink out;
	struct buf scratch = { 0 };
	int err = tare_stream_open(p, &so, &s, why);
	if (err < 0)
		return err;
	err = sink_open(&out, fd_write, &fd, why);
	if (err == 0)
		sink_str(&out, "thread,type,kind,label,arguments,start,end,duration,value\n");
	while (err == 0 && !out.sys_errno && (err = tare_stream_next(s, &e, why)) > 0) {
		err = 0;
		if (e.type == TARE_PROFILE_INTERVAL && o->least &&
		    (e.end > e.start ? e.end - e.start : 0) < o->least)
			continue;
		put_event(&out, &e, &scratch);
	}
	const int closed = out.data ? sink_close(&out, err < 0 ? NULL : why) : 0;
	tare_stream_close(s);
	buf_free(&scratch);
	return err < 0 ? err : closed;
}
