/* Does a command gain privileges by its exec? The kernel does not grant them to a traced process, so
 * such a command must not be traced.
 */
#ifndef LAUNCH_PRIVILEGE_H
#define LAUNCH_PRIVILEGE_H

#include <stdbool.h>

/* Is the file set-uid, set-gid, with file capabilities, or a script whose interpreter is? `name` is
 * searched in PATH as execvp() does. */
bool gains_privilege(const char *name);

#endif
