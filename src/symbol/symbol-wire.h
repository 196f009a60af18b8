/* What libtare and tare-symbols say to each other, through the program's standard input (a socket).
 *
 *	tare-symbols:	struct wire_hello
 *	libtare:	struct wire_head, WIRE_OPEN, struct wire_open		no answer; the file comes
 *								as a descriptor with the head
 *	libtare:	struct wire_head, WIRE_AT, uint32_t object, uint32_t n, uint64_t address[n]
 *	tare-symbols:	struct wire_head, WIRE_ANSWER, records:
 *		WIRE_STRING	uint32_t length, bytes		the next string: 1, 2, … (0: NULL)
 *		WIRE_FUNCTION	struct wire_function		the next function: 1, 2, … (0: none)
 *		WIRE_WHERE	struct wire_where, struct wire_inline[n_inlines]
 *		WIRE_AGAIN	uint32_t m			m times what the last WIRE_WHERE said
 *								n answers in all, in the order of the addresses
 *		WIRE_NOTE	uint32_t string			of the object
 *	libtare:	struct wire_head, WIRE_STARTS, uint32_t object
 *	tare-symbols:	struct wire_head, WIRE_ANSWER, uint64_t address[]	where its functions begin, in order
 *	libtare:	struct wire_head, WIRE_UNWIND, uint32_t object, uint32_t 1, uint64_t address
 *	tare-symbols:	struct wire_head, WIRE_ANSWER, struct unwind_row
 * Numbers of strings and functions count from the start of the program. All values are as the machine
 * has them: both sides are of one build. libtare checks what it gets, since a broken file may have
 * broken the program. The end of the input ends tare-symbols.
 */
#ifndef SYMBOL_WIRE_H
#define SYMBOL_WIRE_H

#include "symbol-unwind.h"

#include <limits.h>
#include <stdint.h>

#define WIRE_MAGIC 0x74617265u
#define WIRE_VERSION 5u
#define WIRE_BUILD_ID 64	/* bytes at most */

enum wire_op { WIRE_OPEN = 1, WIRE_AT, WIRE_ANSWER, WIRE_STARTS, WIRE_UNWIND };
enum wire_record { WIRE_STRING = 1, WIRE_FUNCTION, WIRE_WHERE, WIRE_NOTE, WIRE_AGAIN };

enum wire_flags {
	WIRE_VDSO = 1 << 0,		/* tare-symbols takes its own: all processes have the same */
	WIRE_NO_DEMANGLE = 1 << 1,
	WIRE_NO_LINES = 1 << 2,		/* of DWARF only functions, and only where no table of symbols has them */
	WIRE_DEBUG_ONLY = 1 << 3,	/* the file is gone: its debug file, by the build-id */
	WIRE_NO_DWARF = 1 << 4,		/* reading it killed tare-symbols */
	WIRE_NO_INLINES = 1 << 5,
};

struct wire_hello {
	uint32_t magic, version;
};

struct wire_head {
	uint32_t op, reserved;
	uint64_t size;			/* of what follows */
};

struct wire_open {
	uint32_t object;		/* a number of the caller's; a known one is opened anew */
	uint32_t flags;
	uint32_t cpu_seconds;		/* the most that one request may take */
	uint32_t build_id_size;
	uint8_t build_id[WIRE_BUILD_ID];
	char shown[PATH_MAX];		/* its own name, beside which debug files are looked for */
	char debug[PATH_MAX];		/* the folder of debug files */
};

enum wire_function_flags { WIRE_NAMED = 1, WIRE_PLT = 2, WIRE_GAP = 4 };

struct wire_function {
	uint64_t start, size;
	uint32_t name, linkage;
	uint32_t file, line;
	uint32_t flags, reserved;
};

struct wire_where {
	uint32_t function, file, line, column;
	uint32_t n_inlines, reserved;
	uint64_t until;			/* the function is the same up to there */
};

struct wire_inline {
	uint32_t name, linkage, call_file, call_line;
};

#endif
