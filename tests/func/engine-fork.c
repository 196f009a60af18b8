/* fork, vfork, posix_spawn, exec: of good and of missing files, of scripts, by
 * descriptor, from a thread, with an empty environment; waits, orphans, pipes.
 *
 * engine-fork runs itself: `engine-fork child N` ends with status N.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *self;

static int wait_for(pid_t pid)
{
	int status;
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void forks(void)
{
	int local = 1;
	const pid_t pid = fork();
	if (pid == 0) {
		local++;
		const pid_t grand = fork();
		if (grand == 0)
			_exit(local + 40);
		_exit(wait_for(grand) + 1);
	}
	printf("fork %d, mine %d\n", wait_for(pid), local);
	long sum = 0;
	pid_t pids[30];
	for (int i = 0; i < 30; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(i);
	}
	for (int i = 0; i < 30; i++)
		sum += wait_for(pids[i]);
	printf("thirty children %ld\n", sum);
}

static volatile int vforked;
static void vforks(void)
{
	for (volatile int i = 0; i < 20; i++) {
		const pid_t pid = vfork();
		if (pid == 0) {
			vforked++;		/* the parent sees it */
			_exit(i);
		}
		if (wait_for(pid) != i)
			printf("vfork %d wrong\n", i);
	}
	printf("vforked %d\n", vforked);
	const pid_t pid = vfork();
	if (pid == 0) {
		execl("/nonexistent/file", "file", NULL);
		vforked = errno;
		execl(self, self, "child", "6", NULL);
		_exit(99);
	}
	printf("vfork, failed exec (%d), exec %d\n", vforked, wait_for(pid));
}

static void spawns(void)
{
	char *const argv[] = { self, "child", "5", NULL };
	pid_t pid;
	printf("spawn %d", posix_spawn(&pid, self, NULL, NULL, argv, environ));
	printf(" %d\n", wait_for(pid));
	printf("spawn of nothing %d\n", posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ));
	posix_spawn_file_actions_t fa;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	char *const echo[] = { "echo", "unseen", NULL };
	printf("spawn echo %d", posix_spawnp(&pid, "echo", &fa, NULL, echo, environ));
	printf(" %d\n", wait_for(pid));
}

static int run(void (*how)(void))
{
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0) {
		how();
		_exit(errno == ENOEXEC ? 81 : errno == EACCES ? 82 : errno == ENOENT ? 83 : 84);
	}
	return wait_for(pid);
}

static char script[] = "/tmp/engine-fork-XXXXXX";
static void exec_path(void) { execl(self, self, "child", "11", NULL); }
static void exec_empty_env(void)
{
	char *const argv[] = { self, "env", NULL };
	char *const env[] = { NULL };
	execve(self, argv, env);
}
static void exec_fd(void)
{
	const int fd = open(self, O_RDONLY | O_CLOEXEC);
	char *const argv[] = { "odd name", "child", "12", NULL };
	fexecve(fd, argv, environ);
}
static void exec_at(void)
{
	char *const argv[] = { self, "child", "13", NULL };
	syscall(SYS_execveat, AT_FDCWD, self, argv, environ, 0);
}
static void exec_script(void) { execl(script, script, "14", NULL); }
static void exec_not_executable(void) { execl("/etc/passwd", "passwd", NULL); }
static void exec_directory(void) { execl("/tmp", "tmp", NULL); }
static void exec_missing(void) { execlp("no-such-command-here", "x", NULL); }
static void exec_garbage(void)
{
	const int fd = memfd_create("garbage", 0);
	if (write(fd, "\177ELFgarbage", 11) != 11)
		return;
	fchmod(fd, 0755);
	char *const argv[] = { "g", NULL };
	fexecve(fd, argv, environ);
}
static void exec_bad_pointer(void) { syscall(SYS_execve, 8, 0, 0); }
static void exec_memfd(void)
{
	const int in = open(self, O_RDONLY), out = memfd_create("copy", MFD_CLOEXEC);
	char buf[65536];
	for (ssize_t n; (n = read(in, buf, sizeof(buf))) > 0;)
		if (write(out, buf, (size_t)n) != n)
			return;
	char *const argv[] = { "from memory", "child", "15", NULL };
	fexecve(out, argv, environ);
}
static void *thread_exec(void *arg)
{
	execl(self, self, "child", "16", NULL);
	return arg;
}
static void *thread_idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}
static void exec_from_thread(void)
{
	pthread_t t, idle;
	pthread_create(&idle, NULL, thread_idle, NULL);
	pthread_create(&t, NULL, thread_exec, NULL);
	pthread_join(t, NULL);
}
static void exec_ignored_signals(void)
{
	signal(SIGUSR1, SIG_IGN);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	execl(self, self, "signals", NULL);
}

static void execs(void)
{
	const int fd = mkstemp(script);
	dprintf(fd, "#!/bin/sh\nexec \"$SELF\" child \"$1\"\n");
	fchmod(fd, 0755);
	close(fd);
	setenv("SELF", self, 1);
	printf("exec %d\n", run(exec_path));
	printf("exec, empty environment %d\n", run(exec_empty_env));
	printf("fexecve %d\n", run(exec_fd));
	printf("execveat %d\n", run(exec_at));
	printf("script %d\n", run(exec_script));
	printf("not executable %d\n", run(exec_not_executable));
	printf("directory %d\n", run(exec_directory));
	printf("missing %d\n", run(exec_missing));
	printf("garbage %d\n", run(exec_garbage));
	printf("bad pointer %d\n", run(exec_bad_pointer));
	printf("memfd %d\n", run(exec_memfd));
	printf("from a thread %d\n", run(exec_from_thread));
	printf("ignored and blocked signals %d\n", run(exec_ignored_signals));
	unlink(script);
}

static void pipes(void)
{
	FILE *const p = popen("printf 'b\\na\\n' | sort | tr '\\n' ' '", "r");
	char line[64] = "";
	if (!fgets(line, sizeof(line), p))
		printf("nothing read\n");
	printf("pipe: %s, %d\n", line, pclose(p));
	printf("system %d\n", WEXITSTATUS(system("exit 21")));
}

static volatile int chld;
static void on_chld(int sig)
{
	(void)sig;
	chld++;
}

static void statuses(void)
{
	signal(SIGCHLD, on_chld);
	pid_t pid = fork();
	if (pid == 0)
		raise(SIGKILL);
	const int killed = wait_for(pid);
	printf("killed %d, SIGCHLD %d\n", killed, chld);
	pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		_exit(4);
	}
	int status;
	waitpid(pid, &status, WUNTRACED);
	printf("stopped %d\n", WIFSTOPPED(status) ? WSTOPSIG(status) : 0);
	kill(pid, SIGCONT);
	printf("continued %d\n", wait_for(pid));
	signal(SIGCHLD, SIG_IGN);
	pid = fork();
	if (pid == 0)
		_exit(0);
	printf("ignored SIGCHLD: wait says %d\n", -wait_for(pid) == ECHILD);
	signal(SIGCHLD, SIG_DFL);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "child"))
		return atoi(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "env"))
		return environ[0] ? 1 : 20;
	if (argc == 2 && !strcmp(argv[1], "signals")) {
		struct sigaction sa;
		sigset_t set;
		sigaction(SIGUSR1, NULL, &sa);
		sigprocmask(SIG_BLOCK, NULL, &set);
		return (sa.sa_handler == SIG_IGN) + 2 * sigismember(&set, SIGUSR2);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	self = realpath("/proc/self/exe", NULL);
	forks();
	vforks();
	spawns();
	execs();
	pipes();
	statuses();
	return 0;
}
