/* Inside the room translate: what its files share, besides how blocks are written (emit.h).
 *
 * All functions need the lock, but for what says otherwise.
 */
#ifndef SOFT_TRANSLATE_ROOM_H
#define SOFT_TRANSLATE_ROOM_H

#include "translate.h"

/* How a block's counter is bumped. */
enum inc_how {
	INC_PLAIN,		/* inc gs:[cell], where no flag but CF is live */
	INC_SPILL,		/* through rcx, spilled: flags live everywhere */
	INC_IN_TAIL,		/* inside the indirect branch's sequence, where rcx is free */
	INC_NONE,		/* not at all: see block.runs_from */
};

#define JUMP_ENTRY_SIZE 32		/* bytes of the check for indirect branches */
#define RETURN_ENTRY_SIZE 47		/* … and for returns, */
#define ENTRY_AT 5		/* … who both come in here */

/* The low place (place.c) has R at its start, then P. */
#define LOW_ENTRIES	(MAX_RETURNS * 8ull)

/* How the dispatcher's caller arrives at a block. */
enum arrival { ARRIVE_DIRECTLY, ARRIVE_BY_JUMP, ARRIVE_BY_RETURN };

static inline const uint8_t *block_src(const struct block *b)
{
	return (const uint8_t *)(b->src ? ZONE_HEAP + b->src : b->pc);
}
static inline uint64_t entries_base(void) { return cache.where.low + LOW_ENTRIES; }
static inline uint64_t returns_base(void) { return cache.where.low; }
static inline uint64_t *entry_at(uint32_t n) { return (uint64_t *)entries_base() + n; }
static inline uint64_t *return_at(uint32_t n) { return (uint64_t *)returns_base() + n; }
/* … and the next number of those that arrive at the same block */
static inline uint32_t *return_next(uint32_t n) { return (uint32_t *)ZONE_RETURNS + n; }
/* T's cell of an address: its entry's number. */
static inline uint32_t *table_cell(uint64_t pc)
{
	return (uint32_t *)(cache.where.table + (pc & 0xffffffffu) * 4);
}

/* cache.c */
void entry_set(uint64_t pc, uint64_t code);		/* indirect branches to pc find it */
uint32_t new_return(void);				/* the number of a call */
void cache_drop(uint32_t id);				/* the block and the chain it stands in */
void link_to(uint32_t link, uint32_t block);
void link_patch(uint64_t site, uint64_t to);
void link_to_stub(const struct link *l);			/* to its stub */
bool in_reach(uint64_t site, uint64_t to);		/* of a rel32 */
uint32_t block_of_code(struct segment *s, uint64_t code);
struct segment *segment_for(uint64_t pc);
bool segment_has_ids(const struct segment *s);		/* room for a few more */
uint32_t new_block(void);
uint32_t new_link(uint64_t target, uint8_t kind);

/* translate.c */
enum problem { PROBLEM_NONE, PROBLEM_NOT_EXECUTABLE, PROBLEM_BAD_INSN };
/* A new block. 0: there can be none, *why says why. */
uint32_t translate(uint64_t pc, enum arrival how, enum problem *why);
uint32_t translate_single(uint64_t pc, enum problem *why);	/* one instruction, run once */
uint32_t chain_extend(struct thread *t, uint32_t link);	/* … the block it leaves; 0: cannot */
void put_side_exit(uint32_t link);				/* LINK_SIDE_EXIT: the code that bumps, and goes on */
void put_return_lookup(struct segment *s);			/* into a new one */
/* The code for those who arrive at the block in that way, written if it has none. */
uint64_t entry_code(uint32_t id, enum arrival how);
void translate_reset(void);				/* all blocks are gone */

/* emit.c */
void put_stub(struct segment *s, uint32_t link);	/* the exit of a link that has a site */

/* pages.c */
uint32_t block_find(uint64_t pc);			/* 0: none */
bool block_exists(uint64_t pc);				/* … even one that only its chain leads to */
void block_note(uint32_t id);				/* a new block: found from now on … */
void block_forget(uint32_t id);				/* … until now */
void pages_release(uint64_t start, uint64_t end);	/* opened, and without blocks */
void page_guard(uint64_t page);			/* before translating writable code */
/* Around heap_empty(): forgets the blocks of all pages, not what is known of the pages. */
void pages_save(void);
void pages_restore(void);
bool page_is_checked(uint64_t page);

/* alias.c */
bool alias_known(uint64_t pc);		/* all who can write the shared code there are known */
uint64_t alias_of_code(uint64_t addr);	/* where known code is written; 0: nowhere */
uint64_t alias_code_of(uint64_t addr);	/* where what is written there is executed; or 0 */

/* regions.c */
bool regions_learn(struct thread *t, uint64_t pc);	/* new executable memory found in maps; takes the lock */
void readable_reset(void);
uint64_t readable_end(uint64_t pc, uint64_t end);	/* of code, by page */

/* place.c */
void places_window(uint64_t start, uint64_t end);	/* memory the program has already … */
void places_check(void);				/* … and T moves if it is in its way */
uint32_t entries_max(void);				/* that P has room for */
bool table_is_mapped(uint64_t pc);
void table_empty(void);

/* stop.c */
void lock_take_to_enter(struct thread *t);		/* waits until nobody keeps us out */

#endif
