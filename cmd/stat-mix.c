/* tare stat --mix: how often each opcode ran. */
#include "disassembler.h"
#include "json.h"
#include "stat.h"

#include <stdio.h>

#define SHOWN 20u	/* opcodes, for people */

/* Of the last run that counts: runs of a program that repeats have the same mix. */
static const struct stat_run *last_run(const struct stat_session *s)
{
	for (size_t i = s->n_runs; i-- > 0;)
		if (stat_run_counts(s, &s->runs[i]) && stat_part(&s->runs[i])->code)
			return &s->runs[i];
	return NULL;
}

static struct tare_code_mix *mix_of(const struct stat_session *s, bool *complete)
{
	const struct stat_run *const r = last_run(s);
	struct tare_code_mix *mix = NULL;
	if (!r || tare_code_mix(stat_part(r)->code, &mix, NULL) < 0)
		return NULL;
	*complete = tare_code_is_complete(stat_part(r)->code);
	for (size_t i = 0; i < s->n_events; i++)
		*complete &= !r->counts[i].lower_bound;
	return mix;
}

static void put_row(struct buf *out, uint64_t runs, uint64_t all)
{
	struct buf number = { 0 };
	buf_grouped(&number, runs);
	buf_printf(out, "%20s %6.2f %%  ", number.data, 100.0 * (double)runs / (double)all);
	buf_free(&number);
}

void stat_mix_text(const struct stat_session *s, struct buf *out)
{
	bool complete;
	struct tare_code_mix *const mix = mix_of(s, &complete);
	if (!mix)
		return;
	buf_str(out, "\n Opcodes of ");
	buf_grouped(out, mix->instructions);
	buf_printf(out, " instructions, %s:\n\n",
		   tare_provenance_name(complete ? TARE_PROV_EXACT : TARE_PROV_INCOMPLETE));
	const size_t shown = mix->n < SHOWN ? mix->n : SHOWN;
	uint64_t others = mix->instructions;
	for (size_t i = 0; i < shown; i++) {
		const struct tare_code_opcode *const o = &mix->opcodes[i];
		const char *const mnemonic = disassemble_mnemonic(o->bytes, o->size);
		put_row(out, o->runs, mix->instructions);
		buf_printf(out, mnemonic ? "%-22s%s\n" : "%s%s\n", o->name, mnemonic ? mnemonic : "");
		others -= o->runs;
	}
	if (shown < mix->n) {
		put_row(out, others, mix->instructions);
		buf_printf(out, "%zu others, which -j lists\n", mix->n - shown);
	}
	tare_code_mix_free(mix);
}

static void opcode_json(struct json *j, const struct tare_code_opcode *o)
{
	char bytes[2 * sizeof(o->bytes) + 1] = "";
	const char *const mnemonic = disassemble_mnemonic(o->bytes, o->size);
	for (unsigned i = 0; i < o->size; i++)
		snprintf(bytes + 2 * i, 3, "%02x", o->bytes[i]);
	json_object(j, NULL);
	json_str(j, "opcode", o->name);
	if (mnemonic)
		json_str(j, "mnemonic", mnemonic);
	json_str(j, "bytes", bytes);
	json_u64(j, "runs", o->runs);
	json_end(j);
}

void stat_mix_json(struct json *j, const struct stat_session *s)
{
	bool complete;
	struct tare_code_mix *const mix = mix_of(s, &complete);
	if (!mix)
		return;
	json_object(j, "mix");
	json_u64(j, "instructions", mix->instructions);
	json_str(j, "provenance",
		 tare_provenance_name(complete ? TARE_PROV_EXACT : TARE_PROV_INCOMPLETE));
	json_array(j, "opcodes");
	for (size_t i = 0; i < mix->n; i++)
		opcode_json(j, &mix->opcodes[i]);
	json_end(j);
	json_end(j);
	tare_code_mix_free(mix);
}
