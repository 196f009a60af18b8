/* Writing a page is in no interval: of thousands of equal intervals all count the same, also
 * those in which a page was written; and one event more or less moves nothing. Inside
 * `tare run`, where counts are exact: record-flush COUNTER */
#include "func.h"

#include <tare/profile.h>
#include <tare/record.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTER 4000u
#define INNER 9u

static struct tare_recorder *rec;
static uint64_t kind, label[3];

static __attribute__((noinline)) void work(struct tare_record_thread *t, bool extra)
{
	struct tare_interval i, j;
	if (extra) {
		tare_record_begin(t, &i, kind, label[2]);
		tare_record_end(t, &i);
	}
	for (unsigned o = 0; o < OUTER; o++) {
		tare_record_begin(t, &i, kind, label[0]);
		for (unsigned k = 0; k < INNER; k++) {
			tare_record_begin(t, &j, kind, label[1]);
			__asm__ volatile("" :: "r"(&j) : "memory");
			tare_record_end(t, &j);
		}
		tare_record_end(t, &i);
	}
}

/* The second value of the same label is the one all later ones must have: the loop's first
 * round may differ. */
static void check_equal(const char *path, bool extra)
{
	struct tare_profile *p;
	struct tare_why why = { 0 };
	CHECK(tare_profile_open(path, &p, &why) == 0, "%s", why.what);
	const struct tare_profile_info *const info = tare_profile_info(p);
	CHECK(info->n_events == OUTER * (INNER + 1) + extra, "%llu events",
	      (unsigned long long)info->n_events);
	CHECK(info->pages == info->n_events / 8191, "%llu pages", (unsigned long long)info->pages);
	CHECK(info->page_cost / info->pages > 100, "%llu instructions",
	      (unsigned long long)info->page_cost);
	struct tare_profile_cursor *const c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	struct tare_profile_event e;
	uint64_t want[3] = { 0 }, seen[3] = { 0 }, n = 0;
	while (tare_profile_next(c, &e)) {
		char text[32];
		tare_profile_text(p, e.id, text, sizeof(text), &why);
		const int which = strcmp(text, "outer") == 0 ? 0 : strcmp(text, "inner") == 0 ? 1 : 2;
		if (++seen[which] == 2)
			want[which] = e.end - e.start;
		CHECK(seen[which] < 3 || e.end - e.start == want[which],
		      "event %llu, %s: %llu, all others %llu", (unsigned long long)n, text,
		      (unsigned long long)(e.end - e.start), (unsigned long long)want[which]);
		n++;
	}
	tare_profile_cursor_free(c);
	tare_profile_close(p);
}

static void run(const char *dir, const char *counter, bool extra)
{
	struct tare_why why = { 0 };
	CHECK(tare_record_start(&TARE_OPTIONS(record, .counter = counter, .dir = dir), &rec,
				&why) == 0, "%s", why.what);
	kind = tare_record_kind(rec, "GenericActivity");
	label[0] = tare_record_string(rec, "outer");
	label[1] = tare_record_string(rec, "inner");
	label[2] = tare_record_string(rec, "extra");
	work(tare_record_here(rec), extra);
	struct tare_record_state state;
	tare_record_state(rec, &state);
	CHECK(state.dropped == 0 && state.clamped == 0, "dropped or clamped");
	char path[4096];
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	CHECK(tare_record_stop(rec, &why) == 0, "%s", why.what);
	check_equal(path, extra);
	unlink(path);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/tare-flush-XXXXXX";
	CHECK(mkdtemp(dir), "mkdtemp");
	run(dir, argv[1], false);
	run(dir, argv[1], true);
	rmdir(dir);
	return 0;
}
