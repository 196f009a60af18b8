/* A file, mapped for reading, and what is in an ELF file. */
#ifndef CMD_ELF_IMAGE_H
#define CMD_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
	const char *data;		/* NULL: not a regular file, empty, or not readable */
	size_t size;
};

struct image image_map(const char *path);
void image_unmap(struct image im);

/* Are there n bytes at that offset? */
bool image_holds(struct image im, uint64_t at, uint64_t n);
bool image_is_elf64(struct image im);
/* The next program header of a type, whose part of the file is there; *i goes on from call to call. */
bool image_segment(struct image im, uint32_t type, unsigned *i, Elf64_Phdr *out);
/* The dynamic linker that an executable names. */
bool image_interpreter(struct image im, char *out, size_t size);

#endif
