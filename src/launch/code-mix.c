/* The mix of a run: the code log summed by opcode. */
#include "code.h"

#include "decode.h"
#include "why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* Opcodes of the one-byte map that go on in the middle field of ModRM. */
static bool goes_on_one_byte(uint8_t opcode)
{
	return (opcode >= 0x80 && opcode <= 0x83) || opcode == 0x8f || opcode == 0xc0 ||
	       opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
	       (opcode >= 0xd0 && opcode <= 0xd3) || (opcode >= 0xd8 && opcode <= 0xdf) ||
	       opcode == 0xf6 || opcode == 0xf7 || opcode == 0xfe || opcode == 0xff;
}

/* … and of the map 0F, and of VEX's map 0F38. */
static bool goes_on(const struct insn *in)
{
	if (!in->has_modrm)
		return false;
	if (in->map == 0)
		return goes_on_one_byte(in->opcode);
	if (in->map == 2)
		return in->encoding && in->opcode == 0xf3;
	return in->map == 1 && (in->opcode <= 0x01 || in->opcode == 0x0d || in->opcode == 0x18 ||
				(in->opcode >= 0x71 && in->opcode <= 0x73) || in->opcode == 0xae ||
				in->opcode == 0xba || in->opcode == 0xc7);
}

/* The mandatory prefix of VEX, EVEX and XOP is in the byte before the opcode, or two before it. */
static unsigned vex_prefix(const struct insn *in, const uint8_t *bytes)
{
	const unsigned before = in->encoding == 3 ? 2 : 1;
	return bytes[in->opcode_off - before] & 3;
}

/* The prefix that is part of the opcode: 0, 0x66, 0xf3 or 0xf2. */
static unsigned prefix_of(const struct insn *in, const uint8_t *bytes)
{
	static const uint8_t of_vex[4] = { 0, 0x66, 0xf3, 0xf2 };
	if (in->encoding)
		return of_vex[vex_prefix(in, bytes)];
	if (in->map == 0)
		return 0;
	if (in->rep)
		return in->rep;
	for (unsigned i = 0; i < in->opcode_off; i++)
		if (bytes[i] == 0x66)
			return 0x66;
	return 0;
}

static const char *map_name(unsigned map)
{
	static const char *const names[] = { "", "0F ", "0F38 ", "0F3A ", "4 ", "5 ", "6 ", "7 ",
					     "8 ", "9 ", "A " };
	return map < sizeof(names) / sizeof(*names) ? names[map] : "0F0F ";
}

static void name_of(const struct insn *in, const uint8_t *bytes, char *out, size_t size)
{
	static const char *const encodings[] = { "", "VEX.", "VEX.", "EVEX.", "XOP." };
	static const char *const separators[] = { " ", "." };
	const unsigned prefix = prefix_of(in, bytes);
	const bool is_string = in->classes & CLASS_REP, register_form = in->modrm >= 0xc0;
	char text[16] = "", rest[16] = "";
	if (prefix)
		snprintf(text, sizeof(text), "%02X%s", prefix, separators[in->encoding != 0]);
	if (in->map == 0 && in->opcode >= 0xd8 && in->opcode <= 0xdf && register_form)
		snprintf(rest, sizeof(rest), " %02X", in->modrm);	/* x87: all of ModRM */
	else if (goes_on(in))
		snprintf(rest, sizeof(rest), " /%u %c", in->modrm >> 3 & 7, register_form ? 'r' : 'm');
	else if (in->has_modrm)
		snprintf(rest, sizeof(rest), " %c", register_form ? 'r' : 'm');
	snprintf(out, size, "%s%s%s%s%s%02X%s", in->lock ? "lock " : "",
		 is_string ? in->rep == 0xf2 ? "repne " : "rep " : "", encodings[in->encoding], text,
		 map_name(in->map), in->opcode, rest);
}

char *tare_code_opcode_name(const uint8_t *bytes, size_t size, char *out, size_t out_size)
{
	struct insn in;
	if (out_size)
		*out = '\0';
	if (decode_insn(&in, bytes, (unsigned)(size < 15 ? size : 15)) > 0)
		name_of(&in, bytes, out, out_size);
	return out;
}

/* ---- summing ---- */

struct sum {
	struct tare_code_mix *mix;
	uint32_t *table;	/* 1 + index of the opcode, by the hash of its name */
};

#define SLOTS 65536u	/* the maps have some 2,000 opcodes; with prefixes and forms 20,000 */

static uint32_t hash_of(const char *name)
{
	uint32_t h = 2166136261u;
	while (*name)
		h = (h ^ (uint8_t)*name++) * 16777619u;
	return h ^ h >> 15;
}

static struct tare_code_opcode *opcode_of(struct sum *s, const char *name)
{
	uint32_t *slot = &s->table[hash_of(name) % SLOTS];
	while (*slot && strcmp(s->mix->opcodes[*slot - 1].name, name)) {
		slot++;
		if (slot == s->table + SLOTS)
			slot = s->table;
	}
	if (*slot)
		return &s->mix->opcodes[*slot - 1];
	struct tare_code_mix *const m = s->mix;
	if (m->n == SLOTS - 1)
		return NULL;
	if (!(m->n & (m->n - 1))) {
		void *const larger = realloc(m->opcodes, (m->n ? 2 * m->n : 1) * sizeof(*m->opcodes));
		if (!larger)
			return NULL;
		m->opcodes = larger;
	}
	*slot = (uint32_t)++m->n;
	struct tare_code_opcode *const o = &m->opcodes[m->n - 1];
	memset(o, 0, sizeof(*o));
	memcpy(o->name, name, strlen(name) + 1);
	return o;
}

static int add_range(const struct tare_code_range *r, void *arg)
{
	struct sum *const s = arg;
	struct insn in;
	char name[32];
	for (unsigned at = 0; at < r->size && r->runs; at += in.len) {
		const uint8_t *const bytes = r->bytes + at;
		if (decode_insn(&in, bytes, r->size - at) <= 0)
			break;
		name_of(&in, bytes, name, sizeof(name));
		struct tare_code_opcode *const o = opcode_of(s, name);
		if (!o)
			return TARE_E_NOMEM;
		if (!o->size) {
			struct tare_code_insn insn;
			o->size = in.len;
			memcpy(o->bytes, bytes, in.len);
			tare_code_insn(bytes, in.len, 0, &insn);
			o->events = insn.events;
		}
		o->runs += (uint64_t)r->runs;
		s->mix->instructions += (uint64_t)r->runs;
	}
	return 0;
}

static int by_runs(const void *a, const void *b)
{
	const struct tare_code_opcode *const x = a, *const y = b;
	return x->runs != y->runs ? (x->runs < y->runs ? 1 : -1) : strcmp(x->name, y->name);
}

/* What was counted and taken back has 0 runs. */
static void drop_empty(struct tare_code_mix *m)
{
	while (m->n && !m->opcodes[m->n - 1].runs)
		m->n--;
}

int tare_code_mix(const struct tare_code *c, struct tare_code_mix **mix, struct tare_why *why)
{
	if (!c || !mix)
		return why_set(why, TARE_E_INVALID, "tare_code_mix: no list, or no place for the mix");
	struct sum s = { .mix = calloc(1, sizeof(*s.mix)), .table = calloc(SLOTS, sizeof(*s.table)) };
	int err = s.mix && s.table ? tare_code_each(c, add_range, &s, why) : TARE_E_NOMEM;
	free(s.table);
	*mix = s.mix;
	if (err) {
		tare_code_mix_free(s.mix);
		*mix = NULL;
		return why_set(why, err, "the mix of a run");
	}
	qsort(s.mix->opcodes, s.mix->n, sizeof(*s.mix->opcodes), by_runs);
	drop_empty(s.mix);
	return 0;
}

void tare_code_mix_free(struct tare_code_mix *mix)
{
	if (mix)
		free(mix->opcodes);
	free(mix);
}
