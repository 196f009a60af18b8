/* When an event counts an interrupt: when the CPU enters the kernel, or when the kernel's iret goes
 * back to user mode. The question of the report, asked as it proposes.
 *
 * int 0x80 is a system call by interrupt: the kernel returns from it with iret. If that call is a
 * read(2) of the event's own descriptor, the kernel reads the counter between interrupt and iret.
 * User mode reads it just before and just after (rdpmc):
 *
 *	rdpmc … int 0x80 [kernel reads, iret] … rdpmc
 *	      entry: what is counted up to the kernel's read
 *				     exit: what is counted after it
 *
 * The same with the instruction syscall, which is neither interrupt nor iret, tells what the
 * instructions themselves count. The difference of the two is what an interrupt adds on entry, and
 * what iret adds on exit.
 *
 * What follows for a corrected counter (EVENT minus interrupts):
 *
 *	EVENT counts on	 interrupts count on	a read between interrupt and iret is
 *	exit		 entry			one too small
 *	entry		 entry			right
 *	exit		 exit			right
 *	entry		 exit			one too large
 *
 * (An event that does not count int 0x80 at all, and counts too much for a hardware interrupt, does so
 * on entry: its excess is not that of an iret.)
 *
 * Only the kernel can read there: of a task that is switched out in an interrupt, or killed in one.
 * For user mode both have happened or neither has, so that the difference of two rdpmc is right; and
 * an interrupt between the two rdpmc of one pair makes that value one too large in all four rows,
 * because what is subtracted is read first.
 */
#ifndef VERIFY_IRET_H
#define VERIFY_IRET_H

#include <tare/event.h>

#include <stdbool.h>
#include <stdint.h>

enum iret_when {
	IRET_UNKNOWN,		/* not asked, or no clear answer: `what` says why */
	IRET_NEVER,		/* an interrupt by instruction and its iret add nothing */
	IRET_ENTRY,
	IRET_EXIT,
	IRET_BOTH,
};
const char *iret_when_name(enum iret_when when);	/* "entry". Static */

struct iret_answer {
	enum iret_when when;
	int64_t entry, exit;		/* what int 0x80 counts more than syscall does */
	unsigned samples, agreeing;	/* how many had these numbers */
	char what[128];			/* IRET_UNKNOWN: why */
};

/* Asks for one event, in a child process: a kernel without 32-bit system calls kills it. Fails only for
 * want of memory or processes; all else is an answer. */
int iret_ask(const struct tare_event *event, struct iret_answer *a, struct tare_why *why);

/* How far a value is from the truth that is read between interrupt and iret: the table above. */
int iret_pair_error(enum iret_when event, enum iret_when interrupts);

/* ---- of the architecture (ARCH/iret-read.c) ---- */

/* Values of one counter; `kernel` as the kernel gave it. */
struct iret_reading {
	uint64_t before, kernel, after;
};
enum iret_call { IRET_SYSCALL, IRET_INT80 };

/* NULL, or why this architecture cannot ask. Static. */
const char *iret_lacks(void);
/* Memory below 4 GiB, for addresses of 32 bits; or MAP_FAILED. */
void *iret_memory(size_t size);
/* `low`: from iret_memory(). `index` of the event's page. False: the call
 * failed. */
bool iret_read(enum iret_call call, int fd, uint32_t index, void *low, struct iret_reading *r);

#endif
