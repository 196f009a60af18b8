#include "callgrind.h"

#include "accesses.h"
#include "buf.h"
#include "cachesim.h"
#include "clean-env.h"
#include "command.h"
#include "complain.h"
#include "function-rules.h"
#include "measuring.h"
#include "sink.h"
#include "term.h"
#include "world-show.h"

#include <tare/tare.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Programs that drive callgrind ask for its version and compare. */
#define LIKE_VALGRIND "valgrind-3.22.0"
#define DEFAULT_OUT "callgrind.out.%p"

struct callgrind {
	const char *out_file, *log_file;
	const char *machine, *hermetic, *schedule;	/* tare's own; NULL: not given */
	int log_fd;
	bool quiet, verbose, trace_children, dump_instr, no_lines, separate_threads, skip_plt_off;
	bool cache_sim, instr_later, collect_later, plain_names, combine_dumps, jumps;
	struct function_rules rules;
	struct cachesim_caches caches;
	char **command;
	FILE *log;
	pid_t pid;			/* of the command, once it ran */
	struct buf left_out;		/* lines that say what the file does not have */
	int64_t collected[1 + SIM_EVENTS];	/* of that process, all of its parts */
};

bool callgrind_is_name(const char *argv0)
{
	const char *const slash = strrchr(argv0, '/');
	return !strcmp(slash ? slash + 1 : argv0, "tare-callgrind");
}

static void say(const struct callgrind *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct callgrind *c, const char *format, ...)
{
	va_list args;
	if (!c->log || c->quiet)
		return;
	fprintf(c->log, "==%d== ", (int)(c->pid ? c->pid : getpid()));
	va_start(args, format);
	vfprintf(c->log, format, args);
	va_end(args);
	fputc('\n', c->log);
}

static void say_command(const struct callgrind *c)
{
	struct buf text = { 0 };
	for (char **arg = c->command; *arg; arg++)
		buf_printf(&text, " %s", *arg);
	say(c, "Command:%s", buf_failed(&text) ? "" : text.data);
	buf_free(&text);
}

/* ---- options ---- */

static int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int usage_error(const char *format, ...)
{
	va_list args;
	fputs("tare-callgrind: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

/* "--name=value": the value; NULL: another option. */
static const char *value_of(const char *option, const char *name)
{
	const size_t n = strlen(name);
	return !strncmp(option, name, n) && option[n] == '=' ? option + n + 1 : NULL;
}

/* "--name=yes|no". 1 or 0: it was this option; -1: another one; -2: another value, which was said. */
static int yes_or_no(const char *option, const char *name)
{
	const char *const v = value_of(option, name);
	if (!v)
		return -1;
	if (!strcmp(v, "yes") || !strcmp(v, "no"))
		return *v == 'y';
	usage_error("%s: the value is neither yes nor no", option);
	return -2;
}

struct flag {
	const char *name;
	size_t offset;
	bool inverted;
};

static const struct flag flags[] = {
	{ "--dump-instr", offsetof(struct callgrind, dump_instr), false },
	{ "--dump-line", offsetof(struct callgrind, no_lines), true },
	{ "--separate-threads", offsetof(struct callgrind, separate_threads), false },
	{ "--trace-children", offsetof(struct callgrind, trace_children), false },
	{ "--cache-sim", offsetof(struct callgrind, cache_sim), false },
	{ "--simulate-cache", offsetof(struct callgrind, cache_sim), false },
	{ "--instr-atstart", offsetof(struct callgrind, instr_later), true },
	{ "--collect-atstart", offsetof(struct callgrind, collect_later), true },
	{ "--skip-plt", offsetof(struct callgrind, skip_plt_off), true },
	{ "--compress-strings", offsetof(struct callgrind, plain_names), true },
	{ "--combine-dumps", offsetof(struct callgrind, combine_dumps), false },
	{ "--collect-jumps", offsetof(struct callgrind, jumps), false },
	{ "--trace-jump", offsetof(struct callgrind, jumps), false },
};

/* What changes nothing here: how callgrind packs its file, and what it says while it works. */
static const char *const ignored[] = {
	"--compress-pos", "--num-callers", "--error-limit", "--progress",
	"--demangle", "--verbose", "--stats", "--error-exitcode", "--sigill-diagnostics", "--allow-mismatched-debuginfo",
	"--suppressions", "--gen-suppressions", "--child-silent-after-fork", "--run-libc-freeres", "--run-cxx-freeres",
	"--show-below-main", "--fair-sched", "--smc-check", "--max-stackframe", "--main-stacksize", "--vgdb",
	"--read-inline-info", "--read-var-info", "--trace-children-skip", "--enable-debuginfod",
};

/* What changes counts or files in callgrind, and is not here; with the value that means "no". */
static const struct missing { const char *name, *off, *instead; } missing[] = {
	{ "--branch-sim", "no", "branch predictors are not simulated; Ir and the caches are" },
	{ "--simulate-wb", "no", "the write-back of caches is not simulated" },
	{ "--simulate-hwpref", "no", "the prefetcher of caches is not simulated" },
	{ "--cacheuse", "no", "the use of cache lines is not simulated" },
	{ "--dump-every-bb", "0", "dumps are made where the program or --dump-before and --dump-after ask for them" },
	{ "--separate-callers", "0", "contexts are in tare annotate --calls, all of them" },
	{ "--separate-recs", "2", "each recursion is one function" },
};

/* What callgrind would add to the file beside the counts that are there, or would show in another place. Harnesses
 * and scripts ask for these by habit. */
static const struct missing extras[] = {
	{ "--collect-systime", "no", "the time in system calls is not collected; tare annotate has a table of the calls" },
	{ "--collect-bus", "no", "bus events are not collected; tare annotate -e locked counts locked instructions" },
	{ "--fn-skip", NULL, "each function is shown" },
	{ "--obj-skip", NULL, "the functions of each object are shown" },
};

static int parse_flag(struct callgrind *c, const char *option)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const int v = yes_or_no(option, flags[i].name);
		if (v == -2)
			return EXIT_USAGE;
		if (v >= 0) {
			*(bool *)((char *)c + flags[i].offset) = v != flags[i].inverted;
			return EXIT_GOOD;
		}
	}
	return -1;
}

static int parse_cache(struct callgrind *c, const char *option)
{
	static const struct { const char *name; size_t offset; } of[] = {
		{ "--I1", offsetof(struct callgrind, caches.i1) }, { "--D1", offsetof(struct callgrind, caches.d1) },
		{ "--LL", offsetof(struct callgrind, caches.ll) }, { "--L2", offsetof(struct callgrind, caches.ll) },
	};
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const char *const v = value_of(option, of[i].name);
		const char *problem;
		if (!v)
			continue;
		if (cachesim_parse(v, (struct cachesim_cache *)((char *)c + of[i].offset), &problem))
			return EXIT_GOOD;
		return usage_error("%s: %s", option, problem);
	}
	return -1;
}

static int parse_missing(const char *option)
{
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		const char *const v = value_of(option, missing[i].name);
		if (!v)
			continue;
		if (missing[i].off && !strcmp(v, missing[i].off))
			return EXIT_GOOD;
		return usage_error("%s: not done here: %s", option, missing[i].instead);
	}
	return -1;
}

static bool parse_extra(struct callgrind *c, const char *option)
{
	for (size_t i = 0; i < sizeof(extras) / sizeof(extras[0]); i++) {
		const char *const v = value_of(option, extras[i].name);
		if (!v)
			continue;
		if (!extras[i].off || strcmp(v, extras[i].off))
			buf_printf(&c->left_out, "%s: left out: %s\n", option, extras[i].instead);
		return true;
	}
	return false;
}

/* Also with --quiet: the file is not what was asked for. */
static void say_left_out(const struct callgrind *c)
{
	const char *line = buf_failed(&c->left_out) || !c->left_out.len ? "" : c->left_out.data;
	for (const char *end; (end = strchr(line, '\n')); line = end + 1)
		fprintf(c->log, "==%d== %.*s\n", (int)getpid(), (int)(end - line), line);
}

/* Options that name functions. With --toggle-collect, collecting starts off. */
static int parse_rule(struct callgrind *c, const char *option)
{
	static const struct { const char *name; unsigned what; } of[] = {
		{ "--toggle-collect", TARE_WATCH_TOGGLE }, { "--dump-before", TARE_WATCH_DUMP_BEFORE },
		{ "--dump-after", TARE_WATCH_DUMP_AFTER }, { "--zero-before", TARE_WATCH_ZERO_BEFORE },
	};
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const char *const v = value_of(option, of[i].name);
		if (!v)
			continue;
		if (!*v)
			return usage_error("%s: no function is named", option);
		function_rules_add(&c->rules, of[i].name, v, of[i].what);
		c->collect_later |= of[i].what == TARE_WATCH_TOGGLE;
		return EXIT_GOOD;
	}
	return -1;
}

static bool is_ignored(const char *option)
{
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (value_of(option, ignored[i]))
			return true;
	return !strcmp(option, "-v") || !strcmp(option, "--verbose") || !strcmp(option, "-d");
}

/* The world that the command sees: options that valgrind does not have. */
static bool parse_world(struct callgrind *c, const char *option)
{
	const char *const machine = value_of(option, "--machine"), *const hermetic = value_of(option, "--hermetic"),
			  *const schedule = value_of(option, "--schedule");
	if (machine)
		c->machine = machine;
	else if (hermetic || !strcmp(option, "--hermetic"))
		c->hermetic = hermetic ? hermetic : "";
	else if (schedule)
		c->schedule = schedule;
	else
		return false;
	return true;
}

/* EXIT_GOOD, or the status to end with. */
static int parse_option(struct callgrind *c, const char *option)
{
	const char *v;
	int status = parse_flag(c, option);
	if (status < 0)
		status = parse_cache(c, option);
	if (status < 0)
		status = parse_rule(c, option);
	if (status < 0)
		status = parse_missing(option);
	if (status >= 0)
		return status;
	if ((v = value_of(option, "--tool")))
		return !strcmp(v, "callgrind") ? EXIT_GOOD :
		       usage_error("--tool=%s: this is callgrind only; for other tools: valgrind", v);
	if ((v = value_of(option, "--callgrind-out-file")))
		c->out_file = v;
	else if ((v = value_of(option, "--log-file")))
		c->log_file = v;
	else if ((v = value_of(option, "--log-fd")))
		c->log_fd = atoi(v);
	else if (!strcmp(option, "-q") || !strcmp(option, "--quiet"))
		c->quiet = true;
	else if (!parse_world(c, option) && !parse_extra(c, option) && !is_ignored(option))
		return usage_error("%s: no option of callgrind that is known here; tare-callgrind(1) lists them", option);
	return EXIT_GOOD;
}

static void help(void)
{
	char text[] =
	     "usage: tare-callgrind [--tool=callgrind] [OPTION]… COMMAND [ARG]…\n\n"
	     "Takes callgrind's options, runs COMMAND in tare's software engine and writes callgrind's file:\n"
	     "Ir is exact, as the CPU retires instructions. See tare-callgrind(1).\n\n"
	     "  --callgrind-out-file=FILE  callgrind.out.%p without it; %p: the process, %q{VAR}: a variable\n"
	     "  --dump-instr=yes           an entry for each instruction\n"
	     "  --dump-line=no             no source lines\n"
	     "  --trace-children=yes       a file for each process\n"
	     "  --separate-threads=yes     a file for each thread\n"
	     "  --collect-jumps=yes        jumps within functions, for KCachegrind\n"
	     "  --cache-sim=yes            simulate caches: Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n"
	     "  --I1=, --D1=, --LL=SIZE,WAYS,LINE   which caches; without it those of this CPU\n"
	     "  --toggle-collect=FUNCTION  count only while FUNCTION runs; * and ? as in file names\n"
	     "  --dump-before=FUNCTION, --dump-after=FUNCTION   a further file there\n"
	     "  --zero-before=FUNCTION     forget what was counted until there\n"
	     "  --machine=NAME             the command sees this CPU (tare-machine(7))\n"
	     "  --hermetic[=SEED]          every run is the same (tare-hermetic(7))\n"
	     "  --schedule=SEED            with --hermetic: another order of threads\n"
	     "  --skip-plt=no              show the stubs of PLTs as functions\n"
	     "  --log-file=FILE, --log-fd=N, -q\n"
	     "  --version\n";
	term_own_text(text);
	fputs(text, stdout);
}

/* The command; NULL: *status is what to end with. */
static char **parse(struct callgrind *c, int argc, char **argv, int *status)
{
	int i = 1;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strcmp(argv[i], "--version")) {
			puts(LIKE_VALGRIND " (tare-callgrind " TARE_VERSION ")");
			*status = EXIT_GOOD;
			return NULL;
		}
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			help();
			*status = EXIT_GOOD;
			return NULL;
		}
		*status = parse_option(c, argv[i]);
		if (*status != EXIT_GOOD)
			return NULL;
	}
	if (i < argc)
		return argv + i;
	*status = usage_error("no command given; tare-callgrind --help shows the usage");
	return NULL;
}

/* ---- files ---- */

/* The name with %p, %n and %q{VAR} filled in. False: it was complained of. */
static bool file_name(const char *pattern, pid_t pid, struct buf *name)
{
	for (const char *p = pattern; *p; p++) {
		const char *const end = !strncmp(p, "%q{", 3) ? strchr(p, '}') : NULL;
		if (!strncmp(p, "%p", 2)) {
			buf_printf(name, "%d", (int)pid);
			p++;
		} else if (!strncmp(p, "%n", 2)) {
			buf_chr(name, '0');
			p++;
		} else if (!strncmp(p, "%%", 2)) {
			buf_chr(name, '%');
			p++;
		} else if (end) {
			char *const variable = strndup(p + 3, (size_t)(end - p - 3));
			const char *const value = variable ? getenv(variable) : NULL;
			if (!value)
				complain("%s: the environment variable %s is not set", pattern, variable);
			buf_str(name, value ? value : "");
			free(variable);
			if (!value)
				return false;
			p = end;
		} else {
			buf_chr(name, *p);
		}
	}
	return !buf_failed(name);
}

struct file {
	int fd;
	int failed;			/* errno of a write that failed; or 0 */
};

static int write_bytes(void *arg, const void *bytes, size_t n)
{
	struct file *const f = arg;
	for (const char *at = bytes; n;) {
		const ssize_t wrote = write(f->fd, at, n);
		if (wrote < 0 && errno != EINTR)
			return f->failed = errno;
		if (wrote > 0) {
			at += wrote;
			n -= (size_t)wrote;
		}
	}
	return 0;
}

static void describe(const char *name, const struct cachesim_cache *k, char *out, size_t size)
{
	if (k->ways == 1)
		snprintf(out, size, "%s cache: %" PRIu64 " B, %u B, direct-mapped", name, k->size, k->line);
	else
		snprintf(out, size, "%s cache: %" PRIu64 " B, %u B, %u-way associative", name, k->size, k->line, k->ways);
}

/* A file that a dump, or what came after the last one, goes to. */
struct part {
	const struct tare_dump *dump;		/* NULL: what came after the last one */
	unsigned number;			/* of the process, from 1 */
	unsigned thread;			/* from 1; 0: of the process */
	bool further;				/* it goes behind others in the same file */
};

static bool part_name(const struct callgrind *c, const struct part *part, struct buf *name)
{
	if (!file_name(c->out_file ? c->out_file : DEFAULT_OUT, c->pid, name))
		return false;
	if (part->dump && !c->combine_dumps)
		buf_printf(name, ".%u", part->number);
	if (part->thread && !c->combine_dumps)
		buf_printf(name, "-%02u", part->thread);
	return !buf_failed(name);
}

static void trigger_text(const struct tare_dump *dump, struct buf *text)
{
	if (dump && !strncmp(dump->name, "--dump-", 7))
		buf_printf(text, "Trigger: %s", dump->name);
	else if (dump && *dump->name)
		buf_printf(text, "Trigger: Client Request: %s", dump->name);
	else
		buf_str(text, dump ? "Trigger: Client Request" : "Trigger: Program termination");
}

static bool export_part(const struct callgrind *c, const struct tare_codeprofile *p, const struct part *part,
			struct file *f, struct tare_why *why)
{
	const struct tare_output out = { write_bytes, f };
	struct buf trigger = { 0 };
	char caches[3][96];
	const char *desc[6] = { 0 };
	size_t n = 0;
	if (c->cache_sim && !part->further) {
		describe("I1", &c->caches.i1, caches[0], sizeof(caches[0]));
		describe("D1", &c->caches.d1, caches[1], sizeof(caches[1]));
		describe("LL", &c->caches.ll, caches[2], sizeof(caches[2]));
		for (; n < 3; n++)
			desc[n] = caches[n];
		desc[n++] = "Dr to DLmw are simulated by cachegrind's rules; Ir is exact";
	}
	trigger_text(part->dump, &trigger);
	desc[n++] = buf_failed(&trigger) ? NULL : trigger.data;
	const bool ok = tare_codeprofile_export_callgrind(p, &TARE_OPTIONS(callgrind, .insns = c->dump_instr,
			.no_lines = c->no_lines, .fold_plt = !c->skip_plt_off, .pid = c->pid, .part = part->number,
			.thread = part->thread, .plain_names = c->plain_names || c->combine_dumps,
			.further = part->further, .jumps = c->jumps, .desc = desc, .creator = "tare-callgrind-" TARE_VERSION),
			&out, why) >= 0;
	buf_free(&trigger);
	return ok;
}

static bool write_file(const struct callgrind *c, const struct tare_codeprofile *p, const struct part *part)
{
	struct buf name = { 0 };
	struct tare_why why = { 0 };
	bool ok = part_name(c, part, &name);
	struct file f = { .fd = -1 };
	if (ok && (f.fd = open(name.data, O_WRONLY | O_CREAT | O_CLOEXEC | (part->further ? O_APPEND : O_TRUNC), 0666)) < 0) {
		complain_errno(errno, "%s", name.data);
		ok = false;
	} else if (ok && !export_part(c, p, part, &f, &why)) {
		struct stat st;
		if (f.failed)
			complain_errno(f.failed, "%s", name.data);
		else
			complain_why(&why);
		if (fstat(f.fd, &st) == 0 && S_ISREG(st.st_mode))	/* half a file; never a device */
			unlink(name.data);
		ok = false;
	}
	if (f.fd >= 0 && close(f.fd) < 0 && ok) {
		complain_errno(errno, "%s", name.data);
		ok = false;
	}
	buf_free(&name);
	return ok;
}

static bool open_log(struct callgrind *c)
{
	struct buf name = { 0 };
	c->log = c->log_fd == 2 ? stderr : fdopen(dup(c->log_fd), "w");
	if (c->log_file) {
		if (!file_name(c->log_file, getpid(), &name))
			return false;
		c->log = fopen(name.data, "we");
	}
	if (!c->log)
		complain_errno(errno, "%s", c->log_file ? name.data : "--log-fd");
	buf_free(&name);
	return c->log;
}

/* ---- the run ---- */

struct simulated {
	struct tare_codeprofile_extra extra;
	struct tare_codeprofile_extra_insn *insns;
	struct tare_codeprofile_extra_context *contexts;
	size_t cap, contexts_cap;
};

static int keep_insn(const struct cachesim_insn *in, const uint64_t counts[SIM_EVENTS], void *arg)
{
	struct simulated *const s = arg;
	if (s->extra.n_insns == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 4096;
		struct tare_codeprofile_extra_insn *const more = realloc(s->insns, s->cap * sizeof(*more));
		if (!more)
			return TARE_E_NOMEM;
		s->insns = more;
	}
	s->insns[s->extra.n_insns++] = (struct tare_codeprofile_extra_insn){ in->pid, in->tid, in->address, in->dump,
									   counts };
	s->extra.insns = s->insns;
	return 0;
}

static int keep_context(uint64_t context, uint64_t dump, const uint64_t counts[SIM_EVENTS], void *arg)
{
	struct simulated *const s = arg;
	if (s->extra.n_contexts == s->contexts_cap) {
		s->contexts_cap = s->contexts_cap ? 2 * s->contexts_cap : 4096;
		struct tare_codeprofile_extra_context *const more = realloc(s->contexts, s->contexts_cap * sizeof(*more));
		if (!more)
			return TARE_E_NOMEM;
		s->contexts = more;
	}
	s->contexts[s->extra.n_contexts++] = (struct tare_codeprofile_extra_context){ context, dump, counts };
	return 0;
}

static int by_context(const void *a, const void *b)
{
	const struct tare_codeprofile_extra_context *const x = a, *const y = b;
	return x->context < y->context ? -1 : x->context > y->context;
}

/* False: no memory. */
static bool keep_simulated(const struct cachesim *sim, struct simulated *s)
{
	if (cachesim_each(sim, keep_insn, s) || cachesim_each_context(sim, keep_context, s))
		return false;
	if (s->extra.n_contexts)
		qsort(s->contexts, s->extra.n_contexts, sizeof(*s->contexts), by_context);
	s->extra.contexts = s->contexts;
	return true;
}

/* "      1,234"; "1,234" with width 0. The text is in a ring of a few. */
static const char *grouped(int64_t v, int width)
{
	static char ring[8][48];
	static unsigned next;
	char digits[32];
	char *const out = ring[next++ % 8];
	char *const end = digits + sizeof(digits) - 1;
	*end = '\0';
	snprintf(out, sizeof(ring[0]), "%*s", width, u64_grouped(end, (uint64_t)v));
	return out;
}

static void report_data(const struct callgrind *c, const char *what, int64_t reads, int64_t writes)
{
	say(c, "%-11s %s  (%s rd + %s wr)", what, grouped(reads + writes, 14), grouped(reads, 0), grouped(writes, 0));
}

static void report_caches(const struct callgrind *c)
{
	const int64_t *const s = c->collected + 1;
	say(c, "I1  misses: %s", grouped(s[SIM_I1MR], 14));
	say(c, "LLi misses: %s", grouped(s[SIM_ILMR], 14));
	say(c, " ");
	report_data(c, "D   refs:", s[SIM_DR], s[SIM_DW]);
	report_data(c, "D1  misses:", s[SIM_D1MR], s[SIM_D1MW]);
	report_data(c, "LLd misses:", s[SIM_DLMR], s[SIM_DLMW]);
	say(c, " ");
	report_data(c, "LL refs:", s[SIM_I1MR] + s[SIM_D1MR], s[SIM_D1MW]);
	report_data(c, "LL misses:", s[SIM_ILMR] + s[SIM_DLMR], s[SIM_DLMW]);
}

/* Of a process. */
static void report(const struct callgrind *c)
{
	struct buf names = { 0 }, totals = { 0 };
	for (size_t e = 0; e < (c->cache_sim ? 1 + SIM_EVENTS : 1); e++) {
		buf_printf(&names, " %s", e ? cachesim_names[e - 1] : "Ir");
		buf_printf(&totals, " %" PRId64, c->collected[e]);
	}
	say(c, " ");
	say(c, "Events    :%s", buf_failed(&names) ? "" : names.data);
	say(c, "Collected :%s", buf_failed(&totals) ? "" : totals.data);
	say(c, " ");
	say(c, "I   refs:   %s", grouped(c->collected[0], 14));
	if (c->cache_sim)
		report_caches(c);
	buf_free(&names);
	buf_free(&totals);
}

/* What makes all counts of the process lower bounds is said once, with what came after its last dump. */
static void collect(struct callgrind *c, const struct tare_codeprofile *p, const struct part *part)
{
	/* with jumps the second event is that of taken branches */
	for (size_t e = 0, n = 0; e < p->n_events; e++)
		if (!c->jumps || e != 1)
			c->collected[n++] += p->events[e].total;
	for (size_t i = 0; i < p->n_reasons && !part->dump; i++)
		say(c, "These are lower bounds: %s", p->reasons[i]);
}

/* The run, and what is written of it. */
struct written {
	const struct tare_measurement *m;
	const struct tare_events *events;
	const struct simulated *simulated;
};

/* One part of a process or thread. */
static bool write_part(struct callgrind *c, const struct written *w, const struct tare_task *t, const struct part *part)
{
	struct tare_codeprofile *p;
	struct tare_why why = { 0 };
	if (tare_codeprofile_make(w->m, &TARE_OPTIONS(codeprofile, .events = w->events, .argv = c->command,
			.only_pid = t->pid, .only_tid = c->separate_threads ? t->tid : 0, .one_dump = true,
			.dump = part->dump ? part->dump->number : 0, .extra = c->cache_sim ? &w->simulated->extra : NULL),
			&p, &why) < 0) {
		complain_why(&why);
		return false;
	}
	const bool ok = write_file(c, p, part);
	collect(c, p, part);
	tare_codeprofile_free(p);
	return ok;
}

/* Does the process or thread have files? (It has a task for each program that it executed.) */
static bool has_files(const struct callgrind *c, const struct tare_measurement *m, size_t i)
{
	const struct tare_task *const t = &m->tasks[i];
	if ((t->is_thread && !c->separate_threads) || t->not_counted ||
	    (!c->trace_children && t->pid != m->tasks[0].pid))
		return false;
	for (size_t k = 0; k < i; k++)
		if (m->tasks[k].tid == t->tid && m->tasks[k].pid == t->pid)
			return false;
	return true;
}

/* One dump of a process, of all of its threads that have files. */
static bool write_dump(struct callgrind *c, const struct written *w, struct part part)
{
	for (size_t i = 0; i < w->m->n_tasks; i++) {
		if (w->m->tasks[i].pid != c->pid || !has_files(c, w->m, i))
			continue;
		part.thread += c->separate_threads;
		if (!write_part(c, w, &w->m->tasks[i], &part))
			return false;
		part.further = c->combine_dumps;
	}
	return true;
}

/* The files of a process: one for each dump that it asked for, numbered, and one in the end. */
static bool write_process(struct callgrind *c, const struct written *w, pid_t pid)
{
	const struct tare_parts *const parts = w->m->parts;
	struct part part = { .number = 1 };
	c->pid = pid;
	memset(c->collected, 0, sizeof(c->collected));
	for (size_t d = 0; parts && d < parts->n_dumps; d++) {
		if (parts->dumps[d].pid != pid)
			continue;
		part.dump = &parts->dumps[d];
		if (!write_dump(c, w, part))
			return false;
		part.number++;
		part.further = c->combine_dumps;
	}
	part.dump = NULL;
	if (!write_dump(c, w, part))
		return false;
	report(c);
	return true;
}

static bool write_profiles(struct callgrind *c, const struct written *w)
{
	for (size_t i = 0; i < w->m->n_tasks; i++) {
		bool first = has_files(c, w->m, i);
		for (size_t k = 0; k < i && first; k++)
			first = w->m->tasks[k].pid != w->m->tasks[i].pid || !has_files(c, w->m, k);
		if (first && !write_process(c, w, w->m->tasks[i].pid))
			return false;
	}
	return true;
}

static void say_world(const struct callgrind *c, const struct tare_world *w)
{
	struct buf text = { 0 };
	world_heading(w, &text);
	if (text.len)
		say(c, "%.*s", (int)text.len, text.data);
	for (unsigned bit = 1; w && w->hermetic && bit; bit <<= 1)
		if (w->left & bit && tare_left_text(bit))
			say(c, "Another run may differ: %s", tare_left_text(bit));
	buf_free(&text);
}

static int run(struct callgrind *c)
{
	struct tare_events *events;
	struct tare_measurement *m;
	struct tare_why why = { 0 };
	struct simulated s = { .extra = { .n_events = SIM_EVENTS, .names = cachesim_names } };
	struct cachesim *const sim = c->cache_sim ? cachesim_new(&c->caches) : NULL;
	bool ok;
	const struct tare_watch *const watch = function_rules_watch(&c->rules, &ok);
	if (!ok)
		return EXIT_FAILED;
	if (tare_events_parse(c->jumps ? "instructions:u,taken-branches:u" : "instructions:u", NULL, &events, &why) < 0) {
		complain_why(&why);
		return EXIT_FAILED;
	}
	measuring_catch_signals();
	int status = tare_measure(&TARE_OPTIONS(measure, .argv = c->command, .events = events,
				  .backend = TARE_BACKEND_SOFT, .no_inherit = !c->trace_children, .per_task = true,
				  .stop = &measuring_stop, .code = true, .calls = true, .valgrind = true,
				  .starts_off = (c->instr_later ? TARE_OFF_PROCESS : 0u) |
						(c->collect_later ? TARE_OFF_THREADS : 0u),
				  .zero = c->separate_threads ? TARE_ZERO_THREAD : TARE_ZERO_PROCESS,
				  .machine = c->machine, .hermetic = c->hermetic, .schedule = c->schedule,
				  .on_deadlock = world_deadlock,
				  .watch = watch,
				  .trace = sim ? cachesim_trace(sim) : NULL), &m, &why);
	if (status < 0) {
		complain_why(&why);
		status = measuring_status(status);
	} else {
		ok = !sim || keep_simulated(sim, &s);
		if (!ok)
			complain("%s: no memory for its simulated caches", c->command[0]);
		status = measuring_caught ? 128 + measuring_caught : m->exit_status;
		say_world(c, m->world);
		ok = ok && write_profiles(c, &(struct written){ m, events, &s });
		function_rules_found(&c->rules);	/* as with callgrind, the status is the command's */
		status = ok ? status : EXIT_FAILED;
		tare_measurement_free(m);
	}
	cachesim_free(sim);
	free(s.insns);
	free(s.contexts);
	tare_events_free(events);
	return status;
}

int callgrind_main(int argc, char **argv)
{
	struct callgrind c = { .log_fd = 2, .caches = cachesim_host(), .rules.matches = callgrind_matches };
	int status;
	c.command = parse(&c, argc, argv, &status);
	if (!c.command)
		return status;
	if (c.cache_sim && !accesses_available())
		return usage_error("--cache-sim=yes needs Zydis, which tare was built without (Debian: libzydis-dev)");
	if (!open_log(&c))
		return EXIT_FAILED;
	say(&c, "tare-callgrind " TARE_VERSION ", callgrind's files with exact counts");
	say_command(&c);
	say_left_out(&c);
	char **const ours = environ;
	if (c.hermetic)
		environ = clean_environment(&(struct opt_list){ 0 }, true);
	status = run(&c);
	if (c.hermetic)
		clean_environment_free(environ);
	environ = ours;
	function_rules_free(&c.rules);
	buf_free(&c.left_out);
	if (c.log != stderr)
		fclose(c.log);
	return status;
}
