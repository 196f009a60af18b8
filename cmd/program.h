/* The files that a command runs: its executable, the script it may be, and the
 * libraries that its own dynamic linker finds for it. */
#ifndef CMD_PROGRAM_H
#define CMD_PROGRAM_H

#include "json.h"

/* The member "program"; null where there is no command, or its file is not found.
 * `envp` is the environment of the command: PATH and LD_LIBRARY_PATH decide. */
void program_json(struct json *j, char *const *argv, char *const *envp);

/* The value of a variable, or NULL. */
const char *env_get(char *const *envp, const char *name);

#endif
