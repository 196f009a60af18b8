#include "file-size.h"

#include "soft-setup.h"
#include "why.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: only system calls, since other threads may have held locks. Its exit status is
 * the errno. */
static void set_in_child(int fd, uint64_t size, rlim_t hard)
{
	const struct rlimit most = { hard, hard };
	if (setrlimit(RLIMIT_FSIZE, &most) < 0 || ftruncate(fd, (off_t)size) < 0)
		_exit(errno);
	_exit(0);
}

static int set_by_child(int fd, uint64_t size, rlim_t hard)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);	/* no handler of the caller runs in it */
	/* no signal at its end */
	const pid_t pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (pid == 0)
		set_in_child(fd, size, hard);
	int status = 0, err = pid < 0 ? errno : 0;
	while (pid > 0 && waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			break;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err ? err : WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

int file_set_size(int fd, uint64_t size, const char *what, struct tare_why *why)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	getrlimit(RLIMIT_FSIZE, &limit);
	if (limit.rlim_max < size) {
		why_set(why, TARE_E_IO, "%s takes a file of %ju bytes, and ulimit -H -f allows %ju",
			what, (uintmax_t)size, (uintmax_t)limit.rlim_max);
		why_remedy(why, "raise ulimit -H -f");
		return TARE_E_IO;
	}
	int err;
	if (limit.rlim_cur < size)
		err = set_by_child(fd, size, limit.rlim_max);
	else
		err = ftruncate(fd, (off_t)size) < 0 ? errno : 0;
	return err ? why_errno(why, soft_memory_code(err), err, "%s", what) : 0;
}
