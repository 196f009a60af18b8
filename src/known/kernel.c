/* Kernels: see kernel.h. The tables are made by tools/kernel-counts.
 *
 * A part is one mapping: a copy of the kernel's code and, at the distance that it has from the
 * code in the library, one of its cells. Between choices the code is written again from the
 * original, and jumps are put over the cases that are not wanted.
 */
#include "kernel-arch.h"

#include "why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum tare_role kernel_event_role(enum kernel_event e)
{
	static const enum tare_role roles[KERNEL_EVENTS] = {
		[KERNEL_INSTRUCTIONS] = TARE_ROLE_INSTRUCTIONS,
		[KERNEL_BRANCHES] = TARE_ROLE_BRANCHES,
		[KERNEL_COND_BRANCHES] = TARE_ROLE_COND_BRANCHES,
		[KERNEL_TAKEN_BRANCHES] = TARE_ROLE_TAKEN_BRANCHES,
		[KERNEL_LOADS] = TARE_ROLE_LOADS,
		[KERNEL_STORES] = TARE_ROLE_STORES,
		[KERNEL_CALLS] = TARE_ROLE_CALLS,
		[KERNEL_RETURNS] = TARE_ROLE_RETURNS,
		[KERNEL_INDIRECT_BRANCHES] = TARE_ROLE_INDIRECT_BRANCHES,
		[KERNEL_SYSCALLS] = TARE_ROLE_SYSCALLS,
		[KERNEL_MULTIPLIES] = TARE_ROLE_MULTIPLIES,
		[KERNEL_DIVIDES] = TARE_ROLE_DIVIDES,
		[KERNEL_X87] = TARE_ROLE_X87,
		[KERNEL_FP] = TARE_ROLE_FP,
		[KERNEL_SIMD_INT] = TARE_ROLE_SIMD_INT,
		[KERNEL_LOCKED] = TARE_ROLE_LOCKED,
		[KERNEL_FAR_TRANSFERS] = TARE_ROLE_FAR_BRANCHES,
	};
	return roles[e];
}

int kernel_event_of_role(enum tare_role role)
{
	for (int e = 0; e < KERNEL_EVENTS; e++)
		if (kernel_event_role((enum kernel_event)e) == role)
			return e;
	if (role == TARE_ROLE_INSTRUCTIONS_FIXED || role == TARE_ROLE_INSTRUCTIONS_PRECISE)
		return KERNEL_INSTRUCTIONS;
	return -1;
}

const struct kernel *kernel_by_name(const char *name)
{
	for (size_t i = 0; i < n_kernels; i++)
		if (!strcmp(kernels[i]->name, name))
			return kernels[i];
	return NULL;
}

const char *kernel_lacks(const struct kernel *k)
{
	for (const char *const *f = k->flags; *f; f++)
		if (!kernel_arch_has(*f))
			return *f;
	return kernel_arch_ask(k);
}

/* What kernels need at most, and a page behind it that faults. */
enum { MEMORY_SIZE = 64 * 1024, GUARD_SIZE = 64 * 1024 };

void *kernel_memory_open(struct tare_why *why)
{
	void *const memory = mmap(NULL, MEMORY_SIZE + GUARD_SIZE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | kernel_arch_map_flags, -1, 0);
	if (memory == MAP_FAILED) {
		why_errno(why, TARE_E_NOMEM, errno, "memory for the kernels with known counts");
		return NULL;
	}
	mprotect((uint8_t *)memory + MEMORY_SIZE, GUARD_SIZE, PROT_NONE);
	memset(memory, 0, MEMORY_SIZE);
	return memory;
}

void kernel_memory_close(void *memory)
{
	if (memory)
		munmap(memory, MEMORY_SIZE + GUARD_SIZE);
}

struct kernel_part {
	const struct kernel *k;
	uint8_t *map;			/* all of it */
	size_t map_size;
	uint8_t *code;			/* the copy */
	uint8_t *code_pages;
	size_t code_pages_size;
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Where the pages lie that hold [from, to). */
static uint8_t *pages_of(uint8_t *from, const uint8_t *to, size_t *size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *const first = from - (uintptr_t)from % page;
	*size = round_up((size_t)(to - first), page);
	return first;
}

/* Reserves a room in which code and cells have the distance of the originals: `low` is the
 * lower one of the two. */
static int reserve(struct kernel_part *p, const uint8_t *low, const uint8_t *high)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t before = (uintptr_t)low % page;
	p->map_size = round_up(before + (size_t)(high - low), page);
	p->map = mmap(NULL, p->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	if (p->map == MAP_FAILED)
		return -1;
	p->code = p->map + before + (p->k->code - low);
	return 0;
}

static int copy_cells(struct kernel_part *p)
{
	const struct kernel *const k = p->k;
	if (!k->cells)
		return 0;
	uint8_t *const cells = p->code + (k->cells - k->code);
	const size_t size = (size_t)(k->cells_end - k->cells);
	size_t pages;
	uint8_t *const first = pages_of(cells, cells + size, &pages);
	if (mprotect(first, pages, PROT_READ | PROT_WRITE) < 0)
		return -1;
	memcpy(cells, k->cells, size);
	return 0;
}

static int set_code_protection(const struct kernel_part *p, int prot)
{
	return mprotect(p->code_pages, p->code_pages_size, prot);
}

int kernel_part_open(const struct kernel *k, struct kernel_part **part, struct tare_why *why)
{
	struct kernel_part *const p = calloc(1, sizeof(*p));
	if (!p)
		return why_set(why, TARE_E_NOMEM, "a part of the kernel %s", k->name);
	p->k = k;
	const bool cells_above = k->cells && k->cells > k->code;
	const uint8_t *const low = k->cells && !cells_above ? k->cells : k->code;
	if (reserve(p, low, cells_above ? k->cells_end : k->code_end) < 0) {
		const int err = errno;
		free(p);
		return why_errno(why, TARE_E_NOMEM, err, "a part of the kernel %s", k->name);
	}
	p->code_pages = pages_of(p->code, p->code + (k->code_end - k->code), &p->code_pages_size);
	if (set_code_protection(p, PROT_READ | PROT_WRITE) < 0 || copy_cells(p) < 0 ||
	    set_code_protection(p, PROT_READ | PROT_EXEC) < 0) {
		const int err = errno;
		kernel_part_close(p);
		why_errno(why, TARE_E_PERMISSION, err,
			  "code written at run time, for a part of the kernel %s", k->name);
		why_remedy(why, "let the process execute memory that it has written (systemd: "
			   "MemoryDenyWriteExecute=no; SELinux: execmem)");
		return TARE_E_PERMISSION;
	}
	*part = p;
	return 0;
}

void kernel_part_choose(struct kernel_part *part, const bool *wanted, uint64_t *each)
{
	const struct kernel *const k = part->k;
	const size_t size = (size_t)(k->code_end - k->code);
	set_code_protection(part, PROT_READ | PROT_WRITE);
	memcpy(part->code, k->code, size);
	for (int e = 0; e < KERNEL_EVENTS; e++)
		each[e] += k->tail[e];
	for (size_t i = 0, next; i < k->n_cases; i = next) {
		next = i + 1;
		if (wanted[i]) {
			for (int e = 0; e < KERNEL_EVENTS; e++)
				each[e] += k->cases[i].counts[e];
			continue;
		}
		while (next < k->n_cases && !wanted[next])
			next++;
		kernel_arch_skip(part->code + k->at[i], k->at[next] - k->at[i], each);
	}
	set_code_protection(part, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)part->code, (char *)part->code + size);
}

void kernel_part_run(struct kernel_part *part, uint64_t loops, void *memory)
{
	void (*run)(uint64_t, void *);
	memcpy(&run, &part->code, sizeof(run));
	run(loops, memory);
}

void kernel_part_close(struct kernel_part *part)
{
	if (!part)
		return;
	munmap(part->map, part->map_size);
	free(part);
}
