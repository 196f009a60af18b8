#include "thread-pages.h"

#include "counter-room.h"
#include "room.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_RECORDS (MM_PAGE_MAX / 32 - 1)
#define PAGE_BYTES (PAGE_RECORDS * 32)

/* The pages are at multiples of 64. */
size_t record_pages_bytes(void)
{
	return sizeof(struct thread) + 2 * (64 + PAGE_BYTES + 64) + 64 + sizeof(struct straightener);
}

static void count(uint64_t *sum, uint64_t n)
{
	__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);	/* handlers count too */
}

/* As sigfillset(): all but signals 32 and 33, which are the C library's. */
#define ALL_SIGNALS (~(3ull << 31))

/* The system call itself, as it takes few instructions. A handler that comes between the taking
 * of a place beyond the page and this call reads values with the instructions on that way in
 * them, and they are taken off afterwards: were they more than those from the handler's last
 * read to the next one of the interrupted code, values would fall. They would where another handler follows
 * at once, which is why record_room() asks for one (aside.last). One that comes between its question and the
 * end can still read values that are too small; straighten() counts the intervals that it shortens. */
static uint64_t block_signals(uint64_t mask)
{
	uint64_t before = 0;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof(mask));
	return before;
}

void record_step_aside(struct aside *a, struct thread *t)
{
	a->mask = block_signals(ALL_SIGNALS);
	a->t = t;
	a->last = 0;
	if (t && tare_record_now(&t->fast, t->fast.depth, &a->start) != 0)
		a->t = NULL;
	a->error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &a->cancel);
}

uint64_t record_step_back(const struct aside *a, uint64_t more)
{
	struct thread *const t = a->t;
	uint64_t now, counted = 0;
	pthread_setcancelstate(a->cancel, NULL);
	errno = a->error;
	if (t && tare_record_now(&t->fast, t->fast.depth, &now) == 0) {
		counted = now - a->start + more;
		/* without a branch: see sum_page() */
		const uint64_t most = now - a->last;
		counted -= (counted - most) & -(uint64_t)(counted > most);
		if (!t->recorder->is_time)
			counter_skip(t->fast.counter, counted);
	}
	block_signals(a->mask);
	return counted;
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
	t->clamped += changed;
	if (r->is_time)
		straighten_handlers(t->straightener, records, n);
	const int err = pagefile_events(r->file, records - MM_PAGE_HEADER_SIZE, n);
	if (err < 0) {
		count(&t->dropped, n);
		record_error(r, err);
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

/* May the thread go on in its second page? A handler may have interrupted tare_record_slot() between
 * the taking of a place and its comparison with the end, which is then that of another page. So
 * pages change only upwards while a place is taken and not filled: a place in the first page is
 * below both ends, one in the second is not. And they do not change while a place beyond the first
 * page is taken by anyone but the caller: it might be below the second's end. */
static bool may_turn_page(const struct thread *t)
{
	return t->page == 0 && t->fast.next <= t->fast.end + 32;
}

/* Signals are blocked. False: a page is full and waits for its unfinished record, and there is
 * no other. */
static bool make_room(struct thread *t)
{
	struct tare_recorder *const r = t->recorder;
	const size_t n = n_records(t);
	if (t->measuring || getpid() != r->pid) {
		clear_page(t, t->page, n);
		use_page(t, 0);
		return true;
	}
	pthread_mutex_lock(&r->lock);
	if (t->waiting && empty_page(r, t, !t->page, PAGE_RECORDS))
		t->waiting = false;
	bool room = false;
	if (!t->waiting) {
		room = empty_page(r, t, t->page, n);
		if (room) {
			use_page(t, 0);
		} else if (n == PAGE_RECORDS && may_turn_page(t)) {
			room = true;
			t->waiting = true;
			clear_page(t, 1, PAGE_RECORDS);
			use_page(t, 1);
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

/* Will a handler run as soon as signals are unblocked? */
static bool signals_wait(const struct aside *a)
{
	uint64_t waiting = 0;
	syscall(SYS_rt_sigpending, &waiting, sizeof(waiting));
	return waiting & ~a->mask;
}

/* The last value that a handler recorded which made the room that `slot` is in; 0: not known. */
static uint64_t last_value(const struct thread *t, const uint8_t *slot)
{
	struct mm_event e;
	if (slot == t->records[t->page] || !finished(slot - 32))
		return 0;
	mm_decode(slot - 32, 1, &e);
	return e.p2 == MM_INTEGER ? 0 : e.p2 == MM_INSTANT ? e.p1 : e.p2;
}

uint8_t *record_room(struct tare_record_thread *fast)
{
	struct thread *const t = record_outer(fast);
	struct aside a;
	if (!t->fast.end) {			/* it has ended, or never was */
		t->fast.next = NULL;
		count(&t->dropped, 1);
		return t->nowhere;
	}
	/* There is no page. No search for each event: a handler that took so long could let
	 * its timer keep the interrupted code from finishing the record for ever. */
	unsigned stuck = !finished(t->missing) & (t->fast.next >= t->fast.end);
	__asm__("" : "+r"(stuck));		/* one branch: room_cost has to be the same always */
	if (stuck) {
		count(&t->dropped, 1);
		return t->nowhere;
	}
	record_step_aside(&a, t);
	/* A handler may have made room before signals were blocked. */
	const bool written = t->fast.next >= t->fast.end && make_room(t);
	uint8_t *slot = t->nowhere;
	if (t->fast.next < t->fast.end) {
		slot = take(t);
		if (written && t->recorder->is_time && a.t)
			put_own(t, a.start);
		/* Values of the handler that made room have the way here in them. Those of the next one,
		 * which begins before the way back was executed, must not be less. */
		if (!written && signals_wait(&a))
			a.last = last_value(t, slot);
	} else {
		count(&t->dropped, 1);
	}
	const bool sum = written && !t->recorder->is_time;
	sum_page(t, sum, record_step_back(&a, t->room_cost));
	return slot;
}

/* The owner's pages go out, full or not. */
void record_pages_flush(struct thread *t)
{
	struct aside a;
	const bool some = t->waiting || n_records(t);
	record_step_aside(&a, t);
	const bool written = some && make_room(t);
	if (written && t->recorder->is_time && a.t && t->fast.next < t->fast.end)
		put_own(t, a.start);
	sum_page(t, written && !t->recorder->is_time, record_step_back(&a, 0));
}

/* The read failed: the interval will not be recorded. */
void tare_record_odd_begin(struct tare_record_thread *t, struct tare_interval *i)
{
	struct thread *const o = record_outer(t);
	t->depth--;
	i->depth = TARE_RECORD_NOT;
	count(&o->dropped, 1);
	if (o->recorder && !o->gone && getpid() == o->recorder->pid)
		record_error(o->recorder, TARE_E_STOLEN);
}

/* 48 bits, the largest two values taken; and never before the start. */
static void clamp(struct tare_record_thread *t, struct tare_interval *i, uint64_t end)
{
	const uint64_t start = i->start < MM_VALUE_MAX ? i->start : MM_VALUE_MAX;
	const uint64_t last = end < start ? start : end < MM_VALUE_MAX ? end : MM_VALUE_MAX;
	count(&record_outer(t)->clamped, start != i->start || last != end);
	t->depth--;
	i->depth = TARE_RECORD_NOT;
	tare_record_put(t, i->kind, i->id, start, last);
}

static __attribute__((noinline)) void odd_end(struct tare_record_thread *t,
					      struct tare_interval *i, uint64_t end, int err)
{
	struct thread *const o = record_outer(t);
	if (i->depth == t->depth && !err) {
		clamp(t, i, end);
		return;
	}
	/* Either the read failed; or one inside it is still open (its record would
	 * break the order of the file); or it was ended already. */
	count(&o->misnested, !err);
	count(&o->dropped, 1);
	if (err && o->recorder && !o->gone && getpid() == o->recorder->pid)
		record_error(o->recorder, err);
	if (i->depth <= t->depth && i->depth > (RECORD_NO_DEPTH | (t->depth & TARE_RECORD_PAIR)))
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

void record_pages_open(struct thread *t)
{
	use_page(t, 0);
	clear_page(t, 0, PAGE_RECORDS);
	if (t->recorder->is_time)
		return;
	measure_room(t);
	measure_again(t);
	tare_counter_reset(t->fast.counter);
}

void record_pages_end(struct thread *t)
{
	struct tare_recorder *const r = t->recorder;
	make_room(t);
	if ((!t->waiting && !n_records(t)) || getpid() != r->pid)
		return;
	pthread_mutex_lock(&r->lock);		/* a handler left by a jump */
	if (!r->closed)
		record_pages_rest(t);
	pthread_mutex_unlock(&r->lock);
}

void record_pages_init(struct thread *t)
{
	t->mapped = record_pages_bytes();
	t->missing = none;
	t->fast.room = record_room_entry;
	/* Records at multiples of 64; the page's header right before them. */
	uint8_t *at = (uint8_t *)(t + 1);
	for (unsigned i = 0; i < 2; i++) {
		at = (uint8_t *)(((uintptr_t)at + MM_PAGE_HEADER_SIZE + 63) & ~(uintptr_t)63);
		t->records[i] = at;
		at += PAGE_BYTES;
	}
	t->straightener = (void *)(((uintptr_t)at + 63) & ~(uintptr_t)63);
}

void record_pages_rest(struct thread *t)
{
	const unsigned pages[2] = { !t->page, t->page };
	const size_t taken[2] = { t->waiting ? PAGE_RECORDS : 0, n_records(t) };
	for (int i = 0; i < 2; i++) {
		uint8_t *const records = t->records[pages[i]];
		const size_t n = leave_out_unfinished(records, taken[i]);
		count(&t->dropped, taken[i] - n);
		write_records(t->recorder, t, records, n);
	}
}
