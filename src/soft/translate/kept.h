/* What kept.c, kept-read.c and kept-save.c share: how code is kept for other processes, in the run's memfd. */
#ifndef SOFT_KEPT_H
#define SOFT_KEPT_H

#include "calls.h"

#define MAX_UNITS	24
#define MAX_KEPT_SEGMENTS	18
#define MAX_PIECES	(2 * MAX_KEPT_SEGMENTS + 7)
#define KEPT_MAGIC	0x74706b65u

struct unit {
	struct soft_file file;
	uint64_t start, end;		/* end 0: it is not mapped any more, or not in one piece */
};

/* A unit as it is kept, and which part of each list belongs to it. */
struct kept_unit {
	struct unit unit;
	uint64_t table;			/* where its part of T is, from the struct kept_head on */
	uint64_t hash;			/* of the program's pages that blocks were made from */
	uint32_t back, n_backs, page, n_pages;
	uint32_t late_back, n_late_backs;	/* to blocks that rely on slots … */
	uint32_t late_entry, n_late_entries;
	uint32_t slot, n_slots;			/* … on these */
};
struct kept_back {			/* what R has for the number of a call, or P for that of an entry */
	uint64_t code;
	uint32_t n, block;
};
struct piece {
	uint64_t at, size, offset;	/* from the struct kept_head on */
	uint32_t prot, pad;
};

/* The lists follow it: backs, slots, pages. */
struct kept_head {
	uint32_t magic, n_units, n_pieces, n_hoods;
	struct places where;
	uint32_t n_blocks, n_links, n_entries, n_returns, n_segments, live_blocks, dead_blocks;
	uint64_t code_bytes, source_bytes, heap;
	struct pages_kept pages;
	uint64_t return_0;		/* R[0] */
	struct hood hoods[MAX_HOODS];
	uint32_t current[MAX_HOODS];	/* 1 + the segment that the hood writes to; 0: none */
	struct segment segments[MAX_KEPT_SEGMENTS];
	struct piece pieces[MAX_PIECES];
	struct kept_unit units[MAX_UNITS];
	uint32_t n_backs, n_slots, n_pages;
	uint32_t n_sites;		/* of calls.c */
};

extern struct kept_code {
	struct unit units[MAX_UNITS];	/* files whose code is mapped now */
	uint32_t n_units;
	bool too_many;
	struct soft_kept *save_to;	/* this process is to write, if it can */
	bool again;			/* … though another process has written */
	struct soft_kept *from;	/* taken: what this process runs */
	uint64_t mapped;		/* taken: bytes at ZONE_KEPT: the lists, … */
	bool own;			/* … and behind them all parts, for this process alone (kept-read.c) */
	bool taken;			/* this process runs kept code */
	bool waiting[MAX_UNITS];	/* taken: the unit is not in use yet */
	bool in_use[MAX_UNITS];		/* its blocks can be found, but for those that rely on slots */
	bool has_table[MAX_UNITS];	/* it is in use, and its part of T is mapped */
	bool slots_same[MAX_UNITS];	/* it is in use, also those blocks */
	bool slots_differ[MAX_UNITS];	/* … and they never will be */
	uint32_t looked[MAX_UNITS];	/* slots_changed, when its slots were last looked at … */
	uint32_t n_uses;		/* … and how many units are in use */
	uint32_t used[MAX_UNITS];	/* … and were then */
} kept;

static inline struct kept_head *kept_head(void) { return (struct kept_head *)ZONE_KEPT; }
static inline struct kept_back *kept_backs(void) { return (struct kept_back *)(kept_head() + 1); }
static inline struct kept_slot *kept_slots(void) { return (struct kept_slot *)(kept_backs() + kept_head()->n_backs); }
static inline uint32_t *kept_pages(void) { return (uint32_t *)(kept_slots() + kept_head()->n_slots); }

/* The part of T for the addresses of a unit. */
static inline struct piece table_piece(const struct kept_unit *u)
{
	return (struct piece){ .at = (uint64_t)table_cell(u->unit.start), .size = 4 * (u->unit.end - u->unit.start),
			       .offset = u->table, .prot = PROT_READ | PROT_WRITE };
}

/* kept-read.c: reads the file to ZONE_KEPT. False: it cannot be used. */
NEEDS_LOCK bool kept_read_file(struct soft_kept *k);

/* Of the program's pages of a unit, by a list of their places in the table of pages. 0: one of them cannot
 * be read. */
NEEDS_LOCK uint64_t kept_hash(const struct unit *u, const uint32_t *list, uint32_t n, uint64_t size);
/* Are the slots of that unit as they were, and can all its blocks be found? */
NEEDS_LOCK bool kept_slots_same(uint32_t unit);
bool kept_is_plain(void);
bool kept_limited(int what);		/* RLIMIT_… */

#endif
