/* tare stat --in: the counts of what ran while one of some functions was on the stack of its thread. The engine
 * follows the calls; the counts are a sum over call contexts. */
#include "annotate.h"
#include "complain.h"
#include "json.h"
#include "stat.h"

bool stat_in_check(const struct stat_session *s)
{
	for (size_t i = 0; s->o->in.n && i < s->n_events; i++) {
		const struct tare_event *const e = stat_event(s, i);
		if (tare_engine_counts(e))
			continue;
		complain("stat: --in: %s: only events of the software engine belong to a function; `tare list` shows them",
			 e->name);
		return false;
	}
	return true;
}

static bool is_in(const struct tare_codeprofile_function *f, void *in)
{
	return annotate_matches(in, f);
}

int stat_in_apply(const struct stat_session *s, const struct tare_events *events, struct tare_measurement *m,
		  struct tare_why *why)
{
	struct tare_codeprofile *p = NULL, *part = NULL;
	if (!s->o->in.n)
		return 0;
	int err = tare_codeprofile_make(m, &TARE_OPTIONS(codeprofile, .events = events, .no_lines = true, .no_insns = true), &p, why);
	if (!err)
		err = tare_codeprofile_in(p, is_in, (void *)&s->o->in, &part, why);
	if (!err && !annotate_in_found(&s->o->in, p))
		err = STAT_COMPLAINED;
	for (size_t i = 0; !err && i < m->n_counts; i++) {
		struct tare_count *const c = &m->counts[i];
		c->value = c->raw = part->events[i].total > 0 ? (uint64_t)part->events[i].total : 0;
		c->vdso = 0;		/* how much of the part is not known */
		c->lower_bound |= part->events[i].provenance == TARE_PROV_INCOMPLETE;
		if (c->lower_bound)
			c->provenance = TARE_PROV_INCOMPLETE;
	}
	tare_codeprofile_free(part);
	tare_codeprofile_free(p);
	return err;
}

void stat_in_text(const struct stat_opts *o, struct buf *out)
{
	for (size_t i = 0; i < o->in.n; i++)
		buf_printf(out, "%s%s", i ? " or " : "; only in ", o->in.items[i]);
}

void stat_in_json(const struct stat_opts *o, struct json *j)
{
	if (!o->in.n)
		return;
	json_array(j, "in");
	for (size_t i = 0; i < o->in.n; i++)
		json_str(j, NULL, o->in.items[i]);
	json_end(j);
}
