#include "child.h"
#include "descriptors.h"
#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t launch_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the child's side ---- */

/* Sent by the child: first the result of personality(2); then, only when exec fails, its errno. */
struct message {
	int personality_errno;
	int exec_errno;
};

static void send_message(int fd, const struct message *m)
{
	while (write(fd, m, sizeof(*m)) < 0 && errno == EINTR)
		;
}

__attribute__((noreturn))
static void child_side(const struct child_plan *p, const struct rlimit *files, int go, int report)
{
	struct message m = { 0 };
	char byte;
	setrlimit(RLIMIT_NOFILE, files);
	for (size_t i = 0; i < CHILD_INHERITS; i++)
		if (p->inherit[i] > 0)
			fcntl(p->inherit[i], F_SETFD, 0);
	if (p->region_from > 0)
		dup2(p->region_from, p->region_to);
	if (!p->aslr) {
		const int old = personality(0xffffffff);
		if (old < 0 || personality((unsigned long)old | ADDR_NO_RANDOMIZE) < 0)
			m.personality_errno = errno;
	}
	send_message(report, &m);
	ssize_t n;
	while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n == 1) {
		execvp(p->argv[0], p->argv);
		m.exec_errno = errno;
		send_message(report, &m);
	}
	_exit(127);
}

/* ---- the parent's side ---- */

static bool receive_message(int fd, struct message *m)
{
	ssize_t n;
	while ((n = read(fd, m, sizeof(*m))) < 0 && errno == EINTR)
		;
	return n == (ssize_t)sizeof(*m);
}

/* Above the standard descriptors even when the caller has closed some of them:
 * the child must not find a pipe of ours as its stdout. */
static int high(int fd)
{
	if (fd < 0 || fd > 2)
		return fd;
	const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return moved;
}

/* A pair of sockets rather than a pipe: a write to a child that was killed gives EPIPE without
 * SIGPIPE, whose disposition belongs to the whole process. */
static bool high_pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return false;
	ends[0] = high(ends[0]);
	ends[1] = high(ends[1]);
	return ends[0] >= 0 && ends[1] >= 0;
}

/* Opened while the process lives: the files of a zombie belong to root, but a descriptor that is
 * open already can be read until the zombie is reaped. */
static int open_personality(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/personality", (int)pid);
	return high(open(path, O_RDONLY | O_CLOEXEC));
}

static int no_pair(int err, struct tare_why *why)
{
	return why_errno(why, err == EMFILE || err == ENFILE ? TARE_E_TOO_MANY_FILES : TARE_E_IO,
			 err, "a pair of sockets");
}

bool child_status_kept(struct tare_why *why)
{
	struct sigaction act;
	if (sigaction(SIGCHLD, NULL, &act) < 0 ||
	    (act.sa_handler != SIG_IGN && !(act.sa_flags & SA_NOCLDWAIT)))
		return true;
	why_set(why, TARE_E_INVALID,
		"this process ignores SIGCHLD, so that the command's exit status is lost");
	why_remedy(why, "set SIGCHLD to SIG_DFL or to a handler, without SA_NOCLDWAIT");
	return false;
}

int child_start(struct child *c, const struct child_plan *plan, struct tare_why *why)
{
	int go[2], report[2];
	struct message m;
	*c = (struct child){ .go = -1, .report = -1, .pidfd = -1, .personality = -1,
			     .name = plan->argv[0], .aslr_asked = plan->aslr };
	if (!plan->argv[0][0])
		return why_set(why, TARE_E_NO_COMMAND, "\"\" (an empty name)");
	if (!high_pair(go))
		return no_pair(errno, why);
	if (!high_pair(report)) {
		const int err = errno;
		close(go[0]);
		close(go[1]);
		return no_pair(err, why);
	}
	const struct rlimit files = descriptors_limit();
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]);
		child_side(plan, &files, go[0], report[1]);
	}
	const int fork_errno = errno;
	close(go[0]);
	close(report[1]);
	c->go = go[1];
	c->report = report[0];
	if (c->pid < 0) {
		close(c->go);
		close(c->report);
		return why_errno(why, TARE_E_IO, fork_errno, "fork");
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	c->personality = open_personality(c->pid);
	if (!receive_message(c->report, &m))
		m = (struct message){ 0 };	/* killed already: waiting for it shows that */
	c->aslr_refused = m.personality_errno != 0;
	c->aslr_errno = m.personality_errno;
	return 0;
}

void child_close(struct child *c)
{
	if (c->go >= 0)
		close(c->go);
	if (c->report >= 0)
		close(c->report);
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->personality >= 0)
		close(c->personality);
	c->go = c->report = c->pidfd = c->personality = -1;
}

void child_abandon(struct child *c)
{
	int status = 0;
	kill(c->pid, SIGKILL);
	/* A traced child may stop once more before it ends. */
	while (waitpid(c->pid, &status, 0) < 0 ? errno == EINTR : WIFSTOPPED(status))
		;
	child_close(c);
}

static bool in_path(const char *name)
{
	const char *const all = getenv("PATH");
	char file[PATH_MAX];
	for (const char *at = all ? all : "/bin:/usr/bin"; at; at = *at ? at + 1 : NULL) {
		const size_t len = strcspn(at, ":");
		if (snprintf(file, sizeof(file), "%.*s%s%s", (int)len, at, len ? "/" : "", name) <
			    (int)sizeof(file) && access(file, F_OK) == 0)
			return true;
		at += len;
	}
	return false;
}

/* `fmt` says what is wrong; the caller chooses the remedy by the errno. */
static int cannot_run(struct tare_why *why, int err, const char *fmt, const char *name)
{
	why_set(why, TARE_E_NOT_EXECUTABLE, fmt, name);
	if (why)
		why->sys_errno = err;
	return TARE_E_NOT_EXECUTABLE;
}

/* exec also gives ENOENT for a script whose interpreter is missing. */
static int exec_failure(const char *name, int err, struct tare_why *why)
{
	struct stat st;
	if (err == ENOENT && strchr(name, '/') && stat(name, &st) == 0)
		return cannot_run(why, ENOENT, "%s: its interpreter does not exist", name);
	if (err == ENOENT || err == ENOTDIR)
		return why_set(why, TARE_E_NO_COMMAND, "%s", name);
	/* execvp gives EACCES also for a folder in PATH that may not be searched. */
	if (err == EACCES && !strchr(name, '/') && !in_path(name))
		return why_set(why, TARE_E_NO_COMMAND, "%s", name);
	if (err == EACCES && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		return cannot_run(why, EISDIR, "%s is a directory", name);
	return why_errno(why, TARE_E_NOT_EXECUTABLE, err, "%s", name);
}

void child_release(struct child *c)
{
	c->start_ns = launch_now_ns();
	/* EPIPE: the child has been killed; waiting for it shows that. */
	while (send(c->go, "", 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
	close(c->go);
	c->go = -1;
}

int child_exec_failure(struct child *c, struct tare_why *why)
{
	struct message m;
	const bool failed = receive_message(c->report, &m);
	close(c->report);
	c->report = -1;
	return failed ? exec_failure(c->name, m.exec_errno, why) : 0;
}

int child_exec(struct child *c, struct tare_why *why)
{
	child_release(c);
	const int err = child_exec_failure(c, why);
	if (err)
		child_abandon(c);
	return err;
}

static bool read_line(const char *path, char *out, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	const ssize_t n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

int child_no_ptrace(const struct child *c, int err, const char *what, struct tare_why *why)
{
	char path[64], text[2048];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)c->pid);
	const char *const field =
		read_line(path, text, sizeof(text)) ? strstr(text, "\nTracerPid:") : NULL;
	const long tracer = field ? strtol(field + strlen("\nTracerPid:"), NULL, 10) : 0;
	if (tracer)
		return why_errno(why, TARE_E_TRACED, err, "%s %s, traced by process %ld", what,
				 c->name, tracer);
	return why_errno(why, TARE_E_NO_PTRACE, err, "%s %s", what, c->name);
}

static bool ended(pid_t pid, bool own_child)
{
	if (own_child) {
		siginfo_t info = { .si_pid = 0 };
		/* waitid() also reports the stops of a child that we trace. */
		return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		       (info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED);
	}
	/* PID (comm) STATE …: comm may contain anything, so its last ) counts. */
	char path[64], text[256];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_line(path, text, sizeof(text)))
		return true;
	const char *const state = strrchr(text, ')');
	return state && state[1] && (state[2] == 'Z' || state[2] == 'X');
}

bool child_ended(const struct child *c)
{
	return ended(c->pid, true);
}

bool launch_wait(pid_t pid, int pidfd, uint64_t until_ns, bool own_child, const int wake[2])
{
	const uint64_t now = launch_now_ns();
	uint64_t left = until_ns > now ? until_ns - now : 0;
	if (pidfd < 0) {
		if (ended(pid, own_child))
			return true;
		if (left > 10000000)
			left = 10000000;
	}
	const struct timespec t = { (time_t)(left / 1000000000u),
				    (long)(left % 1000000000u) };
	struct pollfd p[3] = { { .fd = pidfd, .events = POLLIN },
			       { .fd = wake ? wake[0] : -1, .events = POLLIN },
			       { .fd = wake ? wake[1] : -1, .events = POLLIN } };
	return ppoll(p, 3, &t, NULL) > 0 && p[0].revents;
}

bool child_wait(const struct child *c, uint64_t until_ns, const int wake[2])
{
	return launch_wait(c->pid, c->pidfd, until_ns, true, wake);
}

static int aslr_off_by(int personality_fd)
{
	char text[32];
	if (read_line("/proc/sys/kernel/randomize_va_space", text, sizeof(text)) &&
	    text[0] == '0')
		return 1;
	const ssize_t n = pread(personality_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return (strtoul(text, NULL, 16) & ADDR_NO_RANDOMIZE) != 0;
}

int child_aslr_off(const struct child *c)
{
	return aslr_off_by(c->personality);
}

int launch_aslr_off(pid_t pid)
{
	const int fd = open_personality(pid);
	const int off = aslr_off_by(fd);
	if (fd >= 0)
		close(fd);
	return off;
}

/* A wrapper (setarch), a set-uid image or a seccomp profile can undo or refuse the
 * personality, so it is read from the image that ended, while it is a zombie. */
void child_tell_aslr(const struct child *c, int off, struct tare_measurement *m)
{
	m->aslr_off = off == 1;
	if (c->aslr_asked || off == 1)
		m->aslr_note = NULL;
	else if (c->aslr_refused)
		m->aslr_note = "personality(2) is refused here (a seccomp profile?), "
			       "so ASLR stayed on";
	else if (off < 0)
		m->aslr_note = "ASLR was turned off, but /proc does not show whether it "
			       "stayed off";
	else
		m->aslr_note = "the command turned ASLR on again (a wrapper or a set-uid "
			       "image does)";
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

void child_reap(struct child *c, struct tare_measurement *m)
{
	struct rusage ru = { 0 };
	int status = 0;
	child_tell_aslr(c, child_aslr_off(c), m);
	while (wait4(c->pid, &status, 0, &ru) < 0 ? errno == EINTR : WIFSTOPPED(status))
		;
	m->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	m->user_ns = timeval_ns(ru.ru_utime);
	m->system_ns = timeval_ns(ru.ru_stime);
	child_close(c);
}
