/* cpuid_misc: cpuid, cmpxchg*, xadd, lock, clflush, fences, prefetch, rdtsc. */
//@ about cpuid rdtsc fences prefetches clflush cmpxchg cmpxchg8b cmpxchg16b xadd, locked operations
//@ loops 10000
//@ need cx16
#include "section.inc"
	KERNEL	cpuid_misc
	BODY
	CASE
	xorl	%eax, %eax
	xorl	%ecx, %ecx
	cpuid
	CASE	rdtsc
	CASE	lfence
	CASE	mfence
	CASE	sfence
	CASE	prefetcht0	(%rsi)		//= load
	CASE	prefetcht1	(%rsi)		//= load
	CASE	prefetcht2	(%rsi)		//= load
	CASE	prefetchnta	(%rsi)		//= load
	CASE	prefetchw	(%rsi)		//= load
	CASE	prefetcht0	0x10000000(%rip)	//= load
	CASE	clflush		(%rsi)
	/* one that fails, and one that succeeds */
	CASE
	movl	$1, %eax
	movl	$2, %edx
	movl	$1, 64(%rsi)			//= store
	cmpxchgl	%edx, 64(%rsi)		//= load store
	jne	failed				//= cond
	cmpxchgl	%edx, 64(%rsi)		//= load store
	je	failed				//= cond
	CASE	cmpxchgb	%dl, (%rsi)	//= load store
	CASE	cmpxchgw	%dx, (%rsi)	//= load store
	CASE	cmpxchgl	%edx, (%rsi)	//= load store
	CASE	cmpxchgq	%rdx, (%rsi)	//= load store
	CASE	cmpxchgl	%edx, %r8d
	CASE	cmpxchgq	%rdx, %r8
	CASE	lock cmpxchgb	%dl, (%rsi)	//= load store lock
	CASE	lock cmpxchgl	%edx, (%rsi)	//= load store lock
	CASE	lock cmpxchgq	%rdx, cells(%rip)	//= load store lock
	CASE	xaddb	%dl, (%rsi)		//= load store
	CASE	xaddw	%dx, (%rsi)		//= load store
	CASE	xaddl	%edx, (%rsi)		//= load store
	CASE	xaddq	%rdx, (%rsi)		//= load store
	CASE	xaddq	%rdx, %rax
	CASE	lock xaddl	%edx, (%rsi)	//= load store lock
	CASE	lock xaddq	%rdx, (%rsi)	//= load store lock
	CASE	cmpxchg8b	(%rsi)		//= load store
	CASE	lock cmpxchg8b	(%rsi)		//= load store lock
	CASE	cmpxchg16b	(%rsi)		//= load store
	CASE	lock cmpxchg16b	cells(%rip)	//= load store lock
	CASE
	movq	64(%rsi), %rax			//= load
	movq	72(%rsi), %rdx			//= load
	lock cmpxchg16b	64(%rsi)		//= load store lock
	jne	failed				//= cond
	CASE
	movl	64(%rsi), %eax			//= load
	movl	68(%rsi), %edx			//= load
	lock cmpxchg8b	64(%rsi)		//= load store lock
	jne	failed				//= cond
	.irp	op, add, adc, sub, sbb, and, or, xor
	CASE	lock \op\()b	%dl, (%rsi)	//= load store lock
	CASE	lock \op\()w	%dx, (%rsi)	//= load store lock
	CASE	lock \op\()l	%edx, (%rsi)	//= load store lock
	CASE	lock \op\()q	$1, cells(%rip)	//= load store lock
	.endr
	.irp	op, inc, dec, neg, not
	CASE	lock \op\()b	(%rsi)		//= load store lock
	CASE	lock \op\()l	(%rsi)		//= load store lock
	CASE	lock \op\()q	(%rsi)		//= load store lock
	.endr
	.irp	op, bts, btr, btc
	CASE	lock \op\()l	$3, (%rsi)	//= load store lock
	CASE
	movl	$9, %edx
	lock \op\()q	%rdx, (%rsi)		//= load store lock
	.endr
	BODY_END
	RETURN
	FAILED
	IMAGE
	.quad	0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	KERNEL_END cpuid_misc
	CELLS	cpuid_misc
	.quad	0, 0
	CELLS_END cpuid_misc
