/* rNNNN: the CPU's own event code, in hexadecimal.
 *
 * On x86 the code is an image of the event select register. Whether user or
 * kernel mode counts, and whether the counter runs and interrupts, is decided by
 * the kernel, which masks those bits away (X86_RAW_EVENT_MASK), so the paper's
 * r5301c4 and r01c4 are the same event; EDGE, ANY, INV, CMASK and the newer high
 * bits (AMD event 8-11, Intel IN_TX, UMASK2 …) are part of it.
 */
#include "event-room.h"

#include "why.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define X86_USR (1ull << 16)
#define X86_OS (1ull << 17)
#define X86_INT (1ull << 20)
#define X86_EN (1ull << 22)

uint64_t event_raw_canonical(uint64_t config, const struct tare_cpu *cpu)
{
	if (cpu->arch != TARE_ARCH_X86_64)
		return config;
	return config & ~(X86_USR | X86_OS | X86_INT | X86_EN);
}

int event_raw_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		   struct tare_why *why)
{
	const size_t digits = strspn(name + (name[0] != '\0'), "0123456789abcdefABCDEF");

	if (name[0] != 'r' || !digits || name[1 + digits])
		return EVENT_NOT_MINE;
	if (digits > 16)
		return why_set(why, TARE_E_RANGE, "%s: a raw event has at most 16 hexadecimal digits",
			       name);
	ev->base.type = PERF_TYPE_RAW;
	ev->base.config = event_raw_canonical(strtoull(name + 1, NULL, 16), cpu);
	return EVENT_FOUND;
}
