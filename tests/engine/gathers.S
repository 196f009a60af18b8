/* Gathers and scatters, for cachesim.py: all sizes of indexes and elements, masks that leave elements out, negative
 * indexes, no base register, what looks like a word of the trace or is 0. Without AVX2 (AVX-512 with VL) the program
 * has none (only those of AVX2). */
	.bss
	.balign	64
table:	.skip	8192
	.data
	.balign	64
index:	.long	0, 100, -200, 300, 17, -17, 1000, 5
	.long	3, 33, 333, -333, 64, -64, 0, 1
wide:	.quad	0, 1000, -1000, 24, 8, -8, 512, 0
exact:	.quad	table, table + 4096, 0, 0x7ace000000000008
	.quad	table + 64, 0x7acf000000000000, 0, table + 8000
some:	.long	-1, 0, -1, -1, 0, 0, -1, 0, -1, -1, 0, 0, -1, 0, 0, -1
half:	.quad	-1, -1, 0, 0, -1, 0, 0, -1

	.text
	.globl	_start
_start:	lea	table(%rip), %rsi
	mov	$512, %ecx
1:	mov	(%rsi,%rcx,8), %rax		# misses
	dec	%ecx
	jnz	1b
	lea	4096(%rsi), %rsi
	mov	$7, %eax
	xor	%ecx, %ecx
	cpuid
	mov	%ebx, %r12d
	mov	$1, %eax
	cpuid
	bt	$27, %ecx			# OSXSAVE
	jnc	3f
	xor	%ecx, %ecx
	xgetbv
	lea	table+4096(%rip), %rsi
	and	$0xe6, %eax
	mov	%eax, %r13d
	and	$6, %eax
	cmp	$6, %eax
	jne	3f
	bt	$5, %r12d
	jnc	3f
	mov	$3, %r14d
2:	.macro	masked mask, insn:vararg
	vmovdqu	\mask(%rip), %ymm3
	\insn
	.endm
	vmovdqu	index(%rip), %ymm4
	vmovdqu	wide(%rip), %ymm12
	vmovdqu	exact(%rip), %ymm7
	masked	some, vpgatherdd %ymm3, (%rsi,%ymm4,4), %ymm5
	masked	some, vpgatherdd %xmm3, 12(%rsi,%xmm4,2), %xmm5
	masked	half, vpgatherdq %ymm3, (%rsi,%xmm4,8), %ymm5
	masked	half, vpgatherdq %xmm3, (%rsi,%xmm4,1), %xmm5
	masked	some, vpgatherqd %xmm3, -128(%rsi,%ymm12,1), %xmm13
	masked	some, vpgatherqd %xmm3, (%rsi,%xmm12,2), %xmm5
	masked	half, vpgatherqq %ymm3, (%rsi,%ymm12,2), %ymm5
	masked	half, vgatherqpd %ymm3, (,%ymm7,1), %ymm5
	masked	half, vgatherqpd %xmm3, (,%xmm7,1), %xmm5
	masked	some, vgatherdps %ymm3, 4(%rsi,%ymm4,4), %ymm5
	masked	half, vgatherdpd %ymm3, (%rsi,%xmm4,4), %ymm5
	lea	-64(%rsi), %rcx
	lea	64(%rsi), %rdx
	vpcmpeqd %ymm15, %ymm15, %ymm15
	vpgatherdd %ymm15, (%rcx,%ymm4,4), %ymm9
	vpxor	%ymm15, %ymm15, %ymm15
	vpgatherdd %ymm15, (%rdx,%ymm4,4), %ymm9	# nothing
	dec	%r14d
	jnz	2b

	cmp	$0xe6, %r13d
	jne	3f
	bt	$16, %r12d
	jnc	3f
	bt	$31, %r12d
	jnc	3f
	.macro	with mask, insn:vararg
	mov	$\mask, %eax
	kmovw	%eax, %k5
	\insn
	.endm
	vmovdqu32 index(%rip), %zmm21
	vmovdqu64 wide(%rip), %zmm22
	vmovdqu64 exact(%rip), %zmm4
	with	0xa5c3, vpgatherdd (%rsi,%zmm21,4), %zmm30{%k5}
	with	0xff, vpgatherdd 64(%rsi,%ymm21,4), %ymm30{%k5}
	with	0x6, vpgatherdd (%rcx,%xmm21,2), %xmm30{%k5}
	with	0x96, vpgatherdq 8(%rdx,%ymm21,8), %zmm30{%k5}
	with	0xd, vpgatherqd (%rsi,%ymm22,1), %xmm16{%k5}
	with	0xff, vpgatherqd 4(%rsi,%zmm22,1), %ymm16{%k5}
	with	0x93, vgatherqpd (,%zmm4,1), %zmm1{%k5}
	with	0, vgatherdps (%rsi,%zmm21,4), %zmm1{%k5}
	with	0x8001, vpscatterdd %zmm1, 128(%rsi,%zmm21,4){%k5}
	with	0x7f, vpscatterqq %zmm1, (%rsi,%zmm22,2){%k5}
	with	0x3, vpscatterqd %xmm1, (%rsi,%ymm22,2){%k5}
	with	0xf, vscatterdpd %ymm1, 8(%rsi,%xmm21,8){%k5}
	with	0x5555, vscatterdps %zmm17, 4(%rsi,%zmm21,4){%k5}
3:	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.section .note.GNU-stack, "", @progbits
