/* Threads and processes that depend on their order: hermetic-tasks WHAT [N]. What is printed shows the order. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned long order;		/* of what happened, not synchronised */

static void note(unsigned long who)
{
	order = order * 31 + who;
}

/* ---- mutex and condition variable ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int head, tail;

static void *produce(void *who)
{
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&lock);
		while (head - tail >= 5)
			pthread_cond_wait(&changed, &lock);
		head++;
		note((unsigned long)who);
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		for (volatile unsigned long k = 0; k < 50 * (unsigned long)who; k++)
			;
	}
	return NULL;
}

static void *consume(void *who)
{
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&lock);
		while (head == tail)
			pthread_cond_wait(&changed, &lock);
		tail++;
		note(100 + (unsigned long)who);
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* ---- atomics: a lock-free stack, and a spin lock ---- */

static struct node { struct node *next; unsigned long who; } pool[64][2000];
static _Atomic(struct node *) top;
static atomic_flag spin = ATOMIC_FLAG_INIT;

static void *push(void *who)
{
	const unsigned long me = (unsigned long)who;
	for (int i = 0; i < 2000; i++) {
		struct node *const n = &pool[me % 64][i];
		n->who = me;
		n->next = atomic_load(&top);
		while (!atomic_compare_exchange_weak(&top, &n->next, n))
			;
		while (atomic_flag_test_and_set(&spin))
			;
		note(me);
		atomic_flag_clear(&spin);
	}
	return NULL;
}

static void threads(int n, void *(*a)(void *), void *(*b)(void *))
{
	pthread_t t[64];
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, i & 1 ? b : a, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	unsigned long k = 0;
	for (const struct node *p = top; p; p = p->next)
		k = k * 33 + p->who;
	printf("order %lx stack %lx\n", order, k);
}

/* A variable that is read and written in two steps. */
static volatile long unguarded;

/* Two threads, of which one must be stopped within a few instructions for the other to see it. */
static volatile int half;

static void *seldom(void *who)
{
	for (volatile int k = 0; k < 20000; k++)
		;
	if (half)
		printf("seen\n");
	half = 1;
	for (volatile int k = 0; k < 3000; k++)
		;
	half = 0;
	return who;
}

static void *race(void *who)
{
	for (int i = 0; i < 100000; i++) {
		const long v = unguarded;
		unguarded = v + 1;
	}
	return who;
}

/* ---- processes ---- */

static void tree(int depth, int fd)
{
	int p[2];
	char c;
	if (pipe(p))
		exit(1);
	for (int i = 0; depth && i < 3; i++)
		if (!fork()) {
			close(p[0]);
			tree(depth - 1, p[1]);
			_exit(0);
		}
	close(p[1]);
	dprintf(fd, "%d", depth);
	while (read(p[0], &c, 1) == 1)
		if (write(fd, &c, 1) != 1)
			exit(1);
	while (wait(NULL) > 0)
		;
}

/* The processes have only a page to agree by. */
static void shared(void)
{
	_Atomic int *const turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long spins = 0;
	const pid_t child = fork();
	const int me = child ? 0 : 1;
	for (int i = 0; i < 20; i++) {
		while (atomic_load(turn) % 2 != me)
			spins++;
		atomic_fetch_add(turn, 1);
	}
	if (!child)
		_exit(spins % 251);
	int status;
	waitpid(child, &status, 0);
	printf("shared %d %ld %d\n", *turn, spins, WEXITSTATUS(status));
}

/* ---- timers and signals ---- */

static volatile sig_atomic_t n_signals;
static volatile long work, at[8];

static void on_signal(int sig)
{
	(void)sig;
	if (n_signals < 8)
		at[n_signals] = work;
	n_signals++;
}

static long seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long)t.tv_sec;
}

static void count_until(int n, const char *what)
{
	while (n_signals < n)
		work++;
	printf("%s", what);
	for (int i = 0; i < n; i++)
		printf(" %ld", at[i]);
	puts("");
	n_signals = 0;
	work = 0;
}

static void timers(void)
{
	const struct sigaction sa = { .sa_handler = on_signal };
	const struct itimerval every = { { 0, 300 }, { 0, 1000 } }, off = { { 0, 0 }, { 0, 0 } };
	int status;
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGVTALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	count_until(8, "real");
	setitimer(ITIMER_REAL, &off, NULL);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	count_until(4, "virtual");
	setitimer(ITIMER_VIRTUAL, &off, NULL);
	timer_t id;
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_create(CLOCK_REALTIME, &e, &id);
	timer_settime(id, 0, &(struct itimerspec){ { 0, 0 }, { 0, 500000 } }, NULL);
	count_until(1, "posix");
	long begin = seconds();
	alarm(7);
	int ret = pause();
	printf("pause %d after %ld\n", ret, seconds() - begin);
	begin = seconds();
	ret = poll(NULL, 0, 4000);
	printf("poll %d after %ld\n", ret, seconds() - begin);
	const int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t due = 0;
	begin = seconds();
	timerfd_settime(fd, 0, &(struct itimerspec){ { 2, 0 }, { 3, 0 } }, NULL);
	long got = read(fd, &due, 8);
	printf("timerfd %ld %lu after %ld\n", got, due, seconds() - begin);
	sleep(6);
	got = read(fd, &due, 8);
	printf("timerfd %ld %lu after %ld\n", got, due, seconds() - begin);
	pid_t child = fork();
	if (!child) {
		sleep(60);
		_exit(3);
	}
	alarm(1);
	n_signals = 0;
	begin = seconds();
	pid_t who = waitpid(child, &status, 0);
	printf("wait %d %d after %ld\n", who, errno == EINTR, seconds() - begin);
	who = waitpid(child, &status, 0);
	printf("wait %d %x after %ld\n", who, status, seconds() - begin);
}

static void kill_children(void)
{
	int status;
	for (int sig = SIGKILL; sig <= SIGTERM; sig += SIGTERM - SIGKILL) {
		const pid_t child = fork();
		if (!child)
			for (;;)
				;
		usleep(100);
		kill(child, sig);
		const pid_t who = waitpid(child, &status, 0);
		printf("killed %d %x\n", who, status);
	}
}

/* ---- locks whose owner ends, and with priority inheritance ---- */

static struct both { pthread_mutex_t robust, inherits; int count; } *both;

static void *die_with_lock(void *who)
{
	pthread_mutex_lock(&both->robust);
	return who;
}

static void *hold_lock(void *who)
{
	pthread_mutex_lock(&both->robust);
	pause();
	return who;
}

static void take_robust(const char *what)
{
	const int err = pthread_mutex_lock(&both->robust);
	printf("%s: %s\n", what, err == EOWNERDEAD ? "owner died" : err ? strerror(err) : "free");
	pthread_mutex_consistent(&both->robust);
	pthread_mutex_unlock(&both->robust);
	fflush(stdout);
}

static void *count_with_lock(void *who)
{
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&both->inherits);
		const int seen = both->count;
		usleep(i % 3 == 0);
		both->count = seen + 1;
		pthread_mutex_unlock(&both->inherits);
	}
	return who;
}

static void make_robust(pthread_mutexattr_t *a)
{
	both = mmap(NULL, sizeof(*both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(a);
	pthread_mutexattr_setpshared(a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&both->robust, a);
}

/* Owners that cannot mark their locks themselves. */
static void kill_owners(void)
{
	pthread_mutexattr_t a;
	make_robust(&a);
	for (int how = 0; how < 3; how++) {
		const pid_t child = fork();
		if (!child) {
			pthread_t thread;
			if (how == 1)
				pthread_create(&thread, NULL, hold_lock, NULL);
			else
				die_with_lock(NULL);
			if (how == 2)
				raise(SIGKILL);
			pause();
		}
		usleep(100);
		if (how == 0 && !fork()) {
			usleep(1000);		/* while it is waited for */
			kill(child, SIGKILL);
			_exit(0);
		}
		if (how == 1)
			kill(child, SIGKILL);
		take_robust("killed");
	}
}

static void locks(void)
{
	pthread_mutexattr_t a;
	pthread_t t[4];
	struct timespec soon = { 0 };
	make_robust(&a);
	pthread_create(&t[0], NULL, die_with_lock, NULL);
	pthread_join(t[0], NULL);
	take_robust("a thread");
	for (int how = 0; how < 3; how++) {
		const pid_t child = fork();
		if (!child) {
			die_with_lock(NULL);
			if (how == 2)
				usleep(1000);
			if (how == 1)
				raise(SIGTERM);
			_exit(0);
		}
		if (how < 2)
			waitpid(child, NULL, 0);
		else
			usleep(100);		/* it has the lock, and will die while it is waited for */
		take_robust(how == 0 ? "a process" : how == 1 ? "a killed one" : "while one waits");
	}
	while (wait(NULL) > 0)
		;
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(&both->inherits, &a))
		printf("no priority inheritance\n");
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, count_with_lock, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("count %d\n", both->count);
	fflush(stdout);
	if (!fork()) {
		pthread_mutex_lock(&both->inherits);
		usleep(10000);
		_exit(0);
	}
	usleep(1000);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 1000000;
	printf("try %d", pthread_mutex_trylock(&both->inherits) == EBUSY);
	printf(" wait %d", pthread_mutex_timedlock(&both->inherits, &soon) == ETIMEDOUT);
	printf(" died %d\n", pthread_mutex_lock(&both->inherits) == EOWNERDEAD);
}

/* ---- threads that wait for each other in loops, and for one that sleeps ---- */

static _Atomic long spun;

static void *spin_in_turn(void *who)
{
	for (int i = 0; i < 20; i++) {
		while (spun % 3 != (long)who)
			__builtin_ia32_pause();
		spun++;
	}
	return who;
}

static void *sleep_then_spin(void *who)
{
	usleep(20000);
	return spin_in_turn(who);
}

static void spinners(void)
{
	pthread_t t[3];
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, i ? spin_in_turn : sleep_then_spin, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("spun %ld\n", spun);
}

/* ---- what says who sent it, and what waits for another process ---- */

static void senders(void)
{
	struct signalfd_siginfo info;
	struct ucred who;
	char text[8];
	union { struct cmsghdr h; char bytes[CMSG_SPACE(sizeof(who))]; } control;
	struct iovec v = { text, sizeof(text) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	sigset_t set;
	int p[2];
	const int on = 1;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	const int fd = signalfd(-1, &set, 0);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, p) || setsockopt(p[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return;
	if (!fork()) {
		kill(getppid(), SIGUSR1);
		if (send(p[1], "hello", 6, 0) != 6)
			_exit(1);
		who = (struct ucred){ getpid(), getuid(), getgid() };
		control.h = (struct cmsghdr){ CMSG_LEN(sizeof(who)), SOL_SOCKET, SCM_CREDENTIALS };
		memcpy(CMSG_DATA(&control.h), &who, sizeof(who));
		memcpy(text, "again", 6);
		_exit(sendmsg(p[1], &m, 0) != sizeof(text));
	}
	for (int i = 0; i < 2; i++)
		if (read(fd, &info, sizeof(info)) == sizeof(info))
			printf("signal %d from %d\n", info.ssi_signo, info.ssi_pid);
	close(p[1]);
	for (int i = 0; i < 2; i++) {
		const ssize_t got = recvmsg(p[0], &m, MSG_DONTWAIT);
		memcpy(&who, CMSG_DATA(&control.h), sizeof(who));
		printf("%s from %d\n", got > 0 ? text : "nothing", who.pid);
	}
	wait(NULL);
}

static void meet(const char *queue)
{
	char text[64];
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = sizeof(text) };
	/* a reader that comes first, and a writer that does */
	if (mkfifo("meet", 0600))
		perror("meet");
	for (int i = 0; i < 2; i++) {
		const pid_t child = fork();
		if (!child) {
			usleep(i * 1000);
			const int fd = open("meet", O_WRONLY);
			_exit(write(fd, "met", 4) != 4);
		}
		usleep(!i * 1000);
		const int fd = open("meet", O_RDONLY);
		printf("FIFO %zd\n", read(fd, text, sizeof(text)));
		close(fd);
		waitpid(child, NULL, 0);
	}
	unlink("meet");
	snprintf(text, sizeof(text), "/tare-%s", queue);
	const mqd_t q = mq_open(text, O_CREAT | O_RDWR, 0600, &attr);
	mq_unlink(text);
	fflush(stdout);
	if (q >= 0 && !fork()) {
		for (int i = 0; i < 3; i++)
			mq_send(q, "a message", 10, 0);
		_exit(0);
	}
	for (int i = 0; q >= 0 && i < 3; i++)
		printf("queue %zd\n", mq_receive(q, text, sizeof(text), NULL));
	/* more callers than the listener lets wait */
	snprintf(name.sun_path, sizeof(name.sun_path), "meet");
	const int l = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(l, (struct sockaddr *)&name, sizeof(name)) || listen(l, 0))
		perror("meet");
	fflush(stdout);
	for (int i = 0; i < 4; i++)
		if (!fork()) {
			const int s = socket(AF_UNIX, SOCK_STREAM, 0);
			_exit(connect(s, (struct sockaddr *)&name, sizeof(name)) || write(s, &i, sizeof(i)) != sizeof(i));
		}
	usleep(1000);
	for (int i = 0, who; i < 4; i++) {
		const int s = accept(l, NULL, NULL);
		if (read(s, &who, sizeof(who)) == sizeof(who))
			printf("caller %d\n", who);
		close(s);
	}
	while (wait(NULL) > 0)
		;
	unlink("meet");
}

/* Two children end one after the other while this process waits: does it get one signal or two? */
static void children(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	sigaction(SIGCHLD, &sa, NULL);
	for (int i = 0; i < 40; i++) {
		if (i % 2 && !fork())
			_exit(0);
		if (!fork())
			_exit(0);
		while (wait(NULL) > 0)
			;
		printf("children %d\n", n_signals);
	}
}

/* ---- what lets another task go on, while all sleep or wait ---- */

static double since(double begin)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9 - begin;
}

static void *wait_for_events(void *fd)
{
	struct epoll_event e;
	const double begin = since(0);
	const int n = epoll_wait(*(int *)fd, &e, 1, -1);
	printf("epoll %d after %.1f\n", n, since(begin));
	return NULL;
}

static void sleeper(int i, int fd)
{
	usleep(100000);
	if (i)
		mkdir("wakes", 0700);
	else if (lockf(fd, F_ULOCK, 0))
		perror("lockf");
	for (i = 0; i < 20; i++)
		sleep(1);
	_exit(0);
}

/* One waits for the end of a pipe, and then answers. The last of its writers closes it as its n-th call. */
static double answer_after(int n)
{
	int p[2], q[2];
	char c;
	if (pipe(p) || pipe(q))
		return -1;
	if (!fork()) {
		close(p[1]);
		if (read(p[0], &c, 1) || write(q[1], "x", 1) != 1)
			_exit(1);
		_exit(0);
	}
	close(p[0]);
	usleep(1000);
	for (int i = 0; i < n; i++)
		umask(022);
	close(p[1]);
	struct pollfd f = { q[0], POLLIN, 0 };
	const double begin = since(0);
	const int ret = poll(&f, 1, 10000);
	const double time = since(begin);
	close(q[0]);
	close(q[1]);
	wait(NULL);
	return ret == 1 ? time : 100;
}

static void wakes(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	char text[4096];
	pthread_t t;
	int p[2], fd = open("wakes.lock", O_RDWR | O_CREAT, 0600), ep = epoll_create1(0);
	if (!fork()) {
		lockf(fd, F_LOCK, 0);
		sleeper(0, fd);
	}
	usleep(1000);
	double begin = since(0);
	int got = lockf(fd, F_LOCK, 0);
	printf("lockf %d after %.1f\n", got, since(begin));
	unlink("wakes.lock");
	wait(NULL);

	fd = inotify_init();
	inotify_add_watch(fd, ".", IN_CREATE);
	fflush(stdout);
	if (!fork())
		sleeper(1, fd);
	begin = since(0);
	got = read(fd, text, sizeof(text)) > 0;
	printf("inotify %d after %.1f\n", got, since(begin));
	close(fd);
	rmdir("wakes");
	wait(NULL);

	if (pipe(p) || write(p[1], "x", 1) != 1)
		return;
	pthread_create(&t, NULL, wait_for_events, &ep);
	usleep(100000);
	epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e);
	for (int i = 0; i < 20; i++)
		sleep(1);
	pthread_join(t, NULL);

	fflush(stdout);
	double most = 0;
	for (int n = 980; n < 1010; n++) {
		const double time = answer_after(n);
		most = time > most ? time : most;
	}
	printf("answers after %.1f\n", most);
}

/* A process that goes on when the command has ended. */
static void left_behind(void)
{
	int p[2];
	char c;
	if (pipe(p) || fork())
		return;
	close(p[1]);
	for (volatile int i = 0; i < 3000000; i++)
		;
	if (read(p[0], &c, 1) == 0)		/* the command has ended */
		for (volatile int i = 0; i < 100000000; i++)
			;
	_exit(0);
}

/* ---- stopped ---- */

static void *naps(void *unused)
{
	for (int i = 0; i < 30; i++)
		usleep(1000);
	return unused;
}

/* (The signals of a terminal stop nothing in a group without a parent in its session, such as that of a test.) */
static void stop_itself(void)
{
	sigset_t s;
	setpgid(0, 0);
	sigemptyset(&s);
	sigaddset(&s, SIGTTIN);
	raise(SIGTSTP);
	printf("on\n");
	kill(getpid(), SIGSTOP);
	sigprocmask(SIG_BLOCK, &s, NULL);
	kill(getpid(), SIGTTIN);
	printf("blocked\n");
	sigprocmask(SIG_UNBLOCK, &s, NULL);
	signal(SIGTSTP, SIG_IGN);
	raise(SIGTSTP);
	signal(SIGTSTP, SIG_DFL);
	if (!fork()) {
		setsid();
		raise(SIGTSTP);
		printf("not stopped\n");
		_exit(0);
	}
	wait(NULL);
	_exit(7);
}

/* A group of two processes, one with threads. */
static void work_on(void)
{
	pthread_t t[2];
	setpgid(0, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, naps, NULL);
	if (!fork()) {
		naps(NULL);
		_exit(1);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	while (wait(NULL) > 0)
		;
	printf("worked\n");
	_exit(8);
}

static void stops(void)
{
	int status = 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	pid_t p = fork();
	if (!p)
		stop_itself();
	do {
		waitpid(p, &status, WUNTRACED | WCONTINUED);
		printf("status %x\n", status);
		if (WIFSTOPPED(status))
			kill(p, SIGCONT);
	} while (WIFSTOPPED(status) || WIFCONTINUED(status));

	static const int signals[] = { SIGSTOP, SIGTSTP, SIGTTOU };
	p = fork();
	if (!p)
		work_on();
	setpgid(p, p);
	for (int i = 0; i < 3; i++) {
		usleep(4000);
		kill(-p, signals[i]);
		sleep(1);
		kill(-p, SIGCONT);
	}
	waitpid(p, &status, 0);
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("status %x after %ld\n", status, (long)now.tv_sec);

	p = fork();				/* it is stopped before it has done anything */
	if (!p)
		_exit(9);
	setpgid(p, p);
	kill(p, SIGTSTP);
	waitpid(p, &status, WUNTRACED);
	kill(p, SIGTERM);
	printf("status %x, then %d\n", status, (int)waitpid(p, NULL, WNOHANG));
	kill(p, SIGCONT);
	waitpid(p, &status, 0);
	printf("status %x\n", status);
}

/* ---- what the kernel numbers ---- */

static void renames(void)
{
	char b[1024], *e = b;
	char dir[] = "renames.XXXXXX", from[40], to[40];
	if (!mkdtemp(dir))
		return;
	snprintf(from, sizeof(from), "%s/a", dir);
	snprintf(to, sizeof(to), "%s/b", dir);
	close(open(from, O_CREAT | O_WRONLY, 0600));
	const int fd = inotify_init();
	inotify_add_watch(fd, dir, IN_MOVE);
	rename(from, to);
	rename(to, from);
	const ssize_t n = read(fd, b, sizeof(b));
	while (e < b + n) {
		struct inotify_event v;
		memcpy(&v, e, sizeof(v));
		printf("%s %u\n", v.mask & IN_MOVED_FROM ? "from" : "to", v.cookie);
		e += sizeof(v) + v.len;
	}
	unlink(from);
	rmdir(dir);
}

static void random_bytes_moved(void)
{
	unsigned char b[8] = { 0 };
	char link[64] = "";
	int p[2];
	const int random = open("/dev/urandom", O_RDONLY), file = memfd_create("moved", 0), self = open("/proc/self/fd", O_RDONLY);
	if (pipe(p) || splice(random, NULL, p[1], NULL, sizeof(b), 0) != sizeof(b) || read(p[0], b, sizeof(b)) != sizeof(b))
		return;
	for (size_t i = 0; i < sizeof(b); i++)
		printf("%02x", b[i]);
	if (sendfile(file, random, NULL, sizeof(b)) != sizeof(b) || pread(file, b, sizeof(b), 0) != sizeof(b))
		return;
	for (size_t i = 0; i < sizeof(b); i++)
		printf("%02x", b[i]);
	char name[32];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", self);
	if (readlink(name, link, sizeof(link) - 1) > 0)
		printf(" %s\n", link);
}

/* ---- System V ---- */

static void system_v(void)
{
	const int m = shmget(IPC_PRIVATE, 4096, 0600), q = msgget(IPC_PRIVATE, 0600), s = semget(IPC_PRIVATE, 1, 0600);
	void *const p = shmat(m, NULL, 0);
	const struct { long type; char c; } letter = { 1, 'a' };
	if (!fork()) {
		struct sembuf up = { 0, 1, 0 };
		shmdt(p);
		msgsnd(q, &letter, 1, 0);
		_exit(semop(s, &up, 1));
	}
	siginfo_t ended;
	waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
	struct shmid_ds shm;
	struct msqid_ds msg;
	struct semid_ds sem;
	if (shmctl(m, IPC_STAT, &shm) || msgctl(q, IPC_STAT, &msg) || semctl(s, 0, IPC_STAT, &sem))
		return;
	printf("shm %d %d %ld %ld %ld\nmsg %d %d %ld %ld\nsem %d %ld\n", shm.shm_cpid, shm.shm_lpid, (long)shm.shm_atime,
	       (long)shm.shm_dtime, (long)shm.shm_nattch, msg.msg_lspid, msg.msg_lrpid, (long)msg.msg_stime, (long)msg.msg_rtime,
	       semctl(s, 0, GETPID), (long)sem.sem_otime);
	shmctl(m, IPC_RMID, NULL);
	msgctl(q, IPC_RMID, NULL);
	semctl(s, 0, IPC_RMID);
}

int main(int n, char **v)
{
	const char *const what = v[1];
	const int k = n > 2 ? atoi(v[2]) : 2;
	pthread_t t[2];
	if (!strcmp(what, "queue"))
		threads(k, produce, consume);
	else if (!strcmp(what, "atomics"))
		threads(k, push, push);
	else if (!strcmp(what, "tree"))
		tree(3, 1), puts("");
	else if (!strcmp(what, "shared"))
		shared();
	else if (!strcmp(what, "timers"))
		timers();
	else if (!strcmp(what, "kill"))
		kill_children();
	else if (!strcmp(what, "owners"))
		kill_owners();
	else if (!strcmp(what, "locks"))
		locks();
	else if (!strcmp(what, "spinners"))
		spinners();
	else if (!strcmp(what, "senders"))
		senders();
	else if (!strcmp(what, "meet"))
		meet(n > 2 ? v[2] : "meet");
	else if (!strcmp(what, "left"))
		left_behind(), usleep(1000);
	else if (!strcmp(what, "wakes"))
		wakes();
	else if (!strcmp(what, "renames"))
		renames(), random_bytes_moved();
	else if (!strcmp(what, "system-v"))
		system_v();
	else if (!strcmp(what, "stops"))
		stops();
	else if (!strcmp(what, "children"))
		children();
	else {
		const bool rare = !strcmp(what, "seldom");
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, rare ? seldom : race, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		printf("race %ld\n", unguarded);
	}
	return 0;
}
