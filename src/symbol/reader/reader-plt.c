/* Stubs of the procedure linkage table: "malloc@plt".
 *
 * Every stub of x86-64 jumps through a slot of the global offset table, and a relocation of the slot names
 * the function:
 *	jmp *slot(%rip)			.plt of lazy binding, .plt.got, .plt.sec without IBT
 *	endbr64; [bnd] jmp *slot(%rip)	.plt.sec, .plt.got with IBT
 *	[bnd] jmp *slot(%rip)		.plt.bnd
 *	endbr64; push $n; [bnd] jmp	.plt with IBT: the n-th relocation of .rela.plt
 * So the layouts of linkers need not be known. In a static program the slots are for ifuncs, and their
 * relocations have the resolver's address.
 */
#include "symbol-reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
	uint64_t address;
	const char *name;
};

struct slots {
	struct slot *slots;		/* in order of addresses */
	struct slot *lazy;		/* in order of .rela.plt */
	size_t n, cap, n_lazy, lazy_cap;
};

/* Few, and only in static programs. */
static const char *resolver(const struct reader_names *t, uint64_t address)
{
	const char *best = NULL;
	for (size_t i = 0; i < t->n; i++)
		if (t->functions[i].start == address && (!best || strlen(t->functions[i].linkage) < strlen(best)))
			best = t->functions[i].linkage;
	return best;
}

static const char *name_of(Elf *elf, const GElf_Rela *r, Elf_Data *symbols, size_t strings,
			   const struct reader_names *t)
{
	GElf_Sym sym;
	if (GELF_R_TYPE(r->r_info) == R_X86_64_IRELATIVE)
		return resolver(t, (uint64_t)r->r_addend);
	if (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(r->r_info), &sym))
		return NULL;
	const char *const name = elf_strptr(elf, strings, sym.st_name);
	return name && *name ? name : NULL;
}

static bool is_slot(const GElf_Rela *r)
{
	const unsigned type = GELF_R_TYPE(r->r_info);
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_IRELATIVE;
}

static void add_relocations(struct slots *s, Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			    const struct reader_names *t)
{
	Elf_Data *const data = elf_getdata(section, NULL);
	Elf_Scn *const linked = header->sh_link ? elf_getscn(elf, header->sh_link) : NULL;
	Elf_Data *const symbols = linked ? elf_getdata(linked, NULL) : NULL;
	GElf_Shdr linked_header = { 0 };
	size_t names;
	const bool ok = elf_getshdrstrndx(elf, &names) == 0;
	const char *const own = ok ? elf_strptr(elf, names, header->sh_name) : NULL;
	const bool lazy = own && !strcmp(own, ".rela.plt");
	if (linked)
		gelf_getshdr(linked, &linked_header);
	const Elf64_Rela *const all = data ? data->d_buf : NULL;	/* the same as GElf_Rela */
	for (size_t i = 0; all && i < data->d_size / sizeof(*all); i++) {
		const GElf_Rela r = all[i];
		if (!is_slot(&r))
			continue;
		const struct slot slot = { r.r_offset, name_of(elf, &r, symbols, linked_header.sh_link, t) };
		s->slots = reader_grow(s->slots, s->n, &s->cap, sizeof(slot));
		s->slots[s->n++] = slot;
		if (!lazy)
			continue;
		s->lazy = reader_grow(s->lazy, s->n_lazy, &s->lazy_cap, sizeof(slot));
		s->lazy[s->n_lazy++] = slot;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct slot *const s = a, *const t = b;
	return s->address < t->address ? -1 : s->address > t->address;
}

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t value;
	memcpy(&value, p, sizeof(value));
	return value;
}

/* The name for the stub at `p`, `n` bytes long; NULL: it is none. */
static const char *stub(const struct slots *s, const uint8_t *p, size_t n, uint64_t address)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	if (n >= 2 && p[0] == 0xff && p[1] == 0x35)
		return "[resolve]";	/* the first one: push, and jump to the dynamic linker */
	if (n >= 4 && !memcmp(p, endbr64, 4))
		at = 4;
	if (at + 5 <= n && p[at] == 0x68)
		return u32_at(p + at + 1) < s->n_lazy ? s->lazy[u32_at(p + at + 1)].name : NULL;
	if (at < n && p[at] == 0xf2)
		at++;
	if (at + 6 > n || p[at] != 0xff || p[at + 1] != 0x25)
		return NULL;
	const struct slot key = { address + at + 6 + (uint64_t)(int64_t)(int32_t)u32_at(p + at + 2), NULL };
	const struct slot *const found = s->n ? bsearch(&key, s->slots, s->n, sizeof(key), by_address) : NULL;
	return found ? found->name : NULL;
}

/* The size of a stub. Linkers do not always say it: of static programs GNU ld gives 0, and the stubs have 8 bytes. */
static size_t stub_size(const struct slots *s, const Elf_Data *data, const GElf_Shdr *header)
{
	const uint8_t *const p = data->d_buf;
	if (header->sh_entsize == 8 || header->sh_entsize == 16)
		return header->sh_entsize;
	return data->d_size == 8 || (data->d_size >= 16 && stub(s, p, 8, header->sh_addr) &&
				     stub(s, p + 8, 8, header->sh_addr + 8)) ? 8 : 16;
}

static void add_stubs(struct reader_names *t, const struct slots *s, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *const data = elf_getdata(section, NULL);
	if (!data || !data->d_buf)
		return;
	const size_t entry = stub_size(s, data, header);
	for (size_t at = 0; at + entry <= data->d_size; at += entry) {
		const uint64_t address = header->sh_addr + at;
		const char *const name = stub(s, (const uint8_t *)data->d_buf + at, entry, address);
		char *linkage;		/* kept until the program ends */
		if (name && asprintf(&linkage, "%s@plt", name) >= 0)
			reader_names_add(t, &(struct reader_function){ .start = address,
				.end = address + entry, .linkage = linkage, .is_plt = true });
	}
}

void reader_plt(struct reader_object *o, struct reader_names *t)
{
	Elf *const elf = o->own.elf;
	GElf_Ehdr ehdr;
	GElf_Shdr header;
	size_t names;
	struct slots s = { 0 };
	if (!elf || !gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_X86_64 ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf_getshdrstrndx(elf, &names) < 0)
		return;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA && header.sh_flags & SHF_ALLOC)
			add_relocations(&s, elf, section, &header, t);
	if (s.n)
		qsort(s.slots, s.n, sizeof(*s.slots), by_address);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		const char *const name = gelf_getshdr(section, &header) ?
					 elf_strptr(elf, names, header.sh_name) : NULL;
		if (name && (!strncmp(name, ".plt", 4) || !strcmp(name, ".iplt")) &&
		    header.sh_type == SHT_PROGBITS && header.sh_flags & SHF_EXECINSTR)
			add_stubs(t, &s, section, &header);
	}
	free(s.slots);
	free(s.lazy);
}
