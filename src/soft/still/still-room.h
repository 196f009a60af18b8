/* Inside the room still: what its files share.
 *
 * What all processes of the run share is in hermetic_shared() (abi/hermetic-abi.h). Only the task whose
 * turn it is changes it, so it has no lock.
 *
 * Every function that answers a call has the form long NAME(t, nr, a, bool *done): it sets `done` if it has
 * answered; else its result means nothing and the call is still to be made.
 */
#ifndef SOFT_STILL_ROOM_H
#define SOFT_STILL_ROOM_H

#include "still.h"

#define NS 1000000000ull
#define NEVER_NS (~0ull)
#define EPOCH_S 1577836800ull		/* the run starts at 2020-01-01 00:00:00 UTC … */
#define UPTIME_S 100000ull		/* … on a host that has been up for a day or so … */
#define FILES_S (EPOCH_S - 86400)	/* … and no file that was there has changed for a day */

static inline struct hermetic_shared *hermetic_shared(void)
{
	return (struct hermetic_shared *)ZONE_HERMETIC;
}

static inline struct hermetic_task *hermetic_task(uint32_t number)
{
	return &hermetic_shared()->tasks[number];
}

static inline struct hermetic_task *own_task(const struct thread *t)
{
	return hermetic_task(t->hermetic.number);
}

void hermetic_note_left(uint32_t what);			/* HERMETIC_… */

/* hermetic-random.c */
void random_fill(const struct thread *t, void *to, size_t n);
void random_start(struct thread *t);
long random_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
/* A call that reads has had that result: if it was from a random device, the bytes are replaced. */
void random_read(struct thread *t, long nr, const uint64_t *a, long ret);
void random_opened(long fd);
bool random_device(long fd);
/* splice or sendfile from a random device: up to n bytes, written to `out`. */
long random_move(const struct thread *t, uint64_t out, uint64_t n);

/* hermetic-time.c */
uint64_t clock_now(struct thread *t);		/* ns since the start of the run; each time it is a bit later */
void clock_catch_up(struct thread *t);		/* the task's turn ends: the clock knows what it ran */
void clock_end(struct thread *t);		/* … for the last time */
void clock_forget(struct thread *t);		/* a new task: it has run nothing */
uint64_t cpu_of_process(struct thread *t, uint32_t group);	/* ns */
long time_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
uint64_t timers_next(struct thread *t);		/* when the next timer of the process is due; NEVER_NS */
void timers_fire(struct thread *t);		/* those that are due */
void timers_forked(void);
void timers_start(struct thread *t);
bool timers_armed(void);
void timers_read(struct thread *t, const uint64_t *a);	/* 8 bytes were read: of a timer, how often it was due */
/* The time of a timespec of the program, in ns, into *ns. 0 or -errno. */
long read_timespec(uint64_t at, uint64_t *ns);

/* hermetic-ids.c */
#define NO_TASK 0x7fffffff		/* higher than any id of the kernel's */
int32_t id_shown(int32_t real);			/* of a task; 0 and less stay */
int32_t id_real(int32_t shown);			/* 0 and -1 stay, others that are none become NO_TASK */
long ids_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
/* A call that reads has had that result: ids in what it gave, of senders of signals and messages, are replaced. */
void ids_read(struct thread *t, long nr, const uint64_t *a, long ret);
/* sendmsg with the sender's ids: its arguments with the kernel's ids, in `s`. */
#define MESSAGE_CONTROL 4		/* of struct msghdr: msg_control, msg_controllen */
struct message_sent { uint64_t a[6], m[7], control[32]; };
const uint64_t *ids_sent(const uint64_t *a, struct message_sent *s);
/* wait4 or waitid, once. */
long wait_for_child(struct thread *t, long nr, const uint64_t *a);
/* rt_sigtimedwait has had that result. */
long show_waited_info(struct thread *t, const uint64_t *a, long ret);
/* A path of /proc with the kernel's ids, in `to`; false: it has none. */
bool ids_path(const char *path, char *to, size_t size);
/* The first part of a path in /proc, or the name of an entry there, as the program knows it; false: it is
 * the number of a process that the program does not see. */
bool ids_entry(const char *name, char *to, size_t size);
/* A path of /proc with the kernel's id of a process, as the program knows it; false: it has none. */
bool ids_entry_of(const char *path, char *to, size_t size);

/* hermetic-files.c */
#define HERMETIC_PATH 512
long files_of_world(struct thread *t, long nr, const uint64_t *a, bool *done);
uint64_t inode_shown(uint64_t dev, uint64_t ino);
void files_start(void);
void files_written(struct thread *t, uint64_t fd);	/* by a call that hermetic-order.c makes */
bool is_outside(long fd);			/* a pipe that another program than those of the run has, too */

/* hermetic-listing.c */
long listing_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);

/* hermetic-host.c */
long host_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
void host_start(void);
/* A file of /proc or /sys that tells of the host: its descriptor, opened for the program. */
long host_open(struct thread *t, const char *path, uint64_t flags, bool *done);

/* hermetic-order.c */
bool turn_alone(void);				/* no other task of the run is there */
long turn_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
/* open, openat, openat2 or creat, with these flags: a FIFO waits for its other end. */
long turn_open(struct thread *t, long nr, const uint64_t *a, uint64_t flags);
void turn_wait(struct thread *t);
void turn_begin_slice(struct thread *t);	/* also where another task can run from now on */
void turn_give(struct thread *t, uint32_t to);		/* the turn, to that task; returns at once */
void turn_next(struct thread *t);		/* another task's turn, if one can go on; returns when it is this one's again */
void turn_pause(struct thread *t);		/* it waits in a loop */
void turn_leave(struct thread *t, uint32_t state);	/* the task ends, or runs natively: another one's turn */
void turn_thread_ended(struct thread *t);	/* clears its word, and wakes who waits there */
/* SIGKILL was sent to the process: waits until it is gone. */
void turn_killed(int32_t pid);
void turn_wake_word(uint32_t group, uint64_t at);	/* one that waits at that futex, of that process or a shared one */
void turn_progress(void);			/* others may be able to go on now */

/* Another task's turn. This one goes on without: it is about to be stopped. */
void turn_hand_on(struct thread *t);

/* The turn goes to that task, which this ptrace call lets go on; returns when it is this one's again. NULL: it goes on
 * already. With an error of the call the turn stays here. */
long turn_return(struct thread *t, uint32_t to, const uint64_t *a);

/* hermetic-stop.c */
/* A call that sends that signal to `to`, the kernel's number, as in kill(). */
long stops_signal(struct thread *t, long nr, const uint64_t *a, int32_t to, int32_t sig);
long stops_mask(struct thread *t, long nr, const uint64_t *a);		/* rt_sigprocmask */
uint64_t stops_held(const struct thread *t);	/* signals that are kept until it is the process's turn */
/* Has such a signal come, which that mask does not block? Then stops_take() gives the turn away, and stops. */
bool stops_pending(const struct thread *t, uint64_t mask);
void stops_take(struct thread *t);
void stops_await(void);				/* until those that were told to stop have done so */
void stops_over(void);				/* those that the kernel lets go on get turns again */
void stops_look(struct thread *t);		/* this process goes on, whoever let it */
/* Tracing: a task that its tracer has stopped, in the middle of its turn, lends the turn to the tracer. */
int32_t tracer_of(int32_t tid);			/* the task that traces that one, by the kernel's ids; 0: none */
bool trace_borrow(struct thread *t);		/* from the task that runs, if this one has stopped it */
long trace_syscall(struct thread *t, const uint64_t *a);	/* ptrace, with the kernel's id */
void trace_over(struct thread *t);		/* those that go on get their turns back */
int64_t trace_left(const struct thread *t);	/* this one ends: a task that has lent it its turn; -1: none */

/* hermetic-locks.c: a lock of that file is held. If by a program outside of the run, that is noted. */
void locks_refused(int64_t fd);

/* hermetic-robust.c */
long robust_syscall(struct thread *t, long nr, const uint64_t *a, bool *done);
void robust_ended(struct thread *t, bool whole);	/* the thread, or its process, ends */
/* The process whose first task has that number, also another one, which does not run, is about to be killed. */
void robust_process_ended(uint32_t group);
/* Takes the lock, or says with WAITERS in the word that the task waits. False: another task has it. */
bool inherits_try(struct thread *t, uint64_t at, bool waits, long *ret);
/* Gives it back: to the task with that id, behind which `more` wait; 0: to nobody. */
long inherits_unlock(struct thread *t, uint64_t at, uint32_t next, bool more);

/* hermetic-deadlock.c */
/* Can only a task of the run end the wait in that call? Notes what it waits for. */
bool waits_for_tasks(struct thread *t, long nr, const uint64_t *a);
bool is_inside(int64_t fd);			/* a pipe or socket whose other end only the run has */
void deadlock_or_orphaned(void);	/* ends the process where nobody would */
void deadlock_notice(uint32_t for_tasks);	/* all wait, so many of them for tasks of the run */

#endif
