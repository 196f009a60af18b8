/* All tasks of a still world wait for each other: the engine notices that (soft/still/hermetic-deadlock.c), and the
 * caller is told. By the thread that runs soft_run().
 */
#ifndef LAUNCH_SOFT_DEADLOCK_H
#define LAUNCH_SOFT_DEADLOCK_H

#include <tare/measure.h>
#include <tare/world.h>

#define DEADLOCK_LOOK_NS 200000000u	/* so often */

/* Looks. world->waits becomes what the tasks wait for, or empty; o->on_deadlock is called when it becomes so. */
void soft_deadlock_look(int memfd, const struct tare_measure_options *o, struct tare_world *world);

#endif
