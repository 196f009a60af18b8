/* tare annotate -j: the table that is shown, schema tare.annotate/1 (docs/annotate.md). */
#include "annotate.h"

#include "json.h"

#include <stdlib.h>

static void counts_json(struct json *j, const char *key, const struct tare_codeprofile *p, const int64_t *counts)
{
	json_object(j, key);
	for (size_t e = 0; e < p->n_events; e++)
		json_i64(j, p->events[e].name, counts[e]);
	json_end(j);
}

static void function_json(struct json *j, const struct tare_codeprofile *p, uint32_t function)
{
	const struct tare_codeprofile_function *const f = &p->functions[function];
	json_str(j, "function", f->name);
	if (*f->linkage)
		json_str(j, "linkage", f->linkage);
	json_str(j, "object", p->objects[f->object].path);
}

static void row_json(struct json *j, const struct tare_codeprofile *p, enum annotate_by by,
		     const struct annotate_row *r)
{
	json_object(j, NULL);
	if (r->function != ANNOTATE_NONE)
		function_json(j, p, r->function);
	else if (r->object != ANNOTATE_NONE && by == BY_OBJECT)
		json_str(j, "object", p->objects[r->object].path);
	if (by == BY_FUNCTION && p->functions[r->function].file != ANNOTATE_NONE) {
		json_str(j, "file", p->files[p->functions[r->function].file].path);
		json_u64(j, "line", p->functions[r->function].line);
	}
	if (r->file != ANNOTATE_NONE) {
		json_str(j, "file", p->files[r->file].path);
		if (by != BY_FILE)
			json_u64(j, "line", r->line);
	}
	if (by == BY_INSN) {
		json_u64(j, "offset", p->insns[r->insn].offset);
		json_i64(j, "runs", (int64_t)p->insns[r->insn].runs);
	}
	counts_json(j, "counts", p, r->counts);
	if (r->inclusive) {
		counts_json(j, "inclusive", p, r->inclusive);
		json_u64(j, "calls", r->calls);
	}
	json_end(j);
}

/* --top leaves rows out; without it all are there. */
static void rows_json(struct json *j, const struct annotate *a, uint32_t task)
{
	struct annotate_rows rows;
	const enum annotate_by by = (enum annotate_by)a->o->by;
	annotate_rows(a->p, by, task, &rows);
	json_array(j, "rows");
	for (size_t i = 0; i < rows.n && (!a->o->top || i < a->o->top); i++)
		if (!a->o->functions.n || (rows.rows[i].function != ANNOTATE_NONE &&
					   annotate_wants(a->o, &a->p->functions[rows.rows[i].function])))
			row_json(j, a->p, by, &rows.rows[i]);
	json_end(j);
	annotate_rows_free(&rows);
}

static void tasks_json(struct json *j, const struct annotate *a)
{
	json_array(j, "tasks");
	for (uint32_t i = 0; i < a->p->n_tasks; i++) {
		const struct tare_codeprofile_task *const t = &a->p->tasks[i];
		json_object(j, NULL);
		json_i64(j, "pid", t->pid);
		if (t->tid)
			json_i64(j, "tid", t->tid);
		json_str(j, "command", t->command);
		json_str(j, "incomplete", t->incomplete);
		counts_json(j, "counts", a->p, t->counts);
		if (a->o->per_process || a->o->per_thread)
			rows_json(j, a, i);
		json_end(j);
	}
	json_end(j);
}

void annotate_json(const struct annotate *a, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	struct json j = { .out = out, .indent = true };
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.annotate/1");
	json_str(&j, "command", p->command);
	json_i64(&j, "exit_status", p->exit_status);
	json_u64(&j, "runs", p->runs);
	json_bool(&j, "complete", p->complete);
	json_array(&j, "reasons");
	for (size_t i = 0; i < p->n_reasons; i++)
		json_str(&j, NULL, p->reasons[i]);
	json_end(&j);
	json_array(&j, "events");
	for (size_t e = 0; e < p->n_events; e++) {
		json_object(&j, NULL);
		json_str(&j, "name", p->events[e].name);
		json_str(&j, "provenance", tare_provenance_name(p->events[e].provenance));
		json_i64(&j, "total", p->events[e].total);
		json_end(&j);
	}
	json_end(&j);
	json_str(&j, "by", annotate_by_words[a->o->by]);
	rows_json(&j, a, ALL_TASKS);
	tasks_json(&j, a);
	annotate_others_json(a, &j);
	json_end(&j);
	buf_chr(out, '\n');
}
