/* flags: clc cld cmc lahf popf pushf sahf setcc stc std. */
//@ about clc cmc stc std cld lahf sahf pushf popf, setcc with all conditions
//@ loops 200000
//@ need lahf_lm
#include "section.inc"
	KERNEL	flags
	BODY
	CASE	clc
	CASE	stc
	CASE	cmc
	CASE
	std
	cld
	CASE	lahf
	CASE	sahf
	CASE
	pushfq				//= store
	popfq				//= load
	CASE
	pushfw				//= store
	popfw				//= load
	.irp	cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	CASE	set\cc	%al
	CASE	set\cc	(%rsi)			//= store
	CASE	set\cc	cells(%rip)		//= store
	.endr
	BODY_END
	RETURN
	IMAGE
	.quad	0
	KERNEL_END flags
	CELLS	flags
	.quad	0
	CELLS_END flags
