/* The read guard: a read whose rdpmc is forbidden goes on by system call, and every other
 * fault is what it was.
 *
 * rdpmc faults in a process that has mapped no counter. So a counter whose fast path is
 * armed by hand is one whose rdpmc was forbidden after it was opened.
 */
#include "func.h"

#include <tare/counter.h>

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__

#define PAGES 50
#define ARMED (1ull << 63)	/* register 0 */

static struct tare_counter *armed(const char *event)
{
	struct tare_counter *c;
	struct tare_why why;
	if (tare_counter_open(event, &c, &why) < 0) {
		printf("%s: %s\n", event, why.what);
		return NULL;
	}
	c->select = c->pair = ARMED;
	return c;
}

static void touch_pages(void)
{
	volatile char *const p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise((void *)p, PAGES * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		p[i * 4096] = 1;
	munmap((void *)p, PAGES * 4096);
}

/* The signal that ends a child that does this; 0: none did; -1: a check failed in it. */
static int signal_of(void (*what)(void))
{
	const pid_t child = fork();
	if (child == 0) {
		what();
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) ? -1 : 0;
}

static void read_armed(void)
{
	struct tare_counter *const c = armed("wall-time");
	uint64_t v;
	tare_counter_read(c, &v);
}

static void read_armed_pair(void)
{
	struct tare_counter *const c = armed("wall-time");
	uint64_t v;
	tare_counter_read_pair(c, &v);
}

__attribute__((no_sanitize("undefined"))) static void read_null(void)
{
	*(volatile int *)NULL;
}

static void own_rdpmc(void)
{
	__asm__ volatile("rdpmc" ::"c"(0) : "eax", "edx");
}

static void send_it(void)
{
	kill(getpid(), SIGSEGV);
}

/* Both kinds of read, armed again each time, and the values are right. */
static void reads_go_on(void)
{
	struct tare_counter *const c = armed("wall-time");
	uint64_t a = 0, b = 0, d = 0;
	CHECK(tare_counter_read(c, &a) == 0 && a > 0, "the clock, %llu", (unsigned long long)a);
	c->select = c->pair = ARMED;
	CHECK(tare_counter_read_pair(c, &b) == 0 && b > a, "as a pair");
	c->pair = ARMED;
	CHECK(tare_counter_read(c, &d) == 0 && d > b, "again");
	tare_counter_close(c);
}

static void faults_are_counted(void)
{
	struct tare_counter *const c = armed("page-faults:u");
	uint64_t a = 0, b = 0;
	if (!c) {
		SKIPPED("counting faults", "no perf_event_open here; the clock has shown the rest");
		return;
	}
	touch_pages();			/* everything that is used is there then */
	tare_counter_read(c, &a);
	touch_pages();
	c->select = ARMED;
	/* Under the engine its own memory faults now and then, too. */
	CHECK(tare_counter_read(c, &b) == 0 && b - a >= PAGES && (SANITIZED || b - a < PAGES + 20),
	      "%llu page faults", (unsigned long long)(b - a));
	tare_counter_close(c);
}

static void *thread_reads(void *arg)
{
	(void)arg;
	for (int i = 0; i < 200; i++)
		reads_go_on();
	return NULL;
}

static void threads_read(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread_reads, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* ---- another handler below ---- */

static sigjmp_buf back;
static volatile int caught, code, usr1_blocked;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	sigset_t now;
	(void)context;
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	usr1_blocked = sigismember(&now, SIGUSR1);
	caught = sig;
	code = info->si_code;
	siglongjmp(back, 1);
}

static void plain_handler(int sig)
{
	caught = sig;
	siglongjmp(back, 1);
}

static int caught_of(void (*what)(void))
{
	caught = 0;
	if (!sigsetjmp(back, 1))
		what();
	return caught;
}

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_sigaction == b->sa_sigaction && a->sa_flags == b->sa_flags &&
	       sigismember(&a->sa_mask, SIGUSR1) == sigismember(&b->sa_mask, SIGUSR1);
}

static void hands_on(void)
{
	struct sigaction mine = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO }, now, old;
	sigaddset(&mine.sa_mask, SIGUSR1);
	sigaction(SIGSEGV, &mine, &old);
	sigaction(SIGSEGV, NULL, &mine);	/* as the C library tells it */
	CHECK(tare_read_guard_install() == 0, "install");
	CHECK(caught_of(read_null) == SIGSEGV && code == SEGV_MAPERR && usr1_blocked, "a null pointer");
	CHECK(caught_of(own_rdpmc) == SIGSEGV && code == SI_KERNEL, "an rdpmc that is not ours");
	CHECK(caught_of(send_it) == SIGSEGV && code == SI_USER, "a signal that was sent");
	CHECK(caught_of(reads_go_on) == 0, "a read of ours");
	CHECK(tare_read_guard_install() == 0 && tare_read_guard_remove() == 0, "twice");
	CHECK(caught_of(reads_go_on) == 0, "still installed");
	CHECK(tare_read_guard_remove() == 0, "remove");
	sigaction(SIGSEGV, NULL, &now);
	CHECK(same_action(&now, &mine), "the old handler is back");
	CHECK(caught_of(read_armed) == SIGSEGV, "and the fault is its affair again");
	CHECK(tare_read_guard_remove() == TARE_E_INVALID, "not installed");

	mine = (struct sigaction){ .sa_handler = plain_handler };
	sigaction(SIGSEGV, &mine, NULL);
	CHECK(tare_read_guard_install() == 0, "install");
	CHECK(caught_of(read_null) == SIGSEGV, "a plain handler");
	CHECK(tare_read_guard_remove() == 0, "remove");
	sigaction(SIGSEGV, &old, NULL);
}

static void ignored_and_sent(void)
{
	signal(SIGSEGV, SIG_IGN);
	tare_read_guard_install();
	send_it();
	reads_go_on();
}

static void with_guard_null(void)
{
	tare_read_guard_install();
	read_null();
}

static void with_guard_sent(void)
{
	tare_read_guard_install();
	send_it();
}

static void with_guard_rdpmc(void)
{
	tare_read_guard_install();
	own_rdpmc();
}

/* Somebody on top who hands on what is not his. */
static struct sigaction below;

static void on_top(int sig, siginfo_t *info, void *context)
{
	below.sa_sigaction(sig, info, context);
}

static void another_on_top(void)
{
	const struct sigaction top = { .sa_sigaction = on_top, .sa_flags = SA_SIGINFO };
	CHECK(tare_read_guard_install() == 0, "install");
	sigaction(SIGSEGV, &top, &below);
	reads_go_on();
	CHECK(tare_read_guard_remove() == TARE_E_BUSY, "somebody is on top");
	reads_go_on();
	CHECK(tare_read_guard_install() == TARE_E_BUSY, "and still is");
	sigaction(SIGSEGV, &below, NULL);
	CHECK(tare_read_guard_install() == 0 && tare_read_guard_remove() == 0, "now it is gone");
	CHECK(signal_of(read_null) == SIGSEGV, "the default is back");
}

/* A read that was inlined in a module which was not there when the guard was installed. */
static void module_reads(const char *path)
{
	void *const module = dlopen(path, RTLD_NOW);
	CHECK(module, "%s", dlerror());
	int (*const read_there)(struct tare_counter *, uint64_t *) =
		(int (*)(struct tare_counter *, uint64_t *))dlsym(module, "read_there");
	struct tare_counter *const c = armed("wall-time");
	uint64_t v = 0;
	CHECK(read_there && read_there(c, &v) == 0 && v > 0, "in a module");
	tare_counter_close(c);
	dlclose(module);
}

int main(int argc, char **argv)
{
	if (signal_of(read_armed) != SIGSEGV)
		SKIP("rdpmc is allowed to everybody here (the PMU's rdpmc file is 2)");
	CHECK(signal_of(read_armed_pair) == SIGSEGV, "a pair faults too");
	CHECK(tare_read_guard_install() == 0, "install");
	reads_go_on();
	faults_are_counted();
	threads_read();
	CHECK(argc == 2, "usage: counter-guard MODULE");
	module_reads(argv[1]);
	CHECK(signal_of(reads_go_on) == 0, "in a forked child");
	CHECK(tare_read_guard_remove() == 0, "remove");
	CHECK(signal_of(read_armed) == SIGSEGV, "not guarded any more");
	hands_on();
	CHECK(signal_of(with_guard_null) == SIGSEGV, "the default action");
	CHECK(signal_of(with_guard_sent) == SIGSEGV, "the default action of a sent signal");
	CHECK(signal_of(with_guard_rdpmc) == SIGSEGV, "the default action of a foreign rdpmc");
	CHECK(signal_of(ignored_and_sent) == 0, "ignored, as before");
	another_on_top();
	return 0;
}

#else

int main(void)
{
	CHECK(tare_read_guard_install() == 0 && tare_read_guard_remove() == 0, "nothing to guard");
	return 0;
}

#endif
