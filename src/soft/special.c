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

uint64_t special_exit(struct thread *t, struct link *l)
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
		t->app_gs = wide ? t->regs[rm] : (uint32_t)t->regs[rm];
		t->pc = next;
	} else if (in.special == SPECIAL_GS_LOAD && (in.modrm & 0xc0) == 0xc0 && in.has_modrm) {
		if ((uint16_t)t->regs[rm] & ~3u)
			die("a selector other than null for gs", t->pc);
		t->app_gs = 0;
		t->pc = next;
	} else if (in.flow == FLOW_XBEGIN) {
		t->regs[RAX] = 0;	/* aborted, no reason given: always legal */
		t->pc = next + (uint64_t)in.imm;
	} else if (in.flow == FLOW_FAR && (in.opcode == 0xcb || in.opcode == 0xca ||
					   in.opcode == 0xcf) && in.map == 0) {
		if (!far_return(t, &in))
			die("a far return to another code segment", l->target);
		t->exit_link = 0;
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
	if (t->pending)
		return resume(t);
	return cache_lookup(t);
}
