/* trap_flag: a program that single-steps itself. With TF set each instruction
 * raises SIGTRAP after it; handlers run untraced. */
//@ native single-stepping and the program would share the trap flag
#include "kernel.inc"
#define RETURNS 5
	.globl	_start
_start:
	SIGACTION 5, count_trap
	pushfq				//= store
	orq	$0x100, (%rsp)		//= load store
	popfq				//= load
	nop
	nop
	pushfq				//= store
	andq	$~0x100, (%rsp)		//= load store
	popfq				//= load
	nop
	cmpl	$5, traps(%rip)		//= load
	jne	failed			//= cond
	EXIT
	FAILED
count_trap:
//@ loop RETURNS
	incl	traps(%rip)		//= load store
	ret				//= ret
//@ end
	RESTORER
	.data
traps:	.long	0
