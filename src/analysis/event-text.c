#include "event-text.h"

#include "why.h"

#include <stdlib.h>

int event_texts_open(struct event_texts *n, struct tare_profile *p, enum resolve_mode mode,
		     void (*escape)(struct buf *, const char *, size_t), struct tare_why *why)
{
	*n = (struct event_texts){ .p = p, .escape = escape, .why = why };
	n->labels = malloc(sizeof(*n->labels));
	if (!n->labels)
		return why_set(why, TARE_E_NOMEM, "%.120s: names", p->path);
	resolver_init(n->labels, p, &n->names, mode, why);
	return kinds_init(&n->kinds, p, &n->names, why);
}

void event_texts_close(struct event_texts *n)
{
	kinds_free(&n->kinds);
	if (n->labels)
		resolver_free(n->labels);
	free(n->labels);
	names_free(&n->names);
	buf_free(&n->arena);
	buf_free(&n->text);
	free(n->list);
}

static bool escape_slow(struct event_texts *n, uint32_t name)
{
	if (name >= n->n_list) {
		uint32_t cap = n->n_list ? n->n_list : 256;
		while (cap <= name)
			cap *= 2;
		struct escaped *const list = realloc(n->list, cap * sizeof(*list));
		if (!list)
			return false;
		memset(list + n->n_list, 0, (cap - n->n_list) * sizeof(*list));
		n->list = list;
		n->n_list = cap;
	}
	const size_t off = n->arena.len;
	n->escape(&n->arena, names_text(&n->names, name), names_len(&n->names, name));
	n->list[name] = (struct escaped){ off, n->arena.len - off, true };
	return !buf_failed(&n->arena);
}

static inline bool escaped(struct event_texts *n, uint32_t name)
{
	return (name < n->n_list && n->list[name].done) || escape_slow(n, name);
}

static int split_args(struct event_texts *n, uint64_t id, struct event_text *out)
{
	n->text.len = 0;
	const int err = strings_text(n->p, id, &n->text, n->why);
	if (err == 0)
		event_name_split(n->text.data, n->text.len, &out->args);
	return err;
}

int event_text(struct event_texts *n, const struct mm_event *e, struct event_text *out)
{
	if (__builtin_expect(is_hole(e), 0))
		return hole_error(n->p, n->why);
	uint32_t has_args;
	const uint32_t label = resolve_args(n->labels, e->id, &has_args);
	if (label == NO_NAME)
		return n->labels->err;
	const unsigned slot = kinds_slot(&n->kinds, e->kind);
	const uint32_t kind = n->kinds.slot[slot].name;
	if (kind == NO_NAME)
		return n->kinds.resolver->err;
	if (!escaped(n, label) || !escaped(n, kind))
		return why_set(n->why, TARE_E_NOMEM, "%.120s: names", n->p->path);
	out->label_number = label;
	out->kind_number = kind;
	out->label = n->arena.data + n->list[label].off;
	out->label_len = n->list[label].len;
	out->kind = n->arena.data + n->list[kind].off;
	out->kind_len = n->list[kind].len;
	out->args.n_args = 0;
	return has_args ? split_args(n, e->id, out) : 0;
}

const char *event_text_arg(const struct event_text *n, unsigned i, size_t *len)
{
	const char *at = n->args.args;
	const char *const end = at + n->args.args_len;
	for (;;) {
		const char *const next = memchr(at, MM_SEPARATOR, (size_t)(end - at));
		*len = (size_t)((next ? next : end) - at);
		if (i-- == 0 || !next)
			return at;
		at = next + 1;
	}
}

void escape_json(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			buf_chr(out, '\\');
		if (c == '\n')
			buf_str(out, "\\n");
		else if (c == '\r')
			buf_str(out, "\\r");
		else if (c == '\t')
			buf_str(out, "\\t");
		else if (c == '\b')
			buf_str(out, "\\b");
		else if (c == '\f')
			buf_str(out, "\\f");
		else if (c < 0x20)
			buf_printf(out, "\\u%04x", c);
		else
			buf_chr(out, (char)c);
	}
}

void escape_none(struct buf *out, const char *text, size_t len)
{
	buf_add(out, text, len);
}
