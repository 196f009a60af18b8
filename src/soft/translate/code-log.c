/* Writing the code log (code-abi.h).
 *
 * Threads append at the same time: each takes its place in the chunk with one atomic addition. The
 * mappings are written before the first runs, and again when they have changed since. So that each
 * record is of the mapping that was there when the code ran, the cache is emptied, and all runs
 * written, before a file's code is unmapped (code_log_unmaps).
 */
#include "code-abi.h"
#include "sys.h"
#include "text.h"
#include "translate-room.h"

static struct {
	struct code_chunk *chunk;
	uint32_t lock;		/* 1: a thread takes the next chunk */
	int32_t maps_of;	/* the process whose mappings were written last */
	bool maps_changed;
} log;

bool code_log_wanted(void)
{
	return E.shared->flags & SOFT_FLAG_CODE_LOG;
}

/* False: the log is full. */
static bool next_chunk(const struct code_chunk *old)
{
	while (__atomic_exchange_n(&log.lock, 1, __ATOMIC_ACQUIRE))
		sys0(__NR_sched_yield);
	bool done = log.chunk != old;
	if (!done) {
		const uint32_t n = __atomic_fetch_add(&E.shared->code_chunks, 1, __ATOMIC_RELAXED);
		const uint64_t at = ZONE_CODE_LOG + n * CODE_CHUNK;
		done = n < CODE_CHUNKS;
		if (done) {
			zone_map_shared(at, CODE_LOG_OFFSET + n * CODE_CHUNK, CODE_CHUNK);
			((struct code_chunk *)at)->used = sizeof(struct code_chunk);
			__atomic_store_n(&log.chunk, (struct code_chunk *)at, __ATOMIC_RELEASE);
		}
	}
	__atomic_store_n(&log.lock, 0, __ATOMIC_RELEASE);
	return done;
}

/* Room for a record; NULL: the log is full, which the launcher sees by code_chunks. */
static struct code_record *reserve(uint64_t size)
{
	for (;;) {
		struct code_chunk *const c = __atomic_load_n(&log.chunk, __ATOMIC_ACQUIRE);
		const uint64_t at = c ? __atomic_fetch_add(&c->used, size, __ATOMIC_RELAXED) : CODE_CHUNK;
		if (at + size <= CODE_CHUNK)
			return (struct code_record *)((uint64_t)c + at);
		if (!next_chunk(c))
			return NULL;
	}
}

static struct code_record *append(const struct code_record *head, const void *bytes)
{
	const uint64_t size = (sizeof(*head) + head->len + 7) & ~7ull;
	struct code_record *const r = reserve(size);
	if (!r)
		return NULL;
	*r = *head;
	mem_copy(r->bytes, bytes, head->len);
	__atomic_store_n(&r->size, (uint16_t)size, __ATOMIC_RELEASE);
	return r;
}

static void map_line(const char *line, void *arg)
{
	const struct code_record *const like = arg;
	uint64_t start;
	text_hex(line, &start);
	const char *p = line;
	while (*p != ' ')
		p++;
	if (p[3] != 'x' || (start >= ZONE_BASE && start < ZONE_END))
		return;
	while (*p != '\n')
		p++;
	struct code_record r = *like;
	r.kind = CODE_MAP;
	r.len = (uint16_t)(p - line);
	append(&r, line);
}

void code_log_maps_changed(void)
{
	log.maps_changed = true;
}

/* A vfork child has not the lock, which its parent's other threads may have. */
static void write_maps(const struct thread *t, int32_t pid)
{
	if ((log.maps_of == pid && !log.maps_changed) || (t->is_vfork && !lock_try()))
		return;
	struct code_record r = { .kind = CODE_MAPS, .record = t->record, .pid = pid };
	append(&r, NULL);
	maps_each(map_line, &r);
	log.maps_of = pid;
	log.maps_changed = false;
	if (t->is_vfork)
		lock_drop();
}

static int32_t process_of(const struct thread *t)
{
	return t->is_vfork ? (int32_t)sys0(__NR_getpid) : E.pid;
}

void code_log_begin(const struct thread *t)
{
	write_maps(t, process_of(t));
}

static void log_block(const struct thread *t, uint32_t id, enum code_kind kind, int64_t runs)
{
	const struct block *const b = block_at(id);
	const struct code_record r = { .kind = (uint8_t)kind, .n_insns = b->n_insns,
				       .record = t->record, .pid = process_of(t), .len = b->src_len,
				       .pc = b->pc, .runs = runs };
	append(&r, block_src(b));
}

void code_log_taken(const struct thread *t, uint32_t id, int64_t times)
{
	if (!t->code.off)
		log_block(t, id, CODE_TAKEN, times);
}

void code_log_block(const struct thread *t, uint32_t id, uint64_t runs)
{
	const struct block *const b = block_at(id);
	if (b->n_insns)
		log_block(t, id, CODE_RUNS, (int64_t)runs);
	else if (b->vec[SOFT_TAKEN])		/* the cell of the taken branch of the block before it */
		log_block(t, id - 1, CODE_TAKEN, (int64_t)runs);
}

void code_log_part(const struct thread *t, uint64_t pc, const uint8_t *bytes, uint16_t len,
		   uint8_t n_insns, int64_t runs)
{
	const struct code_record r = { .kind = CODE_RUNS, .n_insns = n_insns, .record = t->record,
				       .pid = process_of(t), .len = len, .pc = pc, .runs = runs };
	if (n_insns && !t->code.off)
		append(&r, bytes);
}

uint64_t code_log_define(const struct thread *t, uint64_t pc, const uint8_t *bytes, uint16_t len,
			 uint8_t n_insns)
{
	const struct code_record r = { .kind = CODE_BLOCK, .n_insns = n_insns, .record = t->record,
				       .pid = process_of(t), .len = len, .pc = pc };
	const struct code_record *const at = append(&r, bytes);
	return at ? (uint64_t)at - ZONE_CODE_LOG : 0;
}

void code_log_mark(const struct thread *t, uint32_t record, uint8_t kind, uint32_t dump)
{
	const struct code_record r = { .kind = kind, .record = record, .pid = process_of(t),
				       .runs = dump };
	append(&r, NULL);
}

void code_log_record(const struct thread *t, int kind, uint64_t pc, int64_t runs, const void *bytes,
		     uint16_t len)
{
	const struct code_record r = { .kind = (uint8_t)kind, .record = t->record, .pid = process_of(t),
				       .len = len, .pc = pc, .runs = runs };
	append(&r, bytes);
}

void code_log_unmaps(struct thread *t, uint64_t start, uint64_t end)
{
	bool file = false;
	if (!code_log_wanted())
		return;
	lock_take();
	for (uint32_t i = 0; i < cache.n_regions; i++) {
		const struct region *const r = &cache.regions[i];
		file |= !r->anon && r->start < end && r->end > start;
	}
	lock_drop();
	if (file) {
		calls_code_unmapped();
		cache_flush(t);
	}
}
