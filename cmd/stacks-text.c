/* A call tree as text: indented lines, or one line per stack. */
#include "export-show.h"

#include "profiles.h"
#include "quantity.h"
#include "sink.h"

#include <string.h>

struct printer {
	const struct tare_stacks_info *info;
	struct sink out;
};

enum { SHARE_WIDTH = 7, VALUE_WIDTH = 14, COUNT_WIDTH = 9 };

/* What begins before `end` gets at least `width` columns, spaces before it, and one more space;
 * there are spaces already. */
static char *column(char *at, const char *end, ptrdiff_t width)
{
	return (end - at < width ? at - (width - (end - at)) : at) - 1;
}

/* The columns before the name are written from the last to the first: each one starts where the
 * one behind it has begun. */
static const char *columns(char *end, const struct printer *p, const struct tare_stack *s)
{
	const struct tare_profile_info *const i = p->info->profile;
	const uint64_t all = p->info->total;
	char *at = end - 1;
	at = column(u64_digits(at - 1, s->count), at - 1, COUNT_WIDTH);
	at = column(quantity_before(at, i, s->self), at, VALUE_WIDTH);
	at = column(quantity_before(at, i, (int64_t)s->total), at, VALUE_WIDTH);
	const double share = all ? 100.0 * (double)s->total / (double)all : 0.0;
	return column(percent_before(at, share), at, SHARE_WIDTH) + 1;
}

enum {
	ROW_BYTES = SHARE_WIDTH + 1 + VALUE_WIDTH + 1 + VALUE_WIDTH + 1 + COUNT_WIDTH + 2,
	INDENT_MOST = 200,
};

/* Whether no number is wider than its column. */
static bool is_usual(const struct printer *p, const struct tare_stack *s)
{
	return !p->info->profile->is_time && s->total <= p->info->total && s->total < 10000000000 &&
	       s->self < 10000000000 && s->self > -1000000000 && s->count < 1000000000 &&
	       s->name_len < SINK_BYTES / 2;
}

/* A row whose numbers fit into their columns, each right where it belongs. */
static void usual_line(struct printer *p, const struct tare_stack *s)
{
	const size_t indent = 2 * (s->depth < INDENT_MOST / 2 ? s->depth : INDENT_MOST / 2);
	char *const row = sink_room(&p->out, ROW_BYTES + INDENT_MOST + s->name_len + 1);
	const struct tare_profile_info *const i = p->info->profile;
	const uint64_t all = p->info->total;
	char *end = row + SHARE_WIDTH;
	memset(row, ' ', ROW_BYTES);
	percent_before(end, all ? 100.0 * (double)s->total / (double)all : 0.0);
	quantity_before(end += 1 + VALUE_WIDTH, i, (int64_t)s->total);
	quantity_before(end += 1 + VALUE_WIDTH, i, s->self);
	u64_digits(end + 1 + COUNT_WIDTH, s->count);
	end = row + ROW_BYTES;
	if (indent <= 32)
		memset(end, ' ', 32);
	else
		memset(end, ' ', indent);
	end = mempcpy(end + indent, s->name, s->name_len);
	*end++ = '\n';
	sink_filled(&p->out, end);
}

static int tree_line(void *arg, const struct tare_stack *s)
{
	struct printer *const p = arg;
	static const char indent[] =
		"                                                                                "
		"                                                                                "
		"                                        ";
	_Static_assert(sizeof(indent) == INDENT_MOST + 1, "spaces before the deepest name");
	if (__builtin_expect(is_usual(p, s), 1)) {
		usual_line(p, s);
		return 0;
	}
	char text[5 * QUANTITY_BYTES];
	memset(text, ' ', sizeof(text));
	const char *const end = text + sizeof(text), *const at = columns(text + sizeof(text), p, s);
	sink_add(&p->out, at, (size_t)(end - at));
	sink_add(&p->out, indent, 2 * (s->depth < 100 ? s->depth : 100));
	sink_add(&p->out, s->name, s->name_len);
	sink_add(&p->out, "\n", 1);
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
	if (o->order == TARE_STACKS_BY_TOTAL)
		sink_str(&p.out, "  share          total           self     count  stack\n");
	err = tare_stacks_visit(t, o, line, &p, why);
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
