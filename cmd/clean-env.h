/* tare stat --clean-env: an environment that is the same on every machine. */
#ifndef CMD_CLEAN_ENV_H
#define CMD_CLEAN_ENV_H

#include "options.h"

#define CLEAN_ENV_HELP "PATH, HOME, LANG, TZ (see --keep)"

/* The fixed variables, and those of a still world, then those of `keep` that are set here, in that order; one that is
 * fixed takes the value it has here. Ends with NULL. */
char **clean_environment(const struct opt_list *keep, bool hermetic);
void clean_environment_free(char **envp);

#endif
