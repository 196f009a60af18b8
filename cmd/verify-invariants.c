/* tare verify -- COMMAND: invariants between events. */
#include "verify-more.h"

#include "command.h"
#include "complain.h"
#include "environment.h"
#include "grid.h"
#include "json.h"
#include "output.h"
#include "term.h"

#include <tare/invariants.h>
#include <tare/version.h>

#include <string.h>

static void text_cell(struct grid *g, const char *text)
{
	grid_cell(g, text, strlen(text));
}

static void conclusion(struct buf *b, const struct tare_invariants *r, int fd)
{
	buf_printf(b, "%s", term_style(fd, STYLE_BOLD));
	if (r->broken)
		buf_printf(b, "%zu of %zu invariants are broken", r->broken, r->checked);
	else
		buf_printf(b, "all %zu invariants hold", r->checked);
	buf_printf(b, "%s (%s, %u run%s", term_style(fd, STYLE_NONE),
		   r->backend == TARE_BACKEND_SOFT ? "software engine" :
		   r->virtual_pmu ? "virtual PMU" : "hardware counters",
		   r->runs, r->runs == 1 ? "" : "s");
	if (r->batches > 1)
		buf_printf(b, " of %u batches", r->batches);
	buf_printf(b, ", %zu not checked)\n\n", r->n - r->checked);
}

static void checked_text(struct buf *b, const struct tare_invariants *r)
{
	static const char *const titles[] = { "INVARIANT", "LEFT", "RIGHT", "EXCESS", "" };
	struct grid g = { .columns = 5 };
	for (size_t i = 0; i < 5; i++)
		text_cell(&g, titles[i]);
	for (size_t i = 0; i < r->n; i++) {
		const struct tare_invariant *const v = &r->list[i];
		if (v->state == TARE_INVARIANT_NOT_CHECKED)
			continue;
		text_cell(&g, v->text);
		buf_grouped(&g.text, v->left);
		grid_done(&g);
		buf_grouped(&g.text, v->right);
		grid_done(&g);
		buf_grouped(&g.text, v->excess);
		grid_done(&g);
		text_cell(&g, tare_invariant_state_name(v->state));
	}
	grid_plain(&g, b);
	grid_free(&g);
}

static void invariants_text(struct buf *b, const struct tare_invariants *r, int fd)
{
	conclusion(b, r, fd);
	checked_text(b, r);
	buf_chr(b, '\n');
	for (size_t i = 0; i < r->n; i++) {
		const struct tare_invariant *const v = &r->list[i];
		if (v->state == TARE_INVARIANT_BROKEN)
			buf_printf(b, "broken: %s (%s): %s in %u of %u run%s\n", v->text, v->why,
				   v->equal ? "they differ" : "the left side is larger",
				   v->broken_runs, r->runs, r->runs == 1 ? "" : "s");
	}
	for (size_t i = 0; i < r->n; i++)
		if (r->list[i].state == TARE_INVARIANT_NOT_CHECKED)
			buf_printf(b, "not checked: %s: %s\n", r->list[i].text, r->list[i].reason);
	if (r->batches > 1 || r->runs > 1) {
		if (r->compared < r->batches)
			buf_printf(b, "\n%u of %u", r->compared, r->batches);
		else
			buf_str(b, r->witnesses_agree ? "\nAll" : "\nThe");
		buf_str(b, r->witnesses_agree ? " batches of a run executed the same: " : " batches of a run differ: ");
		buf_grouped(b, r->least_witness);
		if (r->least_witness != r->most_witness) {
			buf_str(b, " to ");
			buf_grouped(b, r->most_witness);
		}
		buf_printf(b, " %s%s.\n", r->witness, r->witnesses_agree ? "" : strstr(r->witness, "minus") ?
			   "; the program differs, or some interrupts are not taken off" :
			   "; the program differs, or interrupts were counted");
	}
}

static void invariants_json(struct buf *b, const struct tare_invariants *r, char *const *argv)
{
	struct json j = { .out = b, .indent = true };
	struct tare_cpu cpu;
	tare_cpu_detect(&cpu);
	json_object(&j, NULL);
	json_str(&j, "schema", "tare.invariants/1");
	json_str(&j, "tare", TARE_VERSION);
	json_array(&j, "command");
	for (size_t i = 0; argv[i]; i++)
		json_str(&j, NULL, argv[i]);
	json_end(&j);
	cpu_json(&j, "cpu", &cpu);
	json_str(&j, "backend", r->backend == TARE_BACKEND_SOFT ? "soft" : "hw");
	json_bool(&j, "virtual_pmu", r->virtual_pmu);
	json_bool(&j, "simulated", r->simulated);
	json_u64(&j, "runs", r->runs);
	json_u64(&j, "batches", r->batches);
	json_i64(&j, "exit_status", r->exit_status);
	json_str(&j, "witness", r->witness);
	json_u64(&j, "compared", r->compared);
	json_bool(&j, "witnesses_agree", r->witnesses_agree);
	json_u64(&j, "least_witness", r->least_witness);
	json_u64(&j, "most_witness", r->most_witness);
	json_u64(&j, "checked", r->checked);
	json_u64(&j, "broken", r->broken);
	json_array(&j, "invariants");
	for (size_t i = 0; i < r->n; i++) {
		const struct tare_invariant *const v = &r->list[i];
		const bool checked = v->state != TARE_INVARIANT_NOT_CHECKED;
		json_object(&j, NULL);
		json_str(&j, "invariant", v->text);
		json_str(&j, "why", v->why);
		json_str(&j, "relation", v->equal ? "=" : "<=");
		json_str(&j, "state", tare_invariant_state_name(v->state));
		if (checked) {
			json_u64(&j, "left", v->left);
			json_u64(&j, "right", v->right);
			json_u64(&j, "excess", v->excess);
			json_u64(&j, "broken_runs", v->broken_runs);
		} else {
			json_str(&j, "reason", v->reason);
		}
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_chr(b, '\n');
}

static int status_of_error(int err)
{
	return err == TARE_E_NO_COMMAND ? EXIT_NOT_FOUND :
	       err == TARE_E_NOT_EXECUTABLE ? EXIT_NOT_EXECUTABLE : EXIT_FAILED;
}

int verify_invariants(const struct verify_command *c)
{
	struct tare_invariants *r;
	struct tare_why why;
	struct buf b = { 0 };
	const struct tare_invariants_options o = {
		.size = sizeof(o), .argv = c->argv, .runs = c->runs,
		.backend = (enum tare_backend)c->backend, .stop = c->stop,
	};
	struct output out;
	if (!output_open(&out, c->output))
		return EXIT_FAILED;
	const int err = tare_invariants_check(&o, &r, &why);
	if (err) {
		complain_why(&why);
		output_close(&out);
		return status_of_error(err);
	}
	if (c->json)
		invariants_json(&b, r, c->argv);
	else
		invariants_text(&b, r, out.fd);
	bool failed = buf_failed(&b);
	if (failed)
		complain("verify: out of memory");
	failed |= !output_write(&out, b.data, failed ? 0 : b.len);
	failed |= !output_close(&out);
	buf_free(&b);
	const int status = failed ? EXIT_FAILED : r->broken ? EXIT_BAD : EXIT_GOOD;
	if (r->exit_status)
		caution("the exit status of the command is %d", r->exit_status);
	tare_invariants_free(r);
	return status;
}
