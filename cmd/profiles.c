#include "profiles.h"

#include "command.h"
#include "complain.h"
#include "json.h"
#include "sink.h"
#include "term.h"

#include <dirent.h>
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

static int is_profile(const struct dirent *e)
{
	const char *const dot = strrchr(e->d_name, '.');
	return dot && strcmp(dot, ".mm_profdata") == 0;
}

static bool is_directory(const char *path)
{
	struct stat st;
	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* For a command that shows one profile. */
static void complain_directory(const char *path)
{
	struct dirent **names;
	const int n = scandir(path, &names, is_profile, alphasort);
	const char *const slash = path[strlen(path) - 1] == '/' ? "" : "/";
	if (n > 0)
		complain("%s is a directory with %d profile%s; name one of them: %s%s%s", path, n,
			 n == 1 ? "" : "s", path, slash, names[0]->d_name);
	else
		complain("%s is a directory without profiles; name a .mm_profdata file", path);
	for (int i = 0; i < n; i++)
		free(names[i]);
	if (n >= 0)
		free(names);
}

struct tare_profile *profile_get(const char *path)
{
	struct tare_profile *p;
	struct tare_why why = { 0 };
	if (is_directory(path)) {
		complain_directory(path);
		return NULL;
	}
	char *const longer = with_extension(path);
	const int err = tare_profile_open(longer ? longer : path, &p, &why);
	free(longer);
	if (err < 0) {
		complain_why(&why);
		return NULL;
	}
	return p;
}

struct list {
	struct tare_profile **items;
	size_t n;
};

static bool add(struct list *l, const char *path)
{
	struct tare_profile **const grown = realloc(l->items, (l->n + 2) * sizeof(*grown));
	if (!grown) {
		complain("out of memory");
		return false;
	}
	l->items = grown;
	l->items[l->n] = profile_get(path);
	return l->items[l->n] && ++l->n;
}

static bool add_directory(struct list *l, const char *path)
{
	struct dirent **names;
	const int n = scandir(path, &names, is_profile, alphasort);
	if (n < 0) {
		complain_errno(errno, "%s", path);
		return false;
	}
	bool good = n > 0;
	if (!good)
		complain("%s: no .mm_profdata file in this directory", path);
	for (int i = 0; i < n; i++) {
		char name[4096];
		snprintf(name, sizeof(name), "%s/%s", path, names[i]->d_name);
		good = good && add(l, name);
		free(names[i]);
	}
	free(names);
	return good;
}

struct tare_profile **profiles_get(const char *const *paths, size_t *n)
{
	struct list l = { 0 };
	for (size_t i = 0; i < *n; i++) {
		if (!(is_directory(paths[i]) ? add_directory(&l, paths[i]) : add(&l, paths[i]))) {
			profiles_close(l.items, l.n);
			return NULL;
		}
	}
	*n = l.n;
	return l.items;
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

int fd_write(void *fd, const void *bytes, size_t n)
{
	const char *at = bytes;
	while (n) {
		const ssize_t done = write(*(const int *)fd, at, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

int text_write(struct buf *text, int fd, struct tare_why *why)
{
	term_text(text);
	return sink_buf(text, fd_write, &fd, why);
}

void json_profile_info(struct json *j, const struct tare_profile_info *i)
{
	json_str(j, "file", i->path);
	json_u64(j, "version", i->version);
	json_u64(j, "events", i->n_events);
	json_bool(j, "complete", i->complete);
	json_str(j, "counter", *i->counter ? i->counter : NULL);
	json_str(j, "unit", *i->unit ? i->unit : NULL);
	json_str(j, "provenance", *i->provenance ? i->provenance : NULL);
	json_str(j, "cpu", *i->cpu ? i->cpu : NULL);
	json_str(j, "command", i->has_metadata ? i->cmd : NULL);
	json_u64(j, "process", i->process_id);
	json_u64(j, "clamped", i->clamped);
	json_u64(j, "dropped", i->dropped);
	json_u64(j, "pages", i->pages);
	json_u64(j, "page_cost", i->page_cost);
}
