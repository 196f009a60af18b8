/* A table of texts, printed when its column widths are known.
 *
 *	struct grid g = { .columns = 3 };
 *	grid_cell(&g, "Item", 4);  …		row by row, the first is the title
 *	grid_plain(&g, &out);			columns aligned, numbers right
 *	grid_framed(&g, &out);			measureme's frame
 *	grid_free(&g);
 */
#ifndef CMD_GRID_H
#define CMD_GRID_H

#include "buf.h"

/* A first column is not made wider than this: a few very long names would pad every other
 * row. Theirs is then not aligned. Not where there is a frame. */
#define GRID_NAME_MOST 200

struct grid {
	size_t columns;
	struct buf text;	/* all cells */
	size_t *end;		/* of each cell in text */
	size_t n, cap;
	bool failed;
};

void grid_cell(struct grid *g, const char *text, size_t len);
/* The cell that was appended to g->text since the last. */
void grid_done(struct grid *g);
/* The first column left, all others right. */
void grid_plain(const struct grid *g, struct buf *out);
/* A Markdown table; what would end a cell or a name is escaped. */
void grid_markdown(const struct grid *g, struct buf *out);
void grid_framed(const struct grid *g, struct buf *out);
void grid_free(struct grid *g);

/* A table of any length, printed as grid_plain() does: its text is never in memory as a whole,
 * because its rows are made twice.
 *
 *	struct long_grid g = { .columns = 3 };
 *	for each row: long_grid_text(), long_grid_number() …		measures
 *	g.out = &out;
 *	for each row: the same again					adds to out
 */
#define LONG_GRID_MOST 16	/* columns */

struct long_grid {
	size_t columns;
	size_t column;		/* of the next cell */
	size_t width[LONG_GRID_MOST];
	struct buf *out;	/* NULL: rows are measured */
};

void long_grid_text(struct long_grid *g, const char *text, size_t len);
/* Measures a name alone: the next cell is what it was. */
void long_grid_name(struct long_grid *g, const char *text, size_t len);
/* Room for a number of ASCII characters, which is written before the end that number_begin() returns: nothing but spaces. */
struct long_number {
	char text[32], slack[32];
};
static inline char *number_begin(struct long_number *n)
{
	memset(n, ' ', sizeof(*n));
	return n->slack;		/* the end */
}
/* The one that starts at `text`. */
void long_grid_number(struct long_grid *g, const struct long_number *n, const char *text);

#endif
