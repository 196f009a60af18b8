/* The kernel writes results of system calls to pages with code, which the engine guards against stores.
 * Calls that take something away before they write must not fail, nor do less than natively. Such pages
 * are stacks with code for nested functions, and memory of JIT compilers. */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RET 0xc3

/* Calls code at that address: from then on the engine guards its page. */
static void run_at(void *code)
{
	((void (*)(void))code)();
}

/* A new page with code, which has run, and room for results. */
static void *page_with_code(void)
{
	unsigned char *const p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	p[0] = RET;
	run_at(p);
	return p + 1024;
}

/* The same, with a copy of `what` in its room. */
static void *page_with(const void *what, size_t n)
{
	unsigned char *const p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p[0] = RET;
	memcpy(p + 1024, what, n);
	run_at(p);
	return p + 1024;
}

static void say(const char *what, long ret, long value)
{
	printf("%s: %ld%s%s, %ld\n", what, ret, ret < 0 ? " " : "", ret < 0 ? strerror(errno) : "", value);
}

/* `value` is of after the call. */
#define SAY(what, call, value)				\
	do {						\
		const long returned = (call);		\
		say(what, returned, (long)(value));	\
	} while (0)

static void child_exits(int status)
{
	fflush(stdout);
	if (!fork())
		_exit(status);
}

static void waiting(void)
{
	int *const status = page_with_code();
	child_exits(7);
	SAY("wait4", wait4(-1, status, 0, page_with_code()) > 0, WEXITSTATUS(*status));
	siginfo_t *const info = page_with_code();
	child_exits(8);
	SAY("waitid", waitid(P_ALL, 0, info, WEXITED), info->si_status);
}

static void pair(int type, int s[2])
{
	if (socketpair(AF_UNIX, type, 0, s))
		perror("socketpair");
	fcntl(s[0], F_SETFL, O_NONBLOCK);
}

static void put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		perror("write");
}

static void messages(void)
{
	int s[2];
	char *text = page_with_code(), *more = page_with_code(), plain[2];
	struct iovec v[2] = { { plain, 2 }, { text, 10 } };
	pair(SOCK_STREAM, s);
	put(s[1], "hello world");
	long n = readv(s[0], v, 2);
	printf("readv %ld %.9s\n", n, text);

	text = page_with_code();
	struct msghdr m = { .msg_iov = &(struct iovec){ text, 10 }, .msg_iovlen = 1 };
	pair(SOCK_DGRAM, s);
	put(s[1], "one");
	n = recvmsg(s[0], page_with(&m, sizeof(m)), 0);
	printf("recvmsg %ld %.3s\n", n, text);

	put(s[1], "two");
	put(s[1], "three");
	struct iovec iov[2] = { { plain, 2 }, { more, 10 } };
	struct mmsghdr mm[2] = { { .msg_hdr = { .msg_iov = &iov[0], .msg_iovlen = 1 } },
				 { .msg_hdr = { .msg_iov = &iov[1], .msg_iovlen = 1 } } };
	struct mmsghdr *const known = page_with(mm, sizeof(mm));
	n = recvmmsg(s[0], known, 2, 0, NULL);
	printf("recvmmsg %ld %u %u %.5s\n", n, known[0].msg_len, known[1].msg_len, more);

	iov[1] = (struct iovec){ (char[]){ "abc" }, 3 };
	struct mmsghdr *const sent = page_with(mm, sizeof(mm));
	n = sendmmsg(s[1], sent, 2, 0);
	long left = 0;
	while (recv(s[0], plain, 2, 0) > 0)
		left++;
	printf("sendmmsg %ld %u %u, %ld\n", n, sent[0].msg_len, sent[1].msg_len, left);

	const int q = msgget(IPC_PRIVATE, 0600);
	struct { long type; char text[8]; } in = { 1, "message" }, *const out = page_with_code();
	msgsnd(q, &in, 8, 0);
	n = msgrcv(q, out, 8, 0, IPC_NOWAIT);
	printf("msgrcv %ld %ld %.8s\n", n, out->type, out->text);
	msgctl(q, IPC_RMID, NULL);
}

static void network(void)
{
	const socklen_t size = sizeof(struct sockaddr_in);
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = size;
	const int u = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
	char text[8];
	bind(u, (void *)&at, size);
	getsockname(u, (void *)&at, &n);
	sendto(from, "udp", 3, 0, (void *)&at, size);
	struct sockaddr_in *peer = page_with_code();
	SAY("recvfrom", recvfrom(u, text, 8, 0, (void *)peer, page_with(&size, 4)), peer->sin_family);

	const int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	at.sin_port = 0;
	bind(l, (void *)&at, size);
	listen(l, 1);
	getsockname(l, (void *)&at, &n);
	connect(c, (void *)&at, size);
	const struct pollfd ready = { .fd = l, .events = POLLIN };
	struct pollfd *const p = page_with(&ready, sizeof(ready));
	SAY("poll", poll(p, 1, 10000), p->revents);
	fcntl(l, F_SETFL, O_NONBLOCK);
	peer = page_with_code();
	socklen_t *const len = page_with(&size, 4);
	SAY("accept", accept(l, (void *)peer, len) > 0, peer->sin_family + (long)*len);
	close(l);

	const int none = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	connect(none, (void *)&at, size);
	poll(&(struct pollfd){ .fd = none, .events = POLLOUT }, 1, 10000);
	int *const err = page_with_code();
	const socklen_t four = 4;
	SAY("getsockopt", getsockopt(none, SOL_SOCKET, SO_ERROR, err, page_with(&four, 4)), *err == ECONNREFUSED);
}

static void files(void)
{
	const int a = memfd_create("a", 0), b = memfd_create("b", 0);
	const off_t begin = 2;
	int pipes[2];
	put(a, "0123456789");
	off_t *at = page_with(&begin, sizeof(begin));
	SAY("sendfile", sendfile(b, a, at, 3), *at + 10 * lseek(b, 0, SEEK_CUR));
	loff_t *const off = page_with(&begin, sizeof(begin));
	SAY("copy_file_range", copy_file_range(a, off, b, NULL, 3, 0), *off + 10 * lseek(b, 0, SEEK_CUR));
	if (pipe(pipes))
		perror("pipe");
	at = page_with(&begin, sizeof(begin));
	SAY("splice", splice(a, at, pipes[1], NULL, 3, 0), *at);
	char *const text = page_with_code();
	SAY("read", read(pipes[0], text, 100), text[2]);
}

static void nothing(int sig)
{
	(void)sig;
}

static void times(void)
{
	const struct itimerval soon = { .it_value = { 0, 20000 } }, late = { .it_value = { 5000, 0 } }, off = { 0 };
	const struct itimerspec later = { .it_value = { 6000, 0 } }, never = { 0 };
	setitimer(ITIMER_REAL, &late, NULL);
	struct itimerval *const old = page_with_code();
	SAY("setitimer", setitimer(ITIMER_REAL, &off, old), old->it_value.tv_sec > 4000);
	const int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(fd, 0, &later, NULL);
	struct itimerspec *was = page_with_code();
	SAY("timerfd_settime", timerfd_settime(fd, 0, &never, was), was->it_value.tv_sec > 5000);
	timer_t timer;
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	timer_create(CLOCK_MONOTONIC, &none, &timer);
	timer_settime(timer, 0, &later, NULL);
	was = page_with_code();
	SAY("timer_settime", timer_settime(timer, 0, &never, was), was->it_value.tv_sec > 5000);
	const struct rlimit less = { 1000, 2000 }, least = { 500, 2000 };
	setrlimit(RLIMIT_MSGQUEUE, &less);
	struct rlimit *const limit = page_with_code();
	SAY("prlimit", prlimit(0, RLIMIT_MSGQUEUE, &least, limit), limit->rlim_cur);
	signal(SIGALRM, nothing);
	setitimer(ITIMER_REAL, &soon, NULL);
	const struct timespec long_time = { 3000, 0 };
	struct timespec *const rest = page_with_code();
	SAY("nanosleep", nanosleep(&long_time, rest), rest->tv_sec > 2000);
}

static void signals(void)
{
	sigset_t set;
	const struct sigaction ignored = { .sa_handler = SIG_IGN }, normal = { .sa_handler = SIG_DFL };
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaction(SIGUSR2, &ignored, NULL);
	struct sigaction *const old = page_with_code();
	SAY("sigaction", sigaction(SIGUSR2, &normal, old), old->sa_handler == SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigset_t *const mask = page_with_code();
	SAY("sigprocmask", sigprocmask(SIG_BLOCK, &set, mask), sigismember(mask, SIGUSR1));
	raise(SIGUSR1);
	sigset_t *const pending = page_with_code();
	SAY("sigpending", sigpending(pending), sigismember(pending, SIGUSR1));
	siginfo_t *const info = page_with_code();
	SAY("sigtimedwait", sigtimedwait(&set, info, &(struct timespec){ 10, 0 }), info->si_signo);
	const stack_t stack = { .ss_sp = page_with_code(), .ss_size = 5000 };
	stack_t *const was = page_with_code();
	sigaltstack(&stack, NULL);
	SAY("sigaltstack", sigaltstack(NULL, was), was->ss_size);
}

static volatile int handled;

static void on_stack(int sig)
{
	handled = sig;
}

/* A frame of a signal, and code right below it. */
static void frame(void)
{
	const size_t size = 1 << 16;
	unsigned char *const p = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t stack = { .ss_sp = p, .ss_size = size }, none = { .ss_flags = SS_DISABLE };
	const struct sigaction act = { .sa_handler = on_stack, .sa_flags = SA_ONSTACK };
	sigaction(SIGUSR2, &act, NULL);
	sigaltstack(&stack, NULL);
	memset(p, RET, size);
	for (size_t at = 0; at < size; at += 4096)
		run_at(p + at);
	raise(SIGUSR2);
	printf("frame: %d\n", handled == SIGUSR2);
	sigaltstack(&none, NULL);
}

static void ready(void)
{
	int p[2];
	if (pipe(p))
		perror("pipe");
	put(p[1], "x");
	const struct pollfd in = { .fd = p[0], .events = POLLIN };
	struct pollfd *const fd = page_with(&in, sizeof(in));
	SAY("ppoll", ppoll(fd, 1, NULL, NULL), fd->revents);
	fd_set set;
	FD_ZERO(&set);
	FD_SET(p[0], &set);
	FD_SET(p[1], &set);
	fd_set *const out = page_with(&set, sizeof(set));
	SAY("select", select(64, out, NULL, NULL, NULL), FD_ISSET(p[1], out));
	fd_set *const again = page_with(&set, sizeof(set));
	sigset_t mask;
	sigemptyset(&mask);
	SAY("pselect", pselect(64, again, NULL, NULL, NULL, &mask), FD_ISSET(p[1], again));
	const int e = epoll_create1(0);
	epoll_ctl(e, EPOLL_CTL_ADD, p[0], &(struct epoll_event){ .events = EPOLLIN | EPOLLONESHOT, .data.u32 = 5 });
	struct epoll_event *const event = page_with_code();
	SAY("epoll_pwait", epoll_pwait(e, event, 1, 0, &mask), event->data.u32);
	char *const name = page_with_code();
	prctl(PR_SET_NAME, "outputs");
	SAY("prctl", prctl(PR_GET_NAME, name), strlen(name));
	uint64_t *const fs = page_with_code();
	SAY("arch_prctl", syscall(SYS_arch_prctl, ARCH_GET_FS, fs), *fs != 0);
}

static int *status_of_child;
static int wakes_child[2];

/* Runs the code once the first thread waits in the kernel. */
static void *runner(void *first)
{
	char path[64], text[200];
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *(pid_t *)first);
	for (char state = 0; state != 'S'; sched_yield()) {
		FILE *const f = fopen(path, "r");
		if (f && fgets(text, sizeof(text), f))
			state = strrchr(text, ')')[2];
		if (f)
			fclose(f);
	}
	run_at((char *)status_of_child - 1024);
	put(wakes_child[1], "x");
	return NULL;
}

/* The page is guarded while the call is in progress. */
static void meanwhile(void)
{
	pthread_t t;
	pid_t self = getpid();
	char c;
	status_of_child = page_with_code();
	if (pipe(wakes_child))
		perror("pipe");
	fflush(stdout);
	if (!fork())
		_exit(read(wakes_child[0], &c, 1) == 1 ? 9 : 1);
	pthread_create(&t, NULL, runner, &self);
	SAY("wait4, other thread", wait4(-1, status_of_child, 0, NULL) > 0, WEXITSTATUS(*status_of_child));
	pthread_join(t, NULL);
}

/* The C library's data of a thread is above its stack: the kernel writes the number of the CPU there, and
 * clears a word when the thread ends. */
static void *on_such_a_stack(void *arg)
{
	volatile unsigned char code = RET;
	const uintptr_t own = (uintptr_t)pthread_self();
	(void)arg;
	for (int i = 0; i < 1000; i++) {
		run_at((void *)(uintptr_t)&code);
		if (i % 100 == 0)
			sched_yield();
	}
	return (void *)(own - (uintptr_t)&code < 65536 ? (uintptr_t)1 : 0);
}

static void stacks(void)
{
	const size_t size = 1 << 20;
	int good = 0;
	for (int i = 0; i < 20; i++) {
		pthread_attr_t attr;
		pthread_t t;
		void *ret = NULL, *const stack = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_attr_init(&attr);
		pthread_attr_setstack(&attr, stack, size);
		pthread_create(&t, &attr, on_such_a_stack, NULL);
		pthread_join(t, &ret);
		good += ret != NULL;
		munmap(stack, size);
	}
	printf("threads: %d\n", good);
}

int main(void)
{
	waiting();
	messages();
	network();
	files();
	times();
	signals();
	frame();
	ready();
	meanwhile();
	stacks();
	return 0;
}
