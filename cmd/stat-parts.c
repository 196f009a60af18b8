/* What the program left out of its count by itself (tare_region(3), callgrind's requests), and its
 * dumps, each of which is a result of its own. */
#include "stat.h"

#include "json.h"

#include <inttypes.h>

static const struct tare_parts *parts_of(const struct stat_run *r)
{
	return stat_part(r)->parts;
}

bool stat_is_part(const struct stat_session *s, const struct stat_run *r)
{
	const struct tare_parts *const p = parts_of(r);
	return s->o->delay_ms || r->control_on || r->control_off ||
	       (p && (p->started_off || p->on || p->off || p->zeroed));
}

/* ---- text ---- */

static void put_times(struct buf *b, const char *what, uint64_t n)
{
	buf_printf(b, "%" PRIu64 " time%s %s", n, n == 1 ? "" : "s", what);
}

static void put_switches(struct buf *b, const struct tare_parts *p)
{
	buf_str(b, "\n Counted: parts of the run, switched by the program: ");
	buf_str(b, p->started_off ? "off at first, " : "");
	put_times(b, "on, ", p->on);
	put_times(b, "off", p->off);
	if (p->zeroed) {
		buf_str(b, ", ");
		put_times(b, "set to 0", p->zeroed);
	}
	buf_str(b, ".\n");
	if (p->started_off && !p->on)
		buf_printf(b, " Nothing was counted: %s.\n", tare_err_remedy(TARE_E_NEVER_ON));
}

static void put_dump(struct buf *b, const struct stat_session *s, const struct tare_dump *d)
{
	buf_printf(b, "\n Dump %u", d->number);
	if (d->name[0])
		buf_printf(b, " \"%s\"", d->name);
	if (d->pid)
		buf_printf(b, " (process %d)", (int)d->pid);
	buf_str(b, ":\n");
	for (size_t i = 0; i < s->n_events; i++) {
		const struct tare_count *const c = &d->counts[i];
		struct buf value = { 0 };
		if (c->state == TARE_COUNT_OK)
			buf_grouped(&value, c->value);
		else
			buf_str(&value, "<not counted>");
		buf_printf(b, "%20s      %s\n", value.data, stat_event(s, i)->name);
		buf_free(&value);
	}
}

void stat_parts_text(const struct stat_session *s, struct buf *b)
{
	const struct stat_run *const run = &s->runs[s->n_runs - 1];
	const struct tare_parts *const p = parts_of(run);
	if (s->o->control) {
		buf_str(b, "\n Counted: parts of the run, switched by --control: ");
		put_times(b, "on, ", run->control_on);
		put_times(b, "off.\n", run->control_off);
	}
	if (!p)
		return;
	if (p->started_off || p->on || p->off || p->zeroed)
		put_switches(b, p);
	if (p->missed)
		buf_printf(b, " %" PRIu64 " requests of the program were not obeyed: a debugger held one of "
			      "its threads.\n", p->missed);
	for (size_t i = 0; i < p->n_dumps; i++)
		put_dump(b, s, &p->dumps[i]);
	if (p->lost_dumps)
		buf_printf(b, "\n %" PRIu64 " further dumps are not shown; the totals include them.\n",
			   p->lost_dumps);
}

/* ---- JSON ---- */

static void dumps_json(struct json *j, const struct stat_session *s, const struct tare_parts *p)
{
	json_array(j, "dumps");
	for (size_t i = 0; i < p->n_dumps; i++) {
		const struct tare_dump *const d = &p->dumps[i];
		json_object(j, NULL);
		json_u64(j, "number", d->number);
		json_str(j, "name", d->name);
		json_i64(j, "pid", d->pid);
		stat_counts_json(j, s, d->counts);
		json_end(j);
	}
	json_end(j);
}

void stat_parts_json(struct json *j, const struct stat_session *s, const struct stat_run *r)
{
	const struct tare_parts *const p = parts_of(r);
	json_str(j, "counted", stat_is_part(s, r) ? "parts" : "whole");
	if (s->o->control) {
		json_object(j, "control");
		json_u64(j, "on", r->control_on);
		json_u64(j, "off", r->control_off);
		json_end(j);
	}
	if (!p)
		return;
	json_object(j, "parts");
	json_bool(j, "started_off", p->started_off);
	json_u64(j, "on", p->on);
	json_u64(j, "off", p->off);
	json_u64(j, "zeroed", p->zeroed);
	json_u64(j, "missed", p->missed);
	json_u64(j, "lost_dumps", p->lost_dumps);
	dumps_json(j, s, p);
	json_end(j);
}
