/* branches: every jcc taken and not, short and near; jmp, call, ret, ret imm16, loop, loope, loopne,
 * jrcxz, jecxz; indirect ones through registers, memory, RIP-relative memory and the stack. */
//@ about every jcc taken and not, jmp call ret loop jrcxz, indirect ones of every kind
//@ loops 40000
#include "section.inc"
	KERNEL	branches
	leaq	leaf(%rip), %rax
	movq	%rax, (%rsi)			//= store
	movq	%rax, cells(%rip)		//= store
	leaq	jump_back(%rip), %rax
	movq	%rax, 8(%rsi)			//= store
	leaq	rip_back(%rip), %rax
	movq	%rax, cells+8(%rip)		//= store
	BODY
	/* 1 - 2: CF SF PF set, ZF OF clear */
	.irp	cc, b, ne, be, s, no, p, l, le
	CASE
	movl	$1, %eax
	cmpl	$2, %eax
	j\cc	2f				//= cond taken
	ud2					//= x0
2:
	.endr
	.irp	cc, o, ae, e, a, ns, np, ge, g
	CASE
	movl	$1, %eax
	cmpl	$2, %eax
	j\cc	failed				//= cond
	.endr
	/* 1 - 1: ZF PF set */
	.irp	cc, no, ae, e, be, ns, p, ge, le
	CASE
	cmpl	%eax, %eax
	j\cc	2f				//= cond taken
	ud2					//= x0
2:
	.endr
	.irp	cc, o, b, ne, a, s, np, l, g
	CASE
	cmpl	%eax, %eax
	j\cc	failed				//= cond
	.endr
	/* 127 + 1 in 8 bits: OF SF set */
	.irp	cc, o, ae, ne, a, s, np, ge, g
	CASE
	movb	$0x7f, %al
	addb	$1, %al
	j\cc	2f				//= cond taken
	ud2					//= x0
2:
	.endr
	/* 1 & 1: nothing set */
	.irp	cc, no, ae, ne, a, ns, np, ge, g
	CASE
	movb	$1, %al
	testb	%al, %al
	.byte	0x2e				// "not taken" hint
	j\cc	2f				//= cond taken
	ud2					//= x0
2:
	.endr
	/* to the next instruction, taken and not */
	CASE
	cmpl	%eax, %eax
	je	2f				//= cond taken
2:
	CASE
	cmpl	%eax, %eax
	jne	2f				//= cond
2:
	CASE
	jmp	2f				//= jmp
	ud2					//= x0
2:
	CASE	jmp	near_target		//= jmp
	//+ jmp
near_back:
	CASE
	stc
	jc	near_cond			//= cond taken
	ud2					//= x0
	//+ jmp
cond_back:
	/* loop, loope, loopne, jrcxz, jecxz */
	CASE
	movl	$5, %ecx
2:
//@ loop 5
	loop	2b				//= cond loop
//@ end
	CASE
	movl	$5, %ecx
2:
//@ loop 5
	addr32 loop 2b				//= cond loop
//@ end
	CASE
	movl	$3, %ecx
	cmpl	%eax, %eax
	loope	2f				//= cond taken
	ud2					//= x0
2:
	CASE
	movl	$3, %ecx
	cmpl	%eax, %eax
	loopne	3f				//= cond
	loopne	3f				//= cond
	incl	%ecx
	incl	%ecx
	loope	3f				//= cond
	jmp	2f				//= jmp
3:	ud2					//= x0
2:
	CASE
	xorl	%ecx, %ecx
	jrcxz	2f				//= cond taken
	ud2					//= x0
2:
	CASE
	xorl	%ecx, %ecx
	jecxz	2f				//= cond taken
	ud2					//= x0
2:
	CASE
	xorl	%ecx, %ecx
	btsq	$32, %rcx
	jrcxz	3f				//= cond
	jecxz	2f				//= cond taken
3:	ud2					//= x0
2:
	/* direct calls */
	CASE	call	leaf			//= call
	//+ ret
	CASE
	pushq	$17				//= store
	pushq	$18				//= store
	call	leaf_imm			//= call
	//+ ret
	CASE
	call	3f				//= call
3:	popq	%rdx				//= load
	/* indirect calls */
	CASE
	leaq	leaf(%rip), %rax
	call	*%rax				//= icall
	//+ ret
	CASE
	leaq	leaf(%rip), %r13
	call	*%r13				//= icall
	//+ ret
	CASE	call	*(%rsi)			//= icall load
	//+ ret
	CASE	call	*cells(%rip)		//= icall load
	//+ ret
	CASE
	xorl	%ecx, %ecx
	call	*(%rsi,%rcx,8)			//= icall load
	//+ ret
	CASE
	movq	%rsi, %rcx
	shrq	$3, %rcx
	call	*(,%rcx,8)			//= icall load
	//+ ret
	CASE
	leaq	leaf(%rip), %rax
	xorl	%ecx, %ecx
	pushq	%rax				//= store
	call	*(%rsp)				//= icall load
	//+ ret
	call	*(%rsp,%rcx,2)			//= icall load
	//+ ret
	pushq	%rcx				//= store
	call	*8(%rsp)			//= icall load
	//+ ret
	popq	%rcx				//= load
	popq	%rax				//= load
	/* indirect jumps */
	CASE
	leaq	2f(%rip), %rdx
	jmp	*%rdx				//= ijmp
	ud2					//= x0
2:
	CASE
	jmp	*8(%rsi)			//= ijmp load
	ud2					//= x0
jump_back:
	CASE
	jmp	*cells+8(%rip)			//= ijmp load
	ud2					//= x0
rip_back:
	CASE
	leaq	2f(%rip), %rdx
	pushq	%rdx				//= store
	jmp	*(%rsp)				//= ijmp load
	ud2					//= x0
2:	popq	%rdx				//= load
	/* a return that no call went before */
	CASE
	leaq	2f(%rip), %rdx
	pushq	%rdx				//= store
	ret					//= ret
	ud2					//= x0
2:
	BODY_END
	RETURN
near_target:
	jmp	near_back			//= x0
near_cond:
	jmp	cond_back			//= x0
leaf:	ret					//= x0
leaf_imm:
	ret	$16				//= x0
	.fill	200, 1, 0xcc
	FAILED
	IMAGE
	.quad	0, 0
	KERNEL_END branches
	CELLS	branches
	.quad	0, 0
	CELLS_END branches
