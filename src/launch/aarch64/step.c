#include "step.h"

#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

bool step_counts(enum tare_role role)
{
	return role == TARE_ROLE_INSTRUCTIONS || role == TARE_ROLE_INSTRUCTIONS_FIXED;
}

static struct user_regs_struct registers_of(pid_t tid)
{
	struct user_regs_struct r = { 0 };
	struct iovec to = { &r, sizeof(r) };
	ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &to);
	return r;
}

uint64_t step_pc(pid_t tid)
{
	return registers_of(tid).pc;
}

void step_look(pid_t tid, struct step_at *at)
{
	uint32_t insn = 0;
	*at = (struct step_at){ .pc = step_pc(tid) };
	const struct iovec to = { &insn, sizeof(insn) }, from = { (void *)at->pc, sizeof(insn) };
	at->known = process_vm_readv(tid, &to, 1, &from, 1, 0) == sizeof(insn);
	/* Load exclusive: the trap of the step clears the monitor, and the store exclusive that
	 * follows never succeeds. (Arm ARM, C4.1: bits 29 to 24 are 001000, bit 22 is 1.) */
	at->exclusive = (insn & 0x3fc00000) == 0x08400000;
}

bool step_retired(const struct step_at *at, uint64_t now)
{
	(void)at;
	(void)now;
	return true;
}

unsigned step_worth(const struct step_at *at, enum tare_role role)
{
	(void)at;
	(void)role;
	return 1;
}

size_t step_registers(pid_t tid, struct tare_stop_register registers[STEP_REGISTERS], uint64_t *pc)
{
	static const char *const names[] = {
		"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
		"x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25",
		"x26", "x27", "x28", "x29", "x30",
	};
	const struct user_regs_struct r = registers_of(tid);
	size_t n = 0;
	for (; n < sizeof(names) / sizeof(names[0]); n++)
		registers[n] = (struct tare_stop_register){ names[n], r.regs[n] };
	registers[n++] = (struct tare_stop_register){ "sp", r.sp };
	registers[n++] = (struct tare_stop_register){ "pc", r.pc };
	registers[n++] = (struct tare_stop_register){ "cpsr", r.pstate };
	*pc = r.pc;
	return n;
}
