#include "align.h"

#include <stdlib.h>

#define NEAR 512u			/* anchors this near are sought one by one */
#define LCS_CELLS (1u << 20)

struct pair {
	const struct point *a, *b;
	size_t n, m;
	bool ended;
};

static bool same(const struct pair *s, size_t i, size_t j)
{
	return s->a[i].key == s->b[j].key;
}

/* ANCHOR points alike from there on, or all that there are. */
static bool anchored(const struct pair *s, size_t i, size_t j)
{
	for (size_t k = 0; k < ANCHOR; k++) {
		if (i + k == s->n || j + k == s->m)
			return k && s->ended && i + k == s->n && j + k == s->m;
		if (!same(s, i + k, j + k))
			return false;
	}
	return true;
}

static bool near_anchor(const struct pair *s, size_t *i, size_t *j)
{
	for (size_t sum = 1; sum <= NEAR; sum++) {
		for (size_t di = 0; di <= sum; di++) {
			const size_t x = *i + di, y = *j + (sum - di);
			if (x < s->n && y < s->m && same(s, x, y) && anchored(s, x, y)) {
				*i = x;
				*j = y;
				return true;
			}
		}
	}
	return false;
}

static uint64_t gram(const struct point *p)
{
	uint64_t h = 0;
	for (size_t k = 0; k < ANCHOR; k++)
		h = (h ^ p[k].key) * 0x9E3779B97F4A7C15ull + (h >> 29);
	return h | 1;
}

struct gram_slot {
	uint64_t hash;
	uint32_t at;
};

static void note_grams(const struct pair *s, size_t from, struct gram_slot *table, size_t mask)
{
	for (size_t x = from; x + ANCHOR <= s->n; x++) {
		const uint64_t h = gram(&s->a[x]);
		size_t slot = (h >> 20) & mask;
		while (table[slot].hash && table[slot].hash != h)
			slot = (slot + 1) & mask;
		if (!table[slot].hash)		/* the first is the nearest */
			table[slot] = (struct gram_slot){ h, (uint32_t)x };
	}
}

/* Anywhere in the arrays, by a table of all stretches of ANCHOR points of a. 1: found. */
static int far_anchor(const struct pair *s, size_t *i, size_t *j)
{
	size_t mask = 1024;
	if (s->n - *i < ANCHOR)
		return 0;
	while (mask < 2 * (s->n - *i))
		mask *= 2;
	struct gram_slot *const table = calloc(mask, sizeof(*table));
	if (!table)
		return -1;
	mask--;
	note_grams(s, *i, table, mask);
	size_t best = SIZE_MAX, bx = 0, by = 0;
	for (size_t y = *j; y + ANCHOR <= s->m && y - *j < best; y++) {
		const uint64_t h = gram(&s->b[y]);
		size_t slot = (h >> 20) & mask;
		while (table[slot].hash && table[slot].hash != h)
			slot = (slot + 1) & mask;
		const size_t x = table[slot].at;
		if (!table[slot].hash || x - *i + y - *j >= best || !anchored(s, x, y))
			continue;
		best = x - *i + y - *j;
		bx = x;
		by = y;
	}
	free(table);
	if (best == SIZE_MAX)
		return 0;
	*i = bx;
	*j = by;
	return 1;
}

/* The longest common subsequence of a[i, ie) and b[j, je) into match. */
static bool common(const struct pair *s, size_t i, size_t ie, size_t j, size_t je,
		   uint32_t *match)
{
	const size_t rows = ie - i, columns = je - j;
	if (!rows || !columns || rows > UINT16_MAX || columns > UINT16_MAX ||
	    (rows + 1) * (columns + 1) > LCS_CELLS)
		return true;
	uint16_t *const length = calloc((rows + 1) * (columns + 1), sizeof(*length));
	if (!length)
		return false;
	const size_t stride = columns + 1;
	for (size_t x = rows; x-- > 0;) {
		for (size_t y = columns; y-- > 0;) {
			const uint16_t down = length[(x + 1) * stride + y];
			const uint16_t right = length[x * stride + y + 1];
			uint16_t best = down > right ? down : right;
			if (same(s, i + x, j + y))
				best = (uint16_t)(length[(x + 1) * stride + y + 1] + 1);
			length[x * stride + y] = best;
		}
	}
	for (size_t x = 0, y = 0; x < rows && y < columns; ) {
		if (same(s, i + x, j + y)) {
			match[i + x] = (uint32_t)(j + y);
			x++;
			y++;
		} else if (length[(x + 1) * stride + y] >= length[x * stride + y + 1]) {
			x++;
		} else {
			y++;
		}
	}
	free(length);
	return true;
}

bool align_points(const struct point *a, size_t n, const struct point *b, size_t m, bool ended,
		  struct alignment *out)
{
	const struct pair s = { a, b, n, m, ended };
	size_t i = 0, j = 0;
	for (size_t k = 0; k < n; k++)
		out->match[k] = NO_MATCH;
	out->lost = false;
	for (;;) {
		while (i < n && j < m && same(&s, i, j))
			out->match[i++] = (uint32_t)j++;
		size_t x = i, y = j;
		bool found = i < n && j < m && near_anchor(&s, &x, &y);
		if (!found && i < n && j < m) {
			const int far = far_anchor(&s, &x, &y);
			if (far < 0)
				return false;
			found = far > 0;
		}
		if (!found) {
			/* What is left: a tail of one, or two ways that never meet again. */
			if (ended && !common(&s, i, n, j, m, out->match))
				return false;
			out->lost = !ended;
			out->used_a = ended ? n : i;
			out->used_b = ended ? m : j;
			return true;
		}
		if (!common(&s, i, x, j, y, out->match))
			return false;
		i = x;
		j = y;
	}
}
