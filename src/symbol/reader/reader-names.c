/* The functions of an object.
 *
 * Tables: .symtab of the file or, where it was stripped, of its debug file and of .gnu_debugdata;
 * .dynsym; stubs of the PLT (reader-plt.c). A symbol counts if it lies in a section of code and is a
 * function, an ifunc (the code at its address is the resolver), or has no type, as labels of
 * assembly have.
 *
 * Several symbols at one address: the one with a size before one without; a function before a label;
 * global or weak before local; fewer leading underscores; global before weak; the shorter name; the
 * first in the alphabet. ("write" of libc is also __write and __GI___write.)
 *
 * A symbol without a size ends where .eh_frame says that the function does, else at the next symbol or
 * at the end of its section; inside a function with a size it is a label, and no function. An
 * address belongs to the function with the highest start that contains it.
 *
 * An address outside of all symbols: the function that DWARF has there; else the bounds that
 * .eh_frame has, without a name; else the gap between the functions of its section.
 */
#include "symbol-reader.h"

#include <stdlib.h>
#include <string.h>

enum rank {		/* the lowest is the best */
	RANK_WEAK = 1 << 0,
	RANK_LOCAL = 1 << 1,
	RANK_LABEL = 1 << 2,
	RANK_NO_SIZE = 1 << 3,
};

void reader_names_add(struct reader_names *t, const struct reader_function *f)
{
	t->functions = reader_grow(t->functions, t->n, &t->cap, sizeof(*f));
	t->functions[t->n++] = *f;
}

void reader_names_free(struct reader_names *t)
{
	free(t->functions);
	free(t->segments);
	*t = (struct reader_names){ 0 };
}

/* ---- symbol tables ---- */

/* Tables have hundreds of thousands of symbols, few of which are asked about: names are looked at only
 * where they decide, so that most of the table of strings is never read. */
struct table {
	const struct reader_elf *elf;
	Elf_Data *symbols;
	size_t string_section;
	const char *strings;		/* NULL: not ending in a 0, or compressed; libelf looks */
	size_t n_strings;
	/* The section of the last symbol: tables are mostly in order of sections. */
	size_t section;
	bool is_code;
	uint64_t start, end;
};

static const char *name_of(const struct table *t, uint32_t at)
{
	if (!t->strings)
		return elf_strptr(t->elf->elf, t->string_section, at);
	return at < t->n_strings ? t->strings + at : NULL;
}

static bool in_code(struct table *t, const GElf_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return false;
	if (t->section != sym->st_shndx) {
		GElf_Shdr header;
		Elf_Scn *const s = elf_getscn(t->elf->elf, sym->st_shndx);
		t->section = sym->st_shndx;
		t->is_code = s && gelf_getshdr(s, &header) && header.sh_flags & SHF_EXECINSTR &&
			     header.sh_flags & SHF_ALLOC;
		t->start = t->is_code ? header.sh_addr : 0;
		t->end = t->is_code ? header.sh_addr + header.sh_size : 0;
	}
	return t->is_code && sym->st_value >= t->start && sym->st_value < t->end;
}

/* $x, $d: marks of arm64; .L: labels of compilers. */
static bool is_mark(const char *name)
{
	return !*name || *name == '$' || !strncmp(name, ".L", 2);
}

static void add_symbol(struct reader_names *names, struct table *t, const GElf_Sym *sym)
{
	const unsigned type = GELF_ST_TYPE(sym->st_info), binding = GELF_ST_BIND(sym->st_info);
	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || !in_code(t, sym))
		return;
	const char *const name = name_of(t, sym->st_name);
	if (!name || (type == STT_NOTYPE && is_mark(name)))
		return;
	const uint64_t room = t->end - sym->st_value;
	const uint64_t size = sym->st_size && sym->st_size < room ? sym->st_size : room;
	const unsigned rank = (binding == STB_WEAK ? RANK_WEAK : 0) | (binding == STB_LOCAL ? RANK_LOCAL : 0) |
			      (type == STT_NOTYPE ? RANK_LABEL : 0) | (sym->st_size ? 0 : RANK_NO_SIZE);
	reader_names_add(names, &(struct reader_function){ .start = sym->st_value + t->elf->bias,
		.end = sym->st_value + size + t->elf->bias, .linkage = name, .rank = (uint8_t)rank });
}

static void add_symbols(struct reader_names *names, struct table *t)
{
	GElf_Sym sym;
	if (gelf_getclass(t->elf->elf) != ELFCLASS64) {
		for (int i = 0; gelf_getsym(t->symbols, i, &sym); i++)
			add_symbol(names, t, &sym);
		return;
	}
	const Elf64_Sym *const all = t->symbols->d_buf;		/* the same as GElf_Sym */
	for (size_t i = 0; all && i < t->symbols->d_size / sizeof(*all); i++)
		add_symbol(names, t, &all[i]);
}

static struct table open_table(const struct reader_elf *e, Elf_Scn *section, const GElf_Shdr *header)
{
	struct table t = { .elf = e, .symbols = elf_getdata(section, NULL), .string_section = header->sh_link };
	GElf_Shdr strings;
	Elf_Scn *const s = elf_getscn(e->elf, header->sh_link);
	Elf_Data *const data = s && gelf_getshdr(s, &strings) && strings.sh_type == SHT_STRTAB &&
			       !(strings.sh_flags & SHF_COMPRESSED) ? elf_getdata(s, NULL) : NULL;
	if (data && data->d_buf && data->d_size && !((const char *)data->d_buf)[data->d_size - 1]) {
		t.strings = data->d_buf;
		t.n_strings = data->d_size;
	}
	return t;
}

/* Adds the functions of the tables of a type; returns whether there was one. */
static bool add_table(struct reader_names *names, const struct reader_elf *e, uint32_t type)
{
	bool found = false;
	for (Elf_Scn *s = NULL; e->elf && (s = elf_nextscn(e->elf, s));) {
		GElf_Shdr header;
		if (!gelf_getshdr(s, &header) || header.sh_type != type)
			continue;
		struct table t = open_table(e, s, &header);
		found |= t.symbols != NULL;
		if (t.symbols)
			add_symbols(names, &t);
	}
	return found;
}

/* ---- one function for each address ---- */

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* Of symbols at one address: the better first. */
static int choice(const struct reader_function *f, const struct reader_function *g)
{
	const unsigned worse = RANK_NO_SIZE | RANK_LABEL | RANK_LOCAL;
	if ((f->rank ^ g->rank) & worse)
		return (f->rank & worse) < (g->rank & worse) ? -1 : 1;
	const size_t u = underscores(f->linkage), v = underscores(g->linkage);
	if (u != v)
		return u < v ? -1 : 1;
	if (f->rank != g->rank)
		return f->rank < g->rank ? -1 : 1;
	const size_t m = strlen(f->linkage), n = strlen(g->linkage);
	if (m != n)
		return m < n ? -1 : 1;
	return strcmp(f->linkage, g->linkage);
}

/* Ranges: the outer one first. */
static int nesting(const struct reader_function *f, const struct reader_function *g)
{
	if (f->rank != g->rank)
		return f->rank < g->rank ? -1 : 1;
	return f->end > g->end ? -1 : f->end < g->end;
}

/* By start: radix sort, eleven bits at a time; what is equal stays in order. */
static void sort_by_start(struct reader_names *t)
{
	enum { BITS = 11, DIGITS = 1 << BITS };
	uint64_t all = 0;
	for (size_t i = 0; i < t->n; i++)
		all |= t->functions[i].start;
	struct reader_function *other = reader_alloc(t->n * sizeof(*other));
	for (unsigned shift = 0; shift < 64 && all >> shift; shift += BITS) {
		size_t at[DIGITS] = { 0 }, sum = 0;
		for (size_t i = 0; i < t->n; i++)
			at[t->functions[i].start >> shift & (DIGITS - 1)]++;
		for (size_t d = 0; d < DIGITS; d++) {
			const size_t n = at[d];
			at[d] = sum;
			sum += n;
		}
		for (size_t i = 0; i < t->n; i++)
			other[at[t->functions[i].start >> shift & (DIGITS - 1)]++] = t->functions[i];
		struct reader_function *const sorted = other;
		other = t->functions;
		t->functions = sorted;
	}
	t->cap = t->n;
	free(other);
}

/* The best of the symbols at each address. */
static void choose(struct reader_names *t)
{
	size_t kept = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct reader_function *const last = kept ? &t->functions[kept - 1] : NULL;
		if (!last || last->start != t->functions[i].start)
			t->functions[kept++] = t->functions[i];
		else if (choice(&t->functions[i], last) < 0)
			*last = t->functions[i];
	}
	t->n = kept;
}

/* Few ranges begin at one address. */
static void nest(struct reader_names *t)
{
	for (size_t i = 1; i < t->n; i++) {
		const struct reader_function f = t->functions[i];
		size_t at = i;
		for (; at && t->functions[at - 1].start == f.start && nesting(&f, &t->functions[at - 1]) < 0; at--)
			t->functions[at] = t->functions[at - 1];
		t->functions[at] = f;
	}
}

/* Symbols without a size: labels inside of functions go, the others get an end. */
static void end_symbols(struct reader_object *o, struct reader_names *t)
{
	uint64_t covered = 0;
	size_t kept = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct reader_function f = t->functions[i];
		uint64_t start, end;
		if (f.rank & RANK_NO_SIZE) {
			if (f.start < covered)
				continue;
			if (reader_frame_at(o, f.start, &start, &end) && start == f.start)
				f.end = end < f.end ? end : f.end;
			else if (i + 1 < t->n && t->functions[i + 1].start < f.end)
				f.end = t->functions[i + 1].start;
		} else if (f.end > covered) {
			covered = f.end;
		}
		t->functions[kept++] = f;
	}
	t->n = kept;
}

static void add_segment(struct reader_names *t, size_t *cap, uint64_t start, uint64_t end, size_t function)
{
	if (start >= end)
		return;
	t->segments = reader_grow(t->segments, t->n_segments, cap, sizeof(*t->segments));
	t->segments[t->n_segments++] = (struct reader_segment){ start, end, (uint32_t)function };
}

/* Functions by start; `open` is the stack of those that contain the place. */
static void make_segments(struct reader_names *t)
{
	size_t *const open = reader_alloc(t->n * sizeof(*open));
	size_t depth = 0, cap = 0;
	uint64_t at = 0;
	for (size_t i = 0; i <= t->n; i++) {
		const uint64_t start = i < t->n ? t->functions[i].start : UINT64_MAX;
		while (depth && t->functions[open[depth - 1]].end <= start) {
			const size_t top = open[--depth];
			add_segment(t, &cap, at, t->functions[top].end, top);
			at = t->functions[top].end > at ? t->functions[top].end : at;
		}
		if (depth)
			add_segment(t, &cap, at, start, open[depth - 1]);
		if (i < t->n)
			open[depth++] = i;
		at = start;
	}
	free(open);
}

/* The first segment that ends after the address; n_segments: none. */
static size_t segment_after(const struct reader_names *t, uint64_t address)
{
	size_t low = 0, high = t->n_segments;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (t->segments[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool in_segment(const struct reader_names *t, size_t at, uint64_t address)
{
	return at < t->n_segments && t->segments[at].start <= address && address < t->segments[at].end;
}

struct reader_function *reader_names_at(struct reader_names *t, uint64_t address)
{
	if (!in_segment(t, t->last, address))
		t->last = segment_after(t, address);
	return in_segment(t, t->last, address) ? &t->functions[t->segments[t->last].function] : NULL;
}

void reader_names_arrange(struct reader_names *t)
{
	sort_by_start(t);
	nest(t);
	make_segments(t);
}

static void make_names(struct reader_object *o)
{
	struct reader_names *const t = &o->names;
	o->named = true;
	o->has_symtab = add_table(t, &o->own, SHT_SYMTAB);
	if (!o->has_symtab) {
		o->has_symtab = add_table(t, &o->debug, SHT_SYMTAB);
		o->has_symtab |= add_table(t, &o->mini, SHT_SYMTAB);
	}
	add_table(t, &o->own, SHT_DYNSYM);
	reader_plt(o, t);
	sort_by_start(t);
	choose(t);
	end_symbols(o, t);
	make_segments(t);
}

/* ---- an address ---- */

/* memcpy@@GLIBC_2.14: the version is not part of the name. ("@" alone may be: ObjC, "@plt".) */
static const char *without_version(const char *name)
{
	const char *const at = strchr(name, '@');
	if (!at || at == name || !(at[1] == '@' || (at[1] >= 'A' && at[1] <= 'Z')))
		return name;
	char *const copy = strndup(name, (size_t)(at - name));	/* kept until the program ends */
	return copy ? copy : name;
}

/* Bounds without a symbol reach no further than to the symbols beside them. */
static void crop(const struct reader_names *t, uint64_t address, struct reader_function *f)
{
	const size_t next = segment_after(t, address);
	if (next < t->n_segments && t->segments[next].start < f->end)
		f->end = t->segments[next].start;
	if (next && t->segments[next - 1].end > f->start)
		f->start = t->segments[next - 1].end;
}

static bool without_symbol(struct reader_object *o, uint64_t address, struct reader_function *f)
{
	struct reader_line line;
	struct reader_inline inlines[READER_INLINES];
	struct reader_subprogram sub = { 0 };
	*f = (struct reader_function){ 0 };
	if (!(o->flags & WIRE_NO_DWARF) && !(o->flags & WIRE_NO_LINES && o->has_symtab))
		reader_lines_at(o, address, &line, inlines, &sub);
	if (sub.start <= address && address < sub.end) {
		f->start = sub.start;
		f->end = sub.end;
		f->linkage = sub.linkage ? sub.linkage : sub.name;
	} else if (!reader_frame_at(o, address, &f->start, &f->end)) {
		if (!reader_gap_at(o, address, &f->start, &f->end))
			return false;
		f->is_gap = true;
	}
	crop(&o->names, address, f);
	return true;
}

/* Functions without a symbol are found one by one. */
static struct reader_function *bare_at(struct reader_object *o, uint64_t address, uint64_t *until)
{
	struct reader_names *const t = &o->bare;
	const size_t at = segment_after(t, address);
	*until = address + 1;
	if (at < t->n_segments && t->segments[at].start <= address) {
		*until = t->segments[at].end;
		return &t->functions[t->segments[at].function];
	}
	struct reader_function f;
	if (!without_symbol(o, address, &f))
		return NULL;
	crop(t, address, &f);
	reader_names_add(t, &f);
	size_t cap = t->n_segments;
	if (!(cap & (cap - 1)))		/* full: its room is a power of two */
		t->segments = reallocarray(t->segments, cap ? 2 * cap : 1, sizeof(*t->segments));
	if (!t->segments)
		_Exit(1);
	memmove(t->segments + at + 1, t->segments + at, (t->n_segments - at) * sizeof(*t->segments));
	t->segments[at] = (struct reader_segment){ f.start, f.end, (uint32_t)(t->n - 1) };
	t->n_segments++;
	*until = f.end;
	return &t->functions[t->n - 1];
}

struct reader_function *reader_function_at(struct reader_object *o, uint64_t address, uint64_t *until)
{
	if (!o->named)
		make_names(o);
	struct reader_function *const f = reader_names_at(&o->names, address);
	if (!f)
		return bare_at(o, address, until);
	*until = o->names.segments[o->names.last].end;
	if (!f->number)		/* the first time */
		f->linkage = f->linkage && *f->linkage ? without_version(f->linkage) : NULL;
	return f;
}
