/* What of the world is the same in every run and on every host, and what is left. */
#include "world.h"

#include <stdlib.h>

struct tare_world *world_new(const char *machine)
{
	struct tare_world *const w = calloc(1, sizeof(*w));
	struct world_choice c;
	if (!w || !machine || world_parse(machine, &c, NULL))
		return w;
	w->machine = c.machine->name;
	w->cpus = c.cpus;
	w->machine_hash = world_hash(&c);
	return w;
}

void world_free(struct tare_world *w)
{
	if (!w)
		return;
	free(w->beyond);
	free(w);
}

bool tare_world_fact(const struct tare_world *w, bool aslr_off, bool clean_env, size_t i,
		     struct tare_world_fact *fact)
{
	const char *const machine = w ? w->machine : NULL;
	const struct tare_world_fact facts[] = {
		{ "addresses", aslr_off, aslr_off ? "no address space randomisation" :
		  "address space randomisation is on", { 0 } },
		{ "environment", clean_env, clean_env ? "the variables of --clean-env" :
		  "the caller's variables", { 0 } },
		{ "CPU", machine != NULL, machine ? machine : "the host's", { 0 } },
		{ "number of CPUs", machine != NULL, machine ? "of the machine" : "the host's", { 0 } },
		{ "vDSO", machine != NULL, machine ? "none: clocks are read by system calls" :
		  "of the host's kernel", { 0 } },
		{ "time", false, "the host's clocks", { 0 } },
		{ "random numbers", false, "of the host's kernel", { 0 } },
		{ "process ids", false, "of the host's kernel", { 0 } },
		{ "order of threads", false, "of the host's scheduler", { 0 } },
		{ "files", false, "the host's", { 0 } },
	};
	if (i >= sizeof(facts) / sizeof(facts[0]))
		return false;
	*fact = facts[i];
	return true;
}
