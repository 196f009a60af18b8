/* int_moves: mov movsx movzx xchg xlat, the sign extensions, addressing modes. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	xorl	%ebx, %ebx
1:
//@ loop LOOPS
	movb	%al, %dl
	movw	%ax, %dx
	movl	%eax, %edx
	movq	%rax, %rdx
	movb	%ah, %dh
	movb	%spl, %r8b
	movb	$1, %al
	movw	$2, %ax
	movl	$3, %eax
	movq	$-4, %rax
	movabsq	$0x123456789abcdef0, %rax
	movb	(%rsi), %al		//= load
	movw	(%rsi), %ax		//= load
	movl	(%rsi), %eax		//= load
	movq	(%rsi), %rax		//= load
	movq	data(%rip), %rax	//= load
	movb	%al, 64(%rsi)		//= store
	movw	%ax, 64(%rsi)		//= store
	movl	%eax, 64(%rsi)		//= store
	movq	%rax, 64(%rsi)		//= store
	movb	$1, 64(%rsi)		//= store
	movw	$1, 64(%rsi)		//= store
	movl	$1, 64(%rsi)		//= store
	movq	$1, data+64(%rip)	//= store
	/* addressing modes: base, index, scale, displacement, 32-bit address */
	movl	$2, %ecx
	movq	(%rsi,%rcx), %rax	//= load
	movq	(%rsi,%rcx,2), %rax	//= load
	movq	(%rsi,%rcx,4), %rax	//= load
	movq	(%rsi,%rcx,8), %rax	//= load
	movq	8(%rsi,%rcx,8), %rax	//= load
	movq	0x10(%rsi), %rax	//= load
	movq	0x100(%rsi), %rax	//= load
	movq	data(,%rcx,8), %rax	//= load
	movq	data, %rax		//= load
	movq	(%esi), %rax		//= load
	movq	8(%esi,%ecx,4), %rax	//= load
	movq	%rsi, %rdi
	movq	(%rdi), %rax		//= load
	movq	%rsi, %r12
	movq	(%r12), %rax		//= load
	movq	%rsi, %r13
	movq	(%r13), %rax		//= load
	movq	%rsi, %r14
	movq	(%r14,%rcx), %rax	//= load
	movabsq	data, %rax		//= load
	movabsq	%rax, data+64		//= store
	movabsb	data, %al		//= load
	movabsl	%eax, data+64		//= store
	/* extensions */
	movsbw	%al, %dx
	movsbl	%al, %edx
	movsbq	%al, %rdx
	movswl	%ax, %edx
	movswq	%ax, %rdx
	movslq	%eax, %rdx
	movzbw	%al, %dx
	movzbl	%al, %edx
	movzbq	%al, %rdx
	movzwl	%ax, %edx
	movzwq	%ax, %rdx
	movsbl	(%rsi), %edx		//= load
	movsbq	(%rsi), %rdx		//= load
	movswq	(%rsi), %rdx		//= load
	movslq	(%rsi), %rdx		//= load
	movzbl	(%rsi), %edx		//= load
	movzwl	(%rsi), %edx		//= load
	movzwq	data(%rip), %rdx	//= load
	cbtw
	cwtl
	cltq
	cwtd
	cltd
	cqto
	/* xchg with memory is locked, lock prefix or not */
	xchgb	%al, %dl
	xchgw	%ax, %dx
	xchgl	%eax, %edx
	xchgq	%rax, %rdx
	xchgq	%r8, %r9
	xchgb	%al, 72(%rsi)		//= load store lock
	xchgw	%ax, 72(%rsi)		//= load store lock
	xchgl	%eax, 72(%rsi)		//= load store lock
	xchgq	%rax, 72(%rsi)		//= load store lock
	xchgq	%rax, data+72(%rip)	//= load store lock
	lock xchgq %rax, 72(%rsi)	//= load store lock
	movq	%rsi, %rbx
	movl	$3, %eax
	xlatb				//= load
	xorl	%ebx, %ebx
	/* segment registers to general ones */
	movl	%ds, %eax
	movl	%es, %eax
	movl	%fs, %eax
	movl	%gs, %eax
	movw	%ss, 80(%rsi)		//= store
	movbel	(%rsi), %eax		//= load
	movbeq	%rax, 88(%rsi)		//= store
	movntil	%eax, 96(%rsi)		//= store
	movntiq	%rax, 96(%rsi)		//= store
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	.data
	.balign	64
data:	.fill	64, 8, 0x0102030405060708
