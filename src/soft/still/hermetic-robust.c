/* Locks that outlive their owner, and those that know it: robust futexes and those with priority inheritance. The kernel
 * cannot serve them in the still world: the words have ids as the program knows them.
 *
 * A thread registers the list of the robust locks that it holds, in the program's memory. When it ends, those in which its id
 * still is are marked, and one that waits for each is woken, as the kernel's exit_robust_list() does.
 */
#include "still-room.h"

#define OWNER 0x3fffffffu		/* of a word: who holds the lock, as the program knows it … */
#define OWNER_DIED 0x40000000u		/* … and did not give it back … */
#define WAITERS 0x80000000u		/* … and there are some who wait */
#define MOST_LOCKS 2048			/* as the kernel, for lists that are a circle */
#define WITH_INHERITANCE 1ull		/* in an entry of the list */

static uint32_t shown_id(const struct thread *t)
{
	return HERMETIC_FIRST_PID + t->hermetic.number;
}

/* ---- robust locks ---- */

static void owner_died(struct thread *t, uint64_t entry, int64_t offset, bool pending)
{
	const uint64_t at = (entry & ~WITH_INHERITANCE) + (uint64_t)offset;
	uint32_t v;
	if (at & 3 || !copy_guest(&v, (const void *)at, 4))
		return;
	/* it was about to wake one that waits */
	if (pending && !(entry & WITH_INHERITANCE) && !v)
		turn_wake_word(t, at);
	if ((v & OWNER) != shown_id(t))
		return;
	const uint32_t marked = (v & WAITERS) | OWNER_DIED;
	put_guest(at, &marked, 4);
	if (v & WAITERS && !(entry & WITH_INHERITANCE))
		turn_wake_word(t, at);
}

static void list_ended(struct thread *t)
{
	struct { uint64_t first; int64_t offset; uint64_t pending; } head;
	const uint64_t list = t->hermetic.robust;
	t->hermetic.robust = 0;
	if (!list || !copy_guest(&head, (const void *)list, sizeof(head)))
		return;
	uint64_t entry = head.first;
	for (int i = 0; i < MOST_LOCKS && (entry & ~WITH_INHERITANCE) != list; i++) {
		uint64_t next;
		const bool more = copy_guest(&next, (const void *)(entry & ~WITH_INHERITANCE), 8);
		if ((entry ^ head.pending) & ~WITH_INHERITANCE)
			owner_died(t, entry, head.offset, false);
		if (!more)
			break;
		entry = next;
	}
	if (head.pending & ~WITH_INHERITANCE)
		owner_died(t, head.pending, head.offset, true);
}

void robust_ended(struct thread *t, bool whole)
{
	list_ended(t);
	for (uint32_t i = 0; whole && !t->is_vfork && i < E.n_threads; i++)
		if (thread_at(i)->in_use && !thread_at(i)->is_vfork)
			list_ended(thread_at(i));
}

long robust_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	*done = false;
	if (nr == __NR_set_robust_list && a[1] == 24)
		t->hermetic.robust = a[0];
	return 0;
}

/* ---- priority inheritance ---- */

/* All tasks have the same priority, so the first one to come is the first to get the lock. */
bool inherits_try(struct thread *t, uint64_t at, bool waits, long *ret)
{
	uint32_t v;
	*ret = 0;
	if (at & 3)
		*ret = -EINVAL;
	else if (!copy_guest(&v, (const void *)at, 4))
		*ret = -EFAULT;
	else if ((v & OWNER) == shown_id(t))
		*ret = -EDEADLK;
	else if (v & OWNER && id_real((int32_t)(v & OWNER)) == NO_TASK)
		*ret = -ESRCH;
	if (*ret)
		return true;
	const bool taken = v & OWNER;
	v = taken ? v | (waits ? WAITERS : 0) : (v & (OWNER_DIED | WAITERS)) | shown_id(t);
	if (!put_guest(at, &v, 4))
		*ret = -EFAULT;
	return *ret || !taken;
}

long inherits_unlock(struct thread *t, uint64_t at, uint32_t next, bool more)
{
	uint32_t v;
	if (at & 3)
		return -EINVAL;
	if (!copy_guest(&v, (const void *)at, 4))
		return -EFAULT;
	if ((v & OWNER) != shown_id(t))
		return -EPERM;
	v = next ? next | (more ? WAITERS : 0) : 0;
	return put_guest(at, &v, 4) ? 0 : -EFAULT;
}
