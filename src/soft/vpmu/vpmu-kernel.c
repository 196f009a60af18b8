/* Events of the kernel's that sample: clocks, page faults, context switches, and the event that counts nothing.
 *
 * What the kernel itself would record of them are addresses of the code cache and of the engine. So an event of
 * these that has a period, asks for records of mappings, names or tasks, or is in the group of a virtual event with
 * a period, is an event of the virtual PMU, without a counter. It writes to rings of the virtual PMU, and other
 * events of it may write to its ring. (An event that only counts stays the kernel's.)
 *
 * Clocks are the task's virtual time: they overflow at exact stops, as instructions do, and stand still in the
 * kernel. The others are the kernel's to know: the task opens an event on itself, with a period of 1.
 *
 * In user mode only page faults happen. The event has attr.sigtrap: its signal comes at the faulting instruction, with
 * the address; what concerns the engine's memory is left out. It waits in thread.vpmu.told until the thread is out of
 * the handler, because the record of a sample may fault itself. It may come in C, too, which reads the program's code
 * or does an instruction for it. A fault that ends in a SIGSEGV gets its signal in the engine's handler of that,
 * where it has not begun.
 *
 * In the kernel several may happen before the task is back in user mode, and a signal of a task that the launcher
 * traces is another context switch. So there the event has no signal, but a ring, which is read after each
 * system call. */
#include "vpmu-sampling.h"

#include "sys.h"
#include "text.h"
#include "translate.h"
#include "vpmu.h"

#define CODE_TRAP_PERF	6		/* si_code TRAP_PERF */
#define MARK		0x7461726500ull	/* attr.sig_data: the mark, and which event */
#define IN_KERNEL	VPMU_KERNEL_EVENTS
#define FAULTS		3u		/* the first of the table are page faults */
#define RING_PAGES	4u		/* of an event in the kernel */

static const uint8_t numbers[VPMU_KERNEL_EVENTS] = {
	PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_CGROUP_SWITCHES,
};

/* VPMU_KERNEL_EVENTS: no task is told of it, because it never happens on this architecture. */
static unsigned index_of(uint64_t number)
{
	unsigned w = 0;
	while (w < VPMU_KERNEL_EVENTS && numbers[w] != number)
		w++;
	return w;
}

int kernel_row(const struct perf_event_attr *attr)
{
	const bool clock = attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK;
	return clock ? VPMU_CLOCK_ROW : VPMU_KERNEL_ROW;
}

uint64_t kernel_gross(const struct vpmu_event *e, uint64_t clock)
{
	const struct vpmu_slot *const s = vpmu_slot(e->slot);
	const unsigned w = index_of(e->code);
	if (e->row == VPMU_CLOCK_ROW)
		return e->no_user ? 0 : clock / VPMU_PER_NS;
	return w == VPMU_KERNEL_EVENTS ? 0 : (e->no_user ? 0 : s->told[0][w]) + (e->with_kernel ? s->told[1][w] : 0);
}

/* ---- the kernel's events ---- */

static struct perf_event_attr attr_of(unsigned bit)
{
	const bool kernel = bit >= IN_KERNEL;
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(struct perf_event_attr),
		.config = numbers[bit % VPMU_KERNEL_EVENTS], .sample_period = 1,
		.sample_type = kernel ? PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN : PERF_SAMPLE_ADDR,
		.exclude_user = kernel, .exclude_kernel = !kernel, .exclude_hv = 1, .exclude_callchain_user = 1,
		.sigtrap = !kernel, .remove_on_exec = 1, .sig_data = kernel ? 0 : MARK | bit,
	};
}

static long open_on_self(unsigned bit)
{
	const struct perf_event_attr a = attr_of(bit);
	return sys6(__NR_perf_event_open, (long)&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
}

/* Before Linux 6.1 the signal of the event comes before the SIGSEGV of the same fault. */
static bool signals_in_order(void)
{
	char name[6][65];
	uint64_t major = 0, minor = 0;
	if (sys1(__NR_uname, name) < 0)
		return false;
	const char *const dot = text_decimal(name[2], &major);
	text_decimal(dot + 1, &minor);
	return major > 6 || (major == 6 && minor >= 1);
}

/* Can a task be told of it? If not, the kernel answers, and says why it refuses. */
static bool can_tell(const struct perf_event_attr *attr)
{
	const unsigned w = index_of(attr->config);
	const long fd = w == VPMU_KERNEL_EVENTS ? 0 : open_on_self(w + (attr->exclude_kernel ? 0 : IN_KERNEL));
	if (fd > 0)
		sys1(__NR_close, fd);
	return fd == 0 || (fd > 0 && signals_in_order());
}

bool kernel_is_sampled_here(const struct perf_event_attr *attr, uint32_t leader)
{
	if (attr->type != PERF_TYPE_SOFTWARE || attr->config == PERF_COUNT_SW_BPF_OUTPUT || attr->sigtrap ||
	    attr->config > PERF_COUNT_SW_CGROUP_SWITCHES || (leader && vpmu_event(leader)->software))
		return false;
	return (sampling_needs_sampler(attr) || (leader && vpmu_has_period(leader))) && can_tell(attr);
}

/* ---- being told ---- */

uint32_t kernel_wanted(uint32_t slot)
{
	uint32_t bits = 0;
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next) {
		const struct vpmu_event *const e = vpmu_event(i);
		const unsigned w = e->row == VPMU_KERNEL_ROW ? index_of(e->code) : VPMU_KERNEL_EVENTS;
		if (w == VPMU_KERNEL_EVENTS || e->state != VE_ACTIVE)
			continue;
		bits |= (!e->no_user && w < FAULTS ? 1u << w : 0) | (e->with_kernel ? 1u << (w + IN_KERNEL) : 0);
	}
	return bits;
}

static struct perf_event_mmap_page *page_of(const struct thread *t, unsigned bit)
{
	const uint64_t page = bit < IN_KERNEL ? bit : FAULTS + (bit - IN_KERNEL) * (1 + RING_PAGES);
	return (void *)((uint64_t)t + THREAD_KERNEL + page * PAGE);
}
_Static_assert(THREAD_KERNEL + (FAULTS + VPMU_KERNEL_EVENTS * (1 + RING_PAGES)) * PAGE <= THREAD_COUNTS, "layout");

static uint64_t size_of(unsigned bit)
{
	return bit < IN_KERNEL ? PAGE : (1 + RING_PAGES) * PAGE;
}

/* The mapping keeps the event; the program sees no descriptor. The signal stack has all its pages: a page fault of the
 * kernel while it writes a frame would be the next signal. */
static bool start_telling(struct thread *t, unsigned bit)
{
	zone_touch((uint64_t)t + THREAD_ALT, THREAD_STACK - THREAD_ALT);
	const long fd = open_on_self(bit);
	if (fd < 0)
		return false;
	const long at = sys6(__NR_mmap, (long)page_of(t, bit), (long)size_of(bit), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_FIXED, fd, 0);
	sys1(__NR_close, fd);
	return at > 0;
}

static void switch_telling(struct thread *t, uint32_t want)
{
	for (uint32_t bits = t->vpmu.tells & ~want; bits; bits &= bits - 1) {
		const unsigned bit = (unsigned)__builtin_ctz(bits);
		sys2(__NR_munmap, page_of(t, bit), size_of(bit));
		t->vpmu.tells &= ~(1u << bit);
	}
	for (uint32_t bits = want & ~t->vpmu.tells; bits; bits &= bits - 1) {
		const unsigned bit = (unsigned)__builtin_ctz(bits);
		t->vpmu.tells |= start_telling(t, bit) ? 1u << bit : 0;
	}
}

void kernel_stop_telling(struct thread *t)
{
	switch_telling(t, 0);
}

/* A debugger would see the signals, and a seccomp filter might end the program. Then the events say that they are
 * not complete. */
void kernel_follow(struct thread *t)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	const uint32_t wanted = __atomic_load_n(&s->wants_told, __ATOMIC_SEQ_CST);
	const uint32_t can = cache.traced || guest.filtered ? 0 : wanted;
	if (s->is_told == wanted && t->vpmu.tells == can)
		return;
	switch_telling(t, can);
	__atomic_store_n(&s->is_told, wanted, __ATOMIC_RELEASE);
	if (t->vpmu.tells == wanted)
		return;
	vpmu_lock(t);
	for (uint32_t i = s->events; i; i = vpmu_event(i)->next)
		vpmu_event(i)->lost |= vpmu_event(i)->row == VPMU_KERNEL_ROW && vpmu_event(i)->state >= VE_INACTIVE;
	vpmu_unlock();
}

/* ---- what happened ---- */

static void count(struct moment *m, unsigned w, bool kernel)
{
	const uint32_t slot = m->t->vpmu.slot;
	uint32_t next;
	vpmu_slot(slot)->told[kernel][w]++;
	for (uint32_t i = vpmu_slot(slot)->events; i; i = next) {
		/* (the lock is dropped while a full ring is waited for) */
		if (!vpmu_event(i)->used || vpmu_event(i)->slot != slot)
			return;
		const struct vpmu_event *const e = vpmu_event(i);
		next = e->next;
		if (e->row == VPMU_KERNEL_ROW && e->code == numbers[w] && (kernel ? e->with_kernel : !e->no_user))
			sampling_counted(m, i);
	}
}

static void count_fault(struct thread *t, const struct told_fault *f)
{
	struct moment m = { .t = t, .ip = f->ip ? f->ip : t->pc, .addr = f->addr };
	count(&m, f->which, false);
}

static void count_waiting(struct thread *t)
{
	for (uint32_t k = 0; k < t->vpmu.n_told; k++)
		count_fault(t, &t->vpmu.told[k]);
	t->vpmu.n_told = 0;
}

#define MOST_WORDS 256		/* of a record: its call chain is as long as perf_event_max_stack, at most */

struct kernel_record {
	struct perf_event_header h;
	uint64_t ip, addr, n, chain[MOST_WORDS];
};

/* Copies the record at data_tail, and goes on behind it. */
static bool take_record(struct perf_event_mmap_page *p, struct kernel_record *r)
{
	const uint8_t *const data = (const uint8_t *)p + PAGE;
	/* pairs with the kernel, which writes data_head behind the record */
	if (__atomic_load_n(&p->data_head, __ATOMIC_ACQUIRE) == p->data_tail)
		return false;
	mem_zero(r, sizeof(*r));
	uint32_t size = sizeof(r->h);
	for (uint32_t at = 0; at < size && at < sizeof(*r); at += 8) {
		mem_copy((uint8_t *)r + at, data + (p->data_tail + at) % (RING_PAGES * PAGE), 8);
		size = r->h.size;
	}
	__atomic_store_n(&p->data_tail, p->data_tail + size, __ATOMIC_RELEASE);
	return true;
}

/* Page faults of the engine's own memory are not the program's. */
static void read_ring(struct thread *t, unsigned bit)
{
	static struct kernel_record r;		/* guarded by the lock of the virtual PMU */
	const unsigned w = bit - IN_KERNEL;
	while (take_record(page_of(t, bit), &r)) {
		if (r.h.type == PERF_RECORD_LOST)	/* the id, and how many */
			vpmu_slot(t->vpmu.slot)->told[1][w] += r.addr;
		struct moment m = { .t = t, .ip = r.ip, .addr = r.addr, .kernel = &r.n };
		if (r.h.type == PERF_RECORD_SAMPLE && (w >= FAULTS || !engine_owns(r.addr, r.addr + 1)))
			count(&m, w, true);
	}
}

static void read_rings(struct thread *t)
{
	for (uint32_t bits = t->vpmu.tells >> IN_KERNEL; bits; bits &= bits - 1)
		read_ring(t, (unsigned)__builtin_ctz(bits) + IN_KERNEL);
}

void kernel_catch_up(struct thread *t)
{
	count_waiting(t);
	read_rings(t);
}

void vpmu_catch_up(struct thread *t)
{
	vpmu_lock(t);
	kernel_catch_up(t);
	vpmu_unlock();
}

/* ---- the signal ---- */

static uint64_t data_of(const struct k_siginfo *info)
{
	uint64_t data;
	__builtin_memcpy(&data, info->rest + 8, 8);
	return data;
}

bool vpmu_is_told(const struct k_siginfo *info)
{
	return info->signo == SIGTRAP && info->code == CODE_TRAP_PERF && (data_of(info) & ~0xffull) == MARK;
}

bool vpmu_concerns(const struct k_siginfo *info)
{
	return !engine_owns(info->addr, info->addr + 1);
}

/* What C reads outside copy_guest() is code that it translates: there the CPU would fetch. */
static struct told_fault fault_in_c(const struct thread *t, uint64_t addr, uint64_t pc)
{
	const bool copies = pc >= (uint64_t)copy_begin && pc < (uint64_t)copy_end;
	return (struct told_fault){ .ip = copies ? t->pc : addr, .addr = addr };
}

/* During a system call C reads and writes what the kernel would; while it holds the lock, what a sample shows. */
static bool is_for_program(const struct thread *t)
{
	return !vpmu_slot(t->vpmu.slot)->in_call &&
	       __atomic_load_n(&vpmu()->lock, __ATOMIC_RELAXED) != (uint32_t)t->tid;
}

void vpmu_told(struct thread *t, const struct k_siginfo *info, uint64_t pc)
{
	const bool before_segv = pc == (uint64_t)glue_master;
	struct told_fault f = !pc ? (struct told_fault){ .ip = t->pc, .addr = info->addr } :
			      before_segv ? (struct told_fault){ .addr = info->addr } : fault_in_c(t, info->addr, pc);
	f.which = (unsigned)(data_of(info) & 0xff);
	if (pc && !is_for_program(t))
		return;
	if (t->vpmu.n_told < sizeof(t->vpmu.told) / sizeof(t->vpmu.told[0]))
		t->vpmu.told[t->vpmu.n_told++] = f;
}

void vpmu_faulted(struct thread *t, uint64_t addr, bool hidden)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < t->vpmu.n_told; k++) {
		struct told_fault f = t->vpmu.told[k];
		const bool this = !f.ip && f.addr == addr;
		if (this)
			f.ip = t->pc;
		if (!this || !hidden)
			t->vpmu.told[n++] = f;
	}
	t->vpmu.n_told = n;
}
