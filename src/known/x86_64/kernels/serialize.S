/* serialize: what the report waits for before it reads a counter. */
//@ about serialize
//@ loops 100000
//@ need serialize
#include "section.inc"
	KERNEL	serialize
	BODY
	CASE	serialize
	BODY_END
	RETURN
	IMAGE
	KERNEL_END serialize
