/* Which libraries a program gets depends on run paths, LD_LIBRARY_PATH, LD_PRELOAD, the
 * linker's cache and the CPU. The dynamic linker of the program knows: it is run with
 * --list, as ldd(1) does, in the environment of the command. This runs no code of the
 * program.
 *
 * That takes half a millisecond, a sixth of what counting /bin/true takes. So what most programs have is looked up
 * here: glibc's linker for x86-64, no variable and no file that tell it other things, no run path in any of the files,
 * and each library has one entry in the linker's cache, for any CPU. Whatever is different, the linker is asked. */
#include "libraries.h"

#include "elf-image.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- looked up here ---- */

#define LINKER "/lib64/ld-linux-x86-64.so.2"

/* /etc/ld.so.cache (sysdeps/generic/dl-cache.h of glibc): a head, entries, texts. Offsets are from the start of the file. */
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

struct cache_head {
	char magic[20];
	uint32_t n, texts_size;
	uint8_t flags, unused[3];	/* the low two bits of flags: 0 not told, 2 little endian */
	uint32_t extensions, unused2[3];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path;
	uint32_t os;
	uint64_t hwcap;			/* which CPUs it is for; 0: all */
};

enum { LIBC6_X86_64 = 0x0303, MOST = 128 };

struct loaded {
	const char *name;		/* as it is needed */
	const char *path;
	struct image im;
};

struct lookup {
	struct image cache;
	uint64_t texts_end;		/* in the cache; the byte before it is 0 */
	struct loaded list[MOST];	/* [0] is the program */
	unsigned n;
};

static bool environment_tells(char *const *envp)
{
	for (; envp && *envp; envp++)
		if (strncmp(*envp, "LD_", 3) == 0 || strncmp(*envp, "GLIBC_TUNABLES=", 15) == 0)
			return true;
	return access("/etc/ld.so.preload", F_OK) == 0 || errno != ENOENT;
}

static const char *text_at(struct image im, uint64_t at)
{
	return at < im.size && memchr(im.data + at, 0, im.size - at) ? im.data + at : NULL;
}

/* Its one path in the linker's cache; NULL: it has none, or several. */
static const char *path_of(const struct lookup *l, const char *name)
{
	struct cache_head head;
	const char *path = NULL;
	memcpy(&head, l->cache.data, sizeof(head));
	for (uint32_t i = 0; i < head.n; i++) {
		struct cache_entry e;
		memcpy(&e, l->cache.data + sizeof(head) + i * sizeof(e), sizeof(e));
		if (e.flags != LIBC6_X86_64 || e.name >= l->texts_end || strcmp(l->cache.data + e.name, name) != 0)
			continue;
		if (path || e.hwcap || e.os || e.path >= l->texts_end)
			return NULL;
		path = l->cache.data + e.path;
	}
	return path;
}

static bool read_cache(struct lookup *l)
{
	struct cache_head head;
	l->cache = image_map("/etc/ld.so.cache");
	if (l->cache.size < sizeof(head))
		return false;
	memcpy(&head, l->cache.data, sizeof(head));
	const uint64_t entries = sizeof(head) + head.n * sizeof(struct cache_entry);
	l->texts_end = entries + head.texts_size;
	return memcmp(head.magic, CACHE_MAGIC, sizeof(head.magic)) == 0 && !(head.flags & 1) && head.texts_size &&
	       image_holds(l->cache, entries, head.texts_size) && !l->cache.data[l->texts_end - 1];
}

/* The part of the file that an address leads to. */
static bool offset_of(struct image im, uint64_t address, uint64_t *at)
{
	Elf64_Phdr p;
	for (unsigned i = 0; image_segment(im, PT_LOAD, &i, &p);)
		if (address - p.p_vaddr < p.p_filesz) {
			*at = p.p_offset + (address - p.p_vaddr);
			return true;
		}
	return false;
}

static bool is_loaded(const struct lookup *l, const char *name)
{
	for (unsigned i = 1; i < l->n; i++)
		if (strcmp(l->list[i].name, name) == 0)
			return true;
	return false;
}

/* Are both the same file, which is loaded once? */
static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;
	return stat(a, &sa) < 0 || stat(b, &sb) < 0 || (sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino);
}

static bool load(struct lookup *l, const char *name)
{
	if (is_loaded(l, name))
		return true;
	const char *const path = strcmp(name, strrchr(LINKER, '/') + 1) == 0 ? LINKER : path_of(l, name);
	if (!path || l->n == MOST || strpbrk(name, "/$"))
		return false;
	for (unsigned i = 0; i < l->n; i++)
		if (same_file(l->list[i].path, path))
			return false;
	l->list[l->n++] = (struct loaded){ .name = name, .path = path, .im = image_map(path) };
	return true;
}

/* Does the entry change where libraries are looked for, or add some? */
static bool is_special(const Elf64_Dyn *d)
{
	return d->d_tag == DT_RPATH || d->d_tag == DT_RUNPATH || d->d_tag == DT_AUXILIARY || d->d_tag == DT_FILTER ||
	       d->d_tag == DT_AUDIT || d->d_tag == DT_DEPAUDIT || (d->d_tag == DT_FLAGS_1 && d->d_un.d_val & DF_1_NODEFLIB);
}

/* Loads what the n-th file needs. Its own name must be the one that it was needed by. */
static bool load_needed(struct lookup *l, unsigned n)
{
	const struct image im = l->list[n].im;
	Elf64_Ehdr head;
	Elf64_Phdr dynamic;
	Elf64_Dyn d;
	unsigned i = 0;
	uint64_t texts = 0;
	if (!image_is_elf64(im) || !image_segment(im, PT_DYNAMIC, &i, &dynamic))
		return false;
	memcpy(&head, im.data, sizeof(head));
	for (uint64_t at = 0; at + sizeof(d) <= dynamic.p_filesz; at += sizeof(d)) {
		memcpy(&d, im.data + dynamic.p_offset + at, sizeof(d));
		if (d.d_tag == DT_STRTAB && !offset_of(im, d.d_un.d_ptr, &texts))
			return false;
		if (is_special(&d))
			return false;
	}
	if (!texts || head.e_machine != EM_X86_64)
		return false;
	for (uint64_t at = 0; at + sizeof(d) <= dynamic.p_filesz; at += sizeof(d)) {
		memcpy(&d, im.data + dynamic.p_offset + at, sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		const char *const name = text_at(im, texts + d.d_un.d_val);
		if (d.d_tag == DT_SONAME && n && (!name || strcmp(name, l->list[n].name) != 0))
			return false;
		if (d.d_tag == DT_NEEDED && (!name || !load(l, name)))
			return false;
	}
	return true;
}

/* What the linker would print, or false: something is not as in most programs. The linker looks breadth first. */
static bool look_up(const char *linker, const char *program, char *const *envp, struct buf *out)
{
	struct lookup l = { .list = { { .name = program, .path = program, .im = image_map(program) } }, .n = 1 };
	bool ok = strcmp(linker, LINKER) == 0 && !environment_tells(envp) && read_cache(&l);
	for (unsigned i = 0; ok && i < l.n; i++)
		ok = load_needed(&l, i);
	for (unsigned i = 1; ok && i < l.n; i++)
		buf_printf(out, strcmp(l.list[i].path, LINKER) == 0 ? "%.0s%s\n" : "%s => %s\n", l.list[i].name, l.list[i].path);
	for (unsigned i = 0; i < l.n; i++)
		image_unmap(l.list[i].im);
	image_unmap(l.cache);
	return ok;
}

/* ---- asked of the linker ---- */

/* Starts `linker --list program`, which writes to `to`. Without a copy of this process's memory, as fork() would
 * make it. Returns the process, or -1. */
static pid_t start_linker(const char *linker, const char *program, char *const *envp, int to)
{
	char *const args[] = { (char *)linker, (char *)"--list", (char *)program, NULL };
	posix_spawn_file_actions_t files;
	pid_t pid = -1;
	if (posix_spawn_file_actions_init(&files))
		return -1;
	if (posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0) ||
	    posix_spawn_file_actions_adddup2(&files, to, 1) || posix_spawn_file_actions_adddup2(&files, 0, 2) ||
	    posix_spawn(&pid, linker, &files, NULL, args, envp))
		pid = -1;
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

/* What `linker --list program` prints. */
static void ask_linker(const char *linker, const char *program, char *const *envp,
		       struct buf *out)
{
	int ends[2], status;
	char chunk[4096];
	ssize_t n;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	const pid_t pid = start_linker(linker, program, envp, ends[1]);
	close(ends[1]);
	while (pid > 0 && ((n = read(ends[0], chunk, sizeof(chunk))) > 0 ||
			   (n < 0 && errno == EINTR)))
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

void libraries_list(const char *linker, const char *program, char *const *envp, struct buf *out)
{
	if (!look_up(linker, program, envp, out))
		ask_linker(linker, program, envp, out);
}

/* "\tlibz.so.1 => /lib/libz.so.1 (0x7f…)" or "\t/lib64/ld-linux.so.2 (0x7f…)". The name is
 * the last part of the path in the second form; the vDSO has no file. */
bool libraries_line(char *line, const char **name, const char **path)
{
	line += strspn(line, " \t");
	char *const arrow = strstr(line, " => ");
	char *const address = strrchr(line, '(');
	if (address && address > line)
		address[-1] = '\0';
	if (arrow)
		*arrow = '\0';
	*path = arrow ? arrow + 4 : line;
	const char *const slash = strrchr(line, '/');
	*name = slash ? slash + 1 : line;
	return **path == '/';
}
