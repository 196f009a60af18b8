/* Which memory a command uses, natively: single-stepped, with the addresses that Zydis computes from the
 * registers before each step. The referee of accesses.c, of which it shares nothing.
 *
 *	stepaccess FILE COMMAND [ARG]...
 *
 * Writes lines `pc r|w|m address size`, and a line `pc size` for every instruction before its accesses. One
 * process, one thread; ASLR is off. Prefetches, flushes and nops are left out. A gather or scatter has an access for
 * each element that its mask does not leave out.
 */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

static FILE *to;
static ZydisDecoder decoder;

static void context_of(const struct user_regs_struct *r, ZydisRegisterContext *c)
{
	static const struct { ZydisRegister reg; size_t at; } all[] = {
#define REG(name, field) { ZYDIS_REGISTER_##name, offsetof(struct user_regs_struct, field) }
		REG(RAX, rax), REG(RBX, rbx), REG(RCX, rcx), REG(RDX, rdx), REG(RSI, rsi), REG(RDI, rdi),
		REG(RBP, rbp), REG(RSP, rsp), REG(R8, r8), REG(R9, r9), REG(R10, r10), REG(R11, r11),
		REG(R12, r12), REG(R13, r13), REG(R14, r14), REG(R15, r15),
#undef REG
	};
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		memcpy(&c->values[all[i].reg], (const char *)r + all[i].at, 8);
	c->values[ZYDIS_REGISTER_AL] = r->rax & 0xff;
	for (int i = 0; i < 16; i++)
		c->values[ZYDIS_REGISTER_EAX + i] = (uint32_t)c->values[ZYDIS_REGISTER_RAX + i];
}

static uint64_t address_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
			   const struct user_regs_struct *r)
{
	ZydisRegisterContext c;
	ZyanU64 address = 0;
	context_of(r, &c);
	/* (Zydis cuts the address of a call's push to 32 bits) */
	if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
		address = c.values[o->mem.base] + (o->mem.index ? c.values[o->mem.index] : 0);
	else
		ZydisCalcAbsoluteAddressEx(in, o, r->rip, &c, &address);
	if (o->mem.segment == ZYDIS_REGISTER_FS)
		address += r->fs_base;
	if (o->mem.segment == ZYDIS_REGISTER_GS)
		address += r->gs_base;
	if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->mem.base == ZYDIS_REGISTER_RSP &&
	    o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		address -= o->size / 8;			/* a push */
	if (in->mnemonic == ZYDIS_MNEMONIC_POP && o->mem.base == ZYDIS_REGISTER_RSP &&
	    o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
		address += 8;
	if (in->mnemonic == ZYDIS_MNEMONIC_LEAVE)
		address = r->rbp;
	return address;
}

static bool is_rep(const ZydisDecodedInstruction *in)
{
	return in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static void print_kind(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
		       const struct user_regs_struct *r, bool writes)
{
	const bool reads = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	const bool also = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	if ((!reads) != writes)
		return;
	fprintf(to, "%llx %c %" PRIx64 " %u\n", r->rip, reads && also ? 'm' : reads ? 'r' : 'w',
		address_of(in, o, r), o->size / 8);
}

/* ---- gathers and scatters ---- */

enum { YMM_HIGH = 2, MASKS = 5, ZMM_HIGH = 6, ZMM_16 = 7 };	/* of what xsave keeps */

static const uint8_t *component(const uint8_t *xsave, unsigned number)
{
	unsigned size, offset, c, d;
	__cpuid_count(0xd, number, size, offset, c, d);
	return xsave + offset;
}

static void read_vector(const uint8_t *xsave, ZydisRegister reg, uint8_t out[64])
{
	const unsigned i = (unsigned)ZydisRegisterGetId(reg);
	if (i >= 16) {
		memcpy(out, component(xsave, ZMM_16) + 64u * (i - 16), 64);
		return;
	}
	memcpy(out, xsave + 160 + 16u * i, 16);
	memcpy(out + 16, component(xsave, YMM_HIGH) + 16u * i, 16);
	memcpy(out + 32, component(xsave, ZMM_HIGH) + 32u * i, 32);
}

static unsigned vector_bytes(ZydisRegister reg)
{
	return ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) / 8u;
}

static void print_elements(pid_t pid, const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
			   const ZydisDecodedOperand *o, const struct user_regs_struct *r)
{
	static uint8_t xsave[1 << 14];
	struct iovec all = { xsave, sizeof(xsave) };
	uint8_t index[64], mask[64];
	const char *const name = ZydisMnemonicGetString(in->mnemonic);
	const char *const kind = strstr(name, "er") + 2;	/* vpgatherDQ, vscatterQPS */
	const unsigned index_size = *kind == 'q' ? 8 : 4;
	const unsigned size = !strcmp(kind + 1, "q") || !strcmp(kind + 1, "pd") ? 8 : 4;
	const bool evex = in->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	const ZydisRegister data = operands[o == &operands[0] ? 2 : 0].reg.value;
	const unsigned n_index = vector_bytes(o->mem.index) / index_size, n_data = vector_bytes(data) / size;
	ZydisRegisterContext c;
	uint64_t bits = 0;
	ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &all);	/* NOLINT */
	context_of(r, &c);
	read_vector(xsave, o->mem.index, index);
	if (evex)
		memcpy(&bits, component(xsave, MASKS) + 8 * ZydisRegisterGetId(in->avx.mask.reg), 8);
	else
		read_vector(xsave, operands[2].reg.value, mask);
	for (unsigned i = 0; i < n_index && i < n_data; i++) {
		const int64_t value = index_size == 8 ? ((const int64_t *)(const void *)index)[i] :
							((const int32_t *)(const void *)index)[i];
		uint64_t at = c.values[o->mem.base] + (uint64_t)o->mem.disp.value + (uint64_t)value * o->mem.scale;
		at += o->mem.segment == ZYDIS_REGISTER_FS ? r->fs_base : o->mem.segment == ZYDIS_REGISTER_GS ? r->gs_base : 0;
		if (in->address_width == 32)
			at = (uint32_t)at;
		if (evex ? bits >> i & 1 : mask[(i + 1) * size - 1] >> 7)
			fprintf(to, "%llx %c %" PRIx64 " %u\n", r->rip,
				o->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? 'r' : 'w', at, size);
	}
}

/* Hints, as cachegrind takes them. */
static bool uses_nothing(const ZydisDecodedInstruction *in)
{
	static const ZydisMnemonic hints[] = { ZYDIS_MNEMONIC_NOP, ZYDIS_MNEMONIC_CLFLUSH,
		ZYDIS_MNEMONIC_CLFLUSHOPT, ZYDIS_MNEMONIC_CLWB, ZYDIS_MNEMONIC_CLDEMOTE };
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (in->mnemonic == hints[i])
			return true;
	return in->meta.category == ZYDIS_CATEGORY_PREFETCH;
}

static const ZydisDecodedOperand *vsib_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands)
{
	for (unsigned i = 0; i < in->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			return &operands[i];
	return NULL;
}

static void print_insn(pid_t pid, const struct user_regs_struct *r)
{
	uint8_t bytes[16] = { 0 };
	struct iovec here = { bytes, 15 }, there = { (void *)r->rip, 15 };	/* NOLINT */
	ZydisDecodedInstruction in;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	static uint64_t last_rep;
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) < 0 ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, 15, &in, operands)))
		return;
	const ZydisDecodedOperand *const vsib = vsib_of(&in, operands);
	if (last_rep != r->rip)
		fprintf(to, "%llx %u\n", r->rip, in.length);
	else if (vsib)		/* it goes on after a page fault, which was a step: with what is left of its mask */
		return;
	last_rep = is_rep(&in) || vsib ? r->rip : 0;
	if ((is_rep(&in) && in.meta.category == ZYDIS_CATEGORY_STRINGOP && !r->rcx) ||
	    uses_nothing(&in))
		return;
	if (vsib)
		print_elements(pid, &in, operands, vsib, r);
	for (int writes = 0; writes < 2; writes++)
		for (unsigned i = 0; i < in.operand_count; i++)
			if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[i].size &&
			    operands[i].mem.type == ZYDIS_MEMOP_TYPE_MEM &&
			    operands[i].actions)
				print_kind(&in, &operands[i], r, writes);
}

int main(int argc, char **argv)
{
	if (argc < 3 || !(to = fopen(argv[1], "w"))) {
		fputs("usage: stepaccess FILE COMMAND [ARG]...\n", stderr);
		return 2;
	}
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	const pid_t pid = fork();
	if (pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	int status;
	while (waitpid(pid, &status, 0) > 0 && WIFSTOPPED(status)) {
		struct user_regs_struct r;
		const int sig = WSTOPSIG(status);
		ptrace(PTRACE_GETREGS, pid, NULL, &r);
		print_insn(pid, &r);
		ptrace(PTRACE_SINGLESTEP, pid, NULL, sig == SIGTRAP ? 0 : sig);
	}
	fclose(to);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
