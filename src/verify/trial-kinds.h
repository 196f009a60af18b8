/* Inside trial: what trial.c calls for hardware and for the engine. */
#ifndef VERIFY_TRIAL_KINDS_H
#define VERIFY_TRIAL_KINDS_H

#include "trial.h"

int trial_hw_open(struct trial *t, struct tare_why *why);
int trial_hw_run(struct trial *t, const struct trial_code *code, int64_t *counts,
		 struct tare_why *why);
void trial_hw_close(struct trial *t);

int trial_soft_open(struct trial *t, struct tare_why *why);
int trial_soft_run(struct trial *t, const struct trial_code *code, int64_t *counts,
		   struct tare_why *why);
void trial_soft_close(struct trial *t);

#endif
