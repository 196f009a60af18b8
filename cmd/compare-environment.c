/* Finds what differs in the environments of two results.
 *
 * One more environment variable changes the counts of a program by hundreds of instructions,
 * because the dynamic linker and libc read all variables. Another libc, or a CPU for which libc
 * chooses other functions, changes them by parts of a percent. Files that differ in these cannot
 * be compared: such a difference hides a change of the program, or looks like one. Another
 * kernel, folder or library besides libc is only noted; the library may be what was changed.
 *
 * Files of older versions lack some of this; a note names what they lack. */
#include "compare.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *shown(const char *text)
{
	return text ? text : "none";
}

static bool equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* ---- libc and other libraries ---- */

static const struct json_node *libc_of(const struct compare_file *f)
{
	const struct json_node *const n = json_get(f->program, "libc");
	return n && n->type == JSON_OBJECT ? n : NULL;
}

static void put_libc(struct buf *out, const struct json_node *libc)
{
	const char *const build = json_text(libc, "build"), *const id = json_text(libc, "id");
	buf_printf(out, "%s %s (%s, %.22s)", shown(json_text(libc, "kind")),
		   shown(json_text(libc, "version")), build ? build : "no banner", shown(id));
}

static void compare_libc(struct comparison *c)
{
	const struct json_node *const a = libc_of(c->base), *const b = libc_of(c->new);
	if (!a || !b) {
		if (a || b)
			buf_printf(&c->notes, "%s uses no shared libc\n", a ? c->new->path : c->base->path);
		return;
	}
	if (equal(json_text(a, "id"), json_text(b, "id")))
		return;
	buf_printf(&c->differences, "another %slibc: ",
		   equal(json_text(a, "version"), json_text(b, "version")) ? "build of " : "");
	put_libc(&c->differences, a);
	buf_str(&c->differences, ", ");
	put_libc(&c->differences, b);
	buf_str(&c->differences, "; measure both on one system, or in the same container image\n");
}

/* The dynamic linker comes with libc. */
static bool is_libc_part(const char *name)
{
	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-", 3) == 0 ||
	       strncmp(name, "libc.musl", 9) == 0;
}

static const struct json_node *find_file(const struct json_node *list, const char *name)
{
	for (const struct json_node *f = list ? list->first : NULL; f; f = f->next)
		if (equal(json_text(f, "name"), name))
			return f;
	return NULL;
}

/* Files that changed, came or went. */
static void note_files(struct comparison *c, const char *key)
{
	const struct json_node *const a = json_get(c->base->program, key);
	const struct json_node *const b = json_get(c->new->program, key);
	for (const struct json_node *f = a ? a->first : NULL; f; f = f->next) {
		const char *const name = json_text(f, "name");
		if (!name || is_libc_part(name))
			continue;
		const struct json_node *const g = find_file(b, name);
		if (!g)
			buf_printf(&c->notes, "%s is used by the base only\n", name);
		else if (!equal(json_text(f, "id"), json_text(g, "id")))
			buf_printf(&c->notes, "%s changed (%s: %.22s; %s: %.22s)\n", name,
				   shown(json_text(f, "path")), shown(json_text(f, "id")),
				   shown(json_text(g, "path")), shown(json_text(g, "id")));
	}
	for (const struct json_node *g = b ? b->first : NULL; g; g = g->next) {
		const char *const name = json_text(g, "name");
		if (name && !is_libc_part(name) && !find_file(a, name))
			buf_printf(&c->notes, "%s is used by the new one only\n", name);
	}
}

static void compare_programs(struct comparison *c)
{
	if (!c->base->program || !c->new->program) {
		const bool base = !c->base->program;
		buf_printf(&c->notes, "%s%s%s not say which libc and libraries the command used, so "
			   "they are not compared\n", base ? c->base->path : c->new->path,
			   base && !c->new->program ? " and " : "",
			   base && !c->new->program ? "the new file do" : " does");
		return;
	}
	compare_libc(c);
	note_files(c, "libraries");
	note_files(c, "scripts");
}

/* ---- lists of names ---- */

enum { MOST_NAMES = 6 };

static void put_name(struct buf *out, size_t n, const char *name)
{
	if (n < MOST_NAMES)
		buf_printf(out, "%s%.60s", n ? ", " : "", name);
	else if (n == MOST_NAMES)
		buf_str(out, ", …");
}

/* ---- CPU features ---- */

/* What glibc's functions of several versions look for (sysdeps/x86_64/multiarch, fpu/multiarch
 * and the choice of glibc-hwcaps folders), 2.28 to 2.41. `needs`: looked for only beside
 * that one. Others, such as sha_ni, are for libraries that choose by themselves. */
static const struct {
	const char *feature;		/* as the kernel names it */
	const char *tunable;		/* as glibc.cpu.hwcaps names it */
	const char *needs;
} dispatch[] = {
	{ "ssse3", "SSSE3", NULL },
	{ "sse4_1", "SSE4_1", NULL },
	{ "sse4_2", "SSE4_2", NULL },
	{ "popcnt", "POPCNT", NULL },
	{ "erms", "ERMS", NULL },
	{ "fsrm", "FSRM", NULL },
	{ "xsavec", "XSAVEC", NULL },
	{ "fma4", "FMA4", NULL },
	{ "avx", "AVX", NULL },
	{ "avx2", "AVX2", "avx" },
	{ "bmi1", "BMI1", "avx2" },
	{ "bmi2", "BMI2", "avx2" },
	{ "abm", "LZCNT", "avx2" },
	{ "movbe", "MOVBE", "avx2" },
	{ "fma", "FMA", "avx2" },
	{ "rtm", "RTM", "avx2" },
	{ "avx512f", "AVX512F", NULL },
	{ "avx512vl", "AVX512VL", "avx512f" },
	{ "avx512bw", "AVX512BW", "avx512vl" },
	{ "avx512cd", "AVX512CD", "avx512vl" },
	{ "avx512dq", "AVX512DQ", "avx512vl" },
};
enum { N_DISPATCH = sizeof(dispatch) / sizeof(dispatch[0]) };

/* `word` in a list; what surrounds it is not of a word. */
static bool has_word(const char *list, const char *word)
{
	const size_t n = strlen(word);
	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || strchr(" ,=:", p[-1])) && strchr(" ,:", p[n]))
			return true;
	return false;
}

static bool is_masked(const char *tunables, const char *name)
{
	char word[32];
	snprintf(word, sizeof(word), "-%s", name);
	return tunables && has_word(tunables, word);
}

/* Does libc see feature i? It does not where GLIBC_TUNABLES hides it. */
static bool libc_sees(const struct compare_file *f, const char *features, size_t i)
{
	if (!has_word(features, dispatch[i].feature) ||
	    is_masked(json_text(f->environment, "glibc_tunables"), dispatch[i].tunable))
		return false;
	for (size_t k = 0; dispatch[i].needs && k < i; k++)
		if (strcmp(dispatch[k].feature, dispatch[i].needs) == 0)
			return libc_sees(f, features, k);
	return true;
}

static bool is_x86(const struct compare_file *f)
{
	return equal(json_text(f->environment, "machine"), "x86_64");
}

/* Names of `of` that `other` lacks. */
static void put_missing(struct buf *out, const char *of, const char *other)
{
	char word[64];
	for (const char *p = of; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		if (n >= sizeof(word))
			n = sizeof(word) - 1;
		memcpy(word, p, n);
		word[n] = '\0';
		if (!has_word(other, word))
			buf_printf(out, " %s", word);
	}
}

/* The features that count: on x86 those libc sees, elsewhere all. */
static void seen_features(const struct compare_file *f, const char *features, struct buf *out)
{
	buf_str(out, "");
	if (!is_x86(f)) {
		buf_str(out, features);
		return;
	}
	for (size_t i = 0; i < N_DISPATCH; i++)
		if (libc_sees(f, features, i))
			buf_printf(out, "%s%s", out->len ? " " : "", dispatch[i].feature);
}

/* By these, cryptography and compression libraries choose code; libc does not. */
static const char *const by_others[] = {
	"adx", "aes", "avx512ifma", "gfni", "pclmulqdq", "sha_ni", "vaes", "vpclmulqdq",
};

static void note_others(struct comparison *c, const char *a, const char *b)
{
	struct buf names = { 0 };
	for (size_t i = 0; i < sizeof(by_others) / sizeof(by_others[0]); i++)
		if (has_word(a, by_others[i]) != has_word(b, by_others[i]))
			buf_printf(&names, " %s", by_others[i]);
	if (names.len)
		buf_printf(&c->notes, "one of the CPUs lacks%s, by which libraries may choose code\n",
			   names.data);
	buf_free(&names);
}

/* Features that neither libc nor by_others chooses by: other libraries may. */
static bool is_known_feature(const char *word)
{
	for (size_t i = 0; i < N_DISPATCH; i++)
		if (strcmp(dispatch[i].feature, word) == 0)
			return true;
	for (size_t i = 0; i < sizeof(by_others) / sizeof(by_others[0]); i++)
		if (strcmp(by_others[i], word) == 0)
			return true;
	return false;
}

static size_t put_rest(struct buf *out, const char *of, const char *other)
{
	struct buf missing = { 0 };
	size_t n = 0;
	char *place;
	buf_str(&missing, "");
	put_missing(&missing, of, other);
	for (char *word = strtok_r(missing.data, " ", &place); word; word = strtok_r(NULL, " ", &place))
		if (!is_known_feature(word))
			put_name(out, n++, word);
	buf_free(&missing);
	return n;
}

static void note_rest(struct comparison *c, const char *a, const char *b)
{
	struct buf gone = { 0 }, come = { 0 };
	buf_str(&gone, "");
	buf_str(&come, "");
	const size_t n = put_rest(&gone, a, b), m = put_rest(&come, b, a);
	if (n || m)
		buf_printf(&c->notes, "the CPUs, or what their kernels tell of them, differ in features:"
			   "%s%s%s%s%s\n", n ? " only the base has " : "", gone.data, n && m ? ";" : "",
			   m ? " only the new one has " : "", come.data);
	buf_free(&gone);
	buf_free(&come);
}

static const char *const cpu_numbers[] = { "family", "model", "stepping", "midr" };
enum { N_CPU_NUMBERS = sizeof(cpu_numbers) / sizeof(cpu_numbers[0]) };

/* Different CPUs may have the same brand string ("AMD EPYC"). What one file lacks says nothing. */
static bool same_cpu(const struct compare_file *x, const struct compare_file *y)
{
	for (size_t i = 0; i < N_CPU_NUMBERS; i++) {
		uint64_t a, b;
		if (json_to_u64(json_get(x->cpu_facts, cpu_numbers[i]), &a) &&
		    json_to_u64(json_get(y->cpu_facts, cpu_numbers[i]), &b) && a != b)
			return false;
	}
	const char *const v = json_text(x->cpu_facts, "vendor"), *const w = json_text(y->cpu_facts, "vendor");
	return strcmp(x->cpu, y->cpu) == 0 && (!v || !w || strcmp(v, w) == 0);
}

/* "AMD EPYC family 25 model 17 stepping 1" */
static void put_cpu(struct buf *out, const struct compare_file *f)
{
	buf_str(out, f->cpu);
	for (size_t i = 0; i < N_CPU_NUMBERS; i++) {
		uint64_t v;
		if (json_to_u64(json_get(f->cpu_facts, cpu_numbers[i]), &v) &&
		    (v || strcmp(cpu_numbers[i], "midr") != 0))
			buf_printf(out, " %s %llu", cpu_numbers[i], (unsigned long long)v);
	}
}

static void note_cpus(struct comparison *c)
{
	if (same_cpu(c->base, c->new))
		return;
	buf_str(&c->notes, "the CPUs differ (");
	put_cpu(&c->notes, c->base);
	buf_str(&c->notes, ", ");
	put_cpu(&c->notes, c->new);
	buf_str(&c->notes, "): libraries that choose code by CPU may choose otherwise; for glibc, "
		"GLIBC_TUNABLES can pin that\n");
}

static void compare_features(struct comparison *c)
{
	const char *const a = json_text(c->base->environment, "cpu_features");
	const char *const b = json_text(c->new->environment, "cpu_features");
	if (a && b) {
		struct buf x = { 0 }, y = { 0 }, gone = { 0 }, come = { 0 };
		seen_features(c->base, a, &x);
		seen_features(c->new, b, &y);
		put_missing(&gone, x.data, y.data);
		put_missing(&come, y.data, x.data);
		if (gone.len || come.len)
			buf_printf(&c->differences, "other CPU features, by which libc chooses code:%s%s%s%s; "
				   "measure both on one kind of CPU, or hide them in both with "
				   "GLIBC_TUNABLES=glibc.cpu.hwcaps=-NAME,…\n",
				   gone.len ? " only the base has" : "", gone.len ? gone.data : "",
				   come.len ? " only the new one has" : "", come.len ? come.data : "");
		note_others(c, a, b);
		note_rest(c, a, b);
		buf_free(&x);
		buf_free(&y);
		buf_free(&gone);
		buf_free(&come);
	} else {
		buf_printf(&c->notes, "%s does not say which features the CPU has, so they are not "
			   "compared\n", a ? c->new->path : c->base->path);
	}
	note_cpus(c);
}

/* ---- machines ---- */

static const struct json_node *machine_of(const struct compare_file *f)
{
	const struct json_node *const m = json_get(json_get(f->root, "world"), "machine");
	return m && m->type == JSON_OBJECT ? m : NULL;
}

/* As --machine has it. */
static void put_machine(struct buf *out, const struct json_node *m)
{
	uint64_t cpus = 0;
	json_to_u64(json_get(m, "cpus"), &cpus);
	buf_str(out, shown(json_text(m, "name")));
	if (cpus > 1)
		buf_printf(out, ",cpus=%llu", (unsigned long long)cpus);
}

static void put_seen(struct buf *out, const struct json_node *m)
{
	buf_str(out, m ? "on machine " : "on its host's CPU");
	if (m)
		put_machine(out, m);
}

/* True: both saw the same machine, and so the same CPU. */
static bool compare_machines(struct comparison *c)
{
	const struct json_node *const a = machine_of(c->base), *const b = machine_of(c->new);
	if (!a && !b)
		return false;
	if (a && b && equal(json_text(a, "hash"), json_text(b, "hash")))
		return true;
	if (a && b && equal(json_text(a, "name"), json_text(b, "name")) &&
	    equal(json_get(a, "cpus") ? json_get(a, "cpus")->text : NULL,
		  json_get(b, "cpus") ? json_get(b, "cpus")->text : NULL)) {
		buf_printf(&c->differences, "machine %s is not the same in the versions of tare that made the files; "
			   "measure both with one version\n", shown(json_text(a, "name")));
		return false;
	}
	buf_str(&c->differences, "the base was measured ");
	put_seen(&c->differences, a);
	buf_str(&c->differences, ", the new one ");
	put_seen(&c->differences, b);
	buf_str(&c->differences, "; measure both with --machine ");
	put_machine(&c->differences, a ? a : b);
	buf_str(&c->differences, "\n");
	return false;
}

/* ---- still worlds ---- */

static const struct json_node *hermetic_of(const struct compare_file *f)
{
	const struct json_node *const h = json_get(json_get(f->root, "world"), "hermetic");
	return h && h->type == JSON_OBJECT ? h : NULL;
}

static void put_world(struct buf *out, const struct json_node *h)
{
	uint64_t seed = 0;
	if (!h) {
		buf_str(out, "in its host's world");
		return;
	}
	json_to_u64(json_get(h, "seed"), &seed);
	buf_printf(out, "in the still world of seed %llu", (unsigned long long)seed);
	if (json_to_u64(json_get(h, "schedule"), &seed))
		buf_printf(out, " and schedule %llu", (unsigned long long)seed);
}

/* The order of tasks that was asked for, or not. */
static bool same_schedule(const struct json_node *a, const struct json_node *b)
{
	uint64_t x = 0, y = 0;
	const bool has = json_to_u64(json_get(a, "schedule"), &x);
	return has == json_to_u64(json_get(b, "schedule"), &y) && x == y;
}

static void compare_worlds(struct comparison *c)
{
	const struct json_node *const a = hermetic_of(c->base), *const b = hermetic_of(c->new);
	uint64_t seeds[2] = { 0, 0 };
	if (!a && !b)
		return;
	if (a)
		json_to_u64(json_get(a, "seed"), &seeds[0]);
	if (b)
		json_to_u64(json_get(b, "seed"), &seeds[1]);
	if (a && b && seeds[0] == seeds[1] && same_schedule(a, b))
		return;
	buf_str(&c->differences, "the base was measured ");
	put_world(&c->differences, a);
	buf_str(&c->differences, ", the new one ");
	put_world(&c->differences, b);
	buf_printf(&c->differences, "; measure both with --hermetic=%llu and the same --schedule, or none\n",
		   (unsigned long long)seeds[a ? 0 : 1]);
}

/* ---- environment variables ---- */

static void differs(struct comparison *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void differs(struct comparison *c, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text[strcspn(text, "\n")] = '\0';
	buf_printf(&c->differences, "%s\n", text);
}

static void compare_value(struct comparison *c, const char *key, const char *name)
{
	const char *const a = json_text(c->base->environment, key);
	const char *const b = json_text(c->new->environment, key);
	if (!equal(a, b))
		differs(c, "%s was %.200s and is %.200s", name, shown(a), shown(b));
}

static void compare_settings(struct comparison *c)
{
	const struct json_node *const a = json_get(c->base->environment, "settings");
	const struct json_node *const b = json_get(c->new->environment, "settings");
	if (!a || !b)
		return;
	for (const struct json_node *v = a->first; v; v = v->next)
		if (v->key && !equal(json_text(a, v->key), json_text(b, v->key)))
			differs(c, "%s was %.200s and is %.200s", v->key, shown(json_text(a, v->key)),
				shown(json_text(b, v->key)));
	for (const struct json_node *v = b->first; v; v = v->next)
		if (v->key && !json_get(a, v->key))
			differs(c, "%s was not set and is %.200s", v->key, shown(json_text(b, v->key)));
}

/* Variables of `of` that `other` lacks or, with `lengths`, that have another length there. */
static size_t put_variables(struct buf *out, const struct json_node *of,
			    const struct json_node *other, bool lengths)
{
	size_t n = 0;
	for (const struct json_node *v = of->first; v; v = v->next) {
		const struct json_node *const w = v->key ? json_get(other, v->key) : v;
		if (lengths ? w && !equal(v->text, w->text) : !w)
			put_name(out, n++, v->key);
	}
	return n;
}

static void name_variables(struct comparison *c, struct buf *text)
{
	const struct json_node *const a = json_get(c->base->environment, "variables");
	const struct json_node *const b = json_get(c->new->environment, "variables");
	struct buf gone = { 0 }, come = { 0 }, longer = { 0 };
	if (!a || !b || a->type != JSON_OBJECT || b->type != JSON_OBJECT)
		return;
	if (put_variables(&gone, a, b, false))
		buf_printf(text, "; only in the base: %s", gone.data);
	if (put_variables(&come, b, a, false))
		buf_printf(text, "; only in the new one: %s", come.data);
	if (put_variables(&longer, a, b, true))
		buf_printf(text, "; of another length: %s", longer.data);
	buf_free(&gone);
	buf_free(&come);
	buf_free(&longer);
}

static void compare_variables(struct comparison *c)
{
	uint64_t a, b;
	struct buf names = { 0 };
	buf_str(&names, "");
	const bool known = json_to_u64(json_get(c->base->environment, "environ_bytes"), &a) &&
			   json_to_u64(json_get(c->new->environment, "environ_bytes"), &b);
	name_variables(c, &names);
	if (!known)
		buf_str(&c->notes, "the size of the environment is not known of both files, so it is "
			"not compared\n");
	else if (a != b || names.len)
		differs(c, "the environment had %llu bytes and has %llu%s", (unsigned long long)a,
			(unsigned long long)b, names.data);
	buf_free(&names);
}

/* ---- what is only noted ---- */

static void note_value(struct comparison *c, const char *key, const char *name)
{
	const struct json_node *const a = json_get(c->base->environment, key);
	const struct json_node *const b = json_get(c->new->environment, key);
	if (a && b && a->text && b->text && strcmp(a->text, b->text) != 0)
		buf_printf(&c->notes, "%s differs: %.100s, %.100s\n", name, a->text, b->text);
}

void compare_environment(struct comparison *c)
{
	compare_programs(c);
	if (!compare_machines(c))
		compare_features(c);
	compare_worlds(c);
	compare_value(c, "glibc_tunables", "GLIBC_TUNABLES");
	compare_value(c, "ld_preload", "LD_PRELOAD");
	compare_settings(c);
	compare_variables(c);
	note_value(c, "kernel", "the kernel");
	note_value(c, "cwd", "the working folder");
	if (!machine_of(c->base) || !machine_of(c->new))
		note_value(c, "cpus_allowed", "the number of CPUs");
}

/* ---- why does it vary ---- */

/* "python", "/usr/bin/python3.11", but not "pythonic". */
static bool is_program(const char *word, size_t len, const char *name)
{
	const char *base = word;
	for (size_t i = 0; i < len; i++)
		if (word[i] == '/')
			base = word + i + 1;
	const size_t n = strlen(name), left = len - (size_t)(base - word);
	return left >= n && strncmp(base, name, n) == 0 &&
	       (left == n || strchr("0123456789.", base[n]));
}

/* Whether the command is, or names, that program: it may run under env or a shell. */
static bool runs(const struct comparison *c, const char *name)
{
	const char *const path = json_text(c->new->program, "path");
	if (path && is_program(path, strlen(path), name))
		return true;
	for (const char *p = c->new->command.data; *p; p += strspn(p, " ")) {
		const size_t n = strcspn(p, " ");
		if (is_program(p, n, name))
			return true;
		p += n;
	}
	return false;
}

static const char *usual_cause(const struct comparison *c)
{
	if (runs(c, "python"))
		return "Python seeds its hashes by chance: set PYTHONHASHSEED=0";
	if (runs(c, "perl"))
		return "Perl seeds its hashes by chance: set PERL_HASH_SEED=0 and PERL_PERTURB_KEYS=0";
	if (runs(c, "node"))
		return "node has hash seeds and compiles in other threads: try node --predictable "
		       "--hash-seed=1 --random-seed=1";
	if (runs(c, "java"))
		return "Java compiles and collects garbage in other threads: try -Xint -XX:+UseSerialGC";
	return "usual causes are hash seeds (PYTHONHASHSEED=0, PERL_HASH_SEED=0), random numbers, the "
	       "time, process numbers, and threads that take turns";
}

void compare_note_causes(struct comparison *c)
{
	if (c->base->layouts || c->new->layouts)	/* it is the layout that varies */
		return;
	for (size_t i = 0; i < c->n_lines; i++) {
		if (!c->lines[i].varies)
			continue;
		buf_printf(&c->notes, "%s varies from run to run by itself; %s\n", c->lines[i].event,
			   !c->base->aslr_off || !c->new->aslr_off ?
			   "addresses were random: measure without --aslr, where it was not refused" :
			   usual_cause(c));
		return;
	}
}
