/* Reading the file of a profile. Nothing in it is trusted: places must be in their arrays, rows must have
 * their fields, and the instructions must add up to the totals. */
#include "codeprofile-room.h"

#include "json.h"
#include "why.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct builder b;
	const char *path;
	struct tare_why *why;
	int err;
	uint32_t *objects, *files, *functions, *insns, *tasks, *contexts;	/* places in the builder */
	size_t n_objects, n_files, n_functions, n_insns, n_tasks, n_contexts, cap_insns;
	int64_t *row;			/* the counts of the last row */
	uint64_t sizes;			/* of all rows, added up */
};

static void bad(struct reader *r, const char *what, size_t number)
{
	if (!r->err)
		r->err = why_set(r->why, TARE_E_FORMAT, "%.120s: %s %zu is damaged", r->path, what, number);
}

/* ---- members ---- */

static const char *get_text(const struct json_node *n, const char *key)
{
	const struct json_node *const t = json_get(n, key);
	return t && t->type == JSON_STRING ? t->text : "";
}

static bool to_i64(const struct json_node *n, int64_t *out)
{
	if (!n || n->type != JSON_NUMBER)
		return false;
	char *end;
	errno = 0;
	*out = strtoll(n->text, &end, 10);
	return !errno && !*end && end != n->text;
}

static bool get_i64(const struct json_node *n, const char *key, int64_t *out)
{
	*out = 0;
	return to_i64(json_get(n, key), out);
}

static bool get_u64(const struct json_node *n, const char *key, uint64_t *out)
{
	*out = 0;
	return json_to_u64(json_get(n, key), out);
}

static bool get_bool(const struct json_node *n, const char *key)
{
	const struct json_node *const t = json_get(n, key);
	return t && t->type == JSON_BOOL && t->truth;
}

/* A place in an array of `n` entries, as the builder has it; -1: NONE, where that is allowed. */
static bool place_of(int64_t given, const uint32_t *places, size_t n, bool none, uint32_t *out)
{
	*out = NONE;
	if (given == -1)
		return none;
	if (given < 0 || (uint64_t)given >= n)
		return false;
	*out = places[given];
	return true;
}

static size_t count_children(const struct json_node *list)
{
	size_t n = 0;
	for (const struct json_node *c = list ? list->first : NULL; c; c = c->next)
		n++;
	return n;
}

/* The array `key`, and space for the places of its entries. NULL: it is not there. */
static const struct json_node *open_list(struct reader *r, const struct json_node *root, const char *key,
					 uint32_t **places)
{
	const struct json_node *const list = json_get(root, key);
	if (r->err)
		return NULL;
	if (!list || list->type != JSON_ARRAY) {
		r->err = why_set(r->why, TARE_E_FORMAT, "%.120s: the array \"%s\" is not there", r->path, key);
		return NULL;
	}
	if (places && !(*places = calloc(count_children(list) + 1, sizeof(**places))))
		r->err = why_set(r->why, TARE_E_NOMEM, "%.120s", r->path);
	return r->err ? NULL : list->first;
}

/* ---- rows ---- */

struct fields {
	const char *at;
	bool ok;
};

static struct fields fields_of(const struct json_node *n)
{
	return (struct fields){ n->text, n->type == JSON_STRING };
}

static int64_t next_number(struct fields *f, int base)
{
	char *end = NULL;
	errno = 0;
	const int64_t v = !f->ok ? 0 : base == 16 ? (int64_t)strtoull(f->at, &end, 16) : strtoll(f->at, &end, base);
	f->ok = f->ok && !errno && end != f->at && (*end == ' ' || !*end);
	if (f->ok)
		f->at = *end ? end + 1 : end;
	return v;
}

/* A word, of which the length is returned. */
static size_t next_word(struct fields *f, const char **word)
{
	const size_t n = f->ok ? strcspn(f->at, " ") : 0;
	*word = f->at;
	f->ok = f->ok && n;
	if (f->ok)
		f->at += f->at[n] ? n + 1 : n;
	return n;
}

/* The counts are the last fields of a row. */
static void next_counts(struct reader *r, struct fields *f)
{
	for (size_t e = 0; e < r->b.n_events; e++)
		r->row[e] = next_number(f, 10);
	f->ok = f->ok && !*f->at;
}

static void add_row(struct reader *r, int64_t *to)
{
	if (!r->err && !add_sizes(&r->sizes, r->row, r->b.n_events))
		r->err = why_set(r->why, TARE_E_FORMAT, "%.120s: its counts are too large: they add up to more than "
				 "2^62", r->path);
	if (r->err)
		return;
	for (size_t e = 0; to && e < r->b.n_events; e++)
		to[e] += r->row[e];
}

static unsigned hex_digit(char c)
{
	return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

static bool to_bytes(const char *hex, size_t n, struct tare_codeprofile_insn *in)
{
	if (n == 1 && *hex == '-')
		return true;
	if (n % 2 || n > 2 * sizeof(in->bytes))
		return false;
	for (size_t i = 0; i < n; i += 2) {
		const unsigned high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);
		if (high > 15 || low > 15)
			return false;
		in->bytes[i / 2] = (uint8_t)(high << 4 | low);
	}
	in->size = (uint8_t)(n / 2);
	return true;
}

/* ---- the parts ---- */

static enum tare_provenance provenance_of(const char *name)
{
	for (int p = TARE_PROV_NONE; p <= TARE_PROV_INCOMPLETE; p++)
		if (!strcmp(name, tare_provenance_name((enum tare_provenance)p)))
			return (enum tare_provenance)p;
	return TARE_PROV_NONE;
}

static void read_head(struct reader *r, const struct json_node *root)
{
	struct tare_codeprofile *const p = r->b.p;
	int64_t status;
	uint64_t runs;
	size_t i = 0;
	p->tare = builder_text(&r->b, get_text(root, "tare"));
	p->command = builder_text(&r->b, get_text(root, "command"));
	get_i64(root, "start_s", &p->start_s);
	get_i64(root, "exit_status", &status);
	get_u64(root, "runs", &runs);
	get_u64(root, "folded", &p->folded);
	p->exit_status = (int)status;
	p->runs = (uint32_t)runs;
	p->complete = get_bool(root, "complete");
	p->has_calls = get_bool(root, "has_calls");
	for (const struct json_node *n = open_list(r, root, "reasons", NULL); n; n = n->next)
		builder_reason(&r->b, n->type == JSON_STRING ? n->text : "");
	for (const struct json_node *n = open_list(r, root, "events", NULL); n; n = n->next, i++) {
		struct tare_codeprofile_event e = { .name = get_text(n, "name"), .unit = get_text(n, "unit"),
						    .provenance = provenance_of(get_text(n, "provenance")) };
		if (!*e.name || !get_i64(n, "total", &e.total))
			bad(r, "event", i);
		else
			builder_event(&r->b, i, &e);
	}
}

static enum tare_codeprofile_object_kind kind_of(const char *name)
{
	enum tare_codeprofile_object_kind k = TARE_CODEPROFILE_FILE;
	while (k < TARE_CODEPROFILE_UNKNOWN && strcmp(name, tare_codeprofile_object_kind_name(k)))
		k++;
	return k;
}

static void read_objects(struct reader *r, const struct json_node *root)
{
	for (const struct json_node *n = open_list(r, root, "objects", &r->objects); n; n = n->next) {
		const struct tare_codeprofile_object o = {
			.path = get_text(n, "path"), .build_id = get_text(n, "build_id"),
			.kind = kind_of(get_text(n, "kind")), .deleted = get_bool(n, "deleted"),
			.names = get_text(n, "names") };
		if (!*o.path)
			bad(r, "object", r->n_objects);
		r->objects[r->n_objects++] = builder_object(&r->b, &o);
	}
	for (const struct json_node *n = open_list(r, root, "files", &r->files); n; n = n->next) {
		int64_t mtime = 0;
		if (!*get_text(n, "path") || !get_i64(n, "mtime", &mtime))
			bad(r, "file", r->n_files);
		r->files[r->n_files++] = builder_file(&r->b, get_text(n, "path"), mtime);
	}
}

static void read_insn(struct reader *r, const struct json_node *n, uint32_t function)
{
	struct fields f = fields_of(n);
	struct tare_codeprofile_insn in = { .function = function };
	const char *hex;
	in.offset = (uint64_t)next_number(&f, 16);
	const size_t digits = next_word(&f, &hex);
	const int64_t file = next_number(&f, 10);
	in.line = (uint32_t)next_number(&f, 10);
	in.runs = (uint64_t)next_number(&f, 10);
	next_counts(r, &f);
	if (!f.ok || !to_bytes(hex, digits, &in) || !place_of(file, r->files, r->n_files, true, &in.file) ||
	    !more_room(&r->insns, &r->cap_insns, r->n_insns, sizeof(*r->insns))) {
		bad(r, "instruction", r->n_insns);
		return;
	}
	const uint32_t place = builder_insn(&r->b, &in);
	add_row(r, builder_insn_counts(&r->b, place));
	r->insns[r->n_insns++] = place;
}

static void read_function(struct reader *r, const struct json_node *n)
{
	struct tare_codeprofile_function f = { .name = get_text(n, "name"), .linkage = get_text(n, "linkage") };
	int64_t object, file;
	uint64_t line;
	const struct json_node *const insns = json_get(n, "insns");
	if (!*f.name || !get_i64(n, "object", &object) || !get_i64(n, "file", &file) ||
	    !get_u64(n, "line", &line) || !get_u64(n, "offset", &f.offset) || !get_u64(n, "size", &f.size) ||
	    !insns || insns->type != JSON_ARRAY ||
	    !place_of(object, r->objects, r->n_objects, false, &f.object) ||
	    !place_of(file, r->files, r->n_files, true, &f.file)) {
		bad(r, "function", r->n_functions);
		return;
	}
	f.line = (uint32_t)line;
	const uint32_t place = builder_function(&r->b, &f);
	r->functions[r->n_functions++] = place;
	for (const struct json_node *i = insns->first; i && !r->err && place != NONE; i = i->next)
		read_insn(r, i, place);
}

static void read_tasks(struct reader *r, const struct json_node *root)
{
	for (const struct json_node *n = open_list(r, root, "tasks", &r->tasks); n && !r->err; n = n->next) {
		int64_t pid, tid = 0;	/* gcc 14 does not see that tid is only read where it is set */
		struct tare_codeprofile_task t = { .command = get_text(n, "command"), .exe = get_text(n, "exe") };
		const struct json_node *const incomplete = json_get(n, "incomplete");
		const struct json_node *const counts = json_get(n, "counts");
		const struct json_node *c = counts ? counts->first : NULL;
		bool ok = get_i64(n, "pid", &pid) && get_i64(n, "tid", &tid);
		for (size_t e = 0; e < r->b.n_events; e++, c = c ? c->next : NULL)
			ok &= to_i64(c, &r->row[e]);
		if (!ok || c) {
			bad(r, "task", r->n_tasks);
			return;
		}
		t.pid = (pid_t)pid;
		t.tid = (pid_t)tid;
		t.incomplete = incomplete && incomplete->type == JSON_STRING ? incomplete->text : NULL;
		const uint32_t place = builder_task(&r->b, &t);
		add_row(r, builder_task_counts(&r->b, place));
		r->tasks[r->n_tasks++] = place;
	}
}

static void read_shares(struct reader *r, const struct json_node *root)
{
	size_t i = 0;
	for (const struct json_node *n = open_list(r, root, "shares", NULL); n && !r->err; n = n->next, i++) {
		struct fields f = fields_of(n);
		uint32_t task, function;
		const int64_t t = next_number(&f, 10), of = next_number(&f, 10);
		next_counts(r, &f);
		if (!f.ok || !place_of(t, r->tasks, r->n_tasks, false, &task) ||
		    !place_of(of, r->functions, r->n_functions, false, &function))
			bad(r, "share", i);
		else
			add_row(r, builder_share(&r->b, task, function));
	}
}

static bool entry_of(const char *word, size_t n, enum tare_codeprofile_entry *out)
{
	for (int e = TARE_CODEPROFILE_ROOT; e <= TARE_CODEPROFILE_FOLDED; e++) {
		const char *const name = tare_codeprofile_entry_name((enum tare_codeprofile_entry)e);
		if (strlen(name) == n && !strncmp(name, word, n)) {
			*out = (enum tare_codeprofile_entry)e;
			return true;
		}
	}
	return false;
}

static void read_context(struct reader *r, const struct json_node *n)
{
	struct fields f = fields_of(n);
	struct tare_codeprofile_context c = { 0 };
	const char *word;
	const int64_t parent = next_number(&f, 10), function = next_number(&f, 10), site = next_number(&f, 10);
	const size_t len = next_word(&f, &word);
	c.calls = (uint64_t)next_number(&f, 10);
	next_counts(r, &f);
	if (!f.ok || !entry_of(word, len, &c.entry) ||
	    !place_of(parent, r->contexts, r->n_contexts, true, &c.parent) ||
	    !place_of(function, r->functions, r->n_functions, false, &c.function) ||
	    !place_of(site, r->insns, r->n_insns, true, &c.site)) {
		bad(r, "context", r->n_contexts);
		return;
	}
	const uint32_t place = builder_context(&r->b, &c);
	add_row(r, builder_context_counts(&r->b, place));
	r->contexts[r->n_contexts++] = place;
}

static void read_syscall(struct reader *r, const struct json_node *n, size_t i)
{
	struct tare_codeprofile_syscall s = { .name = get_text(n, "name") };
	uint64_t number;
	int64_t function;
	if (!get_u64(n, "number", &number) || !get_i64(n, "function", &function) ||
	    !get_u64(n, "times", &s.times) || !get_u64(n, "errors", &s.errors) ||
	    !place_of(function, r->functions, r->n_functions, true, &s.function)) {
		bad(r, "system call", i);
		return;
	}
	s.number = (uint32_t)number;
	builder_syscall(&r->b, &s);
}

static void read_all(struct reader *r, const struct json_node *root)
{
	size_t i = 0;
	read_head(r, root);
	if (!r->err)
		read_objects(r, root);
	for (const struct json_node *n = open_list(r, root, "functions", &r->functions); n && !r->err; n = n->next)
		read_function(r, n);
	if (!r->err)
		read_tasks(r, root);
	if (!r->err)
		read_shares(r, root);
	for (const struct json_node *n = open_list(r, root, "contexts", &r->contexts); n && !r->err; n = n->next)
		read_context(r, n);
	for (const struct json_node *n = open_list(r, root, "syscalls", NULL); n && !r->err; n = n->next)
		read_syscall(r, n, i++);
}

/* A file that was changed or cut by hand. */
static void check_sums(struct reader *r)
{
	for (size_t e = 0; !r->err && !r->b.failed && e < r->b.n_events; e++) {
		int64_t sum = 0;
		for (uint32_t i = 0; i < r->b.p->n_insns; i++)
			sum += builder_insn_counts(&r->b, i)[e];
		if (sum != r->b.p->events[e].total)
			r->err = why_set(r->why, TARE_E_FORMAT,
					 "%.120s: the instructions have %lld %s, the total is %lld", r->path,
					 (long long)sum, r->b.p->events[e].name,
					 (long long)r->b.p->events[e].total);
	}
}

/* ---- the file ---- */

static int read_file(const char *path, struct buf *text, struct tare_why *why)
{
	FILE *const f = fopen(path, "re");
	static const size_t piece = 1u << 16;
	char *const part = f ? malloc(piece) : NULL;
	size_t n;
	if (!f)
		return why_errno(why, errno == ENOENT ? TARE_E_NO_FILE : TARE_E_IO, errno, "%.200s", path);
	errno = 0;
	while (part && (n = fread(part, 1, piece, f)) > 0)
		buf_add(text, part, n);
	const bool failed = ferror(f);
	const int number = errno;
	free(part);
	fclose(f);
	if (failed)
		return why_errno(why, TARE_E_IO, number, "%.200s", path);
	return !part || buf_failed(text) ? why_set(why, TARE_E_NOMEM, "%.200s", path) : 0;
}

static int parse(const char *path, const struct buf *text, struct json_node **root, struct tare_why *why)
{
	struct tare_why inner = { 0 };
	const int err = json_parse(text->data ? text->data : "", text->len, root, &inner);
	if (err == TARE_E_NOMEM)
		return why_set(why, err, "%.200s", path);
	if (err)
		return why_set(why, TARE_E_FORMAT, "%.120s: not a code profile: %.100s", path, inner.what);
	if (!strcmp(get_text(*root, "schema"), TARE_CODEPROFILE_SCHEMA))
		return 0;
	why_set(why, TARE_E_FORMAT, "%.120s: not a code profile: its schema is \"%.40s\", not " TARE_CODEPROFILE_SCHEMA,
		path, get_text(*root, "schema"));
	why_remedy(why, "tare annotate -o FILE writes one");
	json_free(*root);
	*root = NULL;
	return TARE_E_FORMAT;
}

static void free_reader(struct reader *r)
{
	free(r->objects);
	free(r->files);
	free(r->functions);
	free(r->insns);
	free(r->tasks);
	free(r->contexts);
	free(r->row);
}

int tare_codeprofile_read(const char *path, struct tare_codeprofile **p, struct tare_why *why)
{
	struct buf text = { 0 };
	struct json_node *root = NULL;
	if (!path || !p)
		return why_set(why, TARE_E_INVALID, "tare_codeprofile_read: no path, or no place for the profile");
	*p = NULL;
	int err = read_file(path, &text, why);
	if (!err)
		err = parse(path, &text, &root, why);
	buf_free(&text);
	if (err)
		return err;
	const size_t n_events = count_children(json_get(root, "events"));
	struct reader r = { .path = path, .why = why, .row = calloc(n_events + 1, sizeof(*r.row)) };
	builder_open(&r.b, n_events);
	if (!r.row || !n_events || r.b.failed)
		r.err = r.row && !r.b.failed ? why_set(why, TARE_E_FORMAT, "%.120s: it has no events", path) :
					       why_set(why, TARE_E_NOMEM, "%.200s", path);
	else
		read_all(&r, root);
	check_sums(&r);
	json_free(root);
	free_reader(&r);
	r.b.failed |= r.err != 0;
	err = builder_finish(&r.b, p, r.err ? NULL : why);
	return r.err ? r.err : err;
}
