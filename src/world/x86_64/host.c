/* The features of this host, by cpuid, xgetbv and the auxiliary vector. */
#include "world.h"

#include <cpuid.h>
#include <sys/auxv.h>

static uint64_t xgetbv(uint32_t which)
{
	uint32_t a, d;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(which));
	return a | (uint64_t)d << 32;
}

bool world_host_read(struct world_host *h)
{
	uint32_t a = 0, b = 0, c = 0, d = 0;
	*h = (struct world_host){ .fsgsbase = getauxval(AT_HWCAP2) >> 1 & 1 };
	__get_cpuid(1, &a, &b, &h->words[WORD_1_ECX], &h->words[WORD_1_EDX]);
	__get_cpuid(0x80000001u, &a, &b, &h->words[WORD_X1_ECX], &h->words[WORD_X1_EDX]);
	if (__get_cpuid_count(7, 0, &a, &h->words[WORD_7_EBX], &h->words[WORD_7_ECX], &h->words[WORD_7_EDX]) && a)
		__get_cpuid_count(7, 1, &h->words[WORD_71_EAX], &b, &c, &d);
	__get_cpuid(0x80000008u, &a, &h->words[WORD_X8_EBX], &c, &d);
	__get_cpuid_count(0xd, 1, &h->words[WORD_D1_EAX], &b, &c, &d);
	if (h->words[WORD_1_ECX] & bit_OSXSAVE)
		h->xcr0 = xgetbv(0);
	h->has_xgetbv1 = h->words[WORD_D1_EAX] >> 2 & 1;
	return true;
}
