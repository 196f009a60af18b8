/* What the files of the room share.
 *
 *	diverge.c	tare_diverge(): whole runs, then the search, then the cause
 *	probe.c		one run that is looked at, at stops
 *	search.c	pairs of such runs, with stops that come closer and closer
 *	follow.c	from a value that differs back to where it came from
 *	flow.c		what an instruction reads and writes
 *	call-result.c	what a system call brought
 *	start-memory.c	what the program found in its memory at the start
 *
 * A *stop* is after a number of instructions of one thread (its *count*); what is seen there is what the program
 * has before its next instruction. If the last instruction is a system call, the kernel has not made it yet: what
 * the call brings is seen one stop later.
 */
#ifndef DIVERGE_ROOM_H
#define DIVERGE_ROOM_H

#include "flow.h"

#include <tare/diverge.h>
#include <tare/event.h>
#include <tare/measure.h>
#include <tare/stop.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stop, in short. */
struct look {
	uint64_t count;
	uint64_t pc;
	uint64_t way;		/* equal, where the way to here was equal */
	uint64_t memory;	/* a hash of the memory that is watched */
	int32_t call;		/* system call that comes next; -1: none */
};

/* A stop, with all that the thread has. */
struct state {
	struct look at;
	uint64_t registers[STATE_REGISTERS];
	struct flow flow;			/* of the next instruction */
	uint8_t read[2][FLOW_LARGEST];		/* flow.reads, as far as they can be read */
	char descriptor[48];			/* the file of a call's first argument; "" */
	uint64_t task_words[2];			/* where a call that makes a task puts its number; 0: nowhere */
};

struct track {			/* the stops of a thread */
	uint32_t task;		/* struct tare_stop, `branch` */
	pid_t pid, tid;
	bool ended;		/* the last of its looks is of its end, and no stop */
	uint64_t begun;		/* how many stops of other threads came before its first one */
	size_t n, room;
	struct look *looks;
	struct state *states;	/* with .states: n of them */
};

struct probe;

/* What is to be seen of a run. */
struct probe_request {
	int side;
	uint64_t first, every;	/* stops, in instructions */
	uint64_t coarse;	/* in all threads, from 1 on, and not looked at; 0: none. A run that was
				 * stopped has another timing than one that was not: threads and signals come
				 * in other places */
	uint64_t until;		/* the run is ended there; 0: it runs to its end */
	uint32_t task;		/* only of this thread; 0: of all */
	bool states;		/* also names the code at the end, for diverge_place() */
	const struct flow_memory *watched;	/* memory of struct look, of each side; or NULL */
	bool at_each;
	/* Called at the last stop (until), or at each one, while the process is there. May be NULL. */
	void (*at_end)(const struct tare_stop *stop, int side, void *arg);
	void *arg;
};

struct probe {			/* the result */
	size_t n_tracks;
	struct track *tracks;
	bool reached;		/* `until`, in the thread asked for */
	bool failed;		/* out of memory */
	bool cut;		/* ended by the end of the stage: it shows nothing */
};

struct pair {			/* the same request on both sides */
	struct probe side[2];
	const struct track *track[2];	/* of the thread that was asked for; never NULL, but may have no stops */
};

struct named {
	uint64_t address;
	char *text;
};

struct names {			/* of code, as seen at stops; one list for both sides */
	size_t n, room;
	struct named *list;
};

#define DIVERGE_SKIPS 8

struct diverge {
	const struct tare_diverge_options *o;
	struct tare_divergence *d;
	struct tare_events *events;
	struct tare_stop_names *names;
	struct tare_why *why;
	struct names places[2];
	unsigned run;		/* how many there were */
	uint64_t longest_ns;	/* time of the slowest whole run */
	uint64_t over_at;	/* CLOCK_MONOTONIC: the stage ends then, with what it knows */
	bool still;		/* without ASLR, whatever was asked for */
	enum tare_diverge_stage stage;
	uint64_t longest;	/* instructions of the longest whole run */
	/* Tasks whose parting is not looked for: SIGCHLD came to them at another time. */
	unsigned n_skipped;
	uint32_t skipped[DIVERGE_SKIPS];
	uint32_t task;		/* the one that parts */
	bool by_child;		/* … because of SIGCHLD */
};

/* probe.c */
int diverge_probe_run(struct diverge *v, const struct probe_request *r, struct probe *p);
void diverge_probe_free(struct probe *p);
uint64_t diverge_now(void);			/* ns of CLOCK_MONOTONIC */
/* The time of a stage begins: so many times that of a whole run, and a constant. */
void diverge_begin_stage(struct diverge *v, enum tare_diverge_stage stage);
bool diverge_is_over(const struct diverge *v);	/* it has ended */
/* Both sides, the first one first. */
int diverge_pair_run(struct diverge *v, struct probe_request r, struct pair *p);
void diverge_pair_free(struct pair *p);
struct track *diverge_probe_track(const struct probe *p, uint32_t task);	/* NULL: it is not there */
/* A whole run, without stops. *m is the caller's. */
int diverge_probe_whole(struct diverge *v, int side, struct tare_measurement **m);

/* code-places.c: "work+0x19 (work.c:6), program+0x1192"; "" where the code was not seen. Belongs to v. */
const char *diverge_place(const struct diverge *v, int side, uint64_t address);
void diverge_note_places(struct diverge *v, int side, const struct tare_stop *stop, const struct track *t);
void diverge_places_free(struct diverge *v);
/* The stack of a stopped thread; the array belongs to the side. */
void diverge_stack(struct diverge *v, const struct tare_stop *stop, struct tare_diverge_side *side);

/* search.c. Each returns 1: found; 0: not found, after several tries or when the stage is over; or a
 * negative error. */

struct parting {
	uint32_t task;
	uint64_t count;		/* the ways are the same up to there; 0: they differ from the start */
	uint64_t first;		/* the first stop of the pair */
	struct pair pair;	/* a pair that parts there, with its states */
};

int diverge_search_parting(struct diverge *v, struct parting *at);
/* The last stop of the thread, before `count`, at which both have the same memory (m[0] and m[1]): *lo. 2: it
 * differs from the first instruction on. */
int diverge_search_memory(struct diverge *v, uint32_t task, const struct flow_memory *m, uint64_t count, uint64_t *lo);
/* Does another thread write the memory, shortly before or after `count`? It is seen to change between two instructions. */
int diverge_search_writer(struct diverge *v, uint32_t task, const struct flow_memory *m, uint64_t count);
/* States of both sides, from `first` to `last` and the one behind it, of a pair that has the same way up to `last`. */
int diverge_search_states(struct diverge *v, uint32_t task, uint64_t first, uint64_t last, struct pair *p);
/* Calls at_end for both sides of a pair that parts after `count`, one instruction behind it. (Also of pairs that do not, before.) */
int diverge_search_again(struct diverge *v, uint32_t task, uint64_t count,
			 void (*at_end)(const struct tare_stop *stop, int side, void *arg), void *arg);

/* follow.c: what happened at the parting, and the cause of it. Frees the pair. */
int diverge_follow(struct diverge *v, struct parting *at);

struct brought {
	enum tare_diverge_cause cause;
	char text[512];
};

/* call-result.c: the call that both are about to make in `before` brought a difference: to the memory, or, NULL, its
 * result. `after`: the states at the next stop. */
/* Can that call write there? */
bool diverge_call_writes(const struct state *before, const struct flow_memory *m);
void diverge_call_result(const struct state before[2], const struct state after[2], const struct flow_memory *m,
		 struct brought *b);

/* start-memory.c: the memory, or with NULL the stack pointer, differs from the first instruction on. *apart (may be
 * NULL): by how much the stack pointer does. */
int diverge_start_memory(struct diverge *v, uint32_t task, const struct flow_memory *m, struct brought *b,
			 uint64_t *apart);

/* A text of the result, which it belongs to; "" where memory is out. */
const char *diverge_text(struct diverge *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
