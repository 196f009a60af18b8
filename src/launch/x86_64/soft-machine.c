#include "soft-machine.h"

#include "world.h"

#include <cpuid.h>

_Static_assert(WORLD_MAX_LEAVES <= MACHINE_LEAVES, "layout");

/* XSAVE's components are where the CPU puts them: AMD's CPUs have those of AVX-512 at other offsets than
 * Intel's. Programs that look for state in an area must find it, so cpuid shows the host's offsets. */
static void host_components(struct soft_machine *m)
{
	for (uint32_t i = 2; i < MACHINE_COMPONENTS; i++) {
		uint32_t a = 0, b = 0, c, d;
		if (m->xcr0 >> i & 1)
			__get_cpuid_count(0xd, i, &a, &b, &c, &d);
		m->size[i] = a;
		m->offset[i] = b;
	}
	for (uint32_t i = 0; i < m->n_leaves; i++) {
		struct soft_leaf *const l = &m->leaves[i];
		if (l->leaf == 0xd && l->sub >= 2 && l->sub < MACHINE_COMPONENTS)
			l->b = m->offset[l->sub];
	}
}

int soft_machine_setup(struct soft_machine *m, const char *text, struct tare_why *why)
{
	struct world_choice c;
	struct world_host h;
	struct world_leaf leaves[WORLD_MAX_LEAVES];
	if (!text)
		return 0;
	int err = tare_machine_check(text, why);
	if (!err)
		err = world_parse(text, &c, why);
	if (err)
		return err;
	world_host_read(&h);
	m->cpus = c.cpus;
	m->xcr0 = c.machine->xcr0;
	m->has_xgetbv1 = h.has_xgetbv1;
	m->min_signal_stack = world_min_signal_stack(c.machine);
	m->hwcap2 = world_hwcap2(c.machine);
	m->n_leaves = world_leaves(&c, leaves);
	for (uint32_t i = 0; i < m->n_leaves; i++) {
		const struct world_leaf *const l = &leaves[i];
		m->leaves[i] = (struct soft_leaf){ l->leaf, l->sub, l->each, l->a, l->b, l->c, l->d };
		if (l->leaf == 1)
			m->hwcap = l->d;
	}
	host_components(m);
	m->on = 1;
	return 0;
}
