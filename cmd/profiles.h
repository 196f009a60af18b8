/* What the commands that read profiles share: opening with a complaint, the
 * warnings, progress, where output goes. */
#ifndef CMD_PROFILES_H
#define CMD_PROFILES_H

#include <tare/analysis.h>

/* NULL: already complained. A name that does not exist is tried with the
 * extension, as measureme's tools do. */
struct tare_profile *profile_get(const char *path);
/* All of paths[0 … *n - 1]; a directory stands for the profiles in it, and *n becomes
 * the number of all. NULL: already complained. */
struct tare_profile **profiles_get(const char *const *paths, size_t *n);
void profiles_close(struct tare_profile **p, size_t n);
/* Says once what was tolerated. */
void profile_cautions(const struct tare_profile *p);
/* A progress line for a long walk of `what`. */
struct tare_progress profile_progress(const char *what);

/* A file to write, or stdout for NULL and "-"; -1: already complained. */
int export_open(const char *path);
/* Closes it; an error complains and gives EXIT_BAD, else `status`. A file that was
 * not finished (status not good) is removed. */
int export_close(int fd, const char *path, int status);

extern const char *const compat_words[];	/* for OPT_CHOICE: none, measureme */

#endif
