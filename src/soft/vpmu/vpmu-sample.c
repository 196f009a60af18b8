/* The bytes of SAMPLE records, in the order that perf_event_open(2) gives. */
#include "vpmu-sampling.h"

#include "sys.h"
#include "text.h"

#include <asm/perf_regs.h>

#define MAX_RECORD	65528u		/* the size has 16 bits; records are multiples of 8 */
#define MAX_FRAMES	127u		/* perf_event_max_stack, as the kernel starts with */
#define USER_SS		0x2b

static uint8_t record[65536 + 4096];	/* guarded by the lock of the virtual PMU */

uint64_t vpmu_time(const struct vpmu_event *e)
{
	int64_t now[2] = { 0, 0 };
	if (!e->clock && vpmu()->has_time)
		return vpmu()->time_zero + vpmu_since_zero(vpmu());
	sys2(__NR_clock_gettime, e->clock ? (long)e->clock - 1 : CLOCK_MONOTONIC, now);
	return (uint64_t)now[0] * 1000000000ull + (uint64_t)now[1];
}

static uint64_t time_of(struct moment *m, uint32_t i)
{
	if (!m->ns)
		m->ns = vpmu_time(vpmu_event(vpmu_root(i)));
	return m->ns;
}

static uint8_t *w8(uint8_t *w, uint64_t v)
{
	__builtin_memcpy(w, &v, 8);
	return w + 8;
}

static uint8_t *w44(uint8_t *w, uint32_t low, uint32_t high)
{
	return w8(w, low | (uint64_t)high << 32);
}

static uint32_t cpu_of(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	uint32_t cpu = 0;
	if (e->cpu >= 0)
		return (uint32_t)e->cpu;
	sys3(__NR_getcpu, &cpu, 0, 0);
	return cpu;
}

/* ---- identification, in samples and other records ---- */

static uint32_t pid_of(const struct moment *m)
{
	return (uint32_t)(m->t->is_vfork ? m->t->tid : E.pid);
}

#define ID_FIELDS (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
		   PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

uint64_t sample_id_size(const struct vpmu_sampler *s)
{
	uint64_t n = 0;
	for (uint64_t bits = s->id_all ? s->type & ID_FIELDS : 0; bits; bits &= bits - 1)
		n += 8;
	return n;
}

uint8_t *sample_id(struct moment *m, uint32_t i, uint8_t *w)
{
	const struct vpmu_sampler *const s = vpmu_sampler(i);
	const uint64_t id = vpmu_event(vpmu_root(i))->id;
	if (!s->id_all)
		return w;
	if (s->type & PERF_SAMPLE_TID)
		w = w44(w, pid_of(m), (uint32_t)m->t->tid);
	if (s->type & PERF_SAMPLE_TIME)
		w = w8(w, time_of(m, i));
	if (s->type & PERF_SAMPLE_ID)
		w = w8(w, id);
	if (s->type & PERF_SAMPLE_STREAM_ID)
		w = w8(w, vpmu_event(i)->id);
	if (s->type & PERF_SAMPLE_CPU)
		w = w44(w, cpu_of(i), 0);
	if (s->type & PERF_SAMPLE_IDENTIFIER)
		w = w8(w, id);
	return w;
}

/* ---- parts of a sample ---- */

/* As the kernel wrote it: PERF_CONTEXT_KERNEL, and the addresses. */
static uint8_t *put_kernel_chain(const struct moment *m, const struct vpmu_sampler *s, uint8_t *w)
{
	const uint64_t n = s->no_kernel_chain ? 0 : m->kernel[0];
	mem_copy(w, m->kernel + 1, n * 8);
	return w + n * 8;
}

/* The return addresses that frame pointers lead to, as the kernel follows them. */
static uint8_t *put_callchain(const struct moment *m, const struct vpmu_sampler *s, uint8_t *w)
{
	const unsigned max = s->max_stack ? s->max_stack : MAX_FRAMES;
	uint8_t *const count = w;
	uint64_t frame[2], fp = m->t->regs[RBP], n = 0;
	w += 8;
	if (m->kernel)
		w = put_kernel_chain(m, s, w);
	const uint64_t before = (uint64_t)(w - count) / 8 - 1;
	if (!s->no_user_chain) {
		w = w8(w, (uint64_t)PERF_CONTEXT_USER);
		w = w8(w, m->kernel ? m->t->pc : m->ip);
		for (n = 1; n < max && fp < USER_END && !(fp % 8); n++) {
			if (!copy_guest(frame, (const void *)fp, 16))
				break;
			w = w8(w, frame[1]);
			fp = frame[0];
		}
		n++;
	}
	w8(count, before + n);
	return w;
}

/* A register by its number of enum perf_event_x86_regs. */
static uint64_t reg_value(const struct thread *t, unsigned r)
{
	static const uint8_t order[] = { RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP };
	switch (r) {
	case PERF_REG_X86_IP: return t->pc;
	case PERF_REG_X86_FLAGS: return t->rflags;
	case PERF_REG_X86_CS: return USER_CS;
	case PERF_REG_X86_SS: return USER_SS;
	default: return r < 8 ? t->regs[order[r]] : t->regs[R8 + r - PERF_REG_X86_R8];
	}
}

static uint8_t *put_regs(const struct moment *m, uint64_t mask, uint8_t *w)
{
	w = w8(w, PERF_SAMPLE_REGS_ABI_64);
	for (; mask; mask &= mask - 1)
		w = w8(w, reg_value(m->t, (unsigned)__builtin_ctzll(mask)));
	return w;
}

/* As much of the stack as is wanted, mapped, and fits into the record. */
static uint8_t *put_stack(const struct moment *m, uint64_t size, uint8_t *w, uint64_t after)
{
	const uint64_t used = (uint64_t)(w - record) + 16 + after, sp = m->t->regs[RSP];
	if (used + size > MAX_RECORD)
		size = used < MAX_RECORD ? (MAX_RECORD - used) & ~7ull : 0;
	w = w8(w, size);
	if (!size)
		return w;
	mem_zero(w, size);
	uint64_t got = 0;
	while (got < size) {
		uint64_t n = PAGE - (sp + got) % PAGE;
		if (n > size - got)
			n = size - got;
		if (!copy_guest(w + got, (const void *)(sp + got), n))
			break;
		got += n;
	}
	return w8(w + size, got);
}

static uint8_t *put_head(struct moment *m, uint32_t i, uint64_t period, uint8_t *w)
{
	const struct vpmu_sampler *const s = vpmu_sampler(i);
	const uint64_t id = vpmu_event(vpmu_root(i))->id;
	if (s->type & PERF_SAMPLE_IDENTIFIER)
		w = w8(w, id);
	if (s->type & PERF_SAMPLE_IP)
		w = w8(w, m->ip);
	if (s->type & PERF_SAMPLE_TID)
		w = w44(w, pid_of(m), (uint32_t)m->t->tid);
	if (s->type & PERF_SAMPLE_TIME)
		w = w8(w, time_of(m, i));
	if (s->type & PERF_SAMPLE_ADDR)
		w = w8(w, m->addr ? m->addr : access_address(m->t, vpmu()->model.rows[vpmu_event(i)->row].kind,
							     s->precise || !vpmu()->flaws.skid));
	if (s->type & PERF_SAMPLE_ID)
		w = w8(w, id);
	if (s->type & PERF_SAMPLE_STREAM_ID)
		w = w8(w, vpmu_event(i)->id);
	if (s->type & PERF_SAMPLE_CPU)
		w = w44(w, cpu_of(i), 0);
	if (s->type & PERF_SAMPLE_PERIOD)
		w = w8(w, period);
	return w;
}

/* Bits of fields that say nothing here, for which the kernel writes one number too. */
static uint8_t *put_rest(const struct moment *m, const struct vpmu_sampler *s, uint8_t *w)
{
	if (s->type & PERF_SAMPLE_WEIGHT_TYPE)
		w = w8(w, 0);
	if (s->type & PERF_SAMPLE_DATA_SRC)
		w = w8(w, PERF_MEM_S(OP, NA) | PERF_MEM_S(LVL, NA) | PERF_MEM_S(SNOOP, NA) |
			  PERF_MEM_S(LOCK, NA) | PERF_MEM_S(TLB, NA));
	if (s->type & PERF_SAMPLE_TRANSACTION)
		w = w8(w, 0);
	if (s->type & PERF_SAMPLE_REGS_INTR)
		w = put_regs(m, s->regs_intr, w);
	if (s->type & PERF_SAMPLE_PHYS_ADDR)
		w = w8(w, 0);
	if (s->type & PERF_SAMPLE_CGROUP)
		w = w8(w, 0);
	if (s->type & PERF_SAMPLE_DATA_PAGE_SIZE)
		w = w8(w, 0);
	if (s->type & PERF_SAMPLE_CODE_PAGE_SIZE)
		w = w8(w, PAGE);
	if (s->type & PERF_SAMPLE_AUX)
		w = w8(w, 0);
	return w;
}

static void make_record(struct moment *m, uint32_t i, uint64_t period)
{
	const struct vpmu_sampler *const s = vpmu_sampler(i);
	struct perf_event_header *const h = (void *)record;
	uint8_t *w = put_head(m, i, period, record + sizeof(*h));
	if (s->type & PERF_SAMPLE_READ)
		w += 8 * read_words((uint64_t *)w, i);
	if (s->type & PERF_SAMPLE_CALLCHAIN)
		w = put_callchain(m, s, w);
	if (s->type & PERF_SAMPLE_RAW)
		w = w44(w, 4, 0);
	if (s->type & PERF_SAMPLE_REGS_USER)
		w = put_regs(m, s->regs_user, w);
	if (s->type & PERF_SAMPLE_STACK_USER)
		w = put_stack(m, s->stack_user, w, 512);
	w = put_rest(m, s, w);
	*h = (struct perf_event_header){ .type = PERF_RECORD_SAMPLE,
		.misc = (m->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) | (s->precise > 1 ? PERF_RECORD_MISC_EXACT_IP : 0),
		.size = (uint16_t)(w - record) };
}

void sample_put(struct moment *m, uint32_t i, uint64_t period)
{
	if (!ring_of(i))
		return;
	do
		make_record(m, i, period);
	while (!ring_put(m, i, (struct perf_event_header *)record, true));
}
