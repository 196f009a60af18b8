/* tare verify, the rest: tables of the experiments on registers, reads and surroundings, and
 * `tare verify -- COMMAND`, the invariants between events.
 *
 *	verify-more-text.c	the tables
 *	verify-invariants.c	the invariants, as text and as tare.invariants/1
 */
#ifndef CMD_VERIFY_MORE_H
#define CMD_VERIFY_MORE_H

#include "buf.h"

#include <tare/verify.h>

/* Has the experiment a table of its own? */
bool verify_more_has(const char *experiment);
/* All these tables, as far as the report has findings for them. */
void verify_more_text(struct buf *b, const struct tare_verify_report *r);

struct verify_command {
	char *const *argv;
	unsigned runs;			/* 0: one */
	int backend;			/* enum tare_backend */
	bool json;
	const char *output;		/* NULL: standard error */
	volatile const int *stop;
};
/* Checks the invariants of a command. Returns the exit status. */
int verify_invariants(const struct verify_command *c);

#endif
