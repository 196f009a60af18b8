#include "verify-show.h"

#include "environment.h"
#include "json.h"

#include <tare/version.h>

#include <math.h>

/* Sums of integers are integers, and are written so. */
static void number(struct json *j, const char *key, double v)
{
	if (fabs(v) < 9e15 && v == floor(v))
		json_i64(j, key, (int64_t)v);
	else
		json_f64(j, key, v);
}

static void cause_json(struct json *j, const struct tare_verify_cause *c)
{
	const char letter[2] = { tare_cause_letter(c->cause) };
	json_object(j, NULL);
	json_str(j, "letter", letter);
	json_str(j, "cause", tare_cause_name(c->cause));
	number(j, "amount", c->amount);
	number(j, "error", c->error);
	json_str(j, "per", c->per);
	number(j, "share", c->share);
	json_str(j, "instruction", c->instruction[0] ? c->instruction : NULL);
	json_str(j, "code", c->code[0] ? c->code : NULL);
	json_str(j, "kernel", c->kernel[0] ? c->kernel : NULL);
	json_str(j, "source", c->source[0] ? c->source : NULL);
	json_end(j);
}

static void section_json(struct json *j, const struct tare_verify_section *s)
{
	json_object(j, NULL);
	json_str(j, "kernel", s->kernel);
	json_u64(j, "passes", s->passes);
	json_u64(j, "expected", s->expected);
	number(j, "mean", s->mean);
	number(j, "distance", s->distance);
	number(j, "rest", s->rest);
	number(j, "limit", s->limit);
	json_end(j);
}

static void row_json(struct json *j, const struct tare_verify_row *r)
{
	const bool counted = r->runs > 0;
	json_object(j, NULL);
	json_str(j, "event", r->event);
	json_str(j, "role", r->role);
	json_str(j, "verdict", tare_event_verdict_name(r->verdict));
	json_str(j, "letters", r->letters);
	json_str(j, "word", r->word);
	json_str(j, "reason", r->reason[0] ? r->reason : NULL);
	if (counted) {
		json_u64(j, "runs", r->runs);
		json_u64(j, "expected", r->expected);
		number(j, "mean", r->mean);
		number(j, "distance", r->distance);
		number(j, "difference", r->difference);
		json_array(j, "excess");
		for (unsigned i = 0; r->excess && i < r->runs; i++)
			number(j, NULL, r->excess[i]);
		json_end(j);
		number(j, "residue", r->residue);
		number(j, "limit", r->limit);
		number(j, "interrupts", r->interrupts);
		number(j, "faults", r->faults);
	}
	json_array(j, "causes");
	for (size_t i = 0; i < r->n_causes; i++)
		cause_json(j, &r->causes[i]);
	json_end(j);
	json_array(j, "sections");
	for (size_t i = 0; i < r->n_sections; i++)
		section_json(j, &r->sections[i]);
	json_end(j);
	json_end(j);
}

static void finding_json(struct json *j, const struct tare_verify_finding *f)
{
	json_object(j, NULL);
	json_str(j, "experiment", f->experiment);
	json_str(j, "event", f->event);
	json_str(j, "verdict", tare_verdict_name(f->verdict));
	json_str(j, "text", f->text);
	json_object(j, "numbers");
	for (size_t i = 0; i < f->n_numbers; i++)
		number(j, f->numbers[i].name, f->numbers[i].value);
	json_end(j);
	json_end(j);
}

static void texts_json(struct json *j, const char *key, const char *const *texts, size_t n)
{
	json_array(j, key);
	for (size_t i = 0; i < n; i++)
		json_str(j, NULL, texts[i]);
	json_end(j);
}

void verify_json(struct buf *b, const struct tare_verify_report *r)
{
	struct json j = { .out = b, .indent = true };

	json_object(&j, NULL);
	json_str(&j, "schema", "tare.verify/1");
	json_str(&j, "tare", TARE_VERSION);
	json_str(&j, "conclusion", r->conclusion);
	cpu_json(&j, "cpu", &r->cpu);
	json_str(&j, "backend", r->backend == TARE_BACKEND_SOFT ? "soft" : "hw");
	json_bool(&j, "simulated", r->simulated);
	json_u64(&j, "runs", r->runs);
	json_bool(&j, "quick", r->quick);
	json_str(&j, "interrupts", r->interrupts[0] ? r->interrupts : NULL);
	texts_json(&j, "kernels", r->kernels, r->n_kernels);
	texts_json(&j, "skipped", r->skipped, r->n_skipped);
	json_array(&j, "events");
	for (size_t i = 0; i < r->n_rows; i++)
		row_json(&j, &r->rows[i]);
	json_end(&j);
	json_array(&j, "findings");
	for (size_t i = 0; i < r->n_findings; i++)
		finding_json(&j, &r->findings[i]);
	json_end(&j);
	json_end(&j);
	buf_chr(b, '\n');
}
