/* What the commands that read profiles share: opening with an error message, warnings,
 * progress, output. */
#ifndef CMD_PROFILES_H
#define CMD_PROFILES_H

#include "buf.h"

#include <tare/analysis.h>

struct json;

/* NULL: the error is printed. A name that does not exist is tried with the
 * extension, as measureme's tools do. */
struct tare_profile *profile_get(const char *path);
/* All of paths[0 … *n - 1]; a directory stands for the profiles in it, and *n becomes
 * the number of all. NULL: the error is printed. */
struct tare_profile **profiles_get(const char *const *paths, size_t *n);
void profiles_close(struct tare_profile **p, size_t n);
/* Prints the warnings: what the reader tolerated. */
void profile_cautions(const struct tare_profile *p);
/* A progress line for a long walk of `what`. */
struct tare_progress profile_progress(const char *what);

/* A file to write, or stdout for NULL and "-"; -1: the error is printed. */
int export_open(const char *path);
/* Closes it. An error is printed and gives EXIT_BAD; else the result is `status`. A file that
 * was not finished (status not good) is removed. */
int export_close(int fd, const char *path, int status);

/* For sinks and exports: writes to the descriptor that `fd` points to; 0 or an errno value. */
int fd_write(void *fd, const void *bytes, size_t n);
/* Writes a whole text, with +- for ± where the locale lacks it. */
int text_write(struct buf *text, int fd, struct tare_why *why);

/* The members that every JSON result has for a profile. */
void json_profile_info(struct json *j, const struct tare_profile_info *i);

extern const char *const compat_words[];	/* for OPT_CHOICE */
enum { COMPAT_NONE, COMPAT_MEASUREME };		/* its values */

#endif
