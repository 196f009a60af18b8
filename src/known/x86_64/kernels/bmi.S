/* bmi1, bmi2, adx, lzcnt, movbe. */
//@ about BMI1, BMI2, ADX, LZCNT, MOVBE: bit fields, pdep, pext, mulx, adcx
//@ loops 200000
//@ need bmi1 bmi2 adx abm movbe
#include "section.inc"
	KERNEL	bmi
	movl	$3, %ebx
	movl	$5, %eax
	BODY
	.irp	op, andn, bextr, bzhi, sarx, shlx, shrx, pdep, pext
	CASE	\op	%rax, %rbx, %rdx
	CASE	\op	%eax, %ebx, %edx
	.endr
	.irp	op, blsi, blsmsk, blsr, tzcnt, lzcnt
	CASE	\op	%rax, %rdx
	CASE	\op	%eax, %edx
	CASE	\op	(%rsi), %rdx		//= load
	CASE	\op	cells(%rip), %edx	//= load
	.endr
	.irp	op, andn, pdep, pext
	CASE	\op	(%rsi), %rbx, %rdx	//= load
	.endr
	.irp	op, bextr, bzhi, sarx, shlx, shrx
	CASE	\op	%rax, cells(%rip), %rdx	//= load
	.endr
	CASE	tzcntw	%ax, %dx
	CASE	lzcntw	(%rsi), %dx		//= load
	CASE	rorx	$3, %rax, %rdx
	CASE	rorx	$3, %eax, %edx
	CASE	rorx	$3, cells(%rip), %rdx	//= load
	CASE	mulx	%rax, %rcx, %rdi	//= mul
	CASE	mulx	%eax, %ecx, %edi	//= mul
	CASE	mulx	cells(%rip), %rcx, %rdi	//= mul load
	CASE	adcx	%rax, %rdx
	CASE	adox	%eax, %edx
	CASE	adcx	(%rsi), %rdx		//= load
	CASE	adox	cells(%rip), %rdx	//= load
	CASE	movbew	(%rsi), %dx		//= load
	CASE	movbel	(%rsi), %edx		//= load
	CASE	movbeq	(%rsi), %rdx		//= load
	CASE	movbew	%dx, 64(%rsi)		//= store
	CASE	movbel	%edx, 64(%rsi)		//= store
	CASE	movbeq	%rdx, cells+8(%rip)	//= store
	BODY_END
	RETURN
	IMAGE
	.quad	0x123456789abcdef0
	.skip	120
	KERNEL_END bmi
	CELLS	bmi
	.quad	0x123456789abcdef0, 0
	CELLS_END bmi
