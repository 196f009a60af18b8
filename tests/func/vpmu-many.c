/* Inside `tare run`: events of processes that ended, in whatever way, take no place; those
 * that somebody still holds stay. One run had room for 8,191 events in all. */
#include "vpmu.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define EVENTS 64		/* of a process */
#define PROCESSES 140		/* together more than 8,191 */

static void open_events(int n, unsigned long flags)
{
	const struct perf_event_attr a = vpmu_instructions();
	for (int i = 0; i < n; i++) {
		const int fd = vpmu_open(&a, 0, -1, -1, flags);
		CHECK(fd >= 0, "event %d: %s", i, strerror(-fd));
	}
}

static void wait_for(pid_t pid, int want)
{
	int status;
	CHECK(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	CHECK(status == want, "status 0x%x, not 0x%x", status, want);
}

enum how { BY_EXIT, BY_SIGNAL, BY_KILL, BY_EXEC };

static void child(enum how how, const char *self, int ready)
{
	open_events(EVENTS, 0);
	CHECK(write(ready, "", 1) == 1, "write: %s", strerror(errno));
	if (how == BY_EXEC)
		execl(self, self, "nothing", NULL);
	if (how == BY_SIGNAL)
		abort();
	while (how == BY_KILL)
		pause();
	_exit(0);
}

static void many_processes(enum how how, const char *self)
{
	struct rlimit no_core = { 0, 0 };
	setrlimit(RLIMIT_CORE, &no_core);
	for (int i = 0; i < PROCESSES; i++) {
		int ready[2];
		char c;
		CHECK(pipe(ready) == 0, "pipe: %s", strerror(errno));
		const pid_t pid = fork();
		CHECK(pid >= 0, "fork: %s", strerror(errno));
		if (pid == 0)
			child(how, self, ready[1]);
		close(ready[1]);
		CHECK(read(ready[0], &c, 1) == 1, "process %d of kind %d ended early", i, how);
		if (how == BY_KILL)
			kill(pid, SIGKILL);
		wait_for(pid, how == BY_KILL ? SIGKILL : how == BY_SIGNAL ? SIGABRT : 0);
		close(ready[0]);
	}
}

/* As many as descriptors are allowed; then what the kernel says. */
static void many_at_once(void)
{
	struct rlimit l;
	const struct perf_event_attr a = vpmu_instructions();
	int n = 0, fd = 0;
	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max < 8600 ? l.rlim_max : 8600;
	setrlimit(RLIMIT_NOFILE, &l);
	static int fds[8600];
	while (n < 8600 && (fd = vpmu_open(&a, 0, -1, -1, 0)) >= 0)
		fds[n++] = fd;
	CHECK(fd == -EMFILE, "after %d events: %s", n, strerror(-fd));
	CHECK(n + 20 > (int)l.rlim_cur, "only %d events", n);
	CHECK(read(fds[n - 1], &(uint64_t){ 0 }, 8) == 8, "read: %s", strerror(errno));
	while (n)
		close(fds[--n]);
}

static void send_fd(int socket, int fd)
{
	char c = 0;
	struct iovec v = { &c, 1 };
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room,
			    .msg_controllen = sizeof(room) };
	*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
					       .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	CHECK(sendmsg(socket, &m, 0) == 1, "sendmsg: %s", strerror(errno));
}

static int receive_fd(int socket)
{
	char c;
	int fd;
	struct iovec v = { &c, 1 };
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room,
			    .msg_controllen = sizeof(room) };
	CHECK(recvmsg(socket, &m, 0) == 1, "recvmsg: %s", strerror(errno));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

#define LOOPS 1000

/* A descriptor outlives the process that opened it, killed as it is: while it is in the
 * socket, and when it has arrived. */
static int from_the_dead(void)
{
	int s[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0, "socketpair: %s", strerror(errno));
	const pid_t pid = fork();
	if (pid == 0) {
		const struct perf_event_attr a = vpmu_instructions();
		const int fd = vpmu_open(&a, 0, -1, -1, 0);
		vpmu_loop(LOOPS);
		send_fd(s[0], fd);
		raise(SIGKILL);
	}
	wait_for(pid, SIGKILL);
	many_processes(BY_KILL, "");
	const int fd = receive_fd(s[1]);
	CHECK(vpmu_read(fd) > 2 * LOOPS, "%ju", (uintmax_t)vpmu_read(fd));
	close(s[0]);
	close(s[1]);
	return fd;
}

/* A child's descriptor of its parent's event, when the parent has closed its own. */
static void left_to_child(void)
{
	const struct perf_event_attr a = vpmu_instructions();
	int go[2];
	char c = 0;
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	vpmu_loop(LOOPS);
	CHECK(fd >= 0 && pipe(go) == 0, "%d", fd);
	const pid_t pid = fork();
	if (pid == 0) {
		CHECK(read(go[0], &c, 1) == 1, "read: %s", strerror(errno));
		_exit(vpmu_read(fd) > 2 * LOOPS ? 0 : 1);
	}
	close(fd);
	many_processes(BY_KILL, "");
	CHECK(write(go[1], &c, 1) == 1, "write: %s", strerror(errno));
	wait_for(pid, 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return 0;
	const int fd = from_the_dead();
	const uint64_t was = vpmu_read(fd);
	for (int how = BY_EXIT; how <= BY_EXEC; how++)
		many_processes(how, argv[0]);
	left_to_child();
	many_at_once();
	CHECK(vpmu_read(fd) == was, "%ju, not %ju", (uintmax_t)vpmu_read(fd), (uintmax_t)was);
	return 0;
}
