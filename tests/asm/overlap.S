/* overlap: jumps into the middle of an instruction, code that is two different
 * things, instructions across a page boundary, at the very end of a mapping, of
 * 15 bytes, with redundant prefixes. */
#include "kernel.inc"
	.globl	_start
_start:
	movl	$LOOPS, %ebp
1:
//@ loop LOOPS
	/* the immediate of mov is code: inc eax; ret; int3 */
	xorl	%eax, %eax
	call	middle+1		//= call
	cmpl	$1, %eax
	jne	failed			//= cond
	call	middle			//= call
	cmpl	$0xccc3c0ff, %eax
	jne	failed			//= cond
	/* EB FF C0: jmp to its own second byte, which begins inc eax */
	xorl	%eax, %eax
	.byte	0xeb			//= insn jmp
	.byte	0xff, 0xc0		//= insn
	cmpl	$1, %eax
	jne	failed			//= cond
	/* a loop into the middle of the block that was just run through */
	movl	$3, %ecx
	xorl	%eax, %eax
//@ loop 3
2:	incl	%eax
	decl	%ecx
	jnz	2b			//= cond loop
//@ end
	cmpl	$3, %eax
	jne	failed			//= cond
	/* 15 bytes: prefixes that do nothing, and the longest real one */
	.byte	0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x48, 0xff, 0xc0	//= insn
	.byte	0x64, 0x67, 0xf0, 0x48, 0x81, 0x84, 0x88	//= insn load store lock
	.long	data, 1
	.byte	0x3e, 0x3e, 0x2e, 0x26, 0x36, 0x48, 0x01, 0xc0	//= insn
	.byte	0xf2, 0xf3, 0x48, 0x89, 0xc0			//= insn
	.byte	0x40, 0x90					//= insn
	/* REX that is not last is ignored */
	.byte	0x48, 0x66, 0x01, 0xc0				//= insn
	xorl	%eax, %eax
	call	across			//= call
	cmpl	$0x12345679, %eax
	jne	failed			//= cond
	call	*at_end(%rip)		//= icall load
	decl	%ebp
	jnz	1b			//= cond loop
//@ end
	EXIT
	FAILED
middle:
//@ loop LOOPS
	.byte	0xb8			//= insn
	.byte	0xff, 0xc0		//= insn
	ret				//= ret
	.byte	0xcc
	ret				//= ret
//@ end
	/* add eax, imm32 begins 3 bytes before a page boundary; then inc eax with
	 * one byte on either side of the next */
	.balign	4096
	.skip	4096 - 3
across:
//@ loop LOOPS
	addl	$0x12345678, %eax
	jmp	over			//= jmp
	.skip	4096 - 2 - 2 - 1
over:	incl	%eax
	ret				//= ret
//@ end
	.section .last, "ax", @progbits
	.balign	4096
	.skip	4096 - 3
	/* the last bytes of the last page of this mapping */
last:
//@ loop LOOPS
	nop
	nop
	ret				//= ret
//@ end
	.data
	.balign	8
data:	.quad	0, 0
at_end:	.quad	last
