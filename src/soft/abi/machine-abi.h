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
	uint32_t n_leaves;
	struct soft_leaf leaves[MACHINE_LEAVES];
};

/* A folder with files that are shown instead of some of procfs and sysfs (guest/shown-files.c). */
#define FILES_VPMU	1u		/* those of the model of `tare run` */
#define FILES_MACHINE	2u		/* those of the machine */

struct soft_files {
	uint32_t of;			/* FILES_…; 0: there is none */
	uint64_t proc_dev, sys_dev;	/* of /proc and /sys */
	char dir[256];			/* no slash at the end */
};

#endif
