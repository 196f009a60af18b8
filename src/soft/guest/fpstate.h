/* The FP state in a signal frame: which features it has, and how many bytes.
 *
 * A frame that the engine makes must be as the kernel would have made it for the same thread, for
 * two reasons: the program may look at its size and contents, and rt_sigreturn restores only x87
 * and SSE from a frame that is larger than the thread's own FP state.
 */
#ifndef SOFT_FPSTATE_H
#define SOFT_FPSTATE_H

#include <stdint.h>

#define FP_FEATURES 63
#define FP_LEGACY (1ull << 0 | 1ull << 1)	/* x87, SSE */
/* Features that a thread does not have until it uses them, with permission: AMX tiles
 * (XFEATURE_MASK_USER_DYNAMIC in the kernel). */
#define FP_DYNAMIC (1ull << 18)
#define FP_LEGACY_SIZE 512u			/* fxsave */
#define FP_HEADER_END 576u			/* … and the header of xsave */

struct fp_facts {
	uint64_t xcr0;		/* what the kernel has enabled; 0: no XSAVE */
	uint64_t permitted;	/* dynamic features granted by ARCH_REQ_XCOMP_PERM; kernels
				 * without that call grant none */
	uint64_t in_use;	/* XGETBV(1), or 0 if it was not asked: features that are not in
				 * their initial state now */
	uint64_t seen;		/* features in the last frame that the kernel made for this
				 * thread, 0 if there was none */
	/* CPUID 0xD: offset + size in the standard format; those of features that are not in
	 * xcr0, and of x87 and SSE, are not looked at */
	uint32_t end[FP_FEATURES];
};

struct fp_layout {
	uint64_t features;	/* 0: the fxsave format alone */
	uint32_t size;		/* in bytes, without the 4 of FP_XSTATE_MAGIC2 behind it */
};

/* What the kernel writes for a thread of which these facts hold (fpstate.user_xfeatures and
 * user_size): everything enabled, but a dynamic feature only in a thread whose state has
 * grown to hold it, which the kernel does at the first use and never undoes. That has
 * happened if the feature is in use or the kernel has written it before. A thread that used
 * tiles and released them before its first signal is taken for one that has not: its frame
 * lacks tile data in their initial state, and restoring it restores just that. */
struct fp_layout fp_layout(const struct fp_facts *f);

#endif
