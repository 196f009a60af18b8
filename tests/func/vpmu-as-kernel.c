/* What a ring buffer, poll, signals and refusals do, printed as a list that is the same for an event of the
 * real kernel and for a virtual one: `vpmu-as-kernel kernel` samples page faults, which every kernel counts
 * exactly; `vpmu-as-kernel virtual`, inside `tare run`, samples branches. */
#include "sampling.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/wait.h>

#define UNIT 1000u		/* branches that stand for one event: more than a case makes by the way */
#define MOST 2048u

static bool is_virtual;
static volatile char *pages;

static struct perf_event_attr attr(uint64_t period, uint64_t type)
{
	struct perf_event_attr a = is_virtual ?
		vpmu_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS) :
		vpmu_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	a.sample_period = period * (is_virtual ? UNIT : 1);
	a.sample_type = type;
	a.disabled = 1;
	return a;
}

/* Makes n events. */
static void make(unsigned n)
{
	if (is_virtual) {
		loop((uint64_t)n * UNIT);
		return;
	}
	CHECK(n <= MOST && madvise((void *)pages, MOST * PAGE, MADV_DONTNEED) == 0, "%u", n);
	for (unsigned i = 0; i < n; i++)
		pages[i * PAGE] = 1;
}

static void on(int fd) { CHECK(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0, "enable"); }
static void off(int fd) { CHECK(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) == 0, "disable"); }

static void make_on(int fd, unsigned n)
{
	on(fd);
	make(n);
	off(fd);
}

static const char *error(long ret) { return ret >= 0 ? "works" : strerrorname_np(errno); }

static int polled(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	return poll(&p, 1, ms) < 0 ? -1 : p.revents;
}

static void drop(int fd, struct ring *r)
{
	munmap(r->page, r->size + PAGE);
	close(fd);
}

static unsigned count(struct ring *r, unsigned type)
{
	unsigned n = 0;
	for (struct perf_event_header *h; (h = ring_next(r));)
		n += h->type == type;
	ring_done(r);
	return n;
}

/* ---- wake-ups ---- */

static void wakeups(void)
{
	struct perf_event_attr a = attr(1, PERF_SAMPLE_IP);
	for (int watermark = 0; watermark < 2; watermark++) {
		a.watermark = watermark;
		a.wakeup_events = watermark ? 80 : 3;		/* 5 samples, or 3 */
		const int fd = open_or_die(&a, 0, -1);
		struct ring r = ring_map(fd, 2, PROT_READ | PROT_WRITE);
		printf("%s:", watermark ? "watermark" : "wakeup_events");
		for (int i = 1; i <= 13; i++) {
			make_on(fd, 1);
			printf(" %x", (unsigned)polled(fd, 0));
		}
		printf(" again %x\n", (unsigned)polled(fd, 0));
		drop(fd, &r);
	}
	a = attr(1, PERF_SAMPLE_IP);
	const int fd = open_or_die(&a, 0, -1);
	printf("no ring: poll %x\n", (unsigned)polled(fd, 0));
	struct ring r = ring_map(fd, 1, PROT_READ | PROT_WRITE);
	printf("by default:");			/* half of the ring */
	for (int i = 0; i < 3; i++) {
		make_on(fd, 100);
		printf(" %x", (unsigned)polled(fd, 0));
	}
	printf("\n");
	drop(fd, &r);
}

/* Which of the three sets have the event, and what the call returns. */
static void selected(const char *how, int fd, bool by_pselect)
{
	fd_set s[3];
	for (int i = 0; i < 3; i++) {
		FD_ZERO(&s[i]);
		FD_SET(fd, &s[i]);
	}
	struct timeval time = { 0 };
	const struct timespec spec = { 0 };
	sigset_t none;
	sigemptyset(&none);
	const int n = by_pselect ? pselect(fd + 1, &s[0], &s[1], &s[2], &spec, &none) :
				   select(fd + 1, &s[0], &s[1], &s[2], &time);
	printf(" %s %d:%d%d%d", how, n, !!FD_ISSET(fd, &s[0]), !!FD_ISSET(fd, &s[1]), !!FD_ISSET(fd, &s[2]));
}

static void selects(void)
{
	struct perf_event_attr a = attr(1, PERF_SAMPLE_IP);
	a.wakeup_events = 2;
	const int fd = open_or_die(&a, 0, -1);
	printf("select:");
	selected("no ring", fd, false);
	struct ring r = ring_map(fd, 2, PROT_READ | PROT_WRITE);
	selected("none", fd, false);
	make_on(fd, 2);
	selected("two", fd, false);
	selected("again", fd, true);
	make_on(fd, 2);
	selected("four", fd, true);
	printf("\n");
	int p[2];
	fd_set both, out;
	CHECK(pipe(p) == 0 && write(p[1], "x", 1) == 1, "pipe");
	const int highest = p[0] > fd ? p[0] : fd;
	FD_ZERO(&both);
	FD_SET(fd, &both);
	FD_SET(p[0], &both);
	for (int i = 0; i < 2; i++) {
		struct timeval time = { .tv_usec = 20000 };
		out = both;
		const int n = select(highest + 1, &out, NULL, NULL, i ? &time : NULL);
		printf("with a pipe: %d:%d%d", n, !!FD_ISSET(fd, &out), !!FD_ISSET(p[0], &out));
		if (i)
			printf(", %ld s %ld us left", (long)time.tv_sec, (long)time.tv_usec);
		printf("\n");
		if (!i) {
			char c;
			CHECK(read(p[0], &c, 1) == 1, "pipe");
		}
	}
	close(p[0]);
	FD_ZERO(&out);
	FD_SET(p[0], &out);
	FD_SET(fd, &out);
	printf("with a closed one: %s\n", error(select(highest + 1, &out, NULL, NULL, NULL)));
	close(p[1]);
	drop(fd, &r);
}

static long control(int ep, int op, int fd, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.u64 = 0x1234567890abcdefull };
	return epoll_ctl(ep, op, fd, &e);
}

/* What the set reports at once. */
static void reported(const char *how, int ep)
{
	struct epoll_event e[4] = { { 0 } };
	const int n = epoll_wait(ep, e, 4, 0);
	printf(" %s %d:%x%s", how, n, e[0].events, n > 0 && e[0].data.u64 != 0x1234567890abcdefull ? "?" : "");
}

static void epolls(uint32_t flags, const char *name)
{
	struct perf_event_attr a = attr(1, PERF_SAMPLE_IP);
	a.wakeup_events = 2;
	const int fd = open_or_die(&a, 0, -1), ep = epoll_create1(EPOLL_CLOEXEC);
	printf("epoll, %s: add %s", name, error(control(ep, EPOLL_CTL_ADD, fd, EPOLLIN | flags)));
	reported("no ring", ep);
	reported("again", ep);
	struct ring r = ring_map(fd, 2, PROT_READ | PROT_WRITE);
	reported("ring", ep);
	make_on(fd, 2);
	reported("two", ep);
	reported("again", ep);
	make_on(fd, 2);
	reported("four", ep);
	printf(" mod %s", error(control(ep, EPOLL_CTL_MOD, fd, EPOLLIN | flags)));
	reported("mod", ep);
	make_on(fd, 2);
	reported("six", ep);
	make_on(fd, 2);
	control(ep, EPOLL_CTL_MOD, fd, EPOLLIN | flags);
	reported("taken", ep);
	control(ep, EPOLL_CTL_MOD, fd, EPOLLOUT | flags);
	make_on(fd, 2);
	reported("not asked for", ep);
	printf("\n");
	close(ep);
	drop(fd, &r);
}

static void epoll_errors(void)
{
	const struct perf_event_attr a = attr(1, PERF_SAMPLE_IP);
	const int fd = open_or_die(&a, 0, -1), ep = epoll_create1(0);
	struct epoll_event e;
	printf("epoll: mod %s", error(control(ep, EPOLL_CTL_MOD, fd, EPOLLIN)));
	printf(", del %s", error(control(ep, EPOLL_CTL_DEL, fd, 0)));
	printf(", add %s", error(control(ep, EPOLL_CTL_ADD, fd, EPOLLIN)));
	printf(", add %s", error(control(ep, EPOLL_CTL_ADD, fd, EPOLLIN)));
	printf(", no address %s", error(epoll_ctl(ep, EPOLL_CTL_MOD, fd, NULL)));
	printf(", bad command %s", error(control(ep, 9, fd, EPOLLIN)));
	printf(", to an event %s", error(control(fd, EPOLL_CTL_ADD, fd, EPOLLIN)));
	printf(", to none %s", error(control(-1, EPOLL_CTL_ADD, fd, EPOLLIN)));
	printf(", none at a time %s", error(epoll_wait(ep, &e, 0, 0)));
	printf(", del %s", error(control(ep, EPOLL_CTL_DEL, fd, 0)));
	reported("then", ep);
	control(ep, EPOLL_CTL_ADD, fd, EPOLLIN);
	reported("added", ep);
	close(fd);
	reported("closed", ep);
	close(ep);
	const int again = epoll_create1(0);
	reported("another", again);
	printf("\n");
	close(again);
}

/* The sampled process ends while the reader waits, without a limit; a pipe is in the set, too. */
static void epoll_sleeps(void)
{
	int go[2];
	char c = 0;
	CHECK(pipe(go) == 0, "pipe");
	const pid_t child = fork();
	if (!child) {
		CHECK(read(go[0], &c, 1) == 1, "pipe");
		make(9);
		_exit(0);
	}
	struct perf_event_attr a = attr(3, PERF_SAMPLE_IP);
	a.wakeup_events = 2;
	const int fd = open_or_die(&a, child, -1), ep = epoll_create1(0);
	struct ring r = ring_map(fd, 2, PROT_READ | PROT_WRITE);
	CHECK(control(ep, EPOLL_CTL_ADD, fd, EPOLLIN) == 0 && control(ep, EPOLL_CTL_ADD, go[0], EPOLLOUT) == 0, "add");
	on(fd);
	CHECK(write(go[1], &c, 1) == 1, "pipe");
	uint32_t seen = 0;
	struct epoll_event e = { 0 };
	while (!(seen & EPOLLHUP)) {
		CHECK(epoll_pwait(ep, &e, 1, -1, NULL) == 1, "epoll_pwait");
		seen |= e.events;
	}
	CHECK(epoll_wait(ep, &e, 1, 0) == 1, "hung up");
	printf("epoll sleeps: %x, then %x, %s\n", seen & EPOLLHUP, e.events,
	       count(&r, PERF_RECORD_SAMPLE) >= 3 ? "3 samples or more" : "fewer than 3 samples");
	CHECK(waitpid(child, NULL, 0) == child, "wait");
	close(ep);
	close(go[0]);
	close(go[1]);
	drop(fd, &r);
}

/* ---- rings ---- */

static void full_ring(void)
{
	struct perf_event_attr a = attr(1, PERF_SAMPLE_IP);
	a.read_format = PERF_FORMAT_LOST;
	uint64_t v[2];
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 1, PROT_READ | PROT_WRITE);
	make_on(fd, 300);
	printf("full: head %ju, ", (uintmax_t)r.page->data_head);
	printf("%u samples, ", count(&r, PERF_RECORD_SAMPLE));
	CHECK(read(fd, v, sizeof(v)) == 16, "read");
	printf("lost %ju\n", (uintmax_t)v[1]);
	make_on(fd, 2);
	const struct perf_event_header *h = ring_next(&r);
	CHECK(h, "no record");
	printf("then: type %u, size %u, lost %ju", h->type, h->size, (uintmax_t)((const uint64_t *)(h + 1))[1]);
	while ((h = ring_next(&r)))
		printf(", type %u", h->type);
	printf("\n");
	drop(fd, &r);
}

static void overwriting(void)
{
	struct perf_event_attr a = attr(1, PERF_SAMPLE_IP | PERF_SAMPLE_READ);
	a.write_backward = 1;
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 1, PROT_READ);
	const uint64_t unit = is_virtual ? UNIT : 1;
	make_on(fd, 500);
	uint64_t head = r.page->data_head;
	printf("backward: head %jd", (intmax_t)head);
	const char *const data = (const char *)r.page + PAGE;
	for (unsigned i = 0; i < 4; i++) {
		struct { struct perf_event_header h; uint64_t ip, value; } rec;
		for (unsigned k = 0; k < sizeof(rec); k++)
			((char *)&rec)[k] = data[(head + i * sizeof(rec) + k) % PAGE];
		printf(", %u of event %ju", rec.h.type, (uintmax_t)(rec.value / unit));
	}
	printf("\npause: %s", error(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	make_on(fd, 7);
	printf(", head moved by %jd", (intmax_t)(r.page->data_head - head));
	printf("; on: %s", error(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0)));
	make_on(fd, 1);
	printf(", by %jd", (intmax_t)(r.page->data_head - head));
	head = r.page->data_head;
	struct perf_event_header h;
	for (unsigned k = 0; k < sizeof(h); k++)
		((char *)&h)[k] = data[(head + k) % PAGE];
	printf(": type %u\n", h.type);
	struct perf_event_attr b = attr(1, PERF_SAMPLE_IP);
	const int forward = open_or_die(&b, 0, -1);
	printf("forward to backward: %s\n", error(ioctl(forward, PERF_EVENT_IOC_SET_OUTPUT, fd)));
	printf("pause without a ring: %s\n", error(ioctl(forward, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	close(forward);
	drop(fd, &r);
	/* not backward: the oldest records are overwritten */
	const int old = open_or_die(&b, 0, -1);
	r = ring_map(old, 1, PROT_READ);
	make_on(old, 500);
	printf("overwritten: head %ju\n", (uintmax_t)r.page->data_head);
	drop(old, &r);
}

static const char *mapped(int fd, unsigned long size, int prot, int flags, long offset)
{
	void *const p = mmap(NULL, size, prot, flags, fd, offset);
	const char *const how = p == MAP_FAILED ? strerrorname_np(errno) : "works";
	if (p != MAP_FAILED)
		munmap(p, size);
	return how;
}

static void mappings(void)
{
	const struct perf_event_attr a = attr(1, PERF_SAMPLE_IP);
	const int fd = open_or_die(&a, 0, -1), rw = PROT_READ | PROT_WRITE;
	printf("mmap: 1 page %s, 2 %s, 3 %s, 4 %s, 6 %s, 8 %s, 9 %s; part %s; private %s; offset %s\n",
	       mapped(fd, PAGE, rw, MAP_SHARED, 0), mapped(fd, 2 * PAGE, rw, MAP_SHARED, 0),
	       mapped(fd, 3 * PAGE, rw, MAP_SHARED, 0), mapped(fd, 4 * PAGE, rw, MAP_SHARED, 0),
	       mapped(fd, 6 * PAGE, rw, MAP_SHARED, 0), mapped(fd, 8 * PAGE, rw, MAP_SHARED, 0),
	       mapped(fd, 9 * PAGE, rw, MAP_SHARED, 0), mapped(fd, PAGE + 1, rw, MAP_SHARED, 0),
	       mapped(fd, 2 * PAGE, rw, MAP_PRIVATE, 0), mapped(fd, 2 * PAGE, rw, MAP_SHARED, (long)PAGE));
	struct ring r = ring_map(fd, 2, rw);
	printf("second mapping: same %s, larger %s, page only %s\n", mapped(fd, 3 * PAGE, rw, MAP_SHARED, 0),
	       mapped(fd, 5 * PAGE, rw, MAP_SHARED, 0), mapped(fd, PAGE, rw, MAP_SHARED, 0));
	drop(fd, &r);
}

/* The ring of an event whose output goes to another's. (Some kernels map it, as here, and others give EBUSY.) */
static void is_same_ring(int fd, const struct ring *of, unsigned n)
{
	if (!is_virtual)
		return;
	const struct ring r = ring_map(fd, n, PROT_READ | PROT_WRITE);
	const uint64_t was = of->page->data_tail;
	r.page->data_tail = was + 1;
	CHECK(of->page->data_tail == was + 1, "another ring");
	r.page->data_tail = was;
	CHECK(munmap(r.page, (1 + n) * PAGE) == 0, "munmap");
}

static void outputs(void)
{
	const struct perf_event_attr a = attr(1, PERF_SAMPLE_IDENTIFIER);
	const int to = open_or_die(&a, 0, -1), from = open_or_die(&a, 0, -1);
	uint64_t id[2];
	unsigned n[2] = { 0 };
	struct ring r = ring_map(to, 8, PROT_READ | PROT_WRITE);
	printf("output: to itself %s,", error(ioctl(to, PERF_EVENT_IOC_SET_OUTPUT, to)));
	printf(" to another %s,", error(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, to)));
	printf(" to no event %s,", error(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, 0)));
	printf(" to a number that is none %s,", error(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, 12345)));
	printf(" to -1 of 32 bits %s,", error(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, 0xffffffffl)));
	printf(" mmap with another size %s\n", mapped(from, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, 0));
	is_same_ring(from, &r, 8);
	ioctl(to, PERF_EVENT_IOC_ID, &id[0]);
	ioctl(from, PERF_EVENT_IOC_ID, &id[1]);
	make_on(from, 10);
	make_on(to, 5);
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		n[0] += *(const uint64_t *)(h + 1) == id[0];
		n[1] += *(const uint64_t *)(h + 1) == id[1];
	}
	printf("one ring: %u and %u samples\n", n[0], n[1]);
	close(from);
	drop(to, &r);
}

/* The records of other events, of the type: how many, and how many of them have the id. */
static void records(const char *how, struct ring *r, uint32_t type, uint64_t id)
{
	unsigned n = 0, own = 0;
	for (struct perf_event_header *h; (h = ring_next(r));) {
		n += h->type == type;
		own += h->type == type && *(const uint64_t *)((const char *)h + h->size - 8) == id;
	}
	printf(" %s %u:%u", how, n, own);
}

static void name_task(const char *name) { CHECK(prctl(PR_SET_NAME, name) == 0, "PR_SET_NAME"); }

/* An event that counts nothing, and whose records go to the ring of another. */
static void dummies(void)
{
	struct perf_event_attr a = attr(1, PERF_SAMPLE_IDENTIFIER), d = a;
	a.wakeup_events = 1;
	d.type = PERF_TYPE_SOFTWARE;
	d.config = PERF_COUNT_SW_DUMMY;
	d.sample_period = d.disabled = 0;
	d.comm = d.task = d.sample_id_all = 1;
	const int to = open_or_die(&a, 0, -1), from = open_or_die(&d, 0, -1), ep = epoll_create1(EPOLL_CLOEXEC);
	uint64_t id;
	ioctl(from, PERF_EVENT_IOC_ID, &id);
	printf("dummy: to an event without a ring %s,", error(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, to)));
	printf(" poll %x,", polled(from, 0));
	struct ring r = ring_map(to, 8, PROT_READ | PROT_WRITE);
	name_task("before");
	printf(" to one %s,", error(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, to)));
	printf(" poll %x,", polled(from, 0));
	is_same_ring(from, &r, 8);
	name_task("after");
	records("named", &r, PERF_RECORD_COMM, id);
	const pid_t child = fork();
	if (!child)
		_exit(0);
	CHECK(waitpid(child, NULL, 0) == child, "wait");
	records("forked", &r, PERF_RECORD_FORK, id);
	printf("\ndummy: pause %s,", error(ioctl(from, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	name_task("paused");
	printf(" go on %s", error(ioctl(from, PERF_EVENT_IOC_PAUSE_OUTPUT, 0)));
	records("paused", &r, PERF_RECORD_COMM, id);
	off(from);
	name_task("off");
	records("off", &r, PERF_RECORD_COMM, id);
	on(from);
	make_on(to, 1);
	printf(", poll of the dummy %x,", polled(from, 0));
	printf(" then of the event %x,", polled(to, 0));
	records("samples", &r, PERF_RECORD_SAMPLE, id);
	printf(" add %s", error(control(ep, EPOLL_CTL_ADD, from, EPOLLIN)));
	reported("nothing", ep);
	make_on(to, 1);
	reported("one", ep);
	records("samples", &r, PERF_RECORD_SAMPLE, id);
	printf("\ndummy: to a number that is none %s,", error(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, 12345)));
	name_task("still");
	records("still", &r, PERF_RECORD_COMM, id);
	printf(" to none %s,", error(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, -1l)));
	printf(" poll %x,", polled(from, 0));
	name_task("none");
	records("to none", &r, PERF_RECORD_COMM, id);
	reported("epoll", ep);
	printf(" mod %s,", error(control(ep, EPOLL_CTL_MOD, from, EPOLLIN)));
	printf(" del %s,", error(control(ep, EPOLL_CTL_DEL, from, 0)));
	printf(" again %s\n", error(control(ep, EPOLL_CTL_DEL, from, 0)));
	struct ring own = ring_map(from, 2, PROT_READ | PROT_WRITE);
	name_task("own");
	printf("dummy:");
	records("own ring", &own, PERF_RECORD_COMM, id);
	printf(", to an event then %s", error(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, to)));
	drop(from, &own);
	const int flags = PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP;
	const int opened = (int)syscall(SYS_perf_event_open, &d, 0, -1, to, flags);
	printf(", opened with an output %s", error(opened));
	ioctl(opened, PERF_EVENT_IOC_ID, &id);
	name_task("opened");
	records("opened", &r, PERF_RECORD_COMM, id);
	drop(to, &r);
	printf(", without the ring poll %x", polled(opened, 0));
	printf(", open %s\n", error(syscall(SYS_perf_event_open, &d, 0, -1, opened, flags)));
	close(opened);
	close(ep);
}

/* Records of names and mappings: how many, and what each says. */
static void told(struct ring *r)
{
	for (struct perf_event_header *h; (h = ring_next(r));)
		if (h->type == PERF_RECORD_COMM)
			printf(" %s %s,", h->misc & PERF_RECORD_MISC_COMM_EXEC ? "exec of" : "name", (const char *)(h + 1) + 8);
		else if (h->type == PERF_RECORD_MMAP && h->misc & PERF_RECORD_MISC_USER)
			printf(" %s,", (const char *)(h + 1) + 32);
	ring_done(r);
}

static void name_by_file(const char *path, const char *name)
{
	const int fd = open(path, O_WRONLY);
	CHECK(fd >= 0 && write(fd, name, strlen(name)) == (ssize_t)strlen(name), "%s", path);
	close(fd);
}

/* A name that is written to a file; the ring of another event; an exec under a tracer. */
static void names(void)
{
	struct perf_event_attr a = attr(1, 0);
	a.comm = a.mmap = a.mmap_data = 1;
	a.disabled = 0;
	const pid_t child = fork();
	if (!child) {
		raise(SIGSTOP);
		CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "PTRACE_TRACEME");
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	int status;
	CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "wait");
	const int own = open_or_die(&a, 0, -1), its = open_or_die(&a, child, -1);
	struct ring r = ring_map(own, 8, PROT_READ | PROT_WRITE), s = ring_map(its, 8, PROT_READ | PROT_WRITE);
	printf("names:");
	name_by_file("/proc/self/comm", "by file");
	name_by_file("/proc/thread-self/comm", "a name of 15 characters, and more");
	told(&r);
	kill(child, SIGCONT);
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status), "stop");
	ptrace(PTRACE_CONT, child, NULL, NULL);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status), "end");
	for (struct perf_event_header *h; (h = ring_next(&s));)
		if (h->type == PERF_RECORD_COMM)
			printf(" %s\n", (const char *)(h + 1) + 8);
	drop(its, &s);
	drop(own, &r);
}

/* ---- periods ---- */

static void periods(void)
{
	struct perf_event_attr a = attr(0, PERF_SAMPLE_IP);
	const uint64_t unit = is_virtual ? UNIT : 1;
	uint64_t period = 5 * unit;
	int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 2, PROT_READ | PROT_WRITE);
	make_on(fd, 20);
	printf("period 0: %u samples, refresh %s", count(&r, PERF_RECORD_SAMPLE),
	       error(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1)));
	printf(", period %s\n", error(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period)));
	drop(fd, &r);
	/* (with PERF_SAMPLE_PERIOD the kernel samples a software event every time) */
	a = attr(10, PERF_SAMPLE_IP);
	fd = open_or_die(&a, 0, -1);
	r = ring_map(fd, 2, PROT_READ | PROT_WRITE);
	make_on(fd, 34);
	printf("period 10: %u of 34", count(&r, PERF_RECORD_SAMPLE));
	printf("; 5: %s", error(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period)));
	make_on(fd, 26);
	printf(", %u of 26", count(&r, PERF_RECORD_SAMPLE));
	period = 0;
	printf("; 0: %s", error(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period)));
	period = 1ull << 63;
	printf("; 2^63: %s\n", error(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period)));
	drop(fd, &r);
	a.sample_period = 1ull << 63;
	printf("open with 2^63: %s", error(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0)));
	uintmax_t most = 0;
	FILE *const f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "r");
	CHECK(f && fscanf(f, "%ju", &most) == 1, "perf_event_max_sample_rate");
	fclose(f);
	a.freq = 1;
	a.sample_freq = most + 1;
	printf(", with a frequency beyond the limit: %s",
	       error(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0)));
	a.sample_freq = most;
	fd = open_or_die(&a, 0, -1);
	period = most + 1;
	printf(", a later one: %s", error(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period)));
	period = 100;
	printf(", a lower one: %s\n", error(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period)));
	close(fd);
}

/* ---- signals ---- */

static volatile sig_atomic_t n_signals, n_hups, n_fds, n_bands, n_codes, nested;
static int expected_fd;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	n_signals++;
	n_hups += info->si_code == POLL_HUP;
	n_codes += info->si_code == POLL_IN;
	n_fds += info->si_fd == expected_fd;
	n_bands += info->si_band == (info->si_code == POLL_HUP ? POLLHUP | POLLERR : POLLIN | POLLRDNORM);
	if (nested) {
		nested--;
		make(1);
	}
}

static int with_signals(uint64_t period, int sig, int kind)
{
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	const struct f_owner_ex me = { kind, kind == F_OWNER_TID ? (pid_t)syscall(SYS_gettid) : getpid() };
	struct f_owner_ex said;
	const struct perf_event_attr a = attr(period, PERF_SAMPLE_IP);
	const int fd = open_or_die(&a, 0, -1);
	sigaction(sig ? sig : SIGIO, &act, NULL);
	CHECK(fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC) == 0, "F_SETFL");
	CHECK(!sig || fcntl(fd, F_SETSIG, sig) == 0, "F_SETSIG");
	CHECK(fcntl(fd, F_SETOWN_EX, &me) == 0, "F_SETOWN_EX");
	CHECK(fcntl(fd, F_GETOWN_EX, &said) == 0 && said.type == me.type && said.pid == me.pid, "F_GETOWN_EX");
	CHECK(fcntl(fd, F_GETSIG) == sig, "F_GETSIG");
	n_signals = n_hups = n_fds = n_bands = n_codes = 0;
	expected_fd = fd;
	return fd;
}

static void say(const char *what)
{
	printf("%s: %d signals, %d in, %d hup, %d with the descriptor, %d with the band\n", what, (int)n_signals,
	       (int)n_codes, (int)n_hups, (int)n_fds, (int)n_bands);
}

static void signals(void)
{
	static const struct { const char *name; int kind; } owners[] = {
		{ "thread", F_OWNER_TID }, { "process", F_OWNER_PID } };
	for (unsigned i = 0; i < 2; i++) {
		const int fd = with_signals(3, SIGRTMIN + 2, owners[i].kind);
		make_on(fd, 10);
		say(owners[i].name);
		close(fd);
	}
	int fd = with_signals(3, 0, F_OWNER_PID);
	make_on(fd, 10);
	printf("without F_SETSIG: %d signals, %d in\n", (int)n_signals, (int)n_codes);
	close(fd);
	fd = with_signals(2, SIGRTMIN + 2, F_OWNER_TID);
	printf("refresh: %s", error(ioctl(fd, PERF_EVENT_IOC_REFRESH, 2)));
	make(20);
	say("");
	printf("again: %s", error(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1)));
	make(20);
	say("");
	close(fd);
	/* a copy of the descriptor: the signal names the one that asked for it */
	fd = with_signals(3, SIGRTMIN + 2, F_OWNER_TID);
	const int copy = dup(fd);
	close(fd);
	make_on(copy, 4);
	say("a copy");
	close(copy);
	/* a handler that overflows again: each signal comes, one after the other */
	fd = with_signals(1, SIGRTMIN + 2, F_OWNER_TID);
	nested = 5;
	make_on(fd, 1);
	say("nested");
	close(fd);
	/* blocked: they wait */
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	fd = with_signals(1, SIGRTMIN + 2, F_OWNER_PID);
	sigprocmask(SIG_BLOCK, &set, &old);
	make_on(fd, 4);
	say("blocked");
	sigprocmask(SIG_SETMASK, &old, NULL);
	say("unblocked");
	fcntl(fd, F_SETFL, O_RDWR);
	make_on(fd, 4);
	say("without O_ASYNC");
	close(fd);
}

/* ---- inherited events, identities ---- */

static int first_cpu(cpu_set_t *all)
{
	cpu_set_t one;
	CHECK(sched_getaffinity(0, sizeof(*all), all) == 0, "affinity");
	int cpu = 0;
	while (!CPU_ISSET(cpu, all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "affinity");
	return cpu;
}

static void inherited(void)
{
	cpu_set_t all;
	const int cpu = first_cpu(&all);
	struct perf_event_attr a = attr(10, PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
					PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	a.inherit = a.task = a.comm = a.sample_id_all = 1;
	const int fd = vpmu_open(&a, 0, cpu, -1, 0);
	CHECK(fd >= 0, "open: %s", strerror(-fd));
	struct ring r = ring_map(fd, 8, PROT_READ | PROT_WRITE);
	uint64_t id, v;
	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	printf("inherited: refresh %s", error(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1)));
	on(fd);
	const pid_t child = fork();
	if (!child) {
		make(200);
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
	off(fd);
	unsigned samples = 0, same = 0, streams = 0, cpus = 0, forks = 0, exits = 0;
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		const uint64_t *const w = (const uint64_t *)(h + 1);
		/* FORK and EXIT end in the identities, IDENTIFIER last; a sample begins with it */
		const uint64_t *const ids = h->type == PERF_RECORD_SAMPLE ? w + 1 :
					    (const uint64_t *)((const char *)h + h->size) - 5;
		if (h->type == PERF_RECORD_SAMPLE && (uint32_t)ids[0] != (uint32_t)child)
			continue;
		forks += h->type == PERF_RECORD_FORK;
		exits += h->type == PERF_RECORD_EXIT;
		samples += h->type == PERF_RECORD_SAMPLE;
		same += ids[1] == id;
		streams += ids[2] != id;
		cpus += (uint32_t)ids[3] == (uint32_t)cpu;
	}
	CHECK(read(fd, &v, 8) == 8, "read");
	const unsigned records = forks + exits + samples;
	printf("; %u forks, %u exits, child has %s; %s ids, %s CPUs\n", forks, exits,
	       samples >= 20 && samples <= 40 ? "20 samples or a few more" : "another number of samples",
	       same == records ? "all" : "not all", cpus == records ? "all" : "not all");
	/* (the kernel may exchange the events of parent and child) */
	CHECK(!is_virtual || streams >= samples, "%u of %u have their own stream", streams, samples);
	CHECK(v >= 200 * (is_virtual ? UNIT : 1), "%ju", (uintmax_t)v);
	drop(fd, &r);
	a.inherit = 1;
	const int any = vpmu_open(&a, 0, -1, -1, 0);
	printf("inherited, on any CPU: mmap %s\n", mapped(any, 2 * PAGE, PROT_READ, MAP_SHARED, 0));
	close(any);
	sched_setaffinity(0, sizeof(all), &all);
}

/* ---- a reader that dies ---- */

static void dying_reader(void)
{
	int pipe_to_reader[2], pipe_from_reader[2];
	char c = 0;
	CHECK(pipe(pipe_to_reader) == 0 && pipe(pipe_from_reader) == 0, "pipe");
	const pid_t worker = fork();
	if (!worker) {
		CHECK(read(pipe_to_reader[0], &c, 1) == 1, "pipe");
		make(2000);		/* many more than fit */
		_exit(7);
	}
	const pid_t reader = fork();
	if (!reader) {
		const struct perf_event_attr a = attr(1, PERF_SAMPLE_IP);
		const int fd = open_or_die(&a, worker, -1);
		ring_map(fd, 1, PROT_READ | PROT_WRITE);
		on(fd);
		CHECK(write(pipe_from_reader[1], &c, 1) == 1, "pipe");
		for (;;)
			pause();
	}
	CHECK(read(pipe_from_reader[0], &c, 1) == 1, "pipe");
	kill(reader, SIGKILL);
	int status;
	CHECK(waitpid(reader, &status, 0) == reader, "wait");
	CHECK(write(pipe_to_reader[1], &c, 1) == 1, "pipe");
	CHECK(waitpid(worker, &status, 0) == worker, "wait");
	printf("a reader dies: the worker ends with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	for (int i = 0; i < 2; i++) {
		close(pipe_to_reader[i]);
		close(pipe_from_reader[i]);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 2, "usage: vpmu-as-kernel kernel|virtual");
	is_virtual = strcmp(argv[1], "virtual") == 0;
	setvbuf(stdout, NULL, _IOFBF, 65536);
	pages = mmap(NULL, MOST * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED && madvise((void *)pages, MOST * PAGE, MADV_NOHUGEPAGE) == 0, "memory");
	const struct perf_event_attr a = attr(1, 0);
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	if (fd < 0) {
		printf("the kernel gives no software events here: %s\n", strerror(-fd));
		return 77;
	}
	close(fd);
	printf("warm: %s\n", error(polled(-1, 0)));	/* the functions are loaded */
	wakeups();
	selects();
	epolls(0, "level");
	epolls(EPOLLET, "edge");
	epolls(EPOLLONESHOT, "once");
	epoll_errors();
	epoll_sleeps();
	full_ring();
	overwriting();
	mappings();
	outputs();
	dummies();
	names();
	periods();
	signals();
	inherited();
	dying_reader();
	return 0;
}
