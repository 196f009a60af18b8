/* Single-stepping a traced task: what each instruction is worth. One file per architecture.
 *
 *	struct step_at at;
 *	step_look(tid, &at);			// the instruction that comes next
 *	… PTRACE_SINGLESTEP, SIGTRAP …
 *	if (step_retired(&at, step_pc(tid)))
 *		left -= step_worth(&at, role);	// 1: it made the event
 *
 * Counting by looking, not with the counter: a counter may count the traps of the steps, too.
 */
#ifndef LAUNCH_STEP_H
#define LAUNCH_STEP_H

#include <tare/cpu.h>
#include <tare/stop.h>

#include <sys/types.h>

struct step_at {
	uint64_t pc;
	uint32_t classes;	/* x86: CLASS_… of decode.h */
	bool exclusive;		/* arm64: a load that single-stepping breaks (ldxr) */
	bool known;
};

#define STEP_REGISTERS 40

/* Can the architecture's steps be counted by this role? */
bool step_counts(enum tare_role role);
void step_look(pid_t tid, struct step_at *at);
/* After the step: has the instruction retired? (A rep instruction traps after each iteration.) */
bool step_retired(const struct step_at *at, uint64_t pc_now);
/* … and how many events of that role did it make? */
unsigned step_worth(const struct step_at *at, enum tare_role role);
/* The registers as gdb names them. Returns how many; *pc is the next instruction. */
size_t step_registers(pid_t tid, struct tare_stop_register registers[STEP_REGISTERS], uint64_t *pc);
uint64_t step_pc(pid_t tid);

#endif
