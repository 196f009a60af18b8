/* returns: that go where the last call at that place of the stack did not say: changed
 * return addresses, pushed ones, stacks that are not aligned, two stacks whose addresses
 * share their low halves, stacks far below; what a return must leave alone; and one whose
 * address cannot be read. Nearly every pass calls everything from two places. */
#include "kernel.inc"
#define RETURNS LOOPS
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	movq	%rsp, %r15
	SIGACTION 11, goto_r14
	/* two stacks, 4 GiB apart */
	movl	$9, %eax
	movabsq	$0x300000000, %rdi
	movl	$0x10000, %esi
	movl	$3, %edx
	movl	$0x100032, %r10d
	movq	$-1, %r8
	xorl	%r9d, %r9d
	syscall				//= syscall
	movq	%rax, %r12
	movl	$9, %eax
	movabsq	$0x400000000, %rdi
	syscall				//= syscall
	movq	%rax, %r13
again:
//@ loop LOOPS
	/* one function, two callers, the same place of the stack */
	xorl	%ebx, %ebx
	call	plus_one		//= call
	addl	$10, %ebx
	call	plus_one		//= call
	addl	$10, %ebx
	cmpl	$22, %ebx
	jne	failed			//= cond
	/* flags and rcx come back as they were left */
	movabsq	$0x123456789abcdef0, %rcx
	call	set_flags		//= call
	jnc	failed			//= cond
	jno	failed			//= cond
	call	clear_flags		//= call
	jc	failed			//= cond
	jo	failed			//= cond
	movabsq	$0x123456789abcdef0, %rax
	cmpq	%rax, %rcx
	jne	failed			//= cond
	/* the function changes where it returns to */
	leaq	2f(%rip), %rdx
	call	return_to_rdx		//= call
	ud2				//= x0
2:	leaq	3f(%rip), %rdx
	stc
	call	return_to_rdx		//= call
	ud2				//= x0
3:	jnc	failed			//= cond
	/* nobody called: pushed, at the place a call has just left */
	leaq	2f(%rip), %rax
	pushq	%rax			//= store
	stc
	ret				//= ret
	ud2				//= x0
2:	jnc	failed			//= cond
	cmpq	%r15, %rsp
	jne	failed			//= cond
	/* stacks that are not aligned, with calls below each other … */
	xorl	%ebx, %ebx
	xorl	%esi, %esi
	.irp	off, 1, 2, 3, 4, 5, 6, 7
	subq	$\off, %rsp
	call	nested			//= call
	addq	$\off, %rsp
	.endr
	cmpl	$14, %ebx
	jne	failed			//= cond
	/* … and returns that find the remains of two numbers there */
	.irp	off, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15
	subq	$\off, %rsp
	leaq	99f(%rip), %rax
	pushq	%rax			//= store
	ret				//= ret
	ud2				//= x0
99:	addq	$\off, %rsp
	.endr
	cmpq	%r15, %rsp
	jne	failed			//= cond
	/* two stacks with the same low halves, each in the middle of a call */
	xorl	%ebx, %ebx
	leaq	0x8000(%r12), %rsp
	call	change_stack		//= call
	incl	%ebx
	cmpl	$3, %ebx
	jne	failed			//= cond
	/* far below, and 2000 deep */
	leaq	-0x200000(%r15), %rsp
	call	plus_one		//= call
	movq	%r15, %rsp
	movl	$2000, %ecx
	call	deep			//= call
	testl	%ecx, %ecx
	jne	failed			//= cond
	/* a return whose address cannot be read: the fault is its own */
	leaq	2f(%rip), %r14
	leaq	unreadable(%rip), %rdx
	leaq	0x10000(%r12), %rsp
unreadable:
	ret				//= ret x0
	ud2				//= x0
2:	cmpq	%rdx, %rax
	jne	failed			//= cond
	leaq	0x10000(%r12), %rcx
	cmpq	%rcx, %rsp
	jne	failed			//= cond
	movq	%r15, %rsp
	decl	%ebp
	jne	again			//= cond loop
//@ end
	EXIT
	FAILED

plus_one:
//@ loop LOOPS
//@ loop 3
	incl	%ebx
	ret				//= ret
//@ end
//@ end

set_flags:
//@ loop LOOPS
	movl	$0x80000000, %eax
	addl	%eax, %eax
	ret				//= ret
//@ end

clear_flags:
//@ loop LOOPS
	xorl	%eax, %eax
	.byte	0xf3, 0xc3		//= insn ret
//@ end

return_to_rdx:
//@ loop LOOPS
//@ loop 2
	movq	%rdx, (%rsp)		//= store
	ret				//= ret
//@ end
//@ end

nested:
//@ loop LOOPS
//@ loop 7
	incl	%ebx
	pushw	%ax			//= store
	call	inner			//= call
	popw	%ax			//= load
	ret				//= ret
//@ end
//@ end

inner:
//@ loop LOOPS
//@ loop 7
	incl	%ebx
	ret				//= ret
//@ end
//@ end

/* Called on the first stack: calls on the second from the same low half, goes back to the
 * first, returns from there. */
change_stack:
//@ loop LOOPS
	incl	%ebx
	leaq	0x8000(%r13), %rsp
	call	first_again		//= call
	ud2				//= x0
//@ end
first_again:
//@ loop LOOPS
	incl	%ebx
	leaq	0x7ff8(%r12), %rsp
	ret				//= ret
//@ end

deep:
//@ loop LOOPS
//@ loop 2000
	decl	%ecx
	jne	2f			//= cond loop
//@ end
	ret				//= ret
//@ loop 1999
2:	call	deep			//= call
	ret				//= ret
//@ end
//@ end

/* The fault: rax = where, on at r14. */
goto_r14:
//@ loop LOOPS
	movq	UC_RIP(%rdx), %rax	//= load
	movq	%rax, UC_RAX(%rdx)	//= store
	movq	%r14, UC_RIP(%rdx)	//= store
	ret				//= ret
//@ end
	RESTORER
