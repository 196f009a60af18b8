#include "diverge-show.h"

#include "json.h"

#include <tare/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void place(struct json *j, const char *key, const struct tare_diverge_place *p)
{
	char address[32];
	snprintf(address, sizeof(address), "0x%" PRIx64, p->address);
	json_object(j, key);
	json_str(j, "address", address);
	json_str(j, "place", p->place ? p->place : "");
	json_end(j);
}

static void side(struct json *j, const struct tare_diverge_side *s)
{
	json_object(j, NULL);
	json_bool(j, "ended", s->ended);
	if (!s->ended)
		place(j, "at", &s->at);
	json_array(j, "stack");
	for (size_t i = 0; i < s->n_frames; i++)
		place(j, NULL, &s->frames[i]);
	json_end(j);
	json_end(j);
}

static void parting(struct json *j, const struct tare_divergence *d)
{
	json_object(j, "parting");
	json_u64(j, "instructions", d->count);
	json_bool(j, "is_thread", d->is_thread);
	place(j, "last", &d->last);
	json_array(j, "sides");
	side(j, &d->sides[0]);
	side(j, &d->sides[1]);
	json_end(j);
	json_end(j);
	json_object(j, "cause");
	json_str(j, "kind", tare_diverge_cause_name(d->cause));
	json_str(j, "text", d->cause_text);
	json_array(j, "steps");
	for (size_t i = 0; i < d->n_steps; i++) {
		json_object(j, NULL);
		json_u64(j, "instructions", d->steps[i].count);
		json_str(j, "what", d->steps[i].what);
		place(j, "at", &d->steps[i].at);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void functions(struct json *j, const struct diverge_show *s)
{
	size_t n;
	struct diverge_function *const all = diverge_functions(s, &n);
	json_array(j, "functions");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_str(j, "name", all[i].name);
		json_str(j, "object", all[i].object);
		json_array(j, "instructions");
		json_i64(j, NULL, all[i].counts[0]);
		json_i64(j, NULL, all[i].counts[1]);
		json_end(j);
		json_end(j);
	}
	json_end(j);
	free(all);
}

void diverge_json(struct buf *b, const struct diverge_show *s)
{
	static const char *const found[] = { "same", "point", "lost" };
	const struct tare_divergence *const d = s->d;
	struct json j = { .out = b, .indent = true };
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.diverge/1");
	json_str(&j, "tare", TARE_VERSION);
	json_array(&j, "command");
	for (size_t i = 0; s->argv[i]; i++)
		json_str(&j, NULL, s->argv[i]);
	json_end(&j);
	json_str(&j, "found", found[d->found]);
	json_str(&j, "note", d->note);
	json_u64(&j, "runs", d->runs);
	json_u64(&j, "searched", d->searched);
	json_array(&j, "totals");
	for (size_t i = 0; i < d->n_totals; i++)
		json_u64(&j, NULL, d->totals[i]);
	json_end(&j);
	if (d->found == TARE_DIVERGE_POINT)
		parting(&j, d);
	functions(&j, s);
	json_end(&j);
	buf_chr(b, '\n');
}
