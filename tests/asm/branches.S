/* branches: every jcc taken and not, short and near; jmp, call, ret, ret imm16,
 * loop, loope, loopne, jrcxz, jecxz; indirect ones through registers, memory,
 * RIP-relative memory and the stack. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	table(%rip), %rsi
1:
//@ loop LOOPS
	/* 1 - 2: CF SF PF set, ZF OF clear */
	movl	$1, %eax
	cmpl	$2, %eax
	.irp	cc, b, ne, be, s, no, p, l, le
	j\cc	2f			//= cond taken
	ud2				//= x0
2:
	.endr
	.irp	cc, o, ae, e, a, ns, np, ge, g
	j\cc	bad			//= cond
	.endr
	/* 1 - 1: ZF PF set */
	cmpl	%eax, %eax
	.irp	cc, no, ae, e, be, ns, p, ge, le
	j\cc	2f			//= cond taken
	ud2				//= x0
2:
	.endr
	.irp	cc, o, b, ne, a, s, np, l, g
	j\cc	bad			//= cond
	.endr
	/* 127 + 1 in 8 bits: OF SF set */
	movb	$0x7f, %al
	addb	$1, %al
	.irp	cc, o, ae, ne, a, s, np, ge, g
	j\cc	2f			//= cond taken
	ud2				//= x0
2:
	.endr
	/* 1 & 1: nothing set */
	movb	$1, %al
	testb	%al, %al
	.irp	cc, no, ae, ne, a, ns, np, ge, g
	.byte	0x2e			// "not taken" hint
	j\cc	2f			//= cond taken
	ud2				//= x0
2:
	.endr
	jmp	2f			//= jmp
	ud2				//= x0
2:	jmp	near_target		//= jmp
near_back:
	stc
	jc	near_cond		//= cond taken
	ud2				//= x0
cond_back:
	/* loop, loope, loopne, jrcxz, jecxz */
	movl	$5, %ecx
2:
//@ loop 5
	loop	2b			//= cond loop
//@ end
	movl	$5, %ecx
2:
//@ loop 5
	addr32 loop 2b			//= cond loop
//@ end
	movl	$3, %ecx
	cmpl	%eax, %eax
	loope	2f			//= cond taken
	ud2				//= x0
2:	loopne	bad_near		//= cond
	loopne	bad_near		//= cond
	incl	%ecx
	loope	bad_near		//= cond
	jrcxz	2f			//= cond taken
	ud2				//= x0
2:	jecxz	2f			//= cond taken
	ud2				//= x0
2:	btsq	$32, %rcx
	jrcxz	bad_near		//= cond
	jecxz	2f			//= cond taken
bad_near:
	ud2				//= x0
	/* direct calls */
2:	call	leaf			//= call
	call	leaf			//= call
	pushq	$17			//= store
	pushq	$18			//= store
	call	leaf_imm		//= call
	call	3f			//= call
3:	popq	%rdx			//= load
	/* indirect calls */
	leaq	leaf(%rip), %rax
	call	*%rax			//= icall
	movq	%rax, %r13
	call	*%r13			//= icall
	call	*(%rsi)			//= icall load
	call	*table(%rip)		//= icall load
	xorl	%ecx, %ecx
	call	*table(,%rcx,8)		//= icall load
	call	*table			//= icall load
	pushq	%rax			//= store
	call	*(%rsp)			//= icall load
	call	*(%rsp,%rcx,2)		//= icall load
	pushq	%rcx			//= store
	call	*8(%rsp)		//= icall load
	popq	%rcx			//= load
	popq	%rax			//= load
	/* indirect jumps */
	leaq	2f(%rip), %rdx
	jmp	*%rdx			//= ijmp
	ud2				//= x0
2:	jmp	*8(%rsi)		//= ijmp load
	ud2				//= x0
jump_back:
	jmp	*table+16(%rip)		//= ijmp load
	ud2				//= x0
rip_back:
	leaq	2f(%rip), %rdx
	pushq	%rdx			//= store
	jmp	*(%rsp)			//= ijmp load
	ud2				//= x0
	/* a return that no call went before */
2:	leaq	2f(%rip), %rdx
	movq	%rdx, (%rsp)		//= store
	ret				//= ret
	ud2				//= x0
2:	decl	%ebp
	jnz	near_loop		//= cond loop
//@ end
	EXIT
near_loop:
//@ loop LOOPS-1
	jmp	1b			//= jmp
//@ end
near_target:
//@ loop LOOPS
	jmp	near_back		//= jmp
near_cond:
	jmp	cond_back		//= jmp
//@ end
leaf:
//@ loop LOOPS
//@ loop 11
	ret				//= ret
//@ end
leaf_imm:
	ret	$16			//= ret
//@ end
	.fill	200, 1, 0xcc
bad:
	movl	$60, %eax		//= x0
	movl	$1, %edi		//= x0
	syscall				//= x0
	.data
	.balign	8
table:	.quad	leaf, jump_back, rip_back
