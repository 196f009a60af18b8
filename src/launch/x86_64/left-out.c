/* See left-out.h. */
#include "left-out.h"

#include "code-abi.h"
#include "live-code.h"
#include "soft-results.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void moment_free(struct code_moment *m)
{
	free(m->used);
	buf_free(&m->live);
	*m = (struct code_moment){ 0 };
}

static bool look_at_log(struct code_moment *m, const struct soft_shared *s, int memfd)
{
	const uint32_t taken = __atomic_load_n(&s->code_chunks, __ATOMIC_ACQUIRE);
	m->n_chunks = taken < CODE_CHUNKS ? taken : CODE_CHUNKS;
	m->used = calloc(m->n_chunks + 1, sizeof(*m->used));
	for (uint32_t i = 0; m->used && i < m->n_chunks; i++) {
		struct code_chunk head;
		const off_t at = (off_t)(CODE_LOG_OFFSET + i * CODE_CHUNK);
		if (pread(memfd, &head, sizeof(head), at) == (ssize_t)sizeof(head))
			m->used[i] = head.used < CODE_CHUNK ? head.used : CODE_CHUNK;
	}
	return m->used;
}

void left_out_look(struct left_out *l, const struct soft_results *r, int memfd)
{
	moment_free(&l->now);
	l->failed |= !look_at_log(&l->now, r->shared, memfd);
	for (uint32_t j = 1; r->live_code && j < r->n_live_code; j++) {
		const struct soft_record *const s = &r->shared->records[j];
		const struct live_code *const c = &r->live_code[j];
		/* What was reported since is in the log. */
		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == REC_RUNNING &&
		    __atomic_load_n(&s->counts[SOFT_INSTRUCTIONS], __ATOMIC_RELAXED) == c->reported)
			buf_add(&l->now.live, c->records.data, c->records.len);
	}
	l->failed |= buf_failed(&l->now.live);
}

/* A record once more. */
static void again(struct buf *log, const struct code_record *r, bool less)
{
	struct code_record head = *r;
	if (less && (r->kind == CODE_RUNS || r->kind == CODE_TAKEN))
		head.runs = -r->runs;
	buf_add(log, &head, sizeof(head));
	buf_add(log, r->bytes, r->size - sizeof(head));
}

/* The records from bytes[at] on; those before bytes[from] only if they say which mappings there are. */
static void all_again(struct buf *log, const char *bytes, uint64_t at, uint64_t from, uint64_t end, bool less)
{
	while (at + sizeof(struct code_record) <= end) {
		const struct code_record *const r = (const void *)(bytes + at);
		const uint16_t size = __atomic_load_n(&r->size, __ATOMIC_ACQUIRE);
		if (size < sizeof(*r) || size > end - at)
			return;		/* a process was killed while it wrote */
		const bool is_map = r->kind == CODE_MAPS || r->kind == CODE_MAP;
		if (is_map || (at >= from && (r->kind == CODE_RUNS || r->kind == CODE_TAKEN)))
			again(log, r, less);
		at += size;
	}
}

/* What was written to the log between two moments, and what maps there were before. */
static bool log_again(struct buf *log, const struct code_moment *from, const struct code_moment *to, int memfd)
{
	for (uint32_t i = 0; i < to->n_chunks; i++) {
		const uint64_t begin = sizeof(struct code_chunk);
		const off_t at = (off_t)(CODE_LOG_OFFSET + i * CODE_CHUNK);
		char *const bytes = mmap(NULL, CODE_CHUNK, PROT_READ, MAP_SHARED, memfd, at);
		if (bytes == MAP_FAILED)
			return false;
		all_again(log, bytes, begin, i < from->n_chunks && from->used[i] > begin ? from->used[i] : begin,
			  to->used[i], true);
		munmap(bytes, CODE_CHUNK);
	}
	return true;
}

/* What ran from l->since to l->now is left out. */
static void leave_out(struct left_out *l, int memfd)
{
	if (l->failed)
		return;
	all_again(&l->log, l->since.live.data, 0, 0, l->since.live.len, false);
	l->failed |= !log_again(&l->log, &l->since, &l->now, memfd);
	all_again(&l->log, l->now.live.data, 0, 0, l->now.live.len, true);
	l->failed |= buf_failed(&l->log);
}

void left_out_switch(struct left_out *l, bool off, int memfd)
{
	if (off == l->off)
		return;
	if (l->off)
		leave_out(l, memfd);
	l->off = off;
	moment_free(&l->since);
	if (off) {
		l->since = l->now;
		l->now = (struct code_moment){ 0 };
	}
}

bool left_out_end(struct left_out *l, const struct soft_results *r, int memfd)
{
	struct live_code records = { 0 };
	moment_free(&l->now);
	if (l->off) {			/* all is in the log by now */
		l->failed |= !look_at_log(&l->now, r->shared, memfd);
		leave_out(l, memfd);
	}
	records.records = l->log;
	if (!l->failed)
		live_code_write(memfd, r->shared, &records);
	return !l->failed;
}

void left_out_free(struct left_out *l)
{
	moment_free(&l->since);
	moment_free(&l->now);
	buf_free(&l->log);
}
