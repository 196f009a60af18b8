/* cache_lines: clflushopt and clwb, with the fence that orders them. */
//@ about clflushopt clwb, sfence behind
//@ loops 50000
//@ need clflushopt clwb
#include "section.inc"
	KERNEL	cache_lines
	BODY
	CASE	clflushopt	(%rsi)
	CASE	clflushopt	cells(%rip)
	CASE	clwb	(%rsi)
	CASE
	movq	%rax, 64(%rsi)			//= store
	clwb	64(%rsi)
	sfence
	BODY_END
	RETURN
	IMAGE
	.skip	128
	KERNEL_END cache_lines
	CELLS	cache_lines
	.quad	0
	CELLS_END cache_lines
