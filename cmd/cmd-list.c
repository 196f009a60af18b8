/* tare list: the events of this machine or of another CPU, and which can be counted
 * here. Whether an event opens is tried, one by one, never guessed. */
#include "buf.h"
#include "command.h"
#include "complain.h"
#include "environment.h"
#include "json.h"
#include "stat.h"
#include "term.h"

#include <tare/doctor.h>
#include <tare/event.h>
#include <tare/measure.h>
#include <tare/version.h>

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NAME_WIDTH 34
#define ENCODING_WIDTH 20
#define HERE_WIDTH 8
#define METRIC_WIDTH 44

struct list_opts {
	const char *cpu;
	bool cpus;
	bool json;
};

static const char *uarch_word(size_t i, const char **about)
{
	const struct tare_uarch *const u = tare_uarch_at(i);

	if (u && about)
		*about = u->title;
	return u ? u->name : NULL;
}

static const struct opt opts[] = {
	{ OPT_STRING, 0, "cpu", "NAME", "events of another CPU, from the tables; none is tried",
	  TO(list_opts, cpu), .word = uarch_word },
	{ OPT_FLAG, 0, "cpus", NULL, "the CPUs that the tables know", TO(list_opts, cpus) },
	{ OPT_FLAG, 'j', "json", NULL, "JSON, schema tare.list/1", TO(list_opts, json) },
	{ OPT_END },
};

/* Why an event does not open: one per errno and type of event, so that a PMU that
 * is not there is looked into once and not for each of its events. */
struct cause {
	int err;
	uint32_t type;
	struct tare_why why;
	unsigned n_events;
};

/* What the rows have in common. */
struct listing {
	const struct tare_cpu *cpu;
	char *const *patterns;
	int n_patterns;
	bool try_them;
	bool engine;			/* the software engine runs here */
	struct buf out;
	struct json json;
	bool as_json;
	int heading;			/* enum tare_name_source that was announced; -1: none */
	size_t n_rows;
	struct cause causes[32];
	size_t n_causes;
};

/* One name, resolved and tried. */
struct row {
	const struct tare_event_name *name;
	struct tare_events *parsed;	/* NULL: see why */
	const struct tare_event *event;
	const struct tare_event_row *table;
	struct tare_why why;		/* why it does not parse or open */
	bool opens;
	bool engine;
};

/* ---- which ---- */

static bool contains(const char *text, const char *part)
{
	const size_t n = strlen(part);
	for (; *text; text++)
		if (!strncasecmp(text, part, n))
			return true;
	return n == 0;
}

/* A word matches anywhere in the name; with * ? [ it must match all of it. */
static bool matches_text(const char *text, const char *pattern)
{
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
	return contains(text, pattern);
}

static bool wanted(const struct listing *l, const char *name, enum tare_role role)
{
	const char *const idea = role == TARE_ROLE_OTHER ? "" : tare_role_name(role);
	for (int i = 0; i < l->n_patterns; i++)
		if (matches_text(name, l->patterns[i]) ||
		    (idea[0] && matches_text(idea, l->patterns[i])))
			return true;
	return l->n_patterns == 0;
}

/* ---- trying ---- */

static int backend(const struct tare_events *e, enum tare_backend b, struct tare_why *why)
{
	return tare_backend_for(e, b, NULL, 0, why);
}

static bool has_pair(const struct tare_event *e)
{
	return e->kind == TARE_EVENT_MINUS || e->minus_total & TARE_MINUS_PAIR;
}

/* The system call itself, undone at once; 0 or -errno. Where the modifiers were not
 * chosen by hand, user mode alone will do, as with tare stat. */
static int try_encoding(const struct tare_encoding *wanted_one, bool may_narrow)
{
	const struct tare_doctor_probes *const p = tare_doctor_probes();
	struct tare_encoding e = *wanted_one;
	const int err = p->open(p->arg, &e);

	if (err != -EACCES || !may_narrow)
		return err;
	e.exclude_kernel = e.exclude_hv = true;
	return p->open(p->arg, &e);
}

static int try_event(const struct tare_event *e)
{
	if (e->kind == TARE_EVENT_WALL_TIME || e->kind == TARE_EVENT_ZERO)
		return 0;
	if (e->needs_engine)
		return -ENOTSUP;
	const int err = try_encoding(&e->base, !e->has_modifier);
	if (err || !has_pair(e))
		return err;
	return try_encoding(&e->minus, !e->has_modifier);
}

/* NULL: it opens after all. */
static const struct cause *find_cause(struct listing *l, const struct tare_events *list, int err)
{
	const uint32_t type = tare_events_at(list, 0)->base.type;
	struct cause *c = l->causes;

	while (c < l->causes + l->n_causes && (c->err != err || c->type != type))
		c++;
	if (c == l->causes + sizeof(l->causes) / sizeof(l->causes[0]))
		c--;	/* too many kinds of failure: the last cause is replaced */
	if (c->err != err || c->type != type || !c->n_events) {
		struct tare_why why = { 0 };
		if (backend(list, TARE_BACKEND_HW, &why) >= 0)
			return NULL;
		l->n_causes += c == l->causes + l->n_causes;
		*c = (struct cause){ .err = err, .type = type, .why = why };
	}
	c->n_events++;
	return c;
}

static bool engine_runs(const struct tare_cpu *cpu)
{
	struct tare_events *e;
	if (tare_events_parse("instructions:u", cpu, &e, NULL) < 0)
		return false;
	const bool runs = backend(e, TARE_BACKEND_SOFT, NULL) >= 0;
	tare_events_free(e);
	return runs;
}

/* Without a modifier an event includes the kernel, which the engine never sees. */
static bool engine_counts(const struct listing *l, const char *name, const struct tare_event *event)
{
	char user[256];
	struct tare_events *e;

	if (!l->engine)
		return false;
	if (tare_engine_counts(event))
		return true;
	if ((size_t)snprintf(user, sizeof(user), "%s:u", name) >= sizeof(user) ||
	    tare_events_parse(user, l->cpu, &e, NULL) < 0)
		return false;
	const bool counts = tare_engine_counts(tare_events_at(e, 0));
	tare_events_free(e);
	return counts;
}

static void resolve(struct listing *l, const struct tare_event_name *name, struct row *r)
{
	*r = (struct row){ .name = name, .table = name->row };
	if (tare_events_parse(name->name, l->cpu, &r->parsed, &r->why) < 0)
		return;
	r->event = tare_events_at(r->parsed, 0);
	if (!r->table)
		r->table = r->event->row;
	if (!l->try_them)
		return;
	const int err = try_event(r->event);
	const struct cause *const cause = err ? find_cause(l, r->parsed, err) : NULL;
	r->opens = !cause;
	if (cause)
		r->why = cause->why;
	r->engine = engine_counts(l, name->name, r->event);
}

/* ---- showing ---- */

static const char *kind_name(enum tare_event_kind k)
{
	switch (k) {
	case TARE_EVENT_PERF: return "perf";
	case TARE_EVENT_MINUS: return "minus";
	case TARE_EVENT_MINUS_TOTAL: return "minus-total";
	case TARE_EVENT_WALL_TIME: return "wall-time";
	case TARE_EVENT_ZERO: return "zero";
	}
	return "unknown";
}

/* The upper half names the PMU of a hybrid machine. */
static void generic_text(struct buf *b, const char *kind, bool hex, uint64_t config)
{
	buf_printf(b, hex ? "%s0x%" PRIx32 : "%s%" PRIu32, kind, (uint32_t)config);
	if (config >> 32)
		buf_printf(b, "@pmu%" PRIu64, config >> 32);
}

static void encoding_text(struct buf *b, const struct tare_encoding *e)
{
	switch (e->type) {
	case PERF_TYPE_RAW: buf_printf(b, "r%04" PRIx64, (uint64_t)e->config); break;
	case PERF_TYPE_HARDWARE: generic_text(b, "hardware:", false, e->config); break;
	case PERF_TYPE_SOFTWARE: buf_printf(b, "software:%" PRIu64, (uint64_t)e->config); break;
	case PERF_TYPE_HW_CACHE: generic_text(b, "cache:", true, e->config); break;
	default: buf_printf(b, "pmu%u:0x%" PRIx64, e->type, (uint64_t)e->config); break;
	}
	if (e->config1)
		buf_printf(b, ",0x%" PRIx64, (uint64_t)e->config1);
}

static void event_encoding(struct buf *b, const struct tare_event *e)
{
	if (!e || e->needs_engine || e->kind == TARE_EVENT_WALL_TIME || e->kind == TARE_EVENT_ZERO)
		return buf_chr(b, '-');
	encoding_text(b, &e->base);
	if (!has_pair(e))
		return;
	buf_chr(b, '-');
	encoding_text(b, &e->minus);
}

static const char *here_word(const struct listing *l, const struct row *r)
{
	if (!l->try_them)
		return "-";
	return r->opens ? "yes" : r->engine ? "engine" : "no";
}

static enum style here_style(const struct row *r)
{
	return r->opens ? STYLE_GREEN : r->engine ? STYLE_YELLOW : STYLE_DIM;
}

/* What the sources say about the count; a corrected one is what it is made for. */
static const char *trust_text(const struct row *r, char *out, size_t size)
{
	const enum tare_event_kind kind = r->event ? r->event->kind : TARE_EVENT_PERF;
	if (kind == TARE_EVENT_MINUS || kind == TARE_EVENT_MINUS_TOTAL)
		return "corrected";
	return r->table ? tare_trust_text(r->table->trust, out, size) : "-";
}

/* Who says so. */
static const char *source_text(const struct row *r)
{
	if (r->table)
		return r->table->source;
	switch (r->name->source) {
	case TARE_NAME_HARDWARE:
	case TARE_NAME_SOFTWARE:
	case TARE_NAME_CACHE: return "Linux, perf_event_open(2)";
	case TARE_NAME_ROLE:
	case TARE_NAME_DERIVED: return "tare";
	case TARE_NAME_TABLE: return "tables";
	case TARE_NAME_SYSFS: return "sysfs";
	case TARE_NAME_LIBPFM4: return "libpfm4";
	}
	return "unknown";
}

static void heading(struct listing *l, enum tare_name_source source)
{
	static const char *const titles[] = {
		[TARE_NAME_HARDWARE] = "perf's hardware events",
		[TARE_NAME_SOFTWARE] = "perf's software events, counted by the kernel",
		[TARE_NAME_CACHE] = "perf's cache events",
		[TARE_NAME_ROLE] = "tare's names for the same idea on every CPU",
		[TARE_NAME_DERIVED] = "tare's derived counters",
		[TARE_NAME_TABLE] = "this CPU's events, from the tables",
		[TARE_NAME_SYSFS] = "events of this machine's PMUs, from sysfs",
		[TARE_NAME_LIBPFM4] = "libpfm4's names",
	};
	if (l->heading == (int)source)
		return;
	const bool known = source < sizeof(titles) / sizeof(titles[0]) && titles[source];
	buf_printf(&l->out, "%s%s%s%s\n", l->heading < 0 ? "" : "\n",
		   term_style(STDOUT_FILENO, STYLE_BOLD),
		   known ? titles[source] : tare_name_source(source),
		   term_style(STDOUT_FILENO, STYLE_NONE));
	l->heading = (int)source;
}

/* Up to that column, on a new line if it is passed already. */
static void pad(struct buf *b, size_t line, size_t column)
{
	const size_t used = b->len - line;
	if (used + 1 > column)
		buf_printf(b, "\n%*s", (int)column, "");
	else
		buf_printf(b, "%*s", (int)(column - used), "");
}

/* "counters 0-3", "counter 1 only", "counters 1, 7 only"; nothing for an empty mask. */
static void counters_text(struct buf *b, uint32_t mask)
{
	if (!mask)
		return;
	const unsigned first = (unsigned)__builtin_ctz(mask);
	const unsigned last = 31 - (unsigned)__builtin_clz(mask);
	const bool one = first == last;
	const bool all = mask == (2u << last) - (1u << first);
	buf_printf(b, "counter%s %u", one ? "" : "s", first);
	for (unsigned i = first + 1; !all && i <= last; i++)
		if (mask >> i & 1)
			buf_printf(b, ", %u", i);
	if (all && !one)
		buf_printf(b, "-%u", last);
	else
		buf_str(b, " only");
}

static void row_text(struct listing *l, const struct row *r)
{
	struct buf *const b = &l->out;
	char trust[128];

	heading(l, r->name->source);
	const size_t line = b->len;
	buf_printf(b, "  %s", r->name->name);
	pad(b, line, NAME_WIDTH);
	const size_t encoding = b->len;
	event_encoding(b, r->event);
	pad(b, encoding, ENCODING_WIDTH);
	buf_printf(b, "%s%-*s%s", term_style(STDOUT_FILENO, here_style(r)), HERE_WIDTH,
		   here_word(l, r), term_style(STDOUT_FILENO, STYLE_NONE));
	if (r->name->alias_of) {
		buf_printf(b, "= %s\n", r->name->alias_of);
		return;
	}
	/* The engine's count is exact whatever the hardware's would be. */
	const char *const known = trust_text(r, trust, sizeof(trust));
	if (r->engine && !r->opens && known[0] != '-')
		buf_printf(b, "exact (hardware: %s)\n", known);
	else
		buf_printf(b, "%s\n", r->engine && !r->opens ? "exact" : known);
	const bool derived = r->name->source == TARE_NAME_DERIVED;
	const char *const note =
		!derived && r->table && r->table->note[0] ? r->table->note : r->name->note;
	const uint32_t counters = !derived && r->table ? r->table->counters : 0;
	if (counters || (note && note[0])) {
		buf_str(b, "      ");
		counters_text(b, counters);
		buf_printf(b, "%s%s\n", counters && note && note[0] ? "; " : "", note ? note : "");
	}
	if (r->table)
		buf_printf(b, "      %s%s; source: %s%s\n", term_style(STDOUT_FILENO, STYLE_DIM),
			   r->table->documented ? "documented" : "undocumented", source_text(r),
			   term_style(STDOUT_FILENO, STYLE_NONE));
}

/* What stood behind every "no" (and "engine"). */
static void causes_text(struct listing *l)
{
	for (size_t i = 0; i < l->n_causes; i++) {
		const struct cause *const c = &l->causes[i];
		unsigned n = 0;
		bool first = true;
		for (size_t j = 0; j < l->n_causes; j++) {
			n += l->causes[j].why.code == c->why.code ? l->causes[j].n_events : 0;
			first &= j >= i || l->causes[j].why.code != c->why.code;
		}
		if (first)
			buf_printf(&l->out, "%s%u not opened: %s\n", i ? "" : "\n", n,
				   tare_err_sentence(c->why.code));
	}
}

static void encoding_json(struct json *j, const char *key, const struct tare_encoding *e)
{
	json_object(j, key);
	json_u64(j, "type", e->type);
	json_u64(j, "config", e->config);
	json_u64(j, "config1", e->config1);
	json_u64(j, "config2", e->config2);
	json_end(j);
}

static void encodings_json(struct json *j, const struct tare_event *e)
{
	if (!e || e->needs_engine || e->kind == TARE_EVENT_WALL_TIME || e->kind == TARE_EVENT_ZERO)
		json_null(j, "encoding");
	else
		encoding_json(j, "encoding", &e->base);
	if (e && has_pair(e))
		encoding_json(j, "minus", &e->minus);
	else
		json_null(j, "minus");
}

static void here_json(struct json *j, const struct listing *l, const struct row *r)
{
	if (!l->try_them) {
		json_null(j, "opens");
		json_null(j, "engine");
		return;
	}
	json_bool(j, "opens", r->opens);
	json_bool(j, "engine", r->engine);
	if (r->opens)
		return;
	json_str(j, "error", tare_err_name(r->why.code));
	json_str(j, "reason", tare_err_sentence(r->why.code));
	json_i64(j, "errno", r->why.sys_errno);
}

static void counters_json(struct json *j, uint32_t counters)
{
	if (!counters) {
		json_null(j, "counters");
		return;
	}
	json_array(j, "counters");
	for (unsigned i = 0; i < 32; i++)
		if (counters >> i & 1)
			json_u64(j, NULL, i);
	json_end(j);
}

static void table_json(struct json *j, const struct tare_event_row *t)
{
	char text[128], letters[32];

	if (!t) {
		json_null(j, "table");
		return;
	}
	json_object(j, "table");
	json_str(j, "name", t->name);
	json_str(j, "determinism", tare_trust_text(t->trust, text, sizeof(text)));
	json_str(j, "letters", tare_trust_letters(t->trust, letters, sizeof(letters)));
	json_bool(j, "documented", t->documented);
	counters_json(j, t->counters);
	json_str(j, "note", t->note);
	json_str(j, "source", t->source);
	json_end(j);
}

static void row_json(struct listing *l, const struct row *r)
{
	struct json *const j = &l->json;
	char trust[128];

	json_object(j, NULL);
	json_str(j, "name", r->name->name);
	json_str(j, "from", tare_name_source(r->name->source));
	json_str(j, "alias_of", r->name->alias_of);
	json_str(j, "kind", kind_name(r->event ? r->event->kind : TARE_EVENT_PERF));
	encodings_json(j, r->event);
	json_str(j, "role", r->name->role == TARE_ROLE_OTHER ? NULL : tare_role_name(r->name->role));
	here_json(j, l, r);
	json_str(j, "error_bound", r->event ? r->event->error_bound : NULL);
	json_str(j, "note", r->name->note);
	json_str(j, "determinism", trust_text(r, trust, sizeof(trust)));
	json_str(j, "source", source_text(r));
	table_json(j, r->table);
	json_end(j);
}

static void begin_json(struct listing *l)
{
	struct json *const j = &l->json;

	j->out = &l->out;
	j->indent = true;
	json_object(j, NULL);
	json_str(j, "schema", "tare.list/1");
	json_str(j, "tare", TARE_VERSION);
	cpu_json(j, "cpu", l->cpu);
	json_bool(j, "tried", l->try_them);
	if (l->try_them)
		json_bool(j, "engine", l->engine);
	json_array(j, "events");
}

static void begin_text(struct listing *l)
{
	const struct tare_uarch *const u = l->cpu->uarch;

	buf_printf(&l->out, "  %-*s%-*s%-*s%s\n", NAME_WIDTH - 2, "NAME", ENCODING_WIDTH, "ENCODING",
		   HERE_WIDTH, "HERE", "DETERMINISM");
	if (!l->try_them)
		buf_printf(&l->out, "  (%s; not tried: another CPU)\n", u->title);
}

/* libpfm4 and the tables often have the same name; the tables know more. */
static bool shown_before(const struct listing *l, const struct tare_event_name *n)
{
	return n->source == TARE_NAME_LIBPFM4 && tare_cpu_event_by_name(l->cpu->uarch, n->name);
}

static void show(struct listing *l, const struct tare_event_name *n)
{
	struct row r;

	if (!wanted(l, n->name, n->role) || shown_before(l, n))
		return;
	resolve(l, n, &r);
	if (l->as_json)
		row_json(l, &r);
	else
		row_text(l, &r);
	tare_events_free(r.parsed);
	l->n_rows++;
}

/* Events of the tables that perf has no code for: facts, if not names. */
static void show_facts(struct listing *l)
{
	const struct tare_uarch *const u = l->cpu->uarch;

	for (size_t i = 0; u && i < u->n_events; i++) {
		const struct tare_event_row *const row = &u->events[i];
		const struct tare_event_name n = { .name = row->name, .source = TARE_NAME_TABLE,
						   .note = row->note, .role = row->role,
						   .row = row };
		if (!row->has_raw && !row->generic)
			show(l, &n);
	}
}

/* ---- metrics ---- */

/* What the metric's two events get here: "yes", "engine", "no", or "-" where none is tried. */
static const char *metric_here(const struct listing *l, const struct stat_metric *m)
{
	char both[128];
	struct tare_events *e;
	if (!l->try_them)
		return "-";
	snprintf(both, sizeof(both), "%s,%s", m->top, m->bottom);
	if (tare_events_parse(both, l->cpu, &e, NULL) < 0)
		return "no";
	const int answer = backend(e, TARE_BACKEND_AUTO, NULL);
	tare_events_free(e);
	return answer < 0 ? "no" : answer == TARE_BACKEND_SOFT ? "engine" : "yes";
}

static void metric_formula(const struct stat_metric *m, char *out, size_t size)
{
	if (m->factor == 1)
		snprintf(out, size, "%s / %s", m->top, m->bottom);
	else
		snprintf(out, size, "%.0f * %s / %s", m->factor, m->top, m->bottom);
}

static void metric_row(struct listing *l, const struct stat_metric *m, const char *formula)
{
	struct json *const j = &l->json;
	if (!l->as_json) {
		buf_printf(&l->out, "  %-*s%-*s%s\n      %s\n", NAME_WIDTH - 2, m->name,
			   METRIC_WIDTH, formula, metric_here(l, m), m->help);
		return;
	}
	json_object(j, NULL);
	json_str(j, "name", m->name);
	json_str(j, "formula", formula);
	json_str(j, "unit", m->unit);
	json_str(j, "here", metric_here(l, m));
	json_str(j, "note", m->help);
	json_end(j);
}

/* Of these `tare stat -M` takes the names. */
static void list_metrics(struct listing *l)
{
	const struct stat_metric *m;
	char formula[128];
	bool any = false;
	if (l->as_json)
		json_array(&l->json, "metrics");
	for (size_t i = 0; (m = stat_metric_at(i)); i++) {
		if (!wanted(l, m->name, TARE_ROLE_OTHER))
			continue;
		if (!any && !l->as_json)
			buf_printf(&l->out, "%s%smetrics, for tare stat -M%s\n",
				   l->heading < 0 ? "" : "\n",
				   term_style(STDOUT_FILENO, STYLE_BOLD),
				   term_style(STDOUT_FILENO, STYLE_NONE));
		any = true;
		metric_formula(m, formula, sizeof(formula));
		metric_row(l, m, formula);
		l->n_rows++;
	}
	if (l->as_json)
		json_end(&l->json);
}

static int list_events(struct listing *l)
{
	struct tare_event_names *names;
	struct tare_why why;

	if (tare_event_names_open(l->cpu, &names, &why) < 0) {
		complain_why(&why);
		return EXIT_BAD;
	}
	if (l->as_json)
		begin_json(l);
	else
		begin_text(l);
	bool facts = false;
	for (const struct tare_event_name *n; (n = tare_event_names_next(names));) {
		if (!facts && n->source > TARE_NAME_TABLE) {
			show_facts(l);
			facts = true;
		}
		show(l, n);
	}
	if (!facts)
		show_facts(l);
	const char *const missing = tare_event_names_missing(names);
	tare_event_names_close(names);
	if (l->as_json) {
		json_end(&l->json);
		list_metrics(l);
		json_str(&l->json, "libpfm4_missing", missing);
		json_end(&l->json);
		buf_chr(&l->out, '\n');
	} else {
		list_metrics(l);
		causes_text(l);
		if (missing)
			buf_printf(&l->out, "libpfm4's names are not shown: %s\n", missing);
	}
	return EXIT_GOOD;
}

/* ---- what was not found ---- */

static const struct tare_uarch *other_cpu_with(const struct listing *l)
{
	const struct tare_uarch *u;
	for (size_t i = 0; (u = tare_uarch_at(i)); i++)
		for (size_t j = 0; u != l->cpu->uarch && j < u->n_events; j++)
			if (wanted(l, u->events[j].name, TARE_ROLE_OTHER))
				return u;
	return NULL;
}

static int nothing_found(const struct listing *l)
{
	const struct tare_uarch *const other = other_cpu_with(l);
	const char *const p = l->patterns[0];
	if (other)
		complain("list: no event of this CPU matches '%s', but %s has one: "
			 "tare list --cpu %s '%s'", p, other->title, other->name, p);
	else
		complain("list: no event matches '%s'; `tare list` shows them all", p);
	return EXIT_BAD;
}

static int unknown_cpu(const char *name)
{
	const char *names[512];
	size_t n = 0;
	for (const struct tare_uarch *u; n < 511 && (u = tare_uarch_at(n));)
		names[n++] = u->name;
	names[n] = NULL;
	const char *const near = nearest_word(name, names);
	if (near)
		complain("list: no CPU is called '%s'; did you mean %s?", name, near);
	else
		complain("list: no CPU is called '%s'; `tare list --cpus` shows them", name);
	return EXIT_USAGE;
}

/* ---- CPUs ---- */

static void cpus_text(struct buf *b)
{
	buf_printf(b, "%-20s%-56s%s\n", "NAME", "CPU", "EVENTS");
	const struct tare_uarch *u;
	for (size_t i = 0; (u = tare_uarch_at(i)); i++)
		buf_printf(b, "%-20s%-56s%zu\n", u->name, u->title, u->n_events);
}

static void cpus_json(struct buf *b)
{
	struct json j = { .out = b, .indent = true };
	const struct tare_uarch *u;

	json_object(&j, NULL);
	json_str(&j, "schema", "tare.cpus/1");
	json_str(&j, "tare", TARE_VERSION);
	json_array(&j, "cpus");
	for (size_t i = 0; (u = tare_uarch_at(i)); i++) {
		json_object(&j, NULL);
		json_str(&j, "name", u->name);
		json_str(&j, "title", u->title);
		json_u64(&j, "gp_counters", u->gp_counters);
		json_u64(&j, "fixed_counters", u->fixed_counters);
		json_u64(&j, "events", u->n_events);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_chr(b, '\n');
}

/* ---- the command ---- */

static int print(struct buf *b, int status)
{
	if (buf_failed(b)) {
		complain("list: out of memory");
		status = EXIT_BAD;
	} else if (status == EXIT_GOOD && b->len) {
		fwrite(b->data, 1, b->len, stdout);
	}
	buf_free(b);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct list_opts o = { 0 };
	struct tare_cpu cpu;
	int first;

	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	tare_cpu_detect(&cpu);
	struct listing l = { .cpu = &cpu, .patterns = argv + first, .n_patterns = argc - first,
			     .try_them = true, .as_json = o.json, .heading = -1 };
	if (o.cpus) {
		if (o.json)
			cpus_json(&l.out);
		else
			cpus_text(&l.out);
		return print(&l.out, EXIT_GOOD);
	}
	if (o.cpu) {
		const struct tare_uarch *const u = tare_uarch_by_name(o.cpu);
		if (!u)
			return unknown_cpu(o.cpu);
		cpu = (struct tare_cpu){ .arch = u->arch, .vendor = u->vendor, .core = u->core,
					 .uarch = u };
		l.try_them = false;
	}
	l.engine = l.try_them && engine_runs(&cpu);
	int status = list_events(&l);
	if (status == EXIT_GOOD && !l.n_rows && l.n_patterns)
		status = nothing_found(&l);
	return print(&l.out, status);
}

const struct command cmd_list = {
	.name = "list",
	.summary = "show the events of this machine, and which can be counted",
	.usage = "[-j] [--cpu NAME] [PATTERN]…",
	.about = "PATTERN is a part of a name, or a name with * ? [ in it; case does not matter. "
		 "HERE tells what happened when the event was tried: yes, engine (only the "
		 "software engine counts it) or no.",
	.opts = opts,
	.run = run,
};
