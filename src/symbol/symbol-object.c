/* Which file a mapping is, and whether the file is still the one that ran.
 *
 * A file is trusted if the build-id is known and the same; or if its inode is that of the mapping and it
 * was not changed after the run began. (The device is not compared: overlayfs and btrfs show another one in
 * /proc/PID/maps than in stat(2).) Otherwise the code that ran decides, where the caller shows it:
 * symbol_check().
 */
#include "symbol-room.h"
#include "why.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int symbols_no_memory(struct tare_why *why)
{
	return why_set(why, TARE_E_NOMEM, "names of code");
}

void object_note(struct symbol_object *o, const char *fmt, ...)
{
	char text[PATH_MAX + 256];
	va_list args;
	if (o->note)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	o->note = store_text(&o->set->store, text, sizeof(text));
}

/* ---- opening ---- */

/* Regular files only: opening a device may do anything. */
static int open_regular(const char *path, struct stat *st)
{
	if (stat(path, st) < 0)
		return -1;
	if (!S_ISREG(st->st_mode)) {
		errno = EINVAL;
		return -1;
	}
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, st) == 0)
		return fd;
	close(fd);
	return -1;
}

int object_open(const struct symbol_object *o)
{
	struct stat st;
	if (o->fd >= 0)
		return fcntl(o->fd, F_DUPFD_CLOEXEC, 3);
	return o->open_path ? open_regular(o->open_path, &st) : -1;
}

static bool same_mount_namespace(pid_t pid)
{
	char path[64];
	struct stat own, other;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	return pid <= 0 || stat(path, &other) < 0 || stat("/proc/self/ns/mnt", &own) < 0 ||
	       own.st_ino == other.st_ino;
}

/* The file of a process that lives, where it has no path (any more): its program, or any mapping
 * (which needs CAP_CHECKPOINT_RESTORE). */
static int open_of_process(const struct tare_code_map *map, pid_t pid, struct stat *st)
{
	char path[2][128];
	snprintf(path[0], sizeof(path[0]), "/proc/%d/exe", (int)pid);
	snprintf(path[1], sizeof(path[1]), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	for (int i = 0; pid > 0 && i < 2; i++) {
		const int fd = open_regular(path[i], st);
		if (fd >= 0 && st->st_ino == map->inode)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* ---- what the file's headers say ---- */

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Notes: size of name, size of content, type; then both, each padded. */
static void find_build_id(struct symbol_object *o, int fd, const Elf64_Phdr *ph)
{
	char bytes[65536];
	const size_t n = ph->p_filesz < sizeof(bytes) ? (size_t)ph->p_filesz : sizeof(bytes);
	if (o->id_size || !read_at(fd, bytes, n, ph->p_offset))
		return;
	const size_t align = ph->p_align == 8 ? 8 : 4;
	for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= n;) {
		Elf64_Nhdr h;
		memcpy(&h, bytes + at, sizeof(h));
		const uint64_t name = at + sizeof(h);
		const uint64_t content = (name + h.n_namesz + align - 1) & ~(uint64_t)(align - 1);
		const uint64_t next = (content + h.n_descsz + align - 1) & ~(uint64_t)(align - 1);
		if (content + h.n_descsz > n)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(bytes + name, "GNU", 4) &&
		    h.n_descsz && h.n_descsz <= WIRE_BUILD_ID) {
			memcpy(o->id, bytes + content, h.n_descsz);
			o->id_size = h.n_descsz;
			return;
		}
		at = next;
	}
}

/* False: not an ELF file. */
static bool read_headers(struct symbol_object *o, int fd)
{
	Elf64_Ehdr e;
	if (!read_at(fd, &e, sizeof(e), 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	o->segments = store_alloc(&o->set->store, e.e_phnum * sizeof(*o->segments));
	for (unsigned i = 0; o->segments && i < e.e_phnum; i++) {
		Elf64_Phdr ph;
		if (!read_at(fd, &ph, sizeof(ph), e.e_phoff + i * sizeof(ph)))
			break;
		if (ph.p_type == PT_LOAD)
			o->segments[o->n_segments++] =
				(struct segment){ ph.p_offset, ph.p_filesz, ph.p_vaddr, ph.p_memsz,
						  ph.p_flags & PF_X };
		else if (ph.p_type == PT_NOTE)
			find_build_id(o, fd, &ph);
	}
	return true;
}

/* ---- the decision ---- */

static bool changed_since(const struct stat *st, const struct timespec *since)
{
	return since->tv_sec && (st->st_mtim.tv_sec > since->tv_sec ||
		(st->st_mtim.tv_sec == since->tv_sec && st->st_mtim.tv_nsec > since->tv_nsec));
}

static void judge(struct symbol_object *o, const struct stat *st, const struct symbol_hints *hints)
{
	if (hints && hints->build_id_size) {
		o->trust = hints->build_id_size == o->id_size &&
			   !memcmp(hints->build_id, o->id, o->id_size) ? TRUST_YES : TRUST_NO;
		return;
	}
	if ((o->inode && st->st_ino != o->inode) || o->deleted || changed_since(st, &o->set->options.since))
		o->trust = TRUST_DOUBT;
}

/* The debug file has the addresses of the segments. */
static void read_debug_headers(struct symbol_object *o)
{
	char path[PATH_MAX + 2 * WIRE_BUILD_ID + 32];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/.build-id/%02x/", o->set->options.debug_folder, o->id[0]);
	for (size_t i = 1; i < o->id_size; i++)
		n += sprintf(path + n, "%02x", o->id[i]);
	strcpy(path + n, ".debug");
	const int fd = open_regular(path, &st);
	if (fd < 0)
		return;
	read_headers(o, fd);
	close(fd);
}

/* By the build-id, the debug file may still be there. */
static void file_is_gone(struct symbol_object *o, int err, const struct symbol_hints *hints)
{
	o->open_path = NULL;
	o->n_segments = 0;
	if (hints && hints->build_id_size && hints->build_id_size <= WIRE_BUILD_ID) {
		memcpy(o->id, hints->build_id, hints->build_id_size);
		o->id_size = hints->build_id_size;
		o->trust = TRUST_YES;
		o->debug_only = true;
		read_debug_headers(o);
		return;
	}
	o->trust = TRUST_NO;
	if (o->deleted)
		object_note(o, "%s was deleted or replaced while it was mapped: no names", o->path);
	else
		object_note(o, "%s: %s: no names", o->path, strerror(err));
}

static int open_file(struct symbol_object *o, const struct tare_code_map *map, pid_t pid,
		     const struct symbol_hints *hints, struct stat *st)
{
	char path[PATH_MAX + 64];
	int fd = -1;
	if (hints && hints->has_fd && fstat(hints->fd, st) == 0)
		return o->fd = fcntl(hints->fd, F_DUPFD_CLOEXEC, 3);
	if (!map->deleted) {
		if (same_mount_namespace(pid))
			snprintf(path, sizeof(path), "%s", map->path);
		else
			snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, map->path);
		fd = open_regular(path, st);
		o->open_path = fd < 0 ? NULL : store_text(&o->set->store, path, sizeof(path));
	}
	const int err = errno;
	if (fd >= 0 && (!map->inode || st->st_ino == map->inode))
		return fd;
	const int other = open_of_process(map, pid, st);
	if (other >= 0) {
		if (fd >= 0)
			close(fd);
		return o->fd = other;
	}
	if (fd < 0 && map->deleted && hints && hints->build_id_size) {
		fd = open_regular(map->path, st);	/* the same file, put there again? */
		o->open_path = fd < 0 ? NULL : store_text(&o->set->store, map->path, PATH_MAX);
	}
	if (fd >= 0)
		fstat(fd, st);
	errno = err;
	return fd;
}

static void make_hex(struct symbol_object *o)
{
	char text[2 * WIRE_BUILD_ID + 1] = "";
	for (size_t i = 0; i < o->id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", o->id[i]);
	o->build_id = store_text(&o->set->store, text, sizeof(text));
}

static void make_file(struct symbol_object *o, const struct tare_code_map *map, pid_t pid,
		      const struct symbol_hints *hints)
{
	struct stat st;
	const int fd = open_file(o, map, pid, hints, &st);
	const int err = errno;
	if (fd < 0) {
		file_is_gone(o, err, hints);
		return;
	}
	const bool is_elf = read_headers(o, fd);
	if (!is_elf && hints && hints->build_id_size) {
		file_is_gone(o, ENOENT, hints);
	} else if (!is_elf) {
		o->kind = SYMBOL_OTHER;
		object_note(o, st.st_size ? "%s is not an ELF file for this machine: no names" :
			    "%s is empty: no names", o->path);
	} else if (o->fd < 0) {
		judge(o, &st, hints);
		if (o->trust == TRUST_NO && hints)
			file_is_gone(o, ENOENT, hints);
	}
	if (fd != o->fd)
		close(fd);
}

/* ---- the list ---- */

/* As perf has them. */
static bool is_memory(const char *path)
{
	static const char *const starts[] = { "//anon", "/dev/zero", "/anon_hugepage", "[heap]", "[stack",
		"/memfd:", "/SYSV", "[anon" };
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(path, starts[i], strlen(starts[i])))
			return true;
	return !*path;
}

static enum symbol_kind kind_of(const struct tare_code_map *map)
{
	if (!strcmp(map->path, "[vdso]"))
		return SYMBOL_VDSO;
	if (is_memory(map->path))
		return SYMBOL_JIT;
	return map->path[0] == '/' ? SYMBOL_FILE : SYMBOL_OTHER;
}

static bool is_same(const struct symbol_object *o, enum symbol_kind kind, const struct tare_code_map *map,
		    pid_t pid)
{
	if (kind == SYMBOL_JIT || o->kind == SYMBOL_JIT)
		return o->kind == kind && o->pid == pid;
	return o->inode == map->inode && o->deleted == map->deleted && o->dev_major == map->dev_major &&
	       o->dev_minor == map->dev_minor && !strcmp(o->map_path, map->path);
}

static const char *path_of(enum symbol_kind kind, const struct tare_code_map *map, pid_t pid)
{
	char path[64];
	if (kind != SYMBOL_JIT)
		return map->path;
	return jit_path(pid, path, sizeof(path)) ? "[jit]" : "[anon]";
}

struct symbol_object *symbols_object(struct symbols *s, const struct tare_code_map *map, pid_t pid,
				     const struct symbol_hints *hints, struct tare_why *why)
{
	const enum symbol_kind kind = kind_of(map);
	for (struct symbol_object *o = s->objects; o; o = o->next)
		if (is_same(o, kind, map, pid))
			return o;
	struct symbol_object *const o = store_alloc(&s->store, sizeof(*o));
	const char *const path = o ? store_text(&s->store, path_of(kind, map, pid), PATH_MAX) : NULL;
	const char *const map_path = o ? store_text(&s->store, map->path, PATH_MAX) : NULL;
	if (!path || !map_path) {
		symbols_no_memory(why);
		return NULL;
	}
	const char *const slash = *path == '/' ? strrchr(path, '/') : NULL;
	*o = (struct symbol_object){ .set = s, .next = s->objects, .number = s->n_objects++, .kind = kind,
		.path = path, .name = slash && slash[1] ? slash + 1 : path, .build_id = "", .map_path = map_path,
		.inode = map->inode, .dev_major = map->dev_major, .dev_minor = map->dev_minor,
		.deleted = map->deleted, .pid = pid, .fd = -1 };
	s->objects = o;
	if (kind == SYMBOL_FILE)
		make_file(o, map, pid, hints);
	if (o->id_size)
		make_hex(o);
	return o;
}

enum symbol_kind symbol_object_kind(const struct symbol_object *o) { return o->kind; }
const char *symbol_object_path(const struct symbol_object *o) { return o->path; }
const char *symbol_object_name(const struct symbol_object *o) { return o->name; }
const char *symbol_object_build_id(const struct symbol_object *o) { return o->build_id ? o->build_id : ""; }
const char *symbol_object_note(const struct symbol_object *o) { return o->note; }

/* ---- addresses ---- */

static uint64_t page_down(uint64_t address) { return address & ~(uint64_t)4095; }
static uint64_t page_up(uint64_t address) { return page_down(address + 4095); }

/* Of a debug file: it has the addresses of segments, but not where they were in the file. The segment of code
 * that is as long as the mapping. */
static uint64_t address_by_debug(const struct symbol_object *o, const struct tare_code_map *map, uint64_t address)
{
	for (size_t i = 0; i < o->n_segments; i++) {
		const struct segment *const s = &o->segments[i];
		const uint64_t start = page_down(s->address);
		if (s->is_code && page_up(s->address + s->memory) - start == map->end - map->start)
			return start + (address - map->start);
	}
	return address - map->start + map->offset;
}

uint64_t symbol_address(struct symbol_object *o, const struct tare_code_map *map, uint64_t address)
{
	if (o->kind == SYMBOL_VDSO)
		return address - map->start;
	if (o->kind == SYMBOL_JIT || map->path[0] != '/')
		return address;
	if (o->debug_only)
		return address_by_debug(o, map, address);
	const uint64_t offset = address - map->start + map->offset;
	for (size_t i = 0; i < o->n_segments; i++)
		if (offset >= o->segments[i].offset && offset - o->segments[i].offset < o->segments[i].size)
			return offset - o->segments[i].offset + o->segments[i].address;
	return offset;
}

static bool offset_of(const struct symbol_object *o, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < o->n_segments; i++)
		if (address >= o->segments[i].address && address - o->segments[i].address < o->segments[i].size) {
			*offset = address - o->segments[i].address + o->segments[i].offset;
			return true;
		}
	return false;
}

void symbol_check(struct symbol_object *o, uint64_t address, const uint8_t *bytes, size_t size)
{
	char have[4096];
	uint64_t offset;
	if ((o->trust != TRUST_DOUBT && o->trust != TRUST_BYTES) || o->kind != SYMBOL_FILE ||
	    !offset_of(o, address, &offset))
		return;
	if (o->fd < 0)
		o->fd = object_open(o);
	size = size < sizeof(have) ? size : sizeof(have);
	o->trust = o->fd >= 0 && read_at(o->fd, have, size, offset) && !memcmp(have, bytes, size) ?
		   TRUST_BYTES : TRUST_NO;
}

/* ---- functions ---- */

static size_t function_slot(const struct symbol_object *o, uint64_t start, const char *linkage)
{
	size_t at = (size_t)(start * 0x9e3779b97f4a7c15ull >> 20) & (o->n_slots - 1);
	while (o->functions[at] && (o->functions[at]->start != start || o->functions[at]->linkage != linkage))
		at = (at + 1) & (o->n_slots - 1);
	return at;
}

static bool more_functions(struct symbol_object *o)
{
	struct symbol_object larger = { .n_slots = o->n_slots ? 2 * o->n_slots : 64 };
	larger.functions = calloc(larger.n_slots, sizeof(*larger.functions));
	if (!larger.functions)
		return false;
	for (size_t i = 0; i < o->n_slots; i++)
		if (o->functions[i])
			larger.functions[function_slot(&larger, o->functions[i]->start,
						       o->functions[i]->linkage)] = o->functions[i];
	free(o->functions);
	o->functions = larger.functions;
	o->n_slots = larger.n_slots;
	return true;
}

struct symbol_function *object_function(struct symbol_object *o, uint64_t start, const char *linkage)
{
	if (2 * o->n_functions >= o->n_slots && !more_functions(o))
		return NULL;
	struct symbol_function **const slot = &o->functions[function_slot(o, start, linkage)];
	if (*slot)
		return *slot;
	struct symbol_function *const f = store_alloc(&o->set->store, sizeof(*f));
	if (!f)
		return NULL;
	f->start = start;
	f->linkage = linkage;
	o->n_functions++;
	return *slot = f;
}
