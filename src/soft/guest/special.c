/* Instructions that C runs for the program: gs base and selector, far transfers, TSX, popf,
 * int 0x80. */
#include "decode.h"
#include "guest-room.h"
#include "sys.h"
#include "text.h"

int modrm_rm(const struct insn *in)
{
	return (in->modrm & 7) | (in->rex & 1 ? 8 : 0);
}

/* The instruction at pc was counted with its block, but raises a signal. */
void uncount(struct thread *t, uint64_t pc)
{
	struct insn in;
	struct step step;
	uint8_t bytes[15], vec[SOFT_EVENTS];
	const struct mode *const mode = &cache.modes[cache.mode];
	unsigned have = 15;
	while (have && !copy_guest(bytes, (const void *)pc, have))
		have--;
	if (!have || decode_insn(&in, bytes, have) <= 0)
		return;
	step = (struct step){ .len = in.len, .classes = in.classes };
	count_vec(vec, &step, 1);
	if (E.vpmu)
		vpmu_count_insns(vec, &in, 1);
	vec[SOFT_TAKEN] = (cache.counts_taken || mode->taken) && in.classes & CLASS_BRANCH;
	for (int k = 0; k < SOFT_EVENTS; k++)
		count_add(t, k, -(int64_t)vec[k], mode);
	count_way(t, pc, in.len, -1);
	if (code_log_wanted())
		code_log_part(t, pc, bytes, in.len, 1, -1);
}

static void fault(struct thread *t, int sig, int code, uint64_t addr, int trapno, int err)
	__attribute__((noreturn));
static void fault(struct thread *t, int sig, int code, uint64_t addr, int trapno, int err)
{
	uncount(t, t->pc);
	if (t->step.trap) {			/* what it single-steps did not finish */
		t->rflags |= FLAG_TF;
		t->step.trap = false;
	}
	signal_raise(t, sig, code, addr, trapno, err);
}

static bool pop(struct thread *t, uint64_t *v, unsigned size)
{
	*v = 0;
	if (!copy_guest(v, (const void *)t->regs[RSP], size))
		return false;
	t->regs[RSP] += size;
	return true;
}

static bool is_canonical(uint64_t pc)
{
	return pc < USER_END;		/* what user code may jump to */
}


/* retf and iret that stay in 64-bit user code. False: they fault. */
static bool far_return(struct thread *t, const struct insn *in)
{
	const unsigned size = in->rex & 8 ? 8 : in->opsize16 ? 2 : 4;
	const uint64_t rsp = t->regs[RSP];
	uint64_t rip, cs, flags, sp, ss;
	if (!pop(t, &rip, size) || !pop(t, &cs, size) || (uint16_t)cs != USER_CS || !is_canonical(rip))
		goto fault;
	if (in->opcode == 0xcf) {
		if (t->rflags & FLAG_NT || !pop(t, &flags, size) || !pop(t, &sp, size) ||
		    !pop(t, &ss, size) || (uint16_t)ss != USER_DS)
			goto fault;
		t->rflags = (flags & FLAGS_OF_IRET) | FLAGS_OF_USER;
		t->step.flags_loaded = t->step.trap;
		t->regs[RSP] = sp;
	} else {
		t->regs[RSP] += (uint16_t)in->imm;
	}
	t->pc = rip;
	return true;
fault:
	t->regs[RSP] = rsp;
	return false;
}

static uint64_t fs_base(void)
{
	uint64_t base = 0;
	if (E.has_fsgsbase)
		__asm__ volatile("rdfsbase %0" : "=r"(base));
	else
		sys2(__NR_arch_prctl, ARCH_GET_FS, &base);
	return base;
}

uint64_t segment_base(const struct thread *t, uint8_t prefix)
{
	return prefix == PREFIX_GS ? t->app_gs : prefix == PREFIX_FS ? fs_base() : 0;
}

uint64_t operand_address(const struct thread *t, const struct insn *in, const uint8_t *s, uint64_t pc)
{
	int64_t disp = 0;
	if (in->disp_len == 1)
		disp = (int8_t)s[in->disp_off];
	else if (in->disp_len == 4)
		__builtin_memcpy(&disp, s + in->disp_off, 4), disp = (int32_t)disp;
	uint64_t at = (uint64_t)disp;
	const int rm = in->modrm & 7, mod = in->modrm >> 6;
	if (in->rip_relative) {
		at += pc + in->len;
	} else if (rm == 4) {
		const int base = (in->sib & 7) | (in->rex & 1 ? 8 : 0);
		const int index = (in->sib >> 3 & 7) | (in->rex & 2 ? 8 : 0);
		if ((base & 7) != 5 || mod)
			at += t->regs[base];
		if (index != 4)
			at += t->regs[index] << (in->sib >> 6);
	} else {
		at += t->regs[rm | (in->rex & 1 ? 8 : 0)];
	}
	if (in->addr32)
		at = (uint32_t)at;
	return at + segment_base(t, in->segment);
}

/* The instruction's memory operand faults. The CPU runs the instruction to raise the signal, unless
 * the operand goes through gs, which has the engine's base. */
void memory_fault(struct thread *t, const struct insn *in, uint64_t at, bool write)
{
	if (in->segment != PREFIX_GS)
		signal_try(t);
	fault(t, SIGSEGV, SEGV_MAPERR, at, X86_TRAP_PF, X86_PF_USER | (write ? X86_PF_WRITE : 0));
}

/* The size of the offset in a far pointer. AMD's CPUs have none of 8 bytes. */
static unsigned far_size(const struct insn *in)
{
	return in->rex & 8 && !decode_amd_branches ? 8 : in->opsize16 && !(in->rex & 8) ? 2 : 4;
}

/* Far jmp and call through memory that stay in 64-bit user code. False: they fault. */
static bool far_branch(struct thread *t, const struct insn *in, const uint8_t *s)
{
	const unsigned size = far_size(in);
	const uint64_t from = operand_address(t, in, s, t->pc);
	uint64_t to = 0;
	uint16_t cs;
	if (!copy_guest(&to, (const void *)from, size) ||
	    !copy_guest(&cs, (const void *)(from + size), 2) || cs != USER_CS || !is_canonical(to))
		return false;
	if ((in->modrm >> 3 & 7) == 3) {
		const uint64_t frame[2] = { t->pc + in->len, USER_CS };
		uint8_t bytes[16];
		for (int i = 0; i < 2; i++)
			mem_copy(bytes + i * size, &frame[i], size);
		if (!put_guest(t->regs[RSP] - 2 * size, bytes, 2 * size))
			return false;
		t->regs[RSP] -= 2 * size;
	}
	t->pc = to;
	return true;
}

/* The segment base that a selector has: loads it into fs for a moment. */
static uint64_t selector_base(uint16_t sel)
{
	if (!(sel & ~SELECTOR_RPL) || sel == USER_DS || sel == USER_CS || sel == USER_CS32)
		return 0;		/* Linux's flat segments */
	uint16_t old;
	const uint64_t old_base = fs_base();
	__asm__ volatile("mov %%fs, %0" : "=r"(old));
	__asm__ volatile("mov %0, %%fs" : : "r"((uint32_t)sel));
	const uint64_t base = fs_base();
	__asm__ volatile("mov %0, %%fs" : : "r"((uint32_t)old));
	sys2(__NR_arch_prctl, ARCH_SET_FS, old_base);
	return base;
}

/* Raises the fault that the CPU raises when this selector is loaded into gs, if any. */
static void check_selector(struct thread *t, uint16_t sel)
{
	uint32_t rights = 0;
	uint8_t known, readable;
	if (!(sel & ~SELECTOR_RPL))
		return;
	__asm__ volatile("lar %2, %0\n\tsete %1" : "+r"(rights), "=q"(known)
			 : "r"((uint32_t)sel) : "cc");
	__asm__ volatile("verr %w1\n\tsete %0" : "=q"(readable) : "r"((uint32_t)sel) : "cc");
	if (!readable)
		fault(t, SIGSEGV, SI_KERNEL, 0, X86_TRAP_GP, sel & ~SELECTOR_RPL);
	if (known && !(rights >> 15 & 1))
		fault(t, SIGBUS, SI_KERNEL, 0, X86_TRAP_NP, sel & ~SELECTOR_RPL);
}

static void store_gs_selector(struct thread *t, const struct insn *in, const uint8_t *s)
{
	const uint64_t v = t->task.gs_selector;
	if (in->map == 1) {					/* push */
		const unsigned size = in->opsize16 ? 2 : 8;
		if (!put_guest(t->regs[RSP] - size, &v, size))
			signal_try(t);
		t->regs[RSP] -= size;
		return;
	}
	if ((in->modrm & 0xc0) == 0xc0) {			/* mov r, gs */
		uint64_t *const r = &t->regs[modrm_rm(in)];
		*r = in->opsize16 ? (*r & ~0xffffull) | v : v;
		return;
	}
	const uint64_t at = operand_address(t, in, s, t->pc);
	if (!put_guest(at, &v, 2))
		memory_fault(t, in, at, true);
}

/* mov to gs, pop gs, lgs: the program's selector is kept in struct thread. */
static void load_gs_selector(struct thread *t, const struct insn *in, const uint8_t *s)
{
	const bool is_pop = in->map == 1 && in->opcode == 0xa9, is_lgs = in->map == 1 && !is_pop;
	const unsigned size = is_pop ? (in->opsize16 ? 2 : 8) : is_lgs ? far_size(in) : 0;
	uint64_t offset = 0;
	uint16_t sel = (uint16_t)t->regs[modrm_rm(in)];
	if (is_pop) {
		if (!copy_guest(&offset, (const void *)t->regs[RSP], size))
			signal_try(t);
		sel = (uint16_t)offset;
	} else if ((in->modrm & 0xc0) != 0xc0) {
		const uint64_t at = operand_address(t, in, s, t->pc);
		if (!copy_guest(&offset, (const void *)at, size) ||
		    !copy_guest(&sel, (const void *)(at + size), 2))
			memory_fault(t, in, at, false);
	}
	check_selector(t, sel);
	if (is_pop)
		t->regs[RSP] += size;
	if (is_lgs) {
		uint64_t *const r = &t->regs[(in->modrm >> 3 & 7) | (in->rex & 4 ? 8 : 0)];
		*r = size == 2 ? (*r & ~0xffffull) | (uint16_t)offset : offset;
	}
	t->task.gs_selector = sel;
	app_gs_set(t, selector_base(sel));
}

static void popf(struct thread *t, const struct insn *in)
{
	const unsigned size = in->opsize16 ? 2 : 8;
	uint64_t v;
	if (!pop(t, &v, size))
		signal_try(t);
	if (size == 2)
		v |= t->rflags & ~0xffffull;
	t->rflags = (v & FLAGS_OF_POPF) | (t->rflags & ~(uint64_t)FLAGS_OF_POPF);
	t->step.flags_loaded = t->step.trap;
}

/* The kernel emulates the three functions of the page; each makes one system call, and returns
 * without an instruction that a counter counts. */
void vsyscall(struct thread *t)
{
	static const uint16_t nr[3] = { __NR_gettimeofday, __NR_time, __NR_getcpu };
	const uint64_t a[6] = { t->regs[RDI], t->regs[RSI], t->regs[RDX], 0, 0, 0 };
	const uint64_t entry = (t->pc - VSYSCALL_PAGE) / 1024;
	uint64_t back;
	if (!cache.has_vsyscall)
		signal_raise(t, SIGSEGV, SEGV_MAPERR, t->pc, X86_TRAP_PF,
			     X86_PF_INSTR | X86_PF_USER | X86_PF_PROT);
	if (t->pc & 1023 || entry > 2)
		signal_raise(t, SIGSEGV, SI_KERNEL, 0, 0, 0);
	if (!pop(t, &back, 8))
		signal_raise(t, SIGSEGV, SEGV_MAPERR, t->regs[RSP], X86_TRAP_PF, X86_PF_USER);
	const long ret = E.hermetic ? hermetic_syscall(t, nr[entry], a) :
			 E.machine && nr[entry] == __NR_getcpu ? machine_getcpu(a) : gate(t, nr[entry], a);
	if (ret == GATE_ABORTED || ret == GATE_RESTART) {
		t->regs[RSP] -= 8;
		return;
	}
	t->regs[RAX] = (uint64_t)ret;
	t->pc = back;
	if (cache.calls)
		calls_popped(t);
}

/* The 32-bit system calls whose arguments are no addresses of 32-bit layouts. */
static long int80(struct thread *t)
{
	static const struct { uint8_t nr32; uint16_t nr; } plain[] = {
		{ 1, __NR_exit }, { 3, __NR_read }, { 4, __NR_write }, { 6, __NR_close },
		{ 20, __NR_getpid }, { 24, __NR_getuid }, { 37, __NR_kill }, { 41, __NR_dup },
		{ 64, __NR_getppid }, { 158, __NR_sched_yield }, { 224, __NR_gettid },
		{ 252, __NR_exit_group },
	};
	const uint64_t a[6] = { (uint32_t)t->regs[RBX], (uint32_t)t->regs[RCX],
				(uint32_t)t->regs[RDX], (uint32_t)t->regs[RSI],
				(uint32_t)t->regs[RDI], (uint32_t)t->regs[RBP] };
	for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (plain[i].nr32 != (uint32_t)t->regs[RAX])
			continue;
		if (plain[i].nr == __NR_exit || plain[i].nr == __NR_exit_group)
			thread_exit(t, plain[i].nr, a);
		bool done = false;
		if (E.hermetic)
			return hermetic_syscall(t, plain[i].nr, a);
		const long ret = E.vpmu ? vpmu_syscall(t, plain[i].nr, a, &done) : 0;
		return done ? ret : gate(t, plain[i].nr, a);
	}
	die("a 32-bit system call (int 0x80) that the engine does not translate", t->pc);
}

/* (The address in a 16-bit environment is too short to be found, and is left as it is.) */
void fp_own_address(struct thread *t, uint64_t at, unsigned size)
{
	uint64_t code = 0;
	if (!copy_guest(&code, (const void *)at, size) || !code)
		return;
	lock_take();
	const uint64_t pc = code_origin(code, size == 4);
	lock_drop();
	if (pc)
		put_guest(at, &pc, size);
}

void fp_env_stored(struct thread *t, uint64_t pc)
{
	struct insn in;
	uint8_t bytes[15];
	unsigned have = 15;
	while (have && !copy_guest(bytes, (const void *)pc, have))
		have--;
	if (!have || decode_insn(&in, bytes, have) <= 0 || in.seg_used == PREFIX_FS)
		return;
	const uint64_t at = operand_address(t, &in, bytes, pc);
	if (in.map == 0 && !in.opsize16)
		fp_own_address(t, at + 12, 4);		/* fnstenv, fnsave */
	else if (in.map)
		fp_own_address(t, at + 8, in.rex & 8 ? 8 : 4);
}

uint64_t special_exit(struct thread *t, const struct link *l)
{
	struct insn in;
	uint8_t bytes[15];
	unsigned have = 15;
	while (have && !copy_guest(bytes, (const void *)l->target, have))
		have--;
	t->pc = l->target;
	t->exit_link = 1;
	const int len = have ? decode_insn(&in, bytes, have) : 0;
	if (len <= 0)
		die("a special instruction changed under us", t->pc);
	const uint64_t next = t->pc + (unsigned)len;
	const int rm = modrm_rm(&in);
	const bool wide = in.rex & 8;

	if (in.special == SPECIAL_GSBASE_READ) {
		t->regs[rm] = wide ? t->app_gs : (uint32_t)t->app_gs;
		t->pc = next;
	} else if (in.special == SPECIAL_GSBASE_WRITE) {
		app_gs_set(t, wide ? t->regs[rm] : (uint32_t)t->regs[rm]);
		t->pc = next;
	} else if (in.special == SPECIAL_GS_LOAD) {
		load_gs_selector(t, &in, bytes);
		t->pc = next;
	} else if (decode_reads_gs_selector(&in)) {
		store_gs_selector(t, &in, bytes);
		t->pc = next;
	} else if (in.flow == FLOW_XBEGIN) {
		t->regs[RAX] = 0;	/* aborted, no reason given: always legal */
		t->pc = next + (uint64_t)in.imm;
	} else if (in.flow == FLOW_FAR && (in.opcode == 0xcb || in.opcode == 0xca ||
					   in.opcode == 0xcf) && in.map == 0) {
		if (!far_return(t, &in))
			signal_try(t);
		t->exit_link = 0;
	} else if (in.flow == FLOW_FAR && in.opcode == 0xff && in.map == 0) {
		const bool done = far_branch(t, &in, bytes);
		if (!done && in.segment == PREFIX_GS)
			die("a far branch through gs to another code segment", l->target);
		if (!done)
			signal_try(t);
		t->exit_link = 0;
	} else if (in.special == SPECIAL_CPUID) {
		if (guest.cpuid_forbidden && sys1(__NR_arch_prctl, ARCH_GET_CPUID) == 0)
			signal_try(t);
		if (E.vpmu ? !vpmu_cpuid(t) : !machine_cpuid(t))
			signal_try(t);
		if (E.vpmu)
			vpmu_serialised(t);
		t->pc = next;
	} else if (E.hermetic && (in.special == SPECIAL_RDTSC || in.special == SPECIAL_RANDOM || decode_is_pause(&in))) {
		hermetic_insn(t, &in);
		t->pc = next;
	} else if (in.special == SPECIAL_MACHINE || in.special == SPECIAL_RDTSC ||
		   (in.special == SPECIAL_FP_ENV && in.flow == FLOW_NEXT)) {
		machine_insn(t, &in, bytes);
		t->pc = next;
	} else if (in.special == SPECIAL_RDPMC) {
		vpmu_rdpmc(t);
		t->pc = next;
	} else if (in.special == SPECIAL_POPF) {
		popf(t, &in);
		t->pc = next;
	} else if (in.special == SPECIAL_REQUEST) {
		client_request(t);
		t->pc = next;
	} else if (in.flow == FLOW_INT) {
		if (E.vpmu)
			vpmu_entry(t);
		const long ret = int80(t);
		if (E.vpmu) {
			vpmu_iret(t);
			vpmu_follow(t);
		}
		if (ret != GATE_ABORTED && ret != GATE_RESTART) {
			t->regs[RAX] = (uint64_t)ret;
			t->pc = next;
		} else {
			step_undone(t);
		}
	} else if (in.special == SPECIAL_SHSTK && in.map == 1 && in.opcode == 0x1e) {
		t->pc = next;		/* no shadow stack here: rdssp is a nop */
	} else if (in.seg_used == PREFIX_GS || (in.flow == FLOW_SYSENTER && !decode_amd_branches)) {
		die("an instruction the engine cannot run", t->pc);
	} else {
		signal_try(t);		/* incssp, enclu, uiret …: they fault here as natively */
	}
	const bool indirect = t->exit_link == 0;
	if (t->pending || t->step.trap || t->vpmu.stepping || t->traced.step ||
	    t->rflags & FLAG_TF)
		return resume(t);
	t->exit_link = !indirect;
	return cache_lookup(t);
}
