/* Which parts of two profiles belong together.
 *
 * Objects: the same build-id, else the same path, else the same file name, else the same file name without
 * its version (libfoo.so.1.2 and libfoo.so.1.3), else the programs that were started, else the only ones that
 * are left. Functions: in objects that belong together by linkage name and source file, by linkage name, by
 * name without what compilers append (.isra.0, Rust's hash); without a name by offset in the same build, else
 * by the shape of the code. Lines of a function: a sequence alignment, which weighs the shape of the code of a
 * line, the counts, the text where both sources can still be read, and the distance from the function's start.
 * Addresses matter only within one build. */
#include "annotate-diff.h"

#include "why.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE ANNOTATE_NONE
#define CELLS_MOST 16000000u	/* of an alignment; larger functions: by line number alone */

static void *space(size_t n, size_t size)
{
	void *const p = calloc(n + 1, size);
	if (!p)
		abort();
	return p;
}

/* ---- pairing by keys ---- */

/* One side of a matching: entry i has the partner partner[i], or NONE. */
struct side {
	const struct tare_codeprofile *p;
	size_t n;
	uint32_t *partner;
	const uint32_t *group;		/* of functions: the number of their object's pair; NONE: no pair */
};

struct keyed {
	char *key;
	uint32_t place;
};

/* The key of an entry; false: it takes no part in this pass. */
typedef bool key_function(const struct side *s, uint32_t place, struct buf *key);

static int by_key(const void *a, const void *b)
{
	const struct keyed *const x = a, *const y = b;
	const int c = strcmp(x->key, y->key);
	return c ? c : x->place < y->place ? -1 : x->place > y->place;
}

static struct keyed *keys_of(const struct side *s, key_function *key_of, size_t *n)
{
	struct keyed *const list = space(s->n, sizeof(*list));
	struct buf key = { 0 };
	*n = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		key.len = 0;
		buf_str(&key, "");
		if (s->partner[i] != NONE || !key_of(s, i, &key))
			continue;
		if (buf_failed(&key) || !(list[*n].key = strdup(key.data)))
			abort();
		list[(*n)++].place = i;
	}
	buf_free(&key);
	if (*n)
		qsort(list, *n, sizeof(*list), by_key);
	return list;
}

static void free_keys(struct keyed *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i].key);
	free(list);
}

static size_t same_keys(const struct keyed *list, size_t n, size_t at)
{
	size_t end = at + 1;
	while (end < n && !strcmp(list[end].key, list[at].key))
		end++;
	return end - at;
}

/* Pairs entries with equal keys, in their order. `only_one`: only where each side has one. */
static void pair_pass(struct side *base, struct side *new, key_function *key_of, bool only_one)
{
	size_t n, m;
	struct keyed *const x = keys_of(base, key_of, &n), *const y = keys_of(new, key_of, &m);
	for (size_t i = 0, k = 0; i < n && k < m;) {
		const int c = strcmp(x[i].key, y[k].key);
		const size_t nx = same_keys(x, n, i), ny = same_keys(y, m, k);
		for (size_t q = 0; !c && q < nx && q < ny && (!only_one || (nx == 1 && ny == 1)); q++) {
			base->partner[x[i + q].place] = y[k + q].place;
			new->partner[y[k + q].place] = x[i + q].place;
		}
		i += c <= 0 ? nx : 0;
		k += c >= 0 ? ny : 0;
	}
	free_keys(x, n);
	free_keys(y, m);
}

static void no_partners(struct side *s)
{
	s->partner = space(s->n, sizeof(*s->partner));
	for (size_t i = 0; i < s->n; i++)
		s->partner[i] = NONE;
}

/* ---- objects ---- */

static bool object_build(const struct side *s, uint32_t i, struct buf *key)
{
	buf_str(key, s->p->objects[i].build_id);
	return key->len > 0;
}

static bool object_path(const struct side *s, uint32_t i, struct buf *key)
{
	buf_printf(key, "%d %s", (int)s->p->objects[i].kind, s->p->objects[i].path);
	return true;
}

static bool object_name(const struct side *s, uint32_t i, struct buf *key)
{
	buf_str(key, annotate_base(s->p->objects[i].path));
	return s->p->objects[i].kind == TARE_CODEPROFILE_FILE;
}

static bool is_version(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

/* libfoo-1.2.so.3.4 and libfoo.so.5: libfoo.so; python3.11: python. */
static bool object_without_version(const struct side *s, uint32_t i, struct buf *key)
{
	const char *const name = annotate_base(s->p->objects[i].path);
	const char *const so = strstr(name, ".so");
	size_t n = so ? (size_t)(so - name) : strlen(name);
	while (n > 1 && is_version(name[n - 1]))
		n--;
	buf_add(key, name, n);
	buf_str(key, so ? ".so" : "");
	return s->p->objects[i].kind == TARE_CODEPROFILE_FILE;
}

/* The program that the command started. */
static bool object_started(const struct side *s, uint32_t i, struct buf *key)
{
	buf_str(key, "started");
	return s->p->n_tasks && !strcmp(s->p->tasks[0].exe, s->p->objects[i].path);
}

static bool object_left(const struct side *s, uint32_t i, struct buf *key)
{
	buf_str(key, "left");
	return s->p->objects[i].kind == TARE_CODEPROFILE_FILE;
}

static void pair_objects(struct side *base, struct side *new)
{
	pair_pass(base, new, object_build, false);
	pair_pass(base, new, object_path, false);
	pair_pass(base, new, object_name, false);
	pair_pass(base, new, object_without_version, false);
	pair_pass(base, new, object_started, true);
	pair_pass(base, new, object_left, true);
}

/* ---- functions ---- */

static const struct tare_codeprofile_function *function_of(const struct side *s, uint32_t i, struct buf *key)
{
	const struct tare_codeprofile_function *const f = &s->p->functions[i];
	buf_printf(key, "%u ", s->group[f->object]);
	return f;
}

static bool has_pair(const struct side *s, const struct tare_codeprofile_function *f)
{
	return s->group[f->object] != NONE;
}

/* A name that is not made of an address. */
static bool is_named(const struct tare_codeprofile_function *f)
{
	return *f->linkage || !strstr(f->name, "+0x");
}

static bool function_file(const struct side *s, uint32_t i, struct buf *key)
{
	const struct tare_codeprofile_function *const f = function_of(s, i, key);
	buf_printf(key, "%s\n%s", f->linkage, f->file == NONE ? "" : annotate_base(s->p->files[f->file].path));
	return has_pair(s, f) && *f->linkage;
}

static bool function_linkage(const struct side *s, uint32_t i, struct buf *key)
{
	const struct tare_codeprofile_function *const f = function_of(s, i, key);
	buf_str(key, f->linkage);
	return has_pair(s, f) && *f->linkage;
}

/* Without ".isra.0", ".constprop.1.lto_priv.2", "::h0123456789abcdef"; ".cold" and ".part" stay, for they
 * are code of their own. */
static size_t plain_length(const char *name)
{
	static const char *const made[] = { ".isra", ".constprop", ".lto_priv", ".llvm" };
	size_t n = strlen(name);
	if (n > 19 && !strncmp(name + n - 19, "::h", 3) && strspn(name + n - 16, "0123456789abcdef") == 16)
		n -= 19;
	for (bool again = true; again;) {
		size_t k = n;
		again = false;
		while (k && name[k - 1] >= '0' && name[k - 1] <= '9')
			k--;
		if (k && k < n && name[k - 1] == '.')
			n = k - 1;
		for (size_t m = 0; m < sizeof(made) / sizeof(*made); m++) {
			const size_t len = strlen(made[m]);
			if (n > len && !strncmp(name + n - len, made[m], len)) {
				n -= len;
				again = true;
			}
		}
	}
	return n;
}

static bool function_plain(const struct side *s, uint32_t i, struct buf *key)
{
	const struct tare_codeprofile_function *const f = function_of(s, i, key);
	buf_add(key, f->linkage, plain_length(f->linkage));
	return has_pair(s, f) && *f->linkage;
}

static bool function_name(const struct side *s, uint32_t i, struct buf *key)
{
	const struct tare_codeprofile_function *const f = function_of(s, i, key);
	buf_add(key, f->name, plain_length(f->name));
	return has_pair(s, f) && is_named(f);
}

static bool function_offset(const struct side *s, uint32_t i, struct buf *key)
{
	const struct tare_codeprofile_function *const f = function_of(s, i, key);
	const char *const build = s->p->objects[f->object].build_id;
	buf_printf(key, "%s %llx", build, (unsigned long long)f->offset);
	return has_pair(s, f) && *build && !is_named(f);
}

/* Opcodes and sizes; operands change with every build. */
static uint64_t add_shape(uint64_t h, const struct tare_codeprofile_insn *in)
{
	const uint8_t first = in->bytes[0];
	const bool prefix = (first & 0xf0) == 0x40 || first == 0x0f || first == 0x66 || first == 0xf2 || first == 0xf3;
	h = (h ^ in->size ^ (uint64_t)first << 8 ^ (prefix ? (uint64_t)in->bytes[1] << 16 : 0)) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static bool function_shape(const struct side *s, uint32_t i, struct buf *key)
{
	const struct tare_codeprofile_function *const f = function_of(s, i, key);
	uint64_t h = 1;
	for (uint32_t k = f->insns; k < f->insns + f->n_insns; k++)
		h = add_shape(h, &s->p->insns[k]);
	buf_printf(key, "%llx", (unsigned long long)h);
	return has_pair(s, f) && f->n_insns && !is_named(f);
}

/* A function that moved into another object: only where neither side has another of this name. */
static bool function_moved(const struct side *s, uint32_t i, struct buf *key)
{
	buf_str(key, s->p->functions[i].linkage);
	return !has_pair(s, &s->p->functions[i]) && key->len;
}

static void pair_functions(struct side *base, struct side *new)
{
	pair_pass(base, new, function_file, false);
	pair_pass(base, new, function_linkage, false);
	pair_pass(base, new, function_plain, false);
	pair_pass(base, new, function_name, false);
	pair_pass(base, new, function_offset, false);
	pair_pass(base, new, function_shape, false);
	pair_pass(base, new, function_moved, true);
}

/* ---- lines ---- */

struct texts {
	const struct tare_codeprofile *p;
	struct source_text *text;	/* of each file */
	bool *asked;
};

struct matcher {
	struct profile_diff *d;
	const struct annotate_opts *o;
	struct texts base, new;
	size_t cap_lines;
};

/* The text of a line; NULL: the file is not what it was when the profile was made. */
static const char *text_of(struct matcher *m, struct texts *t, const struct tare_codeprofile_line *l)
{
	if (l->file == NONE || !t->p->files[l->file].mtime)
		return NULL;
	struct source_text *const s = &t->text[l->file];
	if (!t->asked[l->file] && (!source_text_read(s, m->o, &t->p->files[l->file]) || s->newer))
		source_text_free(s);
	t->asked[l->file] = true;
	return l->line && l->line <= s->n ? s->lines[l->line - 1] : NULL;
}

/* What a line is recognised by. */
struct feature {
	uint32_t place;			/* in p->lines */
	uint64_t shape;
	const char *text;
	int64_t distance;		/* from the start of the function, or the line number */
	const int64_t *counts;
};

static struct feature *features(struct matcher *m, struct texts *t, uint32_t function)
{
	const struct tare_codeprofile *const p = t->p;
	const struct tare_codeprofile_function *const f = &p->functions[function];
	struct feature *const list = space(f->n_lines, sizeof(*list));
	for (uint32_t i = 0; i < f->n_lines; i++) {
		const struct tare_codeprofile_line *const l = &p->lines[f->lines + i];
		list[i] = (struct feature){ f->lines + i, 1, text_of(m, t, l), l->line, l->counts };
		if (l->file == f->file)
			list[i].distance -= f->line;
	}
	for (uint32_t k = f->insns; k < f->insns + f->n_insns; k++) {
		const struct tare_codeprofile_insn *const in = &p->insns[k];
		uint32_t low = 0, high = f->n_lines;
		while (low < high) {
			const uint32_t middle = (low + high) / 2;
			const struct tare_codeprofile_line *const l = &p->lines[f->lines + middle];
			if (l->file < in->file || (l->file == in->file && l->line < in->line))
				low = middle + 1;
			else
				high = middle;
		}
		if (low < f->n_lines)
			list[low].shape = add_shape(list[low].shape, in);
	}
	return list;
}

static void add_pair(struct matcher *m, uint32_t base, uint32_t new)
{
	struct profile_diff *const d = m->d;
	if (d->n_lines == m->cap_lines) {
		m->cap_lines = 2 * m->cap_lines + 1024;
		d->lines = realloc(d->lines, m->cap_lines * sizeof(*d->lines));
		if (!d->lines)
			abort();
	}
	d->lines[d->n_lines++] = (struct line_pair){ base, new, NULL };
}

static bool same_counts(const struct profile_diff *d, const struct feature *x, const struct feature *y)
{
	for (size_t e = 0; e < d->n_events; e++)
		if (x->counts[d->base_event[e]] != y->counts[d->new_event[e]])
			return false;
	return true;
}

/* How much speaks for it that two lines are one. The code says more than the text: a file can have been
 * changed in the second in which the profile was made. */
static int likeness(const struct profile_diff *d, const struct feature *x, const struct feature *y)
{
	int sum = 0;
	if (x->shape == y->shape)
		sum += 6;
	if (x->text && y->text && !strcmp(x->text, y->text))
		sum += 5;
	if (sum && same_counts(d, x, y))
		sum += 3;
	if (x->distance == y->distance)
		sum += sum || !x->text || !y->text ? 2 : 1;
	return sum;
}

/* Lines x[0 … n - 1] and y[0 … k - 1] of one file, in order, so that the sum of likeness is the largest. */
static void align(struct matcher *m, const struct feature *x, size_t n, const struct feature *y, size_t k)
{
	const size_t width = k + 1;
	int32_t *const best = space((n + 1) * width, sizeof(*best));	/* of what is left from there on */
	for (size_t i = n; i-- > 0;)
		for (size_t j = k; j-- > 0;) {
			const int like = likeness(m->d, &x[i], &y[j]);
			int32_t most = best[(i + 1) * width + j];
			if (best[i * width + j + 1] > most)
				most = best[i * width + j + 1];
			if (like && like + best[(i + 1) * width + j + 1] > most)
				most = like + best[(i + 1) * width + j + 1];
			best[i * width + j] = most;
		}
	size_t i = 0, j = 0;
	while (i < n && j < k) {
		const int like = likeness(m->d, &x[i], &y[j]);
		if (like && best[i * width + j] == like + best[(i + 1) * width + j + 1])
			add_pair(m, x[i++].place, y[j++].place);
		else if (best[i * width + j] == best[(i + 1) * width + j])
			add_pair(m, x[i++].place, NONE);
		else
			add_pair(m, NONE, y[j++].place);
	}
	while (i < n)
		add_pair(m, x[i++].place, NONE);
	while (j < k)
		add_pair(m, NONE, y[j++].place);
	free(best);
}

static int64_t line_at(const struct texts *t, const struct feature *x, bool distance)
{
	return distance ? x->distance : t->p->lines[x->place].line;
}

/* By line number: files that are the same. By the distance from the function's start: functions too long to align. */
static void by_number(struct matcher *m, const struct feature *x, size_t n, const struct feature *y, size_t k,
		      bool distance)
{
	size_t i = 0, j = 0;
	while (i < n || j < k) {
		const int64_t u_at = i < n ? line_at(&m->base, &x[i], distance) : INT64_MAX;
		const int64_t v_at = j < k ? line_at(&m->new, &y[j], distance) : INT64_MAX;
		const bool both = i < n && j < k && u_at == v_at;
		const bool base = both || u_at < v_at;
		const uint32_t u = base ? x[i++].place : NONE;
		add_pair(m, u, both || !base ? y[j++].place : NONE);
	}
}

/* Whether lines x and y are of a file that did not change from one profile to the other. A change in the second in
 * which the base was made could leave the time as it was. */
static bool same_file(const struct matcher *m, const struct feature *x, const struct feature *y)
{
	const struct tare_codeprofile *const p = m->base.p, *const q = m->new.p;
	const uint32_t a = p->lines[x->place].file, b = q->lines[y->place].file;
	return a != NONE && b != NONE && p->files[a].mtime && p->files[a].mtime == q->files[b].mtime &&
	       p->files[a].mtime < p->start_s && !strcmp(p->files[a].path, q->files[b].path);
}

static void pair_file(struct matcher *m, const struct feature *x, size_t n, const struct feature *y, size_t k)
{
	bool same = n == k;
	for (size_t i = 0; same && i < n; i++)
		same = same_counts(m->d, &x[i], &y[i]) && x[i].distance == y[i].distance;
	for (size_t i = 0; same && i < n; i++)
		add_pair(m, x[i].place, y[i].place);
	if (same)
		return;
	const bool unchanged = n && k && same_file(m, x, y);
	if (unchanged || (n + 1) * (k + 1) > CELLS_MOST)
		by_number(m, x, n, y, k, !unchanged);
	else
		align(m, x, n, y, k);
}

static size_t one_file(const struct tare_codeprofile *p, const struct feature *x, size_t n, size_t at)
{
	size_t end = at + 1;
	while (end < n && p->lines[x[end].place].file == p->lines[x[at].place].file)
		end++;
	return end - at;
}

/* How well two source files fit: 0 not at all. */
static int file_fit(const struct matcher *m, const struct feature *x, const struct feature *y)
{
	const struct tare_codeprofile *const p = m->base.p, *const q = m->new.p;
	const uint32_t a = p->lines[x->place].file, b = q->lines[y->place].file;
	if (a == NONE || b == NONE)
		return a == b ? 4 : 0;
	if (!strcmp(p->files[a].path, q->files[b].path))
		return 3;
	if (!strcmp(annotate_base(p->files[a].path), annotate_base(q->files[b].path)))
		return 2;
	const struct tare_codeprofile_function *const f = &p->functions[p->lines[x->place].function];
	const struct tare_codeprofile_function *const g = &q->functions[q->lines[y->place].function];
	return f->file == a && g->file == b;
}

/* Pairs the lines of one file in base with those of the file in new that fits best. */
static void pair_files(struct matcher *m, const struct feature *x, size_t n, const struct feature *y, size_t k)
{
	bool *const used = space(k, sizeof(*used));
	for (size_t i = 0; i < n;) {
		const size_t len = one_file(m->base.p, x, n, i);
		size_t best = k;
		int most = 0;
		for (size_t j = 0; j < k; j += one_file(m->new.p, y, k, j)) {
			const int fit = used[j] ? 0 : file_fit(m, &x[i], &y[j]);
			if (fit > most) {
				most = fit;
				best = j;
			}
		}
		if (best < k)
			used[best] = true;
		pair_file(m, x + i, len, best < k ? y + best : NULL,
			  best < k ? one_file(m->new.p, y, k, best) : 0);
		i += len;
	}
	for (size_t j = 0; j < k; j += one_file(m->new.p, y, k, j))
		if (!used[j])
			pair_file(m, NULL, 0, y + j, one_file(m->new.p, y, k, j));
	free(used);
}

static void pair_lines(struct matcher *m, struct function_pair *f)
{
	const bool base = f->base != NONE, new = f->new != NONE;
	struct feature *const x = base ? features(m, &m->base, f->base) : NULL;
	struct feature *const y = new ? features(m, &m->new, f->new) : NULL;
	f->lines = m->d->n_lines;
	pair_files(m, x, base ? m->base.p->functions[f->base].n_lines : 0, y,
		   new ? m->new.p->functions[f->new].n_lines : 0);
	f->n_lines = m->d->n_lines - f->lines;
	free(x);
	free(y);
}

/* ---- the whole ---- */

int64_t pair_base(const struct profile_diff *d, const struct function_pair *f, size_t e)
{
	return f->base == NONE ? 0 : d->base->functions[f->base].counts[d->base_event[e]];
}

int64_t pair_new(const struct profile_diff *d, const struct function_pair *f, size_t e)
{
	return f->new == NONE ? 0 : d->new->functions[f->new].counts[d->new_event[e]];
}

int64_t line_base(const struct profile_diff *d, const struct line_pair *l, size_t e)
{
	return l->base == NONE ? 0 : d->base->lines[l->base].counts[d->base_event[e]];
}

int64_t line_new(const struct profile_diff *d, const struct line_pair *l, size_t e)
{
	return l->new == NONE ? 0 : d->new->lines[l->new].counts[d->new_event[e]];
}

static int common_events(struct profile_diff *d, struct tare_why *why)
{
	const struct tare_codeprofile *const p = d->base, *const q = d->new;
	d->base_event = space(p->n_events, sizeof(*d->base_event));
	d->new_event = space(p->n_events, sizeof(*d->new_event));
	for (uint32_t i = 0; i < p->n_events; i++)
		for (uint32_t k = 0; k < q->n_events; k++)
			if (!strcmp(p->events[i].name, q->events[k].name)) {
				d->base_event[d->n_events] = i;
				d->new_event[d->n_events++] = k;
				break;
			}
	if (d->n_events)
		return 0;
	return why_set(why, TARE_E_MISMATCH, "code profiles without a common event: one has %s, the other %s; "
		       "measure both with the same -e", p->events[0].name, q->events[0].name);
}

static void list_functions(struct profile_diff *d, const struct side *base, const struct side *new)
{
	d->functions = space(base->n + new->n, sizeof(*d->functions));
	for (uint32_t i = 0; i < base->n; i++)
		d->functions[d->n_functions++] = (struct function_pair){ .base = i, .new = base->partner[i] };
	for (uint32_t i = 0; i < new->n; i++)
		if (new->partner[i] == NONE)
			d->functions[d->n_functions++] = (struct function_pair){ .base = NONE, .new = i };
}

static void subtract(struct profile_diff *d)
{
	d->changes = space((d->n_functions + d->n_lines) * d->n_events, sizeof(*d->changes));
	int64_t *to = d->changes;
	for (size_t i = 0; i < d->n_functions; i++) {
		struct function_pair *const f = &d->functions[i];
		f->change = to;
		for (size_t e = 0; e < d->n_events; e++, to++) {
			*to = pair_new(d, f, e) - pair_base(d, f, e);
			f->differs |= *to != 0;
		}
		for (size_t k = f->lines; k < f->lines + f->n_lines; k++) {
			d->lines[k].change = to;
			for (size_t e = 0; e < d->n_events; e++, to++) {
				*to = line_new(d, &d->lines[k], e) - line_base(d, &d->lines[k], e);
				f->differs |= *to != 0;
			}
		}
	}
}

static uint64_t size_of(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static int by_change(const void *a, const void *b, void *arg)
{
	const struct function_pair *const x = a, *const y = b;
	const struct profile_diff *const d = arg;
	if (x->differs != y->differs)
		return x->differs ? -1 : 1;
	for (size_t e = 0; e < d->n_events; e++)
		if (size_of(x->change[e]) != size_of(y->change[e]))
			return size_of(x->change[e]) < size_of(y->change[e]) ? 1 : -1;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x->new < y->new ? -1 : x->new > y->new;
}

/* Objects get the number of their pair: the place in base. */
static uint32_t *groups_of(const struct side *s, bool is_base)
{
	uint32_t *const group = space(s->n, sizeof(*group));
	for (uint32_t i = 0; i < s->n; i++)
		group[i] = s->partner[i] == NONE ? NONE : is_base ? i : s->partner[i];
	return group;
}

static void open_texts(struct texts *t, const struct tare_codeprofile *p)
{
	t->p = p;
	t->text = space(p->n_files, sizeof(*t->text));
	t->asked = space(p->n_files, sizeof(*t->asked));
}

static void free_texts(struct texts *t)
{
	for (size_t i = 0; i < t->p->n_files; i++)
		source_text_free(&t->text[i]);
	free(t->text);
	free(t->asked);
}

static void pair_all(struct profile_diff *d, struct side *base, struct side *new)
{
	struct side x = { .p = d->base, .n = d->base->n_objects }, y = { .p = d->new, .n = d->new->n_objects };
	no_partners(&x);
	no_partners(&y);
	pair_objects(&x, &y);
	uint32_t *const group = groups_of(&x, true), *const other = groups_of(&y, false);
	*base = (struct side){ .p = d->base, .n = d->base->n_functions, .group = group };
	*new = (struct side){ .p = d->new, .n = d->new->n_functions, .group = other };
	no_partners(base);
	no_partners(new);
	pair_functions(base, new);
	free(x.partner);
	free(y.partner);
	free(group);
	free(other);
}

int profile_diff(struct profile_diff *d, const struct tare_codeprofile *base, const struct tare_codeprofile *new,
		 const struct annotate_opts *o, struct tare_why *why)
{
	struct side x, y;
	*d = (struct profile_diff){ .base = base, .new = new };
	const int err = common_events(d, why);
	if (err)
		return err;
	pair_all(d, &x, &y);
	list_functions(d, &x, &y);
	struct matcher m = { .d = d, .o = o };
	open_texts(&m.base, base);
	open_texts(&m.new, new);
	for (size_t i = 0; i < d->n_functions; i++)
		pair_lines(&m, &d->functions[i]);
	subtract(d);
	if (d->n_functions)
		qsort_r(d->functions, d->n_functions, sizeof(*d->functions), by_change, d);
	while (d->n_differ < d->n_functions && d->functions[d->n_differ].differs)
		d->n_differ++;
	free_texts(&m.base);
	free_texts(&m.new);
	d->partner_of_base = x.partner;
	free(y.partner);
	return 0;
}

void profile_diff_free(struct profile_diff *d)
{
	free(d->base_event);
	free(d->new_event);
	free(d->functions);
	free(d->lines);
	free(d->partner_of_base);
	free(d->changes);
	*d = (struct profile_diff){ 0 };
}
