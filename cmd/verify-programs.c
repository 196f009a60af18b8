#include "verify-programs.h"

#include "clean-env.h"
#include "command.h"
#include "complain.h"
#include "environment.h"
#include "grid.h"
#include "json.h"
#include "modules.h"
#include "output.h"
#include "term.h"

#include <tare/measure.h>
#include <tare/version.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the programs ---- */

#define TEXT "text.txt"
#define SOURCE "program.c"

static const struct program {
	const char *name;
	const char *argv[12];
	bool has_children;		/* which QEMU does not follow */
} programs[] = {
	{ "gzip", { "gzip", "-9c", TEXT } },
	{ "bzip2", { "bzip2", "-c", TEXT } },
	{ "xz", { "xz", "-2c", "--threads=1", TEXT } },
	{ "zstd", { "zstd", "-q", "-9", "--single-thread", "-c", TEXT } },
	{ "sort", { "sort", "--parallel=1", TEXT } },
	{ "grep", { "grep", "-c", "exact.*[0-9]", TEXT } },
	{ "sed", { "sed", "-n", "s/count\\([0-9]*\\)/<\\1>/gp", TEXT } },
	{ "awk", { "awk", "{ n[$1]++ } END { print length(n) }", TEXT } },
	{ "sha256sum", { "sha256sum", TEXT } },
	{ "perl", { "perl", "-ne", "$n{$_}++ for split; END { print scalar(keys %n), \"\\n\" }", TEXT } },
	{ "python3", { "/usr/bin/python3", "-c", "import collections; print(len(collections.Counter(open('"
		       TEXT "').read().split())))" } },
	{ "lua", { "lua5.4", "-e", "local n = 0 for l in io.lines('" TEXT "') do for w in l:gmatch('%a+') do "
		   "n = n + #w end end print(n)" } },
	{ "sqlite3", { "sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x+1 from c where "
		       "x<30000) select sum(x*x%97) from c" } },
	{ "gcc -O2 -S", { "gcc", "-O2", "-S", "-o", "/dev/null", SOURCE }, true },
	{ "openssl", { "openssl", "dgst", "-sha512", TEXT } },
};
#define N_PROGRAMS (sizeof(programs) / sizeof(*programs))

enum way { ENGINE, HARDWARE, CORRECTED, CALLGRIND, QEMU, WAYS };
static const char *const way_names[WAYS] = { "engine", "hardware", "corrected", "callgrind", "qemu" };

struct result {
	bool left_out;			/* another was asked for */
	bool missing;			/* the program is not installed */
	bool has[WAYS];
	uint64_t count[WAYS];		/* the middle of the runs */
	uint64_t spread[WAYS];		/* greatest distance from it */
	char why[WAYS][160];		/* the engine, hardware: why there is no count; or "" */
};

/* ---- inputs: the same bytes everywhere ---- */

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 2685821657736338717ull >> 33;
}

static void make_text(struct buf *b, size_t size)
{
	static const char *const words[] = { "count", "exact", "retired", "branch", "load", "store", "thread",
					     "signal", "engine", "cache", "block", "counter", "kernel", "program" };
	uint64_t s = 88172645463325252ull;
	while (b->len < size) {
		for (uint64_t n = 4 + next_random(&s) % 9; n; n--) {
			buf_str(b, words[next_random(&s) % (sizeof(words) / sizeof(*words))]);
			if (next_random(&s) % 3 == 0)
				buf_u64(b, next_random(&s) % 1000);
			buf_chr(b, n == 1 ? '\n' : ' ');
		}
	}
}

static void make_source(struct buf *b)
{
	uint64_t s = 42;
	for (unsigned i = 0; i < 60; i++)
		buf_printf(b, "int f%u(int a, int b)\n{\n\tint s = 0;\n\tfor (int i = 0; i < a; i++)\n\t\ts += i * %u + "
			      "(b ^ i) / %u;\n\treturn s;\n}\n", i, (unsigned)(next_random(&s) % 1000),
			   1 + (unsigned)(next_random(&s) % 1000));
}

static bool write_file(const char *name, const struct buf *b)
{
	FILE *const f = fopen(name, "w");
	const bool ok = f && fwrite(b->data, 1, b->len, f) == b->len;
	return (f ? fclose(f) == 0 : false) && ok;
}

static bool make_inputs(void)
{
	struct buf text = { 0 }, source = { 0 };
	make_text(&text, 300000);
	make_source(&source);
	const bool ok = write_file(TEXT, &text) && write_file(SOURCE, &source);
	if (!ok)
		complain("verify: cannot write the programs' inputs: %s", strerror(errno));
	buf_free(&text);
	buf_free(&source);
	return ok;
}

/* ---- counting ---- */

/* The file of a command; NULL: it is not installed. */
static const char *file_of(const char *name, char *file, size_t size)
{
	const char *path = getenv("PATH");
	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? name : NULL;
	for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
		snprintf(file, size, "%.*s/%s", (int)strcspn(path, ":"), path, name);
		if (access(file, X_OK) == 0)
			return file;
	}
	return NULL;
}

static bool is_installed(const char *name)
{
	char file[4096];
	return file_of(name, file, sizeof(file));
}

/* What the programs print goes nowhere; what tare says must still come out. */
struct quiet {
	int out;
};

static struct quiet begin_quiet(void)
{
	const struct quiet q = { dup(STDOUT_FILENO) };
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		close(null);
	}
	return q;
}

static void end_quiet(struct quiet q)
{
	dup2(q.out, STDOUT_FILENO);
	close(q.out);
}

struct series {
	uint64_t least, most;
	unsigned n;
};

static void add_value(struct series *s, uint64_t v)
{
	if (!s->n || v < s->least)
		s->least = v;
	if (!s->n || v > s->most)
		s->most = v;
	s->n++;
}

static void keep(struct result *r, enum way way, const struct series *s)
{
	r->has[way] = s->n;
	r->count[way] = s->least + (s->most - s->least) / 2;
	r->spread[way] = s->most - r->count[way];
}

/* Counts `text` in the program; false: it cannot be counted. */
static bool count_event(const struct program *p, const char *text, enum tare_backend backend, unsigned runs,
			struct series *s, const volatile int *stop, struct tare_why *why)
{
	struct tare_events *events;
	if (tare_events_parse(text, NULL, &events, why) < 0)
		return false;
	bool ok = true;
	for (unsigned i = 0; i < runs && ok; i++) {
		struct tare_measurement *m;
		const struct quiet q = begin_quiet();
		ok = tare_measure(&TARE_OPTIONS(measure, .argv = (char *const *)p->argv, .events = events,
						.backend = backend, .pinned = true, .stop = stop), &m, why) == 0;
		end_quiet(q);
		if (!ok)
			break;
		ok = m->exit_status == 0 && m->counts[0].state == TARE_COUNT_OK && !m->counts[0].lower_bound;
		if (ok)
			add_value(s, m->counts[0].value);
		else if (m->exit_status)
			snprintf(why->what, sizeof(why->what), "it ended with status %d", m->exit_status);
		else
			snprintf(why->what, sizeof(why->what), "not all of it was counted");
		tare_measurement_free(m);
	}
	tare_events_free(events);
	return ok && s->n;
}

/* The sum of the numbers that stand before or behind each `mark`: a tool may say one for each process. */
static bool sum_marks(const char *text, const char *mark, bool before, uint64_t *sum)
{
	bool found = false;
	*sum = 0;
	for (const char *next = text; (next = strstr(next, mark));) {
		const char *at = next + (before ? 0 : strlen(mark));
		uint64_t n;
		while (before && at > text && at[-1] >= '0' && at[-1] <= '9')
			at--;
		if (sscanf(at, "%" SCNu64, &n) == 1) {
			*sum += n;
			found = true;
		}
		next += strlen(mark);
	}
	return found;
}

/* Runs words + the program, and reads the count from what is said on standard error. */
static bool count_by_tool(const char *const *words, const struct program *p, const char *mark, bool before,
			  uint64_t *count)
{
	const char *argv[24] = { 0 };
	char text[65536], file[4096];
	size_t n = 0, len = 0;
	int ends[2], status;
	while (words[n]) {
		argv[n] = words[n];
		n++;
	}
	for (size_t i = 0; p->argv[i]; i++)
		argv[n++] = i ? p->argv[i] : file_of(p->argv[0], file, sizeof(file));
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	const pid_t pid = fork();
	if (pid == 0) {
		const int null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	for (ssize_t got; pid > 0 && (got = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0;)
		len += (size_t)got;
	close(ends[0]);
	text[len] = '\0';
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		return false;
	return sum_marks(text, mark, before, count);
}

static void count_program(const struct program *p, const struct verify_programs *o, bool hardware,
			  const char *corrected, const char *plugin, struct result *r)
{
	static const char *const callgrind[] = { "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
						 "--trace-children=yes", NULL };
	const char *const qemu[] = { "qemu-x86_64", "-plugin", plugin, NULL };
	struct series s = { 0 };
	struct tare_why why = { 0 };
	const unsigned runs = o->runs ? o->runs : 3;
	r->missing = !is_installed(p->argv[0]);
	if (r->missing)
		return;
	const struct {
		const char *event;
		enum tare_backend backend;
		bool can;
	} ways[] = {
		[ENGINE] = { "instructions:u", TARE_BACKEND_SOFT, true },
		[HARDWARE] = { "instructions:u", TARE_BACKEND_HW, hardware },
		[CORRECTED] = { corrected, TARE_BACKEND_HW, hardware && corrected },
	};
	for (int way = ENGINE; way <= CORRECTED; way++) {
		why = (struct tare_why){ 0 };
		s = (struct series){ 0 };
		if (!ways[way].can)
			continue;
		if (count_event(p, ways[way].event, ways[way].backend, runs, &s, o->stop, &why))
			keep(r, (enum way)way, &s);
		else
			snprintf(r->why[way], sizeof(r->why[way]), "%.80s%s%.70s", why.what, why.code ? ": " : "",
				 why.code ? tare_err_sentence(why.code) : "");
	}
	if (is_installed("valgrind"))
		r->has[CALLGRIND] = count_by_tool(callgrind, p, "Collected : ", false, &r->count[CALLGRIND]);
	if (plugin && !p->has_children && is_installed("qemu-x86_64"))
		r->has[QEMU] = count_by_tool(qemu, p, " instructions", true, &r->count[QEMU]);
}

/* ---- presentation ---- */

/* What is compared with the reference. */
static void put_count(struct grid *g, const struct result *r, enum way way)
{
	if (!r->has[way]) {
		grid_cell(g, "\xe2\x80\x93", 3);
		return;
	}
	buf_grouped(&g->text, r->count[way]);
	if (way <= CORRECTED)
		buf_printf(&g->text, " %s%" PRIu64, term_plus_minus(), r->spread[way]);
	grid_done(g);
}

static void put_difference(struct grid *g, const struct result *r, enum way way)
{
	if (!r->has[way] || !r->has[ENGINE]) {
		grid_cell(g, "", 0);
		return;
	}
	const int64_t d = (int64_t)(r->count[way] - r->count[ENGINE]);
	buf_printf(&g->text, "%s", d < 0 ? "-" : d ? "+" : "");
	buf_grouped(&g->text, (uint64_t)(d < 0 ? -d : d));
	grid_done(g);
}

static void programs_grid(struct grid *g, const struct result *results)
{
	static const char *const titles[] = { "PROGRAM", "ENGINE", "HARDWARE", "DIFFERENCE", "CORRECTED",
					      "DIFFERENCE", "CALLGRIND", "DIFFERENCE", "QEMU", "DIFFERENCE" };
	*g = (struct grid){ .columns = 10 };
	for (size_t i = 0; i < 10; i++)
		grid_cell(g, titles[i], strlen(titles[i]));
	for (size_t i = 0; i < N_PROGRAMS; i++) {
		if (results[i].missing || results[i].left_out)
			continue;
		grid_cell(g, programs[i].name, strlen(programs[i].name));
		put_count(g, &results[i], ENGINE);
		for (int way = HARDWARE; way < WAYS; way++) {
			put_count(g, &results[i], (enum way)way);
			put_difference(g, &results[i], (enum way)way);
		}
	}
}

static const char why_they_differ[] =
	"engine: exact, the reference; \xc2\xb1 is the greatest distance of a run from the middle of the runs.\n"
	"hardware: includes interrupts, page faults and what else this CPU counts (tare verify tells).\n"
	"callgrind: counts every iteration of a rep string instruction, where a CPU counts one instruction; "
	"replaces functions (malloc, strlen) for some tools; and shows programs another CPU (no AVX-512, "
	"no SHA instructions), for which libraries choose other functions.\n"
	"QEMU: shows programs its own CPU, for which libc chooses other string functions; the plugin counts "
	"blocks that are left in the middle as a whole. It does not follow children (gcc).\n";

static void put_missing(struct buf *b, const struct result *results)
{
	for (size_t i = 0; i < N_PROGRAMS; i++)
		if (results[i].missing)
			buf_printf(b, "not installed: %s\n", programs[i].name);
}

/* Why a program has no count; one line for programs that have the same reason. */
static void put_reasons(struct buf *b, const struct result *results)
{
	for (int way = ENGINE; way <= CORRECTED; way++)
		for (size_t i = 0; i < N_PROGRAMS; i++) {
			const char *const why = results[i].why[way];
			bool before = !*why;
			for (size_t k = 0; k < i; k++)
				before |= !strcmp(results[k].why[way], why);
			if (before)
				continue;
			buf_str(b, "not counted: ");
			for (size_t k = i; k < N_PROGRAMS; k++)
				if (!strcmp(results[k].why[way], why))
					buf_printf(b, "%s%s", k > i ? ", " : "", programs[k].name);
			buf_printf(b, " (%s): %s\n", way_names[way], why);
		}
}

/* A virtual PMU shows its marker; what that says does not matter here. */
static bool is_virtual(void)
{
	return access("/sys/bus/event_source/devices/cpu/tare_simulated", F_OK) == 0;
}

static void programs_text(struct buf *b, const struct result *results, const char *no_hardware)
{
	struct grid g;
	programs_grid(&g, results);
	buf_printf(b, "Instructions in user mode, the middle of the runs%s\n\n",
		   !no_hardware && is_virtual() ? "; HARDWARE is a virtual PMU, which says nothing of this machine" : "");
	grid_plain(&g, b);
	grid_free(&g);
	buf_chr(b, '\n');
	const size_t before = b->len;
	if (no_hardware)
		buf_printf(b, "no hardware counts: %s\n", no_hardware);
	put_missing(b, results);
	put_reasons(b, results);
	buf_printf(b, "%s%s", b->len > before ? "\n" : "", why_they_differ);
}

static void programs_json(struct buf *b, const struct result *results, const struct tare_cpu *cpu,
			  const char *no_hardware)
{
	struct json j = { .out = b, .indent = true };
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.programs/1");
	json_str(&j, "tare", TARE_VERSION);
	cpu_json(&j, "cpu", cpu);
	json_str(&j, "no_hardware", no_hardware);
	json_bool(&j, "simulated", !no_hardware && is_virtual());
	json_array(&j, "programs");
	for (size_t i = 0; i < N_PROGRAMS; i++) {
		if (results[i].left_out)
			continue;
		json_object(&j, NULL);
		json_str(&j, "program", programs[i].name);
		json_bool(&j, "installed", !results[i].missing);
		json_object(&j, "not_counted");
		for (int way = 0; way <= CORRECTED; way++)
			if (results[i].why[way][0])
				json_str(&j, way_names[way], results[i].why[way]);
		json_end(&j);
		for (int way = 0; way < WAYS; way++) {
			if (!results[i].has[way])
				continue;
			json_object(&j, way_names[way]);
			json_u64(&j, "instructions", results[i].count[way]);
			if (way <= CORRECTED)
				json_u64(&j, "spread", results[i].spread[way]);
			json_end(&j);
		}
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

/* ---- the command ---- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static bool can_count(const char *text, struct tare_why *why)
{
	struct tare_events *events;
	if (tare_events_parse(text, NULL, &events, why) < 0)
		return false;
	const bool ok = tare_backend_for(events, TARE_BACKEND_HW, NULL, 0, why) == TARE_BACKEND_HW;
	tare_events_free(events);
	return ok;
}

static bool is_asked_for(const struct verify_programs *o, const char *name)
{
	for (size_t i = 0; o->only && o->only[i]; i++)
		if (!strcmp(o->only[i], name))
			return true;
	return !o->only;
}

/* A name that is none of the programs. */
static const char *unknown_name(const struct verify_programs *o)
{
	for (size_t i = 0; o->only && o->only[i]; i++) {
		bool known = false;
		for (size_t k = 0; k < N_PROGRAMS; k++)
			known |= !strcmp(o->only[i], programs[k].name);
		if (!known)
			return o->only[i];
	}
	return NULL;
}

static void complain_unknown(const char *name)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < N_PROGRAMS; i++)
		buf_printf(&b, "%s%s", i ? ", " : "", programs[i].name);
	complain("verify: --program %s: there are %s", name, b.data);
	buf_free(&b);
}

static int run_all(const struct verify_programs *o, struct output *out)
{
	static struct result results[N_PROGRAMS];
	char plugin_path[4200];
	struct tare_why why = { 0 }, no_correction;
	const char *const plugin = module_path("tare-qemu-count.so", plugin_path, sizeof(plugin_path));
	const bool hardware = can_count("instructions:u", &why);
	const char *const corrected = can_count("instructions-minus-irqs:u", &no_correction) ?
				      "instructions-minus-irqs:u" : NULL;
	size_t n = 0, at = 0, counted = 0;
	for (size_t i = 0; i < N_PROGRAMS; i++)
		n += is_asked_for(o, programs[i].name);
	fprintf(stderr, "tare: verify: %zu program%s, counted by the engine%s%s%s\n", n, n == 1 ? "" : "s",
		hardware ? ", hardware" : "", is_installed("valgrind") ? ", callgrind" : "",
		plugin && is_installed("qemu-x86_64") ? ", QEMU" : "");
	for (size_t i = 0; i < N_PROGRAMS && !*o->stop; i++) {
		results[i].left_out = !is_asked_for(o, programs[i].name);
		if (results[i].left_out)
			continue;
		progress("%zu of %zu: %s", ++at, n, programs[i].name);
		count_program(&programs[i], o, hardware, corrected, plugin, &results[i]);
		counted += results[i].has[ENGINE] || results[i].has[HARDWARE];
	}
	progress_clear();
	if (*o->stop)
		return EXIT_BAD;
	struct buf b = { 0 };
	struct tare_cpu cpu;
	tare_cpu_detect(&cpu);
	if (o->json)
		programs_json(&b, results, &cpu, hardware ? NULL : why.what);
	else
		programs_text(&b, results, hardware ? NULL : why.what);
	const bool ok = !buf_failed(&b) && output_write(out, b.data, b.len);
	buf_free(&b);
	if (!counted)
		complain("verify: none of the programs could be counted");
	return ok && counted ? EXIT_GOOD : EXIT_BAD;
}

/* Of the whole process: what comes after needs none. The strings stay in use. */
static void fix_environment(void)
{
	char **const envp = clean_environment(&(struct opt_list){ 0 }, false);
	clearenv();
	for (size_t i = 0; envp[i]; i++)
		putenv(envp[i]);
	setenv("PYTHONHASHSEED", "0", 1);
	setenv("PERL_HASH_SEED", "0", 1);
	free(envp);
}

int verify_programs(const struct verify_programs *o)
{
	struct output out;
	char folder[PATH_MAX];
	const char *const env = secure_getenv("TMPDIR");
	const char *const tmp = env && *env == '/' ? env : "/tmp";
	if (unknown_name(o)) {
		complain_unknown(unknown_name(o));
		return EXIT_USAGE;
	}
	if (!output_open(&out, o->output ? o->output : "-"))
		return EXIT_FAILED;
	const int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int status = EXIT_FAILED;
	if (snprintf(folder, sizeof(folder), "%s/tare-programs-XXXXXX", tmp) >= (int)sizeof(folder)) {
		complain("verify: TMPDIR is too long: %.100s…", tmp);
	} else if (!mkdtemp(folder) || chdir(folder) < 0) {
		complain("verify: a folder for the programs' inputs: %s: %s", folder, strerror(errno));
	} else {
		fix_environment();
		status = make_inputs() ? run_all(o, &out) : EXIT_BAD;
		if (here >= 0 && fchdir(here) < 0)
			status = EXIT_BAD;
		nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	}
	if (here >= 0)
		close(here);
	return output_close(&out) ? status : EXIT_BAD;
}
