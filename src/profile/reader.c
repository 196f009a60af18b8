/* Opening a profile: map, find the pages, check the headers, read the metadata.
 *
 * Only the page headers and the string index are touched here; events are left to
 * whoever walks them (walk.c). Every offset is checked before it is used.
 */
#include "reader.h"

#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[MM_TAGS][5] = { "MMES", "MMSD", "MMSI" };
static const char *const stream_name[MM_TAGS] = { "event", "string data", "string index" };

static int bad(const struct tare_profile *p, struct tare_why *why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int bad(const struct tare_profile *p, struct tare_why *why, const char *fmt, ...)
{
	char text[200];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return why_set(why, TARE_E_FORMAT, "%.120s: %s", p->path, text);
}

static int add_piece(struct stream *s, uint64_t file_off, uint64_t len)
{
	if (s->n + 2 > s->cap) {
		const size_t cap = s->cap ? 2 * s->cap : 16;
		struct piece *const grown = realloc(s->pieces, cap * sizeof(*grown));
		if (!grown)
			return TARE_E_NOMEM;
		s->pieces = grown;
		s->cap = cap;
	}
	s->pieces[s->n++] = (struct piece){ s->size, file_off };
	s->size += len;
	s->pieces[s->n] = (struct piece){ s->size, 0 };
	return 0;
}

/* Between large pages only the headers are looked at: mapping each takes longer than reading it. */
#define FAR_APART (64u << 10)

/* Walks the page headers. With `add` the pieces are stored; without, pages are
 * only counted: a file of tiny pages is repacked before it costs memory. */
static int scan_pages(struct tare_profile *p, bool add, uint64_t *n_pages, struct tare_why *why)
{
	uint64_t pos = MM_HEADER_SIZE, len = 0;
	*n_pages = 0;
	while (pos < p->size) {
		if (p->size - pos < MM_PAGE_HEADER_SIZE) {
			profile_warn(p, TARE_PROFILE_TRUNCATED, add);
			break;
		}
		uint8_t room[MM_PAGE_HEADER_SIZE];
		const uint8_t *const head = len < FAR_APART ? p->bytes + pos
					    : profile_bytes(p, pos, sizeof(room), room);
		const unsigned tag = head[0];
		len = mm_u32(head + 1);
		if (tag >= MM_TAGS)
			return bad(p, why, "page at byte %llu has tag %u (0, 1 and 2 exist)",
				   (unsigned long long)pos, tag);
		if (len == 0)
			return bad(p, why, "page at byte %llu is empty", (unsigned long long)pos);
		pos += MM_PAGE_HEADER_SIZE;
		if (len > p->size - pos) {
			profile_warn(p, TARE_PROFILE_TRUNCATED, add);
			len = p->size - pos;
		}
		if (add && len && add_piece(&p->streams[tag], pos, len) < 0)
			return why_set(why, TARE_E_NOMEM, "%.120s: page list", p->path);
		pos += len;
		++*n_pages;
	}
	return 0;
}

static int find_pages(struct tare_profile *p, struct tare_why *why)
{
	uint64_t n_pages;
	int err = scan_pages(p, false, &n_pages, why);
	if (err < 0)
		return err;
	if (n_pages > 4096 && p->size / n_pages < 512) {
		err = spool_repack(p, why);
		if (err < 0)
			return err;
	}
	return scan_pages(p, true, &n_pages, why);
}

static const char *written_by(uint32_t version)
{
	switch (version) {
	case 7: return " (measureme 0.8 to 9)";
	case 6: return " (measureme of September 2020)";
	default: return version < 6 ? " (measureme of 2019 and 2020)" : "";
	}
}

static int check_version(struct tare_profile *p, struct tare_why *why)
{
	if (p->size < MM_HEADER_SIZE || memcmp(p->bytes, "MMPD", 4) != 0)
		return bad(p, why, "not a .mm_profdata file (it does not start with MMPD)");
	p->info.version = mm_u32(p->bytes + 4);
	if (p->info.version != 8 && p->info.version != 9)
		return bad(p, why, "file version %u%s is not readable here, versions 8 and 9 are",
			   p->info.version, written_by(p->info.version));
	p->wide = p->info.version == 9;
	p->record_size = p->wide ? 32 : 24;
	p->id_size = p->wide ? 8 : 4;
	return 0;
}

static int check_stream(struct tare_profile *p, int tag, struct tare_why *why)
{
	struct stream *const s = &p->streams[tag];
	uint8_t head[MM_HEADER_SIZE];
	if (s->size == 0) {
		profile_warn(p, TARE_PROFILE_NO_STREAM, 1);
		return 0;
	}
	if (!stream_copy(p, s, 0, head, sizeof(head))) {
		profile_warn(p, TARE_PROFILE_TRUNCATED, 1);
		s->size = 0;
		return 0;
	}
	if (memcmp(head, magic[tag], 4) != 0)
		return bad(p, why, "the %s stream does not start with %s", stream_name[tag],
			   magic[tag]);
	if (mm_u32(head + 4) != p->info.version)
		return bad(p, why, "the %s stream has version %u, the file %u",
			   stream_name[tag], mm_u32(head + 4), p->info.version);
	return 0;
}

static int check_streams(struct tare_profile *p, struct tare_why *why)
{
	for (int tag = 0; tag < MM_TAGS; tag++) {
		const int err = check_stream(p, tag, why);
		if (err < 0)
			return err;
	}
	const uint64_t bytes = p->streams[MM_EVENTS].size;
	if (bytes > MM_HEADER_SIZE) {
		p->info.n_events = (bytes - MM_HEADER_SIZE) / p->record_size;
		if ((bytes - MM_HEADER_SIZE) % p->record_size)
			profile_warn(p, TARE_PROFILE_TRUNCATED, 1);
	}
	return 0;
}

static int parse(struct tare_profile *p, struct tare_why *why)
{
	int err = check_version(p, why);
	if (err == 0)
		err = find_pages(p, why);
	if (err == 0)
		err = check_streams(p, why);
	if (err == 0)
		err = strings_index(p, why);
	if (err == 0)
		err = meta_read(p, why);
	return err;
}

/* Of hundreds of files the map has to do: descriptors are few. */
#define FD_MOST 256

static int map_fd(struct tare_profile *p, int fd, struct tare_why *why)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return why_errno(why, TARE_E_IO, errno, "%.120s", p->path);
	if (S_ISDIR(st.st_mode))
		return why_errno(why, TARE_E_IO, EISDIR, "%.120s", p->path);
	if (!S_ISREG(st.st_mode) || lseek(fd, 0, SEEK_CUR) != 0)
		return spool_fd(p, fd, why);
	if (st.st_size == 0)
		return bad(p, why, "the file is empty");
	void *const map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return why_errno(why, TARE_E_IO, errno, "%.120s: mmap", p->path);
	p->map = map;
	p->bytes = map;
	p->size = (size_t)st.st_size;
	p->fd = fd != STDIN_FILENO && fd < FD_MOST ? fd : -1;
	return 0;
}

static struct tare_profile *new_profile(const char *path)
{
	struct tare_profile *const p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->path = strdup(path);
	if (!p->path) {
		free(p);
		return NULL;
	}
	p->info.path = p->path;
	p->fd = -1;
	return p;
}

static int finish_open(struct tare_profile *p, int err, struct tare_profile **out,
		       struct tare_why *why)
{
	if (err == 0)
		err = parse(p, why);
	if (err < 0) {
		tare_profile_close(p);
		return err;
	}
	p->info.size_bytes = p->size;
	*out = p;
	return 0;
}

int tare_profile_open(const char *path, struct tare_profile **out, struct tare_why *why)
{
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the profile");
	*out = NULL;
	if (!path)
		return why_set(why, TARE_E_INVALID, "no path given");
	const bool from_stdin = strcmp(path, "-") == 0;
	struct tare_profile *const p = new_profile(from_stdin ? "standard input" : path);
	if (!p)
		return why_set(why, TARE_E_NOMEM, "%s", path);
	const int fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		const int err = errno;
		tare_profile_close(p);
		return err == ENOENT ? why_set(why, TARE_E_NO_FILE, "%.200s", path)
				     : why_errno(why, TARE_E_IO, err, "%.200s", path);
	}
	const int err = map_fd(p, fd, why);
	if (!from_stdin && p->fd != fd)
		close(fd);
	return finish_open(p, err, out, why);
}

int tare_profile_open_memory(const void *bytes, size_t size, struct tare_profile **out,
			     struct tare_why *why)
{
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the profile");
	*out = NULL;
	if (!bytes)
		return why_set(why, TARE_E_INVALID, "no bytes given");
	struct tare_profile *const p = new_profile("memory");
	if (!p)
		return why_set(why, TARE_E_NOMEM, "profile");
	p->bytes = bytes;
	p->size = size;
	return finish_open(p, 0, out, why);
}

void tare_profile_close(struct tare_profile *p)
{
	if (!p)
		return;
	if (p->map)
		munmap(p->map, p->size);
	if (p->fd >= 0)
		close(p->fd);
	free(p->heap);
	for (int tag = 0; tag < MM_TAGS; tag++)
		free(p->streams[tag].pieces);
	free(p->dense);
	free(p->narrow);
	free(p->sparse);
	json_free(p->meta);
	buf_free(&p->meta_text);
	free(p->units);
	free(p->threads);
	free(p->path);
	free(p);
}

const struct tare_profile_info *tare_profile_info(const struct tare_profile *p)
{
	return p ? &p->info : NULL;
}

static const char *const warning_text[TARE_PROFILE_WARNINGS] = {
	[TARE_PROFILE_TRUNCATED] = "ends in the middle of a page or record: its tail is lost",
	[TARE_PROFILE_NO_STREAM] = "lacks a whole stream: the program died before writing it",
	[TARE_PROFILE_NO_METADATA] = "has no metadata: counter and command are not known, values are taken as ns",
	[TARE_PROFILE_UNFINISHED] = "was not finished by its program: the last events may be missing",
	[TARE_PROFILE_BAD_ESCAPE] = "has escapes in its metadata that are not JSON; taken as meant",
	[TARE_PROFILE_DUPLICATE_ID] = "gives a string id more than one string; the last is used",
	[TARE_PROFILE_UNKNOWN_ID] = "has events whose string id is not mapped, shown as <unknown>",
	[TARE_PROFILE_LOST_STRING] = "refers to strings in its lost part, shown as <unknown>",
	[TARE_PROFILE_BAD_EVENT_ID] = "has event names that are empty or hold control characters",
	[TARE_PROFILE_BACKWARDS] = "has intervals that end before they start, taken as empty",
	[TARE_PROFILE_LONG_STRING] = "has names longer than 1 MiB, which are cut",
	[TARE_PROFILE_OVERLAP] = "has intervals that overlap without nesting: their self values are not exact",
};

size_t tare_profile_warnings(const struct tare_profile *p, struct tare_profile_warning *out,
			     size_t max)
{
	size_t n = 0;
	for (int k = 0; p && k < TARE_PROFILE_WARNINGS; k++) {
		const uint64_t count = atomic_load_explicit(&p->warned[k], memory_order_relaxed);
		if (!count)
			continue;
		if (n < max && out) {
			out[n] = (struct tare_profile_warning){ .count = count };
			out[n].kind = (enum tare_profile_warning_kind)k;
			const bool of_file = k <= TARE_PROFILE_UNFINISHED;
			if (of_file || count == 1)
				snprintf(out[n].text, sizeof(out[n].text), "%s", warning_text[k]);
			else
				snprintf(out[n].text, sizeof(out[n].text), "%s (%llu times)",
					 warning_text[k], (unsigned long long)count);
		}
		n++;
	}
	return n;
}
