/* What a run saw (tare/world.h), on the screen and in JSON; and the option --machine, which the commands
 * that run a program share. */
#ifndef CMD_WORLD_SHOW_H
#define CMD_WORLD_SHOW_H

#include "json.h"

#include <tare/world.h>

#define MACHINE_HELP "the program sees this CPU instead of the host's: x86-64-v2, x86-64-v3, x86-64-v4, or a " \
	"model (see tare-machine(7)); NAME,cpus=N for more than one CPU"

#define HERMETIC_HELP "a still world: random numbers from SEED (0), time from the instructions that ran, fixed process " \
	"ids, files, environment, and machine x86-64-v2 (see tare-hermetic(7))"

#define SCHEDULE_HELP "with --hermetic, another order of threads and processes, which follows from SEED"

/* tare_measure_options.on_deadlock: says on standard error what the tasks wait for. */
void world_deadlock(const struct tare_world *w, void *arg);

/* Is it a seed? NULL is none, and good. Otherwise the reason is told. */
bool hermetic_usable(const char *seed);

/* Is it a machine that this host can be? NULL is none, and good. Otherwise the reason is told. */
bool machine_usable(const char *machine);

void world_json(struct json *j, const struct tare_world *w, bool aslr_off, bool clean_env);
/* "world: hermetic, machine x86-64-v2 (1 CPU)", or nothing. */
void world_heading(const struct tare_world *w, struct buf *out);
/* Which instructions beyond the machine ran, and what of a still world another run may not repeat, if there
 * is anything. */
void world_beyond(const struct tare_world *w, struct buf *out);

#endif
