/* Which libraries a program gets depends on run paths, LD_LIBRARY_PATH, LD_PRELOAD, the
 * linker's cache and the CPU. The dynamic linker of the program knows: it is run with
 * --list, as ldd(1) does, in the environment of the command. This runs no code of the
 * program. */
#include "libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts `linker --list program`, which writes to `to`. Without a copy of this process's memory, as fork() would
 * make it. Returns the process, or -1. */
static pid_t start_linker(const char *linker, const char *program, char *const *envp, int to)
{
	char *const args[] = { (char *)linker, (char *)"--list", (char *)program, NULL };
	posix_spawn_file_actions_t files;
	pid_t pid = -1;
	if (posix_spawn_file_actions_init(&files))
		return -1;
	if (posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0) ||
	    posix_spawn_file_actions_adddup2(&files, to, 1) || posix_spawn_file_actions_adddup2(&files, 0, 2) ||
	    posix_spawn(&pid, linker, &files, NULL, args, envp))
		pid = -1;
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

/* What `linker --list program` prints. */
void libraries_list(const char *linker, const char *program, char *const *envp,
		       struct buf *out)
{
	int ends[2], status;
	char chunk[4096];
	ssize_t n;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	const pid_t pid = start_linker(linker, program, envp, ends[1]);
	close(ends[1]);
	while (pid > 0 && ((n = read(ends[0], chunk, sizeof(chunk))) > 0 ||
			   (n < 0 && errno == EINTR)))
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

/* "\tlibz.so.1 => /lib/libz.so.1 (0x7f…)" or "\t/lib64/ld-linux.so.2 (0x7f…)". The name is
 * the last part of the path in the second form; the vDSO has no file. */
bool libraries_line(char *line, const char **name, const char **path)
{
	line += strspn(line, " \t");
	char *const arrow = strstr(line, " => ");
	char *const address = strrchr(line, '(');
	if (address && address > line)
		address[-1] = '\0';
	if (arrow)
		*arrow = '\0';
	*path = arrow ? arrow + 4 : line;
	const char *const slash = strrchr(line, '/');
	*name = slash ? slash + 1 : line;
	return **path == '/';
}
