/* Two threads and pages of code that can be written: both run the code of a page, wait
 * for each other, and store next to it, each its own word. The engine has protected the
 * page when it translated from it; both stores fault, often at once, and the second
 * must not take the first one's opening of the page for a fault of the program.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 4000, ROUNDS = 2 };

static uint8_t *pages;
static atomic_uint arrived;
static uint64_t wrong[2];

static uint64_t *word(int page, int who)
{
	return (uint64_t *)(pages + page * PAGE + 2048) + 8 * who;
}

static void meet(unsigned step)
{
	atomic_fetch_add(&arrived, 1);
	for (int i = 1; atomic_load(&arrived) < 2 * step; i++)
		if (i % 500 == 0)
			sched_yield();
}

static void *visit(void *arg)
{
	const int who = *(const int *)arg;
	unsigned step = 0;
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < PAGES; i++) {
			const uintptr_t code = (uintptr_t)(pages + i * PAGE);
			wrong[who] += ((int (*)(void))code)() != 42;
			meet(++step);
			(*(volatile uint64_t *)word(i, who))++;
			meet(++step);
		}
	return NULL;
}

int main(void)
{
	static const uint8_t code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };	/* mov eax, 42; ret */
	static const int ids[2] = { 0, 1 };
	pthread_t threads[2];
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return 1;
	for (int i = 0; i < PAGES; i++)
		memcpy(pages + i * PAGE, code, sizeof(code));
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, visit, (void *)(uintptr_t)&ids[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	uint64_t sum = 0;
	for (int i = 0; i < PAGES; i++)
		sum += *word(i, 0) + *word(i, 1);
	printf("%llu stores, %llu wrong\n", (unsigned long long)sum,
	       (unsigned long long)(wrong[0] + wrong[1]));
	return sum != 2 * PAGES * ROUNDS || wrong[0] || wrong[1];
}
