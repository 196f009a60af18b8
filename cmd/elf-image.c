#include "elf-image.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image image_map(const char *path)
{
	struct image im = { 0 };
	struct stat st;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return im;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		void *const at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED)
			im = (struct image){ at, (size_t)st.st_size };
	}
	close(fd);
	return im;
}

void image_unmap(struct image im)
{
	if (im.data)
		munmap((void *)im.data, im.size);
}

/* ---- ELF ---- */

bool image_holds(struct image im, uint64_t at, uint64_t n)
{
	return at <= im.size && n <= im.size - at;
}

bool image_is_elf64(struct image im)
{
	return im.size >= sizeof(Elf64_Ehdr) && memcmp(im.data, ELFMAG, SELFMAG) == 0 &&
	       im.data[EI_CLASS] == ELFCLASS64 && im.data[EI_DATA] == ELFDATA2LSB;
}

/* The next program header of a type; *i goes on from call to call. */
bool image_segment(struct image im, uint32_t type, unsigned *i, Elf64_Phdr *out)
{
	Elf64_Ehdr h;
	if (!image_is_elf64(im))
		return false;
	memcpy(&h, im.data, sizeof(h));
	while (*i < h.e_phnum) {
		const uint64_t at = h.e_phoff + (uint64_t)(*i)++ * sizeof(*out);
		if (!image_holds(im, at, sizeof(*out)))
			return false;
		memcpy(out, im.data + at, sizeof(*out));
		if (out->p_type == type && image_holds(im, out->p_offset, out->p_filesz))
			return true;
	}
	return false;
}

bool image_interpreter(struct image im, char *out, size_t size)
{
	Elf64_Phdr p;
	unsigned i = 0;
	if (!image_segment(im, PT_INTERP, &i, &p) || p.p_filesz == 0 || p.p_filesz > size)
		return false;
	memcpy(out, im.data + p.p_offset, p.p_filesz);
	out[p.p_filesz - 1] = '\0';
	return true;
}
