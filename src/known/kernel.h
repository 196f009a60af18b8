/* Kernels: code whose counts are known by inspection.
 *
 * A kernel is one section of the assembly files of ARCH/kernels (integer arithmetic, moves,
 * x87 …): a function that runs a loop. Behind each instruction stands what it counts as:
 *
 *	addq  %rax, (%rsi)      //= load store
 *
 * (docs/kernels.md). tools/kernel-counts adds these notes up when tare is built and writes the tables that this
 * header declares. No count is measured here, and none is written by hand a second time.
 *
 * The body of the loop is a list of *cases*: an instruction, or a few that belong together (a
 * push and its pop), that leave stack, x87 stack and direction flag as they were. So any subset
 * of the cases can be run, and its counts are known too: the experiments bisect from a section
 * to the instruction that deviates (kernel_part_…).
 *
 * What runs:
 *
 *	once + loops × each		counts of k->run(loops, memory), loops = 0 too
 *
 * `once` is everything from the kernel's first instruction to its ret, which is included; the
 * call is not, because the caller's compiler chooses it. Differences of two runs with different
 * `loops` need only `each`.
 */
#ifndef KNOWN_KERNEL_H
#define KNOWN_KERNEL_H

#include <tare/cpu.h>
#include <tare/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the notes know. Each is a role of the CPU tables (kernel_event_role), and an event of the
 * software engine. */
enum kernel_event {
	KERNEL_INSTRUCTIONS,
	KERNEL_BRANCHES,
	KERNEL_COND_BRANCHES,
	KERNEL_TAKEN_BRANCHES,
	KERNEL_LOADS,
	KERNEL_STORES,
	KERNEL_CALLS,
	KERNEL_RETURNS,
	KERNEL_INDIRECT_BRANCHES,
	KERNEL_SYSCALLS,
	KERNEL_MULTIPLIES,
	KERNEL_DIVIDES,
	KERNEL_X87,
	KERNEL_FP,
	KERNEL_SIMD_INT,
	KERNEL_LOCKED,
	KERNEL_FAR_TRANSFERS,
	KERNEL_EVENTS
};

enum tare_role kernel_event_role(enum kernel_event e);
/* The one that a role of the tables is, or -1: no code inspection gives its count. */
int kernel_event_of_role(enum tare_role role);

struct kernel_case {
	const char *text;		/* "addq %rax, (%rsi)"; several lines with "; " between */
	uint16_t counts[KERNEL_EVENTS];	/* of one pass */
};

struct kernel {
	const char *name;		/* "int_arith" */
	const char *about;		/* "adc add cmp …": one line */
	const char *needs;		/* CPU flags as in /proc/cpuinfo, blanks between, or "" */
	const char *const *flags;	/* the same as a list, NULL at its end */
	uint64_t loops;			/* so many make it large: in all over 200 million instructions */
	uint64_t fresh_pages;		/* pages that one pass touches for the first time */
	uint64_t exceptions;		/* x87 and SSE exceptions, but "inexact", of one pass */
	uint64_t once[KERNEL_EVENTS], each[KERNEL_EVENTS];
	uint64_t tail[KERNEL_EVENTS];	/* of each[]: the loop's end, which belongs to no case */
	const struct kernel_case *cases;
	size_t n_cases;
	void (*run)(uint64_t loops, void *memory);
	const uint8_t *code, *code_end;
	/* n_cases + 1 distances from `code`: where case i begins, which is where case i - 1 ends;
	 * the last one is that of the loop's end. */
	const uint32_t *at;
	/* What RIP-relative operands write, or NULL: it moves with the code. */
	const uint8_t *cells, *cells_end;
};

/* All kernels of this architecture, in the order of the paper's sections. */
extern const struct kernel *const kernels[];
extern const size_t n_kernels;
const struct kernel *kernel_by_name(const char *name);

/* NULL, or what this CPU or this kernel of the operating system lacks ("avx512f"). Static. */
const char *kernel_lacks(const struct kernel *k);

/* Memory that kernels read and write: mapped, touched, of the size and alignment that they need. */
void *kernel_memory_open(struct tare_why *why);
void kernel_memory_close(void *memory);

/* The kernel with some of its cases only: a copy of its code, in which jumps lead around the
 * others. The copy is at a distance from the original that keeps RIP-relative operands right. */
struct kernel_part;
int kernel_part_open(const struct kernel *k, struct kernel_part **part, struct tare_why *why);
/* `wanted[i]`: does case i run? Adds the counts of one pass to each[], those of the jumps (a nop
 * where a jump does not fit) and of the loop's end included. k->once stays as it is. */
void kernel_part_choose(struct kernel_part *part, const bool *wanted, uint64_t *each);
void kernel_part_run(struct kernel_part *part, uint64_t loops, void *memory);
void kernel_part_close(struct kernel_part *part);

#endif
