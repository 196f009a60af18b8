/* The library in clumsy hands: every wrong argument is an error code, none a crash, and
 * everything works without a struct tare_why. */
#include "func.h"

#include <tare/tare.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(cond) CHECK(cond, "%s", __func__)

static void parsing(void)
{
	struct tare_events *list = (void *)1;
	OK(tare_events_parse(NULL, NULL, &list, NULL) == TARE_E_INVALID && !list);
	OK(tare_events_parse("", NULL, &list, NULL) == TARE_E_SYNTAX && !list);
	OK(tare_events_parse("no-such-event", NULL, &list, NULL) == TARE_E_EVENT_UNKNOWN);
	OK(tare_events_parse("page-faults", NULL, &list, NULL) == 0);
	OK(tare_events_count(list) == 1 && !tare_events_at(list, 1));
	tare_events_free(list);
	tare_events_free(NULL);
	OK(tare_events_count(NULL) == 0 && !tare_events_at(NULL, 0));

	/* A list longer than anybody wants, and a name longer than any buffer. */
	const size_t n = 5000;
	char *const text = calloc(n, 16);
	for (size_t i = 0; i < n; i++)
		strcat(text + 12 * (i ? i - 1 : 0), i ? ",page-faults" : "page-faults");
	OK(tare_events_parse(text, NULL, &list, NULL) == 0 && tare_events_count(list) == n);
	tare_events_free(list);
	memset(text, 'x', 16 * n - 1);
	OK(tare_events_parse(text, NULL, &list, NULL) == TARE_E_EVENT_UNKNOWN && !list);
	free(text);
}

static void counters(void)
{
	struct tare_counter *c = (void *)1;
	uint64_t value = 0;
	OK(tare_counter_open(NULL, &c, NULL) < 0 && !c);
	OK(tare_counter_open("page-faults,page-faults", &c, NULL) < 0 && !c);
	OK(tare_counter_open("no-such-event", &c, NULL) == TARE_E_EVENT_UNKNOWN && !c);
	OK(tare_counter_open_event(NULL, NULL, &c, NULL) < 0 && !c);
	tare_counter_close(NULL);
	OK(tare_counter_open("page-faults:u", &c, NULL) == 0);
	OK(tare_counter_read(c, &value) == 0);
	OK(tare_counter_path(c, NULL) == TARE_PATH_READ);
	tare_counter_close(c);

	struct tare_group *g = (void *)1;
	OK(tare_group_open(NULL, 0, NULL, &g, NULL) < 0 && !g);
	tare_group_close(NULL);
}

static struct tare_counter *shared;

static void *read_elsewhere(void *arg)
{
	uint64_t value;
	*(int *)arg = tare_counter_read(shared, &value);
	return NULL;
}

/* Another thread, another process: told, not crashed. */
static void elsewhere(void)
{
	pthread_t thread;
	uint64_t value;
	int status, err = 0;
	OK(tare_counter_open("page-faults:u", &shared, NULL) == 0);
	OK(pthread_create(&thread, NULL, read_elsewhere, &err) == 0);
	pthread_join(thread, NULL);
	OK(err == TARE_E_WRONG_THREAD);
	OK(tare_counter_status(shared) & TARE_STATUS_WRONG_THREAD);
	const pid_t child = fork();
	if (child == 0) {
		bool good = tare_counter_read(shared, &value) == TARE_E_FORKED;
		good &= tare_counter_reopen(shared, NULL) == 0;
		good &= tare_counter_read(shared, &value) == 0;
		tare_counter_close(shared);
		_exit(good ? 0 : 1);
	}
	OK(waitpid(child, &status, 0) == child && status == 0);
	OK(tare_counter_read(shared, &value) == 0);
	tare_counter_close(shared);
}

static void measuring(void)
{
	struct tare_measurement *m = (void *)1;
	struct tare_events *list;
	char *argv[] = { "true", NULL }, *none[] = { NULL };
	struct tare_measure_opts o = { .argv = argv };
	OK(tare_measure(&o, &m, NULL) == TARE_E_INVALID && !m);	/* no events */
	OK(tare_events_parse("page-faults", NULL, &list, NULL) == 0);
	o.events = list;
	o.argv = none;
	OK(tare_measure(&o, &m, NULL) == TARE_E_NO_COMMAND && !m);
	o.argv = NULL;
	OK(tare_measure(&o, &m, NULL) == TARE_E_NO_COMMAND && !m);
	o.pid = -1;
	OK(tare_measure(&o, &m, NULL) == TARE_E_INVALID && !m);
	o.pid = o.tid = 1;
	OK(tare_measure(&o, &m, NULL) == TARE_E_INVALID && !m);
	o.pid = o.tid = 0;
	char *missing[] = { "no-such-command-here", NULL };
	o.argv = missing;
	OK(tare_measure(&o, &m, NULL) == TARE_E_NO_COMMAND && !m);
	o.argv = argv;
	OK(tare_measure(&o, &m, NULL) == 0 && m->counts[0].value > 0);
	tare_measurement_free(m);
	tare_measurement_free(NULL);
	OK(tare_backend_for(NULL, TARE_BACKEND_AUTO, NULL, 0, NULL) < 0);
	OK(tare_events_fit(NULL, NULL) < 0);
	tare_events_free(list);
}

static void texts(void)
{
	char small[4];
	OK(tare_err_name(12345) && tare_err_sentence(-12345) && tare_err_remedy(1));
	OK(strlen(tare_status_text(~0u, small, sizeof(small))) < sizeof(small));
	OK(tare_provenance_name((enum tare_provenance)99) != NULL);
	OK(!tare_uarch_by_name(NULL) && !tare_uarch_by_name(""));
}

/* Whatever needs no counter has been tried by then. */
static void skip_without_counters(void)
{
	struct tare_counter *c;
	struct tare_why why = { 0 };
	const int err = tare_counter_open("page-faults:u", &c, &why);
	if (err == TARE_E_PARANOID || err == TARE_E_SECCOMP || err == TARE_E_NO_PERF)
		SKIP("no counters here: %s", why.what);
	CHECK(err == 0, "%s: %s", tare_err_name(err), why.what);
	tare_counter_close(c);
}

int main(void)
{
	parsing();
	texts();
	skip_without_counters();
	counters();
	elsewhere();
	measuring();
	return 0;
}
