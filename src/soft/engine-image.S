/* The engine as bytes: an ELF file the launcher maps into the measured process. */
	.section .rodata
	.globl engine_elf_start, engine_elf_end
	.balign 4096
engine_elf_start:
	.incbin ENGINE_ELF
engine_elf_end:
	.section .note.GNU-stack, "", @progbits
