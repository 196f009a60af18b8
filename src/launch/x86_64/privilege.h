/* Does a command gain privileges by its exec? Under ptrace the kernel would take them
 * away, so such a command must not even be attached to.
 */
#ifndef LAUNCH_PRIVILEGE_H
#define LAUNCH_PRIVILEGE_H

#include <stdbool.h>

/* `name` is looked for as execvp() does: set-uid, set-gid, with file capabilities, or a
 * script whose interpreter is. */
bool gains_privilege(const char *name);

#endif
