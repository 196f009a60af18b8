/* What a measured program sees of the world around it.
 *
 *	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
 *	o.machine = "x86-64-v3";
 *
 * A *machine* is a CPU that the program sees instead of the host's: its answers to cpuid, the number
 * of CPUs, /proc/cpuinfo and so on. Libraries choose their code by these, so a count that was made
 * with a machine is the same on every host that has the machine's features. The software engine
 * shows it; hardware counters cannot.
 *
 * A *still world* (tare_measure_options.hermetic) is one in which nothing changes that the program
 * does not change itself: random numbers come from a seed, clocks from the number of instructions
 * that ran, and process ids, inode numbers, times of files, the order of folders, the host's name
 * and its load are the same in every run.
 *
 * Threads: every function here may be called by several threads at the same time. No side effects:
 * tare_machine_check() executes cpuid and xgetbv.
 */
#ifndef TARE_WORLD_H
#define TARE_WORLD_H

#include <tare/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The machines by number, from 0 until NULL; *about (may be NULL) receives a line about it. The
 * strings are static. */
const char *tare_machine(size_t i, const char **about);

/* Whether `text` (NAME or NAME,cpus=N) is a machine, and whether this host has its features. 0;
 * TARE_E_INVALID: there is no such machine; TARE_E_MACHINE: the host lacks what *why names. */
int tare_machine_check(const char *text, struct tare_why *why);

/* A machine of which an instruction set was used that it does not have. */
struct tare_beyond {
	const char *extension;		/* as Linux names it, "avx2"; static */
	uint64_t address;		/* where the first of these instructions was */
	uint64_t reserved[2];
};

/* A task of a still world in which all tasks wait for each other. */
struct tare_wait {
	int pid, tid;			/* as the program knows them */
	char comm[16];			/* its name; "" if it was gone when it was looked for */
	char what[104];			/* what it waits for, as a clause: "for thread 1001 to end" */
	uint64_t reserved[2];
};

/* What a run saw. */
struct tare_world {
	const char *machine;		/* NULL: the host; else its name, "x86-64-v2" … */
	unsigned cpus;			/* … how many CPUs it has … */
	uint64_t machine_hash;		/* … and a hash of all that it shows: of two machines of the
					 * same name and another hash, one is of another version */
	size_t n_beyond;		/* instruction sets beyond the machine of which code was
					 * translated: such instructions run as on the host */
	struct tare_beyond *beyond;
	bool hermetic;			/* a still world … */
	uint64_t seed;			/* … with random numbers of this seed … */
	bool scheduled;			/* … and an order of tasks that follows from … */
	uint64_t schedule;		/* … this seed … */
	unsigned left;			/* … and what happened in it that another run may not repeat:
					 * enum tare_left */
	/* All tasks of the still world waited for each other when the run was ended (or while
	 * tare_measure_options.on_deadlock is called): each of them. */
	size_t n_waits;
	struct tare_wait *waits;
};

enum tare_left {
	TARE_LEFT_NETWORK = 1,		/* a socket of the network was used */
	TARE_LEFT_SHARED = 2,		/* a file was mapped so that others can write to the memory */
	TARE_LEFT_NATIVE = 4,		/* a process ran without the engine */
	TARE_LEFT_LATE_INPUT = 8,	/* a pipe from outside gave nothing for a second */
	TARE_LEFT_TAKEN = 16,		/* a file that was there had the name of one that was to be new,
					 * as another run's temporary file may */
	TARE_LEFT_FULL = 32,		/* more tasks, files or devices than there are numbers for */
	TARE_LEFT_ORDER = 64,		/* several tasks ran at the same time */
	TARE_LEFT_TERMINAL = 128,	/* input was written to a pseudo terminal: a thread of the
					 * kernel echoes it, and edits lines, some time later */
	TARE_LEFT_HOST_FILE = 256,	/* a file of /proc or /sys was opened that shows what the host
					 * does */
	TARE_LEFT_LOCKED = 512,		/* a program outside of the run held a file's lock that a task
					 * of the run wanted */
};

/* What one of these values means, as a clause; NULL for another value. */
const char *tare_left_text(unsigned left);

/* Is `text` a seed: "" or a number, decimal or 0x…? 0 or TARE_E_INVALID. */
int tare_seed_check(const char *text, struct tare_why *why);

/* One thing that a program can see. */
struct tare_world_fact {
	const char *what;		/* "CPU" */
	bool fixed;			/* the same on every host and in every run */
	const char *how;		/* "x86-64-v2", or why it is not; static, or of the world */
	uint64_t reserved[2];
};

/* The list of these facts by number, from 0; false: there is none of that number. `clean_env`: the
 * caller gave the command a fixed environment. */
bool tare_world_fact(const struct tare_world *world, bool aslr_off, bool clean_env, size_t i,
		     struct tare_world_fact *fact);

#ifdef __cplusplus
}
#endif
#endif
