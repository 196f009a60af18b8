/* tare_measure() and tare_run() leave the process as it was: signal dispositions, signal mask,
 * limits, descriptors, threads, children and the working directory. Wrong arguments and unknown
 * options are errors, with and without a struct tare_why. */
#include "func.h"

#include <tare/tare.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(cond) CHECK(cond, "%s", __func__)

static size_t entries(const char *dir)
{
	DIR *const d = opendir(dir);
	size_t n = 0;
	CHECK(d, "%s", dir);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

struct process {
	struct sigaction signals[65];
	sigset_t mask;
	struct rlimit limits[RLIM_NLIMITS];
	size_t fds, threads, tmp;
	char cwd[4096];
};

static char tmp[] = "/tmp/tare-effects-XXXXXX";

static struct process now(void)
{
	struct process p;
	memset(&p, 0, sizeof(p));
	for (int s = 1; s < 65; s++)
		sigaction(s, NULL, &p.signals[s]);
	pthread_sigmask(SIG_BLOCK, NULL, &p.mask);
	for (int i = 0; i < RLIM_NLIMITS; i++)
		getrlimit((__rlimit_resource_t)i, &p.limits[i]);
	p.fds = entries("/proc/self/fd");
	p.threads = entries("/proc/self/task");
	p.tmp = entries(tmp);
	CHECK(getcwd(p.cwd, sizeof(p.cwd)), "getcwd");
	return p;
}

static void same(const struct process *before, const char *what)
{
	const struct process after = now();
	for (int s = 1; s < 65; s++)
		CHECK(before->signals[s].sa_handler == after.signals[s].sa_handler &&
		      before->signals[s].sa_flags == after.signals[s].sa_flags,
		      "%s: signal %d is handled in another way", what, s);
	CHECK(memcmp(&before->mask, &after.mask, sizeof(after.mask)) == 0, "%s: signal mask", what);
	CHECK(memcmp(before->limits, after.limits, sizeof(after.limits)) == 0, "%s: limits", what);
	CHECK(before->fds == after.fds, "%s: %zu descriptors, then %zu", what, before->fds, after.fds);
	CHECK(before->threads == after.threads, "%s: threads", what);
	CHECK(before->tmp == after.tmp, "%s: files in TMPDIR", what);
	CHECK(strcmp(before->cwd, after.cwd) == 0, "%s: working directory", what);
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD, "%s: a child is left", what);
}

/* Called before each fork of the process, so also while a run has its descriptors open: another
 * thread's fork and exec at that moment must not pass them on. */
#define MAX_FD 4096
static bool was_open[MAX_FD];

static void all_close_on_exec(void)
{
	for (int fd = 3; fd < MAX_FD; fd++) {
		const int flags = was_open[fd] ? -1 : fcntl(fd, F_GETFD);
		CHECK(flags < 0 || flags & FD_CLOEXEC, "descriptor %d would be inherited", fd);
	}
}

static int on_sigpipe;
static void count_sigpipe(int number)
{
	(void)number;
	on_sigpipe++;
}

static char *good[] = { "sh", "-c", "/bin/true; exit 3", NULL };
static char *missing[] = { "no-such-command-here", NULL };

static void measure(const char *events, enum tare_backend backend)
{
	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
	struct tare_measurement *m;
	struct tare_events *list;
	const struct process before = now();
	OK(tare_events_parse(events, NULL, &list, NULL) == 0);
	o.argv = good;
	o.events = list;
	o.backend = backend;
	OK(tare_measure(&o, &m, NULL) == 0 && m->exit_status == 3);
	tare_measurement_free(m);
	o.argv = missing;
	OK(tare_measure(&o, &m, NULL) == TARE_E_NO_COMMAND && !m);
	tare_events_free(list);
	same(&before, events);
}

static void run(void)
{
	struct tare_run_options o = TARE_RUN_OPTIONS_INIT;
	struct tare_run_report *report;
	const struct process before = now();
	o.argv = good;
	OK(tare_run(&o, &report, NULL) == 0 && report->exit_status == 3 && !report->n_tasks);
	tare_run_report_free(report);
	o.all_tasks = true;
	OK(tare_run(&o, &report, NULL) == 0 && report->n_tasks > 1 && !report->tasks[0].not_counted);
	tare_run_report_free(report);
	tare_run_report_free(NULL);
	OK(tare_run(&o, NULL, NULL) == 0);
	o.argv = missing;
	OK(tare_run(&o, &report, NULL) == TARE_E_NO_COMMAND && !report);
	same(&before, "tare_run()");
}

static void wrong_arguments(void)
{
	char *none[] = { NULL }, *empty[] = { "", NULL };
	char *const *const bad[] = { NULL, none, empty };
	struct tare_run_report *report = (void *)1;
	OK(tare_run(NULL, &report, NULL) == TARE_E_NO_COMMAND && !report);
	for (size_t i = 0; i < 3; i++) {
		struct tare_run_options o = TARE_RUN_OPTIONS_INIT;
		struct tare_why why;
		report = (void *)1;
		o.argv = bad[i];
		OK(tare_run(&o, &report, &why) == TARE_E_NO_COMMAND && !report);
		OK(tare_run(&o, NULL, NULL) == TARE_E_NO_COMMAND);
	}
	struct tare_run_options o = TARE_RUN_OPTIONS_INIT;
	o.argv = good;
	o.cpu = "no-such-cpu";
	OK(tare_run(&o, &report, NULL) == TARE_E_INVALID && !report);
	o.cpu = NULL;
	o.flaws = "no-such-flaw";
	OK(tare_run(&o, &report, NULL) == TARE_E_INVALID && !report);
	OK(tare_measure(NULL, NULL, NULL) == TARE_E_INVALID);
	OK(!tare_engine_counts(NULL));
}

/* Structs of an older and of a newer version of the headers. */
static void sizes(void)
{
	struct { struct tare_run_options o; uint64_t more; } newer = { 0 };
	struct tare_run_report *report;
	newer.o.argv = good;
	OK(tare_run(&newer.o, &report, NULL) == TARE_E_INVALID);	/* size 0 */
	newer.o.size = sizeof(newer);
	OK(tare_run(&newer.o, &report, NULL) == 0);
	tare_run_report_free(report);
	newer.more = 1;
	OK(tare_run(&newer.o, &report, NULL) == TARE_E_OPTION_UNKNOWN);
	newer.o.size = offsetof(struct tare_run_options, cpu);		/* argv only */
	newer.o.cpu = "no-such-cpu";
	OK(tare_run(&newer.o, &report, NULL) == 0);
	tare_run_report_free(report);

	struct { struct tare_measure_options o; uint64_t more; } m = { .more = 1 };
	struct tare_measurement *result;
	m.o.argv = good;
	OK(tare_measure(&m.o, &result, NULL) == TARE_E_INVALID);
	m.o.size = sizeof(m);
	OK(tare_measure(&m.o, &result, NULL) == TARE_E_OPTION_UNKNOWN);
}

/* The kernel would throw the command's exit status away. */
static void sigchld_ignored(void)
{
	struct tare_run_options o = TARE_RUN_OPTIONS_INIT;
	struct tare_why why;
	o.argv = good;
	signal(SIGCHLD, SIG_IGN);
	OK(tare_run(&o, NULL, &why) == TARE_E_INVALID && strstr(why.what, "SIGCHLD"));
	struct sigaction act;
	OK(sigaction(SIGCHLD, NULL, &act) == 0 && act.sa_handler == SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
	struct tare_why why;
	struct tare_events *list;
	OK(tare_events_parse("instructions:u", NULL, &list, NULL) == 0);
	CHECK(tare_backend_for(list, TARE_BACKEND_SOFT, NULL, 0, &why) == TARE_BACKEND_SOFT,
	      "the engine does not run here: %s", why.what);
	tare_events_free(list);
	OK(mkdtemp(tmp));
	setenv("TMPDIR", tmp, 1);
	for (int fd = 3; fd < MAX_FD; fd++)
		was_open[fd] = fcntl(fd, F_GETFD) >= 0;
	pthread_atfork(all_close_on_exec, NULL, NULL);
	signal(SIGPIPE, count_sigpipe);
	wrong_arguments();
	sizes();
	sigchld_ignored();
	/* The limit on file sizes is the files' on disks; SIGXFSZ would end this process. */
	struct rlimit files;
	getrlimit(RLIMIT_FSIZE, &files);
	for (int limited = 0; limited < 2; limited++) {
		measure("instructions:u", TARE_BACKEND_SOFT);
		run();
		files.rlim_cur = 4096;
		setrlimit(RLIMIT_FSIZE, &files);
	}
	OK(on_sigpipe == 0);
	rmdir(tmp);
	return 0;
}
