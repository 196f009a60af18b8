/* Ways between translated code and C. Offsets are those of struct thread (layout.h). gs always
 * points THREAD_AREA above the running thread's struct.
 *
 * Signals: outside [glue_enter_begin, glue_enter_end) a signal that finds us
 * here is only noted (signal.c), and C looks before it goes back. Inside that
 * window everything the program owns is still in struct thread, so the signal
 * code simply starts over at glue_redispatch.
 */
#include "kernel.h"
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
/* The launcher sets rip here at the first instruction of an image, twice (inject.c). The
 * second time rax is 0; gs and rsp are the first thread's. */
engine_start:
	test	%eax, %eax
	jnz	map_rest
	cld
	xor	%ebp, %ebp
	call	engine_main
	jmp	glue_enter

/* The first time nothing but this code is mapped: the rest, all at once, since each call
 * that the launcher makes for us takes two switches between processes. rsp is the end of
 * the first thread, r12 and r13 are place and size of the engine's data, r14 and r15 of the
 * shared memory, rbx its descriptor, ebp one to close or -1. rax tells how it went. */
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
/* A return found nothing: s0 = rcx, rcx = its number, where to is still on the stack. */
glue_return_miss:
	mov	%rcx, RETURN
	mov	(%rsp), %rcx
	lea	8(%rsp), %rsp
	mov	%rcx, PC
	mov	S0, %rcx
	movq	$EXIT_RETURN, EXIT
	jmp	glue_exit
	.globl glue_miss
/* An indirect branch found nothing: s0 = rcx, s1 = where to. */
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
	cmpq	$0, PENDING		/* and the word after it: code may have moved */
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
/* Everything is in struct thread; go on at its pc. */
glue_redispatch:
	mov	ESP, %rsp
	mov	SELF, %rdi
	call	resume
	jmp	glue_enter

	.globl glue_go
glue_go:
	jmp	glue_redispatch

/* long gate_call(thread, {nr, a, b, c, d, e, f}): the one place where the
 * program's system calls are made. rcx is 0 before, so that a signal frame at
 * gate_insn tells "not made" (0) from "made, to be restarted" (gate_after). */
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

/* long glue_copy(to, from, n), long glue_peek(at), which only looks whether there is a
 * byte: 0, or -1 after a fault. */
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

/* glue_sigreturn(uc, flags): the flags that rt_sigreturn leaves alone (NT, ID) from there. */
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

/* Kernel calls this on the thread's signal stack: (sig, info, uc). */
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

/* bool glue_cpuid(leaf, subleaf, uint32_t answer[4]): the only cpuid of the engine. The program,
 * or who traces it, may have forbidden it (ARCH_SET_CPUID): then it faults, and false. */
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
/* void glue_xsave(to, features): of the live FP state. `to` is 64-byte aligned. A feature in
 * its initial state is written, but not told in the header, as in the kernel's frames. */
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
