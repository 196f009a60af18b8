/* avx2, fma, f16c, bmi1, bmi2, adx, lzcnt, movbe: gathers are one load. */
//@ need avx2 fma f16c bmi1 bmi2 adx abm
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
1:
//@ loop LOOPS
	.irp	op, vpaddb, vpaddq, vpsubd, vpmulld, vpmuludq, vpand, vpandn, vpor, vpxor, vpcmpeqb, vpcmpgtq, vpshufb, vpunpckhwd, vpackusdw, vpsllvd, vpsrlvq, vpsravd, vpavgb, vpmaxsd, vpminub, vpsadbw, vpmaddwd, vphaddd, vpsignb, vpermd
	\op	%ymm1, %ymm0, %ymm2	//= int
	\op	(%rsi), %ymm0, %ymm2	//= int load
	.endr
	.irp	op, vpblendd, vpblendw, vpalignr, vmpsadbw, vperm2i128
	\op	$1, %ymm1, %ymm0, %ymm2	//= int
	\op	$1, data(%rip), %ymm0, %ymm2	//= int load
	.endr
	vpermq	$0x1b, %ymm1, %ymm2	//= int
	vpshufd	$0x1b, (%rsi), %ymm2	//= int load
	vpsllw	$3, %ymm1, %ymm2	//= int
	vpslldq	$3, %ymm1, %ymm2	//= int
	vpbroadcastb %xmm1, %ymm2	//= int
	vpbroadcastd (%rsi), %ymm2	//= int load
	vpmovzxbw %xmm1, %ymm2		//= int
	vpmovsxdq (%rsi), %ymm2		//= int load
	vpmovmskb %ymm1, %eax		//= int
	vpabsd	%ymm1, %ymm2		//= int
	vpmaskmovd (%rsi), %ymm0, %ymm2		//= load
	vpmaskmovq %ymm2, %ymm0, 64(%rsi)	//= store
	/* gathers: the mask is all ones, then used up */
	vpcmpeqd %ymm3, %ymm3, %ymm3	//= int
	vpxor	%ymm4, %ymm4, %ymm4	//= int
	vpgatherdd %ymm3, (%rsi,%ymm4,4), %ymm5	//= load
	vpcmpeqd %ymm3, %ymm3, %ymm3	//= int
	vpgatherdq %ymm3, (%rsi,%xmm4,8), %ymm5	//= load
	vpcmpeqd %ymm3, %ymm3, %ymm3	//= int
	vgatherqpd %ymm3, (%rsi,%ymm4,1), %ymm5	//= load
	vpcmpeqd %ymm3, %ymm3, %ymm3	//= int
	vgatherdps %ymm3, 4(%rsi,%ymm4,2), %ymm5	//= load
	vinserti128 $1, %xmm1, %ymm0, %ymm2
	vextracti128 $1, %ymm1, 64(%rsi)	//= store
	vbroadcasti128 (%rsi), %ymm2	//= load
	.irp	op, vfmadd132ps, vfmadd213pd, vfmadd231ps, vfmsub132ps, vfnmadd213ps, vfnmsub231pd, vfmaddsub132ps, vfmsubadd213pd
	\op	%ymm1, %ymm0, %ymm2	//= fp
	\op	(%rsi), %ymm0, %ymm2	//= fp load
	.endr
	vfmadd231sd %xmm1, %xmm0, %xmm2	//= fp
	vfnmadd231ss data(%rip), %xmm0, %xmm2	//= fp load
	vcvtph2ps (%rsi), %ymm2		//= fp load
	vcvtps2ph $0, %ymm1, 64(%rsi)	//= fp store
	.irp	op, andn, bextr, bzhi, sarx, shlx, shrx, pdep, pext
	\op	%rax, %rbx, %rdx
	.endr
	.irp	op, blsi, blsmsk, blsr, tzcnt, lzcnt
	\op	%rax, %rbx
	\op	(%rsi), %rbx		//= load
	.endr
	andn	(%rsi), %rbx, %rdx	//= load
	shlx	%rax, data(%rip), %rdx	//= load
	rorx	$3, %rax, %rbx
	rorx	$3, data(%rip), %rbx	//= load
	movl	$3, %edx
	mulx	%rax, %rbx, %rcx	//= mul
	mulx	data(%rip), %rbx, %rcx	//= mul load
	adcx	%rax, %rbx
	adox	(%rsi), %rbx		//= load
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	vzeroupper
	EXIT
	.data
	.balign	64
data:	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
