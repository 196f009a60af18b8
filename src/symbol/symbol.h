/* Names of code: from addresses to functions, source lines and objects.
 *
 *	struct symbols *s = symbols_new(&(struct symbols_options){ .since = start_of_the_run }, &why);
 *	struct symbol_object *o = symbols_object(s, map, pid, NULL, &why);	once per mapping
 *	uint64_t at = symbol_address(o, map, range->address);	the same in every process
 *	struct symbol_where *w = calloc(n, sizeof(*w));
 *	symbols_at(o, addresses, n, w, &why);			many addresses at once
 *	symbols_free(s);					all names are gone with it
 *
 * Files are read by a program of its own, tare-symbols (reader/symbol-reader.c), with libdw and libelf of
 * elfutils and the demangler of libiberty. So a broken file, or one that changes while it is read,
 * cannot crash or stop the caller; and tare builds and runs where elfutils is missing. The program is
 * started with the first file that is asked about, and a file is read when its first address is asked
 * about. Without the program nothing has a name, and symbols_note() says how to get names.
 * /tmp/perf-PID.map is read by the caller's process.
 *
 * Errors: what is wrong with one file is no error, but a note (symbol_object_note()); its addresses
 * are answered as far as the file goes. Only memory that ran out is an error.
 *
 * Threads: a set belongs to one thread at a time.
 */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include "symbol-unwind.h"

#include <tare/code.h>
#include <tare/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct symbols;
struct symbol_object;

struct symbols_options {
	/* When the run began: a file changed after this is not what ran. 0: not known. */
	struct timespec since;
	bool no_demangle;
	/* Functions only: debug information is not read, unless an object has no other table of functions. */
	bool no_lines;
	/* No inlined functions; the line of a function is that of its first instruction. A unit of debug
	 * information that was hit is then not read whole, but only its table of lines. */
	bool no_inlines;
	const char *debug_folder;	/* NULL: /usr/lib/debug */
	const char *reader;		/* the program; NULL: tare-symbols, where modules are */
	/* How long tare-symbols may compute for one request, in seconds of CPU time; a file that
	 * needs longer is taken as broken. 0: 120. */
	unsigned cpu_seconds;
};

enum symbol_kind {
	SYMBOL_FILE,			/* an ELF file. Addresses: as the file was linked, as nm
					 * and objdump print them */
	SYMBOL_VDSO,			/* likewise */
	SYMBOL_JIT,			/* memory of one process that is no file, with or without a
					 * perf map. Addresses: of the process */
	SYMBOL_OTHER,			/* a file that is not ELF, [vsyscall], …. Addresses: offsets
					 * in the file; or of the process, where there is no file */
};

/* `o` may be NULL: all defaults. NULL: TARE_E_NOMEM. */
struct symbols *symbols_new(const struct symbols_options *o, struct tare_why *why);
void symbols_free(struct symbols *s);	/* NULL is allowed */
/* Why files have no names at all ("tare-symbols is not installed …"), and what to do; NULL: they have.
 * Known after the first symbols_object() of a file. */
const char *symbols_note(const struct symbols *s);

/* What is known of a mapping besides its line in /proc/PID/maps. All may be left at 0. */
struct symbol_hints {
	const uint8_t *build_id;	/* of what was mapped */
	size_t build_id_size;
	bool has_fd;
	int fd;				/* the file itself, open (it may be deleted); open until
					 * symbols_free() */
};

/* The object of a mapping. The same pointer for the same file (or the same process's memory); valid
 * as long as the set. `hints` may be NULL. Where a file was deleted and the process still lives, it is
 * read through /proc/PID/map_files; else, with a build-id, its debug file. NULL: TARE_E_NOMEM. */
struct symbol_object *symbols_object(struct symbols *s, const struct tare_code_map *map, pid_t pid,
				     const struct symbol_hints *hints, struct tare_why *why);
enum symbol_kind symbol_object_kind(const struct symbol_object *o);
const char *symbol_object_path(const struct symbol_object *o);	/* "/usr/bin/x", "[vdso]", "[jit]", "[heap]" */
const char *symbol_object_name(const struct symbol_object *o);	/* the last part of the path */
/* In hexadecimal digits; "" where there is none. */
const char *symbol_object_build_id(const struct symbol_object *o);
/* What is wrong with the object, in one line ("/usr/bin/x was replaced after the run began: …"); NULL:
 * nothing. May change with each request. */
const char *symbol_object_note(const struct symbol_object *o);

/* An address of a process in the object's own addresses. */
uint64_t symbol_address(struct symbol_object *o, const struct tare_code_map *map, uint64_t address);

/* The bytes of code that ran there. They matter only where the file may not be the one that ran (its
 * inode or its date differ): if they are not what the file has, it is not trusted, and has no names.
 * Call it before symbols_at(), for as many ranges as there are. */
void symbol_check(struct symbol_object *o, uint64_t address, const uint8_t *bytes, size_t size);

/* The same pointer for the same function. */
struct symbol_function {
	const char *name;		/* demangled: "std::vector<int>::push_back(int&&)",
					 * "malloc@plt". Without a name: "libx.so+0x1230" */
	const char *linkage;		/* as in the symbol table */
	uint64_t start, size;		/* in the object's addresses; size is never 0 */
	const char *file;		/* where it is declared; NULL: not known */
	unsigned line;
	bool named;			/* false: only its bounds are known (from .eh_frame) */
	bool is_plt;
	bool is_gap;			/* what no symbol and no entry of .eh_frame has, between those that have one:
					 * one function or several (_init, _fini, assembly) */
	void *user;			/* for the caller */
};

/* A function that was inlined into another one. */
struct symbol_inline {
	const char *name, *linkage;
	const char *call_file;		/* where it was inlined, or NULL */
	unsigned call_line;
};

struct symbol_where {
	struct symbol_function *function;	/* NULL: nothing is known; show object+offset */
	const char *file;			/* of the instruction; NULL: not known. The same
						 * pointer for the same file */
	unsigned line, column;			/* 0: not known */
	unsigned n_inlines;
	const struct symbol_inline *inlines;	/* the innermost first */
	uint64_t until;				/* the function is the same up to there; 0: no function of the
						 * object is known */
};

/* Answers for n addresses, in any order. 0, or TARE_E_NOMEM. */
int symbols_at(struct symbol_object *o, const uint64_t *addresses, size_t n,
	       struct symbol_where *where, struct tare_why *why);
/* Calls `what` for all functions of an ELF file that have a name. 0, or TARE_E_NOMEM. */
int symbols_each(struct symbol_object *o, void (*what)(const struct symbol_function *f, void *arg), void *arg,
		 struct tare_why *why);
/* One address. Each call is a message to tare-symbols and back: use symbols_at() for many. */
int symbol_at(struct symbol_object *o, uint64_t address, struct symbol_where *where,
	      struct tare_why *why);
/* An address of a process that lives (its /proc/PID/maps is read). *object may be NULL where the
 * address is not mapped. */
int symbol_of_process(struct symbols *s, pid_t pid, uint64_t address, struct symbol_object **object,
		      uint64_t *at, struct symbol_where *where, struct tare_why *why);

/* Where the registers of the caller are, of code of a process that lives. False: not known. */
bool symbol_unwind_of_process(struct symbols *s, pid_t pid, uint64_t address, struct unwind_row *row);

#endif
