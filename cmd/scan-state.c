/* The state file of tare scan: JSON, replaced in one step, so that a kill leaves the former state
 * or the new one.
 *
 *	{"schema": "tare.scan-state/1", "cpu": "AuthenticAMD 23 113 0", "like": "page-faults",
 *	 "codes": [0, 4095] or null, "masks": …, "rounds": 0, "pages": 0,
 *	 "stage": 0, "next": 1020, "tried": 1020, "refused": 0, "silent": 900,
 *	 "hits": [[stage, code, mask, matches], …]}
 */
#include "scan.h"

#include "complain.h"
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA "tare.scan-state/1"
#define MOST_BYTES (64u << 20)

struct scan_saved {
	struct tare_scan_state state;
	struct json_node *root;
};

/* Makes every folder of the path. */
static bool make_folders(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
		*p = '/';
		if (!made)
			return false;
	}
	return true;
}

bool scan_state_path(const char *given, char *out, size_t size)
{
	const char *const xdg = getenv("XDG_STATE_HOME"), *const home = getenv("HOME");
	int n;

	if (given)
		n = snprintf(out, size, "%s", given);
	else if (xdg && xdg[0] == '/')
		n = snprintf(out, size, "%s/tare/scan.json", xdg);
	else if (home && home[0] == '/')
		n = snprintf(out, size, "%s/.local/state/tare/scan.json", home);
	else {
		caution("scan: neither XDG_STATE_HOME nor HOME is set: this scan cannot go on after a "
			"kill; name a file with --state");
		return false;
	}
	if (n < 0 || (size_t)n >= size) {
		caution("scan: the name of the state file is too long");
		return false;
	}
	if (!given && !make_folders(out)) {
		caution("scan: %s: %s: this scan cannot go on after a kill; name a file with --state",
			out, strerror(errno));
		return false;
	}
	return true;
}

static void cpu_text(const struct tare_cpu *cpu, char *out, size_t size)
{
	snprintf(out, size, "%u %u %u %u %u %" PRIx32 " %s", (unsigned)cpu->arch, (unsigned)cpu->vendor,
		 cpu->family, cpu->model, cpu->stepping, cpu->midr, cpu->brand);
}

static void range_json(struct json *j, const char *key, bool has, uint64_t first, uint64_t last)
{
	if (!has) {
		json_null(j, key);
		return;
	}
	json_array(j, key);
	json_u64(j, NULL, first);
	json_u64(j, NULL, last);
	json_end(j);
}

static void make_text(struct buf *b, const struct tare_cpu *cpu, const struct scan_job *job,
		      const struct tare_scan_state *s)
{
	struct json j = { .out = b };
	char id[160];

	cpu_text(cpu, id, sizeof(id));
	json_object(&j, NULL);
	json_str(&j, "schema", SCHEMA);
	json_str(&j, "cpu", id);
	json_str(&j, "like", job->like);
	range_json(&j, "codes", job->has_codes, job->first_code, job->last_code);
	range_json(&j, "masks", job->has_masks, job->first_mask, job->last_mask);
	json_u64(&j, "rounds", job->rounds);
	json_u64(&j, "pages", job->pages);
	json_u64(&j, "stage", (uint64_t)s->stage);
	json_u64(&j, "next", s->next);
	json_u64(&j, "tried", s->tried);
	json_u64(&j, "refused", s->refused);
	json_u64(&j, "silent", s->silent);
	json_array(&j, "hits");
	for (size_t i = 0; i < s->n_hits; i++) {
		json_array(&j, NULL);
		json_u64(&j, NULL, (uint64_t)s->hits[i].stage);
		json_u64(&j, NULL, s->hits[i].code);
		json_u64(&j, NULL, s->hits[i].mask);
		json_u64(&j, NULL, s->hits[i].matches);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_chr(b, '\n');
}

int scan_state_write(const char *path, const struct tare_cpu *cpu, const struct scan_job *job,
		     const struct tare_scan_state *state)
{
	struct buf b = { 0 };
	char temporary[PATH_MAX];
	int err = 0;

	make_text(&b, cpu, job, state);
	if (buf_failed(&b) ||
	    snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >=
		    (int)sizeof(temporary)) {
		buf_free(&b);
		return ENOMEM;
	}
	const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = errno;
	} else {
		if (write(fd, b.data, b.len) != (ssize_t)b.len)
			err = errno ? errno : EIO;
		if (close(fd) < 0 && !err)
			err = errno;
		if (!err && rename(temporary, path) < 0)
			err = errno;
		if (err)
			unlink(temporary);
	}
	buf_free(&b);
	return err;
}

/* ---- reading ---- */

static bool read_file(const char *path, struct buf *b)
{
	FILE *const f = fopen(path, "re");
	char part[4096];
	size_t n;

	if (!f) {
		if (errno == ENOENT)
			complain("scan: %s: there is no scan to go on with; begin one without --resume",
				 path);
		else
			complain("scan: %s: %s", path, strerror(errno));
		return false;
	}
	while ((n = fread(part, 1, sizeof(part), f)) && b->len < MOST_BYTES)
		buf_add(b, part, n);
	const bool good = !ferror(f) && !buf_failed(b) && b->len && b->len < MOST_BYTES;
	fclose(f);
	if (!good)
		complain("scan: %s: cannot be read as the state of a scan", path);
	return good;
}

static bool number(const struct json_node *root, const char *key, uint64_t *out)
{
	const struct json_node *const n = json_get(root, key);

	return n && json_to_u64(n, out);
}

static bool range(const struct json_node *root, const char *key, bool *has, uint64_t *first,
		  uint64_t *last)
{
	const struct json_node *const n = json_get(root, key);

	if (!n)
		return false;
	*has = n->type == JSON_ARRAY;
	if (n->type == JSON_NULL)
		return true;
	return *has && n->first && json_to_u64(n->first, first) && n->first->next &&
	       json_to_u64(n->first->next, last);
}

static bool one_hit(const struct json_node *n, struct tare_scan_hit *h)
{
	uint64_t v[4];
	unsigned i = 0;

	if (n->type != JSON_ARRAY)
		return false;
	for (const struct json_node *k = n->first; k; k = k->next)
		if (i == 4 || !json_to_u64(k, &v[i++]))
			return false;
	if (i != 4 || v[0] > TARE_SCAN_NARROW || v[3] > 1)
		return false;
	*h = (struct tare_scan_hit){ .stage = (enum tare_scan_stage)v[0], .code = v[1], .mask = v[2],
				     .matches = v[3] };
	return true;
}

static bool read_state(const struct json_node *root, struct tare_scan_state *s)
{
	const struct json_node *const hits = json_get(root, "hits");
	uint64_t stage;
	size_t n = 0;

	if (!number(root, "stage", &stage) || stage > TARE_SCAN_CONFIRM ||
	    !number(root, "next", &s->next) || !number(root, "tried", &s->tried) ||
	    !number(root, "refused", &s->refused) || !number(root, "silent", &s->silent) || !hits ||
	    hits->type != JSON_ARRAY)
		return false;
	s->stage = (enum tare_scan_stage)stage;
	for (const struct json_node *k = hits->first; k; k = k->next)
		n++;
	s->hits = calloc(n ? n : 1, sizeof(*s->hits));
	if (!s->hits)
		return false;
	for (const struct json_node *k = hits->first; k; k = k->next)
		if (!one_hit(k, &s->hits[s->n_hits++]))
			return false;
	return true;
}

static bool same_range(bool has, uint64_t first, uint64_t last, bool has2, uint64_t first2,
		       uint64_t last2)
{
	return has == has2 && (!has || (first == first2 && last == last2));
}

/* What the command line says must be what the file has; what it leaves open is taken from there. */
static bool merge(const char *path, struct scan_job *job, const struct scan_job *old)
{
	const char *differs = NULL;

	if (job->like && strcmp(job->like, old->like))
		differs = "--like";
	if (job->has_codes && !same_range(true, job->first_code, job->last_code, old->has_codes,
					  old->first_code, old->last_code))
		differs = "--codes";
	if (job->has_masks && !same_range(true, job->first_mask, job->last_mask, old->has_masks,
					  old->first_mask, old->last_mask))
		differs = "--masks";
	if (job->rounds && job->rounds != old->rounds)
		differs = "--rounds";
	if (job->pages && job->pages != old->pages)
		differs = "--pages";
	if (differs) {
		complain("scan: %s was begun with another %s; go on without %s, or begin anew without "
			 "--resume", path, differs, differs);
		return false;
	}
	*job = *old;
	return true;
}

static bool read_job(const struct json_node *root, struct scan_job *old)
{
	const struct json_node *const schema = json_get(root, "schema");
	const struct json_node *const like = json_get(root, "like");

	if (!schema || schema->type != JSON_STRING || strcmp(schema->text, SCHEMA) || !like ||
	    like->type != JSON_STRING)
		return false;
	old->like = like->text;
	return range(root, "codes", &old->has_codes, &old->first_code, &old->last_code) &&
	       range(root, "masks", &old->has_masks, &old->first_mask, &old->last_mask) &&
	       number(root, "rounds", &old->rounds) && number(root, "pages", &old->pages);
}

static bool is_this_cpu(const char *path, const struct json_node *root, const struct tare_cpu *cpu)
{
	const struct json_node *const was = json_get(root, "cpu");
	char id[160];

	cpu_text(cpu, id, sizeof(id));
	if (was && was->type == JSON_STRING && !strcmp(was->text, id))
		return true;
	complain("scan: %s is of another CPU; begin anew without --resume", path);
	return false;
}

bool scan_state_read(const char *path, const struct tare_cpu *cpu, struct scan_job *job,
		     struct scan_saved **out)
{
	struct scan_saved *const s = calloc(1, sizeof(*s));
	struct scan_job old = { 0 };
	struct buf b = { 0 };
	struct tare_why why;

	if (!s) {
		complain("scan: out of memory");
		return false;
	}
	bool good = read_file(path, &b);
	if (good && (json_parse(b.data, b.len, &s->root, &why) < 0 || !read_job(s->root, &old) ||
		     !read_state(s->root, &s->state))) {
		complain("scan: %s is damaged or no state of a scan; begin anew without --resume", path);
		good = false;
	}
	buf_free(&b);
	good = good && is_this_cpu(path, s->root, cpu) && merge(path, job, &old);
	if (!good) {
		scan_saved_free(s);
		return false;
	}
	*out = s;
	return true;
}

const struct tare_scan_state *scan_saved_state(const struct scan_saved *s)
{
	return &s->state;
}

void scan_saved_free(struct scan_saved *s)
{
	if (!s)
		return;
	free(s->state.hits);
	json_free(s->root);
	free(s);
}
