/* Bytes that cannot be mapped as they are: a pipe, and a file of tiny pages.
 *
 * Both are copied to an unnamed file in $TMPDIR that is then mapped, so that they
 * cost page cache and not anonymous memory. Small ones stay on the heap.
 */
#include "reader.h"

#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SMALL_BYTES (1u << 20)

int spool_file(struct tare_why *why)
{
	const char *dir = secure_getenv("TMPDIR");
	if (!dir || !*dir)
		dir = "/tmp";
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		char name[4096];
		snprintf(name, sizeof(name), "%s/tare-XXXXXX", dir);
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
	}
	if (fd < 0)
		return why_errno(why, TARE_E_IO, errno, "temporary file in %s", dir);
	return fd;
}

int spool_write(int fd, const void *bytes, size_t n, struct tare_why *why)
{
	const uint8_t *at = bytes;
	while (n) {
		const ssize_t done = write(fd, at, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return why_errno(why, errno == ENOSPC ? TARE_E_NOSPC : TARE_E_IO, errno,
					 "temporary file");
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

/* What is read from now on is no longer in the file that was opened. */
static void leave_file(struct tare_profile *p)
{
	if (p->map)
		munmap(p->map, p->size);
	p->map = NULL;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static int adopt(struct tare_profile *p, int fd, size_t size, struct tare_why *why)
{
	void *const map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return why_errno(why, TARE_E_IO, errno, "%.120s: mmap", p->path);
	leave_file(p);
	p->map = map;
	p->bytes = map;
	p->size = size;
	return 0;
}

/* Copies the rest of fd. */
int spool_fd(struct tare_profile *p, int fd, struct tare_why *why)
{
	const int tmp = spool_file(why);
	if (tmp < 0)
		return tmp;
	static const size_t chunk = 1 << 16;
	char *const bytes = malloc(chunk);
	size_t size = 0;
	int err = bytes ? 0 : why_set(why, TARE_E_NOMEM, "%.120s", p->path);
	while (err == 0) {
		const ssize_t n = read(fd, bytes, chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = why_errno(why, TARE_E_IO, errno, "%.120s", p->path);
		if (n <= 0)
			break;
		size += (size_t)n;
		err = spool_write(tmp, bytes, (size_t)n, why);
	}
	if (err == 0 && size == 0)
		err = why_set(why, TARE_E_FORMAT, "%.120s: the file is empty", p->path);
	if (err == 0)
		err = adopt(p, tmp, size, why);
	free(bytes);
	close(tmp);
	return err;
}

/* Where a repacked file is put together: memory or a temporary file. */
struct target {
	struct buf mem;
	int fd;
};

static int target_add(struct target *t, const void *bytes, size_t n, struct tare_why *why)
{
	if (t->fd >= 0 && t->mem.len + n > SMALL_BYTES) {
		const int err = spool_write(t->fd, t->mem.data, t->mem.len, why);
		if (err < 0)
			return err;
		t->mem.len = 0;
	}
	buf_add(&t->mem, bytes, n);
	return buf_failed(&t->mem) ? why_set(why, TARE_E_NOMEM, "repacking") : 0;
}

/* All pages of one tag as one page (several where 32 bits of size do not do). */
static int repack_stream(const struct tare_profile *p, unsigned tag, uint64_t total,
			 struct target *t, struct tare_why *why)
{
	static const uint64_t page_max = UINT32_MAX / 2;
	uint64_t left_in_page = 0;
	for (uint64_t pos = MM_HEADER_SIZE; total; ) {
		const uint64_t len = mm_u32(p->bytes + pos + 1);
		const bool ours = p->bytes[pos] == tag;
		const uint64_t room = p->size - pos - MM_PAGE_HEADER_SIZE;
		pos += MM_PAGE_HEADER_SIZE;
		for (uint64_t n = ours ? (len < room ? len : room) : 0, at = pos; n; ) {
			if (!left_in_page) {
				uint8_t head[MM_PAGE_HEADER_SIZE] = { (uint8_t)tag };
				left_in_page = total < page_max ? total : page_max;
				mm_put32(head + 1, (uint32_t)left_in_page);
				const int err = target_add(t, head, sizeof(head), why);
				if (err < 0)
					return err;
			}
			const uint64_t step = n < left_in_page ? n : left_in_page;
			const int err = target_add(t, p->bytes + at, step, why);
			if (err < 0)
				return err;
			at += step;
			n -= step;
			left_in_page -= step;
			total -= step;
		}
		pos += len;
	}
	return 0;
}

/* The same streams in as few pages as can be. The page headers have been checked. */
int spool_repack(struct tare_profile *p, struct tare_why *why)
{
	uint64_t total[MM_TAGS] = { 0 };
	uint64_t end = 0;
	for (uint64_t pos = MM_HEADER_SIZE; pos + MM_PAGE_HEADER_SIZE <= p->size; ) {
		const uint64_t len = mm_u32(p->bytes + pos + 1);
		const uint64_t room = p->size - pos - MM_PAGE_HEADER_SIZE;
		total[p->bytes[pos]] += len < room ? len : room;
		pos += MM_PAGE_HEADER_SIZE + len;
		end = pos;
	}
	if (end != p->size)		/* the copy will look whole */
		profile_warn(p, TARE_PROFILE_TRUNCATED, 1);

	struct target t = { .fd = -1 };
	int err = 0;
	if (p->size > SMALL_BYTES) {
		t.fd = spool_file(why);
		if (t.fd < 0)
			return t.fd;
	}
	err = target_add(&t, p->bytes, MM_HEADER_SIZE, why);
	for (unsigned tag = 0; err == 0 && tag < MM_TAGS; tag++)
		err = repack_stream(p, tag, total[tag], &t, why);
	if (t.fd < 0 && err == 0) {
		leave_file(p);
		p->heap = t.mem.data;
		p->bytes = p->heap;
		p->size = t.mem.len;
		return 0;
	}
	if (err == 0)
		err = spool_write(t.fd, t.mem.data, t.mem.len, why);
	if (err == 0)
		err = adopt(p, t.fd, (size_t)lseek(t.fd, 0, SEEK_CUR), why);
	buf_free(&t.mem);
	if (t.fd >= 0)
		close(t.fd);
	return err;
}
