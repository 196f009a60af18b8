/* The reader: what is right is read in both versions and any page size, what real
 * files lack is a warning, what no writer writes is an error that says so. */
#include <setjmp.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile-bytes.h"
#include "reader.h"

static const char meta[] = "{ \"start_time\": 1000, \"process_id\": 7, \"cmd\": \"x y \", "
			   "\"counter\": { \"name\": \"instructions:u\", \"units\": "
			   "[[\"instructions\", 1]] } }\xff";

struct sample {
	struct buf streams[3];
	uint64_t label, with_args, kind;	/* ids */
	size_t meta_addr;
};

/* Strings: kind, label, two arguments, an event id by references, a virtual one. */
static struct sample sample(uint32_t version)
{
	struct sample s = { 0 };
	struct buf *const str = &s.streams[MM_STRINGS];
	put_head(&s.streams[MM_EVENTS], "MMES", version);
	put_head(str, "MMSD", version);
	put_head(&s.streams[MM_INDEX], "MMSI", version);
	s.meta_addr = str->len;
	buf_add(str, meta, sizeof(meta) - 1);
	s.kind = str->len + MM_FIRST_REGULAR;
	buf_str(str, "Query\xff");
	s.label = str->len + MM_FIRST_REGULAR;
	buf_str(str, "typeck\xff");
	const uint64_t arg = str->len + MM_FIRST_REGULAR;
	buf_str(str, "main\xff");
	s.with_args = str->len + MM_FIRST_REGULAR;
	buf_str(str, "\xfe");
	put_id(str, version, s.label);
	buf_str(str, "\x1e\xfe");
	put_id(str, version, arg);
	buf_str(str, "\x1e" "7\xff");
	put_id(&s.streams[MM_INDEX], version, MM_METADATA_ID);
	put_id(&s.streams[MM_INDEX], version, s.meta_addr);
	put_id(&s.streams[MM_INDEX], version, 5);
	put_id(&s.streams[MM_INDEX], version, s.with_args - MM_FIRST_REGULAR);
	return s;
}

static void free_sample(struct sample *s)
{
	for (int i = 0; i < 3; i++)
		buf_free(&s->streams[i]);
}

static uint64_t warned(const struct tare_profile *p, enum tare_profile_warning_kind k)
{
	struct tare_profile_warning w[TARE_PROFILE_WARNINGS];
	const size_t n = tare_profile_warnings(p, w, TARE_PROFILE_WARNINGS);
	for (size_t i = 0; i < n; i++)
		if (w[i].kind == k)
			return w[i].count;
	return 0;
}

static void check_events(struct tare_profile *p, const struct sample *s, int n)
{
	struct tare_profile_cursor *c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	struct tare_profile_event e;
	char text[64];
	for (int i = 0; i < n; i++) {
		assert_true(tare_profile_next(c, &e));
		assert_int_equal(e.type, i % 3);
		assert_int_equal(e.thread, i % 5);
		assert_true(e.start == (i % 3 == 0 ? 0xABCD00000000ull + (uint64_t)i : (uint64_t)i));
		assert_true(e.id == (i % 2 ? 5 : s->label));
		assert_true(tare_profile_text(p, e.id, text, sizeof(text), NULL) >= 6);
		assert_string_equal(text, i % 2 ? "typeck\x1emain\x1e" "7" : "typeck");
	}
	assert_false(tare_profile_next(c, &e));
	tare_profile_cursor_free(c);
	c = tare_profile_cursor_new(p, TARE_PROFILE_BACKWARD);
	for (int i = n; i-- > 0;) {
		assert_true(tare_profile_next(c, &e));
		assert_int_equal(e.thread, i % 5);
		assert_int_equal(e.start & 0xFFFFFFFF, i);
	}
	assert_false(tare_profile_next(c, &e));
	tare_profile_cursor_free(c);
}

/* Records of sample(), as check_events() has them. */
static void put_events(struct sample *s, uint32_t version, int n)
{
	for (int i = 0; i < n; i++) {
		struct mm_event e = { .kind = s->kind, .id = i % 2 ? 5 : s->label,
				      .thread = (uint32_t)i % 5, .p1 = (uint64_t)i };
		if (i % 3 == 0)
			e.p1 += 0xABCD00000000ull;
		e.p2 = i % 3 == 0 ? 0xABCE00000000ull : i % 3 == 1 ? MM_INSTANT : MM_INTEGER;
		put_record(&s->streams[MM_EVENTS], version, e);
	}
}

static void reads_any_page_size(void **state)
{
	static const size_t pages[] = { 1, 2, 3, 5, 7, 31, 32, 37, 4096, 262144, 5u << 20 };
	for (uint32_t version = 8; version <= 9; version++) {
		struct sample s = sample(version);
		const int n = 1000;
		put_events(&s, version, n);
		for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
			struct buf file = put_file(version, s.streams, pages[i]);
			struct tare_profile *p;
			struct tare_why why = { 0 };
			if (tare_profile_open_memory(file.data, file.len, &p, &why) < 0)
				fail_msg("pages of %zu: %s", pages[i], why.what);
			const struct tare_profile_info *const info = tare_profile_info(p);
			assert_int_equal(info->version, version);
			assert_int_equal(info->n_events, n);
			assert_true(info->complete);
			assert_string_equal(info->counter, "instructions:u");
			assert_string_equal(info->unit, "instructions");
			assert_false(info->is_time);
			assert_int_equal(info->start_time_ns, 1000);
			assert_int_equal(info->process_id, 7);
			assert_string_equal(info->cmd, "x y ");
			assert_int_equal(tare_profile_warnings(p, NULL, 0), 0);
			check_events(p, &s, n);
			tare_profile_close(p);
			buf_free(&file);
		}
		free_sample(&s);
	}
}

/* The descriptors that are open, below `most`. */
static int open_below(int most)
{
	int n = 0;
	for (int fd = 0; fd < most; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void check_file(const struct buf *bytes, const struct sample *s, int n, bool crowded)
{
	char path[] = "/tmp/profile-reader-XXXXXX";
	int taken[300], n_taken = 0;
	const int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes->data, bytes->len), bytes->len);
	close(fd);
	while (crowded && n_taken < 300)
		assert_true((taken[n_taken++] = dup(STDIN_FILENO)) >= 0);
	const int before = open_below(1000);
	struct tare_profile *p;
	struct tare_why why = { 0 };
	if (tare_profile_open(path, &p, &why) < 0)
		fail_msg("%s", why.what);
	assert_int_equal(p->fd >= 0, !crowded);
	assert_int_equal(open_below(1000), before + !crowded);
	check_events(p, s, n);
	tare_profile_close(p);
	assert_int_equal(open_below(1000), before);
	while (n_taken)
		close(taken[--n_taken]);
	unlink(path);
}

/* A file of so many events is read, and not mapped, by who walks over it; records may be cut by
 * pages, and pages be longer or shorter than what is read at once. Many files leave descriptors
 * to others. */
static void reads_long_files(void **state)
{
	static const size_t pages[] = { 10007, 70001, 262144, 5u << 20 };
	for (uint32_t version = 8; version <= 9; version++) {
		struct sample s = sample(version);
		const int n = 100000;
		put_events(&s, version, n);
		for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
			struct buf file = put_file(version, s.streams, pages[i]);
			check_file(&file, &s, n, i == 2);
			buf_free(&file);
		}
		free_sample(&s);
	}
}

static struct tare_profile *open_cut(const struct buf *file, size_t len)
{
	struct tare_profile *p;
	struct tare_why why = { 0 };
	/* A copy of just that size, so that a read past it is seen by the sanitizer. */
	char *const copy = malloc(len);
	memcpy(copy, file->data, len);
	const int err = tare_profile_open_memory(copy, len, &p, &why);
	if (err < 0)
		fail_msg("cut at %zu: %s", len, why.what);
	p->heap = copy;
	return p;
}

static void reads_what_a_crash_left(void **state)
{
	struct sample s = sample(9);
	for (uint64_t i = 0; i < 100; i++)
		put_record(&s.streams[MM_EVENTS], 9,
			   (struct mm_event){ .kind = s.kind, .id = i % 2 ? 5 : s.label,
					      .p1 = i, .p2 = i + 1 });
	struct buf file = put_file(9, s.streams, 64);
	for (size_t len = 8; len < file.len; len++) {
		struct tare_profile *const p = open_cut(&file, len);
		assert_true(tare_profile_warnings(p, NULL, 0) > 0 || len > file.len - 64);
		struct tare_profile_cursor *const c =
			tare_profile_cursor_new(p, TARE_PROFILE_BACKWARD);
		struct tare_profile_event e;
		uint64_t n = 0;
		char text[64];
		while (tare_profile_next(c, &e)) {
			assert_true(tare_profile_text(p, e.id, text, sizeof(text), NULL) >= 0);
			n++;
		}
		assert_int_equal(n, tare_profile_info(p)->n_events);
		tare_profile_cursor_free(c);
		tare_profile_close(p);
	}
	struct tare_profile *const p = open_cut(&file, 8);
	assert_int_equal(warned(p, TARE_PROFILE_NO_METADATA), 1);
	assert_int_equal(warned(p, TARE_PROFILE_NO_STREAM), 3);
	assert_false(tare_profile_info(p)->has_metadata);
	tare_profile_close(p);
	buf_free(&file);
	free_sample(&s);
}

static void expect_error(const struct buf *file, const char *what)
{
	struct tare_profile *p;
	struct tare_why why = { 0 };
	assert_int_equal(tare_profile_open_memory(file->data, file->len, &p, &why), TARE_E_FORMAT);
	assert_null(p);
	if (!strstr(why.what, what))
		fail_msg("wanted \"%s\", got \"%s\"", what, why.what);
}

static void refuses_what_no_writer_writes(void **state)
{
	struct buf f = { 0 };
	buf_str(&f, "MMPX1234");
	expect_error(&f, "not a .mm_profdata file");
	f.len = 0;
	put_head(&f, "MMPD", 7);
	expect_error(&f, "version 7 (measureme 0.8 to 9)");
	f.len = 0;
	put_head(&f, "MMPD", 10);
	expect_error(&f, "version 10 is not readable");
	f.len = 0;
	put_head(&f, "MMPD", 9);
	put_page(&f, 3, "x", 1);
	expect_error(&f, "page at byte 8 has tag 3");
	f.len = 8;
	put_page(&f, 0, "", 0);
	expect_error(&f, "page at byte 8 is empty");
	f.len = 8;
	put_page(&f, 0, "MMES\x08\0\0\0", 8);
	expect_error(&f, "the event stream has version 8, the file 9");
	f.len = 8;
	put_page(&f, 1, "MMES\x09\0\0\0", 8);
	expect_error(&f, "the string data stream does not start with MMSD");
	buf_free(&f);
}

/* The text of a regular id whose entry is `entry`, in an otherwise whole file. */
static long text_of_entry(const char *entry, size_t n, char *out, size_t size,
			  struct tare_why *why)
{
	struct sample s = sample(9);
	const uint64_t id = s.streams[MM_STRINGS].len + MM_FIRST_REGULAR;
	buf_add(&s.streams[MM_STRINGS], entry, n);
	struct buf file = put_file(9, s.streams, 4096);
	struct tare_profile *p;
	assert_int_equal(tare_profile_open_memory(file.data, file.len, &p, NULL), 0);
	const long len = tare_profile_text(p, id, out, size, why);
	tare_profile_close(p);
	buf_free(&file);
	free_sample(&s);
	return len;
}

static void refuses_hostile_strings(void **state)
{
	struct sample s = sample(9);
	const uint64_t self = s.streams[MM_STRINGS].len + MM_FIRST_REGULAR;
	free_sample(&s);
	struct tare_why why = { 0 };
	char text[64];
	uint8_t e[400];
	/* a reference to itself */
	e[0] = 0xFE, mm_put64(e + 1, self), e[9] = 0xFF;
	assert_int_equal(text_of_entry((char *)e, 10, text, sizeof(text), &why), TARE_E_FORMAT);
	assert_non_null(strstr(why.what, "refers to itself"));
	/* far outside */
	mm_put64(e + 1, UINT64_MAX);
	assert_int_equal(text_of_entry((char *)e, 10, text, sizeof(text), &why), TARE_E_FORMAT);
	assert_non_null(strstr(why.what, "runs past the end"));
	/* inside the header */
	mm_put64(e + 1, MM_FIRST_REGULAR + 3);
	assert_int_equal(text_of_entry((char *)e, 10, text, sizeof(text), &why), TARE_E_FORMAT);
	assert_non_null(strstr(why.what, "stream's header"));
	/* no end */
	assert_int_equal(text_of_entry("abc", 3, text, sizeof(text), &why), TARE_E_FORMAT);
	/* each of 20 entries refers twice to the next: 2^20 copies of nothing */
	for (int i = 0; i < 20; i++) {
		uint8_t *const at = e + 19 * i;
		at[0] = at[9] = 0xFE;
		mm_put64(at + 1, self + 19 * ((uint64_t)i + 1));
		mm_put64(at + 10, self + 19 * ((uint64_t)i + 1));
		at[18] = 0xFF;
	}
	e[380] = 0xFF;
	assert_int_equal(text_of_entry((char *)e, 381, text, sizeof(text), &why), TARE_E_FORMAT);
	assert_non_null(strstr(why.what, "expands without end"));
}

static void shows_what_is_not_text(void **state)
{
	char text[64];
	assert_int_equal(text_of_entry("\xff", 1, text, sizeof(text), NULL), 0);
	assert_string_equal(text, "");
	/* as Rust's from_utf8_lossy does it */
	assert_int_equal(text_of_entry("a\xc3(\xe2\x82z\xf0\x9f\x92\xa9\xed\xa0\x80\xff", 15, text,
				       sizeof(text), NULL), 22);
	assert_string_equal(text, "a\xef\xbf\xbd(\xef\xbf\xbdz\xf0\x9f\x92\xa9"
				  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	uint8_t e[10] = { 0xFE };
	e[9] = 0xFF;
	mm_put64(e + 1, MM_INVALID_ID);
	assert_int_equal(text_of_entry((char *)e, 10, text, sizeof(text), NULL), 9);
	assert_string_equal(text, "<unknown>");
	mm_put64(e + 1, 4711);
	assert_int_equal(text_of_entry((char *)e, 10, text, 5, NULL), 9);
	assert_string_equal(text, "<unk");
}

static void last_index_entry_counts(void **state)
{
	for (uint64_t far = 0; far <= 90000000; far += 90000000) {
		struct sample s = sample(9);
		struct buf *const index = &s.streams[MM_INDEX];
		put_id(index, 9, 6 + far);
		put_id(index, 9, s.label - MM_FIRST_REGULAR);
		put_id(index, 9, 6 + far);
		put_id(index, 9, s.kind - MM_FIRST_REGULAR);
		struct buf file = put_file(9, s.streams, 4096);
		struct tare_profile *p;
		char text[64];
		assert_int_equal(tare_profile_open_memory(file.data, file.len, &p, NULL), 0);
		assert_true((p->sparse != NULL) == (far != 0));
		assert_int_equal(warned(p, TARE_PROFILE_DUPLICATE_ID), 1);
		assert_int_equal(tare_profile_text(p, 6 + far, text, sizeof(text), NULL), 5);
		assert_string_equal(text, "Query");
		assert_int_equal(tare_profile_text(p, 5, text, sizeof(text), NULL), 13);
		assert_int_equal(warned(p, TARE_PROFILE_UNKNOWN_ID), 0);
		assert_int_equal(tare_profile_text(p, 7 + far, text, sizeof(text), NULL), 9);
		assert_int_equal(warned(p, TARE_PROFILE_UNKNOWN_ID), 1);
		tare_profile_close(p);
		buf_free(&file);
		free_sample(&s);
	}
}

static int open_with_meta(const char *json, struct tare_profile **p, struct buf *file,
			  struct tare_why *why)
{
	struct sample s = sample(9);
	put_id(&s.streams[MM_INDEX], 9, MM_METADATA_ID);
	put_id(&s.streams[MM_INDEX], 9, s.streams[MM_STRINGS].len);
	buf_str(&s.streams[MM_STRINGS], json);
	buf_str(&s.streams[MM_STRINGS], "\xff");
	*file = put_file(9, s.streams, 4096);
	free_sample(&s);
	return tare_profile_open_memory(file->data, file->len, p, why);
}

static void mends_rustc_escapes(void **state)
{
	struct tare_profile *p;
	struct buf file;
	assert_int_equal(open_with_meta("{ \"start_time\": 1, \"process_id\": 2, \"cmd\": "
					"\"it\\'s \\u{e9}\\u{1f4a9} \\\\\\'x \\u{5c} \" }",
					&p, &file, NULL), 0);
	assert_string_equal(tare_profile_info(p)->cmd, "it's \xc3\xa9\xf0\x9f\x92\xa9 \\'x \\ ");
	assert_int_equal(warned(p, TARE_PROFILE_BAD_ESCAPE), 5);
	assert_true(tare_profile_info(p)->is_time);
	assert_string_equal(tare_profile_info(p)->unit, "ns");
	tare_profile_close(p);
	buf_free(&file);

	static const struct { const char *json, *what; } wrong[] = {
		{ "{", "metadata: JSON, byte 1" },
		{ "", "metadata: JSON, byte 0" },
		{ "[]", "not a JSON object" },
		{ "{\"start_time\": -1, \"process_id\": 2, \"cmd\": \"\"}", "start_time" },
		{ "{\"start_time\": 18446744073709551615, \"process_id\": 2, \"cmd\": \"\"}",
		  "leaves no room" },
		{ "{\"start_time\": 1, \"process_id\": 4294967296, \"cmd\": \"\"}", "process_id" },
		{ "{\"start_time\": 1, \"process_id\": 1}", "cmd is not a string" },
		{ "{\"start_time\": 1, \"process_id\": 1, \"cmd\": \"\\u{d800}\"}", "escape" },
		{ "{\"start_time\": 1, \"process_id\": 1, \"cmd\": \"\", \"counter\": "
		  "{\"name\": \"x\", \"units\": [[\"a\", 0]]}}", "unit" },
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct tare_why why = { 0 };
		assert_int_equal(open_with_meta(wrong[i].json, &p, &file, &why), TARE_E_FORMAT);
		if (!strstr(why.what, wrong[i].what))
			fail_msg("%s: %s", wrong[i].json, why.what);
		buf_free(&file);
	}
}

static void splits_event_ids(void **state)
{
	static const struct {
		const char *text, *label, *args;
		unsigned n_args;
		const char *error;
		size_t pos;
	} cases[] = {
		{ "foo", "foo", "", 0, NULL, 0 },
		{ "foo\x1e" "a\x1e" "b", "foo", "a\x1e" "b", 2, NULL, 0 },
		{ "foo\x1e" "a\n1\x1e" "b\t2 ", "foo", "a\n1\x1e" "b\t2 ", 2, NULL, 0 },
		{ "", "<parse error>", "", 0, "Zero-length <text>", 0 },
		{ "\x1e" "a", "<parse error>", "", 0, "Zero-length <text>", 0 },
		{ "foo\x1b", "<parse error>", "", 0, "Found ASCII control character in <text>", 4 },
		{ "foo\x1e" "a\x1e" "b\x01\x1e" "c", "foo", "a", 1,
		  "Found ASCII control character in <text>", 8 },
		{ "foo\x1e", "foo", "", 0, "Zero-length <text>", 4 },
		{ "foo\x7f", "<parse error>", "", 0, "Found ASCII control character in <text>", 4 },
		{ "foo\x0b", "<parse error>", "", 0, "Found ASCII control character in <text>", 4 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_name n;
		event_name_split(cases[i].text, strlen(cases[i].text), &n);
		assert_int_equal(n.label_len, strlen(cases[i].label));
		assert_memory_equal(n.label, cases[i].label, n.label_len);
		assert_int_equal(n.args_len, strlen(cases[i].args));
		if (n.args_len)
			assert_memory_equal(n.args, cases[i].args, n.args_len);
		assert_int_equal(n.n_args, cases[i].n_args);
		if (!cases[i].error)
			assert_null(n.error);
		else
			assert_string_equal(n.error, cases[i].error);
		assert_int_equal(n.error_pos, cases[i].pos);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_any_page_size),
		cmocka_unit_test(reads_long_files),
		cmocka_unit_test(reads_what_a_crash_left),
		cmocka_unit_test(refuses_what_no_writer_writes),
		cmocka_unit_test(refuses_hostile_strings),
		cmocka_unit_test(shows_what_is_not_text),
		cmocka_unit_test(last_index_entry_counts),
		cmocka_unit_test(mends_rustc_escapes),
		cmocka_unit_test(splits_event_ids),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
