/* The library in clumsy hands: every wrong argument is an error code, none a crash, and
 * everything works without a struct tare_why. */
#include "func.h"

#include <tare/tare.h>

#include <math.h>
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

static void event_names(void)
{
	struct tare_event_names *names;
	OK(tare_event_names_open(NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_event_names_open(NULL, &names, NULL) == 0 && tare_event_names_next(names));
	tare_event_names_close(names);
	tare_event_names_close(NULL);
	OK(!tare_event_names_next(NULL) && !tare_event_names_missing(NULL));
	OK(tare_events_parse("page-faults", NULL, NULL, NULL) == TARE_E_INVALID);
}

/* What needs an object says so; the inline reads, which have no instruction to spare, do not. */
static void no_object(void)
{
	const char *reason = NULL;
	struct tare_sample s;
	struct tare_overhead o;
	uint64_t value;
	OK(tare_counter_open("zero", NULL, NULL) == TARE_E_INVALID);
	OK(tare_counter_open_event(NULL, NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_counter_sample(NULL, &s) == TARE_E_INVALID);
	OK(tare_counter_reset(NULL) == TARE_E_INVALID);
	OK(tare_counter_path(NULL, NULL) == TARE_PATH_AUTO);
	OK(tare_counter_path(NULL, &reason) == TARE_PATH_AUTO && reason);
	OK(tare_counter_serializer(NULL) == TARE_SERIALIZE_NONE);
	OK(tare_counter_status(NULL) == 0);
	OK(tare_counter_overhead(NULL, &o) == TARE_E_INVALID);
	OK(tare_counter_reopen(NULL, NULL) == TARE_E_INVALID);
	OK(tare_group_open(NULL, 1, NULL, NULL, NULL) == TARE_E_INVALID);
	struct tare_group *g;
	const struct tare_event *const none = NULL;
	OK(tare_group_open(NULL, 1, NULL, &g, NULL) == TARE_E_INVALID && !g);
	OK(tare_group_open(&none, 1, NULL, &g, NULL) == TARE_E_INVALID && !g);
	OK(tare_group_read(NULL, &value) == TARE_E_INVALID);
	OK(tare_group_sample(NULL, &s) == TARE_E_INVALID);
	OK(tare_group_reset(NULL) == TARE_E_INVALID);
	OK(tare_group_path(NULL, &reason) == TARE_PATH_AUTO && reason);
	OK(tare_group_path(NULL, NULL) == TARE_PATH_AUTO);
	OK(tare_group_status(NULL) == 0);
	OK(tare_doctor(NULL, NULL, NULL, NULL) == TARE_E_INVALID);
	tare_doctor_free(NULL);
	OK(!tare_doctor_finding_at((size_t)-1));
	tare_profile_close(NULL);
	OK(tare_profile_finish(NULL, NULL) == 0);

	struct tare_counter *c;
	OK(tare_counter_open("zero", &c, NULL) == 0);
	OK(tare_counter_sample(c, NULL) == TARE_E_INVALID);
	OK(tare_counter_overhead(c, NULL) == TARE_E_INVALID);
	tare_counter_close(c);
}

static void cpus(void)
{
	struct tare_cpu cpu;
	char text[8];
	OK(tare_cpu_from_name(NULL, &cpu) == TARE_E_UNTESTED_CPU);
	OK(tare_cpu_from_name("zen2", NULL) == TARE_E_INVALID);
	tare_cpu_detect(NULL);
	OK(!tare_uarch_at((size_t)-1));
	OK(!tare_cpu_event(NULL, TARE_ROLE_INSTRUCTIONS) && !tare_cpu_event_by_name(NULL, "x"));
	OK(!tare_cpu_event_by_name(tare_uarch_by_name("zen2"), NULL));
	OK(tare_role_name((enum tare_role)9999) != NULL);
	OK(tare_verdict_name((enum tare_verdict)99) != NULL);
	OK(tare_path_name((enum tare_path)99) && tare_serializer_name((enum tare_serializer)99));
	OK(tare_name_source((enum tare_name_source)99) != NULL);
	OK(tare_serialize_with((enum tare_serializer)99) == TARE_E_INVALID);
	OK(strlen(tare_trust_text(~0u, text, sizeof(text))) < sizeof(text));
	OK(strlen(tare_trust_letters(~0u, text, sizeof(text))) < sizeof(text));
}

/* A recorder that is none does nothing, and does so without a crash. */
static void recording(void)
{
	struct tare_recorder *r = (void *)1;
	struct tare_record_state state = { .error = 1 };
	struct tare_interval i;
	OK(tare_record_start(NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_record_start(&TARE_OPTIONS(record, .counter = "nonsense"), &r, NULL) ==
	   TARE_E_EVENT_UNKNOWN && !r);
	OK(tare_record_start(&TARE_OPTIONS(record, .dir = "/no/such/folder"), &r, NULL) < 0 && !r);
	OK(tare_record_string(NULL, "x") == 0 && tare_record_kind(NULL, "x") == 0);
	OK(tare_record_event_id(NULL, 1, NULL, 0) == 0 && tare_record_flush(NULL) == 0);
	OK(!strcmp(tare_record_path(NULL), ""));
	tare_record_state(NULL, &state);
	OK(state.error == 0);
	tare_record_state(NULL, NULL);
	struct tare_record_thread *const t = tare_record_here(NULL);
	OK(t);
	tare_record_name(t, "x");
	tare_record_name(NULL, "x");
	tare_record_begin(t, &i, 1, 1);
	tare_record_instant(t, 1, 1);
	tare_record_integer(t, 1, 1, 1);
	tare_record_end(t, &i);
	OK(tare_record_stop(NULL, NULL) == 0);
}

/* Options of a program that was compiled with another version of the headers. */
static void options(void)
{
	struct tare_counter *c;
	struct tare_group *g;
	struct tare_recorder *r;
	struct tare_doctor_report *report;
	struct tare_events *list;
	struct tare_why why;
	OK(tare_events_parse("zero", NULL, &list, NULL) == 0);
	const struct tare_event *const e = tare_events_at(list, 0);

	struct { struct tare_counter_options o; uint64_t more; } counter = { .more = 1 };
	OK(tare_counter_open_event(e, &counter.o, &c, &why) == TARE_E_INVALID && !c);
	OK(strstr(why.what, "tare_counter_options"));
	counter.o.size = sizeof(counter);
	OK(tare_counter_open_event(e, &counter.o, &c, &why) == TARE_E_OPTION_UNKNOWN && !c);
	OK(tare_group_open(&e, 1, &counter.o, &g, NULL) == TARE_E_OPTION_UNKNOWN && !g);
	counter.more = 0;
	OK(tare_counter_open_event(e, &counter.o, &c, NULL) == 0);
	tare_counter_close(c);
	counter.o.size = sizeof(size_t);	/* older than all options */
	counter.o.path = TARE_PATH_RDPMC;	/* not in it */
	OK(tare_counter_open_event(e, &counter.o, &c, NULL) == 0);
	tare_counter_close(c);

	struct { struct tare_record_options o; uint64_t more; } record = { .more = 1 };
	OK(tare_record_start(&record.o, &r, NULL) == TARE_E_INVALID && !r);
	record.o.size = sizeof(record);
	OK(tare_record_start(&record.o, &r, NULL) == TARE_E_OPTION_UNKNOWN && !r);

	struct { struct tare_doctor_probes o; uint64_t more; } probes = { .more = 1 };
	OK(tare_doctor(NULL, &probes.o, &report, NULL) == TARE_E_INVALID && !report);
	probes.o.size = sizeof(probes);
	OK(tare_doctor(NULL, &probes.o, &report, NULL) == TARE_E_OPTION_UNKNOWN && !report);
	tare_events_free(list);
}

static int no_stack(void *arg, const struct tare_stack *s)
{
	(void)arg;
	return s ? 0 : -1;
}

static void profiles(void)
{
	struct tare_profile *p = (void *)1;
	struct tare_profile_event e;
	struct tare_profile_writer *w;
	OK(tare_profile_open(NULL, &p, NULL) == TARE_E_INVALID && !p);
	OK(tare_profile_open("x", NULL, NULL) == TARE_E_INVALID);
	OK(tare_profile_open("/no/such/file", &p, NULL) == TARE_E_NO_FILE && !p);
	OK(tare_profile_open_memory(NULL, 1, &p, NULL) == TARE_E_INVALID && !p);
	OK(tare_profile_open_memory("", 0, NULL, NULL) == TARE_E_INVALID);
	OK(tare_profile_open_memory("", 0, &p, NULL) == TARE_E_FORMAT && !p);
	OK(!tare_profile_info(NULL) && tare_profile_warnings(NULL, NULL, 0) == 0);
	OK(!tare_profile_cursor_new(NULL, TARE_PROFILE_FORWARD) && !tare_profile_next(NULL, &e));
	tare_profile_cursor_free(NULL);
	OK(tare_profile_text(NULL, 1, NULL, 0, NULL) == TARE_E_INVALID);
	OK(tare_profile_create(NULL, NULL, &w, NULL) == TARE_E_INVALID && !w);
	OK(tare_profile_create("x", NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_profile_string(NULL, "x", 1) == 0 && tare_profile_event_id(NULL, 1, NULL, 0) == 0);
	OK(tare_profile_put(NULL, NULL) == TARE_E_INVALID);
	tare_profile_name_thread(NULL, 1, "x");
}

static void analyses(void)
{
	struct tare_summary *s = (void *)1;
	struct tare_stacks *t = (void *)1;
	struct tare_stream *stream = (void *)1;
	struct tare_stream_event e;
	struct tare_aggregate *a = (void *)1;
	struct tare_diff *d = (void *)1;
	struct tare_place *place = (void *)1;
	OK(tare_summarize(NULL, NULL, &s, NULL) == TARE_E_INVALID && !s);
	OK(tare_stacks_collect(NULL, NULL, &t, NULL) == TARE_E_INVALID && !t);
	OK(tare_stacks_visit(NULL, NULL, no_stack, NULL, NULL) == TARE_E_INVALID);
	OK(!tare_stacks_info(NULL));
	OK(tare_stream_open(NULL, NULL, &stream, NULL) == TARE_E_INVALID && !stream);
	OK(tare_stream_next(NULL, &e, NULL) == TARE_E_INVALID);
	OK(tare_aggregate(NULL, 2, NULL, &a, NULL) == TARE_E_INVALID && !a);
	OK(tare_aggregate(NULL, 0, NULL, &a, NULL) == TARE_E_INVALID && !a);
	OK(tare_aggregate_place(NULL, NULL, &place, NULL) == TARE_E_INVALID && !place);
	OK(tare_diff(NULL, 1, NULL, 1, NULL, &d, NULL) == TARE_E_INVALID && !d);
	OK(tare_export_chrome(NULL, 1, NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_export_speedscope(NULL, NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_summarize(NULL, NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_stacks_collect(NULL, NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_stream_open(NULL, NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_aggregate(NULL, 0, NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_aggregate_place(NULL, NULL, NULL, NULL) == TARE_E_INVALID);
	OK(tare_diff(NULL, 0, NULL, 0, NULL, NULL, NULL) == TARE_E_INVALID);
	tare_summary_free(NULL);
	tare_stacks_free(NULL);
	tare_stream_close(NULL);
	tare_aggregate_free(NULL);
	tare_place_free(NULL);
	tare_diff_free(NULL);
}

static void running(void)
{
	struct tare_run_report *report = (void *)1;
	struct tare_measurement *m = (void *)1;
	char *const none[] = { NULL };
	OK(tare_run(NULL, &report, NULL) < 0 && !report);
	OK(tare_run(&TARE_OPTIONS(run, .argv = NULL), &report, NULL) == TARE_E_NO_COMMAND && !report);
	OK(tare_run(&TARE_OPTIONS(run, .argv = none), NULL, NULL) == TARE_E_NO_COMMAND);
	OK(!tare_run_model((size_t)-1, NULL) && !tare_run_flaw((size_t)-1, NULL));
	tare_run_report_free(NULL);
	OK(tare_measure(NULL, &m, NULL) < 0 && !m);
	OK(tare_measure(NULL, NULL, NULL) < 0);
	OK(!tare_engine_counts(NULL));
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
	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
	o.argv = argv;
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
	o.argv = argv;
	o.backend = (enum tare_backend)99;
	OK(tare_measure(&o, &m, NULL) == TARE_E_INVALID && !m);
	o.backend = TARE_BACKEND_AUTO;
	o.timeout_s = -1;
	OK(tare_measure(&o, &m, NULL) == TARE_E_INVALID && !m);
	o.timeout_s = NAN;
	OK(tare_measure(&o, &m, NULL) == TARE_E_INVALID && !m);
	o.timeout_s = 0;
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
	event_names();
	texts();
	no_object();
	cpus();
	recording();
	profiles();
	analyses();
	running();
	options();
	skip_without_counters();
	counters();
	elsewhere();
	measuring();
	return 0;
}
