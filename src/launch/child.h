/* The command as a child process that waits before its exec.
 *
 *	struct child c;
 *	if (child_start(&c, argv, false, why) < 0) …
 *	… attach what must count from the exec on: c.pid is stopped before it …
 *	if (child_exec(&c, why) < 0) …		// command not found, not executable
 *	while (!(ended = child_wait(&c, until_ns)))
 *		…
 *	child_reap(&c, m);
 *
 * The child has the caller's descriptors, environment, working folder, signal mask
 * and process group: it can be suspended and interrupted from the terminal as if
 * the shell had started it.
 */
#ifndef LAUNCH_CHILD_H
#define LAUNCH_CHILD_H

#include <tare/measure.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int go;			/* writing lets it exec; -1 once it went */
	int report;		/* its errno when exec fails; end of file when it works */
	int pidfd;		/* -1 where the kernel has none */
	int personality;	/* its /proc/PID/personality, or -1 */
	const char *name;	/* argv[0] */
	uint64_t start_ns;	/* CLOCK_MONOTONIC when it was let go */
	bool aslr_asked;
	bool aslr_refused;	/* personality(2) failed in the child */
	int aslr_errno;
};

/* Forks; the child sets its personality (ASLR off unless `aslr`) and waits. */
int child_start(struct child *c, char *const *argv, bool aslr, struct tare_why *why);
/* Lets it exec and waits until it did. On failure the child is gone and reaped. */
int child_exec(struct child *c, struct tare_why *why);
/* The two halves of child_exec(), for a tracer: the exec of a traced child waits for
 * its tracer, so the news can only be read later. */
void child_release(struct child *c);
int child_exec_failure(struct child *c, struct tare_why *why);
/* Ends a child that never got to exec. */
void child_abandon(struct child *c);
/* True once it has ended (it stays a zombie); false when until_ns (CLOCK_MONOTONIC)
 * came first or a signal was caught. */
bool child_wait(const struct child *c, uint64_t until_ns);
/* Closes our descriptors of a child that somebody else has reaped. */
void child_close(struct child *c);
/* Of an ended child: exit status, times and the truth about ASLR into *m. */
void child_reap(struct child *c, struct tare_measurement *m);

/* Has it ended? It is not reaped. */
bool child_ended(const struct child *c);
/* ptrace of a child failed with `err`: why. `what` was to be done with it. */
int child_no_ptrace(const struct child *c, int err, const char *what, struct tare_why *why);

/* Judges what launch_aslr_off() answered for the final image, into *m. */
void child_tell_aslr(const struct child *c, int off, struct tare_measurement *m);

/* Is ASLR off? 1 yes, 0 no, -1 cannot be told. Of a child also when it is a zombie;
 * of any other process while it lives. */
int child_aslr_off(const struct child *c);
int launch_aslr_off(pid_t pid);
/* Waits on a pidfd or, where there is none, by looking every 10 ms. */
bool launch_wait(pid_t pid, int pidfd, uint64_t until_ns, bool own_child);
uint64_t launch_now_ns(void);

#endif
