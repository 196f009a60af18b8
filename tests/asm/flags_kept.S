/* flags_kept: every pattern of CF PF AF ZF SF DF OF crosses every kind of block
 * end unchanged: read back whole with pushf, by lahf and seto, by each setcc. */
//@ need xsave
#include "kernel.inc"
	.macro	SET
	pushq	%rbx			//= store
	popfq				//= load
	.endm
	.macro	CHECK
	pushfq				//= store
	popq	%rax			//= load
	xorq	%rbx, %rax
	testl	$0xcd5, %eax
	jnz	failed			//= cond
	.endm
	.globl	_start
_start:
	xorl	%r12d, %r12d
	leaq	place(%rip), %r13
1:
//@ loop 128
	/* bits of r12 to flags: CF PF AF ZF SF DF OF */
	movl	%r12d, %ebx
	andl	$1, %ebx
	movl	%r12d, %eax
	andl	$2, %eax
	leal	(%rbx,%rax,2), %ebx
	movl	%r12d, %eax
	andl	$4, %eax
	leal	(%rbx,%rax,4), %ebx
	movl	%r12d, %eax
	andl	$8, %eax
	leal	(%rbx,%rax,8), %ebx
	movl	%r12d, %eax
	andl	$16, %eax
	leal	(%rbx,%rax,8), %ebx
	movl	%r12d, %eax
	andl	$0x60, %eax
	shll	$5, %eax
	orl	%eax, %ebx
	/* jmp, and a chain of blocks that are a jmp each */
	SET
	jmp	2f			//= jmp
	ud2				//= x0
2:	CHECK
	SET
	jmp	2f			//= jmp
	ud2				//= x0
3:	jmp	4f			//= jmp
	ud2				//= x0
2:	jmp	3b			//= jmp
	ud2				//= x0
4:	CHECK
	/* jrcxz taken and not, loop taken and not */
	xorl	%ecx, %ecx
	SET
	jrcxz	2f			//= cond taken
	ud2				//= x0
2:	CHECK
	movl	$2, %ecx
	SET
	jrcxz	3f			//= cond
	loop	2f			//= cond taken
3:	ud2				//= x0
2:	loop	3b			//= cond
	CHECK
	/* jmp through a register, memory, RIP-relative memory */
	leaq	2f(%rip), %rdx
	movq	%rdx, (%r13)		//= store
	SET
	jmp	*%rdx			//= ijmp
	ud2				//= x0
2:	CHECK
	leaq	2f(%rip), %rdx
	movq	%rdx, (%r13)		//= store
	SET
	jmp	*(%r13)			//= ijmp load
	ud2				//= x0
2:	CHECK
	leaq	2f(%rip), %rdx
	movq	%rdx, (%r13)		//= store
	SET
	jmp	*place(%rip)		//= ijmp load
	ud2				//= x0
2:	CHECK
	/* call and ret, direct and not */
	SET
	call	5f			//= call
	CHECK
	leaq	5f(%rip), %rdx
	SET
	call	*%rdx			//= icall
	CHECK
	movq	%rdx, (%r13)		//= store
	SET
	call	*place(%rip)		//= icall load
	CHECK
	pushq	$1			//= store
	SET
	call	6f			//= call
	CHECK
	/* ret to where no call came from */
	leaq	2f(%rip), %rdx
	pushq	%rdx			//= store
	SET
	ret				//= ret
	ud2				//= x0
2:	CHECK
	/* syscall: flags survive, r11 holds them */
	movl	$39, %eax
	SET
	syscall				//= syscall
	CHECK
	movq	%r11, %rax
	xorq	%rbx, %rax
	testl	$0xcd5, %eax
	jnz	failed			//= cond
	/* cpuid, xgetbv and rdtsc leave them alone */
	movq	%rbx, %r15
	xorl	%eax, %eax
	pushq	%r15			//= store
	popfq				//= load
	cpuid
	movq	%r15, %rbx
	CHECK
	SET
	rdtsc
	CHECK
	/* lahf and seto, after a call */
	SET
	lahf
	seto	%al
	movl	%eax, %r14d
	SET
	call	5f			//= call
	lahf
	seto	%al
	cmpw	%r14w, %ax
	jne	failed			//= cond
	/* each condition alone, across a jmp and across an indirect call */
	leaq	5f(%rip), %rdx
	.irp	cc, o, b, e, be, s, p, l, le
	SET
	set\cc	%r8b
	SET
	jmp	2f			//= jmp
	ud2				//= x0
2:	set\cc	%r9b
	cmpb	%r8b, %r9b
	jne	failed			//= cond
	SET
	call	*%rdx			//= icall
	set\cc	%r9b
	cmpb	%r8b, %r9b
	jne	failed			//= cond
	.endr
	/* CF alone: carried through a chain of blocks that write nothing else */
	movq	%rbx, %r8
	andl	$1, %r8d
	xorl	%r9d, %r9d
	SET
	jmp	2f			//= jmp
	ud2				//= x0
2:	leaq	1(%r9), %r9
	jmp	2f			//= jmp
	ud2				//= x0
2:	movq	%r9, %r10
	jmp	2f			//= jmp
	ud2				//= x0
2:	adcq	$-1, %r9
	cmpq	%r8, %r9
	jne	failed			//= cond
	cld
	incl	%r12d
	cmpl	$128, %r12d
	jne	1b			//= cond loop
//@ end
	EXIT
5:
//@ loop 128*12
	ret				//= ret
//@ end
6:
//@ loop 128
	ret	$8			//= ret
//@ end
	FAILED
	.data
	.balign	8
place:	.quad	0
