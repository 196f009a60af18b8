#include "modules.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef TARE_MODULES	/* meson.build gives the folder of this installation */
#define TARE_MODULES "/usr/local/lib/tare"
#endif

const char *module_path(const char *file, char *out, size_t size)
{
	char folder[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	folder[n > 0 ? n : 0] = '\0';
	char *const slash = strrchr(folder, '/');
	if (slash) {
		*slash = '\0';
		snprintf(out, size, "%s/%s", folder, file);
		if (access(out, R_OK) == 0)
			return out;
	}
	snprintf(out, size, TARE_MODULES "/%s", file);
	return access(out, R_OK) == 0 ? out : NULL;
}
