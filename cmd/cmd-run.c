/* tare run: a command with a virtual PMU. */
#include "command.h"
#include "complain.h"

#include <tare/run.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The command's own statuses are its own; ours is env's and timeout's. */
#define EXIT_FAILED 125

struct run_opts {
	const char *cpu, *flaws;
	uint64_t seed;
	bool aslr, list, cycles, kernel_as_user;
};

static const struct opt opts[] = {
	{ OPT_STRING, 'c', "cpu", "MODEL", "the CPU to be (default: the nearest to this one)",
	  TO(run_opts, cpu) },
	{ OPT_STRING, 'f', "flaws", "LIST", "what it does wrong, comma-separated (default: nothing)",
	  TO(run_opts, flaws) },
	{ OPT_U64, 's', "seed", "N", "of what is random about the flaws (default: 0)",
	  TO(run_opts, seed) },
	{ OPT_FLAG, 0, "cycles", NULL, "let cycles be counted: one for each instruction",
	  TO(run_opts, cycles) },
	{ OPT_FLAG, 0, "kernel-as-user", NULL,
	  "count user mode for events that include the kernel", TO(run_opts, kernel_as_user) },
	{ OPT_FLAG, 0, "aslr", NULL, "leave address space layout randomisation on",
	  TO(run_opts, aslr) },
	{ OPT_FLAG, 'l', "list", NULL, "show the models and the flaws", TO(run_opts, list) },
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

static volatile int stop, caught;

/* The terminal's signals go to the command as well: the first is its own affair. One that
 * was sent to us alone, or a second one, ends it. */
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

/* Handlers, not SIG_IGN, which the command would inherit; what is ignored stays so, but for
 * SIGCHLD: the command's status could not be known. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction old;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &act, NULL);
	}
	/* a file that grows too big: an error of ours says more */
	if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = on_file_limit }, NULL);
	signal(SIGCHLD, SIG_DFL);
}

/* When the command has ended: what it did not get, and what was not what it asked for. */
static void close_run(const struct tare_run_report *r)
{
	const size_t max = sizeof(r->uncounted) / sizeof(r->uncounted[0]);
	if (r->asked_cycles[0])
		caution("run: %s asked for cycles, which the virtual PMU does not have; `tare run "
			"--cycles` counts one for each instruction", r->asked_cycles);
	if (r->kernel_as_user[0])
		caution("run: events of %s include the kernel; they counted user mode only "
			"(--kernel-as-user)", r->kernel_as_user);
	for (size_t i = 0; i < r->n_uncounted && i < max; i++)
		caution("run: process %d (%s): %s; counts that include it are too low",
			r->uncounted[i].pid, r->uncounted[i].name, r->uncounted[i].why);
	if (r->n_uncounted > max)
		caution("run: %zu more processes were not counted", r->n_uncounted - max);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct run_opts o = { 0 };
	struct tare_run_report report = { 0 };
	struct tare_why why;
	int first, status;

	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (o.list)
		return show_list();
	if (first == argc) {
		complain("run: no command; usage: tare run [OPTION]… [--] COMMAND [ARG]…");
		return EXIT_FAILED;
	}
	const struct tare_run_opts ro = { .argv = argv + first, .cpu = o.cpu, .flaws = o.flaws,
					  .seed = o.seed, .aslr = o.aslr, .stop = &stop,
					  .cycles = o.cycles, .kernel_as_user = o.kernel_as_user,
					  .report = &report };
	catch_signals();
	const int err = tare_run(&ro, &status, &why);
	close_run(&report);
	if (err < 0) {
		complain_why(&why);
		return why.code == TARE_E_NO_COMMAND ? 127 :
		       why.code == TARE_E_NOT_EXECUTABLE ? 126 : EXIT_FAILED;
	}
	return stop ? 128 + caught : status;
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
