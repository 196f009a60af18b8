/* The file of a profile: JSON, schema tare.codeprofile/1 (docs/annotate.md).
 *
 * What there are many of (instructions, shares, contexts) has one string per entry, with its
 * fields separated by spaces, so that a file of a million instructions can be read in a moment. Written
 * function by function: the text is never in memory as a whole. */
#include "codeprofile-room.h"

#include "json.h"
#include "sink.h"
#include "why.h"

struct writer {
	const struct tare_codeprofile *p;
	struct sink out;
	struct buf text;		/* that json has written and out has not */
	struct json j;
};

static void flush(struct writer *w)
{
	sink_add(&w->out, w->text.data, w->text.len);
	w->text.len = 0;
}

/* A place as the file has it: -1 for none. */
static int64_t shown_place(uint32_t place)
{
	return place == NONE ? -1 : (int64_t)place;
}

/* Fields of a row, a space before all but the first. Not by printf: there are millions. */
static void add_number(struct buf *row, int64_t v)
{
	char text[24], *const end = text + sizeof(text);
	char *at = u64_digits(end, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
	if (v < 0)
		*--at = '-';
	if (row->len)
		*--at = ' ';
	buf_add(row, at, (size_t)(end - at));
}

static void add_place(struct buf *row, uint32_t place)
{
	add_number(row, shown_place(place));
}

static void add_word(struct buf *row, const char *word)
{
	buf_chr(row, ' ');
	buf_str(row, word);
}

static const char digits[] = "0123456789abcdef";

static void add_hex(struct buf *row, uint64_t v)
{
	char text[16], *const end = text + sizeof(text), *at = end;
	do
		*--at = digits[v & 15];
	while (v >>= 4);
	buf_add(row, at, (size_t)(end - at));
}

static void add_bytes(struct buf *row, const struct tare_codeprofile_insn *in)
{
	char text[2 * sizeof(in->bytes) + 1];
	size_t n = 0;
	text[n++] = ' ';
	for (unsigned k = 0; k < in->size; k++) {
		text[n++] = digits[in->bytes[k] >> 4];
		text[n++] = digits[in->bytes[k] & 15];
	}
	buf_add(row, text, n);
	if (!in->size)
		buf_chr(row, '-');
}

static void add_counts(struct writer *w, struct buf *row, const int64_t *counts)
{
	for (size_t e = 0; e < w->p->n_events; e++)
		add_number(row, counts[e]);
}

static void counts_json(struct writer *w, const char *key, const int64_t *counts)
{
	json_array(&w->j, key);
	for (size_t e = 0; e < w->p->n_events; e++)
		json_i64(&w->j, NULL, counts[e]);
	json_end(&w->j);
}

static void put_row(struct writer *w, struct buf *row)
{
	json_strn(&w->j, NULL, row->data, row->len);
	row->len = 0;
	if (w->text.len > SINK_BYTES)
		flush(w);
}

static void put_head(struct writer *w)
{
	const struct tare_codeprofile *const p = w->p;
	json_str(&w->j, "schema", TARE_CODEPROFILE_SCHEMA);
	json_str(&w->j, "tare", p->tare);
	json_str(&w->j, "command", p->command);
	json_i64(&w->j, "start_s", p->start_s);
	json_i64(&w->j, "exit_status", p->exit_status);
	json_u64(&w->j, "runs", p->runs);
	json_bool(&w->j, "complete", p->complete);
	json_bool(&w->j, "has_calls", p->has_calls);
	json_u64(&w->j, "folded", p->folded);
	json_array(&w->j, "reasons");
	for (size_t i = 0; i < p->n_reasons; i++)
		json_str(&w->j, NULL, p->reasons[i]);
	json_end(&w->j);
	json_array(&w->j, "events");
	for (size_t i = 0; i < p->n_events; i++) {
		json_object(&w->j, NULL);
		json_str(&w->j, "name", p->events[i].name);
		json_str(&w->j, "unit", p->events[i].unit);
		json_str(&w->j, "provenance", tare_provenance_name(p->events[i].provenance));
		json_i64(&w->j, "total", p->events[i].total);
		json_end(&w->j);
	}
	json_end(&w->j);
}

static void put_objects(struct writer *w)
{
	const struct tare_codeprofile *const p = w->p;
	json_array(&w->j, "objects");
	for (size_t i = 0; i < p->n_objects; i++) {
		const struct tare_codeprofile_object *const o = &p->objects[i];
		json_object(&w->j, NULL);
		json_str(&w->j, "path", o->path);
		json_str(&w->j, "build_id", o->build_id);
		json_str(&w->j, "kind", tare_codeprofile_object_kind_name(o->kind));
		json_bool(&w->j, "deleted", o->deleted);
		json_str(&w->j, "names", o->names);
		json_end(&w->j);
	}
	json_end(&w->j);
	json_array(&w->j, "files");
	for (size_t i = 0; i < p->n_files; i++) {
		json_object(&w->j, NULL);
		json_str(&w->j, "path", p->files[i].path);
		json_i64(&w->j, "mtime", p->files[i].mtime);
		json_end(&w->j);
	}
	json_end(&w->j);
}

/* "offset bytes file line runs counts…" */
static void put_insns(struct writer *w, const struct tare_codeprofile_function *f, struct buf *row)
{
	json_array(&w->j, "insns");
	for (uint32_t i = 0; i < f->n_insns; i++) {
		const struct tare_codeprofile_insn *const in = &w->p->insns[f->insns + i];
		add_hex(row, in->offset);
		add_bytes(row, in);
		add_place(row, in->file);
		add_number(row, in->line);
		add_number(row, (int64_t)in->runs);
		add_counts(w, row, in->counts);
		put_row(w, row);
	}
	json_end(&w->j);
}

static void put_functions(struct writer *w, struct buf *row)
{
	const struct tare_codeprofile *const p = w->p;
	json_array(&w->j, "functions");
	for (size_t i = 0; i < p->n_functions; i++) {
		const struct tare_codeprofile_function *const f = &p->functions[i];
		json_object(&w->j, NULL);
		json_str(&w->j, "name", f->name);
		json_str(&w->j, "linkage", f->linkage);
		json_u64(&w->j, "object", f->object);
		json_i64(&w->j, "file", shown_place(f->file));
		json_u64(&w->j, "line", f->line);
		json_u64(&w->j, "offset", f->offset);
		json_u64(&w->j, "size", f->size);
		put_insns(w, f, row);
		json_end(&w->j);
		flush(w);
	}
	json_end(&w->j);
}

static void put_tasks(struct writer *w)
{
	const struct tare_codeprofile *const p = w->p;
	json_array(&w->j, "tasks");
	for (size_t i = 0; i < p->n_tasks; i++) {
		const struct tare_codeprofile_task *const t = &p->tasks[i];
		json_object(&w->j, NULL);
		json_i64(&w->j, "pid", t->pid);
		json_i64(&w->j, "tid", t->tid);
		json_str(&w->j, "command", t->command);
		json_str(&w->j, "exe", t->exe);
		json_str(&w->j, "incomplete", t->incomplete);
		counts_json(w, "counts", t->counts);
		json_end(&w->j);
	}
	json_end(&w->j);
}

/* Each row: places, numbers, then counts; docs/annotate.md names the fields. */
static void put_rows(struct writer *w, struct buf *row)
{
	const struct tare_codeprofile *const p = w->p;
	json_array(&w->j, "shares");
	for (size_t i = 0; i < p->n_shares; i++) {
		add_place(row, p->shares[i].task);
		add_place(row, p->shares[i].function);
		add_counts(w, row, p->shares[i].counts);
		put_row(w, row);
	}
	json_end(&w->j);
	json_array(&w->j, "contexts");
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct tare_codeprofile_context *const c = &p->contexts[i];
		add_place(row, c->parent);
		add_place(row, c->function);
		add_place(row, c->site);
		add_word(row, tare_codeprofile_entry_name(c->entry));
		add_number(row, (int64_t)c->calls);
		add_counts(w, row, c->counts);
		put_row(w, row);
	}
	json_end(&w->j);
	json_array(&w->j, "syscalls");
	for (size_t i = 0; i < p->n_syscalls; i++) {
		const struct tare_codeprofile_syscall *const s = &p->syscalls[i];
		json_object(&w->j, NULL);
		json_u64(&w->j, "number", s->number);
		json_str(&w->j, "name", s->name);
		json_i64(&w->j, "function", shown_place(s->function));
		json_u64(&w->j, "times", s->times);
		json_u64(&w->j, "errors", s->errors);
		json_end(&w->j);
	}
	json_end(&w->j);
}

int tare_codeprofile_write(const struct tare_codeprofile *p, const struct tare_output *out, struct tare_why *why)
{
	if (!p || !out || !out->write)
		return why_set(why, TARE_E_INVALID, "no profile, or no output given");
	struct writer w = { .p = p };
	struct buf row = { 0 };
	int err = sink_open(&w.out, out->write, out->arg, why);
	if (err)
		return err;
	w.j = (struct json){ .out = &w.text, .indent = true };
	json_object(&w.j, NULL);
	put_head(&w);
	put_objects(&w);
	put_functions(&w, &row);
	put_tasks(&w);
	put_rows(&w, &row);
	json_end(&w.j);
	buf_chr(&w.text, '\n');
	flush(&w);
	err = sink_close(&w.out, why);
	if (buf_failed(&w.text) || buf_failed(&row))
		err = why_set(why, TARE_E_NOMEM, "the file of a code profile");
	buf_free(&w.text);
	buf_free(&row);
	return err;
}
