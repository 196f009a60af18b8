#include "html.h"

#include "utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char style[] =
	":root { color-scheme: light dark; --line: #8884; --soft: #8882; --good: #2a8f4e; --bad: #c4432b;"
	" --warn: #b8860b; }\n"
	"body { font: 15px/1.45 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }\n"
	"h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; }\n"
	"table { border-collapse: collapse; width: 100%; font-size: 14px; }\n"
	"th, td { text-align: left; padding: .25em .6em; border-bottom: 1px solid var(--line);"
	" vertical-align: top; }\n"
	"th { cursor: pointer; white-space: nowrap; } th:hover { background: var(--soft); }\n"
	"td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }\n"
	"td.w { font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }\n"
	".caveat { color: var(--warn); } .info, .dim { opacity: .7; }\n"
	"code, .m { font-family: ui-monospace, monospace; font-size: 13px; }\n"
	"svg { width: 100%; min-width: 48em; height: auto; } svg text { font: 12px system-ui, sans-serif;"
	" fill: currentColor; } svg text.end { text-anchor: end; } svg text.mid { text-anchor: middle; }\n"
	"svg .axis { stroke: var(--line); } .wide { overflow-x: auto; }\n";

/* Sorts by data-v where a cell has it, else by its text; a second click turns the order. */
static const char script[] =
	"document.querySelectorAll('th').forEach(function (th) {\n"
	"  th.addEventListener('click', function () {\n"
	"    var table = th.closest('table'), body = table.tBodies[0], at = th.cellIndex;\n"
	"    var down = th.dataset.order !== 'down';\n"
	"    table.querySelectorAll('th').forEach(function (o) { delete o.dataset.order; });\n"
	"    th.dataset.order = down ? 'down' : 'up';\n"
	"    var value = function (row) { var c = row.cells[at];\n"
	"      return c.dataset.v !== undefined ? parseFloat(c.dataset.v) : c.textContent; };\n"
	"    [].slice.call(body.rows).sort(function (a, b) {\n"
	"      var x = value(a), y = value(b), d = x < y ? -1 : x > y ? 1 : 0;\n"
	"      return (typeof x === 'number') === down ? -d : d;\n"
	"    }).forEach(function (row) { body.appendChild(row); });\n"
	"  });\n"
	"});\n";

void html_text(struct buf *b, const char *text)
{
	for (size_t left = strlen(text), n; left; left -= n, text += n) {
		n = utf8_length((const unsigned char *)text, left);
		if (n != 1) {
			buf_add(b, n ? text : UTF8_REPLACEMENT, n ? n : strlen(UTF8_REPLACEMENT));
			n += !n;
			continue;
		}
		switch (*text) {
		case '<': buf_str(b, "&lt;"); break;
		case '>': buf_str(b, "&gt;"); break;
		case '&': buf_str(b, "&amp;"); break;
		case '"': buf_str(b, "&quot;"); break;
		default: buf_chr(b, *text);
		}
	}
}

void html_begin(struct buf *b, const char *title)
{
	buf_str(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		   "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
	html_text(b, title);
	buf_printf(b, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
	html_text(b, title);
	buf_str(b, "</h1>\n");
}

void html_end(struct buf *b)
{
	buf_printf(b, "<script>\n%s</script>\n</body>\n</html>\n", script);
}

void html_heading(struct buf *b, const char *title, const char *about)
{
	buf_str(b, "<h2>");
	html_text(b, title);
	buf_str(b, "</h2>\n");
	if (!about)
		return;
	buf_str(b, "<p>");
	html_text(b, about);
	buf_str(b, "</p>\n");
}

void html_table_begin(struct buf *b, const char *const *titles)
{
	buf_str(b, "<div class=\"wide\"><table>\n<thead><tr>");
	for (; *titles; titles++) {
		buf_str(b, "<th>");
		html_text(b, *titles);
		buf_str(b, "</th>");
	}
	buf_str(b, "</tr></thead>\n<tbody>\n");
}

void html_table_end(struct buf *b)
{
	buf_str(b, "</tbody></table></div>\n");
}

void html_row(struct buf *b, const char *css_class)
{
	buf_printf(b, "<tr class=\"%s\">", css_class);
}

void html_row_end(struct buf *b)
{
	buf_str(b, "</tr>\n");
}

static void put_escaped(struct buf *b, const char *fmt, va_list ap)
{
	char text[1024];
	vsnprintf(text, sizeof(text), fmt, ap);
	html_text(b, text);
}

void html_cell(struct buf *b, const char *css_class, const char *fmt, ...)
{
	va_list ap;
	buf_printf(b, css_class ? "<td class=\"%s\">" : "<td>", css_class);
	va_start(ap, fmt);
	put_escaped(b, fmt, ap);
	va_end(ap);
	buf_str(b, "</td>");
}

void html_number(struct buf *b, double value, const char *fmt, ...)
{
	va_list ap;
	buf_printf(b, "<td class=\"n\" data-v=\"%.17g\">", value);
	va_start(ap, fmt);
	put_escaped(b, fmt, ap);
	va_end(ap);
	buf_str(b, "</td>");
}

void html_svg_begin(struct buf *b, const char *label, int width, int height)
{
	buf_printf(b, "<div class=\"wide\"><svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" height=\"%d\" "
		      "viewBox=\"0 0 %d %d\" aria-label=\"", width, height, width, height);
	html_text(b, label);
	buf_str(b, "\">\n");
}

void html_svg_end(struct buf *b)
{
	buf_str(b, "</svg></div>\n");
}

void html_svg_text(struct buf *b, double x, double y, const char *css_class, const char *text)
{
	buf_printf(b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, css_class);
	html_text(b, text);
	buf_str(b, "</text>\n");
}
