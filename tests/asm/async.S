/* async: signals the program sends to itself; the handler runs between the
 * system call and the next instruction. Nested: one handler raises another. */
#include "kernel.inc"
#define RETURNS LOOPS*2
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	SIGACTION 10, outer
	SIGACTION 12, inner
	movl	$39, %eax
	syscall				//= syscall
	movl	%eax, %r12d
1:
//@ loop LOOPS
	movl	$62, %eax		// kill
	movl	%r12d, %edi
	movl	$10, %esi
	syscall				//= syscall
after:	testl	%eax, %eax
	jnz	failed			//= cond
	leaq	after(%rip), %rax
	cmpq	%rax, seen(%rip)	//= load
	jne	failed			//= cond
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	cmpl	$LOOPS, inners(%rip)	//= load
	jne	failed			//= cond
	EXIT
	FAILED
outer:
//@ loop LOOPS
	movq	UC_RIP(%rdx), %rax	//= load
	movq	%rax, seen(%rip)	//= store
	movl	$62, %eax
	movl	%r12d, %edi
	movl	$12, %esi
	syscall				//= syscall
	ret				//= ret
inner:
	incl	inners(%rip)		//= load store
	ret				//= ret
//@ end
	RESTORER
	.data
	.balign	8
seen:	.quad	0
inners:	.long	0
