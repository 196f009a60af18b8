/* The modules of tare: shared objects and programs that are loaded or started only when they are wanted,
 * so that tare works where what they need is not installed. */
#ifndef BASE_MODULES_H
#define BASE_MODULES_H

#include <stddef.h>

/* The file of a module ("tare-disassembler.so"): beside the program or the shared library that this
 * function is in, as they were built; else where modules are installed. NULL: there is none. The path
 * is in `out`. */
const char *module_path(const char *file, char *out, size_t size);

#endif
