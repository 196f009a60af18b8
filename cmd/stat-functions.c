/* tare stat --functions: the counts of each function, of the last complete run. The result keeps them, so that
 * tare compare can name the functions that explain a change. */
#include "annotate.h"
#include "complain.h"
#include "json.h"
#include "stat.h"

#define SHOWN 10u	/* functions, for people */

bool stat_functions_check(const struct stat_session *s)
{
	for (size_t i = 0; s->o->functions && i < s->n_events; i++) {
		const struct tare_event *const e = stat_event(s, i);
		if (tare_engine_counts(e))
			continue;
		complain("stat: --functions: %s: only events of the software engine belong to a function; `tare list` "
			 "shows them", e->name);
		return false;
	}
	return true;
}

/* NULL: no run counts, or the error was printed. */
static struct tare_codeprofile *profile_of(const struct stat_session *s)
{
	struct tare_codeprofile *p = NULL;
	struct tare_why why = { 0 };
	for (size_t i = s->n_runs; i-- > 0;) {
		const struct stat_run *const r = &s->runs[i];
		if (!stat_run_counts(s, r) || !stat_part(r)->code)
			continue;
		if (tare_codeprofile_make(stat_part(r), &TARE_OPTIONS(codeprofile, .events = s->events,
								     .no_lines = true, .no_insns = true), &p, &why) < 0)
			complain_why(&why);
		break;
	}
	return p;
}

void stat_functions_text(const struct stat_session *s, struct buf *out)
{
	struct tare_codeprofile *const p = profile_of(s);
	struct annotate_rows rows;
	struct buf name = { 0 }, beside = { 0 };
	if (!p)
		return;
	annotate_rows(p, BY_FUNCTION, ALL_TASKS, &rows);
	buf_printf(out, "\n %s by function, the largest of %zu:\n\n", p->events[0].name, rows.n);
	for (size_t i = 0; i < rows.n && i < SHOWN; i++) {
		struct buf number = { 0 };
		annotate_row_name(p, BY_FUNCTION, &rows.rows[i], &name, &beside);
		buf_grouped_i64(&number, rows.rows[i].counts[0]);
		buf_printf(out, "%20s  %6.2f %%  %s [%s]\n", number.data,
			   annotate_share(rows.rows[i].counts[0], p->events[0].total), name.data, beside.data);
		buf_free(&number);
	}
	buf_str(out, "\n");
	annotate_rows_free(&rows);
	buf_free(&name);
	buf_free(&beside);
	tare_codeprofile_free(p);
}

static void objects_json(struct json *j, const struct tare_codeprofile *p)
{
	json_array(j, "objects");
	for (size_t i = 0; i < p->n_objects; i++) {
		json_object(j, NULL);
		json_str(j, "path", p->objects[i].path);
		json_str(j, "build_id", p->objects[i].build_id);
		json_str(j, "kind", tare_codeprofile_object_kind_name(p->objects[i].kind));
		json_end(j);
	}
	json_end(j);
}

void stat_functions_json(struct json *j, const struct stat_session *s)
{
	struct tare_codeprofile *const p = profile_of(s);
	if (!p)
		return;
	json_object(j, "functions");
	json_str(j, "provenance", p->complete ? "exact" : "incomplete");
	objects_json(j, p);
	json_array(j, "list");
	for (size_t i = 0; i < p->n_functions; i++) {
		const struct tare_codeprofile_function *const f = &p->functions[i];
		json_object(j, NULL);
		json_str(j, "function", f->name);
		json_str(j, "linkage", f->linkage);
		json_u64(j, "object", f->object);
		json_u64(j, "offset", f->offset);
		json_array(j, "counts");	/* in the order of the events */
		for (size_t e = 0; e < p->n_events; e++)
			json_i64(j, NULL, f->counts[e]);
		json_end(j);
		json_end(j);
	}
	json_end(j);
	json_end(j);
	tare_codeprofile_free(p);
}
