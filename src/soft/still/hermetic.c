/* The still world: which system call is answered where; how tasks begin and end in it. */
#include "still-room.h"
#include "sys.h"
#include "text.h"

typedef long answer(struct thread *t, long nr, const uint64_t *a, bool *done);

long hermetic_syscall(struct thread *t, long nr, const uint64_t *a)
{
	static answer *const answers[] = {
		time_syscall, ids_syscall, files_of_world, listing_syscall, host_syscall, random_syscall, robust_syscall,
		turn_syscall,
	};
	bool done = false;
	for (unsigned i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const long ret = answers[i](t, nr, a, &done);
		if (done && hermetic_shared()->notifies)	/* another one may wait to be told of it */
			turn_progress();
		if (done)
			return ret;
	}
	if (nr == __NR_mmap && (a[3] & MAP_KIND) != MAP_PRIVATE && a[2] & PROT_WRITE) {
		guest.shares_memory = true;
		if (!(a[3] & MAP_ANONYMOUS))
			hermetic_note_left(HERMETIC_SHARED);
		if (!turn_alone() && exact_wanted(t))
			turn_begin_slice(t);
	}
	if (nr == __NR_shmat)
		guest.shares_memory = true;
	if (nr == __NR_inotify_init || nr == __NR_inotify_init1)
		hermetic_shared()->notifies = 1;
	if (hermetic_shared()->notifies)
		turn_progress();
	return syscall_usual(t, nr, a);
}

/* ---- tasks ---- */

static void task_ended(struct hermetic_task *k, uint32_t state)
{
	if (k->state == HT_FREE || k->state >= HT_ENDING)
		return;
	k->state = state;
	hermetic_shared()->n_live--;
}

/* The image that starts is that of a task that is known. (An exec by another thread gives it the id of the
 * first one, and ends all others.) */
static void take_place(struct thread *t)
{
	struct hermetic_shared *const h = hermetic_shared();
	uint32_t n = h->n_tasks;
	while (n-- > 0 && h->tasks[n].tid != t->tid)
		;
	if (n == ~0u)
		refuse("a process that the still world does not know");
	t->hermetic.number = n;
	struct hermetic_task *const k = own_task(t);
	for (uint32_t i = k->group; i < h->n_tasks; i++)
		if (i != n && h->tasks[i].group == k->group && h->tasks[i].state < HT_ENDING) {
			if (h->running == i + 1)
				h->running = n + 1;
			task_ended(&h->tasks[i], HT_ENDED);
		}
	if (k->state >= HT_ENDING)		/* the first thread had ended */
		h->n_live++;
	k->state = HT_READY;
	k->robust = 0;
	turn_progress();		/* an end of a pipe may have been closed on exec */
	if (!k->held_by)
		return;
	/* its parent mostly waits for it at once */
	hermetic_task(k->held_by - 1)->state = HT_READY;
	turn_give(t, k->held_by - 1);
	k->held_by = 0;
}

void hermetic_start(struct thread *t)
{
	zone_map_shared(ZONE_HERMETIC, HERMETIC_FILE_OFFSET, sizeof(struct hermetic_shared));
	struct hermetic_shared *const h = hermetic_shared();
	if (!h->started) {
		h->started = 1;
		h->n_tasks = h->n_live = h->running = 1;
		h->tasks[0] = (struct hermetic_task){ .tid = t->tid, .pid = E.pid, .state = HT_READY, .until = NEVER_NS };
		files_start();
		host_start();
	} else {
		take_place(t);
	}
	turn_wait(t);
	random_start(t);
	timers_start(t);
}

bool hermetic_making(struct thread *t, uint64_t flags, uint64_t parent_tid, uint64_t child_tid)
{
	struct hermetic_shared *const h = hermetic_shared();
	const struct hermetic_task *const own = own_task(t);
	const bool is_thread = flags & CLONE_THREAD;
	if (h->n_tasks == HERMETIC_TASKS) {
		hermetic_note_left(HERMETIC_FULL);
		return false;
	}
	if ((is_thread || guest.shares_memory) && !exact_wanted(t))
		hermetic_note_left(HERMETIC_UNORDERED);
	const uint32_t n = h->n_tasks++;
	h->tasks[n] = (struct hermetic_task){
		.group = is_thread ? own->group : n, .parent = is_thread ? own->parent : own->group + 1,
		.state = HT_READY, .until = NEVER_NS,
	};
	h->n_live++;
	t->hermetic.child = n;
	t->hermetic.parent_tid = flags & CLONE_PARENT_SETTID ? parent_tid : 0;
	t->hermetic.child_tid = flags & CLONE_CHILD_SETTID ? child_tid : 0;
	t->hermetic.child_clear = flags & CLONE_CHILD_CLEARTID ? child_tid : 0;
	if (flags & CLONE_VFORK) {
		h->tasks[n].held_by = t->hermetic.number + 1;
		own_task(t)->state = HT_HELD;
		turn_give(t, n);
	}
	return true;
}

long hermetic_made(struct thread *t, long ret, uint64_t flags)
{
	struct hermetic_shared *const h = hermetic_shared();
	struct hermetic_task *const k = hermetic_task(t->hermetic.child);
	const int32_t shown = HERMETIC_FIRST_PID + (int32_t)t->hermetic.child;
	if (ret < 0) {
		task_ended(k, HT_ENDED);
		if (flags & CLONE_VFORK) {
			own_task(t)->state = HT_READY;
			turn_give(t, t->hermetic.number);
		}
		if (t->hermetic.child == h->n_tasks - 1)
			h->n_tasks--;
		return ret;
	}
	if (!k->tid) {
		k->pid = flags & CLONE_THREAD ? E.pid : (int32_t)ret;
		k->tid = (int32_t)ret;
	}
	if (flags & CLONE_VFORK)
		turn_wait(t);
	else
		turn_begin_slice(t);
	if (t->hermetic.parent_tid)
		put_guest(t->hermetic.parent_tid, &shown, 4);
	return shown;
}

void hermetic_inherit(struct thread *c, const struct thread *parent)
{
	c->hermetic.number = parent->hermetic.child;
	c->hermetic.child_tid = parent->hermetic.child_tid;
	c->hermetic.clear_tid = parent->hermetic.child_clear;
}

void hermetic_begins(struct thread *t)
{
	struct hermetic_task *const k = own_task(t);
	const int32_t shown = HERMETIC_FIRST_PID + (int32_t)t->hermetic.number;
	k->pid = t->is_vfork ? t->tid : E.pid;
	k->tid = t->tid;
	clock_forget(t);
	turn_wait(t);
	if (t->hermetic.child_tid)
		put_guest(t->hermetic.child_tid, &shown, 4);
}

void hermetic_forked(struct thread *t)
{
	hermetic_inherit(t, t);
	timers_forked();
	hermetic_begins(t);
}

void hermetic_ends(struct thread *t, bool whole)
{
	struct hermetic_shared *const h = hermetic_shared();
	struct hermetic_task *const k = own_task(t);
	clock_end(t);
	robust_ended(t, whole);
	if (!whole)
		turn_thread_ended(t);
	for (uint32_t i = k->group; whole && i < h->n_tasks; i++)
		if (h->tasks[i].group == k->group)
			task_ended(&h->tasks[i], HT_ENDING);
	task_ended(k, HT_ENDING);
	h->ending = whole ? k->group + 1 : t->hermetic.number + 1;
	turn_leave(t, HT_ENDING);
}

void hermetic_native(struct thread *t, bool is)
{
	if (is) {
		hermetic_note_left(HERMETIC_NATIVE);
		hermetic_shared()->n_live--;
		turn_leave(t, HT_NATIVE);
		return;
	}
	own_task(t)->state = HT_READY;
	hermetic_shared()->n_live++;
	if (!hermetic_shared()->running)
		turn_give(t, t->hermetic.number);
	turn_wait(t);
}
