/* The command as a child process that waits before its exec.
 *
 *	struct child c;
 *	if (child_start(&c, &(struct child_plan){ .argv = argv }, why) < 0) …
 *	… attach counters to c.pid, which waits before its exec …
 *	if (child_exec(&c, why) < 0) …		// command not found, not executable
 *	while (!(ended = child_wait(&c, until_ns, NULL)))
 *		…
 *	child_reap(&c, m);
 *
 * The child has the caller's descriptors, environment, working folder, signal mask, limits
 * (descriptors.h) and process group: it can be suspended and interrupted from the terminal as if
 * the shell had started it. One thread uses a struct child.
 */
#ifndef LAUNCH_CHILD_H
#define LAUNCH_CHILD_H

#include <tare/measure.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int go;			/* a byte sent here lets the child exec; -1 afterwards */
	int report;		/* receives the errno when exec fails; end of file when it works */
	int pidfd;		/* -1 where the kernel has none */
	int personality;	/* its /proc/PID/personality, or -1 */
	const char *name;	/* argv[0] */
	uint64_t start_ns;	/* CLOCK_MONOTONIC when the child was allowed to exec */
	bool aslr_asked;
	bool aslr_refused;	/* personality(2) failed in the child */
	int aslr_errno;
};

#define CHILD_INHERITS 2

struct child_plan {
	char *const *argv;	/* not empty */
	bool aslr;		/* leave ASLR on */
	int inherit[CHILD_INHERITS];	/* descriptors with FD_CLOEXEC that the command keeps; 0:
				 * none. The flag is cleared in the child alone, so that other
				 * children of this process never get them. */
	int region_from, region_to;	/* the command gets the first as the second; 0: none */
};

/* False, with *why, where this process ignores SIGCHLD: an exit status could not be read. */
bool child_status_kept(struct tare_why *why);

/* Forks; the child sets its personality (ASLR off unless plan->aslr) and waits. */
int child_start(struct child *c, const struct child_plan *plan, struct tare_why *why);
/* Lets the child exec and waits until it has. On failure the child has ended and is reaped. */
int child_exec(struct child *c, struct tare_why *why);
/* The two halves of child_exec(), for a tracer: the exec of a traced child waits for
 * its tracer, so the result can only be read later. */
void child_release(struct child *c);
int child_exec_failure(struct child *c, struct tare_why *why);
/* Kills and reaps a child that has not execed. */
void child_abandon(struct child *c);
/* True once the child has ended (it stays a zombie); false when until_ns (CLOCK_MONOTONIC)
 * came first, a signal was caught, or one of two descriptors (-1: none; or NULL) is readable. */
bool child_wait(const struct child *c, uint64_t until_ns, const int wake[2]);
/* Closes our descriptors of a child that has been reaped already. */
void child_close(struct child *c);
/* Reaps an ended child: exit status, times and whether ASLR was really off into *m. */
void child_reap(struct child *c, struct tare_measurement *m);

/* Has the child ended? It is not reaped. */
bool child_ended(const struct child *c);
/* ptrace of the child failed with `err`: fills *why. `what` names the purpose ("entering"). */
int child_no_ptrace(const struct child *c, int err, const char *what, struct tare_why *why);

/* Sets aslr_off and aslr_note of *m from child_aslr_off() of the final image. */
void child_tell_aslr(const struct child *c, int off, struct tare_measurement *m);

/* Is ASLR off? 1 yes, 0 no, -1 unknown. Of a child also when it is a zombie; of any other process
 * while it lives. */
int child_aslr_off(const struct child *c);
int launch_aslr_off(pid_t pid);
/* Waits on a pidfd or, where there is none, looks every 10 ms. */
bool launch_wait(pid_t pid, int pidfd, uint64_t until_ns, bool own_child, const int wake[2]);
uint64_t launch_now_ns(void);

#endif
