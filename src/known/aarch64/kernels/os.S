/* os: system calls. */
//@ about system calls: write to no file, getpid, mmap and munmap of an untouched page
//@ loops 10000
#include "section.inc"
	KERNEL	os
	BODY
	/* write(-1, 0, 0): EBADF */
	CASE
	mov	x8, #64
	mov	x0, #-1
	mov	x1, #0
	mov	x2, #0
	svc	#0				//= svc
	cmn	x0, #9
	b.ne	failed				//= cond
	CASE
	mov	x8, #222
	mov	x0, #0
	mov	x1, #65536
	mov	x2, #3
	mov	x3, #0x22
	mov	x4, #-1
	mov	x5, #0
	svc	#0				//= svc
	mov	x8, #215
	mov	x1, #65536
	svc	#0				//= svc
	cbnz	x0, failed			//= cond
	CASE
	mov	x8, #172
	svc	#0				//= svc
	BODY_END
	RETURN
	FAILED
	IMAGE
	KERNEL_END os
