/* Ring buffers, as kernel/events/ring_buffer.c has them: a reader maps the event's page and the
 * pages behind it, and all tasks whose records go there write under the lock of the virtual PMU.
 *
 * The bytes are in the run's file, in units of 64 KiB from VPMU_RINGS_OFFSET on; a process that
 * writes maps them where it needs them.
 *
 * One thing is better than a kernel can do: when a ring is full and another process reads it, the
 * task waits for the reader, in no virtual time. So a profile is complete however slow the reader
 * is. A reader that does not move for WAIT_NS (it is stopped, or waits for this task, or does something else) is
 * waited for once; then records are lost as usual, until it moves again. The event of a reader that was
 * killed ends.
 *
 * Another thing is better, too: data_head changes only when the process that reads the ring has made a
 * system call (vpmu_called()). perf_mmap__push() of perf reads data_head twice, writes the records up to the
 * second value to its file, and goes on at the first: records that come between are twice in the file. On a
 * busy machine a process often loses its CPU there. A reader that has used SPIN_NS of CPU time without a
 * system call makes none: it sees the records then, if the task goes on writing, or when the task ends. */
#include "vpmu-sampling.h"

#include "sys.h"
#include "text.h"

#define WAIT_NS 2000000000ull
#define SPIN_NS 5000000ull

static uint8_t unit_mapped[VPMU_RING_UNITS];

/* ---- where they are ---- */

static uint32_t units_of(uint64_t size)
{
	return (uint32_t)((size + VPMU_RING_UNIT - 1) / VPMU_RING_UNIT);
}

static uint8_t *data_of(const struct vpmu_ring *r)
{
	for (uint64_t u = r->at / VPMU_RING_UNIT; u * VPMU_RING_UNIT < r->at + r->size; u++) {
		const uint64_t at = u * VPMU_RING_UNIT;
		if (unit_mapped[u])
			continue;
		if (sys6(__NR_mmap, (long)(ZONE_VPMU_RINGS + at), VPMU_RING_UNIT,
			 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, E.reserved_fd,
			 (long)(VPMU_RINGS_OFFSET + at)) < 0)
			no_memory();
		unit_mapped[u] = 1;
	}
	return (uint8_t *)(ZONE_VPMU_RINGS + r->at);
}

static void mark_units(const struct vpmu_ring *r, uint8_t used)
{
	for (uint32_t u = 0; u < units_of(r->size); u++)
		vpmu()->ring_units[r->at / VPMU_RING_UNIT + u] = used;
}

/* A kernel allocates the pages here. Without this the first record would fault, and be a page fault
 * of the task that is counted. */
static void touch(const struct vpmu_ring *r)
{
	volatile uint8_t *const data = data_of(r);
	for (uint64_t at = 0; at < r->size; at += PAGE)
		data[at] = data[at];
}

static bool find_units(uint32_t n, uint64_t *at)
{
	uint32_t run = 0;
	for (uint32_t u = 0; u < VPMU_RING_UNITS; u++) {
		run = vpmu()->ring_units[u] ? 0 : run + 1;
		if (run == n) {
			*at = (u + 1 - n) * VPMU_RING_UNIT;
			return true;
		}
	}
	return false;
}

long ring_make(uint32_t i, uint64_t pages, bool overwrite)
{
	struct vpmu_sampler *const s = sampler_take(i);
	struct perf_event_mmap_page *const p = vpmu_page(i);
	struct vpmu_ring r = { .size = pages * PAGE, .overwrite = overwrite };
	ring_free(i);
	if (pages > VPMU_RING_UNITS * VPMU_RING_UNIT / PAGE || !find_units(units_of(r.size), &r.at))
		return -ENOMEM;
	r.watermark = s->watermark ? s->wakeup : 0;
	if (!r.watermark || r.watermark > r.size)
		r.watermark = r.watermark ? r.size : r.size / 2;
	s->ring = r;
	mark_units(&s->ring, 1);
	touch(&s->ring);
	p->data_head = p->data_tail = 0;
	p->data_offset = PAGE;
	p->data_size = r.size;
	return 0;
}

#define FALLOC_PUNCH 3		/* FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE */

void ring_free(uint32_t i)
{
	struct vpmu_ring *const r = &vpmu_sampler(i)->ring;
	if (!r->size)
		return;
	ring_show(i);
	mark_units(r, 0);
	sys4(__NR_fallocate, E.reserved_fd, FALLOC_PUNCH, VPMU_RINGS_OFFSET + r->at, r->size);
	*r = (struct vpmu_ring){ 0 };
	for (uint32_t k = 1; k <= vpmu()->n_events; k++)
		if (vpmu_event(k)->sampler && vpmu_sampler(k)->output == i)
			vpmu_sampler(k)->output = 0;
}

uint32_t ring_of(uint32_t i)
{
	const uint32_t root = vpmu_root(i);
	if (!vpmu_event(root)->sampler)
		return 0;
	const uint32_t to = vpmu_sampler(root)->output ? vpmu_sampler(root)->output : root;
	return vpmu_event(to)->sampler && vpmu_sampler(to)->ring.size ? to : 0;
}

/* As perf_event_set_output() checks it. `to` 0: to its own, if it gets one. */
long ring_redirect(uint32_t i, uint32_t to)
{
	const struct vpmu_event *const e = vpmu_event(i), *const o = vpmu_event(to);
	if (to && (to == i || e->maps || e->cpu != o->cpu || (o->cpu == -1 && o->slot != e->slot) ||
		   e->clock != o->clock || !o->maps || !o->sampler || !vpmu_sampler(to)->ring.size ||
		   (e->sampler && vpmu_sampler(i)->backward) != vpmu_sampler(to)->backward))
		return -EINVAL;
	sampler_take(i)->output = to;
	return 0;
}

/* ---- writing ---- */

static bool has_room(const struct vpmu_ring *r, const struct vpmu_sampler *s, uint64_t tail,
		     uint64_t size)
{
	const uint64_t from = s->backward ? tail : r->head, to = s->backward ? r->head : tail;
	return r->overwrite || ((to - from - 1) & (r->size - 1)) >= size;
}

static uint64_t tail_of(uint32_t owner)
{
	const struct perf_event_mmap_page *const p = vpmu_page(owner);
	return __atomic_load_n(&p->data_tail, __ATOMIC_ACQUIRE);
}

void ring_show(uint32_t i)
{
	struct vpmu_ring *const r = &vpmu_sampler(i)->ring;
	if (!r->hidden)
		return;
	struct perf_event_mmap_page *const p = vpmu_page(i);
	/* pairs with the reader, which reads data_head before the records */
	__atomic_store_n(&p->data_head, r->head, __ATOMIC_RELEASE);
	r->hidden = 0;
	r->hidden_since = 0;
	vpmu()->rings_hidden--;
}

void rings_show_of(uint32_t slot)
{
	for (uint32_t i = vpmu()->rings_hidden ? vpmu_slot(slot)->events : 0; i; i = vpmu_event(i)->next) {
		const uint32_t owner = ring_of(i);
		if (owner)
			ring_show(owner);
	}
}

/* How much CPU time the reader's process has used. If it cannot be known (it is in another PID namespace), the
 * time. */
static uint64_t reader_ns(const struct vpmu_ring *r)
{
	const int clock = (int)(~(uint32_t)r->reader << 3 | 2);	/* as clock_getcpuclockid() */
	int64_t ts[2];
	if (sys2(__NR_clock_gettime, clock, ts) < 0)
		return now_ns();
	return (uint64_t)ts[0] * 1000000000ull + (uint64_t)ts[1];
}

#define LOOK_EVERY 64		/* records: reading the time is a system call */

/* A record was written. In overwrite mode a reader stops the ring before it reads. */
static void publish(uint32_t owner)
{
	struct vpmu_ring *const r = &vpmu_sampler(owner)->ring;
	vpmu()->rings_hidden += !r->hidden++;
	bool now = r->overwrite || event_mapped_here(owner);
	if (!now && r->hidden % LOOK_EVERY == 0) {
		const uint64_t ns = reader_ns(r);
		if (!r->hidden_since)
			r->hidden_since = ns;
		now = ns - r->hidden_since > SPIN_NS;
	}
	if (now)
		ring_show(owner);
}

static void wake(struct vpmu_ring *r)
{
	__atomic_store_n(&r->ready, 1, __ATOMIC_RELEASE);
}

/* On a busy machine a reader may have to wait long for a CPU. `used`: its CPU time at the beginning. */
static bool may_still_read(const struct vpmu_ring *r, uint64_t begin, uint64_t used)
{
	const uint64_t waited = now_ns() - begin;
	return waited < WAIT_NS ||
	       (waited < LONGEST_WAIT_NS && reader_ns(r) - used < WAIT_NS && task_wants_cpu(r->reader));
}

static bool wait_for_room(const struct moment *m, uint32_t owner, uint64_t size)
{
	static const int64_t nap[2] = { 0, 100000 };
	struct vpmu_sampler *const s = vpmu_sampler(owner);
	const uint64_t tail = tail_of(owner), id = vpmu_event(owner)->id, begin = now_ns();
	if (event_mapped_here(owner) || s->ring.stuck_at == tail + 1 || size >= s->ring.size)
		return false;
	wake(&s->ring);
	const uint64_t used = reader_ns(&s->ring);
	for (unsigned naps = 1; may_still_read(&s->ring, begin, used); naps++) {
		vpmu_unlock();
		sys2(__NR_nanosleep, nap, 0);
		vpmu_lock(m->t);
		if (naps % 64 == 0)
			holds_collect(false);	/* the reader may have been killed */
		if (!vpmu_event(owner)->used || vpmu_event(owner)->id != id || !s->ring.size)
			return false;
		if (has_room(&s->ring, s, tail_of(owner), size))
			return true;
		if (s->ring.hidden && reader_ns(&s->ring) - used > SPIN_NS)
			ring_show(owner);
	}
	s->ring.stuck_at = tail_of(owner) + 1;
	return false;
}

/* Gives another process that reads the ring some time. False: there is none, or it does not read. The task
 * looks at what is wanted of it afterwards: the reader must not wait for that where it enables an event. */
static bool wait_for_reader(const struct moment *m, uint32_t owner, uint64_t size)
{
	const bool pauses = vpmu_slot(m->t->vpmu.slot)->in_call;
	if (!pauses)
		vpmu_pauses(m->t);
	const bool room = wait_for_room(m, owner, size);
	if (!pauses)
		vpmu_goes_on(m->t);
	return room;
}

/* Copies the bytes to a position in the ring, around its end. */
static void put_bytes(const struct vpmu_ring *r, uint64_t at, const void *from, uint64_t n)
{
	uint8_t *const data = data_of(r);
	const uint64_t off = at & (r->size - 1), first = r->size - off < n ? r->size - off : n;
	mem_copy(data + off, from, first);
	mem_copy(data, (const uint8_t *)from + first, n - first);
}

static void advance(uint32_t owner, uint64_t n)
{
	struct vpmu_sampler *const s = vpmu_sampler(owner);
	struct vpmu_ring *const r = &s->ring;
	r->head = s->backward ? r->head - n : r->head + n;
	publish(owner);
	if ((s->backward ? -r->head : r->head) - r->wakeup > r->watermark) {
		r->wakeup += r->watermark;
		wake(r);
	}
}

static void put_one(uint32_t owner, const void *bytes, uint64_t n)
{
	const struct vpmu_sampler *const s = vpmu_sampler(owner);
	put_bytes(&s->ring, s->backward ? s->ring.head - n : s->ring.head, bytes, n);
	advance(owner, n);
}

/* The record LOST, for what there was no room for before. */
static void put_lost(struct moment *m, uint32_t i, uint32_t owner)
{
	struct {
		struct perf_event_header h;
		uint64_t id, lost;
		uint8_t ids[64];
	} rec = { .h = { .type = PERF_RECORD_LOST }, .id = vpmu_event(vpmu_root(i))->id };
	struct vpmu_ring *const r = &vpmu_sampler(owner)->ring;
	rec.lost = r->lost;
	r->lost = 0;
	rec.h.size = (uint16_t)(sample_id(m, i, rec.ids) - (uint8_t *)&rec);
	put_one(owner, &rec, rec.h.size);
}

static void count_wakeup(struct vpmu_sampler *s, struct vpmu_ring *r)
{
	if (s->watermark || !s->wakeup || ++r->events < s->wakeup)
		return;
	r->events = 0;
	wake(r);
}

#define LOST_SIZE 24

bool ring_put(const struct moment *m, uint32_t i, struct perf_event_header *h, bool is_sample)
{
	const uint32_t owner = ring_of(i);
	if (!owner)
		return true;
	struct vpmu_sampler *const s = vpmu_sampler(i), *const root = vpmu_sampler(vpmu_root(i));
	struct vpmu_ring *const r = &vpmu_sampler(owner)->ring;
	const uint64_t need = h->size + (r->lost ? LOST_SIZE + sample_id_size(s) : 0);
	const bool full = !has_room(r, vpmu_sampler(owner), tail_of(owner), need);
	if (full && !r->paused && wait_for_reader(m, owner, need))
		return false;
	if (r->paused || full) {
		r->lost++;
		root->lost++;
		return true;
	}
	/* LOST has the lower address in both directions */
	struct moment same = *m;
	const bool lost = r->lost, backward = vpmu_sampler(owner)->backward;
	if (lost && !backward)
		put_lost(&same, i, owner);
	put_one(owner, h, h->size);
	if (lost && backward)
		put_lost(&same, i, owner);
	if (is_sample)
		count_wakeup(s, r);
	return true;
}
