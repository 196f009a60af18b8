/* The builder: every entry once. What follows from the entries is summed up in codeprofile-finish.c. */
#include "codeprofile-room.h"

#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

#define TEXT_CHUNK (64u << 10)

struct text_chunk {
	struct text_chunk *next;
	size_t used, size;
	char bytes[];
};

static char *text_space(struct tare_codeprofile_store *s, size_t n)
{
	struct text_chunk *c = s->texts;
	if (!c || c->size - c->used < n) {
		const size_t size = n > TEXT_CHUNK ? n : TEXT_CHUNK;
		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		*c = (struct text_chunk){ s->texts, 0, size };
		s->texts = c;
	}
	char *const at = c->bytes + c->used;
	c->used += n;
	return at;
}

static void texts_free(struct tare_codeprofile_store *s)
{
	for (struct text_chunk *c = s->texts, *next; c; c = next) {
		next = c->next;
		free(c);
	}
}

struct text_key {
	const struct builder *b;
	const char *text;
	size_t n;
};

static bool same_text(const void *arg, uint32_t place)
{
	const struct text_key *const k = arg;
	const char *const t = k->b->interned[place];
	return !strncmp(t, k->text, k->n) && !t[k->n];
}

const char *builder_text_n(struct builder *b, const char *text, size_t n)
{
	if (!text || !n || b->failed)
		return "";
	n = strnlen(text, n);
	const struct text_key k = { b, text, n };
	uint32_t *const slot = places_find(&b->texts, hash_bytes(HASH_START, text, n), same_text, &k);
	if (slot && *slot)
		return b->interned[*slot - 1];
	char *const copy = slot ? text_space(b->p->store, n + 1) : NULL;
	if (!copy || !more_room(&b->interned, &b->cap_interned, b->n_interned, sizeof(*b->interned))) {
		b->failed = true;
		return "";
	}
	memcpy(copy, text, n);
	copy[n] = '\0';
	b->interned[b->n_interned++] = copy;
	*slot = (uint32_t)b->n_interned;
	b->texts.n++;
	return copy;
}

const char *builder_text(struct builder *b, const char *text)
{
	return builder_text_n(b, text, text ? strlen(text) : 0);
}

/* ---- counts ---- */

/* The row of a new entry, all 0. */
static bool new_row(struct builder *b, struct count_rows *r)
{
	if (!more_room(&r->rows, &r->cap, r->n, b->n_events * sizeof(*r->rows)))
		return false;
	memset(r->rows + r->n * b->n_events, 0, b->n_events * sizeof(*r->rows));
	r->n++;
	return true;
}

static int64_t *row_of(const struct builder *b, const struct count_rows *r, uint32_t place)
{
	return place == NONE ? NULL : r->rows + place * b->n_events;
}

int64_t *builder_insn_counts(struct builder *b, uint32_t insn)
{
	return row_of(b, &b->insn_counts, insn);
}

int64_t *builder_task_counts(struct builder *b, uint32_t task)
{
	return row_of(b, &b->task_counts, task);
}

int64_t *builder_context_counts(struct builder *b, uint32_t context)
{
	return row_of(b, &b->context_counts, context);
}

/* ---- entries ----
 *
 * A key is an entry that may not be stored yet. Texts of keys are interned, so that equal texts have
 * equal pointers. */

struct key {
	const struct tare_codeprofile *p;
	const void *entry;
};

/* Looks the key up. *place is where it is, or NONE: it is new, and *slot is to be filled. False: out of
 * memory. */
static bool look_up(struct builder *b, struct places *t, const void *entry,
		    uint64_t (*hash)(const void *entry), bool (*same)(const void *arg, uint32_t place),
		    uint32_t **slot, uint32_t *place)
{
	const struct key k = { b->p, entry };
	*slot = b->failed ? NULL : places_find(t, hash(entry), same, &k);
	*place = *slot && **slot ? **slot - 1 : NONE;
	b->failed |= !*slot;
	return *slot;
}

/* The function same_NOUN() that places_find() wants, from equal_NOUN(), which compares entries. */
#define TABLE(noun, array)                                                                              \
	static bool same_##noun(const void *arg, uint32_t place)                                        \
	{                                                                                               \
		const struct key *const k = arg;                                                        \
		return equal_##noun(k->entry, &k->p->array[place]);                                     \
	}

/* Stores a new entry, of which the slot was found. */
static uint32_t store(struct builder *b, struct places *t, uint32_t *slot, void *array, size_t *cap, size_t *n,
		      const void *entry, size_t size, struct count_rows *rows)
{
	if (!more_room(array, cap, *n, size) || (rows && !new_row(b, rows))) {
		b->failed = true;
		return NONE;
	}
	memcpy(*(char **)array + *n * size, entry, size);
	*slot = (uint32_t)++*n;
	t->n++;
	return (uint32_t)(*n - 1);
}

static uint64_t hash_object(const void *entry)
{
	const struct tare_codeprofile_object *const o = entry;
	return hash_u64(hash_u64(HASH_START, (uintptr_t)o->path), (uintptr_t)o->build_id);
}

static bool equal_object(const void *a, const void *b)
{
	const struct tare_codeprofile_object *const x = a, *const y = b;
	return x->path == y->path && x->build_id == y->build_id && x->kind == y->kind &&
	       x->deleted == y->deleted;
}
TABLE(object, objects)

uint32_t builder_object(struct builder *b, const struct tare_codeprofile_object *given)
{
	uint32_t *slot, place;
	const struct tare_codeprofile_object o = {
		.path = builder_text(b, given->path), .build_id = builder_text(b, given->build_id),
		.kind = given->kind, .deleted = given->deleted, .names = builder_text(b, given->names),
	};
	if (!look_up(b, &b->objects, &o, hash_object, same_object, &slot, &place) ||
	    place != NONE)
		return place;
	return store(b, &b->objects, slot, &b->p->objects, &b->cap_objects, &b->p->n_objects, &o, sizeof(o),
		     NULL);
}

static uint64_t hash_file(const void *entry)
{
	return hash_u64(HASH_START, (uintptr_t)((const struct tare_codeprofile_file *)entry)->path);
}

static bool equal_file(const void *a, const void *b)
{
	const struct tare_codeprofile_file *const x = a, *const y = b;
	return x->path == y->path;
}
TABLE(file, files)

uint32_t builder_file(struct builder *b, const char *path, int64_t mtime)
{
	uint32_t *slot, place;
	const struct tare_codeprofile_file f = { .path = builder_text(b, path), .mtime = mtime };
	if (!look_up(b, &b->files, &f, hash_file, same_file, &slot, &place) || place != NONE)
		return place;
	return store(b, &b->files, slot, &b->p->files, &b->cap_files, &b->p->n_files, &f, sizeof(f), NULL);
}

static uint64_t hash_function(const void *entry)
{
	const struct tare_codeprofile_function *const f = entry;
	return hash_u64(hash_u64(hash_u64(HASH_START, f->object), f->offset), (uintptr_t)f->name);
}

static bool equal_function(const void *a, const void *b)
{
	const struct tare_codeprofile_function *const x = a, *const y = b;
	return x->object == y->object && x->offset == y->offset && x->name == y->name;
}
TABLE(function, functions)

uint32_t builder_function(struct builder *b, const struct tare_codeprofile_function *given)
{
	uint32_t *slot, place;
	const struct tare_codeprofile_function f = {
		.name = builder_text(b, given->name), .linkage = builder_text(b, given->linkage),
		.object = given->object, .file = given->file, .line = given->line,
		.offset = given->offset, .size = given->size,
	};
	if (!look_up(b, &b->functions, &f, hash_function, same_function, &slot, &place) ||
	    place != NONE)
		return place;
	return store(b, &b->functions, slot, &b->p->functions, &b->cap_functions, &b->p->n_functions, &f,
		     sizeof(f), NULL);
}

static uint64_t hash_insn(const void *entry)
{
	const struct tare_codeprofile_insn *const i = entry;
	return hash_u64(hash_u64(HASH_START, i->function), i->offset);
}

static bool equal_insn(const void *a, const void *b)
{
	const struct tare_codeprofile_insn *const x = a, *const y = b;
	return x->offset == y->offset && x->function == y->function && x->size == y->size &&
	       !memcmp(x->bytes, y->bytes, x->size);
}
TABLE(insn, insns)

uint32_t builder_insn(struct builder *b, const struct tare_codeprofile_insn *given)
{
	uint32_t *slot, place;
	struct tare_codeprofile_insn i = { .function = given->function, .file = given->file,
					   .line = given->line, .size = given->size, .offset = given->offset };
	memcpy(i.bytes, given->bytes, i.size <= sizeof(i.bytes) ? i.size : 0);
	if (!look_up(b, &b->insns, &i, hash_insn, same_insn, &slot, &place))
		return NONE;
	if (place == NONE)
		place = store(b, &b->insns, slot, &b->p->insns, &b->cap_insns, &b->p->n_insns, &i, sizeof(i),
			      &b->insn_counts);
	if (place != NONE)
		b->p->insns[place].runs += given->runs;
	return place;
}

bool builder_expect_insns(struct builder *b, size_t n)
{
	return first_room(&b->p->insns, &b->cap_insns, n, sizeof(*b->p->insns)) &&
	       first_room(&b->insn_counts.rows, &b->insn_counts.cap, n, b->n_events * sizeof(*b->insn_counts.rows));
}

uint32_t builder_insn_in_order(struct builder *b, const struct tare_codeprofile_insn *i)
{
	struct tare_codeprofile *const p = b->p;
	for (size_t k = p->n_insns; k-- > 0 && p->insns[k].offset == i->offset;)
		if (equal_insn(&p->insns[k], i))
			return (uint32_t)k;
	if (!more_room(&p->insns, &b->cap_insns, p->n_insns, sizeof(*p->insns)) || !new_row(b, &b->insn_counts)) {
		b->failed = true;
		return NONE;
	}
	p->insns[p->n_insns] = *i;
	return (uint32_t)p->n_insns++;
}

static uint64_t hash_task(const void *entry)
{
	const struct tare_codeprofile_task *const t = entry;
	return hash_u64(hash_u64(hash_u64(HASH_START, (uint32_t)t->pid), (uint32_t)t->tid), (uintptr_t)t->exe);
}

static bool equal_task(const void *a, const void *b)
{
	const struct tare_codeprofile_task *const x = a, *const y = b;
	return x->pid == y->pid && x->tid == y->tid && x->exe == y->exe;
}
TABLE(task, tasks)

uint32_t builder_task(struct builder *b, const struct tare_codeprofile_task *given)
{
	uint32_t *slot, place;
	const struct tare_codeprofile_task t = {
		.pid = given->pid, .tid = given->tid, .command = builder_text(b, given->command),
		.exe = builder_text(b, given->exe),
		.incomplete = given->incomplete ? builder_text(b, given->incomplete) : NULL,
	};
	if (!look_up(b, &b->tasks, &t, hash_task, same_task, &slot, &place) || place != NONE)
		return place;
	return store(b, &b->tasks, slot, &b->p->tasks, &b->cap_tasks, &b->p->n_tasks, &t, sizeof(t),
		     &b->task_counts);
}

static uint64_t hash_share(const void *entry)
{
	const struct tare_codeprofile_share *const s = entry;
	return hash_u64(hash_u64(HASH_START, s->task), s->function);
}

static bool equal_share(const void *a, const void *b)
{
	const struct tare_codeprofile_share *const x = a, *const y = b;
	return x->task == y->task && x->function == y->function;
}
TABLE(share, shares)

int64_t *builder_share(struct builder *b, uint32_t task, uint32_t function)
{
	uint32_t *slot, place;
	const struct tare_codeprofile_share s = { .task = task, .function = function };
	if (!look_up(b, &b->shares, &s, hash_share, same_share, &slot, &place))
		return NULL;
	if (place == NONE)
		place = store(b, &b->shares, slot, &b->p->shares, &b->cap_shares, &b->p->n_shares, &s,
			      sizeof(s), &b->share_counts);
	return row_of(b, &b->share_counts, place);
}

static uint64_t hash_context(const void *entry)
{
	const struct tare_codeprofile_context *const c = entry;
	return hash_u64(hash_u64(hash_u64(HASH_START, c->parent), c->function),
			(uint64_t)c->site << 8 | c->entry);
}

static bool equal_context(const void *a, const void *b)
{
	const struct tare_codeprofile_context *const x = a, *const y = b;
	return x->parent == y->parent && x->function == y->function && x->site == y->site &&
	       x->entry == y->entry;
}
TABLE(context, contexts)

uint32_t builder_context(struct builder *b, const struct tare_codeprofile_context *given)
{
	uint32_t *slot, place;
	struct tare_codeprofile_context c = { .parent = given->parent, .function = given->function,
					      .site = given->site, .entry = given->entry };
	if (!look_up(b, &b->contexts, &c, hash_context, same_context, &slot, &place))
		return NONE;
	if (place == NONE)
		place = store(b, &b->contexts, slot, &b->p->contexts, &b->cap_contexts, &b->p->n_contexts, &c,
			      sizeof(c), &b->context_counts);
	if (place != NONE)
		b->p->contexts[place].calls += given->calls;
	return place;
}

static uint64_t hash_syscall(const void *entry)
{
	const struct tare_codeprofile_syscall *const s = entry;
	return hash_u64(hash_u64(HASH_START, s->number), s->function);
}

static bool equal_syscall(const void *a, const void *b)
{
	const struct tare_codeprofile_syscall *const x = a, *const y = b;
	return x->number == y->number && x->function == y->function;
}
TABLE(syscall, syscalls)

void builder_syscall(struct builder *b, const struct tare_codeprofile_syscall *given)
{
	uint32_t *slot, place;
	const struct tare_codeprofile_syscall s = { .number = given->number, .function = given->function,
						    .name = builder_text(b, given->name) };
	if (!look_up(b, &b->syscalls, &s, hash_syscall, same_syscall, &slot, &place))
		return;
	if (place == NONE)
		place = store(b, &b->syscalls, slot, &b->p->syscalls, &b->cap_syscalls, &b->p->n_syscalls, &s,
			      sizeof(s), NULL);
	if (place == NONE)
		return;
	b->p->syscalls[place].times += given->times;
	b->p->syscalls[place].errors += given->errors;
}

void builder_event(struct builder *b, size_t i, const struct tare_codeprofile_event *e)
{
	if (b->failed)
		return;
	b->p->events[i] = *e;
	b->p->events[i].name = builder_text(b, e->name);
	b->p->events[i].unit = builder_text(b, e->unit);
}

void builder_reason(struct builder *b, const char *text)
{
	const char *const t = builder_text(b, text);
	for (size_t i = 0; i < b->p->n_reasons; i++)
		if (b->p->reasons[i] == t)
			return;
	if (b->failed || !more_room(&b->p->reasons, &b->cap_reasons, b->p->n_reasons, sizeof(*b->p->reasons))) {
		b->failed = true;
		return;
	}
	b->p->reasons[b->p->n_reasons++] = t;
}

/* ---- open and free ---- */

void builder_open(struct builder *b, size_t n_events)
{
	*b = (struct builder){ .n_events = n_events, .p = calloc(1, sizeof(*b->p)) };
	if (b->p) {
		b->p->store = calloc(1, sizeof(*b->p->store));
		b->p->events = calloc(n_events ? n_events : 1, sizeof(*b->p->events));
		b->p->n_events = n_events;
		b->p->command = b->p->tare = "";
		b->p->runs = 1;
		b->p->complete = true;
	}
	b->failed = !b->p || !b->p->store || !b->p->events;
}

void tare_codeprofile_free(struct tare_codeprofile *p)
{
	if (!p)
		return;
	if (p->store) {
		texts_free(p->store);
		for (size_t i = 0; i < sizeof(p->store->counts) / sizeof(p->store->counts[0]); i++)
			free(p->store->counts[i]);
	}
	free(p->store);
	free(p->reasons);
	free(p->events);
	free(p->objects);
	free(p->files);
	free(p->functions);
	free(p->insns);
	free(p->lines);
	free(p->tasks);
	free(p->shares);
	free(p->contexts);
	free(p->edges);
	free(p->syscalls);
	free(p);
}
