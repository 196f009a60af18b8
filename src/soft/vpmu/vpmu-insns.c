/* Instructions that a model counts more than once, or not at all.
 *
 * A flaw names a set of instructions (vpmu-abi.h). The code of a block adds how many instructions
 * of each set it has to an accumulator of that set; what they mean for an event is computed when
 * the event is read (vpmu-flaws.c). So neither the clock nor another event changes.
 */
#include "vpmu-room.h"

#include "decode.h"

static bool is_legacy(const struct insn *in, unsigned map, unsigned opcode)
{
	return in->encoding == 0 && in->map == map && in->opcode == opcode;
}

/* `reg`: the middle field of ModRM. */
static bool is_group(const struct insn *in, unsigned map, unsigned opcode, unsigned reg, bool memory)
{
	return is_legacy(in, map, opcode) && (in->modrm >> 3 & 7) == reg &&
	       (in->modrm < 0xc0) == memory;
}

/* A 66 prefix, which may be part of the opcode: what is before the opcode's own bytes (0F, 0F 38)
 * and nothing else that the decoder knows. */
static bool has_66(const struct insn *in)
{
	const int others = !!in->rex + !!in->rep + !!in->lock + !!in->addr32 + !!in->segment;
	return in->opcode_off > (in->map > 1 ? 2 : in->map) + others;
}

static bool is_sfence(const struct insn *in) { return is_group(in, 1, 0xae, 7, false); }
static bool is_mfence(const struct insn *in) { return is_group(in, 1, 0xae, 6, false) && !in->rep; }
static bool is_clflush(const struct insn *in)
{
	return is_group(in, 1, 0xae, 7, true) && !has_66(in) && !in->rep;
}

/* fninit, fnclex (DB E3, DB E2), fnsave (DD /6). */
static bool is_x87_state(const struct insn *in)
{
	return is_group(in, 0, 0xdd, 6, true) ||
	       (is_group(in, 0, 0xdb, 4, false) && (in->modrm == 0xe3 || in->modrm == 0xe2));
}

/* Pentium D: fldcw, fldenv, frstor, maskmovq, emms, cvtpd2pi and cvttpd2pi from memory,
 * sfence, mfence. */
static bool is_like_fldcw(const struct insn *in)
{
	const bool memory = in->modrm < 0xc0;
	return is_group(in, 0, 0xd9, 5, true) || is_group(in, 0, 0xd9, 4, true) ||
	       is_group(in, 0, 0xdd, 4, true) || (is_legacy(in, 1, 0xf7) && !has_66(in)) ||
	       is_legacy(in, 1, 0x77) ||
	       ((is_legacy(in, 1, 0x2d) || is_legacy(in, 1, 0x2c)) && has_66(in) && !in->rep &&
		memory) ||
	       is_sfence(in) || is_mfence(in);
}

/* Core 2: leave loads twice; fstenv, fsave, fxsave, maskmovq, maskmovdqu and storing movups,
 * movupd, movdqu count as loads. */
static bool is_load_too(const struct insn *in)
{
	const bool memory = in->modrm < 0xc0;
	return is_legacy(in, 0, 0xc9) || is_group(in, 0, 0xd9, 6, true) ||
	       is_group(in, 0, 0xdd, 6, true) || (is_group(in, 1, 0xae, 0, true) && !in->rep) ||
	       is_legacy(in, 1, 0xf7) || (is_legacy(in, 1, 0x11) && !in->rep && memory) ||
	       (is_legacy(in, 1, 0x7f) && in->rep == 0xf3 && memory);
}

static bool is_padd_from_memory(const struct insn *in)
{
	return (is_legacy(in, 1, 0xfc) || is_legacy(in, 1, 0xfd) || is_legacy(in, 1, 0xd4)) &&
	       in->modrm < 0xc0;
}

static bool has_prefix(const struct insn *in, uint8_t prefix)
{
	switch (prefix) {
	case ANY_PREFIX:
		return true;
	case 0x66:
		return !in->rep && has_66(in);
	case 0:
		return !in->rep && !has_66(in);
	default:
		return in->rep == prefix;
	}
}

static bool is_opcode(const struct vpmu_insns *s, const struct insn *in)
{
	const uint8_t encoding = in->encoding == 2 ? 1 : in->encoding;
	if (encoding != s->encoding || in->map != s->map || (in->opcode & s->mask) != s->opcode)
		return false;
	if (s->reg != ANY_REG && (!in->has_modrm || (in->modrm >> 3 & 7) != s->reg))
		return false;
	if (s->form != FORM_ANY && (!in->has_modrm || (in->modrm < 0xc0) != (s->form == FORM_MEMORY)))
		return false;
	return encoding ? true : has_prefix(in, s->prefix);
}

/* Is it one of the set, whenever it is run? */
static bool is_in(const struct vpmu_insns *s, const struct insn *in)
{
	switch (s->set) {
	case INSNS_OPCODE:
		return is_opcode(s, in);
	case INSNS_FLDCW:
		return is_like_fldcw(in);
	case INSNS_0F:
		return in->classes & CLASS_0F_NONBRANCH;
	case INSNS_CPUID:
		return in->special == SPECIAL_CPUID;
	case INSNS_FENCE:
		return in->special == SPECIAL_CPUID || is_sfence(in) || is_mfence(in) || is_clflush(in);
	case INSNS_CLFLUSH:
		return is_clflush(in);
	case INSNS_LOAD_TOO:
		return is_load_too(in);
	case INSNS_PADD_MEMORY:
		return is_padd_from_memory(in);
	default:
		return false;		/* depends on more than the instruction */
	}
}

/* The accumulator for instructions that count twice if an exception flag is set; -1: none. */
static int x87_state_acc(void)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	for (uint32_t i = 0; i < f->n_insns; i++)
		if (f->insns[i].set == INSNS_X87_STATE)
			return vpmu_insns_acc[i];
	return -1;
}

bool vpmu_asks_x87(const struct insn *in)
{
	return E.vpmu && is_x87_state(in) && x87_state_acc() >= 0;
}

/* One of these has retired; the status word from before it is stored (emit_x87_status()). */
void vpmu_x87(struct thread *t)
{
	const struct mode *const m = &cache.modes[cache.mode];
	if (m->acc && vpmu_mem(t->vpmu.slot)->x87_status & X87_EXCEPTIONS)
		count_add(t, x87_state_acc(), 1, m);
}

void vpmu_count_insns(uint8_t *vec, const struct insn *in, int n)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	for (uint32_t i = 0; i < f->n_insns; i++) {
		uint8_t *const found = &vec[vpmu_insns_acc[i]];
		*found = 0;
		for (int k = 0; k < n; k++)
			*found += is_in(&f->insns[i], &in[k]);
	}
}
