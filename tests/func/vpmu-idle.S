/* A program that opens no counter: loops, calls, returns, an indirect call, system calls, a
 * thread of control that has to be followed. For vpmu-cost. */
	.globl	_start
_start:	mov	$1000, %r12d
1:	call	work
	mov	$39, %eax		/* getpid */
	syscall
	dec	%r12d
	jnz	1b
	mov	$257, %eax		/* openat: a path that is looked at */
	mov	$-100, %edi
	lea	path(%rip), %rsi
	xor	%edx, %edx
	syscall
	mov	$57, %eax		/* fork */
	syscall
	test	%eax, %eax
	jz	2f
	mov	$61, %eax		/* wait4 */
	mov	$-1, %edi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	syscall
2:	mov	$231, %eax
	xor	%edi, %edi
	syscall

work:	mov	$100, %ecx
1:	imul	$3, %rax
	lock addl $1, -8(%rsp)
	dec	%ecx
	jnz	1b
	lea	leaf(%rip), %rax
	call	*%rax
	ret
leaf:	fldz
	fstp	%st(0)
	ret

	.section .rodata
path:	.asciz	"/nonexistent/file"
	.section .note.GNU-stack, "", @progbits
