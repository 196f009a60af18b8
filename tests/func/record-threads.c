/* The recorder from several threads, over a fork, with a full disk, killed: what it
 * promises is in the file. */
#include "func.h"

#include <tare/profile.h>
#include <tare/record.h>

#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static struct tare_recorder *rec;
static uint64_t kind, outer_id, inner_id;

#define HOLDS(c) CHECK(c, "does not hold")

static void start(const struct tare_record_options *o)
{
	struct tare_why why = { 0 };
	if (tare_record_start(o, &rec, &why) < 0) {
		fprintf(stderr, "start: %s\n", why.what);
		exit(1);
	}
	kind = tare_record_kind(rec, "GenericActivity");
	outer_id = tare_record_string(rec, "outer");
	inner_id = tare_record_string(rec, "inner");
}

static void *busy(void *arg)
{
	struct tare_record_thread *const t = tare_record_here(rec);
	const int n = *(const int *)arg;
	tare_record_name(t, n > 10000 ? "long" : "short");
	for (int k = 0; k < n; k++) {
		struct tare_interval o, i;
		tare_record_begin(t, &o, kind, outer_id);
		tare_record_begin(t, &i, kind, inner_id);
		tare_record_end(t, &i);
		tare_record_end(t, &o);
	}
	return NULL;
}

/* Counts the intervals per thread and checks their order. */
static void check_file(const char *path, uint64_t want[8], bool complete)
{
	struct tare_profile *p;
	struct tare_why why = { 0 };
	uint64_t n[8] = { 0 }, end[8] = { 0 };
	if (tare_profile_open(path, &p, &why) < 0) {
		fprintf(stderr, "%s\n", why.what);
		exit(1);
	}
	HOLDS(tare_profile_info(p)->complete == complete);
	struct tare_profile_cursor *const c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	struct tare_profile_event e;
	while (tare_profile_next(c, &e)) {
		char text[32];
		HOLDS(e.thread < 8);
		tare_profile_text(p, e.kind, text, sizeof(text), &why);
		if (strcmp(text, "Recorder") == 0) {	/* a page that was written */
			HOLDS(e.type == TARE_PROFILE_INTERVAL && e.start >= end[e.thread]);
			end[e.thread] = e.end;
			continue;
		}
		HOLDS(e.type == TARE_PROFILE_INTERVAL && e.start <= e.end);
		HOLDS(e.end >= end[e.thread]);
		HOLDS(tare_profile_text(p, e.id, text, sizeof(text), &why) == 5);
		HOLDS(strcmp(text, n[e.thread] % 2 ? "outer" : "inner") == 0);
		end[e.thread] = e.end;
		n[e.thread]++;
	}
	for (int i = 0; want && i < 8; i++)
		HOLDS(n[i] == want[i]);
	tare_profile_cursor_free(c);
	tare_profile_close(p);
}

static void three_threads(void)
{
	int n[3] = { 5, 20000, 4096 };
	pthread_t t[3];
	char path[4096];
	start(&TARE_OPTIONS(record, .dir = dir, .name = "three"));
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	HOLDS(strstr(path, "/three-") && strlen(strrchr(path, '-')) == strlen("-1234567.mm_profdata"));
	busy(&n[0]);
	for (int i = 1; i < 3; i++) {
		HOLDS(pthread_create(&t[i], NULL, busy, &n[i]) == 0);
		pthread_join(t[i], NULL);
	}
	HOLDS(tare_record_stop(rec, NULL) == 0);
	check_file(path, (uint64_t[8]){ 0, 10, 40000, 8192 }, true);
	struct tare_profile *p;
	HOLDS(tare_profile_open(path, &p, NULL) == 0);
	HOLDS(tare_profile_info(p)->n_threads == 3);
	HOLDS(strcmp(tare_profile_info(p)->threads[1].name, "long") == 0);
	tare_profile_close(p);
}

static void misnested_is_counted(void)
{
	struct tare_interval a, b;
	struct tare_record_state state;
	char path[4096];
	start(&TARE_OPTIONS(record, .dir = dir, .name = "nest"));
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	struct tare_record_thread *const t = tare_record_here(rec);
	tare_record_begin(t, &a, kind, outer_id);
	tare_record_begin(t, &b, kind, inner_id);
	tare_record_end(t, &a);		/* too early: dropped */
	tare_record_end(t, &b);		/* its parent is gone: dropped */
	tare_record_end(t, &b);		/* again: nothing */
	int one = 1;
	busy(&one);
	tare_record_state(rec, &state);
	HOLDS(state.misnested == 2 && state.dropped == 2 && state.error == 0);
	HOLDS(tare_record_stop(rec, NULL) == 0);
	check_file(path, (uint64_t[8]){ 0, 2 }, true);
}

/* An interval that never began: its end is nothing, and spoils nothing. */
static void never_begun(const char *counter)
{
	struct tare_interval zero = { 0 }, a;
	struct tare_record_state state;
	char path[4096];
	start(&TARE_OPTIONS(record, .dir = dir, .name = "zero", .counter = counter));
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	struct tare_record_thread *const t = tare_record_here(rec);
	const uint32_t depth = t->depth;
	tare_record_end(t, &zero);
	HOLDS(t->depth == depth);
	tare_record_begin(t, &a, kind, inner_id);
	tare_record_end(t, &zero);
	tare_record_end(t, &a);
	tare_record_end(t, &a);
	tare_record_end(t, &zero);
	HOLDS(t->depth == depth);
	tare_record_state(rec, &state);
	HOLDS(state.misnested == 0 && state.dropped == 0 && state.error == 0);
	HOLDS(tare_record_stop(rec, NULL) == 0);
	check_file(path, (uint64_t[8]){ 0, 1 }, true);
}

static void filter_and_nothing(void)
{
	char path[4096];
	int n = 3;
	start(&TARE_OPTIONS(record, .dir = dir, .name = "filter", .kinds = "Query,Other"));
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	HOLDS(kind == 0);
	busy(&n);
	HOLDS(tare_record_kind(rec, "Other") != 0 && tare_record_kind(rec, "Oth") == 0);
	HOLDS(tare_record_stop(rec, NULL) == 0);
	check_file(path, (uint64_t[8]){ 0 }, true);
	start(&TARE_OPTIONS(record, .only_when_asked = true));
	HOLDS(!rec && kind == 0);
	busy(&n);
	HOLDS(tare_record_stop(rec, NULL) == 0);
}

/* The child's records go nowhere, its exit leaves the file alone. */
static void fork_leaves_the_file(void)
{
	char path[4096];
	int n = 10000;
	start(&TARE_OPTIONS(record, .dir = dir, .name = "fork"));
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	busy(&n);
	const pid_t pid = fork();
	if (pid == 0) {
		busy(&n);
		exit(tare_record_stop(rec, NULL));
	}
	int status;
	waitpid(pid, &status, 0);
	HOLDS(status == 0);
	HOLDS(tare_record_stop(rec, NULL) == 0);
	check_file(path, (uint64_t[8]){ 0, 20000 }, true);
}

static void child_records_for_itself(void)
{
	char path[4096];
	int n = 7;
	start(&TARE_OPTIONS(record, .dir = dir, .name = "own"));
	const pid_t pid = fork();
	if (pid == 0) {
		tare_record_stop(rec, NULL);
		start(&TARE_OPTIONS(record, .dir = dir, .name = "own"));
		snprintf(path, sizeof(path), "%s", tare_record_path(rec));
		busy(&n);
		HOLDS(tare_record_stop(rec, NULL) == 0);
		check_file(path, (uint64_t[8]){ 0, 14 }, true);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	HOLDS(status == 0);
	HOLDS(tare_record_stop(rec, NULL) == 0);
}

/* exit() without stop finishes the file; kill -9 loses the last page only. */
static void exit_and_kill(void)
{
	for (int killed = 0; killed < 2; killed++) {
		int fd[2], n = 10000;
		char path[4096];
		HOLDS(pipe(fd) == 0);
		const pid_t pid = fork();
		if (pid == 0) {
			start(&TARE_OPTIONS(record, .dir = dir, .name = killed ? "kill" : "exit"));
			busy(&n);
			HOLDS(write(fd[1], tare_record_path(rec), sizeof(path)) == sizeof(path));
			if (killed)
				raise(SIGKILL);
			exit(0);
		}
		HOLDS(read(fd[0], path, sizeof(path)) == sizeof(path));
		waitpid(pid, NULL, 0);
		/* 20,000 records: two pages of 8,191 were written, and the second has a
		 * record of the first's writing */
		check_file(path, (uint64_t[8]){ 0, killed ? 2 * 8191 - 1 : 20000 }, !killed);
		close(fd[0]);
		close(fd[1]);
	}
}

static void full_disk(void)
{
	struct rlimit old, small;
	char path[4096];
	int n = 50000;
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 600000;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	start(&TARE_OPTIONS(record, .dir = dir, .name = "full"));
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	busy(&n);
	struct tare_record_state state;
	tare_record_state(rec, &state);
	HOLDS(state.error == TARE_E_NOSPC);
	struct tare_why why = { 0 };
	HOLDS(tare_record_stop(rec, &why) == TARE_E_NOSPC && strstr(why.what, path));
	setrlimit(RLIMIT_FSIZE, &old);
	check_file(path, (uint64_t[8]){ 0, 2 * 8191 - 1 }, false);
}

/* Another recorder, or another program in this process, must not take the place of the
 * first one's file. */
static void same_name(void)
{
	struct tare_recorder *first;
	int n = 2, m = 3;
	char one[4096], two[4096];
	start(&TARE_OPTIONS(record, .dir = dir, .name = "same"));
	first = rec;
	busy(&n);
	start(&TARE_OPTIONS(record, .dir = dir, .name = "same"));
	busy(&m);
	snprintf(one, sizeof(one), "%s", tare_record_path(first));
	snprintf(two, sizeof(two), "%s", tare_record_path(rec));
	HOLDS(strcmp(one, two) != 0 && strstr(two, "-2.mm_profdata"));
	HOLDS(tare_record_stop(first, NULL) == 0 && tare_record_stop(rec, NULL) == 0);
	check_file(one, (uint64_t[8]){ 0, 4 }, true);
	check_file(two, (uint64_t[8]){ 0, 6 }, true);
}

static void *one_interval(void *arg)
{
	int n = 1;
	return busy(&n);
}

static size_t pages_mapped(void)
{
	size_t n = 0;
	FILE *const f = fopen("/proc/self/statm", "r");
	HOLDS(f && fscanf(f, "%zu", &n) == 1);
	fclose(f);
	return n;
}

/* The pages of threads that have ended go back: 1,000 threads, not 1,000 pages of 256 KiB. */
static void many_threads(void)
{
	char path[4096];
	start(&TARE_OPTIONS(record, .dir = dir, .name = "many"));
	snprintf(path, sizeof(path), "%s", tare_record_path(rec));
	size_t before = 0;
	for (int i = 0; i < 1000; i++) {
		pthread_t t;
		HOLDS(pthread_create(&t, NULL, one_interval, NULL) == 0);
		HOLDS(pthread_join(t, NULL) == 0);
		if (i == 9)		/* stacks are there, and kept */
			before = pages_mapped();
	}
	HOLDS(pages_mapped() - before < 10000);
	HOLDS(tare_record_stop(rec, NULL) == 0);
	struct tare_profile *p;
	HOLDS(tare_profile_open(path, &p, NULL) == 0);
	HOLDS(tare_profile_info(p)->n_events == 2000 && tare_profile_info(p)->n_threads == 1000);
	tare_profile_close(p);
}

/* Between two pages nothing but the program runs: the kernel kills a process that makes
 * any system call but read, write and exit; and the heap stays as it is. */
static void quiet(void)
{
	if (SANITIZED)
		return;		/* a sanitizer makes calls and has threads of its own */
	const pid_t pid = fork();
	if (pid == 0) {
		int n = 1;
		start(&TARE_OPTIONS(record, .dir = dir, .name = "quiet", .counter = "zero"));
		busy(&n);
		const size_t before = mallinfo2().uordblks;
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
			_exit(77);
		n = 4000;
		busy(&n);
		tare_record_instant(tare_record_here(rec), kind, inner_id);
		syscall(SYS_exit, mallinfo2().uordblks == before ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIPPED("system calls between pages", "no seccomp here");
	else
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
}

static void wrong_counter(void)
{
	struct tare_why why = { 0 };
	HOLDS(tare_record_start(&TARE_OPTIONS(record, .dir = dir, .counter = "nonsense"), &rec,
				&why) == TARE_E_EVENT_UNKNOWN);
	HOLDS(!rec && strstr(why.what, "nonsense"));
	char missing[96];
	snprintf(missing, sizeof(missing), "%s/missing", dir);
	HOLDS(tare_record_start(&TARE_OPTIONS(record, .dir = missing), &rec, &why) ==
	      TARE_E_NO_FILE);
	HOLDS(!rec && strstr(why.what, missing));
}

int main(void)
{
	unsetenv("TARE_RECORD_DIR");
	snprintf(dir, sizeof(dir), "/tmp/tare-record-XXXXXX");
	HOLDS(mkdtemp(dir));
	three_threads();
	misnested_is_counted();
	never_begun("wall-time");
	never_begun("zero");
	filter_and_nothing();
	fork_leaves_the_file();
	child_records_for_itself();
	exit_and_kill();
	full_disk();
	same_name();
	many_threads();
	quiet();
	wrong_counter();
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) != 0;
}
