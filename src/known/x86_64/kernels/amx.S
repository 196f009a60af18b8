/* amx: tiles of 4 rows with 16 bytes. The kernel gives their state to a process that asks. */
//@ about AMX: tile loads and stores, dot products of bytes and BF16, tile configuration
//@ loops 100000
//@ need amx_tile amx_int8 amx_bf16
#include "section.inc"
	KERNEL	amx
	movl	$158, %eax			// arch_prctl(ARCH_REQ_XCOMP_PERM, tile data)
	movl	$0x1023, %edi
	movl	$18, %esi
	syscall					//= syscall
	movq	(%rsp), %rsi			//= load
	movl	$16, %ebx
	ldtilecfg (%rsi)			//= load
	BODY
	.irp	tile, tmm0, tmm1, tmm7
	CASE	tilezero %\tile
	CASE	tileloadd 64(%rsi,%rbx), %\tile	//= load
	CASE	tileloaddt1 64(%rsi,%rbx), %\tile	//= load
	CASE	tilestored %\tile, 128(%rsi,%rbx)	//= store
	.endr
	.irp	op, tdpbssd, tdpbsud, tdpbusd, tdpbuud, tdpbf16ps
	CASE	\op	%tmm0, %tmm1, %tmm2
	.endr
	CASE	sttilecfg 192(%rsi)		//= store
	CASE
	tilerelease
	ldtilecfg (%rsi)			//= load
	BODY_END
	tilerelease
	RETURN
	IMAGE
	.byte	1, 0				# the palette
	.fill	14, 1, 0
	.fill	8, 2, 16			# bytes in a row of each tile
	.fill	16, 1, 0
	.fill	8, 1, 4				# rows of each tile
	.fill	8, 1, 0
	.fill	192, 1, 0
	KERNEL_END amx
