#include "modules.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef TARE_MODULES	/* meson.build gives the folder of this installation */
#define TARE_MODULES "/usr/local/lib/tare"
#endif

static const char *beside(char *neighbour, const char *file, char *out, size_t size)
{
	char *const slash = strrchr(neighbour, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	snprintf(out, size, "%s/%s", neighbour, file);
	return access(out, R_OK) == 0 ? out : NULL;
}

/* libtare.so, where a program links it: the build's folder, or a library that was moved with its
 * modules. */
static const char *beside_library(const char *file, char *out, size_t size)
{
	Dl_info info;
	char library[PATH_MAX], below[PATH_MAX];
	if (!dladdr((const void *)module_path, &info) || !info.dli_fname || !strchr(info.dli_fname, '/'))
		return NULL;
	snprintf(library, sizeof(library), "%s", info.dli_fname);
	snprintf(below, sizeof(below), "tare/%s", file);
	const char *const found = beside(library, file, out, size);
	if (found)
		return found;
	snprintf(library, sizeof(library), "%s", info.dli_fname);
	return beside(library, below, out, size);
}

const char *module_path(const char *file, char *out, size_t size)
{
	char program[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = '\0';
	if (beside(program, file, out, size) || beside_library(file, out, size))
		return out;
	snprintf(out, size, TARE_MODULES "/%s", file);
	return access(out, R_OK) == 0 ? out : NULL;
}
