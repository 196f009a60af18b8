/* Puts a new image elsewhere than the kernel did (`tare stat --layouts`), before its first instruction runs: its stack,
 * its own code and data, its break and what it maps later. The kernel has put it where it always does without address
 * space randomisation, so the new places are the same in every run of a layout. What cannot be moved stays.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

#include <elf.h>
#include <linux/auxvec.h>

#define PAGE 4096ull
#define MOVE_MAY_FIXED 3		/* MREMAP_MAYMOVE | MREMAP_FIXED */
#define FIXED_NOREPLACE 0x100000

struct aux { uint64_t type, value; };

static struct aux *aux_begin(uint64_t rsp)
{
	uint64_t *p = (uint64_t *)rsp;
	p += 2 + p[0];			/* argc, the arguments, NULL */
	while (*p)
		p++;
	return (struct aux *)(p + 1);
}

static struct aux *aux_find(struct aux *a, uint64_t type)
{
	while (a->type != AT_NULL && a->type != type)
		a++;
	return a->type == type ? a : NULL;
}

/* From the number of arguments to the end of the auxiliary vector; the strings that it points to stay. */
static void move_stack(struct thread *t, uint32_t by)
{
	const uint64_t from = t->regs[RSP];
	struct aux *end = aux_begin(from);
	while (end->type != AT_NULL)
		end++;
	const uint64_t n = ((uint64_t)(end + 1) - from) / 8;
	for (uint64_t i = 0; i < n; i++)
		((volatile uint64_t *)(from - by))[i] = ((uint64_t *)from)[i];
	t->regs[RSP] = from - by;
}

static uint64_t down(uint64_t v) { return v & ~(PAGE - 1); }
static uint64_t up(uint64_t v) { return down(v + PAGE - 1); }

/* A part of the image, which is one mapping or a part of one. */
static bool move_range(uint64_t from, uint64_t end, uint64_t by)
{
	return from >= end || sys5(__NR_mremap, from, end - from, end - from, MOVE_MAY_FIXED, from - by) >= 0;
}

/* False: nothing was moved. */
static bool move_program(struct thread *t, uint64_t by)
{
	struct aux *const aux = aux_begin(t->regs[RSP]);
	struct aux *const at = aux_find(aux, AT_PHDR), *const n = aux_find(aux, AT_PHNUM), *const entry = aux_find(aux, AT_ENTRY);
	if (!by || !at || !n || !entry)
		return false;
	const Elf64_Phdr *const ph = (const Elf64_Phdr *)at->value;
	uint64_t bias = 0, low = ~0ull, high = 0;
	for (uint64_t i = 0; i < n->value; i++)
		if (ph[i].p_type == PT_PHDR)
			bias = at->value - ph[i].p_vaddr;
	for (uint64_t i = 0; i < n->value; i++)
		if (ph[i].p_type == PT_LOAD) {
			low = ph[i].p_vaddr < low ? ph[i].p_vaddr : low;
			high = ph[i].p_vaddr + ph[i].p_memsz > high ? ph[i].p_vaddr + ph[i].p_memsz : high;
		}
	if (!bias || low >= high)
		return false;		/* its addresses are fixed */
	const uint64_t old = bias + down(low), size = up(high) - down(low);
	/* Nothing else may be there: the engine has code near the program's. */
	const long free = sys6(__NR_mmap, old - by, size, 0 /* PROT_NONE */, MAP_PRIVATE | MAP_ANONYMOUS | FIXED_NOREPLACE, -1, 0);
	if (free != (long)(old - by)) {
		if (free > 0)
			sys2(__NR_munmap, free, size);
		return false;
	}
	Elf64_Phdr parts[16];
	uint64_t k = 0;
	for (uint64_t i = 0; i < n->value && k < 16; i++)
		if (ph[i].p_type == PT_LOAD)
			parts[k++] = ph[i];
	for (uint64_t i = 0; i < k; i++) {
		const uint64_t start = bias + parts[i].p_vaddr, file = up(start + parts[i].p_filesz);
		if (!move_range(down(start), file, by) || !move_range(file, up(start + parts[i].p_memsz), by))
			refuse("a part of the program could not be moved to another address");
	}
	if (t->pc == entry->value)	/* it has no loader of its own */
		t->pc -= by;
	at->value -= by;
	entry->value -= by;
	return true;
}

void layout_start(struct thread *t)
{
	const struct soft_layout *const l = &E.shared->layout;
	move_stack(t, l->stack);
	move_program(t, l->program);
	if (l->libraries)
		sys6(__NR_mmap, 0, l->libraries, 0 /* PROT_NONE */, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const long now = sys1(__NR_brk, 0);
	if (l->heap && now > 0)
		sys1(__NR_brk, now + (long)l->heap);
}
