/* Where the decoder and Zydis differ, and who is right. Written for Zydis 4.0 (Debian 12);
 * what 4.1 (Debian 13) adds is in a list of its own. Included by decode-zydis.c. */
struct exception {
	ZydisMnemonic mnemonic;		/* 0: any */
	unsigned fields;		/* BIT(enum field) */
	bool (*when)(const ZydisDecodedInstruction *z, const struct insn *in);	/* NULL: always */
	const char *why;
};

static bool same_register(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return in->modrm >= 0xc0 && (in->modrm & 7) == (in->modrm >> 3 & 7) &&
	       !(in->rex & 1) == !(in->rex & 4) && in->regs_killed;
}

static bool shift_by_cl(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return in->map == 0 ? (in->opcode & 0xfe) == 0xd2 : in->map == 1 && (in->opcode & 0xf7) == 0xa5;
}

static bool shift_by_zero(const ZydisDecodedInstruction *z, const struct insn *in)
{
	const bool shift = in->map == 0 ? (in->opcode & 0xfe) == 0xc0 : in->map == 1 && (in->opcode & 0xf7) == 0xa4;
	return shift && (in->imm & (in->rex & 8 ? 63 : 31)) == 0;
}

static unsigned shift_count(const struct insn *in)
{
	return (unsigned)in->imm & (in->rex & 8 ? 63 : 31);
}

static bool by_one(const ZydisDecodedInstruction *z, const struct insn *in)
{
	if (in->map == 0 && (in->opcode & 0xfe) == 0xd0)
		return true;
	const bool counted = in->map == 0 ? (in->opcode & 0xfe) == 0xc0 : in->map == 1 && (in->opcode & 0xf7) == 0xa4;
	return counted && shift_count(in) == 1;
}

static bool shift_too_far(const ZydisDecodedInstruction *z, const struct insn *in)
{
	const bool one = in->map == 0 && (in->opcode & 0xfe) == 0xc0 && (in->modrm >> 3 & 7) >= 4;
	const bool two = in->map == 1 && (in->opcode & 0xf7) == 0xa4;
	return (one || two) && shift_count(in) >= z->operand_width;
}

static bool repeated(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return in->classes & CLASS_REP;
}

static bool faults(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return in->flow == FLOW_FAULT;
}

static bool leaves(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return in->flow == FLOW_FAR || in->flow == FLOW_INT || in->flow == FLOW_SYSCALL || in->flow == FLOW_SYSENTER ||
	       in->flow == FLOW_XBEGIN || in->special == SPECIAL_XABORT;
}

static bool knights_corner(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return strncmp(ZydisISASetGetString(z->meta.isa_set), "KNC", 3) == 0;
}

static bool narrow(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return in->map == 0 && (in->opcode == 0xc0 || (in->opcode == 0xc1 && in->opsize16));
}

static bool string(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return in->map == 0 && ((in->opcode & 0xfc) == 0xa4 || (in->opcode & 0xfc) == 0xac || (in->opcode & 0xfc) == 0x6c);
}

static bool padlock(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return z->meta.category == ZYDIS_CATEGORY_PADLOCK;
}

static bool rex_b(const ZydisDecodedInstruction *z, const struct insn *in)
{
	return in->rex & 1;
}

static bool privileged(const ZydisDecodedInstruction *z, const struct insn *in)
{
	static const ZydisMnemonic list[] = {
		M(LGDT), M(GETSEC), M(RSM), M(ENCLV), M(ENCLS), M(VMCALL), M(VMFUNC), M(VMRUN), M(VMMCALL), M(VMLOAD),
		M(VMSAVE), M(STGI), M(CLGI), M(SKINIT), M(TDCALL), M(SEAMRET), M(SEAMOPS), M(SEAMCALL), M(HRESET),
	};
	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (list[i] == z->mnemonic)
			return in->flow == FLOW_FAULT;
	return false;
}

static bool arithmetic(const ZydisDecodedInstruction *z, const struct insn *in)
{
	switch (z->mnemonic) {
	case M(VFRCZPS): case M(VFRCZPD): case M(VFRCZSS): case M(VFRCZSD):
	case M(V4FMADDPS): case M(V4FMADDSS): case M(V4FNMADDPS): case M(V4FNMADDSS):
		return in->classes & CLASS_FP;
	default:
		return false;
	}
}

#define FLAGS (BIT(IN_FLAGS_READ) | BIT(IN_FLAGS_TOUCHED) | BIT(IN_FLAGS_WRITTEN))
#define REGS (BIT(IN_REGS_READ) | BIT(IN_REGS_WRITTEN) | BIT(IN_REGS_KILLED))

/* Instructions that are newer than Zydis 4.0. The unit test holds those that GNU as
 * 2.40 knows against its bytes; SHA512, SM3, SM4, AVX-VNNI-INT16 and AMX-COMPLEX are
 * newer still, and untested. */
static const struct {
	uint8_t encoding, map, opcode, pps;	/* pps: bit per mandatory prefix, 1 none 2 66 4 F3 8 F2 */
} newer[] = {
	{ 2, 2, 0xb4, 2 }, { 2, 2, 0xb5, 2 }, { 2, 2, 0x50, 13 }, { 2, 2, 0x51, 13 }, { 2, 2, 0xd2, 7 },
	{ 2, 2, 0xd3, 7 }, { 2, 2, 0xb0, 15 }, { 2, 2, 0xb1, 6 }, { 2, 2, 0x72, 4 }, { 2, 2, 0xcb, 8 },
	{ 2, 2, 0xcc, 8 }, { 2, 2, 0xcd, 8 }, { 2, 2, 0xda, 15 }, { 2, 3, 0xde, 2 }, { 2, 2, 0xe0, 2 },
	{ 2, 2, 0xe1, 2 }, { 2, 2, 0xe2, 2 }, { 2, 2, 0xe3, 2 }, { 2, 2, 0xe4, 2 }, { 2, 2, 0xe5, 2 },
	{ 2, 2, 0xe6, 2 }, { 2, 2, 0xe7, 2 }, { 2, 2, 0xe8, 2 }, { 2, 2, 0xe9, 2 }, { 2, 2, 0xea, 2 },
	{ 2, 2, 0xeb, 2 }, { 2, 2, 0xec, 2 }, { 2, 2, 0xed, 2 }, { 2, 2, 0xee, 2 }, { 2, 2, 0xef, 2 },
	{ 0, 2, 0xfc, 15 }, { 2, 2, 0x5c, 8 }, { 2, 2, 0x6c, 3 },
};

static bool is_newer(const struct insn *in, const uint8_t *bytes)
{
	unsigned pp = in->rep ? (in->rep == 0xf3 ? 2 : 3) : 0;
	if (in->encoding)
		pp = bytes[in->opcode_off - 1] & 3;
	else if (!in->rep)
		for (unsigned i = 0; i < in->opcode_off; i++)
			pp |= bytes[i] == 0x66;
	for (unsigned i = 0; i < sizeof(newer) / sizeof(*newer); i++)
		if (newer[i].encoding == in->encoding && newer[i].map == in->map && newer[i].opcode == in->opcode &&
		    newer[i].pps >> pp & 1)
			return true;
	return false;
}

/* What a later Zydis knows and 4.0 has no name for: by its text, and left out of the
 * comparison. How often each was left out is printed. */
static const struct {
	const char *mnemonic;
	unsigned fields;
	const char *why;
} later[] = {
	{ "wrmsrns", BIT(IN_VALID), "privileged, and refused here" },
	{ "rdmsrlist", BIT(IN_VALID), "likewise" },
	{ "wrmsrlist", BIT(IN_VALID), "likewise" },
	{ "pbndkb", BIT(IN_VALID), "likewise" },
	{ "pcommit", BIT(IN_VALID), "no CPU has it (withdrawn)" },
	{ "tdpfp16ps", BIT(IN_VALID), "its registers must differ (SDM); Zydis permits one twice" },
	{ "prefetchit0", BIT(IN_LOAD) | BIT(IN_SEGMENT), "fetches instructions: no data is loaded" },
	{ "prefetchit1", BIT(IN_LOAD) | BIT(IN_SEGMENT), "likewise" },
	{ "vsm3msg1", BIT(IN_CLASS), "integer SIMD; not in the referee's list of names" },
	{ "vsm3msg2", BIT(IN_CLASS), "likewise" },
	{ "vsm3rnds2", BIT(IN_CLASS), "likewise" },
	{ "vsm4key4", BIT(IN_CLASS), "likewise" },
	{ "vsm4rnds4", BIT(IN_CLASS), "likewise" },
};

static const struct exception reviewed[] = {
	/* Flags */
	{ 0, BIT(IN_FLAGS_WRITTEN), shift_by_cl, "a count of 0 keeps all flags (SDM, SAL/SAR/SHL/SHR)" },
	{ 0, BIT(IN_FLAGS_WRITTEN) | BIT(IN_FLAGS_TOUCHED), shift_by_zero, "likewise, known beforehand" },
	{ M(RCL), BIT(IN_FLAGS_WRITTEN), narrow, "8 and 16 bits: the count is taken modulo 9 and 17 and may be 0" },
	{ M(RCR), BIT(IN_FLAGS_WRITTEN), narrow, "likewise" },
	{ 0, BIT(IN_FLAGS_WRITTEN), by_one, "OF is defined for a count of 1 (SDM, APM)" },
	{ 0, BIT(IN_FLAGS_WRITTEN), shift_too_far, "CF, of shld and shrd all, undefined beyond the operand's size" },
	{ M(AND), BIT(IN_FLAGS_WRITTEN), NULL, "AF is undefined, but cleared by every CPU known (see decode-cpu)" },
	{ M(OR), BIT(IN_FLAGS_WRITTEN), NULL, "likewise" },
	{ M(XOR), BIT(IN_FLAGS_WRITTEN), NULL, "likewise" },
	{ M(TEST), BIT(IN_FLAGS_WRITTEN), NULL, "likewise" },
	{ M(BEXTR), BIT(IN_FLAGS_WRITTEN), NULL, "only ZF is relied on" },
	{ M(SBB), BIT(IN_FLAGS_WRITTEN), NULL, "AF is defined (SDM, APM)" },
	{ M(FCOMI), BIT(IN_FLAGS_WRITTEN), NULL, "OF SF AF: not in every edition of the manuals" },
	{ M(FCOMIP), BIT(IN_FLAGS_WRITTEN), NULL, "likewise" },
	{ M(FUCOMI), BIT(IN_FLAGS_WRITTEN), NULL, "likewise" },
	{ M(FUCOMIP), BIT(IN_FLAGS_WRITTEN), NULL, "likewise" },
	{ 0, BIT(IN_FLAGS_WRITTEN) | BIT(IN_FLAGS_READ), repeated,
	  "with rcx = 0 nothing happens; ZF is looked at after an iteration, not before (SDM, REP)" },
	{ M(TZCNT), BIT(IN_FLAGS_WRITTEN), NULL, "bsf where the CPU lacks it: CF undefined" },
	{ M(LZCNT), BIT(IN_FLAGS_WRITTEN), NULL, "likewise, bsr" },
	{ M(VPTEST), BIT(IN_FLAGS_TOUCHED) | BIT(IN_FLAGS_WRITTEN), NULL, "clears OF AF PF SF as ptest does (SDM)" },
	{ M(VTESTPS), BIT(IN_FLAGS_TOUCHED) | BIT(IN_FLAGS_WRITTEN), NULL, "likewise" },
	{ M(VTESTPD), BIT(IN_FLAGS_TOUCHED) | BIT(IN_FLAGS_WRITTEN), NULL, "likewise" },

	/* General registers */
	{ M(XOR), BIT(IN_REGS_READ) | BIT(IN_REGS_KILLED), same_register, "the result does not depend on the register" },
	{ M(SUB), BIT(IN_REGS_READ) | BIT(IN_REGS_KILLED), same_register, "likewise" },
	{ M(BSF), BIT(IN_REGS_READ) | BIT(IN_REGS_KILLED), NULL, "a source of 0 keeps the register (APM; SDM since 2024)" },
	{ M(BSR), BIT(IN_REGS_READ) | BIT(IN_REGS_KILLED), NULL, "likewise" },
	{ M(TZCNT), BIT(IN_REGS_READ) | BIT(IN_REGS_KILLED), NULL, "bsf where the CPU lacks it" },
	{ M(LZCNT), BIT(IN_REGS_READ) | BIT(IN_REGS_KILLED), NULL, "bsr where the CPU lacks it" },
	{ 0, REGS, string, "Zydis leaves out that rsi and rdi advance; a rep of none keeps rax" },
	{ M(LEAVE), BIT(IN_REGS_READ), NULL, "rsp is rbp's value before it is used" },
	{ M(XLAT), BIT(IN_REGS_READ), NULL, "Zydis leaves out the index, al" },
	{ M(RDSSPD), REGS, NULL, "a nop that keeps the register while shadow stacks are off" },
	{ M(RDSSPQ), REGS, NULL, "likewise" },
	{ M(NOP), BIT(IN_REGS_READ), NULL, "reads nothing" },

	/* Never retires in user mode, or goes where the engine cannot look: everything
	 * may be read, nothing counts as written. */
	{ 0, FLAGS | REGS | BIT(IN_LOAD) | BIT(IN_STORE), faults, "raises a signal: only that counts" },
	{ 0, FLAGS | REGS, leaves, "what comes next is outside" },
	{ M(CLI), BIT(IN_FLOW), NULL, "IOPL is 0" },
	{ M(STI), BIT(IN_FLOW), NULL, "IOPL is 0" },
	{ 0, BIT(IN_FLOW), privileged, "privileged (SDM, APM), or for a hypervisor that is not there" },
	{ M(ENCLU), BIT(IN_FLOW), NULL, "enters an enclave or leaves it" },
	{ M(MWAITX), BIT(IN_REGS_READ), NULL, "rbx is the timeout (APM)" },
	{ M(RDPRU), FLAGS, NULL, "little is known of it: nothing is assumed" },
	{ M(RSTORSSP), FLAGS, NULL, "likewise" },
	{ M(SAVEPREVSSP), FLAGS, NULL, "likewise" },
	{ M(MCOMMIT), BIT(IN_FLAGS_TOUCHED) | BIT(IN_FLAGS_WRITTEN), NULL, "clears the others (APM)" },
	{ M(TESTUI), BIT(IN_FLAGS_TOUCHED) | BIT(IN_FLAGS_WRITTEN), NULL, "clears ZF AF OF PF SF (SDM)" },
	{ M(PAUSE), BIT(IN_REGS_READ) | BIT(IN_REGS_WRITTEN), rex_b, "with REX.B, perhaps xchg" },
	{ M(SYSRET), BIT(IN_CLASS), NULL, "a far branch, were it permitted" },

	/* Memory */
	{ M(NOP), BIT(IN_LOAD) | BIT(IN_STORE), NULL, "the referee has MPX on; Linux has dropped it" },
	{ M(ENQCMD), BIT(IN_STORE), NULL, "Zydis leaves out the 64 bytes written to [reg]" },
	{ M(ENQCMDS), BIT(IN_STORE), NULL, "likewise" },
	{ M(UIRET), BIT(IN_LOAD), NULL, "pops rip, flags and rsp (SDM)" },
	{ M(MONTMUL), BIT(IN_STORE), NULL, "Zydis leaves out the result" },

	/* Segments */
	{ M(NOP), BIT(IN_SEGMENT), NULL, "accesses nothing" },
	{ M(CLDEMOTE), BIT(IN_SEGMENT), NULL, "a hint" },
	{ M(INVLPG), BIT(IN_SEGMENT), NULL, "raises a signal" },
	{ M(MONITORX), BIT(IN_SEGMENT), NULL, "a prefix counts for [rax] (APM)" },
	{ M(CLZERO), BIT(IN_SEGMENT), NULL, "likewise" },
	{ 0, BIT(IN_SEGMENT) | FLAGS | REGS, padlock, "only VIA has these: nothing is assumed of them" },

	/* What it counts as */
	{ M(XBEGIN), BIT(IN_CLASS), NULL, "no branch: it aborts or goes on" },
	{ M(ENCLU), BIT(IN_CLASS), NULL, "enters an enclave or leaves it: a far branch" },
	{ M(UIRET), BIT(IN_CLASS), NULL, "a far branch, as iret" },
	{ M(SYSEXIT), BIT(IN_CLASS), NULL, "a far branch, were it permitted" },
	{ 0, BIT(IN_CLASS), arithmetic, "floating-point arithmetic the referee's list of names lacks" },
	{ M(XEND), BIT(IN_CLASS) | BIT(IN_FLOW), NULL, "no branch" },

	/* Instructions */
	{ 0, BIT(IN_VALID), knights_corner, "only a coprocessor has these" },
};
