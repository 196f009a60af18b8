/* Devices, inode numbers and times of files in the still world. Numbers are given in the order in which the
 * program sees files for the first time. A file that was there before the run has the time FILES_S; one that a
 * task changes has the time of the last call that changed it, by the run's clock; what it changes through a mapping
 * does not count. The kernel's own times are no help: whether one is later than the start of the run depends on how
 * long the host takes. Modules of Python are the exception (show_module()).
 */
#include "still-room.h"
#include "sys.h"
#include "text.h"

#define FIRST_INODE 1000
#define FIRST_DEVICE 0xfe00u		/* major 254 */
#define BLOCK 4096ull
#define AT_NO_FOLLOW 0x100
#define AT_EMPTY 0x1000
#define S_KIND(mode) ((mode) & S_IFMT)

static uint64_t now_of_files(struct thread *t)
{
	return EPOCH_S * NS + clock_now(t);
}

void hermetic_note_left(uint32_t what)
{
	if (!(__atomic_load_n(&E.shared->hermetic.left, __ATOMIC_RELAXED) & what))
		__atomic_fetch_or(&E.shared->hermetic.left, what, __ATOMIC_RELAXED);
}

/* ---- the tables ---- */

static uint64_t device_shown(uint64_t dev)
{
	struct hermetic_shared *const h = hermetic_shared();
	uint32_t i = 0;
	while (i < h->n_devices && h->devices[i] != dev)
		i++;
	if (i == HERMETIC_DEVICES) {
		hermetic_note_left(HERMETIC_FULL);
		return dev;
	}
	if (i == h->n_devices)
		h->devices[h->n_devices++] = dev;
	return FIRST_DEVICE + i;
}

static struct hermetic_file *place_of(uint64_t dev, uint64_t ino)
{
	struct hermetic_shared *const h = hermetic_shared();
	uint64_t at = (ino ^ dev << 32) * 0x9e3779b97f4a7c15ull;
	at ^= at >> 32;
	for (;; at++) {
		struct hermetic_file *const f = &h->files[at % HERMETIC_FILES];
		if (!f->ino || (f->ino == ino && f->dev == dev))
			return f;
	}
}

/* NULL: the table is full. */
static struct hermetic_file *file_of(uint64_t dev, uint64_t ino)
{
	struct hermetic_shared *const h = hermetic_shared();
	struct hermetic_file *const f = place_of(dev, ino);
	if (f->ino)
		return f;
	if (h->n_files >= HERMETIC_FILES / 4 * 3) {
		hermetic_note_left(HERMETIC_FULL);
		return NULL;
	}
	*f = (struct hermetic_file){ .dev = dev, .ino = ino, .shown = FIRST_INODE + h->n_files++ };
	return f;
}

uint64_t inode_shown(uint64_t dev, uint64_t ino)
{
	const struct hermetic_file *const f = ino ? file_of(dev, ino) : NULL;
	return f ? f->shown : ino;
}

/* The inode number is a new file's, if the one that had it is gone. */
static struct hermetic_file *file_now(struct thread *t, const struct k_stat *st)
{
	struct hermetic_shared *const h = hermetic_shared();
	struct hermetic_file *const f = st->ino ? file_of(st->dev, st->ino) : NULL;
	if (!f)
		return NULL;
	if (f->gone && st->nlink) {
		f->gone = 0;
		f->shown = FIRST_INODE + h->n_files++;
		f->mtime = f->ctime = 0;
	}
	return f;
}

/* ---- what changes files ---- */

static void touch(struct thread *t, const struct k_stat *st, bool contents)
{
	struct hermetic_file *const f = file_now(t, st);
	if (!f)
		return;
	f->ctime = now_of_files(t);
	if (contents)
		f->mtime = f->ctime;
	else if (!f->mtime)
		f->mtime = FILES_S * NS;
}

static void touch_fd(struct thread *t, uint64_t fd)
{
	struct k_stat st;
	if (sys2(__NR_fstat, fd, &st) == 0 && (S_KIND(st.mode) == S_IFREG || S_KIND(st.mode) == S_IFDIR))
		touch(t, &st, true);
}

struct named {
	int dir;
	char path[HERMETIC_PATH];
	bool known;
	bool was;			/* there was such a file … */
	struct k_stat st;		/* … and this is it */
};

static void look_at(struct named *n, int dir, uint64_t path)
{
	n->dir = dir;
	n->was = false;
	n->known = copy_string(n->path, sizeof(n->path), path);
	if (n->known)
		n->was = sys4(__NR_newfstatat, dir, n->path, &n->st, AT_NO_FOLLOW) == 0;
}

/* The folder has a new name, or one less. */
static void touch_folder(struct thread *t, const struct named *n)
{
	struct k_stat st;
	char path[HERMETIC_PATH];
	size_t len = text_len(n->path);
	if (!n->known)
		return;
	while (len > 1 && n->path[len - 1] == '/')
		len--;
	while (len && n->path[len - 1] != '/')
		len--;
	mem_copy(path, len ? n->path : ".", len ? len : 1);
	path[len ? len : 1] = '\0';
	if (sys4(__NR_newfstatat, n->dir, path, &st, 0) == 0)
		touch(t, &st, true);
}

/* One of its names is gone. */
static void went(struct thread *t, const struct named *n)
{
	if (!n->was)
		return;
	touch(t, &n->st, false);
	struct hermetic_file *const f = file_of(n->st.dev, n->st.ino);
	if (f && (n->st.nlink <= 1 || S_KIND(n->st.mode) == S_IFDIR))
		f->gone = 1;
}

static void appeared(struct thread *t, const struct named *n)
{
	struct k_stat st;
	if (n->known && sys4(__NR_newfstatat, n->dir, n->path, &st, AT_NO_FOLLOW) == 0)
		touch(t, &st, !n->was);
}

static uint64_t flags_of_open(long nr, const uint64_t *a)
{
	uint64_t flags = a[nr == __NR_open ? 1 : 2];
	if (nr == __NR_creat)
		return O_CREAT | O_WRONLY | O_TRUNC;
	if (nr == __NR_openat2 && !copy_guest(&flags, (const void *)a[2], 8))
		return 0;
	return flags;
}

static bool is_at(long nr)
{
	return nr == __NR_openat || nr == __NR_openat2;
}

/* Temporary names are the same in each run: what another run has left behind, or makes at the same time, is in the way. */
static void note_taken(const struct named *n)
{
	const struct hermetic_file *const f = file_of(n->st.dev, n->st.ino);
	if (f && !f->ctime)
		hermetic_note_left(HERMETIC_TAKEN);
}

static long do_open(struct thread *t, long nr, const uint64_t *a)
{
	struct named n;
	const uint64_t flags = flags_of_open(nr, a);
	const bool changes = flags & (O_CREAT | O_TRUNC);
	char other[HERMETIC_PATH], path[HERMETIC_PATH];
	uint64_t b[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	const int at = is_at(nr) ? 1 : 0;
	if (!copy_string(path, sizeof(path), a[at]))
		return syscall_usual(t, nr, a);
	if (path[0] == '/') {
		bool done;
		if (ids_path(path, other, sizeof(other)))
			b[at] = (uint64_t)other;
		const long fd = host_open(t, path, flags, &done);
		if (done)
			return fd;
	}
	if (changes)
		look_at(&n, is_at(nr) ? (int)a[0] : AT_FDCWD, a[at]);
	const long fd = turn_open(t, nr, b, flags);
	if (fd == -EEXIST && flags & O_EXCL && n.was)
		note_taken(&n);
	if (fd < 0)
		return fd;
	if (changes && !n.was)
		touch_folder(t, &n);
	if (changes && (!n.was || flags & O_TRUNC))
		touch_fd(t, (uint64_t)fd);
	if (text_starts(path, "/dev/") || path[0] != '/')
		random_opened(fd);
	if ((flags & O_ACCMODE) == O_RDONLY && flags & O_TRUNC)
		touch_fd(t, (uint64_t)fd);
	return fd;
}

/* Calls that make, remove or change a name: the arguments that have a folder and a path; -1: no folder. */
static const struct change {
	uint16_t nr;
	int8_t dir, path, dir2, path2;	/* path2 -1: there is one path only */
	enum { MAKES, REMOVES, MOVES, LINKS, CHANGES, RESIZES } how;
} changes[] = {
	{ __NR_mkdir, -1, 0, -1, -1, MAKES }, { __NR_mkdirat, 0, 1, -1, -1, MAKES },
	{ __NR_mknod, -1, 0, -1, -1, MAKES }, { __NR_mknodat, 0, 1, -1, -1, MAKES },
	{ __NR_symlink, -1, 1, -1, -1, MAKES }, { __NR_symlinkat, 1, 2, -1, -1, MAKES },
	{ __NR_unlink, -1, 0, -1, -1, REMOVES }, { __NR_rmdir, -1, 0, -1, -1, REMOVES },
	{ __NR_unlinkat, 0, 1, -1, -1, REMOVES },
	{ __NR_rename, -1, 0, -1, 1, MOVES }, { __NR_renameat, 0, 1, 2, 3, MOVES },
	{ __NR_renameat2, 0, 1, 2, 3, MOVES },
	{ __NR_link, -1, 0, -1, 1, LINKS }, { __NR_linkat, 0, 1, 2, 3, LINKS },
	{ __NR_chmod, -1, 0, -1, -1, CHANGES }, { __NR_chown, -1, 0, -1, -1, CHANGES },
	{ __NR_lchown, -1, 0, -1, -1, CHANGES }, { __NR_fchmodat, 0, 1, -1, -1, CHANGES },
	{ __NR_fchownat, 0, 1, -1, -1, CHANGES }, { __NR_truncate, -1, 0, -1, -1, RESIZES },
};

static const struct change *change_of(long nr)
{
	for (unsigned i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (changes[i].nr == nr)
			return &changes[i];
	return NULL;
}

static long do_change(struct thread *t, long nr, const uint64_t *a, const struct change *c)
{
	struct named one, two = { .known = false };
	look_at(&one, c->dir < 0 ? AT_FDCWD : (int)a[c->dir], a[c->path]);
	if (c->path2 >= 0)
		look_at(&two, c->dir2 < 0 ? AT_FDCWD : (int)a[c->dir2], a[c->path2]);
	const long ret = syscall_usual(t, nr, a);
	if (ret < 0)
		return ret;
	switch (c->how) {
	case MAKES:
		appeared(t, &one);
		touch_folder(t, &one);
		break;
	case REMOVES:
		went(t, &one);
		touch_folder(t, &one);
		break;
	case MOVES:
		if (two.was && (two.st.ino != one.st.ino || two.st.dev != one.st.dev))
			went(t, &two);
		if (one.was)
			touch(t, &one.st, false);
		touch_folder(t, &one);
		touch_folder(t, &two);
		break;
	case LINKS:
		if (one.was)
			touch(t, &one.st, false);
		touch_folder(t, &two);
		break;
	case CHANGES:
	case RESIZES:
		one.was = c->how == CHANGES;
		appeared(t, &one);
		break;
	}
	return ret;
}

/* ---- utime ---- */

#define UTIME_NOW_ 0x3fffffff
#define UTIME_OMIT_ 0x3ffffffe

/* The new time of the contents; 0: it stays. */
static uint64_t time_given(struct thread *t, long nr, uint64_t at)
{
	uint64_t v[4];
	if (!at)
		return now_of_files(t);
	if (!copy_guest(v, (const void *)at, nr == __NR_utime ? 16 : 32))
		return 0;
	if (nr == __NR_utime)
		return v[1] * NS;
	if (nr != __NR_utimensat)
		return v[2] * NS + v[3] * 1000;
	return v[3] == UTIME_NOW_ ? now_of_files(t) : v[3] == UTIME_OMIT_ ? 0 : v[2] * NS + v[3];
}

static long do_utime(struct thread *t, long nr, const uint64_t *a)
{
	const bool at = nr == __NR_utimensat || nr == __NR_futimesat;
	const uint64_t path = a[at ? 1 : 0], times = a[at ? 2 : 1];
	char name[HERMETIC_PATH] = "";
	struct k_stat st;
	const long ret = syscall_usual(t, nr, a);
	if (ret < 0 || (path && !copy_string(name, sizeof(name), path)))
		return ret;
	const uint64_t flags = nr == __NR_utimensat ? a[3] & AT_NO_FOLLOW : 0;
	if (sys4(__NR_newfstatat, at ? (int)a[0] : AT_FDCWD, name, &st, flags | (name[0] ? 0 : AT_EMPTY)) < 0)
		return ret;
	touch(t, &st, false);
	struct hermetic_file *const f = file_of(st.dev, st.ino);
	const uint64_t given = time_given(t, nr, times);
	if (f && given)
		f->mtime = given;
	return ret;
}

/* ---- what is shown ---- */

struct shown {
	uint64_t dev, ino, nlink, size, blocks, mtime, ctime;
};

static struct shown show(struct thread *t, const struct k_stat *st)
{
	const bool folder = S_KIND(st->mode) == S_IFDIR, regular = S_KIND(st->mode) == S_IFREG;
	const struct hermetic_file *const f = file_now(t, st);
	return (struct shown){
		.dev = device_shown(st->dev), .ino = f ? f->shown : st->ino, .nlink = folder ? 1 : st->nlink,
		.size = folder ? BLOCK : st->size,
		.blocks = folder ? BLOCK / 512 : regular ? (st->size + BLOCK - 1) / BLOCK * (BLOCK / 512) : 0,
		.mtime = f && f->mtime ? f->mtime : FILES_S * NS, .ctime = f && f->ctime ? f->ctime : FILES_S * NS,
	};
}

/* Is it a module where Python installs them? */
static bool names_module(const char *path)
{
	static const char within[] = "/lib/python";
	const size_t len = text_len(path);
	if (len < 3 || !text_equal(path + len - 3, ".py"))
		return false;
	while (*path && !text_starts(path, within))
		path++;
	return *path;
}

/* The compiled file of a module names the time of its source, and is no good if that has another one: Python would compile
 * all modules in each run. So an installed module that the run has not changed has its own time. That is input, as its
 * contents are. */
static void show_module(const struct k_stat *st)
{
	struct hermetic_file *const f = S_KIND(st->mode) == S_IFREG ? file_of(st->dev, st->ino) : NULL;
	if (f && !f->mtime)
		f->mtime = st->times[2] * NS;
}

static long show_stat(struct thread *t, uint64_t at, long ret, bool module)
{
	struct k_stat st;
	if (ret < 0 || !copy_guest(&st, (const void *)at, sizeof(st)))
		return ret;
	if (module)
		show_module(&st);
	const struct shown s = show(t, &st);
	st.dev = s.dev;
	st.ino = s.ino;
	st.nlink = s.nlink;
	st.size = s.size;
	st.blocks = s.blocks;
	st.blksize = BLOCK;
	st.times[0] = st.times[2] = s.mtime / NS;
	st.times[1] = st.times[3] = s.mtime % NS;
	st.times[4] = s.ctime / NS;
	st.times[5] = s.ctime % NS;
	return put_guest(at, &st, sizeof(st)) ? ret : -EFAULT;
}

struct k_time { int64_t s; uint32_t ns, pad; };
struct k_statx {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, pad;
	uint64_t ino, size, blocks, attributes_mask;
	struct k_time atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t mnt_id, rest[13];
};
_Static_assert(sizeof(struct k_statx) == 256, "struct statx");
#define STATX_BASIC 0x7ffu		/* what stat has */
#define STATX_BIRTH 0x800u

static long show_statx(struct thread *t, const uint64_t *a, long ret, bool module)
{
	struct k_statx x;
	if (ret < 0 || !copy_guest(&x, (const void *)a[4], sizeof(x)))
		return ret;
	const uint64_t dev = (uint64_t)(x.dev_major & 0xfff) << 8 | (x.dev_minor & 0xff) |
			     (uint64_t)(x.dev_minor & ~0xffu) << 12 | (uint64_t)(x.dev_major & ~0xfffu) << 32;
	const struct k_stat st = { .dev = dev, .ino = x.ino, .nlink = x.nlink, .mode = x.mode, .size = x.size,
				   .times = { [2] = (uint64_t)x.mtime.s, [3] = x.mtime.ns } };
	if (module)
		show_module(&st);
	const struct shown s = show(t, &st);
	x.mask &= STATX_BASIC | STATX_BIRTH;
	x.attributes = x.attributes_mask = 0;
	x.blksize = BLOCK;
	x.nlink = (uint32_t)s.nlink;
	x.ino = s.ino;
	x.size = s.size;
	x.blocks = s.blocks;
	x.mtime = (struct k_time){ (int64_t)(s.mtime / NS), (uint32_t)(s.mtime % NS), 0 };
	x.atime = x.mtime;
	x.ctime = (struct k_time){ (int64_t)(s.ctime / NS), (uint32_t)(s.ctime % NS), 0 };
	x.btime = (struct k_time){ (int64_t)FILES_S, 0, 0 };
	x.dev_major = (uint32_t)s.dev >> 8;
	x.dev_minor = s.dev & 0xff;
	x.mnt_id = 1;
	mem_zero(x.rest, sizeof(x.rest));
	return put_guest(a[4], &x, sizeof(x)) ? ret : -EFAULT;
}

/* A call whose path may name a process: with the kernel's number of it. *module: it names a module of Python. */
static long with_path_of(struct thread *t, long nr, const uint64_t *a, int i, bool *module)
{
	char path[HERMETIC_PATH], other[HERMETIC_PATH];
	uint64_t b[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	const bool known = copy_string(path, sizeof(path), a[i]);
	*module = known && names_module(path);
	if (known && ids_path(path, other, sizeof(other)))
		b[i] = (uint64_t)other;
	return syscall_usual(t, nr, b);
}

static long with_path(struct thread *t, long nr, const uint64_t *a, int i)
{
	bool module;
	return with_path_of(t, nr, a, i, &module);
}

static long do_stat(struct thread *t, long nr, const uint64_t *a)
{
	bool module;
	const int i = nr == __NR_newfstatat || nr == __NR_statx;
	const long ret = with_path_of(t, nr, a, i, &module);
	return nr == __NR_statx ? show_statx(t, a, ret, module) : show_stat(t, a[i + 1], ret, module);
}

/* /proc/self, "pipe:[123]" */
static long do_readlink(struct thread *t, long nr, const uint64_t *a)
{
	const int i = nr == __NR_readlink ? 0 : 1;
	char path[HERMETIC_PATH], link[HERMETIC_PATH], other[HERMETIC_PATH];
	struct k_stat st;
	uint64_t b[6] = { a[0], a[1], a[2], a[3] };
	b[i + 1] = (uint64_t)link;
	b[i + 2] = sizeof(link) - 1;
	const long ret = (int32_t)a[i + 2] <= 0 ? (long)sizeof(link) : with_path(t, nr, b, i);
	if (ret >= (long)sizeof(link) - 1 || ret == -EFAULT || !copy_string(path, sizeof(path), a[i]))
		return with_path(t, nr, a, i);
	if (ret <= 0)
		return ret;
	link[ret] = '\0';
	if (text_equal(path, "/proc/self") || text_equal(path, "/proc/thread-self")) {
		struct line l = { 0 };
		line_num(&l, HERMETIC_FIRST_PID + own_task(t)->group, 10);
		if (path[6] == 't') {
			line_str(&l, "/task/");
			line_num(&l, HERMETIC_FIRST_PID + t->hermetic.number, 10);
		}
		copy_text(other, sizeof(other), l.text, l.len);
	} else if (text_starts(link, "/proc/") && ids_entry_of(link, other, sizeof(other))) {
		;
	} else if (text_starts(link, "pipe:[") || text_starts(link, "socket:[")) {
		const bool mapped = ids_path(path, other, sizeof(other));
		if (sys4(__NR_newfstatat, i ? (int)a[0] : AT_FDCWD, mapped ? other : path, &st, 0) < 0)
			return ret;
		struct line l = { 0 };
		line_str(&l, link[0] == 'p' ? "pipe:[" : "socket:[");
		line_num(&l, inode_shown(st.dev, st.ino), 10);
		line_str(&l, "]");
		copy_text(other, sizeof(other), l.text, l.len);
	} else {
		copy_text(other, sizeof(other), link, (size_t)ret);
	}
	const size_t len = text_len(other) < a[i + 2] ? text_len(other) : a[i + 2];
	return put_guest(a[i + 1], other, len) ? (long)len : -EFAULT;
}

/* ---- pipes from outside ---- */

#define LOOKED_AT 16			/* descriptors that the command got */

void files_start(void)
{
	struct hermetic_shared *const h = hermetic_shared();
	for (long fd = 0; fd < LOOKED_AT; fd++) {
		struct k_stat st;
		random_opened(fd);
		if ((uint32_t)fd == E.reserved_fd || sys2(__NR_fstat, fd, &st) < 0 ||
		    (S_KIND(st.mode) != S_IFIFO && S_KIND(st.mode) != S_IFSOCK))
			continue;
		if (h->n_outside < HERMETIC_OUTSIDE) {
			h->outside[h->n_outside].dev = st.dev;
			h->outside[h->n_outside++].ino = st.ino;
		}
	}
}

bool is_outside(long fd)
{
	const struct hermetic_shared *const h = hermetic_shared();
	struct k_stat st;
	if (!h->n_outside || sys2(__NR_fstat, fd, &st) < 0)
		return false;
	for (uint32_t i = 0; i < h->n_outside; i++)
		if (h->outside[i].dev == st.dev && h->outside[i].ino == st.ino)
			return true;
	return false;
}

/* ---- the calls ---- */

long files_of_world(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	const struct change *const c = change_of(nr);
	*done = true;
	if (c)
		return do_change(t, nr, a, c);
	switch (nr) {
	case __NR_open:
	case __NR_openat:
	case __NR_openat2:
	case __NR_creat:
		return do_open(t, nr, a);
	case __NR_stat:
	case __NR_lstat:
	case __NR_newfstatat:
	case __NR_statx:
		return do_stat(t, nr, a);
	case __NR_fstat:
		return show_stat(t, a[1], syscall_usual(t, nr, a), false);
	case __NR_access:
	case __NR_chdir:
		return with_path(t, nr, a, 0);
	case __NR_faccessat:
	case __NR_faccessat2:
		return with_path(t, nr, a, 1);
	case __NR_readlink:
	case __NR_readlinkat:
		return do_readlink(t, nr, a);
	case __NR_utime:
	case __NR_utimes:
	case __NR_futimesat:
	case __NR_utimensat:
		return do_utime(t, nr, a);
	case __NR_fchmod:
	case __NR_fchown:
	case __NR_ftruncate:
	case __NR_fallocate:
	case __NR_pwrite64:
	case __NR_pwritev:
	case __NR_pwritev2: {
		const long ret = syscall_usual(t, nr, a);
		if (ret >= 0)
			touch_fd(t, a[0]);
		return ret;
	}
	default:
		*done = false;
		return 0;
	}
}

void files_written(struct thread *t, uint64_t fd)
{
	touch_fd(t, fd);
}
