/* The tracer thread of one run: puts the engine into every new image of the tree.
 *
 *	err = soft_tracer_start(&t, &setup, &child, why);	// attached, the child waits
 *	child_exec(&child, why);
 *	… the command runs and ends …
 *	soft_tracer_stop(&t);
 *
 * ptrace belongs to a thread, so one thread of the library does all of it: it attaches to the
 * command before its first exec, and to each process of the tree that asks before an exec (abi.h,
 * REQ_EXEC); at the exec stop it injects the engine (inject.h) and detaches. Processes run
 * untraced between their execs.
 *
 * struct soft_tracer belongs to the tracer thread from start to stop. Before and after, the
 * caller may read it. No lock: `quit` is atomic, and joining the thread orders the rest.
 */
#ifndef LAUNCH_SOFT_TRACER_H
#define LAUNCH_SOFT_TRACER_H

#include "child.h"
#include "soft-setup.h"

#include <pthread.h>
#include <semaphore.h>

#define SOFT_MAX_TRACED 256

/* A process between its request to exec and the engine in its new image. */
struct traced {
	pid_t tid, pid;
	uint32_t record;	/* of the old image; 0 for the command itself */
	uint32_t reserved_fd;
	bool trap_ignored;	/* the process ignores SIGTRAP */
	int32_t own_tid;	/* in the pid namespace of the process */
	uint32_t vslot;		/* task of the virtual PMU; 0: none */
};

struct soft_stops;

struct soft_tracer {
	struct soft_setup *setup;
	pid_t child;
	/* Called by the tracer thread before a process of the tree runs on without the engine;
	 * `vslot` is its task of the virtual PMU. May be NULL. */
	void (*went_native)(uint32_t vslot, void *arg);
	void *arg;
	struct soft_stops *stops;	/* answers REQ_STOP and REQ_OVER */
	struct kept_store *store;	/* NULL: none */
	pthread_t thread;
	bool runs;
	sem_t attached;		/* posted when attach_result is known */
	int attach_result;	/* of the attach to the command: 0 or a negative errno */
	bool quit;		/* atomic */
	struct traced traced[SOFT_MAX_TRACED];
	int n_traced;
	int inject_errno;	/* why the command itself could not be entered: an errno … */
	int inject_reason;	/* … or an enum soft_reason; 0: it was entered */
};

/* setup, child, went_native, arg and stops are set. Starts the thread, which attaches to the child. */
int soft_tracer_start(struct soft_tracer *t, const struct child *c, struct tare_why *why);
/* Ends the thread. Processes that stand between two images (t->traced) run on natively. Does
 * nothing where the thread does not run. */
void soft_tracer_stop(struct soft_tracer *t);

/* Name of the program of a process, into exe or comm of its record. */
void soft_tracer_name(pid_t pid, struct soft_record *r);

#endif
