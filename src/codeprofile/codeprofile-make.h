/* What codeprofile-make.c and codeprofile-contexts.c share: the profile of a run while it is made. */
#ifndef CODEPROFILE_MAKE_H
#define CODEPROFILE_MAKE_H

#include "codeprofile-room.h"
#include "symbol.h"

#include <tare/code.h>

#define MOST_EVENTS 64u

/* An object as it is mapped; several mappings of a file have one. */
struct place {
	struct symbol_object *object;	/* NULL: the mapping is not known */
	uint32_t in_profile;
};

struct mapping {
	const struct tare_code_map *map;
	pid_t pid;			/* of memory that is no file; else 0 */
	uint32_t place;
};

/* An instruction; with .no_insns a block, as long as it is known to belong to one function. A run has hundreds of
 * thousands, and most of the time goes into touching new memory: what the block has is not repeated here. */
struct code {
	uint64_t offset;
	uint32_t block;			/* of maker.blocks */
	uint32_t events;		/* as in struct tare_code_insn */
	uint32_t in_profile;		/* the instruction there */
	uint16_t size;
	bool is_call;
	bool whole;			/* a block */
};

struct block {
	uint32_t place;
	uint64_t offset;
	const uint8_t *bytes;		/* of its first range, in the log */
	unsigned size;
	uint32_t first, n;		/* of maker.codes */
	int64_t runs, taken;
	uint64_t hash;
};

struct span {				/* addresses of one function, with .no_insns */
	uint64_t start, end;
	uint32_t in_profile;		/* the instruction that stands for the function */
};

struct at {				/* where an instruction ran */
	pid_t pid;
	uint64_t address;
	uint32_t code;			/* of maker.codes */
};

struct maker {
	struct builder b;
	const struct tare_measurement *m;
	const struct tare_codeprofile_options *o;
	struct symbols *symbols;
	size_t n_events;
	uint32_t masks[MOST_EVENTS];	/* the bits of tare_code_insn.events that each event counts */
	uint64_t counts_taken;		/* bit e: event e counts taken branches */
	bool only_insns;		/* all events count each instruction once */
	struct place *places;
	size_t n_places, cap_places;
	struct mapping *mappings;
	size_t n_mappings, cap_mappings;
	struct places mapping_table;
	struct code *codes;
	size_t n_codes, cap_codes;
	uint32_t *order;		/* codes of the first place by offset, of the second, … */
	size_t *place_ends;		/* where those of each place end */
	struct span *spans;		/* of the first place by start, of the second, … */
	size_t n_spans, cap_spans;
	size_t *span_ends;
	struct block *blocks;
	size_t n_blocks, cap_blocks;
	struct places block_table;
	int64_t *worth;			/* of each block, by event: what one run of it counts */
	size_t n_worth, cap_worth;
	uint32_t *ranges;		/* the block of each range, in the order of the run; for shares */
	size_t n_ranges, cap_ranges;
	struct at *ats;			/* only with options.extra */
	size_t n_ats, cap_ats;
	struct places at_table;
	uint32_t last_task;		/* that was looked up */
	size_t at_range;		/* while tasks get their part */
	const char *last_path;		/* of the last source file that was looked up … */
	uint32_t last_file;		/* … and its place */
	struct tare_why *why;
};

static inline const uint8_t *code_bytes(const struct maker *m, const struct code *c)
{
	const struct block *const b = &m->blocks[c->block];
	return b->bytes + (c->offset - b->offset);
}
/* The instructions of a block become its codes. False: out of memory. */
bool maker_decode(struct maker *m, uint32_t block);
/* Gives all code its function and line: maker.codes[].in_profile. */
int maker_name(struct maker *m);
/* With .no_insns: the instruction that stands for the function at that address. NONE: no code ran there. */
uint32_t maker_function_at(const struct maker *m, uint32_t place, uint64_t offset);
/* The first code of maker.order[first … end - 1] at the offset or behind it; end: none. */
size_t maker_code_from(const struct maker *m, size_t first, size_t end, uint64_t offset);
/* Is the task one that the profile is of? */
static inline bool maker_wants(const struct maker *m, pid_t pid, pid_t tid)
{
	return (!m->o->only_pid || m->o->only_pid == pid) && (!m->o->only_tid || m->o->only_tid == tid);
}
/* The mapping of an address of a process; its place is of maker.places. NULL: out of memory. */
const struct mapping *maker_mapping(struct maker *m, const struct tare_code_map *map, pid_t pid);
/* The object of the place in the profile. NONE: out of memory. */
uint32_t maker_object(struct maker *m, uint32_t place);
/* A function as the symbol room has it. */
uint32_t maker_function(struct maker *m, uint32_t object, struct symbol_function *s);
/* Contexts and system calls of the run. The instructions are in the builder by now. */
int maker_contexts(struct maker *m);

/* With options.extra: remembers where the instructions of a block ran, and adds the counts to them. False:
 * out of memory. */
bool maker_note_places(struct maker *m, pid_t pid, uint64_t address, const struct block *b);
/* Adds those of a context. */
void maker_extra_context(const struct maker *m, uint64_t context, int64_t *counts);
bool maker_extra(struct maker *m);

#endif
