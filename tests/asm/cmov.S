/* cmov: all conditions, every width; from memory it is a load either way. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
1:
//@ loop LOOPS
	.irp	cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	cmov\cc\()w	%bx, %ax
	cmov\cc\()l	%ebx, %eax
	cmov\cc\()q	%rbx, %rax
	cmov\cc\()w	(%rsi), %ax	//= load
	cmov\cc\()l	(%rsi), %eax	//= load
	cmov\cc\()q	(%rsi), %rax	//= load
	cmov\cc\()q	data(%rip), %r9	//= load
	.endr
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	8
data:	.quad	1, 2
