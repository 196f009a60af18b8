/* One line per event, in file order: for spreadsheets and scripts; and `view`, for
 * people. */
#include "namer.h"

#include "why.h"

#include <tare/analysis.h>

#include <inttypes.h>
#include <stdlib.h>

struct listing {
	struct tare_profile *p;
	struct sink out;
	struct namer namer;
	struct buf scratch;
	struct tare_why *why;
};

static const char *type_name(const struct mm_event *e)
{
	return e->p2 == MM_INSTANT ? "instant" : e->p2 == MM_INTEGER ? "integer" : "interval";
}

static int csv_line(struct listing *l, const struct mm_event *e)
{
	struct named n;
	struct sink *const out = &l->out;
	const int err = namer_event(&l->namer, e, &n);
	if (err < 0)
		return err;
	sink_u64(out, e->thread);
	sink_str(out, ",");
	sink_str(out, type_name(e));
	sink_str(out, ",");
	sink_add(out, n.kind, n.kind_len);
	sink_str(out, ",");
	sink_add(out, n.label, n.label_len);
	sink_str(out, ",");
	l->scratch.len = 0;
	for (unsigned i = 0; i < n.args.n_args; i++) {
		size_t len;
		const char *const arg = named_arg(&n, i, &len);
		buf_str(&l->scratch, i ? "; " : "");
		buf_add(&l->scratch, arg, len);
	}
	if (l->scratch.len) {
		struct buf quoted = { 0 };
		escape_csv(&quoted, l->scratch.data, l->scratch.len);
		sink_add(out, quoted.data, quoted.len);
		buf_free(&quoted);
	}
	sink_str(out, ",");
	if (e->p2 == MM_INTEGER) {
		sink_str(out, ",,,");
		sink_u64(out, e->p1);
	} else {
		sink_u64(out, e->p1);
		sink_str(out, ",");
		if (e->p2 != MM_INSTANT) {
			sink_u64(out, e->p2);
			sink_str(out, ",");
			sink_u64(out, e->p2 > e->p1 ? e->p2 - e->p1 : 0);
		} else {
			sink_str(out, ",");
		}
		sink_str(out, ",");
	}
	sink_str(out, "\n");
	return 0;
}

static int listing_open(struct listing *l, struct tare_profile *p, int fd,
			void (*escape)(struct buf *, const char *, size_t), struct tare_why *why)
{
	*l = (struct listing){ .p = p, .why = why };
	int err = sink_open(&l->out, fd, why);
	if (err == 0)
		err = namer_open(&l->namer, p, RESOLVE_LABEL, escape, why);
	return err;
}

static int listing_close(struct listing *l, int err)
{
	const int closed = l->out.data ? sink_close(&l->out, err == 0 ? l->why : NULL) : 0;
	namer_close(&l->namer);
	buf_free(&l->scratch);
	return err < 0 ? err : closed;
}

int tare_export_csv(struct tare_profile *p, const struct tare_export_opts *o, int fd,
		    struct tare_why *why)
{
	struct listing l;
	struct walk w;
	struct run run;
	int err = listing_open(&l, p, fd, escape_csv, why);
	if (err == 0)
		sink_str(&l.out, "thread,type,kind,label,arguments,start,end,duration,value\n");
	walk_init(&w, p, false);
	while (err == 0 && !l.out.sys_errno && walk_next(&w, &run)) {
		for (size_t i = 0; err == 0 && i < run.n; i++) {
			struct mm_event e;
			mm_decode(run.records + i * p->record_size, p->wide, &e);
			if (e.p2 < MM_INTEGER && o->least && (e.p2 > e.p1 ? e.p2 - e.p1 : 0) < o->least)
				continue;
			err = csv_line(&l, &e);
		}
		if (o->progress.tell && run.first % (1u << 20) < run.n)
			o->progress.tell(o->progress.arg, run.first, p->info.n_events);
	}
	walk_done(&w);
	return listing_close(&l, err);
}

static bool matches(const struct tare_view_opts *o, const struct mm_event *e,
		    const struct named *n)
{
	if (o->one_thread && e->thread != o->thread)
		return false;
	if (o->from || o->to) {
		const uint64_t end = e->p2 < MM_INTEGER && e->p2 > e->p1 ? e->p2 : e->p1;
		if (e->p2 == MM_INTEGER || end < o->from || e->p1 > o->to)
			return false;
	}
	return (!o->kind || strstr(n->kind, o->kind)) && (!o->label || strstr(n->label, o->label));
}

static void join_args(struct listing *l, const struct named *n, const char *between)
{
	l->scratch.len = 0;
	for (unsigned i = 0; i < n->args.n_args; i++) {
		size_t len;
		const char *const arg = named_arg(n, i, &len);
		buf_str(&l->scratch, i ? between : "");
		buf_add(&l->scratch, arg, len);
	}
}

static void view_line(struct listing *l, const struct mm_event *e, const struct named *n,
		      uint64_t number)
{
	struct buf b = { 0 };
	buf_printf(&b, "%8" PRIu64 "  thread %-3u ", number, e->thread);
	if (e->p2 == MM_INTEGER)
		buf_printf(&b, "integer  %16" PRIu64 " %16s %14s", e->p1, "", "");
	else if (e->p2 == MM_INSTANT)
		buf_printf(&b, "instant  %16" PRIu64 " %16s %14s", e->p1, "", "");
	else
		buf_printf(&b, "interval %16" PRIu64 " %16" PRIu64 " %14" PRIu64, e->p1, e->p2,
			   e->p2 > e->p1 ? e->p2 - e->p1 : 0);
	buf_printf(&b, "  %s  ", n->kind);
	buf_add(&b, n->label, n->label_len);
	if (n->args.n_args) {
		join_args(l, n, ", ");
		buf_chr(&b, '(');
		buf_add(&b, l->scratch.data, l->scratch.len);
		buf_chr(&b, ')');
	}
	for (size_t i = 0; i < b.len; i++)	/* one event, one line */
		if (b.data[i] == '\n' || b.data[i] == '\r')
			b.data[i] = ' ';
	buf_chr(&b, '\n');
	sink_add(&l->out, b.data, b.len);
	buf_free(&b);
}

static void mmview_block(struct listing *l, const struct mm_event *e, const struct named *n,
			 uint64_t since)
{
	struct buf b = { 0 };
	buf_printf(&b, "{\n    kind: %s,\n    label: ", n->kind);
	buf_add(&b, n->label, n->label_len);
	buf_str(&b, ",\n    additional_data: [");
	join_args(l, n, ",");
	buf_add(&b, l->scratch.data, l->scratch.len);
	buf_str(&b, "],\n    payload: ");
	const uint64_t start = e->p1 > since ? (e->p1 - since) / 1000 : 0;
	const uint64_t end = e->p2 > since ? (e->p2 - since) / 1000 : 0;
	if (e->p2 == MM_INTEGER)
		buf_printf(&b, "%" PRIu64, e->p1);
	else if (e->p2 == MM_INSTANT)
		buf_printf(&b, "%" PRIu64 " μs", start);
	else
		buf_printf(&b, "%" PRIu64 " μs - %" PRIu64 " μs", start, end);
	buf_printf(&b, ",\n    thread_id: %u,\n}\n", e->thread);
	sink_add(&l->out, b.data, b.len);
	buf_free(&b);
}

/* The smallest start or instant of the file; false: no timed event. */
static bool earliest(struct tare_profile *p, uint64_t *since)
{
	struct walk w;
	struct run run;
	bool any = false;
	*since = UINT64_MAX;
	walk_init(&w, p, false);
	while (walk_next(&w, &run)) {
		for (size_t i = 0; i < run.n; i++) {
			struct mm_event e;
			mm_decode(run.records + i * p->record_size, p->wide, &e);
			any |= e.p2 != MM_INTEGER;
			if (e.p2 != MM_INTEGER && e.p1 < *since)
				*since = e.p1;
		}
	}
	walk_done(&w);
	return any;
}

int tare_view(struct tare_profile *p, const struct tare_view_opts *o, int fd,
	      struct tare_why *why)
{
	struct listing l;
	struct walk w;
	struct run run;
	uint64_t since = 0, seen = 0, shown = 0;
	if (o->measureme && !earliest(p, &since))
		return why_set(why, TARE_E_INVALID, "No events.");
	int err = listing_open(&l, p, fd, escape_none, why);
	walk_init(&w, p, false);
	while (err == 0 && !l.out.sys_errno && walk_next(&w, &run)) {
		for (size_t i = 0; err == 0 && i < run.n; i++) {
			struct mm_event e;
			struct named n;
			mm_decode(run.records + i * p->record_size, p->wide, &e);
			err = namer_event(&l.namer, &e, &n);
			/* kind and label as C strings: the arena has no NUL between */
			if (err < 0)
				break;
			n.kind = names_text(&l.namer.names,
					    l.namer.kinds.slot[kinds_slot(&l.namer.kinds, e.kind)].name);
			n.label = names_text(&l.namer.names, n.label_number);
			if (!matches(o, &e, &n) || seen++ < o->skip)
				continue;
			if (o->measureme)
				mmview_block(&l, &e, &n, since);
			else
				view_line(&l, &e, &n, run.first + i);
			if (o->count && ++shown == o->count)
				goto out;
		}
	}
out:
	walk_done(&w);
	return listing_close(&l, err);
}
