/* The limit on open files (RLIMIT_NOFILE): raised for this process while runs are under way, the
 * caller's for the command.
 *
 *	err = descriptors_begin(why);	// raises the soft limit, if the hard limit allows it
 *	…				// child_start() gives the command the caller's limit
 *	if (!err)
 *		descriptors_end();	// the last one restores the limit
 *
 * May be called by several threads, and again between begin and end.
 */
#ifndef LAUNCH_DESCRIPTORS_H
#define LAUNCH_DESCRIPTORS_H

#include <tare/err.h>

#include <sys/resource.h>

/* Fails, with nothing to end, where the limit is too low for a run. */
int descriptors_begin(struct tare_why *why);
void descriptors_end(void);
/* The caller's limit, also while it is raised. */
struct rlimit descriptors_limit(void);

#endif
