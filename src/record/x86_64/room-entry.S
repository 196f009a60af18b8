/* record_room_entry: what tare_record_slot() (tare/record.h) calls when a page is full.
 *
 * The caller is asm inside any function of the program, so every general register is
 * kept. On the stack, above the return address: the thread's handle, in whose place the
 * new record's address is left. Vector registers are the caller's to save.
 *
 * There is no branch here: the recorder takes the number of instructions off the counts.
 */
	.text
	.globl record_room_entry
	.hidden record_room_entry
	.type record_room_entry, @function
	.balign 16
record_room_entry:
	.cfi_startproc
	endbr64
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq %rax
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	movq 16(%rbp), %rdi
	andq $-16, %rsp
	cld
	call record_room
	movq %rax, 16(%rbp)
	leaq -72(%rbp), %rsp
	popq %r11
	popq %r10
	popq %r9
	popq %r8
	popq %rdi
	popq %rsi
	popq %rdx
	popq %rcx
	popq %rax
	popq %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size record_room_entry, . - record_room_entry
	.section .note.GNU-stack, "", @progbits
