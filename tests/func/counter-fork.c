/* A forked child never crashes on its parent's counters and never reads them: an
 * error, or a counter of its own. With the real kernel and a software event.
 */
#include "func.h"
#include "counter-room.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void touch(int pages)
{
	char *const p = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED, "mmap");
	madvise(p, (size_t)pages * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < pages; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, (size_t)pages * 4096);
}

static pid_t plain_fork(void)
{
	return fork();
}

/* Not seen by libc, so by no fork handler either. */
static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void fails_as_forked(struct tare_counter *c)
{
	uint64_t v;
	struct tare_sample s;
	struct tare_overhead o;
	CHECK(tare_counter_read(c, &v) == TARE_E_FORKED, "read");
	CHECK(tare_counter_read_pair(c, &v) == TARE_E_FORKED, "pair");
	CHECK(tare_counter_sample(c, &s) == TARE_E_FORKED, "sample");
	CHECK(tare_counter_reset(c) == TARE_E_FORKED, "reset");
	CHECK(tare_counter_overhead(c, &o) == TARE_E_FORKED, "overhead");
	CHECK(tare_counter_status(c) & TARE_STATUS_FORKED, "status");
}

static int child(struct tare_counter *reopened, struct tare_counter *closed)
{
	uint64_t before, after;
	struct tare_why why;
	fails_as_forked(reopened);
	fails_as_forked(closed);
	tare_counter_close(closed);
	CHECK(tare_counter_reopen(reopened, &why) == 0, "%s", why.what);
	CHECK(tare_counter_status(reopened) == 0, "status");
	touch(4);	/* the libraries' own first times */
	CHECK(tare_counter_read(reopened, &before) == 0, "read");
	touch(100);
	CHECK(tare_counter_read(reopened, &after) == 0, "read");
	CHECK(after - before >= 100 && (SANITIZED || after - before < 110), "%" PRIu64, after - before);
	tare_counter_close(reopened);
	return 0;
}

static void survives(pid_t (*forker)(void), const char *name)
{
	struct tare_counter *c, *d;
	struct tare_why why;
	CHECK(tare_counter_open(name, &c, &why) == 0, "%s", why.what);
	CHECK(tare_counter_open(name, &d, &why) == 0, "%s", why.what);
	const pid_t pid = forker();
	if (pid == 0)
		_exit(child(c, d));
	int status;
	waitpid(pid, &status, 0);
	CHECK(status == 0, "child: status %#x", status);
	/* and the parent's are as they were */
	uint64_t before, after;
	CHECK(tare_counter_read(c, &before) == 0, "read");
	touch(100);
	CHECK(tare_counter_read(c, &after) == 0, "read");
	CHECK(after - before >= 100 && (SANITIZED || after - before < 110), "%" PRIu64, after - before);
	CHECK(tare_counter_status(c) == 0, "status %#x", tare_counter_status(c));
	tare_counter_close(c);
	tare_counter_close(d);
}

/* A counter that has its page mapped and its fast read armed, as on hardware: in
 * a child the page is a hole and rdpmc is forbidden, and nothing touches either. */
static void armed(pid_t (*forker)(void))
{
	struct tare_counter *c;
	struct tare_why why;
	CHECK(tare_counter_open("page-faults:u", &c, &why) == 0, "%s", why.what);
	struct counter_cold *const k = counter_cold(c);
	CHECK(k->parts[0].page, "its page is mapped even where it cannot be used");
	k->b.path = TARE_PATH_RDPMC;
	k->b.serializer = pmc_inline_serializer();
	k->parts[0].select = pmc_select(1, false);
	counter_arm(c);
	CHECK(c->select, "armed");
	const pid_t pid = forker();
	if (pid == 0) {
		unsigned char present;
		CHECK(mincore((void *)(c + 1), 4096, &present) < 0 && errno == ENOMEM,
		      "the kernel gave the child the page after all");
		CHECK(c->select == 0 && c->key == 0 && c->alive == 0, "not wiped");
		fails_as_forked(c);
		tare_counter_close(c);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	CHECK(status == 0, "child: status %#x", status);
	CHECK(c->select, "still armed here");
	tare_counter_close(c);
}

/* What the documentation says of the kernel. */
static void inherited_events_have_no_page(void)
{
	const struct tare_encoding e = { .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_PAGE_FAULTS,
					 .exclude_kernel = true };
	struct perf_event_attr attr;
	perf_attr_fill(&attr, &e);
	attr.inherit = 1;
	const int fd = perf_open(&attr, 0, -1, -1);
	CHECK(fd >= 0, "open %d", fd);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL,
	      "mmap of an inherited event");
	close(fd);
}

int main(void)
{
	struct tare_counter *c;
	struct tare_why why;
	if (tare_counter_open("page-faults:u", &c, &why) < 0)
		SKIP("no counters here: %s", why.what);
	tare_counter_close(c);
	survives(plain_fork, "page-faults:u");
	survives(raw_fork, "page-faults:u");
	armed(plain_fork);
	armed(raw_fork);
	inherited_events_have_no_page();
	return 0;
}
