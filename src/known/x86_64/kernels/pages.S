/* pages: the first touch of pages, by stores, loads and one instruction for many of them. A case
 * maps 16 pages and unmaps them; where %r12 shows. Huge pages are refused, so that each page has
 * its own fault. */
//@ about fresh pages: 16 touched by stores, 16 by loads, 16 by rep stosq
//@ loops 3000
#include "section.inc"
.macro MAP
	movl	$9, %eax		// mmap
	xorl	%edi, %edi
	movl	$65536, %esi
	movl	$3, %edx
	movl	$0x22, %r10d
	movq	$-1, %r8
	xorl	%r9d, %r9d
	syscall				//= syscall
	movq	%rax, %r12
	movl	$28, %eax		// madvise(MADV_NOHUGEPAGE)
	movq	%r12, %rdi
	movl	$65536, %esi
	movl	$15, %edx
	syscall				//= syscall
	movq	%r12, %rdi
.endm
.macro UNMAP
	movl	$11, %eax		// munmap
	movq	%r12, %rdi
	movl	$65536, %esi
	syscall				//= syscall
	testq	%rax, %rax
	jnz	failed			//= cond
.endm
	KERNEL	pages
	BODY
	CASE
	MAP
	.rept	16
	movb	$1, (%rdi)		//= store page
	addq	$4096, %rdi
	.endr
	UNMAP
	CASE
	MAP
	.rept	16
	movb	(%rdi), %al		//= load page
	addq	$4096, %rdi
	.endr
	UNMAP
	CASE
	MAP
	movl	$8192, %ecx
	xorl	%eax, %eax
	rep stosq			//= store page=16
	UNMAP
	BODY_END
	RETURN
	FAILED
	IMAGE
	KERNEL_END pages
