#include "clean-env.h"
#include "complain.h"

#include <stdlib.h>
#include <string.h>

/* PATH is Debian's for root, so that system commands are found; HOME is Debian's for users
 * that have none: files in a home folder are input that differs from machine to machine. */
static const char *const fixed[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/nonexistent",
	"LANG=C.UTF-8",
	"TZ=UTC",
};
enum { N_FIXED = sizeof(fixed) / sizeof(fixed[0]) };
/* In a still world all files have the same time: Python would write its compiled files again. */
static const char still[] = "PYTHONDONTWRITEBYTECODE=1";

static bool names(const char *entry, const char *name)
{
	const size_t n = strlen(name);
	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static char *entry_of(const char *name, const char *value)
{
	char *const e = malloc(strlen(name) + strlen(value) + 2);
	if (!e)
		abort();
	strcpy(stpcpy(stpcpy(e, name), "="), value);
	return e;
}

static void keep_one(char **envp, size_t *n, const char *name)
{
	const char *const value = getenv(name);
	size_t at = 0;
	if (!value) {
		caution("--keep %s: the variable is not set", name);
		return;
	}
	while (at < *n && !names(envp[at], name))
		at++;
	if (at == *n)
		(*n)++;
	free(envp[at]);
	envp[at] = entry_of(name, value);
}

char **clean_environment(const struct opt_list *keep, bool hermetic)
{
	char **const envp = calloc(N_FIXED + 1 + keep->n + 1, sizeof(*envp));
	size_t n = 0;
	if (!envp)
		abort();
	for (; n < N_FIXED; n++)
		if (!(envp[n] = strdup(fixed[n])))
			abort();
	if (hermetic && !(envp[n++] = strdup(still)))
		abort();
	for (size_t i = 0; i < keep->n; i++)
		keep_one(envp, &n, keep->items[i]);
	return envp;
}

void clean_environment_free(char **envp)
{
	for (char **e = envp; *e; e++)
		free(*e);
	free(envp);
}
