/* rdtscp: an instruction of its own, because old CPUs lack it. */
//@ about rdtscp
//@ loops 500000
//@ need rdtscp
#include "section.inc"
	KERNEL	rdtscp
	BODY
	CASE	rdtscp
	BODY_END
	RETURN
	IMAGE
	KERNEL_END rdtscp
