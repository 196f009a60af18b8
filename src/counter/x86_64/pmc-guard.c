/* A fault at one of our rdpmc, and where the read goes on.
 *
 * Every place that reads has an ELF note (tare/counter-x86_64.h), in the module that the
 * read was inlined in. Its notes are in the module's PT_NOTE segments, which
 * dl_iterate_phdr() finds for all modules, those that came by dlopen included:
 *
 *	namesz 5, descsz 8, type 1, "tare\0" and 3 bytes, then the words
 *	address of rdpmc, address of the slow path, each minus its own address
 *
 * dl_iterate_phdr() is not async-signal-safe, and need not be: the signal is the fault of
 * an rdpmc, which is in no function of the C library.
 */
#include "pmc.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

struct lookup {
	uintptr_t pc;
	uintptr_t resume;	/* 0: not found */
};

static size_t round_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static bool is_ours(const ElfW(Nhdr) *n)
{
	return n->n_namesz == 5 && n->n_descsz == 8 && n->n_type == 1 &&
	       memcmp(n + 1, "tare", 5) == 0;
}

static void search(const char *notes, size_t size, size_t align, struct lookup *l)
{
	for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
		const ElfW(Nhdr) *const n = (const void *)(notes + at);
		const size_t desc = at + round_up(sizeof(*n) + n->n_namesz, align);
		const size_t next = round_up(desc + n->n_descsz, align);
		if (next <= at || desc + n->n_descsz > size)
			return;
		if (is_ours(n)) {
			const int32_t *const words = (const void *)(notes + desc);
			if ((uintptr_t)&words[0] + (uintptr_t)(intptr_t)words[0] == l->pc)
				l->resume = (uintptr_t)&words[1] + (uintptr_t)(intptr_t)words[1];
		}
		at = next;
	}
}

/* Notes can be in a file without being loaded. */
static bool is_loaded(const struct dl_phdr_info *m, const ElfW(Phdr) *p)
{
	for (size_t i = 0; i < m->dlpi_phnum; i++) {
		const ElfW(Phdr) *const l = &m->dlpi_phdr[i];
		if (l->p_type == PT_LOAD && l->p_flags & PF_R && p->p_vaddr >= l->p_vaddr &&
		    p->p_vaddr + p->p_memsz <= l->p_vaddr + l->p_filesz)
			return true;
	}
	return false;
}

static int search_module(struct dl_phdr_info *m, size_t size, void *arg)
{
	struct lookup *const l = arg;
	(void)size;
	for (size_t i = 0; i < m->dlpi_phnum && !l->resume; i++) {
		const ElfW(Phdr) *const p = &m->dlpi_phdr[i];
		if (p->p_type == PT_NOTE && is_loaded(m, p))
			search((const char *)(m->dlpi_addr + p->p_vaddr), p->p_memsz,
			       p->p_align == 8 ? 8 : 4, l);
	}
	return l->resume != 0;
}

int pmc_guard_signal(void)
{
	return SIGSEGV;
}

/* A general protection fault has no address, and the kernel's own code: so the
 * instruction was fetched, and can be looked at. */
bool pmc_guard_recover(const siginfo_t *info, void *context)
{
	greg_t *const regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *const pc = (const unsigned char *)regs[REG_RIP];
	if (info->si_code != SI_KERNEL || pc[0] != 0x0f || pc[1] != 0x33)
		return false;
	struct lookup l = { .pc = (uintptr_t)pc };
	dl_iterate_phdr(search_module, &l);
	if (!l.resume)
		return false;
	regs[REG_RIP] = (greg_t)l.resume;
	return true;
}
