/* Following calls: the call graph of tare/code.h.
 *
 *	calls.c		contexts: their making, and the changes that C makes
 *	emit-calls.c	the changes that translated code makes
 *	functions.c	which function an address belongs to
 *	watched.c		functions that switch counting
 *
 * A *context* is a node of a thread's own tree. `cur` is the one that runs. Code adds what a block is
 * worth to the thread's *accumulators*, CALLS_BANKS for each event. A change of context *leaves* `cur`, that
 * is, adds the accumulators to its sums, and *enters* the next context: subtracts them from its sums. So
 * the sums of every context but `cur` are what was counted while it ran, whatever the accumulators were.
 *
 * A call stores `cur` in the shadow of the stack, beside its number; the return takes it back. So
 * longjmp, exceptions and switches of stacks need nothing of their own: where a function goes on, the
 * last call that it made has left its context in the shadow, right below its stack pointer.
 *
 * From a context and a call *site* (or, for an indirect branch, the context, the site and the target)
 * code finds the next context
 *	in the context itself, which remembers the next ones of the first CALLS_CHILDREN sites of its
 *	function, and one of an indirect branch; other sites and targets have
 *	a *slot* each, which remembers the answers for SLOT_WAYS contexts;
 *	then in a hash table;
 * then C looks, and makes the context if it is new.
 */
#ifndef SOFT_CALLS_H
#define SOFT_CALLS_H

#include "translate-room.h"

/* Blocks that follow each other add to different banks: with one bank each would wait for the store of the
 * block before it. (python3 took 1.33 s with one, 1.07 s with four; natively 0.2 s.) */
#define CALLS_BANKS 4
#define MAX_SLOTS (1u << 17)
#define SLOT_WAYS 16u
/* The hash table that code looks into: so many parts, each of 2^14 entries, because code can cut a
 * number off at 16 bits only. The slot says which part. */
#define FOUND_PARTS 32u
#define FOUND_PART (1u << 14)
#define MAX_NODES 1200000u
#define CUT_FROM 300000u		/* cycles of further contexts are cut: tare_code_context.cut */
#define FOLD_FROM 1100000u		/* further contexts are folded: TARE_CODE_FOLDED */
#define PROXIES_UP_TO 1000000u	/* contexts and proxies; further proxies are not made */
#define NODE_HASH (1u << 22)	/* at most */
#define NODE_HASH_FIRST 1024u
#define MAX_SYSCALLS 4096u
#define CALLS_REQUESTS 8u

/* What a slot remembers: the answer for one context. A slot has SLOT_WAYS of these; the low byte of the
 * context's mix (and of the site's word) says which. */
struct calls_slot {
	uint64_t key;			/* minus (context + calls_from(site)); a site's own: minus context */
	uint64_t to;			/* the next context */
};
#define SLOT_BYTES ((uint32_t)(SLOT_WAYS * sizeof(struct calls_slot)))

struct calls_found {
	uint64_t key;			/* the same */
	uint64_t slot;			/* minus its offset */
	uint64_t to;
	uint64_t pad;
};

/* What the path of a context has of watched functions (watched.c). */
enum calls_watch {
	WATCHED_ODD = 1,		/* an odd number of those with WATCH_TOGGLE */
	WATCHED_IN = 2,			/* one with WATCH_IN */
};

/* The hot part of a context: what code uses, in one cache line. */
#define CALLS_CHILDREN 4u
struct calls_hot {
	uint64_t calls;
	struct {
		uint32_t site, to;
	} child[CALLS_CHILDREN];	/* by the site's place; 0: none yet */
	uint64_t branch_key;		/* of an indirect branch: minus calls_branch_key() */
	uint32_t branch_to;
	uint32_t mix;			/* for hashing: a multiple of 16 */
	uint64_t sums[];		/* of the events that are wanted, in a row */
};
#define HOT_UNIT 64u			/* one or more of these is a hot part */
_Static_assert(sizeof(struct calls_hot) + 8 == HOT_UNIT, "one event: one cache line");

/* A *proxy* stands for a context where entering it counts in another way than code does by itself. It has sums and
 * next contexts of its own; when contexts are written, its counts become those of the context. */
enum calls_proxy {
	PROXY_NONE,
	PROXY_BACK,		/* entering it is no call: a jump back from another part of its function */
	PROXY_STUB,		/* each of its calls came through the stub of a PLT, which has a context of its own */
};

/* What C knows of a context, or of a proxy: a copy of what it stands for, but for the fields that are named. */
struct calls_node {
	uint64_t site;
	union {
		uint64_t entry;
		uint64_t worth;		/* PROXY_STUB: what the stub counts (calls_stub.worth) */
	};
	uint64_t set;			/* hash of the calls in its path; of a proxy: PROXY_SET */
	uint64_t edge;			/* hash of its own call; of a proxy: proxy_edge() */
	union {
		uint64_t edges;		/* edge_bit() of all calls in its path, and of its own */
		uint64_t next_proxy;	/* of the thread; or 0 */
	};
	uint32_t parent;		/* number; never one that repeats */
	uint32_t from;			/* TAIL: the one that jumped, when it was made */
	uint32_t fid;			/* of the function at entry */
	uint8_t kind;			/* enum tare_code_context_kind */
	bool repeats : 1;
	bool cut : 1;
	bool logged : 1;
	bool outermost : 1;		/* a call of a watched function that was not on the stack */
	uint8_t watch : 2;		/* enum calls_watch */
	uint8_t signal;
	uint8_t proxy;			/* enum calls_proxy */
	uint32_t top;			/* the nearest outermost one in its path; or 0 */
	union {
		uint32_t above;		/* outermost: the next one in its path; or 0 */
		uint32_t stub;		/* PROXY_STUB: the stub's context (no function is watched) */
	};
};
_Static_assert(sizeof(struct calls_node) == 64, "one cache line");

struct calls_syscall {
	uint64_t pc;
	int32_t number;
	uint32_t node;
	uint64_t times, errors;
};

/* At THREAD_CALLS in a thread's memory. */
struct calls_thread {
	uint64_t acc[SOFT_EVENTS * CALLS_BANKS];	/* of the events that are wanted, in a row */
	uint64_t cur;			/* contexts are offsets in the hot part here */
	uint64_t from;			/* an indirect branch: calls_from_word() of its site, … */
	uint64_t from_fid;		/* … and its function; FID_CALL */
	uint64_t slot;			/* for the common lookup: the slot's offset, … */
	uint64_t hash;			/* … calls_hash_of() it, … */
	uint64_t to;			/* … and the answer */
	uint64_t back;			/* where it goes on */
	uint64_t return_sp;		/* with FID_RETURN, for C: where the return address was */
	uint8_t followed;		/* enum calls_watch that counting has followed (part_follow()) */
	uint8_t n_requests;
	struct calls_request {		/* of functions that were entered or left, until part_follow() */
		uint32_t what;		/* one of enum soft_watch */
		uint32_t number;
	} requests[CALLS_REQUESTS];
	uint32_t n_nodes;		/* contexts and proxies */
	uint32_t n_proxies, last_proxy;
	bool any_cut;			/* of the contexts */
	uint32_t hash_size;		/* of the table of contexts, at CALLS_HASH */
	uint32_t folded;		/* contexts that were not made */
	struct calls_syscall syscalls[MAX_SYSCALLS];
	uint32_t n_syscalls;
};

#define FID_CALL 0u
#define FID_UNKNOWN 1u
#define FROM_RETURNED 1u		/* calls_thread.from: a return that has changed the context already; no site's */
#define FID_RETURN 0xffffffffu		/* a return whose context C finds */

/* Offsets in a thread's memory. */
#define CALLS_SLOTS	(THREAD_CALLS + 0x100000)	/* struct calls_slot */
#define CALLS_FOUND	(THREAD_CALLS + 0x4100000)	/* struct calls_found */
#define CALLS_HASH	(THREAD_CALLS + 0x5100000)	/* uint32_t: numbers of contexts */
#define CALLS_INFO	(THREAD_CALLS + 0x6100000)	/* struct calls_node */
_Static_assert(sizeof(struct calls_thread) <= 0x100000, "layout");
_Static_assert((uint64_t)MAX_SLOTS * SLOT_BYTES <= CALLS_FOUND - CALLS_SLOTS, "layout");
_Static_assert(FOUND_PARTS * FOUND_PART * sizeof(struct calls_found) <= CALLS_HASH - CALLS_FOUND, "layout");
_Static_assert(NODE_HASH * 4ull <= CALLS_INFO - CALLS_HASH, "layout");
_Static_assert(MAX_NODES * sizeof(struct calls_node) <= THREAD_NODES - CALLS_INFO, "layout");

static inline struct calls_thread *calls_of(const struct thread *t)
{
	return (struct calls_thread *)((uint64_t)t + THREAD_CALLS);
}

/* The kinds of sites (enum tare_code_context_kind). */
#define CALLS_CALL 3
#define CALLS_TAIL 4
#define CALLS_THROUGH 16	/* added to these: through the stub of a PLT, at once */

/* A stub of a PLT that jumps through a constant slot. */
struct calls_stub {
	uint64_t start, jump;		/* its first instruction; its jump */
	uint32_t fid;
	uint64_t worth;			/* what it counts: WORTH_BITS for each event that is wanted, in a row */
};
#define WORTH_BITS 2
_Static_assert(SOFT_EVENTS * WORTH_BITS <= 64, "fits");

/* A call site, or a target of indirect branches. */
struct slot_info {
	uint64_t site;			/* 0: a target */
	uint64_t target;		/* 0: an indirect branch */
	uint32_t fid;			/* of the target */
	uint8_t kind;			/* of the contexts that it leads to */
	bool is_start;			/* the target is the first instruction of its function */
	uint8_t place;			/* a site's in calls_hot.child; CALLS_CHILDREN: none */
	uint8_t n_sites;		/* of SLOT_FUNCTION: places that are taken */
	bool hidden;			/* of kept code that is not in use */
	uint32_t slot;			/* of SLOT_CONSTANT: the site that it is now */
	struct calls_stub stub;		/* of CALLS_THROUGH */
};

/* What a signal in translated code finds half done (struct mark; its `added` says for how many events). */
enum calls_state {
	CALLS_NOTHING,
	CALLS_LEFT,		/* so many events of `cur` are left: undo */
	CALLS_ENTERING,		/* `cur` is the next context, so many events are entered; the call is not counted */
	CALLS_RETURNING,	/* the same of a return, which counts nothing */
	CALLS_ARRIVING,		/* an indirect branch is to change the context */
	CALLS_ARRIVING_LEFT,	/* both */
	CALLS_TAKEN_ADDED,	/* the accumulator of a taken branch was bumped, but not its cell */
};
/* In these states the block has added all that it is worth. */
static inline bool calls_is_changing(unsigned state)
{
	return state >= CALLS_LEFT && state <= CALLS_ARRIVING_LEFT;
}

/* calls.c */
NEEDS_LOCK uint32_t calls_site(uint64_t pc, uint64_t target, uint8_t kind, bool make);
NEEDS_LOCK uint32_t calls_target(uint64_t pc, bool make);
/* The same for an indirect branch that always goes to `target` (slots.c), which is not known when the block
 * is written once more (`make` false). */
NEEDS_LOCK uint32_t calls_site_constant(uint64_t pc, uint64_t target, uint8_t kind, bool make);
/* The same for a direct call or jump to a stub that always jumps to `target`. */
NEEDS_LOCK uint32_t calls_site_through(uint64_t pc, uint64_t target, uint8_t kind, const struct calls_stub *stub);
const struct slot_info *slot_info_at(uint32_t slot);
/* Where in the hash table the answers of a slot are: its part, and what is added to the key, of which
 * the low 16 bits count. In units of 8 bytes, a multiple of 4. */
uint32_t calls_hash_of(uint32_t slot);
uint32_t calls_node_size(void);		/* of the hot part: a multiple of HOT_UNIT */
/* A site as a part of a key. Code stores the word, in one store (a load that needs two stores is slow),
 * and makes calls_from() of it: the site's number, its bytes reversed, in the high half. The low byte
 * makes the sites of a function that call the same target use different ways of a slot. */
static inline uint32_t calls_from_word(uint32_t site) { return site << 8 | (site * 48 & 0xf0); }
static inline uint32_t calls_from_site(uint64_t word) { return (uint32_t)word >> 8; }
static inline uint64_t calls_from(uint32_t site)
{
	return __builtin_bswap64(calls_from_word(site)) + calls_from_word(site);
}
static inline uint64_t calls_branch_key(uint32_t site, uint32_t slot)
{
	return __builtin_bswap64(calls_from_word(site)) + slot;
}
/* How many bits of a set of events are set. (The compiler's own would be a function of libgcc.) */
static inline unsigned calls_bits(uint32_t set)
{
	unsigned n = 0;
	for (; set; set &= set - 1)
		n++;
	return n;
}
/* Undoes or completes what a signal found half done. */
NEEDS_LOCK void calls_recover(struct thread *t, enum calls_state state, unsigned events, uint64_t pc);
NEEDS_LOCK uint64_t calls_recover_lookup(struct thread *t);	/* in the common lookup: the pc */
/* The thread has returned to pc by the return address at `sp`, and is still in the context of what returns. */
NEEDS_LOCK void calls_recover_return(struct thread *t, uint64_t sp, uint64_t pc);
NEEDS_LOCK void calls_fold(struct thread *t);
NEEDS_LOCK void calls_forget_sites(void);	/* the cache is empty */
bool calls_slots_full(void);
/* Where the call of that number returns to. */
static inline uint64_t *return_pc(uint32_t n) { return (uint64_t *)(ZONE_RETURNS + (1u << 20)) + n; }

/* For kept code (kept.c), whose numbers of sites and targets stay: how many bytes they take at ZONE_SITES. None of
 * them is found afterwards, … */
#define ZONE_SITES (ZONE_RETURNS + (8ull << 20))
NEEDS_LOCK uint64_t calls_keep(uint32_t *n);
NEEDS_LOCK void calls_take(uint32_t n);		/* … also in the process that takes them over, … */
NEEDS_LOCK void calls_take_unit(uint64_t start, uint64_t end);	/* … until the code that they belong to is in use */

/* Are the counts of a context that has so much of watched functions dropped? */
bool part_drops(const struct thread *t, unsigned watch);
unsigned calls_watch_now(const struct thread *t);	/* enum calls_watch of its context */

/* watched.c */
void watch_init(void);
/* enum soft_watch of the function that starts there; 0: it is not watched. */
NEEDS_LOCK uint32_t watch_at(uint64_t entry, uint32_t *number);
/* Code of that mapping is looked at for the first time; it is about to go. */
NEEDS_LOCK void watch_mapped(uint64_t start, uint64_t end);
NEEDS_LOCK void watch_forget(uint64_t start, uint64_t end);

/* functions.c */
struct function {
	uint64_t start, end;
	uint32_t fid;
};
NEEDS_LOCK struct function function_at(uint64_t pc);
/* The mappings there change. */
NEEDS_LOCK void functions_forget(uint64_t start, uint64_t end);

#endif
