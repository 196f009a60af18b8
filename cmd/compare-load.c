/* A file of tare stat -j: read with suspicion, since it comes from elsewhere. */
#include "compare.h"
#include "why.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_all(const char *path, struct buf *text, struct tare_why *why)
{
	char chunk[65536];
	size_t n;
	FILE *const f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	if (!f && errno == ENOENT)
		return why_set(why, TARE_E_NO_FILE, "%s", path);
	if (!f)
		return why_set(why, TARE_E_IO, "%s: %s", path, strerror(errno));
	errno = 0;
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_add(text, chunk, n);
	const int err = ferror(f) ? errno : 0;
	if (f != stdin)
		fclose(f);
	if (err)
		return why_set(why, TARE_E_IO, "%s: %s", path, strerror(err));
	if (text->len == 0)
		return why_set(why, TARE_E_FORMAT, "%s: the file is empty", path);
	return 0;
}

const char *json_text(const struct json_node *object, const char *key)
{
	const struct json_node *const n = json_get(object, key);
	return n && n->type == JSON_STRING ? n->text : NULL;
}

static bool true_at(const struct json_node *object, const char *key)
{
	const struct json_node *const n = json_get(object, key);
	return n && n->type == JSON_BOOL && n->truth;
}

static const struct json_node *object_at(const struct json_node *object, const char *key)
{
	const struct json_node *const n = json_get(object, key);
	return n && n->type == JSON_OBJECT ? n : NULL;
}

static bool provenance_from(const char *name, enum tare_provenance *out)
{
	for (int p = TARE_PROV_EXACT; name && p <= TARE_PROV_INCOMPLETE; p++) {
		if (strcmp(tare_provenance_name((enum tare_provenance)p), name) == 0) {
			*out = (enum tare_provenance)p;
			return true;
		}
	}
	return false;
}

static struct compare_series *add_series(struct compare_file *f, const char *event)
{
	struct compare_series *const more =
		realloc(f->series, (f->n_series + 1) * sizeof(*more));
	if (!more)
		abort();
	f->series = more;
	struct compare_series *const s = &more[f->n_series++];
	*s = (struct compare_series){ .event = event, .unit = "",
				      .values = calloc(f->n_runs + 1, sizeof(*s->values)) };
	if (!s->values)
		abort();
	return s;
}

const struct compare_series *compare_find(const struct compare_file *f, const char *event)
{
	for (size_t i = 0; i < f->n_series; i++)
		if (strcmp(f->series[i].event, event) == 0)
			return &f->series[i];
	return NULL;
}

/* One entry of "counts" into its series. */
static const char *load_count(struct compare_file *f, const struct json_node *c)
{
	const char *const event = json_text(c, "event");
	const struct json_node *const value = json_get(c, "value");
	enum tare_provenance p;
	uint64_t v;
	if (!event || !value)
		return "a count lacks \"event\" or \"value\"";
	struct compare_series *s = (struct compare_series *)compare_find(f, event);
	if (!s)
		s = add_series(f, event);
	if (s->sum.n + s->n_missing >= f->n_runs)
		return NULL;		/* the same event twice in a run: the first counts */
	const char *const unit = json_text(c, "unit");
	if (unit)
		s->unit = unit;
	if (value->type == JSON_NULL) {
		s->n_missing++;
		return NULL;
	}
	if (!json_to_u64(value, &v))
		return "a \"value\" is not a whole number";
	if (!provenance_from(json_text(c, "provenance"), &p))
		return "a count has no known \"provenance\"";
	if (p > s->provenance)
		s->provenance = p;
	s->perturbed |= true_at(c, "perturbed");
	s->user_only |= true_at(c, "user_only");
	s->incomplete |= true_at(c, "lower_bound");
	/* Not for want of processes: then threads ran without a counter, now more, now less. */
	s->cut_off |= true_at(c, "lower_bound") && (f->n_cut_off || !f->n_uncounted);
	s->values[s->sum.n++] = v;	/* summarised when all are there */
	return NULL;
}

static void count_uncounted(struct compare_file *f, const struct json_node *run)
{
	const struct json_node *const tasks = json_get(run, "tasks");
	for (const struct json_node *t = tasks ? tasks->first : NULL; t; t = t->next) {
		f->n_cut_off += json_text(t, "cut_off") != NULL;
		f->n_uncounted += json_text(t, "not_counted") || json_text(t, "cut_off");
	}
}

static const char *load_run(struct compare_file *f, const struct json_node *run,
			    struct compare_series *elapsed)
{
	const struct json_node *const counts = json_get(run, "counts");
	uint64_t status, wall;
	if (!counts || counts->type != JSON_ARRAY)
		return "a run has no \"counts\"";
	if (!json_to_u64(json_get(run, "exit_status"), &status))
		return "a run has no \"exit_status\"";
	if (!json_to_u64(json_get(run, "wall_ns"), &wall))
		return "a run has no \"wall_ns\"";
	const struct json_node *const complete = json_get(run, "complete");
	if (complete && complete->type == JSON_BOOL && !complete->truth)
		return NULL;		/* cut short: says nothing */
	if (f->n_complete && status != f->status)
		f->same_status = false;
	f->status = status;
	f->n_complete++;
	const char *const counted = json_text(run, "counted");
	f->n_parts += counted && strcmp(counted, "parts") == 0;
	count_uncounted(f, run);
	elapsed->values[elapsed->sum.n++] = wall;
	for (const struct json_node *c = counts->first; c; c = c->next) {
		const char *const bad = load_count(f, c);
		if (bad)
			return bad;
	}
	return NULL;
}

static void load_command(struct compare_file *f)
{
	const struct json_node *const list = json_get(f->root, "command");
	for (const struct json_node *n = list ? list->first : NULL; n; n = n->next)
		if (n->type == JSON_STRING)
			buf_printf(&f->command, "%s%s", f->n_words++ ? " " : "", n->text);
	if (!f->command.len)
		buf_str(&f->command, "(attached)");
}

static const char *load_tree(struct compare_file *f)
{
	const struct json_node *const runs = json_get(f->root, "runs");
	if (!runs || runs->type != JSON_ARRAY)
		return "it has no \"runs\"";
	for (const struct json_node *r = runs->first; r; r = r->next)
		f->n_runs++;
	load_command(f);
	const char *const backend = json_text(f->root, "backend");
	const char *const brand = json_text(json_get(f->root, "cpu"), "brand");
	f->backend = backend ? backend : "unknown";
	f->cpu = brand ? brand : "unknown";
	f->cpu_facts = object_at(f->root, "cpu");
	f->environment = object_at(f->root, "environment");
	f->program = object_at(f->root, "program");
	f->aslr_off = true_at(f->environment, "aslr_off");
	if (!json_to_u64(json_get(json_get(f->root, "options"), "layouts"), &f->layouts))
		f->layouts = 0;
	f->same_status = true;
	/* By itself, so that the array of the others may move. */
	struct compare_series elapsed = { .event = "elapsed", .unit = "ns",
					  .provenance = TARE_PROV_RAW,
					  .perturbed = strcmp(f->backend, "soft") == 0,
					  .values = calloc(f->n_runs + 1, sizeof(uint64_t)) };
	if (!elapsed.values)
		abort();
	const char *bad = NULL;
	for (const struct json_node *r = runs->first; r && !bad; r = r->next)
		bad = load_run(f, r, &elapsed);
	struct compare_series *const last = add_series(f, "elapsed");
	free(last->values);
	*last = elapsed;
	for (size_t i = 0; i < f->n_series; i++)
		summarize_values(&f->series[i].sum, f->series[i].values, f->series[i].sum.n);
	return bad;
}

/* Every name and text of the file: each can be part of a table, a note or an error. The tree is this
 * file's own, and its depth is bounded (JSON_DEPTH). */
static void make_printable(struct json_node *n)
{
	for (; n; n = n->next) {
		if (n->key)
			text_printable((char *)n->key, strlen(n->key));
		if (n->text)
			text_printable((char *)n->text, n->text_len);
		make_printable(n->first);
	}
}

int compare_load(struct compare_file *f, const char *path, struct tare_why *why)
{
	struct buf text = { 0 };
	*f = (struct compare_file){ .path = path };
	int err = read_all(path, &text, why);
	if (!err) {
		struct tare_why parse = { 0 };
		err = json_parse(text.data, text.len, &f->root, &parse);
		if (err)
			why_set(why, err, "%s: %s", path, parse.what);
	}
	buf_free(&text);
	if (err)
		return err;
	make_printable(f->root);
	const char *const schema = json_text(f->root, "schema");
	if (!schema || strcmp(schema, "tare.stat/1") != 0) {
		err = why_set(why, TARE_E_FORMAT,
			      "%s: not a result of `tare stat -j`: its schema is \"%.40s\", "
			      "wanted is \"tare.stat/1\"", path, schema ? schema : "");
	} else {
		const char *const bad = load_tree(f);
		if (bad)
			err = why_set(why, TARE_E_FORMAT, "%s: %s", path, bad);
	}
	if (err)
		compare_unload(f);
	return err;
}

void compare_unload(struct compare_file *f)
{
	for (size_t i = 0; i < f->n_series; i++)
		free(f->series[i].values);
	free(f->series);
	buf_free(&f->command);
	json_free(f->root);
	*f = (struct compare_file){ 0 };
}
