/* What an instruction reads and writes: addresses and sizes of vector operands, whose short displacements count in
 * units of the operand (EVEX). */
#include "flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define RDI 0x10000u
#define RSI 0x20000u

static const struct {
	const char *text;
	uint8_t bytes[16];
	bool writes;
	uint64_t address;
	uint8_t size;
	int vector;			/* written; -1: none */
	uint32_t read;			/* vectors, of those that matter */
} cases[] = {
	{ "vmovdqu64 %zmm17, 0x40(%rdi)", { 0x62, 0xe1, 0xfe, 0x48, 0x7f, 0x4f, 1 }, true, RDI + 0x40, 64, -1, 1u << 17 },
	{ "vmovdqu64 %zmm18, -0x40(%rdi)", { 0x62, 0xe1, 0xfe, 0x48, 0x7f, 0x57, 0xff }, true, RDI - 0x40, 64, -1, 1u << 18 },
	{ "vmovdqu64 %ymm16, 0x20(%rdi)", { 0x62, 0xe1, 0xfe, 0x28, 0x7f, 0x47, 1 }, true, RDI + 0x20, 32, -1, 1u << 16 },
	{ "vmovdqu64 0x40(%rsi), %zmm17", { 0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x4e, 1 }, false, RSI + 0x40, 64, 17, 0 },
	{ "vmovss %xmm16, 4(%rdi)", { 0x62, 0xe1, 0x7e, 0x08, 0x11, 0x47, 1 }, true, RDI + 4, 4, -1, 1u << 16 },
	{ "vmovsd %xmm16, 8(%rdi)", { 0x62, 0xe1, 0xff, 0x08, 0x11, 0x47, 1 }, true, RDI + 8, 8, -1, 1u << 16 },
	{ "vmovq %xmm16, 8(%rdi)", { 0x62, 0xe1, 0xfd, 0x08, 0xd6, 0x47, 1 }, true, RDI + 8, 8, -1, 1u << 16 },
	{ "vpmovqb %zmm1, 8(%rdi)", { 0x62, 0xf2, 0x7e, 0x48, 0x32, 0x4f, 1 }, true, RDI + 8, 8, 1, 1u << 1 },
	{ "vpmovwb %zmm1, 0x20(%rdi)", { 0x62, 0xf2, 0x7e, 0x48, 0x30, 0x4f, 1 }, true, RDI + 0x20, 32, 1, 1u << 1 },
	{ "vextracti64x4 $1, %zmm1, 0x20(%rdi)", { 0x62, 0xf3, 0xfd, 0x48, 0x3b, 0x4f, 1, 1 }, true, RDI + 0x20, 32, 1, 1u << 1 },
	{ "vpaddd 4(%rsi){1to16}, %zmm1, %zmm2", { 0x62, 0xf1, 0x75, 0x58, 0xfe, 0x56, 1 }, false, RSI + 4, 4, 2, 1u << 1 },
	{ "vpaddq %zmm20, %zmm21, %zmm22", { 0x62, 0xa1, 0xd5, 0x40, 0xd4, 0xf4 }, false, 0, 0, 22, 1u << 20 | 1u << 21 },
	{ "vmovdqu %ymm1, 0x20(%rdi)", { 0xc5, 0xfe, 0x7f, 0x4f, 0x20 }, true, RDI + 0x20, 32, -1, 1u << 1 },
	{ "movups %xmm1, 0x10(%rdi)", { 0x0f, 0x11, 0x4f, 0x10 }, true, RDI + 0x10, 16, -1, 1u << 1 },
	{ "movss %xmm1, 4(%rdi)", { 0xf3, 0x0f, 0x11, 0x4f, 4 }, true, RDI + 4, 4, -1, 1u << 1 },
	{ "movsd 8(%rsi), %xmm1", { 0xf2, 0x0f, 0x10, 0x4e, 8 }, false, RSI + 8, 8, 1, 0 },
};

static void vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t r[STATE_REGISTERS] = { [STATE_RDI] = RDI, [STATE_RSI] = RSI };
		struct flow f;
		diverge_flow(&f, cases[i].bytes, sizeof(cases[i].bytes), r);
		print_message("%s\n", cases[i].text);
		assert_true(f.size > 3);
		assert_int_equal(f.n_writes, cases[i].size && cases[i].writes);
		assert_int_equal(f.n_reads, cases[i].size && !cases[i].writes);
		const struct flow_memory *const m = cases[i].writes ? f.writes : f.reads;
		if (cases[i].size) {
			assert_int_equal(m->address, cases[i].address);
			assert_int_equal(m->size, cases[i].size);
		}
		if (!cases[i].writes)
			assert_int_equal(f.vector_written, cases[i].vector);
		assert_int_equal(f.vectors_read & cases[i].read, cases[i].read);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(vectors) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
