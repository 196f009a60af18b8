/* tare_run_planted(): the flaws of a model as a list, one entry for each event and cause. */
#include <tare/run.h>

#include "model.h"
#include "options-copy.h"
#include "why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The list that grows, and the texts that it points to. */
struct planted_list {
	struct vpmu_model model;
	struct vpmu_flaws flaws;
	size_t n, room;
	struct tare_run_planted items[];
};

#define MOST (VPMU_MAX_FLAWS * 8 + VPMU_MAX_ROWS + 16)

static const struct { const char *cause, *letter; } causes[VPMU_CAUSES] = {
	[CAUSE_INTERRUPT] = { "interrupt", "h" },
	[CAUSE_FAULT] = { "page-fault", "p" },
	[CAUSE_INSN] = { "instruction", "D" },
	[CAUSE_EXCEPTION] = { "exception", "E" },
	[CAUSE_FIRST_FP] = { "first-fp", "F" },
	[CAUSE_EVENT] = { "micro-op", "U" },
	[CAUSE_REPLAY] = { "replay", "U" },
	[CAUSE_IRET] = { "iret", "" },
	[CAUSE_ENTRY] = { "entry", "" },
	[CAUSE_MIGRATION] = { "migration", "" },
	[CAUSE_SWITCH] = { "switch", "" },
};

static const char *const sets[] = {
	[INSNS_FLDCW] = "fldcw fldenv frstor maskmovq emms cvtpd2pi cvttpd2pi sfence mfence",
	[INSNS_X87_STATE] = "fninit fnsave fnclex",
	[INSNS_0F] = "0F",
	[INSNS_CPUID] = "cpuid",
	[INSNS_FENCE] = "cpuid sfence mfence clflush",
	[INSNS_CLFLUSH] = "clflush",
	[INSNS_LOAD_TOO] = "leave fstenv fsave fxsave maskmovq maskmovdqu movups movupd movdqu",
	[INSNS_PADD_MEMORY] = "paddb paddw paddq",
};

static void put(struct planted_list *l, struct tare_run_planted item)
{
	if (l->n < l->room)
		l->items[l->n++] = item;
}

static struct tare_run_planted of_row(const struct planted_list *l, uint32_t i)
{
	const struct vpmu_row *const r = &l->model.rows[i];
	return (struct tare_run_planted){ .event = r->name, .code = r->has_raw ? r->raw : 0,
					  .role = tare_role_name((enum tare_role)r->role), .what = "" };
}

static const char *what_of(const struct vpmu_flaws *f, const struct vpmu_flaw *flaw)
{
	if (flaw->cause == CAUSE_EVENT)
		return flaw->which == SOFT_X87 ? "x87" : flaw->which == SOFT_CALLS ? "calls" : "each";
	if (flaw->cause != CAUSE_INSN)
		return "";
	const struct vpmu_insns *const s = &f->insns[flaw->which];
	return s->set == INSNS_OPCODE ? s->name : sets[s->set];
}

static void put_rows(struct planted_list *l)
{
	const struct vpmu_flaws *const f = &l->flaws;
	for (uint32_t k = 0; k < f->n_rows; k++) {
		const struct vpmu_flaw *const flaw = &f->rows[k];
		for (uint32_t i = 0; i < l->model.n_rows; i++) {
			if (!(flaw->rows >> i & 1))
				continue;
			struct tare_run_planted item = of_row(l, i);
			item.cause = causes[flaw->cause].cause;
			item.letter = flaw->amount < 0 ? "M" : causes[flaw->cause].letter;
			item.what = what_of(f, flaw);
			item.amount = flaw->amount;
			item.one_of = flaw->except;
			put(l, item);
		}
	}
	for (uint32_t i = 0; i < l->model.n_rows; i++) {
		struct tare_run_planted item = of_row(l, i);
		item.letter = "";
		item.cause = "dead";
		if (f->dead >> i & 1)
			put(l, item);
		item.cause = "early-read";
		item.amount = f->early;
		if (f->early_rows >> i & 1)
			put(l, item);
	}
}

static void put_pmu(struct planted_list *l, const char *cause, uint64_t amount, uint64_t one_of)
{
	if (amount)
		put(l, (struct tare_run_planted){ .event = "", .role = "", .cause = cause, .letter = "",
						  .what = "", .amount = (int64_t)amount,
						  .one_of = one_of });
}

/* The interrupt event, if its code is not that of the tables. */
static void put_undocumented(struct planted_list *l, const struct vpmu_model *table)
{
	for (uint32_t i = 0; i < l->model.n_rows; i++)
		if (l->model.rows[i].raw != table->rows[i].raw) {
			struct tare_run_planted item = of_row(l, i);
			item.cause = "undocumented";
			item.letter = "";
			put(l, item);
		}
}

static void put_all(struct planted_list *l, const struct vpmu_model *table)
{
	const struct vpmu_flaws *const f = &l->flaws;
	put_rows(l);
	put_undocumented(l, table);
	put_pmu(l, "interrupts", f->irq_period ? PER_SECOND / f->irq_period : 0, 0);
	put_pmu(l, f->contended ? "contended" : "speclockmap", f->speclock, 0);
	if (f->bad_counter)
		put(l, (struct tare_run_planted){ .event = "", .role = "", .cause = "register",
						  .letter = "", .what = f->bad_amount < 0 ? "loses" : "doubles",
						  .amount = f->bad_counter - 1, .one_of = f->bad_one_of });
	put_pmu(l, "narrow", f->narrow, 0);
	put_pmu(l, "wrap", f->wrap, 0);
	put_pmu(l, "moved", f->move_at / PER_MS, 0);
	put_pmu(l, "stolen", f->steal_at / PER_MS, 0);
	put_pmu(l, "watchdog", f->watchdog, 0);
	if (f->skid)
		put(l, (struct tare_run_planted){ .event = "", .role = "", .cause = "skid", .letter = "",
						  .what = "", .amount = f->skid_max,
						  .one_of = f->skid_min });
	put_pmu(l, "throttle", f->throttle, 0);
	put_pmu(l, "held", (uint64_t)__builtin_popcount(f->held), 0);
}

int tare_run_planted(const struct tare_run_options *given, struct tare_run_planted **list, size_t *n,
		     struct tare_why *why)
{
	struct tare_why local;
	struct tare_why *const w = why ? why : &local;
	struct tare_run_options o;
	if (!list || !n)
		return why_set(w, TARE_E_INVALID, "list or n is NULL");
	*list = NULL;
	*n = 0;
	int err = options_copy(&o, sizeof(o), given, "tare_run_options", w);
	if (err)
		return err;
	const struct model *const m = model_find(o.cpu, w);
	if (!m)
		return TARE_E_INVALID;
	struct planted_list *const l = calloc(1, sizeof(*l) + MOST * sizeof(l->items[0]));
	if (!l)
		return why_set(w, TARE_E_NOMEM, "the list of flaws");
	l->room = MOST;
	struct vpmu_model table;
	model_fill(m, &table);
	l->model = table;
	err = model_flaws(m, &l->model, o.flaws, &l->flaws, w);
	if (err) {
		free(l);
		return err;
	}
	put_all(l, &table);
	*list = l->items;
	*n = l->n;
	return 0;
}

void tare_run_planted_free(struct tare_run_planted *list)
{
	if (list)
		free((char *)list - offsetof(struct planted_list, items));
}
