/* fma: fused multiplication and addition, all orders of the operands. */
//@ about FMA: fused multiply and add, packed and scalar, every operand order
//@ loops 60000
//@ need fma
#include "section.inc"
	KERNEL	fma
	SAVE_FP
	vmovaps	(%rsi), %ymm1		//= load
	vmovaps	%ymm1, %ymm0
	BODY
	.irp	op, vfmadd132ps, vfmadd132pd, vfmadd213ps, vfmadd213pd, vfmadd231ps, vfmadd231pd, vfmsub132ps, vfmsub132pd, vfmsub213ps, vfmsub213pd, vfmsub231ps, vfmsub231pd, vfnmadd132ps, vfnmadd132pd, vfnmadd213ps, vfnmadd213pd, vfnmadd231ps, vfnmadd231pd, vfnmsub132ps, vfnmsub132pd, vfnmsub213ps, vfnmsub213pd, vfnmsub231ps, vfnmsub231pd, vfmaddsub132ps, vfmaddsub132pd, vfmaddsub213ps, vfmaddsub213pd, vfmaddsub231ps, vfmaddsub231pd, vfmsubadd132ps, vfmsubadd132pd, vfmsubadd213ps, vfmsubadd213pd, vfmsubadd231ps, vfmsubadd231pd
	CASE
	vmovaps	%ymm1, %ymm2
	\op	%ymm1, %ymm0, %ymm2	//= fp
	CASE
	vmovaps	%ymm1, %ymm2
	\op	(%rsi), %ymm0, %ymm2	//= fp load
	.endr
	.irp	op, vfmadd132ss, vfmadd132sd, vfmadd213ss, vfmadd213sd, vfmadd231ss, vfmadd231sd, vfmsub132ss, vfmsub132sd, vfmsub213ss, vfmsub213sd, vfmsub231ss, vfmsub231sd, vfnmadd132ss, vfnmadd132sd, vfnmadd213ss, vfnmadd213sd, vfnmadd231ss, vfnmadd231sd, vfnmsub132ss, vfnmsub132sd, vfnmsub213ss, vfnmsub213sd, vfnmsub231ss, vfnmsub231sd
	CASE
	vmovaps	%xmm1, %xmm2
	\op	%xmm1, %xmm0, %xmm2	//= fp
	CASE
	vmovaps	%xmm1, %xmm2
	\op	cells(%rip), %xmm0, %xmm2	//= fp load
	.endr
	BODY_END
	vzeroupper
	RESTORE_FP
	RETURN
	IMAGE
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	.fill	128, 1, 0
	.long	0x1f80, 0
	KERNEL_END fma
	CELLS	fma
	.float	1.5, 2.5, 3.5, 4.5, 1.5, 2.5, 3.5, 4.5
	CELLS_END fma
