/* The machine of a run: what the engine has to know of it (soft/abi/machine-abi.h). */
#ifndef LAUNCH_SOFT_MACHINE_H
#define LAUNCH_SOFT_MACHINE_H

#include "abi.h"
#include "run-folder.h"

#include <tare/world.h>

/* `text`: tare_measure_options.machine; NULL: the program sees the host. 0, or an error as of
 * tare_machine_check(). */
int soft_machine_setup(struct soft_machine *m, const char *text, struct tare_why *why);

/* Lists in `w`, which may be NULL, what the program used beyond the machine. 0 or TARE_E_NOMEM. */
int soft_machine_beyond(const struct soft_machine *m, struct tare_world *w);

/* tare_measure_options.layout. */
void soft_layout_setup(struct soft_layout *l, unsigned number);
/* The still world of a run: tare_measure_options.hermetic and .schedule, which are good; NULL: there is none. */
void soft_hermetic_setup(struct soft_hermetic *h, const char *seed, const char *schedule);
/* Notes in `w`, which may be NULL, what happened that another run may not repeat. */
void soft_hermetic_left(const struct soft_hermetic *h, struct tare_world *w);

/* Notes in `f` where procfs and sysfs are, and that the folder `dir` stands for some of their files. */
void soft_files_setup(struct soft_files *f, const char *dir, uint32_t of);

/* Chooses the folder for the files of the machine … */
int soft_machine_name(struct soft_shared *shared, struct run_folder *folder, struct tare_why *why);
/* … makes it and its keeper, unless they are there … */
int soft_machine_folder(const struct soft_shared *shared, struct run_folder *folder, struct tare_why *why);
/* … and the files, unless they are there. Few programs want them, and the folder and its keeper take longer than a
 * short program runs. 0 or an errno. */
int soft_machine_files(struct soft_shared *shared, struct run_folder *folder, const char *text);

#endif
