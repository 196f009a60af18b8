/* Generated kernels for x86-64: see generated.h. */
#include "generated.h"

#include "decode.h"
#include "why.h"

#include <tare/code.h>

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the forms that the decoder knows ---- */

/* Registers that forms may change: the code sets them in each pass. rdi points to memory, r14 is a
 * copy of it, r15 counts the passes. */
enum { RAX = 1 << 0, RCX = 1 << 1, RDX = 1 << 2, RBX = 1 << 3, RBP = 1 << 5, RSI = 1 << 6 };
#define MAY_CHANGE (RAX | RCX | RDX | RBX | RBP | RSI)

#define MODRM_MEMORY(reg) (uint8_t)((reg) << 3 | 7)		/* [rdi] */
#define MODRM_REGISTER(reg) (uint8_t)(0xc0 | (reg) << 3 | 1)	/* rcx, xmm1 */
#define THIRD 3		/* the register that VEX and EVEX have besides */

static bool is_legacy(const struct insn *in, unsigned map, unsigned opcode)
{
	return !in->encoding && in->map == map && in->opcode == opcode;
}

/* What runs, and cannot be in a loop of other code:
 * - std; loads of segment registers;
 * - 0F 00 and 0F 01: system registers, which kernels emulate, waiting, other address spaces;
 * - bt and the like in memory: the register is a part of the address;
 * - 0F AE and 0F C7: state of the FPU, FS and GS, waiting. The fences stay. */
static bool is_unfit(const struct insn *in)
{
	const unsigned reg = in->modrm >> 3 & 7;
	const bool memory = in->modrm < 0xc0;
	if (is_legacy(in, 0, 0xfd) || is_legacy(in, 0, 0x8e) || is_legacy(in, 1, 0) || is_legacy(in, 1, 1) ||
	    is_legacy(in, 1, 0xb2) || is_legacy(in, 1, 0xb4) || is_legacy(in, 1, 0xb5))
		return true;
	if (!in->encoding && in->map == 1 && memory &&
	    (in->opcode == 0xa3 || in->opcode == 0xab || in->opcode == 0xb3 || in->opcode == 0xbb))
		return true;
	if (in->map == 1 && in->opcode == 0xae)
		return memory ? reg != 7 : in->rep || reg < 5;
	return is_legacy(in, 1, 0xc7) && reg != 1;
}

/* Does code alone decide what it counts, and is the state afterwards what the rest expects? */
static bool is_fit(const struct insn *in)
{
	return in->flow == FLOW_NEXT && in->special == SPECIAL_NONE &&
	       !(in->classes & (CLASS_BRANCH | CLASS_REP | CLASS_DIV)) && !in->vsib &&
	       in->mem != 2 && !in->segment && !in->addr32 && !in->rip_relative &&
	       !(in->regs_written & ~MAY_CHANGE) && !is_unfit(in);
}

static void count_classes(uint32_t classes, uint8_t *counts)
{
	static const uint32_t of[KERNEL_EVENTS] = {
		[KERNEL_LOADS] = CLASS_LOAD, [KERNEL_STORES] = CLASS_STORE,
		[KERNEL_MULTIPLIES] = CLASS_MUL, [KERNEL_X87] = CLASS_X87, [KERNEL_FP] = CLASS_FP,
		[KERNEL_SIMD_INT] = CLASS_SIMD_INT, [KERNEL_LOCKED] = CLASS_LOCKED,
	};
	counts[KERNEL_INSTRUCTIONS]++;
	for (int e = 0; e < KERNEL_EVENTS; e++)
		counts[e] += (classes & of[e]) != 0;
}

static const uint8_t emms[] = { 0x0f, 0x77 };

struct candidates {
	struct generated_form *list;
	size_t n;
	bool no_memory;
};

/* x87 and MMX fill the x87 stack; an emms behind each keeps it from overflowing, which CPUs count
 * extra. */
static void add_form(struct candidates *c, const struct insn *in, const uint8_t *bytes)
{
	struct generated_form f = { .size = in->len, .own_size = in->len };
	memcpy(f.bytes, bytes, in->len);
	count_classes(in->classes, f.counts);
	if (in->classes & (CLASS_X87 | CLASS_MMX) && !is_legacy(in, 1, emms[1]) &&
	    (size_t)f.size + sizeof(emms) <= sizeof(f.bytes)) {
		memcpy(f.bytes + f.size, emms, sizeof(emms));
		f.size = (uint8_t)(f.size + sizeof(emms));
		struct insn e;
		if (decode_insn(&e, emms, sizeof(emms)) > 0)
			count_classes(e.classes, f.counts);
	}
	if (c->n && c->list[c->n - 1].size == f.size && !memcmp(c->list[c->n - 1].bytes, f.bytes, f.size))
		return;
	if (!(c->n & (c->n - 1))) {
		void *const larger = realloc(c->list, (c->n ? 2 * c->n : 1) * sizeof(*c->list));
		if (!larger) {
			c->no_memory = true;
			return;
		}
		c->list = larger;
	}
	c->list[c->n++] = f;
}

/* `bytes` has 15, with zeros for displacement and immediate; the opcode is before bytes[modrm_at].
 * False: no instruction, or one without a ModRM byte. */
static bool consider(struct candidates *c, const uint8_t *bytes, size_t modrm_at)
{
	struct insn in;
	if (decode_insn(&in, bytes, 15) <= 0 || in.opcode_off + 1u != modrm_at)
		return false;
	if (is_fit(&in))
		add_form(c, &in, bytes);
	return in.has_modrm;
}

/* Is it another opcode with this ModRM byte than with that one? */
static bool differs(const uint8_t *bytes, size_t at, uint8_t modrm, uint8_t from)
{
	uint8_t b[15];
	char name[32], other[32];
	memcpy(b, bytes, sizeof(b));
	b[at] = modrm;
	tare_code_opcode_name(b, sizeof(b), name, sizeof(name));
	b[at] = from;
	tare_code_opcode_name(b, sizeof(b), other, sizeof(other));
	return strcmp(name, other) != 0;
}

/* With memory and with a register; for each opcode that the ModRM byte can make of it. */
static void each_modrm(struct candidates *c, uint8_t *bytes, size_t at)
{
	const uint8_t usual[2] = { MODRM_MEMORY(2), MODRM_REGISTER(2) };
	bytes[at] = usual[0];
	const bool has_modrm = consider(c, bytes, at);
	bytes[at] = usual[1];
	if (has_modrm | consider(c, bytes, at)) {
		for (unsigned modrm = 0; modrm < 0x100; modrm++) {
			const bool memory = modrm < 0xc0;
			if (memory && (modrm & 7) != 7)
				continue;		/* [rdi] only, without a displacement */
			if ((memory && modrm >= 0x40) ||
			    !differs(bytes, at, (uint8_t)modrm, usual[!memory]) ||
			    (!memory && !differs(bytes, at, (uint8_t)modrm, MODRM_REGISTER(modrm >> 3 & 7)) &&
			     modrm != MODRM_REGISTER(modrm >> 3 & 7)))
				continue;
			bytes[at] = (uint8_t)modrm;
			consider(c, bytes, at);
		}
	}
	bytes[at] = 0;
}

static void legacy_forms(struct candidates *c)
{
	static const uint8_t prefixes[] = { 0, 0x66, 0xf3, 0xf2, 0xf0 };
	static const uint8_t maps[4][2] = { { 0 }, { 0x0f }, { 0x0f, 0x38 }, { 0x0f, 0x3a } };
	static const size_t map_size[4] = { 0, 1, 2, 2 };
	for (unsigned p = 0; p < sizeof(prefixes); p++) {
		for (unsigned wide = 0; wide < 2; wide++) {
			for (unsigned map = 0; map < 4; map++) {
				for (unsigned opcode = 0; opcode < 0x100; opcode++) {
					uint8_t b[15] = { 0 };
					size_t n = 0;
					if (prefixes[p])
						b[n++] = prefixes[p];
					if (wide)
						b[n++] = 0x48;
					memcpy(b + n, maps[map], map_size[map]);
					n += map_size[map];
					b[n++] = (uint8_t)opcode;
					each_modrm(c, b, n);
				}
			}
		}
	}
}

/* Where the opcode uses no third register, its field must be all ones. */
static void vex_forms(struct candidates *c)
{
	for (unsigned map = 1; map < 4; map++)
		for (unsigned form = 0; form < 32; form++)
			for (unsigned opcode = 0; opcode < 0x100; opcode++) {
				const unsigned prefix = form & 3, length = form >> 2 & 1, wide = form >> 3 & 1;
				const unsigned third = form >> 4 ? 15 : 15 - THIRD;
				uint8_t b[15] = { 0xc4, (uint8_t)(0xe0 | map),
						  (uint8_t)(wide << 7 | third << 3 | length << 2 | prefix),
						  (uint8_t)opcode };
				each_modrm(c, b, 4);
			}
}

static void evex_forms(struct candidates *c)
{
	static const uint8_t maps[] = { 1, 2, 3, 5, 6 };
	for (unsigned m = 0; m < sizeof(maps); m++)
		for (unsigned form = 0; form < 48; form++)
			for (unsigned opcode = 0; opcode < 0x100; opcode++) {
				const unsigned prefix = form & 3, wide = form >> 2 & 1, rest = form >> 3;
				const unsigned length = rest % 3, third = rest / 3 ? 15 : 15 - THIRD;
				uint8_t b[15] = { 0x62, (uint8_t)(0xf0 | maps[m]),
						  (uint8_t)(wide << 7 | third << 3 | 4 | prefix),
						  (uint8_t)(length << 5 | 8), (uint8_t)opcode };
				each_modrm(c, b, 5);
			}
}

/* ---- writing code ---- */

struct code {
	uint8_t *at;		/* CODE_SIZE bytes */
	size_t size;
};
#define CODE_SIZE 8192u

static void put(struct code *c, const void *bytes, size_t n)
{
	memcpy(c->at + c->size, bytes, n);
	c->size += n;
}
#define PUT(c, ...) put(c, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void put_rel32(struct code *c, int64_t target)
{
	const int32_t rel = (int32_t)(target - (int64_t)(c->size + 4));
	put(c, &rel, sizeof(rel));
}

#define PASS_INSNS 9	/* of the code around the forms in one pass */

/* void run(uint64_t loops, void *memory) */
static void write_code(struct code *c, const struct generated_form *forms, const size_t *which, size_t n)
{
	c->size = 0;
	PUT(c, 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push rbx … r15 */
	PUT(c, 0x49, 0x89, 0xff);			/* mov r15, rdi */
	PUT(c, 0x49, 0x89, 0xf6);			/* mov r14, rsi */
	PUT(c, 0x4d, 0x85, 0xff, 0x0f, 0x84);		/* test r15, r15; jz end */
	const size_t to_end = c->size;
	PUT(c, 0, 0, 0, 0);
	const size_t loop = c->size;
	PUT(c, 0xb8, 1, 0, 0, 0);			/* mov eax, 1 */
	PUT(c, 0xb9, 2, 0, 0, 0);			/* mov ecx, 2 */
	PUT(c, 0xba, 3, 0, 0, 0);			/* mov edx, 3 */
	PUT(c, 0xbb, 4, 0, 0, 0);			/* mov ebx, 4 */
	PUT(c, 0xbd, 5, 0, 0, 0);			/* mov ebp, 5 */
	PUT(c, 0xbe, 6, 0, 0, 0);			/* mov esi, 6 */
	PUT(c, 0x4c, 0x89, 0xf7);			/* mov rdi, r14 */
	for (size_t i = 0; i < n; i++)
		put(c, forms[which[i]].bytes, forms[which[i]].size);
	PUT(c, 0x49, 0xff, 0xcf, 0x0f, 0x85);		/* dec r15; jnz loop */
	put_rel32(c, (int64_t)loop);
	const int32_t rel = (int32_t)(c->size - (to_end + 4));
	memcpy(c->at + to_end, &rel, sizeof(rel));
	put(c, emms, sizeof(emms));
	PUT(c, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3); /* pop …; ret */
}

static void run_code(const struct code *c, uint64_t loops, void *memory)
{
	void (*run)(uint64_t, void *);
	memcpy(&run, &c->at, sizeof(run));
	run(loops, memory);
}

/* ---- trying the forms ---- */

/* What the child tells: shared memory. */
struct tried {
	size_t now;		/* the form that it tries */
	bool fits[];
};

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

static void catch_faults(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	sigset_t all;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		sigaction(signals[i], &act, NULL);
	}
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
}

struct control {
	uint32_t mxcsr;
	uint16_t x87;
};

static struct control control_now(void)
{
	struct control c;
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(c.mxcsr), "=m"(c.x87));
	c.mxcsr &= ~0x3fu;		/* the exception flags may change */
	return c;
}

static void set_control(struct control c)
{
	__asm__ volatile("fninit\n\tfldcw %1\n\tldmxcsr %0" : : "m"(c.mxcsr), "m"(c.x87));
}

#define SECONDS_FOR_ONE 10u	/* a form that waits for something ends the child */

static void try_one(struct code *c, const struct candidates *all, struct tried *t, void *memory)
{
	static struct control before;
	before = control_now();
	write_code(c, all->list, &(const size_t){ t->now }, 1);
	alarm(SECONDS_FOR_ONE);
	if (sigsetjmp(back, 1)) {
		set_control(before);
		return;
	}
	run_code(c, 2, memory);
	const struct control after = control_now();
	t->fits[t->now] = after.mxcsr == before.mxcsr && after.x87 == before.x87;
	set_control(before);
}

static void try_all(struct code *c, const struct candidates *all, struct tried *t)
{
	void *const memory = kernel_memory_open(NULL);
	if (!memory)
		_exit(1);
	catch_faults();
	for (; t->now < all->n; t->now++)
		try_one(c, all, t, memory);
	_exit(0);
}

/* A child that dies leaves out the form that killed it. */
static int try_in_children(struct code *c, const struct candidates *all, struct tried *t,
			   struct tare_why *why)
{
	while (t->now < all->n) {
		const pid_t pid = fork();
		int status;
		if (pid < 0)
			return why_errno(why, TARE_E_IO, errno, "a child process that tries instructions");
		if (pid == 0)
			try_all(c, all, t);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (t->now < all->n && WIFEXITED(status))
			return why_set(why, TARE_E_NOMEM, "memory for generated kernels");
		t->now += t->now < all->n;
	}
	return 0;
}

static int keep_fitting(struct code *c, struct candidates *all, struct tare_why *why)
{
	const size_t size = sizeof(struct tried) + all->n;
	struct tried *const t = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return why_errno(why, TARE_E_NOMEM, errno, "generated kernels");
	const int err = try_in_children(c, all, t, why);
	size_t n = 0;
	for (size_t i = 0; i < all->n; i++)
		if (t->fits[i])
			all->list[n++] = all->list[i];
	all->n = n;
	munmap(t, size);
	return err;
}

/* ---- the interface ---- */

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static void shuffle(struct candidates *c, uint64_t seed)
{
	for (size_t i = c->n; i > 1; i--) {
		const size_t k = next_random(&seed) % i;
		const struct generated_form f = c->list[i - 1];
		c->list[i - 1] = c->list[k];
		c->list[k] = f;
	}
}

int generated_open(uint64_t seed, struct generated *g, struct tare_why *why)
{
	struct candidates all = { 0 };
	struct code *const c = calloc(1, sizeof(*c));
	*g = (struct generated){ .state = c };
	if (!c)
		return why_set(why, TARE_E_NOMEM, "generated kernels");
	c->at = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->at == MAP_FAILED) {
		const int err = errno;
		free(c);
		g->state = NULL;
		return why_errno(why, TARE_E_PERMISSION, err, "code that is written at run time");
	}
	legacy_forms(&all);
	vex_forms(&all);
	evex_forms(&all);
	g->n_tried = all.n;
	int err = all.no_memory ? why_set(why, TARE_E_NOMEM, "generated kernels") : keep_fitting(c, &all, why);
	shuffle(&all, seed);
	g->forms = all.list;
	g->n_forms = g->emms = all.n;
	for (size_t i = 0; i < all.n; i++)
		if (all.list[i].size == sizeof(emms) && !memcmp(all.list[i].bytes, emms, sizeof(emms)))
			g->emms = i;
	if (err)
		generated_close(g);
	return err;
}

void generated_close(struct generated *g)
{
	struct code *const c = g->state;
	if (c)
		munmap(c->at, CODE_SIZE);
	free(c);
	free(g->forms);
	*g = (struct generated){ 0 };
}

void generated_choose(struct generated *g, const size_t *which, size_t n, uint64_t *each)
{
	write_code(g->state, g->forms, which, n);
	memset(each, 0, KERNEL_EVENTS * sizeof(*each));
	each[KERNEL_INSTRUCTIONS] = PASS_INSNS;
	each[KERNEL_BRANCHES] = each[KERNEL_COND_BRANCHES] = each[KERNEL_TAKEN_BRANCHES] = 1;
	for (size_t i = 0; i < n; i++)
		for (int e = 0; e < KERNEL_EVENTS; e++)
			each[e] += g->forms[which[i]].counts[e];
}

void generated_run(struct generated *g, uint64_t loops, void *memory)
{
	run_code(g->state, loops, memory);
}
