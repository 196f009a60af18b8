/* From identity, name and role to rows. No libc: see cpu-room.h. */
#include "cpu-room.h"

#include <tare/err.h>

static const struct cpu_tables *const all[] = {
	&cpu_tables_intel_core, &cpu_tables_intel_atom, &cpu_tables_amd, &cpu_tables_arm,
	&cpu_tables_other,
};

const struct cpu_tables *cpu_tables_at(size_t i)
{
	return i < sizeof(all) / sizeof(all[0]) ? all[i] : NULL;
}

static char folded(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static const char *skip_joints(const char *s)
{
	while (*s == '-' || *s == '_' || *s == ' ')
		s++;
	return s;
}

bool cpu_same_name(const char *a, const char *b)
{
	for (;; a++, b++) {
		a = skip_joints(a);
		b = skip_joints(b);
		if (folded(*a) != folded(*b))
			return false;
		if (!*a)
			return true;
	}
}

const struct tare_uarch *tare_uarch_at(size_t i)
{
	const struct cpu_tables *t;

	for (size_t k = 0; (t = cpu_tables_at(k)); k++) {
		if (i < t->n_uarchs)
			return t->uarchs[i];
		i -= t->n_uarchs;
	}
	return NULL;
}

/* A hypervisor may hide the core type of a hybrid model, and a test may ask a
 * uniform model with one: the exact core type wins, then the P core, then the
 * only row there is. */
static int fit(enum tare_core_type have, enum tare_core_type want)
{
	if (have == want)
		return 3;
	if (want == TARE_CORE_UNIFORM)
		return have == TARE_CORE_PERFORMANCE ? 2 : 1;
	return have == TARE_CORE_UNIFORM;
}

const struct tare_uarch *tare_uarch_x86(enum tare_vendor vendor, unsigned family,
					unsigned model, enum tare_core_type core)
{
	const struct tare_uarch *best = NULL;
	const struct cpu_tables *t;
	int best_fit = 0;

	for (size_t k = 0; (t = cpu_tables_at(k)); k++) {
		for (size_t i = 0; i < t->n_x86_ids; i++) {
			const struct cpu_x86_id *const id = &t->x86_ids[i];
			if (id->vendor != vendor || id->family != family ||
			    model < id->first_model || model > id->last_model ||
			    fit(id->core, core) <= best_fit)
				continue;
			best = id->uarch;
			best_fit = fit(id->core, core);
		}
	}
	return best;
}

const struct tare_uarch *tare_uarch_arm(uint32_t midr)
{
	const unsigned implementer = midr >> 24, part = midr >> 4 & 0xfff;
	const struct cpu_tables *t;

	for (size_t k = 0; (t = cpu_tables_at(k)); k++)
		for (size_t i = 0; i < t->n_arm_ids; i++)
			if (t->arm_ids[i].implementer == implementer && t->arm_ids[i].part == part)
				return t->arm_ids[i].uarch;
	return NULL;
}

/* What follows the maker's name, the title's first word; or the name as it is. */
static const char *skip_maker(const char *title, const char *name)
{
	const char *n = name;
	for (; *title && *title != ' '; title++, n++)
		if (folded(*title) != folded(*n))
			return name;
	return skip_joints(n) == n ? name : n;
}

const struct tare_uarch *tare_uarch_by_name(const char *name)
{
	const struct tare_uarch *u;
	const struct cpu_tables *t;

	if (!name || !*skip_joints(name))
		return NULL;
	for (size_t i = 0; (u = tare_uarch_at(i)); i++)
		if (cpu_same_name(u->name, name) || cpu_same_name(u->title, name))
			return u;
	for (size_t k = 0; (t = cpu_tables_at(k)); k++)
		for (size_t i = 0; i < t->n_aliases; i++)
			if (cpu_same_name(t->aliases[i].alias, name) ||
			    cpu_same_name(t->aliases[i].alias,
					  skip_maker(t->aliases[i].uarch->title, name)))
				return t->aliases[i].uarch;
	return NULL;
}

void cpu_counters_of_table(struct tare_cpu *cpu)
{
	cpu->gp_counters = cpu->uarch ? cpu->uarch->gp_counters : 0;
	cpu->fixed_counters = cpu->uarch ? cpu->uarch->fixed_counters : 0;
}

int tare_cpu_from_name(const char *name, struct tare_cpu *cpu)
{
	const struct tare_uarch *const u = tare_uarch_by_name(name);
	const struct cpu_tables *t;

	if (!cpu)
		return TARE_E_INVALID;
	*cpu = (struct tare_cpu){ 0 };
	if (!u)
		return TARE_E_UNTESTED_CPU;
	cpu->arch = u->arch;
	cpu->vendor = u->vendor;
	cpu->core = u->core;
	cpu->uarch = u;
	cpu_counters_of_table(cpu);
	cpu->lfence_serializes = u->arch == TARE_ARCH_X86_64;
	size_t n = 0;
	for (; u->title[n] && n < sizeof(cpu->brand) - 1; n++)
		cpu->brand[n] = u->title[n];
	/* The first id stands for all of them. */
	for (size_t k = 0; (t = cpu_tables_at(k)); k++) {
		for (size_t i = t->n_x86_ids; i-- > 0;) {
			if (t->x86_ids[i].uarch != u)
				continue;
			cpu->vendor = t->x86_ids[i].vendor;
			cpu->family = t->x86_ids[i].family;
			cpu->model = t->x86_ids[i].first_model;
			cpu->hybrid = t->x86_ids[i].core != TARE_CORE_UNIFORM;
		}
		for (size_t i = t->n_arm_ids; i-- > 0;)
			if (t->arm_ids[i].uarch == u)
				cpu->midr = t->arm_ids[i].implementer << 24 | 0xfu << 16 |
					    t->arm_ids[i].part << 4;
	}
	return 0;
}

/* Less is better. Among equals the first row wins. */
static unsigned distrust(const struct tare_event_row *row)
{
	const unsigned t = row->trust;

	if (t & TARE_TRUST_BROKEN)
		return 1000;
	if (t & TARE_TRUST_DETERMINISTIC)
		return 0;
	unsigned bad = 1 + !row->documented;
	for (unsigned bit = TARE_TRUST_NOISY_INTERRUPTS; bit <= TARE_TRUST_UNTESTED; bit <<= 1)
		bad += t & bit ? 2 : 0;
	return bad + (t == 0 ? 10 : 0);
}

const struct tare_event_row *tare_cpu_event(const struct tare_uarch *u, enum tare_role role)
{
	const struct tare_event_row *best = NULL;

	if (!u || role == TARE_ROLE_OTHER)
		return NULL;
	for (size_t i = 0; i < u->n_events; i++) {
		const struct tare_event_row *const row = &u->events[i];
		if (row->role == role && (!best || distrust(row) < distrust(best)))
			best = row;
	}
	return best;
}

/* Whether `name` is the word that starts at `list` and ends at a blank or at the
 * end. '.' and ':' both join an event and its unit mask (Intel's files, libpfm4). */
static bool same_event_name(const char *list, const char *name)
{
	for (;; list++, name++) {
		const char x = *list == '.' ? ':' : folded(*list == ' ' ? '\0' : *list);
		const char y = *name == '.' ? ':' : folded(*name);
		if (x != y)
			return false;
		if (!x)
			return true;
	}
}

static bool has_alias(const char *aliases, const char *name)
{
	while (aliases && *aliases) {
		if (same_event_name(aliases, name))
			return true;
		while (*aliases && *aliases != ' ')
			aliases++;
		while (*aliases == ' ')
			aliases++;
	}
	return false;
}

const struct tare_event_row *tare_cpu_event_by_name(const struct tare_uarch *u,
						    const char *name)
{
	for (size_t i = 0; u && name && *name && i < u->n_events; i++)
		if (same_event_name(u->events[i].name, name) ||
		    has_alias(u->events[i].aliases, name))
			return &u->events[i];
	return NULL;
}

const char *tare_role_name(enum tare_role role)
{
	static const char *const names[] = {
		[TARE_ROLE_OTHER] = "other",
		[TARE_ROLE_INSTRUCTIONS] = "instructions",
		[TARE_ROLE_INSTRUCTIONS_FIXED] = "instructions-fixed",
		[TARE_ROLE_BRANCHES] = "branches",
		[TARE_ROLE_COND_BRANCHES] = "cond-branches",
		[TARE_ROLE_COND_TAKEN] = "cond-taken",
		[TARE_ROLE_TAKEN_BRANCHES] = "taken-branches",
		[TARE_ROLE_FAR_BRANCHES] = "far-transfers",
		[TARE_ROLE_LOADS] = "loads",
		[TARE_ROLE_STORES] = "stores",
		[TARE_ROLE_LOAD_UOPS] = "load-uops",
		[TARE_ROLE_STORE_UOPS] = "store-uops",
		[TARE_ROLE_MULTIPLIES] = "multiplies",
		[TARE_ROLE_DIVIDES] = "divides",
		[TARE_ROLE_FP] = "fp",
		[TARE_ROLE_FP2] = "fp2",
		[TARE_ROLE_SSE] = "sse",
		[TARE_ROLE_UOPS] = "uops",
		[TARE_ROLE_INTERRUPTS] = "interrupts",
		[TARE_ROLE_INTERRUPTS_AND_FAULTS] = "interrupts-and-faults",
		[TARE_ROLE_SPECLOCKMAP] = "speclockmap",
		[TARE_ROLE_FP1] = "fp1",
		[TARE_ROLE_CALLS] = "calls",
		[TARE_ROLE_RETURNS] = "returns",
		[TARE_ROLE_INDIRECT_BRANCHES] = "indirect-branches",
		[TARE_ROLE_SYSCALLS] = "syscalls",
		[TARE_ROLE_X87] = "x87",
		[TARE_ROLE_SIMD_INT] = "simd-int",
		[TARE_ROLE_LOCKED] = "locked",
		[TARE_ROLE_CYCLES] = "cycles",
		[TARE_ROLE_INSTRUCTIONS_PRECISE] = "instructions-precise",
		[TARE_ROLE_UNCOND_BRANCHES] = "uncond-branches",
		[TARE_ROLE_ASSISTS] = "assists",
		[TARE_ROLE_PAGE_FAULTS] = "hw-page-faults",
		[TARE_ROLE_EXCEPTIONS] = "exceptions",
		[TARE_ROLE_EXCEPTION_RETURNS] = "exception-returns",
		[TARE_ROLE_FAST_INTERRUPTS] = "fast-interrupts",
		[TARE_ROLE_SMIS] = "smis",
		[TARE_ROLE_REP_ITERATIONS] = "rep-iterations",
		[TARE_ROLE_BUS_LOCKS] = "bus-locks",
		[TARE_ROLE_DISPATCHED_LOADS] = "dispatched-loads",
		[TARE_ROLE_DISPATCHED_STORES] = "dispatched-stores",
		[TARE_ROLE_EXCLUSIVES] = "exclusives",
		[TARE_ROLE_FP_EXCEPTIONS] = "fp-exceptions",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == TARE_ROLE_COUNT, "a role has no name");

	return (unsigned)role < TARE_ROLE_COUNT ? names[role] : "unknown";
}

/* Appends to out[0..size), always ending in a NUL; what does not fit is cut. */
static void append(char *out, size_t size, size_t *len, const char *text)
{
	while (*text && *len + 1 < size)
		out[(*len)++] = *text++;
	if (size)
		out[*len] = '\0';
}

/* One word per bit, the letter is the paper's. Words of one kind stand together
 * behind their heading: "noisy: interrupts, page faults; overcounts: lazy FP". */
static const struct {
	unsigned bit;
	const char *heading;
	const char *text;
	const char *letter;
} trust_words[] = {
	{ TARE_TRUST_DETERMINISTIC, "", "deterministic", "" },
	{ TARE_TRUST_BROKEN, "", "broken", "" },
	{ TARE_TRUST_NOISY_INTERRUPTS, "noisy: ", "interrupts", "h" },
	{ TARE_TRUST_NOISY_FAULTS, "noisy: ", "page faults", "p" },
	{ TARE_TRUST_OVER_EXCEPTIONS, "overcounts: ", "x87/SSE exceptions", "E" },
	{ TARE_TRUST_OVER_LAZY_FP, "overcounts: ", "lazy FP", "F" },
	{ TARE_TRUST_OVER_INSNS, "overcounts: ", "some instructions", "D" },
	{ TARE_TRUST_UNDER_INSNS, "undercounts: ", "some instructions", "M" },
	{ TARE_TRUST_UOPS, "", "counts micro-ops", "U" },
	{ TARE_TRUST_SPECULATIVE, "", "counts executed, not retired", "S" },
};

char *tare_trust_text(unsigned trust, char *out, size_t size)
{
	const char *heading = "";
	size_t len = 0;

	append(out, size, &len, "");
	for (size_t i = 0; i < sizeof(trust_words) / sizeof(trust_words[0]); i++) {
		if (!(trust & trust_words[i].bit))
			continue;
		const bool goes_on = heading[0] && cpu_same_name(trust_words[i].heading, heading);
		if (len)
			append(out, size, &len, goes_on ? ", " : "; ");
		heading = trust_words[i].heading;
		if (!goes_on)
			append(out, size, &len, heading);
		append(out, size, &len, trust_words[i].text);
	}
	if (trust & TARE_TRUST_UNTESTED)
		append(out, size, &len, len ? " (untested)" : "untested");
	if (!len)
		append(out, size, &len, "unknown");
	return out;
}

char *tare_trust_letters(unsigned trust, char *out, size_t size)
{
	size_t len = 0;

	append(out, size, &len, "");
	for (size_t i = 0; i < sizeof(trust_words) / sizeof(trust_words[0]); i++)
		if (trust & trust_words[i].bit)
			append(out, size, &len, trust_words[i].letter);
	if (!len)
		append(out, size, &len, trust & TARE_TRUST_DETERMINISTIC ? "DETERMINISTIC" : "-");
	return out;
}
