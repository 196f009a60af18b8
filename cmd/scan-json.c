/* tare scan -j: schema tare.scan/1. */
#include "scan.h"

#include "environment.h"
#include "json.h"

#include <tare/version.h>

static void plan_json(struct json *j, const struct tare_scan_plan *p)
{
	json_object(j, "plan");
	json_u64(j, "code_bits", p->code_bits);
	json_u64(j, "mask_bits", p->mask_bits);
	json_u64(j, "first_code", p->first_code);
	json_u64(j, "last_code", p->last_code);
	json_u64(j, "first_mask", p->first_mask);
	json_u64(j, "last_mask", p->last_mask);
	json_bool(j, "ends_only", p->ends_only);
	json_u64(j, "codes", p->codes);
	json_u64(j, "counters", p->counters);
	json_u64(j, "batches", p->batches);
	json_u64(j, "batch_ns", p->batch_ns);
	json_u64(j, "rounds", p->rounds);
	json_u64(j, "pages", p->pages);
	json_u64(j, "cpu", p->cpu);
	json_end(j);
}

static void trial_json(struct json *j, const struct tare_scan_trial *t)
{
	json_object(j, NULL);
	json_u64(j, "rounds", t->rounds);
	json_u64(j, "pages", t->pages);
	json_u64(j, "calls", t->calls);
	if (t->interrupts == UINT64_MAX)
		json_null(j, "interrupts");
	else
		json_u64(j, "interrupts", t->interrupts);
	json_u64(j, "ticks", t->ticks);
	if (t->excess == INT64_MIN)
		json_null(j, "excess");
	else
		json_i64(j, "excess", t->excess);
	json_u64(j, "expected", t->wanted);
	json_u64(j, "count", t->count);
	json_end(j);
}

static void found_json(struct json *j, const struct tare_scan_found *f)
{
	json_object(j, NULL);
	json_str(j, "event", f->event);
	json_u64(j, "code", f->code);
	json_u64(j, "mask", f->mask);
	json_u64(j, "raw", f->raw);
	json_str(j, "name", f->name);
	json_array(j, "counts");
	if (f->counts & TARE_SCAN_COUNTS_FAULTS)
		json_str(j, NULL, "page-faults");
	if (f->counts & TARE_SCAN_COUNTS_INTERRUPTS)
		json_str(j, NULL, "interrupts");
	if (f->counts & TARE_SCAN_COUNTS_LIKE)
		json_str(j, NULL, "like");
	json_end(j);
	json_bool(j, "exact", f->exact);
	json_bool(j, "is_excess", f->is_excess);
	json_u64(j, "each", f->each);
	json_array(j, "trials");
	for (size_t i = 0; i < f->n_trials; i++)
		trial_json(j, &f->trials[i]);
	json_end(j);
	json_end(j);
}

void scan_json(struct buf *b, const struct tare_scan_plan *plan,
	       const struct tare_scan_result *result, const char *like, const struct tare_cpu *cpu)
{
	struct json j = { .out = b, .indent = true };

	json_object(&j, NULL);
	json_str(&j, "schema", "tare.scan/1");
	json_str(&j, "tare", TARE_VERSION);
	json_str(&j, "like", like);
	cpu_json(&j, "cpu", cpu);
	plan_json(&j, plan);
	json_u64(&j, "tried", result->tried);
	json_u64(&j, "refused", result->refused);
	json_u64(&j, "silent", result->silent);
	json_array(&j, "found");
	for (size_t i = 0; i < result->n_found; i++)
		found_json(&j, &result->found[i]);
	json_end(&j);
	json_end(&j);
	buf_chr(b, '\n');
}
