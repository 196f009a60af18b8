/* The code log of a run (soft/abi/code-abi.h) as it is handed out: tare/code.h. */
#ifndef LAUNCH_CODE_H
#define LAUNCH_CODE_H

#include <tare/code.h>

struct soft_shared;
struct code_record;
struct code_contexts;

/* Keeps what the run logged up to now; `memfd` and `shared` may be closed afterwards. NULL: no
 * memory. */
struct tare_code *code_keep(int memfd, const struct soft_shared *shared);
void code_free(struct tare_code *c);

/* Room for one more element in an array of n, which grows by doubling. False: no memory. */
bool code_more(void *array, size_t n, size_t size);

/* A place in the log, for what stands there. */
struct code_walk;
/* Calls `what` for every record of these kinds (1 << enum code_kind), until it returns other than 0. TARE_E_NOMEM. */
int code_walk(const struct tare_code *c, uint32_t kinds,
	      int (*what)(const struct code_walk *at, const struct code_record *r, void *arg), void *arg);
/* The mapping of an address in the process of the record; NULL: not known. */
const struct tare_code_map *code_map_of(const struct code_walk *at, uint64_t address);
pid_t code_tid_of(const struct code_walk *at);
uint32_t code_dump_of(const struct code_walk *at);	/* the dump that the record is part of; 0: none */
bool code_is_zeroed(const struct code_walk *at);	/* the program set its counts to 0 afterwards */

/* code-contexts.c: the contexts and system calls in the log. NULL: no memory. */
struct code_contexts *code_contexts_read(const struct tare_code *c, uint32_t event_mask);
void code_contexts_free(struct code_contexts *x);
const struct code_contexts *code_contexts_of(const struct tare_code *c);

#endif
