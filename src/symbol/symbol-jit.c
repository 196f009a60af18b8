/* Code that a process made itself, named by a perf map: /tmp/perf-PID.map, with lines of "START SIZE name"
 * (hexadecimal), as perf reads them. Node.js (--perf-basic-prof), Java agents, .NET, PyPy, LuaJIT and
 * Python 3.12 (-X perf) write such files.
 *
 * Code moves and memory is used again, so entries overlap: the last line about an address counts. PID is
 * the number in the process's own namespace, and /tmp is that of its own mount namespace: both are
 * followed while the process lives. When it has ended, only /tmp/perf-PID.map with the number that tare saw
 * is found. A map that is older than the run is of another process that had the number, and a map that
 * belongs neither to this user nor to root is not read, as perf does.
 */
#include "symbol-room.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Its number in its innermost namespace; `pid` where that is not known. */
static pid_t inner_pid(pid_t pid)
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *const f = fopen(path, "re");
	int inner = (int)pid;
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		for (char *word = strtok(line + 6, "\t \n"); word; word = strtok(NULL, "\t \n"))
			inner = atoi(word);
		break;
	}
	if (f)
		fclose(f);
	return inner;
}

bool jit_path(pid_t pid, char *out, size_t size)
{
	struct stat st;
	snprintf(out, size, "/proc/%d/root/tmp/perf-%d.map", (int)pid, (int)inner_pid(pid));
	if (stat(out, &st) == 0 && S_ISREG(st.st_mode))
		return true;
	snprintf(out, size, "/tmp/perf-%d.map", (int)pid);
	return stat(out, &st) == 0 && S_ISREG(st.st_mode);
}

/* In whole seconds. The kernel takes the time of a file from a clock that is up to a tick late: 10 ms where HZ is 100. */
#define CLOCK_LATE_NS 20000000

static bool is_older(const struct timespec *time, const struct timespec *since)
{
	return time->tv_sec < since->tv_sec - (since->tv_nsec < CLOCK_LATE_NS);
}

static FILE *open_map(struct symbol_object *o)
{
	char path[64];
	struct stat st;
	if (!jit_path(o->pid, path, sizeof(path)))
		return NULL;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0) {
		object_note(o, "%s: %s: no names", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0)) {
		object_note(o, "%s belongs to another user: no names", path);
	} else if (is_older(&st.st_mtim, &o->set->options.since)) {
		object_note(o, "%s is older than the run: no names", path);
	} else {
		return fdopen(fd, "re");
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static bool parse_entry(struct symbol_object *o, char *line, struct jit_entry *e)
{
	char *at;
	line[strcspn(line, "\n")] = '\0';
	errno = 0;
	const uint64_t start = strtoull(line, &at, 16);
	if (at == line || !isspace((unsigned char)*at))
		return false;
	char *name;
	const uint64_t size = strtoull(at, &name, 16);
	while (*name == ' ' || *name == '\t')
		name++;
	if (errno || !size || start + size < start || !*name)
		return false;
	const char *const text = store_text(&o->set->store, name, strlen(name));
	struct symbol_function *const f = text ? object_function(o, start, text) : NULL;
	if (!f)
		return false;
	f->name = text;
	f->named = true;
	f->size = size;
	*e = (struct jit_entry){ start, start + size, f };
	return true;
}

static bool read_entries(struct symbol_object *o, FILE *f, struct jit_entry **entries, size_t *n)
{
	char *line = NULL;
	size_t line_size = 0, cap = 0;
	bool ok = true;
	while (ok && getline(&line, &line_size, f) > 0) {
		if (*n == cap) {
			cap = cap ? 2 * cap : 256;
			struct jit_entry *const more = reallocarray(*entries, cap, sizeof(**entries));
			ok = more;
			*entries = more ? more : *entries;
		}
		*n += ok && parse_entry(o, line, &(*entries)[*n]);
	}
	free(line);
	return ok;
}

/* ---- overlapping entries to ranges, each of the last entry there ---- */

/* A boundary: an entry starts or ends there. */
struct edge {
	uint64_t at;
	size_t entry;
	bool starts;
};

static int edge_order(const void *a, const void *b)
{
	const struct edge *const e = a, *const f = b;
	return e->at < f->at ? -1 : e->at > f->at;
}

/* A heap of entries, the last in the file on top. Those that ended are removed when they get there. */
static void heap_push(size_t *heap, size_t *n, size_t value)
{
	size_t i = (*n)++;
	for (; i && heap[(i - 1) / 2] < value; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = value;
}

static void heap_pop(size_t *heap, size_t *n)
{
	const size_t value = heap[--*n];
	size_t i = 0;
	for (size_t child; (child = 2 * i + 1) < *n; i = child) {
		if (child + 1 < *n && heap[child + 1] > heap[child])
			child++;
		if (heap[child] <= value)
			break;
		heap[i] = heap[child];
	}
	heap[i] = value;
}

static void sweep(struct symbol_object *o, const struct jit_entry *entries, struct edge *edges, size_t n,
		  size_t *heap)
{
	size_t open = 0;
	for (size_t i = 0; i < n; i++) {
		if (edges[i].starts)
			heap_push(heap, &open, edges[i].entry);
		if (i + 1 == n || edges[i + 1].at == edges[i].at)
			continue;
		while (open && entries[heap[0]].end <= edges[i].at)
			heap_pop(heap, &open);
		if (open)
			o->jit[o->n_jit++] = (struct jit_entry){ edges[i].at, edges[i + 1].at,
				entries[heap[0]].function };
	}
}

static bool arrange(struct symbol_object *o, const struct jit_entry *entries, size_t n)
{
	struct edge *const edges = calloc(2 * n, sizeof(*edges));
	size_t *const heap = calloc(n, sizeof(*heap));
	o->jit = calloc(2 * n, sizeof(*o->jit));
	const bool ok = edges && heap && o->jit;
	for (size_t i = 0; ok && i < n; i++) {
		edges[2 * i] = (struct edge){ entries[i].start, i, true };
		edges[2 * i + 1] = (struct edge){ entries[i].end, i, false };
	}
	if (ok) {
		qsort(edges, 2 * n, sizeof(*edges), edge_order);
		sweep(o, entries, edges, 2 * n, heap);
	}
	free(edges);
	free(heap);
	return ok;
}

static bool read_map(struct symbol_object *o)
{
	struct jit_entry *entries = NULL;
	size_t n = 0;
	FILE *const f = open_map(o);
	o->jit_read = true;
	if (!f)
		return true;
	bool ok = read_entries(o, f, &entries, &n);
	fclose(f);
	ok = ok && (!n || arrange(o, entries, n));
	free(entries);
	return ok;
}

int jit_at(struct symbol_object *o, const uint64_t *addresses, size_t n, struct symbol_where *where,
	   struct tare_why *why)
{
	if (!o->jit_read && !read_map(o))
		return symbols_no_memory(why);
	for (size_t i = 0; i < n; i++) {
		size_t low = 0, high = o->n_jit;
		while (low < high) {		/* the first range that ends after the address */
			const size_t middle = low + (high - low) / 2;
			if (o->jit[middle].end <= addresses[i])
				low = middle + 1;
			else
				high = middle;
		}
		const bool found = low < o->n_jit && o->jit[low].start <= addresses[i];
		where[i].function = found ? o->jit[low].function : NULL;
		where[i].until = found ? o->jit[low].end : low < o->n_jit ? o->jit[low].start : UINT64_MAX;
	}
	return 0;
}
