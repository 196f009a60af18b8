/* cpuid_misc: cpuid, cmpxchg*, xadd, lock, clflush, fences, prefetch, rdtsc. */
//@ need cx16 rdtscp xsave
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
	leaq	data(%rip), %rsi
1:
//@ loop LOOPS
	xorl	%eax, %eax
	xorl	%ecx, %ecx
	cpuid
	rdtsc
	rdtscp
	lfence
	mfence
	sfence
	prefetcht0	(%rsi)		//= load
	prefetcht1	(%rsi)		//= load
	prefetcht2	(%rsi)		//= load
	prefetchnta	(%rsi)		//= load
	prefetchw	(%rsi)		//= load
	prefetcht0	missing(%rip)	//= load
	clflush		(%rsi)
	xorl	%eax, %eax
	movl	$1, %edx
	cmpxchgb	%dl, (%rsi)	//= load store
	cmpxchgw	%dx, (%rsi)	//= load store
	cmpxchgl	%edx, (%rsi)	//= load store
	cmpxchgq	%rdx, (%rsi)	//= load store
	cmpxchgl	%edx, %r8d
	lock cmpxchgq	%rdx, data(%rip)	//= load store lock
	xaddb	%dl, (%rsi)		//= load store
	xaddl	%edx, (%rsi)		//= load store
	xaddq	%rdx, %rax
	lock xaddq	%rdx, (%rsi)	//= load store lock
	cmpxchg8b	(%rsi)		//= load store
	lock cmpxchg8b	(%rsi)		//= load store lock
	cmpxchg16b	(%rsi)		//= load store
	lock cmpxchg16b	data(%rip)	//= load store lock
	.irp	op, add, adc, sub, sbb, and, or, xor
	lock \op\()l	%edx, (%rsi)	//= load store lock
	lock \op\()q	$1, data(%rip)	//= load store lock
	.endr
	.irp	op, inc, dec, neg, not
	lock \op\()l	(%rsi)		//= load store lock
	.endr
	.irp	op, bts, btr, btc
	lock \op\()l	$3, (%rsi)	//= load store lock
	lock \op\()q	%rdx, (%rsi)	//= load store lock
	.endr
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	xorl	%ecx, %ecx
	xgetbv
	EXIT
	.set	missing, 0x700000
	.data
	.balign	64
data:	.fill	64, 8, 0
