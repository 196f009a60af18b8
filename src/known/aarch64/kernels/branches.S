/* branches: every condition taken and not, compare-and-branch, test-and-branch, calls and returns,
 * direct and through registers. */
//@ about b.cond cbz cbnz tbz tbnz b bl blr br ret, every condition taken and not
//@ loops 200000
#include "section.inc"
	KERNEL	branches
	BODY
	/* 1 - 2: N set, Z C V clear */
	.irp	cc, ne, cc, mi, vc, ls, lt, le
	CASE
	mov	x0, #1
	cmp	x0, #2
	b.\cc	2f				//= cond taken
	udf	#0				//= x0
2:
	.endr
	.irp	cc, eq, cs, pl, vs, hi, ge, gt
	CASE
	mov	x0, #1
	cmp	x0, #2
	b.\cc	failed				//= cond
	.endr
	/* 1 - 1: Z C set */
	.irp	cc, eq, cs, pl, vc, ls, ge, le
	CASE
	cmp	x0, x0
	b.\cc	2f				//= cond taken
	udf	#0				//= x0
2:
	.endr
	.irp	cc, ne, cc, mi, vs, hi, lt, gt
	CASE
	cmp	x0, x0
	b.\cc	failed				//= cond
	.endr
	.irp	reg, x1, w1
	CASE
	mov	x1, #0
	cbz	\reg, 2f			//= cond taken
	udf	#0				//= x0
2:
	CASE
	mov	x1, #0
	cbnz	\reg, failed			//= cond
	CASE
	mov	x1, #4
	tbnz	\reg, #2, 2f			//= cond taken
	udf	#0				//= x0
2:
	CASE
	mov	x1, #4
	tbz	\reg, #2, 3f			//= cond
	b	2f				//= jmp
3:	udf	#0				//= x0
2:
	.endr
	CASE
	b	2f				//= jmp
	udf	#0				//= x0
2:
	CASE	bl	leaf			//= bl
	//+ bret
	CASE
	adr	x1, leaf
	blr	x1				//= blr
	//+ bret
	CASE
	adr	x1, 2f
	br	x1				//= ijmp
	udf	#0				//= x0
2:
	CASE
	adr	x1, 2f
	ret	x1				//= bret
	udf	#0				//= x0
2:
	CASE
	mov	x1, #5
2:
//@ loop 5
	sub	x1, x1, #1
	cbnz	x1, 2b				//= cond loop
//@ end
	BODY_END
	RETURN
	FAILED
leaf:	ret					//= x0
	IMAGE
	KERNEL_END branches
