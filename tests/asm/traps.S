/* traps: faults in the middle of a block, with handlers that go on elsewhere. A
 * faulting instruction does not retire; what was before it in its block does,
 * what is after it does not, until it is run. */
#include "kernel.inc"
#define RETURNS LOOPS*9
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	SIGACTION 11, goto_r14
	SIGACTION 8, fix_divisor
	SIGACTION 4, goto_r14
	SIGACTION 5, count_trap
again:
//@ loop LOOPS
	/* a load from nowhere: the handler goes to r14 */
	leaq	2f(%rip), %r14
	xorl	%ebx, %ebx
	xorl	%esi, %esi
	incl	%ebx
	addq	$1, %rbx
	movq	(%rsi), %rax		//= load x0
	incl	%ebx			//= x0
	incl	%ebx			//= x0
2:	cmpl	$2, %ebx
	jne	failed			//= cond
	/* a store to read-only memory, between other loads and stores */
	leaq	2f(%rip), %r14
	movq	%rbx, place(%rip)	//= store
	movq	place(%rip), %rbx	//= load
	movq	%rbx, _start(%rip)	//= store x0
	movq	%rbx, place(%rip)	//= store x0
	jmp	failed			//= x0
2:	/* a push to nowhere, a call to nowhere on a bad stack */
	movq	%rsp, %r13
	leaq	2f(%rip), %r14
	nop
	movq	bad(%rip), %rax		//= load
	pushq	(%rax)			//= x0
	ud2				//= x0
2:	/* ud2 */
	leaq	2f(%rip), %r14
	incl	%ebx
	ud2				//= x0
	incl	%ebx			//= x0
	/* divide by zero: the handler makes the divisor 3, and it is run again */
2:	movl	$100, %eax
	xorl	%edx, %edx
	xorl	%ecx, %ecx
	incl	%ebx
	divl	%ecx			//= div
	cmpl	$33, %eax
	jne	failed			//= cond
	/* int3: one instruction; the handler sees the address after it */
	movl	$0, traps(%rip)		//= store
	incl	%ebx
	int3				//= far
2:	cmpl	$1, traps(%rip)		//= load
	jne	failed			//= cond
	leaq	2b(%rip), %rax
	cmpq	%rax, seen(%rip)	//= load
	jne	failed			//= cond
	/* a jump to nowhere: the jump retires, its target does not */
	leaq	2f(%rip), %r14
	movq	bad(%rip), %rax		//= load
	jmp	*%rax			//= ijmp
	ud2				//= x0
	/* hlt: privileged */
2:	leaq	2f(%rip), %r14
	nop
	hlt				//= x0
	nop				//= x0
	/* the second of two accesses faults: push of a bad address */
2:	leaq	2f(%rip), %r14
	movq	bad(%rip), %rax		//= load
	addq	$1, (%rax)		//= x0
	nop				//= x0
2:	decl	%ebp
	jnz	far_loop		//= cond loop
//@ end
	EXIT
	FAILED
far_loop:
//@ loop LOOPS-1
	jmp	again			//= jmp
//@ end
	/* SIGSEGV, SIGILL: continue at the interrupted r14 */
goto_r14:
//@ loop LOOPS*7
	movq	88(%rdx), %rax		//= load
	movq	%rax, UC_RIP(%rdx)	//= store
	ret				//= ret
//@ end
	/* SIGFPE: rcx = 3, run it again */
fix_divisor:
//@ loop LOOPS
	movq	$3, UC_RCX(%rdx)	//= store
	ret				//= ret
//@ end
	/* SIGTRAP: count, remember where */
count_trap:
//@ loop LOOPS
	incl	traps(%rip)		//= load store
	movq	UC_RIP(%rdx), %rax	//= load
	movq	%rax, seen(%rip)	//= store
	ret				//= ret
//@ end
	RESTORER
	.data
	.balign	8
place:	.quad	0
bad:	.quad	0x700000
traps:	.long	0, 0
seen:	.quad	0
