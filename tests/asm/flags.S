/* flags: clc cld cmc lahf popf pushf sahf setcc stc std. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
1:
//@ loop LOOPS
	clc
	stc
	cmc
	std
	cld
	lahf
	sahf
	pushfq				//= store
	popfq				//= load
	pushfw				//= store
	popfw				//= load
	.irp	cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	set\cc	%al
	set\cc	(%rsi)			//= store
	set\cc	data(%rip)		//= store
	.endr
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
data:	.quad	0
