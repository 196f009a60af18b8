/* Summaries, stacks and the lining up of runs on profiles small enough to work out by
 * hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregate.h"

#include <tare/analysis.h>

/* A profile written to a memory file, event by event. */
struct draft {
	struct tare_profile_writer *w;
	char path[64];
	uint64_t kind[8];
};

enum { QUERY, GENERIC, HIT, HIT_COUNT, ARTIFACT, LOAD, HASHING, BLOCKED };

static struct draft draft(void)
{
	static const char *const kinds[] = { "Query", "GenericActivity", "QueryCacheHit",
		"QueryCacheHitCount", "ArtifactSize", "IncrementalLoadResult",
		"IncrementalResultHashing", "QueryBlocked" };
	struct draft d = { 0 };
	const struct tare_profile_create_options meta = { .size = sizeof(meta),
		.start_time_ns = 1000000, .process_id = 7,
						.cmd = "/bin/prog --crate-name thing x",
						.counter = "wall-time" };
	snprintf(d.path, sizeof(d.path), "/tmp/tare-analysis-XXXXXX");
	close(mkstemp(d.path));
	assert_int_equal(tare_profile_create(d.path, &meta, &d.w, NULL), 0);
	for (int i = 0; i < 8; i++)
		d.kind[i] = tare_profile_string(d.w, kinds[i], strlen(kinds[i]));
	return d;
}

static void put(struct draft *d, enum tare_profile_type type, int kind, const char *label,
		uint32_t thread, uint64_t start, uint64_t end)
{
	const struct tare_profile_event e = {
		.type = type, .kind = d->kind[kind], .thread = thread, .start = start, .end = end,
		.id = tare_profile_string(d->w, label, strlen(label)),
	};
	assert_int_equal(tare_profile_put(d->w, &e), 0);
}

static void interval(struct draft *d, int kind, const char *label, uint32_t thread,
		     uint64_t start, uint64_t end)
{
	put(d, TARE_PROFILE_INTERVAL, kind, label, thread, start, end);
}

static struct tare_profile *finish(struct draft *d)
{
	struct tare_profile *p;
	assert_int_equal(tare_profile_finish(d->w, NULL), 0);
	assert_int_equal(tare_profile_open(d->path, &p, NULL), 0);
	unlink(d->path);
	return p;
}

static const struct tare_summary_row *row(const struct tare_summary *s, const char *name)
{
	for (size_t i = 0; i < s->n_rows; i++)
		if (strcmp(s->rows[i].name, name) == 0)
			return &s->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void every_kind_is_counted_its_way(void **state)
{
	struct draft d = draft();
	/* thread 1: q1 [0,100] holds hashing [10,30] which holds a [12,16], load [40,60] */
	interval(&d, GENERIC, "a", 1, 12, 16);
	interval(&d, HASHING, "q1", 1, 10, 30);
	put(&d, TARE_PROFILE_INSTANT, HIT, "q2", 1, 35, 0);
	put(&d, TARE_PROFILE_INSTANT, HIT, "q3", 1, 36, 0);
	interval(&d, LOAD, "q2", 1, 40, 60);
	interval(&d, QUERY, "q1", 1, 0, 100);
	/* thread 2 waits for q1 */
	interval(&d, BLOCKED, "q1", 2, 50, 90);
	put(&d, TARE_PROFILE_INTEGER, HIT_COUNT, "q2", 1, 5, 0);
	put(&d, TARE_PROFILE_INTEGER, HIT_COUNT, "q2", 1, 6, 0);
	put(&d, TARE_PROFILE_INTEGER, ARTIFACT, "obj", 1, 100, 0);
	put(&d, TARE_PROFILE_INTEGER, ARTIFACT, "obj", 2, 50, 0);
	struct tare_profile *const p = finish(&d);
	struct tare_summary *s;
	assert_int_equal(tare_summarize(p, NULL, &s, NULL), 0);
	assert_int_equal(s->total, 140);
	assert_int_equal(s->n_threads, 2);
	const struct tare_summary_row *const q1 = row(s, "q1"), *const q2 = row(s, "q2"),
		*const q3 = row(s, "q3"), *const a = row(s, "a");
	assert_int_equal(q1->self, 100 - 20 - 20 + 20 - 4 + 40);
	assert_int_equal(q1->time, 140);
	assert_int_equal(q1->count, 1);
	assert_int_equal(q1->misses, 1);
	assert_int_equal(q1->hashing, 16);
	assert_int_equal(q1->blocked, 40);
	assert_int_equal(q2->self, 20);
	assert_int_equal(q2->load, 20);
	assert_int_equal(q2->count, 0);
	assert_int_equal(q2->hits, 11);	/* the counts, not the instant as well */
	assert_int_equal(q3->hits, 1);
	assert_int_equal(a->self, 4);
	assert_int_equal(s->n_artifacts, 1);
	assert_int_equal(s->artifacts[0].value, 150);
	tare_summary_free(s);
	assert_int_equal(tare_summarize(p, &TARE_OPTIONS(summarize, .by = TARE_BY_THREAD), &s,
					NULL), 0);
	assert_int_equal(row(s, "thread 1")->self, 100);
	assert_int_equal(row(s, "thread 2")->self, 40);
	tare_summary_free(s);
	assert_int_equal(tare_summarize(p, &TARE_OPTIONS(summarize, .by = TARE_BY_KIND), &s,
					NULL), 0);
	assert_int_equal(row(s, "Query")->self, 60);
	assert_int_equal(row(s, "IncrementalResultHashing")->self, 16);
	tare_summary_free(s);
	tare_profile_close(p);
}

/* Deep nesting and many threads outgrow every first allocation. */
static void grows(void **state)
{
	struct draft d = draft();
	for (uint32_t t = 0; t < 300; t++)
		for (uint64_t i = 500; i-- > 0;) {
			char name[16];
			snprintf(name, sizeof(name), "f%u", (unsigned)i);
			interval(&d, GENERIC, name, t * 7919, i, 10000 - i);
		}
	struct tare_profile *const p = finish(&d);
	struct tare_summary *s;
	assert_int_equal(tare_summarize(p, NULL, &s, NULL), 0);
	assert_int_equal(s->n_rows, 500);
	assert_int_equal(s->n_threads, 300);
	assert_int_equal(s->total, 300 * 10000);
	assert_int_equal(row(s, "f0")->self, 300 * 2);
	assert_int_equal(row(s, "f499")->self, 300 * (10000 - 2 * 499));
	assert_int_equal(tare_profile_warnings(p, NULL, 0), 0);
	tare_summary_free(s);
	tare_profile_close(p);
}

static void overlap_is_told(void **state)
{
	struct draft d = draft();
	interval(&d, GENERIC, "a", 1, 0, 60);
	interval(&d, GENERIC, "b", 1, 50, 100);
	struct tare_profile *const p = finish(&d);
	struct tare_summary *s;
	assert_int_equal(tare_summarize(p, NULL, &s, NULL), 0);
	struct tare_profile_warning w[2];
	assert_int_equal(tare_profile_warnings(p, w, 2), 1);
	assert_int_equal(w[0].kind, TARE_PROFILE_OVERLAP);
	tare_summary_free(s);
	tare_profile_close(p);
}

/* A line for a stack: its path, or its place in the tree, and its values. */
static int add_line(void *arg, const struct tare_stack *t)
{
	struct buf *const out = arg;
	if (t->path)
		buf_printf(out, "%.*s %lld\n", (int)t->path_len, t->path, (long long)t->self);
	else
		buf_printf(out, "%u %.*s %llu %lld %llu\n", t->depth, (int)t->name_len, t->name,
			   (unsigned long long)t->total, (long long)t->self,
			   (unsigned long long)t->count);
	return 0;
}

static char *lines_of(struct tare_profile *p, const struct tare_stacks_options *o,
		      const struct tare_stacks_visit_options *v)
{
	struct tare_stacks *t;
	struct buf text = { 0 };
	struct tare_stacks_visit_options visit = *v;
	assert_int_equal(tare_stacks_collect(p, o, &t, NULL), 0);
	visit.least *= (double)tare_stacks_info(t)->total;
	assert_int_equal(tare_stacks_visit(t, &visit, add_line, &text, NULL), 0);
	tare_stacks_free(t);
	assert_false(buf_failed(&text));
	return text.data;
}

static void folds_stacks(void **state)
{
	struct draft d = draft();
	interval(&d, QUERY, "e1", 1, 1, 2);
	interval(&d, QUERY, "e1", 1, 3, 4);
	interval(&d, QUERY, "e1", 2, 1, 2);
	interval(&d, QUERY, "e3", 2, 3, 4);
	interval(&d, QUERY, "e2;x", 2, 2, 5);
	struct tare_profile *const p = finish(&d);
	for (int raw = 0; raw < 2; raw++) {
		char *const text = lines_of(p, &TARE_OPTIONS(stacks, .raw_names = raw,
							     .root = raw ? "rustc" : NULL),
					    &TARE_OPTIONS(stacks_visit, .order = TARE_STACKS_BY_PATH));
		assert_string_equal(text, raw
			? "rustc 1\nrustc;e1 3\nrustc;e2;x 2\nrustc;e2;x;e3 1\n"
			: "prog 1\nprog;e1 3\nprog;e2:x 2\nprog;e2:x;e3 1\n");
		free(text);
	}
	tare_profile_close(p);
}

static int stop(void *arg, const struct tare_stack *t)
{
	++*(int *)arg;
	return TARE_E_RANGE;
}

/* Few in memory, the rest in a file: the same, whatever the number of runs. */
static void many_stacks_are_the_same(void **state)
{
	static const char *const names[] = { "a", "a (2)", "ab", "b;c", "d-", "\xc3\xa9" };
	struct draft d = draft();
	uint64_t random = 1, now = 0, start[2][12];
	unsigned name[2][12], depth[2] = { 0 };
	for (unsigned i = 0; i < 6000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		const unsigned r = (unsigned)(random >> 40), t = r >> 12 & 1;
		now += r % 7;
		if (depth[t] < 12 && r % 5 < 3) {
			name[t][depth[t]] = (r >> 4) % 6;
			start[t][depth[t]++] = now;
		} else if (depth[t]) {
			depth[t]--;
			interval(&d, GENERIC, names[name[t][depth[t]]], t, start[t][depth[t]], now);
		}
	}
	struct tare_profile *const p = finish(&d);
	for (int k = 0; k < 12; k++) {
		static const uint32_t most[] = { 13, 100, 700 };
		const struct tare_stacks_visit_options v = TARE_OPTIONS(stacks_visit,
			.order = k < 4 ? TARE_STACKS_BY_PATH : TARE_STACKS_BY_TOTAL,
			.least = k < 8 ? 0 : 0.01, .also_empty = k & 2);
		struct tare_stacks_options o = TARE_OPTIONS(stacks, .by_thread = k & 1,
							    .raw_names = k & 2);
		char *const all = lines_of(p, &o, &v);
		for (int m = 0; m < 3; m++) {
			o.most = most[m];
			char *const parts = lines_of(p, &o, &v);
			assert_string_equal(all, parts);
			free(parts);
		}
		free(all);
	}
	for (int m = 0; m < 2; m++) {
		struct tare_stacks *t;
		int calls = 0;
		assert_int_equal(tare_stacks_collect(p, &TARE_OPTIONS(stacks, .most = m ? 100 : 0), &t,
						     NULL), 0);
		assert_int_equal(tare_stacks_info(t)->in_memory, !m);
		assert_int_equal(tare_stacks_visit(t, NULL, stop, &calls, NULL), TARE_E_RANGE);
		assert_int_equal(calls, 1);
		tare_stacks_free(t);
	}
	tare_profile_close(p);
}

/* More stacks inside one than are in its list, and than are sorted by insertion. */
static void many_stacks_inside_one(void **state)
{
	enum { NAMES = 60, ROUNDS = 2 };
	struct draft d = draft();
	struct buf rows = { 0 };
	uint64_t now = 0;
	for (unsigned i = 0; i < ROUNDS * NAMES; i++) {
		char name[16];
		const uint64_t start = now;
		snprintf(name, sizeof(name), "step%u", i % NAMES);
		now += 100 + i % NAMES;
		interval(&d, GENERIC, "inner", 1, start + 2, start + 5);
		interval(&d, QUERY, name, 1, start, now);
	}
	buf_printf(&rows, "0 prog %llu 0 1\n", (unsigned long long)now);
	for (unsigned i = NAMES; i-- > 0;)
		buf_printf(&rows, "1 step%u %u %u %u\n2 inner %u %u %u\n", i, ROUNDS * (100 + i),
			   ROUNDS * (97 + i), ROUNDS, ROUNDS * 3, ROUNDS * 3, ROUNDS);
	assert_false(buf_failed(&rows));
	struct tare_profile *const p = finish(&d);
	static const uint32_t most[] = { 0, 13, 40, 100 };
	for (size_t m = 0; m < sizeof(most) / sizeof(most[0]); m++) {
		char *const text = lines_of(p, &TARE_OPTIONS(stacks, .most = most[m]),
					    &TARE_OPTIONS(stacks_visit, .order = TARE_STACKS_BY_TOTAL));
		assert_string_equal(text, rows.data);
		free(text);
	}
	buf_free(&rows);
	tare_profile_close(p);
}

/* n intervals of "step", each holding an "inner"; `skip`: one is left out; the k-th
 * takes extra[k] more. */
static struct tare_profile *steps(unsigned n, unsigned skip, uint64_t late, unsigned late_at)
{
	struct draft d = draft();
	uint64_t now = 0;
	for (unsigned i = 0; i < n; i++) {
		char name[16];
		snprintf(name, sizeof(name), "step%u", i % 50);
		const uint64_t start = now;
		now += 10 + (i == late_at ? late : 0);
		if (i != skip) {
			interval(&d, GENERIC, "inner", 1, start + 2, now - 1);
			interval(&d, QUERY, name, 1, start, now);
		}
		now += 5;
	}
	return finish(&d);
}

/* A name that cannot be read is an error, whatever can be read near it. */
static void a_bad_name_is_an_error(void **state)
{
	static const uint64_t beyond = 100000003ull + (1ull << 32);
	for (int bad_kind = 0; bad_kind < 2; bad_kind++) {
		struct draft d = draft();
		const struct tare_profile_event bad = {
			.type = TARE_PROFILE_INTERVAL, .thread = 1, .start = 2, .end = 3,
			.kind = bad_kind ? beyond : d.kind[QUERY],
			.id = bad_kind ? tare_profile_string(d.w, "name", 4) : beyond };
		interval(&d, GENERIC, "before", 1, 0, 1);
		assert_int_equal(tare_profile_put(d.w, &bad), 0);
		interval(&d, QUERY, "after", 1, 4, 5);
		struct tare_profile *const p = finish(&d), *runs[2] = { p, p };
		struct tare_summary *sum;
		struct tare_stacks *stacks;
		struct tare_aggregate *a;
		for (int by = TARE_BY_LABEL; by <= TARE_BY_ARGS; by += TARE_BY_ARGS - TARE_BY_LABEL)
			assert_int_equal(tare_summarize(p, &TARE_OPTIONS(summarize, .by = by), &sum, NULL),
					 TARE_E_FORMAT);
		if (!bad_kind)
			assert_int_equal(tare_stacks_collect(p, NULL, &stacks, NULL), TARE_E_FORMAT);
		assert_int_equal(tare_aggregate(runs, 2, NULL, &a, NULL), TARE_E_FORMAT);
		tare_profile_close(p);
	}
}

static void finds_what_varies(void **state)
{
	struct tare_profile *runs[3] = { steps(1000, 1000, 0, 0), steps(1000, 1000, 6, 700),
					 steps(1000, 1000, 3, 700) };
	struct tare_aggregate *a;
	assert_int_equal(tare_aggregate(runs, 3, NULL, &a, NULL), 0);
	assert_int_equal(a->n_intervals, 4 * 1000 - 1);
	assert_int_equal(a->n_regions, 0);
	assert_int_equal(a->histogram[0], 4 * 1000 - 2);
	assert_int_equal(a->largest_range.n, 2);
	assert_int_equal(a->largest_range.list[1].value, 6);
	assert_int_equal(a->largest_range.list[1].count, 1);
	assert_int_equal(a->smallest_range.list[0].count, 4 * 1000 - 2);
	assert_string_equal(a->macro[0].name, "inner");
	assert_int_equal(a->macro[0].max - a->macro[0].min, 6);
	assert_int_equal(a->macro[0].min, 7 * 1000);
	tare_aggregate_free(a);
	for (int i = 0; i < 3; i++)
		tare_profile_close(runs[i]);
}

static void lines_up_what_differs(void **state)
{
	struct tare_profile *runs[3] = { steps(20000, 20000, 0, 0), steps(20000, 7777, 0, 0),
					 steps(20000, 20000, 4, 15000) };
	struct tare_aggregate *a;
	struct tare_why why;
	assert_int_equal(tare_aggregate(runs, 3, &TARE_OPTIONS(aggregate, .identical = true),
					&a, &why), TARE_E_MISMATCH);
	assert_int_equal(tare_aggregate(runs, 3, NULL, &a, NULL), 0);
	assert_int_equal(a->n_regions, 1);
	/* the four points of the step and one interval over its place are missing */
	assert_int_equal(a->n_intervals, 4 * 20000 - 1 - 5);
	assert_int_equal(a->n_skipped, 1);
	assert_int_equal(a->n_differences, 2);
	assert_string_equal(a->differences[0].name, "`inner()`");
	assert_int_equal(a->differences[0].counts[0], 1);
	assert_int_equal(a->differences[0].counts[1], 0);
	assert_int_equal(a->differences[0].counts[2], 1);
	assert_string_equal(a->differences[1].name, "`step27()`");
	/* the one that varies is found all the same */
	assert_int_equal(a->largest_range.list[a->largest_range.n - 1].value, 4);
	tare_aggregate_free(a);
	for (int i = 0; i < 3; i++)
		tare_profile_close(runs[i]);
}

/* A block of thousands of events that one run lacks: the rest is still compared. */
static void finds_the_way_back(void **state)
{
	struct draft d = draft();
	uint64_t now = 0;
	for (unsigned i = 0; i < 9000; i++) {
		char name[32];
		if (i == 4000)
			for (unsigned k = 0; k < 30000; k++, now += 2) {
				snprintf(name, sizeof(name), "extra%u", k % 13);
				interval(&d, QUERY, name, 1, now, now + 1);
			}
		snprintf(name, sizeof(name), "s%u", i);
		interval(&d, QUERY, name, 1, now, now + 3);
		now += 5;
	}
	struct tare_profile *const longer = finish(&d);
	d = draft();
	now = 0;
	for (unsigned i = 0; i < 9000; i++, now += 5) {
		char name[32];
		snprintf(name, sizeof(name), "s%u", i);
		interval(&d, QUERY, name, 1, now, now + 3);
	}
	struct tare_profile *const shorter = finish(&d);
	for (int order = 0; order < 2; order++) {
		struct tare_profile *runs[2] = { order ? longer : shorter, order ? shorter : longer };
		struct tare_aggregate *a;
		assert_int_equal(tare_aggregate(runs, 2, NULL, &a, NULL),
				 0);
		assert_int_equal(a->n_regions, 1);
		assert_int_equal(a->n_intervals, 2 * 9000 - 1 - 1);
		assert_int_equal(a->n_differences, 13);
		tare_aggregate_free(a);
	}
	tare_profile_close(longer);
	tare_profile_close(shorter);
}

static void nothing_in_common(void **state)
{
	struct draft d = draft();
	interval(&d, QUERY, "a", 1, 0, 1);
	struct tare_profile *const x = finish(&d);
	d = draft();
	interval(&d, QUERY, "b", 5, 0, 1);
	struct tare_profile *const y = finish(&d);
	d = draft();
	struct tare_profile *const none = finish(&d);
	struct tare_profile *runs[3] = { x, y, none };
	struct tare_aggregate *a;
	assert_int_equal(tare_aggregate(runs, 3, NULL, &a, NULL), 0);
	assert_int_equal(a->n_intervals, 0);
	assert_int_equal(a->n_differences, 2);
	tare_aggregate_free(a);
	tare_profile_close(x);
	tare_profile_close(y);
	tare_profile_close(none);
}

static void describes_places(void **state)
{
	struct tare_profile *runs[2] = { steps(100, 100, 0, 5), steps(100, 100, 4, 5) };
	struct tare_aggregate *a;
	struct tare_place *place;
	assert_int_equal(tare_aggregate(runs, 2, NULL, &a, NULL), 0);
	const struct tare_extreme *const x = &a->largest_range.list[a->largest_range.n - 1];
	assert_int_equal(x->count, 1);
	assert_int_equal(tare_aggregate_place(a, x, &place, NULL), 0);
	assert_int_equal(place->kind, TARE_PLACE_EVENT);
	assert_string_equal(place->from, "`inner()`");
	tare_place_free(place);
	tare_aggregate_free(a);
	tare_profile_close(runs[0]);
	tare_profile_close(runs[1]);
}

static void streams_events(void **state)
{
	struct draft d = draft();
	interval(&d, QUERY, "first\x1e" "one\x1e" "two", 1, 10, 20);
	put(&d, TARE_PROFILE_INSTANT, HIT, "second", 2, 30, 0);
	put(&d, TARE_PROFILE_INTEGER, ARTIFACT, "third", 1, 40, 0);
	struct tare_profile *const p = finish(&d);
	struct tare_stream *s;
	struct tare_stream_event e;
	assert_int_equal(tare_stream_open(p, NULL, &s, NULL), 0);
	assert_int_equal(tare_stream_next(s, &e, NULL), 1);
	assert_int_equal(e.type, TARE_PROFILE_INTERVAL);
	assert_int_equal(e.start, 10);
	assert_int_equal(e.end, 20);
	assert_int_equal(e.n_args, 2);
	assert_int_equal(e.args_len, 7);
	assert_memory_equal(e.label, "first", e.label_len);
	assert_int_equal(tare_stream_next(s, &e, NULL), 1);
	assert_int_equal(e.type, TARE_PROFILE_INSTANT);
	assert_int_equal(e.number, 1);
	assert_int_equal(tare_stream_next(s, &e, NULL), 1);
	assert_int_equal(e.start, 40);
	assert_int_equal(tare_stream_next(s, &e, NULL), 0);
	assert_int_equal(tare_stream_next(s, &e, NULL), 0);
	tare_stream_close(s);
	assert_int_equal(tare_stream_open(p, &TARE_OPTIONS(stream, .label = "sec"), &s, NULL), 0);
	assert_int_equal(tare_stream_next(s, &e, NULL), 1);
	assert_int_equal(e.thread, 2);
	assert_int_equal(tare_stream_next(s, &e, NULL), 0);
	tare_stream_close(s);
	tare_profile_close(p);
}

/* Takes so many bytes, and then there is no space left. */
static int take(void *arg, const void *bytes, size_t n)
{
	size_t *const left = arg;
	if (n > *left)
		return ENOSPC;
	*left -= n;
	return 0;
}

static void exports_return_the_error_of_the_output(void **state)
{
	struct tare_profile *p = steps(20000, 20000, 0, 0);
	size_t left = 0;
	const struct tare_output out = { take, &left };
	for (int speedscope = 0; speedscope < 2; speedscope++)
		for (unsigned room = 0; room < 2; room++) {
			struct tare_why why = { 0 };
			left = room ? SIZE_MAX : 300000;
			const int err = speedscope ? tare_export_speedscope(p, NULL, &out, &why)
						   : tare_export_chrome(&p, 1, NULL, &out, &why);
			assert_int_equal(err, room ? 0 : TARE_E_NOSPC);
			assert_int_equal(why.sys_errno, room ? 0 : ENOSPC);
		}
	tare_profile_close(p);
}

/* Of an older or newer program. */
static void options_may_have_another_size(void **state)
{
	struct { struct tare_summarize_options o; uint64_t more; } newer = {
		.o = TARE_OPTIONS(summarize, .by = TARE_BY_KIND), .more = 0 };
	struct tare_profile *const p = steps(10, 10, 0, 0);
	struct tare_summary *s;
	struct tare_why why;
	newer.o.size = sizeof(newer);
	assert_int_equal(tare_summarize(p, &newer.o, &s, &why), 0);
	assert_int_equal(s->n_rows, 2);
	tare_summary_free(s);
	newer.more = 1;
	assert_int_equal(tare_summarize(p, &newer.o, &s, &why), TARE_E_OPTION_UNKNOWN);
	assert_null(s);
	newer.o.size = offsetof(struct tare_summarize_options, progress);	/* `by` is there */
	newer.o.progress.tell = (void (*)(void *, uint64_t, uint64_t))1;	/* and this is not */
	assert_int_equal(tare_summarize(p, &newer.o, &s, &why), 0);
	assert_int_equal(s->n_rows, 2);
	tare_summary_free(s);
	newer.o.size = 0;
	assert_int_equal(tare_summarize(p, &newer.o, &s, NULL), TARE_E_INVALID);
	tare_profile_close(p);
}

static struct tare_diff *difference(const struct tare_summary *const *s, size_t n, size_t m)
{
	struct tare_diff *d;
	assert_int_equal(tare_diff(s, n, s + n, m, NULL, &d, NULL), 0);
	return d;
}

/* As `tare compare` judges: noise.h. */
static void judges_groups(void **state)
{
	static const uint64_t late[] = { 0, 4, 3, 50, 50, 51, 52, 49 };
	enum { N = sizeof(late) / sizeof(late[0]) };
	struct tare_profile *p[N];
	struct tare_summary *s[N];
	for (int i = 0; i < N; i++) {
		p[i] = steps(100, 100, late[i], 5);
		assert_int_equal(tare_summarize(p[i], NULL, &s[i], NULL), 0);
	}
	const struct tare_summary *const near[] = { s[0], s[1], s[2], s[1] },
		*const far[] = { s[0], s[1], s[3], s[4] },
		*const more[] = { s[0], s[1], s[2], s[0], s[1], s[3], s[4], s[5], s[6], s[7] },
		*const one[] = { s[0], s[3] }, *const equal[] = { s[3], s[4], s[4], s[3] };
	struct tare_diff *d = difference(near, 2, 2);
	for (size_t i = 0; i < d->n_rows; i++)
		assert_true(d->rows[i].verdict <= TARE_DIFF_WITHIN);
	assert_int_equal(d->total.verdict, TARE_DIFF_WITHIN);
	tare_diff_free(d);
	/* The ranges lie apart, which 2 and 2 runs do once in three times. */
	d = difference(far, 2, 2);
	assert_string_equal(d->rows[0].name, "inner");
	assert_int_equal(d->rows[0].verdict, TARE_DIFF_TOO_FEW);
	assert_int_equal(d->rows[0].gap, 46);
	assert_int_equal(d->rows[0].self, 48);
	assert_int_equal(d->total.verdict, TARE_DIFF_TOO_FEW);
	tare_diff_free(d);
	d = difference(more, 5, 5);
	assert_int_equal(d->rows[0].verdict, TARE_DIFF_BEYOND);
	tare_diff_free(d);
	d = difference(one, 1, 1);
	assert_int_equal(d->rows[0].verdict, TARE_DIFF_ONE_EACH);
	tare_diff_free(d);
	d = difference(equal, 2, 2);
	assert_int_equal(d->total.verdict, TARE_DIFF_SAME);
	tare_diff_free(d);
	for (int i = 0; i < N; i++) {
		tare_summary_free(s[i]);
		tare_profile_close(p[i]);
	}
}

static void other_counters_are_an_option(void **state)
{
	struct { struct tare_diff_options o; uint64_t more; } newer = {
		.o = TARE_OPTIONS(diff, .any_counter = true), .more = 1 };
	struct tare_profile *const p = steps(10, 10, 0, 0);
	struct tare_summary *s;
	struct tare_diff *d;
	assert_int_equal(tare_summarize(p, NULL, &s, NULL), 0);
	struct tare_profile_info info = *s->info;
	struct tare_summary renamed = *s;
	info.counter = "another";
	renamed.info = &info;
	const struct tare_summary *const base[] = { s }, *const change[] = { &renamed };
	assert_int_equal(tare_diff(base, 1, change, 1, NULL, &d, NULL), TARE_E_MISMATCH);
	assert_null(d);
	assert_int_equal(tare_diff(base, 1, change, 1, &newer.o, &d, NULL), 0);
	assert_int_equal(d->total.verdict, TARE_DIFF_SAME);
	tare_diff_free(d);
	newer.o.size = sizeof(newer);
	assert_int_equal(tare_diff(base, 1, change, 1, &newer.o, &d, NULL), TARE_E_OPTION_UNKNOWN);
	assert_null(d);
	tare_summary_free(s);
	tare_profile_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_counted_its_way),
		cmocka_unit_test(grows),
		cmocka_unit_test(overlap_is_told),
		cmocka_unit_test(folds_stacks),
		cmocka_unit_test(many_stacks_are_the_same),
		cmocka_unit_test(many_stacks_inside_one),
		cmocka_unit_test(a_bad_name_is_an_error),
		cmocka_unit_test(finds_what_varies),
		cmocka_unit_test(lines_up_what_differs),
		cmocka_unit_test(finds_the_way_back),
		cmocka_unit_test(nothing_in_common),
		cmocka_unit_test(describes_places),
		cmocka_unit_test(streams_events),
		cmocka_unit_test(exports_return_the_error_of_the_output),
		cmocka_unit_test(options_may_have_another_size),
		cmocka_unit_test(judges_groups),
		cmocka_unit_test(other_counters_are_an_option),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
