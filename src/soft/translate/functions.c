/* Which function an address belongs to, from the unwind tables of the files that are mapped:
 * .eh_frame_hdr has the starts of all functions, sorted, and is in memory also in stripped files.
 * The program may have damaged it, so each part is read as the program's memory is, and checked.
 * Static programs mostly lack it: a table of the same form is made of their .eh_frame.
 *
 * Code without such a table (JIT code) is one function, FID_UNKNOWN.
 */
#include "calls.h"
#include "sys.h"
#include "text.h"

#include <elf.h>

#define MAX_TABLES 512
#define MOST_FUNCTIONS (1u << 24)
#define MADE_ROWS (ZONE_RETURNS + (52ull << 20))	/* behind the watched functions; of the program's own file only */
#define MOST_MADE (1u << 20)
_Static_assert(52 + 8 <= 64, "before the hash of calls.c");
#define LARGEST (1u << 20)	/* a larger one is many, such as those that V8 has built in */

struct table {
	uint64_t start, end;		/* of the mapping */
	uint64_t rows;			/* of 4 + 4 bytes: where a function starts, and its FDE, … */
	uint64_t from;			/* … counted from here */
	uint32_t n;			/* 0: there are none */
};

static struct table tables[MAX_TABLES];
static uint32_t n_tables;
static struct function last;		/* most blocks are in the function of the one before */

void functions_forget(uint64_t start, uint64_t end)
{
	last = (struct function){ 0 };
	watch_forget(start, end);
	for (uint32_t i = n_tables; i-- > 0;)
		if (tables[i].start < end && tables[i].end > start)
			tables[i] = tables[--n_tables];
}

/* ---- finding the table ---- */

struct search {
	uint64_t pc;
	char file[256];			/* "dev inode path" of the last line with offset 0 … */
	uint64_t base;			/* … and its address */
	uint64_t start, end;		/* the mapping of pc; 0: not found yet */
	bool has_base;
};

/* "start-end perms offset dev inode path": the part from dev on. */
static const char *file_part(const char *line)
{
	int spaces = 0;
	while (*line != '\n' && spaces < 3)
		spaces += *line++ == ' ';
	return line;
}

static bool same_file(const char *line, const char *file)
{
	while (*file && *line == *file)
		line++, file++;
	return !*file && *line == '\n';
}

static void look_at_line(const char *line, void *arg)
{
	struct search *const s = arg;
	uint64_t start, end, offset;
	if (s->start)
		return;
	const char *p = text_hex(line, &start);
	p = text_hex(p + 1, &end);
	const bool readable = p[1] == 'r';
	text_hex(p + 6, &offset);
	const char *const file = file_part(line);
	const bool in_it = s->pc >= start && s->pc < end;
	if (!offset && readable) {
		unsigned n = 0;
		for (; file[n] != '\n' && n < sizeof(s->file) - 1; n++)
			s->file[n] = file[n];
		s->file[n] = '\0';
		s->base = start;
	}
	if (in_it) {
		s->start = start;
		s->end = end;
		s->has_base = same_file(file, s->file);
	}
}

static bool read_at(void *to, uint64_t from, size_t n)
{
	return copy_guest(to, (const void *)from, n);
}

/* The end of the function, from its FDE, if that has the usual form: length, CIE, start, size. */
static uint64_t end_of(uint64_t start, uint64_t fde)
{
	uint32_t f[4];
	if (!read_at(f, fde, sizeof(f)) || fde + 8 + (uint64_t)(int64_t)(int32_t)f[2] != start)
		return 0;
	return start + f[3];
}

/* ---- making a table ---- */

struct row {
	int32_t start, fde;
};

/* Where .eh_frame of the program's file is linked to, if `like` is the start of that file. */
static uint64_t find_frames(const Elf64_Ehdr *like, uint64_t *size)
{
	Elf64_Ehdr e;
	uint64_t at = 0;
	const long fd = own_open(AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (sys4(__NR_pread64, fd, &e, sizeof(e), 0) == sizeof(e) && mem_equal(&e, like, sizeof(e)) &&
	    e.e_shentsize == sizeof(Elf64_Shdr) && e.e_shstrndx < e.e_shnum) {
		Elf64_Shdr names, s;
		char name[10];
		if (sys4(__NR_pread64, fd, &names, sizeof(names), e.e_shoff + e.e_shstrndx * sizeof(s)) != sizeof(s))
			names.sh_offset = 0;
		for (unsigned i = 0; i < e.e_shnum && !at; i++) {
			if (sys4(__NR_pread64, fd, &s, sizeof(s), e.e_shoff + i * sizeof(s)) != sizeof(s))
				break;
			if (s.sh_flags & SHF_ALLOC &&
			    sys4(__NR_pread64, fd, name, sizeof(name), names.sh_offset + s.sh_name) == sizeof(name) &&
			    mem_equal(name, ".eh_frame", sizeof(name))) {
				at = s.sh_addr;
				*size = s.sh_size;
			}
		}
	}
	sys1(__NR_close, fd);
	return at;
}

/* (The rows are nearly sorted: the linker writes both in the order of its input.) */
static void sort_rows(struct row *rows, uint32_t n)
{
	static const uint32_t gaps[] = { 886577, 340991, 131149, 50443, 19401, 7462, 2870, 1104, 425, 163, 63, 24, 9, 4, 1 };
	for (unsigned g = 0; g < sizeof(gaps) / sizeof(*gaps); g++)
		for (uint32_t i = gaps[g]; i < n; i++) {
			const struct row r = rows[i];
			uint32_t at = i;
			for (; at >= gaps[g] && rows[at - gaps[g]].start > r.start; at -= gaps[g])
				rows[at] = rows[at - gaps[g]];
			rows[at] = r;
		}
}

/* The records of .eh_frame: CIEs and FDEs of the usual form (end_of()). */
static void make_table(struct table *t, uint64_t at, uint64_t end)
{
	static struct table made;		/* the file has several mappings if the program changes one in part */
	struct row *const rows = (struct row *)MADE_ROWS;
	uint32_t head[3];
	if (!made.rows) {
		zone_map(MADE_ROWS, MOST_MADE * sizeof(*rows));
		made = (struct table){ .rows = MADE_ROWS, .from = at };
		for (uint64_t next; at + 16 <= end && made.n < MOST_MADE; at = next) {
			if (!read_at(head, at, sizeof(head)) || head[0] < 12 || head[0] > end - at)
				break;
			next = at + 4 + head[0];
			const uint64_t start = at + 8 + (uint64_t)(int64_t)(int32_t)head[2];
			const int64_t d = (int64_t)(start - made.from);
			const uint64_t to = head[1] ? end_of(start, at) : 0;
			if (to > start && to - start <= LARGEST && d == (int32_t)d && at - made.from <= INT32_MAX)
				rows[made.n++] = (struct row){ (int32_t)d, (int32_t)(at - made.from) };
		}
		sort_rows(rows, made.n);
		at = made.from;
	}
	if (made.from == at) {
		t->rows = made.rows;
		t->from = made.from;
		t->n = made.n;
	}
}

/* The ELF file that is mapped from `base` on: its .eh_frame_hdr, if it has the usual form. */
static void find_table(struct table *t, uint64_t base)
{
	Elf64_Ehdr e;
	uint64_t bias = 0, hdr = 0, size = 0;
	bool biased = false, dynamic = false;
	if (!read_at(&e, base, sizeof(e)) || !mem_equal(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_phentsize != sizeof(Elf64_Phdr) || e.e_phnum > 256)
		return;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		Elf64_Phdr p;
		if (!read_at(&p, base + e.e_phoff + i * sizeof(p), sizeof(p)))
			return;
		if (p.p_type == PT_LOAD && !biased) {
			bias = base - PAGE_DOWN(p.p_vaddr - p.p_offset);
			biased = true;
		}
		if (p.p_type == PT_GNU_EH_FRAME)
			hdr = p.p_vaddr;
		dynamic |= p.p_type == PT_INTERP;
	}
	const uint64_t frames = biased && !hdr && !dynamic ? find_frames(&e, &size) : 0;
	if (frames)
		make_table(t, bias + frames, bias + frames + size);
	uint8_t head[12];
	uint32_t n;
	/* version 1; pointers of 4 bytes; a count of 4; a table of 4 + 4 bytes, relative to it */
	if (!hdr || !biased || !read_at(head, bias + hdr, sizeof(head)) || head[0] != 1 ||
	    head[1] != 0x1b || head[2] != 0x03 || head[3] != 0x3b)
		return;
	__builtin_memcpy(&n, head + 8, 4);
	if (!n || n > MOST_FUNCTIONS)
		return;
	t->from = bias + hdr;
	t->rows = t->from + sizeof(head);
	t->n = n;
}

static const struct table *table_of(uint64_t pc)
{
	for (uint32_t i = 0; i < n_tables; i++)
		if (pc >= tables[i].start && pc < tables[i].end)
			return &tables[i];
	static struct search s;
	s = (struct search){ .pc = pc };
	maps_each(look_at_line, &s);
	if (n_tables == MAX_TABLES)
		n_tables = 0;
	struct table *const t = &tables[n_tables++];
	*t = (struct table){ .start = s.start ? s.start : pc, .end = s.start ? s.end : pc + 1 };
	if (s.has_base)
		find_table(t, s.base);
	if (s.start)
		watch_mapped(s.start, s.end);
	return t;
}

/* ---- searching it ---- */

static bool start_of(const struct table *t, uint32_t i, uint64_t *start, uint64_t *fde)
{
	int32_t row[2];
	if (!read_at(row, t->rows + i * 8ull, sizeof(row)))
		return false;
	*start = t->from + (uint64_t)(int64_t)row[0];
	*fde = t->from + (uint64_t)(int64_t)row[1];
	return true;
}

static struct function search(const struct table *t, uint64_t pc)
{
	const struct function none = { .start = pc, .end = pc + 1, .fid = FID_UNKNOWN };
	uint32_t lo = 0, hi = t->n;
	uint64_t start = 0, fde = 0, next = t->end;
	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		uint64_t at, of;
		if (!start_of(t, mid, &at, &of))
			return none;
		if (at <= pc) {
			lo = mid + 1;
			start = at;
			fde = of;
		} else {
			hi = mid;
			next = at;
		}
	}
	const uint64_t end = lo ? end_of(start, fde) : 0;
	if (!lo || start < t->start || (end && pc >= end) || end - start > LARGEST)
		return none;
	const uint32_t fid = (uint32_t)start;
	return (struct function){ .start = start, .end = end && end < next ? end : next,
				  .fid = fid > FID_UNKNOWN && fid < FID_RETURN ? fid : 2 };
}

/* The size of a stub, if the code at `start` is a PLT: one entry of the table is for all of its stubs.
 * 0: it is not. */
static unsigned stub_size(uint64_t start)
{
	uint8_t c[16];
	if (!read_at(c, start, sizeof(c)))
		return 0;
	if (c[0] == 0xff && c[1] == 0x35)		/* push [rip + …], of the first one */
		return 16;
	if (c[0] == 0xff && c[1] == 0x25)		/* jmp [rip + …] */
		return c[6] == 0x66 && c[7] == 0x90 ? 8 : 16;
	const unsigned at = c[4] == 0xf2 ? 5 : 4;	/* bnd */
	return c[0] == 0xf3 && c[1] == 0x0f && c[2] == 0x1e && c[3] == 0xfa &&
	       ((c[at] == 0xff && c[at + 1] == 0x25) || c[at] == 0x68) ? 16 : 0;
}

static struct function stub_of(struct function f, uint64_t pc)
{
	const unsigned size = f.end - f.start > 16 ? stub_size(f.start) : 0;
	if (size) {
		f.start = pc - (pc - f.start) % size;
		f.end = f.start + size;
		f.fid = (uint32_t)f.start;
	}
	return f;
}

struct function function_at(uint64_t pc)
{
	if (pc >= last.start && pc < last.end)
		return last;
	const struct region *const r = region_find(pc);
	const struct table *const t = !r || r->anon ? NULL : table_of(pc);
	const struct function f = t && t->n ? stub_of(search(t, pc), pc) :
				  (struct function){ .start = pc, .end = pc + 1, .fid = FID_UNKNOWN };
	last = f;
	return f;
}
