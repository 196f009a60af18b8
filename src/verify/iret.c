/* When an event counts an interrupt: iret.h says how it is asked. */
#include "iret.h"

#include "part.h"
#include "perf-attr.h"
#include "why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAMPLES 201		/* an interrupt falls into few of them */
#define WARM_UP 8

const char *iret_when_name(enum iret_when when)
{
	switch (when) {
	case IRET_UNKNOWN: break;
	case IRET_NEVER: return "never";
	case IRET_ENTRY: return "entry";
	case IRET_EXIT: return "exit";
	case IRET_BOTH: return "both";
	}
	return "unknown";
}

int iret_pair_error(enum iret_when event, enum iret_when interrupts)
{
	const int has_event = event != IRET_EXIT;
	const int has_interrupt = interrupts != IRET_EXIT;

	return has_event - has_interrupt;
}

/* What one call counted before and after the kernel's read. */
struct sample {
	int64_t entry, exit;
};

/* How often the most frequent sample came; *most is that one. */
static unsigned most_frequent(const struct sample *s, unsigned n, struct sample *most)
{
	unsigned best = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned same = 0;
		for (unsigned k = 0; k < n; k++)
			same += s[k].entry == s[i].entry && s[k].exit == s[i].exit;
		if (same > best) {
			best = same;
			*most = s[i];
		}
	}
	return best;
}

static void judge(struct iret_answer *a)
{
	if (a->agreeing * 2 <= a->samples) {
		snprintf(a->what, sizeof(a->what), "only %u of %u reads agree", a->agreeing, a->samples);
		a->when = IRET_UNKNOWN;
	} else if (a->entry < 0 || a->exit < 0) {
		snprintf(a->what, sizeof(a->what), "int 0x80 counts less than syscall: %lld and %lld",
			 (long long)a->entry, (long long)a->exit);
		a->when = IRET_UNKNOWN;
	} else if (a->entry && a->exit) {
		a->when = IRET_BOTH;
	} else {
		a->when = a->entry ? IRET_ENTRY : a->exit ? IRET_EXIT : IRET_NEVER;
	}
}

/* ---- in the child ---- */

struct probe {
	int fd;
	void *low;
	const volatile struct perf_event_mmap_page *page;
	unsigned width;
};

/* Values in user space are right modulo 2^width (part.h). */
static int64_t difference(const struct probe *p, uint64_t a, uint64_t b)
{
	const unsigned unused = 64 - p->width;

	return (int64_t)((a - b) << unused) >> unused;
}

/* False: the counter cannot be read here, or has moved meanwhile. */
static bool take_sample(const struct probe *p, enum iret_call call, struct sample *s)
{
	const uint32_t lock = p->page->lock, index = p->page->index;
	const uint64_t offset = (uint64_t)p->page->offset;
	struct iret_reading r;

	if (!index || lock & 1)
		return false;
	if (!iret_read(call, p->fd, index, p->low, &r))
		return false;
	if (p->page->lock != lock || p->page->index != index)
		return false;
	s->entry = difference(p, r.kernel, r.before + offset);
	s->exit = difference(p, r.after + offset, r.kernel);
	return true;
}

static unsigned take_samples(const struct probe *p, enum iret_call call, struct sample *s)
{
	unsigned n = 0;

	for (int k = -WARM_UP; k < SAMPLES; k++)
		n += take_sample(p, call, &s[n]) && k >= 0;
	return n;
}

static void probe(const struct probe *p, enum tare_role role, struct iret_answer *a)
{
	struct sample s[SAMPLES + 1], plain = { 0 }, interrupt = { 0 };

	const unsigned n = take_samples(p, IRET_SYSCALL, s);
	const unsigned same = most_frequent(s, n, &plain);
	a->samples = take_samples(p, IRET_INT80, s);
	a->agreeing = most_frequent(s, a->samples, &interrupt);
	if (!n || !a->samples || same * 2 <= n) {
		snprintf(a->what, sizeof(a->what), n ? "the kernel does not take int 0x80" :
						       "the counter cannot be read by rdpmc");
		return;
	}
	if (role == TARE_ROLE_INSTRUCTIONS && !plain.entry && !plain.exit) {
		snprintf(a->what, sizeof(a->what), "it counts nothing");
		return;
	}
	a->entry = interrupt.entry - plain.entry;
	a->exit = interrupt.exit - plain.exit;
	judge(a);
}

static void ask_here(const struct tare_event *event, struct iret_answer *a)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr;
	struct probe p = { .fd = -1 };

	perf_attr_fill(&attr, &event->base);
	attr.pinned = 1;
	p.fd = perf_open(&attr, 0, -1, -1);
	if (p.fd < 0) {
		snprintf(a->what, sizeof(a->what), "%.60s: %s", event->name, strerror(-p.fd));
		return;
	}
	p.low = iret_memory(page);
	p.page = mmap(NULL, page, PROT_READ, MAP_SHARED, p.fd, 0);
	if (p.low == MAP_FAILED || p.page == MAP_FAILED) {
		snprintf(a->what, sizeof(a->what), "%.60s: %s", event->name, strerror(errno));
		return;
	}
	p.width = p.page->pmc_width;
	if (!p.page->cap_user_rdpmc || !p.width || p.width > 64) {
		snprintf(a->what, sizeof(a->what), "the counter cannot be read by rdpmc");
		return;
	}
	memset(p.low, 0, page);
	probe(&p, event->role, a);
}

/* ---- in the caller ---- */

static bool receive(int fd, struct iret_answer *a)
{
	size_t got = 0;

	while (got < sizeof(*a)) {
		const ssize_t n = read(fd, (char *)a + got, sizeof(*a) - got);
		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		got += n > 0 ? (size_t)n : 0;
	}
	return true;
}

int iret_ask(const struct tare_event *event, struct iret_answer *a, struct tare_why *why)
{
	int ends[2], status = 0;

	memset(a, 0, sizeof(*a));
	if (iret_lacks()) {
		snprintf(a->what, sizeof(a->what), "%s", iret_lacks());
		return 0;
	}
	if (event->kind != TARE_EVENT_PERF) {
		snprintf(a->what, sizeof(a->what), "%.60s is no event of its own", event->name);
		return 0;
	}
	if (pipe2(ends, O_CLOEXEC) < 0)
		return why_errno(why, TARE_E_IO, errno, "a pipe");
	const pid_t child = fork();
	if (child == 0) {
		ask_here(event, a);
		const bool sent = write(ends[1], a, sizeof(*a)) == (ssize_t)sizeof(*a);
		_exit(!sent);
	}
	close(ends[1]);
	const bool got = child > 0 && receive(ends[0], a);
	close(ends[0]);
	if (child < 0)
		return why_errno(why, TARE_E_IO, errno, "a child process");
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!got) {
		memset(a, 0, sizeof(*a));
		snprintf(a->what, sizeof(a->what), WIFSIGNALED(status) ?
			 "the kernel takes no 32-bit system calls: int 0x80 ended in signal %d" :
			 "a child process failed: status %d",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	return 0;
}
