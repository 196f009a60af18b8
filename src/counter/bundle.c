/* Opening a bundle: the events, their pages, the path and the reason for it. */
#include "bundle.h"

#include "why.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Stale in a forked child; a bundle is found wiped first there, and opening one
 * asks again. */
static _Thread_local pid_t self;

pid_t bundle_self(void)
{
	if (!self)
		self = (pid_t)syscall(SYS_gettid);
	return self;
}

bool bundle_wipe_on_fork(void *page, size_t size)
{
	return madvise(page, size, MADV_WIPEONFORK) == 0;
}

static int set_path(struct bundle *b, enum tare_path path, const char *because)
{
	b->path = path;
	b->reason.code = 0;
	snprintf(b->reason.what, sizeof(b->reason.what), "%s", because);
	return 0;
}

static struct perf_ask ask_for(const struct bundle *b, unsigned group_size,
			       const struct perf_facts *f)
{
	struct perf_ask ask = {
		.name = b->name,
		.cpu = -1,
		.group_size = group_size,
		.free = PERF_FREE_UNKNOWN,
		.on_cpu = (unsigned)sched_getcpu(),
	};
	for (unsigned i = 0; i < group_size; i++)
		perf_needs_add(&ask.needs, &b->parts[i].attr, f);
	return ask;
}

static int open_parts(struct bundle *b, const struct tare_encoding *const *events, unsigned n,
		      const struct perf_facts *f, struct tare_why *why)
{
	for (unsigned i = 0; i < n; i++) {
		struct part *const p = &b->parts[i];
		*p = (struct part){ .fd = -1, .members = i ? 1 : n };
		perf_attr_fill(&p->attr, events[i]);
		const struct perf_ask ask = ask_for(b, i + 1, f);
		b->n_parts = i + 1;
		const int err = part_open(p, events[i], i ? b->parts[0].fd : -1, b->pinned, &ask,
					  f, why);
		if (err)
			return err;
	}
	const int r = part_enable(&b->parts[0]);
	return r ? why_errno(why, TARE_E_IO, -r, "%s: enabling", b->name) : 0;
}

/* Before any read(2): see part.h on offset. */
static int map_parts(struct bundle *b, char *pages)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < b->n_parts; i++) {
		const int err = part_map(&b->parts[i], pages + i * size, size);
		if (err)
			return err;
	}
	return 0;
}

/* Why the program cannot read the registers itself; 0 when it can. */
static int no_user_read(struct bundle *b, char *pages, const struct perf_facts *f,
			struct tare_why *why)
{
	const struct perf_ask ask = ask_for(b, b->n_parts, f);
	if (!b->wiped_on_fork)
		return why_set(why, TARE_E_RDPMC_FORBIDDEN,
			       "%s: this kernel cannot protect a forked child (no MADV_WIPEONFORK)",
			       b->name);
	const int err = map_parts(b, pages);
	if (err)
		return why_errno(why, err == -EPERM ? TARE_E_PERMISSION : TARE_E_IO, -err,
				 "%s: mmap of its page%s", b->name,
				 err == -EPERM ? " (kernel.perf_event_mlock_kb)" : "");
	for (unsigned i = 0; i < b->n_parts; i++) {
		struct part *const p = &b->parts[i];
		const enum part_found found = part_sync(p, bundle_second(b, i));
		if (found == PART_LOST)
			return perf_diagnose_unscheduled(&p->attr, &ask, f, why);
		if (found == PART_NO_INDEX)
			return perf_diagnose_user_read(&p->attr, &ask, f, p->page->cap_user_rdpmc,
						       p->page->pmc_width, why);
		if (found == PART_FAILED)
			return why_set(why, TARE_E_IO, "%s: read", b->name);
	}
	return 0;
}

/* A pinned event that reads as end of file has no counter: an error, now. */
static int check_counting(const struct bundle *b, const struct perf_facts *f,
			  struct tare_why *why)
{
	const struct perf_ask ask = ask_for(b, b->n_parts, f);
	for (unsigned i = 0; i < b->n_parts; i++) {
		struct perf_value v;
		const int r = part_read(&b->parts[i], &v);
		if (r < 0)
			return why_errno(why, TARE_E_IO, -r, "%s: read", b->name);
		if (r == 1)
			return perf_diagnose_unscheduled(&b->parts[i].attr, &ask, f, why);
	}
	return 0;
}

static int choose_path(struct bundle *b, char *pages, const struct tare_counter_options *o,
		       const struct perf_facts *f, struct tare_why *why)
{
	struct tare_why cause = { 0 };
	int no = 0;
	if (o->path == TARE_PATH_READ)
		no = why_set(&cause, TARE_E_INVALID, "read(2) was asked for");
	else
		no = no_user_read(b, pages, f, &cause);
	const int lost = check_counting(b, f, why);
	if (lost)
		return lost;
	if (!no)
		return set_path(b, TARE_PATH_RDPMC,
				b->pinned ? "the kernel lets the program read the register" :
					    "the kernel lets the program read the register; with "
					    "times, as it may be multiplexed");
	if (o->path == TARE_PATH_RDPMC) {
		if (why)
			*why = cause;
		return no;
	}
	b->path = TARE_PATH_READ;
	b->reason = cause;
	return 0;
}

static int choose_serializer(struct bundle *b, const struct tare_counter_options *o,
			     const struct tare_cpu *cpu, struct tare_why *why)
{
	const enum tare_serializer s =
		o->serializer == TARE_SERIALIZE_AUTO ? pmc_best_serializer(cpu) : o->serializer;
	if (!pmc_can_serialize(s, cpu))
		return why_set(why, TARE_E_INVALID, "%s: this CPU has no %s", b->name,
			       tare_serializer_name(s));
	b->serializer = b->path == TARE_PATH_RDPMC ? s : TARE_SERIALIZE_NONE;
	return 0;
}

static int open_events(struct bundle *b, const struct tare_encoding *const *events, unsigned n,
		       void *pages, const struct tare_counter_options *o, struct tare_why *why)
{
	struct perf_facts f;
	perf_facts_read(&f, "");
	for (unsigned i = 0; i < n; i++) {
		const struct perf_event_attr a = { .type = events[i]->type,
			.config = events[i]->config, .exclude_kernel = events[i]->exclude_kernel };
		b->simulated[i] = perf_facts_simulated(&f, &a);
	}
	for (unsigned i = 0; i < n; i++)
		if (events[i]->precise_asked)
			return why_set(why, TARE_E_INVALID,
				       "%s: modifier p is for sampling, not for counting", b->name);
	const int err = open_parts(b, events, n, &f, why);
	return err ? err : choose_path(b, pages, o, &f, why);
}

int bundle_open(struct bundle *b, const struct tare_encoding *const *events, unsigned n,
		void *pages, const struct tare_counter_options *o, struct tare_why *why)
{
	struct tare_cpu cpu;
	tare_cpu_detect(&cpu);
	b->pid = getpid();
	b->tid = self = (pid_t)syscall(SYS_gettid);
	b->pinned = !o->unpinned;
	b->status = 0;
	int err = n ? open_events(b, events, n, pages, o, why) : 0;
	if (!err && o->path != TARE_PATH_AUTO && o->path != b->path)
		err = why_set(why, TARE_E_INVALID, "%s: cannot be read by path %s", b->name,
			      tare_path_name(o->path));
	if (!err)
		err = choose_serializer(b, o, &cpu, why);
	if (err)
		bundle_close(b);
	return err;
}

void bundle_close(struct bundle *b)
{
	for (unsigned i = b->n_parts; i--;)
		part_close(&b->parts[i]);
	b->n_parts = 0;
	b->path = TARE_PATH_AUTO;
}
