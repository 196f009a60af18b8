/* The certificate of this machine: what `tare verify` proved here, kept for the commands that show
 * corrected counts.
 *
 *	struct certificate c;
 *	certificate_load(&c);
 *	certificate_of_event(&c, event, &says);
 *	certificate_free(&c);
 *
 * It is a file of JSON, tare.certificate/1, in $XDG_STATE_HOME/tare (~/.local/state/tare); that of a
 * virtual PMU is beside it and never taken for the machine's. It names the CPU, its microcode, the
 * kernel and the hypervisor, and expires when one of them changes.
 */
#ifndef CMD_CERTIFICATE_H
#define CMD_CERTIFICATE_H

#include "buf.h"
#include "json.h"

#include <tare/event.h>
#include <tare/verify.h>

enum certificate_state {
	CERTIFICATE_NONE,		/* there is no file */
	CERTIFICATE_VALID,
	CERTIFICATE_EXPIRED,		/* of this machine in another state, or of another one */
	CERTIFICATE_DAMAGED,
};

struct certificate {
	enum certificate_state state;
	char path[4096];
	char why[256];			/* expired, damaged: one line */
	char date[32];
	char part[160];			/* valid: of which part of an examination it is; "": of all */
	struct json_node *root;		/* NULL unless valid */
};

void certificate_load(struct certificate *c);
void certificate_free(struct certificate *c);
/* That of this machine, loaded once. */
const struct certificate *certificate_here(void);
const char *certificate_state_name(enum certificate_state s);	/* "valid" */

/* What an examination was limited in, by choice. A tenth of the code (--quick) is in the report. */
struct certificate_part {
	bool events, kernels, experiments, runs;
};
/* Writes what the report says. False: it could not be written, and that was said. */
bool certificate_write(const struct tare_verify_report *r, const struct certificate_part *part);
/* Was that experiment done? */
bool certificate_did(const struct certificate *c, const char *experiment);

/* Is the count of this event corrected, so that somebody may ask whether that is right? */
bool certificate_matters(const struct tare_event *e);

/* What the certificate says of a corrected event. */
struct certificate_says {
	bool proved;			/* by an examination of all */
	double residue;			/* of one run of the kernels, after all causes; NaN: unknown */
	char text[320];			/* one clause for people */
};
void certificate_of_event(const struct certificate *c, const struct tare_event *e,
			  struct certificate_says *says);
/* The entry of an event, or of the one with its role; NULL: there is none. */
const struct json_node *certificate_row(const struct certificate *c, const struct tare_event *e);
/* Why nothing can be calculated from what the certificate says of an event: it has no verdict, or its counters are
 * bad. NULL: it can. */
const char *certificate_is_useless(const struct certificate *c, const struct tare_event *e, char *text, size_t size);
/* How late the interrupt of an overflow of this event came, at most, in events. False: there is no valid
 * certificate, or it does not have it. */
bool certificate_skid(const struct certificate *c, const struct tare_event *e, uint64_t *events);
/* The member "correction": state, proved, date, residue and text; nothing for other events. */
void certificate_json(struct json *j, const struct certificate *c, const struct tare_event *e);

#endif
