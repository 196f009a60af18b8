#include "output.h"
#include "complain.h"
#include "term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* main() has put a read-only /dev/null in the place of a closed descriptor. */
static bool writable(int fd)
{
	const int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static bool open_file(struct output *out)
{
	const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
	out->fd = open(out->path, flags | O_CREAT | O_EXCL, 0666);
	out->created = out->fd >= 0;
	/* Not truncated yet: should the command not even start, the old one stays. */
	if (out->fd < 0 && errno == EEXIST)
		out->fd = open(out->path, flags | O_CREAT, 0666);
	if (out->fd >= 0)
		return true;
	complain("%s: cannot be written: %s; nothing was done", out->path[0] ? out->path : "\"\"",
		 strerror(errno));
	return false;
}

bool output_open(struct output *out, const char *path)
{
	*out = (struct output){ .path = path, .fd = STDERR_FILENO };
	if (path && strcmp(path, "-") != 0)
		return open_file(out);
	if (path)
		out->fd = STDOUT_FILENO;
	if (writable(out->fd))
		return true;
	complain("standard %s is closed, so the results have nowhere to go; nothing was done",
		 path ? "output" : "error");
	return false;
}

static bool write_all(int fd, const char *text, size_t len)
{
	while (len) {
		const ssize_t n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

static void begin(struct output *out)
{
	struct stat st;
	if (out->begun)
		return;
	out->begun = true;
	progress_clear();
	if (out->fd == STDOUT_FILENO)
		fflush(stdout);
	if (out->append && lseek(out->fd, 0, SEEK_END) >= 0)
		return;
	if (out->fd > STDERR_FILENO && fstat(out->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    ftruncate(out->fd, 0) < 0)
		complain_errno(errno, "%s", out->path);
}

bool output_write(struct output *out, const char *text, size_t len)
{
	begin(out);
	if (!out->failed && write_all(out->fd, text, len))
		return true;
	const int err = errno;
	const bool first = !out->failed;
	out->failed = true;
	if (!out->path)
		return false;
	if (first)
		complain("%s: %s; the results follow here instead",
			 strcmp(out->path, "-") == 0 ? "standard output" : out->path,
			 strerror(err));
	write_all(STDERR_FILENO, text, len);
	return false;
}

int output_bytes(void *arg, const void *bytes, size_t n)
{
	struct output *const out = arg;
	begin(out);
	if (write_all(out->fd, bytes, n))
		return 0;
	const int err = errno ? errno : EIO;
	out->spoiled = true;
	return err;
}

bool output_close(struct output *out)
{
	struct stat st;
	bool good = !out->failed && !out->spoiled;
	if (out->fd <= STDERR_FILENO)
		return good;
	const bool regular = fstat(out->fd, &st) == 0 && S_ISREG(st.st_mode);
	if (close(out->fd) < 0 && good) {
		complain("%s: %s", out->path, strerror(errno));
		good = false;
	}
	if ((out->created && !out->begun) || (out->spoiled && regular))
		unlink(out->path);
	return good;
}
