#include "cachesim.h"

#include "accesses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

const char *const cachesim_names[SIM_EVENTS] = {
	[SIM_DR] = "Dr", [SIM_DW] = "Dw", [SIM_I1MR] = "I1mr", [SIM_D1MR] = "D1mr",
	[SIM_D1MW] = "D1mw", [SIM_ILMR] = "ILmr", [SIM_DLMR] = "DLmr", [SIM_DLMW] = "DLmw",
};

/* ---- a cache ---- */

struct cache {
	unsigned ways, line_shift;
	uint64_t set_mask;
	unsigned set_shift;
	uint64_t *tags;			/* ways of each set, the last used first; tag + 1, 0: empty */
};

/* The processes of a run, each with its own caches. */
struct machine {
	pid_t pid;
	struct cache i1, d1, ll;
	uint64_t last_line;		/* of I1: using it again changes nothing */
	struct machine *next;
};

/* One instruction of a piece of code. */
struct place {
	uint16_t offset;		/* in the code */
	uint8_t size;
	uint8_t n_accesses, n_words;
	struct access access[ACCESSES_MOST];
	uint64_t counts[SIM_EVENTS];
};

/* Code that a thread ran in a part of its process. */
struct plan {
	pid_t pid, tid;
	unsigned part;
	uint64_t address;
	unsigned n, n_words;
	struct plan *next;
	struct plan *other;		/* of the same code, for another thread or part */
	struct place place[];
};

/* What ran in a context of the call graph, in a part. */
struct ran {
	uint64_t context;		/* tare_trace_run.context; 0: the slot is empty */
	pid_t pid;
	unsigned part;
	uint64_t counts[SIM_EVENTS];
};

/* The dump that a part of a process is of. */
struct part {
	pid_t pid;
	unsigned part;
	uint64_t dump;
};

struct cachesim {
	struct cachesim_caches caches;
	unsigned shortest_line;
	struct tare_trace trace;
	struct machine *machines;	/* the last used first */
	struct plan *plans;
	struct ran **ran;		/* hash table; n_ran_slots: a power of two */
	size_t n_ran, n_ran_slots;
	struct ran *last_ran;
	struct part *parts;
	size_t n_parts;
	bool no_memory;
};

/* Where an access is counted: in the instruction and in the context. */
struct counted {
	uint64_t *insn, *context;
};

static void count(struct counted c, enum cachesim_event e)
{
	c.insn[e]++;
	c.context[e]++;
}

static unsigned log2_of(uint64_t n)
{
	return n ? 63 - (unsigned)__builtin_clzll(n) : 0;
}

static bool cache_init(struct cache *c, const struct cachesim_cache *as)
{
	const uint64_t sets = as->size / as->line / as->ways;
	*c = (struct cache){ .ways = as->ways, .line_shift = log2_of(as->line), .set_mask = sets - 1,
			     .set_shift = log2_of(sets) };
	c->tags = calloc(sets * as->ways, sizeof(*c->tags));
	return c->tags;
}

/* One line that was not the last one used of its set. True: it was not there. */
static bool other_line_misses(const struct cache *c, uint64_t *set, uint64_t tag)
{
	unsigned i = 1;
	while (i < c->ways && set[i] != tag)
		i++;
	const bool misses = i == c->ways;
	memmove(set + 1, set, (misses ? c->ways - 1 : i) * sizeof(*set));
	set[0] = tag;
	return misses;
}

static inline bool line_misses(struct cache *c, uint64_t line)
{
	uint64_t *const set = c->tags + (line & c->set_mask) * c->ways;
	const uint64_t tag = (line >> c->set_shift) + 1;
	return set[0] != tag && other_line_misses(c, set, tag);
}

static inline bool misses(struct cache *c, uint64_t address, unsigned size)
{
	const uint64_t first = address >> c->line_shift, last = (address + size - 1) >> c->line_shift;
	bool any = line_misses(c, first);
	if (last != first)
		any |= line_misses(c, last);
	return any;
}

/* ---- code ---- */

static struct plan *plan_new(struct cachesim *s, const struct tare_trace_run *r)
{
	const struct tare_trace_code *const code = r->code;
	struct plan *const p = calloc(1, sizeof(*p) + code->n_insns * sizeof(p->place[0]));
	if (!p)
		return NULL;
	p->pid = r->pid;
	p->tid = r->tid;
	p->part = r->part;
	p->address = code->address;
	for (unsigned at = 0; at < code->size && p->n < code->n_insns;) {
		struct place *const place = &p->place[p->n];
		enum tare_trace_word words[TARE_TRACE_WORDS];
		unsigned size;
		place->n_words = (uint8_t)tare_trace_words(code->bytes + at, code->size - at, &size, words);
		if (!size)
			break;
		place->offset = (uint16_t)at;
		place->size = (uint8_t)size;
		place->n_accesses = (uint8_t)accesses_of(code->bytes + at, size, place->access);
		for (unsigned i = 0; i < place->n_accesses; i++)
			if (place->access[i].size > s->shortest_line)
				place->access[i].size = (uint16_t)s->shortest_line;
		at += size;
		p->n++;
		p->n_words += place->n_words;
	}
	p->next = s->plans;
	s->plans = p;
	p->other = code->user;
	return r->code->user = p;
}

static bool is_of(const struct plan *p, const struct tare_trace_run *r)
{
	return p->tid == r->tid && p->pid == r->pid && p->part == r->part;
}

/* NULL: no memory. */
static struct plan *plan_of(struct cachesim *s, const struct tare_trace_run *r)
{
	struct plan *p = r->code->user;
	while (p && !is_of(p, r))
		p = p->other;
	return p ? p : plan_new(s, r);
}

/* ---- contexts ---- */

static struct ran **ran_slot(const struct cachesim *s, uint64_t context, unsigned part)
{
	size_t i = ((context + part * 0x10001ull) * 0x9E3779B97F4A7C15ull >> 32) & (s->n_ran_slots - 1);
	while (s->ran[i] && (s->ran[i]->context != context || s->ran[i]->part != part))
		i = (i + 1) & (s->n_ran_slots - 1);
	return &s->ran[i];
}

static bool grow_ran(struct cachesim *s)
{
	struct ran **const old = s->ran;
	const size_t n_old = s->n_ran_slots;
	struct ran **const more = calloc(n_old ? 2 * n_old : 1024, sizeof(struct ran *));
	if (!more)
		return false;
	s->ran = more;
	s->n_ran_slots = n_old ? 2 * n_old : 1024;
	for (size_t i = 0; i < n_old; i++)
		if (old[i])
			*ran_slot(s, old[i]->context, old[i]->part) = old[i];
	free(old);
	return true;
}

/* NULL: no memory. */
static struct ran *ran_in(struct cachesim *s, const struct tare_trace_run *r)
{
	if (s->last_ran && s->last_ran->context == r->context && s->last_ran->part == r->part)
		return s->last_ran;
	if (2 * s->n_ran >= s->n_ran_slots && !grow_ran(s))
		return NULL;
	struct ran **const slot = ran_slot(s, r->context, r->part);
	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot)
			return NULL;
		**slot = (struct ran){ .context = r->context, .pid = r->pid, .part = r->part };
		s->n_ran++;
	}
	return s->last_ran = *slot;
}


/* ---- processes ---- */

static void machine_free(struct machine *m)
{
	free(m->i1.tags);
	free(m->d1.tags);
	free(m->ll.tags);
	free(m);
}

static struct machine *machine_new(const struct cachesim *s, pid_t pid)
{
	struct machine *const m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->pid = pid;
	m->last_line = UINT64_MAX;
	if (cache_init(&m->i1, &s->caches.i1) && cache_init(&m->d1, &s->caches.d1) &&
	    cache_init(&m->ll, &s->caches.ll))
		return m;
	machine_free(m);
	return NULL;
}

static struct machine *machine_of(struct cachesim *s, pid_t pid)
{
	struct machine **at = &s->machines;
	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	struct machine *const m = *at ? *at : machine_new(s, pid);
	if (!m)
		return NULL;
	if (*at)
		*at = m->next;
	m->next = s->machines;
	return s->machines = m;
}

/* ---- running ---- */

static void use_data(struct machine *m, struct counted c, const struct access *a, uint64_t address)
{
	const bool write = !a->reads;
	count(c, write ? SIM_DW : SIM_DR);
	if (!misses(&m->d1, address, a->size))
		return;
	count(c, write ? SIM_D1MW : SIM_D1MR);
	if (misses(&m->ll, address, a->size))
		count(c, write ? SIM_DLMW : SIM_DLMR);
}

static void use_instruction(struct machine *m, struct counted c, const struct place *place, uint64_t address)
{
	const uint64_t line = (address + place->size - 1) >> m->i1.line_shift;
	if (line == m->last_line && address >> m->i1.line_shift == line)
		return;
	m->last_line = line;
	if (!misses(&m->i1, address, place->size))
		return;
	count(c, SIM_I1MR);
	if (misses(&m->ll, address, place->size))
		count(c, SIM_ILMR);
}

/* All steps of a rep instruction: its operands in turn, step by step, up or down. */
static void use_steps(struct machine *m, struct counted c, const struct place *place, const uint64_t *words)
{
	const struct access *const first = &place->access[0];
	const int64_t moved = (int64_t)(words[first->after] - words[first->before]);
	const int64_t step = moved < 0 ? -first->step : first->step;
	for (int64_t done = 0; done != moved; done += step)
		for (unsigned i = 0; i < place->n_accesses; i++)
			use_data(m, c, &place->access[i],
				 words[place->access[i].word] + (uint64_t)done);
}

/* An access for each element that a gather loads or a scatter stores, the lowest first. */
static void use_elements(struct machine *m, struct counted c, const struct access *a, const uint64_t *words)
{
	uint64_t address;
	for (unsigned i = 0; i < a->each.n; i++)
		if (access_element(a, words, i, &address))
			use_data(m, c, a, address);
}

static void use_operands(struct machine *m, struct counted c, const struct place *place, const uint64_t *words)
{
	if (place->n_accesses && place->access[0].step) {
		use_steps(m, c, place, words);
		return;
	}
	for (unsigned i = 0; i < place->n_accesses; i++) {
		const struct access *const a = &place->access[i];
		if (a->each.n)
			use_elements(m, c, a, words);
		else
			use_data(m, c, a, words[a->word] + (uint64_t)(int64_t)a->plus);
	}
}

static void run(const struct tare_trace_run *r, void *arg)
{
	struct cachesim *const s = arg;
	struct plan *const p = plan_of(s, r);
	struct ran *const in = ran_in(s, r);
	struct machine *const m = s->machines && s->machines->pid == r->pid ? s->machines :
				  machine_of(s, r->pid);
	uint64_t nowhere[SIM_EVENTS] = { 0 };
	unsigned at = 0;
	if (!p || !m || !in) {
		s->no_memory = true;
		return;
	}
	for (unsigned i = 0; i < p->n; i++) {
		struct place *const place = &p->place[i];
		/* left early: how far it came is known up to the last words */
		if (at + place->n_words > r->n_words || (r->n_words < p->n_words && at == r->n_words))
			break;
		/* what runs while counting is off uses the caches, too */
		const struct counted c = { r->off ? nowhere : place->counts, r->off ? nowhere : in->counts };
		use_instruction(m, c, place, p->address + place->offset);
		use_operands(m, c, place, r->words + at);
		at += place->n_words;
	}
}

static void part_ends(pid_t pid, unsigned part, uint64_t dump, void *arg)
{
	struct cachesim *const s = arg;
	for (size_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].pid == pid && s->parts[i].part == part)
			return;
	struct part *const more = reallocarray(s->parts, s->n_parts + 1, sizeof(*more));
	if (!more) {
		s->no_memory = true;
		return;
	}
	s->parts = more;
	more[s->n_parts++] = (struct part){ pid, part, dump };
}

static void thread_zeroed(const struct tare_trace_run *r, void *arg)
{
	struct cachesim *const s = arg;
	for (struct plan *p = s->plans; p; p = p->next)
		for (unsigned i = 0; p->pid == r->pid && p->tid == r->tid && p->part == r->part && i < p->n; i++)
			memset(p->place[i].counts, 0, sizeof(p->place[i].counts));
	for (size_t i = 0; i < s->n_ran_slots; i++) {
		struct ran *const in = s->ran[i];
		if (in && in->context >> 32 == r->context >> 32 && in->pid == r->pid && in->part == r->part)
			memset(in->counts, 0, sizeof(in->counts));
	}
}

/* The dump that the part is of; 0: none. A zero takes all parts since the last dump along. */
static uint64_t dump_of(const struct cachesim *s, pid_t pid, unsigned part)
{
	const struct part *best = NULL;
	for (size_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].pid == pid && s->parts[i].part >= part && (!best || s->parts[i].part < best->part))
			best = &s->parts[i];
	return best ? best->dump : 0;
}

/* ---- a simulation ---- */

struct cachesim *cachesim_new(const struct cachesim_caches *caches)
{
	struct cachesim *const s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->caches = *caches;
	s->shortest_line = caches->d1.line < caches->ll.line ? caches->d1.line : caches->ll.line;
	s->trace = (struct tare_trace){ .run = run, .part = part_ends, .thread_zeroed = thread_zeroed, .arg = s };
	return s;
}

void cachesim_free(struct cachesim *s)
{
	if (!s)
		return;
	for (struct machine *m = s->machines, *next; m; m = next) {
		next = m->next;
		machine_free(m);
	}
	for (struct plan *p = s->plans, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	for (size_t i = 0; i < s->n_ran_slots; i++)
		free(s->ran[i]);
	free(s->ran);
	free(s->parts);
	free(s);
}

const struct tare_trace *cachesim_trace(struct cachesim *s)
{
	return &s->trace;
}

int cachesim_each(const struct cachesim *s,
		  int (*what)(const struct cachesim_insn *in, const uint64_t counts[SIM_EVENTS], void *arg), void *arg)
{
	int err = 0;
	for (const struct plan *p = s->plans; p && !err; p = p->next) {
		const uint64_t dump = dump_of(s, p->pid, p->part);
		for (unsigned i = 0; i < p->n && !err && dump != TARE_TRACE_ZEROED; i++)
			err = what(&(struct cachesim_insn){ p->pid, p->tid, p->address + p->place[i].offset, dump },
				   p->place[i].counts, arg);
	}
	return err ? err : s->no_memory ? TARE_E_NOMEM : 0;
}

int cachesim_each_context(const struct cachesim *s,
			  int (*what)(uint64_t context, uint64_t dump, const uint64_t counts[SIM_EVENTS], void *arg),
			  void *arg)
{
	int err = 0;
	for (size_t i = 0; i < s->n_ran_slots && !err; i++) {
		const struct ran *const r = s->ran[i];
		const uint64_t dump = r ? dump_of(s, r->pid, r->part) : TARE_TRACE_ZEROED;
		if (r && dump != TARE_TRACE_ZEROED)
			err = what(r->context, dump, r->counts, arg);
	}
	return err;
}

/* ---- which caches ---- */

bool cachesim_parse(const char *text, struct cachesim_cache *c, const char **problem)
{
	char end;
	uint64_t size;
	unsigned ways, line;
	if (sscanf(text, "%" SCNu64 ",%u,%u%c", &size, &ways, &line, &end) != 3) {
		*problem = "it is not SIZE,WAYS,LINE in numbers";
		return false;
	}
	*c = (struct cachesim_cache){ size, ways, line };
	*problem = line < 16 || line & (line - 1) ? "the line is not a power of two from 16 on" :
		   !ways || ways > 1024 ? "the number of ways is not from 1 to 1024" :
		   !size || size > 1ull << 32 || size % ((uint64_t)ways * line) ||
		   (size / ways / line & (size / ways / line - 1)) ?
		   "the size is not WAYS x LINE x a power of two" : NULL;
	return !*problem;
}

#if defined(__x86_64__)
/* Leaf 4 of Intel, 0x8000001d of AMD, have the same layout. False: there are no more caches. */
static bool cpu_cache(unsigned leaf, unsigned n, unsigned *level, unsigned *type,
		      struct cachesim_cache *c)
{
	unsigned a, b, cx, d;
	if (!__get_cpuid_count(leaf, n, &a, &b, &cx, &d) || !(a & 31))
		return false;
	*type = a & 31;
	*level = a >> 5 & 7;
	c->line = (b & 0xfff) + 1;
	c->ways = (b >> 22) + 1;
	c->size = (uint64_t)c->ways * ((b >> 12 & 0x3ff) + 1) * c->line * ((uint64_t)cx + 1);
	return true;
}

/* A size that is no power of two sets gets more ways, as cachegrind does. */
static void make_whole(struct cachesim_cache *c)
{
	uint64_t sets = c->size / c->line / c->ways;
	if (sets & (sets - 1)) {
		sets = 1ull << log2_of(sets);
		c->ways = (unsigned)(c->size / c->line / sets);
		c->size = sets * c->ways * c->line;
	}
}
#endif

struct cachesim_caches cachesim_host(void)
{
	struct cachesim_caches found = { { 32768, 8, 64 }, { 32768, 8, 64 }, { 8388608, 16, 64 } };
#if defined(__x86_64__)
	unsigned best = 1, level, type;
	struct cachesim_cache c;
	unsigned vendor_leaf = 4, a, b, cx, d;
	if (__get_cpuid(0, &a, &b, &cx, &d) && (b == 0x68747541 || b == 0x6f677948))
		vendor_leaf = 0x8000001d;		/* AMD, Hygon */
	for (unsigned n = 0; n < 16 && cpu_cache(vendor_leaf, n, &level, &type, &c); n++) {
		make_whole(&c);
		if (level == 1 && type == 2)
			found.i1 = c;
		else if (level == 1)
			found.d1 = c;
		else if (level > best) {
			best = level;
			found.ll = c;
		}
	}
#endif
	return found;
}
