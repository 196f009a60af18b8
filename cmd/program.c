/* What does a command run? A changed library changes counts as a changed program does,
 * so a result names the files by build ID, or by SHA-256 where they have none. */
#include "program.h"
#include "elf-image.h"
#include "libraries.h"
#include "sha256.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 4 };			/* of scripts run by scripts; Linux allows 5 */

static uint64_t padded(uint64_t n)
{
	return (n + 3) & ~UINT64_C(3);
}

/* One segment of notes: size of the name, size of the content, type, both padded. */
static bool build_id_in(const char *p, uint64_t left, struct buf *out)
{
	while (left >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		memcpy(&n, p, sizeof(n));
		const uint64_t head = sizeof(n) + padded(n.n_namesz);
		const uint64_t all = head + padded(n.n_descsz);
		if (all > left)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    memcmp(p + sizeof(n), "GNU", 4) == 0) {
			buf_str(out, "build-id:");
			for (uint32_t i = 0; i < n.n_descsz; i++)
				buf_printf(out, "%02x", (unsigned char)p[head + i]);
			return true;
		}
		p += all;
		left -= all;
	}
	return false;
}

static void put_id(struct image im, struct buf *out)
{
	Elf64_Phdr p;
	char hex[65];
	for (unsigned i = 0; image_segment(im, PT_NOTE, &i, &p);)
		if (build_id_in(im.data + p.p_offset, p.p_filesz, out))
			return;
	sha256_hex(im.data, im.size, hex);
	buf_printf(out, "sha256:%s", hex);
}

/* ---- which file is it ---- */

const char *env_get(char *const *envp, const char *name)
{
	const size_t n = strlen(name);
	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

/* As execvp(3) looks for it. */
static bool find_command(const char *name, char *const *envp, char out[PATH_MAX])
{
	const char *dir = env_get(envp, "PATH");
	struct stat st;
	if (strchr(name, '/'))
		return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
	for (dir = dir ? dir : "/bin:/usr/bin"; dir; dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
		const int n = (int)strcspn(dir, ":");
		const int len = snprintf(out, PATH_MAX, "%.*s%s%s", n, dir, n ? "/" : "", name);
		if (len < PATH_MAX && access(out, X_OK) == 0 && stat(out, &st) == 0 &&
		    S_ISREG(st.st_mode))
			return true;
	}
	return false;
}

static bool is_env(const char *path)
{
	const char *const slash = strrchr(path, '/');
	return strcmp(slash ? slash + 1 : path, "env") == 0;
}

/* The interpreter of a script's first line; of `#!/usr/bin/env -S prog` it is prog. */
static bool interpreter_of_script(struct image im, char *const *envp, char out[PATH_MAX])
{
	char line[256] = "", *rest = NULL;
	if (im.size < 3 || memcmp(im.data, "#!", 2) != 0)
		return false;
	for (size_t i = 2; i < im.size && i - 2 < sizeof(line) - 1 && im.data[i] != '\n'; i++)
		line[i - 2] = im.data[i];
	const char *word = strtok_r(line, " \t\r", &rest);
	if (!word)
		return false;
	if (is_env(word)) {
		do
			word = strtok_r(NULL, " \t\r", &rest);
		while (word && (word[0] == '-' || strchr(word, '=')));
	}
	return word && find_command(word, envp, out);
}

/* ---- libraries ---- */

struct libc {
	char kind[8], version[32], build[128], path[PATH_MAX];
	struct buf id;
};

static const char *in_range(const char *from, size_t n, const char *text)
{
	return memmem(from, n, text, strlen(text));
}

/* Most of a library is code and symbols: looks into its read-only data first. */
static const char *find_text(struct image im, const char *text)
{
	Elf64_Phdr p;
	const char *at = NULL;
	for (unsigned i = 0; !at && image_segment(im, PT_LOAD, &i, &p);)
		if (p.p_flags == PF_R && p.p_offset)	/* the first one has the symbols */
			at = in_range(im.data + p.p_offset, p.p_filesz, text);
	return at ? at : in_range(im.data, im.size, text);
}

/* "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36." is in the file. */
static void read_banner(struct image im, struct libc *l)
{
	static const char start[] = "GNU C Library (", middle[] = "release version ";
	const char *const end = im.data + im.size;
	const char *const at = find_text(im, start);
	if (!at)
		return;
	const char *const build = at + sizeof(start) - 1;
	const size_t near = (size_t)(end - build) < 256 ? (size_t)(end - build) : 256;
	const char *const close = memchr(build, ')', near);
	const char *const v = memmem(build, near, middle, sizeof(middle) - 1);
	if (close)
		snprintf(l->build, sizeof(l->build), "%.*s", (int)(close - build), build);
	if (v) {
		const char *const number = v + sizeof(middle) - 1;
		size_t n = 0;
		while (number + n < end && strchr("0123456789.", number[n]) && number[n])
			n++;
		if (n && number[n - 1] == '.')
			n--;		/* the end of the sentence */
		snprintf(l->version, sizeof(l->version), "%.*s", (int)n, number);
	}
}

static void note_libc(const char *name, const char *path, struct image im, struct libc *l)
{
	const bool musl = strncmp(name, "libc.musl", 9) == 0 || strncmp(name, "ld-musl", 7) == 0;
	if (l->kind[0] || (!musl && strncmp(name, "libc.so.", 8) != 0))
		return;
	snprintf(l->kind, sizeof(l->kind), musl ? "musl" : "glibc");
	snprintf(l->path, sizeof(l->path), "%s", path);
	put_id(im, &l->id);
	if (!musl)
		read_banner(im, l);
}

static void file_json(struct json *j, const char *name, const char *path, struct image im)
{
	struct buf id = { 0 };
	if (im.data)
		put_id(im, &id);
	json_object(j, NULL);
	json_str(j, "name", name);
	json_str(j, "path", path);
	json_str(j, "id", id.data);
	json_end(j);
	buf_free(&id);
}

static void libraries_json(struct json *j, const char *linker, const char *program,
			   char *const *envp, struct libc *l)
{
	struct buf text = { 0 };
	char *rest = NULL;
	json_array(j, "libraries");
	if (linker[0])
		libraries_list(linker, program, envp, &text);
	for (char *line = text.data ? strtok_r(text.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		const char *name, *path;
		if (!libraries_line(line, &name, &path))
			continue;
		const struct image im = image_map(path);
		file_json(j, name, path, im);
		if (im.data)
			note_libc(name, path, im, l);
		image_unmap(im);
	}
	json_end(j);
	buf_free(&text);
}

static void libc_json(struct json *j, const struct libc *l)
{
	if (!l->kind[0]) {
		json_null(j, "libc");
		return;
	}
	json_object(j, "libc");
	json_str(j, "kind", l->kind);
	json_str(j, "version", l->version[0] ? l->version : NULL);
	json_str(j, "build", l->build[0] ? l->build : NULL);
	json_str(j, "path", l->path);
	json_str(j, "id", l->id.data);
	json_end(j);
}

static void executable_json(struct json *j, const char *path, struct image im,
			    char *const *envp)
{
	char linker[256] = "";
	struct buf id = { 0 };
	struct libc l = { 0 };
	put_id(im, &id);
	const bool dynamic = image_interpreter(im, linker, sizeof(linker));
	json_str(j, "path", path);
	json_str(j, "id", id.data);
	json_bool(j, "static", image_is_elf64(im) && !dynamic);
	libraries_json(j, linker, path, envp, &l);
	libc_json(j, &l);
	buf_free(&id);
	buf_free(&l.id);
}

void program_json(struct json *j, char *const *argv, char *const *envp)
{
	char path[PATH_MAX], next[PATH_MAX];
	struct image im = { 0 };
	if (argv[0] && find_command(argv[0], envp, path))
		im = image_map(path);
	if (!im.data) {
		json_null(j, "program");
		return;
	}
	json_object(j, "program");
	json_array(j, "scripts");
	for (int depth = 0; depth < DEPTH && interpreter_of_script(im, envp, next); depth++) {
		const char *const slash = strrchr(path, '/');
		const struct image after = image_map(next);
		if (!after.data)
			break;
		file_json(j, slash ? slash + 1 : path, path, im);
		image_unmap(im);
		im = after;
		memcpy(path, next, sizeof(path));
	}
	json_end(j);
	executable_json(j, path, im, envp);
	json_end(j);
	image_unmap(im);
}
