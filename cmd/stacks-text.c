/* A call tree as text: indented lines, or one line per stack. */
#include "export-show.h"

#include "profiles.h"
#include "quantity.h"
#include "sink.h"
#include "why.h"

#include <string.h>

struct printer {
	const struct tare_stacks_info *info;
	struct sink out;
	struct buf line;
};

/* Moves the text from `from` on to the right edge of `width` columns. */
static void align_right(struct buf *line, size_t from, size_t width)
{
	static const char spaces[] = "                    ";
	const size_t len = line->len - from;
	if (len >= width)
		return;
	buf_add(line, spaces, width - len);
	memmove(line->data + from + width - len, line->data + from, len);
	memset(line->data + from, ' ', width - len);
}

static void quantity_column(struct buf *line, const struct tare_profile_info *info, int64_t v,
			    size_t width)
{
	const size_t from = line->len;
	quantity_add(line, info, v);
	align_right(line, from, width);
	buf_chr(line, ' ');
}

static int tree_line(void *arg, const struct tare_stack *s)
{
	struct printer *const p = arg;
	const uint64_t all = p->info->total;
	struct buf *const line = &p->line;
	line->len = 0;
	percent_add(line, all ? 100.0 * (double)s->total / (double)all : 0.0);
	align_right(line, 0, 7);
	buf_chr(line, ' ');
	quantity_column(line, p->info->profile, (int64_t)s->total, 14);
	quantity_column(line, p->info->profile, s->self, 14);
	const size_t from = line->len;
	buf_u64(line, s->count);
	align_right(line, from, 9);
	buf_str(line, "  ");
	for (uint32_t d = s->depth < 100 ? s->depth : 100; d; d--)
		buf_str(line, "  ");
	buf_add(line, s->name, s->name_len);
	buf_chr(line, '\n');
	if (buf_failed(line))
		return TARE_E_NOMEM;
	sink_add(&p->out, line->data, line->len);
	return 0;
}

static int collapsed_line(void *arg, const struct tare_stack *s)
{
	struct printer *const p = arg;
	sink_add(&p->out, s->path, s->path_len);
	sink_add(&p->out, " ", 1);
	sink_u64(&p->out, s->self > 0 ? (uint64_t)s->self : 0);
	sink_add(&p->out, "\n", 1);
	return 0;
}

static int print(const struct tare_stacks *t, const struct tare_stacks_visit_options *o,
		 int (*line)(void *, const struct tare_stack *), int fd, struct tare_why *why)
{
	struct printer p = { .info = tare_stacks_info(t) };
	int err = sink_open(&p.out, fd_write, &fd, why);
	if (err < 0)
		return err;
	if (o->order == TARE_STACKS_BY_TOTAL) {
		buf_printf(&p.line, "%7s %14s %14s %9s  %s\n", "share", "total", "self", "count",
			   "stack");
		sink_add(&p.out, p.line.data, p.line.len);
	}
	err = tare_stacks_visit(t, o, line, &p, why);
	if (buf_failed(&p.line))
		why_set(why, TARE_E_NOMEM, "stacks");
	buf_free(&p.line);
	const int closed = sink_close(&p.out, err < 0 ? NULL : why);
	return err < 0 ? err : closed;
}

int stacks_text(const struct tare_stacks *t, double percent_above, int fd, struct tare_why *why)
{
	const struct tare_stacks_visit_options o = TARE_OPTIONS(stacks_visit,
		.order = TARE_STACKS_BY_TOTAL,
		.least = percent_above / 100 * (double)tare_stacks_info(t)->total);
	return print(t, &o, tree_line, fd, why);
}

int stacks_collapsed(const struct tare_stacks *t, bool also_empty, int fd, struct tare_why *why)
{
	const struct tare_stacks_visit_options o = TARE_OPTIONS(stacks_visit,
		.order = TARE_STACKS_BY_PATH,
		.also_empty = also_empty);
	return print(t, &o, collapsed_line, fd, why);
}
