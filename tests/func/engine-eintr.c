/* System calls that signals interrupt: EINTR or restarted by SA_RESTART, the calls
 * that carry a mask of their own, signals that are waited for.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONG_TIME 1000		/* seconds; no call lasts that long */

static volatile sig_atomic_t hits;
static int pipefd[2];

static void hit(int sig)
{
	(void)sig;
	hits++;
}

/* The third hit also makes the pipe readable, which ends a restarted read. */
static void feed(int sig)
{
	(void)sig;
	if (++hits == 3 && write(pipefd[1], "x", 1) != 1)
		_exit(1);
}

static void install(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa = { .sa_handler = fn, .sa_flags = flags };
	sigaction(sig, &sa, NULL);
}

static void arm(long us, long every)
{
	const struct itimerval t = { { 0, every }, { 0, us } };
	setitimer(ITIMER_REAL, &t, NULL);
}

/* Again and again: a busy machine may not have reached the call when the first signal comes, and the
 * call would wait for ever. */
static void arm_often(void)
{
	arm(20000, 20000);
}

static void say(const char *what, long r)
{
	const int err = errno;
	arm(0, 0);
	printf("%s: %ld %s, %s\n", what, r, r < 0 ? strerror(err) : "", hits ? "hit" : "not hit");
	hits = 0;
}

static void reads(void)
{
	char c;
	install(SIGALRM, hit, 0);
	arm_often();
	say("read", read(pipefd[0], &c, 1));
	install(SIGALRM, feed, SA_RESTART);
	arm_often();
	say("read restarted", read(pipefd[0], &c, 1));
}

static void sleeps(void)
{
	install(SIGALRM, hit, SA_RESTART);
	arm_often();
	say("pause", pause());
	struct timespec left = { LONG_TIME, 0 };
	arm_often();
	say("nanosleep", nanosleep(&left, &left));
	printf("  left %d\n", left.tv_sec > 0 && left.tv_sec < LONG_TIME);
	arm_often();
	say("clock_nanosleep",
	    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ LONG_TIME, 0 }, NULL));
	arm_often();
	say("poll", poll(NULL, 0, LONG_TIME * 1000));
	arm_often();
	say("select", select(0, NULL, NULL, NULL, &(struct timeval){ LONG_TIME, 0 }));
	const int ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev;
	arm_often();
	say("epoll_wait", epoll_wait(ep, &ev, 1, LONG_TIME * 1000));
	close(ep);
}

/* Blocked outside, open inside: the handler runs, the call says EINTR. */
static void masked(void)
{
	sigset_t alrm, none, old;
	sigemptyset(&none);
	sigemptyset(&alrm);
	sigaddset(&alrm, SIGALRM);
	install(SIGALRM, hit, SA_RESTART);
	sigprocmask(SIG_BLOCK, &alrm, &old);
	raise(SIGALRM);
	say("ppoll, pending before", ppoll(NULL, 0, &(struct timespec){ LONG_TIME, 0 }, &none));
	arm(20000, 0);
	say("pselect", pselect(0, NULL, NULL, NULL, &(struct timespec){ LONG_TIME, 0 }, &none));
	const int ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev;
	arm(20000, 0);
	say("epoll_pwait", epoll_pwait(ep, &ev, 1, LONG_TIME * 1000, &none));
	close(ep);
	arm(20000, 0);
	say("sigsuspend", sigsuspend(&none));
	sigset_t now;
	sigprocmask(SIG_BLOCK, NULL, &now);
	printf("blocked again %d\n", sigismember(&now, SIGALRM));
	raise(SIGALRM);
	say("ppoll, closed", ppoll(NULL, 0, &(struct timespec){ 0, 1000 }, &alrm));
	/* taken without a handler */
	siginfo_t si;
	say("sigwaitinfo", sigwaitinfo(&alrm, &si));
	printf("  code %d\n", si.si_code);
	say("sigtimedwait, nothing", sigtimedwait(&alrm, &si, &(struct timespec){ 0, 1000 }));
	const int sfd = signalfd(-1, &alrm, SFD_CLOEXEC);
	raise(SIGALRM);
	struct signalfd_siginfo got;
	say("signalfd", read(sfd, &got, sizeof(got)));
	printf("  signal %u\n", got.ssi_signo);
	close(sfd);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void stop_and_continue(void)
{
	install(SIGALRM, hit, 0);
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0) {
		char c;
		const long r = read(pipefd[0], &c, 1);
		_exit(r == 1 ? 33 : 34);
	}
	usleep(20000);
	kill(pid, SIGSTOP);
	int status;
	waitpid(pid, &status, WUNTRACED);
	kill(pid, SIGCONT);
	usleep(20000);
	if (write(pipefd[1], "y", 1) != 1)
		return;
	waitpid(pid, &status, 0);
	printf("stopped and continued read: %d\n", WEXITSTATUS(status));
}

/* Thousands of signals while computing: nothing is lost, nothing is wrong. */
static void storm(void)
{
	install(SIGALRM, hit, 0);
	arm(200, 200);
	unsigned long x = 1, y = 1;
	do {
		for (int i = 0; i < 1000; i++)
			x = x * 6364136223846793005ul + 1442695040888963407ul;
		for (int i = 0; i < 1000; i++)
			x = (x - 1442695040888963407ul) * 13877824140714322085ul;
		if (x != y)
			break;
	} while (hits < 500);
	arm(0, 0);
	printf("storm: %s\n", x == y ? "right" : "wrong");
	hits = 0;
}

static void posix_timer(void)
{
	install(SIGRTMIN, hit, SA_RESTART);
	struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	timer_t t;
	timer_create(CLOCK_MONOTONIC, &se, &t);
	const struct itimerspec its = { { 0, 0 }, { 0, 1000000 } };
	timer_settime(t, 0, &its, NULL);
	while (!hits)
		usleep(1000);
	timer_delete(t);
	say("timer", 0);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(pipefd))
		return 1;
	reads();
	sleeps();
	masked();
	stop_and_continue();
	storm();
	posix_timer();
	return 0;
}
