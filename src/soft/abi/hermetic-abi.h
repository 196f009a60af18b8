/* The still world (`--hermetic`): what the processes of a run share about it. The launcher fills
 * soft_shared.hermetic in before the run; struct hermetic_shared is in the run's memfd at
 * HERMETIC_FILE_OFFSET, all 0 at first, and the engine's own (soft/still/hermetic*.c).
 */
#ifndef SOFT_HERMETIC_ABI_H
#define SOFT_HERMETIC_ABI_H

#include <stdint.h>

struct soft_hermetic {
	uint32_t on;
	uint32_t scheduled;		/* orders other than the first were asked for: `schedule` */
	uint64_t seed;			/* of all random numbers */
	uint64_t schedule;		/* of the order of tasks */
	/* What happened that another run may not repeat (HERMETIC_…; atomic). */
	uint32_t left;
	uint32_t pad;
};

/* soft_hermetic.left: */
#define HERMETIC_NETWORK	1u	/* a socket of the network was used */
#define HERMETIC_SHARED		2u	/* a shared mapping of a file that may be written */
#define HERMETIC_NATIVE		4u	/* a process ran without the engine */
#define HERMETIC_LATE_INPUT	8u	/* input from outside kept the run waiting */
#define HERMETIC_TAKEN		16u	/* a new file's name was that of a file from before the run */
#define HERMETIC_FULL		32u	/* a table was full: more tasks or files than it holds */
#define HERMETIC_UNORDERED	64u	/* several tasks ran at the same time */
#define HERMETIC_TERMINAL	128u	/* input was written to a pseudo terminal */
#define HERMETIC_HOST_FILE	256u	/* a file of /proc or /sys was opened that shows what the host does */
#define HERMETIC_LOCKED		512u	/* a program outside of the run held a lock that a task wanted */

#define HERMETIC_TASKS		65536u
#define HERMETIC_FILES		(1u << 20)
#define HERMETIC_DEVICES	64u
#define HERMETIC_OUTSIDE	16u
#define HERMETIC_COOKIES	64u
#define HERMETIC_WAITERS	4096u
#define HERMETIC_FIRST_PID	1000	/* of the command; the launcher is 1 less */
#define HERMETIC_STRANGER	998	/* any process outside of the run */

enum hermetic_state {
	HT_FREE,
	HT_READY,		/* runs, or would if it were its turn */
	HT_WAITS,		/* for something that another task does, or for its time */
	HT_HELD,		/* its vfork child runs in its memory */
	HT_STOPPED,		/* by a signal, until SIGCONT */
	HT_ENDING,		/* the next one to run waits until it is gone */
	HT_ENDED,
	HT_NATIVE,		/* runs without the engine */
};

/* A task, by its number in order of creation. The program sees HERMETIC_FIRST_PID plus that. */
struct hermetic_task {
	int32_t tid, pid;	/* the kernel's; 0: not known yet */
	uint32_t group;		/* number of the first task of its process */
	uint32_t parent;	/* of the process: number of its parent's first task, plus 1; 0: outside */
	uint32_t state;		/* enum hermetic_state */
	uint32_t go;		/* futex: bumped when it is its turn */
	uint64_t until;		/* HT_WAITS: the time at which it stops waiting; ~0: never */
	uint64_t seen;		/* HT_WAITS: `progress` when it looked last */
	uint64_t randoms;	/* how many random words it has had */
	uint64_t ran;		/* instructions that it has added to the clock */
	uint64_t children;	/* of a process: what its children ran that it has waited for */
	uint32_t woken;		/* futex: another task has woken it */
	uint64_t alarm_at, alarm_every;	/* of a process: setitimer's timer while it execs */
	uint32_t outside_fd;	/* HT_WAITS: for that descriptor, plus 1, from outside of the run */
	uint32_t for_tasks;	/* HT_WAITS: for what only a task of the run can do … */
	int32_t wait_nr;	/* … with this system call … */
	uint32_t wait_pad;
	uint64_t wait_a[3];	/* … and these arguments … */
	int32_t wait_for;	/* … it seems for this task, as the program knows it; 0: not known … */
	uint32_t wait_mutex;	/* … which holds a mutex */
	uint32_t held_by;	/* a vfork child: number of its parent's task, plus 1 */
	uint32_t state_before;	/* HT_STOPPED: what it was */
	uint32_t stop_seen;	/* HT_STOPPED: the kernel has stopped it */
	uint32_t traces;	/* it traces others, or has done so */
	uint32_t lent;		/* HT_STOPPED: number of its tracer's task, plus 1, which has its turn */
	uint64_t robust;	/* the list of the locks that it holds (set_robust_list), in its memory; 0: none */
};

/* A file that a program saw, by its real device and inode. */
struct hermetic_file {
	uint64_t dev, ino;	/* ino 0: a free place */
	uint64_t mtime, ctime;	/* ns since 1970; 0: not changed in this run */
	uint32_t shown;		/* its inode number */
	uint32_t gone;		/* it was removed: a file with this inode is another one */
};

/* A task that waits at a futex. */
struct hermetic_waiter {
	uint64_t space, at;	/* which futex: address space or file; 0: a free place */
	uint64_t order;
	uint32_t task, bits;
};

struct hermetic_shared {
	uint32_t running;	/* number of the task whose turn it is, plus 1; 0: nobody's */
	uint32_t started;	/* the command has begun */
	uint32_t n_tasks;	/* ever used */
	uint32_t n_live;	/* tasks that have not ended, and run in the engine */
	uint32_t first_live;	/* all tasks before it have ended */
	uint32_t ending;	/* number of the task that ends, plus 1 */
	uint32_t idle_turns;	/* how often in a row all tasks waited, and nothing happened */
	uint32_t deadlock;	/* all tasks wait for each other, and have done so for a while (atomic) */
	uint32_t n_waiters;	/* places of `waiters` ever used */
	uint32_t random_open;	/* a program has opened a random device, or got one */
	uint32_t signal_fds;	/* a program has made a signalfd … */
	uint32_t notifies;	/* … or is told of changes in folders */
	uint32_t stops;		/* a process has been stopped … */
	uint32_t stopping;	/* … and is to be waited for */
	uint32_t terminal_stops;	/* SIGTSTP or its like has been sent */
	uint32_t traces;	/* a task traces others, or has done so */
	uint32_t n_cookies;	/* of renames that inotify has told of … */
	uint32_t cookies[HERMETIC_COOKIES];	/* … the kernel's numbers of the last ones */
	uint32_t n_outside;
	uint32_t n_devices;
	uint32_t n_files;
	uint64_t clock;		/* ns since the start of the run */
	uint64_t progress;	/* bumped when a task does what may let another one go on … */
	uint64_t idle_progress;	/* … or, so often, because all wait and look again */
	uint64_t busy_progress;	/* the difference, when all waited last */
	uint64_t turns;		/* how often the turn changed */
	uint64_t order;		/* of waiters */
	uint64_t limits[16][2];	/* of the command: soft, hard */
	struct { uint64_t dev, ino; } outside[HERMETIC_OUTSIDE];	/* pipes that come from outside */
	uint64_t devices[HERMETIC_DEVICES];
	struct hermetic_task tasks[HERMETIC_TASKS];
	struct hermetic_waiter waiters[HERMETIC_WAITERS];
	struct hermetic_file files[HERMETIC_FILES];
};

#define HERMETIC_FILE_OFFSET	(3ull << 30)
#define HERMETIC_FILE_END	(HERMETIC_FILE_OFFSET + sizeof(struct hermetic_shared))
#define ZONE_HERMETIC		(ZONE_BASE + 0x7c0000000ull)
#define ZONE_LISTINGS		(ZONE_HERMETIC + 0x10000000ull)	/* sorted folders: a slot each */
#define LISTING_SLOT		(16ull << 20)
#define LISTING_SLOTS		32u

#endif
