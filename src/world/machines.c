/* The machines. The three levels of the x86-64 psABI are CPUs of our own choice: each has exactly the
 * features of its level (and what every x86-64 kernel shows of the CPU), nothing above it: no ERMS, FSRM,
 * RTM or XSAVEC, by which glibc would choose other functions. Vendor, family, model and caches are those
 * of a real CPU of that level, so that libraries that go by these choose code that the level can run.
 *
 * The others have the features of the named CPU that user code can use; sources: QEMU's
 * target/i386/cpu.c and the vendors' manuals. Features of the kernel's own (PCID, SMEP, X2APIC …) are
 * left out: no user code depends on them, and hosts that are virtual machines lack some of them. So are
 * HLE and RTM, which microcode has turned off, and PKU.
 */
#include "world.h"

#include "why.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* 1 edx: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse
 * sse2: what every x86-64 CPU has. */
#define BASE 0x078bfbffu
/* 1 ecx */
#define SSE3 (1u << 0)
#define PCLMUL (1u << 1)
#define SSSE3 (1u << 9)
#define FMA (1u << 12)
#define CX16 (1u << 13)
#define SSE41 (1u << 19)
#define SSE42 (1u << 20)
#define MOVBE (1u << 22)
#define POPCNT (1u << 23)
#define AES (1u << 25)
#define XSAVE (3u << 26)		/* and OSXSAVE */
#define AVX (1u << 28)
#define F16C (1u << 29)
#define RDRAND (1u << 30)
#define V2 (SSE3 | SSSE3 | CX16 | SSE41 | SSE42 | POPCNT)
#define V3 (V2 | FMA | MOVBE | XSAVE | AVX | F16C)
#define HASWELL (V3 | PCLMUL | AES | RDRAND)
/* 0x80000001 edx: syscall nx lm */
#define LONG 0x20100800u
#define RDTSCP (1u << 27)
#define AMD_LONG 0x2fd3fbffu		/* also mmxext fxsr_opt pdpe1gb rdtscp, and leaf 1's again */
/* 0x80000001 ecx */
#define LAHF (1u << 0)
#define ABM (1u << 5)
#define PREFETCHW (1u << 8)
#define AMD_EXTRA (1u << 6 | 1u << 7 | 1u << 22)	/* sse4a misalignsse topoext */
/* 7 ebx */
#define FSGSBASE (1u << 0)
#define BMI1 (1u << 3)
#define AVX2 (1u << 5)
#define BMI2 (1u << 8)
#define ERMS (1u << 9)
#define RDSEED (1u << 18)
#define ADX (1u << 19)
#define CLFLUSHOPT (1u << 23)
#define CLWB (1u << 24)
#define SHA (1u << 29)
#define AVX512 (1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31)	/* F DQ CD BW VL */
#define IFMA (1u << 21)
#define ZEN2 (FSGSBASE | BMI1 | AVX2 | BMI2 | RDSEED | ADX | CLFLUSHOPT | CLWB | SHA)
/* 0xD.1 eax */
#define XSAVEOPT (1u << 0)
#define XSAVEC (1u << 1)
#define XGETBV1 (1u << 2)
/* 7 ecx */
#define RDPID (1u << 22)
#define VAES (1u << 9 | 1u << 10)	/* and VPCLMULQDQ */
#define ZEN4_MORE (1u << 1 | 1u << 6 | 1u << 8 | 1u << 11 | 1u << 12 | 1u << 14)	/* AVX512_VBMI VBMI2,
					 * GFNI, AVX512_VNNI BITALG VPOPCNTDQ */
#define FSRM (1u << 4)			/* 7 edx */
#define BF16 (1u << 5)			/* 7.1 eax */
#define CLZERO (1u << 0)		/* 0x80000008 ebx */

#define XCR0_AVX 0x7
#define XCR0_AVX512 0xe7

#define CACHES(l1d_ways, l1i_ways, l2, l2_ways, l3, l3_ways) \
	{ { 1, 1, l1d_ways, 32 }, { 1, 2, l1i_ways, 32 }, { 2, 3, l2_ways, l2 }, { 3, 3, l3_ways, l3 } }

static const struct world_machine machines[] = {
	{ "x86-64-v2", "exactly level v2 of the x86-64 psABI: SSE4.2, POPCNT, CMPXCHG16B", "GenuineIntel",
	  "tare x86-64-v2", 6, 0x1a, 5,
	  { [WORD_1_EDX] = BASE, [WORD_1_ECX] = V2, [WORD_X1_EDX] = LONG, [WORD_X1_ECX] = LAHF },
	  0, CACHES(8, 4, 256, 8, 8192, 16) },
	{ "x86-64-v3", "exactly level v3: v2 and AVX2, BMI2, FMA, F16C, LZCNT, MOVBE, XSAVE", "GenuineIntel",
	  "tare x86-64-v3", 6, 0x3c, 3,
	  { [WORD_1_EDX] = BASE, [WORD_1_ECX] = V3, [WORD_X1_EDX] = LONG, [WORD_X1_ECX] = LAHF | ABM,
	    [WORD_7_EBX] = BMI1 | AVX2 | BMI2 },
	  XCR0_AVX, CACHES(8, 8, 256, 8, 8192, 16) },
	{ "x86-64-v4", "exactly level v4: v3 and AVX-512 F, BW, CD, DQ, VL", "GenuineIntel",
	  "tare x86-64-v4", 6, 0x55, 4,
	  { [WORD_1_EDX] = BASE, [WORD_1_ECX] = V3, [WORD_X1_EDX] = LONG, [WORD_X1_ECX] = LAHF | ABM,
	    [WORD_7_EBX] = BMI1 | AVX2 | BMI2 | AVX512 },
	  XCR0_AVX512, CACHES(8, 8, 1024, 16, 16384, 16) },
	{ "nehalem", "Intel Nehalem (2008)", "GenuineIntel",
	  "Intel(R) Xeon(R) CPU           X5570  @ 2.93GHz", 6, 0x1a, 5,
	  { [WORD_1_EDX] = BASE, [WORD_1_ECX] = V2, [WORD_X1_EDX] = LONG | RDTSCP, [WORD_X1_ECX] = LAHF },
	  0, CACHES(8, 4, 256, 8, 8192, 16) },
	{ "haswell", "Intel Haswell (2013), without TSX", "GenuineIntel",
	  "Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz", 6, 0x3c, 3,
	  { [WORD_1_EDX] = BASE, [WORD_1_ECX] = HASWELL, [WORD_X1_EDX] = LONG | RDTSCP,
	    [WORD_X1_ECX] = LAHF | ABM, [WORD_7_EBX] = FSGSBASE | BMI1 | AVX2 | BMI2 | ERMS,
	    [WORD_D1_EAX] = XSAVEOPT },
	  XCR0_AVX, CACHES(8, 8, 256, 8, 8192, 16) },
	{ "skylake-x", "Intel Skylake-X and Skylake-SP (2017), without TSX", "GenuineIntel",
	  "Intel(R) Xeon(R) Platinum 8176 CPU @ 2.10GHz", 6, 0x55, 4,
	  { [WORD_1_EDX] = BASE, [WORD_1_ECX] = HASWELL, [WORD_X1_EDX] = LONG | RDTSCP,
	    [WORD_X1_ECX] = LAHF | ABM | PREFETCHW,
	    [WORD_7_EBX] = FSGSBASE | BMI1 | AVX2 | BMI2 | ERMS | RDSEED | ADX | CLFLUSHOPT | CLWB | AVX512,
	    [WORD_D1_EAX] = XSAVEOPT | XSAVEC | XGETBV1 },
	  XCR0_AVX512, CACHES(8, 8, 1024, 16, 22528, 11) },
	{ "zen2", "AMD Zen 2 (2019)", "AuthenticAMD", "AMD EPYC 7742 64-Core Processor", 0x17, 0x31, 0,
	  { [WORD_1_EDX] = BASE, [WORD_1_ECX] = HASWELL, [WORD_X1_EDX] = AMD_LONG,
	    [WORD_X1_ECX] = LAHF | ABM | PREFETCHW | AMD_EXTRA, [WORD_7_EBX] = ZEN2, [WORD_7_ECX] = RDPID,
	    [WORD_X8_EBX] = CLZERO, [WORD_D1_EAX] = XSAVEOPT | XSAVEC | XGETBV1 },
	  XCR0_AVX, CACHES(8, 8, 512, 8, 16384, 16) },
	{ "zen3", "AMD Zen 3 (2020)", "AuthenticAMD", "AMD EPYC 7763 64-Core Processor", 0x19, 0x01, 1,
	  { [WORD_1_EDX] = BASE, [WORD_1_ECX] = HASWELL, [WORD_X1_EDX] = AMD_LONG,
	    [WORD_X1_ECX] = LAHF | ABM | PREFETCHW | AMD_EXTRA, [WORD_7_EBX] = ZEN2 | ERMS,
	    [WORD_7_ECX] = RDPID | VAES, [WORD_7_EDX] = FSRM, [WORD_X8_EBX] = CLZERO,
	    [WORD_D1_EAX] = XSAVEOPT | XSAVEC | XGETBV1 },
	  XCR0_AVX, CACHES(8, 8, 512, 8, 32768, 16) },
	{ "zen4", "AMD Zen 4 (2022)", "AuthenticAMD", "AMD EPYC 9654 96-Core Processor", 0x19, 0x11, 1,
	  { [WORD_1_EDX] = BASE, [WORD_1_ECX] = HASWELL, [WORD_X1_EDX] = AMD_LONG,
	    [WORD_X1_ECX] = LAHF | ABM | PREFETCHW | AMD_EXTRA, [WORD_7_EBX] = ZEN2 | ERMS | AVX512 | IFMA,
	    [WORD_7_ECX] = RDPID | VAES | ZEN4_MORE, [WORD_7_EDX] = FSRM, [WORD_71_EAX] = BF16,
	    [WORD_X8_EBX] = CLZERO, [WORD_D1_EAX] = XSAVEOPT | XSAVEC | XGETBV1 },
	  XCR0_AVX512, CACHES(8, 8, 1024, 8, 32768, 16) },
};

const char *tare_machine(size_t i, const char **about)
{
	if (i >= COUNT_OF(machines))
		return NULL;
	if (about)
		*about = machines[i].about;
	return machines[i].name;
}

static const struct world_machine *by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(machines); i++)
		if (strlen(machines[i].name) == len && strncmp(machines[i].name, name, len) == 0)
			return &machines[i];
	return NULL;
}

static int no_machine(const char *text, size_t len, struct tare_why *why)
{
	struct buf names = { 0 };
	for (size_t i = 0; i < COUNT_OF(machines); i++)
		buf_printf(&names, "%s%s", i ? ", " : "", machines[i].name);
	why_set(why, TARE_E_INVALID, "no machine \"%.*s\"", len < 60 ? (int)len : 60, text);
	why_remedy(why, "the machines are %s", names.data ? names.data : "in tare-machine(7)");
	buf_free(&names);
	return TARE_E_INVALID;
}

int world_parse(const char *text, struct world_choice *c, struct tare_why *why)
{
	const size_t len = strcspn(text, ",");
	*c = (struct world_choice){ by_name(text, len), 1 };
	if (!c->machine)
		return no_machine(text, len, why);
	if (!text[len])
		return 0;
	char *end = NULL;
	const char *const value = strncmp(text + len, ",cpus=", 6) == 0 ? text + len + 6 : NULL;
	const unsigned long n = value && *value >= '0' && *value <= '9' ? strtoul(value, &end, 10) : 0;
	if (!value)
		return why_set(why, TARE_E_INVALID, "machine \"%.80s\": after the name only cpus=N may follow",
			       text);
	if (!end || *end || n < 1 || n > WORLD_MAX_CPUS)
		return why_set(why, TARE_E_INVALID, "machine \"%.80s\": cpus=%.20s; a machine has from 1 to %d CPUs",
			       text, value, WORLD_MAX_CPUS);
	c->cpus = (unsigned)n;
	return 0;
}

int tare_machine_check(const char *text, struct tare_why *why)
{
	struct tare_why local;
	struct tare_why *const w = why ? why : &local;
	struct world_choice c;
	struct world_host h;
	if (!text)
		return why_set(w, TARE_E_INVALID, "no machine");
	const int err = world_parse(text, &c, w);
	if (err)
		return err;
	if (!world_host_read(&h))
		return why_set(w, TARE_E_MACHINE, "%s: this host is no x86-64 CPU", c.machine->name);
	struct buf names = { 0 };
	world_lacks(c.machine, &h, &names);
	const bool lacks = names.len > 0;
	if (lacks)
		why_set(w, TARE_E_MACHINE, "%s: this host lacks %s", c.machine->name, names.data);
	buf_free(&names);
	return lacks ? TARE_E_MACHINE : 0;
}
