/* stack_use: the 128 bytes below rsp stay as they are across every kind of block
 * end; rsp as a general register; a stack in read-only memory while no one
 * pushes; code pointers on the stack are the program's own. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	movq	%rsp, %r15
1:
//@ loop LOOPS
	/* fill the red zone and 384 bytes more, cross blocks, compare */
	leaq	-512(%rsp), %rdi
	movl	$64, %ecx
	movabsq	$0xa5a5a5a5a5a5a5a5, %rax
	rep stosq			//= store
	jmp	2f			//= jmp
	ud2				//= x0
2:	leaq	3f(%rip), %rdx
	jmp	*%rdx			//= ijmp
	ud2				//= x0
3:	xorl	%ecx, %ecx
	jrcxz	2f			//= cond taken
	ud2				//= x0
2:	movl	$39, %eax
	syscall				//= syscall
	xorl	%eax, %eax
	cpuid
	movq	word(%rip), %rax	//= load
	movl	$2, %ecx
//@ loop 2
2:	loop	2b			//= cond loop
//@ end
	movl	$64, %ecx
	leaq	-512(%rsp), %rdi
	movabsq	$0xa5a5a5a5a5a5a5a5, %rax
	repe scasq			//= load
	jne	failed			//= cond
	/* calls write exactly 8 bytes, the original address */
	call	below			//= call
after:	leaq	after(%rip), %rax
	cmpq	%rax, -8(%rsp)		//= load
	jne	failed			//= cond
	movabsq	$0xa5a5a5a5a5a5a5a5, %rax
	cmpq	%rax, -16(%rsp)		//= load
	jne	failed			//= cond
	leaq	below(%rip), %rdx
	call	*%rdx			//= icall
after2:	leaq	after2(%rip), %rax
	cmpq	%rax, -8(%rsp)		//= load
	jne	failed			//= cond
	movabsq	$0xa5a5a5a5a5a5a5a5, %rax
	cmpq	%rax, -16(%rsp)		//= load
	jne	failed			//= cond
	/* rsp as a number */
	movl	$41, %esp
	incq	%rsp
	jmp	2f			//= jmp
	ud2				//= x0
2:	addq	%rsp, %rsp
	cmpq	$84, %rsp
	jne	failed			//= cond
	addq	word(%rip), %rsp	//= load
	leaq	2f(%rip), %rdx
	jmp	*%rdx			//= ijmp
	ud2				//= x0
2:	cmpq	$91, %rsp
	jne	failed			//= cond
	xchgq	%rax, %rsp
	cmpl	$91, %eax
	jne	failed			//= cond
	/* rsp in memory no one may write, then a jump: nothing is pushed */
	leaq	_start(%rip), %rsp
	jmp	2f			//= jmp
	ud2				//= x0
2:	movq	word(%rip), %rax	//= load
	leaq	3f(%rip), %rdx
	jmp	*%rdx			//= ijmp
	ud2				//= x0
3:	movl	$39, %eax
	syscall				//= syscall
	/* pops from read-only memory work: ret too */
	leaq	target(%rip), %rsp
	popq	%rax			//= load
	ret				//= ret
	ud2				//= x0
popped:	movq	%r15, %rsp
	/* push rsp pushes the old value; pop to its own memory uses the new one */
	pushq	%rsp			//= store
	popq	%rax			//= load
	cmpq	%rsp, %rax
	jne	failed			//= cond
	/* call *(%rsp) reads before it pushes; push 8(%rsp) likewise */
	leaq	below(%rip), %rax
	pushq	%rax			//= store
	call	*(%rsp)			//= icall load
	addq	$8, %rsp
	pushq	$5			//= store
	pushq	$6			//= store
	pushq	8(%rsp)			//= load store
	popq	%rax			//= load
	cmpl	$5, %eax
	jne	failed			//= cond
	popq	(%rsp)			//= load store
	popq	%rax			//= load
	cmpl	$6, %eax
	jne	failed			//= cond
	/* misaligned stack */
	decq	%rsp
	call	below			//= call
	leaq	below(%rip), %rax
	call	*%rax			//= icall
	incq	%rsp
	decl	%ebp
	jnz	far_loop		//= cond loop
//@ end
	EXIT
	FAILED
far_loop:
//@ loop LOOPS-1
	jmp	1b			//= jmp
//@ end
below:
//@ loop LOOPS
//@ loop 5
	ret				//= ret
//@ end
//@ end
	.section .rodata
	.balign	8
target:	.quad	1, popped
	.data
word:	.quad	7
