/* Prints what src/symbol says about addresses, for the tests of this folder.
 *
 * usage: symbol-at [-r READER] [-d DEBUG-FOLDER] [-c CPU-SECONDS] [-m] [-n] [-p PID] [-b BUILD-ID] FILE < ADDRESSES
 *	  symbol-at [-r READER] … -P PID < ADDRESSES
 *
 * -P: the addresses are of a process that lives; each line begins with the object's path, its note, and the
 * address in the object. -b: the file is gone, and had this build-id.
 *
 * Addresses in hexadecimal, as FILE was linked ("[vdso]" and "" are files too, of process PID). -m: do not
 * demangle; -n: no lines. Fields, by tabs: address,
 * function, linkage name, start, size, "named" or "plt" or "bare", its file:line, the address's
 * file:line:column, inlined functions as name@file:line. At the end: "kind", the object's kind, build-id and
 * notes.
 */
#include "symbol.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const char *t)
{
	return t ? t : "?";
}

static void print(uint64_t address, const struct symbol_where *w)
{
	const struct symbol_function *const f = w->function;
	printf("%llx\t", (unsigned long long)address);
	if (f)
		printf("%s\t%s\t%llx\t%llu\t%s\t%s:%u\t", f->name, text(f->linkage),
		       (unsigned long long)f->start, (unsigned long long)f->size,
		       f->is_plt ? "plt" : f->named ? "named" : "bare", text(f->file), f->line);
	else
		printf("?\t?\t0\t0\tnone\t?:0\t");
	printf("%s:%u:%u\t", text(w->file), w->line, w->column);
	for (unsigned i = 0; i < w->n_inlines; i++)
		printf("%s%s@%s:%u", i ? "|" : "", w->inlines[i].name, text(w->inlines[i].call_file),
		       w->inlines[i].call_line);
	putchar('\n');
}

static int of_process(struct symbols *s, pid_t pid)
{
	unsigned long long value;
	while (scanf("%llx", &value) == 1) {
		struct symbol_object *o;
		struct symbol_where w;
		uint64_t at;
		if (symbol_of_process(s, pid, value, &o, &at, &w, NULL) != 0)
			return 3;
		printf("%s\t%s\t", o ? symbol_object_path(o) : "?", text(o ? symbol_object_note(o) : NULL));
		print(at, &w);
	}
	symbols_free(s);
	return 0;
}

static size_t parse_hex(const char *hex, uint8_t *out, size_t size)
{
	size_t n = 0;
	unsigned byte;
	for (; n < size && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
		out[n] = (uint8_t)byte;
	return n;
}

int main(int argc, char **argv)
{
	struct symbols_options options = { 0 };
	struct tare_why why;
	pid_t pid = 0, process = 0;
	uint8_t id[64];
	struct symbol_hints hints = { .build_id = id };
	for (int c; (c = getopt(argc, argv, "r:d:c:imnp:P:b:")) != -1;) {
		switch (c) {
		case 'r': options.reader = optarg; break;
		case 'd': options.debug_folder = optarg; break;
		case 'c': options.cpu_seconds = (unsigned)atoi(optarg); break;
		case 'i': options.no_inlines = true; break;
		case 'm': options.no_demangle = true; break;
		case 'n': options.no_lines = true; break;
		case 'p': pid = atoi(optarg); break;
		case 'P': process = atoi(optarg); break;
		case 'b': hints.build_id_size = parse_hex(optarg, id, sizeof(id)); break;
		default: return 2;
		}
	}
	struct symbols *const s = symbols_new(&options, &why);
	if (process)
		return of_process(s, process);
	char *const real = realpath(argv[optind], NULL);
	const struct tare_code_map map = { .end = UINT64_MAX, .path = real ? real : argv[optind],
		.deleted = hints.build_id_size != 0 };
	struct symbol_object *const o = s ? symbols_object(s, &map, pid, &hints, &why) : NULL;
	size_t n = 0, cap = 0;
	uint64_t *addresses = NULL;
	unsigned long long value;
	while (scanf("%llx", &value) == 1) {
		if (n == cap)
			addresses = reallocarray(addresses, cap = cap ? 2 * cap : 1024, sizeof(*addresses));
		if (!addresses)
			return 3;
		addresses[n++] = value;
	}
	struct symbol_where *const where = calloc(n + 1, sizeof(*where));
	if (!o || !where || symbols_at(o, addresses, n, where, &why) != 0)
		return 3;
	for (size_t i = 0; i < n; i++)
		print(addresses[i], &where[i]);
	printf("kind\t%d\t%s\t%s\t%s\n", symbol_object_kind(o), symbol_object_build_id(o),
	       text(symbol_object_note(o)), text(symbols_note(s)));
	free(real);
	free(addresses);
	free(where);
	symbols_free(s);
	return 0;
}
