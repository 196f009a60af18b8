/* A kernel of src/known as a program: runs its loop LOOPS times. */
	.globl	_start
_start:
	mov	x0, #LOOPS
	adrp	x1, memory
	add	x1, x1, :lo12:memory
	bl	KERNEL				//= bl
	mov	x8, #93
	mov	x0, #0
	svc	#0				//= svc
	.section .note.GNU-stack, "", %progbits
	.bss
	.balign	4096
memory:	.skip	65536
