/* Programs that switch counting, for stat-parts.py: `parts NAME`, the name's first letter chooses. The
 * counts are written beside the instructions; REQUEST is 8 of them, of which the program's are not
 * counted for the request that switches counting on. */
	.set DUMP, 0x43540000		/* valgrind/callgrind.h */
	.set ZERO, DUMP + 1
	.set TOGGLE, DUMP + 2
	.set DUMP_AT, DUMP + 3
	.set START, DUMP + 4
	.set STOP, DUMP + 5

	.macro REQUEST number, argument=0
	lea args(%rip), %rax
	movq $\number, (%rax)
	xor %edx, %edx
	rol $3, %rdi
	rol $13, %rdi
	rol $61, %rdi
	rol $51, %rdi
	xchg %rbx, %rbx
	.endm
	.macro EXIT
	mov $60, %eax			/* 3 */
	xor %edi, %edi
	syscall
	.endm
	.macro NOPS n
	.rept \n
	nop
	.endr
	.endm

	.data
args:	.quad 0, 0, 0, 0, 0, 0
name:	.asciz "a dump"
	.text
	.globl _start
_start:
	mov 16(%rsp), %rsi
	movzbl (%rsi), %eax
	cmp $'p', %eax
	je part
	cmp $'l', %eax
	je loop
	cmp $'m', %eax
	je many
	cmp $'z', %eax
	je zero
	cmp $'d', %eax
	je dump
	cmp $'f', %eax
	je fork
	cmp $'x', %eax
	je exec
	cmp $'s', %eax
	je signal
	cmp $'b', %eax
	je bare
	cmp $'v', %eax
	je valgrind
	cmp $'r', %eax
	je reset
	EXIT

part:					/* 7 + 8 */
	NOPS 20
	REQUEST START
	NOPS 7
	REQUEST STOP
	NOPS 20
	EXIT

loop:					/* the same blocks off, on and off again: 1 + 200 + 1 + 8 */
	call hundred
	REQUEST START
	call hundred
	REQUEST STOP
	call hundred
	EXIT
hundred:
	mov $100, %ecx
1:	dec %ecx
	jnz 1b
	ret

many:					/* 1000 × (5 + 8) */
	mov $1000, %r15d
1:	REQUEST TOGGLE
	NOPS 5
	REQUEST TOGGLE
	call hundred
	dec %r15d
	jnz 1b
	EXIT

zero:					/* counting from the start: 4 + 3 */
	call hundred
	REQUEST ZERO
	NOPS 4
	EXIT

dump:					/* from the start: 1: 2 + 2n + 10 + 8, 2: 5 + 8 + 2, the rest: 1 + 3 */
	REQUEST ZERO
	NOPS 10
	REQUEST DUMP			/* 18 */
	NOPS 5
	lea name(%rip), %rcx
	mov %rcx, args+8(%rip)
	REQUEST DUMP_AT			/* 15 */
	NOPS 1
	EXIT				/* 4 */

fork:					/* off: both start in the parent's state */
	REQUEST START
	mov $57, %eax
	syscall				/* 2 */
	mov %eax, %r12d			/* 3 + 3 */
	test %eax, %eax
	jz 1f
	REQUEST STOP			/* parent: 8 */
	mov %r12d, %edi
	xor %esi, %esi
	xor %edx, %edx
	xor %r10d, %r10d
	mov $61, %eax			/* wait4 */
	syscall
	EXIT
1:	NOPS 9				/* child: 9 + 3 */
	EXIT

exec:					/* on until the exec: 5 + 1; the new image starts off */
	mov 16(%rsp), %r12
	REQUEST START
	mov 8(%rsp), %rdi		/* argv[0] */
	lea 8(%rsp), %rsi
	movb $'q', (%r12)		/* the new image just exits */
	xor %edx, %edx
	mov $59, %eax
	syscall
	EXIT

signal:					/* a fault in the middle of a block; its handler switches off */
	mov $13, %eax			/* rt_sigaction(SIGSEGV, …) */
	mov $11, %edi
	lea action(%rip), %rsi
	xor %edx, %edx
	mov $8, %r10d
	syscall
	REQUEST START
	NOPS 3				/* 3 */
	xor %ecx, %ecx			/* 1 */
	mov (%rcx), %eax		/* does not retire */
	NOPS 6
	EXIT
handler:
	NOPS 2				/* 2 */
	REQUEST STOP			/* 8 */
	EXIT
restorer:
	mov $15, %eax
	syscall
	.data
	.balign 8
action:	.quad handler, 0x44000000, restorer, 0	/* SA_RESTORER | SA_NODEFER */
	.text

bare:					/* not requests: from the start, 11 + what _start took */
	xchg %rbx, %rbx
	rol $3, %rdi
	rol $13, %rdi
	rol $61, %rdi
	xchg %rbx, %rbx
	mov $1, %eax
	rol $3, %rdi			/* the sequence, but no address in rax */
	rol $13, %rdi
	rol $61, %rdi
	rol $51, %rdi
	xchg %rbx, %rbx
	EXIT

valgrind:				/* exits with RUNNING_ON_VALGRIND */
	REQUEST 0x1001
	mov %edx, %edi
	mov $60, %eax
	syscall

reset:					/* start and stop set the threads' own switches back, as callgrind */
	REQUEST ZERO
	REQUEST TOGGLE			/* 8; off */
	NOPS 50
	REQUEST STOP
	REQUEST START			/* on again */
	NOPS 2				/* 2 */
	EXIT				/* 3 */
