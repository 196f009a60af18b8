#include "names.h"

#include "large.h"
#include "why.h"

#include <stdlib.h>

static uint32_t hash_text(const char *text, size_t len)
{
	uint64_t h = 0xCBF29CE484222325ull ^ len;
	for (; len >= 8; text += 8, len -= 8) {
		uint64_t v;
		memcpy(&v, text, 8);
		h = (h ^ v) * 0x9E3779B97F4A7C15ull;
		h ^= h >> 29;
	}
	uint64_t v = 0;
	memcpy(&v, text, len);
	h = (h ^ v) * 0x9E3779B97F4A7C15ull;
	return (uint32_t)(h >> 32);
}

static struct name_slot *find_slot(const struct names *t, const char *text, size_t len,
				   uint32_t hash)
{
	const uint32_t mask = t->n_slots - 1;
	for (uint32_t i = hash & mask; ; i = (i + 1) & mask) {
		struct name_slot *const slot = &t->slots[i];
		if (!slot->number)
			return slot;
		if (slot->hash != hash)
			continue;
		const struct name *const have = &t->list[slot->number - 1];
		if (have->len == len && memcmp(t->arena.data + have->off, text, len) == 0)
			return slot;
	}
}

#define NAMES_MANY (1u << 18)

static bool grow_slots(struct names *t)
{
	/* Many are copied less often: nearly every page of them is written anew. */
	const uint32_t n_slots = t->n_slots ? (t->n_slots < NAMES_MANY ? 2 : 4) * t->n_slots : 256;
	struct name_slot *const slots = large_grow(NULL, 0, n_slots * sizeof(*slots));
	if (!slots)
		return false;
	large_fill(slots, n_slots * sizeof(*slots));
	for (uint32_t n = 0; n < t->n_slots; n++) {
		if (!t->slots[n].number)
			continue;
		uint32_t i = t->slots[n].hash & (n_slots - 1);
		while (slots[i].number)
			i = (i + 1) & (n_slots - 1);
		slots[i] = t->slots[n];
	}
	large_free(t->slots, t->n_slots * sizeof(*t->slots));
	t->slots = slots;
	t->n_slots = n_slots;
	return true;
}

void text_tame(struct buf *text, size_t from)
{
	if (from < text->len)
		text_printable(text->data + from, text->len - from);
}

uint32_t names_find(const struct names *t, const char *text, size_t len)
{
	if (!t->n_slots)
		return NO_NAME;
	return find_slot(t, text, len, hash_text(text, len))->number - 1;
}

static uint32_t add_hashed(struct names *t, const char *text, size_t len, uint32_t hash)
{
	if (len > UINT32_MAX || (t->n + 1 > t->n_slots / 4 * 3 && !grow_slots(t)))
		return NO_NAME;
	struct name_slot *const slot = find_slot(t, text, len, hash);
	if (slot->number)
		return slot->number - 1;
	if (t->n == t->cap) {
		const uint32_t cap = t->cap ? 2 * t->cap : 128;
		struct name *const list = large_grow(t->list, t->cap * sizeof(*list), cap * sizeof(*list));
		if (!list)
			return NO_NAME;
		t->list = list;
		t->cap = cap;
	}
	t->list[t->n] = (struct name){ t->arena.len, (uint32_t)len };
	buf_add(&t->arena, text, len);
	buf_chr(&t->arena, '\0');
	if (buf_failed(&t->arena))
		return NO_NAME;
	*slot = (struct name_slot){ ++t->n, hash };
	return t->n - 1;
}

uint32_t names_add(struct names *t, const char *text, size_t len)
{
	return add_hashed(t, text, len, hash_text(text, len));
}

const char *names_text(const struct names *t, uint32_t n)
{
	return t->arena.data + t->list[n].off;
}

void names_free(struct names *t)
{
	buf_free(&t->arena);
	large_free(t->list, t->cap * sizeof(*t->list));
	large_free(t->slots, t->n_slots * sizeof(*t->slots));
	*t = (struct names){ 0 };
}

void resolver_init(struct resolver *r, struct tare_profile *p, struct names *names,
		   enum resolve_mode mode, struct tare_why *why)
{
	r->p = p;
	r->names = names;
	r->mode = mode;
	r->why = why;
	r->err = 0;
	r->scratch = r->text = (struct buf){ 0 };
	const uint64_t bytes = p->streams[MM_STRINGS].size;
	r->n_direct = mode == RESOLVE_TEXT ? 1
		      : bytes <= UINT16_MAX ? UINT16_MAX + 1
		      : bytes < DIRECT_BYTES ? bytes + 1 : DIRECT_BYTES;
	r->direct = calloc(r->n_direct, sizeof(*r->direct));
	r->none = 0;
	r->calls = mode == RESOLVE_ARGS ? calloc(1, sizeof(*r->calls)) : NULL;
	if (!r->direct) {
		r->direct = &r->none;
		r->n_direct = 1;
	}
	for (uint32_t i = 0; i < 2 * RESOLVE_SETS; i++)
		r->slot[i].addr = UINT64_MAX;
}

void resolver_free(struct resolver *r)
{
	buf_free(&r->scratch);
	buf_free(&r->text);
	free(r->calls);
	if (r->direct != &r->none)
		free(r->direct);
}

static uint32_t out_of_memory(struct resolver *r)
{
	r->err = why_set(r->why, TARE_E_NOMEM, "%.120s: names", r->p->path);
	return NO_NAME;
}

/* "label(arg, arg)" appended to the scratch text. */
static void add_call(struct resolver *r, const struct event_name *n)
{
	buf_add(&r->scratch, n->label, n->label_len);
	if (!n->n_args)
		return;
	buf_chr(&r->scratch, '(');
	for (size_t at = 0; at < n->args_len; ) {
		const char *const sep = memchr(n->args + at, MM_SEPARATOR, n->args_len - at);
		const size_t end = sep ? (size_t)(sep - n->args) : n->args_len;
		buf_add(&r->scratch, n->args + at, end - at);
		if (sep)
			buf_add(&r->scratch, ", ", 2);
		at = end + (sep != NULL);
	}
	buf_chr(&r->scratch, ')');
}

/* The text of the id's name behind the scratch text; r->has_args. False: r->err says why. */
static bool add_name_text(struct resolver *r, uint64_t id)
{
	struct event_name n;
	const size_t from = r->scratch.len;
	r->has_args = true;
	if (r->calls && plain_call(r->calls, r->p, strings_addr(r->p, id), &r->scratch))
		return true;
	r->text.len = 0;
	r->err = strings_text(r->p, id, &r->text, r->why);
	if (r->err < 0)
		return false;
	if (r->mode == RESOLVE_TEXT) {
		buf_add(&r->scratch, r->text.data, r->text.len);
		text_tame(&r->scratch, from);
		return true;
	}
	event_name_split(r->text.data, r->text.len, &n);
	r->has_args = n.n_args > 0;
	if (n.error)
		profile_warn(r->p, TARE_PROFILE_BAD_EVENT_ID, 1);
	if (r->mode == RESOLVE_LABEL)
		buf_add(&r->scratch, n.label, n.label_len);
	else
		add_call(r, &n);
	return true;
}

static uint32_t decode_name(struct resolver *r, uint64_t id)
{
	r->scratch.len = 0;
	if (!add_name_text(r, id))
		return NO_NAME;
	const uint32_t name = names_add(r->names, r->scratch.data, r->scratch.len);
	return name == NO_NAME ? out_of_memory(r) : name;
}

static struct resolved *set_of(struct resolver *r, uint64_t addr)
{
	return &r->slot[2 * ((addr * 0x9E3779B97F4A7C15ull) >> 52)];	/* 12 bits */
}

static const struct resolved *remembered(struct resolver *r, uint64_t addr)
{
	const struct resolved *const set = set_of(r, addr);
	return set[0].addr == addr ? &set[0] : set[1].addr == addr ? &set[1] : NULL;
}

static void remember(struct resolver *r, uint64_t addr, uint32_t name, uint32_t has_args)
{
	struct resolved *const set = set_of(r, addr);
	set[1] = set[0];
	set[0] = (struct resolved){ addr, name, has_args };
	if (addr && addr < r->n_direct && addr <= r->p->streams[MM_STRINGS].size &&
	    name < UINT32_MAX / 2)
		r->direct[addr] = (name + 1) << 1 | has_args;
}

uint32_t resolver_slow(struct resolver *r, uint64_t id)
{
	const uint64_t addr = strings_addr(r->p, id);
	const struct resolved *const known = remembered(r, addr);
	if (known) {
		r->has_args = known->has_args;
		return known->name;
	}
	/* Label and arguments are usually references: the label's own string is
	 * remembered, the whole need not be decoded. */
	const uint64_t label = r->mode == RESOLVE_LABEL ? strings_label_id(r->p, id) : 0;
	const uint64_t label_addr = label ? strings_addr(r->p, label) : 0;
	const struct resolved *const own = label_addr ? remembered(r, label_addr) : NULL;
	uint32_t name = own ? own->name : NO_NAME;
	r->has_args = true;
	if (name == NO_NAME) {
		name = decode_name(r, id);
		if (name == NO_NAME)
			return NO_NAME;
		if (label_addr)
			remember(r, label_addr, name, false);
	}
	remember(r, addr, name, r->has_args);
	return name;
}

/* One of the ids of resolve_many(). */
struct one {
	uint64_t addr;
	size_t like;			/* the first one with this address */
	size_t from, len;		/* of its text in the scratch text */
	uint32_t hash;
	uint32_t has_args;
};

/* Decodes the name of an id, and fetches its slot. */
static bool prepare(struct resolver *r, uint64_t id, struct one *o)
{
	o->from = r->scratch.len;
	if (!add_name_text(r, id))
		return false;
	if (buf_failed(&r->scratch)) {
		out_of_memory(r);
		return false;
	}
	o->len = r->scratch.len - o->from;
	o->has_args = r->has_args;
	o->hash = hash_text(r->scratch.data + o->from, o->len);
	if (r->names->n_slots)
		__builtin_prefetch(&r->names->slots[o->hash & (r->names->n_slots - 1)]);
	return true;
}

static size_t first_like(const struct one *all, size_t i)
{
	size_t like = 0;
	while (all[like].addr != all[i].addr)
		like++;
	return like;
}

bool resolve_many(struct resolver *r, const uint64_t *id, uint32_t *name, size_t n)
{
	struct one all[RESOLVE_MANY];
	r->scratch.len = 0;
	for (size_t i = 0; i < n; i++) {
		all[i].addr = strings_addr(r->p, id[i]);
		all[i].like = first_like(all, i);
		const struct resolved *const known = remembered(r, all[i].addr);
		name[i] = known ? known->name : NO_NAME;
		if (!known && all[i].like == i && !prepare(r, id[i], &all[i]))
			return false;
	}
	for (size_t i = 0; i < n; i++) {
		const struct one *const o = &all[i];
		if (name[i] == NO_NAME && o->like == i) {
			name[i] = add_hashed(r->names, r->scratch.data + o->from, o->len, o->hash);
			if (name[i] == NO_NAME)
				return out_of_memory(r) != NO_NAME;
			remember(r, o->addr, name[i], o->has_args);
		}
		name[i] = name[o->like];
	}
	return true;
}

static enum kind_class class_of(const char *text)
{
	static const struct { const char *text; enum kind_class class; } known[] = {
		{ "Query", KIND_QUERY },
		{ "GenericActivity", KIND_GENERIC },
		{ "QueryBlocked", KIND_BLOCKED },
		{ "IncrementalLoadResult", KIND_LOAD },
		{ "IncrementalResultHashing", KIND_HASHING },
		{ "QueryCacheHit", KIND_CACHE_HIT },
		{ "QueryCacheHitCount", KIND_CACHE_HIT_COUNT },
		{ "ArtifactSize", KIND_ARTIFACT },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].text, text) == 0)
			return known[i].class;
	return KIND_OTHER;
}

int kinds_init(struct kinds *k, struct tare_profile *p, struct names *names,
	       struct tare_why *why)
{
	for (unsigned i = 0; i < 64; i++)
		k->slot[i].id = not_here(i);
	k->resolver = malloc(sizeof(*k->resolver));
	if (!k->resolver)
		return why_set(why, TARE_E_NOMEM, "%.120s: kinds", p->path);
	resolver_init(k->resolver, p, names, RESOLVE_TEXT, why);
	return 0;
}

void kinds_free(struct kinds *k)
{
	if (k->resolver)
		resolver_free(k->resolver);
	free(k->resolver);
}

void kinds_miss(struct kinds *k, uint64_t id)
{
	const unsigned i = kind_place(id);
	const uint32_t name = resolve(k->resolver, id);
	k->slot[i].id = name == NO_NAME ? not_here(i) : id;
	k->slot[i].name = name;
	k->slot[i].class = name == NO_NAME ? KIND_OTHER
					   : class_of(names_text(k->resolver->names, name));
}

static bool grow_threads(struct threads *t)
{
	const uint32_t n_slots = t->n_slots ? 2 * t->n_slots : 64;
	uint32_t *const slots = calloc(n_slots, sizeof(*slots));
	uint32_t *const ids = realloc(t->ids, n_slots * sizeof(*ids));
	if (ids)
		t->ids = ids;
	if (!slots || !ids) {
		free(slots);
		return false;
	}
	for (uint32_t n = 0; n < t->n; n++) {
		uint32_t i = t->ids[n] * 0x9E3779B9u & (n_slots - 1);
		while (slots[i])
			i = (i + 1) & (n_slots - 1);
		slots[i] = n + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = n_slots;
	return true;
}

uint32_t threads_miss(struct threads *t, uint32_t id)
{
	if (2 * t->n >= t->n_slots && !grow_threads(t))
		return UINT32_MAX;
	uint32_t i = id * 0x9E3779B9u & (t->n_slots - 1);
	while (t->slots[i] && t->ids[t->slots[i] - 1] != id)
		i = (i + 1) & (t->n_slots - 1);
	if (!t->slots[i]) {
		t->ids[t->n] = id;
		t->slots[i] = ++t->n;
	}
	t->last_id = id;
	t->last = t->slots[i] - 1;
	return t->last;
}

int nesting_error(const struct tare_profile *p, uint32_t most, struct tare_why *why)
{
	return why_set(why, TARE_E_FORMAT, "%.120s: more than %u intervals inside each other",
		       p->path, most);
}

int hole_error(const struct tare_profile *p, struct tare_why *why)
{
	return why_set(why, TARE_E_FORMAT, "%.120s: events that are zeros: this part of the "
		       "file was never written", p->path);
}

void threads_free(struct threads *t)
{
	free(t->ids);
	free(t->slots);
	*t = (struct threads){ 0 };
}

const char *thread_name(const struct tare_profile_info *info, uint32_t id)
{
	size_t lo = 0, hi = info->n_threads;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (info->threads[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	const bool has = lo < info->n_threads && info->threads[lo].id == id && *info->threads[lo].name;
	return has ? info->threads[lo].name : NULL;
}
