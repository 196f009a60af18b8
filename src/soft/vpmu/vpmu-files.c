/* Files of the model that are more than text: /proc/interrupts, and the file rdpmc. That calls for them lead
 * to the folder of the run is done in guest/shown-files.c. */
#include "vpmu-room.h"

#include "sys.h"
#include "text.h"

/* ---- /proc/interrupts ---- */

/* The column of the first CPU that the calling thread may run on: a program that adds up the
 * columns of its CPUs finds all interrupts there. */
static uint32_t loc_column(void)
{
	const struct vpmu_shared *const v = vpmu();
	uint64_t mask[128] = { 0 };
	sys3(__NR_sched_getaffinity, 0, sizeof(mask), mask);
	for (uint32_t i = 0; i < v->loc_columns; i++)
		if (v->loc_cpu[i] < 64 * 128 && mask[v->loc_cpu[i] / 64] >> v->loc_cpu[i] % 64 & 1)
			return i;
	return 0;
}

/* Adds the interrupts of all tasks to a number of the line LOC. */
static void show_interrupts(struct thread *t, long fd)
{
	char text[VPMU_LOC_WIDTH + 1] = { 0 };
	const uint64_t at = vpmu()->loc_at + loc_column() * (VPMU_LOC_WIDTH + 1ull);
	uint64_t n;
	if (sys4(__NR_pread64, fd, text, VPMU_LOC_WIDTH, at) != VPMU_LOC_WIDTH)
		return;
	const char *p = text;
	while (*p == ' ')
		p++;
	text_decimal(p, &n);
	vpmu_lock(t);
	n += vpmu_all_interrupts();
	vpmu_unlock();
	for (unsigned i = VPMU_LOC_WIDTH; i--; n /= 10)
		text[i] = n || i + 1 == VPMU_LOC_WIDTH ? (char)('0' + n % 10) : ' ';
	sys4(__NR_pwrite64, fd, text, VPMU_LOC_WIDTH, at);
}

/* A copy of the launcher's file, with the virtual interrupts up to now. */
long vpmu_open_interrupts(struct thread *t, const char *file, uint64_t flags)
{
	char part[4096];
	long n;
	const long from = sys4(__NR_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC, 0);
	if (from < 0)
		return from;
	const long to = sys2(__NR_memfd_create, "interrupts", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
	while (to >= 0 && (n = sys3(__NR_read, from, part, sizeof(part))) > 0)
		sys3(__NR_write, to, part, n);
	sys1(__NR_close, from);
	if (to < 0)
		return to;
	show_interrupts(t, to);
	sys3(__NR_lseek, to, 0, SEEK_SET);
	return to;
}

/* ---- the rdpmc file ---- */

static bool is_rdpmc_file(uint64_t fd)
{
	struct k_stat st;
	return sys2(__NR_fstat, fd, &st) == 0 && st.dev == vpmu()->rdpmc_dev &&
	       st.ino == vpmu()->rdpmc_ino;
}

/* From now on all writes are looked at, because the descriptor may go to other programs. */
void vpmu_note_writer(long fd)
{
	if (is_rdpmc_file((uint64_t)fd))
		__atomic_store_n(&vpmu()->rdpmc_writers, 1, __ATOMIC_RELAXED);
}

/* 0, 1 or 2, as kstrtoul() reads it; negative: none of them. */
static int parse_rdpmc(const char *text, size_t n)
{
	size_t i = n && text[0] == '+';
	unsigned base = 10, v = 0, digits = 0;
	if (i + 1 < n && text[i] == '0' && (text[i + 1] | 32) == 'x')
		base = 16, i += 2;
	for (; i < n && text[i] >= '0' && text[i] <= '9' && v <= 2; i++, digits++)
		v = v * base + (unsigned)(text[i] - '0');
	if (i < n && text[i] == '\n')
		i++;
	return digits && i == n && v <= 2 ? (int)v : -EINVAL;
}

/* Writes the setting to the file, which O_TRUNC may have emptied. */
static void show_rdpmc(uint64_t fd)
{
	const char text[2] = { (char)('0' + vpmu()->rdpmc), '\n' };
	sys2(__NR_ftruncate, fd, 0);
	sys4(__NR_pwrite64, fd, text, 2, 0);
}

#define PROC_FS 0x9fa0		/* statfs.f_type */
#define COMM "/comm"

/* A task that names another one of its process is not noticed. */
bool vpmu_is_own_comm(const struct thread *t, uint64_t fd)
{
	uint64_t fs[16] = { 0 }, tid = 0;
	char path[64];
	struct line l = { 0 };
	if (!(vpmu_slot(t->vpmu.slot)->tracks & TRACKS_COMM) || sys2(__NR_fstatfs, fd, fs) < 0 || fs[0] != PROC_FS)
		return false;
	line_str(&l, "/proc/self/fd/");
	line_num(&l, fd, 10);
	l.text[l.len] = '\0';
	const long n = sys3(__NR_readlink, l.text, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	/* /proc/PID/comm or /proc/PID/task/TID/comm */
	const char *number = path;
	for (const char *p = path; *p; p++)
		if (p[0] == '/' && p[1] >= '0' && p[1] <= '9')
			number = p + 1;
	return text_equal(text_decimal(number, &tid), COMM) && tid == (uint64_t)t->tid;
}

long vpmu_write(struct thread *t, const uint64_t *a, bool *done)
{
	char text[16];
	if (!__atomic_load_n(&vpmu()->rdpmc_writers, __ATOMIC_RELAXED) || !is_rdpmc_file(a[0]))
		return 0;
	*done = true;
	if (a[2] > sizeof(text))
		return -EINVAL;
	if (!copy_guest(text, (const void *)a[1], a[2]))
		return -EFAULT;
	const int value = parse_rdpmc(text, a[2]);
	vpmu_lock(t);
	if (value >= 0 && vpmu()->rdpmc != (uint32_t)value) {
		vpmu()->rdpmc = (uint32_t)value;
		for (uint32_t i = 1; i <= vpmu()->n_slots; i++)
			if (vpmu_slot(i)->events)
				vpmu_schedule(i);
	}
	show_rdpmc(a[0]);
	vpmu_unlock();
	return value < 0 ? value : (long)a[2];
}
