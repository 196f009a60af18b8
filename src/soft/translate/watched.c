/* Functions that switch counting where they are entered and left: --in and callgrind's
 * --toggle-collect, --dump-before, --dump-after, --zero-before.
 *
 * The launcher knows names. When code of a mapping is looked at for the first time, the engine asks which
 * functions of it are watched (watch_mapped()), and keeps their addresses in a sorted table.
 *
 * Whether counting is on belongs to a context of the call graph: its path says which watched functions
 * are on the stack (enum calls_watch; a function that is there twice counts once). Only an *outermost*
 * call of a watched function changes that. Code never learns the context behind such a call: each one
 * comes to C (transition()), and so does its return, whose number in the shadow C hides (hide_return()). Any
 * other way out of the function (longjmp, exceptions, switches of stacks) is C's anyway.
 *
 * C only changes the context there. Before the thread enters the cache again, part_follow() compares
 * the context with what was followed last, and switches, dumps or zeroes.
 */
#include "calls.h"
#include "sys.h"
#include "text.h"

#define WATCHED (ZONE_RETURNS + (48ull << 20))	/* behind the slots of calls.c */
#define MAX_WATCHED (1u << 17)

struct watched {
	uint64_t entry;
	uint32_t what;			/* enum soft_watch */
	uint32_t number;
};

static uint32_t n_watched;

static struct watched *watched(uint32_t i)
{
	return (struct watched *)WATCHED + i;
}

void watch_init(void)
{
	if (!(E.shared->flags & SOFT_FLAG_WATCH) || !cache.calls)
		return;
	cache.watch = true;
	zone_map(WATCHED, MAX_WATCHED * sizeof(struct watched));
}

/* The place of the first one at or after the address. */
static uint32_t first_from(uint64_t address)
{
	uint32_t low = 0, high = n_watched;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (watched(middle)->entry < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t watch_at(uint64_t entry, uint32_t *number)
{
	const uint32_t i = cache.watch ? first_from(entry) : 0;
	if (!cache.watch || i == n_watched || watched(i)->entry != entry)
		return 0;
	*number = watched(i)->number;
	return watched(i)->what;
}

static void move(uint32_t to, uint32_t from)
{
	const uint32_t n = n_watched - from;
	if (to < from)
		for (uint32_t i = 0; i < n; i++)
			*watched(to + i) = *watched(from + i);
	else
		for (uint32_t i = n; i-- > 0;)
			*watched(to + i) = *watched(from + i);
	n_watched = to + n;
}

void watch_forget(uint64_t start, uint64_t end)
{
	if (cache.watch)
		move(first_from(start), first_from(end));
}

void watch_mapped(uint64_t start, uint64_t end)
{
	struct soft_watched w = { .start = start, .end = end, .from = start };
	if (!cache.watch)
		return;
	watch_forget(start, end);
	while (n_watched < MAX_WATCHED && watch_ask(thread_self(), &w)) {
		const uint32_t at = first_from(w.entry);
		if (w.entry < w.from || w.entry >= end)
			break;
		move(at + 1, at);
		*watched(at) = (struct watched){ w.entry, w.what, w.number };
		w = (struct soft_watched){ .start = start, .end = end, .from = w.entry + 1 };
	}
}
