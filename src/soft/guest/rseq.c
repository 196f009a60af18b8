/* Restartable sequences. The registration goes to the kernel (the C library uses cpu_id). Critical
 * sections do not work: the kernel compares their addresses with the pc, which is in the code
 * cache, and so never aborts one. A program that has critical sections is recognised by their
 * descriptors (ELF section __rseq_cs), or by a descriptor in use, and refused: it would run
 * wrongly without a sign.
 */
#include "guest-room.h"
#include "sys.h"
#include "text.h"

#include <elf.h>
#include <linux/rseq.h>

static const char refusal[] = "this program has restartable sequences (rseq critical "
	"sections), which the engine cannot keep; use a kernel backend";

static bool read_at(long fd, void *to, uint64_t n, uint64_t at)
{
	return sys4(__NR_pread64, fd, to, n, at) == (long)n;
}

static bool is_rseq_section(long fd, const Elf64_Shdr *names, uint32_t name)
{
	char text[16];
	if (name >= names->sh_size || !read_at(fd, text, 10, names->sh_offset + name))
		return false;
	text[10] = '\0';
	return text_starts(text, "__rseq_cs") && text[9] == '\0';
}

/* Descriptors are 32 bytes each, in a loaded section. */
static bool may_be(const Elf64_Shdr *s)
{
	return s->sh_flags & SHF_ALLOC && s->sh_size >= 32 && s->sh_size % 32 == 0;
}

static bool has_sections(long fd)
{
	Elf64_Ehdr e;
	Elf64_Shdr s[32], names;
	if (!read_at(fd, &e, sizeof(e), 0) || !mem_equal(e.e_ident, ELFMAG, SELFMAG) ||
	    !e.e_shoff || e.e_shentsize != sizeof(s[0]) || e.e_shstrndx >= e.e_shnum ||
	    !read_at(fd, &names, sizeof(names), e.e_shoff + e.e_shstrndx * sizeof(s[0])))
		return false;
	for (uint32_t i = 0; i < e.e_shnum; i += 32) {
		const uint32_t n = e.e_shnum - i < 32 ? e.e_shnum - i : 32;
		if (!read_at(fd, s, n * sizeof(s[0]), e.e_shoff + i * sizeof(s[0])))
			return false;
		for (uint32_t k = 0; k < n; k++)
			if (may_be(&s[k]) && is_rseq_section(fd, &names, s[k].sh_name))
				return true;
	}
	return false;
}

void rseq_look_at_file(long fd)
{
	if (has_sections(fd))
		refuse(refusal);
}

/* The program's own file was mapped by the kernel, not by a call of the program. */
void rseq_init(void)
{
	const long fd = own_open(AT_FDCWD, "/proc/self/exe", O_CLOEXEC);
	if (fd < 0)
		return;
	const bool has = has_sections(fd);
	sys1(__NR_close, fd);
	if (has)
		refuse(refusal);
}

long rseq_syscall(struct thread *t, const uint64_t *a)
{
	if (E.machine)
		return machine_rseq(t, a);
	const long ret = gate(t, __NR_rseq, a);
	if (ret == 0) {
		t->task.rseq = a[2] & RSEQ_FLAG_UNREGISTER ? 0 : a[0];
		outputs_keep(t, WRITTEN_RSEQ, t->task.rseq, t->task.rseq ? (uint32_t)a[1] : 0);
	}
	return ret;
}

/* A critical section that no descriptor in a file announced. */
void rseq_check(struct thread *t)
{
	uint64_t cs;
	const uint64_t at = t->task.rseq + offsetof(struct rseq, rseq_cs);
	if (t->task.rseq && copy_guest(&cs, (const void *)at, 8) && cs)
		refuse(refusal);
}
