/* Threads and processes: clone in all its forms, exit, exec.
 *
 * A new thread gets a struct thread, a counter array and a record of its own and
 * starts on its own engine stack; the stack the program gave it is only a value
 * in its registers. A vfork child is a thread of another process in the same
 * memory. A fork child has a copy of everything: it only starts its counts over.
 */
#include "engine.h"
#include "sys.h"
#include "text.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/sched.h>

extern uint64_t counts_mapped;
void thread_child(struct thread *t);
void record_names(struct soft_record *r);

struct thread *thread_at(uint32_t i)
{
	return (struct thread *)(ZONE_THREADS + i * THREAD_STRIDE);
}

void set_gs(struct thread *t)
{
	sys2(__NR_arch_prctl, 0x1001, t);
}

void app_gs_set(struct thread *t, uint64_t base)
{
	t->app_gs = base;
	t->app_gs_neg = -base;
}

/* ---- records ---- */

/* Tells the launcher where to look while the thread runs. */
void record_live(struct thread *t, struct soft_record *r)
{
	r->live_stride = sizeof(struct block);
	r->live_corr = (uint64_t)t->corr;
	r->live_vectors = (uint64_t)block_at(0)->vec;
	r->live_n_blocks = (uint64_t)&E.n_blocks;
	r->live_counts = (uint64_t)counts_of(t);
}

uint32_t record_new(struct thread *t, bool is_thread, int parent)
{
	uint32_t i = __atomic_fetch_add(&E.shared->n_records, 1, __ATOMIC_RELAXED);
	if (i >= SOFT_MAX_RECORDS) {
		__atomic_fetch_add(&E.shared->overflowed, 1, __ATOMIC_RELAXED);
		return 0;
	}
	struct soft_record *const r = &E.shared->records[i];
	r->pid = (int32_t)sys0(__NR_getpid);
	r->tid = t->tid;
	r->parent = parent;
	r->is_thread = is_thread;
	record_names(r);
	record_live(t, r);
	__atomic_store_n(&r->state, REC_RUNNING, __ATOMIC_RELEASE);
	return i;
}

/* ---- slots ---- */

void threads_map_counts(uint64_t bytes)
{
	while (counts_mapped < bytes) {
		for (uint32_t i = 0; i < E.n_threads; i++)
			if (thread_at(i)->mapped)
				zone_map((uint64_t)counts_of(thread_at(i)) + counts_mapped, 1 << 18);
		counts_mapped += 1 << 18;
	}
}

static bool slot_is_free(const struct thread *t)
{
	if (t->in_use)
		return false;
	return !t->tid || sys3(__NR_tgkill, E.pid, t->tid, 0) < 0;
}

/* Under the lock. A slot is reused only when the thread that left it is gone. */
struct thread *thread_new(void)
{
	for (uint32_t i = 0; i < E.n_threads; i++) {
		struct thread *const t = thread_at(i);
		if (!slot_is_free(t))
			continue;
		const uint64_t keep = t->engine_rsp;
		mem_zero(t, sizeof(*t));
		mem_zero(counts_of(t), (E.n_blocks + 1ull) * 8);
		t->engine_rsp = keep;
		t->self = t;
		t->index = i;
		t->in_use = t->mapped = true;
		return t;
	}
	if (E.n_threads == MAX_THREADS)
		return NULL;
	struct thread *const t = thread_at(E.n_threads);
	zone_map((uint64_t)t, THREAD_STACK_END);
	zone_map((uint64_t)t + THREAD_S0, PAGE);
	zone_map((uint64_t)counts_of(t), counts_mapped);
	t->self = t;
	t->index = E.n_threads++;
	t->in_use = t->mapped = true;
	t->engine_rsp = (uint64_t)t + THREAD_STACK_END;
	return t;
}

void thread_free(struct thread *t)
{
	t->in_use = false;
}

/* ---- clone ---- */

static void block_signals(void)
{
	const uint64_t all = ~SYNC_SIGNALS;
	sys4(__NR_rt_sigprocmask, 2, &all, 0, 8);
}

/* The new thread's first steps, on its own stack. */
void thread_child(struct thread *t)
{
	set_gs(t);
	t->tid = (int32_t)sys0(__NR_gettid);
	signal_altstack(t);
	t->record = record_new(t, !t->is_vfork, E.pid);
	t->exit_link = 1;
	mask_set(t, t->app_mask);
	glue_go(t);
}

/* One view of the four calls. */
struct request {
	uint64_t flags;
	uint64_t stack;		/* the program's, its top; 0: as it is */
	struct clone_args args;	/* clone3 */
	uint64_t size;
};

static long parse(long nr, const uint64_t *a, struct request *q)
{
	*q = (struct request){ 0 };
	switch (nr) {
	case __NR_fork:
		q->flags = 17;
		return 0;
	case __NR_vfork:
		q->flags = CLONE_VM | CLONE_VFORK | 17;
		return 0;
	case __NR_clone:
		q->flags = a[0];
		q->stack = a[1];
		return 0;
	default:
		q->size = a[1];
		if (a[1] < 64)
			return -22;
		if (a[1] > sizeof(q->args))
			return -7;
		if (!copy_guest(&q->args, (const void *)a[0], a[1]))
			return -14;
		q->flags = q->args.flags;
		if (q->args.stack)
			q->stack = q->args.stack + q->args.stack_size;
		return 0;
	}
}

static void child_of_fork(struct thread *t, uint64_t stack)
{
	const int parent = E.pid;
	E.pid = (int32_t)sys0(__NR_getpid);
	E.lock = 0;
	t->tid = (int32_t)sys0(__NR_gettid);
	for (uint32_t i = 0; i < E.n_threads; i++) {
		struct thread *const o = thread_at(i);
		if (o == t)
			continue;
		o->in_use = false;
		o->tid = 0;
	}
	mem_zero(t->corr, sizeof(t->corr));
	sys3(__NR_madvise, counts_of(t), counts_mapped, 4);
	t->is_vfork = false;
	t->record = record_new(t, false, parent);
	if (stack)
		t->regs[RSP] = stack;
}

static long do_fork(struct thread *t, long nr, const uint64_t *a, struct request *q)
{
	long ret;
	lock_take(t);
	if (nr == __NR_clone3) {
		q->args.stack = q->args.stack_size = 0;
		ret = sys2(nr, &q->args, q->size);
	} else {
		ret = sys5(__NR_clone, q->flags, 0, a[2], a[3], a[4]);
	}
	if (ret == 0)
		child_of_fork(t, q->stack);
	else
		lock_drop();
	return ret;
}

static long do_thread(struct thread *t, long nr, const uint64_t *a, struct request *q)
{
	lock_take(t);
	struct thread *const c = thread_new();
	lock_drop();
	if (!c)
		return -11;
	for (int i = 0; i < 16; i++)
		c->regs[i] = t->regs[i];
	c->regs[RAX] = 0;
	c->regs[RCX] = t->pc;
	c->regs[R11] = t->rflags;
	if (q->stack)
		c->regs[RSP] = q->stack;
	c->pc = t->pc;
	c->rflags = t->rflags;
	app_gs_set(c, t->app_gs);
	c->app_mask = t->app_mask;
	c->tid = -1;
	c->is_vfork = !(q->flags & CLONE_THREAD);
	c->app_altstack = q->flags & CLONE_VFORK ? t->app_altstack :
			  (struct k_stack){ .flags = 2 };
	uint64_t args[5] = { q->flags, c->engine_rsp, a[2], a[3], a[4] };
	if (nr == __NR_clone3) {
		q->args.stack = (uint64_t)c + THREAD_STACK;
		q->args.stack_size = THREAD_STACK_END - THREAD_STACK;
		args[0] = (uint64_t)&q->args;
		args[1] = q->size;
	}
	const long ret = glue_clone(nr == __NR_clone3 ? nr : __NR_clone, args, c);
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
	block_signals();
	const long ret = q.flags & CLONE_VM ? do_thread(t, nr, a, &q) : do_fork(t, nr, a, &q);
	if (!t->pending)
		mask_set(t, t->app_mask);
	return ret;
}

/* ---- the end of a thread, of a process ---- */

static bool last_thread(const struct thread *self)
{
	for (uint32_t i = 0; i < E.n_threads; i++) {
		const struct thread *const t = thread_at(i);
		if (t != self && t->in_use && !t->is_vfork)
			return false;
	}
	return true;
}

void thread_exit(struct thread *t, long nr, const uint64_t *a)
{
	block_signals();
	if (nr == __NR_exit_group || (last_thread(t) && !t->is_vfork)) {
		if (!t->is_vfork)
			lock_take(t);	/* for good: nobody reports twice */
		count_fold_all(REC_DONE);
	} else {
		lock_take(t);
		count_fold(t);
		__atomic_store_n(&E.shared->records[t->record].state, REC_DONE, __ATOMIC_RELEASE);
		lock_drop();
	}
	if (nr == __NR_exit && !t->is_vfork)
		thread_free(t);
	for (;;)
		sys1(nr, a[0]);
}

/* ---- exec ---- */

static long ask_launcher(struct soft_record *r, uint32_t what)
{
	__atomic_store_n(&r->reply, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->request, what, __ATOMIC_RELEASE);
	__atomic_fetch_add(&E.shared->requests, 1, __ATOMIC_RELEASE);
	sys3(__NR_futex, &E.shared->requests, FUTEX_WAKE, 1);
	uint32_t answer;
	while (!(answer = __atomic_load_n(&r->reply, __ATOMIC_ACQUIRE)))
		sys4(__NR_futex, &r->reply, FUTEX_WAIT, 0, 0);
	return answer == 1 ? 0 : -1;
}

/* Set-uid, set-gid and capability programs are never entered. */
static bool gains_privilege(long dir, uint64_t path, uint64_t flags)
{
	struct {
		uint32_t mask, blksize;
		uint64_t attributes;
		uint32_t nlink, uid, gid;
		uint16_t mode, pad;
		uint8_t rest[224];	/* struct statx is 256 bytes */
	} st;
	if (sys5(__NR_statx, dir, path, flags & 0x1000, 0x7ff, &st) < 0)
		return false;
	if (st.mode & 06000)
		return true;
	char caps[64];
	if (flags & 0x1000)
		return false;
	return dir == -100 && sys4(__NR_getxattr, path, "security.capability", caps,
				   sizeof(caps)) > 0;
}

/* 0: can be entered; otherwise enum soft_reason. Scripts are looked at by the
 * launcher when the kernel has found their interpreter. */
static uint32_t reason_against(long dir, uint64_t path, uint64_t flags)
{
	if (gains_privilege(dir, path, flags))
		return WHY_SETUID;
	const long fd = flags & 0x1000 ? sys3(__NR_fcntl, dir, 1030, 0) :
			sys4(__NR_openat, dir, path, 02000000, 0);
	if (fd < 0)
		return 0;		/* not readable, but perhaps executable: the launcher sees */
	uint8_t head[20];
	const long n = sys4(__NR_pread64, fd, head, sizeof(head), 0);
	sys1(__NR_close, fd);
	if (n == 20 && head[0] == 0x7f && head[1] == 'E' && (head[4] != 2 || head[18] != 62))
		return WHY_32BIT;
	return 0;
}

static long exec_native(struct thread *t, long nr, const uint64_t *a, uint32_t reason)
{
	struct soft_record *const r = &E.shared->records[t->record];
	sys3(__NR_fcntl, E.reserved_fd, 2, 1);
	if (reason) {
		uint32_t i = __atomic_fetch_add(&E.shared->n_records, 1, __ATOMIC_RELAXED);
		if (i < SOFT_MAX_RECORDS) {
			struct soft_record *const n = &E.shared->records[i];
			n->pid = n->tid = r->pid;
			n->reason = reason;
			const char *const path = (const char *)a[nr == __NR_execve ? 0 : 1];
			copy_guest(n->exe, path, 100);
			n->state = REC_NATIVE;
		}
		if (E.shared->flags & SOFT_FLAG_REFUSE && reason != WHY_NO_INHERIT) {
			sys3(__NR_fcntl, E.reserved_fd, 2, 0);
			return -1;
		}
	}
	count_fold_all(REC_EXECED);
	const long ret = gate(t, nr, a);
	__atomic_store_n(&r->state, REC_RUNNING, __ATOMIC_RELEASE);
	sys3(__NR_fcntl, E.reserved_fd, 2, 0);
	return ret;
}

long thread_exec(struct thread *t, long nr, const uint64_t *a)
{
	const bool at = nr == __NR_execveat;
	const long dir = at ? (long)(int32_t)a[0] : -100;
	const uint64_t path = at ? a[1] : a[0], flags = at ? a[4] : 0;
	struct soft_record *const r = &E.shared->records[t->record];

	if (!(flags & 0x1000) && sys3(__NR_faccessat, dir, path, 1) < 0)
		return exec_native(t, nr, a, 0);	/* it will fail, as it should */
	if (E.shared->flags & SOFT_FLAG_NO_INHERIT && r->parent)
		return exec_native(t, nr, a, WHY_NO_INHERIT);
	const uint32_t reason = reason_against(dir, path, flags);
	if (reason)
		return exec_native(t, nr, a, reason);
	if (ask_launcher(r, REQ_EXEC) < 0)
		return exec_native(t, nr, a, WHY_NO_PTRACE);
	count_fold_all(REC_EXECED);
	const long ret = gate(t, nr, a);
	__atomic_store_n(&r->state, REC_RUNNING, __ATOMIC_RELEASE);
	ask_launcher(r, REQ_EXEC_FAILED);
	return ret;
}
