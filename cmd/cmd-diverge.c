/* tare diverge: where two runs of a command part, and why. */
#include "buf.h"
#include "clean-env.h"
#include "command.h"
#include "complain.h"
#include "diverge-show.h"
#include "measuring.h"
#include "output.h"
#include "term.h"
#include "world-show.h"

#include <tare/codeprofile.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wordexp.h>

extern char **environ;

struct diverge_opts {
	unsigned runs;
	bool json, quiet, aslr, no_cause, clean_env;
	const char *output, *machine, *other_machine, *other_command;
	struct opt_list keep, other;
};

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "The runs" },
	{ OPT_UINT, 'r', "repeat", "N", "make up to N whole runs until two differ (default: 10)", TO(diverge_opts, runs),
	  .min = 2, .max = 1e4 },
	{ OPT_STRING, 0, "vs", "COMMAND", "compare with runs of this command line, whose code is in the same files",
	  TO(diverge_opts, other_command) },
	{ OPT_STRING, 0, "vs-machine", "MACHINE", "compare with runs that see this CPU", TO(diverge_opts, other_machine), .word = tare_machine },
	{ OPT_LIST, 0, "vs-env", "NAME=VALUE", "compare with runs that have this variable (NAME alone: have it not); may be "
	  "given again", TO(diverge_opts, other) },
	{ OPT_FLAG, 0, "clean-env", NULL, "a fixed environment: " CLEAN_ENV_HELP, TO(diverge_opts, clean_env) },
	{ OPT_LIST, 0, "keep", "VAR", "with --clean-env: also this variable; may be given again", TO(diverge_opts, keep) },
	{ OPT_STRING, 0, "machine", "MACHINE", MACHINE_HELP, TO(diverge_opts, machine), .word = tare_machine },
	{ OPT_FLAG, 0, "aslr", NULL, "leave address space randomisation on", TO(diverge_opts, aslr) },
	{ OPT_FLAG, 0, "no-cause", NULL, "only find where the runs part", TO(diverge_opts, no_cause) },
	{ OPT_GROUP, .help = "Output" },
	{ OPT_FILE, 'o', "output", "FILE", "write the result there (default: stdout)", TO(diverge_opts, output) },
	{ OPT_FLAG, 'j', "json", NULL, "JSON, schema tare.diverge/1", TO(diverge_opts, json) },
	{ OPT_FLAG, 'q', "quiet", NULL, "no progress line", TO(diverge_opts, quiet) },
	{ OPT_END },
};

/* ---- the other environment ---- */

static size_t name_length(const char *variable) { return strcspn(variable, "="); }

static bool same_name(const char *a, const char *b)
{
	return name_length(a) == name_length(b) && strncmp(a, b, name_length(a)) == 0;
}

/* `base` without the variables of the list, and with those that have a value. NULL: out of memory. */
static char **changed_environment(char **base, const struct opt_list *list)
{
	size_t n = 0, used = 0;
	while (base[n])
		n++;
	char **const out = calloc(n + list->n + 1, sizeof(*out));
	for (size_t i = 0; out && i < n; i++) {
		bool named = false;
		for (size_t k = 0; k < list->n; k++)
			named |= same_name(base[i], list->items[k]);
		if (!named)
			out[used++] = base[i];
	}
	for (size_t k = 0; out && k < list->n; k++)
		if (strchr(list->items[k], '='))
			out[used++] = (char *)(uintptr_t)list->items[k];
	return out;
}

/* ---- the command's own output and input ---- */

static int saved_out = -1, saved_err = -1;

/* It would be printed once for every run. */
static void silence(void)
{
	const int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	fflush(stdout);
	saved_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	saved_err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (none < 0)
		return;
	dup2(none, STDOUT_FILENO);
	dup2(none, STDERR_FILENO);
	close(none);
}

static void speak(void)
{
	if (saved_out >= 0)
		dup2(saved_out, STDOUT_FILENO);
	if (saved_err >= 0)
		dup2(saved_err, STDERR_FILENO);
}

struct listener {
	struct diverge_show *show;
	bool quiet;
};

static void on_run(enum tare_diverge_stage stage, unsigned run, void *arg)
{
	static const char *const stages[] = { "looking for two runs that differ", "looking for where they part",
					      "looking for the cause" };
	const struct listener *const l = arg;
	lseek(STDIN_FILENO, 0, SEEK_SET);	/* a file is read again by each run */
	if (l->quiet || saved_err < 0)
		return;
	dup2(saved_err, STDERR_FILENO);
	progress("run %u: %s", run + 1, stages[stage]);
	const int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (none >= 0)
		dup2(none, STDERR_FILENO);
	close(none);
}

/* The last two runs are those that differ. */
static void on_whole(const struct tare_measurement *m, const struct tare_events *events, void *arg)
{
	struct diverge_show *const s = ((struct listener *)arg)->show;
	struct tare_codeprofile *p = NULL;
	if (tare_codeprofile_make(m, &TARE_OPTIONS(codeprofile, .events = events), &p, NULL) < 0)
		return;
	tare_codeprofile_free(s->profiles[0]);
	s->profiles[0] = s->profiles[1];
	s->profiles[1] = p;
}

/* ---- the command ---- */

static bool write_result(const struct diverge_opts *o, struct output *out, const struct diverge_show *s)
{
	struct buf b = { 0 };
	if (o->json)
		diverge_json(&b, s);
	else
		diverge_text_show(&b, s);
	bool ok = !buf_failed(&b);
	if (!ok)
		complain("diverge: out of memory");
	else
		ok = output_write(out, b.data, b.len);
	buf_free(&b);
	return ok;
}

static bool usable(const struct diverge_opts *o)
{
	if (o->keep.n && !o->clean_env) {
		complain("diverge: --keep adds to --clean-env, which is not given");
		return false;
	}
	return machine_usable(o->machine) && machine_usable(o->other_machine);
}

static int diverge(const struct diverge_opts *o, char **argv, struct output *out)
{
	struct diverge_show show = { .argv = argv };
	struct listener listener = { .show = &show, .quiet = o->quiet };
	struct tare_why why = { 0 };
	char **const clean = o->clean_env ? clean_environment(&o->keep, false) : NULL;
	char **const other = o->other.n ? changed_environment(clean ? clean : environ, &o->other) : NULL;
	wordexp_t words = { 0 };
	if (o->other_command && wordexp(o->other_command, &words, WRDE_NOCMD) != 0) {
		complain("diverge: --vs \"%s\" is no command line", o->other_command);
		return EXIT_USAGE;
	}
	const struct tare_diverge_options options = TARE_OPTIONS(diverge,
		.argv = argv, .environment = clean, .other_environment = other, .other_machine = o->other_machine,
		.other_argv = o->other_command ? words.we_wordv : NULL, .runs = o->runs, .machine = o->machine,
		.aslr = o->aslr, .no_cause = o->no_cause, .stop = &measuring_stop, .on_run = on_run, .on_whole = on_whole,
		.arg = &listener);
	measuring_catch_signals();
	silence();
	const int err = tare_diverge(&options, &show.d, &why);
	speak();
	progress_clear();
	bool ok = !err;
	if (err && !measuring_caught)
		complain_why(&why);
	if (!err)
		ok = write_result(o, out, &show);
	const bool parted = show.d && show.d->found != TARE_DIVERGE_SAME;
	tare_divergence_free(show.d);
	tare_codeprofile_free(show.profiles[0]);
	tare_codeprofile_free(show.profiles[1]);
	if (clean)
		clean_environment_free(clean);
	free(other);
	wordfree(&words);
	if (measuring_caught)
		return 128 + measuring_caught;
	return err ? measuring_status(err) : !ok ? EXIT_FAILED : parted ? EXIT_BAD : EXIT_GOOD;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct diverge_opts o = { 0 };
	struct output out;
	int first;
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (first == argc) {
		complain("diverge: no command; try `tare diverge -- ./program`");
		return EXIT_USAGE;
	}
	if (!usable(&o))
		return EXIT_USAGE;
	if (!output_open(&out, o.output ? o.output : "-"))
		return EXIT_FAILED;
	const int status = diverge(&o, argv + first, &out);
	return output_close(&out) ? status : EXIT_FAILED;
}

const struct command cmd_diverge = {
	.name = "diverge",
	.summary = "find the first instruction at which two runs of a command part, and why",
	.usage = "[OPTION]… [--] COMMAND [ARG]…",
	.about = "Runs the command in the software engine until two runs differ, and then again and again to find where. "
		 "What the command prints is thrown away. Exit status: 0 no two runs differed, 1 two did, 125 tare failed.",
	.opts = opts,
	.runs_command = true,
	.run = run,
};
