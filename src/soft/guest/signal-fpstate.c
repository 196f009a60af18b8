/* The FP state of a running thread: which features the CPU has, and the state saved for a signal frame.
 * fpstate.h says which of the features a frame has.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

/* cpuid, even if the program has forbidden it. */
static void cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4])
{
	if (glue_cpuid(leaf, sub, r))
		return;
	sys2(__NR_arch_prctl, ARCH_SET_CPUID, 1);
	glue_cpuid(leaf, sub, r);
	sys2(__NR_arch_prctl, ARCH_SET_CPUID, 0);
}

static uint64_t xgetbv(uint32_t which)
{
	uint32_t a, d;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(which));
	return (uint64_t)d << 32 | a;
}

/* cpuid is slow in a virtual machine, so it is used only when the facts are needed for the first
 * time, or when the program is about to forbid it. The size of all features takes one cpuid, the
 * size of each one more. */
void fp_learn(void)
{
	uint32_t r[4];
	if (guest.fp_known)
		return;
	cpuid(1, 0, r);
	if (r[2] >> 27 & 1)			/* OSXSAVE */
		guest.fp.xcr0 = xgetbv(0);
	if (guest.fp.xcr0 & FP_DYNAMIC) {
		for (unsigned i = 2; i < FP_FEATURES; i++) {
			if (!(guest.fp.xcr0 >> i & 1))
				continue;
			cpuid(0xd, i, r);
			guest.fp.end[i] = r[0] + r[1];
		}
	} else if (guest.fp.xcr0 & ~FP_LEGACY) {
		cpuid(0xd, 0, r);
		guest.fp.end[63 - __builtin_clzll(guest.fp.xcr0)] = r[1];
	}
	guest.fp_known = true;
}

/* As the kernel lays it out at the end of fxsave's 512 bytes (struct _fpx_sw_bytes). */
struct fp_sw {
	uint32_t magic, extended_size;
	uint64_t features;
	uint32_t size, pad[7];
};

static struct fp_sw *fp_sw(uint64_t fpstate)
{
	return (struct fp_sw *)(fpstate + FP_LEGACY_SIZE - sizeof(struct fp_sw));
}

uint32_t fp_size(uint64_t fpstate)
{
	if (!fpstate)
		return 0;
	const struct fp_sw *const sw = fp_sw(fpstate);
	return sw->magic == FP_XSTATE_MAGIC1 ? sw->extended_size : FP_LEGACY_SIZE;
}

void fp_note(struct thread *t, uint64_t fpstate)
{
	if (!fpstate || fp_sw(fpstate)->magic != FP_XSTATE_MAGIC1)
		return;
	t->signal.fp_seen = fp_sw(fpstate)->features;
	t->signal.fp_seen_tid = t->tid;
}

uint64_t fp_save(struct thread *t)
{
	fp_learn();
	struct fp_facts facts = guest.fp;
	facts.seen = t->signal.fp_seen_tid == t->tid ? t->signal.fp_seen : 0;
	if (facts.permitted)
		facts.in_use = xgetbv(1);
	const struct fp_layout l = fp_layout(&facts);
	const uint64_t at = (uint64_t)t + THREAD_FP;
	if (l.size + 4 > THREAD_ALT - THREAD_FP)
		die("the FP state is larger than expected", l.size);
	if (!l.features) {
		glue_fxsave((void *)at);
		mem_zero(fp_sw(at), sizeof(struct fp_sw));
		return 0;
	}
	uint64_t *const header = (uint64_t *)(at + FP_LEGACY_SIZE);
	mem_zero(header, FP_HEADER_END - FP_LEGACY_SIZE);
	glue_xsave((void *)at, l.features);
	*header |= FP_LEGACY;			/* as the kernel does in any case */
	*fp_sw(at) = (struct fp_sw){ .magic = FP_XSTATE_MAGIC1, .extended_size = l.size + 4,
				     .features = l.features, .size = l.size };
	*(uint32_t *)(at + l.size) = FP_XSTATE_MAGIC2;
	return UC_FP_XSTATE;
}
