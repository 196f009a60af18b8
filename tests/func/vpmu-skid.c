/* Samples of a virtual CPU that notices overflows late. Run by `tare run --flaws skid=MIN:MAX` with the
 * arguments MIN MAX PRECISE, where PRECISE is the highest precise_ip of the model; prints the skid of each
 * sample. Or `--flaws throttle=N` with the argument N. */
#include "sampling.h"

#include <fcntl.h>
#include <stdlib.h>
#include <ucontext.h>

#define PERIOD 2000

static uint64_t min_skid, max_skid;

static const uint64_t *words(const struct perf_event_header *h) { return (const uint64_t *)(h + 1); }

/* The counter and the address show how far behind the overflow the program was. */
static void counts(void)
{
	struct perf_event_attr a = sampling(PERIOD, PERF_SAMPLE_IP | PERF_SAMPLE_READ);
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 16, PROT_READ | PROT_WRITE);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(200000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	uint64_t n = 0, in_loop = 0, odd = 0;
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		const uint64_t ip = words(h)[0], value = words(h)[1], skid = value - ++n * PERIOD;
		CHECK(h->type == PERF_RECORD_SAMPLE && h->misc == PERF_RECORD_MISC_USER, "%u", h->misc);
		CHECK(skid <= max_skid, "sample %ju: skid %jd", (uintmax_t)n, (intmax_t)skid);
		if (ip != (uint64_t)loop_dec && ip != (uint64_t)loop_jnz)
			continue;	/* (a system call ends the last one early) */
		CHECK(skid >= min_skid, "sample %ju: skid %jd", (uintmax_t)n, (intmax_t)skid);
		printf("%ju\n", (uintmax_t)skid);
		/* the instruction that comes next: odd and even ones take turns */
		odd += (value + (ip == (uint64_t)loop_jnz)) % 2;
		in_loop++;
	}
	CHECK(in_loop >= 190 && (odd == 0 || odd == in_loop), "%ju in the loop, %ju odd", (uintmax_t)in_loop,
	      (uintmax_t)odd);
	CHECK(n == vpmu_read(fd) / PERIOD, "%ju samples", (uintmax_t)n);
	munmap(r.page, r.size + PAGE);
	close(fd);
}

static volatile uint64_t handler_ip, handler_pmc, handler_value;
static int the_fd;
static struct perf_event_mmap_page *the_page;

static uint64_t page_value(void)
{
	uint64_t v = (uint64_t)the_page->offset;
	const unsigned shift = 64u - the_page->pmc_width;
	if (the_page->index)
		v += (uint64_t)((int64_t)(vpmu_rdpmc(the_page->index - 1) << shift) >> shift);
	return v;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	handler_ip = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	handler_pmc = page_value();
	handler_value = vpmu_read(the_fd);
}

/* read, rdpmc, the sample and the context of the signal agree at the stop. */
static void stop(void)
{
	struct perf_event_attr a = sampling(PERIOD, PERF_SAMPLE_IP | PERF_SAMPLE_READ);
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	a.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	the_fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(the_fd, 1, PROT_READ | PROT_WRITE);
	the_page = r.page;
	sigaction(SIGRTMIN, &act, NULL);
	fcntl(the_fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC);
	fcntl(the_fd, F_SETSIG, SIGRTMIN);
	fcntl(the_fd, F_SETOWN, getpid());
	CHECK(ioctl(the_fd, PERF_EVENT_IOC_REFRESH, 1) == 0, "refresh: %s", strerror(errno));
	loop(100000);
	const struct perf_event_header *const h = ring_next(&r);
	CHECK(h && words(h)[0] == handler_ip, "ip %jx, the signal says %jx", (uintmax_t)words(h)[0],
	      (uintmax_t)handler_ip);
	const uint64_t value = words(h)[1];
	CHECK(value == handler_value && value == handler_pmc && value == vpmu_read(the_fd),
	      "sample %ju, read %ju, rdpmc %ju, later %ju", (uintmax_t)value, (uintmax_t)handler_value,
	      (uintmax_t)handler_pmc, (uintmax_t)vpmu_read(the_fd));
	/* every other instruction is a branch */
	const uint64_t skid = value - PERIOD;
	CHECK(skid >= min_skid / 2 && skid <= (max_skid + 1) / 2, "skid %ju", (uintmax_t)skid);
	munmap(r.page, r.size + PAGE);
	close(the_fd);
}

/* precise_ip 1: always the instruction behind the event; from 2 on the event's own. */
static void precise(unsigned most)
{
	struct perf_event_attr a = sampling(PERIOD, PERF_SAMPLE_IP | PERF_SAMPLE_READ);
	a.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	for (unsigned p = 1; p <= 3; p++) {
		a.precise_ip = p;
		const int fd = vpmu_open(&a, 0, -1, -1, 0);
		CHECK(p > most ? fd == -EOPNOTSUPP : fd >= 0, "precise_ip %u: %d", p, fd);
		if (fd < 0)
			continue;
		struct ring r = ring_map(fd, 8, PROT_READ | PROT_WRITE);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		loop(200000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		uint64_t n = 0;
		for (struct perf_event_header *h; (h = ring_next(&r));) {
			CHECK(words(h)[1] == ++n * PERIOD, "the counter says %ju", (uintmax_t)words(h)[1]);
			CHECK(!(h->misc & PERF_RECORD_MISC_EXACT_IP) == (p == 1), "misc %x", h->misc);
			CHECK(words(h)[0] == (uint64_t)(p == 1 ? loop_dec : loop_jnz), "precise_ip %u: %jx", p,
			      (uintmax_t)words(h)[0]);
		}
		CHECK(n == 100, "%ju samples", (uintmax_t)n);
		munmap(r.page, r.size + PAGE);
		close(fd);
	}
	a.precise_ip = 1;
	a.sample_period = 0;
	CHECK(vpmu_open(&a, 0, -1, -1, 0) == (most ? -EINVAL : -EOPNOTSUPP), "precise without samples");
}

/* The kernel, which a call enters, notices the overflow. The loop's last branch is the overflow, three
 * instructions before the call. */
extern const char after_call[];
static void at_call(void)
{
	struct perf_event_attr a = sampling(PERIOD, PERF_SAMPLE_IP);
	a.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 1, PROT_READ | PROT_WRITE);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	uint64_t n = PERIOD;
	__asm__ volatile("1: dec %0\n jnz 1b\n mov %1, %%eax\n nop\n syscall\n"
			 ".globl after_call\nafter_call:" : "+r"(n) : "i"(SYS_getpid) :
			 "rax", "rcx", "r11", "cc", "memory");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	const struct perf_event_header *const h = ring_next(&r);
	CHECK(h, "no sample");
	const uint64_t ip = words(h)[0];
	/* branches before the loop, on the way from the ioctl, may have made the overflow a bit earlier */
	CHECK(min_skid < 100 || ip == (uint64_t)after_call, "%jx, the call ends at %jx", (uintmax_t)ip,
	      (uintmax_t)(uintptr_t)after_call);
	munmap(r.page, r.size + PAGE);
	close(fd);
}

/* An event that makes too many samples stops until the next tick. */
static int throttled(uint64_t most)
{
	struct perf_event_attr a = sampling(1000, PERF_SAMPLE_IP | PERF_SAMPLE_ID);
	a.sample_id_all = 1;
	struct perf_event_attr b = vpmu_instructions();
	b.disabled = 1;
	const int whole = open_or_die(&b, 0, -1), fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 16, PROT_READ | PROT_WRITE);
	uint64_t id, in_tick = 0, samples = 0, stops = 0, goes = 0;
	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	ioctl(whole, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(30000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(whole, PERF_EVENT_IOC_DISABLE, 0);
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		if (h->type == PERF_RECORD_SAMPLE) {
			samples++;
			CHECK(++in_tick <= most, "%ju samples in a tick", (uintmax_t)in_tick);
			continue;
		}
		CHECK(h->size == 8 + 24 + 8 && words(h)[1] == id && words(h)[2] == id && words(h)[3] == id,
		      "size %u, id %ju", h->size, (uintmax_t)words(h)[1]);
		stops += h->type == PERF_RECORD_THROTTLE;
		goes += h->type == PERF_RECORD_UNTHROTTLE;
		CHECK(stops - goes <= 1, "%ju stops, %ju goes", (uintmax_t)stops, (uintmax_t)goes);
		/* the kernel says so before the last sample */
		CHECK(h->type != PERF_RECORD_THROTTLE || in_tick == most - 1, "%ju", (uintmax_t)in_tick);
		if (h->type == PERF_RECORD_UNTHROTTLE)
			in_tick = 0;
	}
	const uint64_t seen = vpmu_read(fd), all = vpmu_read(whole);
	CHECK(stops == 5 && samples >= 5 * most && samples < 6 * most && seen / 1000 == samples, "%ju stops, %ju samples, %ju",
	      (uintmax_t)stops, (uintmax_t)samples, (uintmax_t)seen);
	CHECK(all > 60000000, "%ju", (uintmax_t)all);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return throttled(strtoull(argv[1], NULL, 10));
	CHECK(argc == 4, "usage: vpmu-skid MIN MAX PRECISE");
	min_skid = strtoull(argv[1], NULL, 10);
	max_skid = strtoull(argv[2], NULL, 10);
	counts();
	stop();
	precise((unsigned)atoi(argv[3]));
	at_call();
	return 0;
}
