/* The forms of the generated kernels (src/known/generated.h) that this CPU runs, one on each line: encoding (0, vex,
 * evex), map, opcode, middle field of the ModRM byte, and the opcode's name. */
#include "decode.h"
#include "generated.h"
#include "why.h"

#include <tare/code.h>

#include <stdio.h>

int main(void)
{
	static const char *const encodings[] = { "0", "vex", "vex", "evex", "xop" };
	struct generated g;
	struct tare_why why = { 0 };
	if (generated_open(0, &g, &why) < 0) {
		fprintf(stderr, "generated-forms: %s\n", why.what);
		return 1;
	}
	for (size_t i = 0; i < g.n_forms; i++) {
		const struct generated_form *const f = &g.forms[i];
		struct insn in;
		char name[32];
		decode_insn(&in, f->bytes, f->size);
		printf("%s %u %02x %u %s\n", encodings[in.encoding], in.map, in.opcode,
		       in.has_modrm ? in.modrm >> 3 & 7u : 0,
		       tare_code_opcode_name(f->bytes, f->size, name, sizeof(name)));
	}
	generated_close(&g);
	return 0;
}
