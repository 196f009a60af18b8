/* Source lines and inlined functions, from DWARF 2 to 5, in the file or in its debug file; of split
 * DWARF the line tables are in the file and the functions in .dwo files, which libdw finds.
 *
 * A unit's line table and its functions are read when the first address of the unit is asked about.
 * Which unit an address is in is known from the ranges of all units: .debug_aranges is often missing.
 */
#include "symbol-reader.h"

#include <dwarf.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 250	/* nested DIEs */

/* A function, or an inlined one. */
struct node {
	Dwarf_Die die;
	size_t parent;			/* in nodes; itself: none */
	bool is_inline, named;
	const char *name, *linkage;
};

struct unit {
	Dwarf_Die lines, functions;	/* of split DWARF: the skeleton, and the unit of the .dwo file */
	bool read, lines_broken;
	struct node *nodes;
	size_t n_nodes, cap;
	struct reader_names scopes;	/* number: index of the node */
};

/* Paths as libdw gives them → as shown. */
struct path {
	const char *raw;
	char *shown;
};

struct reader_lines {
	Dwarf *dwarf;
	struct reader_elf *elf;
	struct unit *units;
	size_t n_units, cap;
	struct reader_names ranges;	/* number: index of the unit */
	struct path *paths;
	size_t n_paths, path_slots;
};

/* ---- paths ---- */

/* /a/./b, /a//b, /a/x/../b → /a/b. False: it leads out of the place where it begins. */
static bool normalise(char *path)
{
	char *to = path;
	const char *from = path;
	while (*from) {
		const size_t n = strcspn(from + 1, "/") + 1;
		if (n == 1 || (n == 2 && from[1] == '.')) {
			;
		} else if (n == 3 && from[1] == '.' && from[2] == '.') {
			if (to == path)
				return false;
			while (*--to != '/')
				;
		} else {
			memmove(to, from, n);
			to += n;
		}
		from += n;
	}
	*to = '\0';
	return true;
}

static char *make_path(const char *raw, Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	const char *const folder = *raw == '/' || !dwarf_attr(unit, DW_AT_comp_dir, &attr) ?
				   NULL : dwarf_formstring(&attr);
	char *path, *plain;
	if (asprintf(&path, "/%s%s%s", folder ? folder : "", folder ? "/" : "", raw) < 0 ||
	    !(plain = strdup(path)))
		_Exit(1);
	const bool absolute = path[1] == '/', ok = normalise(plain) && plain[0];
	char *const from = ok ? plain : path, *const shown = strdup(from + !(ok && absolute));
	if (!shown)
		_Exit(1);
	free(path);
	free(plain);
	return shown;
}

static size_t path_slot(const struct reader_lines *l, const char *raw)
{
	size_t at = ((uintptr_t)raw >> 3) * 0x9e3779b97f4a7c15ull >> 20 & (l->path_slots - 1);
	while (l->paths[at].raw && l->paths[at].raw != raw)
		at = (at + 1) & (l->path_slots - 1);
	return at;
}

static void more_paths(struct reader_lines *l)
{
	struct path *const old = l->paths;
	const size_t n = l->path_slots;
	l->path_slots = n ? 2 * n : 256;
	l->paths = reader_alloc(l->path_slots * sizeof(*l->paths));
	for (size_t i = 0; i < n; i++)
		if (old[i].raw)
			l->paths[path_slot(l, old[i].raw)] = old[i];
	free(old);
}

/* libdw gives the same pointer for the same entry of a unit's table. */
static const char *shown_path(struct reader_lines *l, const char *raw, Dwarf_Die *unit)
{
	if (!raw || !*raw)
		return NULL;
	if (2 * l->n_paths >= l->path_slots)
		more_paths(l);
	struct path *const p = &l->paths[path_slot(l, raw)];
	if (!p->raw) {
		*p = (struct path){ raw, make_path(raw, unit) };
		l->n_paths++;
	}
	return p->shown;
}

/* ---- units ---- */

static void add_ranges(struct reader_names *t, Dwarf_Die *die, uint64_t bias, size_t number, unsigned depth)
{
	Dwarf_Addr base, start, end;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
		if (start && start < end)	/* 0: the linker dropped the code */
			reader_names_add(t, &(struct reader_function){ .start = start + bias,
				.end = end + bias, .number = (uint32_t)number, .rank = (uint8_t)depth });
}

/* DWARF 2 has no way to say that a unit has code in several places, and some units say nothing; then the
 * line table does. */
static void add_sequences(struct reader_names *t, Dwarf_Die *die, uint64_t bias, size_t number)
{
	Dwarf_Lines *lines;
	size_t n;
	Dwarf_Addr start = 0, at;
	if (!dwarf_hasattr(die, DW_AT_stmt_list) || dwarf_getsrclines(die, &lines, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *const line = dwarf_onesrcline(lines, i);
		bool ends;
		if (!line || dwarf_lineaddr(line, &at) != 0 || dwarf_lineendsequence(line, &ends) != 0)
			return;
		if (ends && start && start < at)
			reader_names_add(t, &(struct reader_function){ .start = start + bias, .end = at + bias,
				.number = (uint32_t)number });
		start = ends ? 0 : start ? start : at;
	}
}

static void read_units(struct reader_object *o, struct reader_lines *l)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;
	int result;
	while ((result = dwarf_get_units(l->dwarf, cu, &cu, &version, &type, &die, NULL)) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		l->units = reader_grow(l->units, l->n_units, &l->cap, sizeof(*l->units));
		l->units[l->n_units] = (struct unit){ .lines = die, .functions = die };
		const size_t before = l->ranges.n;
		add_ranges(&l->ranges, &die, l->elf->bias, l->n_units, 0);
		if (l->ranges.n == before || version < 3)
			add_sequences(&l->ranges, &die, l->elf->bias, l->n_units);
		l->n_units++;
	}
	if (result < 0)
		reader_note(o, "%s: its debug information is broken (%s)", l->elf->path, dwarf_errmsg(-1));
	reader_names_arrange(&l->ranges);
}

static bool has_dwarf(const struct reader_elf *e)
{
	GElf_Shdr header;
	return reader_section(e->elf, ".debug_info", &header) || reader_section(e->elf, ".zdebug_info", &header);
}

static struct reader_lines *lines_of(struct reader_object *o)
{
	if (o->lines)
		return o->lines;
	struct reader_lines *const l = o->lines = reader_alloc(sizeof(*l));
	l->elf = has_dwarf(&o->own) ? &o->own : has_dwarf(&o->debug) ? &o->debug : NULL;
	if (!l->elf)
		return l;
	l->dwarf = dwarf_begin_elf(l->elf->elf, DWARF_C_READ, NULL);
	if (!l->dwarf) {
		reader_note(o, "%s: its debug information is broken (%s)", l->elf->path, dwarf_errmsg(-1));
		return l;
	}
	reader_find_alt(o, l->elf, l->dwarf);
	read_units(o, l);
	return l;
}

/* ---- the functions of a unit ---- */

static bool may_hold_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:	/* Rust: methods */
	case DW_TAG_variant_part:
		return true;
	default:
		return false;
	}
}

static size_t add_node(struct unit *u, const Dwarf_Die *die, size_t parent, bool is_inline)
{
	u->nodes = reader_grow(u->nodes, u->n_nodes, &u->cap, sizeof(*u->nodes));
	u->nodes[u->n_nodes] = (struct node){ .die = *die, .parent = parent == SIZE_MAX ? u->n_nodes : parent,
		.is_inline = is_inline };
	return u->n_nodes++;
}

/* Addresses of DIEs must grow: so a sibling that points back ends the walk. */
static void read_scopes(struct unit *u, Dwarf_Die *above, size_t parent, uint64_t bias, unsigned depth)
{
	Dwarf_Die die;
	if (depth > DEEPEST || dwarf_child(above, &die) != 0 || die.addr <= above->addr)
		return;
	for (;;) {
		const int tag = dwarf_tag(&die);
		const bool inlined = tag == DW_TAG_inlined_subroutine;
		size_t node = parent;
		/* An abstract function has no code, and what is inlined in it is seen where it is used. */
		const bool abstract = tag == DW_TAG_subprogram && dwarf_hasattr(&die, DW_AT_inline);
		if (may_hold_code(tag) && !abstract) {
			if (inlined || (tag == DW_TAG_subprogram && !dwarf_hasattr(&die, DW_AT_declaration))) {
				node = add_node(u, &die, parent, inlined);
				add_ranges(&u->scopes, &die, bias, node, depth);
			}
			read_scopes(u, &die, node, bias, depth + 1);
		}
		Dwarf_Die next;
		if (dwarf_siblingof(&die, &next) != 0 || next.addr <= die.addr)
			return;
		die = next;
	}
}

static void read_unit(struct reader_lines *l, struct unit *u)
{
	uint8_t type;
	Dwarf_Die split;
	u->read = true;
	if (dwarf_cu_info(u->lines.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton && split.cu)
		u->functions = split;
	read_scopes(u, &u->functions, SIZE_MAX, l->elf->bias, 0);
	reader_names_arrange(&u->scopes);
}

static void name_node(struct node *n)
{
	Dwarf_Attribute attr;
	if (n->named)
		return;
	n->named = true;
	n->name = dwarf_attr_integrate(&n->die, DW_AT_name, &attr) ? dwarf_formstring(&attr) : NULL;
	n->linkage = dwarf_attr_integrate(&n->die, DW_AT_linkage_name, &attr) ||
		     dwarf_attr_integrate(&n->die, DW_AT_MIPS_linkage_name, &attr) ?
		     dwarf_formstring(&attr) : NULL;
}

/* The file that a number of a DIE, or of the DIE that it refers to, stands for. (dwarf_decl_file() of libdw 0.188
 * aborts for split DWARF.) */
static const char *file_of(struct reader_lines *l, Dwarf_Attribute *attr)
{
	Dwarf_Die unit, any = { .cu = attr->cu };
	Dwarf_Word number;
	Dwarf_Files *files;
	size_t n;
	if (dwarf_formudata(attr, &number) != 0 || !number || !dwarf_diecu(&any, &unit, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &n) != 0 || number >= n)
		return NULL;
	return shown_path(l, dwarf_filesrc(files, number, NULL, NULL), &unit);
}

static void call_site(struct reader_lines *l, struct node *n, struct reader_inline *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word line;
	if (dwarf_attr(&n->die, DW_AT_call_line, &attr) && dwarf_formudata(&attr, &line) == 0)
		out->call_line = (unsigned)line;
	if (dwarf_attr(&n->die, DW_AT_call_file, &attr))
		out->call_file = file_of(l, &attr);
}

static void fill_subprogram(struct reader_lines *l, struct node *n, uint64_t address,
			    struct reader_subprogram *out)
{
	Dwarf_Addr base, start, end;
	Dwarf_Attribute attr;
	int line;
	name_node(n);
	out->name = n->name;
	out->linkage = n->linkage;
	out->file = dwarf_attr_integrate(&n->die, DW_AT_decl_file, &attr) ? file_of(l, &attr) : NULL;
	if (dwarf_decl_line(&n->die, &line) == 0)
		out->line = (unsigned)line;
	for (ptrdiff_t at = 0; (at = dwarf_ranges(&n->die, at, &base, &start, &end)) > 0;)
		if (start + l->elf->bias <= address && address < end + l->elf->bias) {
			out->start = start + l->elf->bias;
			out->end = end + l->elf->bias;
		}
}

static unsigned scopes_at(struct reader_lines *l, struct unit *u, uint64_t address, struct reader_inline *out,
			  struct reader_subprogram *subprogram)
{
	if (!u->read)
		read_unit(l, u);
	const struct reader_function *const scope = reader_names_at(&u->scopes, address);
	if (!scope)
		return 0;
	unsigned n = 0;
	struct node *node = &u->nodes[scope->number];
	for (; node->is_inline && node != &u->nodes[node->parent]; node = &u->nodes[node->parent]) {
		if (n == READER_INLINES)
			continue;
		name_node(node);
		out[n] = (struct reader_inline){ .name = node->name, .linkage = node->linkage };
		call_site(l, node, &out[n]);
		n += out[n].name || out[n].linkage;
	}
	if (!node->is_inline)
		fill_subprogram(l, node, address, subprogram);
	return n;
}

/* ---- lines ---- */

static void line_at(struct reader_object *o, struct reader_lines *l, struct unit *u, uint64_t address,
		    struct reader_line *out)
{
	Dwarf_Lines *lines;
	size_t n;
	int value;
	if (u->lines_broken)
		return;
	if (dwarf_getsrclines(&u->lines, &lines, &n) != 0) {
		u->lines_broken = true;
		if (dwarf_hasattr(&u->lines, DW_AT_stmt_list))
			reader_note(o, "%s: a table of its source lines is broken (%s)", l->elf->path,
				    dwarf_errmsg(-1));
		return;
	}
	Dwarf_Line *const line = dwarf_getsrc_die(&u->lines, address - l->elf->bias);
	if (!line)
		return;
	out->file = shown_path(l, dwarf_linesrc(line, NULL, NULL), &u->lines);
	if (dwarf_lineno(line, &value) == 0 && value > 0)
		out->line = (unsigned)value;
	if (dwarf_linecol(line, &value) == 0 && value > 0)
		out->column = (unsigned)value;
}

static struct unit *unit_at(struct reader_object *o, uint64_t address)
{
	struct reader_lines *const l = lines_of(o);
	const struct reader_function *const range = l->dwarf ? reader_names_at(&l->ranges, address) : NULL;
	return range ? &l->units[range->number] : NULL;
}

void reader_line_at(struct reader_object *o, uint64_t address, struct reader_line *line)
{
	struct unit *const u = unit_at(o, address);
	*line = (struct reader_line){ 0 };
	if (u)
		line_at(o, o->lines, u, address, line);
}

unsigned reader_lines_at(struct reader_object *o, uint64_t address, struct reader_line *line,
			 struct reader_inline *out, struct reader_subprogram *subprogram)
{
	struct unit *const u = unit_at(o, address);
	*subprogram = (struct reader_subprogram){ 0 };
	reader_line_at(o, address, line);
	return u ? scopes_at(o->lines, u, address, out, subprogram) : 0;
}

void reader_lines_free(struct reader_lines *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_units; i++) {
		free(l->units[i].nodes);
		reader_names_free(&l->units[i].scopes);
	}
	for (size_t i = 0; i < l->path_slots; i++)
		free(l->paths[i].shown);
	free(l->paths);
	free(l->units);
	reader_names_free(&l->ranges);
	if (l->dwarf)
		dwarf_end(l->dwarf);
	free(l);
}
