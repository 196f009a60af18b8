# 12,000 rounds with branches, calls and returns; no libc, whose start depends on the CPU.
	.globl _start
_start:
	mov	$12000, %ebx
1:	mov	$3, %ecx
2:	test	$1, %cl
	jz	3f
	lea	leaf(%rip), %rax
	call	*%rax
3:	call	leaf
	dec	%ecx
	jnz	2b
	dec	%ebx
	jnz	1b
	mov	$231, %eax		# exit_group
	xor	%edi, %edi
	syscall
leaf:
	push	%rbx
	pop	%rbx
	ret
	.section .note.GNU-stack,"",@progbits
