/* See live-code.h. The cells are read as live.c reads them. */
#include "live-code.h"

#include "code-abi.h"
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECE 1024u		/* blocks read at once */
#define PAGE 4096u
#define PAGES 1024u

/* Pages of the program's code that were read a moment ago, by the low bits of their number: a call for each block
 * would take more time than all the rest. */
struct code_pages {
	uint64_t number[PAGES];		/* 1 + that of the page; 0: none yet */
	uint8_t bytes[PAGES][PAGE];
};

struct reading {
	const struct soft_record *r;
	uint32_t index;
	struct buf *out;
	struct code_pages *pages;
	uint64_t before[2];		/* how often the last two blocks ran */
	uint64_t last_pc;		/* of the last block with instructions */
	uint16_t last_len;
};

static bool read_at(pid_t pid, uint64_t address, void *to, size_t size)
{
	const struct iovec local = { to, size };
	const struct iovec remote = { (void *)address, size };
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* NULL: it cannot be read. */
static const uint8_t *page_at(const struct reading *x, uint64_t number)
{
	const unsigned i = number % PAGES;
	if (x->pages->number[i] != number + 1) {
		x->pages->number[i] = 0;
		if (!read_at(x->r->pid, number * PAGE, x->pages->bytes[i], PAGE))
			return NULL;
		x->pages->number[i] = number + 1;
	}
	return x->pages->bytes[i];
}

static bool read_code(const struct reading *x, uint64_t pc, uint8_t *to, unsigned size)
{
	for (unsigned n; size; pc += n, to += n, size -= n) {
		const unsigned at = pc % PAGE;
		const uint8_t *const page = page_at(x, pc / PAGE);
		n = size < PAGE - at ? size : PAGE - at;
		if (!page)
			return false;
		memcpy(to, page + at, n);
	}
	return true;
}

static void add_record(struct reading *x, enum code_kind kind, uint8_t n_insns, uint64_t pc, int64_t runs,
		       const void *bytes, uint16_t len)
{
	static const char zeros[8];
	struct code_record r = { .kind = (uint8_t)kind, .n_insns = n_insns, .record = x->index, .pid = x->r->pid,
				 .len = len, .pc = pc, .runs = runs };
	const size_t size = (sizeof(r) + len + 7) & ~(size_t)7;
	r.size = (uint16_t)size;
	buf_add(x->out, &r, sizeof(r));
	buf_add(x->out, bytes, len);
	buf_add(x->out, zeros, size - sizeof(r) - len);
}

/* The executable mappings of the program, not those of the engine. */
static bool add_maps(struct reading *x)
{
	char path[64], line[4096 + 128];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)x->r->pid);
	FILE *const f = fopen(path, "re");
	if (!f)
		return false;
	add_record(x, CODE_MAPS, 0, 0, 0, NULL, 0);
	while (fgets(line, sizeof(line), f)) {
		unsigned long long start;
		char mode[5] = "";
		if (sscanf(line, "%llx-%*x %4s", &start, mode) != 2 || mode[2] != 'x' ||
		    (start >= ZONE_BASE && start < ZONE_END))
			continue;
		add_record(x, CODE_MAP, 0, 0, 0, line, (uint16_t)strcspn(line, "\n"));
	}
	fclose(f);
	return true;
}

/* A block as the engine has it, BLOCK_VEC_AT bytes before its vector. */
static bool add_block(struct reading *x, const uint8_t *block, uint64_t cell)
{
	const uint8_t *const vec = block + BLOCK_VEC_AT;
	const uint64_t runs = soft_runs(vec[SOFT_EVENTS], cell, x->before[0], x->before[1]);
	uint64_t pc;
	uint16_t len;
	uint8_t code[UINT16_MAX];
	memcpy(&pc, block, sizeof(pc));
	memcpy(&len, block + BLOCK_SRC_LEN_AT, sizeof(len));
	x->before[1] = x->before[0];
	x->before[0] = runs;
	const uint8_t n_insns = block[BLOCK_N_INSNS_AT];
	const bool taken = !n_insns && vec[SOFT_TAKEN];
	if (n_insns) {
		x->last_pc = pc;
		x->last_len = len;
	}
	if (!runs || (!n_insns && !taken))
		return true;
	/* The cell of a taken branch has the id behind its block's. */
	if (taken) {
		pc = x->last_pc;
		len = x->last_len;
	}
	if (!read_code(x, pc, code, len))
		return false;
	add_record(x, taken ? CODE_TAKEN : CODE_RUNS, n_insns, pc, (int64_t)runs, code, len);
	return true;
}

static bool add_piece(struct reading *x, uint32_t first, uint32_t n, uint8_t *blocks, uint64_t *cells)
{
	const struct soft_record *const r = x->r;
	if (!read_at(r->pid, r->live_counts + soft_cell(first) * 8, cells, (n + 255) / 256 * 4096ull) ||
	    !read_at(r->pid, r->live_vectors - BLOCK_VEC_AT + (uint64_t)first * r->live_stride, blocks,
		     (size_t)n * r->live_stride))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t *const cell = cells + soft_cell(i);
		if (!add_block(x, blocks + (size_t)i * r->live_stride, cell[0] + cell[SOFT_CELLS_AWAY]))
			return false;
	}
	return true;
}

static bool add_blocks(struct reading *x)
{
	uint32_t last;
	if (!read_at(x->r->pid, x->r->live_n_blocks, &last, sizeof(last)))
		return false;
	uint8_t *const blocks = malloc((size_t)PIECE * x->r->live_stride);
	uint64_t *const cells = malloc(2 * PIECE * sizeof(*cells));
	x->pages = calloc(1, sizeof(*x->pages));
	bool ok = blocks && cells && x->pages;
	for (uint32_t first = 0; ok && first <= last; first += PIECE) {
		const uint32_t left = last - first + 1;
		ok = add_piece(x, first, left < PIECE ? left : PIECE, blocks, cells);
	}
	free(x->pages);
	free(blocks);
	free(cells);
	return ok;
}

void live_code_read(struct soft_shared *shared, uint32_t index, struct live_code *c)
{
	const struct soft_record *const r = &shared->records[index];
	struct buf got = { 0 };
	struct reading x = { .r = r, .index = index, .out = &got };
	/* Where the program has chosen the parts that count, cells are not what will be reported. */
	if (r->off || r->zeroed) {
		buf_free(&c->records);
		return;
	}
	const uint32_t before = __atomic_load_n(&r->folding, __ATOMIC_SEQ_CST);
	const uint64_t reported = __atomic_load_n(&r->counts[SOFT_INSTRUCTIONS], __ATOMIC_RELAXED);
	if (!r->live_counts || before % 2 || !live_is_ours(shared, r->pid) || !add_maps(&x) || !add_blocks(&x) ||
	    buf_failed(&got) || __atomic_load_n(&r->folding, __ATOMIC_SEQ_CST) != before) {
		buf_free(&got);
		return;
	}
	buf_free(&c->records);
	*c = (struct live_code){ got, reported };
}

/* One chunk of the log with the records from *at on, as many as fit. */
static bool write_chunk(int memfd, struct soft_shared *shared, const struct live_code *c, size_t *at)
{
	const uint32_t chunk = __atomic_fetch_add(&shared->code_chunks, 1, __ATOMIC_RELAXED);
	size_t n = 0;
	while (*at + n < c->records.len) {
		const struct code_record *const r = (const void *)(c->records.data + *at + n);
		if (sizeof(struct code_chunk) + n + r->size > CODE_CHUNK)
			break;
		n += r->size;
	}
	const struct code_chunk head = { .used = sizeof(head) + n };
	const off_t to = (off_t)(CODE_LOG_OFFSET + (uint64_t)chunk * CODE_CHUNK);
	if (chunk >= CODE_CHUNKS || pwrite(memfd, c->records.data + *at, n, to + (off_t)sizeof(head)) != (ssize_t)n ||
	    pwrite(memfd, &head, sizeof(head), to) != (ssize_t)sizeof(head))
		return false;
	*at += n;
	return n > 0;
}

void live_code_write(int memfd, struct soft_shared *shared, const struct live_code *c)
{
	size_t at = 0;
	while (at < c->records.len && write_chunk(memfd, shared, c, &at))
		continue;
}

void live_code_free(struct live_code *c)
{
	buf_free(&c->records);
}
