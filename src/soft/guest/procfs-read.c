/* Reading /proc/PID/maps and its relatives without the engine's mappings.
 *
 * The program's descriptor is the kernel's own file, so that fstat, dup, fork, exec and poll
 * do what they do; what it reads is made from the file at each read, so that it is what the
 * process looks like at that time. Nothing about an open file must be kept: it may be read
 * by a child, or by another program after an exec.
 *
 * The kernel's rules (fs/seq_file.c) decide how much one read returns, and readers execute
 * more or fewer instructions for it. A file is a sequence of records (a line of maps, all lines
 * about a mapping of smaps). A read takes the rest of a record that the last one began;
 * then whole records as long as the sum is less than what was asked for, and as they fit into
 * a page, less one byte; and cuts the last one. So the bytes of a read follow from the
 * position and from the records after it.
 *
 * The position of the file is the kernel's, in the text with the engine's records. What the
 * program sees of it (lseek, pread) is without them. Most reads meet no record of the engine:
 * these are the kernel's own (read_plain()). Around the engine's, records are put together
 * here (read_around()), and the position must be set in the kernel, which makes it write the text
 * up to there once more. That is why it is not done for every read.
 *
 * Files that are one record (status, smaps_rollup) are written anew for each read; their
 * position is that in the new text. Where a reader has come to the end, it stays there, also when the
 * text has grown since (numbers of context switches get a digit more).
 */
#include "guest-room.h"
#include "procfs.h"
#include "sys.h"
#include "text.h"

#define ROOM 65536u		/* more than a record: a path (4096) and some lines */
#define SEQ_ROOM 4096u		/* the kernel's first buffer: a read returns less */
#define IOVS_MAX 1024u

/* Guarded by the lock, which all functions here need, except proc_read() and read_pagemap(). */
static char text[ROOM];		/* of the kernel */
static char out[ROOM];		/* for the program */
static char piece[2 * ROOM / 8];	/* the program's part of a mixed record */

/* ---- records ---- */

struct walk {
	const struct proc_file *f;
	const struct engine_view *v;
	uint64_t next;		/* position of what is not fetched yet */
	uint32_t at, have;	/* what is fetched but not looked at: text[at … have) */
	bool ended;
	bool in_middle;		/* it begins in the middle of a record */
};

struct record {
	const char *text;
	uint32_t len;
	uint64_t pos, end;	/* in the kernel's text */
};

/* Addresses are in small letters, names of lines begin with a capital. */
static bool begins_record(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool fetch(struct walk *w)
{
	for (uint32_t i = w->at; i < w->have; i++)
		text[i - w->at] = text[i];
	w->have -= w->at;
	w->at = 0;
	const long n = sys4(__NR_pread64, w->f->fd, text + w->have, ROOM - 1 - w->have, w->next);
	w->ended = n <= 0;
	if (w->ended)
		return false;
	w->have += (uint32_t)n;
	w->next += (uint64_t)n;
	return true;
}

/* The index after the first record that is fetched; 0: not all of it is. */
static uint32_t record_end(const struct walk *w)
{
	for (uint32_t i = w->at; i < w->have; i++) {
		if (text[i] != '\n')
			continue;
		if (w->f->kind != PROC_SMAPS || (i + 1 < w->have && begins_record(text[i + 1])))
			return i + 1;
	}
	return w->ended ? w->have : 0;
}

static bool record_next(struct walk *w, struct record *r)
{
	uint32_t end;
	while (!(end = record_end(w)) && fetch(w))
		;
	if (!end && !(end = record_end(w)))
		return false;
	*r = (struct record){ text + w->at, end - w->at, w->next - (w->have - w->at), 0 };
	r->end = r->pos + r->len;
	w->at = end;
	return r->len > 0;
}

static void put_hex8(struct line *l, uint64_t v)
{
	for (uint64_t limit = 0x10000000; v < limit && limit > 1; limit >>= 4)
		line_str(l, "0");
	line_num(l, v, 16);
}

static uint32_t put(char *to, uint32_t at, uint32_t room, const char *from, uint32_t n)
{
	if (n > room - at)
		n = room - at;
	mem_copy(to + at, from, n);
	return at + n;
}

/* The kernel joins adjacent mappings into one record: the program's part of it stays. */
static bool cut_out(const struct engine_view *v, struct record *r, uint64_t start, uint64_t end,
		    const char *rest)
{
	uint32_t n = 0;
	uint64_t from, to;
	while (start < end) {
		const bool own = own_range(v, start, end, &from, &to);
		const uint64_t stop = own ? from : end;
		if (stop > start) {
			struct line l = { 0 };
			put_hex8(&l, start);
			line_str(&l, "-");
			put_hex8(&l, stop);
			n = put(piece, n, sizeof(piece), l.text, (uint32_t)l.len);
			n = put(piece, n, sizeof(piece), rest,
				r->len - (uint32_t)(rest - r->text));
		}
		start = own ? to : end;
	}
	r->text = piece;
	r->len = n;
	return n > 0;
}

/* False: the record is the engine's. */
static bool record_show(const struct walk *w, struct record *r)
{
	uint64_t start, end, from, to;
	const char *p = text_hex(r->text, &start);
	if (*p != '-')		/* numa_maps */
		return !own_range(w->v, start, start + 1, &from, &to);
	p = text_hex(p + 1, &end);
	return !own_range(w->v, start, end, &from, &to) || cut_out(w->v, r, start, end, p);
}

/* The next record that the program sees. */
static bool record_shown(struct walk *w, struct record *r)
{
	while (record_next(w, r)) {
		const bool rest = w->in_middle;
		w->in_middle = false;
		if (rest || record_show(w, r))
			return true;
	}
	return false;
}

/* ---- positions ---- */

struct place {
	uint64_t pos;		/* in the kernel's text */
	uint64_t shown;		/* … in what the program sees */
	bool in_middle;		/* … of a record */
};

/* Where the last reads ended. This cannot be computed from the text: the engine may have mapped
 * memory since then, and the position may be in the middle of a record. */
static struct { uint64_t ino; struct place at; } ends[8];

static void remember(const struct proc_file *f, struct place at)
{
	static uint32_t turn;
	for (uint32_t i = 0; i < 8; i++)
		if (ends[i].ino == f->ino && ends[i].at.pos == at.pos) {
			ends[i].at = at;
			return;
		}
	ends[turn].ino = f->ino;
	ends[turn].at = at;
	turn = (turn + 1) % 8;
}

/* Of what the program sees: how much is before that position of the kernel's text. */
static struct place find_place(const struct proc_file *f, const struct engine_view *v, uint64_t pos)
{
	struct walk w = { .f = f, .v = v };
	struct record r;
	uint64_t shown = 0;
	while (pos && record_shown(&w, &r)) {
		if (r.pos >= pos)
			return (struct place){ pos, shown, false };
		if (r.end > pos)
			return (struct place){ pos, shown + (pos - r.pos), true };
		shown += r.len;
	}
	return (struct place){ pos, shown + (pos > w.next ? pos - w.next : 0), false };
}

static struct place place_at(const struct proc_file *f, const struct engine_view *v, uint64_t pos)
{
	for (uint32_t i = 0; pos && i < 8; i++)
		if (ends[i].ino == f->ino && ends[i].at.pos == pos)
			return ends[i].at;
	return find_place(f, v, pos);
}

/* … and back: the place of what the program sees as that offset. */
static struct place place_shown(const struct proc_file *f, const struct engine_view *v,
				uint64_t offset)
{
	struct walk w = { .f = f, .v = v };
	struct record r;
	uint64_t shown = 0;
	while (offset && record_shown(&w, &r)) {
		if (shown + r.len > offset) {
			const uint64_t pos = r.pos + (offset - shown);
			return (struct place){ pos < r.end ? pos : r.end - 1, offset,
					       offset > shown };
		}
		shown += r.len;
	}
	return (struct place){ w.next - (w.have - w.at) + (offset - shown), offset, false };
}

/* ---- a read ---- */

/* Could the address that begins with these digits be that of the engine's next mapping?
 * after: the end of the mapping before, 0 if it is not known. */
static bool may_be_own(const struct engine_view *v, uint64_t after, const char *digits, uint32_t n)
{
	uint64_t from, to;
	if (!after)
		return true;
	if (!own_range(v, after, 1ull << 47, &from, &to))
		return false;
	struct line l = { 0 };
	put_hex8(&l, from);
	return from == after || (n <= l.len && mem_equal(digits, l.text, n));
}

/* Is any record that begins in text[0 … n) the engine's, or may be? */
static bool meets_own(const struct proc_file *f, const struct engine_view *v, uint32_t n,
		      bool in_middle)
{
	uint64_t start, end = 0, from, to;
	bool first = !in_middle;
	for (uint32_t i = 0; i < n; i++) {
		const bool begins = first;
		first = text[i] == '\n' && (f->kind != PROC_SMAPS ||
					    (i + 1 < n && begins_record(text[i + 1])));
		if (!begins)
			continue;
		const char *p = text_hex(text + i, &start);
		const uint64_t before = end;
		end = start + 1;
		if (*p == '-')
			p = text_hex(p + 1, &end);
		const bool cut = p >= text + n;
		if (cut ? may_be_own(v, before, text + i, n - i < 8 ? n - i : 8) :
			  own_range(v, start, end, &from, &to))
			return true;
	}
	return false;
}

/* Does a record end with the last of these n bytes, before the position `pos`? Of smaps the
 * next byte tells, since the line that ends here may have begun in an earlier read. */
static bool ends_record(const struct proc_file *f, uint32_t n, bool asked_for_more, uint64_t pos)
{
	char next;
	if (text[n - 1] != '\n' || f->kind != PROC_SMAPS || asked_for_more)
		return text[n - 1] == '\n';
	return sys4(__NR_pread64, f->fd, &next, 1, pos) <= 0 || begins_record(next);
}

/* A read by the kernel; -EAGAIN: a record of the engine is in the result. */
static long read_plain(const struct proc_file *f, const struct engine_view *v, struct place *p,
		       uint64_t count)
{
	const uint64_t want = count < ROOM - 1 ? count : ROOM - 1;
	const long n = sys4(__NR_pread64, f->fd, text, want, p->pos);
	if (n <= 0)
		return n;
	text[n] = '\0';
	if (meets_own(f, v, (uint32_t)n, p->in_middle))
		return -EAGAIN;
	mem_copy(out, text, (size_t)n);
	*p = (struct place){ p->pos + (uint64_t)n, p->shown + (uint64_t)n,
			     !ends_record(f, (uint32_t)n, (uint64_t)n < want, p->pos + (uint64_t)n) };
	return n;
}

/* The same read, put together from records, without those of the engine. */
static long read_around(const struct proc_file *f, const struct engine_view *v, struct place *p,
			uint64_t count)
{
	struct walk w = { .f = f, .v = v, .next = p->pos, .in_middle = p->in_middle };
	struct record r, last = { 0 };
	uint32_t n = 0, fill = 0, room = SEQ_ROOM;
	bool more = record_shown(&w, &r);
	if (more && p->in_middle) {
		n = put(out, 0, ROOM, r.text, r.len < count ? r.len : (uint32_t)count);
		if (n < r.len) {
			*p = (struct place){ r.pos + n, p->shown + n, true };
			return n;
		}
		count -= n;
		more = record_shown(&w, &r);
	}
	while (more && !fill && r.len >= room)
		room *= 2;		/* a record that is too long gets a larger buffer */
	for (; more && (!fill || (fill < count && fill + r.len < room));
	     more = record_shown(&w, &r)) {
		put(out, n + fill, ROOM, r.text, r.len);
		fill += r.len;
		last = r;
	}
	if (fill > count) {
		const uint64_t pos = last.pos + (last.len - (fill - count));
		*p = (struct place){ pos < last.end ? pos : last.end - 1, p->shown + n + count, true };
		return (long)(n + count);
	}
	*p = (struct place){ more ? r.pos : w.next, p->shown + n + fill, false };
	return n + fill;
}

static long read_records(const struct proc_file *f, const struct engine_view *v, struct place *p,
			 uint64_t count)
{
	const long n = read_plain(f, v, p, count);
	return n == -EAGAIN ? read_around(f, v, p, count) : n;
}

/* ---- status ---- */

static void put_mask(char *at, uint64_t mask)
{
	for (int i = 15; i >= 0; i--, mask >>= 4)
		at[i] = "0123456789abcdef"[mask & 15];
}

/* FDSize as it would be without the engine's descriptor, unless the table has grown further
 * since. */
static uint32_t put_fd_size(char *p, uint32_t n)
{
	static const char with[] = "FDSize:\t2048\n";
	if (!text_starts(p, with) || E.reserved_fd >= 2048 || !E.shared->fd_size)
		return n;
	struct line l = { 0 };
	line_str(&l, "FDSize:\t");
	line_num(&l, E.shared->fd_size, 10);
	line_str(&l, "\n");
	const uint32_t shorter = (uint32_t)(sizeof(with) - 1 - l.len);
	mem_copy(p, l.text, l.len);
	for (char *q = p + l.len; q + shorter <= text + n; q++)
		*q = q[shorter];
	return n - shorter;
}

/* Replaces what is between `from` and `to` in the text of n bytes; returns its new length. */
static uint32_t replace(uint32_t n, char *from, const char *to, const struct line *by)
{
	static char rest[ROOM];			/* guarded by the lock */
	const uint32_t left = (uint32_t)(text + n - to);
	mem_copy(rest, to, left);
	mem_copy(from, by->text, by->len);
	mem_copy(from + by->len, rest, left);
	from[by->len + left] = '\0';
	return (uint32_t)(from - text) + (uint32_t)by->len + left;
}

/* "Cpus_allowed:\tf" and "Cpus_allowed_list:\t0-3": all CPUs of the machine. */
static uint32_t put_cpus(char *p, uint32_t n)
{
	const uint32_t cpus = E.shared->machine.cpus;
	const bool list = text_starts(p, "Cpus_allowed_list:\t");
	if (!list && !text_starts(p, "Cpus_allowed:\t"))
		return n;
	struct line l = { 0 };
	if (list) {
		line_str(&l, cpus > 1 ? "0-" : "");
		line_num(&l, cpus - 1, 10);
	} else {
		const uint64_t set = cpus >= 64 ? ~0ull : (1ull << cpus) - 1;
		if (cpus > 32) {
			line_num(&l, set >> 32, 16);
			line_str(&l, ",");
		}
		line_num(&l, cpus > 32 ? set & 0xffffffff : set, 16);
	}
	char *const from = p + (list ? 19 : 14);
	const char *to = from;
	while (*to && *to != '\n')
		to++;
	return replace(n, from, to, &l);
}

/* /proc/PID/stat: field 39 is the CPU. The name, field 2, may have blanks. */
static uint32_t own_stat(uint32_t n)
{
	char *p = text + n;
	while (p > text && *p != ')')
		p--;
	for (int field = 2; field < 39 && *p; field++) {
		while (*p && *p != ' ')
			p++;
		p += *p == ' ';
	}
	const char *to = p;
	while (*to >= '0' && *to <= '9')
		to++;
	const struct line zero = { 1, "0" };
	return to > p ? replace(n, p, to, &zero) : n;
}

static uint32_t own_auxv(const struct proc_file *f, uint32_t n)
{
	const uint32_t own = machine_auxv(f->pid, text, ROOM);
	return own ? own : n;
}

/* The program's own signals. */
static uint32_t own_status(const struct proc_file *f, uint32_t n)
{
	struct proc_signals of;
	if (!proc_signals(f, &of))
		return n;
	for (char *p = text; *p; p++) {
		if (p > text && p[-1] != '\n')
			continue;
		if (text_starts(p, "SigCgt:\t"))
			put_mask(p + 8, of.caught);
		else if (text_starts(p, "SigIgn:\t"))
			put_mask(p + 8, of.ignored);
		else if (text_starts(p, "SigBlk:\t"))
			put_mask(p + 8, of.blocked);
		else
			n = E.machine && *p == 'C' ? put_cpus(p, n) : put_fd_size(p, n);
	}
	return n;
}

/* ---- smaps_rollup ---- */

/* "Name:   number kB" */
static char *field_number(char *line, uint64_t *v)
{
	char *p = line;
	while (*p && *p != ':' && *p != '\n')
		p++;
	while (*p == ':' || *p == ' ')
		p++;
	char *const digits = p;
	for (*v = 0; *p >= '0' && *p <= '9'; p++)
		*v = *v * 10 + (uint64_t)(*p - '0');
	return *p == ' ' && p > digits ? p : NULL;
}

static void subtract(char *line, uint64_t minus)
{
	uint64_t v;
	char *p = field_number(line, &v);
	if (!p)
		return;
	v = v > minus ? v - minus : 0;
	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (p[-1] != ' ' && p[-1] != ':')
		*--p = ' ';
}

static bool same_name(const char *a, const char *b)
{
	while (*a == *b && *a != ':')
		a++, b++;
	return *a == ':' && *b == ':';
}

/* Subtracts one field of a mapping from the sums. */
static void subtract_field(char *sums, const char *field, uint64_t minus)
{
	for (char *p = sums; *p; p++)
		if ((p == sums || p[-1] == '\n') && same_name(p, field))
			subtract(p, minus);
}

/* What the mapping is of says which part of the sum by kinds it belongs to. */
static const char *pss_kind(const struct record *r)
{
	const char *p = r->text, *slash = NULL;
	for (; *p != '\n'; p++)
		if (*p == '/' && !slash)
			slash = p;
	return !slash ? "Pss_Anon:" : text_starts(slash, "/memfd:tare") ||
	       text_starts(slash, "/dev/zero") ? "Pss_Shmem:" : "Pss_File:";
}

static void subtract_record(char *sums, struct record *r)
{
	uint64_t v;
	char *const end = (char *)r->text + r->len;
	for (char *p = (char *)r->text + 1; p < end; p++) {
		if (p[-1] != '\n' || !field_number(p, &v) || text_starts(p, "Size:"))
			continue;
		subtract_field(sums, p, v);
		if (text_starts(p, "Pss:"))
			subtract_field(sums, pss_kind(r), v);
	}
}

/* "START-END ---p 00000000 00:00 0     [rollup]": from the first mapping to the last one,
 * with the name in its column. */
static void first_address(uint64_t start, char *sums)
{
	struct line l = { 0 };
	uint32_t old = 0, name = 0, to;
	while (sums[old] && sums[old] != '-')
		old++;
	while (sums[name] && sums[name] != '[')
		name++;
	put_hex8(&l, start);
	uint32_t from = old;
	if (l.len < old) {		/* shorter: what is between moves to the left */
		for (to = (uint32_t)l.len; from < name; to++, from++)
			sums[to] = sums[from];
		for (; to < name; to++)
			sums[to] = ' ';
	} else {			/* longer: over the spaces before the name */
		for (to = name, from = name - ((uint32_t)l.len - old); from-- > old;)
			sums[--to] = sums[from];
	}
	mem_copy(sums, l.text, l.len);
}

/* The sums, less what smaps says of the engine's mappings. */
static uint32_t own_rollup(const struct proc_file *f, const struct engine_view *v, uint32_t n)
{
	struct line path = { 0 };
	line_str(&path, "/proc/");
	line_num(&path, f->pid, 10);
	line_str(&path, "/smaps");
	path.text[path.len] = '\0';
	struct proc_file smaps = { .kind = PROC_SMAPS };
	smaps.fd = own_open(AT_FDCWD, path.text, O_CLOEXEC);
	if (smaps.fd < 0)
		return n;		/* no descriptor: the sums with the engine */
	mem_copy(out, text, n + 1);
	struct walk w = { .f = &smaps, .v = v };
	struct record r;
	uint64_t first = 0, start;
	while (record_next(&w, &r)) {
		struct record seen = r;
		text_hex(r.text, &start);
		if (!record_show(&w, &seen))
			subtract_record(out, &r);
		else if (!first)
			first = start;
	}
	sys1(__NR_close, smaps.fd);
	first_address(first, out);
	mem_copy(text, out, n);
	return n;
}

/* Where reads of a file of one record came to its end, lately. Not kept for long: another descriptor
 * may take the place. */
#define ENDS 16u
static struct { long fd; uint64_t ino, pos; } last_ends[ENDS];

/* A file of one record, as the program sees it, into `out`. */
static long read_text(const struct proc_file *f, const struct engine_view *v,
		      struct place *p, uint64_t count)
{
	const long got = sys4(__NR_pread64, f->fd, text, ROOM / 2, 0);
	if (got <= 0)
		return got;
	text[got] = '\0';
	const uint32_t n = f->kind == PROC_STATUS ? own_status(f, (uint32_t)got) :
			   f->kind == PROC_AUXV ? own_auxv(f, (uint32_t)got) :
			   f->kind == PROC_STAT ? own_stat((uint32_t)got) : own_rollup(f, v, (uint32_t)got);
	const uint32_t place = (uint32_t)f->fd % ENDS;
	const bool ended = p->pos && last_ends[place].fd == f->fd && last_ends[place].ino == f->ino && last_ends[place].pos == p->pos;
	if (ended || p->pos >= n)
		return 0;
	const uint64_t len = n - p->pos < count ? n - p->pos : count;
	mem_copy(out, text + p->pos, len);
	p->pos += len;
	if (p->pos == n) {
		last_ends[place].fd = f->fd;
		last_ends[place].ino = f->ino;
		last_ends[place].pos = n;
	}
	return (long)len;
}

/* ---- pagemap ---- */

/* The engine's pages are shown as not present. */
static void clear_pages(const struct engine_view *v, uint64_t pos, char *at, uint64_t n)
{
	static const char zero[512];
	uint64_t from, to, start = pos / 8 * PAGE;
	const uint64_t end = (pos + n) / 8 * PAGE;
	for (; start < end && own_range(v, start, end, &from, &to); start = to) {
		const uint64_t stop = to < end ? to : end;
		for (uint64_t page = from; page < stop;) {
			const uint64_t pages = (stop - page) / PAGE, most = sizeof(zero) / 8;
			const uint64_t now = pages < most ? pages : most;
			copy_guest(at + (page / PAGE * 8 - pos), zero, now * 8);
			page += now * PAGE;
		}
	}
}

static long read_pagemap(struct thread *t, long nr, const uint64_t *a, const struct proc_file *f)
{
	struct engine_view v;
	const long n = gate(t, nr, a);
	if (n <= 0 || (nr != __NR_read && nr != __NR_pread64))
		return n;
	const uint64_t end = nr == __NR_pread64 ? a[3] + (uint64_t)n :
						  (uint64_t)sys3(__NR_lseek, f->fd, 0, SEEK_CUR);
	lock_take();
	if (proc_view(t, f->pid, &v))
		clear_pages(&v, end - (uint64_t)n, (char *)a[1], (uint64_t)n);
	lock_drop();
	return n;
}

/* ---- the calls ---- */

struct iov { uint64_t base, len; };

struct request {
	bool at_offset;		/* pread: the position stays */
	uint64_t offset, count;
	uint32_t n;
	struct iov iov[IOVS_MAX];
};

static struct request req;	/* guarded by the lock */

/* 0, or the kernel's error for wrong arguments. */
static long parse_request(long nr, const uint64_t *a)
{
	req.at_offset = nr == __NR_pread64 || nr == __NR_preadv ||
			(nr == __NR_preadv2 && a[3] != ~0ull);
	req.offset = a[3];
	req.n = 1;
	if (nr == __NR_read || nr == __NR_pread64)
		req.iov[0] = (struct iov){ a[1], a[2] };
	else if (a[2] > IOVS_MAX)
		return -EINVAL;
	else if (!copy_guest(req.iov, (const void *)a[1], a[2] * sizeof(struct iov)))
		return -EFAULT;
	else
		req.n = (uint32_t)a[2];
	req.count = 0;
	for (uint32_t i = 0; i < req.n; i++) {
		if (req.iov[i].len >> 63)
			return nr == __NR_read || nr == __NR_pread64 ? -EFAULT : -EINVAL;
		req.count += req.iov[i].len;
	}
	return req.at_offset && req.offset >> 63 ? -EINVAL : 0;
}

/* False: the program's memory cannot be written. */
static bool hand_out(const char *from, uint64_t n)
{
	for (uint32_t i = 0; i < req.n && n; i++) {
		const uint64_t now = req.iov[i].len < n ? req.iov[i].len : n;
		if (!put_guest(req.iov[i].base, from, now))
			return false;
		from += now;
		n -= now;
	}
	return true;
}

static bool is_one_text(const struct proc_file *f)
{
	return f->kind == PROC_STATUS || f->kind == PROC_ROLLUP || f->kind == PROC_AUXV || f->kind == PROC_STAT;
}

static long do_read(long nr, const uint64_t *a, const struct proc_file *f,
		    const struct engine_view *v)
{
	const long wrong = parse_request(nr, a);
	if (wrong || !req.count)
		return wrong;
	struct place p = { 0 };
	if (!req.at_offset)
		p.pos = (uint64_t)sys3(__NR_lseek, f->fd, 0, SEEK_CUR);
	if (is_one_text(f))
		p.pos = req.at_offset ? req.offset : p.pos;
	else
		p = req.at_offset ? place_shown(f, v, req.offset) : place_at(f, v, p.pos);
	const long n = is_one_text(f) ? read_text(f, v, &p, req.count) :
					read_records(f, v, &p, req.count);
	if (n <= 0)
		return n;
	if (!hand_out(out, (uint64_t)n))
		return -EFAULT;
	if (!req.at_offset)
		sys3(__NR_lseek, f->fd, p.pos, SEEK_SET);
	if (!is_one_text(f))
		remember(f, p);
	return n;
}

static long do_lseek(const uint64_t *a, const struct proc_file *f, const struct engine_view *v)
{
	uint64_t to = a[1];
	if (a[2] == SEEK_CUR)
		to += place_at(f, v, (uint64_t)sys3(__NR_lseek, f->fd, 0, SEEK_CUR)).shown;
	if (a[2] > SEEK_CUR || to >> 63)
		return -EINVAL;
	if (a[2] == SEEK_CUR && !a[1])
		return (long)to;
	const struct place p = place_shown(f, v, to);
	const long err = sys3(__NR_lseek, f->fd, p.pos, SEEK_SET);
	if (err < 0)
		return err;
	remember(f, p);
	return (long)to;
}

long proc_read(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	struct proc_file f;
	struct engine_view v;
	if (!proc_identify((long)(int32_t)a[0], &f) || f.kind == PROC_MEM)
		return 0;
	if (nr == __NR_lseek && (f.kind == PROC_PAGEMAP || is_one_text(&f)))
		return 0;
	/* mappings are shown with the program's own protection, and memory can be written */
	if (pages_guarded())
		pages_unguard(t, 0, 1ull << 47);
	if (f.kind == PROC_PAGEMAP) {
		*done = true;
		return read_pagemap(t, nr, a, &f);
	}
	lock_take();
	long ret = 0;
	if (proc_view(t, f.pid, &v)) {
		*done = true;
		ret = nr == __NR_lseek ? do_lseek(a, &f, &v) : do_read(nr, a, &f, &v);
	}
	lock_drop();
	return ret;
}
