#include "soft-trace.h"

#include "trace-abi.h"
#include "why.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The code that words refer to, by its place in the log. */
struct known {
	uint64_t place;			/* 0: the slot is empty */
	struct tare_trace_code *code;
};

struct soft_trace {
	const struct tare_trace *trace;
	struct soft_shared *shared;
	uint8_t *log;			/* the code log … */
	uint8_t *slots;			/* … and the slots, mapped whole: memory is taken by use */
	struct known *known;
	size_t n_known, n_places;	/* n_places: a power of two */
	bool no_memory;
	uint32_t stop;
	pthread_t thread;
};

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *t)
{
	return syscall(SYS_futex, word, op, value, t, NULL, 0);
}

static struct trace_slot *slot_at(const struct soft_trace *t, uint32_t n)
{
	return (struct trace_slot *)(t->slots + n * TRACE_SLOT);
}

/* ---- code ---- */

static struct known *find_place(const struct soft_trace *t, uint64_t place)
{
	size_t i = (place * 0x9E3779B97F4A7C15ull >> 32) & (t->n_places - 1);
	while (t->known[i].place && t->known[i].place != place)
		i = (i + 1) & (t->n_places - 1);
	return &t->known[i];
}

static bool grow_known(struct soft_trace *t)
{
	const struct known *const old = t->known;
	const size_t n_old = t->n_places;
	struct known *const more = calloc(n_old ? 2 * n_old : 4096, sizeof(*more));
	if (!more)
		return false;
	t->n_places = n_old ? 2 * n_old : 4096;
	t->known = more;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].place)
			*find_place(t, old[i].place) = old[i];
	free((void *)old);
	return true;
}

/* NULL: there is no such record, or no memory. */
static struct tare_trace_code *code_at(struct soft_trace *t, uint64_t place)
{
	const struct code_record *const r = (const void *)(t->log + place);
	if (2 * t->n_known >= t->n_places && !grow_known(t))
		return NULL;
	struct known *const k = find_place(t, place);
	if (k->place)
		return k->code;
	if (!place || place + sizeof(*r) > CODE_CHUNKS * CODE_CHUNK || r->kind != CODE_BLOCK)
		return NULL;
	struct tare_trace_code *const c = malloc(sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct tare_trace_code){ r->pid, r->pc, r->bytes, r->len, r->n_insns, NULL };
	*k = (struct known){ place, c };
	t->n_known++;
	return c;
}

/* ---- slots ---- */

static void read_mark(const struct soft_trace *t, struct tare_trace_run *run, uint64_t mark)
{
	if (mark == TRACE_ON || mark == TRACE_OFF) {
		run->off = mark == TRACE_OFF;
		return;
	}
	if (mark == TRACE_ZERO_THREAD) {
		if (t->trace->thread_zeroed)
			t->trace->thread_zeroed(run, t->trace->arg);
		return;
	}
	if (t->trace->part)
		t->trace->part(run->pid, run->part, mark == TRACE_ZERO ? TARE_TRACE_ZEROED : mark - TRACE_DUMP,
			       t->trace->arg);
	run->part++;
}

/* Hands the words of a slot to the caller's function, and makes them 0. */
static void read_slot(struct soft_trace *t, struct trace_slot *s)
{
	struct tare_trace_run run = { .pid = s->pid, .tid = s->tid, .off = s->off, .part = s->part,
				      .context = s->context_size ? (uint64_t)s->record << 32 : 0 };
	uint64_t i = 0;
	while (i < TRACE_WORDS && s->words[i]) {
		const uint64_t word = s->words[i++];
		if (TRACE_IS_MARK(word)) {
			read_mark(t, &run, word & ~TRACE_MARK);
			continue;
		}
		if (s->context_size)
			run.context = (uint64_t)s->record << 32 | (uint32_t)(s->words[i++] / s->context_size);
		const uint64_t from = i;
		/* an address may be 0: then the word of the next block, or more zeros, follow */
		while (i < TRACE_WORDS && !TRACE_IS_BLOCK(s->words[i]) && !TRACE_IS_MARK(s->words[i]) &&
		       (s->words[i] || s->words[i + 1]))
			i++;
		run.code = TRACE_IS_BLOCK(word) ? code_at(t, TRACE_CODE(word)) : NULL;
		run.words = s->words + from;
		run.n_words = (unsigned)(i - from);
		if (run.code)
			t->trace->run(&run, t->trace->arg);
	}
	memset(s->words, 0, i * sizeof(s->words[0]));
}

static void read_full(struct soft_trace *t)
{
	const uint32_t taken = __atomic_load_n(&t->shared->trace_slots, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < taken && i < TRACE_SLOTS; i++) {
		struct trace_slot *const s = slot_at(t, i);
		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != TRACE_FULL)
			continue;
		read_slot(t, s);
		__atomic_store_n(&s->state, TRACE_FILLS, __ATOMIC_RELEASE);
		futex(&s->state, FUTEX_WAKE, INT_MAX, NULL);
	}
}

static void *trace_main(void *arg)
{
	struct soft_trace *const t = arg;
	const struct timespec nap = { 0, 100000000 };
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE)) {
		const uint32_t seen = __atomic_load_n(&t->shared->trace_posts, __ATOMIC_ACQUIRE);
		read_full(t);
		futex(&t->shared->trace_posts, FUTEX_WAIT, seen, &nap);
	}
	return NULL;
}

static void forget(struct soft_trace *t)
{
	for (size_t i = 0; i < t->n_places; i++) {
		if (t->known[i].code && t->trace->forget)
			t->trace->forget(t->known[i].code, t->trace->arg);
		free(t->known[i].code);
	}
	free(t->known);
	if (t->log != MAP_FAILED)
		munmap(t->log, CODE_CHUNKS * CODE_CHUNK);
	if (t->slots != MAP_FAILED)
		munmap(t->slots, TRACE_SLOTS * TRACE_SLOT);
	free(t);
}

int soft_trace_start(struct soft_trace **out, const struct tare_trace *trace, int memfd,
		     struct soft_shared *shared, struct tare_why *why)
{
	*out = NULL;
	if (!trace)
		return 0;
	struct soft_trace *const t = calloc(1, sizeof(*t));
	if (!t)
		return why_set(why, TARE_E_NOMEM, "a trace");
	t->trace = trace;
	t->shared = shared;
	t->log = mmap(NULL, CODE_CHUNKS * CODE_CHUNK, PROT_READ, MAP_SHARED, memfd, CODE_LOG_OFFSET);
	t->slots = mmap(NULL, TRACE_SLOTS * TRACE_SLOT, PROT_READ | PROT_WRITE, MAP_SHARED, memfd,
			TRACE_OFFSET);
	const int err = t->log == MAP_FAILED || t->slots == MAP_FAILED ? errno :
			pthread_create(&t->thread, NULL, trace_main, t);
	if (err) {
		forget(t);
		return why_errno(why, TARE_E_NOMEM, err, "a trace");
	}
	*out = t;
	return 0;
}

void soft_trace_stop(struct soft_trace *t)
{
	if (!t)
		return;
	__atomic_store_n(&t->stop, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&t->shared->trace_posts, 1, __ATOMIC_RELEASE);
	futex(&t->shared->trace_posts, FUTEX_WAKE, INT_MAX, NULL);
	pthread_join(t->thread, NULL);
	const uint32_t taken = __atomic_load_n(&t->shared->trace_slots, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < taken && i < TRACE_SLOTS; i++)
		read_slot(t, slot_at(t, i));
	forget(t);
}
