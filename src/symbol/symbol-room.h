/* What only the files of this room share. (symbol.h has the contract.)
 *
 *	symbol.c	the set; requests
 *	symbol-object.c	which file a mapping is, and whether it is still the one that ran
 *	symbol-link.c	the program tare-symbols: started, asked, started again
 *	symbol-jit.c	/tmp/perf-PID.map
 *	symbol-store.c	memory that lives as long as the set
 */
#ifndef SYMBOL_ROOM_H
#define SYMBOL_ROOM_H

#include "symbol.h"
#include "symbol-wire.h"

#include <sys/stat.h>

/* ---- symbol-store.c ---- */

struct store {
	struct store_block *blocks;
	const char **slots;		/* hash table of texts */
	size_t n_texts, n_slots;
};

void *store_alloc(struct store *s, size_t n);		/* zeros; NULL: no memory */
/* The one copy of this text; control characters are ?. NULL: no memory. */
const char *store_text(struct store *s, const char *text, size_t n);
void store_free(struct store *s);

/* ---- objects ---- */

/* Is the file the one that ran? */
enum trust {
	TRUST_YES,
	TRUST_DOUBT,			/* inode or date differ; no byte compared yet */
	TRUST_BYTES,			/* … and all bytes of code that were compared are the same */
	TRUST_NO,
};

/* How much of a file tare-symbols is asked for: less each time that it died. */
enum level { LEVEL_ALL, LEVEL_FUNCTIONS, LEVEL_NOTHING };

struct segment {
	uint64_t offset, size;		/* in the file */
	uint64_t address, memory;	/* as linked, and how long it is there */
	bool is_code;
};

struct jit_entry {
	uint64_t start, end;
	struct symbol_function *function;
};

struct symbol_object {
	struct symbols *set;
	struct symbol_object *next;	/* in the set's list */
	uint32_t number;		/* for tare-symbols */
	enum symbol_kind kind;
	const char *path, *name, *build_id, *note;
	enum trust trust;
	enum level level;
	bool debug_only;		/* the file is gone, and its build-id is known */
	/* What the mapping said. */
	const char *map_path;
	uint64_t inode;
	unsigned dev_major, dev_minor;
	bool deleted;
	pid_t pid;			/* SYMBOL_JIT; else of the first mapping */
	/* The file. */
	const char *open_path;		/* NULL: there is none */
	int fd;				/* kept open, where the file has no path any more; else -1 */
	uint8_t id[WIRE_BUILD_ID];
	size_t id_size;
	struct segment *segments;
	size_t n_segments;
	unsigned opened;		/* by this start of tare-symbols; 0: not yet */
	/* Functions by their start, open addressing. */
	struct symbol_function **functions;
	size_t n_functions, n_slots;
	/* SYMBOL_JIT */
	bool jit_read;
	struct jit_entry *jit;
	size_t n_jit;
};

struct symbols {
	struct symbols_options options;
	struct store store;
	struct symbol_object *objects;
	uint32_t n_objects;
	const char *note;
	/* tare-symbols */
	int link;			/* -1: not started */
	pid_t reader;
	unsigned starts;
	bool no_reader;
	const char **texts;		/* its numbers → texts */
	size_t n_texts, texts_cap;
	struct symbol_function **functions;
	size_t n_functions, functions_cap;
};

int symbols_no_memory(struct tare_why *why);
void object_note(struct symbol_object *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The function that starts there; made where there is none yet (then its name is NULL). NULL: no memory. */
struct symbol_function *object_function(struct symbol_object *o, uint64_t start, const char *linkage);
/* The file of the object, open, at its beginning; -1: there is none. To be closed. */
int object_open(const struct symbol_object *o);

/* ---- symbol-link.c ---- */
/* Asks tare-symbols; where there is none, or it dies with each request, `where` stays empty. 0 or TARE_E_NOMEM. */
int link_ask(struct symbol_object *o, const uint64_t *addresses, size_t n, struct symbol_where *where,
	     struct tare_why *why);
/* Where the functions of the object begin; to be freed. NULL: it cannot be read. */
uint64_t *link_starts(struct symbol_object *o, size_t *n);
/* False: there is no such row, or no tare-symbols. */
bool link_unwind(struct symbol_object *o, uint64_t address, struct unwind_row *row);
void link_close(struct symbols *s);

/* ---- symbol-jit.c ---- */
/* Is there a map for the process? Its path is in `out`. */
bool jit_path(pid_t pid, char *out, size_t size);
int jit_at(struct symbol_object *o, const uint64_t *addresses, size_t n, struct symbol_where *where,
	   struct tare_why *why);

#endif
