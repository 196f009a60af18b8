/* cmov: all conditions, every width; from memory it is a load either way. */
//@ about cmov with all conditions, every width, from registers and memory
//@ loops 150000
#include "section.inc"
	KERNEL	cmov
	BODY
	.irp	cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	CASE	cmov\cc\()w	%bx, %ax
	CASE	cmov\cc\()l	%ebx, %eax
	CASE	cmov\cc\()q	%rbx, %rax
	CASE	cmov\cc\()w	(%rsi), %ax	//= load
	CASE	cmov\cc\()l	(%rsi), %eax	//= load
	CASE	cmov\cc\()q	(%rsi), %rax	//= load
	CASE	cmov\cc\()q	cells(%rip), %r9	//= load
	.endr
	BODY_END
	RETURN
	IMAGE
	.quad	1, 2
	KERNEL_END cmov
	CELLS	cmov
	.quad	1, 2
	CELLS_END cmov
