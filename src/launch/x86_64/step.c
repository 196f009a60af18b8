#include "step.h"

#include "abi.h"
#include "decode.h"
#include "role-events.h"

#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

bool step_counts(enum tare_role role)
{
	const int event = role_event(role);
	return event == SOFT_INSTRUCTIONS || event == SOFT_BRANCHES || event == SOFT_COND ||
	       event == SOFT_CALLS || event == SOFT_RETURNS;
}

uint64_t step_pc(pid_t tid)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user_regs_struct, rip), 0);
}

void step_look(pid_t tid, struct step_at *at)
{
	struct insn in;
	uint8_t bytes[15];
	*at = (struct step_at){ .pc = step_pc(tid) };
	/* the instruction may end before a page that cannot be read */
	const size_t here = 4096 - at->pc % 4096;
	const struct iovec to = { bytes, sizeof(bytes) };
	const struct iovec from[2] = { { (void *)at->pc, here < 15 ? here : 15 },
				       { (void *)(at->pc + here), here < 15 ? 15 - here : 0 } };
	const ssize_t n = process_vm_readv(tid, &to, 1, from, here < 15 ? 2 : 1, 0);
	if (n <= 0 || decode_insn(&in, bytes, (unsigned)n) <= 0)
		return;
	at->known = true;
	at->classes = in.classes;
}

bool step_retired(const struct step_at *at, uint64_t now)
{
	return !(at->classes & CLASS_REP) || now != at->pc;
}

unsigned step_worth(const struct step_at *at, enum tare_role role)
{
	const int event = role_event(role);
	return event == SOFT_INSTRUCTIONS ? 1 : at->classes >> event & 1;
}

size_t step_registers(pid_t tid, struct tare_stop_register registers[STEP_REGISTERS], uint64_t *pc)
{
	struct user_regs_struct r = { 0 };
	ptrace(PTRACE_GETREGS, tid, 0, &r);
	const struct tare_stop_register all[] = {
		{ "rax", r.rax }, { "rbx", r.rbx }, { "rcx", r.rcx }, { "rdx", r.rdx },
		{ "rsi", r.rsi }, { "rdi", r.rdi }, { "rbp", r.rbp }, { "rsp", r.rsp },
		{ "r8", r.r8 }, { "r9", r.r9 }, { "r10", r.r10 }, { "r11", r.r11 },
		{ "r12", r.r12 }, { "r13", r.r13 }, { "r14", r.r14 }, { "r15", r.r15 },
		{ "rip", r.rip }, { "eflags", r.eflags }, { "fs_base", r.fs_base },
		{ "gs_base", r.gs_base },
	};
	const size_t n = sizeof(all) / sizeof(all[0]);
	for (size_t i = 0; i < n; i++)
		registers[i] = all[i];
	*pc = r.rip;
	return n;
}
