/* The file of callgrind ("callgrind format", version 1), as callgrind_annotate and KCachegrind read it.
 *
 * Functions by object and address. Each has its source lines, or its instructions, with what they counted
 * themselves; behind a line or an instruction stand the calls that it made, with what was counted while
 * they ran. A name is written once and has a number from then on, unless .plain_names asks for it each time.
 */
#include "codeprofile-room.h"

#include "buf.h"
#include "options-copy.h"
#include "sink.h"
#include "why.h"

#include <tare/code.h>
#include <tare/version.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
	const struct tare_codeprofile *p;
	const struct tare_callgrind_options *o;
	struct sink to;
	bool *object_named, *file_named, *function_named;
	bool no_file_named;		/* "???", number n_files + 1 */
	uint32_t object, file;		/* those that lines are of now; file NONE: "???" */
	bool any;			/* object and file were written */
	size_t taken;			/* the event of which the file has jumps, and no counts; or NO_EVENT */
};

#define NO_EVENT SIZE_MAX

/* The events that are columns of the file. */
static size_t n_columns(const struct writer *w)
{
	return w->p->n_events - (w->taken != NO_EVENT);
}

static size_t event_of(const struct writer *w, size_t column)
{
	return column + (column >= w->taken);
}

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct writer *w, const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	const int n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sink_add(&w->to, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* "fn=(3) main", and "fn=(3)" from then on; or "fn=main" each time */
static void put_name(struct writer *w, const char *key, uint32_t number, bool *named, const char *name)
{
	const bool plain = w->o->plain_names;
	if (plain)
		put(w, "%s=", key);
	else
		put(w, "%s=(%u)%s", key, number + 1, *named ? "" : " ");
	if (plain || !*named)
		sink_line(&w->to, name, strlen(name));
	*named = true;
	sink_str(&w->to, "\n");
}

static void put_object(struct writer *w, const char *key, uint32_t object)
{
	put_name(w, key, object, &w->object_named[object], w->p->objects[object].path);
}

static void put_file(struct writer *w, const char *key, uint32_t file)
{
	if (file == NONE)
		put_name(w, key, (uint32_t)w->p->n_files, &w->no_file_named, "???");
	else
		put_name(w, key, file, &w->file_named[file], w->p->files[file].path);
}

static void put_function(struct writer *w, const char *key, uint32_t f)
{
	put_name(w, key, f, &w->function_named[f], w->p->functions[f].name);
}

/* Zeros at the end may be left out. */
static void put_counts(struct writer *w, const int64_t *counts)
{
	size_t n = n_columns(w);
	while (n > 1 && !counts[event_of(w, n - 1)])
		n--;
	for (size_t i = 0; i < n; i++)
		put(w, " %" PRId64, counts[event_of(w, i)]);
	sink_str(&w->to, "\n");
}

static void put_position(struct writer *w, uint64_t offset, uint32_t line)
{
	if (w->o->insns)
		put(w, "0x%" PRIx64 " ", offset);
	put(w, "%u", w->o->no_lines ? 0 : line);
}

/* A line of another file than that of the function was inlined from there. */
static void use_file(struct writer *w, uint32_t file, uint32_t own)
{
	if (w->file == file)
		return;
	put_file(w, file == own ? "fe" : "fi", file);
	w->file = file;
}

/* ---- calls ---- */

/* A call that began before counting did was not counted. It is written as one call, because callgrind_annotate takes
 * what 0 calls cost for the caller's own. In a later part it was counted in an earlier one: 0, as callgrind writes. */
static uint64_t calls_shown(const struct writer *w, const struct tare_codeprofile_edge *e)
{
	return e->calls || w->o->part > 1 ? e->calls : 1;
}

static void put_call(struct writer *w, const struct tare_codeprofile_edge *e)
{
	const struct tare_codeprofile *const p = w->p;
	const struct tare_codeprofile_function *const to = &p->functions[e->callee];
	const struct tare_codeprofile_insn *const site = e->site == NONE ? NULL : &p->insns[e->site];
	if (to->object != w->object)
		put_object(w, "cob", to->object);
	put_file(w, "cfi", to->file);
	put_function(w, "cfn", e->callee);
	put(w, "calls=%" PRIu64 " ", calls_shown(w, e));
	put_position(w, to->offset, to->line);
	sink_str(&w->to, "\n");
	put_position(w, site ? site->offset : p->functions[e->caller].offset, site ? site->line : 0);
	put_counts(w, e->counts);
}

static bool any_count(const struct writer *w, const int64_t *counts)
{
	for (size_t i = 0; i < n_columns(w); i++)
		if (counts[event_of(w, i)])
			return true;
	return false;
}

static bool is_shown(const struct writer *w, const struct tare_codeprofile_edge *e)
{
	return e->calls || any_count(w, e->counts);
}

/* The calls of a function, or of one of its instructions, in [from, to) of the edges. */
static void put_calls(struct writer *w, size_t from, size_t to, uint32_t own)
{
	const struct tare_codeprofile *const p = w->p;
	for (size_t i = from; i < to; i++) {
		const struct tare_codeprofile_edge *const e = &p->edges[i];
		if (!is_shown(w, e))
			continue;
		if (!w->o->no_lines && e->site != NONE)
			use_file(w, p->insns[e->site].file, own);
		put_call(w, e);
	}
}

/* ---- jumps ---- */

/* The instruction of the function at that offset; NULL: none ran. */
static const struct tare_codeprofile_insn *insn_at(const struct writer *w, const struct tare_codeprofile_function *f,
						   uint64_t offset)
{
	uint32_t from = f->insns, to = f->insns + f->n_insns;
	while (from < to) {
		const uint32_t middle = from + (to - from) / 2;
		if (w->p->insns[middle].offset < offset)
			from = middle + 1;
		else
			to = middle;
	}
	return from < f->insns + f->n_insns && w->p->insns[from].offset == offset ? &w->p->insns[from] : NULL;
}

/* "jcnd=3/4 0x1190 12": the conditional branch ran 4 times and jumped there 3 times; "jump=4 …": a jump did 4 times. The
 * next line says from where. What leads to another function is a call; where indirect jumps lead is not known. */
static void put_jump(struct writer *w, const struct tare_codeprofile_function *f, const struct tare_codeprofile_insn *in)
{
	struct tare_code_insn code;
	if (w->taken == NO_EVENT || (int64_t)in->runs <= 0 || !tare_code_insn(in->bytes, in->size, in->offset, &code) ||
	    !code.has_target || code.is_call)
		return;
	const int64_t jumps = code.is_conditional ? in->counts[w->taken] : (int64_t)in->runs;
	const struct tare_codeprofile_insn *const to = insn_at(w, f, code.target);
	if (jumps <= 0 || !to || (!w->o->insns && !to->line))
		return;
	use_file(w, w->o->no_lines ? f->file : in->file, f->file);
	if (!w->o->no_lines && to->file != in->file)
		put_file(w, "jfi", to->file);
	if (code.is_conditional)
		put(w, "jcnd=%" PRId64 "/%" PRIu64 " ", jumps, in->runs);
	else
		put(w, "jump=%" PRId64 " ", jumps);
	put_position(w, to->offset, to->line);
	sink_str(&w->to, "\n");
	put_position(w, in->offset, in->line);
	sink_str(&w->to, "\n");
}

/* ---- functions ---- */

static void put_lines(struct writer *w, const struct tare_codeprofile_function *f, size_t from, size_t to)
{
	for (uint32_t i = f->lines; i < f->lines + f->n_lines; i++) {
		const struct tare_codeprofile_line *const l = &w->p->lines[i];
		if (!any_count(w, l->counts))
			continue;
		use_file(w, l->file, f->file);
		put_position(w, 0, l->line);
		put_counts(w, l->counts);
	}
	for (uint32_t i = f->insns; i < f->insns + f->n_insns; i++)
		put_jump(w, f, &w->p->insns[i]);
	put_calls(w, from, to, f->file);
}

/* Edges are sorted by site, and those without one are the last. */
static void put_insns(struct writer *w, const struct tare_codeprofile_function *f, size_t from, size_t to)
{
	const struct tare_codeprofile *const p = w->p;
	for (uint32_t i = f->insns; i < f->insns + f->n_insns; i++) {
		const struct tare_codeprofile_insn *const in = &p->insns[i];
		size_t end = from;
		while (end < to && p->edges[end].site == i)
			end++;
		if (any_count(w, in->counts)) {
			use_file(w, w->o->no_lines ? f->file : in->file, f->file);
			put_position(w, in->offset, in->line);
			put_counts(w, in->counts);
		}
		put_jump(w, f, in);
		put_calls(w, from, end, f->file);
		from = end;
	}
	put_calls(w, from, to, f->file);
}

static void put_body(struct writer *w, uint32_t number, size_t from, size_t to)
{
	const struct tare_codeprofile_function *const f = &w->p->functions[number];
	sink_str(&w->to, "\n");
	if (!w->any || f->object != w->object)
		put_object(w, "ob", f->object);
	w->any = true;
	w->object = f->object;
	put_file(w, "fl", f->file);
	w->file = f->file;
	put_function(w, "fn", number);
	if (w->o->insns)
		put_insns(w, f, from, to);
	else
		put_lines(w, f, from, to);
}

/* ---- the head ---- */

/* Callgrind's word for instructions, and letters only for the others. */
static void put_event_names(struct writer *w)
{
	const struct tare_codeprofile *const p = w->p;
	struct buf names = { 0 };
	for (size_t i = 0; i < n_columns(w); i++) {
		const char *name = p->events[event_of(w, i)].name;
		const bool ir = !strcmp(name, "instructions") || !strcmp(name, "instructions:u");
		buf_chr(&names, ' ');
		for (name = ir ? "Ir" : name; *name && *name != ':'; name++)
			buf_chr(&names, strchr("-./=,", *name) ? '_' : *name);
	}
	sink_str(&w->to, "events:");
	sink_str(&w->to, buf_failed(&names) ? "" : names.data);
	sink_str(&w->to, "\n");
	buf_free(&names);
}

static void put_totals(struct writer *w, const char *key)
{
	put(w, "%s:", key);
	for (size_t i = 0; i < n_columns(w); i++)
		put(w, " %" PRId64, w->p->events[event_of(w, i)].total);
	sink_str(&w->to, "\n");
}

/* Of the whole file. */
static void put_format(struct writer *w)
{
	const struct tare_callgrind_options *const o = w->o;
	sink_str(&w->to, "# callgrind format\nversion: 1\ncreator: ");
	sink_str(&w->to, o->creator ? o->creator : "tare-" TARE_VERSION);
	put(w, "\npid: %d\ncmd: ", (int)(o->pid ? o->pid : w->p->n_tasks ? w->p->tasks[0].pid : 0));
	sink_line(&w->to, w->p->command, strlen(w->p->command));
}

static void put_head(struct writer *w)
{
	const struct tare_callgrind_options *const o = w->o;
	if (!o->further)
		put_format(w);
	put(w, "\npart: %u\n", o->part ? o->part : 1);
	if (o->thread)
		put(w, "thread: %u\n", o->thread);
	sink_str(&w->to, "\n");
	for (const char *const *d = o->desc; d && *d; d++) {
		sink_str(&w->to, "desc: ");
		sink_line(&w->to, *d, strlen(*d));
		sink_str(&w->to, "\n");
	}
	for (size_t i = 0; i < w->p->n_reasons; i++) {
		sink_str(&w->to, "desc: Counts are lower bounds: ");
		sink_line(&w->to, w->p->reasons[i], strlen(w->p->reasons[i]));
		sink_str(&w->to, "\n");
	}
	put(w, "\npositions: %sline\n", o->insns ? "instr " : "");
	put_event_names(w);
	put_totals(w, "summary");
}

static void put_all(struct writer *w)
{
	const struct tare_codeprofile *const p = w->p;
	size_t edge = 0;
	put_head(w);
	for (uint32_t f = 0; f < p->n_functions; f++) {
		const size_t from = edge;
		bool shown = any_count(w, p->functions[f].counts);
		for (; edge < p->n_edges && p->edges[edge].caller == f; edge++)
			shown |= is_shown(w, &p->edges[edge]);
		if (shown)
			put_body(w, f, from, edge);
	}
	sink_str(&w->to, "\n");
	put_totals(w, "totals");
}

static size_t taken_event(const struct tare_codeprofile *p)
{
	static const char name[] = "taken-branches";
	for (size_t e = 0; e < p->n_events; e++)
		if (!strncmp(p->events[e].name, name, sizeof(name) - 1) && strchr(":", p->events[e].name[sizeof(name) - 1]))
			return e;
	return NO_EVENT;
}

static int export(const struct tare_codeprofile *p, const struct tare_callgrind_options *o, const struct tare_output *out,
		  struct tare_why *why)
{
	int err;
	struct writer w = { .p = p, .o = o, .taken = o->jumps ? taken_event(p) : NO_EVENT };
	if (o->jumps && (w.taken == NO_EVENT || p->n_events < 2))
		return why_set(why, TARE_E_INVALID, "jumps want a profile with the event taken-branches, beside another one");
	w.object_named = calloc(p->n_objects + 1, 1);
	w.file_named = calloc(p->n_files + 1, 1);
	w.function_named = calloc(p->n_functions + 1, 1);
	if (!w.object_named || !w.file_named || !w.function_named) {
		err = why_set(why, TARE_E_NOMEM, "a callgrind file");
	} else if (!(err = sink_open(&w.to, out->write, out->arg, why))) {
		put_all(&w);
		err = sink_close(&w.to, why);
	}
	free(w.object_named);
	free(w.file_named);
	free(w.function_named);
	return err;
}

int tare_codeprofile_export_callgrind(const struct tare_codeprofile *p, const struct tare_callgrind_options *given,
				      const struct tare_output *out, struct tare_why *why)
{
	struct tare_callgrind_options o;
	struct tare_codeprofile *folded = NULL;
	if (!p || !out || !out->write)
		return why_set(why, TARE_E_INVALID, "no profile, or no output given");
	int err = options_copy(&o, sizeof(o), given, "tare_callgrind_options", why);
	if (!err && o.fold_plt && p->has_calls && (err = codeprofile_without_stubs(p, &folded, why)) == TARE_E_NOMEM)
		why_set(why, err, "a callgrind file");
	if (!err)
		err = export(folded ? folded : p, &o, out, why);
	tare_codeprofile_free(folded);
	return err;
}
