#include "disassembler.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef TARE_MODULES	/* meson.build gives the folder of this installation */
#define TARE_MODULES "/usr/local/lib/tare"
#endif

static disassembler_text_fn *text;
static disassembler_mnemonic_fn *mnemonic;

static void *load_from(const char *folder)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/" DISASSEMBLER_FILE, folder);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Beside the program, as it was built; else where it is installed. */
static void *load(void)
{
	char folder[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	void *module = NULL;
	if (n > 0) {
		folder[n] = '\0';
		*strrchr(folder, '/') = '\0';
		module = load_from(folder);
	}
	return module ? module : load_from(TARE_MODULES);
}

static void look(void)
{
	static bool looked;
	void *const module = looked ? NULL : load();
	looked = true;
	if (!module)
		return;
	*(void **)&text = dlsym(module, "tare_disassembler_text");
	*(void **)&mnemonic = dlsym(module, "tare_disassembler_mnemonic");
}

const char *disassemble(const uint8_t *bytes, size_t size, uint64_t address, char *out,
			size_t out_size)
{
	look();
	return text ? text(bytes, size, address, out, out_size) : NULL;
}

const char *disassemble_mnemonic(const uint8_t *bytes, size_t size)
{
	look();
	return mnemonic ? mnemonic(bytes, size) : NULL;
}
