/* The metadata: a JSON object under the string id MM_METADATA_ID.
 *
 *	{"start_time": ns, "process_id": n, "cmd": "…",
 *	 "counter": {"name": "…", "units": [["ns", 1], …]},
 *	 "tare": {…}}			only in files of tare
 *
 * rustc escapes its command with rules of its own: \' and \u{e9} are not JSON and
 * make measureme's tools refuse the file. They are put right before parsing.
 */
#include "reader.h"

#include "why.h"

#include <stdlib.h>

static void put_utf8(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_chr(out, (char)c);
	} else if (c < 0x800) {
		buf_chr(out, (char)(0xC0 | c >> 6));
		buf_chr(out, (char)(0x80 | (c & 0x3F)));
	} else if (c < 0x10000) {
		buf_chr(out, (char)(0xE0 | c >> 12));
		buf_chr(out, (char)(0x80 | (c >> 6 & 0x3F)));
		buf_chr(out, (char)(0x80 | (c & 0x3F)));
	} else {
		buf_chr(out, (char)(0xF0 | c >> 18));
		buf_chr(out, (char)(0x80 | (c >> 12 & 0x3F)));
		buf_chr(out, (char)(0x80 | (c >> 6 & 0x3F)));
		buf_chr(out, (char)(0x80 | (c & 0x3F)));
	}
}

/* "\u{H…}" at s: its length and code point, or 0. */
static size_t rust_escape(const char *s, size_t n, uint32_t *code)
{
	if (n < 5 || memcmp(s, "\\u{", 3) != 0)
		return 0;
	uint32_t c = 0;
	for (size_t i = 3; i < n && i < 10; i++) {
		const char d = s[i];
		if (d == '}' && i > 3) {
			*code = c;
			return c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF) ? i + 1 : 0;
		}
		if (d >= '0' && d <= '9')
			c = c * 16 + (uint32_t)(d - '0');
		else if ((d | 0x20) >= 'a' && (d | 0x20) <= 'f')
			c = c * 16 + (uint32_t)((d | 0x20) - 'a' + 10);
		else
			return 0;
	}
	return 0;
}

static void put_code(struct buf *out, uint32_t code)
{
	if (code < 0x20 || code == '"' || code == '\\')
		buf_printf(out, "\\u%04x", code);
	else
		put_utf8(out, code);
}

static uint64_t fix_escapes(const char *s, size_t n, struct buf *out)
{
	uint64_t fixed = 0;
	for (size_t i = 0; i < n; ) {
		uint32_t code;
		size_t len;
		if (s[i] != '\\' || i + 1 == n) {
			buf_chr(out, s[i++]);
		} else if (s[i + 1] == '\'') {
			buf_chr(out, '\'');
			i += 2;
			fixed++;
		} else if ((len = rust_escape(s + i, n - i, &code)) != 0) {
			put_code(out, code);
			i += len;
			fixed++;
		} else {
			buf_add(out, s + i, 2);
			i += 2;
		}
	}
	return fixed;
}

/* These are shown on terminals as they are. */
static bool plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7F)
			return false;
	return true;
}

static const char *text_of(const struct json_node *object, const char *key)
{
	const struct json_node *const n = json_get(object, key);
	return n && n->type == JSON_STRING && plain(n->text) ? n->text : "";
}

static int wrong(const struct tare_profile *p, struct tare_why *why, const char *what)
{
	return why_set(why, TARE_E_FORMAT, "%.120s: metadata: %s", p->path, what);
}

static int read_units(struct tare_profile *p, const struct json_node *counter,
		      struct tare_why *why)
{
	const struct json_node *const list = json_get(counter, "units");
	size_t n = 0;
	for (const struct json_node *u = list ? list->first : NULL; u; u = u->next)
		n++;
	if (!n)
		return 0;
	p->units = calloc(n, sizeof(*p->units));
	if (!p->units)
		return why_set(why, TARE_E_NOMEM, "%.120s: units", p->path);
	for (const struct json_node *u = list->first; u; u = u->next) {
		const struct json_node *const name = u->first;
		uint64_t factor;
		if (u->type != JSON_ARRAY || !name || name->type != JSON_STRING || !name->next ||
		    !plain(name->text) || !json_to_u64(name->next, &factor) || factor == 0)
			return wrong(p, why, "a unit is not [\"name\", factor]");
		p->units[p->info.n_units++] =
			(struct tare_profile_unit){ .name = name->text, .factor = factor };
	}
	p->info.units = p->units;
	p->info.unit = p->units[0].name;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const uint32_t x = ((const struct tare_profile_thread *)a)->id;
	const uint32_t y = ((const struct tare_profile_thread *)b)->id;
	return x < y ? -1 : x > y;
}

static int read_threads(struct tare_profile *p, const struct json_node *list,
			struct tare_why *why)
{
	size_t n = 0;
	if (!list || list->type != JSON_ARRAY)
		return 0;
	for (const struct json_node *t = list->first; t; t = t->next)
		n++;
	if (!n)
		return 0;
	p->threads = calloc(n, sizeof(*p->threads));
	if (!p->threads)
		return why_set(why, TARE_E_NOMEM, "%.120s: threads", p->path);
	for (const struct json_node *t = list->first; t; t = t->next) {
		uint64_t id;
		const struct json_node *const number = json_get(t, "id");
		if (t->type != JSON_OBJECT || !number || !json_to_u64(number, &id) ||
		    id > UINT32_MAX)
			return wrong(p, why, "a thread has no id of 32 bits");
		p->threads[p->info.n_threads++] =
			(struct tare_profile_thread){ .id = (uint32_t)id, .name = text_of(t, "name") };
	}
	qsort(p->threads, p->info.n_threads, sizeof(*p->threads), by_id);
	p->info.threads = p->threads;
	return 0;
}

/* What only tare writes. */
static int read_own(struct tare_profile *p, const struct json_node *own, struct tare_why *why)
{
	struct tare_profile_info *const i = &p->info;
	const struct json_node *n = json_get(own, "complete");
	if (n && n->type == JSON_BOOL && !n->truth) {
		profile_warn(p, TARE_PROFILE_UNFINISHED, 1);
		i->complete = false;
	}
	n = json_get(own, "axis");
	i->own_axis_per_thread = n && n->type == JSON_STRING && strcmp(n->text, "thread") == 0;
	i->cpu = text_of(own, "cpu");
	i->provenance = text_of(own, "provenance");
	n = json_get(own, "clamped");
	if (n && !json_to_u64(n, &i->clamped))
		return wrong(p, why, "tare.clamped is not a number");
	n = json_get(own, "dropped");
	if (n && !json_to_u64(n, &i->dropped))
		return wrong(p, why, "tare.dropped is not a number");
	n = json_get(own, "pages");
	if (n && !json_to_u64(n, &i->pages))
		return wrong(p, why, "tare.pages is not a number");
	n = json_get(own, "page_cost");
	if (n && !json_to_u64(n, &i->page_cost))
		return wrong(p, why, "tare.page_cost is not a number");
	return read_threads(p, json_get(own, "threads"), why);
}

static int read_root(struct tare_profile *p, struct tare_why *why)
{
	struct tare_profile_info *const i = &p->info;
	const struct json_node *const root = p->meta;
	if (root->type != JSON_OBJECT)
		return wrong(p, why, "not a JSON object");
	const struct json_node *const start = json_get(root, "start_time");
	const struct json_node *const pid = json_get(root, "process_id");
	const struct json_node *const cmd = json_get(root, "cmd");
	uint64_t id;
	if (!start || !json_to_u64(start, &i->start_time_ns))
		return wrong(p, why, "start_time is not a number of 64 bits");
	if (i->start_time_ns > UINT64_MAX - (1ull << MM_VALUE_BITS))
		return wrong(p, why, "start_time leaves no room for the events");
	if (!pid || !json_to_u64(pid, &id) || id > UINT32_MAX)
		return wrong(p, why, "process_id is not a number of 32 bits");
	if (!cmd || cmd->type != JSON_STRING)
		return wrong(p, why, "cmd is not a string");
	i->process_id = (uint32_t)id;
	i->cmd = cmd->text;
	i->has_metadata = true;
	const struct json_node *const counter = json_get(root, "counter");
	if (counter && counter->type == JSON_OBJECT) {
		i->counter = text_of(counter, "name");
		i->unit = "";
		const int err = read_units(p, counter, why);
		if (err < 0)
			return err;
	}
	const struct json_node *const own = json_get(root, "tare");
	return own && own->type == JSON_OBJECT ? read_own(p, own, why) : 0;
}

static const struct tare_profile_unit time_units[] = {
	{ "ns", 1 }, { "μs", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
};

int meta_read(struct tare_profile *p, struct tare_why *why)
{
	struct tare_profile_info *const i = &p->info;
	i->cmd = i->counter = i->cpu = i->provenance = "";
	i->unit = "ns";
	i->units = time_units;
	i->n_units = sizeof(time_units) / sizeof(time_units[0]);
	i->is_time = true;
	i->complete = p->metadata_addr && !p->warned[TARE_PROFILE_TRUNCATED] &&
		      !p->warned[TARE_PROFILE_NO_STREAM];
	if (!p->metadata_addr ||
	    (!i->complete && p->metadata_addr >= p->streams[MM_STRINGS].size)) {
		profile_warn(p, TARE_PROFILE_NO_METADATA, 1);
		return 0;
	}
	struct buf raw = { 0 };
	int err = strings_text(p, MM_METADATA_ID, &raw, why);
	if (err == 0 && p->warned[TARE_PROFILE_LOST_STRING]) {
		profile_warn(p, TARE_PROFILE_NO_METADATA, 1);
		buf_free(&raw);
		return 0;
	}
	if (err == 0) {
		buf_str(&p->meta_text, "");
		const uint64_t fixed = fix_escapes(raw.data, raw.len, &p->meta_text);
		profile_warn(p, TARE_PROFILE_BAD_ESCAPE, fixed);
		if (buf_failed(&p->meta_text))
			err = why_set(why, TARE_E_NOMEM, "%.120s: metadata", p->path);
	}
	buf_free(&raw);
	struct tare_why inner;
	if (err == 0 && json_parse(p->meta_text.data, p->meta_text.len, &p->meta, &inner) < 0)
		err = why_set(why, TARE_E_FORMAT, "%.120s: metadata: %.100s", p->path, inner.what);
	i->n_units = 0;
	i->units = NULL;
	if (err == 0)
		err = read_root(p, why);
	if (err < 0)
		return err;
	if (i->n_units == 0 && (!*i->unit || strcmp(i->unit, "ns") == 0)) {
		i->is_time = !*i->counter || strcmp(i->counter, "wall-time") == 0;
		i->units = time_units;
		i->n_units = i->is_time ? sizeof(time_units) / sizeof(time_units[0]) : 0;
		i->unit = i->is_time ? "ns" : "";
	} else {
		i->is_time = strcmp(i->unit, "ns") == 0;
	}
	return 0;
}
