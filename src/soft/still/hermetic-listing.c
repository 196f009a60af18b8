/* Folders in the still world are sorted by name. The first call for a folder reads all of it, so the program
 * sees what was in it then; a rewind reads it again. */
#include "still-room.h"
#include "sys.h"
#include "text.h"

struct dirent64 {
	uint64_t ino, off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};
#define NAME_AT 19u
#define POOL (LISTING_SLOT / 4 * 3)	/* bytes of entries in a slot; then their offsets */
#define MOST_ENTRIES ((LISTING_SLOT - POOL) / 4)

static struct listing {
	bool used, mapped, ids;		/* ids: the names are process or thread ids */
	uint32_t fd;
	uint64_t dev, ino;
	uint32_t n, at;			/* entries, and how many the program has had */
	uint64_t turn;
} listings[LISTING_SLOTS];
static uint64_t turns;

static uint8_t *pool_of(const struct listing *l)
{
	return (uint8_t *)(ZONE_LISTINGS + (uint64_t)(l - listings) * LISTING_SLOT);
}

static uint32_t *index_of(const struct listing *l)
{
	return (uint32_t *)(pool_of(l) + POOL);
}

static const struct dirent64 *entry(const struct listing *l, uint32_t i)
{
	return (const struct dirent64 *)(pool_of(l) + index_of(l)[i]);
}

static void drop(struct listing *l)
{
	if (l->used)
		sys3(__NR_madvise, pool_of(l), LISTING_SLOT, MADV_DONTNEED);
	l->used = false;
}

static struct listing *listing_of(uint32_t fd)
{
	for (uint32_t i = 0; i < LISTING_SLOTS; i++)
		if (listings[i].used && listings[i].fd == fd)
			return &listings[i];
	return NULL;
}

/* A free slot, or the one that has been read to its end longest ago. */
static struct listing *listing_new(void)
{
	struct listing *best = NULL;
	for (uint32_t i = 0; i < LISTING_SLOTS; i++) {
		struct listing *const l = &listings[i];
		if (!l->used) {
			best = l;
			break;
		}
		if (l->at == l->n && (!best || l->turn < best->turn))
			best = l;
	}
	if (!best)
		return NULL;
	drop(best);
	if (!best->mapped && !zone_try_map((uint64_t)pool_of(best), LISTING_SLOT))
		return NULL;
	best->mapped = true;
	return best;
}

static bool comes_before(const struct listing *l, uint32_t a, uint32_t b)
{
	const char *p = ((const struct dirent64 *)(pool_of(l) + a))->name;
	const char *q = ((const struct dirent64 *)(pool_of(l) + b))->name;
	while (*p && *p == *q)
		p++, q++;
	return (uint8_t)*p < (uint8_t)*q;
}

/* Heap sort: no second array, and never slow. */
static void sift(const struct listing *l, uint32_t i, uint32_t n)
{
	uint32_t *const v = index_of(l);
	for (;;) {
		uint32_t child = 2 * i + 1;
		if (child >= n)
			return;
		if (child + 1 < n && comes_before(l, v[child], v[child + 1]))
			child++;
		if (!comes_before(l, v[i], v[child]))
			return;
		const uint32_t x = v[i];
		v[i] = v[child];
		v[child] = x;
		i = child;
	}
}

static void sort(const struct listing *l)
{
	uint32_t *const v = index_of(l);
	for (uint32_t i = l->n / 2; i-- > 0;)
		sift(l, i, l->n);
	for (uint32_t n = l->n; n > 1;) {
		const uint32_t x = v[--n];
		v[n] = v[0];
		v[0] = x;
		sift(l, 0, n);
	}
}

/* /proc itself, and /proc/PID/task */
static bool lists_ids(uint32_t fd)
{
	char path[40], link[80];
	struct line l = { 0 };
	line_str(&l, "/proc/self/fd/");
	line_num(&l, fd, 10);
	copy_text(path, sizeof(path), l.text, l.len);
	const long n = sys4(__NR_readlinkat, AT_FDCWD, path, link, sizeof(link) - 1);
	if (n <= 0)
		return false;
	link[n] = '\0';
	return text_equal(link, "/proc") || (text_starts(link, "/proc/") && n > 5 && text_equal(link + n - 5, "/task"));
}

/* Reads all of the folder. 0 or -errno; -E2BIG: there is too much in it. */
static long read_all(struct thread *t, struct listing *l)
{
	uint64_t have = 0;
	l->n = 0;
	sys3(__NR_lseek, l->fd, 0, SEEK_SET);
	for (;;) {
		const uint64_t room = POOL - have < 65536 ? POOL - have : 65536;
		const uint64_t b[6] = { l->fd, (uint64_t)pool_of(l) + have, room };
		const long got = room < 4096 ? -E2BIG : syscall_usual(t, __NR_getdents64, b);
		if (got <= 0)
			return got;
		for (uint64_t at = have; at < have + (uint64_t)got;) {
			const struct dirent64 *const d = (const struct dirent64 *)(pool_of(l) + at);
			if (l->n == MOST_ENTRIES)
				return -E2BIG;
			index_of(l)[l->n++] = (uint32_t)at;
			at += d->reclen;
		}
		have += (uint64_t)got;
	}
}

static struct listing *begin(struct thread *t, uint32_t fd, long *err)
{
	struct k_stat st;
	*err = 0;
	if (sys2(__NR_fstat, fd, &st) < 0 || (st.mode & S_IFMT) != S_IFDIR)
		return NULL;
	struct listing *l = listing_of(fd);
	if (l && l->dev == st.dev && l->ino == st.ino)
		return l;
	if (l)
		drop(l);
	l = listing_new();
	if (!l) {
		hermetic_note_left(HERMETIC_FULL);
		return NULL;
	}
	*l = (struct listing){ .used = true, .mapped = true, .fd = fd, .dev = st.dev, .ino = st.ino, .turn = ++turns };
	*err = read_all(t, l);
	if (*err) {
		drop(l);
		if (*err == -E2BIG) {
			*err = 0;
			hermetic_note_left(HERMETIC_FULL);
			sys3(__NR_lseek, fd, 0, SEEK_SET);
		}
		return NULL;
	}
	l->ids = lists_ids(fd);
	sort(l);
	return l;
}

static long do_getdents(struct thread *t, const uint64_t *a)
{
	uint64_t out[40];
	struct dirent64 *const d = (struct dirent64 *)out;
	uint64_t put = 0;
	long err;
	struct listing *const l = begin(t, (uint32_t)a[0], &err);
	if (!l)
		return err ? err : syscall_usual(t, __NR_getdents64, a);
	for (; l->at < l->n; l->at++) {
		const struct dirent64 *const e = entry(l, l->at);
		char name[260];
		if (l->ids) {
			if (!ids_entry(e->name, name, sizeof(name)))
				continue;
		} else {
			copy_text(name, sizeof(name), e->name, text_len(e->name));
		}
		const size_t len = text_len(name);
		const uint16_t size = (uint16_t)((NAME_AT + len + 1 + 7) & ~7ull);
		if (put + size > (uint32_t)a[2])
			return put ? (long)put : -EINVAL;
		mem_zero(out, size);
		d->ino = inode_shown(l->dev, e->ino);
		d->off = l->at + 1;
		d->reclen = size;
		d->type = e->type;
		mem_copy(d->name, name, len);
		if (!put_guest(a[1] + put, out, size))
			return put ? (long)put : -EFAULT;
		put += size;
	}
	return (long)put;
}

static long do_lseek(struct listing *l, const uint64_t *a)
{
	const int64_t at = (int64_t)a[1] + ((uint32_t)a[2] == SEEK_CUR ? l->at : 0);
	if ((uint32_t)a[2] > SEEK_CUR || at < 0)
		return -EINVAL;
	if (at == 0)
		drop(l);
	else
		l->at = at < l->n ? (uint32_t)at : l->n;
	return at;
}

static void closed(uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < LISTING_SLOTS; i++)
		if (listings[i].used && listings[i].fd >= from && listings[i].fd <= to)
			drop(&listings[i]);
}

long listing_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	struct listing *l;
	*done = true;
	switch (nr) {
	case __NR_getdents64:
		return do_getdents(t, a);
	case __NR_lseek:
		if ((l = listing_of((uint32_t)a[0])))
			return do_lseek(l, a);
		break;
	case __NR_close:
		closed((uint32_t)a[0], (uint32_t)a[0]);
		break;
	case __NR_dup2:
	case __NR_dup3:
		closed((uint32_t)a[1], (uint32_t)a[1]);
		break;
	case __NR_close_range:
		closed((uint32_t)a[0], (uint32_t)a[1]);
		break;
	default:
		break;
	}
	*done = false;
	return 0;
}
