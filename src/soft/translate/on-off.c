/* Counting only parts of the program.
 *
 * A program switches counting with requests (guest/requests.c). Two switches must be on for a thread
 * to be counted: that of its process (start, stop) and its own (toggle), as callgrind has them. When
 * the switch of the process changes, those of its threads are as at the start again.
 * The child of a fork and a vfork child start as the thread that made them, a new thread with the
 * switch of its process and its own as at the start of the run, a new image as the run.
 *
 * A function that is watched (watched.c) turns the switch of its thread at its start and at its end.
 *
 * Translated code does not know of it and always counts. A switch acts on the totals that it leaves
 * behind, when the thread is outside the cache and its counts are exact:
 *
 *	on -> off	park: the cell of each block is added to its other cell, which code does not
 *			use, and set to 0; the corrections are kept aside
 *	off -> on	the cells are set to 0 (what ran meanwhile), the corrections are taken back
 *
 * So a thread that is on has counted what its two cells say together, and one that is off what the
 * parked cells say; count_fold() and the launcher (live.c) follow that. The requests zero and dump
 * fold all threads of the process first. The code log is written from the same cells at folds only,
 * however often a program switches.
 *
 * Whoever keeps running totals beside the cells (call contexts) takes the difference since the last
 * look in count_switches(), which is called before the state of a thread changes: it belongs to the
 * old state. Zero and dump call it, too. Watched functions need none of that: whether the counts of a
 * context are dropped follows from its path (part_drops()).
 */
#include "code-abi.h"
#include "sys.h"
#include "text.h"
#include "calls.h"

static struct {
	bool waits;		/* the first request decides which switch the run starts with */
	bool threads_off;	/* new threads start with their own switch off */
} start;

/* The contexts of the call graph have running totals beside the cells: what they have counted in the
 * state that ends is written, or dropped. */
static void count_switches(struct thread *t)
{
	if (code_log_wanted()) {
		code_log_begin(t);
		calls_fold(t);
	}
}

void part_init(struct thread *t)
{
	const uint32_t f = E.shared->flags;
	start.waits = f & SOFT_FLAG_OFF_UNTIL_ASKED;
	start.threads_off = f & SOFT_FLAG_OFF_THREADS;
	t->code.off = (uint8_t)((f & (SOFT_FLAG_OFF_PROCESS | SOFT_FLAG_OFF_UNTIL_ASKED) ? OFF_PROCESS : 0) |
				(start.threads_off ? OFF_THREAD : 0));
	if (t->record)
		E.shared->records[t->record].off = t->code.off != 0;
}

/* Does what is on the stack turn the switch of a thread? */
static bool is_turned(unsigned watch)
{
	return watch != 0;
}

/* Calls of the thread, which are followed only where its memory is there. */
static bool was_turned(const struct thread *t)
{
	return cache.watch && t->calls_mapped && is_turned(calls_of(t)->followed);
}

bool part_drops(const struct thread *t, unsigned watch)
{
	return t->code.off ^ (is_turned(watch) != was_turned(t) ? OFF_THREAD : 0);
}

void part_inherit(struct thread *t, const struct thread *parent)
{
	/* the contexts of a vfork child start at a root, too */
	t->code.off = t->is_vfork ? parent->code.off ^ (was_turned(parent) ? OFF_THREAD : 0) :
		      (uint8_t)((parent->code.off & OFF_PROCESS) | (start.threads_off ? OFF_THREAD : 0));
	if (t->record)
		E.shared->records[t->record].off = t->code.off != 0;
}

void part_forked(struct thread *t, struct soft_record *r)
{
	mem_zero(t->code.parked_corr, sizeof(t->code.parked_corr));
	mem_zero(t->code.parked_vdso, sizeof(t->code.parked_vdso));
	mem_zero(t->code.parked_sum, sizeof(t->code.parked_sum));
	if (r != E.shared->records)
		r->off = t->code.off != 0;
}

void part_take_parked(struct thread *t, uint64_t sum[SOFT_EVENTS], uint64_t vdso[SOFT_EVENTS])
{
	for (int k = 0; k < SOFT_EVENTS; k++) {
		sum[k] = (uint64_t)t->code.parked_corr[k];
		vdso[k] = (uint64_t)t->code.parked_vdso[k];
		t->code.parked_corr[k] = t->code.parked_vdso[k] = 0;
		if (t->record)
			E.shared->records[t->record].parked[k] = 0;
	}
}

/* ---- one thread ---- */

static void park(struct thread *t)
{
	uint64_t *const sum = t->code.parked_sum;
	uint8_t wanted[SOFT_EVENTS];
	const int n_wanted = events_wanted(wanted);
	uint64_t last = 0, last_but_one = 0, c = 0;
	count_settle(t);
	t->code.past_corr = 0;
	for (int k = 0; k < SOFT_EVENTS; k++) {
		t->code.parked_corr[k] = t->code.corr[k];
		t->code.parked_vdso[k] = t->code.vdso_corr[k];
		t->code.corr[k] = t->code.vdso_corr[k] = 0;
	}
	for (uint32_t id = 1; id <= cache.n_blocks; id++) {
		const uint64_t *const both = counts_of(t) + soft_cell(id);
		if (!(both[0] | both[SOFT_CELLS_AWAY] | last | c)) {	/* most blocks */
			last_but_one = last;
			last = c;
			continue;
		}
		const struct block *const b = block_at(id);
		uint64_t *const cell = cell_of(t, id), *const parked = parked_cell(t, id);
		const uint64_t ran = *cell;
		if (ran) {		/* do not write to pages of zeros */
			*parked += ran;
			*cell = 0;
		}
		last_but_one = last;
		last = c;
		c = soft_runs(b->runs_from, ran, last, last_but_one);
		for (int i = 0; c && i < n_wanted; i++)
			sum[wanted[i]] += c * b->vec[wanted[i]];
	}
}

static void unpark(struct thread *t)
{
	count_settle(t);
	for (int k = 0; k < SOFT_EVENTS; k++) {
		t->code.corr[k] = t->code.parked_corr[k];
		t->code.vdso_corr[k] = t->code.parked_vdso[k];
		t->code.parked_corr[k] = t->code.parked_vdso[k] = 0;
	}
	t->code.past_corr = t->code.corr[SOFT_INSTRUCTIONS];
	for (uint32_t id = 1; id <= cache.n_blocks; id++)
		if (*cell_of(t, id))
			*cell_of(t, id) = 0;
}

/* The thread is outside the cache. */
static void set_cells_off(struct thread *t, uint8_t off)
{
	const bool was = t->code.off, is = off;
	struct soft_record *const r = &E.shared->records[t->record];
	if (was == is) {
		t->code.off = off;
		return;
	}
	/* Pairs with live_read() of the launcher, as in count_fold(). */
	__atomic_fetch_add(&r->folding, 1, __ATOMIC_SEQ_CST);
	if (is)
		park(t);
	else
		unpark(t);
	t->code.off = off;
	if (t->record) {
		for (int k = 0; k < SOFT_EVENTS; k++)
			r->parked[k] = is ? t->code.parked_sum[k] + (uint64_t)t->code.parked_corr[k] : 0;
		r->off = is;
	}
	__atomic_fetch_add(&r->folding, 1, __ATOMIC_SEQ_CST);
	trace_switched(t);
}

/* A switch that the program asked for. */
static void set_off(struct thread *t, uint8_t off)
{
	count_switches(t);
	set_cells_off(t, off);
}

static void tell(uint32_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static void tell_change(bool was_off, bool is_off)
{
	if (was_off != is_off)
		tell(is_off ? &E.shared->parts.off : &E.shared->parts.on);
}

/* ---- the process ---- */

/* A vfork child is a process by itself. */
static bool of_process(const struct thread *self, const struct thread *t)
{
	return t->in_use && (self->is_vfork ? t == self : !t->is_vfork);
}

/* The counts of all threads of the process are exact from here to release_others(). */
static bool stop_process(struct thread *t)
{
	const bool stopped = stop_others(t);
	if (!stopped)
		tell(&E.shared->parts.missed);
	return stopped;
}

/* The thread's own switch, if the program had never turned it. */
static uint8_t off_at_start(const struct thread *t)
{
	return start.threads_off != was_turned(t) ? OFF_THREAD : 0;
}

void part_switch(struct thread *t, bool on)
{
	if (!stop_process(t))
		return;
	const bool was = t->code.off & OFF_PROCESS;
	if (!t->is_vfork)
		start.waits = false;
	for (uint32_t i = 0; was == on && i < E.n_threads; i++)
		if (of_process(t, thread_at(i)))
			set_off(thread_at(i), (on ? 0 : OFF_PROCESS) | off_at_start(thread_at(i)));
	tell_change(was, !on);
	release_others();
}

bool part_process_is_off(const struct thread *t)
{
	return t->code.off & OFF_PROCESS;
}

/* The first request of a run that waits for one is a toggle: from now on each thread has its own
 * switch, which is off. */
static void wait_no_longer(struct thread *t)
{
	start.waits = false;
	start.threads_off = true;
	for (uint32_t i = 0; i < E.n_threads; i++) {
		struct thread *const o = thread_at(i);
		if (of_process(t, o))
			set_off(o, off_at_start(o));
	}
}

/* Only this thread changes, and it is outside the cache: the others go on. */
void part_toggle(struct thread *t)
{
	if (start.waits && !t->is_vfork) {
		if (!stop_process(t))
			return;
		wait_no_longer(t);
		release_others();
	}
	lock_take();
	const uint8_t off = t->code.off ^ OFF_THREAD;
	tell_change(t->code.off & OFF_THREAD, off & OFF_THREAD);
	set_off(t, off);
	lock_drop();
}

/* ---- zero and dump ---- */

static void fold_process(struct thread *t)
{
	for (uint32_t i = 0; i < E.n_threads; i++) {
		struct thread *const o = thread_at(i);
		if (!of_process(t, o))
			continue;
		count_switches(o);
		count_fold(o);
	}
}

/* The same for the trace. */
static void end_part(struct thread *t, uint32_t dump)
{
	for (uint32_t i = 0; i < E.n_threads; i++)
		if (of_process(t, thread_at(i)))
			trace_part_ends(thread_at(i), dump);
	trace_next_part();
}

/* The next record of the image of `t`; NULL: there is none. Tasks beyond SOFT_MAX_RECORDS have none. */
static struct soft_record *next_record(const struct thread *t, uint32_t *i)
{
	const uint32_t n = __atomic_load_n(&E.shared->n_records, __ATOMIC_ACQUIRE);
	const uint32_t image = E.shared->records[t->record].image;
	for (*i = *i < image ? image : *i + 1; image && *i < n && *i < SOFT_MAX_RECORDS; ++*i)
		if (E.shared->records[*i].image == image)
			return &E.shared->records[*i];
	return NULL;
}

/* What the task has counted since the last dump is gone. */
static void record_zero(const struct thread *t, uint32_t i)
{
	struct soft_record *const r = &E.shared->records[i];
	__atomic_fetch_add(&r->folding, 1, __ATOMIC_SEQ_CST);
	mem_copy(r->counts, r->dumped, sizeof(r->counts));
	mem_copy(r->vdso, r->dumped_vdso, sizeof(r->vdso));
	r->zeroed++;
	__atomic_fetch_add(&r->folding, 1, __ATOMIC_SEQ_CST);
	if (code_log_wanted())
		code_log_mark(t, i, CODE_ZERO, 0);
}

void part_zero(struct thread *t)
{
	if (!stop_process(t))
		return;
	fold_process(t);
	for (uint32_t i = 0; next_record(t, &i);)
		record_zero(t, i);
	end_part(t, 0);
	tell(&E.shared->parts.zeroed);
	release_others();
}

void part_zero_thread(struct thread *t)
{
	lock_take();
	count_switches(t);
	count_fold(t);
	if (t->record)
		record_zero(t, t->record);
	trace_thread_zeroed(t);
	tell(&E.shared->parts.zeroed);
	lock_drop();
}

/* Takes what the image counted since the last dump. */
static void take_counts(const struct thread *t, uint32_t number, struct soft_dump *d)
{
	struct soft_record *r;
	for (uint32_t i = 0; (r = next_record(t, &i));) {
		for (int k = 0; k < SOFT_EVENTS; k++) {
			d->counts[k] += r->counts[k] - r->dumped[k];
			d->vdso[k] += r->vdso[k] - r->dumped_vdso[k];
			r->dumped[k] = r->counts[k];
			r->dumped_vdso[k] = r->vdso[k];
		}
		if (code_log_wanted())
			code_log_mark(t, i, CODE_DUMP, number);
	}
}

/* ---- watched functions ---- */

/* The launcher makes a name of the number. */
static void dump_at(struct thread *t, const struct calls_request *r)
{
	char name[16] = { SOFT_DUMP_WATCHED, r->what == WATCH_DUMP_BEFORE ? 'b' : 'a' };
	for (int i = 0; i < 8; i++)
		name[2 + i] = "0123456789abcdef"[r->number >> (28 - 4 * i) & 15];
	part_dump(t, name);
}

void part_follow(struct thread *t)
{
	if (!cache.watch || !t->calls_mapped)
		return;
	struct calls_thread *const c = calls_of(t);
	for (unsigned i = 0; i < c->n_requests; i++) {
		if (c->requests[i].what != WATCH_ZERO_BEFORE)
			dump_at(t, &c->requests[i]);
		else if (E.shared->flags & SOFT_FLAG_ZERO_THREAD)
			part_zero_thread(t);
		else
			part_zero(t);
	}
	c->n_requests = 0;
	const unsigned now = calls_watch_now(t);
	if (now == c->followed)
		return;
	lock_take();
	const uint8_t off = is_turned(now) != was_turned(t) ? t->code.off ^ OFF_THREAD : t->code.off;
	tell_change(t->code.off & OFF_THREAD, off & OFF_THREAD);
	set_cells_off(t, off);
	c->followed = (uint8_t)now;
	lock_drop();
}

void part_dump(struct thread *t, const char *name)
{
	struct soft_dump beyond = { 0 };	/* for dumps that have no room */
	if (!stop_process(t))
		return;
	fold_process(t);
	const uint32_t n = __atomic_add_fetch(&E.shared->parts.dumps, 1, __ATOMIC_RELAXED);
	struct soft_dump *const d = n <= SOFT_MAX_DUMPS ? &E.shared->dumps[n - 1] : &beyond;
	take_counts(t, n, d);
	end_part(t, n);
	d->pid = E.shared->records[t->record].pid;
	copy_text(d->name, sizeof(d->name), name, text_len(name));
	__atomic_store_n(&d->ready, 1, __ATOMIC_RELEASE);
	release_others();
}
