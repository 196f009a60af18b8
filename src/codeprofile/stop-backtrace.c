/* The calls that led to a stop (tare/stop.h).
 *
 * From frame to frame, with the table that the file of the code has of it (.eh_frame, symbol-unwind.h), as
 * a debugger does. Where there is none (code of a JIT, assembly without it, no tare-symbols; arm64), by the
 * frame pointer: it points to the frame pointer before, and above that is the return address; a function
 * that has no frame, because it calls no other or has just begun, has its return address at the stack
 * pointer.
 */
#include "stop-names.h"

#include <string.h>

enum { RBP = 6, RSP = 7, PC = UNWIND_REGISTERS - 1 };	/* as DWARF numbers them */
#define STACK 32

/* A frame: the registers as they were in it. What is not known any more is left as it was. */
struct at {
	const struct tare_stop *stop;
	uint64_t r[UNWIND_REGISTERS];
	bool is_return;
};

#ifdef __x86_64__
static const char *const names_of[UNWIND_REGISTERS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};
#else
static const char *const names_of[UNWIND_REGISTERS] = { [RBP] = "x29", [RSP] = "sp", [PC] = "pc" };
#endif

static uint64_t register_of(const struct tare_stop *stop, const char *name)
{
	for (size_t i = 0; name && i < stop->n_registers; i++)
		if (strcmp(stop->registers[i].name, name) == 0)
			return stop->registers[i].value;
	return 0;
}

static bool read_word(const struct tare_stop *stop, uint64_t address, uint64_t *value)
{
	return tare_stop_read(stop, address, value, sizeof(*value)) == sizeof(*value);
}

/* ---- expressions ---- */

/* The stack of an expression. A mistake sets `bad`. */
struct machine {
	const struct at *at;
	uint64_t cfa, values[STACK];
	unsigned n;
	bool bad;
};

static void push(struct machine *m, uint64_t value)
{
	m->bad |= m->n == STACK;
	if (!m->bad)
		m->values[m->n++] = value;
}

static uint64_t pop(struct machine *m)
{
	m->bad |= !m->n;
	return m->bad ? 0 : m->values[--m->n];
}

static uint64_t nth(struct machine *m, uint64_t from_top)
{
	m->bad |= from_top >= m->n;
	return m->bad ? 0 : m->values[m->n - 1 - from_top];
}

static void load(struct machine *m, uint64_t size)
{
	uint64_t value = 0;
	const uint64_t address = pop(m);
	m->bad |= !size || size > 8 || tare_stop_read(m->at->stop, address, &value, size) != size;
	push(m, value);
}

static uint64_t compute(uint32_t atom, uint64_t a, uint64_t b, bool *bad)
{
	const int64_t x = (int64_t)a, y = (int64_t)b;
	switch (atom) {
	case OP_AND: return a & b;
	case OP_OR: return a | b;
	case OP_XOR: return a ^ b;
	case OP_PLUS: return a + b;
	case OP_MINUS: return a - b;
	case OP_MUL: return a * b;
	case OP_SHL: return b < 64 ? a << b : 0;
	case OP_SHR: return b < 64 ? a >> b : 0;
	case OP_SHRA: return (uint64_t)(x >> (b < 64 ? b : 63));
	case OP_EQ: return x == y;
	case OP_GE: return x >= y;
	case OP_GT: return x > y;
	case OP_LE: return x <= y;
	case OP_LT: return x < y;
	case OP_NE: return x != y;
	default: *bad = true; return 0;
	}
}

static void push_register(struct machine *m, uint64_t number, uint64_t offset)
{
	m->bad |= number >= UNWIND_REGISTERS;
	if (!m->bad)
		push(m, m->at->r[number] + offset);
}

static void swap(struct machine *m)
{
	const uint64_t a = pop(m), b = pop(m);
	push(m, a);
	push(m, b);
}

static void apply(struct machine *m, const struct unwind_op *op)
{
	if (op->atom >= OP_LIT0 && op->atom <= OP_LIT31)
		push(m, op->atom - OP_LIT0);
	else if (op->atom >= OP_CONST1U && op->atom <= OP_CONSTS)
		push(m, op->a);
	else if (op->atom >= OP_BREG0 && op->atom <= OP_BREG31)
		push_register(m, op->atom - OP_BREG0, op->a);
	else if (op->atom == OP_BREGX)
		push_register(m, op->a, op->b);
	else if (op->atom == OP_CALL_FRAME_CFA)
		push(m, m->cfa);
	else if (op->atom == OP_PLUS_UCONST)
		push(m, pop(m) + op->a);
	else if (op->atom == OP_DEREF)
		load(m, 8);
	else if (op->atom == OP_DEREF_SIZE)
		load(m, op->a);
	else if (op->atom == OP_DUP)
		push(m, nth(m, 0));
	else if (op->atom == OP_OVER)
		push(m, nth(m, 1));
	else if (op->atom == OP_PICK)
		push(m, nth(m, op->a));
	else if (op->atom == OP_DROP)
		pop(m);
	else if (op->atom == OP_SWAP)
		swap(m);
	else if (op->atom == OP_NEG)
		push(m, -pop(m));
	else if (op->atom == OP_NOT)
		push(m, ~pop(m));
	else if (op->atom != OP_NOP) {
		const uint64_t b = pop(m), a = pop(m);
		push(m, compute(op->atom, a, b, &m->bad));
	}
}

static bool value_of(const struct at *at, const struct unwind_row *row, const struct unwind_rule *rule,
		     uint64_t cfa, uint64_t *value)
{
	struct machine m = { .at = at, .cfa = cfa };
	for (unsigned i = 0; i < rule->n && !m.bad; i++)
		apply(&m, &row->ops[rule->first + i]);
	*value = pop(&m);
	return !m.bad;
}

/* ---- from a frame to the one that called it ---- */

enum next { NEXT_FOUND, NEXT_NONE, NEXT_UNKNOWN };	/* NONE: this is the outermost one */

static enum next by_table(struct at *at, const struct unwind_row *row)
{
	struct at up = *at;
	uint64_t cfa, where;
	if (!value_of(at, row, &row->cfa, 0, &cfa))
		return NEXT_UNKNOWN;
	for (int i = 0; i < UNWIND_REGISTERS; i++) {
		const struct unwind_rule *const rule = &row->registers[i];
		if (rule->kind == UNWIND_SAME)
			continue;
		if (rule->kind == UNWIND_UNDEFINED) {
			if (i == PC)
				return NEXT_NONE;
			continue;
		}
		if (!value_of(at, row, rule, cfa, &where))
			return NEXT_UNKNOWN;
		if (rule->kind == UNWIND_VALUE)
			up.r[i] = where;
		else if (!read_word(at->stop, where, &up.r[i]))
			return NEXT_UNKNOWN;
	}
	if (row->registers[RSP].kind == UNWIND_SAME || row->registers[RSP].kind == UNWIND_UNDEFINED)
		up.r[RSP] = cfa;
	up.is_return = !row->is_signal;
	/* a frame is above the one that it called; a handler may have a stack of its own */
	if (!up.r[PC])
		return NEXT_NONE;
	if (!row->is_signal && up.r[RSP] <= at->r[RSP])
		return NEXT_UNKNOWN;
	*at = up;
	return NEXT_FOUND;
}

/* Is the instruction before that address a call? */
static bool follows_call(const struct tare_stop *stop, uint64_t address)
{
#ifdef __x86_64__
	uint8_t b[7];
	if (tare_stop_read(stop, address - sizeof(b), b, sizeof(b)) != sizeof(b))
		return false;
	if (b[2] == 0xe8)			/* call rel32 */
		return true;
	for (unsigned len = 2; len <= 7; len++)		/* call r/m64: FF /2 */
		if (b[7 - len] == 0xff && (b[8 - len] >> 3 & 7) == 2)
			return true;
	return false;
#else
	return tare_stop_read(stop, address - 4, &(uint32_t){ 0 }, 4) == 4;
#endif
}

static enum next by_pointer(struct at *at)
{
	uint64_t frame[2];
	const uint64_t sp = at->r[RSP], fp = at->r[RBP];
	if (!at->is_return && fp != sp && fp + 8 != sp && read_word(at->stop, sp, &frame[1]) &&
	    follows_call(at->stop, frame[1])) {
		at->r[PC] = frame[1];
		at->r[RSP] = sp + 8;
	} else if (fp >= sp && fp % 8 == 0 && tare_stop_read(at->stop, fp, frame, sizeof(frame)) == sizeof(frame) &&
		   follows_call(at->stop, frame[1])) {
		at->r[PC] = frame[1];
		at->r[RSP] = fp + 16;
		at->r[RBP] = frame[0];
	} else {
		return NEXT_NONE;
	}
	at->is_return = true;
	return NEXT_FOUND;
}

static bool find_row(struct tare_stop_names *names, const struct at *at, struct unwind_row *row)
{
#ifdef __x86_64__
	return names && symbol_unwind_of_process(names->symbols, at->stop->pid, at->r[PC] - at->is_return, row);
#else
	return false;
#endif
}

size_t tare_stop_backtrace(struct tare_stop_names *names, const struct tare_stop *stop,
			   struct tare_stop_frame *frames, size_t max)
{
	struct at at = { .stop = stop };
	struct unwind_row row;
	size_t n = 0;
	if (!stop || !frames || !max)
		return 0;
	for (int i = 0; i < UNWIND_REGISTERS; i++)
		at.r[i] = register_of(stop, names_of[i]);
	at.r[PC] = stop->pc;
	frames[n++] = (struct tare_stop_frame){ .pc = stop->pc };
	while (n < max) {
		const bool has_row = find_row(names, &at, &row);
		enum next next = has_row ? by_table(&at, &row) : NEXT_UNKNOWN;
		const bool guess = next == NEXT_UNKNOWN;
		if (guess)
			next = by_pointer(&at);
		if (next != NEXT_FOUND)
			break;
		frames[n++] = (struct tare_stop_frame){ .pc = at.r[PC], .is_return = at.is_return,
							.by_pointer = guess };
	}
	return n;
}
