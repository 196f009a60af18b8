/* Where the caller's registers are: .eh_frame, else .debug_frame, of the object or its debug file. */
#include "symbol-reader.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

static bool find_cfi(struct reader_object *o)
{
	struct reader_unwind *const u = &o->unwind;
	if (u->tried)
		return u->cfi;
	u->tried = true;
	u->cfi = o->own.elf ? dwarf_getcfi_elf(o->own.elf) : NULL;
	u->own = u->cfi;
	const struct reader_elf *const files[] = { &o->own, &o->debug };
	for (int i = 0; !u->cfi && i < 2 && !(o->flags & WIRE_NO_DWARF); i++) {
		u->dwarf = files[i]->elf ? dwarf_begin_elf(files[i]->elf, DWARF_C_READ, NULL) : NULL;
		u->cfi = u->dwarf ? dwarf_getcfi(u->dwarf) : NULL;
		u->bias = files[i]->bias;
		if (u->dwarf && !u->cfi) {
			dwarf_end(u->dwarf);
			u->dwarf = NULL;
		}
	}
	return u->cfi;
}

/* False: there is no room. */
static bool put_rule(struct unwind_row *row, struct unwind_rule *rule, const Dwarf_Op *ops, size_t n)
{
	*rule = (struct unwind_rule){ .kind = UNWIND_AT, .first = (uint16_t)row->n_ops, .n = (uint16_t)n };
	if (n > UNWIND_OPS - row->n_ops)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (ops[i].atom == DW_OP_stack_value) {
			rule->kind = UNWIND_VALUE;
			rule->n = (uint16_t)i;
			break;
		}
		row->ops[row->n_ops++] = (struct unwind_op){ ops[i].atom, 0, ops[i].number, ops[i].number2 };
	}
	return true;
}

static bool put_register(struct unwind_row *row, Dwarf_Frame *frame, int number)
{
	struct unwind_rule *const rule = &row->registers[number];
	Dwarf_Op memory[3], *ops;
	size_t n;
	if (dwarf_frame_register(frame, number, memory, &ops, &n) != 0)
		return false;
	if (n)
		return put_rule(row, rule, ops, n);
	*rule = (struct unwind_rule){ .kind = ops == memory ? UNWIND_UNDEFINED : UNWIND_SAME };
	return true;
}

void reader_unwind_at(struct reader_object *o, uint64_t address, struct unwind_row *row)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t n;
	bool is_signal = false;
	memset(row, 0, sizeof(*row));
	if (!find_cfi(o) || dwarf_cfi_addrframe(o->unwind.cfi, address - o->unwind.bias, &frame) != 0)
		return;
	bool ok = dwarf_frame_info(frame, NULL, NULL, &is_signal) == UNWIND_REGISTERS - 1 &&
		  dwarf_frame_cfa(frame, &ops, &n) == 0 && put_rule(row, &row->cfa, ops, n);
	for (int i = 0; ok && i < UNWIND_REGISTERS; i++)
		ok = put_register(row, frame, i);
	row->found = ok;
	row->is_signal = is_signal;
	free(frame);
}

void reader_unwind_free(struct reader_object *o)
{
	if (o->unwind.own)
		dwarf_cfi_end(o->unwind.own);
	if (o->unwind.dwarf)
		dwarf_end(o->unwind.dwarf);
	o->unwind = (struct reader_unwind){ 0 };
}
