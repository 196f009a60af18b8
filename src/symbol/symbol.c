#include "symbol-room.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DEBUG_FOLDER "/usr/lib/debug"
#define CPU_SECONDS 120

struct symbols *symbols_new(const struct symbols_options *o, struct tare_why *why)
{
	struct symbols *const s = calloc(1, sizeof(*s));
	if (!s) {
		symbols_no_memory(why);
		return NULL;
	}
	s->link = -1;
	if (o)
		s->options = *o;
	if (!s->options.cpu_seconds)
		s->options.cpu_seconds = CPU_SECONDS;
	s->options.debug_folder = store_text(&s->store, o && o->debug_folder ? o->debug_folder : DEBUG_FOLDER,
					     PATH_MAX);
	if (o && o->reader)
		s->options.reader = store_text(&s->store, o->reader, PATH_MAX);
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	link_close(s);
	for (struct symbol_object *o = s->objects; o; o = o->next) {
		if (o->fd >= 0)
			close(o->fd);
		free(o->functions);
		free(o->jit);
	}
	store_free(&s->store);
	free(s);
}

const char *symbols_note(const struct symbols *s)
{
	return s->note;
}

int symbols_at(struct symbol_object *o, const uint64_t *addresses, size_t n, struct symbol_where *where,
	       struct tare_why *why)
{
	memset(where, 0, n * sizeof(*where));
	if (o->kind == SYMBOL_JIT)
		return jit_at(o, addresses, n, where, why);
	if (o->kind == SYMBOL_OTHER)
		return 0;
	if (o->trust == TRUST_DOUBT || o->trust == TRUST_NO) {
		o->trust = TRUST_NO;
		object_note(o, "%s was replaced or changed after the run began: no names", o->path);
		return 0;
	}
	return link_ask(o, addresses, n, where, why);
}

#define AT_ONCE 4096

int symbols_each(struct symbol_object *o, void (*what)(const struct symbol_function *f, void *arg), void *arg,
		 struct tare_why *why)
{
	size_t n = 0;
	int result = 0;
	const bool is_file = (o->kind == SYMBOL_FILE || o->kind == SYMBOL_VDSO) &&
			     o->trust != TRUST_DOUBT && o->trust != TRUST_NO;
	uint64_t *const starts = is_file ? link_starts(o, &n) : NULL;
	struct symbol_where *const where = calloc(AT_ONCE, sizeof(*where));
	for (size_t at = 0; at < n && where && !result; at += AT_ONCE) {
		const size_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
		result = symbols_at(o, starts + at, some, where, why);
		for (size_t i = 0; i < some && !result; i++)
			if (where[i].function && where[i].function->named && where[i].function->start == starts[at + i])
				what(where[i].function, arg);
	}
	if (!where)
		result = symbols_no_memory(why);
	free(where);
	free(starts);
	return result;
}

int symbol_at(struct symbol_object *o, uint64_t address, struct symbol_where *where, struct tare_why *why)
{
	return symbols_at(o, &address, 1, where, why);
}

/* ---- a process that lives ---- */

/* 7f00-7f10 r-xp 00001000 fe:01 12345   /usr/lib/x.so (deleted) */
static bool parse_map(char *line, struct tare_code_map *map)
{
	static const char deleted[] = " (deleted)";
	unsigned long long start, end, offset, inode;
	int path = 0;
	*map = (struct tare_code_map){ 0 };
	if (sscanf(line, "%llx-%llx %*s %llx %x:%x %llu %n", &start, &end, &offset, &map->dev_major,
		   &map->dev_minor, &inode, &path) < 6)
		return false;
	line[strcspn(line, "\n")] = '\0';
	map->start = start;
	map->end = end;
	map->offset = offset;
	map->inode = inode;
	map->path = line + path;
	const size_t n = strlen(map->path), m = sizeof(deleted) - 1;
	if (map->path[0] == '/' && n > m && !strcmp(map->path + n - m, deleted)) {
		line[(size_t)path + n - m] = '\0';
		map->deleted = true;
	}
	return true;
}

/* The object that is mapped there; NULL: none is, or no memory. */
static int object_of_process(struct symbols *s, pid_t pid, uint64_t address, struct symbol_object **object,
			     uint64_t *at, struct tare_why *why)
{
	char name[64], *line = NULL;
	size_t size = 0;
	struct tare_code_map map;
	int result = 0;
	*object = NULL;
	*at = address;
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	FILE *const maps = fopen(name, "re");
	while (maps && getline(&line, &size, maps) > 0) {
		if (!parse_map(line, &map) || address < map.start || address >= map.end)
			continue;
		*object = symbols_object(s, &map, pid, NULL, why);
		if (*object)
			*at = symbol_address(*object, &map, address);
		else
			result = TARE_E_NOMEM;
		break;
	}
	free(line);
	if (maps)
		fclose(maps);
	return result;
}

int symbol_of_process(struct symbols *s, pid_t pid, uint64_t address, struct symbol_object **object,
		      uint64_t *at, struct symbol_where *where, struct tare_why *why)
{
	*where = (struct symbol_where){ 0 };
	const int err = object_of_process(s, pid, address, object, at, why);
	return err || !*object ? err : symbol_at(*object, *at, where, why);
}

bool symbol_unwind_of_process(struct symbols *s, pid_t pid, uint64_t address, struct unwind_row *row)
{
	struct symbol_object *o;
	uint64_t at;
	if (object_of_process(s, pid, address, &o, &at, NULL) || !o)
		return false;
	return (o->kind == SYMBOL_FILE || o->kind == SYMBOL_VDSO) && link_unwind(o, at, row);
}
