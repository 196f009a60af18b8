/* Names of features, as Linux shows them in /proc/cpuinfo (arch/x86/include/asm/cpufeatures.h). */
#include "world.h"

#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* In the order of Linux's list. `hidden`: Linux does not show it. */
static const struct feature {
	uint8_t word, bit;
	bool hidden;
	const char *name;
} features[] = {
	{ WORD_1_EDX, 0, 0, "fpu" }, { WORD_1_EDX, 1, 0, "vme" }, { WORD_1_EDX, 2, 0, "de" },
	{ WORD_1_EDX, 3, 0, "pse" }, { WORD_1_EDX, 4, 0, "tsc" }, { WORD_1_EDX, 5, 0, "msr" },
	{ WORD_1_EDX, 6, 0, "pae" }, { WORD_1_EDX, 7, 0, "mce" }, { WORD_1_EDX, 8, 0, "cx8" },
	{ WORD_1_EDX, 9, 0, "apic" }, { WORD_1_EDX, 11, 0, "sep" }, { WORD_1_EDX, 12, 0, "mtrr" },
	{ WORD_1_EDX, 13, 0, "pge" }, { WORD_1_EDX, 14, 0, "mca" }, { WORD_1_EDX, 15, 0, "cmov" },
	{ WORD_1_EDX, 16, 0, "pat" }, { WORD_1_EDX, 17, 0, "pse36" }, { WORD_1_EDX, 19, 0, "clflush" },
	{ WORD_1_EDX, 23, 0, "mmx" }, { WORD_1_EDX, 24, 0, "fxsr" }, { WORD_1_EDX, 25, 0, "sse" },
	{ WORD_1_EDX, 26, 0, "sse2" }, { WORD_1_EDX, 28, 0, "ht" },
	{ WORD_X1_EDX, 11, 0, "syscall" }, { WORD_X1_EDX, 20, 0, "nx" }, { WORD_X1_EDX, 22, 0, "mmxext" },
	{ WORD_X1_EDX, 25, 0, "fxsr_opt" }, { WORD_X1_EDX, 26, 0, "pdpe1gb" },
	{ WORD_X1_EDX, 27, 0, "rdtscp" }, { WORD_X1_EDX, 29, 0, "lm" },
	{ WORD_1_ECX, 0, 0, "pni" }, { WORD_1_ECX, 1, 0, "pclmulqdq" }, { WORD_1_ECX, 9, 0, "ssse3" },
	{ WORD_1_ECX, 12, 0, "fma" }, { WORD_1_ECX, 13, 0, "cx16" }, { WORD_1_ECX, 19, 0, "sse4_1" },
	{ WORD_1_ECX, 20, 0, "sse4_2" }, { WORD_1_ECX, 22, 0, "movbe" }, { WORD_1_ECX, 23, 0, "popcnt" },
	{ WORD_1_ECX, 25, 0, "aes" }, { WORD_1_ECX, 26, 0, "xsave" }, { WORD_1_ECX, 27, 1, "osxsave" },
	{ WORD_1_ECX, 28, 0, "avx" }, { WORD_1_ECX, 29, 0, "f16c" }, { WORD_1_ECX, 30, 0, "rdrand" },
	{ WORD_X1_ECX, 0, 0, "lahf_lm" }, { WORD_X1_ECX, 1, 0, "cmp_legacy" }, { WORD_X1_ECX, 5, 0, "abm" },
	{ WORD_X1_ECX, 6, 0, "sse4a" }, { WORD_X1_ECX, 7, 0, "misalignsse" },
	{ WORD_X1_ECX, 8, 0, "3dnowprefetch" }, { WORD_X1_ECX, 11, 0, "xop" }, { WORD_X1_ECX, 16, 0, "fma4" },
	{ WORD_X1_ECX, 21, 0, "tbm" }, { WORD_X1_ECX, 22, 0, "topoext" },
	{ WORD_7_EBX, 0, 0, "fsgsbase" }, { WORD_7_EBX, 3, 0, "bmi1" }, { WORD_7_EBX, 5, 0, "avx2" },
	{ WORD_7_EBX, 8, 0, "bmi2" }, { WORD_7_EBX, 9, 0, "erms" }, { WORD_7_EBX, 11, 0, "rtm" },
	{ WORD_7_EBX, 16, 0, "avx512f" }, { WORD_7_EBX, 17, 0, "avx512dq" }, { WORD_7_EBX, 18, 0, "rdseed" },
	{ WORD_7_EBX, 19, 0, "adx" }, { WORD_7_EBX, 21, 0, "avx512ifma" },
	{ WORD_7_EBX, 23, 0, "clflushopt" }, { WORD_7_EBX, 24, 0, "clwb" }, { WORD_7_EBX, 28, 0, "avx512cd" },
	{ WORD_7_EBX, 29, 0, "sha_ni" }, { WORD_7_EBX, 30, 0, "avx512bw" }, { WORD_7_EBX, 31, 0, "avx512vl" },
	{ WORD_D1_EAX, 0, 0, "xsaveopt" }, { WORD_D1_EAX, 1, 0, "xsavec" }, { WORD_D1_EAX, 2, 0, "xgetbv1" },
	{ WORD_71_EAX, 4, 0, "avx_vnni" }, { WORD_71_EAX, 5, 0, "avx512_bf16" },
	{ WORD_71_EAX, 23, 0, "avx_ifma" },
	{ WORD_X8_EBX, 0, 0, "clzero" },
	{ WORD_7_ECX, 1, 0, "avx512vbmi" }, { WORD_7_ECX, 5, 0, "waitpkg" },
	{ WORD_7_ECX, 6, 0, "avx512_vbmi2" }, { WORD_7_ECX, 8, 0, "gfni" },
	{ WORD_7_ECX, 9, 0, "vaes" }, { WORD_7_ECX, 10, 0, "vpclmulqdq" }, { WORD_7_ECX, 11, 0, "avx512_vnni" },
	{ WORD_7_ECX, 12, 0, "avx512_bitalg" }, { WORD_7_ECX, 14, 0, "avx512_vpopcntdq" },
	{ WORD_7_ECX, 22, 0, "rdpid" }, { WORD_7_ECX, 25, 0, "cldemote" }, { WORD_7_ECX, 27, 0, "movdiri" },
	{ WORD_7_ECX, 28, 0, "movdir64b" },
	{ WORD_7_EDX, 4, 0, "fsrm" }, { WORD_7_EDX, 8, 0, "avx512_vp2intersect" },
	{ WORD_7_EDX, 14, 0, "serialize" }, { WORD_7_EDX, 22, 0, "amx_bf16" },
	{ WORD_7_EDX, 23, 0, "avx512_fp16" }, { WORD_7_EDX, 24, 0, "amx_tile" },
	{ WORD_7_EDX, 25, 0, "amx_int8" },
};

/* What only a kernel uses, or says nothing of instructions: of no importance whether the host has it. */
static uint32_t ignored(unsigned word)
{
	switch (word) {
	case WORD_1_EDX:	/* vme de pse msr pae mce apic sep mtrr pge mca pat pse36 ht */
		return 0x1003fbeeu & ~(1u << 8 | 1u << 15);
	case WORD_X1_EDX:	/* AMD's copy of that; nx fxsr_opt pdpe1gb */
		return ~(1u << 11 | 1u << 22 | 1u << 27 | 1u << 29);
	case WORD_X1_ECX:	/* cmp_legacy topoext */
		return 1u << 1 | 1u << 22;
	case WORD_7_EBX:	/* erms: rep movsb works without it */
		return 1u << 9;
	case WORD_7_EDX:	/* fsrm, likewise */
		return 1u << 4;
	default:
		return 0;
	}
}

static void put_name(struct buf *out, const char *name)
{
	buf_printf(out, "%s%s", out->len ? " " : "", name);
}

void world_lacks(const struct world_machine *m, const struct world_host *h, struct buf *names)
{
	for (size_t i = 0; i < COUNT_OF(features); i++) {
		const unsigned w = features[i].word;
		if ((m->words[w] & ~h->words[w] & ~ignored(w)) >> features[i].bit & 1)
			put_name(names, features[i].name);
	}
	/* A feature that the CPU has and the kernel has not enabled. */
	if (m->xcr0 & ~h->xcr0 && !names->len)
		buf_printf(names, "state that its kernel has not enabled (XCR0 0x%llx, wanted 0x%llx)",
			   (unsigned long long)h->xcr0, (unsigned long long)m->xcr0);
	if (m->words[WORD_7_EBX] & h->words[WORD_7_EBX] & 1 && !h->fsgsbase)
		put_name(names, "fsgsbase (not enabled by its kernel)");
}

void world_flags(const struct world_machine *m, unsigned cpus, struct buf *out)
{
	unsigned word = WORD_1_EDX;
	for (size_t i = 0; i < COUNT_OF(features); i++) {
		uint32_t bits = m->words[features[i].word];
		if (features[i].word == WORD_1_EDX && cpus > 1)
			bits |= 1u << 28;		/* ht */
		if (word <= WORD_X1_EDX && features[i].word > WORD_X1_EDX)
			buf_str(out, " constant_tsc nopl nonstop_tsc cpuid");	/* Linux's own */
		word = features[i].word;
		if (bits >> features[i].bit & 1 && !features[i].hidden)
			put_name(out, features[i].name);
	}
}

bool world_has(const struct world_machine *m, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(features); i++)
		if (strcmp(features[i].name, name) == 0)
			return m->words[features[i].word] >> features[i].bit & 1;
	return true;
}
