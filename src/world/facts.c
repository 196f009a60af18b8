/* What of the world is the same in every run and on every host, and what is left. */
#include "world.h"

#include "why.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

bool world_seed(const char *text, uint64_t *seed)
{
	char *end;
	const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	*seed = 0;
	if (!*text)
		return true;
	if (!isxdigit((unsigned char)text[hex ? 2 : 0]) || (!hex && !isdigit((unsigned char)text[0])))
		return false;
	errno = 0;
	*seed = strtoull(text, &end, hex ? 16 : 10);
	return !*end && !errno;
}

int tare_seed_check(const char *text, struct tare_why *why)
{
	struct tare_why local;
	uint64_t seed;
	if (text && world_seed(text, &seed))
		return 0;
	why = why ? why : &local;
	why_set(why, TARE_E_INVALID, "seed \"%.40s\" is no number from 0 to 2^64 - 1", text ? text : "");
	why_remedy(why, "write it as 42 or 0x2a");
	return TARE_E_INVALID;
}

struct tare_world *world_new(const struct world_asked *asked)
{
	struct tare_world *const w = calloc(1, sizeof(*w));
	struct world_choice c;
	if (!w)
		return NULL;
	w->hermetic = asked->hermetic && world_seed(asked->hermetic, &w->seed);
	w->scheduled = w->hermetic && asked->schedule && world_seed(asked->schedule, &w->schedule);
	if (!asked->machine || world_parse(asked->machine, &c, NULL))
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
	free(w->waits);
	free(w);
}

const char *tare_left_text(unsigned left)
{
	switch (left) {
	case TARE_LEFT_NETWORK: return "a socket of the network was used";
	case TARE_LEFT_SHARED: return "a file was mapped that others may write to";
	case TARE_LEFT_NATIVE: return "a process ran without the engine";
	case TARE_LEFT_LATE_INPUT: return "input from outside came late";
	case TARE_LEFT_TAKEN: return "the name of a new file was taken by a file that was there";
	case TARE_LEFT_FULL: return "there were more tasks, files or devices than there are fixed numbers";
	case TARE_LEFT_ORDER: return "several threads or processes ran at the same time";
	case TARE_LEFT_TERMINAL: return "a pseudo terminal's input and echo came when the kernel did it";
	case TARE_LEFT_HOST_FILE: return "a file of /proc or /sys showed what the host does";
	case TARE_LEFT_LOCKED: return "a file was locked by a program outside of the run";
	default: return NULL;
	}
}

bool tare_world_fact(const struct tare_world *w, bool aslr_off, bool clean_env, size_t i,
		     struct tare_world_fact *fact)
{
	const char *const machine = w ? w->machine : NULL;
	const bool still = w && w->hermetic;
	const bool order = still && !(w->left & TARE_LEFT_ORDER);
	const struct tare_world_fact facts[] = {
		{ "addresses", aslr_off, aslr_off ? "no address space randomisation" :
		  "address space randomisation is on", { 0 } },
		{ "environment", clean_env, clean_env ? "the variables of --clean-env" :
		  "the caller's variables", { 0 } },
		{ "CPU", machine != NULL, machine ? machine : "the host's", { 0 } },
		{ "number of CPUs", machine != NULL, machine ? "of the machine" : "the host's", { 0 } },
		{ "vDSO", machine != NULL, machine ? "none: clocks are read by system calls" :
		  "of the host's kernel", { 0 } },
		{ "time", still, still ? "counted in instructions; sleeping takes none" : "the host's clocks", { 0 } },
		{ "random numbers", still, still ? "from the seed" : "of the host's kernel", { 0 } },
		{ "process ids", still, still ? "from 1000 in order of creation" : "of the host's kernel", { 0 } },
		{ "order of threads", order, order ? "one task runs at a time" : "of the host's scheduler", { 0 } },
		{ "files", still, still ? "folders sorted; own inode numbers and times" : "the host's", { 0 } },
		{ "host", still, still ? "name, kernel, memory, load and limits are fixed" : "the host's", { 0 } },
		{ "contents of files", false, "the host's", { 0 } },
		{ "users and permissions", false, "the host's", { 0 } },
	};
	if (i >= sizeof(facts) / sizeof(facts[0]))
		return false;
	*fact = facts[i];
	return true;
}
