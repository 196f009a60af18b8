#include "sorted-runs.h"

#include "buf.h"
#include "reader.h"
#include "why.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define WRITE_BYTES (64u << 10)
#define READ_BYTES (16u << 10)
#define RUNS_MOST 256u		/* then they become one */

struct run_place {
	uint64_t from, to;
};

struct sorted_runs {
	int fd;
	uint64_t size;			/* written or in `out` */
	struct buf out;			/* not yet written */
	struct buf last;		/* the key before */
	struct run_place run[RUNS_MOST];
	size_t n;
	uint64_t started;		/* where the run under way began */
};

/* A run being read. */
struct run_cursor {
	uint64_t at, to;
	uint8_t bytes[READ_BYTES];
	size_t pos, len;
	struct buf key;
	int64_t v[RUN_VALUES];
};

struct merge {
	const struct sorted_runs *r;
	struct run_cursor *cursor;
	uint32_t *heap;			/* the least key first */
	size_t n;
	struct tare_why *why;
};

static int no_memory(struct tare_why *why)
{
	return why_set(why, TARE_E_NOMEM, "sorting");
}

int sorted_runs_new(struct sorted_runs **out, struct tare_why *why)
{
	*out = NULL;
	struct sorted_runs *const r = calloc(1, sizeof(*r));
	if (!r)
		return no_memory(why);
	r->fd = spool_file(why);
	if (r->fd < 0) {
		const int err = r->fd;
		free(r);
		return err;
	}
	*out = r;
	return 0;
}

void sorted_runs_free(struct sorted_runs *r)
{
	if (!r)
		return;
	close(r->fd);
	buf_free(&r->out);
	buf_free(&r->last);
	free(r);
}

#define NUMBER_BYTES 10		/* of 64 bits, seven in a byte */

static uint8_t *put_number(uint8_t *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static int flush(struct sorted_runs *r, struct tare_why *why)
{
	const int err = r->out.len ? spool_write(r->fd, r->out.data, r->out.len, why) : 0;
	r->out.len = 0;
	return err;
}

static size_t common(const struct buf *a, const char *key, size_t len)
{
	const size_t most = a->len < len ? a->len : len;
	size_t n = 0;
	while (n + 8 <= most && memcmp(a->data + n, key + n, 8) == 0)
		n += 8;
	while (n < most && a->data[n] == key[n])
		n++;
	return n;
}

int sorted_runs_add(struct sorted_runs *r, const struct run_item *item, struct tare_why *why)
{
	const size_t shared = common(&r->last, item->key, item->len);
	const size_t before = r->out.len;
	uint8_t bytes[RUN_VALUES * NUMBER_BYTES];
	uint8_t *end = put_number(put_number(bytes, shared), item->len - shared);
	buf_add(&r->out, bytes, (size_t)(end - bytes));
	buf_add(&r->out, item->key + shared, item->len - shared);
	end = bytes;
	for (size_t i = 0; i < RUN_VALUES; i++)
		end = put_number(end, zigzag(item->v[i]));
	buf_add(&r->out, bytes, (size_t)(end - bytes));
	r->last.len = shared;
	buf_add(&r->last, item->key + shared, item->len - shared);
	if (buf_failed(&r->out) || buf_failed(&r->last))
		return no_memory(why);
	r->size += r->out.len - before;
	return r->out.len < WRITE_BYTES ? 0 : flush(r, why);
}

static int refill(struct merge *m, struct run_cursor *c)
{
	const uint64_t left = c->to - c->at;
	const size_t want = left < READ_BYTES ? (size_t)left : READ_BYTES;
	ssize_t n;
	do {
		n = pread(m->r->fd, c->bytes, want, (off_t)c->at);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return why_errno(m->why, TARE_E_IO, n < 0 ? errno : EIO, "temporary file");
	c->at += (uint64_t)n;
	c->pos = 0;
	c->len = (size_t)n;
	return 0;
}

static int get_number_slow(struct merge *m, struct run_cursor *c, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; ; shift += 7) {
		if (c->pos == c->len) {
			const int err = refill(m, c);
			if (err < 0)
				return err;
		}
		const uint8_t b = c->bytes[c->pos++];
		*v |= (uint64_t)(b & 0x7F) << shift;
		if (b < 0x80)
			return 0;
	}
}

static inline int get_number(struct merge *m, struct run_cursor *c, uint64_t *v)
{
	if (c->len - c->pos < NUMBER_BYTES)
		return get_number_slow(m, c, v);
	const uint8_t *at = c->bytes + c->pos;
	uint64_t sum = *at & 0x7F;
	for (unsigned shift = 7; *at++ >= 0x80; shift += 7)
		sum |= (uint64_t)(*at & 0x7F) << shift;
	c->pos = (size_t)(at - c->bytes);
	*v = sum;
	return 0;
}

static int get_bytes(struct merge *m, struct run_cursor *c, uint64_t n)
{
	while (n) {
		if (c->pos == c->len) {
			const int err = refill(m, c);
			if (err < 0)
				return err;
		}
		const size_t here = n < c->len - c->pos ? (size_t)n : c->len - c->pos;
		buf_add(&c->key, c->bytes + c->pos, here);
		c->pos += here;
		n -= here;
	}
	return buf_failed(&c->key) ? no_memory(m->why) : 0;
}

/* 1: the next item of the run is there; 0: it has no more. */
static int advance(struct merge *m, struct run_cursor *c)
{
	uint64_t shared, more, v;
	if (c->pos == c->len && c->at == c->to)
		return 0;
	int err = get_number(m, c, &shared);
	if (err == 0)
		err = get_number(m, c, &more);
	if (err < 0)
		return err;
	c->key.len = (size_t)shared;
	err = get_bytes(m, c, more);
	for (size_t i = 0; err == 0 && i < RUN_VALUES; i++) {
		err = get_number(m, c, &v);
		c->v[i] = unzigzag(v);
	}
	return err < 0 ? err : 1;
}

static int compare_keys(const struct buf *a, const struct buf *b)
{
	const size_t n = a->len < b->len ? a->len : b->len;
	const int c = n ? memcmp(a->data, b->data, n) : 0;
	return c ? c : a->len < b->len ? -1 : a->len > b->len;
}

static bool before(const struct merge *m, uint32_t x, uint32_t y)
{
	return compare_keys(&m->cursor[x].key, &m->cursor[y].key) < 0;
}

static void sift_down(struct merge *m, size_t i)
{
	for (;;) {
		size_t least = i;
		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->n; child++)
			if (before(m, m->heap[child], m->heap[least]))
				least = child;
		if (least == i)
			return;
		const uint32_t swap = m->heap[i];
		m->heap[i] = m->heap[least];
		m->heap[least] = swap;
		i = least;
	}
}

/* The least key leaves; what follows it in its run takes its place. */
static int step(struct merge *m)
{
	const int more = advance(m, &m->cursor[m->heap[0]]);
	if (more < 0)
		return more;
	if (!more)
		m->heap[0] = m->heap[--m->n];
	sift_down(m, 0);
	return 0;
}

static int start(struct merge *m)
{
	for (size_t i = 0; i < m->r->n; i++) {
		m->cursor[i].at = m->r->run[i].from;
		m->cursor[i].to = m->r->run[i].to;
		const int more = advance(m, &m->cursor[i]);
		if (more < 0)
			return more;
		if (more)
			m->heap[m->n++] = (uint32_t)i;
	}
	for (size_t i = m->n / 2; i-- > 0;)
		sift_down(m, i);
	return 0;
}

static int merge_all(struct merge *m, int (*each)(void *, const struct run_item *), void *arg)
{
	struct buf key = { 0 };
	int err = start(m);
	while (err == 0 && m->n) {
		const struct run_cursor *c = &m->cursor[m->heap[0]];
		struct run_item item;
		memcpy(item.v, c->v, sizeof(item.v));
		key.len = 0;
		buf_add(&key, c->key.data, c->key.len);
		err = buf_failed(&key) ? no_memory(m->why) : step(m);
		while (err == 0 && m->n && compare_keys(&m->cursor[m->heap[0]].key, &key) == 0) {
			c = &m->cursor[m->heap[0]];
			for (size_t i = 0; i < RUN_VALUES; i++)
				item.v[i] += c->v[i];
			err = step(m);
		}
		item.key = key.data ? key.data : "";
		item.len = key.len;
		if (err == 0)
			err = each(arg, &item);
	}
	buf_free(&key);
	return err;
}

int sorted_runs_merge(struct sorted_runs *r, int (*each)(void *, const struct run_item *), void *arg,
		      struct tare_why *why)
{
	int err = flush(r, why);
	if (err < 0)
		return err;
	struct merge m = { .r = r, .why = why };
	m.cursor = calloc(r->n + 1, sizeof(*m.cursor));
	m.heap = calloc(r->n + 1, sizeof(*m.heap));
	err = m.cursor && m.heap ? merge_all(&m, each, arg) : no_memory(why);
	for (size_t i = 0; m.cursor && i < r->n; i++)
		buf_free(&m.cursor[i].key);
	free(m.cursor);
	free(m.heap);
	return err;
}

struct joining {
	struct sorted_runs *into;
	struct tare_why *why;
};

static int join_item(void *arg, const struct run_item *item)
{
	const struct joining *const j = arg;
	return sorted_runs_add(j->into, item, j->why);
}

/* All runs become one, in another file. */
static int join(struct sorted_runs *r, struct tare_why *why)
{
	struct joining j = { .why = why };
	int err = sorted_runs_new(&j.into, why);
	if (err < 0)
		return err;
	err = sorted_runs_merge(r, join_item, &j, why);
	if (err == 0)
		err = flush(j.into, why);
	if (err == 0) {
		const int fd = r->fd;
		r->fd = j.into->fd;
		j.into->fd = fd;
		r->size = j.into->size;
		r->run[0] = (struct run_place){ 0, r->size };
		r->n = 1;
	}
	sorted_runs_free(j.into);
	return err;
}

int sorted_runs_end(struct sorted_runs *r, struct tare_why *why)
{
	if (r->size > r->started)
		r->run[r->n++] = (struct run_place){ r->started, r->size };
	r->last.len = 0;
	const int err = r->n == RUNS_MOST ? join(r, why) : 0;
	r->started = r->size;
	return err;
}
