/* A read that is inlined in a shared object: see counter-guard.c. */
#include <tare/counter.h>

int read_there(struct tare_counter *c, uint64_t *value);

int read_there(struct tare_counter *c, uint64_t *value)
{
	return tare_counter_read(c, value);
}
