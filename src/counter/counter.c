/* Counters of the calling thread: opening, and what can be asked of them. */
#include "counter-room.h"

#include "options-copy.h"
#include "why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 4

/* Asked for by every read off the fast path; two threads find the same. */
static size_t page_size(void)
{
	static size_t size;
	size_t s = __atomic_load_n(&size, __ATOMIC_RELAXED);
	if (!s) {
		s = (size_t)sysconf(_SC_PAGESIZE);
		__atomic_store_n(&size, s, __ATOMIC_RELAXED);
	}
	return s;
}

_Static_assert(sizeof(struct counter_cold) <= 4096, "the first page of a counter");

struct counter_cold *counter_cold(const struct tare_counter *c)
{
	return (struct counter_cold *)((char *)(c + 1) - 2 * page_size());
}

struct tare_counter *counter_alloc(void)
{
	const size_t page = page_size();
	char *const base = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	struct tare_counter *const c = (struct tare_counter *)(base + 2 * page) - 1;
	struct counter_cold *const k = counter_cold(c);
	k->b.wiped_on_fork = bundle_wipe_on_fork(base + page, page);
	k->b.parts = k->parts;
	k->b.alive = &c->alive;
	k->parts[0].fd = k->parts[1].fd = -1;
	return c;
}

void counter_free(struct tare_counter *c)
{
	munmap(counter_cold(c), PAGES * page_size());
}

static void set_clock(struct bundle *b, enum tare_path path, const char *reason)
{
	b->path = path;
	b->reason = (struct tare_why){ 0 };
	snprintf(b->reason.what, sizeof(b->reason.what), "%s", reason);
}

/* How many perf events it takes; clocks take none. */
static int count_parts(struct counter_cold *k, struct tare_why *why)
{
	switch (k->event.kind) {
	case TARE_EVENT_WALL_TIME:
		set_clock(&k->b, TARE_PATH_CLOCK, "wall-time is a clock");
		return 0;
	case TARE_EVENT_ZERO:
		set_clock(&k->b, TARE_PATH_ZERO, "zero needs no counter");
		return 0;
	case TARE_EVENT_MINUS_TOTAL:
		return why_set(why, TARE_E_INVALID,
			       "%s: corrects the total of a whole run; inside a program count "
			       "EVENT-minus-irqs", k->event.name);
	default:
		return k->event.kind == TARE_EVENT_MINUS ? 2 : 1;
	}
}

/* Everything after the memory: also what reopening does. */
static int open_counter(struct tare_counter *c, struct tare_why *why)
{
	struct counter_cold *const k = counter_cold(c);
	const struct tare_encoding *const events[2] = { &k->event.base, &k->event.minus };
	k->start = k->last = 0;
	k->b.name = k->event.name;
	const int n = count_parts(k, why);
	if (n < 0)
		return n;
	const int err = bundle_open(&k->b, events, (unsigned)n, c + 1, &k->o, why);
	if (err)
		return err;
	c->alive = BUNDLE_ALIVE;
	const int lost = tare_counter_reset(c);
	if (bundle_may_wait(&k->b, lost))
		return 0;
	return lost ? why_set(why, lost, "%s", k->event.name) : 0;
}

int tare_counter_open_event(const struct tare_event *event, const struct tare_counter_options *o,
			    struct tare_counter **out, struct tare_why *why)
{
	struct tare_counter_options own;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the counter");
	*out = NULL;
	if (!event)
		return why_set(why, TARE_E_INVALID, "no event given");
	if (event->needs_engine)		/* no PMU here has a code for it */
		return why_set(why, TARE_E_EVENT_NOT_ON_CPU, "%s", event->why_engine);
	int err = options_copy(&own, sizeof(own), o, "tare_counter_options", why);
	if (err)
		return err;
	struct tare_counter *const c = counter_alloc();
	if (!c)
		return why_set(why, TARE_E_NOMEM, "%s", event->name);
	struct counter_cold *const k = counter_cold(c);
	k->event = *event;
	k->event.name = strlen(event->name) < sizeof(k->name) ? strcpy(k->name, event->name) :
								 strdup(event->name);
	k->o = own;
	err = k->event.name ? open_counter(c, why) :
				why_set(why, TARE_E_NOMEM, "%s", event->name);
	if (err) {
		tare_counter_close(c);
		return err;
	}
	*out = c;
	return 0;
}

int tare_counter_open(const char *name, struct tare_counter **c, struct tare_why *why)
{
	struct tare_events *list;
	if (!c)
		return why_set(why, TARE_E_INVALID, "no place given for the counter");
	*c = NULL;
	int err = tare_events_parse(name, NULL, &list, why);
	if (err)
		return err;
	if (tare_events_count(list) == 1)
		err = tare_counter_open_event(tare_events_at(list, 0), NULL, c, why);
	else
		err = why_set(why, TARE_E_INVALID, "%s: a counter counts one event, these are %zu",
			      name, tare_events_count(list));
	tare_events_free(list);
	return err;
}

void tare_counter_close(struct tare_counter *c)
{
	if (!c)
		return;
	struct counter_cold *const k = counter_cold(c);
	bundle_close(&k->b);
	if (k->event.name != k->name)
		free(k->event.name);
	counter_free(c);
}

int tare_counter_reopen(struct tare_counter *c, struct tare_why *why)
{
	if (!c)
		return why_set(why, TARE_E_INVALID, "no counter given");
	counter_disarm(c);
	bundle_close(&counter_cold(c)->b);
	return open_counter(c, why);
}

enum tare_path tare_counter_path(const struct tare_counter *c, const char **reason)
{
	if (reason)
		*reason = "no counter given";
	if (!c)
		return TARE_PATH_AUTO;
	const struct counter_cold *const k = counter_cold(c);
	if (reason)
		*reason = k->b.reason.what;
	return k->b.path;
}

const char *tare_path_name(enum tare_path path)
{
	static const char *const names[] = {
		[TARE_PATH_AUTO] = "auto",   [TARE_PATH_RDPMC] = "rdpmc",
		[TARE_PATH_READ] = "read",   [TARE_PATH_CLOCK] = "clock",
		[TARE_PATH_ZERO] = "zero",
	};
	return (unsigned)path < sizeof(names) / sizeof(names[0]) ? names[path] : "unknown";
}

enum tare_serializer tare_counter_serializer(const struct tare_counter *c)
{
	return c ? counter_cold(c)->b.serializer : TARE_SERIALIZE_NONE;
}

/* In a forked child the counter's page is wiped (zero), and its status was not updated: the wiped
 * page shows that the process was forked. */
unsigned tare_counter_status(const struct tare_counter *c)
{
	if (!c)
		return 0;
	const struct bundle *const b = &counter_cold(c)->b;
	const bool forked = b->path != TARE_PATH_AUTO && c->alive != BUNDLE_ALIVE;
	return b->status | (forked ? TARE_STATUS_FORKED : 0);
}

char *tare_status_text(unsigned status, char *out, size_t size)
{
	static const char *const names[] = { "moved",  "wrapped", "fell back", "scaled",
					     "stolen", "forked",  "wrong thread" };
	size_t len = 0;
	if (size)
		out[0] = '\0';
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (status >> i & 1 && len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "",
						names[i]);
	if (!len && size)
		snprintf(out, size, "ok");
	return out;
}
