/* The library leaves the process as it was: signal dispositions and masks, limits, descriptors,
 * umask, locale, environment, working directory, personality, affinity, timers, children and
 * threads. While objects are open, every descriptor of theirs is closed by exec.
 *
 * Each step calls a part of the API; tests/build/headers.py checks that every public function is
 * called here. Steps end in errors where a machine has no counters: an error leaves nothing
 * behind either. */
#include "func.h"

#include <tare/tare.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- the state of a process ---- */

struct state {
	struct sigaction actions[65];
	sigset_t mask;
	struct rlimit limits[RLIM_NLIMITS];
	struct itimerval timers[3];
	cpu_set_t cpus;
	mode_t umask;
	int personality, priority, prctl[4];
	char name[16];
	char locale[512];
	char folder[512];
	char environment[65536];
	char descriptors[4096];		/* "3=/path 4=…" */
	char tasks[256];
	bool children;
};

static void list_folder(const char *path, bool links, char *out, size_t size)
{
	DIR *const d = opendir(path);
	CHECK(d, "%s", path);
	size_t len = 0;
	out[0] = '\0';
	for (const struct dirent *e; (e = readdir(d));) {
		char target[256] = "";
		if (e->d_name[0] == '.' || (links && atoi(e->d_name) == dirfd(d)))
			continue;
		if (links && readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1) < 0)
			continue;
		len += (size_t)snprintf(out + len, size - len, "%s=%s ", e->d_name, target);
		CHECK(len < size, "%s: too many", path);
	}
	closedir(d);
}

static void take(struct state *s)
{
	memset(s, 0, sizeof(*s));
	for (int sig = 1; sig < 65; sig++) {
		sigaction(sig, NULL, &s->actions[sig]);
		s->actions[sig].sa_flags &= ~0x04000000;	/* SA_RESTORER, the C library's */
	}
	sigprocmask(SIG_SETMASK, NULL, &s->mask);
	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		getrlimit((__rlimit_resource_t)i, &s->limits[i]);
	for (int i = 0; i < 3; i++)
		getitimer((__itimer_which_t)i, &s->timers[i]);
	sched_getaffinity(0, sizeof(s->cpus), &s->cpus);
	s->umask = umask(0);
	umask(s->umask);
	s->personality = personality(0xffffffff);
	s->priority = getpriority(PRIO_PROCESS, 0);
	s->prctl[0] = prctl(PR_GET_DUMPABLE);
	s->prctl[1] = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	prctl(PR_GET_PDEATHSIG, &s->prctl[2]);
	prctl(PR_GET_CHILD_SUBREAPER, &s->prctl[3]);
	prctl(PR_GET_NAME, s->name);
	snprintf(s->locale, sizeof(s->locale), "%s", setlocale(LC_ALL, NULL));
	CHECK(getcwd(s->folder, sizeof(s->folder)), "getcwd");
	size_t len = 0;
	for (char **e = environ; *e && len < sizeof(s->environment); e++)
		len += (size_t)snprintf(s->environment + len, sizeof(s->environment) - len, "%s\n", *e);
	list_folder("/proc/self/fd", true, s->descriptors, sizeof(s->descriptors));
	list_folder("/proc/self/task", false, s->tasks, sizeof(s->tasks));
	siginfo_t info;
	s->children = waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0;
}

static struct state before, after;

#define SAME(field) \
	CHECK(!memcmp(&before.field, &after.field, sizeof(before.field)), "changed by: %s", step)
#define SAME_TEXT(field)                                                                           \
	CHECK(!strcmp(before.field, after.field), "changed by %s\nbefore: %s\nafter: %s", step,    \
	      before.field, after.field)

static void same(const char *step)
{
	take(&after);
	for (int i = 1; i < 65; i++) {
		CHECK(before.actions[i].sa_handler == after.actions[i].sa_handler &&
			      before.actions[i].sa_flags == after.actions[i].sa_flags,
		      "disposition of signal %d changed by: %s", i, step);
	}
	SAME(mask);
	SAME(limits);
	SAME(timers);
	SAME(cpus);
	SAME(umask);
	SAME(personality);
	SAME(priority);
	SAME(prctl);
	SAME(children);
	SAME_TEXT(name);
	SAME_TEXT(locale);
	SAME_TEXT(folder);
	SAME_TEXT(environment);
	SAME_TEXT(descriptors);
	SAME_TEXT(tasks);
}

/* Every descriptor that was not there before has the flag. */
static void closed_by_exec(const char *step)
{
	for (int fd = 0; fd < 1024; fd++) {
		char name[16];
		snprintf(name, sizeof(name), "%d=", fd);
		const int flags = fcntl(fd, F_GETFD);
		const char *const at = strstr(before.descriptors, name);
		const bool had = at && (at == before.descriptors || at[-1] == ' ');
		CHECK(flags < 0 || had || flags & FD_CLOEXEC, "%s: descriptor %d stays open over exec",
		      step, fd);
	}
}

/* ---- the API ---- */

static char dir[] = "/tmp/tare-effects-XXXXXX";

static void errors_and_version(void)
{
	struct tare_why why = { .code = TARE_E_NO_PMU };
	CHECK(tare_version() && tare_version_number(), "version");
	CHECK(tare_err_name(-1) && tare_err_sentence(-1) && tare_err_remedy(-1), "errors");
	CHECK(tare_why_remedy(&why), "remedy");
}

static void cpus(void)
{
	struct tare_cpu cpu, zen;
	char text[64];
	tare_cpu_detect(&cpu);
	CHECK(tare_cpu_from_name("zen2", &zen) == 0, "zen2");
	CHECK(tare_uarch_at(0) && tare_uarch_by_name("skylake"), "tables");
	CHECK(tare_uarch_x86(TARE_VENDOR_INTEL, 6, 0x5e, TARE_CORE_UNIFORM), "skylake");
	tare_uarch_arm(0x410fd0c0);
	const struct tare_event_row *const row = tare_cpu_event(zen.uarch, TARE_ROLE_INSTRUCTIONS);
	CHECK(row && tare_cpu_event_by_name(zen.uarch, row->name) == row, "instructions of zen2");
	CHECK(tare_role_name(row->role), "role");
	tare_trust_text(row->trust, text, sizeof(text));
	tare_trust_letters(row->trust, text, sizeof(text));
}

static void events(void)
{
	struct tare_events *list;
	struct tare_event_names *names;
	CHECK(tare_events_parse("{instructions:u,branches:u},page-faults,wall-time", NULL, &list, NULL) ==
		      0, "events");
	CHECK(tare_events_count(list) == 4 && tare_events_at(list, 3), "events");
	closed_by_exec("tare_events_parse");
	tare_events_fit(list, NULL);
	tare_backend_for(list, TARE_BACKEND_AUTO, NULL, 0, NULL);
	tare_engine_counts(tare_events_at(list, 0));
	tare_events_free(list);
	CHECK(tare_events_parse("no-such-event", NULL, &list, NULL) < 0, "an error");
	/* libpfm4 is loaded where it is installed, and stays. */
	CHECK(tare_event_names_open(NULL, &names, NULL) == 0, "names");
	closed_by_exec("tare_event_names_open");
	for (const struct tare_event_name *n; (n = tare_event_names_next(names));)
		CHECK(tare_name_source(n->source), "%s", n->name);
	tare_event_names_missing(names);
	tare_event_names_close(names);
}

static void one_counter(const char *name)
{
	struct tare_counter *c;
	struct tare_sample sample;
	struct tare_overhead overhead;
	uint64_t value;
	char text[64];
	const char *reason;
	if (tare_counter_open(name, &c, NULL) < 0)
		return;
	closed_by_exec(name);
	CHECK(tare_counter_read(c, &value) == 0 && tare_counter_read_pair(c, &value) == 0 &&
		      tare_counter_read_slow(c, &value) == 0, "%s", name);
	CHECK(tare_counter_sample(c, &sample) == 0 && tare_counter_reset(c) == 0, "%s", name);
	CHECK(tare_provenance_name(sample.provenance), "%s", name);
	CHECK(tare_path_name(tare_counter_path(c, &reason)), "%s", name);
	CHECK(tare_serializer_name(tare_counter_serializer(c)), "%s", name);
	tare_status_text(tare_counter_status(c), text, sizeof(text));
	CHECK(tare_counter_overhead(c, &overhead) == 0, "%s", name);
	CHECK(tare_counter_reopen(c, NULL) == 0, "%s", name);
	closed_by_exec(name);
	tare_counter_close(c);
}

static void counters(void)
{
	static const char *const names[] = { "instructions:u", "instructions-minus-irqs:u", "wall-time",
					     "zero", "page-faults:u", "no-such-event" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		one_counter(names[i]);
	struct tare_events *list;
	struct tare_counter *c;
	const struct tare_counter_options o = TARE_OPTIONS(counter, .unpinned = true);
	CHECK(tare_events_parse("page-faults:u", NULL, &list, NULL) == 0, "page-faults");
	if (tare_counter_open_event(tare_events_at(list, 0), &o, &c, NULL) == 0)
		tare_counter_close(c);
	tare_events_free(list);
}

static void groups(void)
{
	struct tare_events *list;
	struct tare_group *g;
	CHECK(tare_events_parse("page-faults:u,wall-time,instructions:u", NULL, &list, NULL) == 0, "list");
	const struct tare_event *all[3];
	for (size_t i = 0; i < 3; i++)
		all[i] = tare_events_at(list, i);
	for (size_t n = 2; n <= 3; n++) {	/* without and with the hardware event */
		uint64_t values[3];
		struct tare_sample samples[3];
		if (tare_group_open(all, n, NULL, &g, NULL) < 0)
			continue;
		closed_by_exec("tare_group_open");
		CHECK(tare_group_read(g, values) == 0 && tare_group_sample(g, samples) == 0 &&
			      tare_group_reset(g) == 0, "group of %zu", n);
		tare_group_path(g, NULL);
		tare_group_status(g);
		tare_group_close(g);
	}
	tare_events_free(list);
}

static void serialisers(void)
{
	tare_serialize();
	CHECK(tare_serialize_with(tare_serializer_auto()) == 0, "auto");
}

/* The guard is the one part of the API that changes a disposition, until it is removed. */
static void guard(void)
{
	CHECK(tare_read_guard_install() == 0 && tare_read_guard_remove() == 0, "guard");
}

static void doctor(void)
{
	struct tare_doctor_report *r;
	CHECK(tare_doctor_probes() && tare_doctor_finding_at(0), "doctor");
	CHECK(tare_doctor(NULL, NULL, &r, NULL) == 0, "doctor");
	CHECK(tare_verdict_name(r->results[0].is->verdict), "verdict");
	tare_doctor_free(r);
}

/* Without a command for the engine, a machine without a PMU counts nothing, which is an error. */
static void verify(void)
{
	const char *const kernels[] = { tare_verify_kernel(0, NULL), NULL };
	const struct tare_verify_options o =
		TARE_OPTIONS(verify, .kernels = kernels, .runs = 1, .quick = true);
	struct tare_verify_report *r;
	const int err = tare_verify(&o, &r, NULL);
	CHECK(err ? !r : r->n_rows && r->n_kernels == 1, "verify: %d", err);
	tare_verify_free(r);
	CHECK(tare_verify_child(kernels[0], "00000000000000000003", NULL) == 0, "child");
	(void)tare_verify_experiment(0, NULL);
	CHECK(tare_cause_letter(TARE_CAUSE_INTERRUPTS) == 'h' &&
	      tare_cause_name(TARE_CAUSE_UOPS) &&
	      tare_event_verdict_name(TARE_EVENT_NOT_RUN), "names");
}

static void invariants(void)
{
	char *argv[] = { "true", NULL };
	const struct tare_invariants_options o = TARE_OPTIONS(invariants, .argv = argv);
	struct tare_invariants *r;
	const int err = tare_invariants_check(&o, &r, NULL);
	CHECK(err ? !r : r->checked && !r->broken, "invariants: %d", err);
	tare_invariants_free(r);
	CHECK(tare_invariant_state_name(TARE_INVARIANT_HOLDS), "names");
}

static void worlds(void)
{
	struct tare_world_fact f;
	const char *about;
	CHECK(tare_machine(0, &about) && about[0] && !tare_machine(1000, NULL), "machines");
	CHECK(tare_machine_check("none", NULL) == TARE_E_INVALID && tare_machine_check(NULL, NULL) == TARE_E_INVALID,
	      "no machine");
	(void)tare_machine_check("x86-64-v2", NULL);
	CHECK(tare_seed_check("0x2a", NULL) == 0 && tare_seed_check("-1", NULL) == TARE_E_INVALID &&
	      tare_seed_check(NULL, NULL) == TARE_E_INVALID, "seeds");
	CHECK(tare_left_text(TARE_LEFT_NETWORK) && !tare_left_text(0), "left");
	CHECK(tare_world_fact(NULL, true, true, 0, &f) && f.what && f.fixed, "facts");
	CHECK(!tare_world_fact(NULL, true, true, 1000, &f), "facts end");
}

static void benching(void)
{
	struct tare_bench_report *r;
	CHECK(tare_bench(&TARE_OPTIONS(bench, .reads = 10, .runs = 2), &r, NULL) == 0, "bench");
	CHECK(r->n_rows > 3 && r->rows[0].measured, "rows");
	tare_bench_free(r);
}

/* Not x86-64, or no engine: an error, and no result. */
static void diverging(void)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	struct tare_divergence *d;
	struct tare_why why;
	CHECK(tare_diverge(&TARE_OPTIONS(diverge, .argv = argv, .runs = 1), &d, &why) == TARE_E_INVALID && !d, "one run");
	const int err = tare_diverge(&TARE_OPTIONS(diverge, .argv = argv, .runs = 2), &d, &why);
	CHECK(!err == !!d, "diverge: %s", why.what);
	CHECK(err || (d->found == TARE_DIVERGE_SAME && d->totals[0] == d->totals[1]), "true is always the same");
	tare_divergence_free(d);
	CHECK(!strcmp(tare_diverge_cause_name(TARE_DIVERGE_BY_TIME), "time"), "the name of a cause");
	CHECK(!strcmp(tare_code_syscall_name(0), "read") && !tare_code_syscall_name(-1), "names of calls");
}

static int enough(const struct tare_scan_state *state, void *arg)
{
	(void)arg;
	return state->next >= 8;
}

static void scanning(void)
{
	struct tare_scan_options o = TARE_SCAN_OPTIONS_INIT;
	struct tare_scan *s;
	struct tare_why why;
	o.like = "page-faults";
	o.progress = enough;
	CHECK(tare_scan_like_name(TARE_SCAN_COUNT) && tare_scan_stage_name(TARE_SCAN_SWEEP), "names");
	const int err = tare_scan_open(&o, &s, &why);
	CHECK(!err == !!s, "scan: %s", why.what);
	if (err)
		return;
	CHECK(tare_scan_plan(s)->codes >= 256, "plan");
	CHECK(tare_scan_run(s, &why) == TARE_E_TIMEOUT && !tare_scan_result(s)->n_found, "stopped");
	tare_scan_close(s);
}

static char recorded[256];	/* the file that recorder() left */

static void recorder(void)
{
	struct tare_recorder *r;
	struct tare_record_state state;
	struct tare_interval i;
	const struct tare_record_options o = TARE_OPTIONS(record, .dir = dir, .name = "effects");
	CHECK(tare_record_start(&o, &r, NULL) == 0, "start");
	closed_by_exec("tare_record_start");
	const uint64_t kind = tare_record_kind(r, "Kind"), label = tare_record_string(r, "label");
	const uint64_t id = tare_record_event_id(r, label, &label, 1);
	struct tare_record_thread *const t = tare_record_here(r);
	tare_record_name(t, "main");
	tare_record_begin(t, &i, kind, id);
	tare_record_instant(t, kind, id);
	tare_record_integer(t, kind, id, 7);
	tare_record_end(t, &i);
	CHECK(tare_record_flush(r) == 0, "flush");
	tare_record_state(r, &state);
	CHECK(state.error == 0, "%s", tare_err_name(state.error));
	snprintf(recorded, sizeof(recorded), "%s", tare_record_path(r));
	CHECK(tare_record_stop(r, NULL) == 0, "stop");
}

static void profiles(void)
{
	struct tare_profile *p;
	struct tare_profile_event e;
	struct tare_profile_warning warning;
	char text[64];
	CHECK(tare_profile_open(recorded, &p, NULL) == 0, "%s", recorded);
	closed_by_exec("tare_profile_open");
	CHECK(tare_profile_info(p)->n_events >= 3, "events");
	struct tare_profile_cursor *const c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	while (tare_profile_next(c, &e))
		CHECK(tare_profile_text(p, e.id, text, sizeof(text), NULL) > 0, "text");
	tare_profile_cursor_free(c);
	tare_profile_warnings(p, &warning, 1);
	tare_profile_close(p);
	CHECK(tare_profile_open_memory("none", 4, &p, NULL) < 0 && !p, "no profile");
}

static void write_profile(void)
{
	char path[128];
	struct tare_profile_writer *w;
	const struct tare_profile_create_options meta =
		TARE_OPTIONS(profile_create, .cmd = "x", .counter = "wall-time");
	snprintf(path, sizeof(path), "%s/written.mm_profdata", dir);
	CHECK(tare_profile_create(path, &meta, &w, NULL) == 0, "%s", path);
	closed_by_exec("tare_profile_create");
	const uint64_t label = tare_profile_string(w, "label", 5);
	const uint64_t id = tare_profile_event_id(w, label, &label, 1);
	tare_profile_name_thread(w, 1, "main");
	const struct tare_profile_event e = { .type = TARE_PROFILE_INTERVAL, .thread = 1, .kind = label,
					      .id = id, .start = 1, .end = 5 };
	CHECK(tare_profile_put(w, &e) == 0 && tare_profile_finish(w, NULL) == 0, "%s", path);
}

static int count_stack(void *arg, const struct tare_stack *s)
{
	++*(size_t *)arg;
	return s->name ? 0 : -1;
}

static int take_bytes(void *arg, const void *bytes, size_t n)
{
	*(size_t *)arg += n;
	return bytes ? 0 : 1;
}

static void analyses(void)
{
	struct tare_profile *p;
	struct tare_summary *s;
	struct tare_stacks *t;
	struct tare_stream *stream;
	struct tare_stream_event e;
	struct tare_aggregate *a;
	struct tare_place *place;
	struct tare_diff *d;
	size_t stacks = 0, bytes = 0;
	CHECK(tare_profile_open(recorded, &p, NULL) == 0, "%s", recorded);
	CHECK(tare_summarize(p, NULL, &s, NULL) == 0 && s->n_rows, "summary");
	CHECK(tare_stacks_collect(p, NULL, &t, NULL) == 0 && tare_stacks_info(t)->in_memory, "stacks");
	closed_by_exec("tare_stacks_collect");
	CHECK(tare_stacks_visit(t, NULL, count_stack, &stacks, NULL) == 0 && stacks >= 2, "stacks");
	tare_stacks_free(t);
	CHECK(tare_stream_open(p, NULL, &stream, NULL) == 0, "stream");
	while (tare_stream_next(stream, &e, NULL) == 1)
		CHECK(e.label_len, "label");
	tare_stream_close(stream);
	struct tare_profile *runs[] = { p, p };
	CHECK(tare_aggregate(runs, 2, NULL, &a, NULL) == 0, "aggregate");
	for (size_t i = 0; i < a->largest.n; i++)
		if (a->largest.list[i].count == 1 &&
		    tare_aggregate_place(a, &a->largest.list[i], &place, NULL) == 0)
			tare_place_free(place);
	tare_aggregate_free(a);
	const struct tare_summary *const side[] = { s };
	CHECK(tare_diff(side, 1, side, 1, NULL, &d, NULL) == 0, "diff");
	tare_diff_free(d);
	tare_summary_free(s);
	const struct tare_output out = { take_bytes, &bytes };
	CHECK(tare_export_chrome(runs, 1, NULL, &out, NULL) == 0 && bytes, "chrome");
	CHECK(tare_export_speedscope(p, NULL, &out, NULL) == 0, "speedscope");
	tare_profile_close(p);
}

/* The command has the standard descriptors only: `ls` adds the one that it reads with. */
static char *const see_descriptors[] = { "sh", "-c",
	"test \"$(ls /proc/self/fd | tr '\\n' ' ')\" = '0 1 2 3 '", NULL };

static int count_range(const struct tare_code_range *r, void *events)
{
	struct tare_code_insn in;
	return !tare_code_insn(r->bytes, r->size, r->address, &in) ||
	       !tare_code_counts(&in, tare_events_at(events, 0));
}

static int count_syscalls(const struct tare_code_syscall *s, void *times)
{
	*(uint64_t *)times += s->times;
	return 0;
}

static bool any_context(const struct tare_code_context *x, void *arg)
{
	return !arg || x->id;
}

static int count_context(const struct tare_code_context *x, void *sum)
{
	*(int64_t *)sum += x->calls;
	return 0;
}

static void call_graph_of(const struct tare_code *c, const struct tare_event *event)
{
	uint64_t times = 0;
	int64_t sum = 0;
	bool in[1];
	int64_t calls;
	const struct tare_code_context none = { .counts = &sum };
	CHECK(tare_code_syscalls_each(c, count_syscalls, &times, NULL) == 0, "system calls");
	CHECK(tare_code_n_contexts(c) == 0 &&
	      tare_code_contexts_each(c, count_context, &sum, NULL) == TARE_E_INVALID &&
	      tare_code_contexts_in(c, any_context, NULL, in, NULL) == TARE_E_INVALID,
	      "a call graph that was not asked for");
	CHECK(tare_code_context_count(c, &none, event, &sum) && sum == 0, "a count of a context");
	CHECK(!tare_code_context_in_dump(c, &none, 0, event, &calls, &sum), "a context that is not there");
}

static bool any_function(const struct tare_codeprofile_function *f, void *arg)
{
	return f && !arg;
}

static unsigned watch_none(const char *name, const char *linkage, void *arg)
{
	*(unsigned *)arg += name && linkage;
	return 0;
}

/* tare-symbols is started while the command runs, and must be gone. */
static void watch_functions(const struct tare_events *list)
{
	struct tare_watch_names *names;
	struct tare_measurement *m;
	unsigned functions = 0;
	CHECK(tare_watch_names_new(watch_none, &functions, &names, NULL) == 0, "names to watch");
	CHECK(tare_measure(&TARE_OPTIONS(measure, .argv = see_descriptors, .events = list, .backend = TARE_BACKEND_SOFT,
					 .code = true, .calls = true, .watch = tare_watch_names_watch(names)), &m, NULL) == 0,
	      "a run with functions that are watched");
	CHECK(functions || tare_watch_names_note(names), "functions have names, or there is a reason");
	tare_measurement_free(m);
	tare_watch_names_free(names);
}

static void profile_code(const struct tare_measurement *m, const struct tare_events *list)
{
	struct tare_codeprofile *p, *sum, *none;
	size_t bytes = 0;
	const struct tare_output out = { take_bytes, &bytes };
	CHECK(tare_codeprofile_make(m, &TARE_OPTIONS(codeprofile, .events = list), &p, NULL) == 0, "a code profile");
	CHECK(p->events[0].total == (int64_t)m->counts[0].value && p->n_insns, "its total");
	CHECK(tare_codeprofile_write(p, &out, NULL) == 0 && bytes, "the file of a code profile");
	CHECK(tare_codeprofile_export_collapsed(p, &out, NULL) == 0, "collapsed stacks");
	CHECK(tare_codeprofile_export_callgrind(p, &TARE_OPTIONS(callgrind, .insns = true), &out, NULL) == 0 &&
	      tare_codeprofile_export_cachegrind(p, NULL, &out, NULL) == 0, "files of valgrind");
	const struct tare_codeprofile *const both[] = { p, p };
	CHECK(tare_codeprofile_merge(both, 2, &sum, NULL) == 0 &&
	      sum->events[0].total == 2 * p->events[0].total, "two code profiles");
	CHECK(tare_codeprofile_in(p, any_function, NULL, &none, NULL) == TARE_E_INVALID && !none, "no calls");
	CHECK(tare_codeprofile_read("/no/such/file", &none, NULL) < 0 && !none, "an error");
	CHECK(*tare_codeprofile_object_kind_name(p->objects[0].kind) &&
	      *tare_codeprofile_entry_name(TARE_CODEPROFILE_CALL), "names");
	tare_codeprofile_free(sum);
	tare_codeprofile_free(p);
}

static void count_words(const struct tare_trace_run *r, void *arg)
{
	enum tare_trace_word words[TARE_TRACE_WORDS];
	unsigned size;
	*(unsigned *)arg += r->n_words >= tare_trace_words(r->code->bytes, r->code->size, &size, words) && size;
}

/* A thread of the library reads the trace: it must be gone. */
static void measure_traced(const struct tare_events *list)
{
	unsigned runs = 0;
	struct tare_measurement *m;
	const struct tare_trace trace = { .run = count_words, .arg = &runs };
	if (tare_measure(&TARE_OPTIONS(measure, .argv = see_descriptors, .events = list,
				       .backend = TARE_BACKEND_SOFT, .trace = &trace), &m, NULL) < 0)
		return;
	CHECK(runs, "no trace");
	tare_measurement_free(m);
}

static void measure_with(enum tare_backend backend, const char *event)
{
	struct tare_events *list;
	struct tare_measurement *m;
	struct tare_why why = { 0 };
	CHECK(tare_events_parse(event, NULL, &list, NULL) == 0, "%s", event);
	const int err = tare_measure(&TARE_OPTIONS(measure, .argv = see_descriptors, .events = list,
				     .backend = backend, .code = backend == TARE_BACKEND_SOFT),
			     &m, &why);
	if (err == 0) {
		if (m->code)
			CHECK(tare_code_each(m->code, count_range, list, NULL) == 0 &&
			      tare_code_is_complete(m->code), "%s: the code that ran", event);
		if (m->code)
			call_graph_of(m->code, tare_events_at(list, 0));
		if (m->code)
			profile_code(m, list);
		struct tare_code_mix *mix;
		char name[32];
		if (m->code && tare_code_mix(m->code, &mix, NULL) == 0) {
			CHECK(mix->instructions == m->counts[0].value && mix->n &&
			      !strcmp(tare_code_opcode_name(mix->opcodes[0].bytes, mix->opcodes[0].size,
							    name, sizeof(name)), mix->opcodes[0].name),
			      "the mix");
			tare_code_mix_free(mix);
		}
		if (m->code) {
			measure_traced(list);
			watch_functions(list);
		}
		CHECK(m->exit_status == 0, "%s: a descriptor stays open in the command", event);
		tare_measurement_free(m);
	}
	char *const missing[] = { "/no/such/command", NULL };
	CHECK(tare_measure(&TARE_OPTIONS(measure, .argv = missing, .events = list, .backend = backend),
			   &m, NULL) < 0 && !m, "an error");
	tare_events_free(list);
}

static int at_stop(const struct tare_stop *stop, void *arg)
{
	struct tare_stop_frame frames[4];
	uint64_t word;
	CHECK(tare_stop_backtrace(NULL, stop, frames, 4) >= 1 && frames[0].pc == stop->pc, "a backtrace");
	CHECK(tare_stop_read(stop, stop->pc, &word, sizeof(word)) == sizeof(word), "memory at a stop");
	CHECK(tare_stop_hand_over(stop, NULL) == 0, "one thread");
	struct tare_stop_names *names;
	char text[256];
	CHECK(tare_stop_names_open(&names, NULL) == 0, "names");
	CHECK(tare_stop_place(names, stop, stop->pc, false, text, sizeof(text))[0], "a place");
	tare_stop_names_note(names);
	tare_stop_names_close(names);
	CHECK(stop->count == 1000 && stop->counts[0].value == 1000, "the count at a stop");
	++*(int *)arg;
	return TARE_STOP_GO_ON;
}

static void stopping(void)
{
	struct tare_events *list, *event;
	struct tare_measurement *m;
	int stops = 0;
	struct tare_stop_rule rule = { .then = TARE_STOP_CALL };
	CHECK(tare_stop_parse("instructions=1k", NULL, &event, &rule.n, NULL) == 0 && rule.n == 1000,
	      "a rule");
	rule.event = tare_events_at(event, 0);
	CHECK(tare_stop_possible(rule.event, TARE_BACKEND_SOFT, NULL) == 0, "instructions");
	CHECK(tare_events_parse("instructions:u", NULL, &list, NULL) == 0, "instructions:u");
	if (tare_measure(&TARE_OPTIONS(measure, .argv = see_descriptors, .events = list,
				       .backend = TARE_BACKEND_SOFT, .stops = &rule, .n_stops = 1,
				       .on_stop = at_stop, .arg = &stops), &m, NULL) == 0) {
		CHECK(m->exit_status == 0, "a descriptor stays open in the command");
		CHECK(m->stops[0].hits == (uint64_t)stops && stops > 0, "stops");
		tare_measurement_free(m);
	}
	tare_events_free(event);
	tare_events_free(list);
}

static void measuring(void)
{
	stopping();
	measure_with(TARE_BACKEND_HW, "page-faults:u");
	measure_with(TARE_BACKEND_SOFT, "instructions:u");
}

static void running(void)
{
	struct tare_run_report *report;
	char *const argv[] = { "true", NULL };
	CHECK(tare_run_model(0, NULL) && tare_run_flaw(0, NULL), "models");
	if (tare_run(&TARE_OPTIONS(run, .argv = argv), &report, NULL) == 0)
		tare_run_report_free(report);
	char *const missing[] = { "/no/such/command", NULL };
	CHECK(tare_run(&TARE_OPTIONS(run, .argv = missing), &report, NULL) < 0 && !report, "an error");
	struct tare_run_planted *planted;
	size_t n;
	CHECK(tare_run_planted(&TARE_OPTIONS(run, .cpu = "core2", .flaws = "overcount"), &planted, &n,
			       NULL) == 0 && n, "flaws");
	tare_run_planted_free(planted);
	CHECK(tare_run_planted(&TARE_OPTIONS(run, .flaws = "no-such-flaw"), &planted, &n, NULL) < 0 &&
	      !planted, "an error");
}

/* Nothing measures this program. */
static void parts_of_itself(void)
{
	errno = ERANGE;
	CHECK(!tare_region_start() && !tare_region_toggle() && !tare_region_zero() && !tare_region_dump("x") && !tare_region_stop(),
	      "regions");
	CHECK(errno == ERANGE, "errno");
}

struct step {
	const char *name;
	void (*call)(void);
};

static const struct step steps[] = {
	{ "errors and version", errors_and_version },
	{ "tare/cpu.h", cpus },
	{ "tare/event.h", events },
	{ "counters", counters },
	{ "groups", groups },
	{ "serialisers", serialisers },
	{ "the read guard", guard },
	{ "the doctor", doctor },
	{ "verify", verify },
	{ "invariants", invariants },
	{ "diverging", diverging },
	{ "scanning", scanning },
	{ "worlds", worlds }, { "benching", benching },
	{ "the recorder", recorder },
	{ "reading profiles", profiles },
	{ "writing profiles", write_profile },
	{ "analyses", analyses },
	{ "measuring", measuring },
	{ "running", running },
	{ "parts", parts_of_itself },
};

static void all_steps(void)
{
	take(&before);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		steps[i].call();
		same(steps[i].name);
	}
}

static void clean(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		perror(dir);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* What a program may have set; none of it is a default. */
static void settings_of_its_own(void)
{
	struct rlimit files;
	sigset_t blocked;
	signal(SIGSEGV, on_signal);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGALRM, on_signal);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < 100 ? files.rlim_max : 100;
	CHECK(setrlimit(RLIMIT_NOFILE, &files) == 0, "RLIMIT_NOFILE");
	umask(077);
	setlocale(LC_ALL, "C.UTF-8");
	setenv("TARE_EFFECTS", "1", 1);
	CHECK(chdir(dir) == 0, "%s", dir);
}

int main(void)
{
	/* Those of the program that runs the tests are not to be seen by commands. */
	for (int fd = 3; fd < 1024; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	CHECK(mkdtemp(dir), "%s", dir);
	const pid_t own = getpid();
	all_steps();
	settings_of_its_own();
	all_steps();
	signal(SIGCHLD, on_signal);
	all_steps();
	CHECK(getpid() == own && chdir("/") == 0, "the same process");
	signal(SIGCHLD, SIG_DFL);
	clean();
	return 0;
}
