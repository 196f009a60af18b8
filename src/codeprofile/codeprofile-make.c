/* The profile of a run.
 *
 * 1. Every range of the run's code is a *block*: ranges with the same bytes at the same place of the same
 *    object, of whichever process and thread, are one. Their runs are added up, and the instructions of a
 *    block are decoded once.
 * 2. The symbol room names the instructions, one object at a time.
 * 3. Instructions go to the builder with their counts: runs × what the instruction counts as.
 * 4. The ranges again, in the same order: each task gets its part of every function.
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

static enum tare_codeprofile_object_kind kind_of(const struct symbol_object *o, const struct tare_code_map *map)
{
	switch (symbol_object_kind(o)) {
	case SYMBOL_FILE:
		return TARE_CODEPROFILE_FILE;
	case SYMBOL_VDSO:
		return TARE_CODEPROFILE_VDSO;
	case SYMBOL_JIT:
		return TARE_CODEPROFILE_JIT;
	default:
		return map->inode ? TARE_CODEPROFILE_FILE : TARE_CODEPROFILE_ANONYMOUS;
	}
}

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

static uint64_t rehash_mapping(const void *arg, uint32_t place)
{
	return hash_mapping(&((const struct mapping_key *)arg)->m->mappings[place]);
}

/* Code that a process made after its mappings were read. It is known only where the process has a perf map. */
static const struct tare_code_map late = { .end = UINT64_MAX, .path = "" };

const struct mapping *maker_mapping(struct maker *m, const struct tare_code_map *map, pid_t pid)
{
	const bool own = !map || !map->inode;	/* memory of this process only */
	struct mapping_key k = { m, { .map = map, .pid = own ? pid : 0 } };
	uint32_t *const slot = places_find(&m->mapping_table, hash_mapping(&k.key), same_mapping,
					   rehash_mapping, &k);
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

static uint64_t rehash_block(const void *arg, uint32_t place)
{
	return ((const struct block_key *)arg)->m->blocks[place].hash;
}

/* The instructions of the block that is added next. */
static bool add_codes(struct maker *m, struct block *b, uint64_t address)
{
	b->first = (uint32_t)m->n_codes;
	for (unsigned at = 0; at < b->size;) {
		struct tare_code_insn in;
		if (!more_room(&m->codes, &m->cap_codes, m->n_codes, sizeof(*m->codes)))
			return false;
		if (!tare_code_insn(b->bytes + at, b->size - at, address + at, &in))
			break;
		m->codes[m->n_codes++] = (struct code){ .offset = b->offset + at, .block = (uint32_t)m->n_blocks,
							.size = (uint8_t)in.size, .events = in.events,
							.is_call = in.is_call };
		at += in.size;
	}
	b->n = (uint32_t)m->n_codes - b->first;
	return true;
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
	if (!map || !more_room(&m->ranges, &m->cap_ranges, m->n_ranges, sizeof(*m->ranges)))
		return TARE_E_NOMEM;
	struct symbol_object *const o = m->places[map->place].object;
	struct block_key k = { m, { .place = map->place, .bytes = r->bytes, .size = r->size,
				    .offset = o ? symbol_address(o, r->map, r->address) :
						  r->address } };
	k.key.hash = hash_block(&k.key);
	uint32_t *const slot = places_find(&m->block_table, k.key.hash, same_block, rehash_block, &k);
	if (!slot)
		return TARE_E_NOMEM;
	if (!*slot) {
		if (!more_room(&m->blocks, &m->cap_blocks, m->n_blocks, sizeof(*m->blocks)) ||
		    !add_codes(m, &k.key, r->address))
			return TARE_E_NOMEM;
		if (o)
			symbol_check(o, k.key.offset, r->bytes, r->size);
		m->blocks[m->n_blocks++] = k.key;
		*slot = (uint32_t)m->n_blocks;
		m->block_table.n++;
	}
	m->blocks[*slot - 1].runs += r->runs;
	m->blocks[*slot - 1].taken += r->taken;
	m->ranges[m->n_ranges++] = *slot - 1;
	return maker_note_places(m, r->pid, r->address, &m->blocks[*slot - 1]) ? 0 : TARE_E_NOMEM;
}

/* ---- names ---- */

/* Where nothing has the bounds of functions, the targets of direct calls are their starts, within the gap that is
 * known to be between functions. */
struct starts {
	bool found;
	uint64_t *at;
	size_t n, cap;
	uint64_t last, end;		/* of the function that was asked for last … */
	uint32_t last_function;		/* … and its place; NONE: there was none */
};

static int compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static bool find_starts(struct starts *s, const struct maker *m, uint32_t place)
{
	for (size_t i = place ? m->place_ends[place - 1] : 0; i < m->place_ends[place]; i++) {
		const struct code *const c = &m->codes[m->order[i]];
		struct tare_code_insn in;
		if (!c->is_call || !tare_code_insn(code_bytes(m, c), c->size, c->offset, &in) ||
		    !in.has_target)
			continue;
		if (!more_room(&s->at, &s->cap, s->n, sizeof(*s->at)))
			return false;
		s->at[s->n++] = in.target;
	}
	if (s->n)
		qsort(s->at, s->n, sizeof(*s->at), compare_u64);
	return s->found = true;
}

/* The last start that is not behind the address; without one, the page of the address. *end: the next start. */
static uint64_t start_of(const struct starts *s, uint64_t address, uint64_t *end)
{
	size_t low = 0, high = s->n;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (s->at[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*end = low < s->n ? s->at[low] : UINT64_MAX;
	if (low)
		return s->at[low - 1];
	const uint64_t page = address & ~0xfffull;
	*end = *end < page + 0x1000 ? *end : page + 0x1000;
	return page;
}

static int64_t mtime_of(const char *path)
{
	struct stat s;
	return stat(path, &s) == 0 ? (int64_t)s.st_mtime : 0;
}

static uint32_t file_of(struct maker *m, const char *path)
{
	if (!path || !*path)
		return NONE;
	if (path == m->last_path)	/* the symbol room has each path once */
		return m->last_file;
	const size_t before = m->b.p->n_files;
	const uint32_t f = builder_file(&m->b, path, 0);
	if (f == before)
		m->b.p->files[f].mtime = mtime_of(path);
	m->last_path = path;
	return m->last_file = f;
}

uint32_t maker_function(struct maker *m, uint32_t object, struct symbol_function *s)
{
	if (s->user)
		return (uint32_t)(uintptr_t)s->user - 1;
	const uint32_t f = builder_function(&m->b, &(struct tare_codeprofile_function){
		.name = s->name, .linkage = s->named ? s->linkage : "", .object = object,
		.file = file_of(m, s->file), .line = s->line, .offset = s->start, .size = s->size });
	s->user = (void *)((uintptr_t)f + 1);
	return f;
}

static uint32_t unnamed_function(struct maker *m, uint32_t place, uint64_t address,
				 const struct symbol_function *gap, struct starts *starts)
{
	if (!starts->found && !find_starts(starts, m, place))
		return NONE;
	const uint32_t object = m->places[place].in_profile;
	if (starts->last_function != NONE && address >= starts->last && address < starts->end)
		return starts->last_function;
	uint64_t start = start_of(starts, address, &starts->end);
	if (gap && gap->start > start)
		start = gap->start;
	if (gap && gap->start + gap->size < starts->end)
		starts->end = gap->start + gap->size;
	const char *const path = m->b.p->objects[object].path;
	const char *const slash = strrchr(path, '/');
	struct buf name = { 0 };
	buf_printf(&name, "%s+0x%llx", slash ? slash + 1 : path, (unsigned long long)start);
	const uint32_t f = buf_failed(&name) ? NONE : builder_function(&m->b, &(struct tare_codeprofile_function){
		.name = name.data, .object = object, .file = NONE, .offset = start });
	buf_free(&name);
	starts->last = start;
	return starts->last_function = f;
}

static void fill_counts(struct maker *m, const struct code *c, int64_t runs, int64_t *counts)
{
	for (size_t e = 0; e < m->n_events; e++)
		if (c->events & m->masks[e])
			counts[e] += runs;
}

static void fill_taken(struct maker *m, int64_t taken, int64_t *counts)
{
	for (size_t e = 0; taken && e < m->n_events; e++)
		if (m->counts_taken >> e & 1)
			counts[e] += taken;
}

static bool name_code(struct maker *m, struct code *c, const struct symbol_where *w, struct starts *starts)
{
	const uint32_t place = m->blocks[c->block].place;
	const uint32_t function = w->function && !w->function->is_gap ?
				  maker_function(m, m->places[place].in_profile, w->function) :
				  unnamed_function(m, place, c->offset, w->function, starts);
	struct tare_codeprofile_insn in = { .function = function, .file = file_of(m, w->file),
					    .line = w->line, .size = c->size, .offset = c->offset };
	memcpy(in.bytes, code_bytes(m, c), c->size);
	c->in_profile = function == NONE ? NONE : builder_insn_in_order(&m->b, &in);
	return c->in_profile != NONE;
}

static const char *path_of_kind(const struct symbol_object *o, enum tare_codeprofile_object_kind kind)
{
	if (!o)
		return "[not known]";
	return kind == TARE_CODEPROFILE_ANONYMOUS && !*symbol_object_path(o) ? "[anonymous]" :
									       symbol_object_path(o);
}

/* Why the object has no names; NULL: it may have some. */
static const char *why_unnamed(const struct maker *m, const struct symbol_object *o)
{
	const char *const note = o ? symbol_object_note(o) : NULL;
	const bool is_read = o && (symbol_object_kind(o) == SYMBOL_FILE || symbol_object_kind(o) == SYMBOL_VDSO);
	return note || !is_read ? note : symbols_note(m->symbols);
}

uint32_t maker_object(struct maker *m, uint32_t place)
{
	if (m->places[place].in_profile != NONE)
		return m->places[place].in_profile;
	const struct symbol_object *const o = m->places[place].object;
	const struct tare_code_map *map = NULL;
	for (size_t i = 0; i < m->n_mappings && !map; i++)
		if (m->mappings[i].place == place)
			map = m->mappings[i].map;
	const enum tare_codeprofile_object_kind kind = o ? kind_of(o, map) : TARE_CODEPROFILE_UNKNOWN;
	return m->places[place].in_profile = builder_object(&m->b, &(struct tare_codeprofile_object){
		.path = path_of_kind(o, kind), .kind = kind, .deleted = map && map->deleted,
		.build_id = o ? symbol_object_build_id(o) : "", .names = why_unnamed(m, o) });
}

/* Addresses that are asked about at once: their answers stay in the cache. */
#define AT_ONCE 8192u

struct question {
	uint64_t addresses[AT_ONCE];
	struct symbol_where where[AT_ONCE];
};

static int name_place(struct maker *m, uint32_t place, struct question *q)
{
	struct symbol_object *const o = m->places[place].object;
	struct starts starts = { .last_function = NONE };
	const bool ask = o && !m->o->no_names;
	int err = 0;
	size_t n;
	for (size_t at = place ? m->place_ends[place - 1] : 0; !err && at < m->place_ends[place]; at += n) {
		n = m->place_ends[place] - at < AT_ONCE ? m->place_ends[place] - at : AT_ONCE;
		for (size_t i = 0; ask && i < n; i++)
			q->addresses[i] = m->codes[m->order[at + i]].offset;
		if (ask)
			err = symbols_at(o, q->addresses, n, q->where, m->why);
		if (!err && maker_object(m, place) == NONE)
			err = TARE_E_NOMEM;
		for (size_t i = 0; !err && i < n; i++) {
			static const struct symbol_where nowhere;
			if (!name_code(m, &m->codes[m->order[at + i]], ask ? &q->where[i] : &nowhere, &starts))
				err = TARE_E_NOMEM;
		}
	}
	free(starts.at);
	return err;
}

/* One pass of a radix sort: by BITS bits of the offset. What is equal stays in order. */
enum { BITS = 11, DIGITS = 1 << BITS };

static void sort_pass(const struct maker *m, const uint32_t *from, uint32_t *to, unsigned shift)
{
	uint32_t starts[DIGITS + 1] = { 0 };
	for (size_t i = 0; i < m->n_codes; i++)
		starts[(m->codes[i].offset >> shift & (DIGITS - 1)) + 1]++;
	for (size_t i = 1; i <= DIGITS; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < m->n_codes; i++)
		to[starts[m->codes[from[i]].offset >> shift & (DIGITS - 1)]++] = from[i];
}

/* The codes of each place together. By then m->place_ends[i] is the end of place i. */
static void sort_by_place(struct maker *m, const uint32_t *sorted)
{
	size_t *const ends = m->place_ends;
	for (size_t i = 0; i < m->n_codes; i++)
		ends[m->blocks[m->codes[i].block].place + 1]++;
	for (size_t i = 1; i <= m->n_places; i++)
		ends[i] += ends[i - 1];
	for (size_t i = 0; i < m->n_codes; i++)
		m->order[ends[m->blocks[m->codes[sorted[i]].block].place]++] = sorted[i];
}

static bool sort_codes(struct maker *m)
{
	uint32_t *sorted = malloc((m->n_codes + 1) * sizeof(*sorted));
	m->order = malloc((m->n_codes + 1) * sizeof(*m->order));
	m->place_ends = calloc(m->n_places + 2, sizeof(*m->place_ends));
	const bool ok = sorted && m->order && m->place_ends;
	uint64_t all = 0;
	for (size_t i = 0; ok && i < m->n_codes; i++) {
		all |= m->codes[i].offset;
		sorted[i] = (uint32_t)i;
	}
	for (unsigned shift = 0; ok && shift < 64 && all >> shift; shift += BITS) {
		uint32_t *const other = m->order;
		sort_pass(m, sorted, other, shift);
		m->order = sorted;
		sorted = other;
	}
	if (ok)
		sort_by_place(m, sorted);
	free(sorted);
	return ok;
}

size_t maker_code_from(const struct maker *m, size_t first, size_t end, uint64_t offset)
{
	while (first < end) {
		const size_t middle = first + (end - first) / 2;
		if (m->codes[m->order[middle]].offset < offset)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static int name_all(struct maker *m)
{
	struct question *const q = malloc(sizeof(*q));
	int err = q && sort_codes(m) && builder_expect_insns(&m->b, m->n_codes) ? 0 : TARE_E_NOMEM;
	for (uint32_t i = 0; !err && i < m->n_places; i++)
		err = name_place(m, i, q);
	free(q);
	return err;
}

static void count_blocks(struct maker *m)
{
	for (size_t i = 0; i < m->n_blocks; i++) {
		const struct block *const b = &m->blocks[i];
		for (uint32_t k = 0; k < b->n; k++) {
			const struct code *const c = &m->codes[b->first + k];
			int64_t *const counts = builder_insn_counts(&m->b, c->in_profile);
			m->b.p->insns[c->in_profile].runs += (uint64_t)b->runs;
			fill_counts(m, c, b->runs, counts);
			if (k + 1 == b->n)
				fill_taken(m, b->taken, counts);
		}
	}
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
	for (size_t i = p->n_tasks; i-- > 0;)
		if (p->tasks[i].pid == r->pid && p->tasks[i].tid == tid)
			return (uint32_t)i;
	const struct tare_task *const t = task_of(m->m, r->pid, tid);
	return builder_task(&m->b, &(struct tare_codeprofile_task){
		.pid = r->pid, .tid = tid, .command = t ? t->comm : "", .exe = t ? t->exe : "",
		.incomplete = t ? t->not_counted ? t->not_counted : t->cut_off : NULL });
}

static int add_to_task(const struct tare_code_range *r, void *arg)
{
	struct maker *const m = arg;
	if (!wants_range(m, r))
		return 0;
	const struct block *const b = &m->blocks[m->ranges[m->at_range++]];
	const uint32_t task = task_in_profile(m, r);
	if (task == NONE)
		return TARE_E_NOMEM;
	int64_t *const all = builder_task_counts(&m->b, task);
	const bool shares = m->o->by_process || m->o->by_thread;
	int64_t *share = NULL;
	uint32_t last = NONE;
	for (uint32_t k = 0; k < b->n; k++) {
		const struct code *const c = &m->codes[b->first + k];
		const uint32_t f = m->b.p->insns[c->in_profile].function;
		fill_counts(m, c, r->runs, all);
		if (shares && f != last && !(share = builder_share(&m->b, task, f)))
			return TARE_E_NOMEM;
		last = f;
		if (share)
			fill_counts(m, c, r->runs, share);
		if (k + 1 == b->n) {
			fill_taken(m, r->taken, all);
			if (share)
				fill_taken(m, r->taken, share);
		}
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
		const bool part = m->o->only_pid || m->o->only_tid || m->o->one_dump;
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
	for (size_t e = 0; e < m->n_events; e++) {
		const struct tare_event *const event = tare_events_at(m->o->events, e);
		for (unsigned k = 0; k < 32; k++) {
			const struct tare_code_insn one = { .events = 1u << k };
			if (tare_code_counts(&one, event))
				m->masks[e] |= 1u << k;
		}
		if (event->role == TARE_ROLE_TAKEN_BRANCHES)
			m->counts_taken |= 1ull << e;
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
	free(m->blocks);
	free(m->ranges);
}

static int fill(struct maker *m)
{
	int err = tare_code_each(m->m->code, add_range, m, m->why);
	if (!err)
		err = name_all(m);
	if (err)
		return err;
	count_blocks(m);
	err = tare_code_each(m->m->code, add_to_task, m, m->why);
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
