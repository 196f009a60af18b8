/* The modules of tare: shared objects that are loaded only when they are wanted. */
#ifndef CMD_MODULES_H
#define CMD_MODULES_H

#include <stddef.h>

/* The file of a module ("tare-disassembler.so"): beside the program, as it was built, else where it is
 * installed. NULL: there is none. The path is in `out`. */
const char *module_path(const char *file, char *out, size_t size);

#endif
