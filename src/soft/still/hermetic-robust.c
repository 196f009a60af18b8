/* Locks that outlive their owner, and those that know it: robust futexes and those with priority inheritance. The kernel
 * cannot serve them in the still world: the words have ids as the program knows them.
 *
 * A thread registers the list of the robust locks that it holds, in the program's memory. When it ends, those in which its id
 * still is are marked, and one that waits for each is woken, as the kernel's exit_robust_list() does.
 */
#include "still-room.h"
#include "procfs.h"
#include "sys.h"

#define OWNER 0x3fffffffu		/* of a word: who holds the lock, as the program knows it … */
#define OWNER_DIED 0x40000000u		/* … and did not give it back … */
#define WAITERS 0x80000000u		/* … and there are some who wait */
#define MOST_LOCKS 2048			/* as the kernel, for lists that are a circle */
#define WITH_INHERITANCE 1ull		/* in an entry of the list */

static uint32_t shown_id(const struct hermetic_task *k)
{
	return HERMETIC_FIRST_PID + (uint32_t)(k - hermetic_shared()->tasks);
}

/* ---- robust locks ---- */

static bool read_of(const struct hermetic_task *k, void *to, uint64_t from, size_t n)
{
	return k->pid == E.pid ? copy_guest(to, (const void *)from, n) :
	       proc_read_memory((uint64_t)k->pid, to, (const void *)from, n);
}

static void write_of(const struct hermetic_task *k, uint64_t to, uint32_t v)
{
	const uint64_t here[2] = { (uint64_t)&v, sizeof(v) }, there[2] = { to, sizeof(v) };
	if (k->pid == E.pid)
		put_guest(to, &v, sizeof(v));
	else
		sys6(__NR_process_vm_writev, k->pid, (long)here, 1, (long)there, 1, 0);
}

static void owner_died(const struct hermetic_task *k, uint64_t entry, int64_t offset, bool pending)
{
	const uint64_t at = (entry & ~WITH_INHERITANCE) + (uint64_t)offset;
	uint32_t v;
	if (at & 3 || !read_of(k, &v, at, 4))
		return;
	/* it was about to wake one that waits */
	if (pending && !(entry & WITH_INHERITANCE) && !v)
		turn_wake_word(k->group, at);
	if ((v & OWNER) != shown_id(k))
		return;
	write_of(k, at, (v & WAITERS) | OWNER_DIED);
	if (v & WAITERS && !(entry & WITH_INHERITANCE))
		turn_wake_word(k->group, at);
}

static void list_ended(struct hermetic_task *k)
{
	struct { uint64_t first; int64_t offset; uint64_t pending; } head;
	const uint64_t list = k->robust;
	k->robust = 0;
	if (!list || !read_of(k, &head, list, sizeof(head)))
		return;
	uint64_t entry = head.first;
	for (int i = 0; i < MOST_LOCKS && (entry & ~WITH_INHERITANCE) != list; i++) {
		uint64_t next;
		const bool more = read_of(k, &next, entry & ~WITH_INHERITANCE, 8);
		if ((entry ^ head.pending) & ~WITH_INHERITANCE)
			owner_died(k, entry, head.offset, false);
		if (!more)
			break;
		entry = next;
	}
	if (head.pending & ~WITH_INHERITANCE)
		owner_died(k, head.pending, head.offset, true);
}

void robust_process_ended(uint32_t group)
{
	const struct hermetic_shared *const h = hermetic_shared();
	for (uint32_t i = group; i < h->n_tasks; i++)
		if (hermetic_task(i)->group == group && hermetic_task(i)->state < HT_ENDING)
			list_ended(hermetic_task(i));
	turn_progress();
}

void robust_ended(struct thread *t, bool whole)
{
	if (whole)
		robust_process_ended(own_task(t)->group);
	else
		list_ended(own_task(t));
}

long robust_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	*done = false;
	if (nr == __NR_set_robust_list && a[1] == 24)
		own_task(t)->robust = a[0];
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
	else if ((v & OWNER) == shown_id(own_task(t)))
		*ret = -EDEADLK;
	else if (v & OWNER && id_real((int32_t)(v & OWNER)) == NO_TASK)
		*ret = -ESRCH;
	if (*ret)
		return true;
	const bool taken = v & OWNER;
	v = taken ? v | (waits ? WAITERS : 0) : (v & (OWNER_DIED | WAITERS)) | shown_id(own_task(t));
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
	if ((v & OWNER) != shown_id(own_task(t)))
		return -EPERM;
	v = next ? next | (more ? WAITERS : 0) : 0;
	return put_guest(at, &v, 4) ? 0 : -EFAULT;
}
