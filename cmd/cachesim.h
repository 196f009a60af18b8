/* Caches, simulated by the rules of cachegrind and callgrind, over the trace of a run (tare/trace.h).
 *
 * Each process has a first-level cache for instructions (I1), one for data (D1) and a last-level
 * cache for both (LL). Each is divided into sets of lines and forgets the line of a set that was
 * used longest ago. What misses in I1 or D1 goes to LL. A write is like a read. An instruction that
 * reads and writes the same operand reads it once. An access that crosses the end of a line uses two
 * lines and misses once at most. An access of more bytes than a line is taken for one of a line. Each
 * step of a rep instruction uses memory. Prefetches, and what the kernel does, use nothing. What runs while
 * counting is off uses the caches and is not counted.
 *
 * The results are counts per instruction and per context of the call graph, to be shown as `simulated`.
 */
#ifndef CMD_CACHESIM_H
#define CMD_CACHESIM_H

#include <tare/err.h>
#include <tare/trace.h>

enum cachesim_event {
	SIM_DR, SIM_DW,			/* data read, written */
	SIM_I1MR, SIM_D1MR, SIM_D1MW,	/* misses of the first level: instructions, data read, written */
	SIM_ILMR, SIM_DLMR, SIM_DLMW,	/* … of the last level */
	SIM_EVENTS,
};
/* Callgrind's names: "Dr", "I1mr" … */
extern const char *const cachesim_names[SIM_EVENTS];

struct cachesim_cache {
	uint64_t size;			/* bytes */
	unsigned ways, line;		/* lines of a set; bytes of a line */
};

struct cachesim_caches {
	struct cachesim_cache i1, d1, ll;
};

/* Those of this CPU, as cpuid tells them; where it does not, those of a common one. */
struct cachesim_caches cachesim_host(void);
/* "32768,8,64": size, ways, bytes of a line. False and *problem: it is no cache ("the size is not …"). */
bool cachesim_parse(const char *text, struct cachesim_cache *c, const char **problem);

struct cachesim;

/* NULL: no memory. `caches` as cachesim_parse() allows them. */
struct cachesim *cachesim_new(const struct cachesim_caches *caches);
void cachesim_free(struct cachesim *s);	/* NULL is allowed */
/* For tare_measure_options.trace; valid as long as `s`. */
const struct tare_trace *cachesim_trace(struct cachesim *s);
/* After the measurement: calls `what` for each instruction that ran, until it returns other than 0. The
 * same instruction can come several times: add up. Returns what `what` did, or TARE_E_NOMEM where
 * memory was missing during the run and counts are lost. */
struct cachesim_insn {
	pid_t pid, tid;
	uint64_t address;
	uint64_t dump;			/* that it is part of; 0: none. What was zeroed is not there */
};
int cachesim_each(const struct cachesim *s,
		  int (*what)(const struct cachesim_insn *in, const uint64_t counts[SIM_EVENTS], void *arg), void *arg);
/* The same counts by context of the call graph, each once for a dump or several times. */
int cachesim_each_context(const struct cachesim *s,
			  int (*what)(uint64_t context, uint64_t dump, const uint64_t counts[SIM_EVENTS], void *arg),
			  void *arg);

#endif
