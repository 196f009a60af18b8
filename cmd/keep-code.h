/* --keep-code: where translated code is kept for other runs, and what is said about it. */
#ifndef CMD_KEEP_CODE_H
#define CMD_KEEP_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tare_measurement;

#define KEEP_CODE_HELP "read code that earlier runs have translated from FOLDER, and write it there (without FOLDER: " \
	"tare/code in the XDG cache folder): short programs take less time, the counts are the same"

struct keep_code {
	char folder[4096];		/* "": nothing is kept */
	uint64_t bytes;			/* 0: the default */
	bool told;
};

/* `given`: the option's value, "" where it has none, NULL where it is not given: then TARE_KEEP_CODE says. False:
 * that was said. */
bool keep_code_choose(struct keep_code *k, const char *given);
/* Says once if files were damaged, or code could not be written. */
void keep_code_tell(struct keep_code *k, const struct tare_measurement *m);

#endif
