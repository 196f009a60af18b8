/* The short way to the name of an event with arguments finds what the long way finds, whatever the
 * string data has, in both versions and with pages that end anywhere; and ordinary ids take it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "plain-call.h"
#include "profile-bytes.h"

#include <tare/profile.h>

#define IDS 600

struct draft {
	struct buf streams[3];
	uint32_t version;
	uint64_t part[64], id[IDS];
	unsigned parts, ids;
};

static uint64_t seed = 1;

static unsigned below(unsigned n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % n;
}

static uint64_t here(const struct draft *d)
{
	return d->streams[MM_STRINGS].len + MM_FIRST_REGULAR;
}

static void put(struct draft *d, const char *text)
{
	buf_str(&d->streams[MM_STRINGS], text);
}

static void put_reference(struct draft *d, uint64_t id)
{
	put(d, "\xfe");
	put_id(&d->streams[MM_STRINGS], d->version, id);
}

/* Labels and arguments: ordinary ones, and what is to be decoded the long way. */
static void put_parts(struct draft *d)
{
	static const char *const texts[] = {
		"typeck", "a", "eight by", "nine byte", "<impl core::fmt::Debug for a::B<'_>>::fmt", "", "tab\there",
		"delete\x7f", "\x1b[31mred", "gr\xc3\xbc\xc3\x9f", "\xc3", "bell\x07", "\x1e", "x\x1ey", "~", "\x1f" };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		d->part[d->parts++] = here(d);
		put(d, texts[i]);
		put(d, "\xff");
	}
	d->part[d->parts++] = here(d);		/* longer than the short way takes */
	for (int i = 0; i < 700; i++)
		put(d, "abcdefg ");
	put(d, "\xff");
	d->part[d->parts++] = here(d);
	put(d, "of ");
	put_reference(d, d->part[0]);
	put(d, "\xff");
	d->part[d->parts++] = 77;		/* no string */
	d->part[d->parts++] = MM_FIRST_REGULAR;	/* the end of the header of the string data is not one either */
}

static uint64_t some_part(struct draft *d)
{
	return d->part[below(3) ? below(5) : below(d->parts - 1)];
}

static void put_some_id(struct draft *d)
{
	d->id[d->ids++] = here(d);
	if (below(8))
		put_reference(d, some_part(d));
	else
		put(d, "own label");
	for (unsigned n = below(4); n; n--) {
		put(d, below(16) ? "\x1e" : "");
		for (unsigned k = below(3) ? 1 : below(4); k; k--) {
			if (below(2))
				put_reference(d, some_part(d));
			else
				put(d, below(2) ? "17" : "core::option::Option<T>");
		}
	}
	put(d, "\xff");
}

static struct tare_profile *open_bytes(const struct buf *b)
{
	char path[] = "/tmp/tare-plain-XXXXXX";
	struct tare_profile *p;
	const int fd = mkstemp(path);
	assert_int_equal(write(fd, b->data, b->len), b->len);
	close(fd);
	assert_int_equal(tare_profile_open(path, &p, NULL), 0);
	unlink(path);
	return p;
}

static struct tare_profile *open_draft(const struct draft *d, size_t page)
{
	struct buf b = put_file(d->version, d->streams, page);
	struct tare_profile *const p = open_bytes(&b);
	buf_free(&b);
	return p;
}

static void begin(struct draft *d, uint32_t version)
{
	*d = (struct draft){ .version = version };
	put_head(&d->streams[MM_EVENTS], "MMES", version);
	put_head(&d->streams[MM_STRINGS], "MMSD", version);
	put_head(&d->streams[MM_INDEX], "MMSI", version);
	put_id(&d->streams[MM_INDEX], version, MM_METADATA_ID);
	put_id(&d->streams[MM_INDEX], version, MM_HEADER_SIZE);
	put(d, "{ \"start_time\": 1000, \"process_id\": 7, \"cmd\": \"x\", \"counter\": { \"name\": "
	       "\"instructions:u\", \"units\": [[\"instructions\", 1]] } }\xff");
}

static void free_draft(struct draft *d)
{
	for (int i = 0; i < 3; i++)
		buf_free(&d->streams[i]);
}

/* What strings_text() and event_name_split() make of it; "": they refuse it. */
static void long_way(struct tare_profile *p, uint64_t id, struct buf *out)
{
	struct buf text = { 0 };
	struct event_name n;
	if (strings_text(p, id, &text, NULL) == 0) {
		event_name_split(text.data, text.len, &n);
		buf_add(out, n.label, n.label_len);
		for (size_t i = 0; n.n_args && i < n.args_len; i++) {
			buf_str(out, i ? "" : "(");
			if (n.args[i] == MM_SEPARATOR)
				buf_str(out, ", ");
			else
				buf_chr(out, n.args[i]);
		}
		buf_str(out, n.n_args ? ")" : "");
	}
	buf_free(&text);
}

/* How many of the ids have a short way. */
static unsigned compare(const struct draft *d, size_t page)
{
	struct tare_profile *const p = open_draft(d, page);
	struct plain_calls *const c = calloc(1, sizeof(*c));
	unsigned taken = 0;
	assert_non_null(c);
	for (unsigned i = 0; i < 2 * d->ids; i++) {
		const uint64_t id = d->id[i % d->ids];
		struct buf is = { 0 }, wanted = { 0 };
		buf_str(&is, "before");
		if (plain_call(c, p, strings_addr(p, id), &is)) {
			taken++;
			buf_str(&wanted, "before");
			long_way(p, id, &wanted);
		} else {
			buf_str(&wanted, "before");
		}
		assert_int_equal(is.len, wanted.len);
		assert_memory_equal(is.data, wanted.data, is.len);
		buf_free(&is);
		buf_free(&wanted);
	}
	free(c);
	tare_profile_close(p);
	return taken;
}

static void finds_what_the_long_way_finds(void **state)
{
	static const size_t pages[] = { 1 << 20, 4096, 61, 17 };
	for (uint32_t version = 8; version <= 9; version++)
		for (size_t k = 0; k < sizeof(pages) / sizeof(pages[0]); k++) {
			struct draft d;
			begin(&d, version);
			put_parts(&d);
			while (d.ids < IDS)
				put_some_id(&d);
			const unsigned taken = compare(&d, pages[k]);
			assert_true(taken < 2 * IDS);
			assert_true(k > 1 || taken > IDS / 4);
			free_draft(&d);
		}
}

/* One id of each form that programs write: all of them the short way. */
static void ordinary_ids_take_it(void **state)
{
	for (uint32_t version = 8; version <= 9; version++) {
		struct draft d;
		begin(&d, version);
		put_parts(&d);
		for (unsigned form = 0; form < 4; form++) {
			d.id[d.ids++] = here(&d);
			put_reference(&d, d.part[4]);
			put(&d, "\x1e");
			if (form & 1)
				put_reference(&d, d.part[0]);
			else
				put(&d, "12345");
			if (form & 2)
				put(&d, "\x1e" "second argument");
			put(&d, "\xff");
		}
		assert_int_equal(compare(&d, 1 << 20), 8);
		free_draft(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_the_long_way_finds),
		cmocka_unit_test(ordinary_ids_take_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
