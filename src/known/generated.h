/* Generated kernels: every instruction that this CPU runs, in random order, with known counts.
 *
 * The paper's authors write their code by hand, and announce as future work to generate it. This is
 * that generator:
 *
 *  1. It goes through the whole table of the engine's decoder: every opcode, with each prefix that
 *     belongs to it, widths, a register or memory as its operand. Left out is what has no count of
 *     its own that code alone decides (branches on flags, rep), needs the stack, or changes the
 *     state that the code itself runs in.
 *  2. It tries each in a child process: what faults here, or changes a control register, is left out.
 *     The rest are the *forms*.
 *  3. A seed puts the forms into an order. A *sequence* is a loop over some of them.
 *
 * What a sequence counts is known from the decoder: the sum of its forms, and the loop around them.
 * A sequence whose count deviates is made shorter until nothing can be left out.
 *
 * x86-64 only; elsewhere generated_open() says so.
 */
#ifndef KNOWN_GENERATED_H
#define KNOWN_GENERATED_H

#include "kernel.h"

struct generated_form {
	uint8_t bytes[15];
	uint8_t size;
	uint8_t own_size;		/* of the instruction itself; the rest is an emms, which keeps
					 * the x87 stack from overflowing */
	uint8_t counts[KERNEL_EVENTS];	/* of one run */
};

struct generated {
	struct generated_form *forms;	/* in the order of the seed */
	size_t n_forms;
	size_t n_tried;			/* … of so many that the decoder knows */
	size_t emms;			/* the form that is emms alone; n_forms: there is none */
	void *state;
};

/* Finds the forms. TARE_E_INVALID: no generator for this architecture; TARE_E_PERMISSION: code
 * that is written at run time may not run here. */
int generated_open(uint64_t seed, struct generated *g, struct tare_why *why);
void generated_close(struct generated *g);

/* At most so many forms in a sequence. */
#define GENERATED_LONGEST 64

/* Makes a sequence of the forms forms[which[0 … n-1]], which replaces the one before, and sets
 * each[] to what one pass of its loop counts. */
void generated_choose(struct generated *g, const size_t *which, size_t n, uint64_t *each);
void generated_run(struct generated *g, uint64_t loops, void *memory);

/* Runs all sequences of a seed: what tare_verify_child() does for the kernel "generated:SEED". */
#define GENERATED_NAME "generated:"
int generated_child(uint64_t seed, uint64_t loops, struct tare_why *why);

#endif
