/* One profile, analysed by several threads at once: each gets what one thread alone gets. */
#include "func.h"

#include <tare/analysis.h>

#include <pthread.h>
#include <string.h>

#define THREADS 4

static struct tare_profile *shared;
static char path[4096];

struct found {
	uint64_t total, intervals, points;
	size_t rows;
	char first[64];
};

static void summarize(struct tare_profile *p, struct found *f)
{
	struct tare_summary *s;
	struct tare_why why = { 0 };
	CHECK(tare_summarize(p, NULL, &s, &why) == 0, "%s", why.what);
	f->total = s->total;
	f->intervals = s->n_intervals;
	f->rows = s->n_rows;
	snprintf(f->first, sizeof(f->first), "%s", s->rows[0].name);
	tare_summary_free(s);
}

static void line_up(struct tare_profile *p, struct tare_profile *q, struct found *f)
{
	struct tare_aggregate *a;
	struct tare_why why = { 0 };
	struct tare_profile *runs[] = { p, q };
	CHECK(tare_aggregate(runs, 2, NULL, &a, &why) == 0, "%s", why.what);
	f->points = a->n_intervals;
	tare_aggregate_free(a);
}

/* The profile that all share, and one of this thread's own. */
static void analyse(struct found *f)
{
	struct tare_profile *own;
	struct tare_stacks *t;
	struct tare_why why = { 0 };
	CHECK(tare_profile_open(path, &own, &why) == 0, "%s", why.what);
	summarize(shared, f);
	line_up(shared, own, f);
	CHECK(tare_stacks_collect(shared, NULL, &t, &why) == 0, "%s", why.what);
	tare_stacks_free(t);
	tare_profile_close(own);
}

static void *thread(void *arg)
{
	for (int i = 0; i < 5; i++)
		analyse(arg);
	return NULL;
}

int main(void)
{
	struct found want = { 0 }, got[THREADS];
	struct tare_why why = { 0 };
	pthread_t t[THREADS];
	CHECK(getenv("TARE_FIXTURES"), "TARE_FIXTURES is not set");
	snprintf(path, sizeof(path), "%s/profile/rustc-all.mm_profdata", getenv("TARE_FIXTURES"));
	CHECK(tare_profile_open(path, &shared, &why) == 0, "%s", why.what);
	analyse(&want);
	CHECK(want.rows > 10 && want.intervals > 100 && want.points > 100, "%zu rows", want.rows);
	memset(got, 0, sizeof(got));
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, thread, &got[i]) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i++)
		CHECK(memcmp(&got[i], &want, sizeof(want)) == 0, "thread %d found other numbers", i);
	tare_profile_close(shared);
	return 0;
}
