/* The call tree as "a;b;c value" lines, in the order of their bytes.
 *
 * There can be millions, each with a long path, so they are not put together and
 * sorted: the children of each node are, and a walk over the tree comes by the
 * lines in order. A node is in the order twice, as its own line, which ends with
 * the name, and as what is inside it, which goes on with a semicolon: between the
 * two belong siblings like "name (2)".
 */
#include "stacks.h"

#include "sink.h"
#include "why.h"

#include <stdlib.h>

#define INSIDE 1u		/* else the line; the bits above are the node */

struct lines {
	const struct tare_stacks *t;
	uint32_t *order;		/* node << 1 | INSIDE, by parent and bytes */
	uint32_t n;
	uint32_t *first;		/* n nodes + 1: where the children of each start */
	struct buf path;
	struct sink out;
};

/* A name may not hold what separates names. */
static char folded(const struct tare_stacks *t, char c)
{
	return t->measureme ? c : c == ';' ? ':' : c == '\n' || c == '\r' ? ' ' : c;
}

/* The byte at `i` of an entry; -1: behind its end. */
static int byte_of(const struct tare_stacks *t, uint32_t entry, size_t i)
{
	const uint32_t name = t->nodes[entry >> 1].name;
	const size_t len = names_len(&t->names, name);
	if (i < len)
		return (unsigned char)folded(t, names_text(&t->names, name)[i]);
	return i == len && entry & INSIDE ? ';' : -1;
}

static int compare_entries(const void *a, const void *b, void *arg)
{
	const struct tare_stacks *const t = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint32_t p = t->nodes[x >> 1].parent, q = t->nodes[y >> 1].parent;
	if (p != q)
		return p < q ? -1 : 1;
	for (size_t i = 0;; i++) {
		const int c = byte_of(t, x, i), d = byte_of(t, y, i);
		if (c != d)
			return c < d ? -1 : 1;
		if (c < 0)
			return x < y ? -1 : x > y;
	}
}

static bool has_line(const struct tare_stacks *t, uint32_t node)
{
	return t->nodes[node].self > 0 || t->measureme;
}

static bool sort_entries(struct lines *l)
{
	const struct tare_stacks *const t = l->t;
	l->order = malloc(2 * (size_t)t->n * sizeof(*l->order));
	l->first = calloc((size_t)t->n + 1, sizeof(*l->first));
	if (!l->order || !l->first)
		return false;
	for (uint32_t i = 1; i < t->n; i++)
		l->first[t->nodes[i].parent] = 1;	/* has children */
	for (uint32_t i = 1; i < t->n; i++) {
		if (has_line(t, i))
			l->order[l->n++] = i << 1;
		if (l->first[i])
			l->order[l->n++] = i << 1 | INSIDE;
	}
	if (l->n)
		qsort_r(l->order, l->n, sizeof(*l->order), compare_entries, (void *)t);
	memset(l->first, 0, ((size_t)t->n + 1) * sizeof(*l->first));
	for (uint32_t i = 0; i < l->n; i++)
		l->first[t->nodes[l->order[i] >> 1].parent + 1]++;
	for (uint32_t i = 0; i < t->n; i++)
		l->first[i + 1] += l->first[i];
	return true;
}

static void add_name(struct lines *l, uint32_t node)
{
	const uint32_t name = l->t->nodes[node].name;
	const char *const text = names_text(&l->t->names, name);
	for (size_t i = 0; i < names_len(&l->t->names, name); i++)
		buf_chr(&l->path, folded(l->t, text[i]));
}

static void add_line(struct lines *l, uint32_t node)
{
	const int64_t self = l->t->nodes[node].self;
	sink_add(&l->out, l->path.data, l->path.len);
	sink_add(&l->out, " ", 1);
	sink_u64(&l->out, self > 0 ? (uint64_t)self : 0);
	sink_add(&l->out, "\n", 1);
}

/* Depth first without recursion: the tree may be deep. first[n] moves on with the
 * children of n; the end is where those of another node begin. */
static void walk(struct lines *l)
{
	const struct tare_stacks *const t = l->t;
	uint32_t at = 0;
	add_name(l, 0);
	if (has_line(t, 0))
		add_line(l, 0);
	while (!buf_failed(&l->path)) {
		const uint32_t i = l->first[at];
		if (i < l->n && t->nodes[l->order[i] >> 1].parent == at) {
			const uint32_t node = l->order[i] >> 1;
			l->first[at]++;
			buf_chr(&l->path, ';');
			add_name(l, node);
			if (l->order[i] & INSIDE) {
				at = node;
				continue;
			}
			add_line(l, node);
			l->path.len -= names_len(&t->names, t->nodes[node].name) + 1;
		} else if (at) {
			l->path.len -= names_len(&t->names, t->nodes[at].name) + 1;
			at = t->nodes[at].parent;
		} else {
			break;
		}
	}
}

int tare_stacks_collapsed(const struct tare_stacks *t, int fd, struct tare_why *why)
{
	struct lines l = { .t = t };
	int err = sink_open(&l.out, fd, why);
	if (err < 0)
		return err;
	const bool sorted = sort_entries(&l);
	if (sorted)
		walk(&l);
	err = sink_close(&l.out, why);
	if (!sorted || buf_failed(&l.path))
		err = why_set(why, TARE_E_NOMEM, "stacks");
	free(l.order);
	free(l.first);
	buf_free(&l.path);
	return err;
}
