/* Names of JIT code: perf maps whose entries overlap, broken lines, and other users' files. */
#include "symbol.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static int make_path(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	return 0;
}

static int remove_map(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static FILE *open_map(void)
{
	unlink(path);
	FILE *const f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

static const struct tare_code_map memory = { .start = 0x1000, .end = 0x100000, .path = "" };

static const char *name_at(struct symbol_object *o, uint64_t address)
{
	struct symbol_where w;
	assert_int_equal(symbol_at(o, address, &w, NULL), 0);
	assert_null(w.file);
	return w.function ? w.function->name : NULL;
}

static void names(void **state)
{
	(void)state;
	FILE *const f = open_map();
	fputs("2000 10 py::first:/a b.py\n"
	      "2010 0x20 second\r\n"
	      "0x3000 10 third\n"
	      "zzz 10 not hexadecimal\n"
	      "4000\n"
	      "4000 10\n"
	      "4000 0 empty\n"
	      "ffffffffffffffff 10 beyond the end\n"
	      "4000 11111111111111111111 too large\n"
	      "\n"
	      "2008 4 inside\033[31m\n"
	      "5000 8 without an end of line", f);
	fclose(f);
	struct symbols *const s = symbols_new(NULL, NULL);
	struct symbol_object *const o = symbols_object(s, &memory, getpid(), NULL, NULL);
	assert_int_equal(symbol_object_kind(o), SYMBOL_JIT);
	assert_string_equal(symbol_object_path(o), "[jit]");
	assert_int_equal(symbol_address(o, &memory, 0x2004), 0x2004);
	assert_string_equal(name_at(o, 0x2000), "py::first:/a b.py");
	assert_string_equal(name_at(o, 0x2007), "py::first:/a b.py");
	assert_string_equal(name_at(o, 0x2008), "inside?[31m");
	assert_string_equal(name_at(o, 0x200b), "inside?[31m");
	assert_string_equal(name_at(o, 0x200c), "py::first:/a b.py");
	assert_string_equal(name_at(o, 0x202f), "second?");
	assert_null(name_at(o, 0x2030));
	assert_string_equal(name_at(o, 0x3000), "third");
	assert_null(name_at(o, 0x4000));
	assert_string_equal(name_at(o, 0x5007), "without an end of line");
	assert_null(name_at(o, 0));
	assert_null(name_at(o, UINT64_MAX));
	assert_null(symbol_object_note(o));
	/* Memory of the process is one object, under whatever name; that of another process is not. */
	const struct tare_code_map heap = { .start = 0x2000, .end = 0x3000, .path = "[heap]" };
	const struct tare_code_map memfd = { .path = "/memfd:doublemapper", .deleted = true, .inode = 7 };
	assert_ptr_equal(symbols_object(s, &heap, getpid(), NULL, NULL), o);
	assert_ptr_equal(symbols_object(s, &memfd, getpid(), NULL, NULL), o);
	struct symbol_object *const other = symbols_object(s, &memory, 0x7ffffff0, NULL, NULL);
	assert_ptr_not_equal(other, o);
	assert_string_equal(symbol_object_path(other), "[anon]");
	assert_null(name_at(other, 0x2000));
	symbols_free(s);
}

/* The last line about an address counts. */
static void overlaps(void **state)
{
	(void)state;
	enum { SIZE = 4096, ENTRIES = 500 };
	static int last[SIZE];
	unsigned seed = 7;
	for (int round = 0; round < 20; round++) {
		FILE *const f = open_map();
		memset(last, -1, sizeof(last));
		for (int i = 0; i < ENTRIES; i++) {
			const int start = rand_r(&seed) % SIZE, size = 1 + rand_r(&seed) % (round + 1) * 16;
			fprintf(f, "%x %x f%d\n", start, size, i);
			for (int at = start; at < start + size && at < SIZE; at++)
				last[at] = i;
		}
		fclose(f);
		struct symbols *const s = symbols_new(NULL, NULL);
		struct symbol_object *const o = symbols_object(s, &memory, getpid(), NULL, NULL);
		for (int at = 0; at < SIZE; at++) {
			char wanted[16];
			snprintf(wanted, sizeof(wanted), "f%d", last[at]);
			const char *const got = name_at(o, (uint64_t)at);
			if (last[at] < 0)
				assert_null(got);
			else
				assert_string_equal(got ? got : "", wanted);
		}
		symbols_free(s);
	}
}

static void not_ours(void **state)
{
	(void)state;
	FILE *const f = open_map();
	fputs("2000 10 name\n", f);
	fclose(f);
	/* Older than the run: of a process that had the number before. */
	struct timespec future;
	clock_gettime(CLOCK_REALTIME, &future);
	future.tv_sec += 1000;
	struct symbols *s = symbols_new(&(struct symbols_options){ .since = future }, NULL);
	struct symbol_object *o = symbols_object(s, &memory, getpid(), NULL, NULL);
	assert_null(name_at(o, 0x2000));
	assert_non_null(strstr(symbol_object_note(o), "older than the run"));
	symbols_free(s);
	/* The kernel's clock for files is a tick late: written in a run that began at the turn of a second. */
	const struct timespec times[2] = { { .tv_sec = 999, .tv_nsec = 997000000 }, { .tv_sec = 999, .tv_nsec = 997000000 } };
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	for (long ns = 1000000; ns <= 500000000; ns += 499000000) {
		s = symbols_new(&(struct symbols_options){ .since = { .tv_sec = 1000, .tv_nsec = ns } }, NULL);
		o = symbols_object(s, &memory, getpid(), NULL, NULL);
		assert_int_equal(name_at(o, 0x2000) != NULL, ns == 1000000);
		symbols_free(s);
	}
	/* Another user's. */
	if (chown(path, 12345, 12345) == 0) {
		s = symbols_new(NULL, NULL);
		o = symbols_object(s, &memory, getpid(), NULL, NULL);
		assert_null(name_at(o, 0x2000));
		assert_non_null(strstr(symbol_object_note(o), "another user"));
		symbols_free(s);
	}
	/* Nothing that can be read as a file: opening it must not wait. */
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	s = symbols_new(NULL, NULL);
	o = symbols_object(s, &memory, getpid(), NULL, NULL);
	assert_null(name_at(o, 0x2000));
	symbols_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names, make_path, remove_map),
		cmocka_unit_test_setup_teardown(overlaps, make_path, remove_map),
		cmocka_unit_test_setup_teardown(not_ours, make_path, remove_map),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
