/* The doctor's probes of the real machine: what is tried rather than read.
 *
 * Everything is undone before a probe returns, and what could kill the caller
 * (an rdpmc that traps, a traced exec) happens in a child. */
#include "perf-attr.h"
#include "perf-facts.h"
#include "pmc-bare.h"
#include "regions.h"
#include "soft-run.h"

#include <tare/doctor.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIES 5

static void detect_cpu(void *arg, struct tare_cpu *cpu)
{
	tare_cpu_detect(cpu);
}

static void stay_on(void *arg, const char *cpus)
{
	static __thread cpu_set_t before;
	static __thread bool moved;
	cpu_set_t set;

	if (!cpus) {
		if (moved)
			sched_setaffinity(0, sizeof(before), &before);
		moved = false;
		return;
	}
	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return;
	CPU_ZERO(&set);
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &before) && perf_cpulist_has(cpus, i))
			CPU_SET(i, &set);
	/* Where none of them is allowed the checks will tell. */
	moved = CPU_COUNT(&set) && sched_setaffinity(0, sizeof(set), &set) == 0;
}

/* For the calling thread, disabled, pinned so that it counts or says so. */
static int open_pinned(const struct tare_encoding *e, int group, unsigned period)
{
	struct perf_event_attr attr;

	perf_attr_fill(&attr, e);
	attr.disabled = group < 0;
	attr.pinned = group < 0;
	if (period) {
		attr.sample_period = period;
		attr.sample_type = PERF_SAMPLE_IP;
		attr.wakeup_events = 1;
	}
	return perf_open(&attr, 0, -1, group);
}

static int probe_open(void *arg, const struct tare_encoding *e)
{
	struct perf_event_attr attr;

	perf_attr_fill(&attr, e);
	attr.disabled = 1;
	const int fd = perf_open(&attr, 0, -1, -1);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void run_region(enum tare_region region, uint64_t n)
{
	uint64_t cell = 0;

	switch (region) {
	case TARE_REGION_LOOP: region_loop(n, &cell); break;
	case TARE_REGION_LOCKED: region_locked(n, &cell); break;
	case TARE_REGION_CPUID: region_cpuid(n, &cell); break;
	}
}

/* What the event gains over n rounds, the switching on and off included. */
static int count_once(int fd, enum tare_region region, uint64_t n, uint64_t *value)
{
	struct perf_value v;

	if (ioctl(fd, PERF_EVENT_IOC_RESET, 0) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	run_region(region, n);
	if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) < 0)
		return -errno;
	const int r = perf_read(fd, &v);
	if (r)	/* end of file: a pinned event that got no counter */
		return r < 0 ? r : -EBUSY;
	*value = v.value;
	return 0;
}

/* The smallest of a few tries, less the smallest of as many empty ones: both
 * are free of interrupts, if one try of each was. */
static int count_net(int fd, enum tare_region region, uint64_t n, uint64_t *net)
{
	uint64_t full = UINT64_MAX, empty = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t a = 0, b = 0;
		int err = count_once(fd, region, 0, &a);
		if (!err)
			err = count_once(fd, region, n, &b);
		if (err)
			return err;
		empty = a < empty ? a : empty;
		full = b < full ? b : full;
	}
	*net = full > empty ? full - empty : 0;
	return 0;
}

static int probe_count(void *arg, const struct tare_encoding *e, enum tare_region region,
		       uint64_t n, uint64_t *value)
{
	const int fd = open_pinned(e, -1, 0);
	if (fd < 0)
		return fd;
	const int err = count_net(fd, region, n, value);
	close(fd);
	return err;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int probe_spin(void *arg, const struct tare_encoding *e, unsigned ms, uint64_t *value)
{
	struct perf_value v;
	const int fd = open_pinned(e, -1, 0);
	if (fd < 0)
		return fd;
	int err = ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
	for (const uint64_t end = now_ns() + ms * 1000000ULL; !err && now_ns() < end;)
		run_region(TARE_REGION_LOOP, 10000);
	if (!err) {
		const int r = perf_read(fd, &v);
		err = r > 0 ? -EBUSY : r;
	}
	if (!err)
		*value = v.value;
	close(fd);
	return err;
}

/* Adds n members to the leader's group; 1, or 0 when the kernel says that a group
 * so large never fits. */
static int add_members(int leader, const struct tare_encoding *e, int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		fds[i] = open_pinned(e, leader, 0);
		if (fds[i] < 0)
			return fds[i] == -EINVAL || fds[i] == -ENOSPC ? 0 : fds[i];
	}
	return 1;
}

static int probe_fits(void *arg, const struct tare_encoding *e, unsigned n)
{
	int fds[64];
	uint64_t value;

	if (!n || n > sizeof(fds) / sizeof(fds[0]))
		return 0;
	const int leader = open_pinned(e, -1, 0);
	if (leader < 0)
		return leader;
	/* arm64 leaves events that are off out of its check of a group's size. */
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	for (unsigned i = 0; i < n; i++)
		fds[i] = -1;
	int result = add_members(leader, e, fds, n - 1);
	if (result == 1) {
		const int err = count_once(leader, TARE_REGION_LOOP, 1000, &value);
		result = err ? err : 1;
	}
	for (unsigned i = 0; i < n && fds[i] >= 0; i++)
		close(fds[i]);
	close(leader);
	return result;
}

/* Samples in the ring of one page that follows the event's page. */
static unsigned count_samples(const struct perf_event_mmap_page *page, size_t page_size)
{
	const char *const ring = (const char *)page + page_size;
	/* Pairs with the kernel's write of data_head after the records. */
	const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	unsigned n = 0;

	for (uint64_t at = 0; at + sizeof(struct perf_event_header) <= head && at < page_size;) {
		struct perf_event_header h;
		memcpy(&h, ring + at, sizeof(h));
		n += h.type == PERF_RECORD_SAMPLE;
		if (h.size < sizeof(h))
			break;
		at += h.size;
	}
	return n;
}

static int probe_overflow(void *arg, const struct tare_encoding *e, uint64_t n, uint64_t *value,
			  unsigned *fired)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t empty = UINT64_MAX;
	int err = 0;

	/* Three quarters through the loop's 4 n instructions. */
	const int fd = open_pinned(e, -1, (unsigned)(3 * n));
	if (fd < 0)
		return fd;
	void *const page = mmap(NULL, 2 * page_size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		err = -errno;
		goto out_close;
	}
	for (int i = 0; i < TRIES && !err; i++) {
		uint64_t v = 0;
		err = count_once(fd, TARE_REGION_LOOP, 0, &v);
		empty = v < empty ? v : empty;
	}
	if (!err)
		err = count_once(fd, TARE_REGION_LOOP, n, value);
	if (!err) {
		*value = *value > empty ? *value - empty : 0;
		*fired = count_samples(page, page_size);
	}
	munmap(page, 2 * page_size);
out_close:
	close(fd);
	return err;
}

/* One read in user space. The counter is pmc_width bits wide and signed: the
 * kernel sets it to a negative start, and `offset` holds the rest. */
static uint64_t read_page(const volatile struct perf_event_mmap_page *page)
{
	uint32_t seq;
	uint64_t value;

	do {	/* the kernel changes `lock` before and after it changes the rest */
		seq = page->lock;
		atomic_thread_fence(memory_order_acquire);
		const unsigned index = page->index, shift = 64 - page->pmc_width;
		value = (uint64_t)page->offset;
		if (index)
			value += (uint64_t)((int64_t)(pmc_bare_read(index) << shift) >> shift);
		atomic_thread_fence(memory_order_acquire);
	} while (page->lock != seq);
	return value;
}

/* In a child, for the read may trap; the answer is in shared memory. */
static int read_in_user_space(const struct tare_encoding *e, struct tare_rdpmc_answer *a)
{
	struct perf_event_attr attr;
	struct perf_value v = { 0 };
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

	perf_attr_fill(&attr, e);
	attr.pinned = 1;
	pmc_bare_ask(&attr);
	const int fd = perf_open(&attr, 0, -1, -1);
	if (fd < 0)
		return fd;
	const struct perf_event_mmap_page *const page =
		mmap(NULL, page_size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	a->capable = page->cap_user_rdpmc;
	a->index = page->index;
	if (!a->capable || !a->index)
		return 0;
	a->before = read_page(page);
	const int r = perf_read(fd, &v);
	a->after = read_page(page);
	a->kernel = v.value;
	return r > 0 ? -EBUSY : r;
}

/* Waits for a child over interruptions. */
static int wait_for(pid_t pid, int *status)
{
	pid_t r;
	do
		r = waitpid(pid, status, 0);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

static int probe_rdpmc(void *arg, const struct tare_encoding *e, struct tare_rdpmc_answer *a)
{
	struct shared {
		int err;
		bool done;
		struct tare_rdpmc_answer answer;
	};
	int status = 0;
	struct shared *const s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return -errno;
	const pid_t pid = fork();
	if (pid == 0) {
		/* A handler of the program's must not see what we provoke. */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGILL, SIG_DFL);
		s->err = read_in_user_space(e, &s->answer);
		s->done = true;
		_exit(0);
	}
	int err = pid < 0 ? -errno : wait_for(pid, &status);
	/* A program that ignores SIGCHLD gets no status: the wait ends with the child. */
	if (!err || err == -ECHILD)
		err = s->done ? s->err : -EFAULT;
	*a = s->answer;
	munmap(s, sizeof(*s));
	return err;
}

static int probe_engine(void *arg, struct tare_why *why)
{
	return engine_available(why);
}

/* The child never gets to run what it executes: it stops at the exec and is
 * killed there. This very program is the one file that surely can be executed. */
static void be_traced(void)
{
	char *const argv[] = { (char *)"tare-doctor-child", NULL };
	char *const envp[] = { NULL };

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(errno);
	execve("/proc/self/exe", argv, envp);
	_exit(errno);
}

static int probe_trace(void *arg)
{
	int status = 0, result = 0;
	const pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		be_traced();
	const int err = wait_for(pid, &status);
	if (err)
		return err;
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? -WEXITSTATUS(status) : -EPERM;
	if (WIFSIGNALED(status))	/* a seccomp filter that kills */
		return -EPERM;
	/* The engine is put in place through the tracer's access to memory. */
	errno = 0;
	ptrace(PTRACE_PEEKUSER, pid, NULL, NULL);
	if (errno && errno != EIO)
		result = -errno;
	kill(pid, SIGKILL);
	wait_for(pid, &status);
	return result;
}

/* Per thread, so that trying it here disturbs nobody. */
static int probe_no_aslr(void *arg)
{
	const int old = personality(0xffffffff);
	if (old < 0)
		return -errno;
	if (old & ADDR_NO_RANDOMIZE)
		return 0;
	if (personality((unsigned long)old | ADDR_NO_RANDOMIZE) < 0)
		return -errno;
	const bool took = personality(0xffffffff) & ADDR_NO_RANDOMIZE;
	personality((unsigned long)old);
	return took ? 0 : -EPERM;
}

static uint64_t probe_tick_ns(void *arg)
{
	struct timespec t;
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &t) < 0 || t.tv_sec)
		return 0;
	return (uint64_t)t.tv_nsec;
}

static const char *probe_environment(void *arg, const char *name)
{
	return getenv(name);
}

const struct tare_doctor_probes *tare_doctor_probes(void)
{
	static const struct tare_doctor_probes here = {
		.size = sizeof(here),
		.cpu = detect_cpu,
		.stay_on = stay_on,
		.open = probe_open,
		.fits = probe_fits,
		.count = probe_count,
		.spin = probe_spin,
		.overflow = probe_overflow,
		.rdpmc = probe_rdpmc,
		.engine = probe_engine,
		.trace = probe_trace,
		.no_aslr = probe_no_aslr,
		.tick_ns = probe_tick_ns,
		.environment = probe_environment,
	};
	return &here;
}
