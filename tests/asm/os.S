/* os: system calls and the first touch of pages. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
1:
//@ loop LOOPS
	/* write(-1, 0, 0): EBADF */
	movl	$1, %eax
	movl	$-1, %edi
	xorl	%esi, %esi
	xorl	%edx, %edx
	syscall				//= syscall
	cmpq	$-9, %rax
	jne	failed			//= cond
	/* mmap a page, touch it, unmap it */
	movl	$9, %eax
	xorl	%edi, %edi
	movl	$4096, %esi
	movl	$3, %edx
	movl	$0x22, %r10d
	movq	$-1, %r8
	xorl	%r9d, %r9d
	syscall				//= syscall
	movq	%rax, %rdi
	movb	$1, (%rdi)		//= store
	movq	%rdi, 8(%rdi)		//= store
	movl	$11, %eax
	movl	$4096, %esi
	syscall				//= syscall
	testq	%rax, %rax
	jnz	failed			//= cond
	/* rcx is the address after syscall, r11 the flags */
	movl	$39, %eax
	syscall				//= syscall
after:	leaq	after(%rip), %rdx
	cmpq	%rdx, %rcx
	jne	failed			//= cond
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	FAILED
