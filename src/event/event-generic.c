/* The names that perf gives to the kernel's generic events.
 *
 * One row per name; another spelling is a row of its own that says what it is an
 * alias of. The cache events (L1-dcache-load-misses …) are three choices in a
 * row rather than a list, because perf takes every combination and spelling.
 */
#include "event-room.h"

#include "clocale.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HW(n, c, r) { .name = n, .type = PERF_TYPE_HARDWARE, .config = c, .role = r, .unit = "" }
#define HW_ALIAS(n, of, c, r) \
	{ .name = n, .alias_of = of, .type = PERF_TYPE_HARDWARE, .config = c, .role = r, .unit = "" }
#define SW(n, c, u) { .name = n, .type = PERF_TYPE_SOFTWARE, .config = c, .unit = u }
#define SW_ALIAS(n, of, c, u) \
	{ .name = n, .alias_of = of, .type = PERF_TYPE_SOFTWARE, .config = c, .unit = u }

static const struct event_generic generics[] = {
	HW("cycles", PERF_COUNT_HW_CPU_CYCLES, TARE_ROLE_CYCLES),
	HW_ALIAS("cpu-cycles", "cycles", PERF_COUNT_HW_CPU_CYCLES, TARE_ROLE_CYCLES),
	HW("instructions", PERF_COUNT_HW_INSTRUCTIONS, TARE_ROLE_INSTRUCTIONS),
	HW("branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, TARE_ROLE_BRANCHES),
	HW_ALIAS("branch-instructions", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		 TARE_ROLE_BRANCHES),
	HW("branch-misses", PERF_COUNT_HW_BRANCH_MISSES, TARE_ROLE_OTHER),
	HW("cache-references", PERF_COUNT_HW_CACHE_REFERENCES, TARE_ROLE_OTHER),
	HW("cache-misses", PERF_COUNT_HW_CACHE_MISSES, TARE_ROLE_OTHER),
	HW("bus-cycles", PERF_COUNT_HW_BUS_CYCLES, TARE_ROLE_OTHER),
	HW("ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES, TARE_ROLE_OTHER),
	HW("stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, TARE_ROLE_OTHER),
	HW_ALIAS("idle-cycles-frontend", "stalled-cycles-frontend",
		 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, TARE_ROLE_OTHER),
	HW("stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND, TARE_ROLE_OTHER),
	HW_ALIAS("idle-cycles-backend", "stalled-cycles-backend",
		 PERF_COUNT_HW_STALLED_CYCLES_BACKEND, TARE_ROLE_OTHER),

	SW("task-clock", PERF_COUNT_SW_TASK_CLOCK, "ns"),
	SW("cpu-clock", PERF_COUNT_SW_CPU_CLOCK, "ns"),
	SW("page-faults", PERF_COUNT_SW_PAGE_FAULTS, ""),
	SW_ALIAS("faults", "page-faults", PERF_COUNT_SW_PAGE_FAULTS, ""),
	SW("minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, ""),
	SW("major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, ""),
	SW("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, ""),
	SW_ALIAS("cs", "context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, ""),
	SW("cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, ""),
	SW_ALIAS("migrations", "cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, ""),
	SW("cgroup-switches", PERF_COUNT_SW_CGROUP_SWITCHES, ""),
	SW("alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS, ""),
	SW("emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS, ""),
	SW("bpf-output", PERF_COUNT_SW_BPF_OUTPUT, ""),
	SW("dummy", PERF_COUNT_SW_DUMMY, ""),
};

const struct event_generic *event_generic_at(size_t i)
{
	return i < sizeof(generics) / sizeof(generics[0]) ? &generics[i] : NULL;
}

/* One part of a cache event's name: its spellings, the first is perf's own. */
struct cache_word {
	unsigned value;
	const char *spellings[6];
};

static const struct cache_word caches[] = {
	{ PERF_COUNT_HW_CACHE_L1D, { "L1-dcache", "l1-d", "l1d", "L1-data" } },
	{ PERF_COUNT_HW_CACHE_L1I, { "L1-icache", "l1-i", "l1i", "L1-instruction" } },
	{ PERF_COUNT_HW_CACHE_LL, { "LLC", "L2" } },
	{ PERF_COUNT_HW_CACHE_DTLB, { "dTLB", "d-tlb", "Data-TLB" } },
	{ PERF_COUNT_HW_CACHE_ITLB, { "iTLB", "i-tlb", "Instruction-TLB" } },
	{ PERF_COUNT_HW_CACHE_BPU, { "branch", "branches", "bpu", "btb", "bpc" } },
	{ PERF_COUNT_HW_CACHE_NODE, { "node" } },
};

static const struct cache_word ops[] = {
	{ PERF_COUNT_HW_CACHE_OP_READ, { "loads", "load", "read" } },
	{ PERF_COUNT_HW_CACHE_OP_WRITE, { "stores", "store", "write" } },
	{ PERF_COUNT_HW_CACHE_OP_PREFETCH,
	  { "prefetches", "prefetch", "speculative-read", "speculative-load" } },
};

static const struct cache_word results[] = {
	{ PERF_COUNT_HW_CACHE_RESULT_ACCESS, { "refs", "reference", "ops", "access" } },
	{ PERF_COUNT_HW_CACHE_RESULT_MISS, { "misses", "miss" } },
};

/* Which ops a cache has (bit = op), as perf defines it. */
static const unsigned cache_ops[] = {
	[PERF_COUNT_HW_CACHE_L1D] = 7,
	[PERF_COUNT_HW_CACHE_L1I] = 1 | 4,
	[PERF_COUNT_HW_CACHE_LL] = 7,
	[PERF_COUNT_HW_CACHE_DTLB] = 7,
	[PERF_COUNT_HW_CACHE_ITLB] = 1,
	[PERF_COUNT_HW_CACHE_BPU] = 1,
	[PERF_COUNT_HW_CACHE_NODE] = 7,
};

bool event_cache_name_at(size_t i, char *out, size_t size)
{
	for (size_t c = 0; c < sizeof(caches) / sizeof(caches[0]); c++) {
		for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
			if (!(cache_ops[caches[c].value] & 1u << ops[o].value))
				continue;
			for (unsigned miss = 0; miss < 2; miss++) {
				if (i--)
					continue;
				/* perf writes "loads", but "load-misses" */
				snprintf(out, size, "%s-%s%s", caches[c].spellings[0],
					 ops[o].spellings[miss], miss ? "-misses" : "");
				return true;
			}
		}
	}
	return false;
}

/* Takes the longest spelling at *at that ends at a '-' or at the end; moves *at
 * behind it and its '-'. */
static bool take_word(const struct cache_word *words, size_t n, const char **at, unsigned *value)
{
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < 6 && words[i].spellings[k]; k++) {
			const char *const word = words[i].spellings[k];
			const size_t len = strlen(word);
			if (len <= best || clocale_ncasecmp(*at, word, len) ||
			    ((*at)[len] && (*at)[len] != '-'))
				continue;
			best = len;
			*value = words[i].value;
		}
	}
	if (!best)
		return false;
	*at += best;
	if (**at == '-' && (*at)[1])
		++*at;
	return true;
}

static int cache_find(const char *name, struct tare_event *ev)
{
	const char *at = name;
	unsigned cache, op = PERF_COUNT_HW_CACHE_OP_READ,
		result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;

	if (!take_word(caches, sizeof(caches) / sizeof(caches[0]), &at, &cache) || !*at)
		return EVENT_NOT_MINE;	/* perf takes a bare "LLC"; a misspelt event is likelier */
	take_word(ops, sizeof(ops) / sizeof(ops[0]), &at, &op);
	if (*at)
		take_word(results, sizeof(results) / sizeof(results[0]), &at, &result);
	if (*at || !(cache_ops[cache] & 1u << op))
		return EVENT_NOT_MINE;
	ev->base.type = PERF_TYPE_HW_CACHE;
	ev->base.config = cache | op << 8 | result << 16;
	return EVENT_FOUND;
}

static int generic_find(const char *name, struct tare_event *ev)
{
	for (size_t i = 0; i < sizeof(generics) / sizeof(generics[0]); i++) {
		const struct event_generic *const g = &generics[i];
		if (clocale_casecmp(name, g->name))
			continue;
		ev->base.type = g->type;
		ev->base.config = g->config;
		ev->role = g->role;
		ev->unit = g->unit;
		return EVENT_FOUND;
	}
	return cache_find(name, ev);
}

/* On a hybrid machine the upper half of config says which PMU a generic event is for
 * (PERF_PMU_TYPE_SHIFT). Left out, the kernel takes the first one, and a correction of the
 * other core type cannot be in its group. */
int event_generic_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev)
{
	const int found = generic_find(name, ev);
	uint32_t type;

	if (found == EVENT_FOUND && ev->base.type != PERF_TYPE_SOFTWARE &&
	    event_hybrid_pmu(cpu, &type))
		ev->base.config |= (uint64_t)type << 32;
	return found;
}
