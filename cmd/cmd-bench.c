/* tare bench: what a read of a counter costs. */
#include "buf.h"
#include "command.h"
#include "complain.h"
#include "environment.h"
#include "grid.h"
#include "json.h"
#include "term.h"

#include <tare/bench.h>
#include <tare/version.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

struct bench_opts {
	uint64_t reads, runs;
	bool json;
};

static const struct opt opts[] = {
	{ OPT_U64, 'n', "reads", "N", "reads in a run (default: 10000)", TO(bench_opts, reads),
	  .min = 1, .max = 1e9 },
	{ OPT_U64, 'r', "repeat", "N", "runs (default: 10)", TO(bench_opts, runs),
	  .min = 1, .max = 1e4 },
	{ OPT_FLAG, 'j', "json", NULL, "JSON, schema tare.bench/1", TO(bench_opts, json) },
	{ OPT_END },
};

static void cell(struct grid *g, const char *text)
{
	buf_str(&g->text, text);
	grid_done(g);
}

static void real(struct grid *g, const char *fmt, double v)
{
	if (isnan(v))
		buf_str(&g->text, "?");
	else
		buf_printf(&g->text, fmt, v);
	grid_done(g);
}

static void row_text(struct grid *g, const struct tare_bench_row *row)
{
	cell(g, row->counter[0] ? row->counter : "(the loop without a read)");
	cell(g, row->counter[0] ? tare_path_name(row->path) : "");
	cell(g, row->path == TARE_PATH_RDPMC ? tare_serializer_name(row->serializer) : "");
	if (!isnan(row->total)) {
		buf_grouped(&g->text, (uint64_t)row->total);
		buf_printf(&g->text, " %s%.0f", term_plus_minus(), row->distance);
	} else {
		buf_str(&g->text, "?");
	}
	grid_done(g);
	if (row->counter[0])
		real(g, "%+.2f", row->instructions);
	else
		cell(g, "");
	real(g, "%.1f", row->ns);
}

/* Why it is missing, without the counter's name in front, which the list has. */
static const char *reason(const struct tare_bench_row *row)
{
	const size_t n = strlen(row->counter);
	return strncmp(row->missing, row->counter, n) == 0 && n && row->missing[n] == ':' ? row->missing + n + 2 :
	       row->missing;
}

static bool is_missing_like(const struct tare_bench_row *a, const struct tare_bench_row *b)
{
	return !a->measured && !b->measured && strcmp(reason(a), reason(b)) == 0;
}

/* One line for each reason. */
static void missing_text(struct buf *b, const struct tare_bench_report *r)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		bool before = r->rows[i].measured;
		for (size_t k = 0; k < i; k++)
			before |= is_missing_like(&r->rows[k], &r->rows[i]);
		if (before)
			continue;
		buf_str(b, "\nnot measured: ");
		for (size_t k = i; k < r->n_rows; k++) {
			const struct tare_bench_row *const row = &r->rows[k];
			if (!is_missing_like(row, &r->rows[i]))
				continue;
			buf_printf(b, "%s%s", k > i ? ", " : "", row->counter[0] ? row->counter : "the loop without a read");
			if (row->path == TARE_PATH_RDPMC || row->path == TARE_PATH_READ)
				buf_printf(b, " by %s", tare_path_name(row->path));
			if (row->path == TARE_PATH_RDPMC && row->serializer != TARE_SERIALIZE_AUTO)
				buf_printf(b, " (%s)", tare_serializer_name(row->serializer));
		}
		buf_printf(b, ": %s\n", reason(&r->rows[i]));
	}
}

static void report_text(struct buf *b, const struct tare_bench_report *r)
{
	static const char *const titles[] = { "COUNTER", "PATH", "SERIALISED BY", "INSTRUCTIONS OF A RUN",
					      "PER READ", "NS PER READ" };
	struct grid g = { .columns = sizeof(titles) / sizeof(titles[0]) };

	buf_grouped(b, r->reads);
	buf_printf(b, " read%s, %u run%s; ", r->reads == 1 ? "" : "s", r->runs, r->runs == 1 ? "" : "s");
	if (r->counted_by)
		buf_printf(b, "instructions counted by %s%s\n\n", r->counted_by,
			   r->simulated ? " of a virtual PMU, whose times say nothing of this CPU" : "");
	else
		buf_printf(b, "nothing counts instructions here (%s)%s\n\n", r->why_not,
			   r->simulated ? "" : ";\n`tare run -- tare bench` does");
	for (size_t i = 0; i < g.columns; i++)
		cell(&g, titles[i]);
	for (size_t i = 0; i < r->n_rows; i++)
		if (r->rows[i].measured)
			row_text(&g, &r->rows[i]);
	grid_plain(&g, b);
	grid_free(&g);
	missing_text(b, r);
}

static void row_json(struct json *j, const struct tare_bench_row *row)
{
	json_object(j, NULL);
	json_str(j, "counter", row->counter[0] ? row->counter : NULL);
	json_str(j, "path", row->counter[0] ? tare_path_name(row->path) : NULL);
	json_str(j, "serializer", row->path == TARE_PATH_RDPMC ? tare_serializer_name(row->serializer) : NULL);
	json_bool(j, "measured", row->measured);
	json_str(j, "missing", row->measured ? NULL : row->missing);
	json_f64(j, "total", row->measured ? row->total : NAN);
	json_f64(j, "distance", row->measured ? row->distance : NAN);
	json_f64(j, "instructions", row->measured ? row->instructions : NAN);
	json_f64(j, "ns", row->measured ? row->ns : NAN);
	json_end(j);
}

static void report_json(struct buf *b, const struct tare_bench_report *r)
{
	struct json j = { .out = b, .indent = true };

	json_object(&j, NULL);
	json_str(&j, "schema", "tare.bench/1");
	json_str(&j, "tare", TARE_VERSION);
	cpu_json(&j, "cpu", &r->cpu);
	json_bool(&j, "simulated", r->simulated);
	json_str(&j, "counted_by", r->counted_by);
	json_str(&j, "why_not", r->counted_by ? NULL : r->why_not);
	json_u64(&j, "reads", r->reads);
	json_u64(&j, "runs", r->runs);
	json_array(&j, "rows");
	for (size_t i = 0; i < r->n_rows; i++)
		row_json(&j, &r->rows[i]);
	json_end(&j);
	json_end(&j);
	buf_chr(b, '\n');
}

static int run(const struct command *self, int argc, char **argv)
{
	struct tare_bench_options bo = TARE_BENCH_OPTIONS_INIT;
	struct tare_bench_report *report;
	struct bench_opts o = { 0 };
	struct tare_why why;
	struct buf b = { 0 };
	int first;

	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (first < argc) {
		complain("bench: unexpected operand '%s'; it takes none", argv[first]);
		return EXIT_USAGE;
	}
	bo.reads = o.reads;
	bo.runs = o.runs;
	if (tare_bench(&bo, &report, &why) < 0) {
		complain_why(&why);
		return EXIT_BAD;
	}
	if (o.json)
		report_json(&b, report);
	else
		report_text(&b, report);
	const bool failed = buf_failed(&b);
	if (failed)
		complain("bench: out of memory");
	else
		fwrite(b.data, 1, b.len, stdout);
	buf_free(&b);
	tare_bench_free(report);
	return failed ? EXIT_BAD : EXIT_GOOD;
}

const struct command cmd_bench = {
	.name = "bench",
	.summary = "measure what a read of each counter costs, in instructions and in time",
	.usage = "[OPTION]…",
	.about = "Reads each counter many times in a loop, by each path and with each serialising "
		 "instruction, and subtracts the same loop without a read.",
	.opts = opts,
	.run = run,
};
