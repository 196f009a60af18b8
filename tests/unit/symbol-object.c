/* Objects: which file a mapping is, whether it is the one that ran, and addresses as it was linked. */
#include "symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], path[96];

/* A program of two segments, with a build-id: code at offset 0x1000, linked at 0x401000. */
static void write_elf(const char *name, uint8_t id, uint8_t code)
{
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr p[3];
		Elf64_Nhdr n;
		char owner[4];
		uint8_t id[20];
	} h = { .owner = "GNU" };
	memcpy(h.e.e_ident, ELFMAG, SELFMAG);
	h.e.e_ident[EI_CLASS] = ELFCLASS64;
	h.e.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e.e_phoff = sizeof(h.e);
	h.e.e_phnum = 3;
	h.e.e_phentsize = sizeof(h.p[0]);
	h.p[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = 0x400000, .p_filesz = sizeof(h) };
	h.p[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_offset = 0x1000, .p_vaddr = 0x402000, .p_filesz = 0x100 };
	h.p[2] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = offsetof(__typeof__(h), n), .p_filesz = 12 + 4 + 20,
		.p_align = 4 };
	h.n = (Elf64_Nhdr){ .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID };
	memset(h.id, id, sizeof(h.id));
	FILE *const f = fopen(name, "w");
	assert_non_null(f);
	fwrite(&h, sizeof(h), 1, f);
	fseek(f, 0x1000, SEEK_SET);
	for (int i = 0; i < 0x100; i++)
		fputc(code, f);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/tare-symbol-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/program", folder);
	write_elf(path, 0xab, 0x90);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static struct tare_code_map mapping(void)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return (struct tare_code_map){ .start = 0x7f0000001000, .end = 0x7f0000002000, .offset = 0x1000,
		.inode = st.st_ino, .dev_major = major(st.st_dev), .dev_minor = minor(st.st_dev), .path = path };
}

/* Nobody answers: notes and addresses do not need tare-symbols. */
static struct symbols *new_set(struct timespec since)
{
	return symbols_new(&(struct symbols_options){ .since = since, .reader = "/nonexistent/tare-symbols" }, NULL);
}

static const char *note_of(struct symbol_object *o)
{
	struct symbol_where w;
	assert_int_equal(symbol_at(o, 0x402010, &w, NULL), 0);
	assert_null(w.function);
	return symbol_object_note(o);
}

static void addresses(void **state)
{
	(void)state;
	const struct tare_code_map map = mapping();
	struct symbols *const s = new_set((struct timespec){ 0 });
	struct symbol_object *const o = symbols_object(s, &map, 1, NULL, NULL);
	assert_int_equal(symbol_object_kind(o), SYMBOL_FILE);
	assert_string_equal(symbol_object_name(o), "program");
	assert_string_equal(symbol_object_build_id(o), "abababababababababababababababababababab");
	assert_int_equal(symbol_address(o, &map, 0x7f0000001010), 0x402010);
	/* Not in a segment: the offset. */
	assert_int_equal(symbol_address(o, &map, 0x7f0000001800), 0x1800);
	/* A part of the segment, elsewhere in another process. */
	struct tare_code_map part = map;
	part.start = 0x10080;
	part.offset = 0x1080;
	assert_ptr_equal(symbols_object(s, &part, 2, NULL, NULL), o);
	assert_int_equal(symbol_address(o, &part, 0x10084), 0x402084);
	/* Places without a file. */
	const struct tare_code_map vdso = { .start = 0x7000, .end = 0x9000, .path = "[vdso]" };
	struct symbol_object *const v = symbols_object(s, &vdso, 1, NULL, NULL);
	assert_int_equal(symbol_object_kind(v), SYMBOL_VDSO);
	assert_int_equal(symbol_address(v, &vdso, 0x7123), 0x123);
	const struct tare_code_map vsyscall = { .start = 0x7000, .end = 0x9000, .path = "[vsyscall]" };
	struct symbol_object *const w = symbols_object(s, &vsyscall, 1, NULL, NULL);
	assert_int_equal(symbol_object_kind(w), SYMBOL_OTHER);
	assert_int_equal(symbol_address(w, &vsyscall, 0x7123), 0x7123);
	assert_null(note_of(o));
	assert_non_null(strstr(symbols_note(s), "no names"));
	symbols_free(s);
}

static void replaced(void **state)
{
	(void)state;
	uint8_t same[16], other[16];
	memset(same, 0x90, sizeof(same));
	memset(other, 0xcc, sizeof(other));
	struct timespec long_ago = { .tv_sec = 1000 }, never = { 0 };
	const struct tare_code_map map = mapping();
	struct tare_code_map moved = map;
	moved.inode++;
	const struct {
		const struct tare_code_map *map;
		struct timespec since;
		const uint8_t *bytes;
		bool trusted;
	} cases[] = {
		{ &map, never, NULL, true }, { &map, never, other, true },	/* nothing is to be checked */
		{ &map, long_ago, NULL, false }, { &map, long_ago, same, true }, { &map, long_ago, other, false },
		{ &moved, never, NULL, false }, { &moved, never, same, true }, { &moved, never, other, false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct symbols *const s = new_set(cases[i].since);
		struct symbol_object *const o = symbols_object(s, cases[i].map, 0, NULL, NULL);
		if (cases[i].bytes)
			symbol_check(o, 0x402010, cases[i].bytes, sizeof(same));
		const char *const note = note_of(o);
		assert_int_equal(note == NULL, cases[i].trusted);
		assert_true(!note || strstr(note, "replaced or changed after the run began"));
		symbols_free(s);
	}
	/* One range that differs is enough; the ends of the segment. */
	struct symbols *const s = new_set(long_ago);
	struct symbol_object *const o = symbols_object(s, &map, 0, NULL, NULL);
	symbol_check(o, 0x402000, same, sizeof(same));
	symbol_check(o, 0x4020f0, same, sizeof(same));
	symbol_check(o, 0x402080, other, sizeof(other));
	symbol_check(o, 0x402000, same, sizeof(same));
	assert_non_null(note_of(o));
	symbols_free(s);
}

static void build_ids(void **state)
{
	(void)state;
	struct tare_code_map map = mapping();
	uint8_t id[20];
	memset(id, 0xab, sizeof(id));
	map.inode++;		/* the build-id decides */
	const struct symbol_hints right = { .build_id = id, .build_id_size = sizeof(id) };
	struct symbols *s = new_set((struct timespec){ .tv_sec = 1000 });
	struct symbol_object *o = symbols_object(s, &map, 0, &right, NULL);
	assert_null(note_of(o));
	symbols_free(s);
	uint8_t wrong_id[20] = { 1 };
	const struct symbol_hints wrong = { .build_id = wrong_id, .build_id_size = sizeof(wrong_id) };
	s = new_set((struct timespec){ 0 });
	o = symbols_object(s, &map, 0, &wrong, NULL);
	/* What ran is asked for by its build-id, and the file that is there now is not. */
	assert_string_equal(symbol_object_build_id(o), "0100000000000000000000000000000000000000");
	assert_int_equal(symbol_address(o, &map, 0x7f0000001010), 0x1010);
	symbols_free(s);
}

/* The file is gone; its debug file has the addresses of the segments only. */
static void debug_file(void **state)
{
	(void)state;
	char debug[256], dir[128];
	uint8_t id[20];
	memset(id, 0xab, sizeof(id));
	snprintf(dir, sizeof(dir), "%s/.build-id", folder);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(dir, sizeof(dir), "%s/.build-id/ab", folder);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(debug, sizeof(debug), "%s/ababababababababababababababababababab.debug", dir);
	write_elf(debug, 0xab, 0);
	const Elf64_Phdr code = { .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x402000, .p_memsz = 0x100 };
	const int fd = open(debug, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, &code, sizeof(code), sizeof(Elf64_Ehdr) + sizeof(code)), sizeof(code));
	close(fd);
	struct tare_code_map map = mapping();
	assert_int_equal(unlink(path), 0);
	struct symbols *const s = symbols_new(&(struct symbols_options){ .debug_folder = folder,
		.reader = "/nonexistent/tare-symbols" }, NULL);
	struct symbol_object *const o = symbols_object(s, &map, 0,
		&(struct symbol_hints){ .build_id = id, .build_id_size = sizeof(id) }, NULL);
	assert_int_equal(symbol_address(o, &map, 0x7f0000001010), 0x402010);
	symbols_free(s);
	unlink(debug);
	rmdir(dir);
	*strrchr(dir, '/') = '\0';
	rmdir(dir);
}

static void deleted(void **state)
{
	(void)state;
	struct tare_code_map map = mapping();
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	struct symbols *s = new_set((struct timespec){ 0 });
	struct symbol_object *o = symbols_object(s, &map, 0, NULL, NULL);
	assert_non_null(strstr(note_of(o), "No such file"));
	assert_int_equal(symbol_address(o, &map, 0x7f0000001010), 0x1010);
	map.deleted = true;
	o = symbols_object(s, &map, 0, NULL, NULL);
	assert_non_null(strstr(note_of(o), "deleted or replaced while it was mapped"));
	symbols_free(s);
	/* The caller has it open. */
	s = new_set((struct timespec){ 0 });
	o = symbols_object(s, &map, 0, &(struct symbol_hints){ .has_fd = true, .fd = fd }, NULL);
	assert_null(note_of(o));
	assert_int_equal(symbol_address(o, &map, 0x7f0000001010), 0x402010);
	close(fd);
	assert_string_equal(symbol_object_build_id(o), "abababababababababababababababababababab");
	symbols_free(s);
	/* Another file is there now: not that of the mapping. */
	write_elf(path, 0xcd, 0x90);
	s = new_set((struct timespec){ 0 });
	o = symbols_object(s, &map, 0, NULL, NULL);
	assert_non_null(note_of(o));
	assert_string_equal(symbol_object_build_id(o), "");
	symbols_free(s);
}

/* Headers that lie. */
static void broken(void **state)
{
	(void)state;
	struct tare_code_map map = mapping();
	unsigned seed = 3;
	map.inode = 0;
	for (int round = 0; round < 300; round++) {
		write_elf(path, 0xab, 0x90);
		const int fd = open(path, O_RDWR | O_CLOEXEC);
		for (int i = 0; i < 4; i++) {
			const uint8_t byte = (uint8_t)rand_r(&seed);
			assert_int_equal(pwrite(fd, &byte, 1, rand_r(&seed) % 300), 1);
		}
		if (round % 3 == 0)
			assert_int_equal(ftruncate(fd, rand_r(&seed) % 0x1100), 0);
		close(fd);
		struct symbols *const s = new_set((struct timespec){ .tv_sec = 1000 });
		struct symbol_object *const o = symbols_object(s, &map, 0, NULL, NULL);
		const uint64_t at = symbol_address(o, &map, 0x7f0000001010);
		symbol_check(o, at, (const uint8_t *)"0123456789abcdef", 16);
		note_of(o);
		symbols_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(build_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(debug_file, setup, teardown),
		cmocka_unit_test_setup_teardown(deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(broken, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
