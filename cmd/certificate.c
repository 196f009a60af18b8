#include "certificate.h"

#include "complain.h"
#include "environment.h"

#include <tare/version.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define SCHEMA "tare.certificate/1"
#define LARGEST (64 << 20)	/* a file that is larger was not written here */

/* ---- what a certificate names ---- */

struct identity {
	struct tare_cpu cpu;
	char microcode[32], kernel[128];
	bool simulated;
};

static void read_microcode(char *out, size_t size)
{
	char line[256];
	FILE *const f = fopen("/proc/cpuinfo", "re");
	snprintf(out, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		const char *const colon = strchr(line, ':');
		if (strncmp(line, "microcode", 9) || !colon)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
		break;
	}
	if (f)
		fclose(f);
}

/* By the marker of a virtual PMU; what it says does not matter here. */
static bool is_simulated(void)
{
	return access("/sys/bus/event_source/devices/cpu/tare_simulated", F_OK) == 0;
}

static void identify(struct identity *id)
{
	struct utsname u;
	memset(id, 0, sizeof(*id));
	tare_cpu_detect(&id->cpu);
	read_microcode(id->microcode, sizeof(id->microcode));
	uname(&u);
	snprintf(id->kernel, sizeof(id->kernel), "%s", u.release);
	id->simulated = is_simulated();
}

static void identity_json(struct json *j, const struct identity *id)
{
	json_object(j, "machine");
	cpu_json(j, "cpu", &id->cpu);
	json_str(j, "microcode", id->microcode);
	json_str(j, "kernel", id->kernel);
	json_str(j, "hypervisor", id->cpu.hypervisor[0] ? id->cpu.hypervisor : NULL);
	json_bool(j, "simulated", id->simulated);
	json_end(j);
}

static bool differs(struct certificate *c, const char *what, const struct json_node *has,
		    const char *now)
{
	const char *const was = has && has->type == JSON_STRING ? has->text : "";
	if (!strcmp(was, now))
		return false;
	snprintf(c->why, sizeof(c->why), "%s was \"%.80s\" and is \"%.80s\" now", what, was, now);
	return true;
}

static bool number_differs(struct certificate *c, const char *what, const struct json_node *has,
			   uint64_t now)
{
	uint64_t was = 0;
	if (json_to_u64(has, &was) && was == now)
		return false;
	snprintf(c->why, sizeof(c->why), "%s was %ju and is %ju now", what, (uintmax_t)was,
		 (uintmax_t)now);
	return true;
}

static bool is_of_this_machine(struct certificate *c, const struct json_node *machine)
{
	struct identity id;
	identify(&id);
	const struct json_node *const cpu = json_get(machine, "cpu"), *const simulated = json_get(machine, "simulated");
	if (!simulated || simulated->type != JSON_BOOL || simulated->truth != id.simulated) {
		snprintf(c->why, sizeof(c->why), "the PMU was %s one and is %s one now",
			 id.simulated ? "a real" : "a virtual", id.simulated ? "a virtual" : "a real");
		return false;
	}
	return !differs(c, "the CPU", json_get(cpu, "brand"), id.cpu.brand) &&
	       !number_differs(c, "the CPU's family", json_get(cpu, "family"), id.cpu.family) &&
	       !number_differs(c, "the CPU's model", json_get(cpu, "model"), id.cpu.model) &&
	       !number_differs(c, "the CPU's stepping", json_get(cpu, "stepping"), id.cpu.stepping) &&
	       !differs(c, "the microcode", json_get(machine, "microcode"), id.microcode) &&
	       !differs(c, "the kernel", json_get(machine, "kernel"), id.kernel) &&
	       !differs(c, "the hypervisor", json_get(machine, "hypervisor"), id.cpu.hypervisor);
}

/* ---- the file ---- */

/* The folder, without a slash at its end. False: neither variable is set. */
static bool state_folder(char *out, size_t size)
{
	const char *const state = getenv("XDG_STATE_HOME"), *const home = getenv("HOME");
	if (state && state[0] == '/')
		return (size_t)snprintf(out, size, "%s/tare", state) < size;
	return home && home[0] && (size_t)snprintf(out, size, "%s/.local/state/tare", home) < size;
}

static bool file_path(char *out, size_t size, bool simulated)
{
	char folder[4000];
	return state_folder(folder, sizeof(folder)) &&
	       (size_t)snprintf(out, size, "%s/certificate%s.json", folder,
				simulated ? "-virtual" : "") < size;
}

static void make_folders(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
}

static bool read_all(const char *path, struct buf *b)
{
	char part[65536];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	ssize_t n;
	while ((n = read(fd, part, sizeof(part))) > 0 && b->len < LARGEST)
		buf_add(b, part, (size_t)n);
	const int err = n > 0 ? EFBIG : errno;
	close(fd);
	errno = err;
	return n == 0 && !buf_failed(b);
}

static void damaged(struct certificate *c, const char *what)
{
	c->state = CERTIFICATE_DAMAGED;
	snprintf(c->why, sizeof(c->why), "%.200s", what);
	json_free(c->root);
	c->root = NULL;
}

static const char *text_of(const struct json_node *object, const char *key)
{
	const struct json_node *const n = json_get(object, key);
	return n && n->type == JSON_STRING ? n->text : "";
}

/* 2026-11-19T04:38:03Z */
static bool is_date(const char *text)
{
	struct tm t = { 0 };
	const char *const end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &t);
	return end && !*end;
}

static bool is_number(const struct json_node *object, const char *key, double least)
{
	double v;
	return json_to_f64(json_get(object, key), &v) && isfinite(v) && v >= least;
}

/* The numbers that are read later. */
static bool has_numbers(const struct json_node *events)
{
	for (const struct json_node *e = events->first; e; e = e->next) {
		const struct json_node *const causes = json_get(e, "causes"), *const skid = json_get(e, "skid");
		uint64_t late;
		if (!is_number(e, "residue", 0) || !causes || causes->type != JSON_ARRAY)
			return false;
		if (skid && skid->type != JSON_NULL && !json_to_u64(skid, &late))
			return false;
		for (const struct json_node *n = causes->first; n; n = n->next)
			if (!is_number(n, "amount", -INFINITY))
				return false;
	}
	return true;
}

static size_t length(const struct json_node *array)
{
	size_t n = 0;
	for (const struct json_node *i = array ? array->first : NULL; i; i = i->next)
		n++;
	return n;
}

/* "3 kernels, 1 experiment, a tenth of the code". False: it does not say that. */
static bool describe_part(const struct json_node *part, char *out, size_t size)
{
	const struct json_node *const kernels = json_get(part, "kernels"),
			       *const experiments = json_get(part, "experiments");
	const struct json_node *const quick = json_get(part, "quick"), *const chosen = json_get(part, "chosen_events");
	uint64_t runs = 0;
	const size_t n_kernels = length(kernels), n_experiments = length(experiments);
	struct buf b = { 0 };
	out[0] = '\0';
	if (!part || (part->type != JSON_NULL && part->type != JSON_OBJECT))
		return false;
	if (chosen && chosen->type == JSON_BOOL && chosen->truth)
		buf_str(&b, ", chosen events");
	if (n_kernels)
		buf_printf(&b, ", %zu kernel%s", n_kernels, n_kernels == 1 ? "" : "s");
	if (n_experiments)
		buf_printf(&b, ", %zu experiment%s", n_experiments, n_experiments == 1 ? "" : "s");
	if (quick && quick->type == JSON_BOOL && quick->truth)
		buf_str(&b, ", a tenth of the code");
	if (json_to_u64(json_get(part, "runs"), &runs) && runs)
		buf_printf(&b, ", %ju run%s", (uintmax_t)runs, runs == 1 ? "" : "s");
	if (b.data && !buf_failed(&b))
		snprintf(out, size, "%s", b.data + 2);
	buf_free(&b);
	return part->type == JSON_NULL || out[0];
}

static void parse(struct certificate *c, const struct buf *b)
{
	struct tare_why why;
	if (json_parse(b->data ? b->data : "", b->len, &c->root, &why) < 0) {
		c->root = NULL;
		damaged(c, why.what);
		return;
	}
	if (strcmp(text_of(c->root, "schema"), SCHEMA)) {
		damaged(c, "it is no " SCHEMA);
		return;
	}
	const struct json_node *const events = json_get(c->root, "events");
	if (!json_get(c->root, "machine") || !events || events->type != JSON_ARRAY) {
		damaged(c, "\"machine\" or \"events\" is missing");
		return;
	}
	if (!has_numbers(events)) {
		damaged(c, "an event has no \"residue\" or one below 0, a \"skid\" that is no number, or a cause no \"amount\"");
		return;
	}
	if (!describe_part(json_get(c->root, "part"), c->part, sizeof(c->part))) {
		damaged(c, "\"part\", of what it is, is missing");
		return;
	}
	if (!is_date(text_of(c->root, "date"))) {
		damaged(c, "\"date\" is no date");
		return;
	}
	snprintf(c->date, sizeof(c->date), "%s", text_of(c->root, "date"));
	c->state = CERTIFICATE_VALID;
	if (!is_of_this_machine(c, json_get(c->root, "machine"))) {
		text_printable(c->why, strlen(c->why));
		c->state = CERTIFICATE_EXPIRED;
		json_free(c->root);
		c->root = NULL;
	}
}

/* (What the machine is takes 0.1 ms to find out: only for a file that is there.) */
void certificate_load(struct certificate *c)
{
	struct buf b = { 0 };
	memset(c, 0, sizeof(*c));
	if (!file_path(c->path, sizeof(c->path), is_simulated()))
		return;
	if (read_all(c->path, &b))
		parse(c, &b);
	else if (errno != ENOENT && errno != ENOTDIR)
		damaged(c, strerror(errno));
	buf_free(&b);
}

void certificate_free(struct certificate *c)
{
	json_free(c->root);
	c->root = NULL;
}

const struct certificate *certificate_here(void)
{
	static struct certificate here;
	static bool loaded;
	if (!loaded)
		certificate_load(&here);
	loaded = true;
	return &here;
}

const char *certificate_state_name(enum certificate_state s)
{
	switch (s) {
	case CERTIFICATE_NONE: return "none";
	case CERTIFICATE_VALID: return "valid";
	case CERTIFICATE_EXPIRED: return "expired";
	case CERTIFICATE_DAMAGED: return "damaged";
	}
	return "unknown";
}

/* ---- writing ---- */

static void cause_json(struct json *j, const struct tare_verify_cause *c)
{
	const char letter[2] = { tare_cause_letter(c->cause) };
	json_object(j, NULL);
	json_str(j, "letter", letter);
	json_f64(j, "amount", c->amount);
	json_f64(j, "error", c->error);
	json_str(j, "per", c->per);
	json_end(j);
}

static bool is_of_instruction(const struct tare_verify_cause *c)
{
	return c->cause == TARE_CAUSE_OVERCOUNTED || c->cause == TARE_CAUSE_UNDERCOUNTED;
}

/* The experiment "skid" of an event: null where it was not done. */
static void skid_json(struct json *j, const struct tare_verify_report *r, const char *event)
{
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct tare_verify_finding *const f = &r->findings[i];
		if (strcmp(f->experiment, "skid") || !f->event || strcmp(f->event, event))
			continue;
		for (size_t k = 0; k < f->n_numbers; k++)
			if (!strcmp(f->numbers[k].name, "most")) {
				json_u64(j, "skid", (uint64_t)f->numbers[k].value);
				return;
			}
	}
	json_null(j, "skid");
}

static void event_json(struct json *j, const struct tare_verify_report *report, const struct tare_verify_row *r)
{
	json_object(j, NULL);
	json_str(j, "event", r->event);
	json_str(j, "role", r->role);
	json_str(j, "verdict", tare_event_verdict_name(r->verdict));
	json_str(j, "letters", r->letters);
	json_f64(j, "residue", r->residue);
	json_f64(j, "limit", r->limit);
	skid_json(j, report, r->event);
	json_array(j, "causes");
	for (size_t i = 0; i < r->n_causes; i++)
		if (!is_of_instruction(&r->causes[i]))
			cause_json(j, &r->causes[i]);
	json_end(j);
	json_end(j);
}

static void deviations_json(struct json *j, const struct tare_verify_row *r)
{
	for (size_t i = 0; i < r->n_causes; i++) {
		const struct tare_verify_cause *const c = &r->causes[i];
		if (!is_of_instruction(c))
			continue;
		json_object(j, NULL);
		json_str(j, "event", r->event);
		json_str(j, "instruction", c->instruction);
		json_str(j, "code", c->code[0] ? c->code : NULL);
		json_f64(j, "amount", c->amount);
		json_str(j, "kernel", c->kernel);
		json_end(j);
	}
}

/* What is wrong with counters, whatever they count: a register that counts wrongly, one that is too narrow, … */
static void bad_json(struct json *j, const struct tare_verify_report *r)
{
	json_array(j, "bad");
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct tare_verify_finding *const f = &r->findings[i];
		if (f->verdict != TARE_VERDICT_BAD)
			continue;
		json_object(j, NULL);
		json_str(j, "experiment", f->experiment);
		json_str(j, "event", f->event);
		json_str(j, "text", f->text);
		json_end(j);
	}
	json_end(j);
}

/* NULL: all of them were there. */
static void names_json(struct json *j, const char *key, const char *const *names, size_t n, bool all)
{
	if (all) {
		json_null(j, key);
		return;
	}
	json_array(j, key);
	for (size_t i = 0; i < n; i++)
		json_str(j, NULL, names[i]);
	json_end(j);
}

static void part_json(struct json *j, const struct tare_verify_report *r, const struct certificate_part *part)
{
	if (!part->events && !part->kernels && !part->experiments && !part->runs && !r->quick) {
		json_null(j, "part");
		return;
	}
	json_object(j, "part");
	json_bool(j, "chosen_events", part->events);
	json_bool(j, "quick", r->quick);
	if (part->runs)
		json_u64(j, "runs", r->runs);
	else
		json_null(j, "runs");
	names_json(j, "kernels", r->kernels, r->n_kernels, !part->kernels);
	names_json(j, "experiments", r->experiments, r->n_experiments, !part->experiments);
	json_end(j);
}

static void put_certificate(struct buf *b, const struct tare_verify_report *r, const struct certificate_part *part)
{
	struct json j = { .out = b, .indent = true };
	struct identity id;
	char date[32];
	const time_t now = time(NULL);
	struct tm tm;
	identify(&id);
	gmtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_object(&j, NULL);
	json_str(&j, "schema", SCHEMA);
	json_str(&j, "tare", TARE_VERSION);
	json_str(&j, "date", date);
	identity_json(&j, &id);
	part_json(&j, r, part);
	json_u64(&j, "runs", r->runs);
	json_str(&j, "interrupts", r->interrupts[0] ? r->interrupts : NULL);
	json_array(&j, "events");
	for (size_t i = 0; i < r->n_rows; i++)
		event_json(&j, r, &r->rows[i]);
	json_end(&j);
	json_array(&j, "deviations");
	for (size_t i = 0; i < r->n_rows; i++)
		deviations_json(&j, &r->rows[i]);
	json_end(&j);
	bad_json(&j, r);
	json_end(&j);
	buf_chr(b, '\n');
}

static bool write_all(int fd, const struct buf *b)
{
	for (size_t at = 0; at < b->len;) {
		const ssize_t n = write(fd, b->data + at, b->len - at);
		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* A new file takes the place of the old one at once: a reader sees one of the two. */
static bool replace(const char *path, const struct buf *b)
{
	char temporary[4200];
	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	const int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return false;
	const bool written = write_all(fd, b) && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
	int err = errno;
	close(fd);
	if (written && rename(temporary, path) == 0)
		return true;
	err = written ? errno : err;
	unlink(temporary);
	errno = err;
	return false;
}

bool certificate_write(const struct tare_verify_report *r, const struct certificate_part *part)
{
	char path[4096];
	struct buf b = { 0 };
	if (!file_path(path, sizeof(path), r->simulated)) {
		caution("verify: no certificate is written: neither XDG_STATE_HOME nor HOME is set");
		return false;
	}
	put_certificate(&b, r, part);
	make_folders(path);
	const bool written = !buf_failed(&b) && replace(path, &b);
	if (!written)
		caution("verify: the certificate cannot be written: %s: %s", path, strerror(errno));
	buf_free(&b);
	return written;
}

/* ---- what it says ---- */

bool certificate_matters(const struct tare_event *e)
{
	return e->kind == TARE_EVENT_MINUS || e->kind == TARE_EVENT_MINUS_TOTAL;
}

bool certificate_did(const struct certificate *c, const char *experiment)
{
	const struct json_node *const done = json_get(json_get(c->root, "part"), "experiments");
	if (!done || done->type != JSON_ARRAY)
		return true;
	for (const struct json_node *n = done->first; n; n = n->next)
		if (n->type == JSON_STRING && !strcmp(n->text, experiment))
			return true;
	return false;
}

/* An experiment without which nothing is proved of what is subtracted; NULL: none is missing. */
static const char *missing_experiment(const struct certificate *c, const struct tare_event *e)
{
	const bool faults = e->kind == TARE_EVENT_MINUS_TOTAL && e->minus_total & TARE_MINUS_PAGE_FAULTS;
	return !certificate_did(c, "interrupts") ? "interrupts" :
	       faults && !certificate_did(c, "page-faults") ? "page-faults" :
	       !certificate_did(c, "registers") ? "registers" : NULL;
}

const struct json_node *certificate_row(const struct certificate *c, const struct tare_event *e)
{
	const char *const role = tare_role_name(e->role);
	const struct json_node *const events = json_get(c->root, "events");
	for (const struct json_node *n = events ? events->first : NULL; n; n = n->next)
		if (!strcmp(text_of(n, "event"), e->name))
			return n;
	for (const struct json_node *n = events ? events->first : NULL; n; n = n->next)
		if (e->role != TARE_ROLE_OTHER && !strcmp(text_of(n, "role"), role))
			return n;
	return NULL;
}

/* The causes that subtracting does not remove: "p +1 per page fault". */
static size_t put_others(const struct json_node *row, const struct tare_event *e, char *out,
			 size_t size)
{
	const bool faults = e->kind == TARE_EVENT_MINUS_TOTAL &&
			    e->minus_total & TARE_MINUS_PAGE_FAULTS;
	const struct json_node *const causes = json_get(row, "causes");
	size_t n = 0;
	out[0] = '\0';
	for (const struct json_node *c = causes ? causes->first : NULL; c; c = c->next) {
		const char letter = text_of(c, "letter")[0];
		double amount = 0;
		json_to_f64(json_get(c, "amount"), &amount);
		if ((letter == 'h' && fabs(amount - 1) < 0.01) || (letter == 'p' && faults))
			continue;
		if (n < size)
			n += (size_t)snprintf(out + n, size - n, "%s%c %+.3g per %.20s", n ? ", " : "",
					      letter, amount, text_of(c, "per"));
	}
	for (const char *l = text_of(row, "letters"); *l; l++)
		if ((*l == 'D' || *l == 'M') && n < size)
			n += (size_t)snprintf(out + n, size - n, "%s%c some instructions",
					      n ? ", " : "", *l);
	return n;
}

/* What was found to be wrong with the counters of an event, or with those of all; NULL: nothing. */
static const char *bad_of(const struct certificate *c, const struct json_node *row)
{
	const struct json_node *const bad = json_get(c->root, "bad");
	for (const struct json_node *n = bad ? bad->first : NULL; n; n = n->next) {
		const char *const event = text_of(n, "event");
		if (!*event || !strcmp(event, text_of(row, "event")))
			return text_of(n, "text");
	}
	return NULL;
}

static bool has_verdict(const struct json_node *row)
{
	const char *const verdict = row ? text_of(row, "verdict") : "";
	return !strcmp(verdict, "deterministic") || !strcmp(verdict, "deviates");
}

const char *certificate_is_useless(const struct certificate *c, const struct tare_event *e, char *text, size_t size)
{
	const struct json_node *const row = certificate_row(c, e);
	const char *const bad = row && has_verdict(row) ? bad_of(c, row) : NULL;
	if (!row)
		snprintf(text, size, "the certificate does not have this event");
	else if (!has_verdict(row))
		snprintf(text, size, "the certificate's verdict on it: %.40s", text_of(row, "verdict"));
	else if (strchr(text_of(row, "letters"), 'U'))
		snprintf(text, size, "it counts micro-operations");
	else if (bad)
		snprintf(text, size, "`tare verify` found: %.160s", bad);
	else
		return NULL;
	text_printable(text, strlen(text));
	return text;
}

void certificate_of_event(const struct certificate *c, const struct tare_event *e,
			  struct certificate_says *says)
{
	char others[160];
	memset(says, 0, sizeof(*says));
	says->residue = NAN;
	if (c->state != CERTIFICATE_VALID) {
		snprintf(says->text, sizeof(says->text), "%s%s%.160s%s; `tare verify` proves it on "
			 "this machine", "corrected by a table only",
			 c->state == CERTIFICATE_EXPIRED ? " (the certificate has expired: " :
			 c->state == CERTIFICATE_DAMAGED ? " (the certificate is damaged: " : "",
			 c->why, c->state == CERTIFICATE_NONE ? "" : ")");
		return;
	}
	const struct json_node *const row = certificate_row(c, e);
	if (!has_verdict(row)) {
		snprintf(says->text, sizeof(says->text), "corrected by a table only: the certificate of "
			 "%.10s has no verdict on it", c->date);
		return;
	}
	const char *const bad = bad_of(c, row);
	if (bad) {
		snprintf(says->text, sizeof(says->text), "not proved: `tare verify` found on %.10s: %.160s", c->date,
			 bad);
		text_printable(says->text, strlen(says->text));
		return;
	}
	const char *const missing = missing_experiment(c, e);
	if (missing) {
		snprintf(says->text, sizeof(says->text), "not proved: `tare verify` examined only a part on %.10s "
			 "(%s), without the experiment %s", c->date, c->part, missing);
		return;
	}
	json_to_f64(json_get(row, "residue"), &says->residue);
	says->proved = !c->part[0];
	const size_t n = put_others(row, e, others, sizeof(others));
	snprintf(says->text, sizeof(says->text), "correction %s here on %.10s%s%s%s, residue %.3g%s%s",
		 says->proved ? "proved" : "examined only in part", c->date, says->proved ? "" : " (", c->part,
		 says->proved ? "" : ")", says->residue, n ? "; not subtracted: " : "", others);
	text_printable(says->text, strlen(says->text));
}

bool certificate_skid(const struct certificate *c, const struct tare_event *e, uint64_t *events)
{
	const struct json_node *const row = c->state == CERTIFICATE_VALID ? certificate_row(c, e) : NULL;
	return row && json_to_u64(json_get(row, "skid"), events);
}

void certificate_json(struct json *j, const struct certificate *c, const struct tare_event *e)
{
	struct certificate_says says;
	if (!certificate_matters(e))
		return;
	certificate_of_event(c, e, &says);
	json_object(j, "correction");
	json_str(j, "certificate", certificate_state_name(c->state));
	json_bool(j, "proved", says.proved);
	json_str(j, "part", c->part[0] ? c->part : NULL);
	json_str(j, "date", c->date[0] ? c->date : NULL);
	json_f64(j, "residue", says.residue);
	json_str(j, "text", says.text);
	json_end(j);
}
