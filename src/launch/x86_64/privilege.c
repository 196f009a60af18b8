#include "privilege.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_INTERPRETERS 5		/* as the kernel */

/* Replaces the script at `path` by its interpreter ("#! interpreter argument"); false if the file is
 * no script. */
static bool interpreter(char *path, size_t size)
{
	char head[257];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
	if (fd >= 0)
		close(fd);
	if (n < 3 || head[0] != '#' || head[1] != '!')
		return false;
	head[n] = '\0';
	const char *const start = head + 2 + strspn(head + 2, " \t");
	snprintf(path, size, "%.*s", (int)strcspn(start, " \t\n"), start);
	return path[0];
}

static bool file_gains(const char *file)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s", file);
	for (int i = 0; i <= MAX_INTERPRETERS; i++) {
		struct stat st;
		if (stat(path, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID))
			return true;
		if (getxattr(path, "security.capability", NULL, 0) > 0)
			return true;
		if (!interpreter(path, sizeof(path)))
			return false;
	}
	return false;
}

bool gains_privilege(const char *name)
{
	if (strchr(name, '/'))
		return file_gains(name);
	const char *dir = getenv("PATH");
	if (!dir)
		dir = "/bin:/usr/bin";
	for (;;) {
		const size_t len = strcspn(dir, ":");
		char path[PATH_MAX];
		struct stat st;
		snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dir, len ? "/" : "./", name);
		if (access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode))
			return file_gains(path);
		if (!dir[len])
			return false;
		dir += len + 1;
	}
}
