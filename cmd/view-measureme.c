/* Events as measureme's mmview prints them, byte for byte: times in µs since the first. */
#include "view-show.h"

#include "why.h"

static void put_args(struct sink *out, const struct tare_stream_event *e)
{
	for (size_t i = 0; i < e->args_len; i++)
		sink_add(out, e->args[i] == TARE_STREAM_SEPARATOR ? "," : &e->args[i], 1);
}

static void put_event(struct viewer *v, const struct tare_stream_event *e)
{
	struct sink *const out = &v->out;
	const uint64_t since = v->since;
	const uint64_t start = e->start > since ? (e->start - since) / 1000 : 0;
	const uint64_t end = e->end > since ? (e->end - since) / 1000 : 0;
	sink_str(out, "{\n    kind: ");
	sink_add(out, e->kind, e->kind_len);
	sink_str(out, ",\n    label: ");
	sink_add(out, e->label, e->label_len);
	sink_str(out, ",\n    additional_data: [");
	put_args(out, e);
	sink_str(out, "],\n    payload: ");
	sink_u64(out, e->type == TARE_PROFILE_INTEGER ? e->start : start);
	if (e->type != TARE_PROFILE_INTEGER)
		sink_str(out, " μs");
	if (e->type == TARE_PROFILE_INTERVAL) {
		sink_str(out, " - ");
		sink_u64(out, end);
		sink_str(out, " μs");
	}
	sink_str(out, ",\n    thread_id: ");
	sink_u64(out, e->thread);
	sink_str(out, ",\n}\n");
}

/* The smallest start or instant of the file. 1: there is one; 0: no event has a time. */
static int earliest(struct tare_profile *p, uint64_t *since, struct tare_why *why)
{
	struct tare_profile_event e;
	struct tare_profile_cursor *const c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	if (!c)
		return why_set(why, TARE_E_NOMEM, "view");
	int any = 0;
	*since = UINT64_MAX;
	while (tare_profile_next(c, &e)) {
		if (e.type == TARE_PROFILE_INTEGER)
			continue;
		any = 1;
		*since = e.start < *since ? e.start : *since;
	}
	tare_profile_cursor_free(c);
	return any;
}

int view_measureme(struct tare_profile *p, const struct view_show *o, int fd,
		   struct tare_why *why)
{
	struct viewer v = { .put = put_event };
	const int any = earliest(p, &v.since, why);
	if (any <= 0)
		return any < 0 ? any : VIEW_EMPTY;
	return view_with(&v, p, o, fd, why);
}
