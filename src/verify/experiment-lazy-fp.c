/* F: what an event counts for the first use of the floating-point unit.
 *
 * Kernels that save floating-point registers lazily let the first instruction that uses them fault,
 * and count that as the program's. A new process that has used none opens the event and reads it
 * around nothing, around the first use, and around a second use. The code in it is free of libc and
 * compiled without such registers.
 */
#include "experiment.h"
#include "fp-code.h"
#include "perf-attr.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS 5
#define READS 5			/* the third interval is the first use, the fourth the second */

/* Shared with the child. */
struct fresh {
	struct perf_event_attr attr, filler;
	unsigned fillers;			/* registers to be left alone */
	volatile int64_t reads[READS][3];	/* value and both times */
	volatile long failed;			/* -errno; 0: all read */
};

/* No register of the floating-point unit may be touched by what runs here. */
#ifdef __x86_64__
#define GENERAL_REGISTERS __attribute__((target("general-regs-only"), noinline))
#else
#define GENERAL_REGISTERS __attribute__((noinline))
#endif

GENERAL_REGISTERS static void in_child(void *arg)
{
	struct fresh *const f = arg;
	for (unsigned i = 0; i < f->fillers; i++)
		fp_call(SYS_perf_event_open, (long)(intptr_t)&f->filler, 0, -1, -1, 0);
	const long fd = fp_call(SYS_perf_event_open, (long)(intptr_t)&f->attr, 0, -1, -1, 0);
	if (fd < 0) {
		f->failed = fd;
		return;
	}
	for (int i = 0; i < READS; i++) {
		fp_use(i >= READS - 2);
		const long n = fp_call(SYS_read, fd, (long)(intptr_t)f->reads[i],
				       (long)sizeof(f->reads[i]), 0, 0);
		if (n != (long)sizeof(f->reads[i])) {
			f->failed = n < 0 ? n : -EIO;
			return;
		}
	}
	f->failed = 0;
}

/* What the first use counts more than the second. */
static int first_use(const struct verify *v, const struct subject *s, double *out)
{
	struct fresh *const f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f == MAP_FAILED)
		return -ENOMEM;
	perf_attr_fill(&f->attr, &s->event->base);
	f->attr.read_format &= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	f->attr.pinned = 1;
	f->fillers = registers_to_fill(v);
	if (f->fillers) {
		perf_attr_fill(&f->filler, &v->filler->base);
		f->filler.pinned = 1;
	}
	f->failed = -ECHILD;
	const int pid = fp_fresh_process(in_child, f);
	int err = pid < 0 ? pid : 0;
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!err)
		err = (int)f->failed;
	*out = (double)(f->reads[READS - 2][0] - f->reads[READS - 3][0] -
			(f->reads[READS - 1][0] - f->reads[READS - 2][0]));
	munmap(f, sizeof(*f));
	return err;
}

static int examine(const struct verify *v, struct subject *s)
{
	double seen[RUNS];
	for (int i = 0; i < RUNS; i++) {
		const int err = first_use(v, s, &seen[i]);
		if (err) {
			verify_doubt(s, "the first use of floating point could not be tried: %s",
				     strerror(-err));
			return 0;
		}
	}
	const double amount = verify_median(seen, RUNS);
	if (amount == 0)
		return 0;
	struct tare_verify_cause *const c =
		verify_cause(s, TARE_CAUSE_LAZY_FP, amount,
			     fmax(seen[RUNS - 1] - amount, amount - seen[0]), "first use");
	if (!c)
		return TARE_E_NOMEM;
	snprintf(c->source, sizeof(c->source), "new processes");
	return 0;
}

static int run(struct verify *v, struct tare_why *why)
{
	(void)why;
	for (size_t i = 0; i < v->n_subjects; i++) {
		struct subject *const s = &v->subjects[i];
		if (s->counted && !s->dead && s->event->kind == TARE_EVENT_PERF && examine(v, s) < 0)
			return TARE_E_NOMEM;
	}
	return 0;
}

const struct experiment experiment_lazy_fp = {
	.name = "lazy-fp",
	.about = "what the first use of the floating-point unit adds, in new processes",
	.hardware = true, .cause = true,
	.run = run,
};
