/* A profile for pprof (`go tool pprof FILE`): the message Profile of profile.proto
 * (github.com/google/pprof/proto/profile.proto), not compressed, which pprof reads as well as gzip.
 *
 * A field is a tag, number << 3 | type, and a value: type 0 a varint (seven bits per byte, the lowest first), type 2 a
 * length and so many bytes. Strings are places in string_table, whose first entry is "".
 *
 * Without calls a sample is a line of a function; with calls a call context, its callers with the lines of their calls.
 * Values are the counts of all events. */
#include "annotate.h"

#include "sink.h"
#include "utf8.h"
#include "why.h"

#include <stdlib.h>
#include <string.h>

/* profile.proto's numbers of fields */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
       PROFILE_STRING_TABLE = 6, PROFILE_TIME_NANOS = 9, PROFILE_COMMENT = 13, PROFILE_DEFAULT_SAMPLE_TYPE = 14 };
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2 };
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_FILENAMES = 8,
       MAPPING_HAS_LINE_NUMBERS = 9 };
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4, FUNCTION_START_LINE = 5 };

/* ---- the wire format ---- */

static void put_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_chr(b, (char)(v | 0x80));
	buf_chr(b, (char)v);
}

static void put_number(struct buf *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static void put_bytes(struct buf *b, unsigned field, const void *bytes, size_t n)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, n);
	if (n)
		buf_add(b, bytes, n);
}

/* Adds a message to the one around it, and empties it for the next. */
static void put_message(struct buf *b, unsigned field, struct buf *message)
{
	put_bytes(b, field, message->data, message->len);
	message->len = 0;
}

/* ---- tables ---- */

/* Numbers for keys of three parts; from 1. */
struct numbers {
	struct number {
		uint32_t key[3], number;
	} *slots;
	size_t cap, n;
};

struct pprof {
	const struct tare_codeprofile *p;
	struct buf out, message, inner;
	struct numbers functions, locations;	/* (function, file), (function, file, line) */
	uint64_t n_strings;
};

static size_t slot_of(const struct number *slots, size_t cap, const uint32_t key[3])
{
	size_t at = key[0] * 0x9e3779b1u ^ key[1] * 0x85ebca77u ^ key[2] * 0xc2b2ae3du;
	for (at ^= at >> 15; slots[at & (cap - 1)].number; at++)
		if (!memcmp(slots[at & (cap - 1)].key, key, sizeof(slots->key)))
			break;
	return at & (cap - 1);
}

/* *is_new: the key had no number before. */
static uint32_t number_of(struct numbers *t, uint32_t a, uint32_t b, uint32_t c, bool *is_new)
{
	const uint32_t key[3] = { a, b, c };
	if (2 * (t->n + 1) > t->cap) {
		const size_t cap = t->cap ? 2 * t->cap : 1024;
		struct number *const slots = calloc(cap, sizeof(*slots));
		if (!slots)
			abort();
		for (size_t i = 0; i < t->cap; i++)
			if (t->slots[i].number)
				slots[slot_of(slots, cap, t->slots[i].key)] = t->slots[i];
		free(t->slots);
		t->slots = slots;
		t->cap = cap;
	}
	struct number *const s = &t->slots[slot_of(t->slots, t->cap, key)];
	*is_new = !s->number;
	if (*is_new) {
		memcpy(s->key, key, sizeof(key));
		s->number = (uint32_t)++t->n;
	}
	return s->number;
}

/* Strings are written where they are first needed; the order of fields is free. */
static uint64_t string(struct pprof *w, const char *text)
{
	struct buf utf8 = { 0 };
	for (size_t left = strlen(text), n; left; left -= n ? n : 1, text += n ? n : 1) {
		n = utf8_length((const unsigned char *)text, left);
		buf_add(&utf8, n ? text : UTF8_REPLACEMENT, n ? n : strlen(UTF8_REPLACEMENT));
	}
	w->out.failed |= utf8.failed;
	put_bytes(&w->out, PROFILE_STRING_TABLE, utf8.data, utf8.len);
	buf_free(&utf8);
	return w->n_strings++;
}

/* ---- functions and locations ---- */

/* A function of pprof has one file; what was inlined from another one makes a further function of that name. */
static uint32_t function_id(struct pprof *w, uint32_t function, uint32_t file)
{
	const struct tare_codeprofile_function *const f = &w->p->functions[function];
	bool is_new;
	const uint32_t id = number_of(&w->functions, function, file, 0, &is_new);
	if (!is_new)
		return id;
	struct buf m = { 0 };
	put_number(&m, FUNCTION_ID, id);
	put_number(&m, FUNCTION_NAME, string(w, f->name));
	put_number(&m, FUNCTION_SYSTEM_NAME, string(w, *f->linkage ? f->linkage : f->name));
	if (file != ANNOTATE_NONE)
		put_number(&m, FUNCTION_FILENAME, string(w, w->p->files[file].path));
	if (file == f->file)
		put_number(&m, FUNCTION_START_LINE, f->line);
	put_message(&w->out, PROFILE_FUNCTION, &m);
	buf_free(&m);
	return id;
}

static uint32_t location_id(struct pprof *w, uint32_t function, uint32_t file, uint32_t line)
{
	bool is_new;
	const uint32_t id = number_of(&w->locations, function, file, line, &is_new);
	if (!is_new)
		return id;
	const struct tare_codeprofile_function *const f = &w->p->functions[function];
	struct buf m = { 0 }, at = { 0 };
	put_number(&at, LINE_FUNCTION_ID, function_id(w, function, file));
	put_number(&at, LINE_LINE, line);
	put_number(&m, LOCATION_ID, id);
	put_number(&m, LOCATION_MAPPING_ID, f->object + 1u);
	put_number(&m, LOCATION_ADDRESS, f->offset);
	put_message(&m, LOCATION_LINE, &at);
	put_message(&w->out, PROFILE_LOCATION, &m);
	buf_free(&m);
	buf_free(&at);
	return id;
}

/* ---- samples ---- */

static void put_sample(struct pprof *w, const uint32_t *locations, size_t n, const int64_t *counts)
{
	bool any = false;
	for (size_t e = 0; e < w->p->n_events; e++)
		any |= counts[e] != 0;
	if (!any)
		return;
	for (size_t i = 0; i < n; i++)
		put_varint(&w->inner, locations[i]);
	put_message(&w->message, SAMPLE_LOCATION_ID, &w->inner);
	for (size_t e = 0; e < w->p->n_events; e++)
		put_varint(&w->inner, (uint64_t)counts[e]);
	put_message(&w->message, SAMPLE_VALUE, &w->inner);
	put_message(&w->out, PROFILE_SAMPLE, &w->message);
}

static void put_lines(struct pprof *w)
{
	for (size_t i = 0; i < w->p->n_lines; i++) {
		const struct tare_codeprofile_line *const l = &w->p->lines[i];
		const uint32_t at = location_id(w, l->function, l->file, l->line);
		put_sample(w, &at, 1, l->counts);
	}
}

/* The innermost function first, then the lines of the calls. */
static void put_contexts(struct pprof *w)
{
	const struct tare_codeprofile *const p = w->p;
	uint32_t *const stack = calloc(p->n_contexts + 1, sizeof(*stack));
	if (!stack)
		abort();
	for (uint32_t i = 0; i < p->n_contexts; i++) {
		const struct tare_codeprofile_function *const f = &p->functions[p->contexts[i].function];
		size_t n = 0;
		stack[n++] = location_id(w, p->contexts[i].function, f->file, f->line);
		for (uint32_t c = i; p->contexts[c].parent != ANNOTATE_NONE; c = p->contexts[c].parent) {
			const uint32_t site = p->contexts[c].site;
			const uint32_t caller = p->contexts[p->contexts[c].parent].function;
			const bool known = site != ANNOTATE_NONE && p->insns[site].function == caller;
			stack[n++] = known ? location_id(w, caller, p->insns[site].file, p->insns[site].line) :
					     location_id(w, caller, p->functions[caller].file, p->functions[caller].line);
		}
		put_sample(w, stack, n, p->contexts[i].counts);
	}
	free(stack);
}

/* ---- the whole ---- */

static void put_events(struct pprof *w)
{
	for (size_t e = 0; e < w->p->n_events; e++) {
		const uint64_t name = string(w, w->p->events[e].name);
		put_number(&w->message, VALUE_TYPE, name);
		put_number(&w->message, VALUE_UNIT, string(w, "count"));
		put_message(&w->out, PROFILE_SAMPLE_TYPE, &w->message);
		if (!e)
			put_number(&w->out, PROFILE_DEFAULT_SAMPLE_TYPE, name);
	}
}

/* The object of the program that ran first; else 0. */
static uint32_t main_object(const struct tare_codeprofile *p)
{
	for (uint32_t i = 0; p->n_tasks && i < p->n_objects; i++)
		if (!strcmp(p->objects[i].path, p->tasks[0].exe))
			return i;
	return 0;
}

/* pprof takes the first one for the program. */
static void put_objects(struct pprof *w)
{
	const uint32_t main = main_object(w->p);
	for (uint32_t n = 0; n < w->p->n_objects; n++) {
		const uint32_t i = n == 0 ? main : n <= main ? n - 1 : n;
		put_number(&w->message, MAPPING_ID, i + 1u);
		put_number(&w->message, MAPPING_FILENAME, string(w, w->p->objects[i].path));
		put_number(&w->message, MAPPING_BUILD_ID, string(w, w->p->objects[i].build_id));
		/* The names are here: pprof needs not look for them. */
		put_number(&w->message, MAPPING_HAS_FUNCTIONS, 1);
		put_number(&w->message, MAPPING_HAS_FILENAMES, 1);
		put_number(&w->message, MAPPING_HAS_LINE_NUMBERS, 1);
		put_message(&w->out, PROFILE_MAPPING, &w->message);
	}
}

int annotate_pprof(const struct tare_codeprofile *p, const struct tare_output *out, struct tare_why *why)
{
	struct pprof w = { .p = p };
	string(&w, "");
	put_events(&w);
	put_objects(&w);
	if (p->has_calls)
		put_contexts(&w);
	else
		put_lines(&w);
	put_number(&w.out, PROFILE_TIME_NANOS, (uint64_t)p->start_s * 1000000000u);
	put_number(&w.out, PROFILE_COMMENT, string(&w, p->command));
	for (size_t i = 0; i < p->n_reasons; i++)
		put_number(&w.out, PROFILE_COMMENT, string(&w, p->reasons[i]));
	int err = buf_failed(&w.out) || buf_failed(&w.message) || buf_failed(&w.inner) ? TARE_E_NOMEM : 0;
	if (err)
		why_set(why, err, "pprof profile");
	else
		err = sink_buf(&w.out, out->write, out->arg, why);
	buf_free(&w.out);
	buf_free(&w.message);
	buf_free(&w.inner);
	free(w.functions.slots);
	free(w.locations.slots);
	return err;
}
