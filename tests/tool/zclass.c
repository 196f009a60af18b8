/* Zydis' view of an instruction, turned into the engine's events. */
#include "zclass.h"

#include <string.h>

const char *const event_names[EV_COUNT] = {
	[EV_INSTRUCTIONS] = "instructions",
	[EV_BRANCHES] = "branches",
	[EV_COND] = "cond-branches",
	[EV_TAKEN] = "taken-branches",
	[EV_LOADS] = "loads",
	[EV_STORES] = "stores",
	[EV_CALLS] = "calls",
	[EV_RETURNS] = "returns",
	[EV_INDIRECT] = "indirect-branches",
	[EV_SYSCALLS] = "syscalls",
	[EV_MULTIPLIES] = "multiplies",
	[EV_DIVIDES] = "divides",
	[EV_X87] = "x87",
	[EV_FP] = "fp",
	[EV_SIMD_INT] = "simd-int",
	[EV_LOCKED] = "locked",
	[EV_FAR] = "far-transfers",
};

static ZydisDecoder decoder;

void zclass_init(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

static uint32_t bit(enum event e)
{
	return UINT32_C(1) << e;
}

/* Near and far branches. Zydis files loop and jrcxz under COND_BR too. */
static uint32_t branch_events(const ZydisDecodedInstruction *in,
			      const ZydisDecodedOperand *ops)
{
	const bool far = in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
			 (in->mnemonic == ZYDIS_MNEMONIC_RET && (in->opcode & 0xfe) == 0xca);
	const uint32_t always = bit(EV_BRANCHES) | bit(EV_TAKEN);
	const bool indirect = ops[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return in->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? bit(EV_BRANCHES)
			: bit(EV_BRANCHES) | bit(EV_COND);
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (in->mnemonic != ZYDIS_MNEMONIC_JMP)
			return in->mnemonic == ZYDIS_MNEMONIC_XABORT ? 0 : always;
		return always | (far ? bit(EV_FAR) : indirect ? bit(EV_INDIRECT) : 0);
	case ZYDIS_CATEGORY_CALL:
		return always | (far ? bit(EV_FAR)
				     : bit(EV_CALLS) | (indirect ? bit(EV_INDIRECT) : 0));
	case ZYDIS_CATEGORY_RET:
		if (in->mnemonic == ZYDIS_MNEMONIC_RET && !far)
			return always | bit(EV_RETURNS);
		return always | bit(EV_FAR);
	case ZYDIS_CATEGORY_SYSCALL:
		return always | bit(EV_FAR) | bit(EV_SYSCALLS);
	case ZYDIS_CATEGORY_INTERRUPT:
		if (in->mnemonic == ZYDIS_MNEMONIC_INT && in->raw.imm[0].value.u == 0x80)
			return always | bit(EV_FAR) | bit(EV_SYSCALLS);
		return always | bit(EV_FAR);
	default:
		return 0;
	}
}

/* Addresses that are named but not accessed. */
static bool accesses_nothing(const ZydisDecodedInstruction *in)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_CLFLUSH:	/* a line is named, no data move */
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_CLDEMOTE:
		return true;
	default:
		return false;
	}
}

/* They also read the header, to keep the bits of state that is not saved; tare-engine(7) counts the
 * store alone. */
static bool saves_state(const ZydisDecodedInstruction *in)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
		return true;
	default:
		return false;
	}
}

/* enter of level 2 and up, which Zydis does not have as an operand. */
static bool copies_frames(const ZydisDecodedInstruction *in)
{
	return in->mnemonic == ZYDIS_MNEMONIC_ENTER && (in->raw.imm[1].value.u & 31) > 1;
}

static uint32_t memory_events(const ZydisDecodedInstruction *in,
			      const ZydisDecodedOperand *ops)
{
	if (accesses_nothing(in))
		return 0;
	if (in->mnemonic == ZYDIS_MNEMONIC_CLZERO || saves_state(in))
		return bit(EV_STORES);
	if (in->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	    in->meta.category == ZYDIS_CATEGORY_PREFETCHWT1)
		return bit(EV_LOADS);
	uint32_t events = copies_frames(in) ? bit(EV_LOADS) : 0;
	for (int i = 0; i < in->operand_count; i++) {
		if (ops[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    ops[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		if (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			events |= bit(EV_LOADS);
		if (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			events |= bit(EV_STORES);
	}
	return events;
}

static bool vector_operand(const ZydisDecodedInstruction *in,
			   const ZydisDecodedOperand *ops)
{
	for (int i = 0; i < in->operand_count; i++) {
		if (ops[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		switch (ZydisRegisterGetClass(ops[i].reg.value)) {
		case ZYDIS_REGCLASS_MMX:
		case ZYDIS_REGCLASS_XMM:
		case ZYDIS_REGCLASS_YMM:
		case ZYDIS_REGCLASS_ZMM:
			return true;
		default:
			break;
		}
	}
	return false;
}

static bool begins(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	return false;
}

static bool fp_suffix(const char *name)
{
	const size_t n = strlen(name);
	const char *const s = name + (n > 2 ? n - 2 : 0);
	return !strcmp(s, "ps") || !strcmp(s, "pd") || !strcmp(s, "ss") ||
	       !strcmp(s, "sd") || !strcmp(s, "ph") || !strcmp(s, "sh");
}

/* By name, because that is how the manual page defines the two events. */
static uint32_t vector_events(const ZydisDecodedInstruction *in,
			      const ZydisDecodedOperand *ops)
{
	static const char *const fp[] = {
		"add", "sub", "mul", "div", "sqrt", "rcp", "rsqrt", "min", "max", "cmp",
		"hadd", "hsub", "dpp", "round", "rndscale", "reduce", "range", "getexp",
		"getmant", "fixupimm", "scalef", "exp2", "fmadd", "fmsub", "fnmadd",
		"fnmsub", "fcmadd", "fcmul", "fmul", NULL
	};
	static const char *const fp_any[] = { "comis", "ucomis", "cvt", "fpclass", "dpbf16ps", NULL };
	static const char *const moves[] = { "pmaskmov", "pgather", "pscatter", NULL };
	static const char *const ints[] = {
		"p", "mpsadbw", "dbpsadbw", "aes", "sha", "gf2p8", NULL
	};
	const char *name = ZydisMnemonicGetString(in->mnemonic);
	if (name[0] == 'v')
		name++;
	/* cvttsd2si from memory to a general register has no vector operand, nor has vfpclassps from
	 * memory to a mask */
	if (!vector_operand(in, ops) && strncmp(name, "cvt", 3) && strncmp(name, "fpclass", 7))
		return 0;
	if (begins(name, fp_any) || (begins(name, fp) && fp_suffix(name)))
		return bit(EV_FP);
	if (begins(name, ints) && !begins(name, moves))
		return bit(EV_SIMD_INT);
	return 0;
}

static uint32_t arithmetic_events(const ZydisDecodedInstruction *in)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_MULX:
		return bit(EV_MULTIPLIES);
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		return bit(EV_DIVIDES);
	case ZYDIS_MNEMONIC_FWAIT:
		return bit(EV_X87);
	default:
		break;
	}
	const bool x87 = in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
			 in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
			 in->opcode >= 0xd8 && in->opcode <= 0xdf;
	return x87 ? bit(EV_X87) : 0;
}

static uint32_t locked_events(const ZydisDecodedInstruction *in, uint32_t memory)
{
	const bool xchg = in->mnemonic == ZYDIS_MNEMONIC_XCHG && memory;
	return xchg || (in->attributes & ZYDIS_ATTRIB_HAS_LOCK) ? bit(EV_LOCKED) : 0;
}

static bool loads_ss(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops)
{
	return (in->mnemonic == ZYDIS_MNEMONIC_MOV || in->mnemonic == ZYDIS_MNEMONIC_POP) &&
	       ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ops[0].reg.value == ZYDIS_REGISTER_SS;
}

struct zclass zclass_of(const uint8_t *bytes, unsigned avail)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	struct zclass c = { .events = bit(EV_INSTRUCTIONS) };
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, avail, &in, ops)))
		return c;
	c.known = true;
	c.length = in.length;
	const uint32_t memory = memory_events(&in, ops);
	c.events |= memory | branch_events(&in, ops) | vector_events(&in, ops) |
		    arithmetic_events(&in) | locked_events(&in, memory);
	c.rep_string = in.meta.category == ZYDIS_CATEGORY_STRINGOP &&
		       (in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
					 ZYDIS_ATTRIB_HAS_REPNE));
	c.shadows_next = loads_ss(&in, ops);
	c.jcc_to_next = in.meta.category == ZYDIS_CATEGORY_COND_BR &&
			(in.opcode >> 4 == 7 || in.opcode >> 4 == 8) &&
			in.raw.imm[0].value.s == 0;
	c.cond = in.opcode & 15;
	c.breakpoint = in.mnemonic == ZYDIS_MNEMONIC_INT3 ||
		       in.mnemonic == ZYDIS_MNEMONIC_INT1;
	return c;
}
