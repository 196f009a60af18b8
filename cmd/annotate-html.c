/* tare annotate --html: one page with the functions as a sortable table, the flame graph, and the source
 * with the counts of each line. Nothing is loaded from elsewhere. */
#include "annotate.h"

#include "html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 2000u		/* of the table of functions */
#define MOST_FILES 200u		/* of source, those with the largest counts */
#define AROUND 10u		/* lines that are shown around those that ran */

static const char style[] =
	"<style>\n"
	"table.src { font: 12.5px/1.35 ui-monospace, monospace; } table.src td { border: 0; padding: 0 .6em; }\n"
	"table.src td.c { white-space: pre; width: 100%; } table.src td.l { text-align: right; opacity: .5; }\n"
	"table.src tr:hover { background: var(--soft); } table.src tr:target { background: #fd08; }\n"
	"table.src tr.gap td { border-bottom: 1px dashed var(--line); }\n"
	".bar { display: inline-block; height: .7em; background: #d9822b; margin-right: .4em; }\n"
	".tall { max-height: 38em; overflow: auto; } .tall .wide { overflow: visible; }\n"
	".tall th { position: sticky; top: 0; background: Canvas; }\n"
	"details { margin: .6em 0; } summary { cursor: pointer; } td.f { overflow-wrap: anywhere; min-width: 12em; }\n"
	/* the line below a link hides the underscores of names */
	"td.f a { text-decoration: none; } td.f a:hover { text-decoration: underline; text-underline-offset: .3em; }\n"
	"</style>\n"
	/* A link into a file that is folded unfolds it. */
	"<script>\n"
	"window.addEventListener('hashchange', unfold); window.addEventListener('load', unfold);\n"
	"function unfold() { var at = document.getElementById(location.hash.slice(1));\n"
	"  if (!at) return; var d = at.closest('details'); if (d) d.open = true; at.scrollIntoView({block: 'center'}); }\n"
	"</script>\n";

static void put_number(struct buf *out, int64_t v)
{
	struct buf text = { 0 };
	buf_grouped_i64(&text, v);
	html_number(out, (double)v, "%s", text.data);
	buf_free(&text);
}

static void put_share(struct buf *out, double share)
{
	buf_printf(out, "<td class=\"n\" data-v=\"%.9g\"><span class=\"bar\" style=\"width:%.1fem\"></span>%.2f</td>",
		   share, share > 0 ? share / 100 * 6 : 0, share);
}

/* ---- the head ---- */

static void put_head(const struct annotate *a, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	struct buf text = { 0 };
	for (size_t e = 0; e < p->n_events; e++) {
		buf_printf(&text, "%s%s", e ? "; " : "",
			   p->events[e].provenance == TARE_PROV_INCOMPLETE ? "at least " : "");
		buf_grouped_i64(&text, p->events[e].total);
		buf_printf(&text, " %s, %s", p->events[e].name, tare_provenance_name(p->events[e].provenance));
	}
	buf_str(out, "<p>");
	html_text(out, text.data);
	buf_str(out, ".</p>\n");
	for (size_t i = 0; i < p->n_reasons; i++) {
		buf_str(out, "<p class=\"caveat\">");
		html_text(out, p->reasons[i]);
		buf_str(out, "</p>\n");
	}
	buf_free(&text);
}

/* ---- functions ---- */

/* Where the source of a function is shown: its largest line. */
static bool link_of(const struct tare_codeprofile *p, const struct tare_codeprofile_function *f, const bool *shown,
		    uint32_t *file, uint32_t *line)
{
	int64_t most = -1;
	for (uint32_t i = f->lines; i < f->lines + f->n_lines; i++) {
		const struct tare_codeprofile_line *const l = &p->lines[i];
		if (l->file == ANNOTATE_NONE || !shown[l->file] || !l->line || l->counts[0] <= most ||
		    (f->file != ANNOTATE_NONE && shown[f->file] && l->file != f->file))
			continue;
		most = l->counts[0];
		*file = l->file;
		*line = l->line;
	}
	return most >= 0;
}

static void put_function(const struct annotate *a, const struct annotate_row *r, const bool *shown, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	const struct tare_codeprofile_function *const f = &p->functions[r->function];
	uint32_t file, line;
	html_row(out, "");
	put_number(out, r->counts[0]);
	put_share(out, annotate_share(r->counts[0], p->events[0].total));
	if (p->has_calls) {
		put_number(out, r->inclusive[0]);
		put_number(out, (int64_t)r->calls);
	}
	for (size_t e = 1; e < p->n_events; e++)
		put_number(out, r->counts[e]);
	buf_str(out, "<td class=\"m f\">");
	const bool linked = link_of(p, f, shown, &file, &line);
	if (linked)
		buf_printf(out, "<a href=\"#f%ul%u\">", file, line);
	html_text(out, f->name);
	buf_str(out, linked ? "</a></td>" : "</td>");
	html_cell(out, "dim", "%s", annotate_base(p->objects[f->object].path));
	html_row_end(out);
}

static void put_others(const struct annotate *a, const struct annotate_rows *rows, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	if (rows->n <= MOST_ROWS)
		return;
	int64_t sum = 0;
	for (size_t i = MOST_ROWS; i < rows->n; i++)
		sum += rows->rows[i].counts[0];
	struct buf text = { 0 };
	buf_grouped_i64(&text, sum);
	buf_printf(out, "<p>%zu more functions: %s %s.</p>\n", rows->n - MOST_ROWS, text.data, p->events[0].name);
	buf_free(&text);
}

static void put_functions(const struct annotate *a, const bool *shown, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	const char *titles[64 + 8];
	size_t n = 0;
	struct annotate_rows rows;
	annotate_rows(p, BY_FUNCTION, ALL_TASKS, &rows);
	titles[n++] = p->events[0].name;
	titles[n++] = "%";
	if (p->has_calls) {
		titles[n++] = "inclusive";
		titles[n++] = "calls";
	}
	for (size_t e = 1; e < p->n_events && e < 64; e++)
		titles[n++] = p->events[e].name;
	titles[n++] = "function";
	titles[n++] = "object";
	titles[n] = NULL;
	html_heading(out, "Functions", "A click on a heading sorts; a name leads to the source.");
	buf_str(out, "<div class=\"tall\">");
	html_table_begin(out, titles);
	for (size_t i = 0; i < rows.n && i < MOST_ROWS; i++)
		put_function(a, &rows.rows[i], shown, out);
	html_table_end(out);
	buf_str(out, "</div>\n");
	put_others(a, &rows, out);
	annotate_rows_free(&rows);
}

/* ---- source ---- */

static void put_line(const struct annotate *a, uint32_t file, uint32_t line, const int64_t *counts, const char *text,
		     bool gap, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	buf_printf(out, "<tr id=\"f%ul%u\"%s>", file, line, gap ? " class=\"gap\"" : "");
	for (size_t e = 0; e < p->n_events; e++) {
		buf_str(out, "<td class=\"n\">");
		if (counts)
			buf_grouped_i64(out, counts[e]);
		buf_str(out, "</td>");
		if (e)
			continue;
		buf_str(out, "<td class=\"n\">");
		if (counts) {
			const double share = annotate_share(counts[0], p->events[0].total);
			buf_printf(out, "<span class=\"bar\" style=\"width:%.1fem\"></span>%.2f", share / 100 * 4, share);
		}
		buf_str(out, "</td>");
	}
	buf_printf(out, "<td class=\"l\">%u</td><td class=\"c\">", line);
	html_text(out, text);
	buf_str(out, "</td></tr>\n");
}

/* Rows [first, end) are the lines of one file, by line. */
static void put_file(const struct annotate *a, const struct annotate_row *rows, size_t n, bool *opened,
		     struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	const uint32_t file = rows[0].file;
	struct source_text t;
	int64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += rows[i].counts[0];
	const bool found = source_text_read(&t, a->o, &p->files[file]);
	/* The first file with text is unfolded. */
	buf_printf(out, "<details%s><summary><code>", found && !*opened ? " open" : "");
	*opened |= found;
	html_text(out, p->files[file].path);
	buf_str(out, "</code> ");
	buf_grouped_i64(out, sum);
	buf_printf(out, " (%.2f %%)%s</summary>\n", annotate_share(sum, p->events[0].total),
		   !found ? ", the file cannot be read: lines without text" :
		   t.newer ? ", changed after the profile was made: lines may have moved" : "");
	buf_str(out, "<div class=\"wide\"><table class=\"src\"><tbody>\n");
	uint32_t next = 1;		/* the first line that was not shown yet */
	for (size_t i = 0; i < n; i++) {
		const uint32_t line = rows[i].line;
		uint32_t from = line > AROUND ? line - AROUND : 1;
		bool gap = from > next && next > 1;
		from = from > next ? from : next;
		for (; found && from < line && from <= t.n; from++, gap = false)
			put_line(a, file, from, NULL, t.lines[from - 1], gap, out);
		put_line(a, file, line, rows[i].counts, found && line && line <= t.n ? t.lines[line - 1] : "", gap, out);
		next = line + 1;
		const uint32_t end = i + 1 < n && rows[i + 1].line < next + AROUND ? rows[i + 1].line : next + AROUND;
		for (; found && next < end && next <= t.n; next++)
			put_line(a, file, next, NULL, t.lines[next - 1], false, out);
	}
	buf_str(out, "</tbody></table></div></details>\n");
	source_text_free(&t);
}

static int by_place(const void *a, const void *b)
{
	const struct annotate_row *const x = a, *const y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* The files with the largest counts: shown[file]. */
static struct annotate_rows choose_files(const struct tare_codeprofile *p, bool *shown)
{
	struct annotate_rows files;
	size_t n = 0;
	annotate_rows(p, BY_FILE, ALL_TASKS, &files);
	for (size_t i = 0; i < files.n && n < MOST_FILES; i++)
		if (files.rows[i].file != ANNOTATE_NONE) {
			shown[files.rows[i].file] = true;
			n++;
		}
	return files;
}

static void put_source(const struct annotate *a, const struct annotate_rows *files, const bool *shown, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	struct annotate_rows lines;
	size_t n = 0;
	bool opened = false;
	annotate_rows(p, BY_LINE, ALL_TASKS, &lines);
	html_heading(out, "Source", "Counts of each line, the largest files first.");
	if (lines.n)
		qsort(lines.rows, lines.n, sizeof(*lines.rows), by_place);
	for (size_t i = 0; i < files->n; i++) {
		const uint32_t file = files->rows[i].file;
		if (file == ANNOTATE_NONE || !shown[file])
			continue;
		size_t first = 0;
		while (first < lines.n && lines.rows[first].file != file)
			first++;
		size_t end = first;
		while (end < lines.n && lines.rows[end].file == file)
			end++;
		if (end == first)
			continue;
		put_file(a, lines.rows + first, end - first, &opened, out);
		n++;
	}
	if (!n)
		buf_str(out, "<p>No object that ran has line numbers (compile with -g).</p>\n");
	annotate_rows_free(&lines);
}

static int add_bytes(void *arg, const void *bytes, size_t n)
{
	buf_add(arg, bytes, n);
	return 0;
}

void annotate_html(const struct annotate *a, struct buf *out)
{
	const struct tare_codeprofile *const p = a->p;
	struct buf title = { 0 };
	bool *const shown = calloc(p->n_files + 1, sizeof(*shown));
	if (!shown)
		abort();
	struct annotate_rows files = choose_files(p, shown);
	buf_printf(&title, "Profile of %s", p->command);
	text_printable(title.data, title.len);
	html_begin(out, title.data);
	buf_str(out, style);
	put_head(a, out);
	html_heading(out, "Flame graph", p->has_calls ?
		     "The width of a frame is its share, with everything that it calls. A click zooms." :
		     "Objects and their functions; --calls adds who calls whom. A click zooms.");
	const struct tare_output to = { add_bytes, out };
	annotate_flamegraph(p, true, &to, NULL);
	put_functions(a, shown, out);
	put_source(a, &files, shown, out);
	html_end(out);
	annotate_rows_free(&files);
	free(shown);
	buf_free(&title);
}
