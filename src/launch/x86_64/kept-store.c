#include "kept-store.h"

#include "kept-abi.h"
#include "measure-room.h"
#include "why.h"

#include <cpuid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MAGIC		"tarekept"
#define PAGE		4096ull
#define DEFAULT_SIZE	(256ull << 20)

struct kept_store {
	char *path;
	int dir, memfd;
	struct soft_shared *shared;
	struct kept_digest context;
	uint64_t limit;			/* bytes of the folder */
	uint64_t read, written, damaged;
	struct tare_why problem;	/* the first */
	uint8_t *chunk;			/* KEPT_CHUNK bytes */
};

/* ---- hashes ---- */

/* Of any size: the rest is filled up with zeros. */
static void sum_add_any(struct kept_sum *s, const void *data, size_t size)
{
	char rest[KEPT_STEP] = { 0 };
	kept_sum_add(s, data, size);
	if (size % KEPT_STEP) {
		memcpy(rest, (const char *)data + size / KEPT_STEP * KEPT_STEP, size % KEPT_STEP);
		kept_sum_add(s, rest, KEPT_STEP);
	}
}

/* ---- what translated code depends on, besides the program ---- */

static void add_cpu(struct kept_sum *s)
{
	static const uint32_t leaves[] = { 0, 1, 7, 0x80000001u };
	for (size_t i = 0; i < sizeof(leaves) / sizeof(*leaves); i++) {
		unsigned r[8] = { leaves[i] };
		__get_cpuid_count(leaves[i], 0, &r[1], &r[2], &r[3], &r[4]);
		if (leaves[i] == 1)
			r[2] = 0;	/* which of the CPUs this is */
		sum_add_any(s, r, sizeof(r));
	}
	const uint64_t more[4] = { getauxval(AT_HWCAP), getauxval(AT_HWCAP2) };
	sum_add_any(s, more, sizeof(more));
}

/* The digest of the engine's bytes stands for its version, and for the addresses that it is linked to. */
static struct kept_digest context_of(const struct soft_shared *shared)
{
	const char *const without = getenv("TARE_ENGINE_WITHOUT");
	const struct soft_layout *const l = &shared->layout;
	const uint64_t numbers[] = { KEPT_VERSION, shared->event_mask, shared->flags, sizeof(*shared), l->on, l->program, l->libraries, 0 };
	struct utsname kernel = { .release = "" };
	struct kept_sum s;
	kept_sum_begin(&s);
	sum_add_any(&s, engine_digest, sizeof(engine_digest));
	sum_add_any(&s, numbers, sizeof(numbers));
	add_cpu(&s);
	uname(&kernel);
	sum_add_any(&s, kernel.release, strlen(kernel.release));
	sum_add_any(&s, kernel.version, strlen(kernel.version));
	sum_add_any(&s, without ? without : "", without ? strlen(without) : 0);
	return kept_sum_end(&s);
}

/* ---- the folder ---- */

static int make_folders(char *path)
{
	for (char *at = path + 1;; at++) {
		const char end = *at;
		if (end && end != '/')
			continue;
		*at = '\0';
		const int err = mkdir(path, 0700) < 0 && errno != EEXIST ? errno : 0;
		*at = end;
		if (!end)
			return err;
	}
}

/* Only this user may read or write there. */
static int check_folder(const struct kept_store *s, struct tare_why *why)
{
	struct stat st;
	if (fstat(s->dir, &st) < 0)
		return why_errno(why, TARE_E_IO, errno, "%s", s->path);
	if (st.st_uid != geteuid()) {
		why_set(why, TARE_E_PERMISSION, "the folder for kept code, %s, belongs to user %u, not to user %u",
			s->path, (unsigned)st.st_uid, (unsigned)geteuid());
		why_remedy(why, "name another folder");
		return why->code;
	}
	if (st.st_mode & 077) {
		why_set(why, TARE_E_PERMISSION, "the folder for kept code, %s, has mode %03o: others have access to it",
			s->path, (unsigned)st.st_mode & 0777);
		why_remedy(why, "name another folder; if this one is for kept code only: chmod 700 '%s'", s->path);
		return why->code;
	}
	return 0;
}

static void set_problem(struct kept_store *s, int err, const char *what, const char *name)
{
	const bool full = err == ENOSPC || err == EDQUOT || err == EFBIG;
	if (!s->problem.code)
		why_errno(&s->problem, full ? TARE_E_NOSPC : TARE_E_IO, err, "%s %s%s%s", what, s->path,
			  name ? "/" : "", name ? name : "");
}

static int open_folder(struct kept_store *s, struct tare_why *why)
{
	const int err = make_folders(s->path);
	s->dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir >= 0)
		return check_folder(s, why);
	const int cause = err ? err : errno;
	if (cause == ENOSPC || cause == EDQUOT || cause == EROFS) {
		set_problem(s, cause, "making", NULL);
		return 0;
	}
	return why_errno(why, cause == EACCES ? TARE_E_PERMISSION : TARE_E_IO, cause, "the folder for kept code, %s", s->path);
}

/* A write beyond the limit would be the end of this process. */
static bool sizes_limited(void)
{
	struct rlimit l;
	return getrlimit(RLIMIT_FSIZE, &l) == 0 && l.rlim_cur != RLIM_INFINITY;
}

/* The same as kept_is_plain() of the engine, and kept_start(), which asks for addresses that are not random; nothing is
 * stored with a profile. */
static bool can_be_kept(const struct tare_measure_options *o, const struct soft_shared *shared)
{
	const uint32_t special = SOFT_FLAG_VPMU | SOFT_FLAG_CODE_LOG | SOFT_FLAG_CALLS | SOFT_FLAG_TRACE | SOFT_FLAG_WATCH;
	return !(shared->flags & special) && !shared->n_stops && !shared->machine.on && !shared->hermetic.on &&
	       !shared->files.of && !o->aslr;
}

/* Processes read files by themselves, from where they are. */
static void tell_folder(const struct kept_store *s)
{
	char *const path = realpath(s->path, NULL);
	if (path && strlen(path) < KEPT_FOLDER_SIZE)
		memcpy(s->shared->kept_folder, path, strlen(path) + 1);
	free(path);
}

int kept_store_open(struct kept_store **store, const struct tare_measure_options *o, const struct soft_setup *setup,
		    struct tare_why *why)
{
	*store = NULL;
	if (!o->keep_code || !can_be_kept(o, setup->shared))
		return 0;
	struct kept_store *const s = calloc(1, sizeof(*s));
	if (s)
		*s = (struct kept_store){ .path = strdup(o->keep_code), .dir = -1, .memfd = setup->memfd,
					  .shared = setup->shared, .chunk = malloc(KEPT_CHUNK),
					  .limit = o->keep_code_bytes ? o->keep_code_bytes : DEFAULT_SIZE };
	if (!s || !s->path || !s->chunk) {
		kept_store_close(s);
		return why_set(why, TARE_E_NOMEM, "kept code");
	}
	const int err = open_folder(s, why);
	if (err) {
		kept_store_close(s);
		return err;
	}
	*store = s;
	if (sizes_limited()) {
		set_problem(s, EFBIG, "the limit on the size of files (ulimit -f) keeps code out of", NULL);
		close(s->dir);
		s->dir = -1;
	}
	if (s->dir < 0)
		return 0;
	s->shared->flags |= SOFT_FLAG_KEEP;
	s->context = context_of(s->shared);
	tell_folder(s);
	return 0;
}

void kept_store_close(struct kept_store *s)
{
	if (!s)
		return;
	if (s->dir >= 0)
		close(s->dir);
	free(s->path);
	free(s->chunk);
	free(s);
}

#define NAME_DIGITS 32u
#define ENDING ".kept"
#define BEGINNING "new-"	/* of a file that is being written */

static void file_name(const struct kept_store *s, const struct soft_file *program, char name[KEPT_NAME_SIZE])
{
	struct kept_sum sum;
	kept_sum_begin(&sum);
	sum_add_any(&sum, &s->context, sizeof(s->context));
	sum_add_any(&sum, program, sizeof(*program));
	const struct kept_digest h = kept_sum_end(&sum);
	snprintf(name, KEPT_NAME_SIZE, "%016llx%016llx" ENDING, (unsigned long long)h.word[0], (unsigned long long)h.word[1]);
}

/* ---- reading ---- */

/* All of it. False: errno, or 0 where the file ended. */
static bool read_all(int fd, void *to, size_t size, uint64_t at)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(at + done));
		if (n <= 0) {
			errno = n < 0 ? errno : 0;
			return false;
		}
		done += (size_t)n;
	}
	return true;
}

static bool write_all(int fd, const void *from, size_t size, uint64_t at)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = pwrite(fd, (const char *)from + done, size - done, (off_t)(at + done));
		if (n <= 0) {
			errno = n < 0 ? errno : EIO;
			return false;
		}
		done += (size_t)n;
	}
	return true;
}

/* Is the head one that this engine has written for that program, and the file as long as it says? */
static bool head_fits(const struct kept_store *s, const struct kept_file_head *h, const struct soft_file *program, uint64_t file_size)
{
	return !memcmp(h->magic, MAGIC, sizeof(h->magic)) && h->version == KEPT_VERSION && kept_same_digest(&h->context, &s->context) &&
	       !memcmp(&h->program, program, sizeof(*program)) && h->n_runs && h->n_runs <= KEPT_MAX_RUNS &&
	       h->size <= KEPT_MAX && h->size % PAGE == 0 && h->head_size <= h->size && h->head_size % PAGE == 0 &&
	       h->data <= KEPT_MAX_BYTES && file_size == sizeof(*h) + kept_runs_bytes(h->n_runs) + h->data;
}

enum outcome { NOT_THERE, DAMAGED, NO_ROOM, READ };

/* Copies the parts to their places in the memfd, and adds them to the sum: the bytes that it hashes are those that
 * it writes. */
static enum outcome copy_in(struct kept_store *s, int fd, const struct kept_file_head *h, const struct kept_file_run *runs, uint64_t to,
		    struct kept_sum *sum)
{
	uint64_t at = sizeof(*h) + kept_runs_bytes(h->n_runs);
	for (uint32_t i = 0; i < h->n_runs; i++)
		for (uint64_t done = 0, n; done < runs[i].size; done += n, at += n) {
			n = runs[i].size - done < KEPT_CHUNK ? runs[i].size - done : KEPT_CHUNK;
			if (!read_all(fd, s->chunk, n, at))
				return DAMAGED;
			kept_sum_add(sum, s->chunk, n);
			if (!write_all(s->memfd, s->chunk, n, to + runs[i].offset + done))
				return NO_ROOM;
		}
	return READ;
}

static enum outcome read_parts(struct kept_store *s, int fd, struct soft_kept *k)
{
	struct kept_file_head head = k->file, *const h = &head;
	struct kept_file_run *const runs = malloc(kept_runs_bytes(h->n_runs));
	if (!runs)
		return NO_ROOM;
	enum outcome outcome = DAMAGED;
	const struct kept_digest wanted = h->hash;
	struct kept_sum sum;
	kept_sum_begin(&sum);
	h->hash = (struct kept_digest){ { 0, 0 } };
	kept_sum_add(&sum, h, sizeof(*h));
	if (!read_all(fd, runs, kept_runs_bytes(h->n_runs), sizeof(*h)) || !kept_runs_fit(h, runs))
		goto out;
	kept_sum_add(&sum, runs, kept_runs_bytes(h->n_runs));
	outcome = NO_ROOM;
	const uint64_t used = __atomic_fetch_add(&s->shared->kept_used, h->size, __ATOMIC_RELAXED);
	if (used + h->size > KEPT_MAX ||
	    __atomic_add_fetch(&s->shared->kept_bytes, h->data, __ATOMIC_RELAXED) > KEPT_MAX_BYTES)
		goto out;
	const uint64_t to = KEPT_FILE_OFFSET + used;
	outcome = copy_in(s, fd, h, runs, to, &sum);
	const struct kept_digest found = kept_sum_end(&sum);
	if (outcome == READ && !kept_same_digest(&found, &wanted))
		outcome = DAMAGED;
	/* (the last byte, so that all holes are part of the memfd) */
	if (outcome == READ && !write_all(s->memfd, "", 1, to + h->size - 1))
		outcome = NO_ROOM;
	k->offset = to;
	k->size = h->size;
	k->head_size = h->head_size;
	if (outcome != READ)
		fallocate(s->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)to, (off_t)h->size);
out:
	free(runs);
	return outcome;
}

/* In so many runs one after the other, another file was where the code has one of the program's: that is the
 * time of such a file, in seconds. */
#define MOST_STRIKES 3

static time_t strikes(const struct stat *st)
{
	return st->st_mtim.tv_sec > 0 && st->st_mtim.tv_sec < MOST_STRIKES ? st->st_mtim.tv_sec : 0;
}

/* Of the file of the place's program, looks at the head, or reads all of it to the memfd. */
static enum outcome read_file(struct kept_store *s, struct soft_kept *k, bool whole)
{
	const int fd = openat(s->dir, k->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return NOT_THERE;
	enum outcome outcome = DAMAGED;
	struct stat st;
	struct kept_file_head *const h = &k->file;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) &&
	    read_all(fd, h, sizeof(*h), 0) && head_fits(s, h, &k->program, (uint64_t)st.st_size))
		outcome = whole ? read_parts(s, fd, k) : READ;
	if (outcome == READ && !strikes(&st))
		futimens(fd, NULL);		/* what was used last is removed last */
	else if (outcome == DAMAGED)
		unlinkat(s->dir, k->name, 0);
	close(fd);
	return outcome;
}

/* As the engine sees a file. */
static bool program_of(pid_t pid, struct soft_file *f)
{
	char path[40];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &st) < 0)
		return false;
	*f = (struct soft_file){ .dev = st.st_dev, .ino = st.st_ino, .size = (uint64_t)st.st_size,
				 .mtime_s = (uint64_t)st.st_mtim.tv_sec, .mtime_ns = (uint64_t)st.st_mtim.tv_nsec,
				 .ctime_s = (uint64_t)st.st_ctim.tv_sec, .ctime_ns = (uint64_t)st.st_ctim.tv_nsec };
	return true;
}

/* The place of the program; the first free one (*is_new), if it has none. NULL: all are taken. */
static struct soft_kept *place_of(const struct kept_store *s, const struct soft_file *program, bool *is_new)
{
	for (uint32_t i = 0; i < SOFT_MAX_KEPT; i++) {
		struct soft_kept *const k = &s->shared->kept[i];
		uint32_t state = KEPT_FREE;
		*is_new = __atomic_compare_exchange_n(&k->state, &state, KEPT_TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
		if (*is_new)
			k->program = *program;
		if (*is_new || (state != KEPT_TAKEN && !memcmp(&k->program, program, sizeof(*program))))
			return k;
	}
	return NULL;
}

/* The first process of the program, which waits until the place has a state. */
static void look_for_file(struct kept_store *s, struct soft_kept *k)
{
	file_name(s, &k->program, k->name);
	const bool by_itself = s->shared->kept_folder[0];
	const enum outcome outcome = read_file(s, k, !by_itself);
	s->damaged += outcome == DAMAGED;
	k->stored = outcome == READ;
	k->read = outcome == READ && !by_itself;
	__atomic_store_n(&k->state, outcome != READ ? KEPT_SEEN : by_itself ? KEPT_STORED : KEPT_READY, __ATOMIC_RELEASE);
}

/* The second one: it and all others map the memfd. */
static void read_for_all(struct kept_store *s, struct soft_kept *k)
{
	struct soft_kept now = { .program = k->program };
	memcpy(now.name, k->name, sizeof(now.name));
	const enum outcome outcome = read_file(s, &now, true);
	k->damaged |= outcome == DAMAGED;
	if (outcome != READ)
		return;
	k->offset = now.offset;
	k->head_size = now.head_size;
	k->size = now.size;
	k->read = 1;
	uint32_t state = KEPT_STORED;
	__atomic_compare_exchange_n(&k->state, &state, KEPT_READY, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void kept_store_read(struct kept_store *s, pid_t pid)
{
	struct soft_file program;
	bool is_new;
	if (!s || s->dir < 0 || !program_of(pid, &program))
		return;
	struct soft_kept *const k = place_of(s, &program, &is_new);
	if (k && is_new)
		look_for_file(s, k);
	else if (k && __atomic_load_n(&k->state, __ATOMIC_ACQUIRE) == KEPT_STORED)
		read_for_all(s, k);
}

/* ---- writing ---- */

/* The parts of the memfd that are no holes. Returns how many, or 0. */
static uint32_t list_runs(const struct kept_store *s, const struct soft_kept *k, struct kept_file_run *runs, uint64_t *data)
{
	uint32_t n = 0;
	*data = 0;
	for (uint64_t at = k->offset, end = k->offset + k->size; at < end;) {
		const off_t from = lseek(s->memfd, (off_t)at, SEEK_DATA);
		if (from < 0 || (uint64_t)from >= end)
			break;
		off_t to = lseek(s->memfd, from, SEEK_HOLE);
		if (to < 0 || n == KEPT_MAX_RUNS)
			return 0;
		if ((uint64_t)to > end)
			to = (off_t)end;
		runs[n] = (struct kept_file_run){ (uint64_t)from - k->offset, (uint64_t)(to - from) };
		*data += runs[n++].size;
		at = (uint64_t)to;
	}
	return n;
}

static bool copy_out(struct kept_store *s, int fd, const struct soft_kept *k, const struct kept_file_head *h,
		     const struct kept_file_run *runs, struct kept_sum *sum)
{
	uint64_t at = sizeof(*h) + kept_runs_bytes(h->n_runs);
	for (uint32_t i = 0; i < h->n_runs; i++)
		for (uint64_t done = 0, n; done < runs[i].size; done += n, at += n) {
			n = runs[i].size - done < KEPT_CHUNK ? runs[i].size - done : KEPT_CHUNK;
			if (!read_all(s->memfd, s->chunk, n, k->offset + runs[i].offset + done))
				return false;
			kept_sum_add(sum, s->chunk, n);
			if (!write_all(fd, s->chunk, n, at))
				return false;
		}
	return true;
}

static bool write_parts(struct kept_store *s, int fd, const struct soft_kept *k, struct kept_file_head *h, const struct kept_file_run *runs)
{
	struct kept_sum sum;
	kept_sum_begin(&sum);
	kept_sum_add(&sum, h, sizeof(*h));
	kept_sum_add(&sum, runs, kept_runs_bytes(h->n_runs));
	if (!copy_out(s, fd, k, h, runs, &sum) || !write_all(fd, runs, kept_runs_bytes(h->n_runs), sizeof(*h)))
		return false;
	h->hash = kept_sum_end(&sum);
	return write_all(fd, h, sizeof(*h), 0);
}

/* Returns 0 or an errno. */
static int write_file(struct kept_store *s, const struct soft_kept *k, struct kept_file_head *h, const struct kept_file_run *runs)
{
	static unsigned files;			/* atomic */
	char name[KEPT_NAME_SIZE], new_name[KEPT_NAME_SIZE + 60];
	file_name(s, &k->program, name);
	/* (Process numbers are not enough: of other containers they can be the same.) */
	snprintf(new_name, sizeof(new_name), BEGINNING "%d-%u-%llx-%s", (int)getpid(),
		 __atomic_fetch_add(&files, 1, __ATOMIC_RELAXED), (unsigned long long)launch_now_ns(), name);
	const int fd = openat(s->dir, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	int err = write_parts(s, fd, k, h, runs) ? 0 : errno;
	if (close(fd) < 0 && !err)
		err = errno;
	if (!err && renameat(s->dir, new_name, s->dir, name) < 0)
		err = errno;
	if (err)
		unlinkat(s->dir, new_name, 0);
	return err;
}

static void write_place(struct kept_store *s, const struct soft_kept *k)
{
	struct kept_file_head h = { .magic = MAGIC, .version = KEPT_VERSION, .context = s->context, .program = k->program,
			       .size = k->size, .head_size = k->head_size };
	struct kept_file_run *const runs = calloc(KEPT_MAX_RUNS, sizeof(*runs));
	h.n_runs = runs ? list_runs(s, k, runs, &h.data) : 0;
	if (h.n_runs && h.data <= KEPT_MAX_BYTES && sizeof(h) + kept_runs_bytes(h.n_runs) + h.data <= s->limit) {
		const int err = write_file(s, k, &h, runs);
		if (err)
			set_problem(s, err, "writing kept code to", NULL);
		s->written += !err;
	}
	free(runs);
}

/* ---- the size of the folder ---- */

struct listed {
	struct timespec used;
	uint64_t size;
	char name[KEPT_NAME_SIZE + 60];
};

/* Other files that may be in the folder are left alone. */
static bool is_ours(const char *name)
{
	const size_t length = strlen(name), digits = strspn(name, "0123456789abcdef");
	if (length >= sizeof(((struct listed *)0)->name) || length < strlen(ENDING) || strcmp(name + length - strlen(ENDING), ENDING))
		return false;
	return !strncmp(name, BEGINNING, strlen(BEGINNING)) || (digits == NAME_DIGITS && length == NAME_DIGITS + strlen(ENDING));
}

static int by_use(const void *a, const void *b)
{
	const struct listed *const x = a, *const y = b;
	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* All of our files. Returns how many; *entries is to be freed. */
static size_t list_entries(const struct kept_store *s, struct listed **entries, uint64_t *total)
{
	size_t n = 0, room = 0;
	*entries = NULL;
	*total = 0;
	const int again = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *const dir = again >= 0 ? fdopendir(again) : NULL;
	if (!dir && again >= 0)
		close(again);
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		struct stat st;
		if (!is_ours(e->d_name) || fstatat(s->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (n == room) {
			room = room ? 2 * room : 64;
			struct listed *const more = realloc(*entries, room * sizeof(**entries));
			if (!more)
				break;
			*entries = more;
		}
		struct listed *const to = &(*entries)[n++];
		*to = (struct listed){ .used = st.st_mtim, .size = (uint64_t)st.st_size };
		snprintf(to->name, sizeof(to->name), "%s", e->d_name);
		*total += to->size;
	}
	if (dir)
		closedir(dir);
	return n;
}

static void remove_oldest(const struct kept_store *s)
{
	struct listed *entries;
	uint64_t total;
	const size_t n = list_entries(s, &entries, &total);
	if (total > s->limit)
		qsort(entries, n, sizeof(*entries), by_use);
	for (size_t i = 0; i < n && total > s->limit; i++) {
		unlinkat(s->dir, entries[i].name, 0);
		total -= entries[i].size;
	}
	free(entries);
}

/* Is there code of the same program that was written later? */
static bool is_outdated(const struct soft_shared *shared, uint32_t i)
{
	for (uint32_t j = i + 1; j < SOFT_MAX_KEPT; j++)
		if (__atomic_load_n(&shared->kept[j].state, __ATOMIC_ACQUIRE) == KEPT_READY &&
		    !memcmp(&shared->kept[i].program, &shared->kept[j].program, sizeof(struct soft_file)))
			return true;
	return false;
}

/* After a library was replaced, code of the old one is in the way of the new one's: the third run that finds
 * that removes the file. */
static void look_at_age(const struct kept_store *s, const struct soft_kept *k)
{
	char name[KEPT_NAME_SIZE];
	struct stat st;
	file_name(s, &k->program, name);
	if (fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	const time_t n = strikes(&st);
	const bool outdated = __atomic_load_n(&k->outdated, __ATOMIC_RELAXED);
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = n + 1 } };
	if (outdated && n + 1 >= MOST_STRIKES)
		unlinkat(s->dir, name, 0);
	else if (outdated || n)
		utimensat(s->dir, name, outdated ? times : NULL, AT_SYMLINK_NOFOLLOW);
}

void kept_store_write(struct kept_store *s, struct tare_measurement *m)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->dir >= 0 && i < SOFT_MAX_KEPT; i++) {
		const struct soft_kept *const k = &s->shared->kept[i];
		s->read += k->stored && k->read;
		s->damaged += k->damaged;
		if (k->damaged)
			unlinkat(s->dir, k->name, 0);
		if (__atomic_load_n(&k->state, __ATOMIC_ACQUIRE) == KEPT_READY && !k->stored && !is_outdated(s->shared, i))
			write_place(s, k);
		else if (k->stored && !is_outdated(s->shared, i))
			look_at_age(s, k);
	}
	if (s->written)
		remove_oldest(s);
	m->kept.read = s->read;
	m->kept.written = s->written;
	m->kept.damaged = s->damaged;
	m->kept.problem = s->problem;
}
