/* A machine as answers to cpuid. Intel SDM volume 2, CPUID; AMD64 APM volume 3, appendix E. */
#include "world.h"

#include <string.h>

struct leaves {
	struct world_leaf *out;
	unsigned n;
};

static void put(struct leaves *l, uint32_t leaf, uint32_t sub, uint32_t a, uint32_t b, uint32_t c,
		uint32_t d)
{
	l->out[l->n++] = (struct world_leaf){ leaf, sub, 0, a, b, c, d };
}

static void put_each(struct leaves *l, uint32_t leaf, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	l->out[l->n++] = (struct world_leaf){ leaf, 0, 1, a, b, c, d };
}

static uint32_t four(const char *s)
{
	uint32_t v;
	memcpy(&v, s, sizeof(v));
	return v;
}

static bool is_amd(const struct world_machine *m)
{
	return m->vendor[0] == 'A';
}

static uint32_t signature(const struct world_machine *m)
{
	const uint32_t family = m->family > 15 ? 15 : m->family;
	return m->stepping | (m->model & 15) << 4 | family << 8 | (m->model >> 4 & 15) << 16 |
	       (m->family - family) << 20;
}

/* Bits of an APIC id that number the CPUs. */
static uint32_t id_bits(unsigned cpus)
{
	uint32_t bits = 0;
	while (1u << bits < cpus)
		bits++;
	return bits;
}

#define HTT (1u << 28)			/* leaf 1 edx: more than one CPU in the package */
#define CMP_LEGACY (1u << 1)		/* 0x80000001 ecx, AMD: they are cores */
#define INVARIANT_TSC (1u << 8)		/* 0x80000007 edx */
#define INCLUSIVE (1u << 1)		/* edx of a cache */

/* Caches in the form of leaf 4, which AMD has as leaf 0x8000001D. The third level is shared by
 * all CPUs. */
static void put_caches(struct leaves *l, uint32_t leaf, const struct world_choice *c)
{
	const struct world_machine *const m = c->machine;
	for (uint32_t i = 0; i < WORLD_CACHES; i++) {
		const struct world_cache *const k = &m->caches[i];
		const uint32_t sets = k->kib * 1024 / 64 / k->ways;
		const uint32_t all = (1u << id_bits(c->cpus)) - 1;
		uint32_t a = k->type | (uint32_t)k->level << 5 | 1u << 8;
		a |= (k->level == 3 ? all : 0) << 14;
		if (leaf == 4)
			a |= all << 26;
		put(l, leaf, i, a, (k->ways - 1u) << 22 | 63, sets - 1, k->level == 3 ? INCLUSIVE : 0);
	}
}

/* How AMD's leaf 0x80000006 writes the number of ways. */
static uint32_t amd_ways(uint32_t ways)
{
	return ways >= 16 ? 8 : ways >= 8 ? 6 : 4;
}

static void put_amd(struct leaves *l, const struct world_choice *c)
{
	const struct world_cache *const k = c->machine->caches;
	put_each(l, 0x80000005u, 0, 0, k[0].kib << 24 | (uint32_t)k[0].ways << 16 | 1 << 8 | 64,
		 k[1].kib << 24 | (uint32_t)k[1].ways << 16 | 1 << 8 | 64);
	put_each(l, 0x80000006u, 0, 0, k[2].kib << 16 | amd_ways(k[2].ways) << 12 | 1 << 8 | 64,
		 k[3].kib / 512 << 18 | amd_ways(k[3].ways) << 12 | 1 << 8 | 64);
	put_each(l, 0x80000008u, 48 | 48 << 8, c->machine->words[WORD_X8_EBX],
		 (c->cpus - 1) | id_bits(c->cpus) << 12, 0);
	put_caches(l, 0x8000001du, c);
	put_each(l, 0x8000001eu, 0, 0, 0, 0);
}

static void put_intel(struct leaves *l, const struct world_choice *c)
{
	const struct world_cache *const k = c->machine->caches;
	put_each(l, 2, 0x00feff01, 0xf0, 0, 0);		/* descriptors: see leaves 4 and 0x18 */
	put_caches(l, 4, c);
	put_each(l, 0x80000006u, 0, 0, k[2].kib << 16 | 6 << 12 | 64, 0);
	put_each(l, 0x80000008u, 46 | 48 << 8, 0, 0, 0);
}

static void put_topology(struct leaves *l, unsigned cpus)
{
	put(l, 0xb, 0, 0, 1, 0 | 1 << 8, 0);			/* one thread in a core */
	put(l, 0xb, 1, id_bits(cpus), cpus, 1 | 2 << 8, 0);	/* and so many cores */
	put(l, 0xb, 2, 0, 0, 2, 0);
}

/* Components of the XSAVE area: size, Intel's offset in the standard format, and ecx (2: aligned in
 * the compacted format). Where the host has others, the engine shows the host's. */
static const struct { uint32_t size, offset, flags; } components[] = {
	[2] = { 256, 576, 0 },			/* AVX */
	[5] = { 64, 1088, 0 },			/* AVX-512: masks, */
	[6] = { 512, 1152, 0 },			/* upper halves of the first 16, */
	[7] = { 1024, 1664, 0 },		/* the other registers */
};
enum { N_COMPONENTS = sizeof(components) / sizeof(components[0]), LEGACY_AND_HEADER = 576 };

uint32_t world_xsave_size(uint64_t xcr0)
{
	uint32_t size = xcr0 ? LEGACY_AND_HEADER : 512;
	for (unsigned i = 2; i < N_COMPONENTS; i++)
		if (xcr0 >> i & 1 && components[i].offset + components[i].size > size)
			size = components[i].offset + components[i].size;
	return size;
}

static uint32_t compacted_size(uint64_t xcr0)
{
	uint32_t size = LEGACY_AND_HEADER;
	for (unsigned i = 2; i < N_COMPONENTS; i++)
		if (xcr0 >> i & 1)
			size += components[i].size;
	return size;
}

static void put_xsave(struct leaves *l, const struct world_machine *m)
{
	const uint32_t size = world_xsave_size(m->xcr0), more = m->words[WORD_D1_EAX];
	if (!m->xcr0)
		return;
	put(l, 0xd, 0, (uint32_t)m->xcr0, size, size, 0);
	put(l, 0xd, 1, more, more & 2 ? compacted_size(m->xcr0) : 0, 0, 0);
	for (unsigned i = 2; i < N_COMPONENTS; i++)
		if (m->xcr0 >> i & 1)
			put(l, 0xd, i, components[i].size, components[i].offset, components[i].flags, 0);
}

static void put_brand(struct leaves *l, const struct world_machine *m)
{
	char brand[48] = "";
	memcpy(brand, m->brand, strlen(m->brand) < 47 ? strlen(m->brand) : 47);
	for (uint32_t i = 0; i < 3; i++)
		put_each(l, 0x80000002u + i, four(brand + 16 * i), four(brand + 16 * i + 4),
			 four(brand + 16 * i + 8), four(brand + 16 * i + 12));
}

unsigned world_leaves(const struct world_choice *c, struct world_leaf out[WORLD_MAX_LEAVES])
{
	const struct world_machine *const m = c->machine;
	const uint32_t *const w = m->words;
	const bool several = c->cpus > 1;
	const uint32_t vendor[3] = { four(m->vendor), four(m->vendor + 4), four(m->vendor + 8) };
	struct leaves l = { out, 0 };
	put_each(&l, 0, m->xcr0 ? 0xd : 0xb, vendor[0], vendor[2], vendor[1]);
	put_each(&l, 1, signature(m), 8 << 8 | (several ? 1u << id_bits(c->cpus) << 16 : 1u << 16), w[WORD_1_ECX],
		 w[WORD_1_EDX] | (several ? HTT : 0));
	put(&l, 7, 0, w[WORD_71_EAX] ? 1 : 0, w[WORD_7_EBX], w[WORD_7_ECX], w[WORD_7_EDX]);
	if (w[WORD_71_EAX])
		put(&l, 7, 1, w[WORD_71_EAX], 0, 0, 0);
	put_topology(&l, c->cpus);
	put_xsave(&l, m);
	put_each(&l, 0x80000000u, is_amd(m) ? 0x8000001eu : 0x80000008u, is_amd(m) ? vendor[0] : 0,
		 is_amd(m) ? vendor[2] : 0, is_amd(m) ? vendor[1] : 0);
	put_each(&l, 0x80000001u, is_amd(m) ? signature(m) : 0, 0,
		 w[WORD_X1_ECX] | (is_amd(m) && several ? CMP_LEGACY : 0), w[WORD_X1_EDX]);
	put_brand(&l, m);
	put_each(&l, 0x80000007u, 0, 0, 0, INVARIANT_TSC);
	if (is_amd(m))
		put_amd(&l, c);
	else
		put_intel(&l, c);
	return l.n;
}

/* FNV-1a */
uint64_t world_hash(const struct world_choice *c)
{
	struct world_leaf leaves[WORLD_MAX_LEAVES];
	memset(leaves, 0, sizeof(leaves));
	const unsigned n = world_leaves(c, leaves);
	const unsigned char *const p = (const unsigned char *)leaves;
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < n * sizeof(leaves[0]); i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

#define HWCAP2_FSGSBASE 2u

uint64_t world_hwcap2(const struct world_machine *m)
{
	return m->words[WORD_7_EBX] & 1 ? HWCAP2_FSGSBASE : 0;
}

/* AT_MINSIGSTKSZ, by which programs choose the size of an alternate signal stack. A signal frame has the state of
 * the host, which may be larger than the machine's: so every machine tells a size that is enough for any host.
 * Linux has 3632 with AVX-512 and protection keys. (AMX would need more, and a program gets no AMX here.) */
uint32_t world_min_signal_stack(void)
{
	return 4096;
}
