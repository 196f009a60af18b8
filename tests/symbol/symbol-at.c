/* Prints what src/symbol says about addresses, for the tests of this folder.
 *
 * usage: symbol-at [-r READER] [-d DEBUG-FOLDER] [-c CPU-SECONDS] [-m] [-n] [-p PID] FILE < ADDRESSES
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

int main(int argc, char **argv)
{
	struct symbols_options options = { 0 };
	struct tare_why why;
	pid_t pid = 0;
	for (int c; (c = getopt(argc, argv, "r:d:c:mnp:")) != -1;) {
		switch (c) {
		case 'r': options.reader = optarg; break;
		case 'd': options.debug_folder = optarg; break;
		case 'c': options.cpu_seconds = (unsigned)atoi(optarg); break;
		case 'm': options.no_demangle = true; break;
		case 'n': options.no_lines = true; break;
		case 'p': pid = atoi(optarg); break;
		default: return 2;
		}
	}
	char *const real = realpath(argv[optind], NULL);
	const struct tare_code_map map = { .end = UINT64_MAX, .path = real ? real : argv[optind] };
	struct symbols *const s = symbols_new(&options, &why);
	struct symbol_object *const o = s ? symbols_object(s, &map, pid, NULL, &why) : NULL;
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
