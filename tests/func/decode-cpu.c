/* The engine's decoder against the CPU at hand: what it claims of an instruction must
 * hold when the instruction is executed.
 *
 * Each encoding of the maps is single-stepped in a child, up to three times: as it is;
 * with the flags it is said not to read turned over; with the registers it is said not
 * to read changed. Then: rip has moved by the length; flags not touched and registers
 * not written have kept their values; flags written and registers killed have the same
 * values in all runs. What this CPU lacks (SIGILL) or cannot do with these operands (other
 * signals) proves nothing. So the tables may say less than this CPU does, and never more:
 * the test holds on every CPU for tables that hold on every CPU. Bytes that the decoder
 * refuses and this CPU executes are only reported: a CPU may be newer than the tables, and
 * decode-zydis checks what is an instruction.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"
#include "func.h"

#define CODE_SIZE 4096
#define DATA_SIZE 65536
#define TF 0x100u

static uint8_t *code, *data, *pattern;
static pid_t child;
static struct user_regs_struct home;
static struct user_fpregs_struct fp_home;
static uint64_t executed, refused, newer, unknown, signalled, failures;

static uint64_t *gpr(struct user_regs_struct *r, unsigned n)
{
	unsigned long long *const at[16] = {
		&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp, &r->rsi, &r->rdi,
		&r->r8, &r->r9, &r->r10, &r->r11, &r->r12, &r->r13, &r->r14, &r->r15,
	};
	return (uint64_t *)at[n];
}

static void fail(const char *what, const uint8_t *bytes, const struct insn *in, unsigned long have, unsigned long want)
{
	static bool told[16][256];	/* one example of each opcode */
	failures++;
	if (told[in->map & 15][in->opcode])
		return;
	told[in->map & 15][in->opcode] = true;
	printf("%s: %lx, said %lx:", what, have, want);
	for (unsigned i = 0; i < 12; i++)
		printf(" %02x", bytes[i]);
	printf(" (length %u, map %u, opcode %02x)\n", in->len, in->map, in->opcode);
}

/* Executes the instruction at code; returns 0 or the signal it raised. */
static int step(struct user_regs_struct *r)
{
	int status;
	memcpy(data, pattern, DATA_SIZE);
	CHECK(ptrace(PTRACE_SETREGS, child, 0, r) == 0, "setting registers: %s", strerror(errno));
	CHECK(ptrace(PTRACE_SETFPREGS, child, 0, &fp_home) == 0, "setting the FPU: %s", strerror(errno));
	CHECK(ptrace(PTRACE_SINGLESTEP, child, 0, 0) == 0, "stepping: %s", strerror(errno));
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status), "the child is gone: %x", status);
	CHECK(ptrace(PTRACE_GETREGS, child, 0, r) == 0, "reading registers: %s", strerror(errno));
	return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

static void start_registers(struct user_regs_struct *r, unsigned long shift)
{
	*r = home;
	for (unsigned n = 0; n < 16; n++)
		*gpr(r, n) = (uintptr_t)data + DATA_SIZE / 2 + n * 1024 + shift;
	r->rip = (uintptr_t)code;
	r->orig_rax = -1;
	r->eflags = 0x202;
}

/* Differs from one execution to the next for reasons of its own. */
static bool varies(const struct insn *in)
{
	if (in->special == SPECIAL_RDTSC || in->special == SPECIAL_CPUID || in->special == SPECIAL_RDPMC)
		return true;
	return in->map == 1 && in->opcode == 0xc7 && in->modrm >= 0xc0;	/* rdrand rdseed rdpid */
}

/* Would change more than registers, flags and the data page. */
static bool beyond_test(const struct insn *in)
{
	if (in->flow != FLOW_NEXT || in->special == SPECIAL_POPF || in->special == SPECIAL_GS_LOAD ||
	    in->special == SPECIAL_GSBASE_WRITE || in->special == SPECIAL_WRPKRU || in->classes & CLASS_REP)
		return true;
	if (in->map == 0 && (in->opcode == 0x8e))	/* mov to a segment register */
		return true;
	if (in->map == 1 && (in->opcode == 0xa1 || in->opcode == 0xb2 || in->opcode == 0xb4))	/* pop fs, lss, lfs */
		return true;
	if (in->map == 1 && in->opcode <= 0x01)		/* sgdt …, which the kernel emulates; mwaitx … */
		return true;
	return in->map == 1 && in->opcode == 0xae && in->modrm >= 0xc0;	/* wrfsbase, tpause … */
}

static void held(const uint8_t *bytes, const struct insn *in, struct user_regs_struct *before,
		 struct user_regs_struct *after)
{
	if (after->rip != before->rip + in->len)
		fail("moved", bytes, in, after->rip - before->rip, in->len);
	const unsigned changed = (before->eflags ^ after->eflags) & FLAG_ARITH;
	if (changed & ~in->flags_touched)
		fail("flags changed", bytes, in, changed, in->flags_touched);
	for (unsigned n = 0; n < 16; n++)
		if (!(in->regs_written >> n & 1) && *gpr(before, n) != *gpr(after, n))
			fail("register changed", bytes, in, n, in->regs_written);
}

static void same(const uint8_t *bytes, const struct insn *in, struct user_regs_struct *a, struct user_regs_struct *b,
		 unsigned regs, const char *why)
{
	const unsigned flags = (a->eflags ^ b->eflags) & in->flags_written;
	if (flags)
		fail(why, bytes, in, flags, in->flags_written);
	for (unsigned n = 0; n < 16; n++)
		if (regs >> n & 1 && *gpr(a, n) != *gpr(b, n))
			fail(why, bytes, in, n, regs);
}

static void try_known(const uint8_t *bytes, const struct insn *in)
{
	struct user_regs_struct before, a, b, c;
	start_registers(&before, 0);
	a = before;
	const int sig = step(&a);
	if (sig) {
		++*(sig == SIGILL ? &unknown : &signalled);
		return;
	}
	executed++;
	held(bytes, in, &before, &a);
	if (varies(in))
		return;

	before.eflags ^= FLAG_ARITH & ~in->flags_read;
	b = before;
	if (step(&b))
		return;
	held(bytes, in, &before, &b);
	same(bytes, in, &a, &b, 0xffff, "depends on a flag it does not read");

	start_registers(&before, 0);
	for (unsigned n = 0; n < 16; n++)
		if (!(in->regs_read >> n & 1))
			*gpr(&before, n) += 4096 + 8;
	c = before;
	if (step(&c))
		return;
	held(bytes, in, &before, &c);
	same(bytes, in, &a, &c, in->regs_killed | (in->regs_read & in->regs_written & ~in->regs_killed),
	     "depends on a register it does not read");
}

/* AMD executes vpermq and vpermpd with W = 0 too; the manuals, Intel and Zydis do not. */
static bool ignores_w(const uint8_t *bytes)
{
	return bytes[0] == 0xc4 && (bytes[1] & 31) == 3 && !(bytes[2] & 0x80) && bytes[3] <= 1;
}

static void try_bytes(const uint8_t *bytes, unsigned len)
{
	struct insn in;
	memset(code, 0x11, 32);
	memcpy(code, bytes, len);
	const int got = decode_insn(&in, code, 32);
	if (got > 0) {
		if (!beyond_test(&in))
			try_known(code, &in);
		return;
	}
	/* There are many, most of them far from any instruction. */
	static unsigned passed;
	if (code[0] == 0xc4 && ++passed % 16)
		return;
	struct user_regs_struct r;
	start_registers(&r, 0);
	refused++;
	if (step(&r) != 0 || ignores_w(code))
		return;
	if (!newer++) {
		printf("this CPU executes what the decoder refuses:");
		for (unsigned i = 0; i < 12; i++)
			printf(" %02x", code[i]);
		putchar('\n');
	}
}

static void try_modrms(uint8_t *bytes, unsigned at)
{
	for (unsigned reg = 0; reg < 8; reg++) {
		bytes[at] = 0x03 | reg << 3;
		try_bytes(bytes, at + 1);
		bytes[at] = 0xc1 | reg << 3;
		try_bytes(bytes, at + 1);
	}
	bytes[at] = 0xc4;	/* ah or spl */
	try_bytes(bytes, at + 1);
}

/* Shifts by an immediate: what they write depends on the count. */
static void shifts(void)
{
	static const char *const prefixes[] = { "", "\x66", "\x48", "\x4d", "\x40" };
	static const char *const opcodes[] = { "\xc0", "\xc1", "\x0f\xa4", "\x0f\xac" };
	for (unsigned p = 0; p < sizeof(prefixes) / sizeof(*prefixes); p++)
		for (unsigned op = 0; op < sizeof(opcodes) / sizeof(*opcodes); op++)
			for (unsigned reg = 0; reg < 8; reg++)
				for (unsigned count = 0; count <= 0x41; count++) {
					uint8_t bytes[16];
					const unsigned np = strlen(prefixes[p]), no = strlen(opcodes[op]);
					memcpy(bytes, prefixes[p], np);
					memcpy(bytes + np, opcodes[op], no);
					bytes[np + no] = 0x03 | reg << 3;
					bytes[np + no + 1] = count;
					try_bytes(bytes, np + no + 2);
					bytes[np + no] |= 0xc0;
					try_bytes(bytes, np + no + 2);
				}
}

static void legacy(void)
{
	static const char *const prefixes[] = { "", "\x66", "\xf2", "\xf3", "\x48", "\x4d", "\x40" };
	static const char *const maps[] = { "", "\x0f", "\x0f\x38", "\x0f\x3a" };
	for (unsigned p = 0; p < sizeof(prefixes) / sizeof(*prefixes); p++)
		for (unsigned m = 0; m < 4; m++)
			for (unsigned op = 0; op < 256; op++) {
				uint8_t bytes[16];
				const unsigned np = strlen(prefixes[p]), nm = strlen(maps[m]);
				memcpy(bytes, prefixes[p], np);
				memcpy(bytes + np, maps[m], nm);
				bytes[np + nm] = op;
				try_modrms(bytes, np + nm + 1);
			}
}

static void vex(void)
{
	for (unsigned map = 1; map <= 3; map++)
		for (unsigned op = 0; op < 256; op++)
			for (unsigned third = 0; third < 32; third++) {
				uint8_t bytes[16] = { 0xc4, 0xe0 | map, (third & 8) << 4 | (third & 16 ? 0x78 : 0x50) | (third & 7), op };
				try_modrms(bytes, 4);
			}
}

int main(void)
{
	code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	/* Low, so that 32 bits hold an address as well. */
	data = mmap(NULL, DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	pattern = malloc(DATA_SIZE);
	if (code == MAP_FAILED || data == MAP_FAILED || !pattern)
		SKIP("no memory that can be executed: %s", strerror(errno));
	for (unsigned i = 0; i < DATA_SIZE; i++)
		pattern[i] = i * 7 % 251;
	child = fork();
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(77);
		raise(SIGSTOP);
		_exit(0);
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		SKIP("this machine does not let a process trace its child");
	CHECK(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL) == 0, "%s", strerror(errno));
	CHECK(ptrace(PTRACE_GETREGS, child, 0, &home) == 0 && ptrace(PTRACE_GETFPREGS, child, 0, &fp_home) == 0,
	      "%s", strerror(errno));
	legacy();
	shifts();
	vex();
	kill(child, SIGKILL);
	printf("%" PRIu64 " executed, %" PRIu64 " refused by both, %" PRIu64 " only by the decoder, %" PRIu64
	       " not on this CPU, %" PRIu64 " signalled, %" PRIu64 " fail\n",
	       executed, refused - newer, newer, unknown, signalled, failures);
	CHECK(executed > 10000, "only %" PRIu64 " instructions could be executed", executed);
	return failures != 0;
}
