/* What an instruction reads and writes, with the values of its registers: which value of it may have brought
 * a difference.
 *
 *	struct flow f;
 *	diverge_flow(&f, bytes, size, registers);
 *	if (f.n_reads)
 *		… f.reads[0].address …
 *
 * General registers and flags are exact. Of vector registers only the numbers in the instruction are known, and
 * the size of what a vector instruction stores is at least that.
 */
#ifndef DIVERGE_FLOW_H
#define DIVERGE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The registers of a state, by the CPU's numbers (rax rcx rdx rbx rsp rbp rsi rdi r8 …), then: */
enum { STATE_RAX, STATE_RCX, STATE_RDX, STATE_RBX, STATE_RSP, STATE_RBP, STATE_RSI, STATE_RDI };
enum { STATE_FLAGS = 16, STATE_FS_BASE, STATE_GS_BASE, STATE_PC, STATE_REGISTERS };

/* Instructions that give what no register or memory of the program has. */
enum flow_source {
	SOURCE_NONE,
	SOURCE_CLOCK,			/* rdtsc, rdtscp */
	SOURCE_RANDOM,			/* rdrand, rdseed */
	SOURCE_CPU,			/* cpuid, xgetbv */
	SOURCE_CPU_NUMBER,		/* rdpid */
	SOURCE_COUNTER,			/* rdpmc */
};

#define FLOW_LARGEST 64			/* bytes of memory that are looked at */

struct flow_memory {
	uint64_t address;
	uint8_t size;			/* at most FLOW_LARGEST */
};

struct flow {
	unsigned size;			/* of the instruction; 0: none that is known */
	bool branch, system_call;
	enum flow_source source;
	uint16_t regs_read, regs_written;
	uint16_t flags_read, flags_touched;
	unsigned n_reads, n_writes;
	struct flow_memory reads[2], writes[2];
	uint32_t vectors_read;		/* bit n: register n of mmx, xmm, ymm or zmm, as far as is known */
	int vector_written;		/* -1: none */
};

void diverge_flow(struct flow *f, const uint8_t *bytes, size_t size,
	       const uint64_t registers[STATE_REGISTERS]);

bool diverge_flow_writes(const struct flow *f, uint64_t address);	/* the byte there */

#endif
