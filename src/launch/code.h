/* The code log of a run (soft/abi/code-abi.h) as it is handed out: tare/code.h. */
#ifndef LAUNCH_CODE_H
#define LAUNCH_CODE_H

#include <tare/code.h>

struct soft_shared;

/* Keeps what the run logged up to now; `memfd` and `shared` may be closed afterwards. NULL: no
 * memory. */
struct tare_code *code_keep(int memfd, const struct soft_shared *shared);
void code_free(struct tare_code *c);

#endif
