/* Inside the room translate: what its files share, besides how blocks are written (emit.h).
 */
#ifndef SOFT_TRANSLATE_ROOM_H
#define SOFT_TRANSLATE_ROOM_H

#include "translate.h"

/* How a block's counter is bumped. */
enum inc_how {
	INC_PLAIN,		/* inc gs:[cell], at a point where no flag but CF is live; or add (block.adds) */
	INC_SPILL,		/* through a spilled rcx: flags are live everywhere */
	INC_IN_TAIL,		/* through rcx, in the code of the indirect branch, which needs rcx anyway */
	INC_NONE,		/* not at all: block.runs_from */
};

/* block.inc_at of a stub of a PLT without code: the change of context of the block before it leads behind it. */
#define BLOCK_AT_STUB 63

static inline bool is_merged_stub(const struct block *b)
{
	return b->inc_how == INC_NONE && b->inc_at == BLOCK_AT_STUB;
}

#define JUMP_ENTRY_SIZE 32	/* bytes of the check for indirect jumps */
#define RETURN_ENTRY_SIZE 39	/* … and for returns */
#define UNPOP_SIZE 5		/* of the instruction before segment.return_lookup */
#define ENTRY_AT 5		/* both are entered at this offset */

/* The low place (place.c) has R at its start, then P, at this offset. */
#define LOW_ENTRIES	(MAX_RETURNS * 8ull)

/* How a thread comes to a block. */
enum arrival { ARRIVE_DIRECTLY, ARRIVE_BY_JUMP, ARRIVE_BY_RETURN };

static inline const uint8_t *block_src(const struct block *b)
{
	return (const uint8_t *)(b->src ? ZONE_HEAP + b->src : b->pc);
}
static inline uint64_t entries_base(void) { return cache.where.low + LOW_ENTRIES; }
static inline uint64_t returns_base(void) { return cache.where.low; }
static inline uint64_t *entry_at(uint32_t n) { return (uint64_t *)entries_base() + n; }
static inline uint64_t *return_at(uint32_t n) { return (uint64_t *)returns_base() + n; }
/* … and the next call whose return arrives at the same block */
static inline uint32_t *return_next(uint32_t n) { return (uint32_t *)ZONE_RETURNS + n; }
/* What T has for an address: the number of its entry. */
static inline uint32_t *table_cell(uint64_t pc)
{
	return (uint32_t *)(cache.where.table + (pc & 0xffffffffu) * 4);
}

/* cache.c */
/* Makes indirect jumps to pc find that code. */
NEEDS_LOCK void entry_set(uint64_t pc, uint64_t code);
NEEDS_LOCK uint32_t new_return(uint64_t pc);	/* a number for a call that returns there */
NEEDS_LOCK uint32_t new_block(void);		/* its id; the block is all zeros */
NEEDS_LOCK uint32_t new_link(uint64_t target, uint8_t kind);
NEEDS_LOCK void cache_drop(uint32_t id);	/* the block, and the chain that it is part of */
NEEDS_LOCK void link_to(uint32_t link, uint32_t block);	/* nothing, if the block is out of reach */
NEEDS_LOCK void link_to_stub(const struct link *l);
/* Sends the links to the block back to their stubs, but for those that may stay. */
NEEDS_LOCK void cache_unlink(uint32_t block, bool (*stays)(const struct link *l, const struct block *to));
NEEDS_LOCK void link_patch(uint64_t site, uint64_t to);	/* the rel32 at `site` */
bool in_reach(uint64_t site, uint64_t to);		/* of that rel32 */
/* The block whose code holds that address; 0: none, the address is in a stub. */
NEEDS_LOCK uint32_t block_of_code(struct segment *s, uint64_t code);
/* A segment for the code of that pc, with room for at least one block and a few ids. */
NEEDS_LOCK struct segment *segment_for(uint64_t pc);
bool segment_has_ids(const struct segment *s);		/* room for a few more */

/* The ids of so many blocks and links are in use, whatever they are (kept.c). */
NEEDS_LOCK void cache_take(uint32_t blocks, uint32_t links);
void cache_touch(void);			/* none are, but soon will be: populates their memory */

/* translate.c */
/* Can the bytes of a block change while a thread runs it? */
NEEDS_LOCK bool code_may_change(uint64_t pc, uint64_t len);
/* Taken branches are asked for, and at the end of this block code counts only one of both ways, the
 * rarer one. (Other blocks that may end in a taken branch bump its cell where it is taken.) */
bool counts_rarer_way(const struct block *b);
/* What the first n instructions of the code at `src` are worth; returns their bytes. */
uint16_t plan_first(const uint8_t *src, unsigned len, int n, uint8_t *vec);
enum problem { PROBLEM_NONE, PROBLEM_NOT_EXECUTABLE, PROBLEM_BAD_INSN };
/* Writes a new block for pc, and those that follow it in a chain. 0: *why tells the reason. */
NEEDS_LOCK uint32_t translate(uint64_t pc, enum arrival how, enum problem *why);
/* The same for one instruction, to be run once; or for a few (thread.code.stops). */
NEEDS_LOCK uint32_t translate_single(uint64_t pc, enum problem *why);
/* A thread leaves by that link. If it is the first one to leave the unfinished chain, its way is not counted
 * (counts_rarer_way()). */
NEEDS_LOCK void chain_choose(struct thread *t, uint32_t link);
/* Writes the block that the link leads to right behind the unfinished chain. 0: the link does not
 * leave that chain, or the block cannot be there. */
NEEDS_LOCK uint32_t chain_extend(struct thread *t, uint32_t link);
/* Writes the code of a side exit, and links it. The second one also writes the block that it leads
 * to, right behind it. */
NEEDS_LOCK void put_side_exit(uint32_t link);
NEEDS_LOCK uint32_t translate_side_exit(uint32_t link, enum problem *why);
NEEDS_LOCK void put_return_lookup(struct segment *s);	/* of a new segment */
NEEDS_LOCK void put_calls_lookup(struct segment *s);	/* the same, where calls are followed */
/* The address at which a jump or a return enters the block. Writes an entry, if there is none. */
NEEDS_LOCK uint64_t entry_code(uint32_t id, enum arrival how);
NEEDS_LOCK void translate_reset(void);		/* the cache was emptied */

/* emit.c */
NEEDS_LOCK void put_stub(struct segment *s, uint32_t link);

/* count.c */
int events_wanted(uint8_t list[SOFT_EVENTS]);	/* those that were asked for; returns how many */

/* budget.c */
/* May the thread run that many events of each kind more, without asking? */
NEEDS_LOCK bool budget_allows(struct thread *t, uint32_t block, unsigned most);
/* The chain adds more from now on, for that uncounted block; the thread has begun to run it. */
NEEDS_LOCK void budget_use(struct thread *t, uint32_t block);

/* on-off.c */
/* A thread that is off is folded: adds the corrections that it has parked, and forgets them. */
NEEDS_LOCK void part_take_parked(struct thread *t, uint64_t sum[SOFT_EVENTS],
				 uint64_t vdso[SOFT_EVENTS]);

/* regions.c */
/* Code that changes only by calls which map or protect memory. */
static inline bool region_is_fixed(const struct region *r) { return !(r->anon || r->shared || r->prot & PROT_WRITE); }
/* slots.c: looks which constant slots lead to the range; then, does one of those that code of the region uses? */
NEEDS_LOCK void slots_look(uint64_t start, uint64_t end);
NEEDS_LOCK bool slots_lead(const struct region *from);
/* For kept code (kept.c). */
struct kept_slot {
	uint64_t at, target;
};
extern uint32_t slots_changed;		/* counts the times that more memory became constant */
NEEDS_LOCK void slots_note(void);	/* from now on, before any block is made: which slots blocks rely on */
NEEDS_LOCK bool slots_noted(void);	/* all of them are known */
uint32_t slots_used(void);		/* how many they are */
/* Those that code of the range relies on. Returns how many. */
NEEDS_LOCK uint32_t slots_list(uint64_t start, uint64_t end, struct kept_slot *list);
NEEDS_LOCK bool slots_same(const struct kept_slot *list, uint32_t n);	/* they are constant here, and have these targets */
/* If that is so: code of the range relies on them. */
NEEDS_LOCK void slots_rely(const struct kept_slot *list, uint32_t n, uint64_t start, uint64_t end);
/* Is there such code in the range? */
NEEDS_LOCK bool region_unchanging(uint64_t start, uint64_t end);

/* pages.c */
/* The block that starts at pc and may be entered from anywhere; 0: none. */
NEEDS_LOCK uint32_t block_find(uint64_t pc);
NEEDS_LOCK bool block_exists(uint64_t pc);	/* one that starts at pc, entered from anywhere or not */
NEEDS_LOCK void block_note(uint32_t id);	/* block_find() finds it from now on … */
NEEDS_LOCK void block_forget(uint32_t id);	/* … and not any more */
NEEDS_LOCK void page_guard(uint64_t page);	/* before its code is translated */
NEEDS_LOCK bool page_is_checked(uint64_t page);	/* blocks made from it must be checked ones */
/* Drops all blocks of the pages in the range and makes the guarded ones writable again. */
NEEDS_LOCK void pages_release(uint64_t start, uint64_t end);
/* Before and after heap_empty(): all blocks are forgotten, but not which pages are guarded or
 * written often. */
NEEDS_LOCK void pages_save(void);
NEEDS_LOCK void pages_restore(void);

/* What another process of the program can take over, with the heap (kept.c). */
struct pages_kept {
	uint64_t at, size, used;
};
NEEDS_LOCK struct pages_kept pages_keep(void);
NEEDS_LOCK void pages_take(const struct pages_kept *k);
/* block_find() finds no block of these pages until pages_show(). Returns how many they are; the
 * list says where they are in the table, which has that size. */
NEEDS_LOCK uint32_t pages_hide(uint64_t start, uint64_t end, uint32_t *list);
NEEDS_LOCK bool pages_show(const uint32_t *list, uint32_t n);	/* false: they stay hidden */
/* The address of a page of the list; 0: the table, which had that size, has grown since. */
NEEDS_LOCK uint64_t pages_hidden(uint32_t place, uint64_t size);

NEEDS_LOCK void cache_drop_chain(uint32_t id);	/* the block's; the program's code has not changed */

/* kept.c */
NEEDS_LOCK void kept_line(const char *line, uint64_t start, uint64_t end);	/* of /proc/self/maps */
NEEDS_LOCK void kept_code_changes(uint64_t start, uint64_t end);
NEEDS_LOCK void kept_forget(void);	/* the cache is being emptied */
bool kept_writes(void);			/* this process is to write its code for others */
/* The block relies on constant slots. It is kept code, and they are not known to be as they were. */
NEEDS_LOCK bool kept_waits(uint32_t id);
/* Before R gets code for that call, which returns to pc. */
NEEDS_LOCK void kept_returns(uint32_t n, uint64_t pc);

/* alias.c */
/* Are all mappings known through which the shared code at pc can be written? */
NEEDS_LOCK bool alias_known(uint64_t pc);
/* The address at which code is written; 0: it is no known alias, or never written. */
NEEDS_LOCK uint64_t alias_of_code(uint64_t addr);
/* The address at which the code is executed that is written at `addr`; 0: none. */
NEEDS_LOCK uint64_t alias_code_of(uint64_t addr);

/* regions.c */
/* Looks in /proc/self/maps for executable memory at pc. True: there is, and it was not known. */
TAKES_LOCK bool regions_learn(struct thread *t, uint64_t pc);
/* How far code can be read from pc on, up to `end`. What is known of the last page is
 * remembered until readable_reset(). */
NEEDS_LOCK uint64_t readable_end(uint64_t pc, uint64_t end);
NEEDS_LOCK void readable_reset(void);

/* place.c */
/* The program has memory in that range already, … */
NEEDS_LOCK void places_window(uint64_t start, uint64_t end);
NEEDS_LOCK void places_check(void);		/* … so T moves, if the memory is in its way */
uint32_t entries_max(void);			/* how many entries P has room for */
NEEDS_LOCK bool table_is_mapped(uint64_t pc);	/* T, for that address */
NEEDS_LOCK void table_empty(void);		/* T is all zeros */

/* stop.c */
/* Waits until no thread keeps this one out of the cache, and takes the lock for the caller. */
TAKES_LOCK void lock_take_to_enter(struct thread *t);

#endif
