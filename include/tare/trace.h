/* Which memory a measured command used, address by address, in order: for simulations of caches.
 *
 *	static void run(const struct tare_trace_run *r, void *arg) …
 *	const struct tare_trace trace = { .run = run, .arg = &cache };
 *	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
 *	o.trace = &trace;		// with the software engine
 *	tare_measure(&o, &m, &why);
 *
 * `run` is called for each stretch of code without a jump in it that a thread ran, once per run, by a
 * thread of the library, one call at a time. What happens in one thread comes in order; threads and
 * processes are interleaved in pieces. The counts of the run are as exact as without a trace; the trace
 * itself misses what the kernel does with memory, and instructions that the engine runs one by one (a
 * store to the code's own page, single-stepping).
 *
 * The words of a run are, instruction by instruction, what tare_trace_words() lists for each: the
 * addresses of operands and the registers that tell the others. A run that a signal or a fault cut off
 * has fewer words.
 *
 * Threads: tare_trace_words(): any thread.
 */
#ifndef TARE_TRACE_H
#define TARE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stretch of code. There is one struct for it as long as the measurement runs: `user` is for the
 * caller's own notes on it, NULL at first. */
struct tare_trace_code {
	pid_t pid;			/* the process that ran it first */
	uint64_t address;
	const uint8_t *bytes;
	unsigned size, n_insns;
	void *user;
};

struct tare_trace_run {
	pid_t pid, tid;
	struct tare_trace_code *code;
	const uint64_t *words;
	unsigned n_words;
	uint64_t context;		/* with tare_measure_options.calls: tare_code_context.traced, of which the high
					 * half stands for the thread; else 0 */
	bool off;			/* counting was off (struct tare_parts) */
	unsigned part;			/* of its process: how many dumps and zeros came before it */
	uint64_t reserved[2];
};

struct tare_trace {
	void (*run)(const struct tare_trace_run *r, void *arg);
	/* the measurement is over, and this struct goes: free `user`. May be NULL */
	void (*forget)(struct tare_trace_code *c, void *arg);
	void *arg;
	/* What the process ran in that part is of this dump (tare_dump.number), or TARE_TRACE_ZEROED: forgotten. May
	 * be called several times. A part that no call is for came after the last dump. May be NULL */
	void (*part)(pid_t pid, unsigned part, uint64_t dump, void *arg);
	/* What the thread of `r` ran until there in part r->part is forgotten: its pid and tid, and r->context >> 32. (No
	 * code, no words.) May be NULL */
	void (*thread_zeroed)(const struct tare_trace_run *r, void *arg);
};
#define TARE_TRACE_ZEROED UINT64_MAX

/* What a word is: the value before the instruction runs, or after it. */
enum tare_trace_word {
	TARE_TRACE_OPERAND,	/* the address of its memory operand. Of a gather or scatter: without the
				 * index. With EVEX an 8-bit displacement is not multiplied */
	TARE_TRACE_RSP, TARE_TRACE_RBP, TARE_TRACE_RSI, TARE_TRACE_RDI, TARE_TRACE_RAX,
	TARE_TRACE_RBX,
	TARE_TRACE_RSI_AFTER, TARE_TRACE_RDI_AFTER,	/* rep: how far it came */
	/* Of a gather or scatter, in the low 32 bits (the others are no part of it): the index register, as far as it
	 * is used, 32 bits after 32 bits; … */
	TARE_TRACE_INDEX,
	TARE_TRACE_MASK,	/* … likewise the mask: an element is used if its highest bit is set; with EVEX one
				 * word has the mask register, a bit for each element */
};
#define TARE_TRACE_WORDS 18	/* of an instruction, at most */

/* The words of the instruction at `bytes`, of which so many can be read; returns how many there are.
 * *insn_size becomes its size, 0: no instruction that the engine knows. */
unsigned tare_trace_words(const uint8_t *bytes, size_t size, unsigned *insn_size,
			  enum tare_trace_word words[TARE_TRACE_WORDS]);

#ifdef __cplusplus
}
#endif
#endif
