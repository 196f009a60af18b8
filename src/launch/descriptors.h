/* The limit on open files (RLIMIT_NOFILE), which the command shares with us.
 *
 *	err = descriptors_begin(why);	// more for us, if the hard limit allows it
 *	…				// child_start() gives the command the caller's limit
 *	if (!err)
 *		descriptors_end();
 *
 * May be called by several threads, and again between begin and end.
 */
#ifndef LAUNCH_DESCRIPTORS_H
#define LAUNCH_DESCRIPTORS_H

#include <tare/err.h>

#include <sys/resource.h>

/* Fails, with nothing to end, where there are too few to start anything. */
int descriptors_begin(struct tare_why *why);
void descriptors_end(void);
/* The caller's limit, whether it is raised now or not. */
struct rlimit descriptors_limit(void);

#endif
