/* The profile of a run.
 *
 * 1. Every range of the run's code is a *block*: ranges with the same bytes at the same place of the same
 *    object, of whichever process and thread, are one. Their runs are added up, and the instructions of a
 *    block are decoded once.
 * 2. The symbol room names the instructions, one object at a time (codeprofile-naming.c).
 * 3. Instructions go to the builder with their counts: runs × what the instruction counts as.
 * 4. If it is asked for: the ranges again, in the same order; each task gets its part of every function.
 */
#include "codeprofile-make.h"

#include "buf.h"
#include "options-copy.h"
#include "why.h"

#include <tare/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MOST_REASONS 10u

/* ---- objects ---- */

/* The object's place in the profile is found after its names are read: what there is to say of it, and
 * its build-id, are known then. */
static uint32_t add_place(struct maker *m, struct symbol_object *o)
{
	for (uint32_t i = 0; i < m->n_places; i++)
		if (m->places[i].object == o)
			return i;
	if (!more_room(&m->places, &m->cap_places, m->n_places, sizeof(*m->places)))
		return NONE;
	m->places[m->n_places] = (struct place){ .object = o, .in_profile = NONE };
	return (uint32_t)m->n_places++;
}

static uint64_t hash_mapping(const struct mapping *k)
{
	return hash_u64(hash_u64(HASH_START, (uintptr_t)k->map), (uint32_t)k->pid);
}

struct mapping_key {
	const struct maker *m;
	struct mapping key;
};

static bool same_mapping(const void *arg, uint32_t place)
{
	const struct mapping_key *const k = arg;
	const struct mapping *const x = &k->m->mappings[place];
	return x->map == k->key.map && x->pid == k->key.pid;
}

/* Code that a process made after its mappings were read. It is known only where the process has a perf map. */
static const struct tare_code_map late = { .end = UINT64_MAX, .path = "" };

const struct mapping *maker_mapping(struct maker *m, const struct tare_code_map *map, pid_t pid)
{
	const bool own = !map || !map->inode;	/* memory of this process only */
	struct mapping_key k = { m, { .map = map, .pid = own ? pid : 0 } };
	uint32_t *const slot = places_find(&m->mapping_table, hash_mapping(&k.key), same_mapping, &k);
	if (slot && *slot)
		return &m->mappings[*slot - 1];
	if (!slot || !more_room(&m->mappings, &m->cap_mappings, m->n_mappings, sizeof(*m->mappings)))
		return NULL;
	struct symbol_object *o = symbols_object(m->symbols, map ? map : &late, pid, NULL, m->why);
	if (!o)
		return NULL;
	if (!map && strcmp(symbol_object_path(o), "[jit]"))
		o = NULL;
	k.key.place = add_place(m, o);
	if (k.key.place == NONE)
		return NULL;
	m->mappings[m->n_mappings++] = k.key;
	*slot = (uint32_t)m->n_mappings;
	m->mapping_table.n++;
	return &m->mappings[m->n_mappings - 1];
}

/* ---- blocks ---- */

static uint64_t hash_block(const struct block *k)
{
	return hash_bytes(hash_u64(hash_u64(HASH_START, k->place), k->offset), k->bytes, k->size);
}

struct block_key {
	const struct maker *m;
	struct block key;
};

static bool same_block(const void *arg, uint32_t place)
{
	const struct block_key *const k = arg;
	const struct block *const x = &k->m->blocks[place];
	return x->hash == k->key.hash && x->offset == k->key.offset && x->place == k->key.place &&
	       x->size == k->key.size && !memcmp(x->bytes, k->key.bytes, x->size);
}

bool maker_decode(struct maker *m, uint32_t block)
{
	struct block *const b = &m->blocks[block];
	b->first = (uint32_t)m->n_codes;
	for (unsigned at = 0; at < b->size;) {
		struct tare_code_insn in;
		if (!more_room(&m->codes, &m->cap_codes, m->n_codes, sizeof(*m->codes)))
			return false;
		/* (which instruction it is does not depend on the address) */
		if (!tare_code_insn(b->bytes + at, b->size - at, b->offset + at, &in))
			break;
		m->codes[m->n_codes++] = (struct code){ .offset = b->offset + at, .block = block,
							.size = (uint16_t)in.size, .events = in.events,
							.is_call = in.is_call };
		at += in.size;
	}
	b->n = (uint32_t)m->n_codes - b->first;
	return true;
}

/* One code for all of it. */
static bool add_whole(struct maker *m, uint32_t block)
{
	struct block *const b = &m->blocks[block];
	if (!more_room(&m->codes, &m->cap_codes, m->n_codes, sizeof(*m->codes)))
		return false;
	b->first = (uint32_t)m->n_codes;
	b->n = 1;
	m->codes[m->n_codes++] = (struct code){ .offset = b->offset, .block = block, .size = (uint16_t)b->size,
						.whole = true };
	return true;
}

static void add_events(const struct maker *m, uint32_t events, int64_t runs, int64_t *counts)
{
	for (size_t e = 0; e < m->n_events; e++)
		if (events & m->masks[e])
			counts[e] += runs;
}

/* What one run of the block counts; it was added last. */
static bool add_worth(struct maker *m, const struct block *b, unsigned n_insns)
{
	if (!more_room(&m->worth, &m->cap_worth, m->n_worth, m->n_events * sizeof(*m->worth)))
		return false;
	int64_t *const worth = m->worth + m->n_worth++ * m->n_events;
	memset(worth, 0, m->n_events * sizeof(*worth));
	struct tare_code_insn in;
	if (!m->o->no_insns)
		for (uint32_t i = 0; i < b->n; i++)
			add_events(m, m->codes[b->first + i].events, 1, worth);
	else if (m->only_insns)		/* needs no decoding */
		for (size_t e = 0; e < m->n_events; e++)
			worth[e] = n_insns;
	else
		for (unsigned at = 0; at < b->size && tare_code_insn(b->bytes + at, b->size - at, 0, &in); at += in.size)
			add_events(m, in.events, 1, worth);
	return true;
}

static bool add_block(struct maker *m, const struct block *b, unsigned n_insns)
{
	if (!more_room(&m->blocks, &m->cap_blocks, m->n_blocks, sizeof(*m->blocks)))
		return false;
	const uint32_t block = (uint32_t)m->n_blocks;
	m->blocks[m->n_blocks++] = *b;
	return (m->o->no_insns ? add_whole(m, block) : maker_decode(m, block)) &&
	       add_worth(m, &m->blocks[block], n_insns);
}

/* ---- tasks ---- */

/* The last of its records: after exec, the program that it became. */
static const struct tare_task *task_of(const struct tare_measurement *m, pid_t pid, pid_t tid)
{
	for (size_t i = m->n_tasks; i-- > 0;)
		if (m->tasks[i].pid == pid && (!tid || m->tasks[i].tid == tid))
			return &m->tasks[i];
	return NULL;
}

static uint32_t task_in_profile(struct maker *m, const struct tare_code_range *r)
{
	struct tare_codeprofile *const p = m->b.p;
	const pid_t tid = m->o->by_thread ? r->tid : 0;
	if (m->last_task < p->n_tasks && p->tasks[m->last_task].pid == r->pid && p->tasks[m->last_task].tid == tid)
		return m->last_task;
	for (size_t i = p->n_tasks; i-- > 0;)
		if (p->tasks[i].pid == r->pid && p->tasks[i].tid == tid)
			return m->last_task = (uint32_t)i;
	const struct tare_task *const t = task_of(m->m, r->pid, tid);
	return builder_task(&m->b, &(struct tare_codeprofile_task){
		.pid = r->pid, .tid = tid, .command = t ? t->comm : "", .exe = t ? t->exe : "",
		.incomplete = t ? t->not_counted ? t->not_counted : t->cut_off : NULL });
}

/* ---- ranges ---- */

static void fill_taken(struct maker *m, int64_t taken, int64_t *counts)
{
	for (size_t e = 0; taken && e < m->n_events; e++)
		if (m->counts_taken >> e & 1)
			counts[e] += taken;
}

/* Is it of the process, thread and dump that the profile is of? */
static bool wants_range(const struct maker *m, const struct tare_code_range *r)
{
	return maker_wants(m, r->pid, r->tid) && (!m->o->one_dump || r->dump == m->o->dump);
}

static int add_range(const struct tare_code_range *r, void *arg)
{
	struct maker *const m = arg;
	if (!wants_range(m, r))
		return 0;
	const struct mapping *const map = maker_mapping(m, r->map, r->pid);
	const bool keep = m->o->by_process || m->o->by_thread;
	if (!map || (keep && !more_room(&m->ranges, &m->cap_ranges, m->n_ranges, sizeof(*m->ranges))))
		return TARE_E_NOMEM;
	struct symbol_object *const o = m->places[map->place].object;
	struct block_key k = { m, { .place = map->place, .bytes = r->bytes, .size = r->size,
				    .offset = o ? symbol_address(o, r->map, r->address) :
						  r->address } };
	k.key.hash = hash_block(&k.key);
	uint32_t *const slot = places_find(&m->block_table, k.key.hash, same_block, &k);
	if (!slot)
		return TARE_E_NOMEM;
	if (!*slot) {
		if (!add_block(m, &k.key, r->n_insns))
			return TARE_E_NOMEM;
		if (o)
			symbol_check(o, k.key.offset, r->bytes, r->size);
		*slot = (uint32_t)m->n_blocks;
		m->block_table.n++;
	}
	struct block *const b = &m->blocks[*slot - 1];
	b->runs += r->runs;
	b->taken += r->taken;
	if (keep)
		m->ranges[m->n_ranges++] = *slot - 1;
	const uint32_t task = task_in_profile(m, r);
	if (task == NONE || !maker_note_places(m, r->pid, r->address, b))
		return TARE_E_NOMEM;
	int64_t *const counts = builder_task_counts(&m->b, task);
	for (size_t e = 0; e < m->n_events; e++)
		counts[e] += r->runs * m->worth[(b - m->blocks) * (ptrdiff_t)m->n_events + (ptrdiff_t)e];
	fill_taken(m, r->taken, counts);
	return 0;
}

/* ---- counts ---- */

static void fill_counts(struct maker *m, const struct code *c, int64_t runs, int64_t *counts)
{
	if (!c->whole) {
		add_events(m, c->events, runs, counts);
		return;
	}
	for (size_t e = 0; e < m->n_events; e++)
		counts[e] += runs * m->worth[c->block * m->n_events + e];
}

/* Code that was counted and left out again (tare_measure_options.leave_out) has no entry. */
static void drop_code(struct maker *m)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->n_blocks; i++) {
		struct block *const b = &m->blocks[i];
		const uint32_t first = b->first, here = b->runs || b->taken ? b->n : 0;
		b->first = n;
		b->n = here;
		if (n != first)
			memmove(m->codes + n, m->codes + first, here * sizeof(*m->codes));
		n += here;
	}
	m->n_codes = n;
}

static void count_blocks(struct maker *m)
{
	for (size_t i = 0; i < m->n_blocks; i++) {
		const struct block *const b = &m->blocks[i];
		for (uint32_t k = 0; k < b->n; k++) {
			const struct code *const c = &m->codes[b->first + k];
			int64_t *const counts = builder_insn_counts(&m->b, c->in_profile);
			if (!m->o->no_insns)
				m->b.p->insns[c->in_profile].runs += (uint64_t)b->runs;
			fill_counts(m, c, b->runs, counts);
			if (k + 1 == b->n)
				fill_taken(m, b->taken, counts);
		}
	}
}

/* ---- parts of tasks ---- */

static int add_shares(const struct tare_code_range *r, void *arg)
{
	struct maker *const m = arg;
	if (!wants_range(m, r))
		return 0;
	const struct block *const b = &m->blocks[m->ranges[m->at_range++]];
	const uint32_t task = task_in_profile(m, r);
	int64_t *share = NULL;
	uint32_t last = NONE;
	for (uint32_t k = 0; k < b->n; k++) {
		const struct code *const c = &m->codes[b->first + k];
		const uint32_t f = m->b.p->insns[c->in_profile].function;
		if (f != last && !(share = builder_share(&m->b, task, f)))
			return TARE_E_NOMEM;
		last = f;
		fill_counts(m, c, r->runs, share);
		if (k + 1 == b->n)
			fill_taken(m, r->taken, share);
	}
	return 0;
}

/* ---- totals ---- */

/* What was counted and has no place. */
static bool add_rest(struct maker *m, const int64_t *rest)
{
	static const char name[] = "[not known]";
	const uint32_t object = builder_object(&m->b, &(struct tare_codeprofile_object){
		.path = name, .kind = TARE_CODEPROFILE_UNKNOWN });
	const uint32_t function = object == NONE ? NONE : builder_function(&m->b,
		&(struct tare_codeprofile_function){ .name = name, .object = object, .file = NONE });
	const uint32_t insn = function == NONE ? NONE : builder_insn_in_order(&m->b,
		&(struct tare_codeprofile_insn){ .function = function, .file = NONE });
	const uint32_t task = builder_task(&m->b, &(struct tare_codeprofile_task){ .command = name });
	const bool shares = m->o->by_process || m->o->by_thread;
	if (insn == NONE || task == NONE || (shares && !builder_share(&m->b, task, function)))
		return false;
	for (size_t e = 0; e < m->n_events; e++) {
		builder_insn_counts(&m->b, insn)[e] += rest[e];
		builder_task_counts(&m->b, task)[e] += rest[e];
		if (shares)
			builder_share(&m->b, task, function)[e] += rest[e];
	}
	return true;
}

static void add_reasons(struct maker *m)
{
	const struct tare_measurement *const r = m->m;
	size_t n = 0;
	char text[512];
	if (r->timed_out)
		builder_reason(&m->b, "the run was ended by its timeout");
	if (r->stopped)
		builder_reason(&m->b, "the run was ended before the command was at its end");
	for (size_t i = 0; i < r->n_tasks; i++) {
		const struct tare_task *const t = &r->tasks[i];
		const char *const why = t->not_counted ? t->not_counted : t->cut_off;
		if (!why || !maker_wants(m, t->pid, t->tid) || n++ >= MOST_REASONS)
			continue;
		snprintf(text, sizeof(text), "%s %d (%s) was not counted%s: %s",
			 t->is_thread ? "thread" : "process", (int)t->tid, t->comm,
			 t->not_counted ? "" : " to its end", why);
		builder_reason(&m->b, text);
	}
	if (n > MOST_REASONS) {
		snprintf(text, sizeof(text), "%zu more processes and threads were not counted to their end",
			 n - MOST_REASONS);
		builder_reason(&m->b, text);
	}
}

static bool set_totals(struct maker *m)
{
	int64_t rest[MOST_EVENTS] = { 0 };
	bool any = false;
	for (size_t e = 0; e < m->n_events; e++) {
		const struct tare_count *const c = &m->m->counts[e];
		int64_t sum = 0;
		for (uint32_t i = 0; i < m->b.p->n_insns; i++)
			sum += builder_insn_counts(&m->b, i)[e];
		/* The log of a process that was killed can be ahead of the counts that were read. */
		const bool part = m->o->only_pid || m->o->only_tid || m->o->one_dump || m->o->code_totals;
		const int64_t total = part || (c->lower_bound && (int64_t)c->value < sum) ? sum :
				      (int64_t)c->value;
		rest[e] = total - sum;
		any |= rest[e] != 0;
		m->b.p->complete &= !c->lower_bound;
		builder_event(&m->b, e, &(struct tare_codeprofile_event){
			.name = c->event, .unit = c->unit, .provenance = c->provenance, .total = total });
	}
	if (any && !tare_code_is_complete(m->m->code))
		builder_reason(&m->b, "so much code ran that not all of it could be stored: a part of the counts "
				      "has no place");
	return !any || add_rest(m, rest);
}

/* ---- all of it ---- */

static void find_masks(struct maker *m)
{
	static const uint8_t nop = 0x90;	/* counts as an instruction, and as nothing else */
	struct tare_code_insn plain;
	tare_code_insn(&nop, 1, 0, &plain);
	m->only_insns = true;
	for (size_t e = 0; e < m->n_events; e++) {
		const struct tare_event *const event = tare_events_at(m->o->events, e);
		for (unsigned k = 0; k < 32; k++) {
			const struct tare_code_insn one = { .events = 1u << k };
			if (tare_code_counts(&one, event))
				m->masks[e] |= 1u << k;
		}
		if (event->role == TARE_ROLE_TAKEN_BRANCHES)
			m->counts_taken |= 1ull << e;
		m->only_insns &= (m->masks[e] & plain.events) != 0;
	}
}

static void set_command(struct maker *m)
{
	struct buf text = { 0 };
	for (char *const *a = m->o->argv; a && *a; a++) {
		buf_str(&text, text.len ? " " : "");
		buf_str(&text, *a);
	}
	if (!m->b.failed) {
		m->b.p->command = builder_text(&m->b, text.data);
		m->b.p->tare = builder_text(&m->b, TARE_VERSION);
		m->b.p->start_s = (int64_t)time(NULL);
		m->b.p->exit_status = m->m->exit_status;
	}
	buf_free(&text);
}

static int check(const struct tare_measurement *m, const struct tare_codeprofile_options *o,
		 struct tare_why *why)
{
	const size_t n = tare_events_count(o->events);
	if (!m || !m->code || !n || n != m->n_counts)
		return why_set(why, TARE_E_INVALID, "a code profile: the measurement has no code (.code), or "
			       "other events");
	if (n > MOST_EVENTS)
		return why_set(why, TARE_E_RANGE, "a code profile of %zu events; %u at most", n, MOST_EVENTS);
	if (o->no_insns && o->extra)
		return why_set(why, TARE_E_INVALID, "a code profile: .extra is by instruction, and .no_insns leaves "
			       "instructions out");
	for (size_t i = 0; i < n; i++)
		if (!tare_engine_counts(tare_events_at(o->events, i)))
			return why_set(why, TARE_E_EVENT_UNCOUNTABLE, "%s: it has no place in the code",
				       tare_events_at(o->events, i)->name);
	return 0;
}

static void free_maker(struct maker *m)
{
	symbols_free(m->symbols);
	places_free(&m->mapping_table);
	places_free(&m->block_table);
	places_free(&m->at_table);
	free(m->ats);
	free(m->places);
	free(m->mappings);
	free(m->codes);
	free(m->order);
	free(m->place_ends);
	free(m->worth);
	free(m->spans);
	free(m->span_ends);
	free(m->blocks);
	free(m->ranges);
}

static int fill(struct maker *m)
{
	int err = tare_code_each(m->m->code, add_range, m, m->why);
	if (!m->o->extra)		/* (it refers to code by its place) */
		drop_code(m);
	if (!err)
		err = maker_name(m);
	if (err)
		return err;
	count_blocks(m);
	if (m->o->by_process || m->o->by_thread)
		err = tare_code_each(m->m->code, add_shares, m, m->why);
	if (!err && (!maker_extra(m) || !set_totals(m)))
		err = TARE_E_NOMEM;
	if (!err)
		err = maker_contexts(m);
	if (!err)
		add_reasons(m);
	return err;
}

/* Files that were changed since then are not what ran. */
static struct timespec start_of_run(const struct tare_measurement *m)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	const uint64_t ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec - m->wall_ns;
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000ull), .tv_nsec = (long)(ns % 1000000000ull) };
}

int tare_codeprofile_make(const struct tare_measurement *measurement, const struct tare_codeprofile_options *given,
			  struct tare_codeprofile **p, struct tare_why *why)
{
	struct tare_codeprofile_options o;
	struct maker m = { .m = measurement, .o = &o, .why = why };
	if (!p)
		return why_set(why, TARE_E_INVALID, "tare_codeprofile_make: no place for the profile");
	*p = NULL;
	int err = options_copy(&o, sizeof(o), given, "tare_codeprofile_options", why);
	if (!err)
		err = check(measurement, &o, why);
	if (err)
		return err;
	m.n_events = tare_events_count(o.events);
	m.symbols = symbols_new(&(struct symbols_options){ .since = start_of_run(measurement),
							   .no_lines = o.no_lines, .no_inlines = true }, why);
	builder_open(&m.b, m.n_events + (o.extra ? o.extra->n_events : 0));
	find_masks(&m);
	set_command(&m);
	err = m.symbols && !m.b.failed ? fill(&m) : TARE_E_NOMEM;
	if (err)
		m.b.failed = true;
	err = builder_finish(&m.b, p, why);
	free_maker(&m);
	return err;
}
