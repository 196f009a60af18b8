/* Requests that the program makes of what runs it: valgrind's client requests, as its headers emit
 * them, and those of tare/region.h, which have the same form:
 *
 *	rax = address of { number, argument … (5) }, rdx = the answer if nobody answers
 *	rol $3, %rdi; rol $13, %rdi; rol $61, %rdi; rol $51, %rdi	rdi is as before
 *	xchg %rbx, %rbx
 *	rdx = the answer
 *
 * The five instructions belong to the program and count as such. A request takes effect after the
 * last of them. Requests that are not known here stay what they are natively: nothing. So do all where
 * the run has stops or limits, whose budgets count the whole run.
 */
#include "guest-room.h"
#include "text.h"

/* valgrind/valgrind.h, valgrind/callgrind.h */
#define TOOL(a, b) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16)
enum {
	RUNNING_ON_VALGRIND = 0x1001,
	CALLGRIND_DUMP = TOOL('C', 'T'),
	CALLGRIND_ZERO,
	CALLGRIND_TOGGLE,
	CALLGRIND_DUMP_AT,
	CALLGRIND_START,
	CALLGRIND_STOP,
};
/* tare/region.h */
enum {
	REGION_START = TOOL('t', 'a'),
	REGION_STOP,
	REGION_ZERO,
	REGION_DUMP,
	REGION_TOGGLE,
};

static const uint8_t preamble[16] = {
	0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d,
	0x48, 0xc1, 0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33,
};

static void dump(struct thread *t, uint64_t name)
{
	char text[120] = "";
	if (name && !copy_string(text, sizeof(text), name))
		text[0] = '\0';
	part_dump(t, text);
}

void client_request(struct thread *t)
{
	uint8_t before[16];
	uint64_t args[2];
	if (E.vpmu || E.shared->n_stops || !copy_guest(before, (const void *)(t->pc - 16), 16) ||
	    !mem_equal(before, preamble, 16) ||
	    !copy_guest(args, (const void *)t->regs[RAX], sizeof(args)))
		return;
	switch (args[0]) {
	case RUNNING_ON_VALGRIND:
		if (E.shared->flags & SOFT_FLAG_VALGRIND)
			t->regs[RDX] = 1;
		return;
	case CALLGRIND_START:
	case REGION_START:
		part_switch(t, true);
		break;
	case CALLGRIND_STOP:
	case REGION_STOP:
		part_switch(t, false);
		break;
	case REGION_TOGGLE:
		part_switch(t, part_process_is_off(t));
		break;
	case CALLGRIND_TOGGLE:
		part_toggle(t);
		break;
	case CALLGRIND_ZERO:
		if (E.shared->flags & SOFT_FLAG_ZERO_PROCESS)
			part_zero(t);
		else
			part_zero_thread(t);
		break;
	case REGION_ZERO:
		part_zero(t);
		break;
	case CALLGRIND_DUMP:
		dump(t, 0);
		break;
	case CALLGRIND_DUMP_AT:
	case REGION_DUMP:
		dump(t, args[1]);
		break;
	default:
		return;
	}
	t->regs[RDX] = args[0] >= REGION_START && args[0] <= REGION_TOGGLE;	/* of callgrind's: 0 */
}
