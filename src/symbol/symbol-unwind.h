/* Where the caller's registers are, at one instruction: a row of the table that .eh_frame or .debug_frame
 * has of each function. tare-symbols reads it, libtare computes with it.
 *
 * The operations are those of DWARF expressions (DW_OP_… of dwarf.h, which libtare is built without). UNWIND_AT: the value of the expression
 * is the address at which the register was saved; UNWIND_VALUE: it is the register. DW_OP_call_frame_cfa is the
 * value of the row's own `cfa`: the stack pointer of the caller.
 */
#ifndef SYMBOL_UNWIND_H
#define SYMBOL_UNWIND_H

#include <stdint.h>

#define UNWIND_REGISTERS 17	/* of x86-64, as DWARF numbers them; the last is the return address */
#define UNWIND_OPS 128

enum unwind_kind { UNWIND_SAME, UNWIND_UNDEFINED, UNWIND_AT, UNWIND_VALUE };

enum unwind_atom {
	OP_ADDR = 0x03, OP_DEREF = 0x06, OP_CONST1U = 0x08, OP_CONSTS = 0x11, OP_DUP, OP_DROP, OP_OVER, OP_PICK,
	OP_SWAP, OP_ROT, OP_ABS = 0x19, OP_AND, OP_DIV, OP_MINUS, OP_MOD, OP_MUL, OP_NEG, OP_NOT, OP_OR, OP_PLUS,
	OP_PLUS_UCONST, OP_SHL, OP_SHR, OP_SHRA, OP_XOR, OP_EQ = 0x29, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE,
	OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_BREG0 = 0x70, OP_BREG31 = 0x8f, OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94, OP_NOP = 0x96, OP_CALL_FRAME_CFA = 0x9c,
};

struct unwind_op {
	uint32_t atom, reserved;
	uint64_t a, b;
};

struct unwind_rule {
	uint16_t kind, first, n, reserved;	/* n operations of unwind_row.ops, from `first` on */
};

struct unwind_row {
	uint32_t found;			/* 0: there is none for that address */
	uint32_t is_signal;		/* the frame of a signal: the caller's address is no return address */
	struct unwind_rule cfa, registers[UNWIND_REGISTERS];
	uint32_t n_ops, reserved;
	struct unwind_op ops[UNWIND_OPS];
};

#endif
