/* The recorder: one file, and per thread a counter and two pages of records.
 *
 * A thread takes the place of a record in its page by one instruction and writes it
 * without a lock, its kind last (tare_record_put). Whoever interrupts that, a signal
 * handler, takes the places after it. When the page is full, record_room() writes it to
 * the file under the recorder's lock, which also guards the list of threads and `closed`,
 * and the page is used again. In a handler a record of the page can be unfinished: its
 * place was taken and the handler came before its kind was written. The page is then
 * left as it is (`waiting`), the thread goes on in its other one, and both are written when
 * that is full. Whoever stops the recorder takes the lock, sets `closed` and writes what
 * is left of all threads.
 *
 * Signals are blocked wherever the lock is held or a thread's words are not consistent
 * (struct aside). What a thread does there it counts, by a read of the counter before
 * and after, and takes off all its later values (counter_skip). Two reads do not see
 * all of it: the way to them and back is `room_cost`, measured when a thread registers. A
 * handler may have interrupted a read of the counter before it wrote a page: that read
 * begins again (tare/counter.h), which is measured and taken off likewise.
 *
 * Memory comes from mmap, not malloc: a recorder that changed the sizes of the
 * program's heap would change what it measures (the report's PID effect).
 */
#include "counter-room.h"
#include "options-copy.h"
#include "pagefile.h"
#include "room.h"
#include "straighten.h"
#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE_RECORDS (MM_PAGE_MAX / 32 - 1)
#define NAME_SIZE 32

#define PAGE_BYTES (PAGE_RECORDS * 32)
#define NO_DEPTH 1u			/* no interval is open: 0 is one that never began */

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
	char name[NAME_SIZE];
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

/* The handle that this thread asked for last. In the thread's own block, as an access from
 * a handler may not allocate. */
static __thread struct {
	uint64_t serial;
	struct thread *thread;
} here __attribute__((tls_model("initial-exec")));

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tare_recorder *all;
/* What a thread reads that has no counter (any more). */
static struct tare_counter *zero;

static void *map_pages(size_t size)
{
	void *const p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* A thread's block: its struct, two pages at multiples of 64, what puts them in order. */
static size_t block_bytes(void)
{
	return sizeof(struct thread) + 2 * (64 + PAGE_BYTES + 64) + 64 + sizeof(struct straightener);
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void set_error(struct tare_recorder *r, int err)
{
	if (!r->error)
		r->error = err;
}

static struct thread *outer(struct tare_record_thread *t)
{
	return (struct thread *)t;	/* its first member */
}

static void count(uint64_t *sum, uint64_t n)
{
	__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);	/* handlers count too */
}

/* The recorder's own work on a thread: signals are blocked, cancellation is off, and the
 * thread's counter is read before and after. */
struct aside {
	struct thread *t;		/* whose counter it is; NULL: none */
	uint64_t start;
	uint64_t mask;			/* of blocked signals, as the kernel has it */
	int cancel, error;
};

/* As sigfillset(): all but signals 32 and 33, which are the C library's. */
#define ALL_SIGNALS (~(3ull << 31))

/* The system call itself, as it takes few instructions. A handler that comes between the taking
 * of a place beyond the page and this call reads values with the instructions on that way in
 * them, and they are taken off afterwards: were they more than those from the handler's last
 * read to the next one of the interrupted code, values would fall. */
static uint64_t block_signals(uint64_t mask)
{
	uint64_t before = 0;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof(mask));
	return before;
}

static void step_aside(struct aside *a, struct thread *t)
{
	a->mask = block_signals(ALL_SIGNALS);
	a->t = t;
	if (t && tare_record_now(&t->fast, t->fast.depth, &a->start) != 0)
		a->t = NULL;
	a->error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &a->cancel);
}

/* Returns what was counted; of a counter that is not of time it is taken off, and `more`
 * with it. */
static uint64_t step_back(const struct aside *a, uint64_t more)
{
	struct thread *const t = a->t;
	uint64_t now, counted = 0;
	pthread_setcancelstate(a->cancel, NULL);
	errno = a->error;
	if (t && tare_record_now(&t->fast, t->fast.depth, &now) == 0) {
		counted = now - a->start + more;
		if (!t->recorder->is_time)
			counter_skip(t->fast.counter, counted);
	}
	block_signals(a->mask);
	return counted;
}

/* The calling thread's handle of this recorder, if it has one that counts. */
static struct thread *own_thread(const struct tare_recorder *r)
{
	struct thread *const t = r && here.serial == r->serial ? here.thread : NULL;
	return t && !t->gone ? t : NULL;
}

/* How many places of the page that is written into were taken. */
static size_t n_records(const struct thread *t)
{
	const uint8_t *const next = __atomic_load_n(&t->fast.next, __ATOMIC_ACQUIRE);
	if (!t->fast.end)
		return 0;
	return next >= t->fast.end ? PAGE_RECORDS
				   : (size_t)(next - t->records[t->page]) / 32;
}

static bool finished(const uint8_t *record)
{
	return __atomic_load_n((const uint64_t *)(const void *)record, __ATOMIC_ACQUIRE) != 0;
}

/* A finished record: what record_room() looks at when no page waits. */
static const uint8_t none[32] __attribute__((aligned(8))) = { 1 };

/* The last record that is not finished; NULL: all are. */
static const uint8_t *unfinished(const uint8_t *records, size_t n)
{
	while (n && finished(records + 32 * (n - 1)))
		n--;
	return n ? records + 32 * (n - 1) : NULL;
}

static uint64_t later(uint64_t value, uint64_t offset)
{
	return value > MM_VALUE_MAX - offset ? MM_VALUE_MAX : value + offset;
}

/* Moves a thread's records on to the axis that all share. */
static void shift_records(uint8_t *records, size_t n, uint64_t offset)
{
	for (size_t i = 0; i < n; i++) {
		struct mm_event e;
		mm_decode(records + 32 * i, 1, &e);
		if (e.p2 == MM_INTEGER)
			continue;
		e.p1 = later(e.p1, offset);
		if (e.p2 != MM_INSTANT)
			e.p2 = later(e.p2, offset);
		mm_encode(records + 32 * i, &e);
	}
}

/* Records that will never be finished: of a handler that left by a jump. */
static size_t leave_out_unfinished(uint8_t *records, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (!finished(records + 32 * i))
			continue;
		if (kept != i)
			memcpy(records + 32 * kept, records + 32 * i, 32);
		kept++;
	}
	return kept;
}

/* Under the lock. */
static void write_records(struct tare_recorder *r, struct thread *t, uint8_t *records, size_t n)
{
	if (!n)
		return;
	if (t->offset)
		shift_records(records, n, t->offset);
	const uint64_t changed = r->is_time ? 0 : straighten(t->straightener, records, n);
	if (r->event->kind == TARE_EVENT_MINUS)
		t->clamped += changed;
	if (r->is_time)
		straighten_handlers(t->straightener, records, n);
	const int err = pagefile_events(r->file, records - MM_PAGE_HEADER_SIZE, n);
	if (err < 0) {
		count(&t->dropped, n);
		set_error(r, err);
	}
}

static void clear_page(struct thread *t, unsigned page, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		mm_put64(t->records[page] + 32 * i, 0);
		mm_put32(t->records[page] + 32 * i + 16, t->fast.id);
	}
}

static void use_page(struct thread *t, unsigned page)
{
	t->page = page;
	t->fast.next = t->records[page];
	t->fast.end = t->records[page] + PAGE_BYTES;
}

/* Under the lock, by the owner: the file, or where it takes no more, nowhere. False: the
 * page has an unfinished record, which only the handler's return can finish. */
static bool empty_page(struct tare_recorder *r, struct thread *t, unsigned page, size_t n)
{
	const uint8_t *const missing = unfinished(t->records[page], n);
	t->missing = missing && n == PAGE_RECORDS ? missing : none;
	if (missing)
		return false;
	if (r->closed)
		count(&t->dropped, n);
	else
		write_records(r, t, t->records[page], n);
	clear_page(t, page, n);
	return true;
}

/* Signals are blocked. False: both pages are full, and one waits for its unfinished
 * record. */
static bool make_room(struct thread *t)
{
	struct tare_recorder *const r = t->recorder;
	const size_t n = n_records(t);
	if (t->measuring || getpid() != r->pid) {
		clear_page(t, t->page, n);
		use_page(t, t->page);
		return true;
	}
	pthread_mutex_lock(&r->lock);
	if (t->waiting && empty_page(r, t, !t->page, PAGE_RECORDS))
		t->waiting = false;
	bool room = false;
	if (!t->waiting) {
		room = true;
		if (empty_page(r, t, t->page, n)) {
			use_page(t, t->page);
		} else if (n == PAGE_RECORDS) {
			t->waiting = true;
			clear_page(t, !t->page, PAGE_RECORDS);
			use_page(t, !t->page);
		}
	}
	pthread_mutex_unlock(&r->lock);
	return room;
}

/* Signals are blocked, and there is room. */
static uint8_t *take(struct thread *t)
{
	uint8_t *const slot = t->fast.next;
	t->fast.next += 32;
	return slot;
}

/* `written` changes no branch: what record_room() counts after its second read of the counter
 * is in room_cost, and has to be the same always. */
static void sum_page(struct thread *t, bool written, uint64_t counted)
{
	t->pages += written;
	t->page_cost += counted & -(uint64_t)written;
}

/* Of a time: the page as an event of its own, after the record that had no room. */
static void put_own(struct thread *t, uint64_t start)
{
	struct tare_recorder *const r = t->recorder;
	uint64_t end;
	if (!r->own_kind || tare_record_now(&t->fast, t->fast.depth, &end) != 0 || end < start ||
	    end > MM_VALUE_MAX)
		return;
	uint8_t *const slot = take(t);
	const struct mm_event e = { .kind = r->own_kind, .id = r->own_label,
				    .thread = t->fast.id, .p1 = start, .p2 = end };
	mm_encode(slot, &e);
	sum_page(t, true, end - start);
}

uint8_t *record_room(struct tare_record_thread *fast)
{
	struct thread *const t = outer(fast);
	struct aside a;
	if (!t->fast.end) {			/* it has ended, or never was */
		t->fast.next = NULL;
		count(&t->dropped, 1);
		return t->nowhere;
	}
	/* Both pages are full. No search for each event: a handler that took so long could let
	 * its timer keep the interrupted code from finishing the record for ever. */
	unsigned stuck = !finished(t->missing) & (t->fast.next >= t->fast.end);
	__asm__("" : "+r"(stuck));		/* one branch: room_cost has to be the same always */
	if (stuck) {
		t->fast.next = t->fast.end;
		count(&t->dropped, 1);
		return t->nowhere;
	}
	step_aside(&a, t);
	/* A handler may have made room before signals were blocked. */
	const bool written = t->fast.next >= t->fast.end && make_room(t);
	uint8_t *slot = t->nowhere;
	if (t->fast.next < t->fast.end) {
		slot = take(t);
		if (written && t->recorder->is_time && a.t)
			put_own(t, a.start);
	} else {
		t->fast.next = t->fast.end;
		count(&t->dropped, 1);
	}
	const bool sum = written && !t->recorder->is_time;
	sum_page(t, sum, step_back(&a, t->room_cost));
	return slot;
}

/* The owner's pages go out, full or not. */
static void flush(struct thread *t)
{
	struct aside a;
	const bool some = t->waiting || n_records(t);
	step_aside(&a, t);
	const bool written = some && make_room(t);
	if (written && t->recorder->is_time && a.t && t->fast.next < t->fast.end)
		put_own(t, a.start);
	sum_page(t, written && !t->recorder->is_time, step_back(&a, 0));
}

/* The read failed: the interval will not be recorded. */
void tare_record_odd_begin(struct tare_record_thread *t, struct tare_interval *i)
{
	struct thread *const o = outer(t);
	t->depth--;
	i->depth = TARE_RECORD_NOT;
	count(&o->dropped, 1);
	if (o->recorder && !o->gone && getpid() == o->recorder->pid)
		set_error(o->recorder, TARE_E_STOLEN);
}

/* 48 bits, the largest two values taken; and never before the start. */
static void clamp(struct tare_record_thread *t, struct tare_interval *i, uint64_t end)
{
	const uint64_t start = i->start < MM_VALUE_MAX ? i->start : MM_VALUE_MAX;
	const uint64_t last = end < start ? start : end < MM_VALUE_MAX ? end : MM_VALUE_MAX;
	count(&outer(t)->clamped, start != i->start || last != end);
	t->depth--;
	i->depth = TARE_RECORD_NOT;
	tare_record_put(t, i->kind, i->id, start, last);
}

static __attribute__((noinline)) void odd_end(struct tare_record_thread *t,
					      struct tare_interval *i, uint64_t end, int err)
{
	struct thread *const o = outer(t);
	if (i->depth == t->depth && !err) {
		clamp(t, i, end);
		return;
	}
	/* Either the read failed; or one inside it is still open (its record would
	 * break the order of the file); or it was ended already. */
	count(&o->misnested, !err);
	count(&o->dropped, 1);
	if (err && o->recorder && !o->gone && getpid() == o->recorder->pid)
		set_error(o->recorder, err);
	if (i->depth <= t->depth && i->depth > (NO_DEPTH | (t->depth & TARE_RECORD_PAIR)))
		t->depth = i->depth - 1;
	i->depth = TARE_RECORD_NOT;
}

void tare_record_odd_end(struct tare_record_thread *t, struct tare_interval *i, uint64_t end,
			 int err)
{
	/* Filtered out, ended already, or never begun. */
	if (i->depth != TARE_RECORD_NOT && i->depth)
		odd_end(t, i, end, err);
}

/* A handler that still runs on this thread drops its events. */
static void shut(struct thread *t)
{
	t->fast.next = t->fast.end = NULL;
	t->fast.counter = zero;
	t->gone = true;
}

/* A thread ends: its pages go out and back to the system, its counter is closed. The
 * name and the sums stay. */
static void thread_ends(void *arg)
{
	struct thread *const t = arg;
	struct tare_recorder *const r = t->recorder;
	struct tare_counter *const counter = t->fast.counter;
	struct aside a;
	step_aside(&a, NULL);
	make_room(t);
	const size_t keep = (size_t)sysconf(_SC_PAGESIZE);
	pthread_mutex_lock(&r->lock);
	shut(t);
	if (keep >= sizeof(*t) && keep < t->mapped && munmap((char *)t + keep, t->mapped - keep) == 0)
		t->mapped = keep;
	pthread_mutex_unlock(&r->lock);
	tare_counter_close(counter);
	step_back(&a, 0);
}

static int open_counter(struct tare_recorder *r, struct thread *t, struct tare_why *why)
{
	const int err = tare_counter_open_event(r->event, NULL, &t->fast.counter, why);
	if (err < 0)
		return err;
	t->fast.depth = NO_DEPTH | (r->event->kind == TARE_EVENT_MINUS ? TARE_RECORD_PAIR : 0);
	if (r->shared_axis)
		t->offset = monotonic_ns() - r->start_ns;
	return 0;
}

/* For a thread that cannot be counted, and a recorder that is none. Each thread has
 * its own, as its depth is written; the counter is shared, and a read of it that fails is as
 * good. */
static struct tare_record_thread *inert(void)
{
	static __thread struct thread one __attribute__((tls_model("initial-exec")));
	one.fast.counter = zero;
	one.fast.room = record_room_entry;
	if (!one.fast.depth)
		one.fast.depth = NO_DEPTH;
	return &one.fast;
}

static int open_zero(struct tare_why *why)
{
	pthread_mutex_lock(&all_lock);
	const int err = zero ? 0 : tare_counter_open("zero", &zero, why);
	pthread_mutex_unlock(&all_lock);
	return err;
}

/* Measurements whose most frequent value is taken; before them, some that find page faults
 * and unbound symbols. */
enum { FIRST = 2, ROUNDS = 7 };

/* What one record counts, with (page full) or without (32 bytes left) the way to
 * record_room. */
static __attribute__((noinline)) uint64_t measure_put(struct thread *t, size_t left)
{
	uint64_t before = 0, after = 0;
	t->fast.next = t->fast.end - left;
	if (tare_record_now(&t->fast, t->fast.depth, &before) != 0)
		return 0;
	tare_record_put(&t->fast, 1, 1, 0, 0);
	if (tare_record_now(&t->fast, t->fast.depth, &after) != 0)
		return 0;
	return after - before;
}

/* The most frequent value, or 0 when not even half agree: a counter of cycles. */
static uint64_t agreed(const uint64_t *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned same = 0;
		for (unsigned k = 0; k < n; k++)
			same += values[k] == values[i];
		if (2 * same > n)
			return values[i];
	}
	return 0;
}

/* Sets room_cost. */
static void measure_room(struct thread *t)
{
	uint64_t with[FIRST + ROUNDS], without[FIRST + ROUNDS];
	t->measuring = true;
	for (unsigned i = 0; i < FIRST + ROUNDS; i++) {
		without[i] = measure_put(t, 32);
		with[i] = measure_put(t, 0);
	}
	t->measuring = false;
	const uint64_t w = agreed(with + FIRST, ROUNDS), wo = agreed(without + FIRST, ROUNDS);
	t->room_cost = w && wo && w > wo ? w - wo : 0;
	t->pages = t->page_cost = 0;
	clear_page(t, 0, PAGE_RECORDS);
	use_page(t, 0);
}

static __attribute__((noinline)) uint64_t measure_read(struct thread *t, bool again)
{
	uint64_t before = 0, after = 0;
	if (tare_record_now(&t->fast, t->fast.depth, &before) != 0 ||
	    !counter_disturb(t->fast.counter, again) ||
	    tare_record_now(&t->fast, t->fast.depth, &after) != 0)
		return 0;
	return after - before;
}

/* What a read counts that begins again because a handler has written a page meanwhile. */
static void measure_again(struct thread *t)
{
	uint64_t with[ROUNDS], without[ROUNDS];
	for (unsigned i = 0; i < ROUNDS; i++) {
		with[i] = measure_read(t, true);
		without[i] = measure_read(t, false);
	}
	const uint64_t w = agreed(with, ROUNDS), wo = agreed(without, ROUNDS);
	counter_set_again(t->fast.counter, w && wo && w > wo ? w - wo : 0);
}

static void lay_out(struct thread *t)
{
	/* Records at multiples of 64; the page's header right before them. */
	uint8_t *at = (uint8_t *)(t + 1);
	for (unsigned i = 0; i < 2; i++) {
		at = (uint8_t *)(((uintptr_t)at + MM_PAGE_HEADER_SIZE + 63) & ~(uintptr_t)63);
		t->records[i] = at;
		at += PAGE_BYTES;
	}
	t->straightener = (void *)(((uintptr_t)at + 63) & ~(uintptr_t)63);
}

static struct thread *add_thread(struct tare_recorder *r, struct tare_why *why)
{
	struct thread *const t = map_pages(block_bytes());
	if (!t) {
		why_set(why, TARE_E_NOMEM, "a thread's page");
		set_error(r, TARE_E_NOMEM);
		return NULL;
	}
	t->recorder = r;
	t->mapped = block_bytes();
	t->missing = none;
	t->fast.room = record_room_entry;
	lay_out(t);
	const int err = open_counter(r, t, why);
	if (err < 0) {
		munmap(t, t->mapped);
		set_error(r, err);
		return NULL;
	}
	pthread_mutex_lock(&r->lock);
	t->fast.id = ++r->n_threads;
	t->next = r->threads;
	r->threads = t;
	pthread_mutex_unlock(&r->lock);
	use_page(t, 0);
	clear_page(t, 0, PAGE_RECORDS);
	if (!r->is_time) {
		measure_room(t);
		measure_again(t);
		tare_counter_reset(t->fast.counter);
	}
	pthread_setspecific(r->key, t);
	here.serial = r->serial;
	here.thread = t;
	return t;
}

static struct thread *register_here(struct tare_recorder *r, struct tare_why *why)
{
	struct aside a;
	step_aside(&a, NULL);
	struct thread *t = pthread_getspecific(r->key);
	if (!t)
		t = add_thread(r, why);
	here.serial = t ? r->serial : 0;
	here.thread = t;
	step_back(&a, 0);
	return t;
}

struct tare_record_thread *tare_record_here(struct tare_recorder *r)
{
	if (r && here.serial == r->serial)
		return &here.thread->fast;
	if (!zero)
		open_zero(NULL);
	if (!r || r->closed || getpid() != r->pid)
		return inert();
	struct thread *const t = register_here(r, NULL);
	return t ? &t->fast : inert();
}

void tare_record_name(struct tare_record_thread *t, const char *name)
{
	if (!t || !name)
		return;
	struct thread *const o = outer(t);
	if (!o->recorder)
		return;
	pthread_mutex_lock(&o->recorder->name_lock);
	snprintf(o->name, sizeof(o->name), "%s", name);
	pthread_mutex_unlock(&o->recorder->name_lock);
}

static uint64_t put_string(struct tare_recorder *r, const struct pagefile_part *parts, size_t n)
{
	struct aside a;
	if (getpid() != r->pid)
		return 0;
	step_aside(&a, own_thread(r));
	const uint64_t id = r->closed ? 0 : pagefile_string(r->file, parts, n);
	step_back(&a, 0);
	return id;
}

uint64_t tare_record_string(struct tare_recorder *r, const char *text)
{
	if (!r || !text)
		return 0;
	const struct pagefile_part part = { .text = text, .len = strlen(text) };
	return put_string(r, &part, 1);
}

/* Whether `name` is in the comma list. */
static bool listed(const char *list, const char *name)
{
	const size_t len = strlen(name);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, len) == 0 && (at[len] == ',' || !at[len]))
			return true;
	}
	return false;
}

uint64_t tare_record_kind(struct tare_recorder *r, const char *name)
{
	if (!r || !name || (r->kinds && !listed(r->kinds, name)))
		return 0;
	return tare_record_string(r, name);
}

uint64_t tare_record_event_id(struct tare_recorder *r, uint64_t label, const uint64_t *args,
			      size_t n_args)
{
	static const char separator[] = { MM_SEPARATOR };
	struct pagefile_part parts[64] = { { .id = label } };
	if (!r || n_args > 31 || (n_args && !args))
		return 0;
	for (size_t i = 0; i < n_args; i++) {
		parts[1 + 2 * i] = (struct pagefile_part){ .text = separator, .len = 1 };
		parts[2 + 2 * i] = (struct pagefile_part){ .id = args[i] };
	}
	return put_string(r, parts, 1 + 2 * n_args);
}

int tare_record_flush(struct tare_recorder *r)
{
	if (!r)
		return 0;
	tare_record_here(r);
	struct thread *const t = own_thread(r);
	if (t)
		flush(t);
	return r->error;
}

const char *tare_record_path(const struct tare_recorder *r)
{
	return r ? r->path : "";
}

void tare_record_state(struct tare_recorder *r, struct tare_record_state *s)
{
	if (!s)
		return;
	*s = (struct tare_record_state){ 0 };
	if (!r)
		return;
	struct aside a;
	step_aside(&a, own_thread(r));
	pthread_mutex_lock(&r->lock);
	s->error = r->error;
	for (const struct thread *t = r->threads; t; t = t->next) {
		s->clamped += t->clamped;
		s->dropped += t->dropped;
		s->misnested += t->misnested;
		s->pages += t->pages;
		s->page_cost += t->page_cost;
	}
	pthread_mutex_unlock(&r->lock);
	step_back(&a, 0);
}

/* The arguments as one line, from the kernel's own copy. */
static void command_line(char *out, size_t size)
{
	const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		n = 0;
	while (n && !out[n - 1])		/* the last argument's end */
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (!out[i])
			out[i] = ' ';
	out[n] = '\0';
}

/* Not in a set-uid program: who starts it must not choose where it writes. */
static const char *chosen(const char *variable, const char *option)
{
	const char *const value = secure_getenv(variable);
	return value && *value ? value : option;
}

static int parse_event(struct tare_recorder *r, const char *name, struct tare_why *why)
{
	const int err = tare_events_parse(name, NULL, &r->events, why);
	if (err < 0)
		return err;
	if (tare_events_count(r->events) != 1)
		return why_set(why, TARE_E_INVALID, "%.200s: a recorder has one counter", name);
	r->event = (struct tare_event *)tare_events_at(r->events, 0);
	r->shared_axis = r->event->kind == TARE_EVENT_WALL_TIME;
	r->is_time = r->shared_axis || (r->event->unit && strcmp(r->event->unit, "ns") == 0);
	return 0;
}

#define NAMES_MOST 10000

/* The PID in seven digits: its length changes nothing (the report). */
static int name_file(struct tare_recorder *r, const struct tare_record_options *o, unsigned number,
		     struct tare_why *why)
{
	const char *const dir = chosen("TARE_RECORD_DIR", o->dir ? o->dir : ".");
	char more[16] = "";
	if (number)
		snprintf(more, sizeof(more), "-%u", number + 1);
	const int n = snprintf(r->path, sizeof(r->path), "%s/%s-%07d%s.mm_profdata", dir,
			       o->name ? o->name : program_invocation_short_name, (int)r->pid, more);
	if (n < 0 || (size_t)n >= sizeof(r->path))
		return why_set(why, TARE_E_RANGE, "%.200s…: path too long", dir);
	return 0;
}

/* A process that starts another program in its place, or a second recorder, and one in
 * another container, can have the same name and PID: what they wrote is not to be
 * lost, so theirs is NAME-PID-2 and so on. */
static int open_new(struct tare_recorder *r, const struct tare_record_options *o,
		    const struct tare_profile_create_options *meta, struct tare_why *why)
{
	struct tare_why own = { 0 };
	int err = 0;
	for (unsigned i = 0; i < NAMES_MOST; i++) {
		err = name_file(r, o, i, &own);
		if (err == 0)
			err = pagefile_open(r->path, O_EXCL, meta, &r->file, &own);
		if (err == 0 || own.sys_errno != EEXIST)
			break;
	}
	if (err < 0 && why)
		*why = own;
	return err;
}

static int open_file(struct tare_recorder *r, const struct thread *t,
		     const struct tare_record_options *o, struct tare_why *why)
{
	struct timespec now;
	struct tare_cpu cpu;
	struct tare_sample sample;
	static char line[4096];
	tare_cpu_detect(&cpu);
	clock_gettime(CLOCK_REALTIME, &now);
	command_line(line, sizeof(line));
	const bool sampled = tare_counter_sample(t->fast.counter, &sample) == 0;
	const char *const provenance = sampled ? tare_provenance_name(sample.provenance) : NULL;
	const struct tare_profile_unit unit = { r->event->unit, 1 };
	const bool named = r->event->unit && *r->event->unit && !r->shared_axis;
	const struct tare_profile_create_options meta = {
		.start_time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
		.process_id = (uint32_t)r->pid, .cmd = line, .counter = r->event->name,
		.units = named ? &unit : NULL, .n_units = named,
		.cpu = cpu.brand, .provenance = provenance,
		.own_axis_per_thread = !r->shared_axis,
	};
	return open_new(r, o, &meta, why);
}

static void free_recorder(struct tare_recorder *r)
{
	for (struct thread *t = r->threads, *next; t; t = next) {
		next = t->next;
		if (!t->gone)
			tare_counter_close(t->fast.counter);
		munmap(t, t->mapped);
	}
	tare_events_free(r->events);
	free(r->kinds);
	pthread_key_delete(r->key);
	pthread_mutex_destroy(&r->lock);
	pthread_mutex_destroy(&r->name_lock);
	munmap(r, sizeof(*r));
}

static int stop(struct tare_recorder *r, bool at_exit, struct tare_why *why);

/* Threads may still be recording: their pages stay. */
static void stop_all(void)
{
	while (all)
		stop(all, true, NULL);
}

static void register_exit(struct tare_recorder *r)
{
	static bool registered;
	pthread_mutex_lock(&all_lock);
	r->next = all;
	all = r;
	if (!registered)
		registered = atexit(stop_all) == 0;
	pthread_mutex_unlock(&all_lock);
}

static void unregister_exit(struct tare_recorder *r)
{
	pthread_mutex_lock(&all_lock);
	for (struct tare_recorder **at = &all; *at; at = &(*at)->next) {
		if (*at == r) {
			*at = r->next;
			break;
		}
	}
	pthread_mutex_unlock(&all_lock);
}

static int start(struct tare_recorder *r, const struct tare_record_options *o, struct tare_why *why)
{
	const char *const kinds = chosen("TARE_RECORD_KINDS", o->kinds);
	int err = parse_event(r, chosen("TARE_RECORD_COUNTER", o->counter ? o->counter : "wall-time"),
			      why);
	if (err == 0 && kinds) {
		r->kinds = strdup(kinds);
		err = r->kinds ? 0 : why_set(why, TARE_E_NOMEM, "recorder");
	}
	if (err < 0)
		return err;
	r->start_ns = monotonic_ns();
	const struct thread *const t = register_here(r, why);
	if (!t)
		return r->error;
	err = open_file(r, t, o, why);
	if (err == 0 && r->is_time) {
		r->own_kind = tare_record_string(r, "Recorder");
		r->own_label = tare_record_string(r, "page written");
	}
	return err;
}

static uint64_t next_serial(void)
{
	static uint64_t serial;
	return __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
}

int tare_record_start(const struct tare_record_options *o, struct tare_recorder **out,
		      struct tare_why *why)
{
	struct tare_record_options own;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the recorder");
	*out = NULL;
	int err = options_copy(&own, sizeof(own), o, "tare_record_options", why);
	if (err < 0)
		return err;
	const char *const asked = secure_getenv("TARE_RECORD_DIR");
	if (own.only_when_asked && !(asked && *asked))
		return 0;
	err = open_zero(why);
	if (err < 0)
		return err;
	struct tare_recorder *const r = map_pages(sizeof(*r));
	if (!r)
		return why_set(why, TARE_E_NOMEM, "recorder");
	pthread_mutex_init(&r->lock, NULL);
	pthread_mutex_init(&r->name_lock, NULL);
	r->serial = next_serial();
	r->pid = getpid();
	if (pthread_key_create(&r->key, thread_ends) != 0) {
		munmap(r, sizeof(*r));
		return why_set(why, TARE_E_NOMEM, "recorder: no thread key left");
	}
	err = start(r, &own, why);
	if (err < 0) {
		pthread_setspecific(r->key, NULL);
		here.serial = 0;
		free_recorder(r);
		return err;
	}
	register_exit(r);
	*out = r;
	return 0;
}

/* The names and sums that are known only now. */
static int close_file(struct tare_recorder *r, struct tare_why *why)
{
	struct tare_profile_thread *const names = calloc(r->n_threads + 1, sizeof(*names));
	struct pagefile_closing closing = { .threads = names };
	for (const struct thread *t = r->threads; t; t = t->next) {
		closing.clamped += t->clamped;
		closing.dropped += t->dropped;
		closing.pages += t->pages;
		closing.page_cost += t->page_cost;
		if (names && t->name[0])
			names[closing.n_threads++] =
				(struct tare_profile_thread){ t->fast.id, t->name };
	}
	/* the list has the newest first */
	for (size_t i = 0; i + 1 < closing.n_threads - i; i++) {
		const struct tare_profile_thread swap = names[i];
		names[i] = names[closing.n_threads - 1 - i];
		names[closing.n_threads - 1 - i] = swap;
	}
	pthread_mutex_lock(&r->name_lock);
	const int err = pagefile_close(r->file, &closing, why);
	pthread_mutex_unlock(&r->name_lock);
	free(names);
	return err;
}

/* Under the lock; the thread does not record any more, or its last records may be lost. */
static void write_rest(struct tare_recorder *r, struct thread *t)
{
	const unsigned pages[2] = { !t->page, t->page };
	const size_t taken[2] = { t->waiting ? PAGE_RECORDS : 0, n_records(t) };
	for (int i = 0; i < 2; i++) {
		uint8_t *const records = t->records[pages[i]];
		const size_t n = leave_out_unfinished(records, taken[i]);
		count(&t->dropped, taken[i] - n);
		write_records(r, t, records, n);
	}
}

static void forget_forked(struct tare_recorder *r)
{
	pagefile_abandon(r->file);
	for (struct thread *t = r->threads; t; t = t->next)
		t->fast.counter = NULL;
	free_recorder(r);
}

static int stop(struct tare_recorder *r, bool at_exit, struct tare_why *why)
{
	struct aside a;
	unregister_exit(r);
	step_aside(&a, NULL);
	if (here.serial == r->serial)
		here.serial = 0;
	pthread_setspecific(r->key, NULL);
	if (getpid() != r->pid) {		/* a forked child's copy */
		forget_forked(r);
		step_back(&a, 0);
		return 0;
	}
	pthread_mutex_lock(&r->lock);
	r->closed = true;
	for (struct thread *t = r->threads; t; t = t->next)
		if (!t->gone)
			write_rest(r, t);
	pthread_mutex_unlock(&r->lock);
	const int error = r->error;
	int err = close_file(r, why);
	if (err == 0 && error < 0)
		err = why_set(why, error, "%.200s", r->path);
	r->file = NULL;
	if (!at_exit)
		free_recorder(r);
	step_back(&a, 0);
	return err;
}

int tare_record_stop(struct tare_recorder *r, struct tare_why *why)
{
	return r ? stop(r, false, why) : 0;
}
