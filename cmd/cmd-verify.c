/* tare verify: which events of this machine can be trusted, by experiment. */
#include "buf.h"
#include "certificate.h"
#include "command.h"
#include "complain.h"
#include "output.h"
#include "term.h"
#include "verify-more.h"
#include "verify-programs.h"
#include "verify-show.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An event has no verdict; an experiment found that something counts wrongly, whatever the event. */
enum { EXIT_INCONCLUSIVE = 2, EXIT_BAD_FINDINGS = 3 };
#define USUAL_RUNS 10

struct verify_opts {
	const char *events, *output;
	struct opt_list kernels, experiments, only;
	unsigned runs;
	uint64_t seed;
	bool quick, json, html, list, sections, programs, certificate, no_certificate;
	int backend;
	int interrupts_from;
};

static const char *const interrupts_from[] = { "table", "vendor", "scan", NULL };
static const char *const backends[] = { "auto", "hw", "soft", NULL };

#define NO_STILL_WORLD "what is examined is this host, with its interrupts; a still world is the software engine's: tare stat --hermetic"

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "What is examined" },
	{ OPT_EVENTS, 'e', "event", "LIST", "these events (default: all of the CPU whose counts "
	  "inspection of code gives)", TO(verify_opts, events) },
	{ OPT_LIST, 0, "kernel", "NAME", "this kernel only; may be given again",
	  TO(verify_opts, kernels) },
	{ OPT_LIST, 0, "experiment", "NAME", "this experiment only; may be given again",
	  TO(verify_opts, experiments) },
	{ OPT_UINT, 'r', "repeat", "N", "runs of each kernel (default: 10)", TO(verify_opts, runs),
	  .min = 1, .max = 10000 },
	{ OPT_U64, 0, "seed", "N", "order of the generated instructions (default: 0)",
	  TO(verify_opts, seed) },
	{ OPT_FLAG, 0, "quick", NULL, "a tenth of the code, and 3 runs", TO(verify_opts, quick) },
	{ OPT_CHOICE, 0, "backend", "WHICH", "what counts (default: hw, and soft where there is no PMU)",
	  TO(verify_opts, backend), .choices = backends },
	{ OPT_CHOICE, 0, "interrupts-from", "WHERE", "where the search for an event that counts interrupts "
	  "begins: table (of this CPU), vendor (tables of its other CPUs), scan (all codes)",
	  TO(verify_opts, interrupts_from), .choices = interrupts_from },
	{ OPT_FLAG, 0, "programs", NULL, "instead, count real programs with everything that is there: the "
	  "engine, hardware, callgrind, QEMU", TO(verify_opts, programs) },
	{ OPT_LIST, 0, "program", "NAME", "of these programs this one; may be given again",
	  TO(verify_opts, only) },
	{ OPT_GROUP, .help = "Output" },
	{ OPT_FLAG, 0, "sections", NULL, "also what each kernel counted", TO(verify_opts, sections) },
	{ OPT_FLAG, 'j', "json", NULL, "JSON, schema tare.verify/1; with COMMAND, tare.invariants/1",
	  TO(verify_opts, json) },
	{ OPT_FILE, 'o', "output", "FILE", "write to FILE; -: standard output (the default; with "
	  "COMMAND, standard error)", TO(verify_opts, output) },
	{ OPT_FLAG, 0, "html", NULL, "one page with plots, for a browser", TO(verify_opts, html) },
	{ OPT_FLAG, 0, "certificate", NULL, "write the machine's certificate though only a part was "
	  "examined", TO(verify_opts, certificate) },
	{ OPT_FLAG, 0, "no-certificate", NULL, "write none", TO(verify_opts, no_certificate) },
	{ OPT_FLAG, 'l', "list", NULL, "show the kernels and the experiments", TO(verify_opts, list) },
	{ OPT_REFUSED, 0, "hermetic", .help = NO_STILL_WORLD },
	{ OPT_REFUSED, 0, "schedule", .help = NO_STILL_WORLD },
	{ OPT_END },
};

static volatile int stop;	/* 0, or the signal that ends it */

static void on_signal(int number)
{
	stop = number;
}

static void show_progress(const char *text, double share, void *arg)
{
	bool *const told = arg;
	if (*told) {
		progress("%3.0f%% %s", share * 100, text);
		return;
	}
	*told = true;
	fprintf(stderr, "tare: verify: %s\n", text);
}

static int show_list(void)
{
	const char *name, *about;
	puts("Kernels (--kernel):");
	for (size_t i = 0; (name = tare_verify_kernel(i, &about)); i++)
		printf("  %-16s %s\n", name, about);
	puts("\nExperiments (--experiment):");
	for (size_t i = 0; (name = tare_verify_experiment(i, &about)); i++)
		printf("  %-16s %s\n", name, about);
	return EXIT_GOOD;
}

/* What the software engine starts: `tare verify --run-kernel NAME LOOPS`. */
static int run_kernel(char **argv)
{
	struct tare_why why;
	if (tare_verify_child(argv[2], argv[3], &why) < 0) {
		complain_why(&why);
		return EXIT_USAGE;
	}
	return EXIT_GOOD;
}

/* The list with a NULL at its end; to be freed. */
static const char **names_of(const struct opt_list *l)
{
	if (!l->n)
		return NULL;
	const char **const names = calloc(l->n + 1, sizeof(*names));
	if (!names)
		abort();
	memcpy(names, l->items, l->n * sizeof(*names));
	return names;
}

static int status_of(const struct tare_verify_report *r)
{
	size_t counted = 0, inconclusive = 0;
	for (size_t i = 0; i < r->n_rows; i++) {
		const enum tare_event_verdict v = r->rows[i].verdict;
		inconclusive += v == TARE_EVENT_INCONCLUSIVE;
		counted += v == TARE_EVENT_DETERMINISTIC || v == TARE_EVENT_DEVIATES || v == TARE_EVENT_NEVER_COUNTS;
	}
	for (size_t i = 0; i < r->n_findings; i++)
		if (r->findings[i].verdict == TARE_VERDICT_BAD)
			return EXIT_BAD_FINDINGS;
	if (inconclusive)
		return EXIT_INCONCLUSIVE;
	if (counted)
		return EXIT_GOOD;
	complain("verify: none of the events could be counted");
	return EXIT_BAD;
}

static int show(const struct verify_opts *o, const struct tare_verify_report *r, struct output *out)
{
	struct buf b = { 0 };
	if (o->html) {
		verify_html(&b, r);
	} else if (o->json) {
		verify_json(&b, r);
	} else {
		verify_text(&b, r, o->sections);
		term_text(&b);
	}
	const bool failed = buf_failed(&b);
	if (failed)
		complain("verify: out of memory");
	const bool written = !failed && output_write(out, b.data, b.len);
	buf_free(&b);
	if (!written)
		return EXIT_BAD;
	return status_of(r);
}

/* Of everything, or of a part that is asked for. */
static void certify(const struct verify_opts *o, const struct tare_verify_report *r)
{
	const struct certificate_part what = { .events = o->events, .kernels = o->kernels.n,
					       .experiments = o->experiments.n, .runs = r->runs < USUAL_RUNS };
	const bool part = o->quick || what.events || what.kernels || what.experiments || what.runs;
	if (o->no_certificate || (part && !o->certificate))
		return;
	if (r->backend != TARE_BACKEND_HW) {
		if (o->certificate)
			caution("verify: no certificate is written: the software engine counted, which is no "
				"part of this machine");
		return;
	}
	const struct certificate *const old = certificate_here();
	if (part && old->state == CERTIFICATE_VALID && !old->part[0])
		caution("verify: this certificate of a part replaces that of a full examination of %.10s; "
			"`tare verify` makes that again", old->date);
	certificate_write(r, &what);
}

static int verify(const struct verify_opts *o, const struct tare_events *events, struct output *out)
{
	static const char *const child[] = { "/proc/self/exe", "verify", "--run-kernel", NULL };
	const char **const kernels = names_of(&o->kernels), **const experiments =
		names_of(&o->experiments);
	bool told = false;
	struct tare_verify_report *report;
	struct tare_why why;
	const struct tare_verify_options vo = {
		.size = sizeof(vo), .events = events, .kernels = kernels, .experiments = experiments,
		.runs = o->runs, .seed = o->seed, .quick = o->quick, .backend = (enum tare_backend)o->backend,
		.child = child, .progress = show_progress, .arg = &told, .stop = &stop,
		.interrupts_from = (enum tare_interrupts_from)o->interrupts_from,
	};
	const int err = tare_verify(&vo, &report, &why);
	progress_clear();
	free(kernels);
	free(experiments);
	int status;
	if (err && stop) {		/* whatever failed: the signal has reached the kernels' processes, too */
		complain("verify: ended by a signal (%d) before its end; there is no verdict", stop);
		status = 128 + stop;
	} else if (err) {
		complain_why(&why);
		status = err == TARE_E_INVALID ? EXIT_USAGE : EXIT_BAD;	/* no such kernel or experiment */
	} else {
		status = show(o, report, out);
		if (status != EXIT_BAD)
			certify(o, report);
		tare_verify_free(report);
	}
	return status;
}

/* An option that is given, and says how known code is examined; NULL: none. */
static const char *for_known_code(const struct verify_opts *o)
{
	return o->events ? "--event" : o->kernels.n ? "--kernel" : o->experiments.n ? "--experiment" :
	       o->quick ? "--quick" : o->sections ? "--sections" : o->html ? "--html" : o->seed ? "--seed" :
	       o->interrupts_from ? "--interrupts-from" : o->certificate ? "--certificate" :
	       o->no_certificate ? "--no-certificate" : NULL;
}

/* tare verify -- COMMAND */
static int check_command(const struct verify_opts *o, char **argv)
{
	const char *const wrong = for_known_code(o);
	if (wrong) {
		complain("verify: %s is for known code; with a command (%s) the invariants between "
			 "events are checked", wrong, argv[0]);
		return EXIT_USAGE;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	const struct verify_command c = { .argv = argv, .runs = o->runs, .backend = o->backend,
					  .json = o->json, .output = o->output, .stop = &stop };
	const int status = verify_invariants(&c);
	return stop ? 128 + stop : status;
}

/* tare verify --programs */
static int count_programs(const struct verify_opts *o, bool command)
{
	const char *const wrong = command ? "a command" : o->backend ? "--backend" : for_known_code(o);
	if (wrong) {
		complain("verify: --programs counts programs of its own; it cannot be combined with %s", wrong);
		return EXIT_USAGE;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	const char **const only = names_of(&o->only);
	const struct verify_programs p = { .runs = o->runs, .json = o->json, .only = only, .output = o->output,
					   .stop = &stop };
	const int status = verify_programs(&p);
	free(only);
	return stop ? 128 + stop : status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct verify_opts o = { 0 };
	struct tare_events *events = NULL;
	struct tare_why why;
	struct output out;
	int first;

	if (argc == 4 && !strcmp(argv[1], "--run-kernel"))
		return run_kernel(argv);
	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (o.list && first < argc) {
		complain("verify: --list takes no command (%s)", argv[first]);
		return EXIT_USAGE;
	}
	if (o.list)
		return show_list();
	if ((o.json && o.html) || (o.certificate && o.no_certificate)) {
		complain("verify: %s cannot be combined", o.json && o.html ? "--json and --html" :
			 "--certificate and --no-certificate");
		return EXIT_USAGE;
	}
	if (o.programs || o.only.n)
		return count_programs(&o, first < argc);
	if (first < argc)
		return check_command(&o, argv + first);
	if (o.events && tare_events_parse(o.events, NULL, &events, &why) < 0) {
		complain_why(&why);
		return EXIT_USAGE;
	}
	if (!output_open(&out, o.output ? o.output : "-")) {
		tare_events_free(events);
		return EXIT_USAGE;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	int status = verify(&o, events, &out);
	if (!output_close(&out))
		status = EXIT_BAD;
	tare_events_free(events);
	return stop ? 128 + stop : status;
}

const struct command cmd_verify = {
	.name = "verify",
	.summary = "find out by experiment which events of this machine can be trusted",
	.usage = "[OPTION]… [[--] COMMAND [ARG]…]",
	.about = "Runs code whose counts are known and compares. Each deviation is traced to its "
		 "cause: h interrupts, p page faults, E exceptions, F first use of floating point, "
		 "D and M instructions counted too often and too rarely, U micro-operations. Exit "
		 "status: 0 every event has a verdict, 2 some have none, 3 an experiment found something bad, "
		 "1 nothing could be counted. "
		 "With COMMAND: checks relations between events that hold for every program, such as "
		 "branches <= instructions; exit status 1 if one is broken.",
	.opts = opts,
	.runs_command = true,
	.run = run,
};
