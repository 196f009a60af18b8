/* gs_fs: the program's own use of both segments: arch_prctl, rd/wr{fs,gs}base,
 * selectors, operands with every kind of addressing. */
//@ need fsgsbase
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	a(%rip), %r12
	leaq	b(%rip), %r13
1:
//@ loop LOOPS
	/* arch_prctl(ARCH_SET_GS, a), (ARCH_SET_FS, b) */
	movl	$158, %eax
	movl	$0x1001, %edi
	movq	%r12, %rsi
	syscall				//= syscall
	movl	$158, %eax
	movl	$0x1002, %edi
	movq	%r13, %rsi
	syscall				//= syscall
	movq	%gs:0, %rax		//= load
	cmpq	$11, %rax
	jne	failed			//= cond
	movl	$8, %ecx
	movq	%gs:(%rcx), %rax	//= load
	cmpq	$12, %rax
	jne	failed			//= cond
	movq	%gs:8(%rcx,%rcx), %rax	//= load
	cmpq	$14, %rax
	jne	failed			//= cond
	addq	$1, %gs:32		//= load store
	movq	32(%r12), %rax		//= load
	subq	$1, 32(%r12)		//= load store
	cmpq	$16, %rax
	jne	failed			//= cond
	movq	%fs:0, %rax		//= load
	cmpq	$21, %rax
	jne	failed			//= cond
	/* gs with push, pop, call, jmp, xchg, string, cmov, sse, lea */
	pushq	%gs:0			//= load store
	popq	%gs:40			//= load store
	cmpq	$11, 40(%r12)		//= load
	jne	failed			//= cond
	leaq	leaf(%rip), %rax
	movq	%rax, %gs:48		//= store
	call	*%gs:48			//= icall load
	leaq	2f(%rip), %rax
	movq	%rax, %gs:48		//= store
	jmp	*%gs:48			//= ijmp load
	ud2				//= x0
2:	movl	$3, %eax
	xchgq	%rax, %gs:48		//= load store lock
	lock incq %gs:48		//= load store lock
	cmpq	$4, 48(%r12)		//= load
	jne	failed			//= cond
	xorl	%esi, %esi
	lodsq	%gs:(%rsi)		//= load
	cmpq	$11, %rax
	jne	failed			//= cond
	xorl	%esi, %esi
	leaq	56(%r12), %rdi
	movl	$1, %ecx
	rep movsq %gs:(%rsi), %es:(%rdi)	//= load store
	cmpq	$11, 56(%r12)		//= load
	jne	failed			//= cond
	cmpl	%eax, %eax
	cmoveq	%gs:8, %rax		//= load
	cmpq	$12, %rax
	jne	failed			//= cond
	movdqu	%gs:0, %xmm0		//= load
	movq	%xmm0, %rax
	cmpq	$11, %rax
	jne	failed			//= cond
	.byte	0x65, 0x48, 0x8d, 0x04, 0x25, 8, 0, 0, 0	//= insn
	cmpq	$8, %rax
	jne	failed			//= cond
	/* 32-bit address, rsp-based: gs:(%rsp-relative) after making rsp small */
	movl	$16, %eax
	movq	%gs:(%eax), %rax	//= load
	cmpq	$13, %rax
	jne	failed			//= cond
	movq	%rsp, %r14
	movl	$24, %esp
	movq	%gs:(%rsp), %rax	//= load
	movq	%r14, %rsp
	cmpq	$14, %rax
	jne	failed			//= cond
	/* ARCH_GET_GS, ARCH_GET_FS */
	movl	$158, %eax
	movl	$0x1004, %edi
	leaq	place(%rip), %rsi
	syscall				//= syscall
	cmpq	%r12, place(%rip)	//= load
	jne	failed			//= cond
	movl	$158, %eax
	movl	$0x1003, %edi
	leaq	place(%rip), %rsi
	syscall				//= syscall
	cmpq	%r13, place(%rip)	//= load
	jne	failed			//= cond
	/* the instructions */
	rdgsbase %rax
	cmpq	%r12, %rax
	jne	failed			//= cond
	rdfsbase %rax
	cmpq	%r13, %rax
	jne	failed			//= cond
	wrgsbase %r13
	wrfsbase %r12
	movq	%gs:0, %rax		//= load
	movq	%fs:0, %rcx		//= load
	cmpq	$21, %rax
	jne	failed			//= cond
	cmpq	$11, %rcx
	jne	failed			//= cond
	leaq	8(%r12), %rax
	wrgsbase %rax
	rdgsbase %rbx
	cmpq	%rax, %rbx
	jne	failed			//= cond
	wrgsbase %r12d
	rdgsbase %ebx
	cmpl	%r12d, %ebx
	jne	failed			//= cond
	/* a null selector: selector 0 reads back; the base of gs is left or
	 * cleared as the CPU model has it, so only the selector is checked */
	xorl	%eax, %eax
	movl	%eax, %gs
	movl	%gs, %eax
	testl	%eax, %eax
	jnz	failed			//= cond
	/* a real selector (user data) clears the base on every model */
	wrgsbase %r12
	movl	%ss, %eax
	movl	%eax, %gs
	movl	%gs, %ecx
	cmpl	%eax, %ecx
	jne	failed			//= cond
	rdgsbase %rcx
	testq	%rcx, %rcx
	jnz	failed			//= cond
	movq	%gs:(%r12), %rax	//= load
	cmpq	$11, %rax
	jne	failed			//= cond
	pushq	%gs			//= store
	popq	%gs			//= load
	xorl	%eax, %eax
	movl	%eax, %gs
	movl	%eax, %fs
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
leaf:
//@ loop LOOPS
	ret				//= ret
//@ end
	FAILED
	.data
	.balign	16
a:	.quad	11, 12, 13, 14, 15, 0, 0, 0
b:	.quad	21, 22
place:	.quad	0
