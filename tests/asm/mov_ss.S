/* mov_ss: loading ss delays traps by one instruction; both retire. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	movl	%ss, %ebx
1:
//@ loop LOOPS
	movl	%ebx, %ss
	incl	%eax
	movl	%ebx, %ss
	movq	place(%rip), %rcx	//= load
	movl	%ebx, %ss
	jmp	2f			//= jmp
	ud2				//= x0
2:	movl	%ds, %ecx
	movl	%ecx, %ds
	movl	%es, %ecx
	movl	%ecx, %es
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
place:	.quad	0
