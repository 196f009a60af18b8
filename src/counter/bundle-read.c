/* Reading a bundle by any path, and what to do when a page is no longer as it was
 * remembered. */
#include "bundle.h"

#include "scale.h"
#include "why.h"

#include <string.h>
#include <unistd.h>

#define TRIES 8		/* the kernel changes a page some times a millisecond at most */

int bundle_check_owner(struct bundle *b)
{
	if (b->path == TARE_PATH_AUTO)
		return TARE_E_NOT_OPENED;
	if (*b->alive != BUNDLE_ALIVE || (!b->wiped_on_fork && getpid() != b->pid)) {
		b->status |= TARE_STATUS_FORKED;
		return TARE_E_FORKED;
	}
	if (bundle_self() != b->tid) {
		b->status |= TARE_STATUS_WRONG_THREAD;
		return TARE_E_WRONG_THREAD;
	}
	return 0;
}

int bundle_values(struct bundle *b, struct perf_value *v)
{
	const int r = b->n_parts == 1 ? perf_read(b->parts[0].fd, v) :
					perf_read_group(b->parts[0].fd, v, b->n_parts);
	if (r == 1)
		b->status |= TARE_STATUS_STOLEN;
	if (r)
		return r == 1 ? TARE_E_STOLEN : TARE_E_IO;
	return 0;
}

static int scale_into(struct bundle *b, const struct perf_value *v, uint64_t *total)
{
	const struct scaled s = scale_count(v->value, v->enabled, v->running);
	if (s.never_ran && v->enabled)
		return TARE_E_NOT_SCHEDULED;
	if (s.scaled)
		b->status |= TARE_STATUS_SCALED;
	*total = s.never_ran ? v->value : s.value;
	return 0;
}

static int totals_by_call(struct bundle *b, uint64_t *totals)
{
	struct perf_value v[BUNDLE_MAX];
	int err = bundle_values(b, v);
	for (unsigned i = 0; !err && i < b->n_parts; i++)
		err = scale_into(b, &v[i], &totals[i]);
	return err;
}

static bool quick(struct bundle *b, uint64_t *totals)
{
	pmc_serialize(b->serializer);
	for (unsigned i = b->n_parts; i--;)
		if (!part_quick(&b->parts[i], &totals[i]))
			return false;
	return true;
}

/* Finds out what happened to the parts. 0: they can be read again. */
static int resync(struct bundle *b)
{
	int err = 0;
	b->resynced = true;
	for (unsigned i = 0; i < b->n_parts; i++) {
		switch (part_sync(&b->parts[i], bundle_second(b, i))) {
		case PART_SAME:
			break;
		case PART_MOVED:
			b->status |= TARE_STATUS_MOVED;
			break;
		case PART_WRAPPED:
			b->status |= TARE_STATUS_WRAPPED;
			break;
		case PART_LOST:
			b->status |= TARE_STATUS_STOLEN;
			err = TARE_E_STOLEN;
			break;
		case PART_NO_INDEX:
		case PART_FAILED:
			err = err ? err : TARE_E_RDPMC_FORBIDDEN;
			break;
		}
	}
	return err;
}

/* What was counted until the counters were taken away: without an index, the
 * page's offset is the whole count. */
static void last_totals(const struct bundle *b, uint64_t *totals)
{
	for (unsigned i = 0; i < b->n_parts; i++)
		totals[i] = (uint64_t)b->parts[i].page->offset;
}

/* The registers; where those are gone for now, read(2) still knows. */
static int totals_by_register(struct bundle *b, uint64_t *totals)
{
	for (int i = 0; i < TRIES; i++) {
		if (quick(b, totals))
			return 0;
		const int err = resync(b);
		if (err == TARE_E_STOLEN) {
			last_totals(b, totals);
			return err;
		}
		if (err)
			break;
	}
	b->status |= TARE_STATUS_FELL_BACK;
	return totals_by_call(b, totals);
}

/* Registers of events that may be multiplexed, with the pages' times. */
static int totals_by_page(struct bundle *b, uint64_t *totals)
{
	pmc_serialize(b->serializer);
	for (unsigned i = b->n_parts; i--;) {
		struct perf_value v;
		if (!part_timed(&b->parts[i], &v))
			return totals_by_call(b, totals);
		const int err = scale_into(b, &v, &totals[i]);
		if (err)
			return err;
	}
	return 0;
}

/* A register that faulted under the read guard is not tried again: each try is a signal. */
static void leave_registers(struct bundle *b)
{
	bool forbidden = false;
	for (unsigned i = 0; i < b->n_parts; i++)
		forbidden |= b->parts[i].forbidden;
	if (!forbidden)
		return;
	b->path = TARE_PATH_READ;
	b->serializer = TARE_SERIALIZE_NONE;
	b->status |= TARE_STATUS_FELL_BACK;
	b->resynced = true;
	why_set(&b->reason, TARE_E_RDPMC_FORBIDDEN,
		"%s: reading the register was forbidden after the counter was opened", b->name);
}

int bundle_totals(struct bundle *b, uint64_t *totals)
{
	if (b->path == TARE_PATH_READ)
		return totals_by_call(b, totals);
	if (b->path != TARE_PATH_RDPMC)
		return 0;
	const int err = b->pinned ? totals_by_register(b, totals) : totals_by_page(b, totals);
	leave_registers(b);
	return err;
}
