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

/* By thread and value: no name is needed. */
static inline bool in_range(const struct tare_view_opts *o, const struct mm_event *e)
{
	if (o->one_thread && e->thread != o->thread)
		return false;
	if (!o->from && !o->to)
		return true;
	const uint64_t end = e->p2 < MM_INTEGER && e->p2 > e->p1 ? e->p2 : e->p1;
	return e->p2 != MM_INTEGER && end >= o->from && e->p1 <= o->to;
}

static bool named_so(struct listing *l, const struct tare_view_opts *o, const struct mm_event *e,
		     const struct named *n)
{
	const struct names *const names = &l->namer.names;
	const unsigned kind = kinds_slot(&l->namer.kinds, e->kind);
	return (!o->kind || strstr(names_text(names, l->namer.kinds.slot[kind].name), o->kind)) &&
	       (!o->label || strstr(names_text(names, n->label_number), o->label));
}

static void put_args(struct sink *out, const struct named *n, const char *between)
{
	const char *at = n->args.args;
	const char *const end = at + n->args.args_len;
	for (unsigned i = 0; i < n->args.n_args; i++) {
		const char *const next = memchr(at, MM_SEPARATOR, (size_t)(end - at));
		if (i)
			sink_str(out, between);
		sink_line(out, at, (size_t)((next ? next : end) - at));
		at = next ? next + 1 : end;
	}
}

/* The columns of a line before the names, where every number fits: written from their
 * right ends into spaces. */
#define HEAD "          thread     interval                                                   "
enum { NUMBER_END = 8, THREAD_AT = 17, TYPE_AT = 21, START_END = 46, END_END = 63, LENGTH_END = 78 };

static bool view_head(struct sink *out, const struct mm_event *e, uint64_t number)
{
	char line[sizeof(HEAD)] = HEAD;
	const uint64_t most = 100000000000000ull;		/* 14 digits */
	if (number >= 100000000 || e->thread >= 10 || e->p1 >= most ||
	    (e->p2 < MM_INTEGER && e->p2 >= most))
		return false;
	u64_digits(line + NUMBER_END, number);
	line[THREAD_AT] = (char)('0' + e->thread);
	u64_digits(line + START_END, e->p1);
	if (e->p2 >= MM_INTEGER) {
		memcpy(line + TYPE_AT, e->p2 == MM_INTEGER ? "integer " : "instant ", 8);
	} else {
		u64_digits(line + END_END, e->p2);
		u64_digits(line + LENGTH_END, e->p2 > e->p1 ? e->p2 - e->p1 : 0);
	}
	sink_add(out, line, LENGTH_END + 2);
	return true;
}

static void view_head_wide(struct sink *out, const struct mm_event *e, uint64_t number)
{
	static const char blank[] = "                                ";
	sink_u64_right(out, number, 8);
	sink_str(out, "  thread ");
	sink_u64_left(out, e->thread, 3);
	sink_str(out, e->p2 == MM_INTEGER ? " integer  " : e->p2 == MM_INSTANT ? " instant  "
									       : " interval ");
	sink_u64_right(out, e->p1, 16);
	if (e->p2 >= MM_INTEGER) {
		sink_add(out, blank, 1 + 16 + 1 + 14);
	} else {
		sink_str(out, " ");
		sink_u64_right(out, e->p2, 16);
		sink_str(out, " ");
		sink_u64_right(out, e->p2 > e->p1 ? e->p2 - e->p1 : 0, 14);
	}
	sink_str(out, "  ");
}

static void view_line(struct listing *l, const struct mm_event *e, const struct named *n,
		      uint64_t number)
{
	struct sink *const out = &l->out;
	if (!view_head(out, e, number))
		view_head_wide(out, e, number);
	sink_add(out, n->kind, n->kind_len);
	sink_str(out, "  ");
	sink_add(out, n->label, n->label_len);
	if (n->args.n_args) {
		sink_str(out, "(");
		put_args(out, n, ", ");
		sink_str(out, ")");
	}
	sink_str(out, "\n");
}

static void mmview_args(struct sink *out, const struct named *n)
{
	for (unsigned i = 0; i < n->args.n_args; i++) {
		size_t len;
		const char *const arg = named_arg(n, i, &len);
		if (i)
			sink_str(out, ",");
		sink_add(out, arg, len);
	}
}

static void mmview_block(struct listing *l, const struct mm_event *e, const struct named *n,
			 uint64_t since)
{
	struct sink *const out = &l->out;
	sink_str(out, "{\n    kind: ");
	sink_add(out, n->kind, n->kind_len);
	sink_str(out, ",\n    label: ");
	sink_add(out, n->label, n->label_len);
	sink_str(out, ",\n    additional_data: [");
	mmview_args(out, n);
	sink_str(out, "],\n    payload: ");
	const uint64_t start = e->p1 > since ? (e->p1 - since) / 1000 : 0;
	const uint64_t end = e->p2 > since ? (e->p2 - since) / 1000 : 0;
	sink_u64(out, e->p2 == MM_INTEGER ? e->p1 : start);
	if (e->p2 != MM_INTEGER)
		sink_str(out, " μs");
	if (e->p2 < MM_INTEGER) {
		sink_str(out, " - ");
		sink_u64(out, end);
		sink_str(out, " μs");
	}
	sink_str(out, ",\n    thread_id: ");
	sink_u64(out, e->thread);
	sink_str(out, ",\n}\n");
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
		return TARE_VIEW_EMPTY;
	int err = listing_open(&l, p, fd, o->measureme ? escape_none : escape_line, why);
	walk_init(&w, p, false);
	while (err == 0 && !l.out.sys_errno && walk_next(&w, &run)) {
		for (size_t i = 0; err == 0 && i < run.n; i++) {
			struct mm_event e;
			struct named n;
			mm_decode(run.records + i * p->record_size, p->wide, &e);
			if (!in_range(o, &e))
				continue;
			err = namer_event(&l.namer, &e, &n);
			if (err < 0)
				break;
			if (!named_so(&l, o, &e, &n) || seen++ < o->skip)
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
