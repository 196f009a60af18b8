/* String ids to text.
 *
 * An entry is literal bytes and references to other entries, so a hostile file can
 * ask for cycles, for exponential expansion, or for addresses outside; the budget
 * of struct expansion ends all three.
 *
 * Virtual ids are looked up in an array by id (rustc numbers its invocations from
 * 0, so it is dense), of 4 bytes an id, or of 2 where the string data is short;
 * where the ids are so scattered that the array would outgrow the index itself, in a
 * sorted list.
 */
#include "reader.h"

#include "why.h"

#include <stdlib.h>
#include <sys/mman.h>

#define DEPTH_MAX 64
#define REFERENCES_MAX 65536u
#define SPARSE_SHIFT 37		/* ids have 27 bits */

struct index_pass {
	struct tare_profile *p;
	uint64_t number;		/* of the entry */
	uint64_t duplicates;
	bool too_sparse;
	bool too_wide;			/* an address, for two bytes */
};

static void store_other(struct index_pass *pass, uint64_t id, uint64_t addr)
{
	struct tare_profile *const p = pass->p;
	if (id == MM_METADATA_ID)
		p->metadata_addr = addr;
	else if (id > MM_VIRTUAL_MAX)
		return;
	else if (p->sparse)
		p->sparse[p->n_sparse++] = id << SPARSE_SHIFT | pass->number;
	else
		pass->too_sparse = true;
}

/* `narrow`: an address is stored in two bytes. What does not fit into four is outside the
 * string data anyway. */
static inline __attribute__((always_inline)) void index_entries(struct index_pass *pass,
		const uint8_t *bytes, size_t len, const int wide, const int narrow)
{
	uint32_t *const dense = pass->p->dense;
	uint16_t *const two = pass->p->narrow;
	const uint64_t n_dense = pass->p->n_dense;
	const size_t size = wide ? 16 : 8;
	const uint64_t first = pass->number;
	uint64_t duplicates = 0, bits = 0;
	for (size_t i = 0; i < len; i += size) {
		const uint64_t id = wide ? mm_u64(bytes + i) : mm_u32(bytes + i);
		const uint64_t addr = wide ? mm_u64(bytes + i + 8) : mm_u32(bytes + i + 4);
		__builtin_prefetch((const void *)((uintptr_t)bytes + i + 4096));
		if (__builtin_expect(id >= n_dense, 0)) {
			pass->number = first + i / size;
			store_other(pass, id, addr);
			continue;
		}
		const uint32_t before = narrow ? two[id] : dense[id];
		const uint64_t now = narrow || addr < UINT32_MAX ? addr : UINT32_MAX;
		bits |= now;
		if (__builtin_expect(before != 0, 0))
			duplicates += before != now;
		if (narrow)
			two[id] = (uint16_t)now;
		else
			dense[id] = (uint32_t)now;
	}
	pass->number = first + len / size;
	pass->duplicates += duplicates;
	pass->too_wide |= narrow && bits > UINT16_MAX;
}

static void some_entries(struct index_pass *pass, const uint8_t *bytes, size_t len)
{
	if (!pass->p->wide)
		index_entries(pass, bytes, len, 0, pass->p->narrow != NULL);
	else if (pass->p->narrow)
		index_entries(pass, bytes, len, 1, 1);
	else
		index_entries(pass, bytes, len, 1, 0);
}

static bool each_entry(struct index_pass *pass)
{
	const struct tare_profile *const p = pass->p;
	const struct stream *const s = &p->streams[MM_INDEX];
	const size_t size = 2 * p->id_size;
	const uint64_t end = s->size - (s->size - MM_HEADER_SIZE) % size;
	uint8_t *const room = malloc(PROFILE_READ_BYTES);
	if (!room)
		return false;
	pass->number = pass->duplicates = 0;
	for (uint64_t off = MM_HEADER_SIZE; off < end && !pass->too_sparse && !pass->too_wide; ) {
		const uint8_t *bytes;
		size_t len = stream_span(p, s, off, &bytes);
		if (len > end - off)
			len = end - off;
		if (len > PROFILE_READ_BYTES)
			len = PROFILE_READ_BYTES;
		if (len < size) {
			uint8_t cut[16];
			stream_copy(p, s, off, cut, size);
			some_entries(pass, cut, size);
			off += size;
			continue;
		}
		len -= len % size;
		const uint64_t at = (uint64_t)(bytes - p->bytes);
		some_entries(pass, profile_bytes(p, at, len, room), len);
		window_drop(p, at, at + len);
		off += len;
	}
	free(room);
	return true;
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Of equal ids the last entry stays. */
static void sort_sparse(struct tare_profile *p)
{
	size_t kept = 0;
	qsort(p->sparse, p->n_sparse, sizeof(*p->sparse), compare_u64);
	for (size_t i = 0; i < p->n_sparse; i++) {
		if (kept && p->sparse[kept - 1] >> SPARSE_SHIFT == p->sparse[i] >> SPARSE_SHIFT)
			kept--;
		p->sparse[kept++] = p->sparse[i];
	}
	if (kept < p->n_sparse)
		profile_warn(p, TARE_PROFILE_DUPLICATE_ID, p->n_sparse - kept);
	p->n_sparse = kept;
}

/* A long array of zeros in large pages: a tenth of the page faults of a big file. */
static void *new_dense(uint64_t n, size_t size)
{
	static const uintptr_t huge = 2u << 20;
	void *const dense = calloc(n, size);
	const uintptr_t from = ((uintptr_t)dense + huge - 1) & ~(huge - 1);
	const uintptr_t to = ((uintptr_t)dense + n * size) & ~(huge - 1);
	if (dense && from < to)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
	return dense;
}

static int no_memory(const struct tare_profile *p, struct tare_why *why)
{
	return why_set(why, TARE_E_NOMEM, "%.120s: string index", p->path);
}

static void free_dense(struct tare_profile *p)
{
	free(p->dense);
	free(p->narrow);
	p->dense = NULL;
	p->narrow = NULL;
}

/* 1: the index is in an array by id; 0: its ids are too scattered for one. The array is as
 * long as four times the entries could reach; what of it is never touched costs nothing. */
static int index_dense(struct tare_profile *p, uint64_t n_entries, struct tare_why *why)
{
	const uint64_t size = p->streams[MM_STRINGS].size;
	struct index_pass pass = { .p = p, .too_wide = size > UINT16_MAX };
	if (size > UINT32_MAX)
		return 0;
	p->n_dense = 4 * n_entries + 65536;
	if (p->n_dense > MM_VIRTUAL_MAX + 1)
		p->n_dense = MM_VIRTUAL_MAX + 1;
	if (!pass.too_wide) {
		p->narrow = new_dense(p->n_dense + 1, sizeof(*p->narrow));
		if (!p->narrow || !each_entry(&pass))
			return no_memory(p, why);
	}
	if (pass.too_wide) {
		free_dense(p);
		pass = (struct index_pass){ .p = p };
		p->dense = new_dense(p->n_dense + 1, sizeof(*p->dense));
		if (!p->dense || !each_entry(&pass))
			return no_memory(p, why);
	}
	profile_warn(p, TARE_PROFILE_DUPLICATE_ID, pass.too_sparse ? 0 : pass.duplicates);
	return !pass.too_sparse;
}

int strings_index(struct tare_profile *p, struct tare_why *why)
{
	const struct stream *const s = &p->streams[MM_INDEX];
	if (s->size <= MM_HEADER_SIZE) {
		p->dense = calloc(1, sizeof(*p->dense));
		return p->dense ? 0 : no_memory(p, why);
	}
	if ((s->size - MM_HEADER_SIZE) % (2 * p->id_size))
		profile_warn(p, TARE_PROFILE_TRUNCATED, 1);
	const uint64_t n_entries = (s->size - MM_HEADER_SIZE) / (2 * p->id_size);
	const int done = index_dense(p, n_entries, why);
	if (done)
		return done < 0 ? done : 0;
	free_dense(p);
	p->n_dense = 0;
	p->dense = calloc(1, sizeof(*p->dense));
	p->sparse = malloc((n_entries + 1) * sizeof(*p->sparse));
	if (!p->sparse || !p->dense)
		return no_memory(p, why);
	struct index_pass pass = { .p = p };
	if (!each_entry(&pass))
		return no_memory(p, why);
	sort_sparse(p);
	return 0;
}

static uint64_t sparse_addr(const struct tare_profile *p, uint64_t id)
{
	size_t lo = 0, hi = p->n_sparse;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (p->sparse[mid] >> SPARSE_SHIFT < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == p->n_sparse || p->sparse[lo] >> SPARSE_SHIFT != id)
		return 0;
	const uint64_t number = p->sparse[lo] & ((1ull << SPARSE_SHIFT) - 1);
	uint8_t bytes[8];
	stream_copy(p, &p->streams[MM_INDEX],
		    MM_HEADER_SIZE + number * 2 * p->id_size + p->id_size, bytes, p->id_size);
	const uint64_t addr = p->wide ? mm_u64(bytes) : mm_u32(bytes);
	return addr < UINT64_MAX ? addr : addr - 1;	/* that one means an empty cache slot */
}

uint64_t strings_addr(const struct tare_profile *p, uint64_t id)
{
	if (id >= MM_FIRST_REGULAR)
		return id - MM_FIRST_REGULAR;
	if (id < p->n_dense)
		return p->narrow ? p->narrow[id] : p->dense[id];
	if (id == MM_METADATA_ID)
		return p->metadata_addr;
	if (id <= MM_VIRTUAL_MAX && p->sparse)
		return sparse_addr(p, id);
	return 0;
}

#define TOO_LONG 1		/* the rest of the text is left out */

struct expansion {
	struct tare_profile *p;
	struct buf *out;
	size_t start;		/* out's length before */
	size_t most;		/* bytes of text */
	unsigned references;
	int depth;
	struct tare_why *why;
};

static int refuse(const struct expansion *x, uint64_t addr, const char *what)
{
	return why_set(x->why, TARE_E_FORMAT, "%.120s: string at address %llu %s", x->p->path,
		       (unsigned long long)addr, what);
}

/* A page of zeros is a hole of a sparse file, or a part that a crash left unwritten; no text. */
static bool ends_in_zeros(const struct buf *text)
{
	enum { PAGE = 4096 };
	if (text->len < PAGE)
		return false;
	const char *const page = text->data + text->len - PAGE;
	return !page[0] && memcmp(page, page + 1, PAGE - 1) == 0;
}

/* The text is longer than the most there can be. */
static int too_long(struct expansion *x, uint64_t addr)
{
	if (ends_in_zeros(x->out))
		return refuse(x, addr, "is followed by zeros: this part of the file was never written");
	profile_warn(x->p, TARE_PROFILE_LONG_STRING, 1);
	return TOO_LONG;
}

static int expand_id(struct expansion *x, uint64_t id);

static int expand_reference(struct expansion *x, uint64_t addr, uint64_t id)
{
	if (++x->references > REFERENCES_MAX)
		return refuse(x, addr, "expands without end");
	if (x->depth == DEPTH_MAX)
		return refuse(x, addr, "refers to itself, or is nested deeper than 64");
	x->depth++;
	const int err = expand_id(x, id);
	x->depth--;
	return err;
}

/* How many bytes from the start are text: neither a reference nor the end. */
static size_t literal_bytes(const uint8_t *bytes, size_t len)
{
	static const uint64_t tops = 0x8080808080808080ull;
	size_t n = 0;
	while (n + 8 <= len) {
		uint64_t v;
		memcpy(&v, bytes + n, 8);
		v = le64toh(v);
		const uint64_t high = v & v << 1 & tops;	/* bytes with their two top bits set */
		n += high ? (unsigned)__builtin_ctzll(high) / 8 : 8;
		if (high && bytes[n] >= MM_REFERENCE)
			return n;
		n += high != 0;
	}
	while (n < len && bytes[n] < MM_REFERENCE)
		n++;
	return n;
}

/* The id of a reference whose bytes may lie in two pages. */
static bool reference_at(const struct tare_profile *p, uint64_t addr, const uint8_t *bytes, size_t len,
			 uint64_t *id)
{
	uint8_t cut[8];
	const uint8_t *at = bytes + 1;
	if (len < 1 + p->id_size) {
		if (!stream_copy(p, &p->streams[MM_STRINGS], addr + 1, cut, p->id_size))
			return false;
		at = cut;
	}
	*id = p->wide ? mm_u64(at) : mm_u32(at);
	return true;
}

/* TARE_E_RANGE: the stream ends before the string does. TOO_LONG: the text is cut. */
static int expand_at(struct expansion *x, uint64_t addr)
{
	struct tare_profile *const p = x->p;
	const uint8_t *bytes = NULL;
	size_t len = 0;				/* of them lie side by side */
	for (;;) {
		if (!len)
			len = stream_span(p, &p->streams[MM_STRINGS], addr, &bytes);
		if (!len)
			return TARE_E_RANGE;
		const size_t left = x->most - (x->out->len - x->start);
		const size_t look = len > left ? left + 1 : len;	/* the page may have gigabytes more */
		const size_t n = literal_bytes(bytes, look);
		if (n > left) {
			buf_add(x->out, bytes, left);
			return too_long(x, addr);
		}
		buf_add(x->out, bytes, n);
		addr += n;
		bytes += n;
		len -= n;
		if (n == look)
			continue;
		if (*bytes == MM_TERMINATOR)
			return 0;
		uint64_t id;
		if (!reference_at(p, addr, bytes, len, &id))
			return TARE_E_RANGE;
		const int err = expand_reference(x, addr, id);
		if (err)
			return err;
		const size_t size = 1 + p->id_size;
		addr += size;
		bytes += size;
		len = len > size ? len - size : 0;
	}
}

static int expand_id(struct expansion *x, uint64_t id)
{
	struct tare_profile *const p = x->p;
	const uint64_t addr = strings_addr(p, id);
	const size_t before = x->out->len;
	if (addr == 0) {
		profile_warn(p, TARE_PROFILE_UNKNOWN_ID, 1);
		buf_str(x->out, "<unknown>");
		return 0;
	}
	if (addr < MM_HEADER_SIZE)
		return refuse(x, addr, "is inside the stream's header");
	const int err = expand_at(x, addr);
	if (err != TARE_E_RANGE)
		return err;
	if (p->info.complete)
		return refuse(x, addr, "runs past the end of the string data");
	profile_warn(p, TARE_PROFILE_LOST_STRING, 1);
	x->out->len = before;
	buf_str(x->out, "<unknown>");
	return 0;
}

/* Length of the UTF-8 sequence at s, or 0; then *skip is how many bytes one
 * U+FFFD stands for (the longest part that could have begun a character). */
static size_t utf8_len(const unsigned char *s, size_t n, size_t *skip)
{
	static const struct { unsigned char lead_lo, lead_hi, lo, hi, len; } form[] = {
		{ 0xC2, 0xDF, 0x80, 0xBF, 2 }, { 0xE0, 0xE0, 0xA0, 0xBF, 3 },
		{ 0xE1, 0xEC, 0x80, 0xBF, 3 }, { 0xED, 0xED, 0x80, 0x9F, 3 },
		{ 0xEE, 0xEF, 0x80, 0xBF, 3 }, { 0xF0, 0xF0, 0x90, 0xBF, 4 },
		{ 0xF1, 0xF3, 0x80, 0xBF, 4 }, { 0xF4, 0xF4, 0x80, 0x8F, 4 },
	};
	*skip = 1;
	if (s[0] < 0x80)
		return 1;
	for (size_t f = 0; f < sizeof(form) / sizeof(form[0]); f++) {
		if (s[0] < form[f].lead_lo || s[0] > form[f].lead_hi)
			continue;
		size_t i = 1;
		while (i < form[f].len && i < n && s[i] >= (i == 1 ? form[f].lo : 0x80) &&
		       s[i] <= (i == 1 ? form[f].hi : 0xBF))
			i++;
		*skip = i;
		return i == form[f].len ? i : 0;
	}
	return 0;
}

static size_t ascii_bytes(const char *text, size_t len)
{
	size_t n = 0;
	for (; n + 8 <= len; n += 8) {
		uint64_t v;
		memcpy(&v, text + n, 8);
		if (v & 0x8080808080808080ull)
			break;
	}
	while (n < len && !(text[n] & 0x80))
		n++;
	return n;
}

/* Makes out from `start` on valid UTF-8; texts that are stay untouched. */
static void make_valid(struct buf *out, size_t start)
{
	size_t at = start, skip, n = 1;
	at += out->len > start ? ascii_bytes(out->data + start, out->len - start) : 0;
	while (at < out->len) {
		n = utf8_len((unsigned char *)out->data + at, out->len - at, &skip);
		if (!n)
			break;
		at += n;
	}
	if (at == out->len)
		return;
	struct buf rest = { 0 };
	buf_add(&rest, out->data + at, out->len - at);
	out->len = at;
	for (at = 0; at < rest.len; at += n ? n : skip) {
		n = utf8_len((unsigned char *)rest.data + at, rest.len - at, &skip);
		if (n)
			buf_add(out, rest.data + at, n);
		else
			buf_str(out, "\xef\xbf\xbd");
	}
	out->failed |= buf_failed(&rest);
	buf_free(&rest);
}

int strings_text(struct tare_profile *p, uint64_t id, struct buf *out, struct tare_why *why)
{
	/* The metadata has the names of all threads in it. */
	struct expansion x = { .p = p, .out = out, .start = out->len, .why = why,
			       .most = id == MM_METADATA_ID ? 64 * MM_TEXT_MAX : MM_TEXT_MAX };
	const int err = expand_id(&x, id);
	if (err < 0)
		return err;
	make_valid(out, x.start);
	if (buf_failed(out))
		return why_set(why, TARE_E_NOMEM, "%.120s: string", p->path);
	return 0;
}

uint64_t strings_label_id(struct tare_profile *p, uint64_t id)
{
	const uint64_t addr = strings_addr(p, id);
	uint8_t bytes[10];
	const size_t n = 2 + p->id_size;
	if (addr < MM_HEADER_SIZE || !stream_copy(p, &p->streams[MM_STRINGS], addr, bytes, n))
		return 0;
	if (bytes[0] != MM_REFERENCE || (bytes[n - 1] != MM_TERMINATOR && bytes[n - 1] != MM_SEPARATOR))
		return 0;
	return p->wide ? mm_u64(bytes + 1) : mm_u32(bytes + 1);
}

long tare_profile_text(struct tare_profile *p, uint64_t id, char *out, size_t size,
		       struct tare_why *why)
{
	struct buf b = { 0 };
	if (!p || (size && !out))
		return why_set(why, TARE_E_INVALID, "no profile, or no place for the text given");
	const int err = strings_text(p, id, &b, why);
	const long len = (long)b.len;
	if (err == 0 && size) {
		const size_t n = b.len < size - 1 ? b.len : size - 1;
		if (n)
			memcpy(out, b.data, n);
		out[n] = '\0';
	}
	buf_free(&b);
	return err < 0 ? err : len;
}
