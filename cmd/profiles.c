#include "profiles.h"

#include "command.h"
#include "complain.h"
#include "term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const compat_words[] = { "none", "measureme", NULL };

/* Without its extension, as measureme's tools take it. */
static char *with_extension(const char *path)
{
	char *name;
	struct stat st;
	if (strcmp(path, "-") == 0 || stat(path, &st) == 0)
		return NULL;
	if (asprintf(&name, "%s.mm_profdata", path) < 0)
		return NULL;
	if (stat(name, &st) == 0)
		return name;
	free(name);
	return NULL;
}

struct tare_profile *profile_get(const char *path)
{
	struct tare_profile *p;
	struct tare_why why = { 0 };
	char *const longer = with_extension(path);
	const int err = tare_profile_open(longer ? longer : path, &p, &why);
	free(longer);
	if (err < 0) {
		complain_why(&why);
		return NULL;
	}
	return p;
}

struct tare_profile **profiles_get(char **paths, size_t n)
{
	struct tare_profile **const p = calloc(n + 1, sizeof(*p));
	if (!p) {
		complain("out of memory");
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		p[i] = profile_get(paths[i]);
		if (!p[i]) {
			profiles_close(p, i);
			return NULL;
		}
	}
	return p;
}

void profiles_close(struct tare_profile **p, size_t n)
{
	for (size_t i = 0; p && i < n; i++)
		tare_profile_close(p[i]);
	free(p);
}

void profile_cautions(const struct tare_profile *p)
{
	struct tare_profile_warning w[TARE_PROFILE_WARNINGS];
	const size_t n = tare_profile_warnings(p, w, TARE_PROFILE_WARNINGS);
	for (size_t i = 0; i < n; i++)
		caution("%s %s", tare_profile_info(p)->path, w[i].text);
}

static void tell(void *arg, uint64_t done, uint64_t total)
{
	progress("%s: %u%%", (const char *)arg, (unsigned)(total ? 100 * done / total : 100));
}

struct tare_progress profile_progress(const char *what)
{
	return (struct tare_progress){ .tell = isatty(STDERR_FILENO) ? tell : NULL,
				       .arg = (void *)what };
}

static bool is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

int export_open(const char *path)
{
	if (is_stdout(path))
		return STDOUT_FILENO;
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		complain_errno(errno, "%s", path);
	return fd;
}

int export_close(int fd, const char *path, int status)
{
	struct stat st;
	progress_clear();
	if (is_stdout(path))
		return status;
	const bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (close(fd) < 0 && status == EXIT_GOOD)
		status = complain_errno(errno, "%s", path);
	if (status != EXIT_GOOD && regular)
		unlink(path);
	return status;
}
