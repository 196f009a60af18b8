/* The kernel's side of counting, as arch/x86/events/core.c and kernel/events/core.c
 * do it: see fake-perf.h. */
#include "fake-perf.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#define FIRST_FD 9000

struct fake_kernel fake;

static uint64_t mask(void)
{
	return fake.width == 64 ? ~0ull : (1ull << fake.width) - 1;
}

static uint64_t period(void)
{
	return fake.short_period ? (1ull << 31) - 1 : mask() >> 1;
}

static int64_t extend(uint64_t v)
{
	const unsigned shift = 64 - fake.width;
	return (int64_t)(v << shift) >> shift;
}

static uint64_t *reg_of(const struct fake_event *e)
{
	return &fake.regs[e->index - 1];
}

/* perf_event_update_userpage() */
static void update_page(struct fake_event *e, uint64_t prev_count)
{
	if (!e->page)
		return;
	e->page->lock++;
	e->page->index = e->index;
	e->page->offset = (int64_t)(e->count - (e->index ? prev_count : 0));
	e->page->pmc_width = (uint16_t)fake.page_width;
	e->page->cap_user_rdpmc = fake.cap;
	e->page->cap_user_time = fake.time;
	e->page->time_enabled = e->enabled;
	e->page->time_running = e->running;
	e->page->lock++;
}

/* x86_perf_event_set_period(): what is left of the period, below zero. */
static void start_register(struct fake_event *e)
{
	const uint64_t left = period() - e->count % period();
	*reg_of(e) = -left & mask();
	update_page(e, -left);
}

struct fake_event *fake_event(unsigned i)
{
	return &fake.events[i];
}

void fake_happen(struct fake_event *e, uint64_t n)
{
	e->count += n;
	if (e->index)
		*reg_of(e) = (*reg_of(e) + n) & mask();
}

void fake_overflow(struct fake_event *e)
{
	start_register(e);
}

void fake_move(struct fake_event *e, uint32_t index)
{
	if (e->index)
		*reg_of(e) = 0x5a5a5a;		/* somebody else's now */
	e->index = index;
	if (index)
		start_register(e);
	else
		update_page(e, 0);
}

void fake_forget_sign(struct fake_event *e)
{
	update_page(e, *reg_of(e));
}

static uint64_t read_register(unsigned reg)
{
	if (fake.before_read)
		fake.before_read(reg);
	const uint64_t v = fake.regs[reg];
	fake.reads++;
	if (fake.after_read)
		fake.after_read(reg);
	return fake.sign_extends ? (uint64_t)extend(v) : v;
}

/* Carries out the faulting instruction, or lets the fault kill the test. */
#ifdef __x86_64__
#define FAULT SIGSEGV
static bool emulate(ucontext_t *u)
{
	greg_t *const r = u->uc_mcontext.gregs;
	const unsigned char *const pc = (const unsigned char *)r[REG_RIP];
	if (pc[0] != 0x0f || pc[1] != 0x33)
		return false;
	const uint64_t v = read_register((unsigned)r[REG_RCX] & 31);
	r[REG_RAX] = (greg_t)(v & 0xffffffff);
	r[REG_RDX] = (greg_t)(v >> 32);
	r[REG_RIP] += 2;
	return true;
}
#else
#define FAULT SIGILL
/* mrs xT, pmevcntrN_el0: op0 3, op1 3, CRn 14, CRm 8-11, op2; pmccntr_el0. */
static bool emulate(ucontext_t *u)
{
	const uint32_t insn = *(const uint32_t *)u->uc_mcontext.pc;
	const uint32_t reg = insn >> 5 & 0x7fff;
	unsigned n;
	if (insn >> 20 != 0xd53)
		return false;
	if (reg == (1u << 14 | 3 << 11 | 9 << 7 | 13 << 3 | 0))
		n = 31;
	else if ((reg & ~0x1fu) == (1u << 14 | 3 << 11 | 14 << 7 | 8 << 3))
		n = reg & 31;
	else
		return false;
	u->uc_mcontext.regs[insn & 31] = read_register(n);
	u->uc_mcontext.pc += 4;
	return true;
}
#endif

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if (!emulate(context)) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

void fake_reset(unsigned width)
{
	memset(&fake, 0, sizeof(fake));
	fake.width = fake.page_width = width;
	fake.cap = true;
	fake.counters = 4;
	const struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	sigaction(FAULT, &sa, NULL);
}

/* The system calls. */

static struct fake_event *event_of(int fd)
{
	for (unsigned i = 0; i < FAKE_EVENTS; i++)
		if (fake.events[i].open && fake.events[i].fd == fd)
			return &fake.events[i];
	return NULL;
}

static void schedule(struct fake_event *e)
{
	const unsigned i = (unsigned)(e - fake.events);
	if (i < fake.counters) {
		e->index = i + 1;
		start_register(e);
	} else {
		e->lost = true;
	}
}

static int fake_open(const struct perf_event_attr *attr, int leader_fd)
{
	unsigned i = 0;
	if (fake.open_errno) {
		errno = fake.open_errno;
		return -1;
	}
	while (fake.events[i].open)
		i++;
	struct fake_event *const e = &fake.events[i];
	*e = (struct fake_event){ .open = true, .fd = FIRST_FD + (int)i, .attr = *attr,
				  .leader_fd = leader_fd, .enabled = 1000, .running = 1000 };
	/* A disabled leader holds its group back. */
	if (!attr->disabled && leader_fd < 0)
		schedule(e);
	return e->fd;
}

static void enable_group(const struct fake_event *leader)
{
	for (unsigned i = 0; i < FAKE_EVENTS; i++)
		if (fake.events[i].open && (&fake.events[i] == leader ||
					    fake.events[i].leader_fd == leader->fd))
			schedule(&fake.events[i]);
}

/* What --wrap of the linker makes of the calls in the code under test; the
 * 64-bit name is what mmap is called with large files. */
long __wrap_syscall(long nr, long a, long b, long c, long d, long e);
ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size);
int __real_close(int fd);
int __wrap_ioctl(int fd, unsigned long request, unsigned long arg);
int __wrap_close(int fd);
void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);

long __wrap_syscall(long nr, long a, long b, long c, long d, long e)
{
	if (nr == SYS_perf_event_open)
		return fake_open((const struct perf_event_attr *)a, (int)d);
	if (nr == SYS_gettid)
		return gettid();
	abort();	/* nothing else is expected here */
}

void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct fake_event *const e = event_of(fd);
	if (!e)
		return __real_mmap64(addr, len, prot, flags, fd, off);
	if (fake.mmap_errno) {
		errno = fake.mmap_errno;
		return MAP_FAILED;
	}
	e->page = __real_mmap64(addr, len, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	update_page(e, e->index ? (uint64_t)extend(*reg_of(e)) : 0);
	return e->page;
}

/* One event, or with PERF_FORMAT_GROUP its whole group in the order of opening. */
ssize_t __wrap_read(int fd, void *data, size_t size)
{
	const struct fake_event *const e = event_of(fd);
	if (!e)
		return __real_read(fd, data, size);
	if (e->lost)
		return 0;
	if (!(e->attr.read_format & PERF_FORMAT_GROUP)) {
		const uint64_t words[3] = { e->count, e->enabled, e->running };
		memcpy(data, words, sizeof(words));
		return sizeof(words);
	}
	uint64_t words[3 + FAKE_EVENTS] = { 0, e->enabled, e->running };
	for (unsigned i = 0; i < FAKE_EVENTS; i++)
		if (fake.events[i].open &&
		    (&fake.events[i] == e || fake.events[i].leader_fd == fd))
			words[3 + words[0]++] = fake.events[i].count;
	memcpy(data, words, (3 + words[0]) * sizeof(words[0]));
	return (ssize_t)((3 + words[0]) * sizeof(words[0]));
}

int __wrap_ioctl(int fd, unsigned long request, unsigned long arg)
{
	const struct fake_event *const e = event_of(fd);
	if (!e || request != PERF_EVENT_IOC_ENABLE)
		abort();
	enable_group(e);
	return 0;
}

int __wrap_close(int fd)
{
	struct fake_event *const e = event_of(fd);
	if (!e)
		return __real_close(fd);
	e->open = false;
	return 0;
}
