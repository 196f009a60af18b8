/* far: far returns, iretq, far jumps through memory: within the same code
 * segment they are branches and far branches, never near returns. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	movl	%cs, %r12d
	movl	%ss, %r13d
	movl	%r12d, pointer+4(%rip)	//= store
	movl	%r12d, pointer64+8(%rip)	//= store
1:
//@ loop LOOPS
	/* lretq */
	pushq	%r12			//= store
	leaq	2f(%rip), %rax
	pushq	%rax			//= store
	lretq				//= far load
	ud2				//= x0
2:	/* lretq imm16 */
	pushq	$99			//= store
	pushq	%r12			//= store
	leaq	2f(%rip), %rax
	pushq	%rax			//= store
	lretq	$8			//= far load
	ud2				//= x0
2:	/* iretq, with flags CF set and the stack moved */
	movq	%rsp, %rbx
	pushq	%r13			//= store
	pushq	%rbx			//= store
	pushfq				//= store
	orq	$1, (%rsp)		//= load store
	pushq	%r12			//= store
	leaq	2f(%rip), %rax
	pushq	%rax			//= store
	clc
	iretq				//= far load
	ud2				//= x0
2:	jnc	failed			//= cond
	cmpq	%rsp, %rbx
	jne	failed			//= cond
	/* lret, 32-bit operand: 4-byte slots */
	subq	$8, %rsp
	movl	%r12d, 4(%rsp)		//= store
	leaq	2f(%rip), %rax
	movl	%eax, (%rsp)		//= store
	lretl				//= far load
	ud2				//= x0
2:	/* ljmp m16:32 */
	leaq	2f(%rip), %rax
	movl	%eax, pointer(%rip)	//= store
	ljmp	*pointer(%rip)		//= far load
	ud2				//= x0
2:	/* lcall m16:32, lret */
	movl	$sub, pointer(%rip)	//= store
	lcall	*pointer(%rip)		//= far load store
	cmpq	%rsp, %rbx
	jne	failed			//= cond
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	FAILED
sub:
//@ loop LOOPS
	lretl				//= far load
//@ end
	.data
	.balign	8
pointer: .long	0, 0
pointer64: .quad 0, 0
