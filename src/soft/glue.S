/* Ways between translated code and C. Offsets are those of struct thread (layout.h). gs always
 * points THREAD_AREA above the running thread's struct.
 *
 * Signals: a signal that comes while this code runs is kept (signal.c), and C looks for it before
 * it goes back to the cache. In [glue_enter_begin, glue_enter_end) C has looked already, but all
 * of the program's state is still in struct thread: there the signal is delivered, and the thread
 * goes on at glue_redispatch.
 */
#include "linux-names.h"
#include "layout.h"

#define AT(off)	%gs:((off) - THREAD_AREA)
#define REG(n)	AT(OFF_REGS + 8 * (n))
#define SELF	AT(OFF_SELF)
#define PC	AT(OFF_PC)
#define RFLAGS	AT(OFF_RFLAGS)
#define RETURN	AT(OFF_RETURN_NUMBER)
#define S0	AT(OFF_S0)
#define S1	AT(OFF_S1)
#define ESP	AT(OFF_ENGINE_RSP)
#define EXIT	AT(OFF_EXIT)
#define TARGET	AT(OFF_TARGET)
#define PENDING	AT(OFF_PENDING)

	.section .note.GNU-stack, "", @progbits
	.text
	.globl engine_start
	.hidden engine_start
/* The launcher sets rip to this address at the first instruction of an image, twice (inject.c).
 * The second time rax is 0, and gs and rsp are the first thread's. */
engine_start:
	test	%eax, %eax
	jnz	map_rest
	cld
	xor	%ebp, %ebp
	call	engine_main
	jmp	glue_enter

/* The first time only this code is mapped. It maps the rest, because each call that the launcher
 * makes in this process takes two switches between processes. In: rsp is the end of the first
 * thread; r12 and r13 are address and size of the engine's data, r14 and r15 of the shared memory;
 * rbx is the descriptor of the shared memory, ebp one to close, or -1. Out: rax is 0, or an
 * error. */
map_rest:
	mov	$(PROT_READ | PROT_WRITE), %edx
	mov	$(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE), %r10d
	mov	$-1, %r8
	xor	%r9d, %r9d
	mov	%r12, %rdi
	mov	%r13, %rsi
	mov	$__NR_mmap, %eax
	syscall
	cmp	%rdi, %rax
	jne	1f
	mov	$THREAD_STACK_END, %esi
	mov	%rsp, %rdi
	sub	%rsi, %rdi
	mov	$__NR_mmap, %eax
	syscall
	cmp	%rdi, %rax
	jne	1f
	mov	$(MAP_SHARED | MAP_FIXED_NOREPLACE), %r10d
	mov	%rbx, %r8
	mov	%r14, %rdi
	mov	%r15, %rsi
	mov	$__NR_mmap, %eax
	syscall
	cmp	%rdi, %rax
	jne	1f
	xor	%eax, %eax
	test	%ebp, %ebp
	js	1f
	mov	%ebp, %edi
	mov	$__NR_close, %eax
	syscall
	xor	%eax, %eax
1:	int3

	.globl glue_start
glue_start:
	.globl glue_return_miss
/* R has no code for a return. s0 is the program's rcx, rcx the number of the call; the return
 * address is still on the stack. */
glue_return_miss:
	mov	%rcx, RETURN
	mov	(%rsp), %rcx
	lea	8(%rsp), %rsp
	mov	%rcx, PC
	mov	S0, %rcx
	movq	$EXIT_RETURN, EXIT
	jmp	glue_exit
	.globl glue_miss
/* P has no code for an indirect jump. s0 is the program's rcx, s1 the target. */
glue_miss:
	mov	S1, %rcx
	mov	%rcx, PC
	mov	S0, %rcx
	movq	$EXIT_INDIRECT, EXIT
	.globl glue_exit
glue_exit:
	mov	%rax, REG(0)
	mov	%rcx, REG(1)
	mov	%rdx, REG(2)
	mov	%rbx, REG(3)
	mov	%rsp, REG(4)
	mov	%rbp, REG(5)
	mov	%rsi, REG(6)
	mov	%rdi, REG(7)
	mov	%r8, REG(8)
	mov	%r9, REG(9)
	mov	%r10, REG(10)
	mov	%r11, REG(11)
	mov	%r12, REG(12)
	mov	%r13, REG(13)
	mov	%r14, REG(14)
	mov	%r15, REG(15)
	mov	ESP, %rsp
	pushfq
	popq	RFLAGS
	testl	$FLAGS_NOT_IN_C, RFLAGS
	jz	1f
	pushq	$FLAG_ONE
	popfq
1:	mov	SELF, %rdi
	call	engine_exit
glue_enter:
	.globl glue_enter_begin
glue_enter_begin:
	mov	%rax, TARGET
	cmpq	$0, PENDING		/* and thread.again, which comes right after it */
	jne	glue_redispatch
	pushq	RFLAGS
	popfq
	mov	REG(0), %rax
	mov	REG(1), %rcx
	mov	REG(2), %rdx
	mov	REG(3), %rbx
	mov	REG(5), %rbp
	mov	REG(6), %rsi
	mov	REG(7), %rdi
	mov	REG(8), %r8
	mov	REG(9), %r9
	mov	REG(10), %r10
	mov	REG(11), %r11
	mov	REG(12), %r12
	mov	REG(13), %r13
	mov	REG(14), %r14
	mov	REG(15), %r15
	mov	REG(4), %rsp
	jmp	*TARGET
	.globl glue_enter_end
glue_enter_end:
	.globl glue_redispatch
/* All of the program's state is in struct thread: go on at its pc. */
glue_redispatch:
	mov	ESP, %rsp
	mov	SELF, %rdi
	call	resume
	jmp	glue_enter

	.globl glue_go
glue_go:
	jmp	glue_redispatch

/* long gate_call(thread, {nr, a, b, c, d, e, f}): makes a system call of the program. rcx is 0
 * before the call, so that a signal frame at gate_insn shows whether the call was not made (rcx is
 * 0) or is to be restarted (rcx is gate_after). */
	.globl gate_call
gate_call:
	mov	%rsi, %r11
	mov	0(%r11), %rax
	mov	8(%r11), %rdi
	mov	16(%r11), %rsi
	mov	24(%r11), %rdx
	mov	32(%r11), %r10
	mov	40(%r11), %r8
	mov	48(%r11), %r9
	xor	%ecx, %ecx
	.globl gate_begin
gate_begin:
	cmpl	$0, PENDING
	jne	gate_abort
	.globl gate_insn
gate_insn:
	syscall
	.globl gate_after
gate_after:
	ret
	.globl gate_abort
gate_abort:
	mov	$GATE_ABORTED, %rax
	ret

/* long glue_copy(to, from, n), and long glue_peek(at), which only reads a byte: 0, or -1 after a
 * fault. */
	.globl copy_begin, glue_peek, glue_copy
copy_begin:
glue_peek:
	movb	(%rdi), %al
	xor	%eax, %eax
	ret
glue_copy:
	mov	%rdx, %rcx
	rep movsb
	.globl copy_end
copy_end:
	xor	%eax, %eax
	ret
	.globl copy_fault
copy_fault:
	mov	$-1, %rax
	ret

/* long glue_clone(nr, {a, b, c, d, e}, child): in the parent the result; the
 * child starts on its own engine stack, with its own gs. The caller has put the
 * child's engine stack into the arguments. */
	.globl glue_clone
glue_clone:
	push	%rbx
	push	%r12
	mov	%rdx, %r12
	mov	%rdi, %rax
	mov	%rsi, %rbx
	mov	0(%rbx), %rdi
	mov	8(%rbx), %rsi
	mov	16(%rbx), %rdx
	mov	24(%rbx), %r10
	mov	32(%rbx), %r8
	syscall
	.globl clone_after
clone_after:
	test	%rax, %rax
	jz	1f
	pop	%r12
	pop	%rbx
	ret
1:	mov	OFF_ENGINE_RSP(%r12), %rsp
	mov	%r12, %rdi
	call	thread_child
	ud2

/* glue_sigreturn(uc, flags): rt_sigreturn with that frame; `flags` has those that it does not
 * restore (NT, ID). */
	.globl glue_sigreturn
glue_sigreturn:
	push	%rsi
	popfq
	mov	%rdi, %rsp
	.globl glue_restorer
glue_restorer:
	mov	$__NR_rt_sigreturn, %eax
	syscall
	ud2

/* The kernel calls this on the thread's signal stack: (sig, info, uc). */
	.globl glue_master
glue_master:
	pushq	$FLAG_ONE		/* the kernel clears DF and TF, but not AC */
	popfq
	push	%rbp
	call	master
	pop	%rbp
	ret
	.globl glue_end
glue_end:

/* bool glue_cpuid(leaf, subleaf, uint32_t answer[4]): the only cpuid of the engine. The program, or
 * its tracer, may have forbidden it (ARCH_SET_CPUID): then it faults, and false is returned. */
	.text
	.globl glue_cpuid, cpuid_insn, cpuid_fault
glue_cpuid:
	push	%rbx
	mov	%rdx, %r8
	mov	%edi, %eax
	mov	%esi, %ecx
cpuid_insn:
	cpuid
	mov	%eax, 0(%r8)
	mov	%ebx, 4(%r8)
	mov	%ecx, 8(%r8)
	mov	%edx, 12(%r8)
	mov	$1, %eax
	pop	%rbx
	ret
cpuid_fault:
	xor	%eax, %eax
	pop	%rbx
	ret
/* void glue_xsave(to, features): stores the live FP state. `to` is 64-byte aligned. A feature in
 * its initial state is stored, but its bit in the header is clear, as in the kernel's frames. */
	.text
	.globl glue_xsave
glue_xsave:
	mov	%rsi, %rax
	mov	%rsi, %rdx
	shr	$32, %rdx
	xsave64	(%rdi)
	ret
/* void glue_fxsave(to) */
	.globl glue_fxsave
glue_fxsave:
	fxsave64 (%rdi)
	ret
