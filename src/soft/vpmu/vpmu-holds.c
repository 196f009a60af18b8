/* Which process holds which event.
 *
 * An event lives as long as any process has a descriptor or a mapping of it: copied by dup or fork,
 * or sent over a socket. Each process that has any is a *holder*, with a number and, in shared
 * memory, one bit for each event. A process that ends drops its bits. One that is killed
 * cannot, so its bits are dropped when places are needed (holds_collect()): a holder keeps a
 * record lock on its own byte of the run's file, which the kernel releases when the process
 * ends, however it ends, and in whatever pid namespace it was.
 *
 * Who makes a process makes its holder too: the parent may close its own descriptors before
 * the child has run at all.
 */
#include "vpmu-room.h"

#include "sys.h"

static uint32_t mine;				/* this process's holder; 0: holds nothing */
static uint32_t local[VPMU_MAX_EVENTS];		/* descriptors and mappings in this process */

static struct vpmu_holder *holder(uint32_t h) { return &vpmu()->holders[h]; }

/* How many words of bits can have one set. */
static uint32_t used_words(void) { return vpmu()->n_events / 64 + 1; }

/* Maps the bits of a holder. Only those of this process stay mapped. */
static uint64_t *map_bits(uint32_t h)
{
	const uint64_t at = ZONE_VPMU_HOLDS + h * VPMU_HOLD_SIZE;
	const long got = sys6(__NR_mmap, (long)at, VPMU_HOLD_SIZE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED, E.reserved_fd,
			      (long)(VPMU_HOLDS_OFFSET + h * VPMU_HOLD_SIZE));
	if (got < 0)
		no_memory();
	return (uint64_t *)at;
}

static void unmap_bits(uint32_t h)
{
	if (h != mine)
		sys2(__NR_munmap, ZONE_VPMU_HOLDS + h * VPMU_HOLD_SIZE, VPMU_HOLD_SIZE);
}

static uint64_t *my_bits(void) { return (uint64_t *)(ZONE_VPMU_HOLDS + mine * VPMU_HOLD_SIZE); }

/* ---- whether a holder is alive ---- */

struct k_flock {
	int16_t type, whence;
	int64_t start, len;
	int32_t pid;
};

static long lock_call(int what, uint32_t h, struct k_flock *l)
{
	*l = (struct k_flock){ .type = F_WRLCK, .start = (int64_t)(VPMU_HOLDS_OFFSET + h),
			       .len = 1 };
	return sys3(__NR_fcntl, E.reserved_fd, what, l);
}

/* The kernel drops the record lock when this process closes any descriptor of the run's file: see
 * keep_lock() in vpmu-calls.c. */
void holds_relock(void)
{
	struct k_flock l;
	if (mine && holder(mine)->state == HOLDER_LIVE && lock_call(F_SETLK, mine, &l) < 0)
		holder(mine)->state = HOLDER_KEPT;
}

static bool is_between_images(uint32_t h)
{
	for (uint32_t i = 1; i <= vpmu()->n_slots; i++) {
		const struct vpmu_slot *const s = vpmu_slot(i);
		if (s->execing && s->holder == h && sys2(__NR_kill, s->pid, 0) != -ESRCH)
			return true;
	}
	return false;
}

static bool is_dead(uint32_t h)
{
	struct k_flock l;
	const struct vpmu_holder *const who = holder(h);
	if (h == mine)
		return false;
	if (who->state == HOLDER_MAKING ? !who->pid || sys2(__NR_kill, who->pid, 0) != -ESRCH :
	    who->state != HOLDER_LIVE || lock_call(F_GETLK, h, &l) < 0 || l.type != F_UNLCK)
		return false;
	return !is_between_images(h);
}

/* ---- holders ---- */

/* 0: there are more processes than holders; the events of this one are never freed then. */
static uint32_t new_holder(uint32_t state)
{
	struct vpmu_shared *const v = vpmu();
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t h = 1; h < VPMU_MAX_HOLDERS; h++) {
			if (v->holders[h].state != HOLDER_FREE)
				continue;
			v->holders[h] = (struct vpmu_holder){ .state = state };
			if (h > v->n_holders)
				v->n_holders = h;
			return h;
		}
		holds_collect(false);
	}
	return 0;
}

static void become(uint32_t h)
{
	struct k_flock l;
	mine = h;
	if (!h)
		return;
	map_bits(h);
	holder(h)->state = lock_call(F_SETLK, h, &l) < 0 ? HOLDER_KEPT : HOLDER_LIVE;
}

static void unref(uint32_t i)
{
	struct vpmu_event *const e = vpmu_event(i);
	if (!e->used || --e->refs)
		return;
	const uint32_t slot = e->slot;
	if (vpmu_free_event(i) && !vpmu_slot(slot)->ended)
		vpmu_schedule(slot);
}

/* Drops all that the holder holds. */
static void release(uint32_t h)
{
	uint64_t *const bits = map_bits(h);
	for (uint32_t w = 0; w < used_words(); w++)
		while (bits[w]) {
			const uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits[w]);
			bits[w] &= bits[w] - 1;
			unref(i);
		}
	unmap_bits(h);
	holder(h)->state = HOLDER_FREE;
}

/* ---- what this process holds ---- */

static void set_bit(uint32_t event)
{
	if (!mine)
		become(new_holder(HOLDER_LIVE));
	if (mine)
		my_bits()[event / 64] |= 1ull << event % 64;
	vpmu_event(event)->refs++;
}

void hold_take(uint32_t event)
{
	if (local[event]++ == 0)
		set_bit(event);
}

void hold_drop(uint32_t event)
{
	if (!local[event] || --local[event])
		return;
	if (mine)
		my_bits()[event / 64] &= ~(1ull << event % 64);
	unref(event);
}

/* A new process: makes the bits of its holder agree with the descriptors that it has. */
static void adopt(uint32_t h)
{
	become(h);
	for (uint32_t i = 1; i <= vpmu()->n_events; i++) {
		const bool bit = mine && my_bits()[i / 64] >> i % 64 & 1;
		if (local[i] && !bit) {
			set_bit(i);
		} else if (!local[i] && bit) {
			my_bits()[i / 64] &= ~(1ull << i % 64);
			unref(i);
		}
	}
}

static void count_again(void)
{
	for (uint32_t i = 1; i <= vpmu()->n_events; i++)
		local[i] = 0;
	fds_count(local);
}

void holds_making(struct thread *t)
{
	uint32_t h = 0;
	if (mine && vpmu_fds)
		h = new_holder(HOLDER_MAKING);
	vpmu_slot(t->vpmu.child_slot)->holder = h;
	if (!h)
		return;
	uint64_t *const bits = map_bits(h);
	for (uint32_t w = 0; w < used_words(); w++) {
		bits[w] = my_bits()[w];
		for (uint64_t b = bits[w]; b; b &= b - 1)
			vpmu_event(w * 64 + (uint32_t)__builtin_ctzll(b))->refs++;
	}
	unmap_bits(h);
}

/* The process was made; pid 0: it was not. */
void holds_made(uint32_t slot, int32_t pid)
{
	const uint32_t h = vpmu_slot(slot)->holder;
	if (!h || holder(h)->state != HOLDER_MAKING)
		return;
	holder(h)->pid = pid;
	if (pid)
		return;
	release(h);
	vpmu_slot(slot)->holder = 0;
}

void holds_forked(uint32_t slot)
{
	const uint32_t h = vpmu_slot(slot)->holder;
	if (!mine)
		return;
	sys2(__NR_munmap, my_bits(), VPMU_HOLD_SIZE);
	mine = 0;
	vpmu_slot(slot)->holder = 0;
	count_again();			/* what was only mapped is not inherited */
	adopt(h);
}

/* A vfork child has the holder that its parent made for it; other processes keep theirs. */
void holds_before_exec(const struct thread *t)
{
	if (!t->is_vfork)
		vpmu_slot(t->vpmu.slot)->holder = mine;
}

void holds_after_exec(uint32_t slot)
{
	const uint32_t h = vpmu_slot(slot)->holder;
	vpmu_slot(slot)->holder = 0;
	if (!h && !vpmu_fds)
		return;
	count_again();
	adopt(h);
}

/* The process, or a vfork child that did not exec, ends. */
void holds_end(const struct thread *t)
{
	const uint32_t h = t->is_vfork ? vpmu_slot(t->vpmu.slot)->holder : mine;
	if (h)
		release(h);
	vpmu_slot(t->vpmu.slot)->holder = 0;
	if (!t->is_vfork)
		mine = 0;
}

/* ---- those that were killed ---- */

/* `hard`: there is no free event. Then events in messages that no process has received are freed,
 * too. */
void holds_collect(bool hard)
{
	struct vpmu_shared *const v = vpmu();
	for (uint32_t h = 1; h <= v->n_holders; h++)
		if (v->holders[h].state != HOLDER_FREE && is_dead(h))
			release(h);
	for (uint32_t i = 1; hard && i <= v->n_events; i++) {
		struct vpmu_event *const e = &v->events[i];
		if (!e->used || e->parent || !e->in_flight || e->refs != e->in_flight)
			continue;
		e->refs = 1;
		unref(i);
	}
}
