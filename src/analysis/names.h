/* Names as small numbers: texts interned once, and string ids of a profile
 * resolved to them fast.
 *
 * An event's id is mapped to its label's number by the address of its string: in an
 * array for the first strings, which are those that events share; for what the array
 * lacks in a cache of fixed size; on a miss the string is decoded. So memory
 * is bounded whatever the number of ids: rustc gives every invocation its own, all of
 * one query pointing at one string.
 */
#ifndef ANALYSIS_NAMES_H
#define ANALYSIS_NAMES_H

#include "buf.h"
#include "plain-call.h"
#include "reader.h"

#define NO_NAME UINT32_MAX
/* Intervals inside each other: no program has so many, and a file of zeros would take all
 * memory for them. */
#define NESTING_MOST (4u << 20)
/* Of a thread's stack at first: a file may have very many threads. */
#define STACK_FIRST 8u

/* The same value, but the compiler may not guess it: keeps it from turning
 * arithmetic on a truth value back into a branch. */
static inline uint64_t opaque(uint64_t v)
{
	__asm__("" : "+r"(v));
	return v;
}

struct name {
	size_t off;
	uint32_t len;
};

/* With the hash beside the number: of millions of names each look elsewhere would miss the
 * cache. */
struct name_slot {
	uint32_t number;		/* + 1; 0: free */
	uint32_t hash;
};

struct names {
	struct buf arena;		/* texts, each NUL-terminated */
	struct name *list;
	uint32_t n, cap;
	struct name_slot *slots;
	uint32_t n_slots;		/* a power of two */
};

/* From `from` on: what could move a terminal's cursor becomes "?". Labels and arguments
 * have no such bytes; kinds and commands may. */
void text_tame(struct buf *text, size_t from);

/* NO_NAME: out of memory. */
uint32_t names_add(struct names *t, const char *text, size_t len);
uint32_t names_find(const struct names *t, const char *text, size_t len);	/* or NO_NAME */
const char *names_text(const struct names *t, uint32_t n);
static inline size_t names_len(const struct names *t, uint32_t n) { return t->list[n].len; }
void names_free(struct names *t);

enum resolve_mode {
	RESOLVE_LABEL,	/* the label alone */
	RESOLVE_ARGS,	/* "label(arg, arg)"; just the label when it has none */
	RESOLVE_TEXT,	/* the string as it is: kinds */
};

#define RESOLVE_SETS 4096u		/* of two ways each */
#define DIRECT_BYTES (4u << 20)		/* of string data that the array covers, its first */

struct resolver {
	struct tare_profile *p;
	struct names *names;
	enum resolve_mode mode;
	struct buf scratch, text;
	struct plain_calls *calls;	/* with RESOLVE_ARGS; or NULL */
	struct tare_why *why;
	int err;
	uint32_t has_args;		/* of the last one resolved slowly */
	/* By address: (name + 1) << 1 | has_args. 0: not known; [0] always. */
	uint32_t *direct;
	uint64_t n_direct;		/* 1 at least */
	uint32_t none;			/* stands in for the array */
	struct resolved {
		uint64_t addr;
		uint32_t name;
		uint32_t has_args;	/* there may be arguments */
	} slot[2 * RESOLVE_SETS];
};

/* Short of memory it only becomes slower. */
void resolver_init(struct resolver *r, struct tare_profile *p, struct names *names,
		   enum resolve_mode mode, struct tare_why *why);
void resolver_free(struct resolver *r);
uint32_t resolver_slow(struct resolver *r, uint64_t id);

/* Several ids at once, with RESOLVE_ARGS: their names are looked up side by side, as each look-up
 * among millions of names misses the cache. False: r->err says why. */
#define RESOLVE_MANY 16u
bool resolve_many(struct resolver *r, const uint64_t *id, uint32_t *name, size_t n);

/* NO_NAME: r->err says why. */
static inline uint32_t resolve_args(struct resolver *r, uint64_t id, uint32_t *has_args)
{
	const uint64_t addr = strings_addr_fast(r->p, id);
	const uint32_t known = r->direct[addr < r->n_direct ? addr : 0];
	if (__builtin_expect(known != 0, 1)) {
		*has_args = known & 1;
		return (known >> 1) - 1;
	}
	const uint32_t name = resolver_slow(r, id);
	*has_args = r->has_args;
	return name;
}

static inline uint32_t resolve(struct resolver *r, uint64_t id)
{
	uint32_t has_args;
	return resolve_args(r, id, &has_args);
}

/* The kinds that the analyses treat specially; the spelling is rustc's. */
enum kind_class {
	KIND_OTHER, KIND_QUERY, KIND_GENERIC, KIND_BLOCKED, KIND_LOAD, KIND_HASHING,
	KIND_CACHE_HIT, KIND_CACHE_HIT_COUNT, KIND_ARTIFACT,
};

struct kinds {
	struct resolver *resolver;	/* RESOLVE_TEXT */
	struct { uint64_t id; uint32_t name; enum kind_class class; } slot[64];
};

/* An id that is never looked for in this slot of 64: 0 belongs to the first, 1 does
 * not. */
static inline uint64_t not_here(unsigned slot)
{
	return slot ? 0 : 1;
}

int kinds_init(struct kinds *k, struct tare_profile *p, struct names *names,
	       struct tare_why *why);
void kinds_free(struct kinds *k);
void kinds_miss(struct kinds *k, uint64_t id);

/* The slot of 64 that a kind's id has. */
static inline unsigned kind_place(uint64_t id)
{
	return (unsigned)((id * 0x9E3779B97F4A7C15ull) >> 58);
}

static inline unsigned kinds_slot(struct kinds *k, uint64_t id)
{
	const unsigned i = kind_place(id);
	if (__builtin_expect(k->slot[i].id != id, 0))
		kinds_miss(k, id);
	return i;
}

/* Threads by id, in the order they are met. */
struct threads {
	uint32_t *ids;
	uint32_t n, cap;
	uint32_t *slots;
	uint32_t n_slots;
	uint32_t last_id, last;
};

/* Index of the thread; == old n: it is new. UINT32_MAX: out of memory. */
uint32_t threads_miss(struct threads *t, uint32_t id);
static inline uint32_t threads_index(struct threads *t, uint32_t id)
{
	if (__builtin_expect(t->n && t->last_id == id, 1))
		return t->last;
	return threads_miss(t, id);
}
void threads_free(struct threads *t);
/* Zeros are no event, but a hole of a sparse file, or a part that a crash left unwritten: there
 * can be very many of them. */
static inline bool is_hole(const struct mm_event *e)
{
	return !(e->kind | e->id | e->thread | e->p1 | e->p2);
}

/* TARE_E_FORMAT. */
int hole_error(const struct tare_profile *p, struct tare_why *why);
int nesting_error(const struct tare_profile *p, uint32_t most, struct tare_why *why);
/* The name a thread has in the profile, or NULL. */
const char *thread_name(const struct tare_profile_info *info, uint32_t id);

#endif
