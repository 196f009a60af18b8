/* Instructions that C runs for the program: gs base, far returns, TSX, int 0x80. */
#include "decode.h"
#include "engine.h"
#include "sys.h"
#include "text.h"

#include <asm/unistd.h>

static int modrm_rm(const struct insn *in)
{
	return (in->modrm & 7) | (in->rex & 1 ? 8 : 0);
}

bool reads_gs_selector(const struct insn *in)
{
	if (in->encoding)
		return false;
	return (in->map == 0 && in->opcode == 0x8c && (in->modrm >> 3 & 7) == 5) ||
	       (in->map == 1 && in->opcode == 0xa8);
}

static bool pop(struct thread *t, uint64_t *v, unsigned size)
{
	*v = 0;
	if (!copy_guest(v, (const void *)t->regs[RSP], size))
		return false;
	t->regs[RSP] += size;
	return true;
}

/* retf, iretq within 64-bit user code: an indirect branch that pops more. */
static bool far_return(struct thread *t, const struct insn *in)
{
	const unsigned size = in->rex & 8 ? 8 : in->opsize16 ? 2 : 4;
	const uint64_t rsp = t->regs[RSP];
	uint64_t rip, cs, flags, sp, ss;
	if (!pop(t, &rip, size) || !pop(t, &cs, size) || (uint16_t)cs != 0x33)
		goto fault;
	if (in->opcode == 0xcf) {
		if (!pop(t, &flags, size) || !pop(t, &sp, size) || !pop(t, &ss, size))
			goto fault;
		t->rflags = (flags & 0x250dd5ull) | 0x202;
		t->flags_loaded = t->trap;
		t->regs[RSP] = sp;
	} else {
		t->regs[RSP] += (uint16_t)in->imm;
	}
	t->pc = rip;
	return true;
fault:
	t->regs[RSP] = rsp;
	return false;
}

static uint64_t operand_address(const struct thread *t, const struct insn *in,
				const uint8_t *s, uint64_t pc)
{
	int64_t disp = 0;
	if (in->disp_len == 1)
		disp = (int8_t)s[in->disp_off];
	else if (in->disp_len == 4)
		__builtin_memcpy(&disp, s + in->disp_off, 4), disp = (int32_t)disp;
	uint64_t at = (uint64_t)disp;
	const int rm = in->modrm & 7, mod = in->modrm >> 6;
	if (in->rip_relative) {
		at += pc + in->len;
	} else if (rm == 4) {
		const int base = (in->sib & 7) | (in->rex & 1 ? 8 : 0);
		const int index = (in->sib >> 3 & 7) | (in->rex & 2 ? 8 : 0);
		if ((base & 7) != 5 || mod)
			at += t->regs[base];
		if (index != 4)
			at += t->regs[index] << (in->sib >> 6);
	} else {
		at += t->regs[rm | (in->rex & 1 ? 8 : 0)];
	}
	if (in->addr32)
		at = (uint32_t)at;
	return at + (in->segment == 0x65 ? t->app_gs : 0);
}

/* jmp and call m16:32, m16:64 that stay in 64-bit user code. */
static bool far_branch(struct thread *t, const struct insn *in, const uint8_t *s)
{
	const unsigned size = in->rex & 8 ? 8 : in->opsize16 ? 2 : 4;
	const uint64_t from = operand_address(t, in, s, t->pc);
	uint64_t to = 0;
	uint16_t cs;
	if (in->segment == 0x64 || !copy_guest(&to, (const void *)from, size) ||
	    !copy_guest(&cs, (const void *)(from + size), 2) || cs != 0x33)
		return false;
	if ((in->modrm >> 3 & 7) == 3) {
		const uint64_t frame[2] = { t->pc + in->len, 0x33 };
		uint8_t bytes[16];
		for (int i = 0; i < 2; i++)
			mem_copy(bytes + i * size, &frame[i], size);
		if (!copy_guest((void *)(t->regs[RSP] - 2 * size), bytes, 2 * size))
			return false;
		t->regs[RSP] -= 2 * size;
	}
	t->pc = to;
	return true;
}

/* mov to and from gs, push gs, pop gs, lgs: the program's selector is a number
 * here. The flat segments of Linux all have base 0. */
static void gs_selector(struct thread *t, const struct insn *in, const uint8_t *s)
{
	const bool reg = in->has_modrm && (in->modrm & 0xc0) == 0xc0;
	const unsigned size = in->opsize16 ? 2 : 8;
	uint64_t v = 0;
	if (in->map == 1 && in->opcode == 0xa8) {		/* push */
		v = t->app_gs_sel;
		if (!copy_guest((void *)(t->regs[RSP] - size), &v, size))
			signal_raise(t, SIGSEGV_, 1, t->regs[RSP] - size, 14, 6);
		t->regs[RSP] -= size;
		return;
	}
	if (in->map == 0 && in->opcode == 0x8c) {		/* mov r/m, gs */
		uint64_t *const r = &t->regs[modrm_rm(in)];
		if (!reg && !copy_guest((void *)operand_address(t, in, s, t->pc), &t->app_gs_sel, 2))
			signal_raise(t, SIGSEGV_, 1, operand_address(t, in, s, t->pc), 14, 6);
		if (reg)
			*r = in->opsize16 ? (*r & ~0xffffull) | t->app_gs_sel : t->app_gs_sel;
		return;
	}
	if (in->map == 1 && in->opcode == 0xa9) {		/* pop */
		if (!copy_guest(&v, (const void *)t->regs[RSP], size))
			signal_raise(t, SIGSEGV_, 1, t->regs[RSP], 14, 4);
	} else if (in->opcode == 0x8e && reg) {
		v = t->regs[modrm_rm(in)];
	} else if (in->opcode == 0x8e && in->segment != 0x64) {
		if (!copy_guest(&v, (const void *)operand_address(t, in, s, t->pc), 2))
			signal_raise(t, SIGSEGV_, 1, operand_address(t, in, s, t->pc), 14, 4);
	} else {
		die("lgs, or gs loaded through fs", t->pc);
	}
	const uint16_t sel = (uint16_t)v;
	if (sel & ~3u && sel != 0x2b && sel != 0x33 && sel != 0x23) {
		if (sel & 4)
			die("a selector of the local descriptor table for gs", t->pc);
		signal_raise(t, SIGSEGV_, 0x80, 0, 13, sel & ~3);
	}
	if (in->map == 1 && in->opcode == 0xa9)
		t->regs[RSP] += size;
	t->app_gs_sel = sel;
	app_gs_set(t, 0);
}

static void popf(struct thread *t, const struct insn *in)
{
	const unsigned size = in->opsize16 ? 2 : 8;
	uint64_t v;
	if (!pop(t, &v, size))
		signal_raise(t, SIGSEGV_, 1, t->regs[RSP], 14, 4);
	if (size == 2)
		v |= t->rflags & ~0xffffull;
	/* what user mode may change: CF PF AF ZF SF TF DF OF NT AC ID */
	t->rflags = (v & 0x244dd5ull) | (t->rflags & ~0x244dd5ull);
	t->flags_loaded = t->trap;
}

/* The kernel emulates the three old entries; each is one call and a return that
 * no counter sees. */
void vsyscall(struct thread *t)
{
	static const uint16_t nr[3] = { __NR_gettimeofday, __NR_time, __NR_getcpu };
	const uint64_t a[6] = { t->regs[RDI], t->regs[RSI], t->regs[RDX], 0, 0, 0 };
	const uint64_t entry = (t->pc - 0xffffffffff600000ull) / 1024;
	uint64_t back;
	if (!E.has_vsyscall)
		signal_raise(t, SIGSEGV_, 1, t->pc, 14, 0x15);
	if (t->pc & 1023 || entry > 2)
		signal_raise(t, SIGSEGV_, 0x80, 0, 0, 0);
	if (!pop(t, &back, 8))
		signal_raise(t, SIGSEGV_, 1, t->regs[RSP], 14, 4);
	const long ret = gate(t, nr[entry], a);
	if (ret == GATE_ABORTED || ret == GATE_RESTART) {
		t->regs[RSP] -= 8;
		return;
	}
	t->regs[RAX] = (uint64_t)ret;
	t->pc = back;
}

/* The 32-bit calls that do not depend on layouts or addresses of their own. */
static long int80(struct thread *t)
{
	static const struct { uint8_t nr32; uint16_t nr; } plain[] = {
		{ 1, __NR_exit }, { 3, __NR_read }, { 4, __NR_write }, { 6, __NR_close },
		{ 20, __NR_getpid }, { 24, __NR_getuid }, { 37, __NR_kill }, { 41, __NR_dup },
		{ 64, __NR_getppid }, { 158, __NR_sched_yield }, { 224, __NR_gettid },
		{ 252, __NR_exit_group },
	};
	const uint64_t a[6] = { (uint32_t)t->regs[RBX], (uint32_t)t->regs[RCX],
				(uint32_t)t->regs[RDX], (uint32_t)t->regs[RSI],
				(uint32_t)t->regs[RDI], (uint32_t)t->regs[RBP] };
	for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (plain[i].nr32 != (uint32_t)t->regs[RAX])
			continue;
		if (plain[i].nr == __NR_exit || plain[i].nr == __NR_exit_group)
			thread_exit(t, plain[i].nr, a);
		return gate(t, plain[i].nr, a);
	}
	die("a 32-bit system call (int 0x80) that the engine does not translate", t->pc);
}

/* The CPU tells where the last x87 instruction was: in the cache. The program finds its
 * own address. (Of 16-bit environments the address is not worth having.) */
void fp_own_address(struct thread *t, uint64_t at, unsigned size)
{
	uint64_t code = 0;
	if (!copy_guest(&code, (const void *)at, size) || !code)
		return;
	lock_take(t);
	const uint64_t pc = code_origin(code, size == 4);
	lock_drop();
	if (pc)
		copy_guest((void *)at, &pc, size);
}

void fp_env_stored(struct thread *t, uint64_t pc)
{
	struct insn in;
	uint8_t bytes[15];
	unsigned have = 15;
	while (have && !copy_guest(bytes, (const void *)pc, have))
		have--;
	if (!have || decode_insn(&in, bytes, have) <= 0 || in.seg_used == 0x64)
		return;
	const uint64_t at = operand_address(t, &in, bytes, pc);
	if (in.map == 0 && !in.opsize16)
		fp_own_address(t, at + 12, 4);		/* fnstenv, fnsave */
	else if (in.map)
		fp_own_address(t, at + 8, in.rex & 8 ? 8 : 4);
}

uint64_t special_exit(struct thread *t, const struct link *l)
{
	struct insn in;
	uint8_t bytes[15];
	unsigned have = 15;
	while (have && !copy_guest(bytes, (const void *)l->target, have))
		have--;
	t->pc = l->target;
	t->exit_link = 1;
	const int len = have ? decode_insn(&in, bytes, have) : 0;
	if (len <= 0)
		die("a special instruction changed under us", t->pc);
	const uint64_t next = t->pc + (unsigned)len;
	const int rm = modrm_rm(&in);
	const bool wide = in.rex & 8;

	if (in.special == SPECIAL_GSBASE_READ) {
		t->regs[rm] = wide ? t->app_gs : (uint32_t)t->app_gs;
		t->pc = next;
	} else if (in.special == SPECIAL_GSBASE_WRITE) {
		app_gs_set(t, wide ? t->regs[rm] : (uint32_t)t->regs[rm]);
		t->pc = next;
	} else if (in.special == SPECIAL_GS_LOAD || reads_gs_selector(&in)) {
		gs_selector(t, &in, bytes);
		t->pc = next;
	} else if (in.flow == FLOW_XBEGIN) {
		t->regs[RAX] = 0;	/* aborted, no reason given: always legal */
		t->pc = next + (uint64_t)in.imm;
	} else if (in.flow == FLOW_FAR && (in.opcode == 0xcb || in.opcode == 0xca ||
					   in.opcode == 0xcf) && in.map == 0) {
		if (!far_return(t, &in))
			die("a far return to another code segment", l->target);
		t->exit_link = 0;
	} else if (in.flow == FLOW_FAR && in.opcode == 0xff && in.map == 0) {
		if (!far_branch(t, &in, bytes))
			die("a far branch to another code segment", l->target);
		t->exit_link = 0;
	} else if (in.special == SPECIAL_CPUID) {
		vpmu_cpuid(t);
		t->pc = next;
	} else if (in.special == SPECIAL_RDPMC) {
		vpmu_rdpmc(t);
		t->pc = next;
	} else if (in.special == SPECIAL_POPF) {
		popf(t, &in);
		t->pc = next;
	} else if (in.flow == FLOW_INT) {
		const long ret = int80(t);
		if (ret != GATE_ABORTED && ret != GATE_RESTART) {
			t->regs[RAX] = (uint64_t)ret;
			t->pc = next;
		}
	} else if (in.special == SPECIAL_SHSTK) {
		t->pc = next;		/* no shadow stack here: rdssp is a nop */
	} else {
		die("an instruction the engine cannot run", t->pc);
	}
	const bool indirect = t->exit_link == 0;
	if (t->pending || t->trap || t->rflags & FLAG_TF)
		return resume(t);
	t->exit_link = !indirect;
	return cache_lookup(t);
}
