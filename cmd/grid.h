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

#endif
