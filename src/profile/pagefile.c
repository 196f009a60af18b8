#include "pagefile.h"

#include "buf.h"
#include "json.h"
#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct pagefile {
	int fd;
	char *path;
	pthread_mutex_t lock;
	uint64_t size;			/* bytes safely in the file */
	_Atomic int error;		/* first failure; nothing is written after it */
	int sys_errno;
	uint64_t next_addr;		/* of the next string */
	uint8_t *strings;		/* a page being filled, header room in front */
	size_t n_strings;
	struct tare_profile_create_options meta;	/* its texts are ours */
	struct tare_profile_unit unit;
	char unit_name[64];
};

static const struct tare_profile_unit time_units[] = {
	{ "ns", 1 }, { "μs", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
};

/* instructions:u, instructions-minus-irqs:u: "instructions". */
size_t pagefile_units(const char *counter, const struct tare_profile_unit **units,
		      struct tare_profile_unit scratch[1], char *name, size_t size)
{
	if (strcmp(counter, "wall-time") == 0) {
		*units = time_units;
		return sizeof(time_units) / sizeof(time_units[0]);
	}
	const char *const minus = strstr(counter, "-minus-");
	const size_t len = minus ? (size_t)(minus - counter) : strcspn(counter, ":");
	snprintf(name, size, "%.*s", (int)len, counter);
	scratch[0] = (struct tare_profile_unit){ name, 1 };
	*units = scratch;
	return 1;
}

static void write_meta(const struct pagefile *f, const struct pagefile_closing *end,
		       struct buf *out)
{
	const struct tare_profile_create_options *const m = &f->meta;
	struct json j = { .out = out };
	json_object(&j, NULL);
	json_u64(&j, "start_time", m->start_time_ns);
	json_u64(&j, "process_id", m->process_id);
	json_str(&j, "cmd", m->cmd);
	json_object(&j, "counter");
	json_str(&j, "name", m->counter);
	json_array(&j, "units");
	for (size_t i = 0; i < m->n_units; i++) {
		json_array(&j, NULL);
		json_str(&j, NULL, m->units[i].name);
		json_u64(&j, NULL, m->units[i].factor);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	json_object(&j, "tare");
	json_bool(&j, "complete", end != NULL);
	json_str(&j, "axis", m->own_axis_per_thread ? "thread" : "process");
	if (m->cpu)
		json_str(&j, "cpu", m->cpu);
	if (m->provenance)
		json_str(&j, "provenance", m->provenance);
	if (end) {
		json_u64(&j, "clamped", end->clamped);
		json_u64(&j, "dropped", end->dropped);
		json_u64(&j, "pages", end->pages);
		json_u64(&j, "page_cost", end->page_cost);
		json_array(&j, "threads");
		for (size_t i = 0; i < end->n_threads; i++) {
			json_object(&j, NULL);
			json_u64(&j, "id", end->threads[i].id);
			json_str(&j, "name", end->threads[i].name);
			json_end(&j);
		}
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

static int fail(struct pagefile *f, int err)
{
	f->error = err == ENOSPC || err == EDQUOT || err == EFBIG ? TARE_E_NOSPC : TARE_E_IO;
	f->sys_errno = err;
	return f->error;
}

/* All of it or nothing: a page that does not fit is cut off again. */
static int append(struct pagefile *f, const void *bytes, size_t n)
{
	size_t done = 0;
	while (done < n) {
		const ssize_t step = pwrite(f->fd, (const char *)bytes + done, n - done,
					    (off_t)(f->size + done));
		if (step < 0 && errno == EINTR)
			continue;
		if (step < 0) {
			const int err = errno;
			if (done && ftruncate(f->fd, (off_t)f->size) < 0)
				return fail(f, err);
			return fail(f, err);
		}
		done += (size_t)step;
	}
	f->size += n;
	return 0;
}

static void page_header(uint8_t *page, enum mm_tag tag, size_t n)
{
	page[0] = (uint8_t)tag;
	mm_put32(page + 1, (uint32_t)n);
}

static int append_page(struct pagefile *f, enum mm_tag tag, uint8_t *page, size_t n)
{
	page_header(page, tag, n);
	return append(f, page, MM_PAGE_HEADER_SIZE + n);
}

static int flush_strings(struct pagefile *f)
{
	if (f->error || !f->n_strings)
		return f->error;
	const int err = append_page(f, MM_STRINGS, f->strings, f->n_strings);
	f->n_strings = 0;
	return err;
}

/* Long entries may be cut by a page boundary; the format allows it. */
static void add_string_bytes(struct pagefile *f, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;
	f->next_addr += n;
	while (n) {
		size_t room = MM_PAGE_MAX - f->n_strings;
		if (room > n)
			room = n;
		memcpy(f->strings + MM_PAGE_HEADER_SIZE + f->n_strings, at, room);
		f->n_strings += room;
		at += room;
		n -= room;
		if (f->n_strings == MM_PAGE_MAX)
			flush_strings(f);
	}
}

/* 0xFE and 0xFF are the format's own and occur in no UTF-8 text. */
static void add_literal(struct pagefile *f, const char *text, size_t len)
{
	while (len) {
		size_t n = 0;
		while (n < len && (uint8_t)text[n] < MM_REFERENCE)
			n++;
		add_string_bytes(f, text, n);
		if (n < len)
			add_string_bytes(f, "\xef\xbf\xbd", 3), n++;
		text += n;
		len -= n;
	}
}

/* What a reader takes, up to the last whole character. */
static size_t text_len(const struct pagefile_part *part)
{
	size_t n = part->len;
	if (n <= MM_TEXT_MAX)
		return n;
	n = MM_TEXT_MAX;
	while (n && ((uint8_t)part->text[n] & 0xC0) == 0x80)
		n--;
	return n;
}

uint64_t pagefile_string(struct pagefile *f, const struct pagefile_part *parts, size_t n)
{
	static const uint8_t terminator = MM_TERMINATOR;
	if (f->error)
		return 0;
	pthread_mutex_lock(&f->lock);
	const uint64_t addr = f->next_addr;
	for (size_t i = 0; i < n; i++) {
		if (parts[i].text) {
			add_literal(f, parts[i].text, text_len(&parts[i]));
			continue;
		}
		uint8_t reference[9] = { MM_REFERENCE };
		mm_put64(reference + 1, parts[i].id);
		add_string_bytes(f, reference, sizeof(reference));
	}
	add_string_bytes(f, &terminator, 1);
	const int err = f->error;
	pthread_mutex_unlock(&f->lock);
	return err ? 0 : addr + MM_FIRST_REGULAR;
}

int pagefile_events(struct pagefile *f, uint8_t *page, size_t n)
{
	if (f->error)
		return f->error;
	pthread_mutex_lock(&f->lock);
	int err = flush_strings(f);
	if (err == 0)
		err = append_page(f, MM_EVENTS, page, n * 32);
	pthread_mutex_unlock(&f->lock);
	return err;
}

int pagefile_error(const struct pagefile *f)
{
	return f->error;
}

static void put_stream_header(struct buf *out, enum mm_tag tag, const char *name, size_t more)
{
	uint8_t head[MM_PAGE_HEADER_SIZE + MM_HEADER_SIZE];
	page_header(head, tag, MM_HEADER_SIZE + more);
	memcpy(head + MM_PAGE_HEADER_SIZE, name, 4);
	mm_put32(head + MM_PAGE_HEADER_SIZE + 4, 9);
	buf_add(out, head, sizeof(head));
}

static void put_index_entry(struct buf *out, uint64_t addr)
{
	uint8_t entry[16];
	mm_put64(entry, MM_METADATA_ID);
	mm_put64(entry + 8, addr);
	buf_add(out, entry, sizeof(entry));
}

/* Everything a reader needs, in one write. */
static int write_start(struct pagefile *f, struct tare_why *why)
{
	struct buf meta = { 0 }, out = { 0 };
	write_meta(f, NULL, &meta);
	buf_add(&out, "MMPD\x09\0\0\0", 8);
	put_stream_header(&out, MM_EVENTS, "MMES", 0);
	put_stream_header(&out, MM_STRINGS, "MMSD", meta.len + 1);
	buf_add(&out, meta.data, meta.len);
	buf_chr(&out, (char)MM_TERMINATOR);
	put_stream_header(&out, MM_INDEX, "MMSI", 16);
	put_index_entry(&out, MM_HEADER_SIZE);
	f->next_addr = MM_HEADER_SIZE + meta.len + 1;
	int err = buf_failed(&meta) || buf_failed(&out) ? TARE_E_NOMEM : append(f, out.data, out.len);
	if (err < 0)
		err = why_errno(why, err, f->sys_errno, "%.200s", f->path);
	buf_free(&meta);
	buf_free(&out);
	return err;
}

static void free_file(struct pagefile *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free((char *)f->meta.cmd);
	free((char *)f->meta.counter);
	free((char *)f->meta.cpu);
	free((char *)f->meta.provenance);
	free(f->strings);
	free(f->path);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static bool copy_meta(struct pagefile *f, const struct tare_profile_create_options *m)
{
	struct tare_profile_create_options *const own = &f->meta;
	*own = *m;
	own->cmd = strdup(m->cmd ? m->cmd : "");
	own->counter = strdup(m->counter ? m->counter : "wall-time");
	own->cpu = m->cpu ? strdup(m->cpu) : NULL;
	own->provenance = m->provenance ? strdup(m->provenance) : NULL;
	if (!own->cmd || !own->counter || (m->cpu && !own->cpu) ||
	    (m->provenance && !own->provenance))
		return false;
	if (m->units && m->n_units == 1) {
		snprintf(f->unit_name, sizeof(f->unit_name), "%s", m->units[0].name);
		f->unit = (struct tare_profile_unit){ f->unit_name, m->units[0].factor };
		own->units = &f->unit;
	} else if (!m->units) {
		own->n_units = pagefile_units(own->counter, &own->units, &f->unit, f->unit_name,
					      sizeof(f->unit_name));
	}
	return true;
}

int pagefile_open(const char *path, int flags, const struct tare_profile_create_options *meta,
		  struct pagefile **out, struct tare_why *why)
{
	*out = NULL;
	struct pagefile *const f = calloc(1, sizeof(*f));
	if (!f)
		return why_set(why, TARE_E_NOMEM, "%.200s", path);
	pthread_mutex_init(&f->lock, NULL);
	f->fd = -1;
	f->path = strdup(path);
	f->strings = malloc(MM_PAGE_HEADER_SIZE + MM_PAGE_MAX);
	if (!f->path || !f->strings || !copy_meta(f, meta)) {
		free_file(f);
		return why_set(why, TARE_E_NOMEM, "%.200s", path);
	}
	f->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
	if (f->fd < 0) {
		const int err = errno;
		free_file(f);
		return err == ENOENT ? why_set(why, TARE_E_NO_FILE, "%.200s", path)
				     : why_errno(why, TARE_E_IO, err, "%.200s", path);
	}
	const int err = write_start(f, why);
	if (err < 0) {
		if (flags & O_EXCL)		/* our own, and nothing in it */
			unlink(path);
		free_file(f);
		return err;
	}
	*out = f;
	return 0;
}

/* A second metadata string under the same id: the last index entry counts. */
static void write_end(struct pagefile *f, const struct pagefile_closing *closing)
{
	struct buf meta = { 0 }, entry = { 0 };
	static const uint8_t terminator = MM_TERMINATOR;
	write_meta(f, closing, &meta);
	buf_add(&entry, "12345", MM_PAGE_HEADER_SIZE);
	put_index_entry(&entry, f->next_addr);
	if (buf_failed(&meta) || buf_failed(&entry)) {
		f->error = f->error ? f->error : TARE_E_NOMEM;
	} else {
		add_string_bytes(f, meta.data, meta.len);
		add_string_bytes(f, &terminator, 1);
		if (flush_strings(f) == 0)
			append_page(f, MM_INDEX, (uint8_t *)entry.data, 16);
	}
	buf_free(&meta);
	buf_free(&entry);
}

int pagefile_close(struct pagefile *f, const struct pagefile_closing *closing,
		   struct tare_why *why)
{
	if (!f)
		return 0;
	pthread_mutex_lock(&f->lock);
	if (!f->error)
		write_end(f, closing);
	if (close(f->fd) < 0 && !f->error)
		fail(f, errno);
	f->fd = -1;
	pthread_mutex_unlock(&f->lock);
	const int err = f->error;
	if (err < 0)
		why_errno(why, err, f->sys_errno, "%.200s", f->path);
	free_file(f);
	return err;
}

void pagefile_abandon(struct pagefile *f)
{
	free_file(f);
}
