/* tare scan: which codes of the event space count what is looked for. */
#include "scan.h"

#include "buf.h"
#include "command.h"
#include "complain.h"
#include "output.h"
#include "term.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_NOTHING_FOUND = 2 };

#define SAVE_EVERY_NS 300000000u
#define MOST_ROUNDS 10000000000ull	/* of a batch: 4 instructions each, some ten seconds */
#define MOST_PAGES 10000000u

struct scan_opts {
	const char *like, *codes, *masks, *state, *output;
	uint64_t rounds, pages;
	bool json, resume, plan_only, quiet;
};

static const struct opt opts[] = {
	{ OPT_GROUP, .help = "What to look for" },
	{ OPT_EVENTS, 'l', "like", "WHAT",
	  "page-faults (default), interrupts, an event, or a number", TO(scan_opts, like) },
	{ OPT_STRING, 0, "codes", "RANGE", "event selectors, such as 0x00-0xff (default: all)",
	  TO(scan_opts, codes) },
	{ OPT_STRING, 0, "masks", "RANGE", "masks, such as 0x00-0xff (default: 0 and 0xff)",
	  TO(scan_opts, masks) },
	{ OPT_U64, 0, "rounds", "N", "rounds of the loop that is counted", TO(scan_opts, rounds),
	  .min = 1, .max = MOST_ROUNDS },
	{ OPT_U64, 0, "pages", "N", "pages that are touched meanwhile", TO(scan_opts, pages),
	  .min = 1, .max = MOST_PAGES },
	{ OPT_GROUP, .help = "How" },
	{ OPT_FLAG, 'n', "dry-run", NULL, "say what would be done, and end",
	  TO(scan_opts, plan_only) },
	{ OPT_FLAG, 0, "resume", NULL, "go on with the scan that the state file has",
	  TO(scan_opts, resume) },
	{ OPT_FILE, 0, "state", "FILE", "the state file (default: tare/scan.json in the XDG state folder)",
	  TO(scan_opts, state) },
	{ OPT_FLAG, 'q', "quiet", NULL, "neither plan nor progress", TO(scan_opts, quiet) },
	{ OPT_GROUP, .help = "Output" },
	{ OPT_FLAG, 'j', "json", NULL, "JSON, schema tare.scan/1", TO(scan_opts, json) },
	{ OPT_FILE, 'o', "output", "FILE", "write the result there instead of stdout",
	  TO(scan_opts, output) },
	{ OPT_END },
};

/* What the progress function needs. */
struct watch {
	const struct scan_opts *o;
	const struct scan_job *job;
	const struct tare_cpu *cpu;
	const char *path;		/* of the state file; NULL: there is none */
	uint64_t saved_ns, stage_ns, stage_next;
	enum tare_scan_stage stage;
	bool saved;
};

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

/* Signals that end the scan, its state kept. Those that are ignored stay ignored. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &(struct sigaction){ .sa_handler = on_signal }, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool parse_range(const char *option, const char *text, bool *has, uint64_t *first,
			uint64_t *last)
{
	char copy[64];

	*has = text;
	if (!text)
		return true;
	snprintf(copy, sizeof(copy), "%s", text);
	char *const dash = strchr(copy, '-');
	if (dash)
		*dash = '\0';
	if (strlen(text) < sizeof(copy) && text_to_u64(copy, first) &&
	    text_to_u64(dash ? dash + 1 : copy, last))
		return true;
	complain("scan: --%s '%s' is no range of numbers, such as 0x00-0xff or 0x20", option, text);
	return false;
}

/* "3 s", "4 min", "2 h". */
static void add_time(struct buf *b, double s)
{
	if (s < 100)
		buf_printf(b, "%.0f s", s < 1 ? 1.0 : s);
	else if (s < 6000)
		buf_printf(b, "%.0f min", s / 60);
	else
		buf_printf(b, "%.0f h", s / 3600);
}

static void show_plan(const struct tare_scan_plan *p, const char *like, const struct tare_cpu *cpu)
{
	struct buf b = { 0 };

	buf_printf(&b, "Looking for codes that count %s on %s, CPU %u\n", like,
		   cpu->uarch ? cpu->uarch->title : cpu->brand[0] ? cpu->brand : "this CPU", p->cpu);
	buf_str(&b, "  ");
	buf_grouped(&b, p->codes);
	buf_printf(&b, " code%s: event selectors 0x%" PRIx64 "-0x%" PRIx64, p->codes == 1 ? "" : "s", p->first_code,
		   p->last_code);
	if (!p->mask_bits)
		buf_str(&b, ", without mask");
	else if (p->first_mask == p->last_mask)
		buf_printf(&b, ", mask 0x%02" PRIx64, p->first_mask);
	else
		buf_printf(&b, ", masks 0x%02" PRIx64 "%s0x%02" PRIx64, p->first_mask,
			   p->ends_only ? " and " : "-", p->last_mask);
	buf_printf(&b, "\n  %u at a time: ", p->counters);
	buf_grouped(&b, p->batches);
	buf_printf(&b, " batch%s of %.1f ms, about ", p->batches == 1 ? "" : "es", (double)p->batch_ns / 1e6);
	add_time(&b, (double)p->batch_ns / 1e9 * (double)p->batches);
	buf_str(&b, "; then the bits of the masks that count enough\n  the work of a batch: ");
	buf_grouped(&b, p->rounds);
	buf_str(&b, " rounds of a loop");
	if (p->pages) {
		buf_str(&b, ", ");
		buf_grouped(&b, p->pages);
		buf_str(&b, " fresh pages");
	}
	if (p->interrupts)
		buf_printf(&b, ", %" PRIu64 " interrupts or more", p->interrupts);
	buf_str(&b, "; then twice as much\n");
	if (!buf_failed(&b))
		fwrite(b.data, 1, b.len, stderr);
	buf_free(&b);
}

static void show_progress(struct watch *w, const struct tare_scan_state *s, uint64_t now)
{
	char left[48] = "";

	if (s->stage != w->stage || !w->stage_ns) {
		w->stage = s->stage;
		w->stage_ns = now;
		w->stage_next = s->next;
	} else if (s->next > w->stage_next) {
		const double each = (double)(now - w->stage_ns) / (double)(s->next - w->stage_next);
		snprintf(left, sizeof(left), ", %.0f s left",
			 each * (double)(s->total - s->next) / 1e9);
	}
	progress("%s: %" PRIu64 " of %" PRIu64 " codes%s, %zu kept", tare_scan_stage_name(s->stage),
		 s->next, s->total, left, s->n_hits);
}

static int on_progress(const struct tare_scan_state *s, void *arg)
{
	struct watch *const w = arg;
	const uint64_t now = now_ns();

	if (!w->o->quiet)
		show_progress(w, s, now);
	if (w->path && (caught || now - w->saved_ns > SAVE_EVERY_NS)) {
		const int err = scan_state_write(w->path, w->cpu, w->job, s);
		w->saved_ns = now;
		w->saved |= !err;
		if (err) {
			progress_clear();
			caution("scan: %s: %s: this scan cannot go on after a kill", w->path,
				strerror(err));
			w->path = NULL;
		}
	}
	return caught != 0;
}

static int stopped(const struct watch *w, const struct tare_why *why)
{
	complain("scan: %s", why->what);
	if (w->path)
		fprintf(stderr, "      `tare scan --resume%s%s` goes on from there\n",
			w->o->state ? " --state " : "", w->o->state ? w->o->state : "");
	return 128 + caught;
}

/* What `tare scan` cannot do without a PMU, in one sentence. */
static int refused(const struct tare_why *why)
{
	if (why->code == TARE_E_RANGE || why->code == TARE_E_INVALID || why->code == TARE_E_SYNTAX ||
	    why->code == TARE_E_EVENT_UNKNOWN) {
		complain_why(why);
		return EXIT_USAGE;
	}
	if (why->code != TARE_E_NO_PMU && why->code != TARE_E_NO_PERF) {
		complain_why(why);
		return EXIT_BAD;
	}
	complain("scan: only a hardware PMU has an event space, and this machine shows none (%s)",
		 why->what);
	fputs("      scan on a machine with a PMU, or the virtual one: tare run -- tare scan\n", stderr);
	return EXIT_BAD;
}

static int write_result(const struct scan_opts *o, const struct scan_job *job, const struct tare_scan *s,
			const struct tare_cpu *cpu, struct output *out)
{
	struct buf b = { 0 };

	if (o->json)
		scan_json(&b, tare_scan_plan(s), tare_scan_result(s), job->like, cpu);
	else
		scan_text(&b, tare_scan_plan(s), tare_scan_result(s), job->like);
	bool good = !buf_failed(&b);
	if (!good)
		complain("scan: out of memory");
	good = good && output_write(out, b.data, b.len);
	buf_free(&b);
	if (!good)
		return EXIT_BAD;
	return tare_scan_result(s)->n_found ? EXIT_GOOD : EXIT_NOTHING_FOUND;
}

static int scan(const struct scan_opts *o, const struct scan_job *job, struct watch *w,
		const struct tare_scan_state *resume, struct output *out)
{
	struct tare_scan_options so = TARE_SCAN_OPTIONS_INIT;
	struct tare_scan *s;
	struct tare_why why;
	int status;

	so.like = job->like;
	so.has_codes = job->has_codes;
	so.first_code = job->first_code;
	so.last_code = job->last_code;
	so.has_masks = job->has_masks;
	so.first_mask = job->first_mask;
	so.last_mask = job->last_mask;
	so.rounds = job->rounds;
	so.pages = job->pages;
	so.resume = resume;
	so.progress = on_progress;
	so.arg = w;
	if (tare_scan_open(&so, &s, &why) < 0)
		return refused(&why);
	if (!o->quiet)
		show_plan(tare_scan_plan(s), job->like, w->cpu);
	if (o->plan_only) {
		status = EXIT_GOOD;
	} else if (tare_scan_run(s, &why) < 0) {
		progress_clear();
		status = why.code == TARE_E_TIMEOUT && caught ? stopped(w, &why) : refused(&why);
	} else {
		progress_clear();
		status = write_result(o, job, s, w->cpu, out);
		if (w->path && (w->saved || resume))
			unlink(w->path);
	}
	tare_scan_close(s);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct scan_opts o = { 0 };
	int first;

	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (first < argc) {
		complain("scan: unexpected operand '%s'; it takes none", argv[first]);
		return EXIT_USAGE;
	}
	struct scan_job job = { .like = o.like, .rounds = o.rounds, .pages = o.pages };
	if (!parse_range("codes", o.codes, &job.has_codes, &job.first_code, &job.last_code) ||
	    !parse_range("masks", o.masks, &job.has_masks, &job.first_mask, &job.last_mask))
		return EXIT_USAGE;
	struct tare_cpu cpu;
	char path[PATH_MAX];
	struct scan_saved *saved = NULL;
	tare_cpu_detect(&cpu);
	const bool has_path = scan_state_path(o.state, path, sizeof(path));
	if (o.resume && (!has_path || !scan_state_read(path, &cpu, &job, &saved)))
		return EXIT_BAD;
	if (!job.like)
		job.like = "page-faults";
	struct watch w = { .o = &o, .job = &job, .cpu = &cpu, .path = has_path ? path : NULL };
	if (!o.resume && !o.plan_only && !o.quiet && w.path && access(path, F_OK) == 0)
		caution("scan: %s has a scan that did not end; this one replaces it (--resume would "
			"have gone on)", path);
	struct output out;	/* opened now: a scan can take hours */
	if (!output_open(&out, o.output ? o.output : "-")) {
		scan_saved_free(saved);
		return EXIT_USAGE;
	}
	catch_signals();
	int status = scan(&o, &job, &w, saved ? scan_saved_state(saved) : NULL, &out);
	if (!output_close(&out))
		status = EXIT_BAD;
	scan_saved_free(saved);
	return status;
}

const struct command cmd_scan = {
	.name = "scan",
	.summary = "look for event codes that count page faults, interrupts or a given number",
	.usage = "[OPTION]…",
	.about = "Tries all codes of the PMU's event space, as many at a time as counters are free, "
		 "while code runs of which the counts are known, and lists those that count what is "
		 "looked for. Exit status: 0 found, 2 nothing found, 1 failed, 125 wrong usage.",
	.opts = opts,
	.run = run,
};
