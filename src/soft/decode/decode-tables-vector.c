/* The sparse opcode maps, made of the list in decode-tables-vector.h. */
#include "decode-tables.h"

#define FP CLASS_FP
#define INT CLASS_SIMD_INT
#define MMX CLASS_MMX
#define ST CLASS_STORE
#define IB A_IMM(I_8)

#define XR (A_MODRM | A_RM_R | A_RM_X)
#define XW (A_MODRM | A_RM_W | A_RM_X)
#define XRW (A_MODRM | A_RM_R | A_RM_W | A_RM_X)
#define GR (A_MODRM | A_RM_R)
#define GW (A_MODRM | A_RM_W)
#define GRW (A_MODRM | A_RM_R | A_RM_W)

#define WIG (C_W0 | C_W1)
#define L01 (C_L0 | C_L1)
#define L12 (C_L1 | C_L2)
#define L012 (C_L0 | C_L1 | C_L2)
#define KZ (C_K | C_Z)

#define LEAF(at, ...) { .kind = K_LEAF, .attr = (at), __VA_ARGS__ }
#define LEG(at, ...) { .kind = K_LEAF, .attr = (at) | A_NO66, __VA_ARGS__ }
#define VEC(at, permits, ...) { .kind = K_LEAF, .attr = (at) | A_VEC | A_NO66, .index = (permits), __VA_ARGS__ }
#define STEP(by, n) { .kind = (by), .attr = A_MODRM | A_VEC, .index = (n) }
#define NONE { .kind = K_BAD }

#define PASTE(a, b) a##b
#define NAME(line) PASTE(ROW_AT_, line)

enum { PP_NP, PP_66, PP_F3, PP_F2 };

enum {
	ROW_NONE,
#define VOP(map, pp, op, ...) ROW_##map##_##pp##_##op,
#define VROW(...) NAME(__LINE__),
#include "decode-tables-vector.h"
#undef VOP
#undef VROW
	ROW_COUNT
};

const struct op decode_vector_rows[ROW_COUNT] = {
	NONE,
#define VOP(map, pp, op, ...) __VA_ARGS__,
#define VROW(...) __VA_ARGS__,
#include "decode-tables-vector.h"
#undef VOP
#undef VROW
};

const uint16_t decode_vector_index[MAP_COUNT][4][256] = {
#define VOP(map, pp, op, ...) [MAP_##map][PP_##pp][0x##op] = ROW_##map##_##pp##_##op,
#define VROW(...)
#include "decode-tables-vector.h"
};
