/* The room vpmu: the virtual PMU of `tare run`.
 *
 * This header is what engine.c uses; what the room gives guest and translate is declared by
 * them, as what they ask for (guest.h, translate.h). What its files share is in vpmu-room.h.
 * The room sees guest, translate, decode and the root; no room sees it.
 */
#ifndef SOFT_VPMU_H
#define SOFT_VPMU_H

#include "guest.h"

TAKES_VPMU_LOCK void vpmu_start(struct thread *t);	/* a new image */
/* Exits of blocks, under `tare run` only (E.vpmu): */
/* A block asks, and no stop is in it: the budgets are shared out again. False: vpmu_tick() must look. */
bool vpmu_tick_again(struct thread *t, const struct block_to_run *next);
TAKES_VPMU_LOCK void vpmu_tick(struct thread *t, const struct block_to_run *next);	/* LINK_TICK */
/* A run that vpmu_tick() has limited is over, at t->pc (vpmu.stepping). */
TAKES_VPMU_LOCK void vpmu_stepped(struct thread *t);
/* The kernel has told the thread of events (thread.vpmu.told). */
TAKES_VPMU_LOCK void vpmu_catch_up(struct thread *t);
void vpmu_locked(struct thread *t);			/* LINK_LOCKED */
void vpmu_x87(struct thread *t);			/* LINK_X87 */
void vpmu_fp(struct thread *t, bool loads);		/* LINK_FP */
void vpmu_fp_changed(struct thread *t);			/* LINK_FP_ENV, LINK_X87 */

#endif
