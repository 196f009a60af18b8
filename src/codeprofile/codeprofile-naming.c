/* Names of the code of a run: which function each instruction belongs to, and its line.
 *
 * The code of each object is sorted by its addresses, and the symbol room is asked for many addresses at once.
 *
 * With .no_insns a block is named as a whole. The answer for its first byte says up to which address it holds
 * (symbol_where.until); a block that reaches further is split into its instructions. What was learned is kept as
 * *spans*, which tell the function of any address later (maker_function_at()).
 */
#include "codeprofile-make.h"

#include "buf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- functions without a name ---- */

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

/* The instruction that ends the code. False: it cannot be decoded. */
static bool last_insn(const struct maker *m, const struct code *c, struct tare_code_insn *in)
{
	const uint8_t *const bytes = code_bytes(m, c);
	unsigned size = 0;
	for (unsigned at = 0; at < c->size; at += size)
		if (!(size = tare_code_insn(bytes + at, c->size - at, c->offset + at, in)))
			return false;
	return c->size;
}

enum { CALL = 0xe8, CALL_SIZE = 5 };	/* a direct call; it is the last instruction of its block */

static bool may_end_with_call(const struct maker *m, const struct code *c)
{
	return c->size >= CALL_SIZE && code_bytes(m, c)[c->size - CALL_SIZE] == CALL;
}

static bool find_starts(struct starts *s, const struct maker *m, uint32_t place)
{
	for (size_t i = place ? m->place_ends[place - 1] : 0; i < m->place_ends[place]; i++) {
		const struct code *const c = &m->codes[m->order[i]];
		struct tare_code_insn in;
		if (!(c->whole ? may_end_with_call(m, c) : c->is_call) || !last_insn(m, c, &in) || !in.is_call ||
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

/* ---- an instruction, a block ---- */

/* Addresses that are asked about at once: their answers stay in the cache. */
#define AT_ONCE 8192u

/* The code of one place, while it is named. */
struct naming {
	struct maker *m;
	uint32_t place;
	bool ask;
	struct starts starts;
	uint32_t *split;		/* codes that belong to several functions */
	size_t n_split, cap_split;
	uint64_t addresses[AT_ONCE];
	struct symbol_where where[AT_ONCE];
};

/* The function of an address, and the first address behind it that may belong to another one. */
static uint32_t function_of(struct naming *n, uint64_t offset, const struct symbol_where *w, uint64_t *until)
{
	struct maker *const m = n->m;
	*until = w->until ? w->until : UINT64_MAX;
	if (w->function && !w->function->is_gap)
		return maker_function(m, m->places[n->place].in_profile, w->function);
	const uint32_t function = unnamed_function(m, n->place, offset, w->function, &n->starts);
	if (n->starts.end < *until)
		*until = n->starts.end;
	return function;
}

static bool name_insn(struct naming *n, struct code *c, const struct symbol_where *w)
{
	struct maker *const m = n->m;
	uint64_t until;
	const uint32_t function = function_of(n, c->offset, w, &until);
	struct tare_codeprofile_insn in = { .function = function, .file = file_of(m, w->file),
					    .line = w->line, .size = (uint8_t)c->size, .offset = c->offset };
	memcpy(in.bytes, code_bytes(m, c), c->size);
	c->in_profile = function == NONE ? NONE : builder_insn_in_order(&m->b, &in);
	return c->in_profile != NONE;
}

/* The one that stands for all instructions of the function. */
static uint32_t insn_of_function(struct maker *m, uint32_t function)
{
	return function == NONE ? NONE : builder_insn(&m->b, &(struct tare_codeprofile_insn){
		.function = function, .file = NONE, .offset = m->b.p->functions[function].offset });
}

static bool add_span(struct naming *n, uint64_t start, uint64_t end, uint32_t in_profile)
{
	struct maker *const m = n->m;
	struct span *const last = m->n_spans > (n->place ? m->span_ends[n->place - 1] : 0) ?
				  &m->spans[m->n_spans - 1] : NULL;
	if (last && last->in_profile == in_profile && last->start <= start && last->end == end)
		return true;
	if (!more_room(&m->spans, &m->cap_spans, m->n_spans, sizeof(*m->spans)))
		return false;
	m->spans[m->n_spans++] = (struct span){ start, end, in_profile };
	return true;
}

static bool name_block(struct naming *n, uint32_t code, const struct symbol_where *w)
{
	struct maker *const m = n->m;
	struct code *const c = &m->codes[code];
	uint64_t until;
	const uint32_t insn = insn_of_function(m, function_of(n, c->offset, w, &until));
	if (insn == NONE || !add_span(n, c->offset, until, insn))
		return false;
	c->in_profile = insn;
	if (!c->whole || until - c->offset >= c->size)
		return true;
	if (!more_room(&n->split, &n->cap_split, n->n_split, sizeof(*n->split)))
		return false;
	n->split[n->n_split++] = code;
	return true;
}

static int name_codes(struct naming *n, const uint32_t *codes, size_t n_codes)
{
	static const struct symbol_where nowhere;
	struct maker *const m = n->m;
	int err = 0;
	for (size_t i = 0; n->ask && i < n_codes; i++)
		n->addresses[i] = m->codes[codes[i]].offset;
	if (n->ask)
		err = symbols_at(m->places[n->place].object, n->addresses, n_codes, n->where, m->why);
	if (!err && maker_object(m, n->place) == NONE)
		err = TARE_E_NOMEM;
	for (size_t i = 0; !err && i < n_codes; i++) {
		const struct symbol_where *const w = n->ask ? &n->where[i] : &nowhere;
		if (!(m->o->no_insns ? name_block(n, codes[i], w) : name_insn(n, &m->codes[codes[i]], w)))
			err = TARE_E_NOMEM;
	}
	return err;
}

/* A block that belongs to several functions: its instructions one by one. */
static int split_block(struct naming *n, uint32_t block)
{
	struct maker *const m = n->m;
	struct block *const b = &m->blocks[block];
	if (!maker_decode(m, block))
		return TARE_E_NOMEM;
	int err = 0;
	for (uint32_t i = 0, some; !err && i < b->n; i += some) {
		uint32_t codes[64];
		some = b->n - i < 64 ? b->n - i : 64;
		for (uint32_t k = 0; k < some; k++)
			codes[k] = b->first + i + k;
		err = name_codes(n, codes, some);
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct span *const x = a, *const y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int split_blocks(struct naming *n)
{
	struct maker *const m = n->m;
	int err = 0;
	for (size_t i = 0; !err && i < n->n_split; i++)
		err = split_block(n, m->codes[n->split[i]].block);
	const size_t first = n->place ? m->span_ends[n->place - 1] : 0;
	if (n->n_split)
		qsort(m->spans + first, m->n_spans - first, sizeof(*m->spans), by_start);
	m->span_ends[n->place] = m->n_spans;
	return err;
}

uint32_t maker_function_at(const struct maker *m, uint32_t place, uint64_t offset)
{
	size_t low = place ? m->span_ends[place - 1] : 0, high = m->span_ends[place];
	const size_t first = low;
	while (low < high) {		/* the first span that begins behind the address */
		const size_t middle = low + (high - low) / 2;
		if (m->spans[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first && offset < m->spans[low - 1].end ? m->spans[low - 1].in_profile : NONE;
}

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

/* ---- all of it ---- */

static int name_place(struct naming *n, uint32_t place)
{
	struct maker *const m = n->m;
	int err = 0;
	n->place = place;
	n->ask = m->places[place].object && !m->o->no_names;
	n->starts = (struct starts){ .last_function = NONE };
	n->n_split = 0;
	size_t some;
	for (size_t at = place ? m->place_ends[place - 1] : 0; !err && at < m->place_ends[place]; at += some) {
		some = m->place_ends[place] - at < AT_ONCE ? m->place_ends[place] - at : AT_ONCE;
		err = name_codes(n, m->order + at, some);
	}
	if (!err)
		err = split_blocks(n);
	free(n->starts.at);
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

int maker_name(struct maker *m)
{
	struct naming *const n = calloc(1, sizeof(*n));
	m->span_ends = calloc(m->n_places + 1, sizeof(*m->span_ends));
	int err = n && m->span_ends && sort_codes(m) &&
		  (m->o->no_insns || builder_expect_insns(&m->b, m->n_codes)) ? 0 : TARE_E_NOMEM;
	for (uint32_t i = 0; n && !err && i < m->n_places; i++) {
		n->m = m;
		err = name_place(n, i);
	}
	if (n)
		free(n->split);
	free(n);
	return err;
}
