/* Where a descriptor of a virtual event can go: copies, other processes, exec, sockets; and
 * what is left when it is gone. Run by `tare run --cpu zen2`. */
#include "vpmu.h"

#include <fcntl.h>
#include <sched.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int counter(unsigned long flags)
{
	struct perf_event_attr a = vpmu_instructions();
	const int fd = vpmu_open(&a, 0, -1, -1, flags);
	CHECK(fd >= 0, "open: %d", fd);
	return fd;
}

/* Six counters, pinned: as many can be open, and one more is in error. */
static bool all_free(void)
{
	struct perf_event_attr a = vpmu_instructions();
	uint64_t v;
	int fds[7], n = 0;
	a.pinned = 1;
	for (int i = 0; i < 7; i++) {
		fds[i] = vpmu_open(&a, 0, -1, -1, 0);
		n += read(fds[i], &v, 8) == 8;
	}
	for (int i = 0; i < 7; i++)
		close(fds[i]);
	return n == 6;
}

static void copies(void)
{
	CHECK(all_free(), "at first");
	struct rlimit most;
	getrlimit(RLIMIT_NOFILE, &most);
	const int high = most.rlim_cur > 60200 ? 60000 : (int)most.rlim_cur - 200;
	const int fd = counter(0), one = dup(fd), two = dup2(fd, 500), far = fcntl(fd, F_DUPFD, high);
	CHECK(two == 500 && far >= high && far < 65536, "%d %d", two, far);
	close(fd);
	close(one);
	const uint64_t v = vpmu_read(500);
	CHECK(vpmu_read(far) > v, "copies");
	CHECK(dup2(1, 500) == 500, "over it");
	CHECK(vpmu_read(far) > v, "the last one");
	const int other = counter(0);
	CHECK(dup3(other, far, O_CLOEXEC) == far && fcntl(far, F_GETFD) == FD_CLOEXEC, "dup3");
	CHECK(vpmu_read(far) < v, "another event there");
	CHECK(dup2(far, far) == far && vpmu_read(far) > 0, "over itself");
	CHECK(close_range((unsigned)far, (unsigned)far + 5, 0) == 0 && read(far, &(uint64_t){ 0 }, 8) == -1 &&
	      errno == EBADF, "close_range");
	close(500);
	close(other);
	CHECK(all_free(), "a counter stayed behind");
}

/* A page keeps its event, on its counter, though the descriptor is closed. */
static void pages(void)
{
	const int fd = counter(0);
	struct perf_event_mmap_page *p = vpmu_map(fd);
	close(fd);
	CHECK(p->index && vpmu_rdpmc(p->index - 1) < vpmu_rdpmc(p->index - 1), "rdpmc");
	void *const there = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, there);
	CHECK(p == there && p->index, "moved");
	/* covered by something else */
	CHECK(mmap(p, 4096, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == p, "mmap");
	munmap(p, 4096);
	CHECK(all_free(), "a page stayed behind");
}

static void over_exec(const char *self)
{
	for (int cloexec = 0; cloexec < 2; cloexec++) {
		const int fd = counter(cloexec ? PERF_FLAG_FD_CLOEXEC : 0);
		char number[16];
		snprintf(number, sizeof(number), "%d", fd);
		const pid_t pid = fork();
		if (pid == 0) {
			execl(self, self, cloexec ? "gone" : "there", number, (char *)NULL);
			_exit(9);
		}
		int status;
		waitpid(pid, &status, 0);
		CHECK(status == 0, "exec %d: %x", cloexec, status);
		/* a failed one changes nothing */
		CHECK(execl("/nonexistent/x", "x", (char *)NULL) == -1 && vpmu_read(fd) > 0, "failed");
		close(fd);
	}
	CHECK(all_free(), "exec left a counter behind");
}

static int after_exec(const char *what, const char *number)
{
	const int fd = atoi(number);
	uint64_t v = 0;
	if (strcmp(what, "gone") == 0)
		return read(fd, &v, 8) == -1 && errno == EBADF ? 0 : 1;
	return read(fd, &v, 8) == 8 && v > 0 && ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) == 0 ? 0 : 1;
}

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

static void send_fd(int to, int fd)
{
	union control c = { 0 };
	struct msghdr m = { .msg_iov = &(struct iovec){ "x", 1 }, .msg_iovlen = 1,
			    .msg_control = &c, .msg_controllen = sizeof(c) };
	c.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
				   .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	CHECK(sendmsg(to, &m, 0) == 1, "sendmsg: %s", strerror(errno));
}

static int take_fd(int from)
{
	union control c = { 0 };
	char byte;
	int fd = -1;
	struct msghdr m = { .msg_iov = &(struct iovec){ &byte, 1 }, .msg_iovlen = 1,
			    .msg_control = &c, .msg_controllen = sizeof(c) };
	CHECK(recvmsg(from, &m, 0) == 1, "recvmsg: %s", strerror(errno));
	memcpy(&fd, CMSG_DATA(&c.head), sizeof(fd));
	return fd;
}

/* The receiver was there before the event, and the sender closes it while it is under way. */
static void through_socket(void)
{
	int s[2];
	char byte;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0, "socketpair");
	const pid_t pid = fork();
	if (pid == 0) {
		while (recv(s[1], &byte, 1, MSG_PEEK) != 1)
			;
		const int fd = take_fd(s[1]);
		const uint64_t v = vpmu_read(fd);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		_exit(v > 1000000 && vpmu_read(fd) >= v ? 0 : 1);
	}
	const int fd = counter(0);
	vpmu_loop(1000000);
	send_fd(s[0], fd);
	close(fd);
	int status;
	waitpid(pid, &status, 0);
	CHECK(status == 0, "receiver: %x", status);
	close(s[0]);
	close(s[1]);
	CHECK(all_free(), "a message left a counter behind");
}

/* As many as there are descriptors, and then EMFILE. */
static void many(void)
{
	struct perf_event_attr a = vpmu_instructions();
	struct rlimit old, few = { 300, 300 };
	int fds[300], n = 0;
	getrlimit(RLIMIT_NOFILE, &old);
	few.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	while (n < 300 && (fds[n] = vpmu_open(&a, 0, -1, -1, 0)) >= 0)
		n++;
	CHECK(n > 200 && n < 300 && fds[n] == -EMFILE, "%d, then %d", n, fds[n]);
	while (n)
		close(fds[--n]);
	setrlimit(RLIMIT_NOFILE, &old);
	CHECK(all_free(), "many");
}

static int shared_fd[2];

static void *meddle(void *arg)
{
	uint64_t v[8];
	const uintptr_t seed = (uintptr_t)arg;
	for (unsigned i = 0; i < 3000; i++) {
		const int fd = shared_fd[(i * 7 + seed) % 2];
		switch ((i * 13 + seed * 5) % 6) {
		case 0: ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP); break;
		case 1: ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); break;
		case 2: ioctl(fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP); break;
		case 3: CHECK(read(fd, v, sizeof(v)) == 24 || v[0] == 1, "read"); break;
		case 4: close(dup(fd)); break;
		default: close(counter(0)); break;
		}
	}
	return NULL;
}

static void races(void)
{
	struct perf_event_attr a = vpmu_instructions();
	pthread_t t[4];
	a.read_format = PERF_FORMAT_GROUP;
	shared_fd[0] = vpmu_open(&a, 0, -1, -1, 0);
	shared_fd[1] = vpmu_open(&a, 0, -1, shared_fd[0], 0);
	for (uintptr_t i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, meddle, (void *)i) == 0, "thread");
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	close(shared_fd[0]);
	close(shared_fd[1]);
	CHECK(all_free(), "races");
}

/* Children that open, inherit and die in the middle of it. */
static void killed(void)
{
	struct perf_event_attr a = vpmu_instructions();
	a.inherit = 1;
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	for (int i = 0; i < 20; i++) {
		const pid_t pid = fork();
		if (pid == 0) {
			for (;;) {
				if (fork() == 0)
					_exit(0);
				close(counter(0));
				while (waitpid(-1, NULL, WNOHANG) > 0)
					;
			}
		}
		usleep(2000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	const uint64_t v = vpmu_read(fd);
	CHECK(vpmu_read(fd) > v, "goes on");
	close(fd);
	CHECK(all_free(), "the killed hold counters");
}

/* On one CPU only: there, or nowhere. */
static void on_a_cpu(void)
{
	struct perf_event_attr a = vpmu_instructions();
	cpu_set_t old, one;
	uint64_t v;
	CHECK(sched_getaffinity(0, sizeof(old), &old) == 0, "affinity");
	int cpu = 0;
	while (!CPU_ISSET(cpu, &old))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (CPU_COUNT(&old) > 1)
		CHECK(vpmu_open(&a, 0, cpu, -1, 0) == -EOPNOTSUPP, "it may run elsewhere");
	sched_setaffinity(0, sizeof(one), &one);
	const int fd = vpmu_open(&a, 0, cpu, -1, 0);
	CHECK(fd >= 0, "bound: %d", fd);
	vpmu_loop(1000);
	CHECK(vpmu_read(fd) > 2001, "counts");
	CHECK(vpmu_open(&a, 0, -1, fd, 0) == -EINVAL, "a group is on one CPU");
	sched_setaffinity(0, sizeof(old), &old);
	if (CPU_COUNT(&old) > 1)
		CHECK(read(fd, &v, 8) == 0, "it may have gone elsewhere: in error");
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return after_exec(argv[1], argv[2]);
	copies();
	pages();
	over_exec(argv[0]);
	through_socket();
	many();
	races();
	killed();
	on_a_cpu();
	return 0;
}
