/* The recorder: one file, and per thread a counter and a page of records.
 *
 * A thread writes its records into its page without a lock; `next` is stored with
 * release after each. A full page goes to the file under the recorder's lock, which
 * also guards the list of threads and `closed`. Whoever stops the recorder takes
 * the lock, sets `closed` and writes the pages of all threads up to their `next`;
 * a thread that then comes with a full page finds it closed.
 *
 * Memory comes from mmap, not malloc: a recorder that changed the sizes of the
 * program's heap would change what it measures (the report's PID effect).
 */
#include "pagefile.h"
#include "straighten.h"

#include <tare/record.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE_RECORDS (MM_PAGE_MAX / 32 - 1)
#define NAME_SIZE 32

struct thread {
	struct tare_record_thread fast;
	struct tare_recorder *recorder;
	struct thread *next;		/* in the recorder's list */
	uint8_t *page;			/* header room, then records */
	char name[NAME_SIZE];
	uint64_t offset;		/* added to every value when a page is written */
	uint64_t clamped, dropped, misnested;
	struct straightener straightener;	/* of a corrected counter */
	bool gone;			/* the thread has ended */
	size_t mapped;			/* bytes from here on */
};

struct tare_recorder {
	pthread_mutex_t lock;
	struct pagefile *file;
	pid_t pid;
	bool closed;
	int error;			/* first */
	struct tare_event *event;
	struct tare_events *events;
	uint64_t start_ns;		/* monotonic */
	bool shared_axis;		/* wall-time */
	struct thread *threads;
	uint32_t n_threads;
	pthread_key_t key;
	char *kinds;			/* NULL: all */
	char path[4096];
	struct tare_recorder *next;	/* of all that are to be stopped at exit */
};

/* The handle that this thread asked for last. */
static __thread struct { struct tare_recorder *recorder; struct thread *thread; } here;

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tare_recorder *all;

/* `base` is not seen from here; this is all of it that is needed. */
static int fail(struct tare_why *why, int code, const char *thing, const char *problem)
{
	if (why) {
		*why = (struct tare_why){ .code = code };
		snprintf(why->what, sizeof(why->what), "%.200s%s", thing, problem);
	}
	return code;
}

static void *map_pages(size_t size)
{
	void *const p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static size_t page_bytes(void)
{
	return sizeof(struct thread) + MM_PAGE_HEADER_SIZE + (PAGE_RECORDS + 1) * 32 + 64;
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

static size_t n_records(const struct thread *t)
{
	const uint8_t *const next = __atomic_load_n(&t->fast.next, __ATOMIC_ACQUIRE);
	return (size_t)(next - (t->page + MM_PAGE_HEADER_SIZE)) / 32;
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

/* Under the lock. */
static void write_page(struct tare_recorder *r, struct thread *t)
{
	const size_t n = n_records(t);
	if (!n)
		return;
	if (t->offset)
		shift_records(t->page + MM_PAGE_HEADER_SIZE, n, t->offset);
	if (r->event->kind == TARE_EVENT_MINUS)
		t->clamped += straighten(&t->straightener, t->page + MM_PAGE_HEADER_SIZE, n);
	const int err = pagefile_events(r->file, t->page, n);
	if (err < 0) {
		t->dropped += n;
		set_error(r, err);
	}
}

/* The owner's side of a page that is full, or to be flushed. */
static void flush(struct thread *t)
{
	struct tare_recorder *const r = t->recorder;
	if (r && getpid() == r->pid) {
		pthread_mutex_lock(&r->lock);
		if (r->closed)
			t->dropped += n_records(t);
		else
			write_page(r, t);
		t->fast.next = t->page + MM_PAGE_HEADER_SIZE;
		pthread_mutex_unlock(&r->lock);
	} else {
		t->fast.next = t->page + MM_PAGE_HEADER_SIZE;
	}
}

static struct thread *outer(struct tare_record_thread *t)
{
	return (struct thread *)t;	/* its first member */
}

void tare_record_full(struct tare_record_thread *t)
{
	flush(outer(t));
}

/* The read failed: the interval will not be recorded. */
void tare_record_odd_begin(struct tare_record_thread *t, struct tare_interval *i)
{
	struct thread *const o = outer(t);
	t->depth--;
	i->depth = TARE_RECORD_NOT;
	o->dropped++;
	if (o->recorder && getpid() == o->recorder->pid)
		set_error(o->recorder, TARE_E_STOLEN);
}

/* 48 bits, the largest two values taken; and never before the start. */
static void clamp(struct tare_record_thread *t, struct tare_interval *i, uint64_t end)
{
	const uint64_t start = i->start < MM_VALUE_MAX ? i->start : MM_VALUE_MAX;
	const uint64_t last = end < start ? start : end < MM_VALUE_MAX ? end : MM_VALUE_MAX;
	outer(t)->clamped += start != i->start || last != end;
	t->depth--;
	i->depth = TARE_RECORD_NOT;
	tare_record_put(t, i->kind, i->id, start, last);
}

void tare_record_odd_end(struct tare_record_thread *t, struct tare_interval *i, uint64_t end,
			 int err)
{
	struct thread *const o = outer(t);
	if (i->depth == TARE_RECORD_NOT)
		return;
	if (i->depth == t->depth && !err) {
		clamp(t, i, end);
		return;
	}
	/* Either the read failed; or one inside it is still open (its record would
	 * break the order of the file); or it was ended already. */
	o->misnested += !err;
	o->dropped++;
	if (err && o->recorder && getpid() == o->recorder->pid)
		set_error(o->recorder, err);
	if (i->depth <= t->depth)
		t->depth = i->depth - 1;
	i->depth = TARE_RECORD_NOT;
}

/* A thread ends: its page goes out and back to the system, its counter is closed. The
 * name and the sums stay. */
static void thread_ends(void *arg)
{
	struct thread *const t = arg;
	struct tare_recorder *const r = t->recorder;
	flush(t);
	tare_counter_close(t->fast.counter);
	t->fast.counter = NULL;
	if (here.thread == t)
		here.recorder = NULL;
	const size_t keep = (size_t)sysconf(_SC_PAGESIZE);
	pthread_mutex_lock(&r->lock);
	t->gone = true;
	if (keep >= sizeof(*t) && keep < t->mapped && munmap((char *)t + keep, t->mapped - keep) == 0)
		t->mapped = keep;
	pthread_mutex_unlock(&r->lock);
}

static int open_counter(struct tare_recorder *r, struct thread *t, struct tare_why *why)
{
	const int err = tare_counter_open_event(r->event, NULL, &t->fast.counter, why);
	if (err < 0)
		return err;
	t->fast.depth = r->event->kind == TARE_EVENT_MINUS ? TARE_RECORD_PAIR : 0;
	if (r->shared_axis)
		t->offset = monotonic_ns() - r->start_ns;
	return 0;
}

/* For a thread that cannot be counted, and a recorder that is none. Each thread has
 * its own: what is written is thrown away, but by two at once it would go too far. The
 * counter `zero` is shared; a read of it that fails is as good. */
static struct tare_record_thread *inert(void)
{
	static __thread struct thread one;
	static __thread uint8_t page[MM_PAGE_HEADER_SIZE + 64];
	static struct tare_counter *zero;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	if (one.page)
		return &one.fast;
	pthread_mutex_lock(&lock);
	if (!zero)
		tare_counter_open("zero", &zero, NULL);
	pthread_mutex_unlock(&lock);
	one.fast.counter = zero;
	one.page = page;
	one.fast.next = page + MM_PAGE_HEADER_SIZE;
	one.fast.end = one.fast.next + 32;
	return &one.fast;
}

static struct thread *add_thread(struct tare_recorder *r, struct tare_why *why)
{
	struct thread *const t = map_pages(page_bytes());
	if (!t) {
		fail(why, TARE_E_NOMEM, "a thread's page", "");
		set_error(r, TARE_E_NOMEM);
		return NULL;
	}
	t->recorder = r;
	t->mapped = page_bytes();
	/* Records at multiples of 8; the page's header right before them. */
	uint8_t *const records =
		(uint8_t *)(((uintptr_t)(t + 1) + MM_PAGE_HEADER_SIZE + 63) & ~(uintptr_t)63);
	t->page = records - MM_PAGE_HEADER_SIZE;
	t->fast.next = records;
	t->fast.end = records + PAGE_RECORDS * 32;
	const int err = open_counter(r, t, why);
	if (err < 0) {
		munmap(t, page_bytes());
		set_error(r, err);
		return NULL;
	}
	pthread_mutex_lock(&r->lock);
	t->fast.id = ++r->n_threads;
	t->next = r->threads;
	r->threads = t;
	pthread_mutex_unlock(&r->lock);
	for (size_t i = 0; i < PAGE_RECORDS; i++)
		mm_put32(records + 32 * i + 16, t->fast.id);
	pthread_setspecific(r->key, t);
	return t;
}

struct tare_record_thread *tare_record_here(struct tare_recorder *r)
{
	if (here.recorder == r && r)
		return &here.thread->fast;
	if (!r || r->closed || getpid() != r->pid)
		return inert();
	struct thread *t = pthread_getspecific(r->key);
	if (!t)
		t = add_thread(r, NULL);
	if (!t)
		return inert();
	here.recorder = r;
	here.thread = t;
	return &t->fast;
}

void tare_record_name(struct tare_record_thread *t, const char *name)
{
	struct thread *const o = outer(t);
	if (!o->recorder)
		return;
	pthread_mutex_lock(&o->recorder->lock);
	snprintf(o->name, sizeof(o->name), "%s", name);
	pthread_mutex_unlock(&o->recorder->lock);
}

uint64_t tare_record_string(struct tare_recorder *r, const char *text)
{
	const struct pagefile_part part = { .text = text, .len = strlen(text) };
	if (!r || getpid() != r->pid)
		return 0;
	return pagefile_string(r->file, &part, 1);
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
	if (!r || (r->kinds && !listed(r->kinds, name)))
		return 0;
	return tare_record_string(r, name);
}

uint64_t tare_record_event_id(struct tare_recorder *r, uint64_t label, const uint64_t *args,
			      size_t n_args)
{
	static const char separator[] = { MM_SEPARATOR };
	struct pagefile_part parts[64] = { { .id = label } };
	if (!r || n_args > 31 || getpid() != r->pid)
		return 0;
	for (size_t i = 0; i < n_args; i++) {
		parts[1 + 2 * i] = (struct pagefile_part){ .text = separator, .len = 1 };
		parts[2 + 2 * i] = (struct pagefile_part){ .id = args[i] };
	}
	return pagefile_string(r->file, parts, 1 + 2 * n_args);
}

int tare_record_flush(struct tare_recorder *r)
{
	if (!r)
		return 0;
	flush(outer(tare_record_here(r)));
	return r->error;
}

const char *tare_record_path(const struct tare_recorder *r)
{
	return r ? r->path : "";
}

void tare_record_state(struct tare_recorder *r, struct tare_record_state *s)
{
	*s = (struct tare_record_state){ 0 };
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	s->error = r->error;
	for (const struct thread *t = r->threads; t; t = t->next) {
		s->clamped += t->clamped;
		s->dropped += t->dropped;
		s->misnested += t->misnested;
	}
	pthread_mutex_unlock(&r->lock);
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

static const char *chosen(const char *variable, const char *option)
{
	const char *const value = getenv(variable);
	return value && *value ? value : option;
}

static int parse_event(struct tare_recorder *r, const char *name, struct tare_why *why)
{
	const int err = tare_events_parse(name, NULL, &r->events, why);
	if (err < 0)
		return err;
	if (tare_events_count(r->events) != 1)
		return fail(why, TARE_E_INVALID, name, ": a recorder has one counter");
	r->event = (struct tare_event *)tare_events_at(r->events, 0);
	r->shared_axis = r->event->kind == TARE_EVENT_WALL_TIME;
	return 0;
}

#define NAMES_MOST 10000

/* The PID in seven digits: its length changes nothing (the report). */
static int name_file(struct tare_recorder *r, const struct tare_record_opts *o, unsigned number,
		     struct tare_why *why)
{
	const char *const dir = chosen("TARE_RECORD_DIR", o->dir ? o->dir : ".");
	char more[16] = "";
	if (number)
		snprintf(more, sizeof(more), "-%u", number + 1);
	const int n = snprintf(r->path, sizeof(r->path), "%s/%s-%07d%s.mm_profdata", dir,
			       o->name ? o->name : program_invocation_short_name, (int)r->pid, more);
	if (n < 0 || (size_t)n >= sizeof(r->path))
		return fail(why, TARE_E_RANGE, dir, "…: path too long");
	return 0;
}

/* A process that starts another program in its place, or a second recorder, and one in
 * another container, can have the same name and PID: what they wrote is not to be
 * lost, so theirs is NAME-PID-2 and so on. */
static int open_new(struct tare_recorder *r, const struct tare_record_opts *o,
		    const struct tare_profile_meta *meta, struct tare_why *why)
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
		     const struct tare_record_opts *o, struct tare_why *why)
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
	const struct tare_profile_meta meta = {
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
		tare_counter_close(t->fast.counter);
		munmap(t, t->mapped);
	}
	tare_events_free(r->events);
	free(r->kinds);
	pthread_key_delete(r->key);
	pthread_mutex_destroy(&r->lock);
	munmap(r, sizeof(*r));
}

static void stop_all(void)
{
	while (all)
		tare_record_stop(all, NULL);
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

static int start(struct tare_recorder *r, const struct tare_record_opts *o, struct tare_why *why)
{
	const char *const kinds = chosen("TARE_RECORD_KINDS", o->kinds);
	int err = parse_event(r, chosen("TARE_RECORD_COUNTER", o->counter ? o->counter : "wall-time"),
			      why);
	if (err == 0 && kinds) {
		r->kinds = strdup(kinds);
		err = r->kinds ? 0 : fail(why, TARE_E_NOMEM, "recorder", "");
	}
	if (err < 0)
		return err;
	r->start_ns = monotonic_ns();
	const struct thread *const t = add_thread(r, why);
	if (!t)
		return r->error;
	return open_file(r, t, o, why);
}

int tare_record_start(const struct tare_record_opts *o, struct tare_recorder **out,
		      struct tare_why *why)
{
	*out = NULL;
	const char *const asked = getenv("TARE_RECORD_DIR");
	if (o->only_when_asked && !(asked && *asked))
		return 0;
	struct tare_recorder *const r = map_pages(sizeof(*r));
	if (!r)
		return fail(why, TARE_E_NOMEM, "recorder", "");
	pthread_mutex_init(&r->lock, NULL);
	r->pid = getpid();
	if (pthread_key_create(&r->key, thread_ends) != 0) {
		munmap(r, sizeof(*r));
		return fail(why, TARE_E_NOMEM, "recorder", ": no thread key left");
	}
	const int err = start(r, o, why);
	if (err < 0) {
		pthread_setspecific(r->key, NULL);
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
	const int err = pagefile_close(r->file, &closing, why);
	free(names);
	return err;
}

int tare_record_stop(struct tare_recorder *r, struct tare_why *why)
{
	if (!r)
		return 0;
	unregister_exit(r);
	if (here.recorder == r)
		here.recorder = NULL;
	pthread_setspecific(r->key, NULL);
	if (getpid() != r->pid) {		/* a forked child's copy */
		pagefile_abandon(r->file);
		for (struct thread *t = r->threads; t; t = t->next)
			t->fast.counter = NULL;
		free_recorder(r);
		return 0;
	}
	pthread_mutex_lock(&r->lock);
	r->closed = true;
	for (struct thread *t = r->threads; t; t = t->next)
		if (!t->gone)
			write_page(r, t);
	pthread_mutex_unlock(&r->lock);
	const int error = r->error;
	int err = close_file(r, why);
	if (err == 0 && error < 0)
		err = fail(why, error, r->path, "");
	free_recorder(r);
	return err;
}
