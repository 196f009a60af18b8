/* Where a counter lives: see counter-room.h. */
#include "counter-room.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 4

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

struct counter_cold *counter_cold(const struct tare_counter *c)
{
	return (struct counter_cold *)((char *)(c + 1) - 2 * page_size());
}

struct tare_counter *counter_alloc(void)
{
	const size_t page = page_size();
	char *const base = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	struct tare_counter *const c = (struct tare_counter *)(base + 2 * page) - 1;
	struct counter_cold *const k = counter_cold(c);
	k->wiped_on_fork = madvise(base + page, page, MADV_WIPEONFORK) == 0;
	k->parts[0].fd = k->parts[1].fd = -1;
	return c;
}

void counter_free(struct tare_counter *c)
{
	munmap(counter_cold(c), PAGES * page_size());
}

/* Stale in a forked child; the counter is found wiped first there, and opening
 * one asks again. */
static _Thread_local pid_t self;

pid_t counter_self(void)
{
	if (!self)
		self = (pid_t)syscall(SYS_gettid);
	return self;
}

void counter_self_is(pid_t tid)
{
	self = tid;
}
