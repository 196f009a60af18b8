#include "soft-setup.h"

#include "descriptors.h"
#include "file-size.h"
#include "soft-machine.h"
#include "soft-results.h"
#include "trace-abi.h"
#include "soft-stop.h"
#include "why.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- descriptors ---- */

/* A number that programs do not meet: above the numbers that they may open themselves, if the
 * hard limit allows it, so that none of theirs is taken away; but not so high that each fork
 * copies a large table. */
static int high_descriptor(int fd)
{
	const struct rlimit l = descriptors_limit();
	if (l.rlim_cur > 2048)
		return fcntl(fd, F_DUPFD_CLOEXEC, 2000);
	const int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)l.rlim_cur);
	if (high >= 0)
		return high;
	return fcntl(fd, F_DUPFD_CLOEXEC, l.rlim_cur > 32 ? (int)l.rlim_cur - 24 : 3);
}

/* FDSize of the descriptor table that the command would have inherited. */
static uint32_t fd_table_size(void)
{
	char line[128];
	unsigned size = 0;
	FILE *const f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "FDSize: %u", &size) == 1)
			break;
	if (f)
		fclose(f);
	return size;
}

/* ---- the image ---- */

/* The engine's image as part of the file that runs here, on a descriptor from `least` on. Where the
 * image is in a shared library there is none: the file may no longer be the one that was mapped. */
static struct image own_image(int least)
{
	struct image none = { .fd = -1 };
	const Elf64_Phdr *const p = (const Elf64_Phdr *)getauxval(AT_PHDR);
	const uint64_t n = getauxval(AT_PHNUM), at = (uint64_t)engine_elf_start;
	uint64_t base = 1, offset = 0;
	for (uint64_t i = 0; p && i < n; i++)
		if (p[i].p_type == PT_PHDR)
			base = (uint64_t)p - p[i].p_vaddr;
	for (uint64_t i = 0; base != 1 && i < n; i++)
		if (p[i].p_type == PT_LOAD && at - base - p[i].p_vaddr < p[i].p_filesz)
			offset = p[i].p_offset + (at - base - p[i].p_vaddr);
	if (!offset || offset % 4096)
		return none;
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return none;
	const struct image own = { fcntl(fd, F_DUPFD_CLOEXEC, least), offset, true };
	close(fd);
	return own;
}

/* Through a mapping: pwrite() would meet the limit on file sizes (file-size.h). The pages are
 * allocated first, since a store without memory for its page would be SIGBUS. 0 or an errno. */
static int write_image(int memfd)
{
	const size_t size = (size_t)(engine_elf_end - engine_elf_start);
	if (fallocate(memfd, 0, ENGINE_FILE_OFFSET, (off_t)size) < 0)
		return errno;
	void *const to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd,
			      ENGINE_FILE_OFFSET);
	if (to == MAP_FAILED)
		return errno;
	memcpy(to, engine_elf_start, size);
	munmap(to, size);
	return 0;
}

/* Most commands need only our own file; the copy in the memfd costs a few hundredths of the time of
 * a short run, so it is written when the first process other than the command execs. */
int soft_setup_image(struct soft_setup *s, bool first, int reserved_fd, struct image *image)
{
	if (first && s->own.fd >= 0) {
		*image = s->own;
		return 0;
	}
	const int err = s->image_written ? 0 : write_image(s->memfd);
	if (err)
		return -err;
	s->image_written = true;
	*image = (struct image){ .fd = reserved_fd, .offset = ENGINE_FILE_OFFSET };
	return 0;
}

/* ---- shared memory ---- */

int soft_memory_code(int err)
{
	if (err == EMFILE || err == ENFILE)
		return TARE_E_TOO_MANY_FILES;
	return err == ENOMEM || err == ENOSPC ? TARE_E_NOMEM : TARE_E_ENGINE;
}

int soft_setup_open(struct soft_setup *s, const struct tare_measure_options *o,
		    struct tare_why *why)
{
	*s = (struct soft_setup){ .memfd = -1, .own.fd = -1, .folder = RUN_FOLDER_NONE };
	const uint32_t fd_size = fd_table_size();
	const int fd = memfd_create("tare", MFD_CLOEXEC);
	if (fd < 0)
		return why_errno(why, soft_memory_code(errno), errno, "memfd_create");
	s->memfd = high_descriptor(fd);
	close(fd);
	if (s->memfd < 0)
		return why_errno(why, soft_memory_code(errno), errno, "a descriptor for the engine");
	const uint64_t size = o->trace ? TRACE_END : o->code ? CODE_LOG_END : o->hermetic ? HERMETIC_FILE_END :
			      ENGINE_FILE_OFFSET + (size_t)(engine_elf_end - engine_elf_start);
	const int err = file_set_size(s->memfd, size, "shared memory for the engine", why);
	if (err) {
		close(s->memfd);
		return err;
	}
	s->shared = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE, MAP_SHARED, s->memfd, 0);
	if (s->shared == MAP_FAILED) {
		const int no_map = errno;
		close(s->memfd);
		return why_errno(why, soft_memory_code(no_map), no_map,
				 "shared memory for the engine");
	}
	s->shared->magic = SOFT_MAGIC;
	s->shared->reserved_fd = (uint32_t)s->memfd;
	s->shared->event_mask = soft_event_mask(o->events);
	const uint32_t stops = soft_stop_setup(s->shared, o);
	if (s->shared->event_mask)		/* 0: all */
		s->shared->event_mask |= stops;
	s->shared->flags = (o->no_inherit ? SOFT_FLAG_NO_INHERIT : 0) |
			   (o->refuse_uncounted ? SOFT_FLAG_REFUSE : 0) |
			   (o->code || o->trace ? SOFT_FLAG_CODE_LOG : 0) |
			   (o->calls ? SOFT_FLAG_CALLS : 0) |
			   (o->trace ? SOFT_FLAG_TRACE : 0) |
			   (o->starts_off & TARE_OFF_UNTIL_ASKED ? SOFT_FLAG_OFF_UNTIL_ASKED : 0) |
			   (o->starts_off & TARE_OFF_PROCESS ? SOFT_FLAG_OFF_PROCESS : 0) |
			   (o->starts_off & TARE_OFF_THREADS ? SOFT_FLAG_OFF_THREADS : 0) |
			   (o->valgrind ? SOFT_FLAG_VALGRIND : 0) |
			   (o->zero == TARE_ZERO_PROCESS ? SOFT_FLAG_ZERO_PROCESS : 0) |
			   (o->zero == TARE_ZERO_THREAD ? SOFT_FLAG_ZERO_THREAD : 0) |
			   (o->watch ? SOFT_FLAG_WATCH : 0);
	s->shared->launcher_pid = getpid();
	s->shared->fd_size = fd_size;
	if (readlink("/proc/self/ns/pid", s->shared->pid_ns, sizeof(s->shared->pid_ns) - 1) < 0)
		s->shared->pid_ns[0] = '\0';
	s->shared->n_records = 1;	/* record 0 is for tasks beyond SOFT_MAX_RECORDS */
	s->own = own_image(s->memfd + 1);
	int bad = soft_machine_setup(&s->shared->machine, o->machine, why);
	soft_hermetic_setup(&s->shared->hermetic, o->hermetic, o->schedule);
	soft_layout_setup(&s->shared->layout, o->layout);
	if (!bad && o->machine)
		bad = soft_machine_name(s->shared, &s->folder, why);
	if (!bad && o->hermetic)	/* its processes want a keeper */
		bad = soft_machine_folder(s->shared, &s->folder, why);
	if (bad)
		soft_setup_close(s);
	return bad;
}

struct soft_record *soft_setup_record(struct soft_setup *s, pid_t pid, uint32_t *index)
{
	*index = __atomic_fetch_add(&s->shared->n_records, 1, __ATOMIC_RELAXED);
	if (*index >= SOFT_MAX_RECORDS) {
		__atomic_fetch_add(&s->shared->overflowed, 1, __ATOMIC_RELAXED);
		*index = 0;
	}
	struct soft_record *const r = &s->shared->records[*index];
	if (*index) {
		r->pid = r->tid = pid;
		__atomic_store_n(&r->state, REC_STARTING, __ATOMIC_RELEASE);
	}
	return r;
}

void soft_setup_reply(struct soft_slot *slot, uint32_t answer)
{
	__atomic_store_n(&slot->request, REQ_NONE, __ATOMIC_RELAXED);
	/* Pairs with the load in ask_launcher() of the engine. */
	__atomic_store_n(&slot->reply, answer, __ATOMIC_RELEASE);
	syscall(SYS_futex, &slot->reply, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void refuse_requests(struct soft_setup *s)
{
	__atomic_store_n(&s->shared->closed, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < SOFT_SLOTS; i++)
		if (__atomic_load_n(&s->shared->slots[i].request, __ATOMIC_ACQUIRE))
			soft_setup_reply(&s->shared->slots[i], REPLY_REFUSED);
}

void soft_setup_close(struct soft_setup *s)
{
	refuse_requests(s);
	run_folder_remove(&s->folder);
	munmap(s->shared, sizeof(*s->shared));
	close(s->memfd);
	if (s->own.fd >= 0)
		close(s->own.fd);
}
