/* The file of cachegrind, as cg_annotate reads it: source lines of functions, without calls. */
#include "codeprofile-room.h"

#include "sink.h"
#include "why.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_number(struct sink *to, int64_t v)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRId64, v);
	sink_str(to, text);
}

static void put_counts(struct sink *to, const struct tare_codeprofile *p, const int64_t *counts)
{
	for (size_t e = 0; e < p->n_events; e++) {
		sink_str(to, " ");
		put_number(to, counts[e]);
	}
	sink_str(to, "\n");
}

static void put_event_names(struct sink *to, const struct tare_codeprofile *p)
{
	sink_str(to, "events:");
	for (size_t e = 0; e < p->n_events; e++) {
		const char *const name = p->events[e].name;
		sink_str(to, " ");
		sink_str(to, !strcmp(name, "instructions") || !strcmp(name, "instructions:u") ? "Ir" : name);
	}
	sink_str(to, "\n");
}

static void put_line_of(struct sink *to, const char *key, const char *text)
{
	sink_str(to, key);
	sink_line(to, text, strlen(text));
	sink_str(to, "\n");
}

/* A function's lines, under each file that they are of: cg_annotate adds the parts up. */
static void put_function(struct sink *to, const struct tare_codeprofile *p, const struct tare_codeprofile_function *f)
{
	uint32_t file = NONE;
	bool any = false;
	for (uint32_t i = f->lines; i < f->lines + f->n_lines; i++) {
		const struct tare_codeprofile_line *const l = &p->lines[i];
		if (!any || l->file != file) {
			put_line_of(to, "fl=", l->file == NONE ? "???" : p->files[l->file].path);
			put_line_of(to, "fn=", f->name);
		}
		any = true;
		file = l->file;
		put_number(to, l->line);
		put_counts(to, p, l->counts);
	}
}

int tare_codeprofile_export_cachegrind(const struct tare_codeprofile *p, const char *const *desc,
				       const struct tare_output *out, struct tare_why *why)
{
	struct sink to;
	if (!p || !out || !out->write)
		return why_set(why, TARE_E_INVALID, "no profile, or no output given");
	const int err = sink_open(&to, out->write, out->arg, why);
	if (err)
		return err;
	for (; desc && *desc; desc++)
		put_line_of(&to, "desc: ", *desc);
	put_line_of(&to, "desc: ", "Made by tare: exact counts");
	put_line_of(&to, "cmd: ", p->command);
	put_event_names(&to, p);
	for (size_t i = 0; i < p->n_functions; i++)
		put_function(&to, p, &p->functions[i]);
	sink_str(&to, "summary:");
	for (size_t e = 0; e < p->n_events; e++) {
		sink_str(&to, " ");
		put_number(&to, p->events[e].total);
	}
	sink_str(&to, "\n");
	return sink_close(&to, why);
}
