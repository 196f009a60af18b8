/* Trace event JSON, as Perfetto and chrome://tracing load it.
 *
 * Times there are microseconds. A nanosecond keeps its place as a decimal; of any
 * other counter one count is shown as one nanosecond, so that us, ms and s read as
 * thousands, millions and billions of it. "otherData" says so.
 */
#include "event-text.h"

#include "json.h"
#include "options-copy.h"
#include "why.h"

#include <tare/analysis.h>
#include <tare/version.h>

#include <stdio.h>
#include <stdlib.h>

struct chrome {
	struct sink out;
	const struct tare_export_options *o;
	bool crox;			/* as measureme's crox writes it */
	bool first;			/* no comma yet */
	uint64_t epoch_ns;		/* the earliest start of all profiles */
	struct buf scratch;
	uint32_t *order;		/* see crox_order */
	unsigned ordered;		/* of how many arguments that is */
	struct tare_why *why;
};

/* Threads whose values do not overlap share a number. */
struct collapsed {
	struct threads threads;
	uint64_t *start, *end;
	uint32_t *number;		/* by thread index */
};

static int note_range(struct collapsed *c, uint32_t thread, uint64_t from, uint64_t to)
{
	const uint32_t before = c->threads.n;
	const uint32_t t = threads_index(&c->threads, thread);
	if (t == UINT32_MAX)
		return TARE_E_NOMEM;
	if (t == before) {
		uint64_t *const start = realloc(c->start, (t + 1) * sizeof(*start));
		if (start)
			c->start = start;
		uint64_t *const end = realloc(c->end, (t + 1) * sizeof(*end));
		if (end)
			c->end = end;
		if (!start || !end)
			return TARE_E_NOMEM;
		start[t] = from;
		end[t] = to;
	}
	c->start[t] = from < c->start[t] ? from : c->start[t];
	c->end[t] = to > c->end[t] ? to : c->end[t];
	return 0;
}

static int note_ranges(struct collapsed *c, struct tare_profile *p)
{
	struct walk w;
	struct run run;
	int err = 0;
	walk_init(&w, p, false);
	while (err == 0 && walk_next(&w, &run)) {
		for (size_t i = 0; err == 0 && i < run.n; i++) {
			struct mm_event e;
			mm_decode(run.records + i * p->record_size, p->wide, &e);
			if (e.p2 == MM_INTEGER)
				continue;
			const uint64_t end = e.p2 == MM_INSTANT || e.p2 < e.p1 ? e.p1 : e.p2;
			err = note_range(c, e.thread, e.p1, end);
		}
	}
	walk_done(&w);
	return err;
}

struct by_key {
	uint64_t key;
	uint32_t id, index;
};

static int compare_keys(const void *a, const void *b)
{
	const struct by_key *const x = a, *const y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Threads by start; a cursor over threads by end: whoever starts after the cursor's
 * end takes over its number. */
static int assign_numbers(struct collapsed *c)
{
	const uint32_t n = c->threads.n;
	struct by_key *const starts = malloc((n + 1) * sizeof(*starts));
	struct by_key *const ends = malloc((n + 1) * sizeof(*ends));
	c->number = calloc(n + 1, sizeof(*c->number));
	if (!starts || !ends || !c->number) {
		free(starts);
		free(ends);
		return TARE_E_NOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		starts[i] = (struct by_key){ c->start[i], c->threads.ids[i], i };
		ends[i] = (struct by_key){ c->end[i], c->threads.ids[i], i };
	}
	qsort(starts, n, sizeof(*starts), compare_keys);
	qsort(ends, n, sizeof(*ends), compare_keys);
	uint32_t cursor = 0, next = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (starts[i].key > ends[cursor].key)
			c->number[starts[i].index] = c->number[ends[cursor++].index];
		else
			c->number[starts[i].index] = next++;
	}
	free(starts);
	free(ends);
	return 0;
}

static void collapsed_free(struct collapsed *c)
{
	threads_free(&c->threads);
	free(c->start);
	free(c->end);
	free(c->number);
}

static inline void begin_event(struct chrome *c)
{
	if (!c->first)
		sink_add(&c->out, c->crox ? "," : ",\n", c->crox ? 1 : 2);
	c->first = false;
}

/* crox keeps arguments in Rust's HashMap with rustc-hash 1, and writes them in the order of
 * its table: hash of "argN", then the first free place from there on; a table of less than 16
 * places goes on from its first. Checked against rustc 1.95 for 1 to 39 arguments. */
static uint64_t fx_add(uint64_t hash, uint64_t v)
{
	return ((hash << 5 | hash >> 59) ^ v) * 0x517CC1B727220A95ull;
}

static uint64_t fx_hash(const char *text, size_t len)
{
	uint64_t hash = 0;
	for (size_t width = 8; width; width /= 2)
		while (len >= width) {
			uint64_t v = 0;
			memcpy(&v, text, width);	/* little-endian */
			hash = fx_add(hash, v);
			text += width;
			len -= width;
		}
	return fx_add(hash, 0xFF);
}

/* The numbers of n arguments in that order; NULL: out of memory. */
static const uint32_t *crox_order(struct chrome *c, unsigned n)
{
	uint32_t places = n < 4 ? 4 : 8;
	if (c->ordered == n)
		return c->order;
	while (places / 8 * 7 < n && n > 3)
		places *= 2;
	uint32_t *const table = calloc(places, sizeof(*table));
	uint32_t *const order = realloc(c->order, n * sizeof(*order));
	c->order = order ? order : c->order;
	for (uint32_t i = 0; table && i < n; i++) {
		char key[16];
		const int len = snprintf(key, sizeof(key), "arg%u", i);
		uint32_t at = (uint32_t)(fx_hash(key, (size_t)len) & (places - 1));
		while (table[at])
			at = (at + 1) & (places - 1);
		table[at] = i + 1;
	}
	for (uint32_t at = 0, k = 0; table && order && at < places; at++)
		if (table[at])
			order[k++] = table[at] - 1;
	c->ordered = table && order ? n : 0;
	free(table);
	return c->ordered ? order : NULL;
}

static void put_args(struct chrome *c, const struct event_text *n)
{
	if (!n->args.n_args) {
		if (c->crox)
			sink_str(&c->out, ",\"args\":null}");
		else
			sink_add(&c->out, "}", 1);
		return;
	}
	sink_str(&c->out, ",\"args\":{");
	const uint32_t *const order = c->crox ? crox_order(c, n->args.n_args) : NULL;
	for (unsigned i = 0; i < n->args.n_args; i++) {
		size_t len;
		const unsigned number = order ? order[i] : i;
		const char *const text = event_text_arg(n, number, &len);
		c->scratch.len = 0;
		buf_printf(&c->scratch, "%s\"arg%u\":\"", i ? "," : "", number);
		escape_json(&c->scratch, text, len);
		buf_chr(&c->scratch, '"');
		sink_add(&c->out, c->scratch.data, c->scratch.len);
	}
	sink_str(&c->out, "}}");
}

struct source {
	struct tare_profile *p;
	struct event_texts texts;
	struct collapsed collapsed;
	uint64_t offset;		/* added to every value */
	char tail[48];			/* ,"pid":N,"tid": */
	size_t tail_len;
};

static inline uint32_t thread_number(struct chrome *c, struct source *s, uint32_t id)
{
	if (!c->o->collapse_threads)
		return id;
	return s->collapsed.number[threads_index(&s->collapsed.threads, id)];
}

#define PUT(out, text) sink_add(out, text, sizeof(text) - 1)

static inline int put_event(struct chrome *c, struct source *s, const struct mm_event *e)
{
	const bool instant = e->p2 == MM_INSTANT;
	const uint64_t end = instant || e->p2 < e->p1 ? e->p1 : e->p2;
	const uint64_t d = end - e->p1;
	if (instant ? !c->o->instants || c->crox
		    : c->crox ? d / 1000 < c->o->least / 1000 : d < c->o->least)
		return 0;
	struct event_text n;
	const int err = event_text(&s->texts, e, &n);
	if (err < 0)
		return err;
	struct sink *const out = &c->out;
	begin_event(c);
	PUT(out, "{\"name\":\"");
	sink_add(out, n.label, n.label_len);
	PUT(out, "\",\"cat\":\"");
	sink_add(out, n.kind, n.kind_len);
	if (instant)
		PUT(out, "\",\"ph\":\"i\",\"s\":\"t\",\"ts\":");
	else
		PUT(out, "\",\"ph\":\"X\",\"ts\":");
	if (c->crox)
		sink_u64(out, (s->offset + e->p1) / 1000);
	else
		sink_milli(out, s->offset + e->p1);
	if (!instant) {
		PUT(out, ",\"dur\":");
		if (c->crox)
			sink_u64(out, d / 1000);
		else
			sink_milli(out, d);
	}
	sink_add(out, s->tail, s->tail_len);
	sink_u64(out, thread_number(c, s, e->thread));
	put_args(c, &n);
	return 0;
}

static int all_events(struct chrome *c, struct source *s)
{
	struct walk w;
	struct run run;
	struct tare_profile *const p = s->p;
	int err = 0;
	walk_init(&w, p, false);
	/* sink_close() returns the error of the output. */
	while (err == 0 && !c->out.sys_errno && walk_next(&w, &run)) {
		for (size_t i = 0; err == 0 && i < run.n; i++) {
			struct mm_event e;
			mm_decode(run.records + i * p->record_size, p->wide, &e);
			if (e.p2 == MM_INTEGER)
				continue;
			err = put_event(c, s, &e);
		}
		if (c->o->progress.tell && run.first % (1u << 20) < run.n)
			c->o->progress.tell(c->o->progress.arg, run.first, p->info.n_events);
	}
	walk_done(&w);
	return err;
}

/* The crate's name in rustc's command, or the program's. */
static const char *process_name(const struct tare_profile_info *i, bool crox, size_t *len)
{
	const char *const crate = strstr(i->cmd, " --crate-name ");
	if (crate) {
		*len = strcspn(crate + 14, " ");
		return crate + 14;
	}
	if (crox)
		return NULL;
	const char *start = i->cmd;
	*len = strcspn(start, " ");
	for (const char *s = start; s < i->cmd + *len; s++)
		if (*s == '/')
			start = s + 1;
	*len -= (size_t)(start - i->cmd);
	return *len ? start : NULL;
}

static void crox_metadata(struct chrome *c, const struct tare_profile_info *i)
{
	size_t len;
	const char *const name = process_name(i, true, &len);
	c->scratch.len = 0;
	if (name) {
		buf_str(&c->scratch, ",{\"args\":{\"name\":\"");
		escape_json(&c->scratch, name, len);
		buf_printf(&c->scratch, "\"},\"cat\":\"\",\"name\":\"process_name\",\"ph\":\"M\","
			   "\"pid\":%u,\"tid\":0,\"ts\":0}", i->process_id);
	}
	buf_printf(&c->scratch, ",{\"args\":{\"sort_index\":%llu},\"cat\":\"\",\"name\":"
		   "\"process_sort_index\",\"ph\":\"M\",\"pid\":%u,\"tid\":0,\"ts\":0}",
		   (unsigned long long)(i->start_time_ns / 1000), i->process_id);
	sink_add(&c->out, c->scratch.data + c->first, c->scratch.len - c->first);
	c->first = false;
}

static void metadata_event(struct chrome *c, const struct tare_profile_info *i,
			   const char *what, uint32_t tid, const char *name, size_t len)
{
	begin_event(c);
	c->scratch.len = 0;
	buf_printf(&c->scratch, "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"",
		   what, i->process_id, tid);
	escape_json(&c->scratch, name, len);
	buf_str(&c->scratch, "\"}}");
	sink_add(&c->out, c->scratch.data, c->scratch.len);
}

static void own_metadata(struct chrome *c, const struct tare_profile_info *i)
{
	size_t len;
	const char *const name = process_name(i, false, &len);
	struct buf title = { 0 };
	if (name)
		buf_add(&title, name, len);
	if (*i->counter)
		buf_printf(&title, "%s%s", title.len ? ", " : "", i->counter);
	if (!i->is_time)
		buf_printf(&title, " (1 ns = 1 %s)", *i->unit ? i->unit : "count");
	if (title.len)
		metadata_event(c, i, "process_name", 0, title.data, title.len);
	buf_free(&title);
	for (size_t k = 0; k < i->n_threads && !c->o->collapse_threads; k++)
		metadata_event(c, i, "thread_name", i->threads[k].id, i->threads[k].name,
			       strlen(i->threads[k].name));
}

static int one_profile(struct chrome *c, struct tare_profile *p)
{
	struct source s = { .p = p };
	const struct tare_profile_info *const i = &p->info;
	s.offset = c->crox ? i->start_time_ns
		   : i->is_time && i->has_metadata ? i->start_time_ns - c->epoch_ns : 0;
	s.tail_len = (size_t)snprintf(s.tail, sizeof(s.tail), ",\"pid\":%u,\"tid\":", i->process_id);
	int err = event_texts_open(&s.texts, p, RESOLVE_LABEL, escape_json, c->why);
	if (err == 0 && c->o->collapse_threads) {
		err = note_ranges(&s.collapsed, p);
		if (err == 0)
			err = assign_numbers(&s.collapsed);
		if (err < 0)
			why_set(c->why, err, "%.120s: threads", p->path);
	}
	if (err == 0 && !c->crox)
		own_metadata(c, i);
	if (err == 0)
		err = all_events(c, &s);
	if (err == 0 && c->crox)
		crox_metadata(c, i);
	collapsed_free(&s.collapsed);
	event_texts_close(&s.texts);
	return err;
}

static void own_tail(struct chrome *c, struct tare_profile **p, size_t n)
{
	struct buf b = { 0 };
	struct json j = { .out = &b };
	sink_str(&c->out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":");
	json_object(&j, NULL);
	json_str(&j, "exporter", "tare " TARE_VERSION);
	for (size_t i = 0; i < n; i++) {
		const struct tare_profile_info *const info = &p[i]->info;
		char key[32];
		snprintf(key, sizeof(key), "profile %zu", i + 1);
		json_object(&j, key);
		json_str(&j, "file", info->path);
		json_str(&j, "counter", info->counter);
		json_str(&j, "unit", info->unit);
		json_str(&j, "scale", info->is_time ? "real time" : "1 ns is 1 count");
		json_str(&j, "axis", info->own_axis_per_thread
				     ? "each thread's values start at its own 0" : "one for all threads");
		json_str(&j, "command", info->cmd);
		json_end(&j);
	}
	json_end(&j);
	buf_str(&b, "}\n");
	sink_add(&c->out, b.data, b.len);
	buf_free(&b);
}

int tare_export_chrome(struct tare_profile **p, size_t n, const struct tare_export_options *given,
		       const struct tare_output *out, struct tare_why *why)
{
	struct tare_export_options o;
	int err = options_copy(&o, sizeof(o), given, "tare_export_options", why);
	if (err < 0)
		return err;
	if (!p || !out || !out->write)
		return why_set(why, TARE_E_INVALID, "no profiles, or no output given");
	struct chrome c = { .o = &o, .crox = o.dialect == TARE_EXPORT_CROX,
			     .first = true, .why = why, .epoch_ns = UINT64_MAX };
	err = sink_open(&c.out, out->write, out->arg, why);
	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++)
		if (p[i]->info.has_metadata && p[i]->info.start_time_ns < c.epoch_ns)
			c.epoch_ns = p[i]->info.start_time_ns;
	sink_str(&c.out, c.crox ? "[" : "{\"traceEvents\":[\n");
	for (size_t i = 0; err == 0 && i < n; i++)
		err = one_profile(&c, p[i]);
	if (err == 0 && c.crox)
		sink_str(&c.out, "]");
	else if (err == 0)
		own_tail(&c, p, n);
	const int closed = sink_close(&c.out, err == 0 ? why : NULL);
	if (err == 0 && buf_failed(&c.scratch))
		err = why_set(why, TARE_E_NOMEM, "export");
	buf_free(&c.scratch);
	free(c.order);
	return err < 0 ? err : closed;
}
