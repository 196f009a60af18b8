/* The module of disassembler.h. */
#include "disassembler.h"

#include <stdbool.h>

#include <Zydis/Zydis.h>

#define EXPORTED __attribute__((visibility("default")))

static bool decode(const uint8_t *bytes, size_t size, ZydisDecodedInstruction *in,
		   ZydisDecodedOperand *operands)
{
	ZydisDecoder d;
	return ZYAN_SUCCESS(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, bytes, size, in, operands));
}

/* Numbers as objdump has them: small letters, no zeros in front. */
static bool open_formatter(ZydisFormatter *f)
{
	return ZYAN_SUCCESS(ZydisFormatterInit(f, ZYDIS_FORMATTER_STYLE_INTEL)) &&
	       ZYAN_SUCCESS(ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE)) &&
	       ZYAN_SUCCESS(ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
						      ZYDIS_PADDING_DISABLED)) &&
	       ZYAN_SUCCESS(ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_DISP_PADDING,
						      ZYDIS_PADDING_DISABLED)) &&
	       ZYAN_SUCCESS(ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_IMM_PADDING,
						      ZYDIS_PADDING_DISABLED));
}

EXPORTED const char *tare_disassembler_text(const uint8_t *bytes, size_t size, uint64_t address,
					    char *out, size_t out_size)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisFormatter f;
	if (!decode(bytes, size, &in, operands) ||
	    !open_formatter(&f) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&f, &in, operands,
							  in.operand_count_visible, out, out_size,
							  address, NULL)))
		return NULL;
	return out;
}

EXPORTED const char *tare_disassembler_mnemonic(const uint8_t *bytes, size_t size)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	return decode(bytes, size, &in, operands) ? ZydisMnemonicGetString(in.mnemonic) : NULL;
}
