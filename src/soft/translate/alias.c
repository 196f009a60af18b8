/* Code in shared memory that this process writes through a second mapping.
 *
 * Some JIT compilers map a file without a name (memfd) twice, once to execute it and once to
 * write it. Blocks from shared memory are checked ones, because other processes could change the
 * memory; to compare takes several times as long as to run the block. Where all mappings are
 * known through which the code can be written, the pages of the mapping for writing are guarded
 * instead, as pages.c does with memory that is writable and executable at once.
 *
 * They are known when the file has no third mapping in this process, no name and no open
 * descriptor. Then only a process forked from this one could write the code. In such a child all of
 * the mapping is write-protected, and the first write ends the run with an error.
 */
#include "translate-room.h"
#include "sys.h"
#include "text.h"

#define MAX_ALIASES 16

struct alias {
	uint64_t start, end;	/* the mapping that is executed */
	uint64_t write;		/* the start of the mapping that is written; 0: there is none */
	bool usable;		/* all mappings that can write it are known */
	bool foreign;		/* in a forked child: the parent executes it */
};

static struct alias aliases[MAX_ALIASES];
static uint32_t n_aliases;

/* ---- what the kernel says ---- */

struct mapping {
	uint64_t start, end, offset, inode;
	bool writable, shared, nameless;
};

/* "start-end rw-s offset dev:dev inode   /memfd:name (deleted)" */
static void parse_mapping(const char *p, struct mapping *m)
{
	uint64_t dev;
	p = text_hex(p, &m->start) + 1;
	p = text_hex(p, &m->end) + 1;
	m->writable = p[1] == 'w';
	m->shared = p[3] == 's';
	p = text_hex(p + 5, &m->offset) + 1;
	p = text_hex(p, &dev) + 1;
	p = text_hex(p, &dev) + 1;
	p = text_decimal(p, &m->inode);
	while (*p == ' ')
		p++;
	m->nameless = text_starts(p, "/memfd:") || text_starts(p, "/dev/zero (deleted)");
}

/* Does a descriptor of this process have the file open? True also if that cannot be found out. */
static bool has_descriptor(uint64_t inode)
{
	struct { uint64_t ino, off; uint16_t len; uint8_t type; char name[]; } *e;
	uint8_t list[2048];
	struct k_stat st;
	const long dir = own_open(AT_FDCWD, "/proc/self/fd", O_DIRECTORY | O_CLOEXEC);
	bool found = dir < 0;
	for (long n; !found && (n = sys3(__NR_getdents64, dir, list, sizeof(list))) > 0;)
		for (long at = 0; at < n && !found; at += e->len) {
			uint64_t fd;
			e = (void *)(list + at);
			text_decimal(e->name, &fd);
			found = e->name[0] != '.' && sys2(__NR_fstat, fd, &st) == 0 && st.ino == inode;
		}
	if (dir >= 0)
		sys1(__NR_close, dir);
	return found;
}

/* ---- deciding ---- */

struct search {
	uint64_t pc;
	struct mapping code;	/* the mapping that is executed */
	struct mapping second;	/* another one of the same file … */
	uint32_t n_second;	/* … and how many there are */
};

static void look_for_code(const char *line, void *arg)
{
	struct search *const s = arg;
	struct mapping m;
	parse_mapping(line, &m);
	if (s->pc >= m.start && s->pc < m.end)
		s->code = m;
}

static void look_for_second(const char *line, void *arg)
{
	struct search *const s = arg;
	struct mapping m;
	parse_mapping(line, &m);
	if (m.inode != s->code.inode || m.start == s->code.start || !m.nameless)
		return;
	s->second = m;
	s->n_second++;
}

static bool all_known(const struct search *s)
{
	const uint64_t len = s->code.end - s->code.start;
	if (!s->code.shared || s->code.writable || !s->code.nameless || s->n_second > 1 ||
	    has_descriptor(s->code.inode))
		return false;
	return !s->n_second || (s->second.offset <= s->code.offset && s->second.shared &&
			      s->second.offset + (s->second.end - s->second.start) >= s->code.offset + len);
}

static struct alias *decide(uint64_t pc)
{
	struct search s = { .pc = pc };
	if (n_aliases == MAX_ALIASES || maps_each(look_for_code, &s) || !s.code.end ||
	    maps_each(look_for_second, &s))
		return NULL;
	struct alias *const a = &aliases[n_aliases++];
	*a = (struct alias){ .start = s.code.start, .end = s.code.end, .usable = all_known(&s) };
	if (a->usable && s.n_second && s.second.writable)
		a->write = s.second.start + (s.code.offset - s.second.offset);
	else if (s.n_second)
		a->usable = false;	/* the second mapping could become writable unnoticed */
	return a;
}

static struct alias *alias_at(uint64_t pc)
{
	for (uint32_t i = 0; i < n_aliases; i++)
		if (pc >= aliases[i].start && pc < aliases[i].end)
			return &aliases[i];
	return NULL;
}

bool alias_known(uint64_t pc)
{
	const struct alias *a = alias_at(pc);
	if (!a)
		a = decide(pc);
	return a && a->usable;
}

/* ---- pages ---- */

uint64_t alias_of_code(uint64_t addr)
{
	const struct alias *const a = n_aliases ? alias_at(addr) : NULL;
	return a && a->usable && a->write ? a->write + (addr - a->start) : 0;
}

uint64_t alias_code_of(uint64_t addr)
{
	for (uint32_t i = 0; i < n_aliases; i++) {
		const struct alias *const a = &aliases[i];
		if (!a->write || addr < a->write || addr - a->write >= a->end - a->start)
			continue;
		if (a->foreign)
			refuse("it writes to shared memory whose code its parent executes");
		return a->usable ? a->start + (addr - a->write) : 0;
	}
	return 0;
}

static bool overlaps(uint64_t a, uint64_t size, uint64_t start, uint64_t end)
{
	return a < end && a + size > start;
}

void alias_touched(struct thread *t, uint64_t start, uint64_t end)
{
	if (!__atomic_load_n(&n_aliases, __ATOMIC_RELAXED))
		return;
	lock_take();
	for (uint32_t i = 0; i < n_aliases; i++) {
		struct alias *const a = &aliases[i];
		const uint64_t size = a->end - a->start;
		const bool code = overlaps(a->start, size, start, end);
		if (!code && !(a->write && overlaps(a->write, size, start, end)))
			continue;
		pages_release(a->start, a->end);
		a->usable = false;
		if (code)
			aliases[i--] = aliases[--n_aliases];
	}
	lock_drop();
}

/* ---- forks ---- */

void aliases_before_fork(void)
{
	for (uint32_t i = 0; i < cache.n_regions; i++) {
		const struct region *const r = &cache.regions[i];
		for (uint64_t pc = r->start; r->shared && !(r->prot & PROT_WRITE) && pc < r->end;) {
			const struct alias *const a = alias_at(pc) ? alias_at(pc) : decide(pc);
			pc = a ? a->end : r->end;
		}
	}
}

void aliases_in_child(void)
{
	for (uint32_t i = 0; i < n_aliases; i++) {
		struct alias *const a = &aliases[i];
		if (!a->usable)
			continue;
		if (a->write)
			sys3(__NR_mprotect, a->write, a->end - a->start, PROT_READ);
		pages_forget(a->start, a->end);
		a->usable = false;
		a->foreign = true;
	}
}
