/* The room world: what a run sees, as a description. `launch` applies it outside of the measured
 * process (soft-machine.c), the engine inside (soft/guest/machine-*.c).
 *
 *	machines.c	the machines: const tables
 *	machine-leaves.c	a machine as answers to cpuid
 *	machine-files.c	a machine as files of procfs and sysfs
 *	features.c	names of the features; which of them a host lacks
 *	facts.c		the list of what is fixed and what is left; seeds
 *	ARCH/host.c	the features of this host
 */
#ifndef WORLD_H
#define WORLD_H

#include "buf.h"

#include <tare/world.h>

/* The words of cpuid that have features, in the order of Linux's list of flags. */
enum world_word {
	WORD_1_EDX,
	WORD_X1_EDX,		/* leaf 0x80000001 */
	WORD_1_ECX,
	WORD_X1_ECX,
	WORD_7_EBX,
	WORD_D1_EAX,		/* leaf 0xD, sub-leaf 1 */
	WORD_71_EAX,		/* leaf 7, sub-leaf 1 */
	WORD_X8_EBX,		/* leaf 0x80000008 */
	WORD_7_ECX,
	WORD_7_EDX,
	WORLD_WORDS
};

struct world_cache {
	uint8_t level, type;	/* type as in leaf 4: 1 data, 2 instructions, 3 both */
	uint8_t ways;
	uint32_t kib;		/* lines have 64 bytes */
};

#define WORLD_CACHES 4

struct world_machine {
	const char *name, *about;
	const char *vendor;	/* 12 characters */
	const char *brand;
	uint32_t family, model, stepping;
	uint32_t words[WORLD_WORDS];
	uint64_t xcr0;		/* 0: no XSAVE */
	struct world_cache caches[WORLD_CACHES];
};

#define WORLD_MAX_CPUS 64

/* A machine that was asked for. */
struct world_choice {
	const struct world_machine *machine;
	unsigned cpus;
};

/* "NAME" or "NAME,cpus=N". 0 or TARE_E_INVALID. */
int world_parse(const char *text, struct world_choice *c, struct tare_why *why);

/* cpuid(leaf, sub). A sub-leaf that is not listed has the answer 0; with `each`, the answer is the
 * same for every sub-leaf. */
struct world_leaf {
	uint32_t leaf, sub;
	uint32_t each;
	uint32_t a, b, c, d;
};
/* What was asked for, as text. */
struct world_asked {
	const char *machine;		/* as world_parse() takes it; NULL: the host's CPU */
	const char *hermetic;		/* a seed; NULL: the host's world */
	const char *schedule;		/* a seed; NULL: the order of creation */
};
#define WORLD_HERMETIC_MACHINE "x86-64-v2"	/* of a still world, unless another one is asked for */
bool world_seed(const char *text, uint64_t *seed);	/* false: it is none */

/* What a run sees; both texts are good. NULL: out of memory. */
struct tare_world *world_new(const struct world_asked *asked);
void world_free(struct tare_world *w);

#define WORLD_MAX_LEAVES 64
/* Fills `out`; returns how many. */
unsigned world_leaves(const struct world_choice *c, struct world_leaf out[WORLD_MAX_LEAVES]);
uint64_t world_hash(const struct world_choice *c);

/* The size of the XSAVE area in the standard format, with Intel's offsets; 512 without XSAVE. */
uint32_t world_xsave_size(uint64_t xcr0);
/* What the kernel would say of the machine in the auxiliary vector. */
uint64_t world_hwcap2(const struct world_machine *m);
uint32_t world_min_signal_stack(void);

struct world_host {
	uint32_t words[WORLD_WORDS];
	uint64_t xcr0;
	bool fsgsbase;		/* the kernel allows these instructions */
	bool has_xgetbv1;
};
bool world_host_read(struct world_host *h);	/* false: the host is no x86-64 */
/* Adds the names of the machine's features that the host lacks, with blanks between them. */
void world_lacks(const struct world_machine *m, const struct world_host *h, struct buf *names);
/* The flags that Linux shows in /proc/cpuinfo. */
void world_flags(const struct world_machine *m, unsigned cpus, struct buf *out);
/* Is a feature, as Linux names it, one of the machine? True for names that are not known. */
bool world_has(const struct world_machine *m, const char *feature);

/* Calls `put` with each file: its path below a folder that stands for the whole machine, and its
 * text. "cpuinfo"; "cpu/…" is /sys/devices/system/cpu/…, "node/…" /sys/devices/system/node/… */
void world_files(const struct world_choice *c,
		 void (*put)(const char *path, const char *text, void *arg), void *arg);

#endif
