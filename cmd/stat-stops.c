/* --stop-at and --limit: the rules, what is shown at a stop, and what came of them. */
#include "certificate.h"
#include "complain.h"
#include "json.h"
#include "quantity.h"
#include "stat.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the rules ---- */

enum then { THEN_CONTINUE, THEN_SIGNAL, THEN_DUMP, THEN_GDB };

static const struct {
	const char *name;
	enum tare_stop_then does;
} thens[] = {
	[THEN_CONTINUE] = { "continue", TARE_STOP_CONTINUE },
	[THEN_SIGNAL] = { "signal", TARE_STOP_SIGNAL },
	[THEN_DUMP] = { "dump", TARE_STOP_CALL },
	[THEN_GDB] = { "gdb", TARE_STOP_CALL },
};

/* SIGUSR1, USR1, usr1 or 10; 0: there is none. */
static int signal_number(const char *text)
{
	char *end;
	const long n = strtol(text, &end, 10);
	if (*text && !*end)
		return n >= 1 && n <= SIGRTMAX ? (int)n : 0;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *const name = sigabbrev_np(i);
		if (name && strcasecmp(name, text) == 0)
			return i;
	}
	return 0;
}

/* What --then says: "dump", "signal", "signal:USR1" … False: complained. */
static bool parse_then(const char *text, enum then *then, int *number)
{
	const char *const colon = strchr(text, ':');
	const size_t len = colon ? (size_t)(colon - text) : strlen(text);
	size_t i = 0;
	while (i < sizeof(thens) / sizeof(thens[0]) &&
	       (strncmp(thens[i].name, text, len) != 0 || thens[i].name[len]))
		i++;
	*number = SIGTRAP;
	if (i == sizeof(thens) / sizeof(thens[0]) || (colon && i != THEN_SIGNAL)) {
		complain("stat: --then wants continue, dump, gdb, signal or signal:NAME, not \"%s\"", text);
		return false;
	}
	*then = (enum then)i;
	if (colon)
		*number = signal_number(colon + 1);
	if (*number)
		return true;
	complain("stat: --then %s: there is no signal \"%s\"; `kill -l` lists them", text, colon + 1);
	return false;
}

static bool add_rule(struct stat_stops *s, const char *option, const char *text,
		     const struct stat_opts *o, const struct tare_cpu *cpu, struct tare_stop_rule rule)
{
	struct tare_why why = { 0 };
	if (s->n == TARE_STOP_MAX_RULES) {
		complain("stat: more than %d of --stop-at and --limit", TARE_STOP_MAX_RULES);
		return false;
	}
	int err = tare_stop_parse(text, cpu, &s->events[s->n], &rule.n, &why);
	if (!err) {
		rule.event = tare_events_at(s->events[s->n], 0);
		if (o->backend == TARE_BACKEND_HW)
			certificate_skid(certificate_here(), rule.event, &rule.skid);
		s->texts[s->n] = text;
		s->rules[s->n++] = rule;
		err = tare_stop_possible(rule.event, (enum tare_backend)o->backend, &why);
	}
	if (!err)
		return true;
	char what[sizeof(why.what)];
	memcpy(what, why.what, sizeof(what));
	snprintf(why.what, sizeof(why.what), "%s %.240s", option, what);
	complain_why(&why);
	return false;
}

static const char *conflict(const struct stat_opts *o)
{
	if (!o->stop_at.n && !o->limit.n)
		return o->then ? "--then says what follows --stop-at, which is not given" :
		       o->every ? "--every says how often --stop-at stops, which is not given" : NULL;
	if (!o->stop_at.n && (o->then || o->every))
		return "--then and --every belong to --stop-at; --limit always ends the command";
	if (o->pid || o->tid)
		return "--stop-at and --limit want a command to run: a process that runs already "
		       "cannot be stopped exactly";
	return NULL;
}

bool stat_stops_load(struct stat_stops *s, const struct stat_opts *o, const struct tare_cpu *cpu)
{
	const char *const bad = conflict(o);
	enum then then = THEN_DUMP;
	int number = 0;
	if (bad) {
		complain("stat: %s", bad);
		return false;
	}
	if (o->then && !parse_then(o->then, &then, &number))
		return false;
	s->gdb = then == THEN_GDB;
	struct tare_why why = { 0 };
	if (o->stop_at.n && then == THEN_DUMP && tare_stop_names_open(&s->names, &why) < 0) {
		complain_why(&why);
		return false;
	}
	if (s->gdb && o->every) {
		complain("stat: --every and --then gdb cannot be combined: after the first stop the program "
			 "runs natively");
		return false;
	}
	for (size_t i = 0; i < o->stop_at.n; i++)
		if (!add_rule(s, "--stop-at", o->stop_at.items[i], o, cpu,
			      (struct tare_stop_rule){ .then = thens[then].does, .every = o->every,
						       .signal = number }))
			return false;
	for (size_t i = 0; i < o->limit.n; i++)
		if (!add_rule(s, "--limit", o->limit.items[i], o, cpu,
			      (struct tare_stop_rule){ .then = TARE_STOP_END }))
			return false;
	return true;
}

void stat_stops_free(struct stat_stops *s)
{
	for (size_t i = 0; i < s->n; i++)
		tare_events_free(s->events[i]);
	tare_stop_names_close(s->names);
}

/* ---- at a stop ---- */

static void put_place(struct buf *b, const struct stat_stops *s, const struct tare_stop *stop,
		      uint64_t address, bool is_return)
{
	char text[1024];
	if (tare_stop_place(s->names, stop, address, is_return, text, sizeof(text))[0])
		buf_printf(b, "  %s", text);
}

static void put_registers(struct buf *b, const struct tare_stop *stop)
{
	for (size_t i = 0; i < stop->n_registers; i++)
		buf_printf(b, "%s%-8s0x%016" PRIx64 "%s", i % 3 ? "" : "   ", stop->registers[i].name,
			   stop->registers[i].value,
			   i % 3 == 2 || i + 1 == stop->n_registers ? "\n" : "   ");
}

#define MAX_FRAMES 64

static void put_backtrace(struct buf *b, const struct stat_stops *s, const struct tare_stop *stop)
{
	struct tare_stop_frame frames[MAX_FRAMES];
	bool guessed = false;
	const size_t n = tare_stop_backtrace(s->names, stop, frames, MAX_FRAMES);
	for (size_t i = 0; i < n; i++) {
		buf_printf(b, "   #%-2zu 0x%016" PRIx64 "%s", i, frames[i].pc, frames[i].by_pointer ? " *" : "");
		put_place(b, s, stop, frames[i].pc, frames[i].is_return);
		buf_chr(b, '\n');
		guessed |= frames[i].by_pointer;
	}
	if (guessed)
		buf_str(b, "   * by the frame pointer, because the code above it has no unwind information: "
			   "functions without frame pointers may be missing\n");
	if (n == MAX_FRAMES)
		buf_printf(b, "   (the first %d)\n", MAX_FRAMES);
}

static void put_counts(struct buf *b, const struct tare_stop *stop)
{
	for (size_t i = 0; i < stop->n_counts; i++)
		if (stop->counts[i].state == TARE_COUNT_OK)
			buf_printf(b, "   %20" PRIu64 "  %s\n", stop->counts[i].value,
				   stop->counts[i].event);
}

static void put_heading(struct buf *b, const struct stat_stops *s, const struct tare_stop *stop)
{
	buf_printf(b, "tare: thread %d of process %d stopped after %" PRIu64 " %s\n", (int)stop->tid,
		   (int)stop->pid, stop->count, s->rules[stop->rule].event->name);
	buf_printf(b, "   the last one: 0x%016" PRIx64, stop->last_pc);
	put_place(b, s, stop, stop->last_pc, false);
	if (stop->system_call >= 0)
		buf_printf(b, ", system call %ld, which is about to be made", stop->system_call);
	buf_str(b, "\n Registers\n");
}

static void dump(const struct stat_stops *s, const struct tare_stop *stop)
{
	struct buf b = { 0 };
	put_heading(&b, s, stop);
	put_registers(&b, stop);
	buf_str(&b, " Backtrace\n");
	put_backtrace(&b, s, stop);
	buf_str(&b, " Counts of the thread\n");
	put_counts(&b, stop);
	if (!buf_failed(&b))
		fputs(b.data, stderr);
	buf_free(&b);
}

static int to_gdb(const struct stat_stops *s, const struct tare_stop *stop)
{
	struct tare_why why = { 0 };
	if (tare_stop_hand_over(stop, &why) < 0) {
		complain_why(&why);
		return TARE_STOP_GO_ON;
	}
	fprintf(stderr, "tare: process %d stopped after %" PRIu64 " %s, at 0x%" PRIx64 ", and runs natively "
			"from there: `gdb -p %d`, or `kill -CONT %d` to let it run\n", (int)stop->pid,
		stop->count, s->rules[stop->rule].event->name, stop->pc, (int)stop->pid, (int)stop->pid);
	return TARE_STOP_HAND_OVER;
}

int stat_at_stop(const struct stat_stops *s, const struct tare_stop *stop)
{
	if (s->gdb)
		return to_gdb(s, stop);
	dump(s, stop);
	return TARE_STOP_GO_ON;
}

/* ---- afterwards ---- */

static bool is_limit(const struct stat_stops *s, size_t i)
{
	return s->rules[i].then == TARE_STOP_END;
}

/* How often threads stopped by rule `i`: in the last run, or, if there were several, in each of them. */
static void put_hits(struct buf *out, const struct stat_session *s, size_t i)
{
	uint64_t least = UINT64_MAX, most = 0;
	for (size_t r = 0; r < s->n_runs; r++) {
		const struct tare_measurement *const m = stat_part(&s->runs[r]);
		const uint64_t hits = i < m->n_stops ? m->stops[i].hits : 0;
		least = hits < least ? hits : least;
		most = hits > most ? hits : most;
	}
	buf_printf(out, "\n --stop-at %s: ", s->stops->texts[i]);
	if (!most)
		buf_str(out, "no thread came so far.\n");
	else if (least < most)
		buf_printf(out, "from %" PRIu64 " to %" PRIu64 " stops in a run.\n", least, most);
	else
		buf_printf(out, "%" PRIu64 " stop%s%s.\n", most, most == 1 ? "" : "s",
			   s->n_runs > 1 ? " in each run" : "");
}

static void put_stop_line(struct buf *out, const struct stat_session *session, size_t i,
			  const struct tare_stop_result *r)
{
	const struct stat_stops *const s = session->stops;
	if (is_limit(s, i) && r->ended)
		buf_printf(out, "\n The command was ended: it exceeded --limit %s (process %d, at 0x%" PRIx64
				"). The counts cover only part of the run.\n", s->texts[i], (int)r->pid,
			   r->pc);
	else if (is_limit(s, i))
		buf_printf(out, "\n Within --limit %s.\n", s->texts[i]);
	else
		put_hits(out, session, i);
}

void stat_stops_text(const struct stat_session *s, struct buf *out)
{
	const struct tare_measurement *const m = stat_part(&s->runs[s->n_runs - 1]);
	for (size_t i = 0; i < m->n_stops; i++)
		put_stop_line(out, s, i, &m->stops[i]);
	if (tare_stop_names_note(s->stops->names))
		buf_printf(out, "\n %s\n", tare_stop_names_note(s->stops->names));
}

void stat_stops_json(struct json *j, const struct stat_session *s, const struct tare_measurement *m)
{
	if (!m->n_stops)
		return;
	json_bool(j, "limited", m->limited);
	json_array(j, "stops");
	for (size_t i = 0; i < m->n_stops; i++) {
		const struct tare_stop_rule *const rule = &s->stops->rules[i];
		json_object(j, NULL);
		json_str(j, "kind", is_limit(s->stops, i) ? "limit" : "stop");
		json_str(j, "event", rule->event->name);
		json_u64(j, "n", rule->n);
		json_bool(j, "every", rule->every);
		json_u64(j, "hits", m->stops[i].hits);
		json_bool(j, "ended", m->stops[i].ended);
		if (m->stops[i].ended) {
			json_i64(j, "pid", m->stops[i].pid);
			json_i64(j, "tid", m->stops[i].tid);
			json_u64(j, "address", m->stops[i].pc);
		}
		json_end(j);
	}
	json_end(j);
}

/* For output that has no place for it (-x, -I): what ended the command, and stops that were not reached. */
void stat_stops_warn(const struct stat_session *s)
{
	const struct tare_measurement *const m = stat_part(&s->runs[s->n_runs - 1]);
	for (size_t i = 0; i < m->n_stops; i++)
		if (!is_limit(s->stops, i) && !m->stops[i].hits)
			caution("--stop-at %s: no thread came so far", s->stops->texts[i]);
		else if (m->stops[i].ended)
			caution("the command exceeded --limit %s and was ended: the counts cover only part of "
				"the run", s->stops->texts[i]);
}
