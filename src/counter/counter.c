/* Counters of the calling thread: opening them, the path they get and why. */
#include "counter-room.h"

#include "why.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What every path but rdpmc says of itself. */
static int set_path(struct counter_cold *k, enum tare_path path, const char *because)
{
	k->path = path;
	k->reason.code = 0;
	snprintf(k->reason.what, sizeof(k->reason.what), "%s", because);
	return 0;
}

static struct perf_ask ask_for(const struct counter_cold *k)
{
	return (struct perf_ask){
		.name = k->event.name,
		.cpu = -1,
		.group_size = k->n_parts ? k->n_parts : 1,
		.on_cpu = (unsigned)sched_getcpu(),
	};
}

static int open_parts(struct counter_cold *k, const struct perf_facts *f, struct tare_why *why)
{
	const struct tare_encoding *const enc[2] = { &k->event.base, &k->event.minus };
	k->n_parts = k->event.kind == TARE_EVENT_MINUS ? 2 : 1;
	for (unsigned i = 0; i < k->n_parts; i++) {
		struct perf_ask ask = ask_for(k);
		ask.group_size = i + 1;
		const int err = part_open(&k->parts[i], enc[i], i ? k->parts[0].fd : -1,
					  k->pinned, &ask, f, why);
		if (err)
			return err;
	}
	return 0;
}

/* Maps the pages behind the counter. Before any read(2): see part.h on offset. */
static int map_parts(struct tare_counter *c, struct counter_cold *k)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < k->n_parts; i++) {
		const int err = part_map(&k->parts[i], (char *)(c + 1) + i * page, page);
		if (err)
			return err;
	}
	return 0;
}

/* Why the program cannot read the registers itself; 0 when it can. */
static int no_user_read(struct tare_counter *c, struct counter_cold *k,
			const struct perf_facts *f, struct tare_why *why)
{
	const struct perf_ask ask = ask_for(k);
	if (!k->wiped_on_fork)
		return why_set(why, TARE_E_RDPMC_FORBIDDEN,
			       "%s: this kernel cannot protect a forked child (no MADV_WIPEONFORK)",
			       ask.name);
	const int err = map_parts(c, k);
	if (err)
		return why_errno(why, err == -EPERM ? TARE_E_PERMISSION : TARE_E_IO, -err,
				 "%s: mmap of its page%s", ask.name,
				 err == -EPERM ? " (kernel.perf_event_mlock_kb)" : "");
	for (unsigned i = 0; i < k->n_parts; i++) {
		struct part *const p = &k->parts[i];
		const enum part_found found = part_sync(p, counter_second(k, i));
		if (found == PART_LOST)
			return TARE_E_NOT_SCHEDULED;
		if (found == PART_NO_INDEX)
			return perf_diagnose_user_read(&p->attr, &ask, f, p->page->cap_user_rdpmc,
						       p->page->pmc_width, why);
		if (found == PART_FAILED)
			return why_set(why, TARE_E_IO, "%s: read", ask.name);
	}
	return 0;
}

/* A pinned event that reads as end of file has no counter: an error, now. */
static int check_counting(struct counter_cold *k, const struct perf_facts *f,
			  struct tare_why *why)
{
	const struct perf_ask ask = ask_for(k);
	for (unsigned i = 0; i < k->n_parts; i++) {
		struct perf_value v;
		const int r = perf_read(k->parts[i].fd, &v);
		if (r < 0)
			return why_errno(why, TARE_E_IO, -r, "%s: read", ask.name);
		if (r == 1)
			return perf_diagnose_unscheduled(&k->parts[i].attr, &ask, f, why);
	}
	return 0;
}

static const char rdpmc_reason[] = "the kernel lets the program read the register";
static const char timed_reason[] =
	"the kernel lets the program read the register; with the page's times, as it may be "
	"multiplexed";

/* The pages are mapped before the first read, so the instruction path is tried
 * even where read(2) was asked for only after it failed. */
static int choose_path(struct tare_counter *c, struct counter_cold *k, const struct perf_facts *f,
		       struct tare_why *why)
{
	if (k->o.path == TARE_PATH_READ) {
		const int err = check_counting(k, f, why);
		return err ? err : set_path(k, TARE_PATH_READ, "read(2) was asked for");
	}
	struct tare_why cause = { 0 };
	const int no = no_user_read(c, k, f, &cause);
	const int lost = check_counting(k, f, why);
	if (lost)
		return lost;
	if (!no)
		return set_path(k, TARE_PATH_RDPMC, k->pinned ? rdpmc_reason : timed_reason);
	if (k->o.path == TARE_PATH_RDPMC) {
		if (why)
			*why = cause;
		return no;
	}
	k->path = TARE_PATH_READ;
	k->reason = cause;
	return 0;
}

static int choose_serializer(struct counter_cold *k, struct tare_why *why)
{
	struct tare_cpu cpu;
	tare_cpu_detect(&cpu);
	k->serializer = k->o.serializer == TARE_SERIALIZE_AUTO ? pmc_best_serializer(&cpu) :
								 k->o.serializer;
	if (!pmc_can_serialize(k->serializer, &cpu))
		return why_set(why, TARE_E_INVALID, "%s: this CPU has no %s", k->event.name,
			       tare_serializer_name(k->serializer));
	if (k->path != TARE_PATH_RDPMC)
		k->serializer = TARE_SERIALIZE_NONE;
	return 0;
}

static int open_perf(struct tare_counter *c, struct counter_cold *k, struct tare_why *why)
{
	struct perf_facts f;
	perf_facts_read(&f, "");
	struct tare_cpu cpu;
	tare_cpu_detect(&cpu);
	f.gp_counters = cpu.uarch ? cpu.uarch->gp_counters : 0;
	k->simulated = f.simulated;
	if (k->event.base.precise_asked)
		return why_set(why, TARE_E_EVENT_UNSUPPORTED,
			       "%s: modifier p is for sampling, not for counting", k->event.name);
	const int err = open_parts(k, &f, why);
	return err ? err : choose_path(c, k, &f, why);
}

static int open_kind(struct tare_counter *c, struct counter_cold *k, struct tare_why *why)
{
	switch (k->event.kind) {
	case TARE_EVENT_WALL_TIME:
		return set_path(k, TARE_PATH_CLOCK, "wall-time is a clock");
	case TARE_EVENT_ZERO:
		return set_path(k, TARE_PATH_ZERO, "zero needs no counter");
	case TARE_EVENT_MINUS_TOTAL:
		return why_set(why, TARE_E_INVALID,
			       "%s: corrects the total of a whole run; inside a program count "
			       "EVENT-minus-irqs", k->event.name);
	default:
		return open_perf(c, k, why);
	}
}

static bool path_fits(const struct counter_cold *k)
{
	return k->o.path == TARE_PATH_AUTO || k->o.path == k->path;
}

static void close_parts(struct counter_cold *k)
{
	for (unsigned i = 0; i < 2; i++)
		part_close(&k->parts[i]);
	k->n_parts = 0;
}

/* Everything after the memory: also what reopening does. */
static int open_counter(struct tare_counter *c, struct tare_why *why)
{
	struct counter_cold *const k = counter_cold(c);
	k->pid = getpid();
	k->tid = (pid_t)syscall(SYS_gettid);
	k->pinned = !k->o.unpinned;
	k->status = 0;
	k->start = k->last = 0;
	k->path = TARE_PATH_AUTO;
	int err = open_kind(c, k, why);
	if (!err && !path_fits(k))
		err = why_set(why, TARE_E_INVALID, "%s: cannot be read by path %s", k->event.name,
			      tare_path_name(k->o.path));
	if (!err)
		err = choose_serializer(k, why);
	if (err) {
		close_parts(k);
		k->path = TARE_PATH_AUTO;
		return err;
	}
	counter_self_is(k->tid);
	c->alive = COUNTER_ALIVE;
	counter_arm(c);
	return tare_counter_reset(c);
}

int tare_counter_open_event(const struct tare_event *event, const struct tare_counter_opts *o,
			    struct tare_counter **out, struct tare_why *why)
{
	*out = NULL;
	struct tare_counter *const c = counter_alloc();
	if (!c)
		return why_set(why, TARE_E_NOMEM, "%s", event->name);
	struct counter_cold *const k = counter_cold(c);
	k->event = *event;
	k->event.name = strdup(event->name);
	if (o)
		k->o = *o;
	const int err = k->event.name ? open_counter(c, why) :
					why_set(why, TARE_E_NOMEM, "%s", event->name);
	if (err) {
		free(k->event.name);
		counter_free(c);
		return err;
	}
	*out = c;
	return 0;
}

int tare_counter_open(const char *name, struct tare_counter **c, struct tare_why *why)
{
	struct tare_events *list;
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
	close_parts(k);
	free(k->event.name);
	counter_free(c);
}

int tare_counter_reopen(struct tare_counter *c, struct tare_why *why)
{
	counter_disarm(c);
	close_parts(counter_cold(c));
	return open_counter(c, why);
}

enum tare_path tare_counter_path(const struct tare_counter *c, const char **reason)
{
	const struct counter_cold *const k = counter_cold(c);
	if (reason)
		*reason = k->reason.what;
	return k->path;
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
	return counter_cold(c)->serializer;
}

/* A wiped counter in a child has not been told so; its being wiped tells. */
unsigned tare_counter_status(const struct tare_counter *c)
{
	const struct counter_cold *const k = counter_cold(c);
	const bool forked = k->path != TARE_PATH_AUTO && c->alive != COUNTER_ALIVE;
	return k->status | (forked ? TARE_STATUS_FORKED : 0);
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
