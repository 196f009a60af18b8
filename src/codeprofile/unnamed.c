/* The interface of the room symbol without names, until that room is there. */
#include "symbol.h"

#include <stdlib.h>
#include <string.h>

struct symbol_object {
	struct symbol_object *next;
	enum symbol_kind kind;
	char path[];
};

struct symbols {
	struct symbol_object *first;
};

struct symbols *symbols_new(const struct symbols_options *o, struct tare_why *why)
{
	return calloc(1, sizeof(struct symbols));
}

void symbols_free(struct symbols *s)
{
	for (struct symbol_object *o = s ? s->first : NULL, *next; o; o = next) {
		next = o->next;
		free(o);
	}
	free(s);
}

const char *symbols_note(const struct symbols *s)
{
	return "this version reads no symbols";
}

struct symbol_object *symbols_object(struct symbols *s, const struct tare_code_map *map, pid_t pid,
				     const struct symbol_hints *hints, struct tare_why *why)
{
	const char *const path = *map->path ? map->path : "[jit]";
	for (struct symbol_object *o = s->first; o; o = o->next)
		if (!strcmp(o->path, path))
			return o;
	struct symbol_object *const o = malloc(sizeof(*o) + strlen(path) + 1);
	if (!o)
		return NULL;
	*o = (struct symbol_object){ .next = s->first, .kind = map->inode ? SYMBOL_FILE :
				     !strcmp(path, "[vdso]") ? SYMBOL_VDSO : SYMBOL_JIT };
	strcpy(o->path, path);
	s->first = o;
	return o;
}

enum symbol_kind symbol_object_kind(const struct symbol_object *o)
{
	return o->kind;
}

const char *symbol_object_path(const struct symbol_object *o)
{
	return o->path;
}

const char *symbol_object_build_id(const struct symbol_object *o)
{
	return "";
}

const char *symbol_object_note(const struct symbol_object *o)
{
	return NULL;
}

uint64_t symbol_address(struct symbol_object *o, const struct tare_code_map *map, uint64_t address)
{
	return o->kind == SYMBOL_JIT ? address : address - map->start + map->offset;
}

void symbol_check(struct symbol_object *o, uint64_t address, const uint8_t *bytes, size_t size)
{
}

int symbols_at(struct symbol_object *o, const uint64_t *addresses, size_t n, struct symbol_where *where,
	       struct tare_why *why)
{
	return 0;
}
