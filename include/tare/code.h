/* Which code of a measured command ran how often: exact, for every instruction.
 *
 *	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
 *	o.code = true;			// with the software engine
 *	…
 *	tare_measure(&o, &m, &why);
 *	tare_code_each(m->code, print_range, NULL, &why);
 *	tare_measurement_free(m);
 *
 * The result is a list of ranges: code without a jump in it, the process and the mapping it was in,
 * its bytes, and how often it ran. The same range can come several times: add the runs up. `runs` may
 * be negative, where a fault or a signal cut short what was counted before. The sum of
 * runs × n_insns over all ranges is the count of instructions of the command; for any other event of
 * the software engine, let tare_code_insn() say what each instruction of a range counts as.
 *
 * Threads: a list may be read by several threads at the same time. tare_code_insn(): any thread.
 */
#ifndef TARE_CODE_H
#define TARE_CODE_H

#include <tare/err.h>
#include <tare/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tare_code;

/* An executable mapping of a process, as /proc/PID/maps had it. */
struct tare_code_map {
	uint64_t start, end;
	uint64_t offset;		/* in the file */
	uint64_t inode;			/* 0: not a file */
	unsigned dev_major, dev_minor;
	const char *path;		/* "/usr/lib/…", "[vdso]", "" for anonymous memory */
	bool deleted;			/* the file was deleted while it was mapped; path is without
					 * " (deleted)" */
	uint64_t reserved[2];
};

struct tare_code_range {
	pid_t pid, tid;			/* tid: 0 where there were too many tasks to tell */
	const struct tare_code_map *map; /* NULL: it is not known. The same pointer for the same
					 * mapping, valid as long as the list */
	uint64_t address;
	const uint8_t *bytes;
	unsigned size;			/* bytes of code */
	unsigned n_insns;
	int64_t runs;
	int64_t taken;			/* how often the branch at its end was taken: conditional ones,
					 * and only if taken branches were counted. Such a range
					 * has runs 0 */
	uint64_t dump;			/* the number of the dump (tare_measurement.parts) that it is
					 * part of; 0: it ran after the last one of its process */
	uint64_t reserved[1];
};

/* Calls `what` for every range, until it returns other than 0, and returns that. A negative error of
 * its own: TARE_E_NOMEM, TARE_E_INVALID (no list). */
int tare_code_each(const struct tare_code *c, int (*what)(const struct tare_code_range *r, void *arg),
		   void *arg, struct tare_why *why);
/* Bytes of code that could not be stored, because there were too many: then the ranges are not all
 * that ran. 0 otherwise. */
bool tare_code_is_complete(const struct tare_code *c);

/* One instruction. */
struct tare_code_insn {
	unsigned size;			/* bytes; 0: no instruction */
	bool is_branch, is_conditional, is_call, is_return, is_indirect;
	bool has_target;		/* a direct branch or call … */
	uint64_t target;		/* … to this address */
	uint32_t events;		/* for tare_code_counts() */
	uint64_t reserved[2];
};

/* Decodes the instruction at `bytes`, of which so many can be read, that was at `address`. Returns
 * its size, or 0: no instruction that the engine knows. */
unsigned tare_code_insn(const uint8_t *bytes, size_t size, uint64_t address,
			struct tare_code_insn *insn);
/* Does one run of the instruction count for the event? Taken conditional branches: false, see
 * tare_code_range.taken. */
bool tare_code_counts(const struct tare_code_insn *insn, const struct tare_event *event);

/* The mix of a run: how often each opcode ran, whatever its registers and addresses. */
struct tare_code_opcode {
	/* As the manuals write opcodes: "0F AF m", "F7 /7 r", "VEX.66.0F 58 m", "lock 0F B1 m",
	 * "rep A4". m: with a memory operand, r: without; /7: the opcode goes on in the middle
	 * field of ModRM. */
	char name[32];
	uint8_t bytes[15];		/* one instruction of the kind, for a disassembler */
	unsigned size;
	uint64_t runs;
	uint32_t events;		/* as in struct tare_code_insn */
	uint64_t reserved[2];
};

struct tare_code_mix {
	size_t n;
	struct tare_code_opcode *opcodes;	/* the most frequent first */
	uint64_t instructions;			/* the sum of all runs */
};

/* 0 and *mix, to be freed with tare_code_mix_free(); TARE_E_NOMEM, TARE_E_INVALID (no list). */
int tare_code_mix(const struct tare_code *c, struct tare_code_mix **mix, struct tare_why *why);
void tare_code_mix_free(struct tare_code_mix *mix);	/* NULL is allowed */
/* The name of the opcode of the instruction at `bytes`; "" where it is none; returns out. */
char *tare_code_opcode_name(const uint8_t *bytes, size_t size, char *out, size_t out_size);

/* ---- the call graph ----
 *
 * With tare_measure_options.calls the engine also knows in which *context* each instruction ran, so
 * that every instruction of a thread belongs to exactly one context: the sum of the counts of all
 * contexts is the count of the run, for every event that was counted.
 *
 * A context is a set of calls that had begun and not returned: its *path*, from the context itself
 * over its parents to a root. Each context is one call of the path: `site` called `entry`. Two facts
 * make it exact and keep it small:
 *
 *  - A call by a site that is in the path already (recursion) does not make the path longer. It leads
 *    to a context with `repeats`, which has the path of its parent, and counts what ran after such a
 *    call, and how often the call was made.
 *  - So "events while a call (a function) was on the stack" is the sum of the counts of all contexts
 *    that have the call (the function, as `entry`) in their path; every context counts once, also
 *    where a function is in its path twice. tare_code_contexts_in() finds them.
 *
 * A recursive program can be in very many such sets. After some 300,000 contexts of a thread, a call of
 * a function that is in the path already goes back to the path of its first call. Such a context is
 * `cut`: counts and calls stay exact, but what was counted while a call was on the stack is then at
 * least the sum. After 1.1 million, contexts are TARE_CODE_FOLDED.
 *
 * A *tail call* is a jump from one function into another; both are in the path while the second one
 * runs. Functions are those of the program's unwind table (.eh_frame_hdr), which stripped programs
 * have too; code without one (most JIT code) counts as one function, which calls make new contexts of
 * but jumps do not. A jump back into the middle of the function that a tail call left (foo.cold to
 * foo) goes back to the context of that function. A stub of a PLT is a function: it is called, and
 * makes a tail call.
 *
 * A signal handler has a root of its own, so the function that it interrupted does not get its
 * counts; a thread has one, too. longjmp, exceptions and switches to another stack go on in the
 * context that the function they arrive in had. What begins to run on a new stack (a coroutine) is a
 * tail call of the function that switched to it. The child of a fork goes on in the context of its
 * parent, with all counts 0.
 */
enum tare_code_context_kind {
	TARE_CODE_ROOT,			/* the first instruction of an image */
	TARE_CODE_THREAD,		/* … of a thread, or of a vfork child */
	TARE_CODE_SIGNAL,		/* a signal was delivered: `signal`; the handler is its child */
	TARE_CODE_CALL,
	TARE_CODE_TAIL,			/* a tail call */
	TARE_CODE_HANDLER,		/* the kernel called a signal handler */
	/* There were too many contexts: the calls of `site` to `entry` from all further ones. Sums
	 * and calls are exact; what was on the stack above is not known. */
	TARE_CODE_FOLDED,
};

struct tare_code_context {
	uint32_t id;			/* 1, 2, … A parent comes before its children */
	uint32_t parent;		/* 0: a root */
	enum tare_code_context_kind kind;
	bool repeats;			/* the path of the parent has this call already */
	bool cut;			/* there were many contexts: more calls were on the stack than
					 * the path has */
	pid_t pid, tid;			/* tid: 0 where there were too many tasks to tell */
	int signal;			/* TARE_CODE_SIGNAL */
	uint64_t site;			/* the call or jump instruction; 0: a root, TARE_CODE_HANDLER */
	uint64_t entry;			/* where it led; 0: TARE_CODE_SIGNAL */
	const struct tare_code_map *site_map, *entry_map;	/* NULL: not known */
	int64_t calls;			/* how often */
	const int64_t *counts;		/* for tare_code_context_count() */
	uint64_t traced;		/* what a trace calls it: tare_trace_run.context */
	uint64_t reserved[1];
};

/* Calls `what` for every context, until it returns other than 0, and returns that. TARE_E_INVALID: no
 * list, or the call graph was not asked for. Contexts are valid as long as the list. */
int tare_code_contexts_each(const struct tare_code *c,
			    int (*what)(const struct tare_code_context *x, void *arg), void *arg,
			    struct tare_why *why);
uint32_t tare_code_n_contexts(const struct tare_code *c);	/* the highest id; 0: none */
/* How many events happened in the context itself, not in the calls that it made. False: the event was
 * not counted. */
bool tare_code_context_count(const struct tare_code *c, const struct tare_code_context *x,
			     const struct tare_event *event, int64_t *count);
/* The same, and its calls, in one dump: tare_code_range.dump. */
bool tare_code_context_in_dump(const struct tare_code *c, const struct tare_code_context *x, uint64_t dump,
			       const struct tare_event *event, int64_t *calls, int64_t *count);
/* Finds the contexts in whose path `wanted` returns true: sets in[id] for each, clears all others.
 * `in` has room for tare_code_n_contexts() + 1. The errors are those of tare_code_contexts_each(). */
int tare_code_contexts_in(const struct tare_code *c,
			  bool (*wanted)(const struct tare_code_context *x, void *arg), void *arg,
			  bool *in, struct tare_why *why);

/* System calls, by number, instruction and context. Each call counts when it returns, as in the table of
 * `strace -f -c`: so exit and exit_group do not. (strace also counts the execve that starts the command,
 * which is not the command's own.) */
struct tare_code_syscall {
	pid_t pid, tid;
	int number;
	uint64_t address;		/* of the syscall instruction */
	const struct tare_code_map *map;
	uint32_t context;		/* id; 0: contexts were not asked for */
	uint64_t times, errors;
	uint64_t reserved[2];
};

/* "read"; NULL: no such system call of x86-64 is known. Static. */
const char *tare_code_syscall_name(int number);
/* The same for every kind of system call; no error if there were none. */
int tare_code_syscalls_each(const struct tare_code *c,
			    int (*what)(const struct tare_code_syscall *s, void *arg), void *arg,
			    struct tare_why *why);

#ifdef __cplusplus
}
#endif
#endif
