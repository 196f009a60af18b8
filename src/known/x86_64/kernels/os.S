/* os: system calls, with their effect on rcx and r11. */
//@ about system calls: write to no file, getpid, mmap and munmap of an untouched page
//@ loops 10000
#include "section.inc"
	KERNEL	os
	BODY
	/* write(-1, 0, 0): EBADF */
	CASE
	movl	$1, %eax
	movl	$-1, %edi
	xorl	%esi, %esi
	xorl	%edx, %edx
	syscall				//= syscall
	cmpq	$-9, %rax
	jne	failed			//= cond
	/* mmap a page, unmap it */
	CASE
	movl	$9, %eax
	xorl	%edi, %edi
	movl	$4096, %esi
	movl	$3, %edx
	movl	$0x22, %r10d
	movq	$-1, %r8
	xorl	%r9d, %r9d
	syscall				//= syscall
	movq	%rax, %rdi
	movl	$11, %eax
	movl	$4096, %esi
	syscall				//= syscall
	testq	%rax, %rax
	jnz	failed			//= cond
	/* rcx is the address after syscall, r11 the flags */
	CASE
	movl	$39, %eax
	syscall				//= syscall
after:	leaq	after(%rip), %rdx
	cmpq	%rdx, %rcx
	jne	failed			//= cond
	testq	$0x202, %r11
	jz	failed			//= cond
	BODY_END
	RETURN
	FAILED
	IMAGE
	KERNEL_END os
