/* The recorder: one file, and per thread a counter and two pages of records (thread-pages.h).
 *
 * The recorder's lock guards the file, the list of threads and `closed`. The thread that stops
 * the recorder takes the lock, sets `closed` and writes what is left of all threads.
 *
 * Memory comes from mmap, not malloc: a recorder that changed the sizes of the
 * program's heap would change what it measures (the report's PID effect).
 */
#include "thread-pages.h"

#include "options-copy.h"
#include "room.h"
#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

static uint64_t monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The calling thread's handle of this recorder, if it has one that counts. */
static struct thread *own_thread(const struct tare_recorder *r)
{
	struct thread *const t = r && here.serial == r->serial ? here.thread : NULL;
	return t && !t->gone ? t : NULL;
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
	record_step_aside(&a, NULL);
	record_pages_end(t);
	const size_t keep = (size_t)sysconf(_SC_PAGESIZE);
	pthread_mutex_lock(&r->lock);
	shut(t);
	if (keep >= sizeof(*t) && keep < t->mapped && munmap((char *)t + keep, t->mapped - keep) == 0)
		t->mapped = keep;
	pthread_mutex_unlock(&r->lock);
	tare_counter_close(counter);
	record_step_back(&a, 0);
}

static int open_counter(struct tare_recorder *r, struct thread *t, struct tare_why *why)
{
	const int err = tare_counter_open_event(r->event, NULL, &t->fast.counter, why);
	if (err < 0)
		return err;
	t->fast.depth = RECORD_NO_DEPTH | (r->event->kind == TARE_EVENT_MINUS ? TARE_RECORD_PAIR : 0);
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
		one.fast.depth = RECORD_NO_DEPTH;
	return &one.fast;
}

static int open_zero(struct tare_why *why)
{
	pthread_mutex_lock(&all_lock);
	const int err = zero ? 0 : tare_counter_open("zero", &zero, why);
	pthread_mutex_unlock(&all_lock);
	return err;
}

static struct thread *add_thread(struct tare_recorder *r, struct tare_why *why)
{
	struct thread *const t = map_pages(record_pages_bytes());
	if (!t) {
		why_set(why, TARE_E_NOMEM, "a thread's page");
		record_error(r, TARE_E_NOMEM);
		return NULL;
	}
	t->recorder = r;
	record_pages_init(t);
	const int err = open_counter(r, t, why);
	if (err < 0) {
		munmap(t, t->mapped);
		record_error(r, err);
		return NULL;
	}
	pthread_mutex_lock(&r->lock);
	t->fast.id = ++r->n_threads;
	t->next = r->threads;
	r->threads = t;
	pthread_mutex_unlock(&r->lock);
	record_pages_open(t);
	pthread_setspecific(r->key, t);
	here.serial = r->serial;
	here.thread = t;
	return t;
}

static struct thread *register_here(struct tare_recorder *r, struct tare_why *why)
{
	struct aside a;
	record_step_aside(&a, NULL);
	struct thread *t = pthread_getspecific(r->key);
	if (!t)
		t = add_thread(r, why);
	here.serial = t ? r->serial : 0;
	here.thread = t;
	record_step_back(&a, 0);
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
	struct thread *const o = record_outer(t);
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
	record_step_aside(&a, own_thread(r));
	const uint64_t id = r->closed ? 0 : pagefile_string(r->file, parts, n);
	record_step_back(&a, 0);
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
		record_pages_flush(t);
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
	record_step_aside(&a, own_thread(r));
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
	record_step_back(&a, 0);
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

/* A set-uid program ignores the variable: its user must not choose where it writes. */
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
	record_step_aside(&a, NULL);
	if (here.serial == r->serial)
		here.serial = 0;
	pthread_setspecific(r->key, NULL);
	if (getpid() != r->pid) {		/* a forked child's copy */
		forget_forked(r);
		record_step_back(&a, 0);
		return 0;
	}
	pthread_mutex_lock(&r->lock);
	r->closed = true;
	for (struct thread *t = r->threads; t; t = t->next)
		if (!t->gone)
			record_pages_rest(t);
	pthread_mutex_unlock(&r->lock);
	const int error = r->error;
	int err = close_file(r, why);
	if (err == 0 && error < 0)
		err = why_set(why, error, "%.200s", r->path);
	r->file = NULL;
	if (!at_exit)
		free_recorder(r);
	record_step_back(&a, 0);
	return err;
}

int tare_record_stop(struct tare_recorder *r, struct tare_why *why)
{
	return r ? stop(r, false, why) : 0;
}
