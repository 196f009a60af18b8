/* Reading the code log.
 *
 * The log stays in the run's memory, and is mapped here. A record says which process it is of; the
 * mappings of a process are those of the last CODE_MAPS before it. A process that wrote none (it was
 * made by vfork while another thread had the engine's lock) has the mappings of its parent.
 */
#include "code.h"

#include "code-abi.h"
#include "decode.h"
#include "role-events.h"
#include "why.h"

#include <tare/measure.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct task {
	int32_t pid, tid, parent;
};

/* A CODE_ZERO or CODE_DUMP: says what the records of its task before it are. */
struct mark {
	bool zero;
	uint32_t dump;
	uint32_t next;			/* of the same task: 1 + index; 0: none */
};

/* What one CODE_MAPS and the CODE_MAP after it say. */
struct map_set {
	int32_t pid;
	size_t first, n;		/* of tare_code.in_sets */
};

struct tare_code {
	const uint8_t *log;		/* n_chunks chunks */
	uint32_t n_chunks;
	uint64_t *used;			/* of each chunk */
	bool full;
	int32_t only_pid;		/* children are left out: this process only; or 0 */
	struct task *tasks;		/* by record */
	uint32_t n_tasks;
	struct tare_code_map **maps;	/* each mapping once */
	size_t n_maps;
	const struct tare_code_map **in_sets;
	size_t n_in_sets;
	struct map_set *sets;		/* in the order of the log */
	size_t n_sets;
	struct code_contexts *contexts;
	struct mark *marks;		/* in the order of the log */
	size_t n_marks;
	uint32_t *first_mark;		/* by task (record): 1 + index; 0: none */
};

bool code_more(void *array, size_t n, size_t size)
{
	void **const a = array;
	if (n & (n - 1))
		return true;
	void *const larger = realloc(*a, (n ? 2 * n : 1) * size);
	if (larger)
		*a = larger;
	return larger;
}

/* ---- walking through the records ---- */

struct place {
	uint32_t chunk;
	uint64_t at;
};

static const struct code_record *next_record(const struct tare_code *c, struct place *p)
{
	while (p->chunk < c->n_chunks) {
		if (!p->at)
			p->at = sizeof(struct code_chunk);
		const struct code_record *const r =
			(const void *)(c->log + p->chunk * CODE_CHUNK + p->at);
		const uint64_t left = c->used[p->chunk] - p->at;
		const uint16_t size = left < sizeof(*r) ? 0 : __atomic_load_n(&r->size, __ATOMIC_ACQUIRE);
		if (size >= sizeof(*r) && size <= left && r->len <= size - sizeof(*r)) {
			p->at += size;
			return r;
		}
		p->chunk++;		/* the end, or a process was killed while it wrote */
		p->at = 0;
	}
	return NULL;
}

/* ---- mappings ---- */

/* "start-end perms offset dev inode path" */
static bool parse_map(const char *text, size_t len, struct tare_code_map *m, char *path)
{
	static const char deleted[] = " (deleted)";
	char line[4096 + 128];
	int at = 0;
	if (len >= sizeof(line))
		return false;
	memcpy(line, text, len);
	line[len] = '\0';
	*m = (struct tare_code_map){ .path = path };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
		   &m->end, &m->offset, &m->dev_major, &m->dev_minor, &m->inode, &at) < 6)
		return false;
	snprintf(path, sizeof(line), "%s", line + at);
	const size_t n = strlen(path), cut = sizeof(deleted) - 1;
	m->deleted = m->inode && n > cut && !strcmp(path + n - cut, deleted);
	if (m->deleted)
		path[n - cut] = '\0';
	return true;
}

static bool same_map(const struct tare_code_map *a, const struct tare_code_map *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && a->deleted == b->deleted && !strcmp(a->path, b->path);
}

/* The one that is stored already, or a copy. NULL: no memory. */
static const struct tare_code_map *keep_map(struct tare_code *c, const struct tare_code_map *m)
{
	/* Most mappings are those of a process that was read a moment ago. */
	for (size_t i = c->n_maps; i-- > 0;)
		if (same_map(c->maps[i], m))
			return c->maps[i];
	const size_t path = strlen(m->path) + 1;
	struct tare_code_map *const copy = malloc(sizeof(*copy) + path);
	if (!copy || !code_more(&c->maps, c->n_maps, sizeof(*c->maps))) {
		free(copy);
		return NULL;
	}
	*copy = *m;
	copy->path = memcpy(copy + 1, m->path, path);
	return c->maps[c->n_maps++] = copy;
}

static bool add_map(struct tare_code *c, const struct code_record *r)
{
	char path[4096 + 128];
	struct tare_code_map m;
	struct map_set *s = NULL;
	for (size_t i = c->n_sets; i-- > 0 && !s;)
		if (c->sets[i].pid == r->pid)
			s = &c->sets[i];
	if (!s || !parse_map((const char *)r->bytes, r->len, &m, path))
		return true;
	const struct tare_code_map *const kept = keep_map(c, &m);
	if (!kept || !code_more(&c->in_sets, c->n_in_sets, sizeof(*c->in_sets)))
		return false;
	if (!s->n)
		s->first = c->n_in_sets;
	c->in_sets[c->n_in_sets++] = kept;
	s->n = c->n_in_sets - s->first;
	return true;
}

static bool is_mark(const struct code_record *r)
{
	return r->kind == CODE_ZERO || r->kind == CODE_DUMP;
}

/* `last`: the last mark of each task so far. */
static bool add_mark(struct tare_code *c, const struct code_record *r, uint32_t *last)
{
	if (r->record >= c->n_tasks)
		return true;
	if (!code_more(&c->marks, c->n_marks, sizeof(*c->marks)))
		return false;
	c->marks[c->n_marks++] = (struct mark){ .zero = r->kind == CODE_ZERO, .dump = (uint32_t)r->runs };
	uint32_t *const from = last[r->record] ? &c->marks[last[r->record] - 1].next :
						 &c->first_mark[r->record];
	*from = last[r->record] = (uint32_t)c->n_marks;
	return true;
}

static bool read_maps_and_marks(struct tare_code *c)
{
	struct place p = { 0 };
	uint32_t *const last = calloc(c->n_tasks + 1, sizeof(*last));
	bool ok = last;
	for (const struct code_record *r; ok && (r = next_record(c, &p));) {
		if (is_mark(r)) {
			ok = add_mark(c, r, last);
		} else if (r->kind == CODE_MAP) {
			ok = add_map(c, r);
		} else if (r->kind == CODE_MAPS) {
			ok = code_more(&c->sets, c->n_sets, sizeof(*c->sets));
			if (ok)
				c->sets[c->n_sets++] = (struct map_set){ .pid = r->pid };
		}
	}
	free(last);
	return ok;
}

static void copy_tasks(struct tare_code *c, const struct soft_shared *s)
{
	for (uint32_t i = 1; i < c->n_tasks; i++)
		c->tasks[i] = (struct task){ s->records[i].pid, s->records[i].tid, s->records[i].parent };
}

struct tare_code *code_keep(int memfd, const struct soft_shared *s)
{
	struct tare_code *const c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	const uint32_t taken = __atomic_load_n(&s->code_chunks, __ATOMIC_ACQUIRE);
	const uint32_t records = __atomic_load_n(&s->n_records, __ATOMIC_ACQUIRE);
	c->n_chunks = taken < CODE_CHUNKS ? taken : CODE_CHUNKS;
	c->full = taken > CODE_CHUNKS;
	c->n_tasks = records < SOFT_MAX_RECORDS ? records : SOFT_MAX_RECORDS;
	c->used = calloc(c->n_chunks + 1, sizeof(*c->used));
	c->tasks = calloc(c->n_tasks + 1, sizeof(*c->tasks));
	void *const at = !c->n_chunks ? NULL : mmap(NULL, c->n_chunks * CODE_CHUNK, PROT_READ, MAP_SHARED,
						    memfd, CODE_LOG_OFFSET);
	c->first_mark = calloc(c->n_tasks + 1, sizeof(*c->first_mark));
	if (!c->used || !c->tasks || !c->first_mark || at == MAP_FAILED) {
		c->n_chunks = 0;
		code_free(c);
		return NULL;
	}
	c->log = at;
	for (uint32_t i = 0; i < c->n_chunks; i++) {
		const struct code_chunk *const k = (const void *)(c->log + i * CODE_CHUNK);
		const uint64_t used = __atomic_load_n(&k->used, __ATOMIC_ACQUIRE);
		c->used[i] = used < CODE_CHUNK ? used : CODE_CHUNK;
	}
	copy_tasks(c, s);
	/* (a child runs in the engine up to its exec) */
	c->only_pid = s->flags & SOFT_FLAG_NO_INHERIT && c->n_tasks > 1 ? c->tasks[1].pid : 0;
	if (read_maps_and_marks(c) && (c->contexts = code_contexts_read(c, s->event_mask)))
		return c;
	code_free(c);
	return NULL;
}

void code_free(struct tare_code *c)
{
	if (!c)
		return;
	if (c->n_chunks)
		munmap((void *)c->log, c->n_chunks * CODE_CHUNK);
	for (size_t i = 0; i < c->n_maps; i++)
		free(c->maps[i]);
	free(c->maps);
	free(c->in_sets);
	free(c->sets);
	code_contexts_free(c->contexts);
	free(c->marks);
	free(c->first_mark);
	free(c->used);
	free(c->tasks);
	free(c);
}

bool tare_code_is_complete(const struct tare_code *c)
{
	return c && !c->full;
}

/* ---- handing it out ---- */

/* The set of mappings that each process has at a place of the log. */
struct current {
	struct { int32_t pid; uint32_t set; } *of;	/* set: 1 + index */
	size_t n, last;		/* last: the one that was looked up; a process writes many records in a row */
	uint32_t *mark;		/* the next one, by task: 1 + index; 0: none */
};

/* The next mark of the task that wrote the record, or NULL. */
static const struct mark *mark_after(const struct tare_code *c, const struct current *now,
				     const struct code_record *r)
{
	const uint32_t i = r->record < c->n_tasks ? now->mark[r->record] : 0;
	return i ? &c->marks[i - 1] : NULL;
}

static uint32_t *current_of(struct current *now, int32_t pid)
{
	if (now->last < now->n && now->of[now->last].pid == pid)
		return &now->of[now->last].set;
	for (size_t i = now->n; i-- > 0;)
		if (now->of[i].pid == pid)
			return &now->of[now->last = i].set;
	if (!code_more(&now->of, now->n, sizeof(*now->of)))
		return NULL;
	now->of[now->n].pid = pid;
	now->of[now->n].set = 0;
	return &now->of[now->n++].set;
}

static const struct tare_code_map *map_in(const struct tare_code *c, uint32_t set, uint64_t pc)
{
	const struct map_set *const s = &c->sets[set - 1];
	for (size_t i = 0; i < s->n; i++) {
		const struct tare_code_map *const m = c->in_sets[s->first + i];
		if (pc >= m->start && pc < m->end)
			return m;
	}
	return NULL;
}

static int32_t parent_of(const struct tare_code *c, int32_t pid)
{
	for (uint32_t i = 1; i < c->n_tasks; i++)
		if (c->tasks[i].pid == pid && c->tasks[i].parent != pid)
			return c->tasks[i].parent;
	return 0;
}

/* The part of a block that a signal cut off can be written before the mappings are. */
static uint32_t first_set(const struct tare_code *c, int32_t pid)
{
	for (size_t i = 0; i < c->n_sets; i++)
		if (c->sets[i].pid == pid)
			return (uint32_t)i + 1;
	return 0;
}

struct code_walk {
	const struct tare_code *code;
	struct current now;
	const struct code_record *record;
	uint32_t set;			/* of mappings, of the record's process: 1 + index; 0: none */
};

/* False: no memory. */
static bool find_set(struct code_walk *w)
{
	const uint32_t *set = current_of(&w->now, w->record->pid);
	const int32_t parent = set && !*set ? parent_of(w->code, w->record->pid) : 0;
	if (parent)
		set = current_of(&w->now, parent);
	w->set = set && *set ? *set : first_set(w->code, w->record->pid);
	return set;
}

const struct tare_code_map *code_map_of(const struct code_walk *at, uint64_t address)
{
	return at->set ? map_in(at->code, at->set, address) : NULL;
}

uint32_t code_dump_of(const struct code_walk *at)
{
	const struct mark *const mark = mark_after(at->code, &at->now, at->record);
	return mark && !mark->zero ? mark->dump : 0;
}

bool code_is_zeroed(const struct code_walk *at)
{
	const struct mark *const mark = mark_after(at->code, &at->now, at->record);
	return mark && mark->zero;
}

pid_t code_tid_of(const struct code_walk *at)
{
	const uint32_t task = at->record->record;
	return task < at->code->n_tasks ? at->code->tasks[task].tid : 0;
}

static int walk(struct code_walk *w, uint32_t kinds,
		int (*what)(const struct code_walk *at, const struct code_record *r, void *arg), void *arg)
{
	struct place p = { 0 };
	uint32_t sets = 0;
	int err = 0;
	for (const struct code_record *r; !err && (r = next_record(w->code, &p));) {
		w->record = r;
		if (r->kind == CODE_MAPS) {
			uint32_t *const set = current_of(&w->now, r->pid);
			if (!set)
				return TARE_E_NOMEM;
			*set = ++sets;
		}
		if (is_mark(r) && r->record < w->code->n_tasks && w->now.mark[r->record])
			w->now.mark[r->record] = w->code->marks[w->now.mark[r->record] - 1].next;
		if (r->kind > CODE_DUMP || !(kinds >> r->kind & 1) ||
		    (w->code->only_pid && r->pid != w->code->only_pid))
			continue;
		if (!find_set(w))
			return TARE_E_NOMEM;
		err = what(w, r, arg);
	}
	return err;
}

int code_walk(const struct tare_code *c, uint32_t kinds,
	      int (*what)(const struct code_walk *at, const struct code_record *r, void *arg), void *arg)
{
	struct code_walk w = { .code = c, .now.mark = malloc((c->n_tasks + 1) * sizeof(uint32_t)) };
	if (!w.now.mark)
		return TARE_E_NOMEM;
	memcpy(w.now.mark, c->first_mark, (c->n_tasks + 1) * sizeof(uint32_t));
	const int err = walk(&w, kinds, what, arg);
	free(w.now.of);
	free(w.now.mark);
	return err;
}

const struct code_contexts *code_contexts_of(const struct tare_code *c)
{
	return c->contexts;
}

struct each {
	int (*what)(const struct tare_code_range *r, void *arg);
	void *arg;
};

static int give_range(const struct code_walk *at, const struct code_record *r, void *arg)
{
	const struct each *const e = arg;
	const struct mark *const mark = mark_after(at->code, &at->now, r);
	if (mark && mark->zero)
		return 0;
	const struct tare_code_range range = {
		.dump = mark ? mark->dump : 0,
		.pid = r->pid, .tid = code_tid_of(at), .map = code_map_of(at, r->pc),
		.address = r->pc, .bytes = r->bytes, .size = r->len, .n_insns = r->n_insns,
		.runs = r->kind == CODE_RUNS ? r->runs : 0,
		.taken = r->kind == CODE_TAKEN ? r->runs : 0,
	};
	return e->what(&range, e->arg);
}

int tare_code_each(const struct tare_code *c, int (*what)(const struct tare_code_range *r, void *arg),
		   void *arg, struct tare_why *why)
{
	if (!c || !what)
		return why_set(why, TARE_E_INVALID, "tare_code_each: no list, or no function");
	const int err = code_walk(c, 1u << CODE_RUNS | 1u << CODE_TAKEN, give_range, &(struct each){ what, arg });
	return err == TARE_E_NOMEM ? why_set(why, err, "the code of a run") : err;
}

/* ---- instructions ---- */

unsigned tare_code_insn(const uint8_t *bytes, size_t size, uint64_t address,
			struct tare_code_insn *insn)
{
	struct insn in;
	*insn = (struct tare_code_insn){ 0 };
	if (decode_insn(&in, bytes, (unsigned)(size < 15 ? size : 15)) <= 0)
		return 0;
	insn->size = in.len;
	insn->is_branch = in.classes & CLASS_BRANCH;
	insn->is_conditional = in.classes & CLASS_COND;
	insn->is_call = in.classes & CLASS_CALL;
	insn->is_return = in.classes & CLASS_RET;
	insn->is_indirect = in.classes & CLASS_INDIRECT;
	insn->has_target = in.flow == FLOW_JCC || in.flow == FLOW_LOOP || in.flow == FLOW_JMP ||
			   in.flow == FLOW_CALL;
	insn->target = insn->has_target ? address + in.len + (uint64_t)in.imm : 0;
	insn->events = in.classes & ((1u << SOFT_TAKEN) - 1);
	insn->events |= 1u << SOFT_INSTRUCTIONS;
	if (insn->is_branch && !insn->is_conditional)
		insn->events |= 1u << SOFT_TAKEN;
	return in.len;
}

bool tare_code_counts(const struct tare_code_insn *insn, const struct tare_event *event)
{
	const int e = tare_engine_counts(event) ? role_event(event->role) : -1;
	return e >= 0 && insn->events >> e & 1;
}
