/* Runs a command in the engine and adds up which code ran how often: for every event the sum must be
 * the count of the same run.
 *
 *	code-sums [-t] [-i] [-o] [-a FILE] COMMAND [ARG]...
 *
 *	-i	without the processes that the command starts
 *	-o	counting is off until the program switches it on; each of its dumps is checked, too
 *	-t	taken branches too (other code in the engine)
 *	-a	every instruction of every range, as lines `address size runs`
 *
 * Prints each event that differs; a line "N ranges, N mappings" in the end. Status 1: some
 * differ, 2: no run.
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
	const struct tare_events *events;
	int64_t *sum;
	int64_t *of_dumps;		/* by dump and event */
	size_t n_dumps;
	size_t ranges, unknown, bad;
	const struct tare_code_map *maps[4096];
	size_t n_maps;
	FILE *ranges_to;
};

static void note_map(struct sums *s, const struct tare_code_map *m)
{
	for (size_t i = s->n_maps; i-- > 0;)
		if (s->maps[i] == m)
			return;
	if (s->n_maps < sizeof(s->maps) / sizeof(*s->maps))
		s->maps[s->n_maps++] = m;
}

static void add_to(struct sums *s, const struct tare_code_range *r, size_t event, int64_t n)
{
	s->sum[event] += n;
	if (r->dump && r->dump <= s->n_dumps)
		s->of_dumps[(r->dump - 1) * tare_events_count(s->events) + event] += n;
}

static int check_dumps(const struct sums *s, const struct tare_measurement *m)
{
	int bad = 0;
	for (size_t d = 0; d < s->n_dumps; d++)
		for (size_t i = 0; i < m->n_counts; i++) {
			const int64_t sum = s->of_dumps[d * m->n_counts + i];
			if (m->parts->dumps[d].counts[i].value == (uint64_t)sum)
				continue;
			printf("dump %u, %s: counted %" PRIu64 ", sum of the code %" PRId64 "\n",
			       m->parts->dumps[d].number, m->counts[i].event,
			       m->parts->dumps[d].counts[i].value, sum);
			bad = 1;
		}
	return bad;
}

static int add(const struct tare_code_range *r, void *arg)
{
	struct sums *const s = arg;
	unsigned at = 0, n = 0;
	s->ranges++;
	if (r->map)
		note_map(s, r->map);
	else
		s->unknown++;
	while (at < r->size) {
		struct tare_code_insn in;
		if (!tare_code_insn(r->bytes + at, r->size - at, r->address + at, &in)) {
			s->bad++;
			return 0;
		}
		if (s->ranges_to)
			fprintf(s->ranges_to, "%" PRIx64 " %u %" PRId64 "\n", r->address + at, in.size,
				r->runs);
		at += in.size;
		n++;
		for (size_t i = 0; i < tare_events_count(s->events); i++)
			if (tare_code_counts(&in, tare_events_at(s->events, i)))
				add_to(s, r, i, r->runs);
		if (at == r->size)
			for (size_t i = 0; i < tare_events_count(s->events); i++)
				if (!strcmp(tare_events_at(s->events, i)->name, "taken-branches"))
					add_to(s, r, i, r->taken);
	}
	s->bad += n != r->n_insns;
	return 0;
}

int main(int argc, char **argv)
{
	static struct sums s;
	struct tare_events *events;
	struct tare_measurement *m;
	struct tare_why why = { 0 };
	bool taken = false, alone = false, off = false;
	int opt;
	while ((opt = getopt(argc, argv, "+tioa:")) != -1) {
		taken |= opt == 't';
		alone |= opt == 'i';
		off |= opt == 'o';
		if (opt == 'a')
			s.ranges_to = fopen(optarg, "w");
		if (opt == '?' || (opt == 'a' && !s.ranges_to))
			return 2;
	}
	const char *const names = taken ? EVENTS ",taken-branches" : EVENTS;
	if (optind == argc) {
		fputs("usage: code-sums [-t] [-i] [-o] [-a FILE] COMMAND [ARG]...\n", stderr);
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
	o.code = true;
	o.no_inherit = alone;
	o.starts_off = off ? TARE_OFF_UNTIL_ASKED : 0;
	if (tare_measure(&o, &m, &why) < 0) {
		fprintf(stderr, "%s: %s\n", o.argv[0], why.what);
		return 2;
	}
	const size_t n = tare_events_count(events);
	s.events = events;
	s.sum = calloc(n, sizeof(*s.sum));
	s.n_dumps = m->parts ? m->parts->n_dumps : 0;
	s.of_dumps = calloc(s.n_dumps * n + 1, sizeof(*s.of_dumps));
	int bad = tare_code_each(m->code, add, &s, &why) != 0 || !tare_code_is_complete(m->code);
	bad |= check_dumps(&s, m);
	for (size_t i = 0; i < n; i++) {
		if ((uint64_t)s.sum[i] == m->counts[i].value)
			continue;
		printf("%s: counted %" PRIu64 ", sum of the code %" PRId64 "\n", m->counts[i].event,
		       m->counts[i].value, s.sum[i]);
		bad = 1;
	}
	printf("%zu ranges, %zu mappings, %zu ranges in no mapping, %zu not decoded\n", s.ranges, s.n_maps,
	       s.unknown, s.bad);
	if (s.ranges_to)
		bad |= fclose(s.ranges_to) != 0;
	free(s.sum);
	free(s.of_dumps);
	bad |= s.bad != 0 || s.ranges == 0;
	tare_measurement_free(m);
	tare_events_free(events);
	return bad;
}
