/* Kept code from the launcher's file (kept-abi.h), for the first process of the program in a run.
 *
 * The file is read to ZONE_KEPT, each part where it is from the struct kept_head on, with a hash over all of its
 * bytes. If that is the one in the head, take() moves the parts to their places (mremap copies nothing). So what is
 * verified is what runs: the memory belongs to this process alone, and the file may change afterwards.
 */
#include "kept.h"
#include "kept-abi.h"
#include "sys.h"
#include "text.h"

enum reading { READ_ALL, READ_DAMAGED, READ_NOTHING };

static long open_file(const struct soft_kept *k)
{
	char path[KEPT_FOLDER_SIZE + KEPT_NAME_SIZE];
	size_t n = 0;
	for (const char *p = E.shared->kept_folder; *p && n < KEPT_FOLDER_SIZE - 1; p++)
		path[n++] = *p;
	path[n++] = '/';
	mem_copy(path + n, k->name, KEPT_NAME_SIZE);
	return n > 1 ? own_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
}

static bool read_all(long fd, uint64_t to, uint64_t size, uint64_t at)
{
	for (uint64_t done = 0; done < size;) {
		const long n = sys4(__NR_pread64, fd, to + done, size - done, at + done);
		if (n <= 0)
			return false;
		done += (uint64_t)n;
	}
	return true;
}

/* Where the pieces end, of a head that may be damaged. Parts of T follow, from the next large page on. */
static uint64_t pieces_end(const struct kept_head *h, const struct kept_file_head *f)
{
	uint64_t end = 0;
	for (uint32_t i = 0; i < h->n_pieces && i < MAX_PIECES; i++) {
		const struct piece *const p = &h->pieces[i];
		if (p->offset <= f->size && p->size <= f->size - p->offset && p->offset + p->size > end)
			end = p->offset + p->size;
	}
	return end;
}

/* There are few holes between the pieces, so they get large pages, unless half of the last one would be in vain. (When a
 * piece is moved, its large pages become small ones, without a copy.) */
static void want_large_pages(long fd, const struct kept_file_head *f, uint64_t at)
{
	static struct kept_head head;
	const uint64_t end = read_all(fd, (uint64_t)&head, sizeof(head), at) ? pieces_end(&head, f) : 0;
	const uint64_t large = (end + ARENA_LARGE / 2) / ARENA_LARGE * ARENA_LARGE;
	if (large && large <= f->size)
		sys3(__NR_madvise, ZONE_KEPT, large, MADV_HUGEPAGE);
}

static enum reading read_parts(long fd, const struct kept_file_head *f, const struct kept_file_run *runs,
			       struct kept_sum *sum)
{
	uint64_t at = sizeof(*f) + kept_runs_bytes(f->n_runs);
	want_large_pages(fd, f, at);
	for (uint32_t i = 0; i < f->n_runs; i++)
		for (uint64_t done = 0, n; done < runs[i].size; done += n, at += n) {
			const uint64_t to = ZONE_KEPT + runs[i].offset + done;
			n = runs[i].size - done < KEPT_CHUNK ? runs[i].size - done : KEPT_CHUNK;
			if (n >= KEPT_CHUNK / 4)
				zone_touch(to, n);
			if (!read_all(fd, to, n, at))
				return READ_DAMAGED;
			kept_sum_add(sum, (const void *)to, n);
		}
	return READ_ALL;
}

static enum reading read_runs_and_parts(long fd, const struct kept_file_head *f)
{
	const struct kept_file_run *const runs = (const struct kept_file_run *)ZONE_SCRATCH;
	struct kept_file_head head = *f;
	struct kept_sum sum;
	head.hash = (struct kept_digest){ { 0, 0 } };
	kept_sum_begin(&sum);
	kept_sum_add(&sum, &head, sizeof(head));
	if (!read_all(fd, ZONE_SCRATCH, kept_runs_bytes(f->n_runs), sizeof(head)) || !kept_runs_fit(f, runs))
		return READ_DAMAGED;
	kept_sum_add(&sum, runs, kept_runs_bytes(f->n_runs));
	if (read_parts(fd, f, runs, &sum) != READ_ALL)
		return READ_DAMAGED;
	const struct kept_digest found = kept_sum_end(&sum);
	return kept_same_digest(&found, &f->hash) ? READ_ALL : READ_DAMAGED;
}

/* A file that another run has put there meanwhile is left alone. */
static enum reading read_whole(long fd, const struct kept_file_head *f)
{
	struct kept_file_head head;
	if (!read_all(fd, (uint64_t)&head, sizeof(head), 0) || !mem_equal(&head, f, sizeof(head)) ||
	    !zone_try_map(ZONE_KEPT, f->size))
		return READ_NOTHING;
	const uint64_t runs = PAGE_UP(kept_runs_bytes(f->n_runs));
	enum reading done = READ_NOTHING;
	if (zone_try_map(ZONE_SCRATCH, runs)) {
		done = read_runs_and_parts(fd, f);
		sys2(__NR_munmap, ZONE_SCRATCH, runs);
	}
	if (done != READ_ALL)
		sys2(__NR_munmap, ZONE_KEPT, f->size);
	return done;
}

bool kept_read_file(struct soft_kept *k)
{
	const long fd = open_file(k);
	const enum reading done = fd < 0 ? READ_NOTHING : read_whole(fd, &k->file);
	uint32_t state = KEPT_STORED;
	if (fd >= 0)
		sys1(__NR_close, fd);
	if (done == READ_ALL) {
		__atomic_store_n(&k->read, 1, __ATOMIC_RELAXED);
		return true;
	}
	kept.again = false;
	kept.save_to = NULL;
	if (done == READ_DAMAGED) {		/* the launcher removes the file, and this process writes a new one */
		__atomic_store_n(&k->damaged, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&k->stored, 0, __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(&k->state, &state, KEPT_SEEN, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			kept.save_to = k;
	}
	return false;
}
