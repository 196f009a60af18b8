/* cpuid as the model answers it; feature bits stay those of this machine. */
#include "vpmu-room.h"

struct answer {
	uint32_t a, b, c, d;
};

static uint32_t four(const char *s)
{
	uint32_t v;
	__builtin_memcpy(&v, s, 4);
	return v;
}

static uint32_t signature(const struct vpmu_model *m)
{
	const uint32_t family = m->family > 15 ? 15 : m->family;
	return (m->stepping & 15) | (m->model & 15) << 4 | family << 8 |
	       (m->model >> 4 & 15) << 16 | (m->family - family) << 20;
}

static void put_vendor(struct answer *r)
{
	const char *const v = vpmu()->model.vendor;
	r->b = four(v);
	r->d = four(v + 4);
	r->c = four(v + 8);
}

/* Intel's leaf 0xA: version, counters, width; no event is declared missing. */
static struct answer pmu_leaf(const struct vpmu_model *m)
{
	if (!m->arch_version)
		return (struct answer){ 0 };
	return (struct answer){
		.a = m->arch_version | m->gp << 8 | m->width << 16 | 7u << 24,
		.b = 0,
		.d = m->fixed | m->width << 5,
	};
}

/* AMD: six core counters instead of four, and their MSRs. */
#define AMD_PERFCTR_CORE (1u << 23)
#define AMD_PERFMON_V2_LEAF 0x80000022u

static struct answer virtual_cpuid(uint32_t leaf, uint32_t sub, const uint32_t real[4])
{
	const struct vpmu_model *const m = &vpmu()->model;
	struct answer r = { real[0], real[1], real[2], real[3] };
	switch (leaf) {
	case 0:
		put_vendor(&r);
		if (m->arch_version && r.a < 10)
			r.a = 10;
		break;
	case 1:
		r.a = signature(m);
		break;
	case 0xa:
		r = pmu_leaf(m);
		break;
	case 0x1a:
		r = (struct answer){ 0 };		/* no model here is hybrid */
		break;
	case 7:
		if (!sub)
			r.d &= ~(1u << 15);
		break;
	case 0x80000000u:
		put_vendor(&r);
		break;
	case 0x80000001u:
		r.a = signature(m);
		r.c = (r.c & ~AMD_PERFCTR_CORE) |
		      (!m->arch_version && m->gp > 4 ? AMD_PERFCTR_CORE : 0);
		break;
	case 0x80000002u:
	case 0x80000003u:
	case 0x80000004u: {
		const char *const s = m->brand + 16 * (leaf - 0x80000002u);
		r = (struct answer){ four(s), four(s + 4), four(s + 8), four(s + 12) };
		break;
	}
	case AMD_PERFMON_V2_LEAF:
		r = (struct answer){ 0 };
		break;
	default:
		break;
	}
	return r;
}

bool vpmu_cpuid(struct thread *t)
{
	/* cpuid is slow in a virtual machine: remember the answers */
	static struct { uint32_t leaf, sub; struct answer r; bool known; } seen[64];
	const uint32_t leaf = (uint32_t)t->regs[RAX], sub = (uint32_t)t->regs[RCX];
	const unsigned at = (leaf ^ leaf >> 26 ^ sub * 7) % 64;
	struct answer r;
	/* 1, 7, 0xB, 0xD and 0x1F tell of this CPU or of XCR0: asked each time */
	const bool keep = leaf != 1 && leaf != 0xb && leaf != 0xd && leaf != 0x1f;
	lock_take();
	if (keep && seen[at].known && seen[at].leaf == leaf && seen[at].sub == sub) {
		r = seen[at].r;
	} else {
		uint32_t real[4];
		if (!machine_ask(leaf, sub, real)) {
			lock_drop();
			return false;
		}
		r = virtual_cpuid(leaf, sub, real);
		seen[at].leaf = leaf;
		seen[at].sub = sub;
		seen[at].r = r;
		seen[at].known = keep;
	}
	lock_drop();
	t->regs[RAX] = r.a;
	t->regs[RBX] = r.b;
	t->regs[RCX] = r.c;
	t->regs[RDX] = r.d;
	return true;
}
