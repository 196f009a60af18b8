/* Functions that switch counting, found by name in the files that a process has mapped. The functions of a
 * file are looked at once, whatever process asks. */
#include <tare/codeprofile.h>

#include "symbol.h"
#include "why.h"

#include <stdlib.h>

/* The functions of an object that are watched, by address. */
struct watched_object {
	const struct symbol_object *object;
	struct tare_watched *functions;
	size_t n, cap;
};

struct tare_watch_names {
	struct tare_watch watch;
	unsigned (*what)(const char *name, const char *linkage, void *arg);
	void *arg;
	struct symbols *symbols;
	struct watched_object *objects;
	size_t n_objects;
	const char **names;		/* by number */
	unsigned n_names;
	size_t names_cap;
	struct watched_object *reads;	/* the one whose functions are looked at */
};

/* Room for one more; false: no memory. */
static bool has_room(void **array, size_t n, size_t *cap, size_t element)
{
	if (n < *cap)
		return true;
	const size_t more = *cap ? 2 * *cap : 64;
	void *const larger = reallocarray(*array, more, element);
	if (!larger)
		return false;
	*array = larger;
	*cap = more;
	return true;
}

static void look_at(const struct symbol_function *f, void *arg)
{
	struct tare_watch_names *const n = arg;
	struct watched_object *const o = n->reads;
	const unsigned what = n->what(f->name, f->linkage, n->arg);
	if (!what || !has_room((void **)&o->functions, o->n, &o->cap, sizeof(*o->functions)) ||
	    !has_room((void **)&n->names, n->n_names, &n->names_cap, sizeof(*n->names)))
		return;
	o->functions[o->n++] = (struct tare_watched){ f->start, what, n->n_names };
	n->names[n->n_names++] = f->name;
}

static int by_address(const void *a, const void *b)
{
	const struct tare_watched *const f = a, *const g = b;
	return f->address < g->address ? -1 : f->address > g->address;
}

/* NULL: no memory. */
static const struct watched_object *functions_of(struct tare_watch_names *n, struct symbol_object *object)
{
	for (size_t i = 0; i < n->n_objects; i++)
		if (n->objects[i].object == object)
			return &n->objects[i];
	struct watched_object *const more = reallocarray(n->objects, n->n_objects + 1, sizeof(*more));
	if (!more)
		return NULL;
	n->objects = more;
	struct watched_object *const o = &more[n->n_objects++];
	*o = (struct watched_object){ .object = object };
	n->reads = o;
	symbols_each(object, look_at, n, NULL);
	if (o->n)
		qsort(o->functions, o->n, sizeof(*o->functions), by_address);
	return o;
}

static bool next(pid_t pid, uint64_t end, struct tare_watched *w, void *arg)
{
	struct tare_watch_names *const n = arg;
	struct symbol_object *object;
	struct symbol_where ignored;
	uint64_t at;
	if (symbol_of_process(n->symbols, pid, w->address, &object, &at, &ignored, NULL) < 0 || !object)
		return false;
	const struct watched_object *const o = functions_of(n, object);
	const uint64_t bias = w->address - at;
	for (size_t i = 0; o && i < o->n; i++) {
		if (o->functions[i].address < at)
			continue;
		*w = o->functions[i];
		w->address += bias;
		return w->address < end;
	}
	return false;
}

static const char *name(unsigned number, void *arg)
{
	const struct tare_watch_names *const n = arg;
	return number < n->n_names ? n->names[number] : "";
}

int tare_watch_names_new(unsigned (*what)(const char *name, const char *linkage, void *arg), void *arg,
			 struct tare_watch_names **names, struct tare_why *why)
{
	if (!what || !names)
		return why_set(why, TARE_E_INVALID, "tare_watch_names_new: no function, or no place for the names");
	struct tare_watch_names *const n = *names = calloc(1, sizeof(*n));
	if (!n)
		return why_set(why, TARE_E_NOMEM, "names of functions");
	n->what = what;
	n->arg = arg;
	n->watch = (struct tare_watch){ .next = next, .name = name, .arg = n };
	n->symbols = symbols_new(&(struct symbols_options){ .no_lines = true }, why);
	if (n->symbols)
		return 0;
	tare_watch_names_free(n);
	*names = NULL;
	return TARE_E_NOMEM;
}

const struct tare_watch *tare_watch_names_watch(const struct tare_watch_names *n)
{
	return n ? &n->watch : NULL;
}

const char *tare_watch_names_note(const struct tare_watch_names *n)
{
	return n ? symbols_note(n->symbols) : NULL;
}

void tare_watch_names_free(struct tare_watch_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n_objects; i++)
		free(n->objects[i].functions);
	free(n->objects);
	free(n->names);
	symbols_free(n->symbols);
	free(n);
}
