/* tare scan: what its files share.
 *
 *	cmd-scan.c	options, plan, progress
 *	scan-state.c	the file from which a scan goes on after a kill
 *	scan-text.c, scan-json.c	the result
 */
#ifndef CMD_SCAN_H
#define CMD_SCAN_H

#include "buf.h"

#include <tare/scan.h>

/* What a scan does, as its state file has it: a scan goes on only with the same. */
struct scan_job {
	const char *like;
	bool has_codes, has_masks;
	uint64_t first_code, last_code, first_mask, last_mask;
	uint64_t rounds, pages;
};

/* Where the state is kept: `given`, or scan.json in the XDG state folder, which is made. False: there
 * is no such place, and that was said. */
bool scan_state_path(const char *given, char *out, size_t size);
/* Replaces the file in one step. Returns 0 or an errno. */
int scan_state_write(const char *path, const struct tare_cpu *cpu, const struct scan_job *job,
		     const struct tare_scan_state *state);
/* Reads the file, and fills what the job leaves open. False: that was said. scan_state_free(). */
struct scan_saved;
bool scan_state_read(const char *path, const struct tare_cpu *cpu, struct scan_job *job,
		     struct scan_saved **saved);
const struct tare_scan_state *scan_saved_state(const struct scan_saved *saved);
void scan_saved_free(struct scan_saved *saved);	/* NULL is allowed */

void scan_text(struct buf *b, const struct tare_scan_plan *plan,
	       const struct tare_scan_result *result, const char *like);
void scan_json(struct buf *b, const struct tare_scan_plan *plan,
	       const struct tare_scan_result *result, const char *like, const struct tare_cpu *cpu);
/* "page faults and interrupts"; `like` for TARE_SCAN_COUNTS_LIKE. */
const char *scan_counts_text(unsigned counts, const char *like);

#endif
