/* Files of sysfs and procfs that show another CPU than the host's: the model of the virtual PMU, the
 * machine (--machine), or both.
 *
 * The launcher has written a folder with all files that differ; calls that mean one of them are
 * redirected there. A path may be relative to a folder or to a descriptor, and go through links,
 * other mounts of procfs and sysfs, or /proc/self/root. So the text of a path is compared first,
 * which also finds files that this machine does not have. If the text does not decide, the kernel
 * resolves the path; if the result is in procfs or sysfs, or there is no such file, the name that
 * the kernel gives is compared.
 */
#include "guest-room.h"
#include "procfs.h"
#include "sys.h"
#include "text.h"

#define PATH_SIZE 512

enum place { ELSEWHERE, IN_PROC, IN_SYS };

/* What is redirected: the path below the mount, and everything below it; for whom (FILES_…). */
static const struct { enum place in; uint32_t of; const char *path, *to; } moved[] = {
	{ IN_SYS, FILES_VPMU, "/bus/event_source/devices", "/devices" },
	{ IN_SYS, FILES_VPMU, "/devices/cpu", "/devices/cpu" },
	{ IN_SYS, FILES_VPMU, "/devices/system/cpu/modalias", "/modalias" },
	{ IN_SYS, FILES_MACHINE, "/devices/system/cpu", "/cpu" },
	{ IN_SYS, FILES_MACHINE, "/devices/system/node", "/node" },
	{ IN_PROC, FILES_VPMU | FILES_MACHINE, "/cpuinfo", "/cpuinfo" },
	{ IN_PROC, FILES_VPMU, "/interrupts", "/interrupts" },
	{ IN_PROC, FILES_VPMU, "/sys/kernel/perf_event_paranoid", "/perf_event_paranoid" },
	{ IN_PROC, FILES_VPMU, "/sys/kernel/nmi_watchdog", "/nmi_watchdog" },
	{ IN_PROC, FILES_VPMU, "/sys/kernel/perf_event_mux_interval_ms", "/mux_interval" },
};
#define CPU_LINES "/stat"		/* /proc/stat: made when a program opens it */

static const struct soft_files *files(void)
{
	return &E.shared->files;
}

/* ---- names ---- */

/* An absolute path without empty, "." and ".." parts. */
static void normalise(char *out, const char *path)
{
	size_t n = 0;
	while (*path) {
		while (*path == '/')
			path++;
		size_t len = 0;
		while (path[len] && path[len] != '/')
			len++;
		if (len == 2 && path[0] == '.' && path[1] == '.') {
			while (n && out[--n] != '/')
				;
		} else if (len && !(len == 1 && path[0] == '.')) {
			out[n++] = '/';
			mem_copy(out + n, path, len);
			n += len;
		}
		path += len;
	}
	out[n] = '\0';
}

/* What follows `path` in `name`, NULL if it does not begin with it. */
static const char *below(const char *name, const char *path)
{
	const size_t len = text_len(path);
	return text_starts(name, path) && (!name[len] || name[len] == '/') ? name + len : NULL;
}

/* /devices/system/cpu/cpuN/uevent */
static bool is_cpu_uevent(const char *name)
{
	static const char folder[] = "/devices/system/cpu/cpu";
	if (!text_starts(name, folder))
		return false;
	name += sizeof(folder) - 1;
	while (*name >= '0' && *name <= '9')
		name++;
	return text_equal(name, "/uevent");
}

static bool put_path(char *out, const char *a, const char *b, const char *c)
{
	struct line l = { 0 };
	line_str(&l, a);
	line_str(&l, b);
	line_str(&l, c);
	if (l.len >= PATH_SIZE)
		return false;
	mem_copy(out, l.text, l.len);
	out[l.len] = '\0';
	return true;
}

/* `name` is below a mount of procfs or sysfs. */
static bool lead_below(enum place in, const char *name, char *to)
{
	if (in == IN_SYS && files()->of & FILES_VPMU && is_cpu_uevent(name))
		return put_path(to, files()->dir, "/uevent", "");
	for (unsigned i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		const char *const rest = moved[i].in == in && moved[i].of & files()->of ?
					 below(name, moved[i].path) : NULL;
		if (rest)
			return put_path(to, files()->dir, moved[i].to, rest);
	}
	return false;
}

/* Where an absolute, normalised path leads, as far as its text says. */
static bool lead_text(const char *path, char *to)
{
	const char *const proc = below(path, "/proc"), *const sys = below(path, "/sys");
	/* (Not by the name that the kernel gives: every process has a file of that name.) */
	if (proc && files()->of & FILES_MACHINE && text_equal(proc, CPU_LINES))
		return put_path(to, files()->dir, CPU_LINES, "");
	return (proc && lead_below(IN_PROC, proc, to)) || (sys && lead_below(IN_SYS, sys, to));
}

/* Where a name leads that the kernel gave for a file in such a filesystem, which may be
 * mounted anywhere. */
static bool lead_real(enum place in, const char *name, char *to)
{
	for (; *name; name++)
		if (*name == '/' && lead_below(in, name, to))
			return true;
	return false;
}

/* A name in the folder, as the program knows it. */
static bool name_outside(const char *name, char *out)
{
	const char *const in = below(name, files()->dir);
	for (unsigned i = 0; in && i < sizeof(moved) / sizeof(moved[0]); i++) {
		const char *const rest = below(in, moved[i].to);
		if (rest)
			return put_path(out, moved[i].in == IN_SYS ? "/sys" : "/proc", moved[i].path, rest);
	}
	return false;
}

/* ---- what the kernel says ---- */

static bool link_of_fd(long fd, char *out)
{
	struct line l = { 0 };
	line_str(&l, "/proc/self/fd/");
	line_num(&l, (uint64_t)fd, 10);
	l.text[l.len] = '\0';
	const long n = sys4(__NR_readlinkat, AT_FDCWD, l.text, out, PATH_SIZE - 1);
	if (n <= 0 || n >= PATH_SIZE - 1 || out[0] != '/')
		return false;
	out[n] = '\0';
	return true;
}

static enum place place_of(long fd)
{
	uint64_t st[16];
	if (sys2(__NR_fstatfs, fd, st) < 0)
		return ELSEWHERE;
	return st[0] == PROC_SUPER_MAGIC ? IN_PROC : st[0] == SYSFS_MAGIC ? IN_SYS : ELSEWHERE;
}

/* Is the open file, followed by `rest`, one that is redirected? */
static bool lead_fd(long fd, const char *rest, char *to)
{
	char name[PATH_SIZE], all[PATH_SIZE], plain[PATH_SIZE];
	const enum place in = place_of(fd);
	if (in == ELSEWHERE || !link_of_fd(fd, name) || !put_path(all, name, *rest ? "/" : "", rest))
		return false;
	normalise(plain, all);
	return lead_real(in, plain, to);
}

static bool lead_resolved(int dir, const char *path, bool follow, const char *rest, char *to)
{
	const long fd = sys4(__NR_openat, dir, path,
			     O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), 0);
	if (fd < 0)
		return false;
	const bool led = lead_fd(fd, rest, to);
	sys1(__NR_close, fd);
	return led;
}

#define MAX_MISSING 4		/* devices/cpu/events/branches */

/* This machine has no such file: the folder of it that exists may be one in sysfs. */
static bool lead_missing(int dir, const char *path, char *to)
{
	char head[PATH_SIZE];
	size_t len = text_len(path);
	for (int i = 0; i < MAX_MISSING; i++) {
		while (len && path[len - 1] == '/')
			len--;
		while (len && path[len - 1] != '/')
			len--;
		if (len == 0 && path[0] == '/')
			return false;
		mem_copy(head, len ? path : ".", len ? len : 1);
		head[len ? len : 1] = '\0';
		const long fd = sys4(__NR_openat, dir, head, O_PATH | O_CLOEXEC, 0);
		if (fd >= 0) {
			const bool led = lead_fd(fd, path + len, to);
			sys1(__NR_close, fd);
			return led;
		}
		if (len == 0)
			return false;
	}
	return false;
}

/* ---- the calls ---- */

/* Which argument of the call is the path; -1: the call has none. */
static int path_argument(long nr)
{
	switch (nr) {
	case __NR_open:
	case __NR_stat:
	case __NR_lstat:
	case __NR_access:
	case __NR_readlink:
	case __NR_chdir:
	case __NR_statfs:
	case __NR_getxattr:
	case __NR_lgetxattr:
	case __NR_listxattr:
	case __NR_llistxattr:
		return 0;
	case __NR_openat:
	case __NR_openat2:
	case __NR_newfstatat:
	case __NR_statx:
	case __NR_faccessat:
	case __NR_faccessat2:
	case __NR_readlinkat:
		return 1;
	default:
		return -1;
	}
}

static bool opens(long nr)
{
	return nr == __NR_open || nr == __NR_openat || nr == __NR_openat2;
}

/* open_how of openat2: flags, mode, resolve */
static uint64_t open_flags(long nr, const uint64_t *a, uint64_t *mode)
{
	uint64_t how[3] = { 0 };
	if (nr == __NR_openat2) {
		if (!copy_guest(how, (const void *)a[2], sizeof(how)))
			return 0;
		*mode = how[1];
		return how[0];
	}
	*mode = a[nr == __NR_open ? 2 : 3];
	return a[nr == __NR_open ? 1 : 2];
}

static bool follows(long nr, const uint64_t *a)
{
	uint64_t mode;
	switch (nr) {
	case __NR_lstat:
	case __NR_readlink:
	case __NR_readlinkat:
	case __NR_lgetxattr:
	case __NR_llistxattr:
		return false;
	case __NR_newfstatat:
	case __NR_faccessat2:
		return !(a[3] & AT_SYMLINK_NOFOLLOW);
	case __NR_statx:
		return !(a[2] & AT_SYMLINK_NOFOLLOW);
	default:
		return !opens(nr) || !(open_flags(nr, a, &mode) & O_NOFOLLOW);
	}
}

/* Natively these files are root's, and only root may read rdpmc. The redirected ones belong to the
 * user who runs the command: so access is checked here. */
static bool is_forbidden(long nr, const uint64_t *a, const char *to)
{
	const char *const in = to + text_len(files()->dir);
	uint64_t mode, wants = 0;
	if (opens(nr)) {
		const uint64_t flags = open_flags(nr, a, &mode);
		wants = flags & O_PATH ? 0 : (flags & O_ACCMODE) == O_RDONLY ? 4 : 2;
	} else if (nr == __NR_access || nr == __NR_faccessat || nr == __NR_faccessat2) {
		wants = a[nr == __NR_access ? 1 : 2];
	}
	return (wants & 2 || (wants & 4 && text_equal(in, "/devices/cpu/rdpmc"))) &&
	       sys0(__NR_geteuid) != 0;
}

/* ---- /proc/stat ---- */

/* A line of a CPU that the machine does not have? */
static bool is_other_cpu(const char *line)
{
	uint64_t n;
	return text_starts(line, "cpu") && line[3] >= '0' && line[3] <= '9' &&
	       (text_decimal(line + 3, &n), n >= E.shared->machine.cpus);
}

/* The host's file, with lines for just the CPUs of the machine: those that the host has too have its
 * numbers, others have none. */
static long open_stat(uint64_t flags)
{
	static char text[65536];		/* guarded by the lock */
	const long to = sys2(__NR_memfd_create, "stat", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	const long from = to < 0 ? to : own_open(AT_FDCWD, "/proc/stat", O_CLOEXEC);
	if (from < 0)
		return from;
	lock_take();
	long n = 0, got;
	while (n < (long)sizeof(text) - 1 && (got = sys3(__NR_read, from, text + n, (long)sizeof(text) - 1 - n)) > 0)
		n += got;
	text[n] = '\0';
	uint64_t cpus = 0;
	for (long at = 0, end; at < n; at = end) {
		for (end = at; end < n && text[end++] != '\n';)
			;
		const bool line = text_starts(text + at, "cpu");
		cpus += line && text[at + 3] != ' ' && !is_other_cpu(text + at);
		for (; !line && cpus && cpus < E.shared->machine.cpus; cpus++) {
			struct line l = { 0 };
			line_str(&l, "cpu");
			line_num(&l, cpus, 10);
			line_str(&l, " 0 0 0 0 0 0 0 0 0 0\n");
			sys3(__NR_write, to, l.text, l.len);
		}
		if (!is_other_cpu(text + at))
			sys3(__NR_write, to, text + at, end - at);
	}
	lock_drop();
	sys1(__NR_close, from);
	sys3(__NR_lseek, to, 0, SEEK_SET);
	return to;
}

static bool is_shown(const char *to, const char *name)
{
	return text_equal(to + text_len(files()->dir), name);
}

/* Writing them takes longer than many a program runs, and most ask for none. */
static void make_files(struct thread *t)
{
	if (files()->of & FILES_MACHINE && !__atomic_load_n(&files()->made, __ATOMIC_ACQUIRE))
		ask_launcher(t, REQ_FILES, NULL);
}

static long led_call(struct thread *t, long nr, const uint64_t *a, const char *to)
{
	uint64_t b[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	make_files(t);
	if (is_forbidden(nr, a, to))
		return -EACCES;
	if (!opens(nr)) {
		b[path_argument(nr)] = (uint64_t)to;
		return gate(t, nr, b);
	}
	uint64_t mode;
	const uint64_t flags = open_flags(nr, a, &mode);
	const uint64_t args[6] = { (uint64_t)AT_FDCWD, (uint64_t)to, flags, mode };
	const bool reads = !(flags & O_PATH) && (flags & O_ACCMODE) == O_RDONLY;
	if (reads && is_shown(to, CPU_LINES))
		return open_stat(flags);
	if (reads && E.vpmu && is_shown(to, "/interrupts"))
		return vpmu_open_interrupts(t, to, flags);
	const long fd = gate(t, __NR_openat, args);
	if (E.vpmu && fd >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		vpmu_note_writer(fd);
	return fd;
}

/* In another root (chroot) the folder cannot be reached: the program sees this machine's files. */
static bool is_out_of_sight(void)
{
	return sys2(__NR_access, files()->dir, F_OK_) < 0;
}

static bool copy_path(char *to, uint64_t at)
{
	for (size_t n = 0; n < PATH_SIZE; n++) {
		if (!copy_guest(to + n, (const char *)at + n, 1))
			return false;
		if (!to[n])
			return n > 0;
	}
	return false;
}

/* Files that procfs.c handles, or may. */
static bool is_own_business(const char *path)
{
	const char *const last = proc_last_part(path);
	return proc_kind_of(last) != PROC_OTHER || (*last >= '0' && *last <= '9');
}

/* The folder that a relative path starts from, if it is in procfs, sysfs or the folder. */
static bool base_of(int dir, char *base)
{
	if (dir == AT_FDCWD ? sys2(__NR_getcwd, base, PATH_SIZE) <= 0 : !link_of_fd(dir, base))
		return false;
	return below(base, "/proc") || below(base, "/sys") || below(base, files()->dir);
}

/* Whether the text of the path says that it is redirected; or, in `to`, where it leads out of
 * the folder. */
static bool lead_by_text(int dir, const char *path, char *to)
{
	char base[PATH_SIZE], name[PATH_SIZE], all[PATH_SIZE], plain[PATH_SIZE];
	if (path[0] == '/') {
		normalise(plain, path);
		return lead_text(plain, to);
	}
	if (!base_of(dir, base))
		return false;
	const bool ours = name_outside(base, name);
	if (!put_path(all, ours ? name : base, "/", path))
		return false;
	normalise(plain, all);
	if (lead_text(plain, to))
		return true;
	return ours && put_path(to, plain[0] ? plain : "/", "", "");
}

/* The call succeeded: may the file be in procfs or sysfs? */
static bool may_be_ours(long nr, const uint64_t *a)
{
	const struct soft_files *const v = files();
	uint64_t dev = 0;
	uint32_t numbers[2] = { 0 };
	switch (nr) {
	case __NR_stat:
	case __NR_lstat:
	case __NR_newfstatat:
		copy_guest(&dev, (const void *)a[nr == __NR_newfstatat ? 2 : 1], 8);
		return dev == v->proc_dev || dev == v->sys_dev;
	case __NR_statx:		/* stx_dev_major, stx_dev_minor */
		copy_guest(numbers, (const void *)(a[4] + 136), sizeof(numbers));
		dev = numbers[0] << 8 | (numbers[1] & 0xff) | (uint64_t)(numbers[1] & ~0xffu) << 12;
		return dev == v->proc_dev || dev == v->sys_dev;
	default:
		return true;
	}
}

/* The call is made already, as the program wrote it. */
static bool lead_after(int dir, const char *path, long nr, const uint64_t *a, long ret, char *to)
{
	if (ret == -ENOENT)
		return lead_missing(dir, path, to);
	if (ret < 0)
		return false;
	if (opens(nr)) {
		if (!lead_fd(ret, "", to))
			return false;
		sys1(__NR_close, ret);
		return true;
	}
	return may_be_ours(nr, a) &&
	       lead_resolved(nr == __NR_chdir ? AT_FDCWD : dir, nr == __NR_chdir ? "." : path,
			     follows(nr, a), "", to);
}

/* The folder as the program knows it. */
static long do_getcwd(struct thread *t, const uint64_t *a)
{
	char real[PATH_SIZE], name[PATH_SIZE];
	const long ret = gate(t, __NR_getcwd, a);
	if (ret <= 0 || ret > PATH_SIZE || !copy_guest(real, (const void *)a[0], (size_t)ret) ||
	    !name_outside(real, name))
		return ret;
	const size_t size = text_len(name) + 1;
	if (size > a[1])
		return -ERANGE;		/* ERANGE */
	return put_guest(a[0], name, size) ? (long)size : -EFAULT;
}

long files_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	const int at = path_argument(nr);
	char path[PATH_SIZE], to[PATH_SIZE];
	if (nr == __NR_getcwd) {
		*done = true;
		return do_getcwd(t, a);
	}
	if (at < 0 || !copy_path(path, a[at]))
		return 0;
	const int dir = at ? (int)a[0] : AT_FDCWD;
	const bool led = lead_by_text(dir, path, to);
	if (!led && is_own_business(path))
		return 0;
	*done = true;
	if (!led) {
		const long ret = gate(t, nr, a);
		if (ret == -EFAULT)
			*done = false;		/* maybe a page that we protect */
		if (!lead_after(dir, path, nr, a, ret, to))
			return ret;
	}
	const long ret = led_call(t, nr, a, to);
	return ret == -ENOENT && is_out_of_sight() ? gate(t, nr, a) : ret;
}
