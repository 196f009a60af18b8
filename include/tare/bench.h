/* What a read of a counter costs: `tare bench`.
 *
 *	struct tare_bench_report *r;
 *	if (tare_bench(NULL, &r, &why) < 0) …
 *	for (size_t i = 0; i < r->n_rows; i++)
 *		printf("%s %s: %g instructions\n", r->rows[i].counter, r->rows[i].path,
 *		       r->rows[i].instructions);
 *	tare_bench_free(r);
 *
 * As the report does it: a loop reads a counter many times, and the same loop without a read is
 * subtracted. The instructions of both are counted by another counter of the same thread, so that
 * interrupts and the machine's load are not in them; the time is that of the fastest run.
 *
 * Threads: any thread. A report is freed once, and read by any thread.
 *
 * Side effects: tare_bench() keeps the calling thread on one CPU while it runs, some tenths of a second,
 * and opens and closes counters.
 */
#ifndef TARE_BENCH_H
#define TARE_BENCH_H

#include <tare/counter.h>
#include <tare/cpu.h>
#include <tare/err.h>
#include <tare/growth.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One way to read one counter. */
struct tare_bench_row {
	const char *counter;		/* "instructions:u"; "" of the loop without a read. Static */
	enum tare_path path;
	enum tare_serializer serializer;
	bool measured;			/* else `missing` says why it cannot be read in this way */
	char missing[160];
	/* Instructions of all reads of a run: the middle one of the runs, and the greatest distance
	 * from it; NaN where nothing counts instructions here. */
	double total, distance;
	double instructions;		/* of one read: less the loop, by the number of reads; or NaN */
	double ns;			/* of one read, likewise, of the fastest run */
	uint64_t reserved[4];
};

struct tare_bench_report {
	struct tare_cpu cpu;
	uint64_t reads;			/* of a run */
	unsigned runs;
	bool simulated;			/* on a virtual PMU: its times say nothing of this CPU */
	const char *counted_by;		/* the event that counted instructions; NULL: none */
	char why_not[256];		/* … and why */
	size_t n_rows;			/* the first is the loop without a read */
	struct tare_bench_row *rows;
};

struct tare_bench_options {
	size_t size;			/* set by TARE_BENCH_OPTIONS_INIT (tare/growth.h) */
	uint64_t reads;			/* of a run; 0: 10,000 */
	uint64_t runs;			/* 0: 10 */
};
#define TARE_BENCH_OPTIONS_INIT TARE_OPTIONS_INIT(bench)

/* `o` may be NULL. 0 and *report; TARE_E_NOMEM, TARE_E_RANGE, TARE_E_INVALID, TARE_E_OPTION_UNKNOWN. What
 * cannot be read on this machine is a row that says so. */
int tare_bench(const struct tare_bench_options *o, struct tare_bench_report **report,
	       struct tare_why *why);
void tare_bench_free(struct tare_bench_report *report);	/* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
