/* Threads and processes that depend on their order: hermetic-tasks WHAT [N]. What is printed shows the order. */
#include <errno.h>
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
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
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
