/* Overflow of virtual counters: signals, the ring buffer, poll, refresh, and what is refused. Each
 * sample is at exactly the N-th event. Run by `tare run --cpu zen2`. */
#include "sampling.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <ucontext.h>

/* Every instruction of a loop is sampled once, in order. */
static void each_instruction(void)
{
	const struct perf_event_attr a = sampling(1, PERF_SAMPLE_IP | PERF_SAMPLE_READ);
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 16, PROT_READ | PROT_WRITE);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(300);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	uint64_t seen = 0, n = 0;
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		const uint64_t *const w = (const uint64_t *)(h + 1);
		CHECK(h->type == PERF_RECORD_SAMPLE && h->size == 24, "type %u, size %u", h->type, h->size);
		CHECK(w[1] == ++n, "sample %ju: the counter says %ju", (uintmax_t)n, (uintmax_t)w[1]);
		if (w[0] != (uint64_t)loop_dec && w[0] != (uint64_t)loop_jnz)
			continue;
		CHECK(w[0] == (uint64_t)(seen % 2 ? loop_jnz : loop_dec), "sample %ju", (uintmax_t)n);
		seen++;
	}
	CHECK(seen == 600, "%ju samples in the loop", (uintmax_t)seen);
	CHECK(vpmu_read(fd) == n, "%ju samples, the counter says %ju", (uintmax_t)n,
	      (uintmax_t)vpmu_read(fd));
	munmap(r.page, r.size + PAGE);
	close(fd);
}

/* A sample at each N-th event of a kind is at an instruction that makes the event. */
static void zero_skid(void)
{
	for (uint64_t period = 1; period < 40; period += 3) {
		struct perf_event_attr a = sampling(period, PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD);
		a.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		const int fd = open_or_die(&a, 0, -1);
		struct ring r = ring_map(fd, 8, PROT_READ | PROT_WRITE);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		loop(500);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		uint64_t n = 0, in_loop = 0;
		for (struct perf_event_header *h; (h = ring_next(&r)); n++) {
			const uint64_t *const w = (const uint64_t *)(h + 1);
			CHECK(w[0] != (uint64_t)loop_dec, "a sample at an instruction that is no branch");
			CHECK(w[1] == period, "period %ju", (uintmax_t)w[1]);
			in_loop += w[0] == (uint64_t)loop_jnz;
		}
		CHECK(n == vpmu_read(fd) / period, "%ju samples", (uintmax_t)n);
		CHECK(in_loop >= 500 / period && in_loop <= 500 / period + 1, "%ju", (uintmax_t)in_loop);
		munmap(r.page, r.size + PAGE);
		close(fd);
	}
}

static volatile sig_atomic_t signals, hups, last_fd, last_code;
static volatile uintptr_t last_ip;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	signals++;
	hups += info->si_code == POLL_HUP;
	last_fd = info->si_fd;
	last_code = info->si_code;
	last_ip = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

static void ask_for_signals(int fd, int sig)
{
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	const struct f_owner_ex me = { F_OWNER_TID, (pid_t)syscall(SYS_gettid) };
	CHECK(sigaction(sig, &act, NULL) == 0, "sigaction");
	CHECK(fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC) == 0, "F_SETFL: %s", strerror(errno));
	CHECK(fcntl(fd, F_SETSIG, sig) == 0, "F_SETSIG: %s", strerror(errno));
	CHECK(fcntl(fd, F_SETOWN_EX, &me) == 0, "F_SETOWN_EX: %s", strerror(errno));
	CHECK(fcntl(fd, F_GETSIG) == sig, "F_GETSIG");
	signals = hups = 0;
}

/* A signal at each overflow; PERF_EVENT_IOC_REFRESH ends after so many, with POLL_HUP. */
static void refresh(void)
{
	struct perf_event_attr a = sampling(1000, 0);
	a.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	const int fd = open_or_die(&a, 0, -1);
	ask_for_signals(fd, SIGRTMIN + 3);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	CHECK(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) == 0, "refresh: %s", strerror(errno));
	loop(5000);
	CHECK(signals == 1 && hups == 1 && last_fd == fd, "%d signals, %d hups", (int)signals, (int)hups);
	/* the program is right behind the 1000th branch: in the loop, at its first instruction */
	CHECK(last_ip == (uintptr_t)loop_dec, "%lx", (unsigned long)last_ip);
	CHECK(vpmu_read(fd) == 1000, "%ju", (uintmax_t)vpmu_read(fd));
	CHECK(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3) == 0, "refresh");
	loop(50000);
	CHECK(signals == 4 && hups == 2 && last_code == POLL_HUP, "%d signals", (int)signals);
	CHECK(vpmu_read(fd) == 4000, "%ju", (uintmax_t)vpmu_read(fd));
	/* a period of its own from now on */
	uint64_t period = 100;
	CHECK(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period) == 0, "period: %s", strerror(errno));
	CHECK(ioctl(fd, PERF_EVENT_IOC_REFRESH, 2) == 0, "refresh");
	loop(1000);
	CHECK(signals == 6 && vpmu_read(fd) == 4200, "%d, %ju", (int)signals, (uintmax_t)vpmu_read(fd));
	close(fd);
}

/* A handler that is long enough to overflow itself: no signal is lost, the program ends. */
static void in_handler(void)
{
	const struct perf_event_attr a = sampling(20000, 0);
	const int fd = open_or_die(&a, 0, -1);
	ask_for_signals(fd, SIGIO);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(100000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	CHECK(signals >= 10 && !hups && last_code == POLL_IN, "%d signals", (int)signals);
	close(fd);
}

static void full_ring(bool overwrite)
{
	struct perf_event_attr a = sampling(10, PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	a.read_format = PERF_FORMAT_LOST;
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 1, overwrite ? PROT_READ : PROT_READ | PROT_WRITE);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(5000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (overwrite) {
		CHECK(r.page->data_head > 4 * PAGE, "head %ju", (uintmax_t)r.page->data_head);
		munmap(r.page, 2 * PAGE);
		close(fd);
		return;
	}
	CHECK(r.page->data_head < PAGE && r.page->data_head > PAGE - 48, "head %ju",
	      (uintmax_t)r.page->data_head);
	uint64_t got = 0, lost = 0, v[2];
	while (ring_next(&r))
		got++;
	ring_done(&r);
	/* the next sample that fits comes behind a LOST record */
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(20);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		if (h->type == PERF_RECORD_LOST)
			lost += ((const uint64_t *)(h + 1))[1];
		else
			got++;
	}
	CHECK(read(fd, v, sizeof(v)) == 16 && v[1] == lost, "lost %ju, the event says %ju",
	      (uintmax_t)lost, (uintmax_t)v[1]);
	CHECK(lost && got + lost == v[0] / 10, "%ju + %ju of %ju", (uintmax_t)got, (uintmax_t)lost,
	      (uintmax_t)v[0]);
	munmap(r.page, 2 * PAGE);
	close(fd);
}

static int ready(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const int n = poll(&p, 1, ms);
	CHECK(n >= 0, "poll: %s", strerror(errno));
	return p.revents;
}

static void polling(bool watermark)
{
	struct perf_event_attr a = sampling(1000, PERF_SAMPLE_IP);
	a.watermark = watermark;
	a.wakeup_events = watermark ? 160 : 5;		/* 10 samples, or 5 */
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 2, PROT_READ | PROT_WRITE);
	CHECK(ready(fd, 0) == 0, "nothing to read yet");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(1600);
	CHECK(ready(fd, 0) == 0, "three samples");
	loop(7000);
	CHECK(ready(fd, 5000) == POLLIN, "17 samples");
	CHECK(ready(fd, 0) == 0, "said once");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	munmap(r.page, r.size + PAGE);
	close(fd);
}

static void redirected(void)
{
	const struct perf_event_attr a = sampling(100, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP);
	struct perf_event_attr b = sampling(50, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP);
	b.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	const int to = open_or_die(&a, 0, -1), from = open_or_die(&b, 0, -1);
	uint64_t id[2], n[2] = { 0 };
	CHECK(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, to) == -1 && errno == EINVAL, "no ring yet");
	struct ring r = ring_map(to, 8, PROT_READ | PROT_WRITE);
	CHECK(ioctl(from, PERF_EVENT_IOC_SET_OUTPUT, to) == 0, "%s", strerror(errno));
	CHECK(ioctl(to, PERF_EVENT_IOC_SET_OUTPUT, to) == -1 && errno == EINVAL, "to itself");
	ioctl(to, PERF_EVENT_IOC_ID, &id[0]);
	ioctl(from, PERF_EVENT_IOC_ID, &id[1]);
	ioctl(to, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(from, PERF_EVENT_IOC_ENABLE, 0);
	loop(1000);
	ioctl(from, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(to, PERF_EVENT_IOC_DISABLE, 0);
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		const uint64_t i = *(const uint64_t *)(h + 1);
		CHECK(i == id[0] || i == id[1], "id %ju", (uintmax_t)i);
		n[i == id[1]]++;
	}
	CHECK(n[0] == vpmu_read(to) / 100 && n[1] == vpmu_read(from) / 50, "%ju, %ju", (uintmax_t)n[0],
	      (uintmax_t)n[1]);
	close(from);
	munmap(r.page, r.size + PAGE);
	close(to);
}

/* A child's events go to the ring of the event that it has inherited; with them FORK and EXIT. */
static void inherited(void)
{
	cpu_set_t all, one;
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0, "affinity");
	int cpu = 0;
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "affinity");
	struct perf_event_attr a = sampling(1000, PERF_SAMPLE_TID);
	a.inherit = a.task = a.sample_id_all = 1;
	const int fd = vpmu_open(&a, 0, cpu, -1, 0);
	CHECK(fd >= 0, "open: %s", strerror(-fd));
	struct ring r = ring_map(fd, 8, PROT_READ | PROT_WRITE);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	const pid_t child = fork();
	if (!child) {
		loop(50000);
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	int forks = 0, exits = 0, samples = 0;
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		const uint32_t *const w = (const uint32_t *)(h + 1);
		forks += h->type == PERF_RECORD_FORK && w[0] == (uint32_t)child &&
			 w[1] == (uint32_t)getpid();
		exits += h->type == PERF_RECORD_EXIT && w[0] == (uint32_t)child;
		samples += h->type == PERF_RECORD_SAMPLE && w[0] == (uint32_t)child;
		CHECK(forks || h->type != PERF_RECORD_SAMPLE || w[0] != (uint32_t)child, "order");
	}
	CHECK(forks == 1 && exits == 1 && samples >= 100, "%d, %d, %d", forks, exits, samples);
	munmap(r.page, r.size + PAGE);
	close(fd);
	sched_setaffinity(0, sizeof(all), &all);
}

static void chain_and_registers(void)
{
	struct perf_event_attr a = sampling(1000, PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
					    PERF_SAMPLE_STACK_USER);
	a.sample_regs_user = 1ull << 7 | 1ull << 8;	/* sp, ip */
	a.sample_stack_user = 64;
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 8, PROT_READ | PROT_WRITE);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(3000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	int n = 0;
	for (struct perf_event_header *h; (h = ring_next(&r)); n++) {
		const uint64_t *w = (const uint64_t *)(h + 1), frames = *w++;
		CHECK(frames >= 2 && w[0] == (uint64_t)PERF_CONTEXT_USER, "%ju", (uintmax_t)frames);
		const uint64_t ip = w[1], *const regs = w + frames;
		CHECK(regs[0] == PERF_SAMPLE_REGS_ABI_64, "abi %ju", (uintmax_t)regs[0]);
		/* registers are those after the instruction */
		if (ip == (uint64_t)loop_dec)
			CHECK(regs[2] == (uint64_t)loop_jnz, "%jx", (uintmax_t)regs[2]);
		CHECK(regs[3] == 64 && regs[4 + 8] == 64, "stack");
		uint64_t top;
		memcpy(&top, (const void *)regs[1], 8);
		(void)top;			/* it is mapped */
	}
	CHECK(n >= 6, "%d samples", n);
	munmap(r.page, r.size + PAGE);
	close(fd);
}

static int traced_fd;

static void again(int sig)
{
	(void)sig;
	signals++;
	ioctl(traced_fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(traced_fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* A tracer that switches the event of its child off and on sees no stop of it. */
static void traced(void)
{
	const pid_t child = fork();
	int status;
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		loop(5000000);
		_exit(3);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status), "%x", status);
	const struct perf_event_attr a = sampling(1000000, PERF_SAMPLE_IP);
	traced_fd = open_or_die(&a, child, -1);
	struct sigaction act = { .sa_handler = again, .sa_flags = SA_RESTART };
	sigaction(SIGIO, &act, NULL);
	signals = 0;
	fcntl(traced_fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC);
	fcntl(traced_fd, F_SETOWN, getpid());
	ioctl(traced_fd, PERF_EVENT_IOC_ENABLE, 0);
	CHECK(ptrace(PTRACE_CONT, child, 0, 0) == 0, "%s", strerror(errno));
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3,
	      "status %x", status);
	CHECK(signals >= 1, "no signal");
	close(traced_fd);
}

/* A mask that ppoll sets while it waits. */
static void masked_poll(void)
{
	const struct perf_event_attr a = sampling(1000, PERF_SAMPLE_IP);
	const int fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(fd, 1, PROT_READ | PROT_WRITE);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const struct timespec none = { 0, 0 };
	sigset_t block, nothing;
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigaction(SIGUSR1, &act, NULL);
	sigemptyset(&nothing);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, NULL);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(100000);			/* more than half of the ring */
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	CHECK(ppoll(&p, 1, &none, &nothing) == 1 && p.revents == POLLIN, "%x", (unsigned)p.revents);
	signals = 0;
	raise(SIGUSR1);
	CHECK(!signals, "not blocked");
	CHECK(ppoll(&p, 1, NULL, &nothing) == -1 && errno == EINTR && signals == 1, "%s, %d signals",
	      strerror(errno), (int)signals);
	sigprocmask(SIG_UNBLOCK, &block, NULL);
	munmap(r.page, r.size + PAGE);
	close(fd);
}

static void refusals(void)
{
	struct perf_event_attr a = sampling(1000, PERF_SAMPLE_IP);
	uint64_t none = 0, most = 0;
	const int fd = open_or_die(&a, 0, -1);
	CHECK(ioctl(fd, PERF_EVENT_IOC_PERIOD, &none) == -1 && errno == EINVAL, "period 0");
	CHECK(mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL,
	      "three pages of data");
	struct ring r = ring_map(fd, 2, PROT_READ | PROT_WRITE);
	CHECK(mmap(NULL, 5 * PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL,
	      "another size");
	munmap(r.page, r.size + PAGE);
	close(fd);
	FILE *const f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "r");
	if (f && fscanf(f, "%ju", (uintmax_t *)&most) == 1) {
		a.freq = 1;
		a.sample_freq = most + 1;
		CHECK(vpmu_open(&a, 0, -1, -1, 0) == -EINVAL, "frequency");
	}
	if (f)
		fclose(f);
	a = sampling(1ull << 63, PERF_SAMPLE_IP);
	CHECK(vpmu_open(&a, 0, -1, -1, 0) == -EINVAL, "period");
	a = sampling(1000, PERF_SAMPLE_REGS_USER);
	a.sample_regs_user = 1ull << 40;
	CHECK(vpmu_open(&a, 0, -1, -1, 0) == -EINVAL, "registers");
	const struct perf_event_attr counting = vpmu_instructions();
	const int plain = open_or_die(&counting, 0, -1);
	CHECK(ioctl(plain, PERF_EVENT_IOC_REFRESH, 1) == -1 && errno == EINVAL, "refresh of a counter");
	CHECK(ioctl(plain, PERF_EVENT_IOC_PERIOD, &most) == -1 && errno == EINVAL, "period of one");
	close(plain);
}

int main(void)
{
	each_instruction();
	zero_skid();
	refresh();
	in_handler();
	full_ring(false);
	full_ring(true);
	polling(false);
	polling(true);
	redirected();
	inherited();
	chain_and_registers();
	traced();
	masked_poll();
	refusals();
	return 0;
}
