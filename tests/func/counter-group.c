/* Groups of software events of the own thread, with the real kernel: one snapshot,
 * in which all faults are the minor ones plus the major ones, always.
 */
#include "func.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tare/tare.h>
#include <unistd.h>

static struct tare_events *list;
static const struct tare_event *events[8];
static size_t n;

static void touch(int pages)
{
	char *const p = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED, "mmap");
	madvise(p, (size_t)pages * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < pages; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, (size_t)pages * 4096);
}

static struct tare_group *open_group(void)
{
	struct tare_group *g;
	struct tare_why why;
	const int err = tare_group_open(events, n, NULL, &g, &why);
	if (err == TARE_E_PARANOID || err == TARE_E_SECCOMP || err == TARE_E_NO_PERF)
		SKIP("no counters here: %s", why.what);
	CHECK(err == 0, "%s", why.what);
	return g;
}

static bool touched(struct tare_group *g, int pages, uint64_t *a, uint64_t *b)
{
	CHECK(tare_group_read(g, a) == 0, "read");
	touch(pages);
	CHECK(tare_group_read(g, b) == 0, "read");
	return IS_COUNT(b[0] - a[0], (uint64_t)pages);
}

static void counts_together(void)
{
	struct tare_group *const g = open_group();
	uint64_t a[8], b[8];
	const char *reason;
	CHECK(tare_group_path(g, &reason) == TARE_PATH_READ && *reason, "path");
	CHECK(tare_group_read(g, a) == 0, "read");
	for (int i = 0; i < 50; i++) {
		CHECK(WHEN_STILL(touched(g, 100 + i, a, b)), "%" PRIu64, b[0] - a[0]);
		CHECK(b[0] == b[1] + b[2], "%" PRIu64 " = %" PRIu64 " + %" PRIu64, b[0], b[1], b[2]);
		CHECK(b[3] > a[3], "task-clock stands still");
	}
	struct tare_sample s[8];
	CHECK(WHEN_STILL(tare_group_read(g, b) == 0 && tare_group_sample(g, s) == 0 &&
			 IS_COUNT(s[0].value, b[0])), "sample");
	CHECK(!s[0].scaled && s[0].provenance == TARE_PROV_RAW, "sample");
	CHECK(WHEN_STILL(tare_group_reset(g) == 0 && tare_group_read(g, a) == 0 &&
			 (SANITIZED || a[0] == 0)), "reset");
	CHECK(tare_group_status(g) == 0, "status");
	tare_group_close(g);
}

static void *another(void *g)
{
	uint64_t v[8];
	CHECK(tare_group_read(g, v) == TARE_E_WRONG_THREAD, "another's group");
	return NULL;
}

static void belongs_to_its_thread(void)
{
	struct tare_group *const g = open_group();
	pthread_t t;
	pthread_create(&t, NULL, another, g);
	pthread_join(t, NULL);
	CHECK(tare_group_status(g) == TARE_STATUS_WRONG_THREAD, "status");
	const pid_t pid = fork();
	if (pid == 0) {
		uint64_t v[8];
		struct tare_sample s[8];
		CHECK(tare_group_status(g) & TARE_STATUS_FORKED, "status");
		CHECK(tare_group_read(g, v) == TARE_E_FORKED, "read");
		CHECK(tare_group_sample(g, s) == TARE_E_FORKED, "sample");
		CHECK(tare_group_reset(g) == TARE_E_FORKED, "reset");
		tare_group_close(g);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	CHECK(status == 0, "child %#x", status);
	uint64_t v[8];
	CHECK(tare_group_read(g, v) == 0, "the parent's goes on");
	tare_group_close(g);
}

int main(void)
{
	struct tare_why why;
	CHECK(tare_events_parse("page-faults:u,minor-faults:u,major-faults:u,task-clock:u", NULL,
				&list, &why) == 0, "%s", why.what);
	n = tare_events_count(list);
	for (size_t i = 0; i < n; i++)
		events[i] = tare_events_at(list, i);
	counts_together();
	belongs_to_its_thread();
	tare_events_free(list);
	return 0;
}
