/* Process and thread ids of the still world: HERMETIC_FIRST_PID plus the number of the task, in order of
 * creation. The launcher is one less. All other processes of the host are one stranger, of which the program
 * learns nothing else. */
#include "still-room.h"
#include "sys.h"
#include "text.h"

#define LAUNCHER (HERMETIC_FIRST_PID - 1)

/* The number of the task; -1: it is none of the run. Ids are used again, so the last one counts. */
static int64_t number_of(int32_t real)
{
	const struct hermetic_shared *const h = hermetic_shared();
	for (uint32_t i = h->n_tasks; i-- > 0;)
		if (h->tasks[i].tid == real)
			return i;
	return -1;
}

int32_t id_shown(int32_t real)
{
	if (real <= 0)
		return real;
	const int64_t n = number_of(real);
	return n >= 0 ? HERMETIC_FIRST_PID + (int32_t)n :
	       real == E.shared->launcher_pid ? LAUNCHER : HERMETIC_STRANGER;
}

int32_t id_real(int32_t shown)
{
	if (shown == 0 || shown == -1)
		return shown;
	if (shown < 0)
		return -id_real(-shown);
	const uint32_t n = (uint32_t)(shown - HERMETIC_FIRST_PID);
	if (shown == LAUNCHER)
		return E.shared->launcher_pid;
	return shown >= HERMETIC_FIRST_PID && n < hermetic_shared()->n_tasks && hermetic_task(n)->tid > 0 ?
	       hermetic_task(n)->tid : NO_TASK;
}

/* A process that runs natively has made another one, and a tracer sees it: it gets an id then. */
static void note_native(int32_t real)
{
	struct hermetic_shared *const h = hermetic_shared();
	if (real <= 0 || real == E.shared->launcher_pid || number_of(real) >= 0 || h->n_tasks == HERMETIC_TASKS)
		return;
	const uint32_t n = h->n_tasks++;
	h->tasks[n] = (struct hermetic_task){ .tid = real, .pid = real, .group = n, .state = HT_NATIVE, .until = NEVER_NS };
}

/* PTRACE_GETEVENTMSG: at some events it is an id. */
static void show_event(uint64_t at, int32_t tid)
{
	struct k_siginfo info = { 0 };
	uint64_t id;
	if (sys4(__NR_ptrace, PTRACE_GETSIGINFO, tid, 0, &info) < 0)
		return;
	const int32_t event = info.code >> 8;
	const bool makes = event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE;
	if ((!makes && event != PTRACE_EVENT_EXEC && event != PTRACE_EVENT_VFORK_DONE) || !copy_guest(&id, (const void *)at, 8))
		return;
	if (makes)
		note_native((int32_t)id);
	id = (uint64_t)id_shown((int32_t)id);
	put_guest(at, &id, 8);
}

static long do_ptrace(struct thread *t, const uint64_t *a)
{
	const uint64_t b[6] = { a[0], (uint64_t)(int64_t)id_real((int32_t)a[1]), a[2], a[3] };
	const long ret = trace_syscall(t, b);
	if (a[0] == PTRACE_GETEVENTMSG && ret == 0)
		show_event(a[3], (int32_t)b[1]);
	return ret;
}

/* A process group (or what setsid() makes) may have the id of a process that is outside of the run. */
static long group_of(long ret)
{
	return ret > 0 ? id_shown((int32_t)ret) : ret;
}

#define PID_IN_INFO 0			/* in k_siginfo.rest: si_pid, or a timer's si_tid */

static bool info_has_pid(const struct k_siginfo *info)
{
	return info->code == SI_USER || info->code == SI_TKILL ||
	       (info->signo == SIGCHLD && info->code > 0 && info->code < SI_KERNEL);
}

void hermetic_siginfo(struct k_siginfo *info)
{
	int32_t pid;
	__builtin_memcpy(&pid, info->rest + PID_IN_INFO, 4);
	if (!info_has_pid(info) || pid <= 0)
		return;
	pid = id_shown(pid);
	__builtin_memcpy(info->rest + PID_IN_INFO, &pid, 4);
	if (info->signo == SIGCHLD)
		mem_zero(info->rest + 16, 16);		/* si_utime, si_stime */
}

static void show_info(struct thread *t, uint64_t at)
{
	struct k_siginfo info;
	if (!at || !copy_guest(&info, (const void *)at, sizeof(info)))
		return;
	hermetic_siginfo(&info);
	put_guest(at, &info, sizeof(info));
}

/* A call with the id in argument `i`. */
static long with_id(struct thread *t, long nr, const uint64_t *a, int i)
{
	uint64_t b[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	b[i] = (uint64_t)(int64_t)id_real((int32_t)a[i]);
	turn_progress();
	return syscall_usual(t, nr, b);
}

/* ---- fcntl, ioctl, sockets ---- */

#define F_SETOWN_ 8
#define F_GETOWN_ 9
#define F_SETOWN_EX_ 15
#define F_GETOWN_EX_ 16
#define F_OFD_GETLK_ 36
#define PID_IN_FLOCK 24

static long do_fcntl(struct thread *t, const uint64_t *a, bool *done)
{
	int32_t id, owner[2];
	long ret;
	switch ((int)a[1]) {
	case F_SETOWN_:
		return with_id(t, __NR_fcntl, a, 2);
	case F_GETOWN_:
		ret = syscall_usual(t, __NR_fcntl, a);
		return ret > 0 ? id_shown((int32_t)ret) : ret < -4095 ? -id_shown(-(int32_t)ret) : ret;
	case F_SETOWN_EX_: {
		if (!copy_guest(owner, (const void *)a[2], sizeof(owner)))
			return -EFAULT;
		owner[1] = id_real(owner[1]);
		const uint64_t b[6] = { a[0], a[1], (uint64_t)owner };
		return syscall_usual(t, __NR_fcntl, b);
	}
	case F_GETOWN_EX_:
		ret = syscall_usual(t, __NR_fcntl, a);
		if (ret == 0 && copy_guest(&id, (const void *)(a[2] + 4), 4)) {
			id = id_shown(id);
			put_guest(a[2] + 4, &id, 4);
		}
		return ret;
	case F_GETLK:
		ret = syscall_usual(t, __NR_fcntl, a);
		if (ret == 0 && copy_guest(&id, (const void *)(a[2] + PID_IN_FLOCK), 4) && id > 0) {
			id = id_shown(id);
			put_guest(a[2] + PID_IN_FLOCK, &id, 4);
		}
		return ret;
	default:
		*done = false;
		return 0;
	}
}

static long do_ioctl(struct thread *t, const uint64_t *a, bool *done)
{
	int32_t id;
	long ret;
	switch ((uint32_t)a[1]) {
	case TIOCGPGRP:
	case TIOCGSID:
		ret = syscall_usual(t, __NR_ioctl, a);
		if (ret == 0 && copy_guest(&id, (const void *)a[2], 4)) {
			id = id_shown(id);
			put_guest(a[2], &id, 4);
		}
		return ret;
	case TIOCSPGRP: {
		if (!copy_guest(&id, (const void *)a[2], 4))
			return -EFAULT;
		id = id_real(id);
		const uint64_t b[6] = { a[0], a[1], (uint64_t)&id };
		return syscall_usual(t, __NR_ioctl, b);
	}
	default:
		*done = false;
		return 0;
	}
}

#define SOCKET_LEVEL 1
#define PEER_CREDENTIALS 17

static long do_getsockopt(struct thread *t, const uint64_t *a, bool *done)
{
	int32_t id;
	*done = (int)a[1] == SOCKET_LEVEL && (int)a[2] == PEER_CREDENTIALS;
	if (!*done)
		return 0;
	const long ret = syscall_usual(t, __NR_getsockopt, a);
	if (ret == 0 && copy_guest(&id, (const void *)a[3], 4)) {
		id = id_shown(id);
		put_guest(a[3], &id, 4);
	}
	return ret;
}

/* ---- System V ---- */

#define IPC_STAT_ 2
#define MSG_STAT_ 11
#define SHM_STAT_ 13
#define SEM_STAT_ 18
#define MSG_STAT_ANY_ 13
#define SHM_STAT_ANY_ 15
#define SEM_STAT_ANY_ 20
#define SEM_GETPID_ 11
#define NO_IDS (-1)

/* Where struct shmid64_ds and its like have times and ids. */
static const struct {
	uint16_t nr, arg;
	int16_t stat, stat_any, times[3], ids;
} objects[] = {
	{ __NR_shmctl, 2, SHM_STAT_, SHM_STAT_ANY_, { 56, 64, 72 }, 80 },
	{ __NR_msgctl, 2, MSG_STAT_, MSG_STAT_ANY_, { 48, 56, 64 }, 96 },
	{ __NR_semctl, 3, SEM_STAT_, SEM_STAT_ANY_, { 48, 64, 64 }, NO_IDS },
};

/* Who used an object last is one of the run's tasks; when, is the start of the run. */
static long do_object(struct thread *t, long nr, const uint64_t *a, unsigned which)
{
	const int32_t cmd = (int32_t)a[nr == __NR_semctl ? 2 : 1];
	const uint64_t at = a[objects[which].arg], start = EPOCH_S;
	const long ret = syscall_usual(t, nr, a);
	turn_progress();
	if (nr == __NR_semctl && cmd == SEM_GETPID_)
		return ret > 0 ? id_shown((int32_t)ret) : ret;
	if (ret < 0 || (cmd != IPC_STAT_ && cmd != objects[which].stat && cmd != objects[which].stat_any))
		return ret;
	for (int i = 0; i < 3; i++) {
		uint64_t when;
		if (copy_guest(&when, (const void *)(at + (uint64_t)objects[which].times[i]), sizeof(when)) && when)
			put_guest(at + (uint64_t)objects[which].times[i], &start, sizeof(start));
	}
	int32_t ids[2];
	if (objects[which].ids != NO_IDS && copy_guest(ids, (const void *)(at + (uint64_t)objects[which].ids), sizeof(ids))) {
		ids[0] = id_shown(ids[0]);
		ids[1] = id_shown(ids[1]);
		put_guest(at + (uint64_t)objects[which].ids, ids, sizeof(ids));
	}
	return ret;
}

/* ---- what is read ---- */

#define CREDENTIALS 2			/* SCM_CREDENTIALS */
#define INFO_BYTES 128			/* struct signalfd_siginfo … */
#define INFO_SIGNAL 0
#define INFO_CODE 8
#define INFO_PID 12
#define INFO_TIMES 56			/* … ssi_utime, ssi_stime */

/* The length of what was read alone does not say that it was from a signalfd. */
static bool is_anonymous(int32_t fd, const char *kind)
{
	char name[32];
	struct line path = { 0 };
	line_str(&path, "/proc/self/fd/");
	line_num(&path, (uint64_t)(uint32_t)fd, 10);
	const long n = sys4(__NR_readlinkat, AT_FDCWD, path.text, name, sizeof(name) - 1);
	if (n <= 0)
		return false;
	name[n] = '\0';
	return text_equal(name, kind);
}

static void show_signals(struct thread *t, uint64_t at, uint64_t n)
{
	static const uint64_t no_times[2] = { 0, 0 };
	for (; n >= INFO_BYTES; at += INFO_BYTES, n -= INFO_BYTES) {
		struct k_siginfo info = { 0 };
		uint32_t word[INFO_PID / 4 + 1];
		if (!copy_guest(word, (const void *)at, sizeof(word)))
			return;
		info.signo = (int32_t)word[INFO_SIGNAL / 4];
		info.code = (int32_t)word[INFO_CODE / 4];
		if (!info_has_pid(&info))
			continue;
		const int32_t pid = id_shown((int32_t)word[INFO_PID / 4]);
		put_guest(at + INFO_PID, &pid, sizeof(pid));
		if (info.signo == SIGCHLD)
			put_guest(at + INFO_TIMES, no_times, sizeof(no_times));
	}
}

/* The ids of senders that came with a message. */
static void show_senders(struct thread *t, uint64_t message)
{
	struct { uint64_t to, to_len, iov, n_iov, control, control_len; } m;
	struct { uint64_t len; int32_t level, type, pid; } c;
	if (!copy_guest(&m, (const void *)message, sizeof(m)) || !m.control)
		return;
	for (uint64_t at = 0; at + sizeof(c) <= m.control_len; at += (c.len + 7) & ~7ull) {
		if (!copy_guest(&c, (const void *)(m.control + at), sizeof(c)) || c.len < 16)
			return;
		if (c.level != SOCKET_LEVEL || c.type != CREDENTIALS)
			continue;
		const int32_t pid = id_shown(c.pid);
		put_guest(m.control + at + 16, &pid, sizeof(pid));
	}
}

#define EVENT_COOKIE 8			/* struct inotify_event: wd, mask, cookie, len, name */
#define EVENT_LEN 12
#define EVENT_BYTES 16

/* The kernel counts the renames of all processes: the program sees those that it is told of, counted. */
static uint32_t cookie_shown(uint32_t real)
{
	struct hermetic_shared *const h = hermetic_shared();
	for (uint32_t n = h->n_cookies; n > 0 && n + HERMETIC_COOKIES > h->n_cookies; n--)
		if (h->cookies[(n - 1) % HERMETIC_COOKIES] == real)
			return n;
	h->cookies[h->n_cookies++ % HERMETIC_COOKIES] = real;
	return h->n_cookies;
}

static void show_notices(struct thread *t, uint64_t at, uint64_t n)
{
	uint32_t e[EVENT_BYTES / 4];
	for (uint64_t i = 0; i + EVENT_BYTES <= n; i += EVENT_BYTES + (uint64_t)e[EVENT_LEN / 4]) {
		if (!copy_guest(e, (const void *)(at + i), sizeof(e)))
			return;
		const uint32_t cookie = e[EVENT_COOKIE / 4] ? cookie_shown(e[EVENT_COOKIE / 4]) : 0;
		if (cookie)
			put_guest(at + i + EVENT_COOKIE, &cookie, sizeof(cookie));
	}
}

void ids_read(struct thread *t, long nr, const uint64_t *a, long ret)
{
	if (nr == __NR_recvmsg && ret >= 0)
		show_senders(t, a[1]);
	if (nr == __NR_read && ret > 0 && ret % INFO_BYTES == 0 && hermetic_shared()->signal_fds &&
	    is_anonymous((int32_t)a[0], "anon_inode:[signalfd]"))
		show_signals(t, a[1], (uint64_t)ret);
	if (nr == __NR_read && ret >= EVENT_BYTES && hermetic_shared()->notifies && is_anonymous((int32_t)a[0], "anon_inode:inotify"))
		show_notices(t, a[1], (uint64_t)ret);
}

/* ---- what is sent ---- */

const uint64_t *ids_sent(const uint64_t *a, struct message_sent *s)
{
	struct { uint64_t len; int32_t level, type, pid; } c;
	char *const control = (char *)s->control;
	bool any = false;
	if (!copy_guest(s->m, (const void *)a[1], sizeof(s->m)) || !s->m[MESSAGE_CONTROL] ||
	    s->m[MESSAGE_CONTROL + 1] > sizeof(s->control) ||
	    !copy_guest(control, (const void *)s->m[MESSAGE_CONTROL], s->m[MESSAGE_CONTROL + 1]))
		return a;
	for (uint64_t at = 0; at + sizeof(c) <= s->m[MESSAGE_CONTROL + 1]; at += (c.len + 7) & ~7ull) {
		__builtin_memcpy(&c, control + at, sizeof(c));
		if (c.len < 16 || c.len > sizeof(s->control))
			break;
		if (c.level != SOCKET_LEVEL || c.type != CREDENTIALS)
			continue;
		const int32_t pid = id_real(c.pid);
		__builtin_memcpy(control + at + 16, &pid, sizeof(pid));
		any = true;
	}
	if (!any)
		return a;
	s->m[MESSAGE_CONTROL] = (uint64_t)control;
	for (int i = 0; i < 6; i++)
		s->a[i] = i == 1 ? (uint64_t)s->m : a[i];
	return s->a;
}

/* ---- waiting for children ---- */

/* What the child ran counts for its parent from now on. */
static void reaped(struct thread *t, int32_t real)
{
	const int64_t n = number_of(real);
	if (n < 0)
		return;
	struct hermetic_task *const parent = hermetic_task(own_task(t)->group);
	const struct hermetic_shared *const h = hermetic_shared();
	parent->children += hermetic_task((uint32_t)n)->children;
	for (uint32_t i = (uint32_t)n; i < h->n_tasks; i++)
		if (h->tasks[i].group == (uint32_t)n)
			parent->children += h->tasks[i].ran;
	hermetic_task((uint32_t)n)->state = HT_ENDED;
	hermetic_task((uint32_t)n)->tid = -1;		/* the kernel may use it for another one */
}

static uint64_t ran_by(int32_t real)
{
	const int64_t n = number_of(real);
	uint64_t ns = 0;
	if (n < 0)
		return 0;
	const struct hermetic_shared *const h = hermetic_shared();
	ns = hermetic_task((uint32_t)n)->children;
	for (uint32_t i = (uint32_t)n; i < h->n_tasks; i++)
		if (h->tasks[i].group == (uint32_t)n)
			ns += h->tasks[i].ran;
	return ns;
}

static void put_usage(struct thread *t, uint64_t at, uint64_t ns)
{
	const uint64_t v[18] = { ns / NS, ns % NS / 1000, 0, 0, 4096 };
	if (at)
		put_guest(at, v, sizeof(v));
}

static bool has_ended(int32_t status)
{
	return (status & 0xff) != 0x7f && status != 0xffff;
}

long wait_for_child(struct thread *t, long nr, const uint64_t *a)
{
	uint64_t b[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	int32_t status = 0;
	const int i = nr == __NR_wait4 ? 0 : 1;
	const uint64_t no_wait = 0x01000000;
	b[i] = (uint64_t)(int64_t)id_real((int32_t)a[i]);
	if (nr == __NR_wait4) {
		b[1] = (uint64_t)&status;
		const long ret = syscall_usual(t, nr, b);
		if (ret <= 0)
			return ret;
		if (hermetic_shared()->traces)
			note_native((int32_t)ret);
		const int32_t shown = id_shown((int32_t)ret);
		const uint64_t ns = ran_by((int32_t)ret);
		if (has_ended(status))
			reaped(t, (int32_t)ret);
		if (a[1] && !put_guest(a[1], &status, 4))
			return -EFAULT;
		put_usage(t, a[3], ns);
		return shown;
	}
	struct k_siginfo info = { 0 };
	if ((uint32_t)a[0] == 3)		/* P_PIDFD */
		b[1] = a[1];
	b[2] = (uint64_t)&info;
	const long ret = syscall_usual(t, nr, b);
	if (ret)
		return ret;
	int32_t pid;
	__builtin_memcpy(&pid, info.rest, 4);
	if (hermetic_shared()->traces)
		note_native(pid);
	const uint64_t ns = pid > 0 ? ran_by(pid) : 0;
	hermetic_siginfo(&info);
	if (pid > 0 && !(a[3] & no_wait) && info.code >= CLD_EXITED && info.code <= CLD_DUMPED)
		reaped(t, pid);
	/* the kernel writes 28 bytes, and 0 for no child */
	if (a[2] && !put_guest(a[2], &info, 28))
		return -EFAULT;
	put_usage(t, a[4], ns);
	return 0;
}

/* ---- /proc ---- */

static bool put_number(struct line *l, const char *digits, const char **rest)
{
	uint64_t n;
	*rest = text_decimal(digits, &n);
	if (*rest == digits)
		return false;
	line_num(l, (uint64_t)(uint32_t)id_real(n && n <= NO_TASK ? (int32_t)n : NO_TASK), 10);
	return true;
}

bool ids_path(const char *path, char *to, size_t size)
{
	struct line l = { 0 };
	const char *rest = path;
	bool found = false;
	if (!text_starts(path, "/proc/"))
		return false;
	line_str(&l, "/proc/");
	if (put_number(&l, path + 6, &rest)) {
		found = true;
	} else {
		for (rest = path + 6; *rest && *rest != '/'; rest++)
			line_str(&l, (const char[]){ *rest, '\0' });
	}
	if (text_starts(rest, "/task/")) {
		const char *after;
		line_str(&l, "/task/");
		found |= put_number(&l, rest + 6, &after);
		rest = after;
	}
	line_str(&l, rest);
	if (!found || l.len >= size || l.len >= sizeof(l.text))
		return false;
	copy_text(to, size, l.text, l.len);
	return true;
}

bool ids_entry(const char *name, char *to, size_t size)
{
	uint64_t n;
	struct line l = { 0 };
	const char *const end = text_decimal(name, &n);
	if (end == name) {
		copy_text(to, size, name, text_len(name));
		return true;
	}
	const int32_t shown = n <= NO_TASK ? id_shown((int32_t)n) : HERMETIC_STRANGER;
	if (shown < HERMETIC_FIRST_PID)
		return false;
	line_num(&l, (uint64_t)shown, 10);
	line_str(&l, end);
	copy_text(to, size, l.text, l.len);
	return true;
}

bool ids_entry_of(const char *path, char *to, size_t size)
{
	uint64_t n;
	struct line l = { 0 };
	const char *const end = text_decimal(path + 6, &n);
	if (end == path + 6 || text_len(path) + 12 > sizeof(l.text))
		return false;
	line_str(&l, "/proc/");
	line_num(&l, (uint64_t)(n <= NO_TASK ? id_shown((int32_t)n) : HERMETIC_STRANGER), 10);
	line_str(&l, end);
	copy_text(to, size, l.text, l.len);
	return true;
}

/* ---- the calls ---- */

/* The process of a pidfd. */
static int32_t pid_of_fd(int32_t fd)
{
	struct line path = { 0 };
	char text[512];
	uint64_t pid = NO_TASK;
	line_str(&path, "/proc/self/fdinfo/");
	line_num(&path, (uint64_t)(uint32_t)fd, 10);
	path.text[path.len] = '\0';
	const long info = own_open(AT_FDCWD, path.text, O_CLOEXEC);
	const long n = info < 0 ? 0 : sys3(__NR_read, info, text, sizeof(text) - 1);
	if (info >= 0)
		sys1(__NR_close, info);
	text[n > 0 ? n : 0] = '\0';
	for (const char *p = text; *p; p++)
		if ((p == text || p[-1] == '\n') && text_starts(p, "Pid:\t"))
			text_decimal(p + 5, &pid);
	return pid && pid < NO_TASK ? (int32_t)pid : NO_TASK;
}

/* May a signal to `to`, as in kill(), be for that task's process, with the kernel's ids? */
static bool is_sent_to(const struct hermetic_task *k, int32_t to)
{
	if (k->state >= HT_ENDING || k->tid != k->pid || k->pid <= 0)
		return false;
	return to > 0 ? k->pid == to : to == -1 || sys1(__NR_getpgid, k->pid) == (to ? -to : sys0(__NR_getpgrp));
}

/* SIGKILL ends processes at some time: nothing else happens until then. They cannot mark their locks themselves. */
static long send_kill(struct thread *t, long nr, const uint64_t *a, int32_t thread, int32_t to)
{
	const struct hermetic_shared *const h = hermetic_shared();
	for (uint32_t i = h->first_live; i < h->n_tasks; i++)
		if (is_sent_to(&h->tasks[i], to) && sys2(__NR_kill, h->tasks[i].pid, 0) == 0)
			robust_process_ended(i);
	const long ret = stops_signal(t, nr, a, thread, SIGKILL);
	for (uint32_t i = h->first_live; ret == 0 && i < h->n_tasks; i++)
		if (h->tasks[i].pid != E.pid && is_sent_to(&h->tasks[i], to))
			turn_killed(h->tasks[i].pid);
	return ret;
}

/* `thread` is the kernel's id that the call has, `to` that of its process. */
static long send_signal(struct thread *t, long nr, const uint64_t *a, int32_t thread, int32_t to, int32_t sig)
{
	if (sig == SIGKILL && !t->is_vfork)
		return send_kill(t, nr, a, thread, to);
	return stops_signal(t, nr, a, thread, sig);
}

long ids_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	long ret;
	*done = true;
	switch (nr) {
	case __NR_getpid:
		return HERMETIC_FIRST_PID + (long)own_task(t)->group;
	case __NR_gettid:
		return HERMETIC_FIRST_PID + (long)t->hermetic.number;
	case __NR_set_tid_address:
		ret = syscall_usual(t, nr, a);
		t->hermetic.clear_tid = a[0];
		return ret > 0 ? HERMETIC_FIRST_PID + (long)t->hermetic.number : ret;
	case __NR_getppid:
	case __NR_getpgrp:
	case __NR_setsid:
		return group_of(syscall_usual(t, nr, a));
	case __NR_getpgid:
	case __NR_getsid:
		return group_of(with_id(t, nr, a, 0));
	case __NR_setpgid: {
		const uint64_t b[6] = { (uint64_t)(int64_t)id_real((int32_t)a[0]), (uint64_t)(int64_t)id_real((int32_t)a[1]) };
		return syscall_usual(t, nr, b);
	}
	case __NR_tgkill:
	case __NR_rt_tgsigqueueinfo: {
		const uint64_t b[6] = { (uint64_t)(int64_t)id_real((int32_t)a[0]), (uint64_t)(int64_t)id_real((int32_t)a[1]), a[2],
					a[3] };
		return send_signal(t, nr, b, (int32_t)b[1], (int32_t)b[0], (int32_t)a[2]);
	}
	case __NR_kill:
	case __NR_rt_sigqueueinfo:
	case __NR_tkill: {
		const int32_t to = id_real((int32_t)a[0]);
		const uint64_t b[6] = { (uint64_t)(int64_t)to, a[1], a[2] };
		return send_signal(t, nr, b, to, to, (int32_t)a[1]);
	}
	case __NR_pidfd_send_signal: {
		const int32_t to = pid_of_fd((int32_t)a[0]);
		return send_signal(t, nr, a, to, to, (int32_t)a[1]);
	}
	case __NR_rt_sigprocmask:
		return stops_mask(t, nr, a);
	case __NR_sched_setparam:
	case __NR_sched_getparam:
	case __NR_sched_setscheduler:
	case __NR_sched_getscheduler:
	case __NR_sched_rr_get_interval:
	case __NR_sched_setattr:
	case __NR_sched_getattr:
	case __NR_sched_setaffinity:
	case __NR_sched_getaffinity:
	case __NR_get_robust_list:
	case __NR_process_vm_readv:
	case __NR_process_vm_writev:
	case __NR_pidfd_open:
		return with_id(t, nr, a, 0);
	case __NR_getpriority:
	case __NR_setpriority:
	case __NR_ioprio_get:
	case __NR_ioprio_set:
		return with_id(t, nr, a, 1);
	case __NR_ptrace:
		return do_ptrace(t, a);
	case __NR_fcntl:
		return do_fcntl(t, a, done);
	case __NR_ioctl:
		return do_ioctl(t, a, done);
	case __NR_shmctl:
		return do_object(t, nr, a, 0);
	case __NR_msgctl:
		return do_object(t, nr, a, 1);
	case __NR_semctl:
		return do_object(t, nr, a, 2);
	case __NR_getsockopt:
		return do_getsockopt(t, a, done);
	case __NR_signalfd:
	case __NR_signalfd4:
		hermetic_shared()->signal_fds = 1;
		return syscall_usual(t, nr, a);
	default:
		*done = false;
		return 0;
	}
}

long show_waited_info(struct thread *t, const uint64_t *a, long ret)
{
	if (ret > 0)
		show_info(t, a[1]);
	return ret;
}
