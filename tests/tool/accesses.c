/* Which memory a command uses, from the engine's trace, and what the simulated caches make of it.
 *
 *	accesses [-a FILE] [-c I1 D1 LL] COMMAND [ARG]...
 *
 *	-a	every access, as lines `pc r|w|m address size` (m: read and written)
 *	-c	caches, as cachesim_parse() takes them; prints lines `pc Dr Dw I1mr D1mr D1mw ILmr
 *		DLmr DLmw` for every instruction that ran
 *
 * The command is one process with one thread. Status 2: no run.
 */
#include "accesses.h"
#include "cachesim.h"
#include "disassembler.h"

#include <tare/measure.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The module is linked in. */
void *disassembler_symbol(const char *name)
{
	return strcmp(name, "tare_disassembler_accesses") ? NULL : (void *)tare_disassembler_accesses;
}

static FILE *to;

static void print(uint64_t pc, const struct access *a, uint64_t address)
{
	fprintf(to, "%" PRIx64 " %c %" PRIx64 " %u\n", pc, a->reads && a->writes ? 'm' : a->reads ? 'r' : 'w',
		address, a->size);
}

static void print_insn(uint64_t pc, const struct access *a, unsigned n, const uint64_t *words)
{
	if (n && a->step) {
		const int64_t moved = (int64_t)(words[a->after] - words[a->before]);
		const int64_t step = moved < 0 ? -a->step : a->step;
		for (int64_t done = 0; done != moved; done += step)
			for (unsigned i = 0; i < n; i++)
				print(pc, &a[i], words[a[i].word] + (uint64_t)done);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t address;
		for (unsigned k = 0; k < a[i].each.n; k++)
			if (access_element(&a[i], words, k, &address))
				print(pc, &a[i], address);
		if (!a[i].each.n)
			print(pc, &a[i], words[a[i].word] + (uint64_t)(int64_t)a[i].plus);
	}
}

static void run(const struct tare_trace_run *r, void *arg)
{
	const struct tare_trace_code *const c = r->code;
	const struct tare_trace *const also = arg;
	unsigned word = 0;
	for (unsigned at = 0, size; to && at < c->size; at += size) {
		enum tare_trace_word words[TARE_TRACE_WORDS];
		struct access a[ACCESSES_MOST];
		const unsigned n = tare_trace_words(c->bytes + at, c->size - at, &size, words);
		if (!size || word + n > r->n_words)
			break;
		print_insn(c->address + at, a, accesses_of(c->bytes + at, size, a),
			   r->words + word);
		word += n;
	}
	if (also)
		also->run(r, also->arg);
}

static int print_counts(const struct cachesim_insn *in, const uint64_t counts[SIM_EVENTS], void *arg)
{
	(void)arg;
	printf("%" PRIx64, in->address);
	for (int i = 0; i < SIM_EVENTS; i++)
		printf(" %" PRIu64, counts[i]);
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	struct cachesim_caches caches;
	struct cachesim *sim = NULL;
	const char *problem;
	int i = 1;
	if (argc > 3 && !strcmp(argv[i], "-a")) {
		to = fopen(argv[i + 1], "w");
		i += 2;
	}
	if (argc > i + 4 && !strcmp(argv[i], "-c")) {
		if (!cachesim_parse(argv[i + 1], &caches.i1, &problem) ||
		    !cachesim_parse(argv[i + 2], &caches.d1, &problem) ||
		    !cachesim_parse(argv[i + 3], &caches.ll, &problem)) {
			fprintf(stderr, "accesses: %s\n", problem);
			return 2;
		}
		sim = cachesim_new(&caches);
		i += 4;
	}
	struct tare_events *events;
	struct tare_measurement *m;
	struct tare_why why = { 0 };
	const struct tare_trace trace = { .run = run, .arg = sim ? (void *)cachesim_trace(sim) : NULL };
	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
	o.argv = argv + i;
	o.backend = TARE_BACKEND_SOFT;
	o.trace = &trace;
	if (i >= argc || tare_events_parse("instructions:u", NULL, &events, &why) < 0)
		return 2;
	o.events = events;
	if (tare_measure(&o, &m, &why) < 0) {
		fprintf(stderr, "accesses: %s\n", why.what);
		return 2;
	}
	fprintf(stderr, "instructions %" PRIu64 "\n", m->counts[0].value);
	const int err = sim ? cachesim_each(sim, print_counts, NULL) : 0;
	if (to)
		fclose(to);
	tare_measurement_free(m);
	tare_events_free(events);
	cachesim_free(sim);
	return err ? 2 : 0;
}
