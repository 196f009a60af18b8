/* Counters that overflow, and their skid. */
#include "overflow.h"

#include "child.h"
#include "measure-room.h"
#include "perf-attr.h"
#include "perf-facts.h"
#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int overflow_open(const struct tare_event *e, pid_t pid, uint64_t period, bool on_exec)
{
	struct perf_event_attr attr;
	perf_attr_fill(&attr, &e->base);
	attr.exclude_kernel = attr.exclude_hv = 1;
	attr.sample_period = period;
	attr.wakeup_events = 1;
	attr.disabled = 1;
	attr.enable_on_exec = on_exec;
	attr.pinned = 1;
	const int fd = perf_open(&attr, pid, -1, -1);
	if (fd < 0)
		return fd;
	const struct f_owner_ex owner = { F_OWNER_TID, pid };
	if (fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETSIG, OVERFLOW_SIGNAL) == 0 &&
	    fcntl(fd, F_SETFL, O_ASYNC) == 0)
		return fd;
	const int err = errno;
	close(fd);
	return -err;
}

bool overflow_read(int fd, uint64_t *value)
{
	struct perf_value v;
	if (perf_read(fd, &v) != 0)
		return false;
	*value = v.value;
	return true;
}

int overflow_stop(pid_t pid, bool now)
{
	siginfo_t info = { .si_pid = 0 };
	while (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL |
		      (now ? WNOHANG : 0)) < 0)
		if (errno != EINTR)
			return OVERFLOW_ENDED;
	if (!info.si_pid)
		return OVERFLOW_NO_STOP;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return OVERFLOW_ENDED;
	const int status = info.si_status;
	waitid(P_PID, (id_t)pid, &info, WSTOPPED | __WALL | WNOHANG);
	return status;
}

/* ---- skid ---- */

#define PERIOD 50000
#define PERIOD_STEP 97		/* each overflow is at another place of the loop */
#define PATIENCE 60		/* seconds, for one overflow */

/* With every event that steps can be counted by. */
static __attribute__((noinline)) void count_down(volatile unsigned *n)
{
	if (*n)
		--*n;
}

/* Code in which few instructions retire in a cycle, and code in which as many do as the CPU can: there
 * most of them pass before an interrupt comes. */
static void loop_forever(void)
{
	volatile unsigned n = 0;
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	for (;;) {
		for (int i = 0; i < 100; i++)
			count_down(&n);
		for (int i = 0; i < 10; i++)
			__asm__ volatile(".rept 50\n\tnop\n\t.endr");
	}
}

/* The next stop of the process; OVERFLOW_NO_STOP where none comes for PATIENCE seconds, or none can come because
 * the counter `fd` (-1: none) was taken away. */
static int next_stop(pid_t pid, int fd, volatile const int *stop)
{
	const uint64_t end = launch_now_ns() + PATIENCE * (uint64_t)1000000000;
	uint64_t count;
	int seen;
	while ((seen = overflow_stop(pid, true)) == OVERFLOW_NO_STOP && launch_now_ns() < end && !(stop && *stop) &&
	       (fd < 0 || overflow_read(fd, &count)))
		usleep(100);
	return seen;
}

static int one_overflow(const struct tare_event *e, int fd, pid_t pid, uint64_t period, volatile const int *stop,
			uint64_t *most, struct tare_why *why)
{
	uint64_t before, after;
	if (!overflow_read(fd, &before))
		return why_set(why, TARE_E_STOLEN, "%s", e->name);
	const bool runs = ioctl(fd, PERF_EVENT_IOC_PERIOD, &period) == 0 && ptrace(PTRACE_CONT, pid, 0, 0) == 0;
	const bool came = runs && next_stop(pid, fd, stop) == OVERFLOW_SIGNAL;
	if (stop && *stop)
		return why_set(why, TARE_E_TIMEOUT, "the skid of %s", e->name);
	if (!overflow_read(fd, &after))
		return why_set(why, TARE_E_STOLEN, "%s", e->name);
	if (!came)
		return why_set(why, TARE_E_INVALID, "%s: its overflows raise no interrupt on this machine", e->name);
	const uint64_t skid = after - before > period ? after - before - period : 0;
	if (skid > *most)
		*most = skid;
	return 0;
}

int overflow_skid(const struct tare_event *e, unsigned overflows, volatile const int *stop, uint64_t *most,
		  struct tare_why *why)
{
	int err = 0;
	*most = 0;
	const pid_t pid = fork();
	if (pid < 0)
		return why_errno(why, TARE_E_NOMEM, errno, "a process to measure the skid with");
	if (!pid)
		loop_forever();
	const int fd = next_stop(pid, -1, stop) > 0 ? overflow_open(e, pid, PERIOD, false) : -ESRCH;
	if (fd < 0)
		err = why_errno(why, TARE_E_NOT_OPENED, -fd, "%s with overflows", e->name);
	else
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (unsigned i = 0; !err && i < overflows; i++)
		err = one_overflow(e, fd, pid, PERIOD + PERIOD_STEP * i, stop, most, why);
	if (fd >= 0)
		close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return err;
}
