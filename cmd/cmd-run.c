/* tare run: a command with a virtual PMU. */
#include "command.h"
#include "complain.h"
#include "json.h"
#include "run-report.h"
#include "world-show.h"

#include <tare/run.h>
#include <tare/version.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run_opts {
	const char *cpu, *flaws, *machine;
	uint64_t seed;
	bool aslr, list, cycles, kernel_as_user, show_flaws;
};

#define NO_STILL_WORLD "the virtual PMU's clocks and interrupts are the host's, so runs would still differ; for counts that are " \
	"the same every time: tare stat --hermetic"

static const struct opt opts[] = {
	{ OPT_STRING, 'c', "cpu", "MODEL", "the CPU model (default: the one nearest to this machine's)",
	  TO(run_opts, cpu), .word = tare_run_model },
	{ OPT_STRING, 'f', "flaws", "LIST", "its counting errors, comma-separated (default: none)",
	  TO(run_opts, flaws), .word = tare_run_flaw, .list = true },
	{ OPT_U64, 's', "seed", "N", "seed of the random part of the flaws (default: 0)",
	  TO(run_opts, seed) },
	{ OPT_STRING, 0, "machine", "NAME", "features, caches and number of CPUs of this machine instead of the host's "
	  "(see tare-machine(7)); vendor and model are those of --cpu", TO(run_opts, machine),
	  .word = tare_machine },
	{ OPT_FLAG, 0, "cycles", NULL, "let cycles be counted: one for each instruction",
	  TO(run_opts, cycles) },
	{ OPT_FLAG, 0, "kernel-as-user", NULL,
	  "count user mode for events that include the kernel", TO(run_opts, kernel_as_user) },
	{ OPT_FLAG, 0, "aslr", NULL, "leave address space layout randomisation on",
	  TO(run_opts, aslr) },
	{ OPT_FLAG, 0, "show-flaws", NULL, "print what --flaws plants, as JSON, and run nothing",
	  TO(run_opts, show_flaws) },
	{ OPT_FLAG, 'l', "list", NULL, "show the models and the flaws", TO(run_opts, list) },
	{ OPT_REFUSED, 0, "hermetic", .help = NO_STILL_WORLD },
	{ OPT_REFUSED, 0, "schedule", .help = NO_STILL_WORLD },
	{ OPT_END },
};

static int show_list(void)
{
	const char *name, *about;
	puts("Models (--cpu):");
	for (size_t i = 0; (name = tare_run_model(i, &about)); i++)
		printf("  %-16s %s\n", name, about);
	puts("\nFlaws (--flaws):");
	for (size_t i = 0; (name = tare_run_flaw(i, &about)); i++)
		printf("  %-16s %s\n", name, about);
	return EXIT_GOOD;
}

static void planted_json(struct json *j, const struct tare_run_planted *p)
{
	json_object(j, NULL);
	json_str(j, "event", *p->event ? p->event : NULL);
	json_u64(j, "code", p->code);
	json_str(j, "role", *p->role ? p->role : NULL);
	json_str(j, "cause", p->cause);
	json_str(j, "letter", *p->letter ? p->letter : NULL);
	json_str(j, "what", *p->what ? p->what : NULL);
	json_i64(j, "amount", p->amount);
	json_u64(j, "one_of", p->one_of);
	json_end(j);
}

static int show_flaws(const struct tare_run_options *o)
{
	struct tare_run_planted *list;
	struct tare_why why;
	size_t n;
	if (tare_run_planted(o, &list, &n, &why) < 0) {
		complain_why(&why);
		return EXIT_FAILED;
	}
	struct buf b = { 0 };
	struct json j = { .out = &b, .indent = true };
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.flaws/1");
	json_str(&j, "tare", TARE_VERSION);
	json_str(&j, "cpu", o->cpu);
	json_str(&j, "flaws", o->flaws ? o->flaws : "");
	json_array(&j, "planted");
	for (size_t i = 0; i < n; i++)
		planted_json(&j, &list[i]);
	json_end(&j);
	json_end(&j);
	buf_chr(&b, '\n');
	fwrite(b.data, 1, b.len, stdout);
	buf_free(&b);
	tare_run_planted_free(list);
	return EXIT_GOOD;
}

/* The command can read its parent's command line in /proc. The seed of random flaws would tell it the
 * flaws: replaces it there, and returns a copy of the list. */
static char *hide_seed(const char *flaws)
{
	static const char start[] = "random:";
	char *const copy = strdup(flaws);
	if (copy && strncmp(flaws, start, strlen(start)) == 0)
		for (char *p = (char *)flaws + strlen(start); *p; p++)
			*p = '*';
	return copy;
}

static volatile int stop, caught;

/* A signal of the terminal (Ctrl-C) goes to the command too, which may handle it. A second one, or
 * a signal that another process sent to tare alone, ends the command. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (caught || info->si_code <= 0)
		stop = 1;
	caught = number;
}

static void on_file_limit(int number)
{
	(void)number;
}

/* Handlers, not SIG_IGN, which the command would inherit. A signal that is ignored stays ignored,
 * except SIGCHLD: the command's exit status would be lost. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction old;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &act, NULL);
	}
	/* a file beyond ulimit -f: the error message says more than the signal */
	if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = on_file_limit }, NULL);
	signal(SIGCHLD, SIG_DFL);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct run_opts o = { 0 };
	struct tare_run_report *report;
	struct tare_why why;
	int first;

	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (o.list)
		return show_list();
	if (o.show_flaws)
		return show_flaws(&(struct tare_run_options){ .size = sizeof(struct tare_run_options),
							      .cpu = o.cpu, .flaws = o.flaws });
	if (first == argc) {
		complain("run: no command; usage: tare run [OPTION]… [--] COMMAND [ARG]…");
		return EXIT_USAGE;
	}
	char *const flaws = o.flaws ? hide_seed(o.flaws) : NULL;
	const struct tare_run_options ro = {
		.size = sizeof(ro), .argv = argv + first, .cpu = o.cpu, .flaws = flaws,
		.seed = o.seed, .aslr = o.aslr, .stop = &stop, .cycles = o.cycles,
		.kernel_as_user = o.kernel_as_user, .machine = o.machine,
	};
	catch_signals();
	const int err = tare_run(&ro, &report, &why);
	free(flaws);
	if (err < 0) {
		complain_why(&why);
		return why.code == TARE_E_NO_COMMAND ? EXIT_NOT_FOUND :
		       why.code == TARE_E_NOT_EXECUTABLE ? EXIT_NOT_EXECUTABLE : EXIT_FAILED;
	}
	report_run("run", report);
	const int status = stop ? 128 + caught : report->exit_status;
	tare_run_report_free(report);
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.summary = "run a command that sees the hardware counters of a given CPU",
	.usage = "[OPTION]… [--] COMMAND [ARG]…",
	.about = "Runs COMMAND in the software engine with a virtual PMU: perf_event_open, rdpmc, "
		 "cpuid and sysfs answer it and its children as on the chosen CPU. Counts are "
		 "exact, unless flaws are switched on.",
	.opts = opts,
	.runs_command = true,
	.run = run,
};
