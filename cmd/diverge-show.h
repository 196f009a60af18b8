/* What `tare diverge` found, for people and as JSON. */
#ifndef CMD_DIVERGE_SHOW_H
#define CMD_DIVERGE_SHOW_H

#include "buf.h"

#include <tare/codeprofile.h>
#include <tare/diverge.h>

struct diverge_show {
	char *const *argv;
	struct tare_divergence *d;
	struct tare_codeprofile *profiles[2];	/* of the last two whole runs; NULL: not known */
};

void diverge_text_show(struct buf *b, const struct diverge_show *s);
void diverge_json(struct buf *b, const struct diverge_show *s);

/* A function in which the two runs executed another number of instructions. */
struct diverge_function {
	const char *name, *object;
	int64_t counts[2];
};
/* The greatest difference first. Returns how many there are (all of them differ), NULL and 0: none. To be freed. */
struct diverge_function *diverge_functions(const struct diverge_show *s, size_t *n);

#endif
