/* Constant slots: addresses of functions in memory that the program cannot write.
 *
 * The dynamic linker fills the table of addresses (GOT) of a library, and then protects it with
 * mprotect (RELRO). From then on an indirect branch through a slot of the table always goes to the
 * same address, so it is translated as a direct branch. The engine follows mprotect, and drops such
 * blocks before the memory becomes anything else.
 */
#include "emit.h"
#include "sys.h"
#include "text.h"

#define MAX_CONSTANT 256
#define MAX_USED 2048

/* Memory that a call of the program made read-only. */
static struct constant {
	uint64_t start, end;
	bool looked_at;		/* it is part of a private mapping of a file, read-only */
	bool leads;		/* slots_look(): to the range */
	uint64_t first, last;	/* where the blocks that rely on it are; first 0: there are none */
} constants[MAX_CONSTANT];	/* guarded by the lock */
static uint32_t n_constants;

/* Slots that blocks of this process rely on, by slot_place(); for kept code. */
static struct used_slot {
	struct kept_slot slot;
	uint64_t pc;		/* of code that relies on it */
} used[MAX_USED];
static uint32_t n_used;
static bool notes_used, used_too_many;
uint32_t slots_asked, slots_changed;

/* start-end r--p offset device inode …. Reading takes long (50 µs), so all are looked at that this line is of. */
static void look_at_line(const char *p, void *arg)
{
	uint64_t start, end;
	p = text_hex(p, &start) + 1;
	p = text_hex(p, &end) + 1;
	if (!text_starts(p, "r--p"))
		return;
	const char *inode = p + 5;
	for (int field = 0; field < 2; field++) {
		while (*inode != ' ')
			inode++;
		inode++;
	}
	for (uint32_t i = 0; i < n_constants && *inode != '0'; i++)
		constants[i].looked_at |= constants[i].start >= start && constants[i].end <= end;
}

/* The same, by asking for each. False: the kernel cannot be asked. */
static bool ask_each(void)
{
	struct map_found m;
	bool answers = false;
	const long fd = maps_open();
	for (uint32_t i = 0; fd >= 0 && i < n_constants; i++) {
		struct constant *const c = &constants[i];
		if (c->looked_at || !maps_query(fd, c->start, &m))
			continue;
		answers = true;
		c->looked_at = c->end <= m.end && m.flags == PROCMAP_READABLE && m.inode;
	}
	if (fd >= 0)
		sys1(__NR_close, fd);
	return answers;
}

static bool look_at(const struct constant *c)
{
	if (!c->looked_at && !ask_each())
		maps_each(look_at_line, NULL);
	return c->looked_at;
}

void slots_protected(struct thread *t, uint64_t start, uint64_t end)
{
	lock_take();
	if (start < end && n_constants < MAX_CONSTANT)
		constants[n_constants++] = (struct constant){ .start = start, .end = end };
	slots_changed++;
	__atomic_store_n(&n_constants, n_constants, __ATOMIC_RELAXED);
	lock_drop();
}

/* The blocks that rely on memory of the range are dropped, and it counts as constant no more. */
NEEDS_LOCK static void forget(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < n_constants; i++) {
		const struct constant c = constants[i];
		if (c.start >= end || c.end <= start)
			continue;
		constants[i--] = constants[--n_constants];
		if (!c.first)
			continue;
		cache_invalidate(c.first, c.last + 1);
		cache_drop_relying(c.first, c.last + 1);
	}
}

static bool leads(const struct constant *c, uint64_t start, uint64_t end)
{
	uint64_t target;
	for (uint64_t at = c->start; c->first && at < c->end; at += 8)
		if (!copy_guest(&target, (const void *)at, 8) || (target >= start && target < end))
			return true;
	return false;
}

void slots_look(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < n_constants; i++)
		constants[i].leads = leads(&constants[i], start, end);
}

bool slots_lead(const struct region *from)
{
	for (uint32_t i = 0; i < n_constants; i++)
		if (constants[i].leads && constants[i].last >= from->start && constants[i].first < from->end)
			return true;
	return false;
}

NEEDS_LOCK static bool relied_on(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < n_constants; i++)
		if (constants[i].first && constants[i].start < end && constants[i].end > start)
			return true;
	return false;
}

void slots_touched(struct thread *t, uint64_t start, uint64_t end)
{
	if (!__atomic_load_n(&n_constants, __ATOMIC_RELAXED))
		return;
	lock_take();
	const bool stop = E.n_running > 1 && relied_on(start, end);
	if (!stop)
		forget(start, end);
	lock_drop();
	if (!stop)
		return;
	/* Another thread may be in a chain that leads to such a branch. It must not come there after
	 * it has seen what this thread does after the call. */
	const bool stopped = stop_others(t);
	if (!stopped)
		lock_take();
	forget(start, end);
	if (stopped)
		release_others();
	else
		lock_drop();
}

static uint64_t slot_of(const struct insn *in, const uint8_t *src, uint64_t pc)
{
	return (in->flow == FLOW_JMP_IND || in->flow == FLOW_CALL_IND) && in->rip_relative &&
	       !in->seg_used && !in->branch16 ? rip_target(in, src, pc) : 0;
}

static struct used_slot *slot_place(uint64_t at)
{
	uint64_t i = at / 8 * 0x9e3779b97f4a7c15ull >> 53;
	while (used[i].slot.at && used[i].slot.at != at)
		i = (i + 1) % MAX_USED;
	return &used[i];
}
_Static_assert(MAX_USED == 1u << (64 - 53), "slot_place()");

static void note_used(uint64_t at, uint64_t target, uint64_t pc)
{
	if (!notes_used || n_used >= MAX_USED * 3 / 4) {
		used_too_many = true;
		return;
	}
	struct used_slot *const u = slot_place(at);
	used_too_many |= u->slot.at && region_find(u->pc) != region_find(pc);
	n_used += !u->slot.at;
	*u = (struct used_slot){ .slot = { .at = at, .target = target }, .pc = pc };
}

/* The memory that holds the slot, if that is constant. */
static struct constant *constant_at(uint64_t at)
{
	for (uint32_t i = 0; i < n_constants; i++) {
		struct constant *const c = &constants[i];
		if (at % 8 || at < c->start || at + 8 > c->end)
			continue;
		if (look_at(c))
			return c;
		constants[i] = constants[--n_constants];
		break;
	}
	return NULL;
}

static void relies(struct constant *c, uint64_t first, uint64_t last)
{
	if (!c->first || first < c->first)
		c->first = first;
	if (last > c->last)
		c->last = last;
}

uint64_t slot_target(const struct insn *in, const uint8_t *src, uint64_t pc)
{
	const uint64_t at = n_constants ? slot_of(in, src, pc) : 0;
	struct constant *const c = at ? constant_at(at) : NULL;
	uint64_t target;
	if (!c || !copy_guest(&target, (const void *)at, 8))
		return 0;
	relies(c, pc, pc);
	slots_asked++;
	note_used(at, target, pc);
	return target;
}

/* ---- for kept code ---- */

void slots_note(void)
{
	notes_used = true;
	used_too_many = false;
}

bool slots_noted(void)
{
	return notes_used && !used_too_many;
}

uint32_t slots_used(void)
{
	return n_used;
}

uint32_t slots_list(uint64_t start, uint64_t end, struct kept_slot *list)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < MAX_USED; i++)
		if (used[i].slot.at && used[i].pc >= start && used[i].pc < end)
			list[n++] = used[i].slot;
	return n;
}

bool slots_same(const struct kept_slot *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t target;
		if (!constant_at(list[i].at) || !copy_guest(&target, (const void *)list[i].at, 8) ||
		    target != list[i].target)
			return false;
	}
	return true;
}

void slots_rely(const struct kept_slot *list, uint32_t n, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < n; i++) {
		relies(constant_at(list[i].at), start, end - 1);
		if (notes_used)
			note_used(list[i].at, list[i].target, start);
	}
}
