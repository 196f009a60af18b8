/* A scan of the event space: opening it, which makes the plan, and its stages in order. tare/scan.h says what
 * for; scan-parts.h lists the other files.
 */
#include "scan-parts.h"

#include "options-copy.h"
#include "perf-free.h"
#include "scan-room.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Interrupts that come during the work, where they are looked for: so many that half of the work has
 * some of them nearly always, and a code that counts them is told from one that counts none. */
#define INTERRUPTS 12
#define MOST_ROUNDS (1ull << 29) /* no interrupt for so long, a second or so: there are none */
#define FEWER_ROUNDS (1ull << 26) /* where they are not what is looked for */
#define ARM_LAST_CODE 0x3ff	/* PMUv3: common events; what the maker defines is above or below */

const char *tare_scan_like_name(enum tare_scan_like like)
{
	switch (like) {
	case TARE_SCAN_PAGE_FAULTS: return "page-faults";
	case TARE_SCAN_INTERRUPTS: return "interrupts";
	case TARE_SCAN_EVENT: return "event";
	case TARE_SCAN_COUNT: return "count";
	}
	return "unknown";
}

const char *tare_scan_stage_name(enum tare_scan_stage stage)
{
	switch (stage) {
	case TARE_SCAN_SWEEP: return "sweep";
	case TARE_SCAN_NARROW: return "narrow";
	case TARE_SCAN_CONFIRM: return "confirm";
	case TARE_SCAN_DONE: return "done";
	}
	return "unknown";
}

int tare_scan_run(struct tare_scan *s, struct tare_why *why)
{
	struct tare_scan_state *const st = &s->state;
	int err = 0;

	while (!err && st->stage < TARE_SCAN_CONFIRM) {
		err = scan_walk(s, why);
		if (!err) {
			st->stage++;
			st->next = 0;
		}
	}
	if (!err && st->stage == TARE_SCAN_CONFIRM)
		err = scan_confirm(s, why);
	if (err)
		return err;
	st->stage = TARE_SCAN_DONE;
	s->result.tried = st->tried;
	s->result.refused = st->refused;
	s->result.silent = st->silent;
	return 0;
}

/* ---- opening ---- */

/* The event to compare with; the codes are counted in user mode. */
static int parse_event(struct tare_scan *s, const char *like, struct tare_why *why)
{
	char user[200];

	int err = tare_events_parse(like, &s->cpu, &s->like, why);
	if (err)
		return err;
	if (tare_events_count(s->like) != 1)
		return why_set(why, TARE_E_INVALID, "\"%.100s\" is %zu events; a scan compares with one",
			       like, tare_events_count(s->like));
	if (scan_beside(s)->kind == TARE_EVENT_WALL_TIME || scan_beside(s)->kind == TARE_EVENT_ZERO)
		return why_set(why, TARE_E_INVALID, "%s is no event that a counter counts", like);
	if (scan_beside(s)->base.exclude_user)
		return why_set(why, TARE_E_INVALID, "%s leaves out user mode, in which a scan counts", like);
	if (!trial_user_name(scan_beside(s), user, sizeof(user)))
		return 0;
	tare_events_free(s->like);
	s->like = NULL;
	return tare_events_parse(user, &s->cpu, &s->like, why);
}

static int parse_like(struct tare_scan *s, struct tare_why *why)
{
	const char *const like = s->o.like;
	char *end;

	if (!like || !*like)
		return why_set(why, TARE_E_INVALID, "nothing to look for: page-faults, interrupts, an "
			       "event, or a number");
	if (!strcmp(like, "page-faults") || !strcmp(like, "faults")) {
		s->plan.like = TARE_SCAN_PAGE_FAULTS;
		return 0;
	}
	if (!strcmp(like, "interrupts") || !strcmp(like, "irqs")) {
		s->plan.like = TARE_SCAN_INTERRUPTS;
		return 0;
	}
	if (like[0] >= '0' && like[0] <= '9') {
		s->plan.like = TARE_SCAN_COUNT;
		s->count = strtoull(like, &end, 0);
		if (*end || !s->count || s->count > UINT64_MAX / 8)
			return why_set(why, TARE_E_RANGE, "\"%.60s\" is no count from 1 to %" PRIu64, like,
				       UINT64_MAX / 8);
		return 0;
	}
	s->plan.like = TARE_SCAN_EVENT;
	return parse_event(s, like, why);
}

static int check_range(const char *what, const struct config_bits *bits, uint64_t first,
		       uint64_t last, struct tare_why *why)
{
	const uint64_t most = config_bits_max(bits);

	if (first > last)
		return why_set(why, TARE_E_RANGE, "%s 0x%" PRIx64 "-0x%" PRIx64
			       ": the first is greater than the last", what, first, last);
	if (last <= most)
		return 0;
	if (!bits->width)
		return why_set(why, TARE_E_RANGE, "%s 0x%" PRIx64 ": this PMU has none", what, last);
	return why_set(why, TARE_E_RANGE, "%s 0x%" PRIx64 ": this PMU has %u bits for it, 0x0-0x%" PRIx64,
		       what, last, bits->width, most);
}

static int plan_space(struct tare_scan *s, struct tare_why *why)
{
	struct tare_scan_plan *const p = &s->plan;

	int err = event_space_find(&s->space, "", &s->cpu, p->cpu, why);
	if (err)
		return err;
	p->code_bits = s->space.code.width;
	p->mask_bits = s->space.mask.width;
	p->first_code = s->o.has_codes ? s->o.first_code : 0;
	p->last_code = s->o.has_codes ? s->o.last_code : config_bits_max(&s->space.code);
	if (!s->o.has_codes && !p->mask_bits && p->last_code > ARM_LAST_CODE)
		p->last_code = ARM_LAST_CODE;
	const uint64_t all = config_bits_max(&s->space.mask) & ((1u << SCAN_PROBE_BITS) - 1);
	p->first_mask = s->o.has_masks ? s->o.first_mask : 0;
	p->last_mask = s->o.has_masks ? s->o.last_mask : all;
	p->ends_only = !s->o.has_masks;
	err = check_range("event selector", &s->space.code, p->first_code, p->last_code, why);
	if (!err)
		err = check_range("mask", &s->space.mask, p->first_mask, p->last_mask, why);
	p->codes = err ? 0 : (p->last_code - p->first_code + 1) * scan_masks(s);
	return err;
}

static int try_open(const struct tare_event *const *events, size_t n, struct tare_why *why)
{
	struct tare_group *g;

	const int err = tare_group_open(events, n, NULL, &g, why);
	if (!err)
		tare_group_close(g);
	return err;
}

/* Opens what every PMU has, for the one clear error where nothing can be opened; and what every batch has, with
 * one code beside it. */
static int plan_counters(struct tare_scan *s, struct tare_why *why)
{
	const struct tare_event *const instructions = tare_events_at(s->instructions, 0);
	const struct tare_event *const both[] = { scan_beside(s), instructions };

	int err = try_open(&instructions, 1, why);
	if (!err && scan_beside(s))
		err = try_open(both, 1, why);
	if (!err && scan_beside(s))
		err = try_open(both, 2, why);
	if (err)
		return err;
	const int free = perf_free_counters() - (scan_beside(s) ? 1 : 0);
	const int most = TRIAL_EVENTS - 1;
	s->plan.counters = (unsigned)(free < 1 ? 1 : free > most ? most : free);
	s->plan.batches = (s->plan.codes + s->plan.counters - 1) / s->plan.counters;
	return 0;
}

static int plan_work(struct tare_scan *s, struct tare_why *why)
{
	struct tare_scan_plan *const p = &s->plan;
	const bool irqs = p->like == TARE_SCAN_INTERRUPTS;

	if (p->like != TARE_SCAN_COUNT)
		s->irq_rounds = known_work_calibrate(p->cpu, INTERRUPTS,
						     irqs ? s->most_rounds : FEWER_ROUNDS);
	if (irqs && !s->irq_rounds) {
		why_set(why, TARE_E_TIMEOUT, "fewer than %d interrupts came on CPU %u during %llu "
			"instructions, by /proc/interrupts and ticks", INTERRUPTS, p->cpu,
			(unsigned long long)s->most_rounds * KNOWN_WORK_PER_ROUND);
		why_remedy(why, "choose a CPU that has a tick (taskset; see nohz_full on the kernel's "
			   "command line)");
		return TARE_E_TIMEOUT;
	}
	p->rounds = s->o.rounds ? s->o.rounds : irqs ? s->irq_rounds : SCAN_ROUNDS;
	p->pages = s->o.pages ? s->o.pages : irqs || p->like == TARE_SCAN_COUNT ? 0 : SCAN_PAGES;
	p->interrupts = irqs ? INTERRUPTS : 0;
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* How long a batch takes: the first one, tried twice, since the first time is slower. */
static int plan_time(struct tare_scan *s, struct tare_why *why)
{
	struct scan_place places[TRIAL_EVENTS];
	struct scan_verdict verdicts[TRIAL_EVENTS];
	const size_t n = s->plan.codes < s->plan.counters ? s->plan.codes : s->plan.counters;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		places[i] = scan_place_of(s, TARE_SCAN_SWEEP, i);
	for (unsigned k = 0; k < 2 && !err; k++) {
		const uint64_t begin = now_ns();
		err = scan_try_batch(s, places, n, verdicts, why);
		s->plan.batch_ns = now_ns() - begin;
	}
	return err;
}

static int copy_state(struct tare_scan *s, struct tare_why *why)
{
	const struct tare_scan_state *const from = s->o.resume;

	if (!from)
		return 0;
	s->state = *from;
	s->state.hits = calloc(from->n_hits ? from->n_hits : 1, sizeof(*from->hits));
	s->hits_room = s->state.hits ? from->n_hits : 0;
	if (!s->state.hits)
		return why_set(why, TARE_E_NOMEM, "%zu codes", from->n_hits);
	if (from->n_hits)
		memcpy(s->state.hits, from->hits, from->n_hits * sizeof(*from->hits));
	if (from->stage < TARE_SCAN_CONFIRM && from->next > scan_total(s, from->stage))
		return why_set(why, TARE_E_MISMATCH, "the earlier scan was at %" PRIu64 " of its stage %s, "
			       "which has %" PRIu64, from->next, tare_scan_stage_name(from->stage),
			       scan_total(s, from->stage));
	return 0;
}

static int open_scan(struct tare_scan *s, struct tare_why *why)
{
	int err = known_work_stay(&s->kept, &s->plan.cpu, why);
	if (!err)
		err = tare_events_parse("instructions:u", &s->cpu, &s->instructions, why);
	if (!err)
		err = parse_like(s, why);
	if (!err)
		err = plan_space(s, why);
	if (!err)
		err = plan_counters(s, why);
	if (!err)
		err = plan_work(s, why);
	if (!err)
		err = plan_time(s, why);
	return err ? err : copy_state(s, why);
}

int scan_open_with(const struct tare_scan_options *o, const struct tare_cpu *cpu,
		   uint64_t most_rounds, unsigned bits, struct tare_scan **out, struct tare_why *why)
{
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the scan");
	*out = NULL;
	struct tare_scan *const s = calloc(1, sizeof(*s));
	if (!s)
		return why_set(why, TARE_E_NOMEM, "a scan");
	s->most_rounds = most_rounds ? most_rounds : MOST_ROUNDS;
	s->bits = bits;
	s->for_one = most_rounds;
	if (cpu)
		s->cpu = *cpu;
	else
		tare_cpu_detect(&s->cpu);
	int err = options_copy(&s->o, sizeof(s->o), o, "tare_scan_options", why);
	if (!err)
		err = open_scan(s, why);
	if (err) {
		tare_scan_close(s);
		return err;
	}
	*out = s;
	return 0;
}

int tare_scan_open(const struct tare_scan_options *o, struct tare_scan **out, struct tare_why *why)
{
	return scan_open_with(o, NULL, 0, 0, out, why);
}

const struct tare_scan_plan *tare_scan_plan(const struct tare_scan *s)
{
	return &s->plan;
}

const struct tare_scan_result *tare_scan_result(const struct tare_scan *s)
{
	return &s->result;
}

void tare_scan_close(struct tare_scan *s)
{
	if (!s)
		return;
	known_work_let_go(s->kept);
	tare_events_free(s->like);
	tare_events_free(s->instructions);
	free(s->candidates);
	free(s->state.hits);
	free(s->result.found);
	free(s);
}
