/* The machine that the program sees instead of the host's CPU (`--machine`): the launcher writes it
 * into soft_shared before the run (launch/x86_64/soft-machine.c), the engine answers from it
 * (guest/machine.c). */
#ifndef SOFT_MACHINE_ABI_H
#define SOFT_MACHINE_ABI_H

#include <stdint.h>

struct soft_leaf {		/* the answer of cpuid(leaf, sub); `each`: for every sub */
	uint32_t leaf, sub, each;
	uint32_t a, b, c, d;
};

/* Instruction sets that a machine may lack, by the names of Linux's flags. */
#define MACHINE_EXTENSIONS(X) \
	X(SSE3, "pni") X(SSSE3, "ssse3") X(SSE41, "sse4_1") X(SSE42, "sse4_2") X(AES, "aes") X(PCLMUL, "pclmulqdq") \
	X(SHA, "sha_ni") X(GFNI, "gfni") X(MOVBE, "movbe") X(ADX, "adx") X(RDRAND, "rdrand") X(RDSEED, "rdseed") \
	X(LZCNT, "abm") X(RDPID, "rdpid") X(RDTSCP, "rdtscp") X(FSGSBASE, "fsgsbase") X(XSAVE, "xsave") \
	X(XSAVEOPT, "xsaveopt") X(XSAVEC, "xsavec") X(CLFLUSHOPT, "clflushopt") X(CLWB, "clwb") X(AVX, "avx") \
	X(F16C, "f16c") X(FMA, "fma") X(AVX2, "avx2") X(BMI1, "bmi1") X(BMI2, "bmi2") X(VAES, "vaes") \
	X(VPCLMUL, "vpclmulqdq") X(AVX_VNNI, "avx_vnni") X(AMX, "amx_tile") X(XOP, "xop") X(AVX512, "avx512f") \
	X(AVX512_IFMA, "avx512ifma") X(AVX512_VBMI, "avx512vbmi") X(AVX512_VBMI2, "avx512_vbmi2") \
	X(AVX512_VNNI, "avx512_vnni") X(AVX512_BF16, "avx512_bf16") X(AVX512_FP16, "avx512_fp16") \
	X(AVX512_BITALG, "avx512_bitalg")
enum machine_extension {
	EXT_NONE,
#define MACHINE_EXT(name, flag) EXT_##name,
	MACHINE_EXTENSIONS(MACHINE_EXT)
#undef MACHINE_EXT
	N_EXTENSIONS
};
_Static_assert(N_EXTENSIONS <= 64, "bits of soft_machine.has");

#define MACHINE_LEAVES 64
#define MACHINE_COMPONENTS 8	/* of XSAVE's area: those that a machine can have */

struct soft_machine {
	uint32_t on;			/* there is one */
	uint32_t cpus;
	uint64_t xcr0;			/* of the machine; 0: it has no XSAVE */
	uint32_t has_xgetbv1;		/* of the host */
	uint32_t min_signal_stack;	/* AT_MINSIGSTKSZ */
	uint64_t hwcap, hwcap2;
	/* Where XSAVE puts the components on this host (standard format), and how large they are. */
	uint32_t offset[MACHINE_COMPONENTS], size[MACHINE_COMPONENTS];
	uint64_t has;			/* 1 << enum machine_extension */
	/* The address of the first instruction of a set that the machine lacks, of those that were
	 * translated; 0: none was. The one field that the engine writes (atomic). */
	uint64_t beyond[N_EXTENSIONS];
	uint32_t n_leaves;
	struct soft_leaf leaves[MACHINE_LEAVES];
};

/* A folder with files that are shown instead of some of procfs and sysfs (guest/shown-files.c). */
#define FILES_VPMU	1u		/* those of the model of `tare run` */
#define FILES_MACHINE	2u		/* those of the machine */

struct soft_files {
	uint32_t of;			/* FILES_…; 0: there is none */
	uint32_t made;			/* the machine's are written: when a program wants the first one (REQ_FILES) … */
	int32_t err;			/* … or with this errno */
	uint64_t proc_dev, sys_dev;	/* of /proc and /sys */
	char dir[256];			/* no slash at the end */
};

#endif
