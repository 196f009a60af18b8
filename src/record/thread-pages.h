/* A thread's two pages of records, and what the inline functions of tare/record.h call in the
 * rare cases: a page is full, a read failed, an interval ends out of order.
 *
 * A thread takes the place of a record in its page by one instruction and writes it
 * without a lock, its kind last (tare_record_put). A signal handler that interrupts this
 * takes the places after it. When the page is full, record_room() writes it to the file under
 * the recorder's lock, and the page is used again. In a handler a record of the page can be
 * unfinished: its place was taken and the handler came before its kind was written. The page is
 * then left as it is (`waiting`), the thread goes on in its second one, and both are written when
 * that is full. If then a record of the second is unfinished, events are dropped until it is
 * finished (may_turn_page).
 *
 *	record_pages_init(t);		memory of record_pages_bytes(), zeros; t->recorder is set
 *	t->fast.counter = …; t->fast.id = …;
 *	record_pages_open(t);		from now on the thread records
 *	record_pages_flush(t);		by the thread itself
 *	record_pages_end(t);		by the thread itself, signals blocked: its last records
 *	record_pages_rest(t);		instead, by the thread that stops the recorder
 *
 * Signals are blocked wherever the lock is held or a thread's words are not consistent
 * (struct aside). What a thread does there it counts, by a read of the counter before
 * and after, and takes off all its later values (counter_skip). Two reads do not see
 * all of it: the way to them and back is `room_cost`, measured when a thread registers. A
 * handler may have interrupted a read of the counter before it wrote a page: that read
 * begins again (tare/counter.h), which is measured and taken off likewise.
 */
#ifndef RECORD_THREAD_PAGES_H
#define RECORD_THREAD_PAGES_H

#include "pagefile.h"
#include "straighten.h"

#include <tare/event.h>
#include <tare/record.h>

#include <pthread.h>

#define RECORD_NO_DEPTH 1u		/* no interval is open: 0 is one that never began */
#define RECORD_NAME_SIZE 32

struct thread {
	struct tare_record_thread fast;
	struct tare_recorder *recorder;
	struct thread *next;		/* in the recorder's list */
	uint8_t *records[2];		/* two pages; room for a header before each */
	unsigned page;			/* the one that is written into */
	bool waiting;			/* the other one is full, and not in the file */
	const uint8_t *missing;		/* the unfinished record that one waits for, or `none` */
	bool gone;			/* the thread has ended */
	bool measuring;			/* nothing is written: see measure_room */
	uint8_t nowhere[32];		/* where a record goes that is dropped */
	char name[RECORD_NAME_SIZE];
	uint64_t offset;		/* added to every value when a page is written */
	uint64_t clamped, dropped, misnested;
	uint64_t room_cost;		/* counted by record_room outside of its two reads */
	uint64_t pages, page_cost;	/* see struct tare_record_state */
	struct straightener *straightener;	/* behind the pages */
	size_t mapped;			/* bytes from here on */
};

struct tare_recorder {
	pthread_mutex_t lock;
	pthread_mutex_t name_lock;	/* of the threads' names; no handler takes it */
	struct pagefile *file;
	pid_t pid;
	uint64_t serial;		/* no other recorder has had it */
	bool closed;
	int error;			/* first */
	struct tare_event *event;
	struct tare_events *events;
	uint64_t start_ns;		/* monotonic */
	bool shared_axis;		/* wall-time */
	bool is_time;			/* ns: pages are events, and nothing is taken off */
	uint64_t own_kind, own_label;	/* of these events */
	struct thread *threads;
	uint32_t n_threads;
	pthread_key_t key;
	char *kinds;			/* NULL: all */
	char path[4096];
	struct tare_recorder *next;	/* of all that are to be stopped at exit */
};

static inline void record_error(struct tare_recorder *r, int err)
{
	if (!r->error)
		r->error = err;
}

static inline struct thread *record_outer(struct tare_record_thread *t)
{
	return (struct thread *)t;	/* its first member */
}

/* The recorder's own work on a thread: signals are blocked, cancellation is off, and the
 * thread's counter is read before and after. */
struct aside {
	struct thread *t;		/* whose counter it is; NULL: none */
	uint64_t start;
	uint64_t mask;			/* of blocked signals, as the kernel has it */
	uint64_t last;			/* no later value may be less */
	int cancel, error;
};

void record_step_aside(struct aside *a, struct thread *t);
/* Returns what was counted; of a counter that is not of time it is taken off, and `more`
 * with it. */
uint64_t record_step_back(const struct aside *a, uint64_t more);

/* A thread's block: its struct, two pages, what puts them in order. */
size_t record_pages_bytes(void);
void record_pages_init(struct thread *t);
/* By the thread itself, signals blocked: measures what writing a page counts, and sets the
 * counter to 0. */
void record_pages_open(struct thread *t);
void record_pages_flush(struct thread *t);
void record_pages_end(struct thread *t);
/* Under the lock; the thread does not record any more, or its last records may be lost. */
void record_pages_rest(struct thread *t);

#endif
