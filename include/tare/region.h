/* Counting only a part of a program: setup and teardown stay out of the count.
 *
 *	#include <tare/region.h>
 *	prepare();
 *	tare_region_start();
 *	work();				tare stat --delay -1 ./program
 *	tare_region_stop();		counts this
 *	check();
 *
 * The functions switch the counting of the tare command that measures the program: `tare stat`,
 * `tare annotate`. This header is all that a program needs; nothing has to be linked. In a program
 * that is not measured the functions do nothing, and cost six instructions and, once in a process, a
 * system call; a call of tare_region_dump() or tare_region_zero() likewise. tare_region(3) says what
 * is counted of the switches themselves.
 *
 * With the software engine a switch acts on the process that asks, with all its threads, and is exact
 * to the instruction. With hardware counters it acts on the whole command, all its processes and
 * threads, and is obeyed only with --delay -1.
 *
 * All functions return 1, or 0 if no measurement obeyed. (With the software engine: always 1.)
 *
 * Threads: any thread. Signal handlers: with the software engine only. errno stays as it is.
 */
#ifndef TARE_REGION_H
#define TARE_REGION_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TARE_INLINE
#define TARE_INLINE static inline __attribute__((always_inline))
#endif

/* Counting starts with the next instruction, … */
TARE_INLINE int tare_region_start(void);
/* … stops, … */
TARE_INLINE int tare_region_stop(void);
/* … goes on if it was off and stops if it was on, … */
TARE_INLINE int tare_region_toggle(void);
/* … or starts again at 0: what was counted since the start, or since the last dump, is dropped. */
TARE_INLINE int tare_region_zero(void);
/* What was counted since the start, or since the last dump, is a result of its own, with this name
 * (at most 119 characters; NULL: none). The total includes it. */
TARE_INLINE int tare_region_dump(const char *name);

/* ---- how: not for use ---- */

enum tare_region_request_ {
	TARE_REGION_START_ = 't' << 24 | 'a' << 16, TARE_REGION_STOP_, TARE_REGION_ZERO_, TARE_REGION_DUMP_,
	TARE_REGION_TOGGLE_
};

/* A request to the software engine, in the form of valgrind's client requests. 1: it was obeyed. */
static inline __attribute__((always_inline))
int tare_region_ask_(uintptr_t request, const char *name)
{
#ifdef __x86_64__
	const uintptr_t args[6] = { request, (uintptr_t)name, 0, 0, 0, 0 };
	uintptr_t answer = 0;
	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer) : "a"(args) : "cc", "memory");
	return (int)answer;
#else
	(void)request;
	(void)name;
	return 0;
#endif
}

/* `tare stat --delay -1` with hardware counters gives the command a socket on this descriptor (or on the
 * highest that the limit allows). A process that asks gets a connection of its own, with the descriptors of
 * the counters, and switches these by itself. */
#define TARE_REGION_FD_ 1000
#define TARE_REGION_MAX_ 200
#define TARE_REGION_NAME_ "\0tare-region-"

struct tare_region_link_ {
	int busy;			/* a thread is connecting */
	int state;			/* 0: not asked yet; 1: connected; 2: there is nobody */
	pid_t pid;			/* whose connection it is */
	int socket;
	int n;
	int fds[TARE_REGION_MAX_];
};
__attribute__((weak, visibility("hidden"))) struct tare_region_link_ tare_region_link_;

static inline int tare_region_number_(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur > TARE_REGION_FD_)
		return TARE_REGION_FD_;
	return (int)l.rlim_cur - 1;
}

static inline int tare_region_is_channel_(int fd)
{
	struct sockaddr_un a;
	socklen_t size = sizeof(a);
	return getsockname(fd, (struct sockaddr *)&a, &size) == 0 && a.sun_family == AF_UNIX &&
	       size >= offsetof(struct sockaddr_un, sun_path) + sizeof(TARE_REGION_NAME_) - 1 &&
	       memcmp(a.sun_path, TARE_REGION_NAME_, sizeof(TARE_REGION_NAME_) - 1) == 0;
}

/* Out of the way of the program's own descriptors. */
static inline int tare_region_move_(int fd, int above)
{
	const int high = fcntl(fd, F_DUPFD, above);
	if (high < 0)
		return fd;
	fcntl(high, F_SETFD, FD_CLOEXEC);
	close(fd);
	return high;
}

static inline int tare_region_send_fd_(int to, int fd)
{
	char byte = 'r';
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { &byte, 1 };
	struct msghdr m;
	memset(&m, 0, sizeof(m));
	memset(&control, 0, sizeof(control));
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	m.msg_control = control.bytes;
	m.msg_controllen = sizeof(control.bytes);
	struct cmsghdr *const c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &m, MSG_NOSIGNAL) == 1;
}

/* The answer: how many descriptors, and these. -1: none. */
static inline int tare_region_receive_(int from, int *fds)
{
	int32_t n = -1;
	union {
		char bytes[CMSG_SPACE(TARE_REGION_MAX_ * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { &n, sizeof(n) };
	struct msghdr m;
	ssize_t got;
	memset(&m, 0, sizeof(m));
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	m.msg_control = control.bytes;
	m.msg_controllen = sizeof(control.bytes);
	do
		got = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	const struct cmsghdr *const c = got == sizeof(n) ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS || n <= 0 || c->cmsg_len != CMSG_LEN((size_t)n * sizeof(int)))
		return -1;
	memcpy(fds, CMSG_DATA(c), (size_t)n * sizeof(int));
	return n;
}

static inline int tare_region_connect_(struct tare_region_link_ *l)
{
	const int channel = tare_region_number_();
	int pair[2];
	if (!tare_region_is_channel_(channel) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return 0;
	const int sent = tare_region_send_fd_(channel, pair[1]);
	close(pair[1]);
	l->n = sent ? tare_region_receive_(pair[0], l->fds) : -1;
	if (l->n < 0) {
		close(pair[0]);
		return 0;
	}
	l->socket = tare_region_move_(pair[0], channel);
	for (int i = 0; i < l->n; i++)
		l->fds[i] = tare_region_move_(l->fds[i], channel);
	return 1;
}

/* Connects, the first time that a process asks. Returns whether somebody measures. */
static inline int tare_region_linked_(struct tare_region_link_ *l)
{
	const pid_t pid = getpid();
	while (__atomic_exchange_n(&l->busy, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	if (!l->state || (l->state == 1 && l->pid != pid)) {	/* a fork shares the one of its parent */
		l->pid = pid;
		l->state = tare_region_connect_(l) ? 1 : 2;
	}
	__atomic_store_n(&l->busy, 0, __ATOMIC_RELEASE);
	return l->state == 1;
}

/* Tells the measuring command, with the counters off; waits for its answer if that is due, and returns it:
 * for a toggle, '+' or '-'. */
static inline char tare_region_tell_(const struct tare_region_link_ *l, char what, const char *name)
{
	char text[128];
	size_t n = 1;
	text[0] = what;
	while (name && *name && n < sizeof(text) - 8)
		text[n++] = *name++;
	if (send(l->socket, text, n, MSG_NOSIGNAL) < 0 || what == '+' || what == '-')
		return what;
	while (recv(l->socket, text, sizeof(text), 0) < 0 && errno == EINTR)
		;
	return text[0];
}

__attribute__((noinline, unused))
static int tare_region_counters_(char what, const char *name)
{
	struct tare_region_link_ *const l = &tare_region_link_;
	const unsigned long enable = 0x2400, disable = 0x2401;	/* PERF_EVENT_IOC_… */
	const int err = errno;
	const int linked = l->state != 2 && tare_region_linked_(l);
	if (linked && what == 't')
		what = tare_region_tell_(l, what, name);
	if (linked && what != '-')
		tare_region_tell_(l, what, name);
	/* in the same order, so that each counter sees the same number of instructions of these */
	for (int i = 0; linked && i < l->n && (what == '+' || what == '-'); i++)
		ioctl(l->fds[i], what == '+' ? enable : disable, 0);
	if (linked && what == '-')
		tare_region_tell_(l, what, name);
	errno = err;
	return linked;
}

TARE_INLINE int tare_region_start(void)
{
	return tare_region_ask_(TARE_REGION_START_, NULL) || tare_region_counters_('+', NULL);
}

TARE_INLINE int tare_region_stop(void)
{
	return tare_region_ask_(TARE_REGION_STOP_, NULL) || tare_region_counters_('-', NULL);
}

TARE_INLINE int tare_region_toggle(void)
{
	return tare_region_ask_(TARE_REGION_TOGGLE_, NULL) || tare_region_counters_('t', NULL);
}

TARE_INLINE int tare_region_zero(void)
{
	return tare_region_ask_(TARE_REGION_ZERO_, NULL) || tare_region_counters_('0', NULL);
}

TARE_INLINE int tare_region_dump(const char *name)
{
	return tare_region_ask_(TARE_REGION_DUMP_, name) || tare_region_counters_('d', name);
}

#ifdef __cplusplus
}
#endif
#endif
