/* Runs a command in the engine and follows its calls: for every event the sum over all contexts must be
 * the count of the same run.
 *
 *	code-calls [-t] [-s] [-e EVENTS] [-o FILE] [COMMAND [ARG]...]
 *
 *	-t	taken branches too (other code in the engine)
 *	-e	these events, instead of all
 *	-o	writes every context as a line: id, parent, kind, repeats, pid, tid, signal, site, entry, calls,
 *		then the counts. Site and entry are `offset@file`.
 *	-s	writes system calls there, too: "syscall" pid number entry context times errors
 *
 * Prints each event that differs; a line "N contexts, depth N" in the end. Status 1: some differ, 2:
 * no run.
 */
#include <tare/code.h>
#include <tare/measure.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS "instructions,branches,cond-branches,loads,stores,calls,returns,indirect-branches,syscalls,"	\
	"multiplies,divides,x87,fp,simd-int,locked,far-transfers"

struct sums {
	const struct tare_code *code;
	const struct tare_events *events;
	int64_t *sum;
	uint32_t *depth;
	uint32_t deepest, bad, cut;
	FILE *to;
};

static const char *const kinds[] = { "root", "thread", "signal", "call", "tail", "handler", "folded" };

static void place(FILE *to, uint64_t address, const struct tare_code_map *m)
{
	if (!address)
		fputs("\t-", to);
	else if (m)
		fprintf(to, "\t%" PRIx64 "@%s", address - m->start + m->offset, m->path);
	else
		fprintf(to, "\t%" PRIx64 "@?", address);
}

static int add(const struct tare_code_context *x, void *arg)
{
	struct sums *const s = arg;
	s->bad += x->parent >= x->id || x->calls < 0;
	s->cut += x->cut;
	s->depth[x->id] = x->parent ? s->depth[x->parent] + 1 : 1;
	if (s->depth[x->id] > s->deepest)
		s->deepest = s->depth[x->id];
	if (s->to) {
		fprintf(s->to, "%u\t%u\t%s\t%d\t%d\t%d\t%d", x->id, x->parent, kinds[x->kind], x->repeats,
			x->pid, x->tid, x->signal);
		place(s->to, x->site, x->site_map);
		place(s->to, x->entry, x->entry_map);
		fprintf(s->to, "\t%" PRId64, x->calls);
	}
	for (size_t i = 0; i < tare_events_count(s->events); i++) {
		int64_t n = 0;
		s->bad += !tare_code_context_count(s->code, x, tare_events_at(s->events, i), &n) || n < 0;
		s->sum[i] += n;
		if (s->to)
			fprintf(s->to, "\t%" PRId64, n);
	}
	if (s->to)
		fputc('\n', s->to);
	return 0;
}

static int write_syscall(const struct tare_code_syscall *c, void *arg)
{
	FILE *const to = arg;
	fprintf(to, "syscall\t%d\t%d", c->pid, c->number);
	place(to, c->address, c->map);
	fprintf(to, "\t%u\t%" PRIu64 "\t%" PRIu64 "\n", c->context, c->times, c->errors);
	return 0;
}

static bool any(const struct tare_code_context *x, void *arg)
{
	(void)arg;
	return x->kind != TARE_CODE_FOLDED || x->id;
}

int main(int argc, char **argv)
{
	static struct sums s;
	struct tare_events *events;
	struct tare_measurement *m;
	struct tare_why why = { 0 };
	const char *names = EVENTS;
	bool syscalls = false;
	int opt;
	while ((opt = getopt(argc, argv, "+tse:o:")) != -1) {
		if (opt == 't')
			names = EVENTS ",taken-branches";
		if (opt == 'e')
			names = optarg;
		syscalls |= opt == 's';
		if (opt == 'o')
			s.to = fopen(optarg, "w");
		if (opt == '?' || (opt == 'o' && !s.to))
			return 2;
	}
	if (optind == argc) {
		fputs("usage: code-calls [-t] [-s] [-e EVENTS] [-o FILE] COMMAND [ARG]...\n", stderr);
		return 2;
	}
	if (tare_events_parse(names, NULL, &events, &why) < 0) {
		fprintf(stderr, "%s: %s\n", names, why.what);
		return 2;
	}
	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
	o.argv = argv + optind;
	o.events = events;
	o.backend = TARE_BACKEND_SOFT;
	o.code = o.calls = true;
	if (tare_measure(&o, &m, &why) < 0) {
		fprintf(stderr, "%s: %s\n", o.argv[0], why.what);
		return 2;
	}
	const size_t n = tare_events_count(events);
	const uint32_t contexts = tare_code_n_contexts(m->code);
	s.code = m->code;
	s.events = events;
	s.sum = calloc(n, sizeof(*s.sum));
	s.depth = calloc(contexts + 1, sizeof(*s.depth));
	bool *const in = calloc(contexts + 1, sizeof(*in));
	int bad = tare_code_contexts_each(m->code, add, &s, &why) != 0 || !tare_code_is_complete(m->code) ||
		  tare_code_contexts_in(m->code, any, NULL, in, &why) != 0;
	for (uint32_t id = 1; id <= contexts; id++)
		bad |= !in[id];
	for (size_t i = 0; i < n; i++) {
		if ((uint64_t)s.sum[i] == m->counts[i].value)
			continue;
		printf("%s: counted %" PRIu64 ", sum of the contexts %" PRId64 "\n", m->counts[i].event,
		       m->counts[i].value, s.sum[i]);
		bad = 1;
	}
	if (syscalls && s.to)
		bad |= tare_code_syscalls_each(m->code, write_syscall, s.to, &why) != 0;
	printf("%u contexts, %u cut, depth %u, %u wrong; status %d\n", contexts, s.cut, s.deepest, s.bad,
	       m->exit_status);
	if (s.to)
		bad |= fclose(s.to) != 0;
	bad |= s.bad != 0 || !contexts;
	free(s.sum);
	free(s.depth);
	free(in);
	tare_measurement_free(m);
	tare_events_free(events);
	return bad;
}
