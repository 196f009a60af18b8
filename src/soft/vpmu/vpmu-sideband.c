/* Records about what a task does besides running: MMAP, MMAP2, COMM, FORK, EXIT; and THROTTLE. As in
 * the kernel, an event that is enabled writes them, whether it takes samples or not.
 */
#include "vpmu-sampling.h"

#include "sys.h"
#include "text.h"

#define MAX_PATH 4096

/* A record that is being written, on the stack: the lock may be dropped while it waits for room. */
struct sideband {
	struct perf_event_header h;
	uint8_t body[MAX_PATH + 256];
};

static bool is_heard(uint32_t i)
{
	const struct vpmu_event *const e = vpmu_event(i);
	return e->sampler && e->state >= VE_INACTIVE && !e->elsewhere && ring_of(i);
}

static void put(struct moment *m, uint32_t i, struct sideband *r, uint8_t *end)
{
	end = sample_id(m, i, end);
	r->h.size = (uint16_t)(end - (uint8_t *)r);
	while (!ring_put(m, i, &r->h, false))
		;
}

static uint8_t *w4(uint8_t *w, uint32_t v)
{
	__builtin_memcpy(w, &v, 4);
	return w + 4;
}

static uint8_t *w8(uint8_t *w, uint64_t v)
{
	__builtin_memcpy(w, &v, 8);
	return w + 8;
}

/* With its end, up to a multiple of 8. */
static uint8_t *put_text(uint8_t *w, const char *text, size_t max)
{
	size_t n = 0;
	while (n < max && text[n] && text[n] != '\n')
		*w++ = (uint8_t)text[n++];
	do
		*w++ = 0;
	while (++n % 8);
	return w;
}

static uint32_t pid_of(const struct thread *t)
{
	return (uint32_t)(t->is_vfork ? t->tid : E.pid);
}

/* ---- COMM ---- */

void sideband_comm(struct thread *t, const char *name, bool exec)
{
	struct moment m = { .t = t };
	if (!(vpmu_slot(t->vpmu.slot)->tracks & TRACKS_COMM))
		return;
	for (uint32_t i = vpmu_slot(t->vpmu.slot)->events; i; i = vpmu_event(i)->next) {
		struct sideband r = { .h = { .type = PERF_RECORD_COMM,
					     .misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0 } };
		if (!is_heard(i) || !vpmu_sampler(i)->comm)
			continue;
		uint8_t *w = w4(w4(r.body, pid_of(t)), (uint32_t)t->tid);
		put(&m, i, &r, put_text(w, name, 15));
	}
}

void sideband_native(struct thread *t, uint64_t path)
{
	char text[MAX_PATH], name[16];
	const char *last = text;
	if (!copy_string(text, sizeof(text), path))
		return;
	for (const char *p = text; *p; p++)
		if (*p == '/')
			last = p + 1;
	copy_text(name, sizeof(name), last, text_len(last));
	sideband_comm(t, name, true);
}

/* ---- MMAP ---- */

/* A line of /proc/self/maps. */
struct mapping {
	uint64_t start, end, offset, major, minor, ino;
	uint32_t prot, flags;
	const char *path;
};

static struct mapping parse(const char *p)
{
	struct mapping m = { 0 };
	p = text_hex(p, &m.start);
	p = text_hex(p + 1, &m.end);
	m.prot = (p[1] == 'r' ? PROT_READ : 0) | (p[2] == 'w' ? PROT_WRITE : 0) |
		 (p[3] == 'x' ? PROT_EXEC : 0);
	m.flags = p[4] == 's' ? MAP_SHARED : MAP_PRIVATE;
	p = text_hex(p + 6, &m.offset);
	p = text_hex(p + 1, &m.major);
	p = text_hex(p + 1, &m.minor);
	p = text_decimal(p + 1, &m.ino);
	while (*p == ' ')
		p++;
	m.path = *p == '\n' || !*p ? "//anon" : p;
	return m;
}

static void put_mapping(struct thread *t, const struct mapping *of)
{
	struct moment m = { .t = t };
	const bool code = of->prot & PROT_EXEC;
	for (uint32_t i = vpmu_slot(t->vpmu.slot)->events; i; i = vpmu_event(i)->next) {
		if (!is_heard(i) || !(code ? vpmu_sampler(i)->mmap : vpmu_sampler(i)->mmap_data))
			continue;
		const bool two = vpmu_sampler(i)->mmap2;
		struct sideband r = { .h = { .type = two ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP,
			.misc = PERF_RECORD_MISC_USER | (code ? 0 : PERF_RECORD_MISC_MMAP_DATA) } };
		uint8_t *w = w4(w4(r.body, pid_of(t)), (uint32_t)t->tid);
		w = w8(w8(w8(w, of->start), of->end - of->start), of->offset);
		if (two) {
			w = w4(w4(w, (uint32_t)of->major), (uint32_t)of->minor);
			w = w8(w8(w, of->ino), 0);
			w = w4(w4(w, of->prot), of->flags);
		}
		put(&m, i, &r, put_text(w, of->path, MAX_PATH));
	}
}

void sideband_ring(struct thread *t, uint64_t at, uint64_t size, uint64_t prot)
{
	const struct mapping m = { .start = at, .end = at + size, .prot = (uint32_t)prot,
				   .flags = MAP_SHARED, .path = "anon_inode:[perf_event]" };
	if (vpmu_slot(t->vpmu.slot)->tracks & (prot & PROT_EXEC ? TRACKS_MMAP : TRACKS_DATA))
		put_mapping(t, &m);
}

struct range {
	struct thread *t;
	uint64_t start, end;
	bool code_only;
};

static void look_at(const char *line, void *arg)
{
	const struct range *const r = arg;
	const struct mapping m = parse(line);
	if (m.end <= r->start || m.start >= r->end || (r->code_only && !(m.prot & PROT_EXEC)) ||
	    m.start >= USER_END || engine_owns(m.start, m.end))
		return;
	vpmu_lock(r->t);
	put_mapping(r->t, &m);
	vpmu_unlock();
}

/* The program's mappings in a range: all executable ones, or all. */
static void look(struct thread *t, uint64_t start, uint64_t end, bool code_only)
{
	struct range r = { t, start, end, code_only };
	char text[3 * MAX_PATH];
	maps_each_in(text, sizeof(text), look_at, &r);
}

void vpmu_memory(struct thread *t, long nr, const uint64_t *a, long ret)
{
	const uint32_t tracks = vpmu_slot(t->vpmu.slot)->tracks;
	const bool code = a[2] & PROT_EXEC;
	if (!(tracks & (code ? TRACKS_MMAP : TRACKS_DATA)) || ret < 0)
		return;
	const uint64_t start = nr == __NR_mmap ? (uint64_t)ret : a[0];
	if (nr == __NR_mmap || (code && (nr == __NR_mprotect || nr == __NR_pkey_mprotect)))
		look(t, start, start + PAGE_UP(a[1]), code);
}

void sideband_image(struct thread *t)
{
	const uint32_t tracks = vpmu_slot(t->vpmu.slot)->tracks;
	char name[17] = { 0 };
	if (!tracks)
		return;
	sys2(__NR_prctl, PR_GET_NAME, name);
	vpmu_lock(t);
	sideband_comm(t, name, true);
	vpmu_unlock();
	if (tracks & (TRACKS_MMAP | TRACKS_DATA))
		look(t, 0, USER_END, !(tracks & TRACKS_DATA));
}

/* ---- THROTTLE, UNTHROTTLE ---- */

void sideband_throttle(struct moment *m, uint32_t i, bool on)
{
	struct sideband r = { .h = { .type = on ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE } };
	if (!m->ns)
		m->ns = vpmu_time(vpmu_event(vpmu_root(i)));
	uint8_t *const w = w8(w8(r.body, m->ns), vpmu_event(vpmu_root(i))->id);
	put(m, i, &r, w8(w, vpmu_event(i)->id));
}

/* ---- FORK, EXIT ---- */

static bool hears_tasks(uint32_t i)
{
	const struct vpmu_sampler *const s = vpmu_sampler(i);
	return is_heard(i) && (s->task || s->comm || s->mmap || s->mmap_data);
}

static void put_task(struct thread *t, uint32_t i, uint32_t type, const int32_t who[4])
{
	struct moment m = { .t = t };
	struct sideband r = { .h = { .type = type } };
	uint8_t *w = r.body;
	for (int k = 0; k < 4; k++)
		w = w4(w, (uint32_t)who[k]);
	m.ns = vpmu_time(vpmu_event(vpmu_root(i)));
	put(&m, i, &r, w8(w, m.ns));
}

/* To the events of the slot. An event that the child has inherited says it in the child, before the
 * child does anything else; the others say it in the parent. */
void sideband_fork(struct thread *t, uint32_t slot, int32_t pid, int32_t tid, int32_t parent,
		   int32_t creator, bool inherited)
{
	const int32_t who[4] = { pid, parent, tid, creator };
	if (!(vpmu_slot(slot)->tracks & TRACKS_TASK))
		return;
	for (uint32_t i = vpmu_slot(slot)->events; i; i = vpmu_event(i)->next)
		if (hears_tasks(i) && (inherited || !vpmu_event(i)->inherit))
			put_task(t, i, PERF_RECORD_FORK, who);
}

void sideband_exit(struct thread *t)
{
	const int32_t parent = (int32_t)sys0(__NR_getppid);
	const int32_t who[4] = { (int32_t)pid_of(t), parent, t->tid, parent };
	if (!(vpmu_slot(t->vpmu.slot)->tracks & TRACKS_TASK))
		return;
	for (uint32_t i = vpmu_slot(t->vpmu.slot)->events; i; i = vpmu_event(i)->next)
		if (hears_tasks(i))
			put_task(t, i, PERF_RECORD_EXIT, who);
}
