/* tare record -- CMD: runs a program that uses the recorder, once or N times under
 * the same conditions; one profile per process and run. */
#include "certificate.h"
#include "command.h"
#include "complain.h"
#include "profiles.h"
#include "run-report.h"
#include "term.h"

#include <tare/measure.h>
#include <tare/run.h>
#include <tare/world.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BACKEND_AUTO, BACKEND_NATIVE, BACKEND_SOFT };

struct record_opts {
	const char *counter, *dir, *kinds, *cpu, *flaws, *machine;
	uint64_t seed;
	unsigned repeat;
	int backend;
	bool aslr, quiet;
};

static const char *const backends[] = { "auto", "native", "soft", NULL };

#define NO_STILL_WORLD "a profile has times of the host, so runs would still differ; for counts that are the same every time: " \
	"tare stat --hermetic, or tare annotate --hermetic for those of functions"

static const struct opt opts[] = {
	{ OPT_STRING, 'c', "counter", "NAME", "the counter: wall-time (default), instructions:u, "
	  "instructions-minus-irqs:u, any event", TO(record_opts, counter) },
	{ OPT_UINT, 'r', "repeat", "N", "run N times", TO(record_opts, repeat), .min = 1, .max = 1e6 },
	{ OPT_DIR, 'o', "output", "DIR", "where the profiles go (default: .); made if missing, with those above it",
	  TO(record_opts, dir) },
	{ OPT_STRING, 'k', "kinds", "LIST", "only events of these kinds (comma-separated)",
	  TO(record_opts, kinds) },
	{ OPT_CHOICE, 'b', "backend", "WHERE", "native; soft: in the software engine, which has "
	  "counters everywhere; auto (default): native where the counter can be opened",
	  TO(record_opts, backend), .choices = backends },
	{ OPT_STRING, 0, "cpu", "MODEL", "the CPU that the engine shows (see tare run --list)",
	  TO(record_opts, cpu), .word = tare_run_model },
	{ OPT_STRING, 0, "machine", "NAME", "features, caches and number of CPUs of this machine instead of the host's "
	  "(see tare-machine(7)); with --backend soft", TO(record_opts, machine), .word = tare_machine },
	{ OPT_STRING, 'f', "flaws", "LIST", "what that CPU does wrong, comma-separated",
	  TO(record_opts, flaws), .word = tare_run_flaw, .list = true },
	{ OPT_U64, 's', "seed", "N", "of what is random about the flaws, plus one with each run "
	  "(default: 0)", TO(record_opts, seed) },
	{ OPT_FLAG, 0, "aslr", NULL, "leave address randomisation on", TO(record_opts, aslr) },
	{ OPT_FLAG, 'q', "quiet", NULL, "do not list the profiles", TO(record_opts, quiet) },
	{ OPT_REFUSED, 0, "hermetic", .help = NO_STILL_WORLD },
	{ OPT_REFUSED, 0, "schedule", .help = NO_STILL_WORLD },
	{ OPT_END },
};

/* In the child, until exec. */
static void become(const struct record_opts *o, char **argv)
{
	if (!o->aslr) {
		const int old = personality(0xffffffff);
		if (old < 0 || personality((unsigned long)old | ADDR_NO_RANDOMIZE) < 0)
			fprintf(stderr, "tare: warning: address randomisation stays on: %s\n",
				strerror(errno));
	}
	execvp(argv[0], argv);
	const int err = errno;
	fprintf(stderr, "tare: %s: %s\n", argv[0], strerror(err));
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static int run_native(const struct record_opts *o, char **argv)
{
	int status;
	const pid_t pid = fork();
	if (pid < 0) {
		complain_errno(errno, "fork");
		return EXIT_FAILED;
	}
	if (pid == 0)
		become(o, argv);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			complain_errno(errno, "waitpid");
			return EXIT_FAILED;
		}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The engine's virtual PMU gives the program the counters it asks the kernel for. */
static int run_soft(const struct record_opts *o, char **argv, unsigned n)
{
	struct tare_why why = { 0 };
	struct tare_run_report *report;
	const struct tare_run_options ro = { .size = sizeof(ro), .argv = argv, .cpu = o->cpu,
					     .flaws = o->flaws, .seed = o->seed + n,
					     .aslr = o->aslr, .machine = o->machine };
	if (tare_run(&ro, &report, &why) < 0) {
		complain_why(&why);
		return why.code == TARE_E_NO_COMMAND ? EXIT_NOT_FOUND :
		       why.code == TARE_E_NOT_EXECUTABLE ? EXIT_NOT_EXECUTABLE : EXIT_FAILED;
	}
	report_run("record", report);
	const int status = report->exit_status;
	tare_run_report_free(report);
	return status;
}

static void say_correction(const struct tare_event *e)
{
	struct certificate_says says;
	if (!certificate_matters(e))
		return;
	certificate_of_event(certificate_here(), e, &says);
	fprintf(stderr, "tare: %s: %s\n", e->name, says.text);
}

/* Where nothing was asked for: native, unless only the engine has the counter. */
static bool choose_backend(struct record_opts *o)
{
	char reason[256] = "";
	struct tare_events *events;
	struct tare_why why = { 0 };
	if (o->cpu || o->flaws || o->machine) {
		if (o->backend == BACKEND_NATIVE) {
			complain("record: --cpu, --flaws and --machine are the software engine's: "
				 "leave out --backend native");
			return false;
		}
		o->backend = BACKEND_SOFT;
	}
	if (o->backend != BACKEND_AUTO)
		return true;
	o->backend = BACKEND_NATIVE;
	if (!o->counter)
		return true;
	int err = tare_events_parse(o->counter, NULL, &events, &why);
	if (err == 0) {
		err = tare_backend_for(events, TARE_BACKEND_AUTO, reason, sizeof(reason), &why);
		if (err == TARE_BACKEND_HW && !o->quiet)
			say_correction(tare_events_at(events, 0));
		tare_events_free(events);
	}
	if (err < 0) {
		complain_why(&why);
		return false;
	}
	if (err == TARE_BACKEND_SOFT) {
		o->backend = BACKEND_SOFT;
		if (!o->quiet)
			fprintf(stderr, "tare: %s: in the software engine (%s)\n", o->counter,
				reason);
	}
	return true;
}

static bool is_profile(const struct dirent *e)
{
	const char *const dot = strrchr(e->d_name, '.');
	return dot && strcmp(dot, ".mm_profdata") == 0;
}

/* Profiles in the directory that are newer than the last look. */
static size_t list_new(const char *dir, const struct timespec *since, bool quiet)
{
	struct dirent **list;
	size_t found = 0;
	const int n = scandir(dir, &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char path[4096];
		struct stat st;
		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (is_profile(list[i]) && stat(path, &st) == 0 &&
		    (st.st_mtim.tv_sec > since->tv_sec ||
		     (st.st_mtim.tv_sec == since->tv_sec && st.st_mtim.tv_nsec >= since->tv_nsec))) {
			found++;
			if (!quiet)
				fprintf(stderr, "%s\n", path);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return found;
}

/* With those above it. */
static bool make_dir(const char *dir)
{
	char *const path = strdup(dir);
	struct stat st;
	if (!path) {
		complain_errno(errno, "%s", dir);
		return false;
	}
	for (char *end = path; *end; ) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		const char cut = *end;
		*end = '\0';
		mkdir(path, 0777);	/* if it fails, the last one does */
		*end = cut;
	}
	const bool there = stat(path, &st) == 0;
	if (!there || !S_ISDIR(st.st_mode))
		complain_errno(there ? ENOTDIR : mkdir(path, 0777) < 0 ? errno : EIO, "%s", dir);
	free(path);
	return there && S_ISDIR(st.st_mode);
}

/* The file system's clock, which file times are compared with. */
static struct timespec file_now(const char *dir)
{
	char path[4096];
	struct stat st = { 0 };
	snprintf(path, sizeof(path), "%s/.tare-XXXXXX", dir);
	const int fd = mkstemp(path);
	if (fd >= 0) {
		fstat(fd, &st);
		close(fd);
		unlink(path);
	}
	return st.st_mtim;
}

static void set_conditions(const struct record_opts *o)
{
	char *const full = realpath(o->dir, NULL);
	setenv("TARE_RECORD_DIR", full ? full : o->dir, 1);
	free(full);
	if (o->counter)
		setenv("TARE_RECORD_COUNTER", o->counter, 1);
	if (o->kinds)
		setenv("TARE_RECORD_KINDS", o->kinds, 1);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct record_opts o = { .repeat = 1, .dir = "." };
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (first == argc) {
		complain("record: a command is wanted: tare record [OPTION]… -- CMD [ARG]…");
		return EXIT_USAGE;
	}
	if (!*o.dir) {
		complain("record: --output: a directory is wanted, not an empty name");
		return EXIT_USAGE;
	}
	if (!choose_backend(&o) || !make_dir(o.dir))
		return EXIT_FAILED;
	signal(SIGCHLD, SIG_DFL);	/* where it is ignored, exit statuses are lost */
	set_conditions(&o);
	for (unsigned i = 0; i < o.repeat; i++) {
		const struct timespec since = file_now(o.dir);
		progress("record: run %u of %u", i + 1, o.repeat);
		progress_clear();
		const int status = o.backend == BACKEND_SOFT ? run_soft(&o, argv + first, i)
							     : run_native(&o, argv + first);
		const size_t found = list_new(o.dir, &since, o.quiet);
		if (status)
			return status;
		if (!found) {
			complain("%s wrote no profile to %s: does it use the recorder "
				 "(tare/record.h)?", argv[first], o.dir);
			return EXIT_FAILED;
		}
	}
	return EXIT_GOOD;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "run a program that records itself, N times alike",
	.usage = "[OPTION]… -- CMD [ARG]…",
	.about = "Runs a program that uses libtare's recorder with the counter chosen here, address "
		 "randomisation off, and leaves one .mm_profdata file per process and run. The exit "
		 "status is the program's; a run that fails ends the series.",
	.opts = opts,
	.runs_command = true,
	.run = run,
};
