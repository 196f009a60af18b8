/* int_moves: mov movsx movzx xchg xlat, the sign extensions, every addressing mode. Where there is
 * no register in the address it is of %fs, whose first word is its own address. */
//@ about mov movsx movzx xchg xlat cbw cwd movnti, every addressing mode
//@ loops 100000
#include "section.inc"
	KERNEL	int_moves
	movl	$2, %ecx
	BODY
	CASE	movb	%al, %dl
	CASE	movw	%ax, %dx
	CASE	movl	%eax, %edx
	CASE	movq	%rax, %rdx
	CASE	movb	%ah, %dh
	CASE	movb	%spl, %r8b
	CASE	movb	$1, %al
	CASE	movw	$2, %ax
	CASE	movl	$3, %eax
	CASE	movq	$-4, %rax
	CASE	movabsq	$0x123456789abcdef0, %rax
	CASE	movb	(%rsi), %al		//= load
	CASE	movw	(%rsi), %ax		//= load
	CASE	movl	(%rsi), %eax		//= load
	CASE	movq	(%rsi), %rax		//= load
	CASE	movq	cells(%rip), %rax	//= load
	CASE	movb	%al, 64(%rsi)		//= store
	CASE	movw	%ax, 64(%rsi)		//= store
	CASE	movl	%eax, 64(%rsi)		//= store
	CASE	movq	%rax, 64(%rsi)		//= store
	CASE	movb	$1, 64(%rsi)		//= store
	CASE	movw	$1, 64(%rsi)		//= store
	CASE	movl	$1, 64(%rsi)		//= store
	CASE	movq	$1, cells+8(%rip)	//= store
	CASE	movl	%eax, cells+8(%rip)	//= store
	/* addressing modes: base, index, scale, displacement, 32-bit address */
	CASE	movq	(%rsi,%rcx), %rax	//= load
	CASE	movq	(%rsi,%rcx,2), %rax	//= load
	CASE	movq	(%rsi,%rcx,4), %rax	//= load
	CASE	movq	(%rsi,%rcx,8), %rax	//= load
	CASE	movq	8(%rsi,%rcx,8), %rax	//= load
	CASE	movq	0x100(%rsi,%rcx,8), %rax	//= load
	CASE	movq	0x10(%rsi), %rax	//= load
	CASE	movq	0x100(%rsi), %rax	//= load
	CASE	movq	(%rsp), %rax		//= load
	CASE	movq	8(%rsp,%rcx,2), %rax	//= load
	CASE
	movq	%rsi, %rdx
	shrq	$3, %rdx
	movq	(,%rdx,8), %rax			//= load
	CASE	movq	(%esi), %rax		//= load
	CASE	movq	8(%esi,%ecx,4), %rax	//= load
	CASE
	movq	%rsi, %rdi
	movq	(%rdi), %rax			//= load
	CASE
	movq	%rsi, %r12
	movq	(%r12), %rax			//= load
	CASE
	movq	%rsi, %r13
	movq	(%r13), %rax			//= load
	CASE
	movq	%rsi, %r14
	movq	(%r14,%rcx), %rax		//= load
	CASE	movq	%fs:0, %rax		//= load
	CASE	movabsq	%fs:0, %rax		//= load
	CASE	movabsl	%fs:0, %eax		//= load
	CASE	movabsw	%fs:0, %ax		//= load
	CASE	movabsb	%fs:0, %al		//= load
	CASE
	movabsq	%fs:0, %rax			//= load
	movabsq	%rax, %fs:0			//= store
	CASE
	movabsl	%fs:0, %eax			//= load
	movabsl	%eax, %fs:0			//= store
	CASE
	movabsb	%fs:0, %al			//= load
	movabsb	%al, %fs:0			//= store
	/* extensions */
	CASE	movsbw	%al, %dx
	CASE	movsbl	%al, %edx
	CASE	movsbq	%al, %rdx
	CASE	movswl	%ax, %edx
	CASE	movswq	%ax, %rdx
	CASE	movslq	%eax, %rdx
	CASE	movzbw	%al, %dx
	CASE	movzbl	%al, %edx
	CASE	movzbq	%al, %rdx
	CASE	movzwl	%ax, %edx
	CASE	movzwq	%ax, %rdx
	CASE	movsbl	(%rsi), %edx		//= load
	CASE	movsbq	(%rsi), %rdx		//= load
	CASE	movswq	(%rsi), %rdx		//= load
	CASE	movslq	(%rsi), %rdx		//= load
	CASE	movzbl	(%rsi), %edx		//= load
	CASE	movzwl	(%rsi), %edx		//= load
	CASE	movzwq	cells(%rip), %rdx	//= load
	CASE	cbtw
	CASE	cwtl
	CASE	cltq
	CASE	cwtd
	CASE	cltd
	CASE	cqto
	/* xchg with memory is locked, lock prefix or not */
	CASE	xchgb	%al, %dl
	CASE	xchgw	%ax, %dx
	CASE	xchgl	%eax, %edx
	CASE	xchgq	%rax, %rdx
	CASE	xchgq	%r8, %r9
	CASE	xchgb	%al, 72(%rsi)		//= load store lock
	CASE	xchgw	%ax, 72(%rsi)		//= load store lock
	CASE	xchgl	%eax, 72(%rsi)		//= load store lock
	CASE	xchgq	%rax, 72(%rsi)		//= load store lock
	CASE	xchgq	%rax, cells+16(%rip)	//= load store lock
	CASE	lock xchgq %rax, 72(%rsi)	//= load store lock
	CASE
	movq	%rsi, %rbx
	movl	$3, %eax
	xlatb					//= load
	/* segment registers to general ones */
	CASE	movl	%ds, %eax
	CASE	movl	%es, %eax
	CASE	movl	%fs, %eax
	CASE	movl	%gs, %eax
	CASE	movw	%ss, 80(%rsi)		//= store
	CASE	movntil	%eax, 96(%rsi)		//= store
	CASE	movntiq	%rax, 96(%rsi)		//= store
	BODY_END
	RETURN
	IMAGE
	.fill	64, 8, 0x0102030405060708
	KERNEL_END int_moves
	CELLS	int_moves
	.quad	1, 2, 3
	CELLS_END int_moves
