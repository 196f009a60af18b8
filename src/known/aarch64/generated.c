/* There is no generator for arm64: the engine's decoder knows x86-64 only. */
#include "generated.h"

#include "why.h"

int generated_open(uint64_t seed, struct generated *g, struct tare_why *why)
{
	(void)seed;
	*g = (struct generated){ 0 };
	return why_set(why, TARE_E_INVALID, "instructions are generated for x86-64 only");
}

void generated_close(struct generated *g) { (void)g; }

void generated_choose(struct generated *g, const size_t *which, size_t n, uint64_t *each)
{
	(void)g;
	(void)which;
	(void)n;
	(void)each;
}

void generated_run(struct generated *g, uint64_t loops, void *memory)
{
	(void)g;
	(void)loops;
	(void)memory;
}
