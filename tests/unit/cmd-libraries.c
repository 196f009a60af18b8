/* The libraries that are looked up by cmd/libraries.c are those that the dynamic linker prints, for the programs of
 * this machine. With a variable that begins with LD_ the linker is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "elf-image.h"
#include "libraries.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { PROGRAMS = 150 };

static unsigned n_compared, n_looked_up;

static void names_and_paths(char *text, struct buf *out)
{
	char *rest = NULL;
	const char *name, *path;
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		if (libraries_line(line, &name, &path))
			buf_printf(out, "%s %s\n", name, path);
	buf_chr(out, '\0');
}

static void compare(const char *program)
{
	char linker[256];
	const struct image im = image_map(program);
	const bool dynamic = im.data && image_interpreter(im, linker, sizeof(linker));
	image_unmap(im);
	if (!dynamic)
		return;
	struct buf own = { 0 }, asked = { 0 }, a = { 0 }, b = { 0 };
	libraries_list(linker, program, (char *[]){ "PATH=/bin", NULL }, &own);
	libraries_list(linker, program, (char *[]){ "PATH=/bin", "LD_BIND_NOW=", NULL }, &asked);
	buf_chr(&own, '\0');
	buf_chr(&asked, '\0');
	n_compared++;
	n_looked_up += own.data[0] && !strstr(own.data, "(0x");
	names_and_paths(own.data, &a);
	names_and_paths(asked.data, &b);
	assert_string_equal(a.data, b.data);
	buf_free(&own);
	buf_free(&asked);
	buf_free(&a);
	buf_free(&b);
}

static void test_programs(void **state)
{
	(void)state;
	DIR *const d = opendir("/usr/bin");
	assert_non_null(d);
	for (const struct dirent *e; n_compared < PROGRAMS && (e = readdir(d));) {
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "/usr/bin/%s", e->d_name);
		compare(path);
	}
	closedir(d);
	assert_int_not_equal(n_compared, 0);
	printf("%u programs, %u of them looked up\n", n_compared, n_looked_up);
#if defined(__x86_64__) && defined(__GLIBC__)
	if (access("/etc/ld.so.cache", R_OK) == 0 && access("/etc/ld.so.preload", F_OK) < 0)
		assert_true(n_looked_up > n_compared / 2);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
