/* The same event on every register in turn, and with all registers loaded; registers that count
 * wrongly are set aside for the other experiments.
 *
 * The kernel chooses the register. A silent event, one that counts in no mode, takes a register
 * as well: with n of them open and pinned, the next event gets another register. The page of the
 * event tells which one.
 */
#include "steady.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGISTERS 32

struct place {
	int reg;			/* as rdpmc numbers them; -1: not known */
	struct steady seen;
};

struct bench {
	struct steady_code code;
	struct bare dummies[REGISTERS];
	size_t n_dummies;
	struct place places[REGISTERS];
	size_t n;
	bool moved;			/* the kernel moves events to other registers */
};

#define WATCHED 6000		/* runs in which a move to another register is waited for */
#define QUICK_WATCHED 2000

static void close_dummies(struct bench *b)
{
	while (b->n_dummies)
		bare_close(&b->dummies[--b->n_dummies]);
}

/* One more register is taken. False: there is none left. */
static bool add_dummy(struct bench *b, const struct tare_encoding *e)
{
	struct bare *const d = &b->dummies[b->n_dummies];
	if (b->n_dummies == REGISTERS)
		return false;
	if (bare_open(d, e, BARE_PINNED | BARE_SILENT) < 0 && bare_open(d, e, BARE_PINNED) < 0)
		return false;
	b->n_dummies++;
	return bare_on(d);
}

static bool is_new(const struct bench *b, int reg)
{
	for (size_t i = 0; i < b->n; i++)
		if (reg >= 0 && b->places[i].reg == reg)
			return false;
	return true;
}

/* The event on the register that is free now. 1: counted; 0: no register is left. */
static int count_here(struct bench *b, const struct tare_encoding *e)
{
	struct bare counter;
	struct place *const p = &b->places[b->n];
	if (b->n == REGISTERS || bare_open(&counter, e, BARE_PINNED) < 0)
		return 0;
	int err = bare_on(&counter);
	if (err) {
		p->reg = bare_register(&counter);
		struct steady_bare how = { &counter, &b->code };
		const int failed = steady_count(steady_bare_count, &how, &p->seen);
		if (failed)
			err = failed;
		else if (bare_register(&counter) == p->reg && is_new(b, p->reg))
			b->n++;
		else
			b->moved = true;	/* a count across a move is of no single register */
	}
	bare_close(&counter);
	return err;
}

static int by_mean(const void *a, const void *b)
{
	const struct place *const x = *(const struct place *const *)a, *const y = *(const struct place *const *)b;
	return (x->seen.mean > y->seen.mean) - (x->seen.mean < y->seen.mean);
}

/* Interrupts come in most of the runs: the register with the middle mean. */
static const struct steady *middle(const struct bench *b)
{
	const struct place *sorted[REGISTERS];
	for (size_t i = 0; i < b->n; i++)
		sorted[i] = &b->places[i];
	qsort(sorted, b->n, sizeof(sorted[0]), by_mean);
	return &sorted[b->n / 2]->seen;
}

/* The count that most registers agree on. Of two that do not agree: not that of the register that another
 * event has shown to be wrong (-1: none is known); else that which is nearer to what the code has. */
static const struct steady *usual(const struct bench *b, int wrong)
{
	const struct steady *best = NULL;
	const int64_t want = (int64_t)b->code.events;
	size_t most = 0;
	bool clear = true;
	for (size_t i = 0; i < b->n; i++)
		clear &= steady_is_clear(&b->places[i].seen);
	if (!clear && b->n > 2)
		return middle(b);
	for (size_t i = 0; i < b->n; i++) {
		const struct steady *const seen = &b->places[i].seen;
		size_t score = b->places[i].reg != wrong;
		for (size_t k = 0; k < b->n; k++)
			score += b->places[k].seen.value == seen->value ? 2 : 0;
		if (score > most ||
		    (score == most && llabs(seen->value - want) < llabs(best->value - want))) {
			most = score;
			best = seen;
		}
	}
	return best;
}

static void names_of(const struct bench *b, char *out, size_t size)
{
	size_t at = 0;
	char name[24];
	out[0] = '\0';
	for (size_t i = 0; i < b->n && at + 24 < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "",
				       bare_register_name(b->places[i].reg, name, sizeof(name)));
}

/* General registers that can count the event; 0: unknown. */
static unsigned registers_for(const struct verify *v, const struct subject *s)
{
	const uint32_t mask = s->event->row ? s->event->row->counters : 0;
	const unsigned n = mask ? (unsigned)__builtin_popcount(mask) : v->cpu.gp_counters;
	return n < v->cpu.gp_counters ? n : v->cpu.gp_counters;
}

static int64_t distance(const struct steady *a, const struct steady *b)
{
	return llabs(steady_shown(a) - steady_shown(b));
}

static void judge_registers(struct verify *v, const struct subject *s, const struct bench *b)
{
	char names[120], limit[48], got[32], want[32], name[24], taken[48] = "";
	const struct steady *const u = usual(b, v->aside_register);
	const unsigned all = b->moved ? 0 : registers_for(v, s);
	const struct place *worst = NULL;
	double deviating = 0, least = 1;
	struct tare_verify_finding *f;
	if (steady_silent(v, "registers", s, &b->code, u))
		return;
	for (size_t i = 0; i < b->n; i++) {
		double shows;
		const enum steady_compare is = steady_compare_means(&b->places[i].seen, u, &b->code, &shows);
		const int64_t d = distance(&b->places[i].seen, u);
		least = fmax(least, shows);
		if (is == STEADY_UNSETTLED) {
			steady_unsettled(v, "registers", s, &b->places[i].seen);
			return;
		}
		deviating += is == STEADY_DIFFERENT;
		if (is == STEADY_DIFFERENT && (!worst || d > distance(&worst->seen, u)))
			worst = &b->places[i];
	}
	names_of(b, names, sizeof(names));
	if (all > b->n)
		snprintf(taken, sizeof(taken), ", %zu more held by others", all - b->n);
	if (b->moved)
		snprintf(taken, sizeof(taken), "; the kernel moved it from others");
	if (worst)
		f = verify_find(v, "registers", s->name, TARE_VERDICT_BAD,
				"register %s counts %s where the others count %s (registers %s)",
				bare_register_name(worst->reg, name, sizeof(name)),
				steady_number(steady_shown(&worst->seen), got, sizeof(got)),
				steady_number(steady_shown(u), want, sizeof(want)), names);
	else
		f = verify_find(v, "registers", s->name, TARE_VERDICT_GOOD,
				"the same on %zu register%s (%s)%s; %s would show", b->n,
				b->n == 1 ? "" : "s", names, taken,
				steady_limit(&b->code, least, limit, sizeof(limit)));
	verify_number(f, "registers", (double)b->n);
	verify_number(f, "held", all > b->n ? (double)(all - b->n) : 0);
	verify_number(f, "deviating", deviating);
	verify_number(f, "usual", (double)steady_shown(u));
	verify_number(f, "worst", (double)steady_shown(worst ? &worst->seen : u));
	verify_number(f, "worst_register", worst ? worst->reg : -1);
	verify_number(f, "limit", least / b->code.events);
}

static int stolen(struct verify *v, const char *experiment, const struct subject *s)
{
	verify_find(v, experiment, s->name, TARE_VERDICT_INFO,
		    "inconclusive: the counter was taken away in the middle");
	return 0;
}

/* Does the kernel move the event to another register while it counts, and is that without loss? */
static void watch_moves(struct verify *v, const struct subject *s, const struct bench *b)
{
	struct bare counter;
	unsigned moves = 0, wrong = 0;
	if (!b->n || bare_open(&counter, &s->event->base, BARE_PINNED) < 0)
		return;
	struct steady_bare how = { &counter, &b->code };
	int reg = bare_register(&counter);
	for (unsigned i = 0; i < (v->o.quick ? QUICK_WATCHED : WATCHED); i++) {
		int64_t value;
		if (steady_bare_count(&how, &value))
			break;
		const int now = bare_register(&counter);
		if (now >= 0 && now != reg) {
			moves++;
			wrong += value < b->places[0].seen.min || value > b->places[0].seen.max;
			reg = now;
		}
	}
	bare_close(&counter);
	if (!moves)
		return;
	/* an interrupt may be in one of them */
	if (wrong < 2 || wrong * 2 <= moves)
		wrong = 0;
	struct tare_verify_finding *const f = verify_find(
		v, "registers", s->name, wrong ? TARE_VERDICT_CAVEAT : TARE_VERDICT_INFO,
		"moved to another register %u time%s while it counted%s", moves, moves == 1 ? "" : "s",
		wrong ? ", and counted differently there" : "; the count stayed the same");
	verify_number(f, "moves", moves);
	verify_number(f, "deviating", wrong);
}

static bool is_general(int reg)
{
	return reg >= 0 && reg < REGISTERS;
}

/* *watched: moves were looked for, which the kernel can only make between general registers. */
static int registers_of(struct verify *v, const struct subject *s, bool *watched)
{
	struct bench *const b = calloc(1, sizeof(*b));
	if (!b)
		return TARE_E_NOMEM;
	if (!steady_code_for(v, s, &b->code)) {
		free(b);
		return 0;
	}
	int found;
	do {
		found = count_here(b, &s->event->base);
	} while (found > 0 && add_dummy(b, &s->event->base));
	close_dummies(b);
	if (!*watched && found >= 0 && b->n && is_general(b->places[0].reg)) {
		*watched = true;
		watch_moves(v, s, b);
	}
	if (found == TARE_E_STOLEN)
		stolen(v, "registers", s);
	else if (!b->n && b->moved)
		verify_find(v, "registers", s->name, TARE_VERDICT_INFO,
			    "inconclusive: the kernel moves it to another register too often");
	else if (!b->n)
		verify_find(v, "registers", s->name, TARE_VERDICT_INFO,
			    "no register is free for it");
	else
		judge_registers(v, s, b);
	free(b);
	return 0;
}

/* ---- a register that is set aside ---- */

/* The kernel gives registers from the lowest on, and gives them anew when an event is added. So a
 * single register cannot be held: it is held together with those below it, or so few events are
 * opened at once that none gets up to it. */
struct set_aside {
	const struct tare_encoding *event;	/* that fits the general registers only */
	size_t wanted;			/* registers that are held, from the lowest on */
	struct bare held[REGISTERS];
	size_t n;
};

static void hold_registers(struct verify *v)
{
	struct set_aside *const a = v->aside;
	for (; a && a->n < a->wanted; a->n++)
		if (bare_open(&a->held[a->n], a->event, BARE_PINNED | BARE_SILENT) < 0)
			break;
}

static void release_registers(struct verify *v)
{
	while (v->aside && v->aside->n)
		bare_close(&v->aside->held[--v->aside->n]);
}

/* The one general register that counts differently; -1: none, or more than one. *n: how many
 * there are. */
static int wrong_register(const struct bench *b, size_t *n)
{
	const struct steady *const u = b->n >= 3 && !b->moved ? usual(b, -1) : NULL;
	int wrong = -1;
	*n = 0;
	for (size_t i = 0; u && i < b->n; i++) {
		double least;
		*n += is_general(b->places[i].reg);
		if (steady_compare_means(&b->places[i].seen, u, &b->code, &least) != STEADY_DIFFERENT)
			continue;
		if (wrong >= 0 || !is_general(b->places[i].reg))
			return -1;
		wrong = b->places[i].reg;
	}
	return wrong;
}

static const struct subject *subject_of_instructions(const struct verify *v)
{
	for (size_t i = 0; i < v->n_subjects; i++)
		if (v->subjects[i].kind == KERNEL_INSTRUCTIONS && steady_can(&v->subjects[i]))
			return &v->subjects[i];
	return NULL;
}

static int survey(struct verify *v, const struct subject *s, size_t *n)
{
	struct bench *const b = calloc(1, sizeof(*b));
	int wrong = -1;
	if (b && steady_code_for(v, s, &b->code)) {
		int found;
		do {
			found = count_here(b, &s->event->base);
		} while (found > 0 && add_dummy(b, &s->event->base));
		close_dummies(b);
		if (found >= 0)
			wrong = wrong_register(b, n);
	}
	free(b);
	return wrong;
}

/* Some events have one register only, and are there whatever else is held. */
static void doubt_those_on(struct verify *v, int wrong)
{
	for (size_t i = 0; i < v->n_subjects; i++) {
		struct subject *const s = &v->subjects[i];
		struct bare b;
		if (!steady_can(s) || bare_open(&b, &s->event->base, BARE_PINNED) < 0)
			continue;
		if (bare_on(&b) && bare_register(&b) == wrong)
			verify_doubt(s, "it is counted on register %d, which counts wrongly", wrong);
		bare_close(&b);
	}
}

int registers_set_aside(struct verify *v)
{
	const struct subject *const s = v->soft ? NULL : subject_of_instructions(v);
	size_t n = 0;
	const int wrong = v->aside_register = s ? survey(v, s, &n) : -1;
	const struct tare_event *const general = wrong < 0 ? NULL : verify_event(v, "branches:u");
	if (!general || n < 2)
		return 0;
	const size_t below = (size_t)wrong;
	v->fillers = v->at_once = 0;		/* the same was found before, less clearly */
	if (below >= 2 || (below && below + 1 == n)) {
		v->most_events = below;
		doubt_those_on(v, wrong);
		return 0;
	}
	v->aside = calloc(1, sizeof(*v->aside));
	if (!v->aside)
		return TARE_E_NOMEM;
	v->aside->event = &general->base;
	v->aside->wanted = below + 1;
	hold_registers(v);
	doubt_those_on(v, wrong);
	return 0;
}

unsigned registers_to_fill(const struct verify *v)
{
	return !v->filler ? 0 : v->aside ? (unsigned)v->aside->wanted : v->fillers;
}

void registers_release(struct verify *v)
{
	release_registers(v);
	free(v->aside);
	v->aside = NULL;
}

static int run_registers(struct verify *v, struct tare_why *why)
{
	bool watched = false;
	int err = 0;
	release_registers(v);
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		err = verify_progress(v, "%s on every register", v->subjects[i].name);
		if (!err)
			err = registers_of(v, &v->subjects[i], &watched);
	}
	hold_registers(v);
	return err;
}

/* ---- all registers loaded ---- */

/* Fills the registers with the events of the other subjects, and with the subject's own. Returns
 * how many got one. */
static size_t load_registers(struct verify *v, struct bench *b, size_t subject)
{
	size_t on = 0;
	unsigned refused = 0;
	for (size_t i = 1; b->n_dummies < REGISTERS && refused < v->n_subjects + 1; i++) {
		const struct subject *const s = &v->subjects[(subject + i) % v->n_subjects];
		struct bare *const d = &b->dummies[b->n_dummies];
		if (!steady_can(s)) {
			refused++;
			continue;
		}
		if (bare_open(d, &s->event->base, BARE_PINNED) == 0 && bare_on(d)) {
			b->n_dummies++;
			on++;
			refused = 0;
			continue;
		}
		bare_close(d);
		refused++;
	}
	return on;
}

static void judge_loaded(struct verify *v, const struct subject *s, const struct bench *b,
			 size_t load, const struct steady *alone, const struct steady *loaded)
{
	char limit[48], got[32], want[32];
	struct tare_verify_finding *f;
	double least;
	const enum steady_compare is = steady_compare_means(alone, loaded, &b->code, &least);
	if (steady_silent(v, "loaded", s, &b->code, alone))
		return;
	if (is == STEADY_UNSETTLED) {
		steady_unsettled(v, "loaded", s, steady_is(alone) ? loaded : alone);
		return;
	}
	if (is == STEADY_SAME)
		f = verify_find(v, "loaded", s->name, TARE_VERDICT_GOOD,
				"the same alone and beside %zu other counting registers; %s would show",
				load, steady_limit(&b->code, least, limit, sizeof(limit)));
	else
		f = verify_find(v, "loaded", s->name, TARE_VERDICT_BAD,
				"%s beside %zu other counting registers, %s alone",
				steady_number(steady_shown(loaded), got, sizeof(got)), load,
				steady_number(steady_shown(alone), want, sizeof(want)));
	verify_number(f, "others", (double)load);
	verify_number(f, "alone", (double)steady_shown(alone));
	verify_number(f, "loaded", (double)steady_shown(loaded));
	verify_number(f, "limit", least / b->code.events);
}

static int loaded_of(struct verify *v, size_t subject)
{
	const struct subject *const s = &v->subjects[subject];
	struct bench *const b = calloc(1, sizeof(*b));
	struct bare counter;
	struct steady alone, loaded;
	if (!b)
		return TARE_E_NOMEM;
	if (!steady_code_for(v, s, &b->code)) {
		free(b);
		return 0;
	}
	struct steady_bare how = { &counter, &b->code };
	if (bare_open(&counter, &s->event->base, BARE_PINNED) == 0 && bare_on(&counter)) {
		int err = steady_count(steady_bare_count, &how, &alone);
		const size_t load = load_registers(v, b, subject);
		if (!err)
			err = steady_count(steady_bare_count, &how, &loaded);
		if (err)
			stolen(v, "loaded", s);
		else
			judge_loaded(v, s, b, load, &alone, &loaded);
	}
	bare_close(&counter);
	close_dummies(b);
	free(b);
	return 0;
}

static int run_loaded(struct verify *v, struct tare_why *why)
{
	int err = 0;
	for (size_t i = 0; !err && i < v->n_subjects; i++) {
		if (!steady_can(&v->subjects[i]))
			continue;
		err = verify_progress(v, "%s beside other events", v->subjects[i].name);
		if (!err)
			err = loaded_of(v, i);
	}
	return err;
}

const struct experiment experiment_registers = {
	.name = "registers", .about = "the same event on every counter register in turn",
	.hardware = true, .run = run_registers,
};
const struct experiment experiment_loaded = {
	.name = "loaded", .about = "each event alone and with all registers counting",
	.hardware = true, .run = run_loaded,
};
