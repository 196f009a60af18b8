/* A tracer that reads or sets the registers of a counted task means the program's registers.
 *
 * A counted task that is stopped in a system call, or anywhere in the engine, has the engine's
 * registers; the program's are in its struct thread. LeakSanitizer, for example, attaches to its
 * own threads and treats the memory above their stack pointers as in use. A task that is stopped in
 * the cache has the program's registers, except rip and a spilled register: these are corrected if
 * tracer and tracee share their memory.
 */
#include "guest-room.h"
#include "procfs.h"
#include "sys.h"
#include "text.h"

#include <linux/elf.h>

/* As the kernel hands it out (struct user_regs_struct). */
struct k_user_regs {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax,
		rip, cs, eflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs;
};

/* Where the struct thread of a counted task is, in its memory; 0 if it is none. */
static uint64_t thread_of(int32_t tid)
{
	const struct soft_record *const r = record_find(tid);
	return r && r->live_counts ? r->live_counts - THREAD_COUNTS : 0;
}

static bool is_our_thread(uint64_t at, int32_t tid)
{
	for (uint32_t i = 0; i < E.n_threads; i++)
		if ((uint64_t)thread_at(i) == at && thread_at(i)->in_use && thread_at(i)->tid == tid)
			return true;
	return false;
}

static void put_regs(struct k_user_regs *u, const uint64_t r[16], uint64_t pc)
{
	*u = (struct k_user_regs){
		.r15 = r[R15], .r14 = r[R14], .r13 = r[R13], .r12 = r[R12], .rbp = r[RBP],
		.rbx = r[RBX], .r11 = r[R11], .r10 = r[R10], .r9 = r[R9], .r8 = r[R8],
		.rax = u->rax, .rcx = r[RCX], .rdx = r[RDX], .rsi = r[RSI], .rdi = r[RDI],
		.orig_rax = u->orig_rax, .rip = pc, .cs = u->cs, .eflags = u->eflags,
		.rsp = r[RSP], .ss = u->ss, .fs_base = u->fs_base, .ds = u->ds, .es = u->es,
		.fs = u->fs,
	};
}

static void from_cache(struct thread *self, const struct thread *t, struct k_user_regs *u)
{
	uint64_t pc, r[16] = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
			       u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15 };
	if (!lock_try())
		return;			/* the tracee may be stopped with it */
	if (recover_view(t, u->rip, r, &pc)) {
		u->rax = r[RAX];
		put_regs(u, r, pc);
	}
	lock_drop();
}

static bool in_gate(uint64_t pc)
{
	return pc >= (uint64_t)gate_begin && pc <= (uint64_t)gate_after;
}

/* The program's registers instead of the engine's. */
static void own_regs(struct thread *self, int32_t tid, struct k_user_regs *u)
{
	struct thread tracee;		/* a copy, of another process */
	const uint64_t at = thread_of(tid);
	if (!at)
		return;
	const bool ours = is_our_thread(at, tid);
	const struct thread *const t = ours ? (const struct thread *)at : &tracee;
	if (!ours && !proc_read_memory((uint64_t)tid, &tracee, (const void *)at, sizeof(tracee)))
		return;
	u->gs_base = t->app_gs;
	u->gs = t->task.gs_selector;
	const uint64_t rip = u->rip;
	if (in_engine(rip)) {
		put_regs(u, t->regs, t->pc);
		u->eflags = t->rflags;
		if (!in_gate(rip)) {		/* no system call of the program */
			u->rax = t->regs[RAX];
			u->orig_rax = ~0ull;
		}
	} else if (ours && in_cache(u->rip)) {
		from_cache(self, t, u);
	}
	u->gs_base = t->app_gs;
	u->gs = t->task.gs_selector;
}

static long get_regs(struct thread *t, int32_t tid, struct k_user_regs *u)
{
	const uint64_t ask[6] = { PTRACE_GETREGS, (uint32_t)tid, 0, (uint64_t)u };
	const long ret = gate(t, __NR_ptrace, ask);
	if (ret == 0)
		own_regs(t, tid, u);
	return ret;
}

static long do_getregs(struct thread *t, const uint64_t *a)
{
	struct k_user_regs u = { 0 };
	const long ret = get_regs(t, (int32_t)a[1], &u);
	if (ret)
		return ret;
	return put_guest(a[3], &u, sizeof(u)) ? 0 : -EFAULT;
}

static long do_getregset(struct thread *t, const uint64_t *a)
{
	struct k_user_regs u = { 0 };
	struct iovec io;
	const long ret = gate(t, __NR_ptrace, a);
	if (ret || a[2] != NT_PRSTATUS || !copy_guest(&io, (const void *)a[3], sizeof(io)) ||
	    get_regs(t, (int32_t)a[1], &u))
		return ret;
	const uint64_t n = io.iov_len < sizeof(u) ? io.iov_len : sizeof(u);
	return copy_guest(io.iov_base, &u, n) ? 0 : -EFAULT;
}

static bool write_memory(int32_t tid, uint64_t at, const void *from, uint64_t len)
{
	const struct iovec here = { (void *)(uintptr_t)from, len }, there = { (void *)at, len };
	return sys6(__NR_process_vm_writev, tid, (long)&here, 1, (long)&there, 1, 0) == (long)len;
}

/* Of a task in C, in its struct thread at `at`. */
static bool put_own(int32_t tid, uint64_t at, const struct k_user_regs *u)
{
	const uint64_t regs[16] = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
				    u->r8, u->r9, u->r10, u->r11, u->r12, u->r13, u->r14, u->r15 };
	const uint64_t minus_gs = -u->gs_base;
	return write_memory(tid, at + offsetof(struct thread, regs), regs, sizeof(regs)) &&
	       write_memory(tid, at + offsetof(struct thread, pc), &u->rip, 8) &&
	       write_memory(tid, at + offsetof(struct thread, rflags), &u->eflags, 8) &&
	       write_memory(tid, at + offsetof(struct thread, app_gs), &u->gs_base, 8) &&
	       write_memory(tid, at + offsetof(struct thread, app_gs_neg), &minus_gs, 8);
}

/* Sets the program's registers instead of the engine's. The kernel gets what it uses itself: fs and, in a system
 * call, the arguments and the result. */
static long set_regs(struct thread *t, int32_t tid, const struct k_user_regs *u)
{
	struct k_user_regs k = { 0 };
	const uint64_t get[6] = { PTRACE_GETREGS, (uint32_t)tid, 0, (uint64_t)&k };
	uint64_t set[6] = { PTRACE_SETREGS, (uint32_t)tid, 0, (uint64_t)u };
	const uint64_t at = thread_of(tid);
	const long ret = at ? gate(t, __NR_ptrace, get) : 0;
	if (ret)
		return ret;
	if (!at || !in_engine(k.rip))
		return gate(t, __NR_ptrace, set);
	if (!put_own(tid, at, u))
		return -EIO;
	k.fs_base = u->fs_base;
	if (in_gate(k.rip)) {
		k.rdi = u->rdi;
		k.rsi = u->rsi;
		k.rdx = u->rdx;
		k.r10 = u->r10;
		k.r8 = u->r8;
		k.r9 = u->r9;
		k.rax = u->rax;
		k.orig_rax = u->orig_rax;
	}
	set[3] = (uint64_t)&k;
	return gate(t, __NR_ptrace, set);
}

static long do_setregs(struct thread *t, const uint64_t *a)
{
	struct k_user_regs u;
	return copy_guest(&u, (const void *)a[3], sizeof(u)) ? set_regs(t, (int32_t)a[1], &u) : -EFAULT;
}

static long do_setregset(struct thread *t, const uint64_t *a)
{
	struct k_user_regs u = { 0 };
	struct iovec io;
	if (a[2] != NT_PRSTATUS)
		return gate(t, __NR_ptrace, a);
	if (!copy_guest(&io, (const void *)a[3], sizeof(io)))
		return -EFAULT;
	const uint64_t n = io.iov_len < sizeof(u) ? io.iov_len : sizeof(u);
	if (n % 8)
		return -EINVAL;
	const long ret = get_regs(t, (int32_t)a[1], &u);
	if (ret)
		return ret;
	return copy_guest(&u, io.iov_base, n) ? set_regs(t, (int32_t)a[1], &u) : -EFAULT;
}

static long do_pokeuser(struct thread *t, const uint64_t *a)
{
	struct k_user_regs u = { 0 };
	if (a[2] % 8 || a[2] >= sizeof(u))
		return gate(t, __NR_ptrace, a);
	const long ret = get_regs(t, (int32_t)a[1], &u);
	if (ret)
		return ret;
	mem_copy((char *)&u + a[2], &a[3], 8);
	return set_regs(t, (int32_t)a[1], &u);
}

static long do_peekuser(struct thread *t, const uint64_t *a)
{
	struct k_user_regs u = { 0 };
	const long ret = gate(t, __NR_ptrace, a);
	if (ret || a[2] % 8 || a[2] >= sizeof(u) || get_regs(t, (int32_t)a[1], &u))
		return ret;
	return put_guest(a[3], (const char *)&u + a[2], 8) ? 0 : -EFAULT;
}

long ptrace_registers(struct thread *t, const uint64_t *a)
{
	switch (a[0]) {
	case PTRACE_GETREGS:
		return do_getregs(t, a);
	case PTRACE_GETREGSET:
		return do_getregset(t, a);
	case PTRACE_PEEKUSR:
		return do_peekuser(t, a);
	case PTRACE_SETREGS:
		return do_setregs(t, a);
	case PTRACE_SETREGSET:
		return do_setregset(t, a);
	case PTRACE_POKEUSR:
		return do_pokeuser(t, a);
	default:
		return gate(t, __NR_ptrace, a);
	}
}
