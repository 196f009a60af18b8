/* absolute: operands with absolute and 32-bit addresses. The kernels of src/known lack them,
 * because a shared library can be anywhere. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
1:
//@ loop LOOPS
	movl	$2, %ecx
	movq	data(,%rcx,8), %rax	//= load
	movq	data, %rax		//= load
	movabsq	data, %rax		//= load
	movabsq	%rax, data+64		//= store
	movabsb	data, %al		//= load
	movabsl	%eax, data+64		//= store
	movl	data(%eip), %eax	//= load
	leal	data(%rip), %eax
	cmpl	$0x05060708, (%rax)	//= load
	jne	failed			//= cond
	xorl	%ecx, %ecx
	call	*table(,%rcx,8)		//= icall load
	call	*table			//= icall load
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	FAILED
leaf:
//@ loop LOOPS*2
	ret				//= ret
//@ end
	.data
	.balign	64
table:	.quad	leaf
data:	.fill	64, 8, 0x0102030405060708
