/* tare-symbols: reads ELF files and their debug information for libtare (symbol.h, symbol-wire.h).
 *
 *	symbol-reader.c the messages; limits of time and memory
 *	reader-file.c	an object: its file, the debug file, minidebuginfo, the vdso
 *	reader-names.c	the functions of an object, from its symbol tables
 *	reader-plt.c	stubs that call functions of other objects: "malloc@plt"
 *	reader-frames.c	bounds of functions, from .eh_frame
 *	reader-unwind.c	where the caller's registers are
 *	reader-lines.c	source lines and inlined functions, from DWARF
 *
 * Nothing here is sure of its input. What libelf and libdw miss may still crash or hang this program;
 * libtare then starts it again, and asks for less.
 */
#ifndef SYMBOL_READER_H
#define SYMBOL_READER_H

#include "symbol-wire.h"

#include <elfutils/libdw.h>
#include <gelf.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function, or an alias or a label as long as the tables are made. */
struct reader_function {
	uint64_t start, end;
	const char *linkage;	/* NULL: only the bounds are known */
	uint32_t number;	/* that libtare knows it by; 0: not sent yet */
	uint8_t rank;		/* reader-names.c */
	bool is_plt;
	bool is_gap;		/* what is between functions: it may be several */
};

/* Addresses that belong to one function, where others overlap it. */
struct reader_segment {
	uint64_t start, end;
	uint32_t function;
};

struct reader_names {
	struct reader_function *functions;
	size_t n, cap;
	struct reader_segment *segments;
	size_t n_segments;
	size_t last;			/* segment that was found last: addresses mostly come in order */
};

struct reader_lines;

/* .eh_frame_hdr */
struct reader_frames {
	bool tried, there;
	const uint8_t *table;
	size_t n;
	uint64_t header;		/* its address */
};

/* .eh_frame or .debug_frame */
struct reader_unwind {
	bool tried;
	Dwarf_CFI *cfi, *own;		/* own: to be freed, not the DWARF's */
	Dwarf *dwarf;
	uint64_t bias;
};

/* One ELF image. bias: added to its addresses to get those of the object's own file. */
struct reader_elf {
	Elf *elf;
	int fd;
	uint64_t bias;
	char path[PATH_MAX];
};

struct reader_object {
	uint32_t flags;
	bool opened, named;
	bool has_symtab;		/* .symtab, of any of its files */
	struct wire_open open;
	struct reader_elf own, debug, mini;
	struct reader_names names;
	struct reader_names bare;	/* those without a name, found one by one */
	struct reader_frames frames;
	struct reader_unwind unwind;
	struct reader_lines *lines;
	char note[512];
};

/* Keeps the first thing that is wrong. */
void reader_note(struct reader_object *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void *reader_alloc(size_t n);			/* zeros; ends the program when there is no memory */
/* An array with room for one more element: `array`, moved where it had to grow. */
void *reader_grow(void *array, size_t n, size_t *cap, size_t element);

/* ---- reader-file.c ---- */
void reader_open(struct reader_object *o);	/* what cannot be opened is NULL, and noted */
void reader_close(struct reader_object *o);
/* The section of this name; NULL: none. */
Elf_Scn *reader_section(Elf *elf, const char *name, GElf_Shdr *header);
/* dwz's file of common debug information, for a DWARF that wants one. */
void reader_find_alt(struct reader_object *o, struct reader_elf *of, Dwarf *dwarf);

/* ---- reader-names.c ---- */
/* NULL: nothing is known. Valid until the next call. *until: the answer is the same up to there. */
struct reader_function *reader_function_at(struct reader_object *o, uint64_t address, uint64_t *until);
void reader_names_add(struct reader_names *t, const struct reader_function *f);
void reader_names_free(struct reader_names *t);
/* Any overlapping ranges: at each address the one with the highest start, then the highest rank. */
void reader_names_arrange(struct reader_names *t);
struct reader_function *reader_names_at(struct reader_names *t, uint64_t address);

/* ---- reader-plt.c ---- */
void reader_plt(struct reader_object *o, struct reader_names *t);

/* ---- reader-frames.c ---- */
/* The bounds of the function that the address is in. */
bool reader_frame_at(struct reader_object *o, uint64_t address, uint64_t *start, uint64_t *end);
/* Of an address in no such function: the end of the last one and the start of the next one in its section, or the
 * bounds of the section. */
bool reader_gap_at(struct reader_object *o, uint64_t address, uint64_t *start, uint64_t *end);

/* ---- reader-unwind.c ---- */
void reader_unwind_at(struct reader_object *o, uint64_t address, struct unwind_row *row);
void reader_unwind_free(struct reader_object *o);

/* ---- reader-lines.c ---- */
struct reader_line {
	const char *file;		/* valid as long as the object */
	unsigned line, column;
};
struct reader_inline {
	const char *name, *linkage;
	const char *call_file;
	unsigned call_line;
};
#define READER_INLINES 64

/* The line of an address, without what is inlined there. */
void reader_line_at(struct reader_object *o, uint64_t address, struct reader_line *line);
/* The line of an address and the functions inlined there, the innermost first; returns how many.
 * *subprogram: the function that it is in, for DWARF without symbols; its name may be NULL.
 * `out` has READER_INLINES elements. */
struct reader_subprogram {
	const char *name, *linkage, *file;
	unsigned line;
	uint64_t start, end;
};
unsigned reader_lines_at(struct reader_object *o, uint64_t address, struct reader_line *line,
			 struct reader_inline *out, struct reader_subprogram *subprogram);
void reader_lines_free(struct reader_lines *l);

#endif
