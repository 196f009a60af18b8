#include <tare/codeprofile.h>

static const char *const kinds[] = { "file", "vdso", "jit", "anonymous", "unknown" };
static const char *const entries[] = { "root", "call", "tail", "signal", "thread", "recursion", "folded" };

const char *tare_codeprofile_object_kind_name(enum tare_codeprofile_object_kind k)
{
	return (size_t)k < sizeof(kinds) / sizeof(kinds[0]) ? kinds[k] : "unknown";
}

const char *tare_codeprofile_entry_name(enum tare_codeprofile_entry e)
{
	return (size_t)e < sizeof(entries) / sizeof(entries[0]) ? entries[e] : "unknown";
}
