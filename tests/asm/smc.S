/* smc: code that changes. A store takes effect at the next instruction, in the
 * same block, the same page, another page; code at the last byte before an
 * unmapped page; code unmapped and mapped anew. The .text is made writable. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	/* mprotect(text, 4096, rwx) */
	movl	$10, %eax
	leaq	_start(%rip), %rdi
	movl	$4096, %esi
	movl	$7, %edx
	syscall				//= syscall
	/* three RWX pages; the third is unmapped */
	xorl	%edi, %edi
	movl	$0x22, %r10d
	call	map			//= call
	leaq	2*4096(%r12), %rdi
	movl	$11, %eax
	movl	$4096, %esi
	syscall				//= syscall
1:
//@ loop LOOPS
	/* make the next instruction, mov eax,7, a long nop */
	movl	$1, %eax
	movl	$0x00441f0f, 2f(%rip)	//= store
2:	movl	$7, %eax
	cmpl	$1, %eax
	jne	failed			//= cond
	/* and back, before it is met again */
	movl	$0x000007b8, 2b(%rip)	//= store
	/* change an immediate later in this very block, differently each time */
	movl	%ebp, 2f+1(%rip)	//= store
	nop
2:	movl	$0, %eax
	cmpl	%ebp, %eax
	jne	failed			//= cond
	/* a subroutine in another page, rewritten between calls: inc, then dec; its
	 * first instruction lies across the page boundary */
	leaq	4096-1(%r12), %rbx
	movl	$0x90c3c0ff, (%rbx)	//= store
	xorl	%eax, %eax
	call	*%rbx			//= icall
	//+
	//+ ret
	cmpl	$1, %eax
	jne	failed			//= cond
	movb	$0xc8, 1(%rbx)		//= store
	call	*%rbx			//= icall
	//+
	//+ ret
	testl	%eax, %eax
	jnz	failed			//= cond
	/* by a repeated store: 16 nops and a ret; then 4 and a ret */
	movq	%r12, %rdi
	movl	$0x90, %eax
	movl	$16, %ecx
	rep stosb			//= store
	movb	$0xc3, (%rdi)		//= store
	call	*%r12			//= icall
	//+ x16
	//+ ret
	movb	$0xc3, 4(%r12)		//= store
	call	*%r12			//= icall
	//+ x4
	//+ ret
	/* by an SSE store, and by xchg */
	movdqu	eight_nops(%rip), %xmm0	//= load
	movdqu	%xmm0, (%r12)		//= store
	call	*%r12			//= icall
	//+ x8
	//+ ret
	movl	$0xc3, %eax
	xchgb	%al, (%r12)		//= load store lock
	call	*%r12			//= icall
	//+ ret
	/* the last byte before nothing */
	leaq	2*4096-1(%r12), %rbx
	movb	$0xc3, (%rbx)		//= store
	call	*%rbx			//= icall
	//+ ret
	/* code that rewrites its own next instruction, from int3 to inc eax */
	movq	%r12, %rdi
	leaq	self(%rip), %rsi
	movl	$self_end-self, %ecx
	rep movsb			//= load store
	xorl	%eax, %eax
	call	*%r12			//= icall
	//+ store
	//+ x2
	//+ ret
	cmpl	$2, %eax
	jne	failed			//= cond
	/* on the stack (made executable) it is called, changed, called */
	call	on_stack		//= call
	/* unmap, map at the same address, other code: mov eax,9; ret */
	movq	%r12, %rdi
	movl	$11, %eax
	movl	$2*4096, %esi
	syscall				//= syscall
	movq	%r12, %rdi
	movl	$0x32, %r10d
	call	map			//= call
	movb	$0xb8, (%r12)		//= store
	movl	$9, 1(%r12)		//= store
	movb	$0xc3, 5(%r12)		//= store
	call	*%r12			//= icall
	//+
	//+ ret
	cmpl	$9, %eax
	jne	failed			//= cond
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	FAILED
	/* r12 = mmap(rdi, 3 pages, rwx, r10) */
map:
//@ loop LOOPS+1
	movl	$9, %eax
	movl	$3*4096, %esi
	movl	$7, %edx
	movq	$-1, %r8
	xorl	%r9d, %r9d
	syscall				//= syscall
	movq	%rax, %r12
	ret				//= ret
//@ end
on_stack:
//@ loop LOOPS
	subq	$8192, %rsp
	leaq	4096(%rsp), %rdi
	andq	$-4096, %rdi
	movq	%rdi, %rbx
	movl	$10, %eax
	movl	$4096, %esi
	movl	$7, %edx
	syscall				//= syscall
	xorl	%eax, %eax
	movl	$0x90c3c0ff, (%rbx)	//= store
	call	*%rbx			//= icall
	//+
	//+ ret
	movl	$0xc3c0ffc0, 1(%rbx)	//= store
	call	*%rbx			//= icall
	//+ x2
	//+ ret
	cmpl	$3, %eax
	jne	failed			//= cond
	movq	%rbx, %rdi
	movl	$10, %eax
	movl	$4096, %esi
	movl	$3, %edx
	syscall				//= syscall
	addq	$8192, %rsp
	ret				//= ret
//@ end
self:
	.byte	0x66, 0xc7, 0x05	// movw $0xc0ff, 0(%rip)
	.long	0
	.word	0xc0ff
	int3				//= x0
	int3				//= x0
	.byte	0xff, 0xc0		// incl %eax
	.byte	0xc3
self_end:
	.data
eight_nops:
	.fill	8, 1, 0x90
	.fill	8, 1, 0xc3
