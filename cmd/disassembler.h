/* Instructions as text, where Zydis was there when tare was built.
 *
 * Zydis is in a module of its own, which is loaded when text is asked for first: a plain `tare stat`
 * does not pay for it, and tare runs where Zydis is not installed. (modules.h)
 */
#ifndef CMD_DISASSEMBLER_H
#define CMD_DISASSEMBLER_H

#include <stddef.h>
#include <stdint.h>

/* "mov rax, qword ptr [rsp+0x08]" (AT&T's syntax: never). NULL: no disassembler, or no instruction.
 * The text is in `out`. */
const char *disassemble(const uint8_t *bytes, size_t size, uint64_t address, char *out,
			size_t out_size);
/* "mov"; NULL likewise. Static. */
const char *disassemble_mnemonic(const uint8_t *bytes, size_t size);

/* What the module has under that name; NULL: no module. */
void *disassembler_symbol(const char *name);

/* What the module has. */
#define DISASSEMBLER_FILE "tare-disassembler.so"
typedef const char *disassembler_text_fn(const uint8_t *bytes, size_t size, uint64_t address,
					 char *out, size_t out_size);
typedef const char *disassembler_mnemonic_fn(const uint8_t *bytes, size_t size);
disassembler_text_fn tare_disassembler_text;
disassembler_mnemonic_fn tare_disassembler_mnemonic;

#endif
