/* Threads and processes: all forms of clone, and exit.
 *
 * A new thread gets a struct thread, a counter array and a record of its own and starts on its own
 * engine stack; the stack that the program gave it is only a value in its registers. A vfork child
 * is a thread of another process in the same memory. A fork child has a copy of everything; it
 * starts its counts over.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

void set_gs(struct thread *t)
{
	sys2(__NR_arch_prctl, ARCH_SET_GS, gs_of(t));
}

void app_gs_set(struct thread *t, uint64_t base)
{
	t->app_gs = base;
	t->app_gs_neg = -base;
}

/* ---- records ---- */

static void read_link(char *to, size_t size, const char *path)
{
	const long n = sys4(__NR_readlinkat, AT_FDCWD, path, to, size - 1);
	to[n > 0 ? n : 0] = '\0';
}

/* Names of the process in its record. */
void record_names(struct soft_record *r)
{
	sys2(__NR_prctl, PR_GET_NAME, r->comm);
	read_link(r->exe, sizeof(r->exe), "/proc/self/exe");
}

/* Where the launcher finds the counts while the thread runs. */
void record_live(struct thread *t, struct soft_record *r)
{
	r->live_stride = sizeof(struct block);
	r->live_corr = (uint64_t)t->code.corr;
	r->live_vectors = (uint64_t)block_at(0)->vec;
	r->live_n_blocks = (uint64_t)&cache.n_blocks;
	r->live_counts = (uint64_t)counts_of(t);
}

struct soft_record *record_find(int32_t tid)
{
	const uint32_t n = __atomic_load_n(&E.shared->n_records, __ATOMIC_ACQUIRE);
	for (uint32_t i = 1; i < n && i < SOFT_MAX_RECORDS; i++) {
		struct soft_record *const r = &E.shared->records[i];
		if (r->tid == tid && __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == REC_RUNNING)
			return r;
	}
	return NULL;
}

/* Takes a record for the task that `t` is going to make. If the task took it itself, a task that
 * has not run yet when the command ends would be overlooked. */
static void record_announce(struct thread *t)
{
	if (t->task.child_record)
		return;			/* left from a clone that failed */
	const uint32_t i = __atomic_fetch_add(&E.shared->n_records, 1, __ATOMIC_RELAXED);
	if (i >= SOFT_MAX_RECORDS) {
		__atomic_fetch_add(&E.shared->overflowed, 1, __ATOMIC_RELAXED);
		return;
	}
	struct soft_record *const own = &E.shared->records[t->record];
	struct soft_record *const r = &E.shared->records[i];
	mem_copy(r->comm, own->comm, sizeof(r->comm));
	mem_copy(r->exe, own->exe, sizeof(r->exe));
	r->parent = own->pid;
	r->branch = own->branch ? soft_branch(own->branch, ++own->n_children) : 0;
	t->task.child_record = i;
}

/* The result of clone(). A task that runs already has written its own pid, which may be of another
 * pid namespace. */
static void record_announced(struct thread *t, uint32_t i, long ret)
{
	if (!i)
		return;
	struct soft_record *const r = &E.shared->records[i];
	if (ret < 0) {
		__atomic_store_n(&r->state, REC_FREE, __ATOMIC_RELEASE);
		t->task.child_record = i;
		return;
	}
	int32_t none = 0;
	__atomic_compare_exchange_n(&r->pid, &none, (int32_t)ret, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

static uint32_t record_begin(struct thread *t, bool is_thread)
{
	record_announce(t);
	const uint32_t i = t->task.child_record;
	t->task.child_record = 0;
	if (!i)
		return 0;
	struct soft_record *const r = &E.shared->records[i];
	r->is_thread = is_thread;
	r->image = is_thread ? E.shared->records[t->record].image : i;
	r->pid = is_thread ? E.pid : 0;
	__atomic_store_n(&r->state, REC_STARTING, __ATOMIC_RELEASE);
	return i;
}

/* The new task runs: it fills its record in. */
void record_start(struct thread *t, uint32_t i, bool is_thread, int parent)
{
	t->record = i;
	if (!i)
		return;
	struct soft_record *const r = &E.shared->records[i];
	r->tid = t->tid;
	__atomic_store_n(&r->pid, (int32_t)sys0(__NR_getpid), __ATOMIC_RELEASE);
	r->parent = parent;
	r->is_thread = is_thread;
	record_names(r);
	record_live(t, r);
	__atomic_store_n(&r->state, REC_RUNNING, __ATOMIC_RELEASE);
}

/* ---- slots ---- */

static bool slot_is_free(const struct thread *t)
{
	if (t->in_use)
		return false;
	if (t->is_vfork)		/* a process of its own, gone when it is reaped */
		return !t->tid || sys2(__NR_kill, t->tid, 0) < 0;
	return !t->tid || sys3(__NR_tgkill, E.pid, t->tid, 0) < 0;
}

/* A thread slot is used again only when the kernel has no task of its tid any more. */
static struct thread *slot_again(void)
{
	for (uint32_t i = 0; E.n_free_slots && i < E.n_threads; i++) {
		struct thread *const t = thread_at(i);
		if (!slot_is_free(t))
			continue;
		const uint64_t keep = t->engine_rsp;
		const bool calls_mapped = t->calls_mapped;
		mem_zero(t, sizeof(*t));
		t->calls_mapped = calls_mapped;
		mem_zero(counts_of(t), CELL_BYTES(cache.n_blocks));
		t->engine_rsp = keep;
		E.n_free_slots--;
		return t;
	}
	return NULL;
}

#define ADDRESSES_TRIED 16		/* until one is free of the program's memory */

static struct thread *slot_new(void)
{
	if (E.n_threads == MAX_THREADS)
		return NULL;
	for (int i = 0; i < ADDRESSES_TRIED && E.n_thread_addresses < MAX_THREADS; i++) {
		struct thread *const t = (struct thread *)thread_address(E.n_thread_addresses);
		/* one mapping, since a process may not have too many */
		const bool got = zone_try_map((uint64_t)t, THREAD_COUNTS + cache.counts_mapped);
		if (!got && E.n_thread_addresses < MAX_ZONE_THREADS)
			return NULL;		/* the zone is free: a limit on memory */
		E.n_thread_addresses++;
		if (!got)
			continue;
		t->engine_rsp = (uint64_t)t + THREAD_STACK_END;
		E.threads[E.n_threads++] = t;
		return t;
	}
	return NULL;
}

struct thread *thread_new(void)
{
	struct thread *t = slot_again();
	if (!t)
		t = slot_new();
	if (!t)
		return NULL;
	t->self = t;
	t->in_use = t->mapped = true;
	__atomic_fetch_add(&E.n_running, 1, __ATOMIC_RELAXED);
	return t;
}

void thread_free(struct thread *t)
{
	shadow_drop(t);
	t->in_use = false;
	__atomic_fetch_add(&E.n_free_slots, 1, __ATOMIC_RELAXED);
	if (!t->is_vfork)
		__atomic_fetch_sub(&E.n_own, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&E.n_running, 1, __ATOMIC_RELAXED);
}

/* ---- clone ---- */

static void block_signals(void)
{
	const uint64_t all = ~SYNC_SIGNALS;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, SIGSET_SIZE);
}

/* The new thread's first steps, on its own stack. */
void thread_child(struct thread *t)
{
	set_gs(t);
	t->tid = (int32_t)sys0(__NR_gettid);
	signal_altstack(t);
	if (cache.traced)
		traced_thread(t);
	shadow_fault(t, shadow_of(t, t->regs[RSP] - 64));	/* needed soon, for calls */
	record_start(t, t->record, !t->is_vfork, E.pid);
	if (E.hermetic)
		hermetic_begins(t);
	if (E.vpmu)
		vpmu_thread(t);
	if (E.stops)
		exact_begin(t);
	t->exit_link = 1;
	mask_set(t, t->signal.mask);
	glue_go(t);
}

/* The arguments of fork, vfork, clone and clone3 in one form. */
struct request {
	uint64_t flags;
	uint64_t stack;		/* the top of the new stack; 0: the stack pointer stays */
	struct clone_args args;	/* clone3 */
	uint8_t more[512];	/* … and what newer kernels add to it */
	uint64_t size;
};

static long parse(long nr, const uint64_t *a, struct request *q)
{
	mem_zero(q, sizeof(*q));
	switch (nr) {
	case __NR_fork:
		q->flags = SIGCHLD;
		return 0;
	case __NR_vfork:
		q->flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
		return 0;
	case __NR_clone:
		q->flags = a[0];
		q->stack = a[1];
		return 0;
	default:
		q->size = a[1];
		if (a[1] < CLONE_ARGS_SIZE_VER0)
			return -EINVAL;
		if (a[1] > sizeof(q->args) + sizeof(q->more))
			return -E2BIG;
		if (!copy_guest(&q->args, (const void *)a[0], a[1]))
			return -EFAULT;
		q->flags = q->args.flags;
		if (q->args.stack)
			q->stack = q->args.stack + q->args.stack_size;
		return 0;
	}
}

static void child_of_fork(struct thread *t, uint32_t record, uint64_t stack)
{
	const int parent = E.pid;
	E.pid = (int32_t)sys0(__NR_getpid);
	aliases_in_child();
	kept_never();
	E.lock = 0;
	cache.stopping = 0;
	t->tid = (int32_t)sys0(__NR_gettid);
	for (uint32_t i = 0; i < E.n_threads; i++) {
		struct thread *const o = thread_at(i);
		if (o == t)
			continue;
		o->in_use = false;
		o->tid = 0;
		shadow_drop(o);
	}
	E.n_running = E.n_own = 1;
	E.n_free_slots = E.n_threads - 1;
	if (t->signal.actions != guest.actions) {
		mem_copy(guest.actions, t->signal.actions, sizeof(guest.actions));
		t->signal.actions = guest.actions;
	}
	if (guest.mdwe & PR_MDWE_NO_INHERIT)
		guest.mdwe = 0;
	t->signal.held = 0;			/* pending signals stay with the parent */
	guest.execing = 0;			/* as do its other threads */
	mem_zero(t->code.corr, sizeof(t->code.corr));
	mem_zero(t->code.vdso_corr, sizeof(t->code.vdso_corr));
	t->code.way_corr = 0;
	part_forked(t, &E.shared->records[record]);
	sys3(__NR_madvise, counts_of(t), cache.counts_mapped, MADV_DONTNEED);
	calls_forked(t);
	t->is_vfork = false;
	trace_forked(t);
	t->task.child_record = 0;
	if (record) {
		struct soft_record *const r = &E.shared->records[record];
		r->blocks = r->had_blocks = cache.flushed_blocks + cache.n_blocks;
		r->code_bytes = r->had_code = cache.code_bytes;
		r->source_bytes = r->had_source = cache.source_bytes;
		r->translate_ticks = r->had_ticks = cache.ticks;
	}
	record_start(t, record, false, parent);
	if (E.hermetic)
		hermetic_forked(t);
	if (E.vpmu)
		vpmu_forked(t);
	if (E.stops)
		exact_begin(t);
	if (stack)
		t->regs[RSP] = stack;
}

/* The word that the kernel clears when the new task ends. */
static void note_tid(struct thread *t, long nr, const uint64_t *a, const struct request *q)
{
	const uint64_t at = nr == __NR_clone3 ? q->args.child_tid : a[3];
	outputs_keep(t, WRITTEN_TID, at, q->flags & CLONE_CHILD_CLEARTID ? 4 : 0);
}

static long do_fork(struct thread *t, long nr, const uint64_t *a, struct request *q)
{
	long ret;
	lock_take();
	const uint32_t record = record_begin(t, false);
	aliases_before_fork();
	if (nr == __NR_clone3) {
		q->args.stack = q->args.stack_size = 0;
		const uint64_t args[6] = { (uint64_t)&q->args, q->size };
		ret = gate(t, nr, args);
	} else {
		const uint64_t args[6] = { q->flags, 0, a[2], a[3], a[4] };
		ret = gate(t, __NR_clone, args);
	}
	if (ret == 0) {
		child_of_fork(t, record, q->stack);
		note_tid(t, nr, a, q);
		return 0;
	}
	record_announced(t, record, ret);
	lock_drop();
	return ret;
}

static long do_thread(struct thread *t, long nr, const uint64_t *a, struct request *q)
{
	lock_take();
	struct thread *const c = thread_new();
	lock_drop();
	if (!c)
		return -EAGAIN;
	note_tid(c, nr, a, q);
	const uint32_t record = record_begin(t, q->flags & CLONE_THREAD);
	c->record = record;
	for (int i = 0; i < 16; i++)
		c->regs[i] = t->regs[i];
	c->signal.actions = t->signal.actions;
	if (!(q->flags & CLONE_SIGHAND)) {
		mem_copy(c->signal.own_actions, t->signal.actions, sizeof(c->signal.own_actions));
		c->signal.actions = c->signal.own_actions;
	}
	c->signal.fault_err = t->signal.fault_err;
	c->signal.fault_trapno = t->signal.fault_trapno;
	c->signal.fault_cr2 = t->signal.fault_cr2;
	c->task.strict = t->task.strict;
	c->task.affinity = t->task.affinity;
	c->task.gs_selector = t->task.gs_selector;
	c->regs[RAX] = 0;
	c->regs[RCX] = t->pc;
	c->regs[R11] = t->rflags;
	if (q->stack)
		c->regs[RSP] = q->stack;
	c->pc = t->pc;
	c->rflags = t->rflags;
	app_gs_set(c, t->app_gs);
	c->signal.mask = t->signal.mask;
	c->tid = -1;
	c->vpmu.slot = t->vpmu.child_slot;
	hermetic_inherit(c, t);
	c->is_vfork = !(q->flags & CLONE_THREAD);
	part_inherit(c, t);
	if (!c->is_vfork)
		__atomic_fetch_add(&E.n_own, 1, __ATOMIC_RELAXED);
	c->parent_waits = q->flags & CLONE_VFORK;
	c->signal.altstack = q->flags & CLONE_VFORK ? t->signal.altstack :
			  (struct k_stack){ .flags = SS_DISABLE };
	if (!calls_thread(c, false)) {
		c->tid = 0;
		thread_free(c);
		return -EAGAIN;
	}
	uint64_t args[5] = { q->flags, c->engine_rsp, a[2], a[3], a[4] };
	if (nr == __NR_clone3) {
		q->args.stack = (uint64_t)c + THREAD_STACK;
		q->args.stack_size = THREAD_STACK_END - THREAD_STACK;
		args[0] = (uint64_t)&q->args;
		args[1] = q->size;
	}
	const uint32_t fd = E.reserved_fd;
	const long ret = glue_clone(nr == __NR_clone3 ? nr : __NR_clone, args, c);
	record_announced(t, record, ret);
	if (q->flags & CLONE_VFORK && !(q->flags & CLONE_FILES))
		E.reserved_fd = fd;	/* a vfork child moves its own */
	if (ret < 0) {
		c->tid = 0;
		thread_free(c);
	} else if (c->is_vfork && q->flags & CLONE_VFORK) {
		c->tid = 0;		/* gone: it execed or ended */
		thread_free(c);
	}
	return ret;
}

long thread_clone(struct thread *t, long nr, const uint64_t *a)
{
	struct request q;
	const long err = parse(nr, a, &q);
	if (err)
		return err;
	if (E.hermetic && (q.flags & (CLONE_NEWPID | CLONE_NEWTIME) || q.args.set_tid_size))
		return -EPERM;
	block_signals();
	if (E.hermetic && !hermetic_making(t, q.flags, nr == __NR_clone3 ? q.args.parent_tid : a[2],
					   nr == __NR_clone3 ? q.args.child_tid : a[3])) {
		mask_set(t, t->signal.mask);
		return -EAGAIN;
	}
	if (E.vpmu)
		vpmu_making(t, q.flags & CLONE_THREAD);
	long ret = q.flags & CLONE_VM ? do_thread(t, nr, a, &q) : do_fork(t, nr, a, &q);
	if (E.hermetic && ret)
		ret = hermetic_made(t, ret, q.flags);
	if (E.vpmu && ret)
		vpmu_made(t, ret, q.flags & CLONE_THREAD);
	if (!t->pending)
		mask_set(t, t->signal.mask);
	return ret;
}

/* ---- the end of a thread, of a process ---- */

bool thread_is_last(const struct thread *self)
{
	return __atomic_load_n(&E.n_own, __ATOMIC_ACQUIRE) == (self->is_vfork ? 0 : 1);
}

void thread_exit(struct thread *t, long nr, const uint64_t *a)
{
	block_signals();
	trace_end(t);
	if (nr == __NR_exit_group || (thread_is_last(t) && !t->is_vfork)) {
		if (!t->is_vfork)
			lock_take();	/* and keep it: no other thread may fold the counts again */
		count_fold_all(REC_DONE);
		if (nr == __NR_exit_group && !t->is_vfork && !guest.mem_open)
			kept_save(t);
	} else {
		lock_take();
		count_fold(t);
		record_state(t, REC_DONE);
		lock_drop();
	}
	if (E.vpmu)
		vpmu_ended(t);
	if (E.hermetic)
		hermetic_ends(t, nr == __NR_exit_group || t->is_vfork || thread_is_last(t));
	if (t->is_vfork ? !t->parent_waits : nr == __NR_exit)
		thread_free(t);
	for (;;)
		sys1(nr, a[0]);
}
