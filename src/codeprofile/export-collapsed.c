/* Collapsed stacks, as flamegraph.pl, speedscope and inferno read them: one line per stack, its functions
 * from the outermost one on, separated by semicolons, and the count of the first event. Without contexts a
 * stack is an object and a function. */
#include "codeprofile-room.h"

#include "buf.h"
#include "sink.h"
#include "why.h"

#include <stdlib.h>
#include <string.h>

struct line {
	char *path;
	int64_t count;
};

/* A name must not end a field or a line. */
static void add_name(struct buf *b, const char *name)
{
	for (; *name; name++)
		buf_chr(b, *name == ';' ? ':' : (unsigned char)*name < ' ' ? ' ' : *name);
}

static const char *base_of(const char *path)
{
	const char *const slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static void add_path(const struct tare_codeprofile *p, uint32_t context, uint32_t *chain, struct buf *b)
{
	size_t n = 0;
	for (uint32_t c = context; c != NONE; c = p->contexts[c].parent)
		chain[n++] = p->contexts[c].function;
	while (n--) {
		add_name(b, p->functions[chain[n]].name);
		buf_str(b, n ? ";" : "");
	}
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->path, ((const struct line *)b)->path);
}

/* The path of line i, and its count. */
static int64_t line_of(const struct tare_codeprofile *p, uint32_t i, uint32_t *chain, struct buf *b)
{
	b->len = 0;
	if (p->has_calls) {
		add_path(p, i, chain, b);
		return p->contexts[i].counts[0];
	}
	add_name(b, base_of(p->objects[p->functions[i].object].path));
	buf_chr(b, ';');
	add_name(b, p->functions[i].name);
	return p->functions[i].counts[0];
}

static void put_lines(struct line *lines, size_t n, struct sink *out)
{
	if (n)
		qsort(lines, n, sizeof(*lines), by_path);
	for (size_t i = 0; i < n;) {
		int64_t sum = 0;
		size_t k = i;
		for (; k < n && !strcmp(lines[k].path, lines[i].path); k++)
			sum += lines[k].count;
		if (sum > 0) {
			sink_str(out, lines[i].path);
			sink_add(out, " ", 1);
			sink_u64(out, (uint64_t)sum);
			sink_add(out, "\n", 1);
		}
		i = k;
	}
}

int tare_codeprofile_export_collapsed(const struct tare_codeprofile *p, const struct tare_output *out,
				      struct tare_why *why)
{
	if (!p || !out || !out->write)
		return why_set(why, TARE_E_INVALID, "no profile, or no output given");
	const size_t n = p->has_calls ? p->n_contexts : p->n_functions;
	struct line *const lines = calloc(n + 1, sizeof(*lines));
	uint32_t *const chain = calloc(p->n_contexts + 1, sizeof(*chain));
	struct buf text = { 0 };
	struct sink to;
	size_t made = 0;
	int err = lines && chain ? 0 : TARE_E_NOMEM;
	for (uint32_t i = 0; !err && i < n; i++) {
		const int64_t count = line_of(p, i, chain, &text);
		if (!count)
			continue;
		lines[made] = (struct line){ buf_failed(&text) ? NULL : strdup(text.data), count };
		err = lines[made++].path ? 0 : TARE_E_NOMEM;
	}
	if (err)
		why_set(why, err, "collapsed stacks");
	else if (!(err = sink_open(&to, out->write, out->arg, why))) {
		put_lines(lines, made, &to);
		err = sink_close(&to, why);
	}
	for (size_t i = 0; i < made; i++)
		free(lines[i].path);
	free(lines);
	free(chain);
	buf_free(&text);
	return err;
}
