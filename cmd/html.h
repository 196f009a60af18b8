/* A page that people look at: one self-contained HTML file, no network, no other files.
 *
 *	html_begin(&b, "tare verify: AMD EPYC");
 *	html_table_begin(&b, (const char *const[]){ "event", "mean", NULL });
 *	html_row(&b, "");
 *	html_cell(&b, NULL, "%s", name);
 *	html_number(&b, mean, "%'.0f", mean);	// sorts by the number
 *	html_row_end(&b);
 *	html_table_end(&b);
 *	html_end(&b);
 *
 * A click on a heading of a table sorts it. The colours follow the reader's choice of a light or a dark
 * page. Plots are SVG, written by their callers between html_svg_begin() and "</svg>".
 */
#ifndef CMD_HTML_H
#define CMD_HTML_H

#include "buf.h"

void html_begin(struct buf *b, const char *title);
void html_end(struct buf *b);
/* Text from anywhere: <, > and & are escaped, and quotes; what is no UTF-8 becomes U+FFFD. */
void html_text(struct buf *b, const char *text);
/* <h2>, or with a paragraph after it. `about` may be NULL. */
void html_heading(struct buf *b, const char *title, const char *about);

/* Titles, ended by NULL. */
void html_table_begin(struct buf *b, const char *const *titles);
void html_table_end(struct buf *b);
void html_row(struct buf *b, const char *css_class);
void html_row_end(struct buf *b);
/* A cell with escaped text. `css_class` may be NULL. */
void html_cell(struct buf *b, const char *css_class, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A cell that is aligned to the right, and sorts by `value`. */
void html_number(struct buf *b, double value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void html_svg_begin(struct buf *b, const char *label, int width, int height);
void html_svg_end(struct buf *b);
/* Text in an SVG, escaped; css_class "end" aligns it to the right. */
void html_svg_text(struct buf *b, double x, double y, const char *css_class, const char *text);

#endif
