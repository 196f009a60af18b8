/* What tells of the host: its name and kernel, memory, load, limits, and the files of /proc and /sys that have
 * these or the state of processes. Such a file is made when the program opens it for reading. */
#include "still-room.h"
#include "sys.h"
#include "text.h"

#define RAM (8ull << 30)
#define FREE_RAM (4ull << 30)
#define HOSTNAME "hermetic"
#define RELEASE "6.1.0"
#define VERSION "#1 SMP"
#define NO_LIMIT (~0ull)
#define LIMITS 16
#define TICKS 100

static long do_uname(struct thread *t, const uint64_t *a)
{
	static const char *const fields[6] = { "Linux", HOSTNAME, RELEASE, VERSION, "x86_64", "(none)" };
	char v[6][65];
	mem_zero(v, sizeof(v));
	for (int i = 0; i < 6; i++)
		copy_text(v[i], sizeof(v[i]), fields[i], text_len(fields[i]));
	return put_guest(a[0], v, sizeof(v)) ? 0 : -EFAULT;
}

static long do_sysinfo(struct thread *t, const uint64_t *a)
{
	const struct {
		uint64_t uptime, loads[3], total, free, shared, buffers, swap, free_swap;
		uint16_t procs, pad[3];
		uint64_t high[2];
		uint32_t unit, pad2;
	} v = { .uptime = UPTIME_S + clock_now(t) / NS, .total = RAM, .free = FREE_RAM,
		.procs = (uint16_t)hermetic_shared()->n_live, .unit = 1 };
	return put_guest(a[0], &v, sizeof(v)) ? 0 : -EFAULT;
}

static const struct { uint64_t soft, hard; } fixed_limits[LIMITS] = {
	{ NO_LIMIT, NO_LIMIT }, { NO_LIMIT, NO_LIMIT }, { NO_LIMIT, NO_LIMIT },	/* CPU, FSIZE, DATA */
	{ 8 << 20, NO_LIMIT }, { 0, NO_LIMIT }, { NO_LIMIT, NO_LIMIT },		/* STACK, CORE, RSS */
	{ 31000, 31000 }, { 1024, 524288 }, { 8 << 20, 8 << 20 },		/* NPROC, NOFILE, MEMLOCK */
	{ NO_LIMIT, NO_LIMIT }, { NO_LIMIT, NO_LIMIT }, { 31000, 31000 },	/* AS, LOCKS, SIGPENDING */
	{ 819200, 819200 }, { 0, 0 }, { 0, 0 }, { NO_LIMIT, NO_LIMIT },		/* MSGQUEUE, NICE, RTPRIO, RTTIME */
};

void host_start(void)
{
	for (uint32_t i = 0; i < LIMITS; i++)
		sys4(__NR_prlimit64, 0, i, 0, hermetic_shared()->limits[i]);
}

static long do_limits(struct thread *t, long nr, const uint64_t *a)
{
	const bool both = nr == __NR_prlimit64;
	const uint32_t which = (uint32_t)a[both ? 1 : 0];
	const uint64_t set = both ? a[2] : nr == __NR_setrlimit ? a[1] : 0;
	const uint64_t get = both ? a[3] : nr == __NR_getrlimit ? a[1] : 0;
	const uint64_t pid = both ? (uint64_t)(int64_t)id_real((int32_t)a[0]) : 0;
	uint64_t new[2], old[2];
	if (which >= LIMITS)
		return -EINVAL;
	const uint64_t *const host = hermetic_shared()->limits[which];
	if (set && !copy_guest(new, (const void *)set, sizeof(new)))
		return -EFAULT;
	if (set && new[0] > new[1])
		return -EINVAL;
	if (set && new[1] > host[1] && new[1] <= fixed_limits[which].hard)
		new[1] = host[1];
	if (set && new[0] > new[1])
		new[0] = new[1];
	const uint64_t b[6] = { pid, which, set ? (uint64_t)new : 0, (uint64_t)old };
	const long ret = syscall_usual(t, __NR_prlimit64, b);
	if (ret < 0 || !get)
		return ret;
	for (int i = 0; i < 2; i++)
		if (old[i] == host[i])
			old[i] = i ? fixed_limits[which].hard : fixed_limits[which].soft;
	return put_guest(get, old, sizeof(old)) ? 0 : -EFAULT;
}

/* struct statfs: type, block size, blocks, free, available, files, free files, id, … */
static long show_statfs(struct thread *t, uint64_t at, long ret)
{
	uint64_t v[15];
	if (ret < 0 || !copy_guest(v, (const void *)at, sizeof(v)))
		return ret;
	if (v[0] != PROC_SUPER_MAGIC && v[0] != SYSFS_MAGIC) {
		v[2] = 1 << 26;
		v[3] = v[4] = 1 << 25;
		v[5] = 1 << 24;
		v[6] = 1 << 23;
	}
	v[1] = v[9] = 4096;
	v[7] = 0;
	return put_guest(at, v, sizeof(v)) ? ret : -EFAULT;
}

/* ---- files ---- */

struct out {
	long fd;
	struct line l;
};

static void flush(struct out *o)
{
	sys3(__NR_write, o->fd, o->l.text, o->l.len);
	o->l.len = 0;
}

static void text(struct out *o, const char *s)
{
	if (o->l.len + text_len(s) > sizeof(o->l.text))
		flush(o);
	line_str(&o->l, s);
}

static void number(struct out *o, uint64_t v)
{
	if (o->l.len + 24 > sizeof(o->l.text))
		flush(o);
	line_num(&o->l, v, 10);
}

static void numbered(struct out *o, const char *before, uint64_t v, const char *after)
{
	text(o, before);
	number(o, v);
	text(o, after);
}

static void put_uptime(struct thread *t, struct out *o)
{
	const uint64_t s = UPTIME_S + clock_now(t) / NS;
	numbered(o, "", s, ".00 ");
	numbered(o, "", s, ".00\n");
}

static void put_loadavg(struct thread *t, struct out *o)
{
	(void)t;
	numbered(o, "0.00 0.00 0.00 1/", hermetic_shared()->n_live, " ");
	numbered(o, "", HERMETIC_FIRST_PID + hermetic_shared()->n_tasks - 1, "\n");
}

static void put_meminfo(struct thread *t, struct out *o)
{
	(void)t;
	numbered(o, "MemTotal:       ", RAM >> 10, " kB\n");
	numbered(o, "MemFree:        ", FREE_RAM >> 10, " kB\n");
	numbered(o, "MemAvailable:   ", FREE_RAM >> 10, " kB\n");
	text(o, "Buffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\n"
		"SwapTotal:             0 kB\nSwapFree:              0 kB\nDirty:                 0 kB\n"
		"Shmem:                 0 kB\nSlab:                  0 kB\nHugePages_Total:       0\n"
		"HugePages_Free:        0\nHugepagesize:       2048 kB\n");
}

static void put_stat(struct thread *t, struct out *o)
{
	const uint64_t ticks = clock_now(t) / (NS / TICKS);
	numbered(o, "cpu  ", ticks, " 0 0 0 0 0 0 0 0 0\n");
	for (uint32_t i = 0; i < E.shared->machine.cpus; i++) {
		numbered(o, "cpu", i, " ");
		numbered(o, "", i ? 0 : ticks, " 0 0 0 0 0 0 0 0 0\n");
	}
	numbered(o, "intr 0\nctxt 0\nbtime ", EPOCH_S - UPTIME_S, "\n");
	numbered(o, "processes ", HERMETIC_FIRST_PID + hermetic_shared()->n_tasks, "\nprocs_running 1\nprocs_blocked 0\n");
}

static void put_uuid(struct thread *t, struct out *o)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t v[16];
	char s[38];
	int n = 0;
	random_fill(t, v, sizeof(v));
	v[6] = (v[6] & 0xf) | 0x40;
	v[8] = (v[8] & 0x3f) | 0x80;
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			s[n++] = '-';
		s[n++] = digits[v[i] >> 4];
		s[n++] = digits[v[i] & 15];
	}
	s[n++] = '\n';
	s[n] = '\0';
	text(o, s);
}

static const struct {
	const char *path;
	const char *text;		/* NULL: `put` */
	void (*put)(struct thread *t, struct out *o);
} host_files[] = {
	{ "/proc/uptime", NULL, put_uptime },
	{ "/proc/loadavg", NULL, put_loadavg },
	{ "/proc/meminfo", NULL, put_meminfo },
	{ "/proc/stat", NULL, put_stat },
	{ "/proc/version", "Linux version " RELEASE " (tare) " VERSION "\n", NULL },
	{ "/proc/cmdline", "\n", NULL },
	{ "/proc/vmstat", "nr_free_pages 1048576\n", NULL },
	{ "/proc/interrupts", "           CPU0\n", NULL },
	{ "/proc/softirqs", "                    CPU0\n", NULL },
	{ "/proc/diskstats", "", NULL },
	{ "/proc/schedstat", "", NULL },
	{ "/proc/buddyinfo", "", NULL },
	{ "/proc/zoneinfo", "", NULL },
	{ "/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n", NULL },
	{ "/proc/mounts", "/dev/root / ext4 rw 0 0\n", NULL },
	{ "/proc/self/mounts", "/dev/root / ext4 rw 0 0\n", NULL },
	{ "/proc/self/mountinfo", "1 0 254:0 / / rw - ext4 /dev/root rw\n", NULL },
	{ "/proc/self/cgroup", "0::/\n", NULL },
	{ "/proc/sys/kernel/hostname", HOSTNAME "\n", NULL },
	{ "/proc/sys/kernel/osrelease", RELEASE "\n", NULL },
	{ "/proc/sys/kernel/version", VERSION "\n", NULL },
	{ "/proc/sys/kernel/pid_max", "32768\n", NULL },
	{ "/proc/sys/kernel/threads-max", "62000\n", NULL },
	{ "/proc/sys/kernel/random/uuid", NULL, put_uuid },
	{ "/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000000\n", NULL },
	{ "/proc/sys/kernel/random/entropy_avail", "256\n", NULL },
	{ "/proc/sys/vm/overcommit_memory", "0\n", NULL },
	{ "/proc/sys/vm/max_map_count", "65530\n", NULL },
	{ "/proc/sys/fs/file-nr", "1024\t0\t1048576\n", NULL },
	{ "/proc/sys/fs/file-max", "1048576\n", NULL },
	{ "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n", NULL },
	{ "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n", NULL },
	{ "/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size advise [never] deny force\n", NULL },
};

/* ---- processes ---- */

static void read_comm(int32_t real, char comm[20])
{
	struct line l = { 0 };
	char path[40];
	line_str(&l, "/proc/");
	line_num(&l, (uint64_t)real, 10);
	line_str(&l, "/comm");
	copy_text(path, sizeof(path), l.text, l.len);
	const long fd = own_open(AT_FDCWD, path, O_CLOEXEC);
	const long n = fd < 0 ? 0 : sys3(__NR_read, fd, comm, 17);
	comm[n > 0 ? n - 1 : 0] = '\0';
	if (fd >= 0)
		sys1(__NR_close, fd);
}

static uint32_t threads_of(uint32_t group)
{
	const struct hermetic_shared *const h = hermetic_shared();
	uint32_t n = 0;
	for (uint32_t i = group; i < h->n_tasks; i++)
		n += h->tasks[i].group == group && h->tasks[i].state != HT_ENDED && h->tasks[i].state != HT_FREE;
	return n;
}

static uint64_t parent_of(const struct hermetic_task *k)
{
	return k->parent ? HERMETIC_FIRST_PID + k->parent - 1 : HERMETIC_FIRST_PID - 1;
}

/* Other tasks than this one wait, or stand still. */
static char state_shown(const struct thread *t, uint32_t n)
{
	const char state = n == t->hermetic.number ? 'R' : task_state(hermetic_task(n)->tid);
	const bool still = state == 't' || state == 'T' || state == 'Z';
	return still || n == t->hermetic.number ? state : 'S';
}

static const char *state_name(char state)
{
	return state == 'R' ? "R (running)" : state == 't' ? "t (tracing stop)" : state == 'T' ? "T (stopped)" :
	       state == 'Z' ? "Z (zombie)" : "S (sleeping)";
}

static void put_task_stat(struct thread *t, struct out *o, uint32_t n)
{
	const struct hermetic_task *const k = hermetic_task(n), *const g = hermetic_task(k->group);
	char comm[20];
	read_comm(k->tid, comm);
	numbered(o, "", HERMETIC_FIRST_PID + n, " (");
	text(o, comm);
	text(o, (const char[]){ ')', ' ', state_shown(t, n), ' ', '\0' });
	numbered(o, "", parent_of(g), " ");
	numbered(o, "", (uint64_t)id_shown((int32_t)sys1(__NR_getpgid, k->pid)), " ");
	numbered(o, "", (uint64_t)id_shown((int32_t)sys1(__NR_getsid, k->pid)), " 0 -1 4194304 0 0 0 0 ");
	numbered(o, "", cpu_of_process(t, k->group) / (NS / TICKS), " 0 ");
	numbered(o, "", g->children / (NS / TICKS), " 0 20 0 ");
	numbered(o, "", threads_of(k->group), " 0 ");
	numbered(o, "", UPTIME_S * TICKS, " 8388608 1024 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
}

static void put_mask(struct out *o, const char *name, uint64_t mask)
{
	text(o, name);
	for (int i = 60; i >= 0; i -= 4)
		text(o, (const char[]){ "0123456789abcdef"[mask >> i & 15], '\0' });
	text(o, "\n");
}

static void put_task_status(struct thread *t, struct out *o, uint32_t n)
{
	const struct hermetic_task *const k = hermetic_task(n), *const g = hermetic_task(k->group);
	char comm[20];
	uint64_t ignored = 0, caught = 0;
	read_comm(k->tid, comm);
	for (int sig = 1; sig <= N_SIGNALS; sig++) {
		caught |= t->signal.actions[sig].handler > SIGNAL_IGNORED ? SIG_BIT(sig) : 0;
		ignored |= t->signal.actions[sig].handler == SIGNAL_IGNORED ? SIG_BIT(sig) : 0;
	}
	text(o, "Name:\t");
	text(o, comm);
	text(o, "\nUmask:\t0022\nState:\t");
	text(o, state_name(state_shown(t, n)));
	text(o, "\n");
	numbered(o, "Tgid:\t", HERMETIC_FIRST_PID + k->group, "\nNgid:\t0\n");
	numbered(o, "Pid:\t", HERMETIC_FIRST_PID + n, "\n");
	numbered(o, "PPid:\t", parent_of(g), "\n");
	numbered(o, "TracerPid:\t", hermetic_shared()->traces ? (uint64_t)id_shown(tracer_of(k->tid)) : 0, "\n");
	numbered(o, "Uid:\t", (uint64_t)sys0(__NR_getuid), "\t");
	numbered(o, "", (uint64_t)sys0(__NR_geteuid), "\t");
	numbered(o, "", (uint64_t)sys0(__NR_geteuid), "\t");
	numbered(o, "", (uint64_t)sys0(__NR_geteuid), "\n");
	numbered(o, "Gid:\t", (uint64_t)sys0(__NR_getgid), "\t");
	numbered(o, "", (uint64_t)sys0(__NR_getegid), "\t");
	numbered(o, "", (uint64_t)sys0(__NR_getegid), "\t");
	numbered(o, "", (uint64_t)sys0(__NR_getegid), "\nFDSize:\t256\nVmPeak:\t    8192 kB\nVmSize:\t    8192 kB\n"
		 "VmLck:\t       0 kB\nVmHWM:\t    4096 kB\nVmRSS:\t    4096 kB\nVmData:\t    1024 kB\nVmStk:\t     132 kB\n"
		 "VmSwap:\t       0 kB\n");
	numbered(o, "Threads:\t", threads_of(k->group), "\nSigQ:\t0/31000\n");
	put_mask(o, "SigBlk:\t", t->signal.mask);
	put_mask(o, "SigIgn:\t", ignored);
	put_mask(o, "SigCgt:\t", caught);
	text(o, "Seccomp:\t0\n");
	numbered(o, "Cpus_allowed_list:\t0-", E.shared->machine.cpus - 1, "\n");
	text(o, "voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n");
}

/* "/proc/1000/stat", "/proc/self/stat", "/proc/self/task/1000/stat": the file and the task. NULL: it is none
 * of the run's. */
static const char *task_file(const struct thread *t, const char *path, uint32_t *n)
{
	uint64_t id;
	const char *p = path + 6;
	if (!text_starts(path, "/proc/"))
		return NULL;
	if (text_starts(p, "self/")) {
		*n = own_task(t)->group;
		p += 4;
	} else if (text_starts(p, "thread-self/")) {
		*n = t->hermetic.number;
		p += 11;
	} else {
		const char *const end = text_decimal(p, &id);
		if (end == p || *end != '/')
			return NULL;
		p = end;
		*n = (uint32_t)(id - HERMETIC_FIRST_PID);
	}
	if (text_starts(p, "/task/")) {
		const char *const end = text_decimal(p + 6, &id);
		if (end == p + 6 || *end != '/')
			return NULL;
		p = end;
		*n = (uint32_t)(id - HERMETIC_FIRST_PID);
	}
	return *n < hermetic_shared()->n_tasks && hermetic_task(*n)->tid > 0 ? p + 1 : NULL;
}

static bool put_task(struct thread *t, struct out *o, const char *file, uint32_t n)
{
	if (text_equal(file, "stat"))
		put_task_stat(t, o, n);
	else if (text_equal(file, "status"))
		put_task_status(t, o, n);
	else if (text_equal(file, "statm"))
		text(o, "2048 1024 512 1 0 256 0\n");
	else if (text_equal(file, "schedstat"))
		text(o, "0 0 0\n");
	else if (text_equal(file, "io"))
		text(o, "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n");
	else if (text_equal(file, "cgroup"))
		text(o, "0::/\n");
	else if (text_equal(file, "oom_score"))
		text(o, "666\n");
	else
		return false;
	return true;
}

/* How many of the files above has this path? */
static bool put_file(struct thread *t, struct out *o, const char *path)
{
	uint32_t n = 0;
	const char *const file = task_file(t, path, &n);
	if (file && put_task(t, o, file, n))
		return true;
	for (unsigned i = 0; i < sizeof(host_files) / sizeof(host_files[0]); i++) {
		if (!text_equal(path, host_files[i].path))
			continue;
		if (host_files[i].text)
			text(o, host_files[i].text);
		else
			host_files[i].put(t, o);
		return true;
	}
	return false;
}

/* Files whose contents follow from what the host does, or from where the kernel has put something, by the start of their
 * paths; "@": of a task. */
static const char *const of_host[] = {
	"/proc/slabinfo", "/proc/timer_list", "/proc/net", "/proc/key", "/proc/locks", "/proc/sched_debug", "/proc/vmallocinfo",
	"/proc/pagetypeinfo", "/proc/kmsg", "/proc/mdstat", "/proc/fs/", "/proc/irq/", "/proc/sysvipc/", "/proc/kpage",
	"/proc/sys/fs/inode", "/proc/sys/fs/dentry", "/proc/sys/fs/quota", "/proc/sys/kernel/ns_last_pid", "/proc/sys/net/",
	"/proc/driver/", "/proc/bus/", "/proc/allocinfo", "/proc/lockdep", "/proc/latency",
	"@sched", "@smaps", "@pagemap", "@wchan", "@stack", "@syscall", "@numa_maps", "@mountstats", "@fdinfo/", "@net/",
	"@timers", "@latency",
	"/sys/class/", "/sys/block/", "/sys/bus/", "/sys/dev/", "/sys/fs/", "/sys/kernel/slab", "/sys/kernel/debug",
	"/sys/kernel/tracing", "/sys/kernel/uevent_seqnum", "/sys/kernel/mm/ksm/", "/sys/kernel/mm/hugepages/", "/sys/kernel/irq/",
	"/sys/power/",
};

static bool is_of_host(const struct thread *t, const char *path)
{
	uint32_t n = 0;
	const char *const file = task_file(t, path, &n);
	if (text_starts(path, "/sys/devices/") && !text_starts(path, "/sys/devices/system/"))
		return true;
	for (unsigned i = 0; i < sizeof(of_host) / sizeof(of_host[0]); i++) {
		const bool task = of_host[i][0] == '@';
		if (task ? file && text_starts(file, of_host[i] + 1) : text_starts(path, of_host[i]))
			return true;
	}
	return false;
}

long host_open(struct thread *t, const char *path, uint64_t flags, bool *done)
{
	*done = text_starts(path, "/sys/fs/cgroup") || text_starts(path, "/proc/pressure/");
	if (*done)
		return -ENOENT;
	if ((!text_starts(path, "/proc/") && !text_starts(path, "/sys/")) || (flags & O_ACCMODE) != O_RDONLY ||
	    flags & O_PATH)
		return 0;
	const char *name = path;
	for (const char *p = path; *p; p++)
		name = *p == '/' ? p + 1 : name;
	struct out o = { .fd = sys2(__NR_memfd_create, name, flags & O_CLOEXEC ? MFD_CLOEXEC : 0) };
	if (o.fd < 0)
		return 0;
	*done = put_file(t, &o, path);
	if (!*done) {
		sys1(__NR_close, o.fd);
		if (is_of_host(t, path))
			hermetic_note_left(HERMETIC_HOST_FILE);
		return 0;
	}
	flush(&o);
	sys3(__NR_lseek, o.fd, 0, SEEK_SET);
	return o.fd;
}

/* ---- the calls ---- */

long host_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	*done = true;
	switch (nr) {
	case __NR_uname:
		return do_uname(t, a);
	case __NR_sysinfo:
		return do_sysinfo(t, a);
	case __NR_getrlimit:
	case __NR_setrlimit:
	case __NR_prlimit64:
		return do_limits(t, nr, a);
	case __NR_statfs:
	case __NR_fstatfs:
		return show_statfs(t, a[1], syscall_usual(t, nr, a));
	case __NR_io_uring_setup:
	case __NR_io_setup:
	case __NR_userfaultfd:
	case __NR_perf_event_open:
	case __NR_fanotify_init:
	case __NR_getdents:			/* libc has used getdents64 for 15 years */
		return -ENOSYS;
	case __NR_bpf:
	case __NR_setns:
		return -EPERM;
	case __NR_unshare:
		if (a[0] & (CLONE_NEWPID | CLONE_NEWTIME))
			return -EPERM;
		break;
	default:
		break;
	}
	*done = false;
	return 0;
}
