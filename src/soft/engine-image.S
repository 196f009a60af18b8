/* The engine as bytes: an ELF file the launcher maps into the measured process. */
	.section .rodata
	.globl engine_elf_start, engine_elf_end, engine_digest
	.balign 4096
engine_elf_start:
	.incbin ENGINE_ELF
engine_elf_end:
	/* SHA-256 of it: 64 digits */
engine_digest:
	.incbin ENGINE_DIGEST, 0, 64
	.section .note.GNU-stack, "", @progbits
