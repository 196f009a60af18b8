/* The engine's decoder against Zydis: every opcode map with systematic prefixes and
 * ModRM bytes, the code of the installed system, and seeded random bytes.
 *
 * Compared: whether the bytes are an instruction, its length, where displacement and
 * immediate lie, control flow, memory read and written, flags, general registers,
 * fs/gs, and what it counts as. A difference is a failure unless a row of reviewed[]
 * or refused[] names it with the reason. What the events mean is the referee's
 * (tests/tool/zclass.c).
 *
 * usage: decode-zydis [maps|system|random|speed …]
 */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../tool/zclass.h"
#include "decode.h"
#include "func.h"

enum field {
	IN_VALID, IN_LENGTH, IN_LAYOUT, IN_FLOW, IN_LOAD, IN_STORE, IN_FLAGS_READ, IN_FLAGS_TOUCHED,
	IN_FLAGS_WRITTEN, IN_REGS_READ, IN_REGS_WRITTEN, IN_REGS_KILLED, IN_SEGMENT, IN_CLASS,
	IN_COUNT
};

static const char *const field_names[IN_COUNT + 1] = {
	"valid", "length", "layout", "flow", "load", "store", "flags read", "flags touched",
	"flags written", "registers read", "registers written", "registers killed", "segment", "class", "flags",
};

#define M(name) ZYDIS_MNEMONIC_##name
#define BIT(n) (1u << (n))

#include "decode-reviewed.h"

static ZydisDecoder zydis;
static uint64_t compared, failures, per_row[sizeof(reviewed) / sizeof(*reviewed)];
static uint64_t left_out[sizeof(later) / sizeof(*later)];

struct both {
	const uint8_t *bytes;
	unsigned avail;
	bool known;			/* to Zydis */
	ZydisDecodedInstruction z;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	struct insn in;
	int len;
};

static bool is_reviewed(const struct both *b, enum field f)
{
	for (unsigned i = 0; i < sizeof(reviewed) / sizeof(*reviewed); i++) {
		if ((reviewed[i].mnemonic == b->z.mnemonic || !reviewed[i].mnemonic) &&
		    reviewed[i].fields & BIT(f) && (!reviewed[i].when || reviewed[i].when(&b->z, &b->in))) {
			per_row[i]++;
			return true;
		}
	}
	return false;
}

/* Asked only where there is a difference: comparing texts is slow. */
static bool is_later(const struct both *b, enum field f)
{
	const char *const name = ZydisMnemonicGetString(b->z.mnemonic);
	for (unsigned i = 0; i < sizeof(later) / sizeof(*later); i++)
		if (later[i].fields & BIT(f) && strcmp(later[i].mnemonic, name) == 0) {
			left_out[i]++;
			return true;
		}
	return false;
}

static void differ(const struct both *b, enum field f, uint64_t ours, uint64_t theirs)
{
	if (b->known ? is_reviewed(b, f) || is_later(b, f) : is_newer(&b->in, b->bytes))
		return;
	/* One example of each mnemonic; of no mnemonic, some. */
	static uint8_t told[ZYDIS_MNEMONIC_MAX_VALUE + 1][IN_COUNT + 1];
	failures++;
	uint8_t *const times = &told[b->known ? b->z.mnemonic : 0][f];
	if (*times >= (b->known ? 1 : 100))
		return;
	++*times;
	printf("%s: here %" PRIx64 ", Zydis %" PRIx64 ": %s:", field_names[f], ours, theirs,
	       b->known ? ZydisMnemonicGetString(b->z.mnemonic) : "no instruction");
	for (unsigned i = 0; i < b->avail && i < 15; i++)
		printf(" %02x", b->bytes[i]);
	putchar('\n');
}

static void equal(const struct both *b, enum field f, uint64_t ours, uint64_t theirs)
{
	if (ours != theirs)
		differ(b, f, ours, theirs);
}

/* ---- what Zydis says, in our words ---- */

static enum insn_flow flow_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *ops)
{
	const bool direct = ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	const bool far = z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	switch (z->mnemonic) {
	case M(LOOP): case M(LOOPE): case M(LOOPNE): case M(JRCXZ): case M(JECXZ):
		return FLOW_LOOP;
	case M(XBEGIN):
		return FLOW_XBEGIN;
	case M(JMP):
		return far ? FLOW_FAR : direct ? FLOW_JMP : FLOW_JMP_IND;
	case M(CALL):
		return far ? FLOW_FAR : direct ? FLOW_CALL : FLOW_CALL_IND;
	case M(RET):
		return z->opcode >= 0xca ? FLOW_FAR : FLOW_RET;
	case M(IRET): case M(IRETD): case M(IRETQ): case M(UIRET):
		return FLOW_FAR;
	case M(SYSCALL):
		return FLOW_SYSCALL;
	case M(SYSENTER):
		return FLOW_SYSENTER;
	case M(INT): case M(INT3): case M(INT1):
		return FLOW_INT;
	case M(UD0): case M(UD1): case M(UD2):
		return FLOW_FAULT;
	default:
		break;
	}
	if (z->meta.category == ZYDIS_CATEGORY_COND_BR)
		return FLOW_JCC;
	if (z->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED || z->meta.category == ZYDIS_CATEGORY_IO ||
	    z->meta.category == ZYDIS_CATEGORY_IOSTRINGOP)
		return FLOW_FAULT;
	return FLOW_NEXT;
}

static unsigned gpr(ZydisRegister reg)
{
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8: case ZYDIS_REGCLASS_GPR16: case ZYDIS_REGCLASS_GPR32: case ZYDIS_REGCLASS_GPR64:
		return 1u << ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg));
	default:
		return 0;
	}
}

struct regs {
	unsigned read, written, killed;
};

static struct regs regs_of(const struct both *b)
{
	struct regs r = { 0, 0, 0 };
	for (int i = 0; i < b->z.operand_count; i++) {
		const ZydisDecodedOperand *o = &b->ops[i];
		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			r.read |= gpr(o->mem.base) | gpr(o->mem.index);
			continue;
		}
		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		const unsigned bit = gpr(o->reg.value);
		/* What is perhaps written is perhaps kept. */
		if (o->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE))
			r.read |= bit;
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			r.written |= bit;
		if (o->actions & ZYDIS_OPERAND_ACTION_WRITE && ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value) >= 32)
			r.killed |= bit;
	}
	r.killed &= ~r.read;
	return r;
}

static uint32_t classes_of(const struct both *b)
{
	static const struct {
		enum event event;
		uint32_t class;
	} names[] = {
		{ EV_BRANCHES, CLASS_BRANCH }, { EV_COND, CLASS_COND }, { EV_LOADS, CLASS_LOAD },
		{ EV_STORES, CLASS_STORE }, { EV_CALLS, CLASS_CALL }, { EV_RETURNS, CLASS_RET },
		{ EV_INDIRECT, CLASS_INDIRECT }, { EV_SYSCALLS, CLASS_SYSCALL },
		{ EV_MULTIPLIES, CLASS_MUL }, { EV_DIVIDES, CLASS_DIV }, { EV_X87, CLASS_X87 },
		{ EV_FP, CLASS_FP }, { EV_SIMD_INT, CLASS_SIMD_INT }, { EV_LOCKED, CLASS_LOCKED },
		{ EV_FAR, CLASS_FAR },
	};
	const uint32_t events = zclass_of(b->bytes, b->avail).events;
	uint32_t classes = 0;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (events >> names[i].event & 1)
			classes |= names[i].class;
	return classes;
}

/* The classes the referee has no event for, by name. */
static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static uint32_t more_classes(const struct both *b, uint32_t known)
{
	const char *const full = ZydisMnemonicGetString(b->z.mnemonic);
	const char *const name = full[0] == 'v' ? full + 1 : full;
	uint32_t c = 0;
	for (int i = 0; i < b->z.operand_count; i++)
		if (b->ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetClass(b->ops[i].reg.value) == ZYDIS_REGCLASS_MMX)
			c |= CLASS_MMX;
	if (b->z.mnemonic == M(EMMS) || b->z.mnemonic == M(FEMMS) || strstr(name, "pi2p"))
		c |= CLASS_MMX;
	if (b->z.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		c |= CLASS_REP;
	switch (b->z.mnemonic) {
	case M(LFENCE): case M(MFENCE): case M(SFENCE): case M(SERIALIZE): case M(CPUID):
		c |= CLASS_FENCE;
		break;
	default:
		break;
	}
	if (known & CLASS_X87) {
		if (begins(name, "fmul") || begins(name, "fimul"))
			c |= CLASS_MUL_FP;
		if (begins(name, "fdiv") || begins(name, "fidiv"))
			c |= CLASS_DIV_FP;
	}
	if (known & CLASS_FP) {
		static const char *const mul[] = {
			"mul", "fmadd", "fmsub", "fnmadd", "fnmsub", "fmulc", "fcmulc", "fcmadd",
			"dpp", "dpbf16", "4fmadd", "4fnmadd", NULL
		};
		for (unsigned i = 0; mul[i]; i++)
			if (begins(name, mul[i]))
				c |= CLASS_MUL_FP;
		if (begins(name, "div"))
			c |= CLASS_DIV_FP;
	}
	if (b->z.encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW ||
	    (b->z.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && b->z.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT &&
	     !(b->z.opcode_map == ZYDIS_OPCODE_MAP_0F && b->z.opcode >> 4 == 8)))
		c |= CLASS_0F_NONBRANCH;
	return c;
}

/* ---- comparing ---- */

static void compare_layout(const struct both *b)
{
	const struct insn *const in = &b->in;
	const ZydisDecodedInstruction *const z = &b->z;
	const bool moffs = z->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && in->map == 0 && (in->opcode & 0xfc) == 0xa0;
	const unsigned imm_len = (z->raw.imm[0].size + z->raw.imm[1].size) / 8;
	if (moffs) {
		equal(b, IN_LAYOUT, in->imm_off << 8 | in->imm_len, z->raw.disp.offset << 8 | z->raw.disp.size / 8);
	} else {
		equal(b, IN_LAYOUT, in->disp_off << 8 | in->disp_len, z->raw.disp.offset << 8 | z->raw.disp.size / 8);
		if (in->map != 15 && z->mnemonic != M(INVALID))
			equal(b, IN_LAYOUT, in->imm_off << 8 | in->imm_len, z->raw.imm[0].offset << 8 | imm_len);
	}
	equal(b, IN_LAYOUT, in->has_modrm, !!(z->attributes & ZYDIS_ATTRIB_HAS_MODRM));
	if (in->has_modrm)
		equal(b, IN_LAYOUT, in->modrm_off, z->raw.modrm.offset);
	equal(b, IN_LAYOUT, in->opcode, z->opcode);
	bool rip = false;
	for (int i = 0; i < z->operand_count; i++)
		if (b->ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (b->ops[i].mem.base == ZYDIS_REGISTER_RIP || b->ops[i].mem.base == ZYDIS_REGISTER_EIP))
			rip = true;
	equal(b, IN_LAYOUT, in->rip_relative, rip);
	if (z->raw.imm[0].is_relative)
		equal(b, IN_LAYOUT, in->imm, z->raw.imm[0].value.s);
}

static void compare_flags(const struct both *b)
{
	const ZydisAccessedFlags none = { 0 };
	const ZydisAccessedFlags *const f = b->z.cpu_flags ? b->z.cpu_flags : &none;
	const unsigned touched = (f->modified | f->set_0 | f->set_1 | f->undefined) & FLAG_ARITH;
	equal(b, IN_FLAGS_READ, b->in.flags_read, f->tested & FLAG_ARITH);
	equal(b, IN_FLAGS_TOUCHED, b->in.flags_touched, touched);
	/* An undefined flag may keep its old value on some CPU. */
	equal(b, IN_FLAGS_WRITTEN, b->in.flags_written, touched & ~f->undefined);
	if (b->in.flags_written & ~b->in.flags_touched)
		differ(b, IN_COUNT, b->in.flags_written, b->in.flags_touched);
}

static void compare_segment(const struct both *b)
{
	unsigned seg = 0;
	for (int i = 0; i < b->z.operand_count; i++) {
		const ZydisDecodedOperand *o = &b->ops[i];
		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		if (o->mem.segment == ZYDIS_REGISTER_FS)
			seg = 0x64;
		if (o->mem.segment == ZYDIS_REGISTER_GS)
			seg = 0x65;
	}
	equal(b, IN_SEGMENT, b->in.seg_used, seg);
}

static void compare_known(const struct both *b)
{
	compare_layout(b);
	equal(b, IN_FLOW, b->in.flow, flow_of(&b->z, b->ops));
	compare_flags(b);
	const struct regs r = regs_of(b);
	equal(b, IN_REGS_READ, b->in.regs_read, r.read);
	equal(b, IN_REGS_WRITTEN, b->in.regs_written, r.written);
	equal(b, IN_REGS_KILLED, b->in.regs_killed, r.killed);
	compare_segment(b);
	const uint32_t classes = classes_of(b);
	const uint32_t memory = CLASS_LOAD | CLASS_STORE;
	equal(b, IN_LOAD, b->in.classes & CLASS_LOAD, classes & CLASS_LOAD);
	equal(b, IN_STORE, b->in.classes & CLASS_STORE, classes & CLASS_STORE);
	equal(b, IN_CLASS, b->in.classes & ~memory, (classes | more_classes(b, b->in.classes)) & ~memory);
}

/* Returns the length of the instruction by Zydis, or 0. */
static unsigned compare(const uint8_t *bytes, unsigned avail)
{
	struct both b = { .bytes = bytes, .avail = avail };
	b.known = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, bytes, avail, &b.z, b.ops));
	b.len = decode_insn(&b.in, bytes, avail);
	compared++;
	if ((b.len > 0) != b.known)
		differ(&b, IN_VALID, b.len, b.known ? b.z.length : -1);
	else if (b.known && b.len != b.z.length)
		differ(&b, IN_LENGTH, b.len, b.z.length);
	else if (b.known)
		compare_known(&b);
	return b.known ? b.z.length : 0;
}

/* ---- every opcode map ---- */

static void with_operands(uint8_t *buf, unsigned at)
{
	static const uint8_t sibs[] = { 0x24, 0x25, 0x05, 0x6d, 0xb3 };
	for (unsigned modrm = 0; modrm < 256; modrm++) {
		buf[at] = modrm;
		const bool sib = modrm < 0xc0 && (modrm & 7) == 4;
		for (unsigned i = 0; i < (sib ? sizeof(sibs) : 1); i++) {
			buf[at + 1] = sib ? sibs[i] : 0x11;
			compare(buf, 32);
		}
	}
}

static void legacy_maps(void)
{
	static const char *const prefixes[] = {
		"", "\x66", "\xf2", "\xf3", "\x67", "\xf0", "\x65", "\x40", "\x48", "\x44", "\x42", "\x41", "\x4f",
		"\x66\x48", "\xf2\x48", "\xf3\x48", "\x66\xf2", "\x66\xf3", "\xf3\x66", "\xf2\xf3", "\xf3\xf2",
		"\x66\x41", "\xf3\x4d", "\x64\x48", "\x65\x67", "\xf0\xf2", "\xf0\x66", "\xf0\x4c", "\x2e\x65",
		"\x65\x2e", "\x48\x66", "\x66\xf2\x4a",
	};
	static const char *const maps[] = { "", "\x0f", "\x0f\x38", "\x0f\x3a" };
	for (unsigned p = 0; p < sizeof(prefixes) / sizeof(*prefixes); p++)
		for (unsigned m = 0; m < 4; m++)
			for (unsigned op = 0; op < 256; op++) {
				uint8_t buf[40] = { 0 };
				unsigned n = 0;
				for (const char *s = prefixes[p]; *s; s++)
					buf[n++] = *s;
				for (const char *s = maps[m]; *s; s++)
					buf[n++] = *s;
				buf[n] = op;
				memset(buf + n + 1, 0x11, 15);
				with_operands(buf, n + 1);
			}
}

/* 3DNow! has its opcode at the end. */
static void suffixes(void)
{
	for (unsigned suffix = 0; suffix < 256; suffix++) {
		uint8_t buf[40] = { 0x0f, 0x0f, 0xc1, suffix };
		compare(buf, 32);
		buf[2] = 0x44, buf[3] = 0x24, buf[4] = 0x10, buf[5] = suffix;
		compare(buf, 32);
	}
}

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random_bits(void)
{
	uint64_t x = random_state;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return random_state = x;
}

/* VEX and XOP: all W, L, pp; vvvv unused, low, high; all ModRM. */
static void vex_map(uint8_t escape, unsigned map)
{
	static const uint8_t vvvvs[] = { 15, 15 ^ 5, 15 ^ 9 };
	for (unsigned op = 0; op < 256; op++)
		for (unsigned third = 0; third < 16; third++)
			for (unsigned v = 0; v < sizeof(vvvvs); v++) {
				uint8_t buf[40] = { escape, 0xe0 | map, (third & 8) << 4 | vvvvs[v] << 3 | (third & 7), op };
				memset(buf + 5, 0x11, 15);
				with_operands(buf, 4);
				if (v != 1)
					continue;
				buf[1] = (random_bits() & 0xe0) | map;
				with_operands(buf, 4);
			}
}

static void vex2_map(void)
{
	for (unsigned op = 0; op < 256; op++)
		for (unsigned second = 0; second < 256; second += 1 + (random_bits() & 7)) {
			uint8_t buf[40] = { 0xc5, second, op };
			memset(buf + 4, 0x11, 15);
			with_operands(buf, 3);
		}
}

/* EVEX: W, L'L, b and mask are walked; registers and what else there is are drawn. */
static void evex_map(unsigned map)
{
	static const uint8_t masks[] = { 0x00, 0x01, 0x85, 0x80 };
	for (unsigned op = 0; op < 256; op++)
		for (unsigned walk = 0; walk < 256; walk++) {
			const unsigned pp = walk & 3, w = walk >> 2 & 1, lb = walk >> 3 & 7, m = walk >> 6;
			for (unsigned i = 0; i < 24; i++) {
				const uint64_t r = random_bits();
				uint8_t buf[40] = { 0x62, 0xf0 | map, w << 7 | 0x7c | pp, masks[m] | lb << 4 | 8, op };
				if (i & 1)
					buf[1] = (r & 0xf0) | map;
				if (i & 2)
					buf[2] = w << 7 | (r >> 8 & 0x78) | 4 | pp;
				if ((i & 7) == 7)
					buf[3] ^= 8;
				buf[5] = (r >> 16 & 0x3f) | (i % 3 ? 0xc0 : i & 8 ? 0x80 : 0x40);
				if (i % 3 == 0 && i & 4)
					buf[5] = (buf[5] & ~7) | 4;
				memset(buf + 6, 0x11, 15);
				buf[6] = r >> 24;
				compare(buf, 32);
			}
		}
}

static void all_maps(void)
{
	legacy_maps();
	suffixes();
	vex2_map();
	for (unsigned map = 0; map < 5; map++)
		vex_map(0xc4, map);
	for (unsigned map = 8; map < 12; map++)
		vex_map(0x8f, map);
	for (unsigned map = 0; map < 8; map++)
		evex_map(map);
}

/* ---- the installed system ---- */

#define SEEN_SIZE (1u << 22)
static uint64_t *seen;

/* True if an instruction of these bytes, displacement and long immediates apart, has
 * been compared before: what they are worth changes nothing but the address. */
static bool seen_before(const struct insn *in, const uint8_t *p)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (unsigned i = 0; i < in->len; i++) {
		const bool disp = in->disp_off && i >= in->disp_off && i < in->disp_off + in->disp_len;
		const bool imm = in->imm_len >= 4 && i >= in->imm_off && i < in->imm_off + in->imm_len;
		h = (h ^ (disp || imm ? 0x100u : p[i])) * UINT64_C(0x100000001b3);
	}
	for (unsigned i = h >> 20;; i++) {
		uint64_t *const slot = &seen[i & (SEEN_SIZE - 1)];
		if (*slot == h)
			return true;
		if (!*slot) {
			*slot = h;
			return false;
		}
	}
}

static uint64_t swept, shapes;

static void sweep(const uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		struct insn in;
		const unsigned avail = end - p;
		const int len = decode_insn(&in, p, avail);
		swept++;
		if (len > 0 && (shapes > SEEN_SIZE / 2 || seen_before(&in, p))) {
			p += len;
			continue;
		}
		shapes++;
		const unsigned z = compare(p, avail);
		p += z ? z : 1;
	}
}

/* Big sections are sampled: a piece of every two megabytes. */
static void sweep_section(const uint8_t *p, uint64_t size)
{
	const uint64_t piece = 128 << 10, stride = 2 << 20;
	if (size <= 4 << 20) {
		sweep(p, p + size);
		return;
	}
	for (uint64_t at = 0; at + piece <= size; at += stride)
		sweep(p + at, p + at + piece);
}

static void sweep_elf(const uint8_t *map, uint64_t size)
{
	const Elf64_Ehdr *const e = (const void *)map;
	if (size < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_machine != EM_X86_64 || e->e_shoff + (uint64_t)e->e_shnum * sizeof(Elf64_Shdr) > size)
		return;
	const Elf64_Shdr *const s = (const void *)(map + e->e_shoff);
	for (unsigned i = 0; i < e->e_shnum; i++)
		if (s[i].sh_flags & SHF_EXECINSTR && s[i].sh_type == SHT_PROGBITS &&
		    s[i].sh_offset + s[i].sh_size <= size)
			sweep_section(map + s[i].sh_offset, s[i].sh_size);
}

static void sweep_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		void *const map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			sweep_elf(map, st.st_size);
			munmap(map, st.st_size);
		}
	}
	close(fd);
}

static void sweep_folder(const char *folder)
{
	DIR *const dir = opendir(folder);
	if (!dir)
		return;
	for (struct dirent *d; (d = readdir(dir));) {
		char path[4096];
		struct stat st;
		snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
		if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
			sweep_file(path);
	}
	closedir(dir);
}

static void system_code(void)
{
	seen = calloc(SEEN_SIZE, sizeof(*seen));
	CHECK(seen, "no memory");
	sweep_folder("/usr/lib/x86_64-linux-gnu");
	sweep_folder("/usr/bin");
	sweep_folder("/usr/sbin");
	printf("%" PRIu64 " instructions of the system, %" PRIu64 " different\n", swept, shapes);
	CHECK(swept > 1000000, "only %" PRIu64 " instructions were found in the system's files", swept);
}

/* ---- random bytes, and the end of the page ---- */

/* An instruction cut short needs more bytes; it is never a shorter one. */
static void cut_short(const uint8_t *bytes, int len)
{
	struct insn in;
	for (int avail = 0; avail < len; avail++)
		CHECK(decode_insn(&in, bytes, avail) == 0, "%d of %d bytes: %02x %02x %02x %02x", avail, len,
		      bytes[0], bytes[1], bytes[2], bytes[3]);
	CHECK(decode_insn(&in, bytes, len) == len, "exactly %d bytes", len);
}

static void random_bytes(void)
{
	for (unsigned i = 0; i < 3000000; i++) {
		uint8_t buf[40] = { 0 };
		for (unsigned j = 0; j < 32; j += 8) {
			const uint64_t r = random_bits();
			memcpy(buf + j, &r, 8);
		}
		if (i % 4 == 1)
			buf[0] = 0x0f;
		if (i % 4 == 2)
			buf[0] = 0xc4, buf[1] = (buf[1] & 0xe0) | (1 + i % 3);
		if (i % 4 == 3)
			buf[0] = 0x62, buf[1] = (buf[1] & 0xf0) | (1 + i % 6), buf[2] |= 4;
		const unsigned len = compare(buf, 32);
		struct insn in;
		const int whole = decode_insn(&in, buf, 32);
		if (len && whole > 0 && i % 16 < 4)
			cut_short(buf, whole);
		if (whole < 0)
			for (unsigned avail = 0; avail < 16; avail++)
				CHECK(decode_insn(&in, buf, avail) <= 0, "bad bytes became good when cut to %u", avail);
	}
}

/* On AMD a 66 prefix on a near branch is obeyed. */
static void amd_branches(void)
{
	static const char *const prefixes[] = { "\x66", "\x66\x48", "\x66\x41", "\x66\xf2" };
	ZydisDecoderEnableMode(&zydis, ZYDIS_DECODER_MODE_AMD_BRANCHES, ZYAN_TRUE);
	decode_amd_branches = true;
	for (unsigned p = 0; p < 4; p++)
		for (unsigned op = 0x70; op < 0x100; op++) {
			uint8_t buf[40] = { 0 };
			unsigned n = strlen(prefixes[p]);
			memcpy(buf, prefixes[p], n);
			if (op >= 0x80 && op < 0x90)
				buf[n++] = 0x0f;
			else if (op >= 0x80 && op < 0xe0 && op != 0xc2 && op != 0xc3)
				continue;
			if (op >= 0xe4 && op < 0xe8)
				continue;
			if (op >= 0xec && op != 0xff)
				continue;
			buf[n++] = op;
			memset(buf + n, 0x11, 12);
			if (op == 0xff)
				buf[n] = 0xd0;
			compare(buf, 32);
		}
	decode_amd_branches = false;
	ZydisDecoderEnableMode(&zydis, ZYDIS_DECODER_MODE_AMD_BRANCHES, ZYAN_FALSE);
}

/* ---- how long it takes: printed, never judged ---- */

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void speed(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	static uint8_t code[4 << 20];
	const int libc = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	const ssize_t got = pread(libc >= 0 ? libc : fd, code, sizeof(code), 0x28000);
	double best = 1e9;
	uint64_t n = 0;
	for (unsigned round = 0; round < 5 && got > 0; round++) {
		const double start = seconds();
		n = 0;
		for (ssize_t at = 0; at + 32 < got && at < 1200000; n++) {
			struct insn in;
			const int len = decode_insn(&in, code + at, got - at);
			at += len > 0 ? len : 1;
		}
		const double took = (seconds() - start) / n;
		best = took < best ? took : best;
	}
	close(fd);
	if (libc >= 0)
		close(libc);
	printf("%.1f ns an instruction over %" PRIu64 " of libc\n", best * 1e9, n);
}

static bool wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	zclass_init();
	ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	/* No supported CPU has MPX or Knights Corner enabled: their codes are nops or bad. */
	ZydisDecoderEnableMode(&zydis, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
	ZydisDecoderEnableMode(&zydis, ZYDIS_DECODER_MODE_KNC, ZYAN_FALSE);
	if (wanted(argc, argv, "maps")) {
		all_maps();
		amd_branches();
	}
	if (wanted(argc, argv, "random"))
		random_bytes();
	if (wanted(argc, argv, "system"))
		system_code();
	if (wanted(argc, argv, "speed"))
		speed();
	unsigned idle = 0;
	for (unsigned i = 0; i < sizeof(reviewed) / sizeof(*reviewed) && argc == 1; i++) {
		if (per_row[i])
			continue;
		printf("exception %u (%s) was never needed: %s\n", i,
		       ZydisMnemonicGetString(reviewed[i].mnemonic), reviewed[i].why);
		idle++;
	}
	for (unsigned i = 0; i < sizeof(later) / sizeof(*later); i++)
		if (left_out[i])
			printf("left out: %s, %" PRIu64 " times: %s\n", later[i].mnemonic, left_out[i], later[i].why);
	printf("%" PRIu64 " compared, %" PRIu64 " differ\n", compared, failures);
	return failures || idle;
}
