/* A basic-block vector, as SimPoint and exp-bbv of Valgrind have them:
 *
 *	T:1:120 :2:66 …		one interval; for each block its number and how many instructions ran in it
 *	# 1 prog+0x1139 3 main	what a block is: number, place, instructions, function
 *
 * The whole run is one interval: a profile does not know when its code ran. A basic block begins at a function's
 * first instruction, behind a branch, at the target of a direct branch, where instructions are missing (they did not
 * run), and where the number of runs changes (an indirect branch or a return leads there). */
#include "annotate.h"

#include "sink.h"
#include "why.h"

#include <tare/code.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct block {
	uint32_t insn, n;		/* of p->insns */
	int64_t sum;			/* of their runs */
};

/* Marks the targets of direct branches. Instructions of an object are sorted by function and offset. */
static bool *targets_of(const struct tare_codeprofile *p)
{
	bool *const is_target = calloc(p->n_insns + 1, sizeof(*is_target));
	if (!is_target)
		abort();
	for (uint32_t i = 0; i < p->n_functions; i++) {
		const struct tare_codeprofile_function *const f = &p->functions[i];
		for (uint32_t k = f->insns; k < f->insns + f->n_insns; k++) {
			struct tare_code_insn d;
			const struct tare_codeprofile_insn *const in = &p->insns[k];
			if (!tare_code_insn(in->bytes, in->size, in->offset, &d) || !d.has_target)
				continue;
			/* Within the function: another one begins a block anyway. */
			uint32_t low = f->insns, high = f->insns + f->n_insns;
			while (low < high) {
				const uint32_t middle = (low + high) / 2;
				if (p->insns[middle].offset < d.target)
					low = middle + 1;
				else
					high = middle;
			}
			if (low < f->insns + f->n_insns && p->insns[low].offset == d.target)
				is_target[low] = true;
		}
	}
	return is_target;
}

/* Whether instruction k goes on with the block of the one before. */
static bool goes_on(const struct tare_codeprofile *p, uint32_t k, const bool *is_target)
{
	const struct tare_codeprofile_insn *const in = &p->insns[k], *const last = in - 1;
	struct tare_code_insn d;
	return k && in->function == last->function && in->offset == last->offset + last->size && last->size &&
	       in->runs == last->runs && !is_target[k] &&
	       tare_code_insn(last->bytes, last->size, last->offset, &d) && !d.is_branch && !d.is_call && !d.is_return;
}

static struct block *blocks_of(const struct tare_codeprofile *p, size_t *n)
{
	struct block *const list = calloc(p->n_insns + 1, sizeof(*list));
	bool *const is_target = targets_of(p);
	if (!list)
		abort();
	*n = 0;
	for (uint32_t k = 0; k < p->n_insns; k++) {
		if (!goes_on(p, k, is_target))
			list[(*n)++] = (struct block){ .insn = k };
		list[*n - 1].n++;
		list[*n - 1].sum += (int64_t)p->insns[k].runs;
	}
	free(is_target);
	return list;
}

static void put_vector(struct sink *out, const struct block *blocks, size_t n)
{
	sink_str(out, "T");
	for (size_t i = 0; i < n; i++) {
		if (blocks[i].sum <= 0)
			continue;
		sink_str(out, ":");
		sink_u64(out, i + 1);
		sink_str(out, ":");
		sink_u64(out, (uint64_t)blocks[i].sum);
		sink_str(out, " ");
	}
	sink_str(out, "\n");
}

static void put_names(struct sink *out, const struct tare_codeprofile *p, const struct block *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct tare_codeprofile_insn *const in = &p->insns[blocks[i].insn];
		const struct tare_codeprofile_function *const f = &p->functions[in->function];
		struct buf line = { 0 };
		buf_printf(&line, "# %zu %s+0x%" PRIx64 " %u %s", i + 1, annotate_base(p->objects[f->object].path),
			   in->offset, blocks[i].n, f->name);
		if (buf_failed(&line))
			abort();
		sink_line(out, line.data, line.len);
		sink_str(out, "\n");
		buf_free(&line);
	}
}

int annotate_bbv(const struct tare_codeprofile *p, const struct tare_output *out, struct tare_why *why)
{
	struct sink to;
	const int err = sink_open(&to, out->write, out->arg, why);
	if (err)
		return err;
	size_t n;
	struct block *const blocks = blocks_of(p, &n);
	put_vector(&to, blocks, n);
	sink_str(&to, "# one interval: the whole run; blocks: number, place, instructions, function\n");
	put_names(&to, p, blocks, n);
	free(blocks);
	return sink_close(&to, why);
}
