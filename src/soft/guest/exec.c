/* execve and execveat.
 *
 * The launcher attaches with ptrace before the call, injects the engine at the first instruction of
 * the new image and detaches. A program that cannot be entered (a 32-bit one, one that gains
 * privileges, one that another process traces) is execed natively, and a record says so. A call
 * that fails leaves everything as it was.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"


/* ---- asking the launcher ---- */

/* Is this process in another pid namespace, where the launcher's pid means nothing? */
static bool launcher_out_of_sight(void)
{
	char mine[64];
	const long n = sys4(__NR_readlinkat, AT_FDCWD, "/proc/self/ns/pid", mine, sizeof(mine));
	return n <= 0 || (size_t)n != text_len(E.shared->pid_ns) ||
	       !mem_equal(mine, E.shared->pid_ns, (size_t)n);
}

/* Has the process ended, without its parent having waited for it? */
static bool is_zombie(int32_t pid)
{
	const char state = task_state(pid);
	return state == 'Z' || state == 'X';
}

static bool is_closed(void)
{
	return __atomic_load_n(&E.shared->closed, __ATOMIC_ACQUIRE);
}

bool launcher_was_killed(void)
{
	return !is_closed() && E.shared->launcher_pid && !launcher_out_of_sight() &&
	       (sys2(__NR_kill, E.shared->launcher_pid, 0) == -ESRCH || is_zombie(E.shared->launcher_pid));
}

/* The command has ended and this process outlives it, or the launcher was killed. */
static bool launcher_is_gone(void)
{
	return is_closed() || launcher_was_killed();
}

/* A task that was killed while it asked has left its request slot taken. */
static void slots_reclaim(void)
{
	for (uint32_t i = 0; i < SOFT_SLOTS; i++) {
		uint32_t *const taken = &E.shared->slots[i].taken;
		uint32_t who = __atomic_load_n(taken, __ATOMIC_RELAXED);
		if (!who || who == SLOT_OF_STRANGER || sys2(__NR_tkill, who, 0) != -ESRCH ||
		    !__atomic_compare_exchange_n(taken, &who, SLOT_OF_STRANGER, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		/* clear the request of the dead task: it is not the next one's */
		__atomic_store_n(&E.shared->slots[i].request, REQ_NONE, __ATOMIC_RELAXED);
		__atomic_store_n(taken, 0, __ATOMIC_RELEASE);
	}
}

/* NULL: the launcher is gone. */
static struct soft_slot *slot_take(void)
{
	const bool stranger = launcher_out_of_sight();
	const uint32_t me = stranger ? SLOT_OF_STRANGER : (uint32_t)sys0(__NR_gettid);
	for (uint32_t i = 0;; i++) {
		struct soft_slot *const s = &E.shared->slots[i % SOFT_SLOTS];
		uint32_t free = 0;
		if (__atomic_compare_exchange_n(&s->taken, &free, me, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return s;
		if (i % SOFT_SLOTS != SOFT_SLOTS - 1)
			continue;
		if (launcher_is_gone())
			return NULL;
		if (!stranger)
			slots_reclaim();
		sys0(__NR_sched_yield);
	}
}

/* Makes the request of a slot, and waits. 0: the launcher is gone. */
static uint32_t ask_by(struct thread *t, uint32_t what, struct soft_slot *s)
{
	s->record = t->record;
	s->pid = (int32_t)sys0(__NR_getpid);
	s->tid = (int32_t)sys0(__NR_gettid);
	s->reserved_fd = E.reserved_fd;
	/* the first question comes before there are any */
	s->trap_ignored = t->signal.actions && t->signal.actions[SIGTRAP].handler == SIGNAL_IGNORED;
	s->vslot = E.vpmu ? t->vpmu.slot : 0;
	t->task.cookie = now_ns() ^ (uint64_t)s->tid << 40 ^ (uint64_t)s;
	s->cookie_at = (uint64_t)&t->task.cookie;
	s->cookie = t->task.cookie;
	__atomic_store_n(&s->reply, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->request, what, __ATOMIC_RELEASE);
	__atomic_fetch_add(&E.shared->requests, 1, __ATOMIC_RELEASE);
	sys3(__NR_futex, &E.shared->requests, FUTEX_WAKE, 1);
	uint32_t answer;
	const int64_t nap[2] = { 0, 200000000 };
	while (!(answer = __atomic_load_n(&s->reply, __ATOMIC_ACQUIRE)))
		if (sys4(__NR_futex, &s->reply, FUTEX_WAIT, 0, nap) == -ETIMEDOUT && launcher_is_gone())
			break;
	t->task.cookie = 0;
	return answer;
}

static struct soft_slot *slot_to_ask(void)
{
	return is_closed() ? NULL : slot_take();
}

uint32_t ask_launcher(struct thread *t, uint32_t what, const struct soft_stopped *at)
{
	struct soft_slot *const s = slot_to_ask();
	if (!s)
		return REPLY_REFUSED;
	if (at)
		s->stopped = *at;
	const uint32_t answer = ask_by(t, what, s);
	__atomic_store_n(&s->taken, 0, __ATOMIC_RELEASE);
	return answer ? answer : REPLY_REFUSED;
}

bool watch_ask(struct thread *t, struct soft_watched *w)
{
	struct soft_slot *const s = slot_to_ask();
	if (!s)
		return false;
	s->watch = *w;
	const bool answered = ask_by(t, REQ_WATCH, s) == REPLY_GO_ON;
	*w = s->watch;
	__atomic_store_n(&s->taken, 0, __ATOMIC_RELEASE);
	return answered && w->entry;
}

/* Yama lets only an ancestor attach, or a process that is named with PR_SET_PTRACER. A process that
 * is not dumpable lets no other attach; the exec makes it dumpable again anyway. */
static bool ask_to_enter(struct thread *t)
{
	sys2(__NR_prctl, PR_SET_PTRACER, E.shared->launcher_pid);
	if (ask_launcher(t, REQ_EXEC, NULL) == REPLY_GO_ON)
		return true;
	if (sys1(__NR_prctl, PR_GET_DUMPABLE) != 0)
		return false;
	sys2(__NR_prctl, PR_SET_DUMPABLE, 1);
	if (ask_launcher(t, REQ_EXEC, NULL) == REPLY_GO_ON)
		return true;
	sys2(__NR_prctl, PR_SET_DUMPABLE, 0);
	return false;
}

/* ---- what the file is ---- */

static void fd_path(struct line *l, long fd)
{
	l->len = 0;
	line_str(l, "/proc/self/fd/");
	line_num(l, (uint64_t)fd, 10);
	l->text[l->len] = '\0';
}

/* Set-uid and set-gid programs and those with file capabilities are never entered. */
static bool gains_privilege(long fd, const char *by_fd)
{
	struct statx st;
	char caps[64];
	if (sys5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) == 0 &&
	    st.stx_mode & (S_ISUID | S_ISGID))
		return true;
	return sys4(__NR_getxattr, by_fd, "security.capability", caps, sizeof(caps)) > 0;
}

static uint32_t reason_against(long dir, uint64_t path, uint64_t flags, int depth);

/* "#! interpreter argument": the program that runs is the interpreter. */
static uint32_t reason_of_script(char *head, long n, int depth)
{
	char *p = head + 2;
	head[n] = '\0';
	while (*p == ' ' || *p == '\t')
		p++;
	char *end = p;
	while (*end && *end != ' ' && *end != '\t' && *end != '\n')
		end++;
	*end = '\0';
	return *p && depth < 5 ? reason_against(AT_FDCWD, (uint64_t)p, 0, depth + 1) : 0;
}

static uint32_t reason_of_open(long fd, const char *by_fd, int depth)
{
	if (gains_privilege(fd, by_fd))
		return WHY_SETUID;
	const long file = own_open(AT_FDCWD, by_fd, O_CLOEXEC);
	if (file < 0)
		return 0;		/* execute-only: the launcher sees */
	char head[257];
	const long n = sys4(__NR_pread64, file, head, sizeof(head) - 1, 0);
	sys1(__NR_close, file);
	if (n > 2 && head[0] == '#' && head[1] == '!')
		return reason_of_script(head, n, depth);
	if (n >= 20 && mem_equal(head, "\177ELF", 4) && (head[4] != 2 || head[18] != 62))
		return WHY_32BIT;
	return 0;
}

/* 0: can be entered; otherwise enum soft_reason. */
static uint32_t reason_against(long dir, uint64_t path, uint64_t flags, int depth)
{
	struct line l = { 0 };
	char first;
	const bool empty = flags & AT_EMPTY_PATH &&
			   copy_guest(&first, (const void *)path, 1) && !first;
	const long fd = empty ? dir : own_open(dir, (const char *)path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return 0;
	fd_path(&l, fd);
	const uint32_t reason = reason_of_open(fd, l.text, depth);
	if (!empty)
		sys1(__NR_close, fd);
	return reason;
}

/* ---- the call ---- */

/* The record of the native image; NULL: all records are taken. */
static struct soft_record *tell_not_counted(struct thread *t, uint64_t path, uint32_t reason)
{
	const uint32_t i = __atomic_fetch_add(&E.shared->n_records, 1, __ATOMIC_RELAXED);
	if (i >= SOFT_MAX_RECORDS) {
		__atomic_fetch_add(&E.shared->overflowed, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&E.shared->native_beyond, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	struct soft_record *const n = &E.shared->records[i];
	n->pid = n->tid = E.shared->records[t->record].pid;
	n->reason = reason;
	copy_string(n->exe, sizeof(n->exe), path);
	__atomic_store_n(&n->state, REC_NATIVE, __ATOMIC_RELEASE);
	return n;
}

static long make_call(struct thread *t, long nr, const uint64_t *a, bool native)
{
	trace_end(t);
	if (code_log_wanted())
		calls_syscall(t, t->pc - SYSCALL_SIZE, nr, false);
	t->task.exec_counted = true;
	if (!t->is_vfork)		/* its parent may hold the lock, and sleeps */
		lock_take();
	count_fold_all(REC_EXECED);
	if (!t->is_vfork)
		lock_drop();
	signals_as_app(t);
	if (E.hermetic)
		hermetic_execing(t);
	if (E.hermetic && native)
		hermetic_native(t, true);
	if (E.vpmu)
		vpmu_before_exec(t, native ? nr == __NR_execve ? a[0] : a[1] : 0);
	const long ret = gate(t, nr, a);
	if (E.hermetic && native)
		hermetic_native(t, false);
	if (E.vpmu)
		vpmu_exec_failed(t);
	signals_as_engine(t);
	record_state(t, REC_RUNNING);
	return ret;
}

static long exec_native(struct thread *t, long nr, const uint64_t *a, uint32_t reason)
{
	const uint64_t path = a[nr == __NR_execve ? 0 : 1];
	struct soft_record *const record = tell_not_counted(t, path, reason);
	if (E.shared->flags & SOFT_FLAG_REFUSE && reason != WHY_NO_INHERIT)
		return -EPERM;
	traced_again(t);		/* so that it is traced natively */
	sys3(__NR_fcntl, E.reserved_fd, F_SETFD, FD_CLOEXEC);
	const long ret = make_call(t, nr, a, true);
	/* the call has failed: nothing ran */
	if (record)
		__atomic_store_n(&record->state, REC_FREE, __ATOMIC_RELEASE);
	else
		__atomic_fetch_sub(&E.shared->native_beyond, 1, __ATOMIC_RELAXED);
	sys3(__NR_fcntl, E.reserved_fd, F_SETFD, 0);
	return ret;
}

static bool will_fail(long dir, uint64_t path, uint64_t flags)
{
	char first;
	if (!copy_guest(&first, (const void *)path, 1))
		return true;
	if (flags & AT_EMPTY_PATH && !first)
		return false;
	const long ret = sys4(__NR_faccessat2, dir, path, X_OK_, AT_EACCESS);
	return ret < 0 && ret != -ENOSYS;
}

/* Takes guest.execing. (A vfork child has no other threads, and shares the word with its parent: it
 * does not take it.) */
static void exec_begin(const struct thread *t)
{
	uint32_t none;
	while (!t->is_vfork && (none = 0, !__atomic_compare_exchange_n(
			&guest.execing, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		sys4(__NR_futex, &guest.execing, FUTEX_WAIT, 1, 0);
}

static void exec_failed(const struct thread *t)
{
	if (t->is_vfork)
		return;
	__atomic_store_n(&guest.execing, 0, __ATOMIC_RELEASE);
	sys3(__NR_futex, &guest.execing, FUTEX_WAKE, 1);
}

static long exec_now(struct thread *t, long nr, const uint64_t *a)
{
	const bool at = nr == __NR_execveat;
	const long dir = at ? (long)(int32_t)a[0] : AT_FDCWD;
	const uint64_t path = at ? a[1] : a[0], flags = at ? a[4] : 0;

	if (will_fail(dir, path, flags))
		return gate(t, nr, a);		/* for the kernel's own error */
	if (E.shared->flags & SOFT_FLAG_NO_INHERIT && E.shared->records[t->record].parent && !E.hermetic)
		return exec_native(t, nr, a, WHY_NO_INHERIT);
	const uint32_t reason = reason_against(dir, path, flags, 0);
	if (reason)
		return exec_native(t, nr, a, reason);
	traced_release(t);
	const bool entered = ask_to_enter(t);
	if (!entered && E.hermetic && launcher_was_killed())
		sys1(__NR_exit_group, 128 + SIGKILL);	/* natively nobody would end it */
	if (!entered)
		return exec_native(t, nr, a, is_traced() ? WHY_PTRACED : WHY_NO_PTRACE);
	const long ret = make_call(t, nr, a, false);
	ask_launcher(t, REQ_EXEC_FAILED, NULL);
	traced_again(t);
	return ret;
}

long thread_exec(struct thread *t, long nr, const uint64_t *a)
{
	exec_begin(t);
	const long ret = exec_now(t, nr, a);
	exec_failed(t);
	return ret;
}
