/* Names of addresses of a stopped process (tare/stop.h). */
#include "stop-names.h"
#include "why.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int tare_stop_names_open(struct tare_stop_names **names, struct tare_why *why)
{
	if (!names)
		return why_set(why, TARE_E_INVALID, "no place for the names");
	*names = calloc(1, sizeof(**names));
	if (!*names)
		return why_set(why, TARE_E_NOMEM, "names of code");
	(*names)->symbols = symbols_new(NULL, why);
	if ((*names)->symbols)
		return 0;
	free(*names);
	*names = NULL;
	return TARE_E_NOMEM;
}

void tare_stop_names_close(struct tare_stop_names *names)
{
	if (!names)
		return;
	symbols_free(names->symbols);
	free(names);
}

const char *tare_stop_names_note(const struct tare_stop_names *names)
{
	return names ? symbols_note(names->symbols) : NULL;
}

/* "work+0x19 (h.c:6), h+0x11a2", or as much of it as is known. */
static void describe(const struct symbol_object *o, uint64_t at, uint64_t shift,
		     const struct symbol_where *w, char *text, size_t size)
{
	const struct symbol_function *const f = w->function;
	const uint64_t offset = f ? at + shift - f->start : 0;
	int n = 0;
	if (f && f->named)
		n = snprintf(text, size, "%s+0x%" PRIx64 "%s", f->name, offset, w->file ? "" : ", ");
	if (f && f->named && w->file && n >= 0 && (size_t)n < size)
		n += snprintf(text + n, size - (size_t)n, " (%s:%u), ", w->file, w->line);
	if (n >= 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, "%s+0x%" PRIx64, symbol_object_name(o), at + shift);
}

const char *tare_stop_place(struct tare_stop_names *names, const struct tare_stop *stop,
			    uint64_t address, bool is_return, char *text, size_t size)
{
	struct symbol_object *o;
	struct symbol_where where;
	uint64_t at;
	if (!text || !size)
		return "";
	text[0] = '\0';
	/* the call before a return address may be the last instruction of its function */
	const uint64_t shift = is_return;
	if (names && stop &&
	    symbol_of_process(names->symbols, stop->pid, address - shift, &o, &at, &where, NULL) == 0 && o)
		describe(o, at, shift, &where, text, size);
	return text;
}
