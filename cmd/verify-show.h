/* tare verify, the ways to show its report:
 *
 *	verify-text.c	for people: the paper's tables
 *	verify-json.c	tare.verify/1
 *	verify-html.c	one page with plots
 */
#ifndef CMD_VERIFY_SHOW_H
#define CMD_VERIFY_SHOW_H

#include "buf.h"

#include <tare/verify.h>

void verify_text(struct buf *b, const struct tare_verify_report *r, bool sections);
void verify_html(struct buf *b, const struct tare_verify_report *r);
void verify_json(struct buf *b, const struct tare_verify_report *r);

#endif
