/* Live counts: process_vm_readv() of cells and block vectors. See live.h. */
#include "live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK 1024u		/* blocks read at once */
#define TRIES 3

static bool read_at(pid_t pid, uint64_t address, void *to, size_t size)
{
	const struct iovec local = { to, size };
	const struct iovec remote = { (void *)address, size };
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Only a process of this run has the run's shared memory. */
bool live_is_ours(const struct soft_shared *shared, pid_t pid)
{
	int32_t launcher;
	return read_at(pid, ZONE_SHARED + offsetof(struct soft_shared, launcher_pid), &launcher,
		       sizeof(launcher)) &&
	       launcher == shared->launcher_pid;
}

static void add_block(uint64_t sum[SOFT_EVENTS], uint64_t runs, const uint8_t *vector)
{
	for (int k = 0; k < SOFT_EVENTS; k++)
		sum[k] += runs * vector[k];
}

static bool add_chunk(const struct soft_record *r, uint32_t first, uint32_t n, uint8_t *vectors,
		      uint64_t before[2], uint64_t sum[SOFT_EVENTS])
{
	uint64_t cells[2 * CHUNK];
	const size_t bytes = (size_t)(n - 1) * r->live_stride + SOFT_EVENTS + 1;
	if (!read_at(r->pid, r->live_counts + soft_cell(first) * 8, cells,
		     (n + 255) / 256 * 4096ull) ||
	    !read_at(r->pid, r->live_vectors + (uint64_t)first * r->live_stride, vectors, bytes))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *const vector = vectors + (size_t)i * r->live_stride;
		const uint64_t *const cell = cells + soft_cell(i);
		const uint64_t runs = soft_runs(vector[SOFT_EVENTS], cell[0] + cell[SOFT_CELLS_AWAY],
						before[0], before[1]);
		before[1] = before[0];
		before[0] = runs;
		if (runs)
			add_block(sum, runs, vector);
	}
	return true;
}

static bool add_cells(const struct soft_record *r, uint64_t sum[SOFT_EVENTS])
{
	uint32_t blocks;
	int64_t corr[SOFT_EVENTS];
	if (!read_at(r->pid, r->live_n_blocks, &blocks, sizeof(blocks)) ||
	    !read_at(r->pid, r->live_corr, corr, sizeof(corr)))
		return false;
	for (int k = 0; k < SOFT_EVENTS; k++)
		sum[k] += (uint64_t)corr[k];
	uint8_t *const vectors = malloc((size_t)CHUNK * r->live_stride);
	uint64_t before[2] = { 0 };	/* how often the last two blocks ran */
	bool ok = vectors;
	for (uint32_t first = 0; ok && first <= blocks; first += CHUNK) {
		const uint32_t left = blocks - first + 1;
		ok = add_chunk(r, first, left < CHUNK ? left : CHUNK, vectors, before, sum);
	}
	free(vectors);
	return ok;
}

/* While counting is off in the task, its cells are not counts. */
static void add_parked(const struct soft_record *r, uint64_t sum[SOFT_EVENTS])
{
	for (int k = 0; k < SOFT_EVENTS; k++)
		sum[k] += __atomic_load_n(&r->parked[k], __ATOMIC_RELAXED);
}

bool live_read(struct soft_shared *shared, uint32_t index, uint64_t counts[SOFT_EVENTS])
{
	struct soft_record *const r = &shared->records[index];
	if (!r->live_counts || !live_is_ours(shared, r->pid))
		return false;
	for (int i = 0; i < TRIES; i++) {
		/* Pairs with count_fold() of the engine. */
		const uint32_t before = __atomic_load_n(&r->folding, __ATOMIC_SEQ_CST);
		for (int k = 0; k < SOFT_EVENTS; k++)
			counts[k] = __atomic_load_n(&r->counts[k], __ATOMIC_RELAXED);
		if (before % 2 || __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) != REC_RUNNING)
			return false;
		if (__atomic_load_n(&r->off, __ATOMIC_RELAXED))
			add_parked(r, counts);
		else if (!add_cells(r, counts))
			return false;
		if (__atomic_load_n(&r->folding, __ATOMIC_SEQ_CST) == before)
			return true;
	}
	return false;
}
