/* Names of code. They can be had only while a process of the run is there: so the code of all states is named at
 * the last stop. */
#include "diverge-room.h"

#include <stdlib.h>
#include <string.h>

static struct named *find(const struct names *n, uint64_t address)
{
	for (size_t i = 0; i < n->n; i++)
		if (n->list[i].address == address)
			return &n->list[i];
	return NULL;
}

static void note(struct diverge *v, int side, const struct tare_stop *stop, uint64_t address)
{
	struct names *const n = &v->places[side];
	char text[1024];
	if (find(n, address))
		return;
	if (n->n == n->room) {
		const size_t room = n->room ? n->room * 2 : 64;
		struct named *const more = realloc(n->list, room * sizeof(*more));
		if (!more)
			return;
		n->list = more;
		n->room = room;
	}
	if (!tare_stop_place(v->names, stop, address, false, text, sizeof(text))[0])
		return;
	char *const copy = strdup(text);
	if (copy)
		n->list[n->n++] = (struct named){ address, copy };
}

void diverge_note_places(struct diverge *v, int side, const struct tare_stop *stop, const struct track *t)
{
	for (size_t i = 0; i < t->n; i++)
		note(v, side, stop, t->looks[i].pc);
}

const char *diverge_place(const struct diverge *v, int side, uint64_t address)
{
	const struct named *n = find(&v->places[side], address);
	if (!n && !v->o->aslr)
		n = find(&v->places[!side], address);
	return n ? n->text : "";
}

void diverge_places_free(struct diverge *v)
{
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < v->places[side].n; i++)
			free(v->places[side].list[i].text);
		free(v->places[side].list);
	}
}

#define MAX_FRAMES 32

void diverge_stack(struct diverge *v, const struct tare_stop *stop, struct tare_diverge_side *side)
{
	struct tare_stop_frame frames[MAX_FRAMES];
	const size_t n = tare_stop_backtrace(v->names, stop, frames, MAX_FRAMES);
	struct tare_diverge_place *const list = calloc(n + 1, sizeof(*list));
	if (!list)
		return;
	for (size_t i = 0; i < n; i++) {
		char text[1024];
		tare_stop_place(v->names, stop, frames[i].pc, frames[i].is_return, text, sizeof(text));
		list[i] = (struct tare_diverge_place){ frames[i].pc, diverge_text(v, "%s", text) };
	}
	free(side->frames);
	side->frames = list;
	side->n_frames = n;
}
