/* Instructions by name or by opcode, as sets that the engine recognises (struct vpmu_insns).
 *
 * The names are those of instructions with one opcode, so that a name means the same to a reader, to
 * the decoder and in the kernels of tare verify. (An `add` has nine opcodes.) All of them run on every
 * x86-64 CPU.
 */
#include "model.h"

#include "why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

#define OP(n, m, o, k, ...) \
	{ .set = { .set = INSNS_OPCODE, .map = m, .opcode = o, .mask = k, .reg = ANY_REG, \
		   .prefix = ANY_PREFIX, .name = n }, __VA_ARGS__ }
#define GROUP(n, m, o, r, f, ...) \
	{ .set = { .set = INSNS_OPCODE, .map = m, .opcode = o, .mask = 0xff, .reg = r, .form = f, \
		   .prefix = ANY_PREFIX, .name = n }, __VA_ARGS__ }
#define SSE(n, p, o) \
	{ .set = { .set = INSNS_OPCODE, .map = 1, .opcode = o, .mask = 0xff, .reg = ANY_REG, \
		   .prefix = p, .name = n } }

static const struct model_insn insns[] = {
	OP("cmc", 0, 0xf5, 0xff), OP("stc", 0, 0xf9, 0xff), OP("clc", 0, 0xf8, 0xff),
	OP("sahf", 0, 0x9e, 0xff), OP("lahf", 0, 0x9f, 0xff), OP("bswap", 1, 0xc8, 0xf8),
	OP("xadd", 1, 0xc0, 0xfe), OP("cmpxchg", 1, 0xb0, 0xfe), OP("setcc", 1, 0x90, 0xf0),
	OP("cmovcc", 1, 0x40, 0xf0), OP("movsx", 1, 0xbe, 0xfe), OP("xlat", 0, 0xd7, 0xff, .loads = true),
	OP("leave", 0, 0xc9, 0xff, .loads = true), OP("bts", 1, 0xab, 0xff), OP("btr", 1, 0xb3, 0xff),
	OP("btc", 1, 0xbb, 0xff), OP("bsr", 1, 0xbd, 0xff), OP("cpuid", 1, 0xa2, 0xff),
	OP("stos", 0, 0xaa, 0xfe, .stores = true), OP("lods", 0, 0xac, 0xfe, .loads = true),
	OP("scas", 0, 0xae, 0xfe, .loads = true), OP("cmps", 0, 0xa6, 0xfe, .loads = true),
	GROUP("lfence", 1, 0xae, 5, FORM_REGISTER), GROUP("mfence", 1, 0xae, 6, FORM_REGISTER),
	GROUP("sfence", 1, 0xae, 7, FORM_REGISTER),
	GROUP("fldcw", 0, 0xd9, 5, FORM_MEMORY, .loads = true),
	GROUP("fnstcw", 0, 0xd9, 7, FORM_MEMORY, .stores = true),
	GROUP("fldenv", 0, 0xd9, 4, FORM_MEMORY, .loads = true),
	GROUP("frstor", 0, 0xdd, 4, FORM_MEMORY, .loads = true),
	GROUP("fbld", 0, 0xdf, 4, FORM_MEMORY, .loads = true),
	GROUP("fldt", 0, 0xdb, 5, FORM_MEMORY, .loads = true),
	GROUP("fxch", 0, 0xd9, 1, FORM_REGISTER),
	GROUP("ldmxcsr", 1, 0xae, 2, FORM_MEMORY, .loads = true),
	GROUP("stmxcsr", 1, 0xae, 3, FORM_MEMORY, .stores = true),
	SSE("emms", ANY_PREFIX, 0x77), SSE("paddb", ANY_PREFIX, 0xfc), SSE("paddw", ANY_PREFIX, 0xfd),
	SSE("psubb", ANY_PREFIX, 0xf8), SSE("pmullw", ANY_PREFIX, 0xd5), SSE("pmaddwd", ANY_PREFIX, 0xf5),
	SSE("sqrtps", 0, 0x51), SSE("addps", 0, 0x58), SSE("addpd", 0x66, 0x58), SSE("addss", 0xf3, 0x58),
	SSE("mulps", 0, 0x59), SSE("mulpd", 0x66, 0x59), SSE("subsd", 0xf2, 0x5c), SSE("divps", 0, 0x5e),
	SSE("maxps", 0, 0x5f), SSE("shufps", 0, 0xc6), SSE("unpcklps", 0, 0x14), SSE("rcpps", 0, 0x53),
	SSE("cvtsi2sd", 0xf2, 0x2a), SSE("cvttsd2si", 0xf2, 0x2c), SSE("comisd", 0x66, 0x2f),
};

const struct model_insn *model_insn_at(size_t i)
{
	return i < COUNT_OF(insns) ? &insns[i] : NULL;
}

/* "0fae/7", "vex0f58", "evex0f3842": opcode bytes, and the middle field of ModRM. */
static bool parse_opcode(const char *text, size_t len, struct vpmu_insns *out)
{
	static const struct { const char *start; uint8_t map; } maps[] = {
		{ "0f38", 2 }, { "0f3a", 3 }, { "0f", 1 }, { "", 0 },
	};
	char buf[24], *end;
	if (len >= sizeof(buf))
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	*out = (struct vpmu_insns){ .set = INSNS_OPCODE, .mask = 0xff, .reg = ANY_REG,
				    .prefix = ANY_PREFIX };
	snprintf(out->name, sizeof(out->name), "%s", buf);
	const char *p = buf;
	if (strncmp(p, "evex", 4) == 0)
		out->encoding = 3, p += 4;
	else if (strncmp(p, "vex", 3) == 0)
		out->encoding = 1, p += 3;
	const size_t digits = strspn(p, "0123456789abcdef");
	for (size_t i = 0; i < COUNT_OF(maps); i++) {
		const size_t n = strlen(maps[i].start);
		if (digits != n + 2 || strncmp(p, maps[i].start, n))
			continue;
		out->map = maps[i].map;
		const unsigned long opcode = strtoul(p + n, &end, 16);
		out->opcode = (uint8_t)opcode;
		if (*end == '/' && end[1] >= '0' && end[1] <= '7' && !end[2])
			out->reg = (uint8_t)(end[1] - '0'), end += 2;
		return !*end;
	}
	return false;
}

int model_insns_parse(const char *text, size_t len, struct vpmu_insns *out, struct tare_why *why)
{
	for (size_t i = 0; i < COUNT_OF(insns); i++)
		if (strlen(insns[i].set.name) == len && strncmp(insns[i].set.name, text, len) == 0) {
			*out = insns[i].set;
			return 0;
		}
	if (parse_opcode(text, len, out))
		return 0;
	return why_set(why, TARE_E_INVALID, "no instruction \"%.*s\": wants one of tare-run(1), or an "
		       "opcode like 0fae/7 or vex0f58", len > 40 ? 40 : (int)len, text);
}
