/* tare doctor: why counting does not work (well) here, and what to do. */
#include "buf.h"
#include "certificate.h"
#include "command.h"
#include "complain.h"
#include "environment.h"
#include "json.h"
#include "term.h"

#include <tare/doctor.h>
#include <tare/version.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 0, 1 and 2 are the doctor's verdicts; a wrong option must not look like one. */

#define TEXT_COLUMN 8		/* where meanings and remedies start */
#define TITLE_WIDTH 26
#define MAX_WIDTH 110		/* longer lines are hard to read */

struct doctor_opts {
	bool json;
};

static const struct opt opts[] = {
	{ OPT_FLAG, 'j', "json", NULL, "JSON, schema tare.doctor/1", TO(doctor_opts, json) },
	{ OPT_END },
};

static const char *status_name(enum tare_doctor_status s)
{
	switch (s) {
	case TARE_DOCTOR_GOOD: return "good";
	case TARE_DOCTOR_CANNOT_COUNT: return "cannot-count";
	case TARE_DOCTOR_CAVEATS: return "caveats";
	}
	return "unknown";
}

static void result_json(struct json *j, const struct tare_doctor_result *r)
{
	json_object(j, NULL);
	json_str(j, "check", r->is->check);
	json_str(j, "code", r->is->code);
	json_str(j, "title", r->is->title);
	json_str(j, "verdict", tare_verdict_name(r->is->verdict));
	json_str(j, "finding", r->finding);
	json_str(j, "meaning", r->is->meaning);
	json_str(j, "remedy", r->remedy);
	json_end(j);
}

static void certificate_member(struct json *j)
{
	const struct certificate *const c = certificate_here();
	json_object(j, "certificate");
	json_str(j, "state", certificate_state_name(c->state));
	json_str(j, "path", c->path[0] ? c->path : NULL);
	json_str(j, "date", c->date[0] ? c->date : NULL);
	json_str(j, "part", c->part[0] ? c->part : NULL);
	json_str(j, "why", c->why[0] ? c->why : NULL);
	json_end(j);
}

static void report_json(struct buf *b, const struct tare_doctor_report *r)
{
	struct json j = { .out = b, .indent = true };

	json_object(&j, NULL);
	json_str(&j, "schema", "tare.doctor/1");
	json_str(&j, "tare", TARE_VERSION);
	json_str(&j, "status", status_name(r->status));
	json_u64(&j, "exit_status", (uint64_t)r->status);
	json_str(&j, "conclusion", r->conclusion);
	json_bool(&j, "hardware", r->hardware);
	json_bool(&j, "engine", r->engine);
	cpu_json(&j, "cpu", &r->cpu);
	certificate_member(&j);
	json_array(&j, "checks");
	for (size_t i = 0; i < r->n_results; i++)
		result_json(&j, &r->results[i]);
	json_end(&j);
	json_end(&j);
	buf_chr(b, '\n');
}

/* Columns that n bytes of UTF-8 take, one per character. */
static int columns(const char *text, size_t n)
{
	int c = 0;
	for (size_t i = 0; i < n; i++)
		c += ((unsigned char)text[i] & 0xc0) != 0x80;
	return c;
}

/* Words from column `at` on, continued at column `indent`. What follows a newline
 * is a command to copy and is left in one piece. */
static void wrapped(struct buf *b, const char *text, int at, int indent, int width)
{
	for (const char *p = text; *p;) {
		if (*p == '\n') {
			buf_printf(b, "\n%*s%s", indent, "", p + 1);
			return;
		}
		const size_t n = strcspn(p, " \n");
		const int w = columns(p, n);
		if (at > indent && at + 1 + w > width) {
			buf_printf(b, "\n%*s", indent, "");
			at = indent;
		} else if (p > text) {
			buf_chr(b, ' ');
			at++;
		}
		buf_add(b, p, n);
		at += w;
		p += n;
		p += *p == ' ';
	}
}

static enum style verdict_style(enum tare_verdict v)
{
	switch (v) {
	case TARE_VERDICT_GOOD: return STYLE_GREEN;
	case TARE_VERDICT_CAVEAT: return STYLE_YELLOW;
	case TARE_VERDICT_BAD: return STYLE_RED;
	case TARE_VERDICT_INFO: break;
	}
	return STYLE_DIM;
}

static void labelled(struct buf *b, const char *label, const char *text, int width)
{
	if (!text[0])
		return;
	buf_printf(b, "%*s%-8s", TEXT_COLUMN, "", label);
	wrapped(b, text, TEXT_COLUMN + 8, TEXT_COLUMN + 8, width);
	buf_chr(b, '\n');
}

static void result_text(struct buf *b, const struct tare_doctor_result *r, int width)
{
	const enum tare_verdict v = r->is->verdict;
	const int column = TEXT_COLUMN + TITLE_WIDTH;

	buf_printf(b, "%s%-*s%s%-*s", term_style(STDOUT_FILENO, verdict_style(v)), TEXT_COLUMN,
		   tare_verdict_name(v), term_style(STDOUT_FILENO, STYLE_NONE), TITLE_WIDTH,
		   r->is->title);
	wrapped(b, r->finding, column, column, width);
	buf_chr(b, '\n');
	labelled(b, "means", r->is->meaning, width);
	labelled(b, "remedy", r->remedy, width);
}

/* What `tare verify` found out here is no finding of the doctor's, and changes no verdict. */
static void certificate_text(struct buf *b, int width)
{
	const struct certificate *const c = certificate_here();
	const int column = TEXT_COLUMN + TITLE_WIDTH;
	char text[512];
	switch (c->state) {
	case CERTIFICATE_VALID:
		snprintf(text, sizeof(text), "`tare verify` examined %sthe events of this machine on "
			 "%.10s%s%s%s", c->part[0] ? "only a part of " : "", c->date, c->part[0] ? " (" : "", c->part,
			 c->part[0] ? "); run it without options" : "");
		break;
	case CERTIFICATE_EXPIRED:
		snprintf(text, sizeof(text), "expired: %s; run `tare verify` again", c->why);
		break;
	case CERTIFICATE_DAMAGED:
		snprintf(text, sizeof(text), "damaged: %.120s: %s; run `tare verify` again", c->path,
			 c->why);
		break;
	default:
		snprintf(text, sizeof(text), "none: corrected counts follow a table; `tare verify` "
			 "examines the events of a machine with counters");
	}
	buf_printf(b, "%s%-*s%s%-*s", term_style(STDOUT_FILENO, STYLE_DIM), TEXT_COLUMN, "info",
		   term_style(STDOUT_FILENO, STYLE_NONE), TITLE_WIDTH, "Certificate");
	wrapped(b, text, column, column, width);
	buf_chr(b, '\n');
}

static void report_text(struct buf *b, const struct tare_doctor_report *r)
{
	const int terminal = term_width(STDOUT_FILENO);
	const int width = terminal > MAX_WIDTH ? MAX_WIDTH : terminal < 60 ? 60 : terminal;

	buf_printf(b, "%s%s%s\n\n", term_style(STDOUT_FILENO, STYLE_BOLD), r->conclusion,
		   term_style(STDOUT_FILENO, STYLE_NONE));
	for (size_t i = 0; i < r->n_results; i++)
		result_text(b, &r->results[i], width);
	certificate_text(b, width);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct doctor_opts o = { 0 };
	struct tare_doctor_report *report;
	struct tare_why why;
	struct buf b = { 0 };
	int first;

	if (!opts_parse(self, &argc, argv, &o, &first))
		return first;
	if (first < argc) {
		complain("doctor: unexpected operand '%s'; it takes none", argv[first]);
		return EXIT_USAGE;
	}
	if (tare_doctor(NULL, NULL, &report, &why) < 0) {
		complain_why(&why);
		return EXIT_BAD;
	}
	if (o.json)
		report_json(&b, report);
	else
		report_text(&b, report);
	int status = (int)report->status;
	if (buf_failed(&b)) {
		complain("doctor: out of memory");
		status = EXIT_BAD;
	} else {
		fwrite(b.data, 1, b.len, stdout);
	}
	buf_free(&b);
	tare_doctor_free(report);
	return status;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "tell why counting does not work (well) here, and what to do",
	.usage = "[-j]",
	.about = "Checks what can be counted on this machine and what disturbs counts. Exit "
		 "status: 0 good, 1 cannot count, 2 counts with caveats.",
	.opts = opts,
	.run = run,
};
