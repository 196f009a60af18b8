/* rep_fault: a repeated string instruction that faults on its way counts once,
 * when it is done; one whose handler gives up does not count at all. */
#include "kernel.inc"
#define RETURNS LOOPS*3
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	SIGACTION 11, handler
	/* two pages, so that the address stays free when the second is unmapped */
	movl	$9, %eax
	xorl	%edi, %edi
	movl	$2*4096, %esi
	movl	$3, %edx
	movl	$0x22, %r10d
	movq	$-1, %r8
	xorl	%r9d, %r9d
	syscall				//= syscall
	movq	%rax, %r12
again:
//@ loop LOOPS
	/* mprotect(second, none) */
	xorl	%r14d, %r14d
	xorl	%edx, %edx
	call	protect			//= call
	/* 8192 bytes: faults at 4096; the handler opens the page */
	movq	%r12, %rdi
	movl	$8192, %ecx
	movl	$0x41, %eax
	nop
	rep stosb			//= store
	testl	%ecx, %ecx
	jnz	failed			//= cond
	cmpb	$0x41, 8191(%r12)	//= load
	jne	failed			//= cond
	/* backwards, movsq */
	xorl	%edx, %edx
	call	protect			//= call
	leaq	8192-8(%r12), %rsi
	leaq	4096-8(%r12), %rdi
	movl	$512, %ecx
	std
	rep movsq			//= load store
	cld
	/* and one that is left for r14 */
	xorl	%edx, %edx
	call	protect			//= call
	leaq	2f(%rip), %r14
	movq	%r12, %rdi
	movl	$8192, %ecx
	nop
	rep stosb			//= x0
	nop				//= x0
2:	cmpl	$4096, %ecx
	jne	failed			//= cond
	decl	%ebp
	jnz	again			//= cond loop
//@ end
	EXIT
	FAILED
	/* mprotect(r12 + 4096, 4096, rdx) */
protect:
//@ loop LOOPS*3
	movl	$10, %eax
	leaq	4096(%r12), %rdi
	movl	$4096, %esi
	syscall				//= syscall
	ret				//= ret
//@ end
	/* r14 = 0: open the page; else go there */
handler:
//@ loop LOOPS*2
	movq	88(%rdx), %rax		//= load
	testq	%rax, %rax
	jnz	2f			//= cond
	movl	$10, %eax
	leaq	4096(%r12), %rdi
	movl	$4096, %esi
	movl	$3, %edx
	syscall				//= syscall
	ret				//= ret
//@ end
2:
//@ loop LOOPS
	//+ load
	//+
	//+ cond taken
	movq	%rax, UC_RIP(%rdx)	//= store
	ret				//= ret
//@ end
	RESTORER
