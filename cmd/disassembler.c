#include "disassembler.h"

#include "modules.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>

static void *module;
static disassembler_text_fn *text;
static disassembler_mnemonic_fn *mnemonic;

static void look(void)
{
	static bool looked;
	char path[PATH_MAX + 64];
	const char *const file = looked ? NULL : module_path(DISASSEMBLER_FILE, path, sizeof(path));
	if (file)
		module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	looked = true;
	if (!module)
		return;
	*(void **)&text = dlsym(module, "tare_disassembler_text");
	*(void **)&mnemonic = dlsym(module, "tare_disassembler_mnemonic");
}

void *disassembler_symbol(const char *name)
{
	look();
	return module ? dlsym(module, name) : NULL;
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
