/* Instructions that show the CPU, answered as the machine does (--machine): cpuid, xgetbv, the number of
 * the CPU (rdtscp, rdpid, lsl), and XSAVE's instructions.
 *
 * A program gives XSAVE a buffer of the size that cpuid told, and often a mask with more state than the
 * CPU has, which the CPU reduces to XCR0. The host's XCR0 may have more than the machine's: then the host
 * would write beyond the buffer. So the mask is reduced to the machine's XCR0 here. The program's
 * registers are in the CPU while C runs, since C uses none but the general ones.
 */
#include "decode.h"
#include "guest-room.h"
#include "sys.h"
#include "text.h"

#define XCR0_LEGACY 3u			/* x87 and SSE: what XSAVE has in any case */
#define AREA_HEADER 512u		/* of the XSAVE area: XSTATE_BV, XCOMP_BV, zeros */
#define AREA_FIXED 576u
#define COMPACTED (1ull << 63)
#define CPU_SELECTOR 0x7b		/* Linux: its limit is the number of the CPU */

static const struct soft_machine *machine(void)
{
	return &E.shared->machine;
}

bool machine_ask(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
	if (!E.machine)
		return glue_cpuid(leaf, sub, r);
	const struct soft_machine *const m = machine();
	r[0] = r[1] = r[2] = r[3] = 0;
	for (uint32_t i = 0; i < m->n_leaves; i++) {
		const struct soft_leaf *const l = &m->leaves[i];
		if (l->leaf == leaf && (l->each || l->sub == sub)) {
			r[0] = l->a;
			r[1] = l->b;
			r[2] = l->c;
			r[3] = l->d;
			return true;
		}
	}
	if (leaf == 0xb)
		r[2] = sub & 0xff;		/* beyond the levels: ecx has the number */
	return true;
}

bool machine_cpuid(struct thread *t)
{
	uint32_t r[4];
	if (!machine_ask((uint32_t)t->regs[RAX], (uint32_t)t->regs[RCX], r))
		return false;
	t->regs[RAX] = r[0];
	t->regs[RBX] = r[1];
	t->regs[RCX] = r[2];
	t->regs[RDX] = r[3];
	return true;
}

long machine_getcpu(const uint64_t *a)
{
	const uint32_t zero = 0;
	if ((a[0] && !put_guest(a[0], &zero, 4)) || (a[1] && !put_guest(a[1], &zero, 4)))
		return -EFAULT;
	return 0;
}

static uint64_t shown_xcr0(void)
{
	return machine()->xcr0 ? machine()->xcr0 : XCR0_LEGACY;
}

static void set_pair(struct thread *t, uint64_t v)
{
	t->regs[RAX] = (uint32_t)v;
	t->regs[RDX] = v >> 32;
}

static void do_xgetbv(struct thread *t)
{
	const uint32_t which = (uint32_t)t->regs[RCX];
	uint32_t a, d;
	if (which > 1 || (which == 1 && !machine()->has_xgetbv1))
		signal_try(t);
	if (which == 0) {
		set_pair(t, shown_xcr0());
		return;
	}
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
	set_pair(t, a & shown_xcr0());
}

static void do_rdtscp(struct thread *t)
{
	uint32_t a, d;
	if (cache.no_tsc)
		signal_try(t);
	__asm__ volatile("lfence\n\trdtsc" : "=a"(a), "=d"(d) : : "memory");
	set_pair(t, a | (uint64_t)d << 32);
	t->regs[RCX] = 0;
}

/* lsl: the vDSO and programs ask for the limit of a certain segment to learn the number of the CPU. */
static void do_lsl(struct thread *t, const struct insn *in, const uint8_t *s)
{
	uint16_t selector = (uint16_t)t->regs[modrm_rm(in)];
	if (in->modrm < 0xc0) {
		const uint64_t at = operand_address(t, in, s, t->pc);
		if (!copy_guest(&selector, (const void *)at, 2))
			memory_fault(t, in, at, false);
	}
	uint64_t *const to = &t->regs[(in->modrm >> 3 & 7) | (in->rex & 4 ? 8 : 0)];
	uint32_t limit = 0;
	uint8_t known = 1;
	if (selector != CPU_SELECTOR)
		__asm__ volatile("lsl %2, %0\n\tsete %1" : "+r"(limit), "=q"(known)
				 : "r"((uint32_t)selector) : "cc");
	t->rflags = known ? t->rflags | FLAG_ZF : t->rflags & ~(uint64_t)FLAG_ZF;
	if (known)
		*to = in->opsize16 && !(in->rex & 8) ? (*to & ~0xffffull) | (uint16_t)limit : limit;
}

/* ---- XSAVE ---- */

/* How many bytes of the area the instruction uses. */
static uint64_t area_size(uint64_t features, bool compacted)
{
	uint64_t size = AREA_FIXED;
	for (unsigned i = 2; i < MACHINE_COMPONENTS; i++) {
		if (!(features >> i & 1))
			continue;
		if (compacted)
			size += machine()->size[i];
		else if (machine()->offset[i] + machine()->size[i] > size)
			size = machine()->offset[i] + machine()->size[i];
	}
	return size;
}

/* Is all of it there? Areas are less than a page, so their two ends tell. */
static bool may_use(uint64_t at, uint64_t size, bool write)
{
	const uint64_t ends[2] = { at, at + size - 1 };
	for (int i = 0; i < 2; i++) {
		uint8_t b;
		if (!copy_guest(&b, (const void *)ends[i], 1) ||
		    (write && !put_guest(ends[i], &b, 1)))
			return false;
	}
	return true;
}

#define STORE(insn) __asm__ volatile(insn " (%0)" : : "r"(at), "a"((uint32_t)mask), "d"(0) : "memory")

static void do_save(struct thread *t, const struct insn *in, uint64_t at, uint64_t mask)
{
	const bool wide = in->rex & 8, compacted = in->opcode == 0xc7;
	if (at & 63 || !may_use(at, area_size(mask, compacted), true))
		memory_fault(t, in, at, true);
	if (compacted) {
		if (wide)
			STORE("xsavec64");
		else
			STORE("xsavec");
	} else if ((in->modrm >> 3 & 7) == 6) {
		if (wide)
			STORE("xsaveopt64");
		else
			STORE("xsaveopt");
	} else if (wide) {
		STORE("xsave64");
	} else {
		STORE("xsave");
	}
	fp_own_address(t, at + 8, wide ? 8 : 4);
}

/* What xrstor refuses, and what it would restore beyond the machine, the CPU itself looks at. */
static bool is_plain_area(uint64_t at, uint64_t mask)
{
	uint64_t header[8];
	uint32_t mxcsr;
	if (at & 63 || !may_use(at, AREA_FIXED, false) ||
	    !copy_guest(header, (const void *)(at + AREA_HEADER), sizeof(header)) ||
	    !copy_guest(&mxcsr, (const void *)(at + 24), 4))
		return false;
	const bool compacted = header[1] & COMPACTED;
	const uint64_t has = compacted ? header[1] & ~COMPACTED : shown_xcr0();
	for (int i = 2; i < 8; i++)
		if (header[i])
			return false;
	return !(header[0] & ~has) && !(has & ~shown_xcr0()) && (compacted || !header[1]) && !(mxcsr >> 16) &&
	       may_use(at, area_size(compacted ? has : mask, compacted), false);
}

static void do_restore(struct thread *t, const struct insn *in, uint64_t at, uint64_t mask)
{
	if (!is_plain_area(at, mask)) {
		if (in->segment == PREFIX_GS)
			memory_fault(t, in, at, false);
		signal_try(t);
	}
	if (in->rex & 8)
		STORE("xrstor64");
	else
		STORE("xrstor");
}

void machine_insn(struct thread *t, const struct insn *in, const uint8_t *s)
{
	if (in->special == SPECIAL_RDTSC) {
		do_rdtscp(t);
	} else if (in->opcode == 0x01) {
		do_xgetbv(t);
	} else if (in->opcode == 0x03) {
		do_lsl(t, in, s);
	} else if (in->opcode == 0xc7 && in->modrm >= 0xc0) {
		t->regs[modrm_rm(in)] = 0;			/* rdpid */
	} else {
		const uint64_t asked = (uint32_t)t->regs[RAX] | t->regs[RDX] << 32;
		const uint64_t at = operand_address(t, in, s, t->pc), mask = asked & shown_xcr0();
		if (in->special == SPECIAL_FP_ENV)
			do_save(t, in, at, mask);
		else
			do_restore(t, in, at, mask);
	}
}
