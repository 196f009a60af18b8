/* The exact stop at an overflow, and what happens there: see vpmu-sampling.h. */
#include "vpmu-sampling.h"

#include "sys.h"
#include "text.h"

uint8_t vpmu_samplers_mapped[VPMU_MAX_EVENTS / VPMU_SAMPLER_CHUNK];

/* Two threads may map the same chunk at the same time: the second mapping replaces the first. */
void vpmu_map_samplers(uint32_t event)
{
	const uint64_t size = VPMU_SAMPLER_CHUNK * VPMU_SAMPLER_SIZE;
	const uint64_t at = event / VPMU_SAMPLER_CHUNK * size;
	if (sys6(__NR_mmap, (long)(ZONE_VPMU_SAMPLERS + at), (long)size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, E.reserved_fd, (long)(VPMU_SAMPLERS_OFFSET + at)) < 0)
		no_memory();
	vpmu_samplers_mapped[event / VPMU_SAMPLER_CHUNK] = 1;
}

/* ---- opening ---- */

static uint64_t max_rate(void)
{
	char text[32];
	uint64_t rate = 100000;
	const long fd = own_open(AT_FDCWD, "/proc/sys/kernel/perf_event_max_sample_rate", O_CLOEXEC);
	const long n = fd < 0 ? 0 : sys3(__NR_read, fd, text, sizeof(text) - 1);
	if (fd >= 0)
		sys1(__NR_close, fd);
	text[n > 0 ? n : 0] = '\0';
	if (n > 0)
		text_decimal(text, &rate);
	return rate;
}

#define REGS_OF_64_BIT	0xff0fffull	/* not ds, es, fs, gs, nor the vector registers */

long sampling_reasons_against(const struct perf_event_attr *attr)
{
	if (attr->freq ? attr->sample_freq > max_rate() : attr->sample_period >> 63)
		return -EINVAL;
	if (attr->sample_type & PERF_SAMPLE_REGS_USER && attr->sample_regs_user & ~REGS_OF_64_BIT)
		return -EINVAL;
	if (attr->sample_type & PERF_SAMPLE_REGS_INTR && attr->sample_regs_intr & ~REGS_OF_64_BIT)
		return -EINVAL;
	return 0;
}

struct vpmu_sampler *sampler_take(uint32_t i)
{
	vpmu_event(i)->sampler = vpmu_event(i)->had_sampler = 1;
	return vpmu_sampler(i);
}

/* An event that neither overflows nor writes records does without. */
bool sampling_needs_sampler(const struct perf_event_attr *a)
{
	return a->sample_period || a->mmap || a->mmap_data || a->mmap2 || a->comm || a->task;
}

/* As perf_swevent_init_hrtimer(): a frequency is a period, because time runs evenly. */
static void fix_period(struct vpmu_sampler *s)
{
	if (s->freq)
		s->period = 1000000000 / s->hz;
	s->freq = 0;
}

void sampling_open(uint32_t i, const struct perf_event_attr *attr)
{
	if (!sampling_needs_sampler(attr) && !attr->sample_type && !attr->watermark)
		return;
	struct vpmu_sampler *const s = sampler_take(i);
	*s = (struct vpmu_sampler){
		.type = attr->sample_type,
		.regs_user = attr->sample_regs_user,
		.regs_intr = attr->sample_regs_intr,
		.stack_user = attr->sample_stack_user,
		.wakeup = attr->wakeup_events,
		.max_stack = attr->sample_max_stack,
		.precise = attr->precise_ip,
		.freq = attr->freq && attr->sample_freq,
		.watermark = attr->watermark,
		.mmap = attr->mmap,
		.mmap_data = attr->mmap_data,
		.mmap2 = attr->mmap2,
		.comm = attr->comm,
		.task = attr->task,
		.id_all = attr->sample_id_all,
		.backward = attr->write_backward,
		.no_user_chain = attr->exclude_callchain_user,
		.no_kernel_chain = attr->exclude_callchain_kernel,
		.on = attr->sample_period != 0,
		.hz = attr->sample_freq,
		.period = attr->freq ? 1 : attr->sample_period,
		.since = vpmu_clock(vpmu_event(i)->slot),
	};
	if (vpmu_event(i)->row == VPMU_CLOCK_ROW)
		fix_period(s);
	if (!vpmu_needs_counter(vpmu_event(i)))
		s->precise = 0;
	s->next = s->period;
	/* as in the kernel, task, comm or mmap make FORK and EXIT records, too */
	vpmu_slot(vpmu_event(i)->slot)->tracks |=
		(attr->mmap ? TRACKS_MMAP : 0) | (attr->mmap_data ? TRACKS_DATA : 0) |
		(attr->comm ? TRACKS_COMM : 0) |
		(attr->task || attr->comm || attr->mmap ? TRACKS_TASK : 0);
}

void sampling_inherit(uint32_t from, uint32_t to)
{
	struct vpmu_sampler *const s = sampler_take(to);
	*s = *vpmu_sampler(from);
	s->ring = (struct vpmu_ring){ 0 };
	s->output = 0;
	s->next = s->period;
	s->since = vpmu_clock(vpmu_event(to)->slot);
	s->lost = s->interrupt_at = s->overflows = s->tick = 0;
	s->in_tick = 0;
	vpmu_slot(vpmu_event(to)->slot)->tracks |= vpmu_slot(vpmu_event(from)->slot)->tracks;
}

void sampling_free(uint32_t i)
{
	ring_free(i);
	vpmu_sampler(i)->on = 0;
}

long sampling_period(uint32_t i, uint64_t period)
{
	struct vpmu_sampler *const s = vpmu_sampler(i);
	if (!vpmu_event(i)->sampler || !s->on || !period || (s->freq ? period > max_rate() : period >> 63))
		return -EINVAL;
	if (s->freq) {
		s->hz = period;
		return 0;
	}
	s->period = period;
	s->next = vpmu_total(vpmu_event(i)) + period;
	vpmu_slot(vpmu_event(i)->slot)->stale = 1;
	return 0;
}

long sampling_refresh(uint32_t i, uint64_t n)
{
	struct vpmu_sampler *const s = vpmu_sampler(i);
	if (vpmu_event(i)->inherit || !vpmu_event(i)->sampler || !s->on)
		return -EINVAL;
	s->limit += (uint32_t)n;
	return 0;
}

/* ---- budgets ---- */

static unsigned kind_of(const struct vpmu_event *e)
{
	return vpmu()->model.rows[e->row].kind;
}

/* Can it overflow now? */
static bool is_counting(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	return e->sampler && e->state == VE_ACTIVE && !e->software && !e->no_user && !e->throttled &&
	       kind_of(e) < SOFT_EVENTS && vpmu_sampler(i)->on;
}

/* What is missing to the event's next stop, and of what kind. */
static uint64_t left_of(uint32_t i, unsigned *kind)
{
	const struct vpmu_event *const e = vpmu_event(i);
	const struct vpmu_sampler *const s = vpmu_sampler(i);
	*kind = s->interrupt_at ? SOFT_INSTRUCTIONS : kind_of(e);
	uint64_t n = s->interrupt_at ? s->interrupt_at - vpmu_clock(e->slot) : s->next - vpmu_total(e);
	if (e->row == VPMU_CLOCK_ROW && !s->interrupt_at && (int64_t)n > 0)
		n = n * VPMU_PER_NS - vpmu_clock(e->slot) % VPMU_PER_NS;
	return (int64_t)n < 1 ? 1 : n;
}

/* Lowers what is missing to the first stop of each kind. Returns the kinds of which addresses are wanted. */
static uint32_t find_left(struct thread *t, uint64_t left[SOFT_EVENTS])
{
	const uint32_t slot = t->vpmu.slot;
	uint32_t addresses = 0;
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next) {
		unsigned kind;
		if (!is_counting(i))
			continue;
		const uint64_t n = left_of(i, &kind);
		if (n < left[kind])
			left[kind] = n;
		if (vpmu_sampler(i)->type & PERF_SAMPLE_ADDR)
			addresses |= 1u << kind & (1u << SOFT_LOADS | 1u << SOFT_STORES);
	}
	return addresses;
}

void sampling_budgets(struct thread *t, uint64_t clock, const struct block_to_run *next)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	const uint32_t kinds = cache.modes[cache.mode].budgets;
	uint64_t left[SOFT_EVENTS];
	for (unsigned k = 0; k < SOFT_EVENTS; k++)
		left[k] = BUDGET_NEVER;
	t->code.stops = 0;
	vpmu_noticed(t->vpmu.slot);
	s->stale = 0;
	const uint32_t addresses = s->budgets ? find_left(t, left) : 0;
	for (uint32_t rest = kinds; rest; rest &= rest - 1) {
		const unsigned k = (unsigned)__builtin_ctz(rest);
		vpmu_mem(t->vpmu.slot)->stops_at[k] = vpmu_sum(t->vpmu.slot, k) + left[k];
		budget_set(t, k, left[k], next);
	}
	/* the clock needs no exact stop */
	if (clock && clock < left[SOFT_INSTRUCTIONS])
		budget_share(t, SOFT_INSTRUCTIONS, clock, next);
	access_note(t, addresses);
}

/* An event that was disabled and is enabled again needs no signal to its task, which a tracer would
 * see: the task stops early enough anyway. */
bool sampling_stops_late(uint32_t slot)
{
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next) {
		const struct vpmu_event *const e = vpmu_event(i);
		if (!is_counting(i))
			continue;
		uint64_t stop = e->base + vpmu_sampler(i)->next - e->total;
		if (e->row == VPMU_CLOCK_ROW)
			stop = stop * VPMU_PER_NS + vpmu_slot(slot)->zero;
		if (vpmu_sampler(i)->interrupt_at || vpmu_is_flawed(e->row) ||
		    (int64_t)(vpmu_mem(slot)->stops_at[kind_of(e)] - stop) > 0)
			return true;
	}
	return false;
}

/* ---- overflows ---- */

/* As the kernel's perf_adjust_period(), in virtual time: the period that gives so many samples a
 * second, approached in steps of an eighth. */
static void adjust_period(struct vpmu_sampler *s, uint64_t now)
{
	uint64_t ns = (now - s->since) / VPMU_PER_NS;
	const uint64_t every = 1000000000ull / s->hz;
	if (!ns)
		ns = 1;
	const uint64_t ideal = s->period < 1ull << 32 ? s->period * every / ns : s->period / ns * every;
	const int64_t delta = (int64_t)(ideal - s->period);
	const int64_t period = (int64_t)s->period + (delta + 7) / 8;
	s->period = period < 1 ? 1 : (uint64_t)period;
}

static void next_overflow(struct vpmu_sampler *s, const struct vpmu_event *e, uint64_t total)
{
	const uint64_t now = vpmu_clock(e->slot);
	if (s->freq)
		adjust_period(s, now);
	s->since = now;
	s->next += s->period;
	if (s->next <= total)		/* more than one at once, or the period has become shorter */
		s->next = total + s->period;
}

/* As the kernel does it: the event that has had its number of samples in this tick counts no
 * more, and says so before its last sample. */
static void account(struct moment *m, uint32_t i)
{
	struct vpmu_sampler *const s = vpmu_sampler(i);
	const uint32_t most = vpmu()->flaws.throttle, slot = vpmu_event(i)->slot;
	const uint64_t tick = vpmu_slot(slot)->next_tick;
	s->in_tick = s->tick == tick ? s->in_tick + 1 : 1;
	s->tick = tick;
	if (!most || s->in_tick < most)
		return;
	vpmu_schedule(slot);		/* its value is up to date */
	vpmu_event(i)->throttled = 1;
	sideband_throttle(m, i, true);
}

void sampling_tick(struct thread *t)
{
	struct moment m = { .t = t };
	if (!vpmu()->flaws.throttle)
		return;
	vpmu_schedule(t->vpmu.slot);
	for (uint32_t i = vpmu_slot(t->vpmu.slot)->events; i; i = vpmu_event(i)->next) {
		if (!vpmu_event(i)->throttled)
			continue;
		vpmu_event(i)->throttled = 0;
		sideband_throttle(&m, i, false);
	}
}

static void overflow(struct moment *m, uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	struct vpmu_sampler *const s = vpmu_sampler(i);
	const uint64_t period = s->period;
	const bool last = s->limit && --s->limit == 0;
	account(m, i);
	next_overflow(s, e, vpmu_total(e));
	sample_put(m, i, period);
	if (last) {
		vpmu_set_state(i, false);
		vpmu_schedule(e->slot);
	}
	async_signal(i, last);
}

void sampling_counted(struct moment *m, uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	if (e->sampler && e->state == VE_ACTIVE && !e->throttled && vpmu_sampler(i)->on &&
	    (int64_t)(vpmu_total(e) - vpmu_sampler(i)->next) >= 0)
		overflow(m, i);
}

/* How many instructions late the interrupt comes: a few more often than many. */
static uint64_t draw_skid(const struct vpmu_event *e, struct vpmu_sampler *s)
{
	const struct vpmu_flaws *const f = &vpmu()->flaws;
	const uint64_t r = vpmu_mix(vpmu_seed(e->slot) + (++s->overflows << 8 | e->row) *
				    0x9e3779b97f4a7c15ull);
	return f->skid_min + ((r >> 2) % (f->skid_max - f->skid_min + 1) >> r % 4);
}

/* Is the event's overflow noticed now? `at_once`: nothing runs before the kernel does. */
static bool is_noticed(uint32_t i, bool at_once)
{
	const struct vpmu_event *const e = vpmu_event(i);
	struct vpmu_sampler *const s = vpmu_sampler(i);
	if (!s->interrupt_at && (int64_t)(vpmu_total(e) - s->next) < 0)
		return false;
	if (!vpmu()->flaws.skid || s->precise)
		return true;
	const uint64_t now = vpmu_clock(e->slot);
	if (!s->interrupt_at)
		s->interrupt_at = now + draw_skid(e, s);
	if (s->interrupt_at > now && !at_once)
		return false;
	s->interrupt_at = 0;
	return true;
}

/* The task is at t->pc, and `last` is the instruction before it. As on a CPU that skids, an interrupt
 * shows the instruction that it came before; precise_ip 1 means that this is always the one behind
 * the event. */
static void overflows(struct thread *t, uint64_t last, bool at_once)
{
	struct moment m = { .t = t };
	uint32_t next;
	for (uint32_t i = vpmu_slot(t->vpmu.slot)->events; i; i = next) {
		/* (the lock is dropped while a full ring is waited for) */
		if (!vpmu_event(i)->used || vpmu_event(i)->slot != t->vpmu.slot)
			return;
		next = vpmu_event(i)->next;
		if (!is_counting(i) || !is_noticed(i, at_once))
			continue;
		m.ip = vpmu()->flaws.skid && vpmu_sampler(i)->precise < 2 ? t->pc : last;
		overflow(&m, i);
	}
}

/* The task may be stopped where it gets the signal of an overflow; the tracer then wants the lock. */
static void overflows_at(struct thread *t, bool at_once)
{
	const uint64_t all = ~SYNC_SIGNALS;
	uint64_t mask;
	if (cache.traced)
		sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &mask, SIGSET_SIZE);
	vpmu_lock(t);
	overflows(t, t->code.last_pc, at_once);
	vpmu_unlock();
	if (!cache.traced)
		return;
	vpmu_pauses(t);
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, SIGSET_SIZE);
}

void sampling_last(struct thread *t)
{
	if (!vpmu_slot(t->vpmu.slot)->budgets)
		return;
	overflows(t, t->vpmu.stepping ? t->code.last_pc : t->pc, true);
	t->vpmu.stepping = false;
}

/* An overflow at a system call is before what the call does: it may disable the event, or never
 * return. */
void sampling_call(struct thread *t)
{
	if (!t->vpmu.stepping && !(vpmu()->flaws.skid && vpmu_slot(t->vpmu.slot)->budgets))
		return;
	overflows_at(t, true);
	vpmu_slot(t->vpmu.slot)->stale = 1;	/* the next overflows are others */
}

void vpmu_stepped(struct thread *t)
{
	if (t->code.single_pc == t->pc)
		return;			/* the run has not begun */
	t->vpmu.stepping = false;
	t->code.single_pc = 0;
	overflows_at(t, false);
	if (cache.traced)
		vpmu_follow(t);
	vpmu_lock(t);
	vpmu_set_budgets(t, NULL);
	vpmu_unlock();
}
