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
	uint64_t reserved[2];
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

#ifdef __cplusplus
}
#endif
#endif
