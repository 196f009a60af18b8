/* An object: its own file, the separate debug file, minidebuginfo, dwz's common file, the vdso.
 *
 * The debug file is looked for as gdb does: by the build-id in DEBUG/.build-id; then, by the name in
 * .gnu_debuglink, beside the file, in .debug beside it, and in DEBUG under the file's folder. A debug
 * file must have the build-id of the file or, where one of them has none, the checksum of the link.
 * debuginfod is never asked: names must not depend on the network.
 */
#include "symbol-reader.h"

#include <elfutils/libdwelf.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only a regular file is opened: devices and fifos may do anything. */
static int open_file(const char *path, off_t *size)
{
	struct stat st;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		*size = st.st_size;
		return fd;
	}
	const int err = errno;
	if (fd >= 0)
		close(fd);
	errno = fd < 0 ? err : EINVAL;
	return -1;
}

static void close_elf(struct reader_elf *e)
{
	if (e->elf)
		elf_end(e->elf);
	if (e->elf && e->fd >= 0)
		close(e->fd);
	*e = (struct reader_elf){ .fd = -1 };
}

/* Takes the descriptor over. */
static bool begin_elf(struct reader_elf *e, const char *path, int fd, off_t size)
{
	*e = (struct reader_elf){ .fd = fd };
	snprintf(e->path, sizeof(e->path), "%s", path);
	e->elf = elf_begin(e->fd, ELF_C_READ_MMAP, NULL);
	if (e->elf && elf_kind(e->elf) == ELF_K_ELF)
		return true;
	if (!e->elf)
		close(e->fd);
	close_elf(e);
	errno = size ? ENOEXEC : ENODATA;
	return false;
}

static bool open_elf(struct reader_elf *e, const char *path)
{
	off_t size;
	const int fd = open_file(path, &size);
	return fd >= 0 && begin_elf(e, path, fd, size);
}

Elf_Scn *reader_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	size_t strings;
	if (!elf || elf_getshdrstrndx(elf, &strings) < 0)
		return NULL;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		const char *const n = gelf_getshdr(s, header) ? elf_strptr(elf, strings, header->sh_name) : NULL;
		if (n && !strcmp(n, name))
			return s;
	}
	return NULL;
}

/* ---- the debug file ---- */

static bool first_load(Elf *elf, uint64_t *address)
{
	size_t n = 0;
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD) {
			*address = ph.p_vaddr;
			return true;
		}
	}
	return false;
}

/* prelink moves a file and leaves its debug file as it was. */
static void set_bias(const struct reader_elf *own, struct reader_elf *e)
{
	uint64_t here, there;
	if (own->elf && first_load(own->elf, &here) && first_load(e->elf, &there))
		e->bias = here - there;
}

static bool same_id(Elf *elf, const void *id, size_t size)
{
	const void *other;
	return dwelf_elf_gnu_build_id(elf, &other) == (ssize_t)size && !memcmp(id, other, size);
}

/* The CRC-32 of .gnu_debuglink: of zlib. */
static uint32_t checksum(int fd)
{
	uint32_t table[256];
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] & 1 ? 0xedb88320u ^ table[i] >> 1 : table[i] >> 1;
	}
	uint32_t crc = 0xffffffffu;
	unsigned char bytes[65536];
	off_t at = 0;
	for (ssize_t n; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
		for (ssize_t i = 0; i < n; i++)
			crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
	return ~crc;
}

static bool by_id(struct reader_elf *e, const char *debug, const uint8_t *id, size_t size)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/.build-id/%02x/", debug, id[0]);
	if (size < 2 || n < 0 || (size_t)n + 2 * size + sizeof(".debug") > sizeof(path))
		return false;
	for (size_t i = 1; i < size; i++)
		n += sprintf(path + n, "%02x", id[i]);
	strcpy(path + n, ".debug");
	if (!open_elf(e, path))
		return false;
	if (same_id(e->elf, id, size))
		return true;
	close_elf(e);
	return false;
}

/* Is it the debug file, and not the file itself under the link's name? */
static bool belongs(const struct reader_object *o, struct reader_elf *e, const void *id, ssize_t id_size,
		    GElf_Word crc)
{
	struct stat own, debug;
	const void *other;
	const ssize_t other_size = dwelf_elf_gnu_build_id(e->elf, &other);
	if (fstat(o->own.fd, &own) == 0 && fstat(e->fd, &debug) == 0 && own.st_ino == debug.st_ino &&
	    own.st_dev == debug.st_dev)
		return false;
	if (id_size > 0 && other_size > 0)
		return id_size == other_size && !memcmp(id, other, (size_t)id_size);
	return checksum(e->fd) == crc;
}

static void folder_of(const char *path, char *out)
{
	char real[PATH_MAX];
	snprintf(out, PATH_MAX, "%s", realpath(path, real) ? real : path);
	char *const slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	else
		strcpy(out, ".");
}

static bool by_link(struct reader_object *o, const void *id, ssize_t id_size)
{
	GElf_Word crc;
	const char *const name = dwelf_elf_gnu_debuglink(o->own.elf, &crc);
	char folder[PATH_MAX];
	if (!name || !*name || strchr(name, '/'))
		return false;
	folder_of(o->open.shown, folder);
	const char *const bare = strncmp(folder, "/usr/", 5) ? folder : folder + 4;
	const char *const places[][2] = { { folder, "" }, { folder, "/.debug" },
		{ o->open.debug, folder }, { o->open.debug, bare }, { o->open.debug, "" } };
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char path[3 * PATH_MAX];
		snprintf(path, sizeof(path), "%s%s/%s", places[i][0], places[i][1], name);
		if (strlen(path) >= PATH_MAX || !open_elf(&o->debug, path))
			continue;
		if (belongs(o, &o->debug, id, id_size, crc))
			return true;
		close_elf(&o->debug);
	}
	return false;
}

static void find_debug(struct reader_object *o)
{
	const void *id = NULL;
	const ssize_t size = o->own.elf ? dwelf_elf_gnu_build_id(o->own.elf, &id) : 0;
	const bool found = (size > 0 && by_id(&o->debug, o->open.debug, id, (size_t)size)) ||
			   (o->own.elf && by_link(o, id, size));
	if (found)
		set_bias(&o->own, &o->debug);
}

void reader_find_alt(struct reader_object *o, struct reader_elf *of, Dwarf *dwarf)
{
	const char *name;
	const void *id;
	const ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
	struct reader_elf alt;
	char path[3 * PATH_MAX], folder[PATH_MAX];
	if (size <= 0 || dwarf_getalt(dwarf))
		return;
	folder_of(of->path, folder);
	snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : folder, *name == '/' ? "" : "/", name);
	const bool found = by_id(&alt, o->open.debug, id, (size_t)size) ||
			   (strlen(path) < PATH_MAX && open_elf(&alt, path) && same_id(alt.elf, id, (size_t)size));
	Dwarf *const other = found ? dwarf_begin_elf(alt.elf, DWARF_C_READ, NULL) : NULL;
	if (other)
		dwarf_setalt(dwarf, other);	/* open as long as the program */
	else
		reader_note(o, "%s: the debug information that it shares with others (%s) is missing",
			    o->open.shown, name);
}

/* ---- minidebuginfo: a symbol table of functions, as an ELF file compressed with xz ---- */

static void open_mini(struct reader_object *o)
{
	GElf_Shdr header;
	Elf_Scn *const s = reader_section(o->own.elf, ".gnu_debugdata", &header);
	Elf_Data *const data = s ? elf_rawdata(s, NULL) : NULL;
	if (!data || !data->d_buf)
		return;
	/* libdw reads compressed files, from a descriptor. */
	const int fd = memfd_create("minidebuginfo", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, data->d_buf, data->d_size) == (ssize_t)data->d_size)
		o->mini.elf = dwelf_elf_begin(fd);
	o->mini.fd = -1;
	if (o->mini.elf)
		set_bias(&o->own, &o->mini);
	else
		reader_note(o, "%s: its .gnu_debugdata is broken", o->open.shown);
	if (fd >= 0)
		close(fd);
}

/* ---- the vdso: every process of the machine has the same ---- */

static void open_vdso(struct reader_object *o)
{
	char *const image = (char *)getauxval(AT_SYSINFO_EHDR);
	FILE *const maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long start, end;
	while (maps && image && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start == (unsigned long)image)
			o->own.elf = elf_memory(image, end - start);
	if (maps)
		fclose(maps);
	o->own.fd = -1;
}

/* ---- the object ---- */

/* Headers that point behind the end of the file. */
static bool is_cut(Elf *elf, uint64_t size)
{
	GElf_Ehdr e;
	GElf_Phdr ph;
	size_t n = 0;
	if (!gelf_getehdr(elf, &e) || e.e_shoff > size || (uint64_t)e.e_shnum * e.e_shentsize > size - e.e_shoff ||
	    e.e_phoff > size || elf_getphdrnum(elf, &n) != 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (!gelf_getphdr(elf, (int)i, &ph) ||
		    (ph.p_type == PT_LOAD && (ph.p_offset > size || ph.p_filesz > size - ph.p_offset)))
			return true;
	return false;
}

void reader_open(struct reader_object *o)
{
	struct stat st;
	const int fd = o->own.fd;
	o->own.fd = o->debug.fd = o->mini.fd = -1;
	if (o->flags & WIRE_VDSO) {
		open_vdso(o);
	} else if (o->flags & WIRE_DEBUG_ONLY) {
		if (!by_id(&o->debug, o->open.debug, o->open.build_id, o->open.build_id_size))
			reader_note(o, "%s is gone or replaced, and there is no debug file of it: no names", o->open.shown);
	} else if (fd < 0 || fstat(fd, &st) < 0) {
		reader_note(o, "%s cannot be opened: no names", o->open.shown);
	} else if (!begin_elf(&o->own, o->open.shown, fd, st.st_size)) {
		reader_note(o, "%s is not an ELF file: no names", o->open.shown);
	} else {
		if (is_cut(o->own.elf, (uint64_t)st.st_size))
			reader_note(o, "%s is cut off or broken: names as far as it goes", o->open.shown);
		find_debug(o);
		open_mini(o);
	}
}

void reader_close(struct reader_object *o)
{
	reader_lines_free(o->lines);
	reader_unwind_free(o);
	reader_names_free(&o->names);
	reader_names_free(&o->bare);
	close_elf(&o->mini);
	close_elf(&o->debug);
	close_elf(&o->own);
}
