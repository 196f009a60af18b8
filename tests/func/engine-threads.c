/* Threads: create and join, TLS, many at once, detached, cancelled, raw clone and
 * clone3, a thread that execs nothing but exits last, signals to threads.
 */
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Thread_local int tls_int = 5;
static _Thread_local char tls_big[10000];

static uint64_t mix(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

static void *worker(void *arg)
{
	const uintptr_t n = (uintptr_t)arg;
	tls_int += (int)n;
	memset(tls_big, (int)n, sizeof(tls_big));
	const uint64_t r = mix(n, 10000 + (int)n);
	for (size_t i = 0; i < sizeof(tls_big); i++)
		if (tls_big[i] != (char)n)
			return NULL;
	return (void *)(uintptr_t)(r ^ (uint64_t)tls_int);
}

static void many(int n)
{
	pthread_t t[256];
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)(i + 1)))
			printf("create %d failed\n", i);
	for (int i = 0; i < n; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (uintptr_t)r;
	}
	printf("%d threads %lx, mine %d\n", n, sum, tls_int);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long shared, turn;

static void *ping(void *arg)
{
	const long me = (long)arg;
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&lock);
		while (turn % 4 != me)
			pthread_cond_wait(&cond, &lock);
		shared = shared * 3 + me;
		turn++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void in_turns(void)
{
	pthread_t t[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, ping, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("in turns %ld %lx\n", turn, (unsigned long)shared);
}

static atomic_long atom;
static void *adder(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20000; i++)
		atomic_fetch_add(&atom, 1);
	return NULL;
}

static void atomics(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, adder, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("atomics %ld\n", atomic_load(&atom));
}

static void cleanup(void *arg)
{
	*(int *)arg = 1;
}

static int cleaned;
static void *waits(void *arg)
{
	(void)arg;
	pthread_cleanup_push(cleanup, &cleaned);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

static void *spins(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (volatile unsigned long i = 0;; i++)
		;
	return arg;
}

static void cancelled(void)
{
	pthread_t t;
	void *r;
	pthread_create(&t, NULL, waits, NULL);
	usleep(1000);
	pthread_cancel(t);
	pthread_join(t, &r);
	printf("cancelled in pause: %d, cleaned %d\n", r == PTHREAD_CANCELED, cleaned);
	pthread_create(&t, NULL, spins, NULL);
	usleep(1000);
	pthread_cancel(t);
	pthread_join(t, &r);
	printf("cancelled spinning: %d\n", r == PTHREAD_CANCELED);
}

static atomic_int detached_done;
static void *detached(void *arg)
{
	(void)arg;
	atomic_fetch_add(&detached_done, 1);
	return NULL;
}

static void detach(void)
{
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&a, 16384);
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		while (pthread_create(&t, &a, detached, NULL))
			usleep(100);
	}
	while (atomic_load(&detached_done) < 50)
		usleep(100);
	printf("detached %d\n", detached_done);
}

static _Atomic uint32_t raw_tid;
static int raw_ran;
static int raw(void *arg)
{
	raw_ran += *(int *)arg;
	syscall(SYS_exit, 7);
	return 0;
}

static void raw_clone(void)
{
	char *const stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int add = 3;
	raw_tid = 1;
	clone(raw, stack + 65536, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
	      CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID,
	      &add, &raw_tid, NULL, &raw_tid);
	for (uint32_t v; (v = raw_tid) != 0;)
		syscall(SYS_futex, &raw_tid, FUTEX_WAIT, v, NULL, NULL, 0);
	munmap(stack, 65536);
	printf("raw clone %d\n", raw_ran);
	/* shares memory, another process, no vfork */
	char *const s2 = malloc(65536);
	add = 10;
	const pid_t pid = clone(raw, s2 + 65536, CLONE_VM | SIGCHLD, &add);
	int status;
	waitpid(pid, &status, 0);
	printf("clone CLONE_VM process %d, status %d\n", raw_ran, WEXITSTATUS(status));
	free(s2);
}

static void clone_three(void)
{
	struct clone_args a = { .flags = 0, .exit_signal = SIGCHLD };
	const long pid = syscall(SYS_clone3, &a, sizeof(a));
	if (pid == 0)
		_exit(9);
	int status;
	waitpid((pid_t)pid, &status, 0);
	printf("clone3 fork %d\n", WEXITSTATUS(status));
	printf("clone3 bad size %ld\n", syscall(SYS_clone3, &a, 1) < 0 ? (long)errno : 0);
	/* longer than the kernel knows, zero tail: allowed */
	struct { struct clone_args a; uint64_t more[8]; } longer = { .a = a };
	const long p2 = syscall(SYS_clone3, &longer, sizeof(longer));
	if (p2 == 0)
		_exit(10);
	waitpid((pid_t)p2, &status, 0);
	printf("clone3 longer %d\n", WEXITSTATUS(status));
}

static pthread_t main_thread;
static volatile sig_atomic_t got_in_main;
static void on_usr1(int sig)
{
	(void)sig;
	got_in_main += pthread_equal(pthread_self(), main_thread) ? 1 : 100;
}

static void *kills(void *arg)
{
	for (int i = 0; i < 20; i++) {
		pthread_kill(main_thread, SIGUSR1);
		while (got_in_main <= i)
			usleep(100);
	}
	return arg;
}

static void directed(void)
{
	main_thread = pthread_self();
	signal(SIGUSR1, on_usr1);
	pthread_t t;
	pthread_create(&t, NULL, kills, NULL);
	pthread_join(t, NULL);
	printf("directed %d\n", (int)got_in_main);
}

static void *last(void *arg)
{
	pthread_join(main_thread, NULL);
	printf("main has gone, the process has not\n");
	exit(3);
	return arg;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	many(1);
	many(8);
	many(100);
	in_turns();
	atomics();
	cancelled();
	detach();
	raw_clone();
	clone_three();
	directed();
	pthread_t t;
	pthread_create(&t, NULL, last, NULL);
	pthread_exit(NULL);
}
