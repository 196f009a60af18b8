/* What is written is read back bit for bit; a full disk stops the file, not the
 * program, and leaves it readable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "reader.h"

static char path[64];

static const struct tare_profile_create_options meta = {
	.size = sizeof(meta), .start_time_ns = 1700000000000000000ull, .process_id = 42,
	.cmd = "it's \"quoted\" \\ \xc3\xa9 ", .counter = "instructions-minus-irqs:u",
	.cpu = "A CPU", .provenance = "corrected", .own_axis_per_thread = true,
};

static int setup(void **state)
{
	snprintf(path, sizeof(path), "/tmp/tare-profile-XXXXXX");
	const int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	return unlink(path);
}

static uint64_t mix(uint64_t i)
{
	i = (i ^ i >> 31) * 0x9E3779B97F4A7C15ull;
	return i ^ i >> 29;
}

static struct tare_profile_event nth(uint64_t i, const uint64_t ids[3])
{
	struct tare_profile_event e = {
		.type = (enum tare_profile_type)(i % 3), .kind = ids[0], .id = ids[1 + i % 2],
		.thread = (uint32_t)mix(i), .start = mix(i) & 0x7FFFFFFFFFFF,
	};
	e.end = e.type == TARE_PROFILE_INTERVAL ? e.start + (mix(i * 3) & 0x7FFFFFFFFFFE) : e.start;
	if (e.end > MM_VALUE_MAX)
		e.end = MM_VALUE_MAX;
	return e;
}

static void reads_back_what_was_written(void **state)
{
	struct tare_profile_writer *w;
	struct tare_why why = { 0 };
	const uint64_t n = 100000;
	assert_int_equal(tare_profile_create(path, &meta, &w, &why), 0);
	const uint64_t kind = tare_profile_string(w, "GenericActivity", 15);
	const uint64_t label = tare_profile_string(w, "l\xc3\xa9", 3);
	const uint64_t arg = tare_profile_string(w, "a\xffz", 3);
	const uint64_t full = tare_profile_event_id(w, label, (uint64_t[]){ arg, label }, 2);
	const uint64_t ids[3] = { kind, label, full };
	for (uint64_t i = 0; i < n; i++) {
		const struct tare_profile_event e = nth(i, ids);
		assert_int_equal(tare_profile_put(w, &e), 0);
	}
	tare_profile_name_thread(w, 3, "worker \"3\"");
	assert_int_equal(tare_profile_finish(w, &why), 0);

	struct tare_profile *p;
	assert_int_equal(tare_profile_open(path, &p, &why), 0);
	const struct tare_profile_info *const info = tare_profile_info(p);
	assert_int_equal(info->version, 9);
	assert_int_equal(info->n_events, n);
	assert_true(info->complete && info->has_metadata && info->own_axis_per_thread);
	assert_true(info->start_time_ns == meta.start_time_ns);
	assert_string_equal(info->cmd, meta.cmd);
	assert_string_equal(info->counter, meta.counter);
	assert_string_equal(info->unit, "instructions");
	assert_string_equal(info->cpu, "A CPU");
	assert_string_equal(info->provenance, "corrected");
	assert_int_equal(info->n_threads, 1);
	assert_string_equal(info->threads[0].name, "worker \"3\"");
	assert_int_equal(tare_profile_warnings(p, NULL, 0), 0);
	char text[64];
	assert_int_equal(tare_profile_text(p, full, text, sizeof(text), &why), 13);
	assert_string_equal(text, "l\xc3\xa9\x1e" "a\xef\xbf\xbdz\x1el\xc3\xa9");
	struct tare_profile_cursor *const c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	for (uint64_t i = 0; i < n; i++) {
		struct tare_profile_event e;
		const struct tare_profile_event want = nth(i, ids);
		assert_true(tare_profile_next(c, &e));
		assert_true(e.type == want.type && e.thread == want.thread &&
			    e.kind == want.kind && e.id == want.id && e.start == want.start &&
			    e.end == want.end);
	}
	tare_profile_cursor_free(c);
	tare_profile_close(p);
}

static void refuses_values_that_do_not_fit(void **state)
{
	struct tare_profile_writer *w;
	assert_int_equal(tare_profile_create(path, &meta, &w, NULL), 0);
	struct tare_profile_event e = { .start = 5, .end = 4 };
	assert_int_equal(tare_profile_put(w, &e), TARE_E_RANGE);
	e.end = MM_INTEGER;
	assert_int_equal(tare_profile_put(w, &e), TARE_E_RANGE);
	e = (struct tare_profile_event){ .type = TARE_PROFILE_INTEGER, .start = 1ull << 48 };
	assert_int_equal(tare_profile_put(w, &e), TARE_E_RANGE);
	assert_int_equal(tare_profile_finish(w, NULL), 0);
}

/* A program that dies keeps what was written, names included. */
static void unfinished_file_is_readable(void **state)
{
	struct tare_profile_writer *w;
	assert_int_equal(tare_profile_create(path, &meta, &w, NULL), 0);
	const uint64_t id = tare_profile_string(w, "x", 1);
	const struct tare_profile_event e = { .kind = id, .id = id, .end = 1 };
	for (int i = 0; i < 3 * 8192 + 5; i++)
		assert_int_equal(tare_profile_put(w, &e), 0);
	struct tare_profile *p;
	struct tare_why why = { 0 };
	assert_int_equal(tare_profile_open(path, &p, &why), 0);
	assert_int_equal(tare_profile_info(p)->n_events, 3 * 8192);
	assert_false(tare_profile_info(p)->complete);
	struct tare_profile_warning warning[4];
	assert_int_equal(tare_profile_warnings(p, warning, 4), 1);
	assert_int_equal(warning[0].kind, TARE_PROFILE_UNFINISHED);
	char text[8];
	assert_int_equal(tare_profile_text(p, id, text, sizeof(text), &why), 1);
	tare_profile_close(p);
	assert_int_equal(tare_profile_finish(w, NULL), 0);
}

static void full_disk_leaves_whole_pages(void **state)
{
	struct rlimit old, small = { 600000, 600000 };
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	struct tare_profile_writer *w;
	assert_int_equal(tare_profile_create(path, &meta, &w, NULL), 0);
	const uint64_t id = tare_profile_string(w, "x", 1);
	const struct tare_profile_event e = { .kind = id, .id = id, .end = 1 };
	int err = 0;
	for (int i = 0; i < 5 * 8192 && !err; i++)
		err = tare_profile_put(w, &e);
	struct tare_why why = { 0 };
	const int last = tare_profile_finish(w, &why);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err, TARE_E_NOSPC);
	assert_int_equal(last, TARE_E_NOSPC);
	assert_non_null(strstr(why.what, path));
	struct tare_profile *p;
	assert_int_equal(tare_profile_open(path, &p, &why), 0);
	assert_int_equal(tare_profile_info(p)->n_events, 2 * 8192);
	struct tare_profile_warning warning[4];
	assert_int_equal(tare_profile_warnings(p, warning, 4), 1);
	assert_int_equal(warning[0].kind, TARE_PROFILE_UNFINISHED);
	tare_profile_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_back_what_was_written, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_values_that_do_not_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(unfinished_file_is_readable, setup, teardown),
		cmocka_unit_test_setup_teardown(full_disk_leaves_whole_pages, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
