/* fsgsbase: reads of the segment bases, and writes of what they have. */
//@ about rdfsbase rdgsbase wrfsbase wrgsbase
//@ loops 300000
//@ need fsgsbase
#include "section.inc"
	KERNEL	fsgsbase
	BODY
	CASE	rdfsbase %rax
	CASE	rdfsbase %eax
	CASE	rdgsbase %rax
	CASE	rdgsbase %eax
	CASE
	rdfsbase %rax
	wrfsbase %rax
	CASE
	rdgsbase %rax
	wrgsbase %rax
	BODY_END
	RETURN
	IMAGE
	KERNEL_END fsgsbase
