/* The facts about a machine that decide whether two results can be compared. */
#ifndef CMD_ENVIRONMENT_H
#define CMD_ENVIRONMENT_H

#include "json.h"

#include <tare/cpu.h>

/* The members of "environment"; the object is opened and closed by the caller. `envp` is
 * the environment of the measured command. */
void environment_json(struct json *j, char *const *envp);
/* The object "cpu". */
void cpu_json(struct json *j, const char *key, const struct tare_cpu *cpu);

#endif
