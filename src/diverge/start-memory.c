/* What the kernel puts on the stack of a new program: its arguments, its environment, and the auxiliary vector. */
#include "diverge-room.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST (4u << 20)

struct image {			/* the stack of a side, from rsp on */
	uint64_t at;
	size_t size;
	uint8_t *bytes;
	size_t argc, n_env, n_aux;
	uint64_t env, aux;	/* addresses of their arrays */
};

static uint64_t word(const struct image *im, uint64_t address)
{
	uint64_t w = 0;
	if (address >= im->at && address + 8 <= im->at + im->size)
		memcpy(&w, im->bytes + (address - im->at), 8);
	return w;
}

static const char *string(const struct image *im, uint64_t address)
{
	if (address < im->at || address >= im->at + im->size)
		return "";
	const char *const s = (const char *)im->bytes + (address - im->at);
	return memchr(s, 0, im->at + im->size - address) ? s : "";
}

static void parse(struct image *im)
{
	uint64_t at = im->at;
	im->argc = word(im, at);
	if (im->argc > im->size / 8)
		im->argc = 0;
	at += 8 + im->argc * 8 + 8;
	im->env = at;
	while (word(im, at)) {
		im->n_env++;
		at += 8;
	}
	im->aux = at + 8;
	while (word(im, im->aux + im->n_aux * 16) != AT_NULL)
		im->n_aux++;
}

static void take(const struct tare_stop *s, int side, void *arg)
{
	struct image *const im = (struct image *)arg + side;
	for (size_t i = 0; i < s->n_registers; i++)
		if (strcmp(s->registers[i].name, "rsp") == 0)
			im->at = s->registers[i].value;
	im->bytes = calloc(1, MOST);
	im->size = im->bytes ? tare_stop_read(s, im->at, im->bytes, MOST - 1) : 0;
	parse(im);
}

/* ---- what lies at an address ---- */

static bool in_strings(const struct image *im, uint64_t array, size_t n, uint64_t address, const char **found)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t at = word(im, array + i * 8);
		*found = string(im, at);
		if (address >= at && address <= at + strlen(*found))
			return true;
	}
	return false;
}

static void auxiliary(const struct image *im, uint64_t address, struct brought *b)
{
	static const struct { uint64_t type; const char *name; enum tare_diverge_cause cause; } kinds[] = {
		{ AT_SYSINFO_EHDR, "AT_SYSINFO_EHDR", TARE_DIVERGE_BY_ADDRESS }, { AT_BASE, "AT_BASE", TARE_DIVERGE_BY_ADDRESS },
		{ AT_PHDR, "AT_PHDR", TARE_DIVERGE_BY_ADDRESS }, { AT_ENTRY, "AT_ENTRY", TARE_DIVERGE_BY_ADDRESS },
		{ AT_RANDOM, "AT_RANDOM", TARE_DIVERGE_BY_ADDRESS }, { AT_EXECFN, "AT_EXECFN", TARE_DIVERGE_BY_ADDRESS },
		{ AT_HWCAP, "AT_HWCAP", TARE_DIVERGE_BY_CPU }, { AT_HWCAP2, "AT_HWCAP2", TARE_DIVERGE_BY_CPU },
		{ AT_MINSIGSTKSZ, "AT_MINSIGSTKSZ", TARE_DIVERGE_BY_CPU }, { AT_PLATFORM, "AT_PLATFORM", TARE_DIVERGE_BY_CPU },
	};
	const uint64_t type = word(im, im->aux + (address - im->aux) / 16 * 16);
	char number[32];
	const char *name = number;
	snprintf(number, sizeof(number), "the entry of type %" PRIu64, type);
	b->cause = TARE_DIVERGE_BY_OUTSIDE;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].type == type) {
			name = kinds[i].name;
			b->cause = kinds[i].cause;
		}
	snprintf(b->text, sizeof(b->text), "the auxiliary vector that the kernel gives a new program: %s", name);
}

static uint64_t random_bytes(const struct image *im)
{
	for (size_t i = 0; i < im->n_aux; i++)
		if (word(im, im->aux + i * 16) == AT_RANDOM)
			return word(im, im->aux + i * 16 + 8);
	return 0;
}

static void name_of(const char *variable, char *out, size_t size)
{
	snprintf(out, size, "%.*s", (int)strcspn(variable, "="), variable);
}

static void on_stack(const struct image *im, uint64_t address, struct brought *b)
{
	const char *text;
	const uint64_t random = random_bytes(im);
	if (random && address >= random && address < random + 16) {
		b->cause = TARE_DIVERGE_BY_RANDOM;
		snprintf(b->text, sizeof(b->text), "the 16 random bytes that the kernel gives each new program (AT_RANDOM)");
	} else if (address >= im->aux && address < im->aux + im->n_aux * 16) {
		auxiliary(im, address, b);
	} else if (address >= im->env && address < im->env + im->n_env * 8) {
		b->cause = TARE_DIVERGE_BY_ENVIRONMENT;
		snprintf(b->text, sizeof(b->text), "the addresses of the environment variables, which lie on the stack");
	} else if (address > im->at && address < im->at + 8 + im->argc * 8) {
		b->cause = TARE_DIVERGE_BY_ARGUMENTS;
		snprintf(b->text, sizeof(b->text), "the addresses of the arguments, which lie on the stack");
	} else if (in_strings(im, im->env, im->n_env, address, &text)) {
		char name[128];
		name_of(text, name, sizeof(name));
		b->cause = TARE_DIVERGE_BY_ENVIRONMENT;
		snprintf(b->text, sizeof(b->text), "the environment variable %s", name);
	} else if (in_strings(im, im->at + 8, im->argc, address, &text)) {
		b->cause = TARE_DIVERGE_BY_ARGUMENTS;
		snprintf(b->text, sizeof(b->text), "the argument \"%.100s\"", text);
	} else {
		b->cause = TARE_DIVERGE_BY_OUTSIDE;
		snprintf(b->text, sizeof(b->text), "memory that was there when the program began, at 0x%" PRIx64, address);
	}
}

/* ---- another size of what lies on the stack ---- */

static size_t bytes_of(const struct image *im, uint64_t array, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += strlen(string(im, word(im, array + i * 8))) + 1;
	return sum;
}

/* A variable that one side has and the other one has not, or with another value. */
static const char *odd_variable(const struct image *a, const struct image *b)
{
	for (size_t i = 0; i < a->n_env; i++) {
		const char *const mine = string(a, word(a, a->env + i * 8));
		bool there = false;
		for (size_t k = 0; k < b->n_env && !there; k++)
			there = strcmp(mine, string(b, word(b, b->env + k * 8))) == 0;
		if (!there)
			return mine;
	}
	return NULL;
}

static void moved(const struct image im[2], struct brought *b)
{
	const size_t env[2] = { bytes_of(&im[0], im[0].env, im[0].n_env), bytes_of(&im[1], im[1].env, im[1].n_env) };
	const size_t arg[2] = { bytes_of(&im[0], im[0].at + 8, im[0].argc), bytes_of(&im[1], im[1].at + 8, im[1].argc) };
	const char *odd = odd_variable(&im[0], &im[1]);
	if (!odd)
		odd = odd_variable(&im[1], &im[0]);
	if (odd) {
		char name[128];
		name_of(odd, name, sizeof(name));
		b->cause = TARE_DIVERGE_BY_ENVIRONMENT;
		snprintf(b->text, sizeof(b->text), "the environment, which has %zu variables in %zu bytes in one run and %zu in "
			 "%zu in the other (%s differs): it lies on the stack, and moves what is below it",
			 im[0].n_env, env[0], im[1].n_env, env[1], name);
	} else if (arg[0] != arg[1]) {
		b->cause = TARE_DIVERGE_BY_ARGUMENTS;
		snprintf(b->text, sizeof(b->text), "the arguments, which have %zu bytes in one run and %zu in the other",
			 arg[0], arg[1]);
	} else {
		b->cause = TARE_DIVERGE_BY_ADDRESS;
		snprintf(b->text, sizeof(b->text), "the address of the stack, 0x%" PRIx64 " in one run and 0x%" PRIx64
			 " in the other", im[0].at, im[1].at);
	}
}

int diverge_start_memory(struct diverge *v, uint32_t task, const struct flow_memory *m, struct brought *b,
			 uint64_t *apart)
{
	struct image im[2] = { { 0 } };
	struct pair p;
	const struct probe_request r = { .first = 1, .every = 1, .until = 1, .task = task, .at_end = take, .arg = im };
	const int err = diverge_pair_run(v, r, &p);
	if (err)
		return err;
	diverge_pair_free(&p);
	if (apart)
		*apart = im[0].at - im[1].at;
	if (!im[0].bytes || !im[1].bytes)	/* the time for the search is over */
		*b = (struct brought){ .text = "one of two further runs did not come to the start of this program" };
	else if (!m || im[0].at != im[1].at)
		moved(im, b);
	else
		on_stack(&im[0], m->address, b);
	free(im[0].bytes);
	free(im[1].bytes);
	return 0;
}
