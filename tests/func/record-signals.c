/* Recording in signal handlers: timers that interrupt recording threads at any instruction,
 * while pages are written, while threads start and end. Nothing may be lost that is not
 * counted, and the file must be in order. */
#include "func.h"

#include <tare/profile.h>
#include <tare/record.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static struct tare_recorder *rec;
static uint64_t kind, own, other;
static unsigned per_signal;
static uint64_t most_signals = 10000;	/* of a thread: on a slow machine it must end */
static uint64_t total_put, total_signals;
static __thread struct tare_record_thread *mine;
static __thread uint64_t put_here, signals_here;

/* Nested pairs and an instant, so that order and depth can be wrong. */
static void handler(int sig)
{
	struct tare_record_thread *const t = mine;
	if (!t || signals_here >= most_signals)
		return;
	__atomic_fetch_add(&signals_here, 1, __ATOMIC_RELAXED);
	for (unsigned k = 0; k < per_signal; k++) {
		struct tare_interval a, b;
		tare_record_begin(t, &a, kind, other);
		tare_record_begin(t, &b, kind, other);
		tare_record_instant(t, kind, other);
		tare_record_end(t, &b);
		tare_record_end(t, &a);
		__atomic_fetch_add(&put_here, 3, __ATOMIC_RELAXED);	/* handlers nest */
	}
}

static timer_t start_timer(long ns, int sig)
{
	timer_t timer;
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig };
	ev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0, "timer_create");
	const struct itimerspec every = { { 0, ns }, { 0, ns } };
	CHECK(timer_settime(timer, 0, &every, NULL) == 0, "timer_settime");
	return timer;
}

static void intervals(struct tare_record_thread *t, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		struct tare_interval o, i;
		tare_record_begin(t, &o, kind, own);
		tare_record_begin(t, &i, kind, own);
		tare_record_end(t, &i);
		tare_record_end(t, &o);
	}
}

struct job { unsigned n; long ns; };

static void *recording(void *arg)
{
	const struct job *const job = arg;
	struct tare_record_thread *const t = mine = tare_record_here(rec);
	/* two timers of two signals: a handler interrupts a handler */
	const timer_t one = start_timer(job->ns, SIGALRM), two = start_timer(job->ns * 7 / 5, SIGUSR1);
	intervals(t, job->n);
	timer_delete(one);
	timer_delete(two);
	mine = NULL;
	__atomic_fetch_add(&total_put, put_here + 2 * (uint64_t)job->n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&total_signals, signals_here, __ATOMIC_RELAXED);
	return NULL;
}

/* Intervals of a thread nest or lie apart, ends never fall: as measureme's tools demand. */
static uint64_t check_order(const char *path, uint64_t *dropped)
{
	enum { DEPTH = 4096 };
	static struct { struct { uint64_t start, end; } open[DEPTH]; unsigned n; uint64_t last; } threads[512];
	struct tare_profile *p;
	struct tare_why why = { 0 };
	CHECK(tare_profile_open(path, &p, &why) == 0, "%s", why.what);
	*dropped = tare_profile_info(p)->dropped;
	/* Neither time nor a virtual counter without flaws runs back. */
	const uint64_t clamped = tare_profile_info(p)->clamped;
	CHECK(clamped == 0, "%llu clamped, %llu signals", (unsigned long long)clamped,
	      (unsigned long long)total_signals);
	struct tare_profile_cursor *const c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	struct tare_profile_event e;
	uint64_t n = 0, line = 0;
	memset(threads, 0, sizeof(threads));
	while (tare_profile_next(c, &e)) {
		line++;
		CHECK(e.thread >= 1 && e.thread < 512, "event %llu of thread %u", (unsigned long long)line,
		      e.thread);
		CHECK(e.end >= threads[e.thread].last && e.start <= e.end,
		      "event %llu, thread %u: %llu to %llu, the one before ended at %llu",
		      (unsigned long long)line, e.thread, (unsigned long long)e.start,
		      (unsigned long long)e.end, (unsigned long long)threads[e.thread].last);
		threads[e.thread].last = e.end;
		char text[32] = "";
		tare_profile_text(p, e.kind, text, sizeof(text), &why);
		n += strcmp(text, "Recorder") != 0;
		if (e.type != TARE_PROFILE_INTERVAL)
			continue;
		while (threads[e.thread].n) {
			const unsigned top = threads[e.thread].n - 1;
			if (threads[e.thread].open[top].end <= e.start &&
			    threads[e.thread].open[top].start < e.start)
				break;
			CHECK(threads[e.thread].open[top].start >= e.start, "event %llu overlaps",
			      (unsigned long long)line);
			threads[e.thread].n--;
		}
		if (threads[e.thread].n == DEPTH)
			threads[e.thread].n = 0;
		threads[e.thread].open[threads[e.thread].n].start = e.start;
		threads[e.thread].open[threads[e.thread].n++].end = e.end;
	}
	tare_profile_cursor_free(c);
	tare_profile_close(p);
	return n;
}

static char dir[] = "/tmp/tare-signals-XXXXXX";

static void begin(const char *counter)
{
	struct tare_why why = { 0 };
	CHECK(tare_record_start(&TARE_OPTIONS(record, .counter = counter, .dir = dir), &rec,
				&why) == 0, "%s", why.what);
	kind = tare_record_kind(rec, "GenericActivity");
	own = tare_record_string(rec, "own");
	other = tare_record_string(rec, "other");
	total_put = total_signals = 0;
}

static void finish(const char *what, bool may_drop)
{
	char path[4096];
	struct tare_why why = { 0 };
	uint64_t dropped;
	struct tare_record_state state;
	tare_record_state(rec, &state);
	CHECK(state.misnested == 0, "%s: %llu misnested", what, (unsigned long long)state.misnested);
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	CHECK(tare_record_stop(rec, &why) == 0, "%s", why.what);
	const uint64_t n = check_order(path, &dropped);
	printf("%s: %llu signals, %llu events, %llu dropped\n", what,
	       (unsigned long long)total_signals, (unsigned long long)total_put,
	       (unsigned long long)dropped);
	CHECK(n + dropped == total_put, "%llu + %llu in the file, %llu recorded",
	      (unsigned long long)n, (unsigned long long)dropped, (unsigned long long)total_put);
	CHECK(may_drop || dropped == 0, "%llu dropped", (unsigned long long)dropped);
	CHECK(total_signals > 10, "only %llu signals", (unsigned long long)total_signals);
	unlink(path);
}

static void together(const char *counter, unsigned events, long ns, unsigned n, bool may_drop)
{
	pthread_t t[THREADS];
	struct job jobs[THREADS];
	per_signal = events;
	begin(counter);
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){ n, ns + 7000 * i };
		CHECK(pthread_create(&t[i], NULL, recording, &jobs[i]) == 0, "pthread_create");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	finish(counter, may_drop);
}

/* A page cannot be emptied while a handler has interrupted one of its records; 30,000 events
 * in a handler are more than the second page. Those without room are counted. */
static void endless_handler(void)
{
	per_signal = 10000;
	most_signals = 20;
	begin("wall-time");
	struct job job = { 500000, 1000000 };
	pthread_t t;
	CHECK(pthread_create(&t, NULL, recording, &job) == 0, "pthread_create");
	pthread_join(t, NULL);
	finish("long handlers", true);
	most_signals = 10000;
}

/* The handler asks for its handle: of a thread that registers, and of one that has ended. */
static volatile bool racing;

static void asking_handler(int sig)
{
	if (!racing)
		return;
	struct tare_record_thread *const t = tare_record_here(rec);
	struct tare_interval a;
	tare_record_begin(t, &a, kind, other);
	tare_record_end(t, &a);
	__atomic_fetch_add(&total_signals, 1, __ATOMIC_RELAXED);
}

static pthread_key_t late;

/* Keys made after the recorder's have their destructors after it. */
static void at_the_end(void *arg)
{
	for (int i = 0; i < 20; i++)
		raise(SIGUSR2);
}

static void *short_thread(void *arg)
{
	struct tare_record_thread *const t = tare_record_here(rec);
	pthread_setspecific(late, t);
	const timer_t timer = start_timer(20000, SIGUSR2);
	CHECK(tare_record_here(rec) == t, "another handle");
	intervals(t, 50);
	timer_delete(timer);
	return NULL;
}

static void starts_and_ends(void)
{
	begin("wall-time");
	struct sigaction sa = { .sa_handler = asking_handler };
	sigaction(SIGUSR2, &sa, NULL);
	CHECK(pthread_key_create(&late, at_the_end) == 0, "key");
	racing = true;
	for (int i = 0; i < 300; i++) {
		pthread_t t;
		CHECK(pthread_create(&t, NULL, short_thread, NULL) == 0, "pthread_create");
		pthread_join(t, NULL);
	}
	racing = false;
	total_put = total_signals + 300 * 100;
	finish("starts and ends", true);
}

int main(int argc, char **argv)
{
	CHECK(mkdtemp(dir), "mkdtemp");
	struct sigaction sa = { .sa_handler = handler };
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	if (argc > 1) {			/* inside `tare run`: a hardware counter */
		together(argv[1], 5, 400000, 200000, false);
	} else {
		together("wall-time", 2, 100000, 150000, false);
		together("wall-time", 70, 300000, 80000, false);
		together("zero", 1, 60000, 400000, false);
		endless_handler();
		starts_and_ends();
	}
	rmdir(dir);
	return 0;
}
