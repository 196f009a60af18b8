/* System calls and the auxiliary vector, as the machine's kernel answers (--machine).
 *
 * The program sees CPU 0 of as many as the machine has, whatever CPU it runs on: threads run in parallel
 * all the same. Where it may run is the host's business; a set of CPUs that the program asks for is
 * remembered for the thread and obeyed by nobody.
 */
#include "guest-room.h"
#include "procfs.h"
#include "sys.h"
#include "text.h"

#include <linux/auxvec.h>
#include <linux/rseq.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856		/* since Linux 6.4 */
#endif
#define ARCH_GET_XCOMP_SUPP 0x1021
#define ARCH_GET_XCOMP_PERM 0x1022

static const struct soft_machine *machine(void)
{
	return &E.shared->machine;
}

/* ---- the auxiliary vector ---- */

/* What it has, in this order. Kernels differ in what they have and in the order; ld.so reads it all. The
 * vDSO is not in it: what its functions execute, and where they are in its table of symbols, depends on the
 * kernel and on the CPU. Nor are the size and alignment of rseq, which newer kernels have. */
static const uint8_t shown[] = {
	AT_MINSIGSTKSZ, AT_HWCAP, AT_PAGESZ, AT_CLKTCK, AT_PHDR, AT_PHENT, AT_PHNUM, AT_BASE, AT_FLAGS,
	AT_ENTRY, AT_UID, AT_EUID, AT_GID, AT_EGID, AT_SECURE, AT_RANDOM, AT_HWCAP2, AT_EXECFN,
	AT_PLATFORM, AT_EXECFD,
};
enum { N_SHOWN = sizeof(shown) / sizeof(shown[0]) };

struct aux { uint64_t type, value; };
static struct aux vector[N_SHOWN + 1];	/* as the program got it */
static uint32_t n_vector;

static bool value_of(const struct aux *from, uint64_t type, uint64_t *value)
{
	switch (type) {
	case AT_HWCAP:
		*value = machine()->hwcap;
		return true;
	case AT_HWCAP2:
		*value = machine()->hwcap2;
		return true;
	case AT_MINSIGSTKSZ:
		*value = machine()->min_signal_stack;
		return true;
	default:
		for (; from->type; from++)
			if (from->type == type) {
				*value = from->value;
				return true;
			}
		return false;
	}
}

/* argc, the arguments, NULL, the variables, NULL, then the vector. */
static struct aux *find_vector(uint64_t sp)
{
	const uint64_t *p = (const uint64_t *)sp;
	p += 2 + p[0];
	while (*p)
		p++;
	return (struct aux *)(p + 1);
}

void machine_start(struct thread *t)
{
	struct aux *const at = find_vector(t->regs[RSP]);
	uint32_t room = 0;
	while (at[room].type)
		room++;
	n_vector = 0;
	for (unsigned i = 0; i < N_SHOWN; i++)
		if (value_of(at, shown[i], &vector[n_vector].value))
			vector[n_vector++].type = shown[i];
	if (n_vector > room)		/* a kernel without AT_HWCAP2 */
		n_vector = room;
	for (uint32_t i = 0; i < room; i++)
		at[i] = i < n_vector ? vector[i] : (struct aux){ AT_NULL, 0 };
	vector[n_vector++] = (struct aux){ AT_NULL, 0 };
}

/* prctl(PR_GET_AUXV): copies what fits, returns the size of all. */
static long get_auxv(const uint64_t *a)
{
	const uint64_t all = n_vector * sizeof(vector[0]);
	if (a[3] | a[4])
		return -EINVAL;
	return put_guest(a[1], vector, a[2] < all ? a[2] : all) ? (long)all : -EFAULT;
}

/* Every process of the run has the engine, and this vector, at the same addresses. */
uint32_t machine_auxv(uint64_t pid, char *to, uint32_t room)
{
	uint32_t n = 0;
	if (!proc_read_memory(pid, &n, &n_vector, sizeof(n)) || !n || n > N_SHOWN + 1 ||
	    n * sizeof(vector[0]) > room || !proc_read_memory(pid, to, vector, n * sizeof(vector[0])))
		return 0;
	return n * (uint32_t)sizeof(vector[0]);
}

/* ---- CPUs ---- */

static uint64_t all_cpus(void)
{
	return machine()->cpus >= 64 ? ~0ull : (1ull << machine()->cpus) - 1;
}

/* The kernel says whether there is such a task, and whether the program may ask. */
static long check_task(uint64_t tid)
{
	uint64_t mask[128];
	const long n = sys3(__NR_sched_getaffinity, (int32_t)tid, sizeof(mask), mask);
	return n < 0 ? n : 0;
}

static long get_affinity(const struct thread *t, const uint64_t *a)
{
	const bool own = !(uint32_t)a[0] || (int32_t)a[0] == t->tid;
	const uint64_t mask = own && t->task.affinity ? t->task.affinity : all_cpus();
	if ((uint32_t)a[1] * 8ull < machine()->cpus || a[1] & 7)
		return -EINVAL;
	const long err = check_task(a[0]);
	if (err)
		return err;
	return put_guest(a[2], &mask, 8) ? 8 : -EFAULT;
}

static long set_affinity(struct thread *t, const uint64_t *a)
{
	const bool own = !(uint32_t)a[0] || (int32_t)a[0] == t->tid;
	const uint64_t size = (uint32_t)a[1] < 8 ? (uint32_t)a[1] : 8;
	uint64_t mask = 0;
	if (size && !copy_guest(&mask, (const void *)a[2], size))
		return -EFAULT;
	const long err = check_task(a[0]);
	if (err)
		return err;
	if (!(mask & all_cpus()))
		return -EINVAL;
	if (own)
		t->task.affinity = mask & all_cpus();
	return 0;
}

/* ---- rseq: not registered in the kernel, which would write the number of the host's CPU ---- */

static bool rseq_write(uint64_t at, uint32_t cpu)
{
	const uint32_t numbers[2] = { 0, cpu }, rest[2] = { 0, 0 };	/* cpu_id_start, cpu_id; node_id, mm_cid */
	return put_guest(at, numbers, sizeof(numbers)) &&
	       put_guest(at + 20, rest, sizeof(rest));
}

/* As the kernel checks it (kernel/rseq.c). */
long machine_rseq(struct thread *t, const uint64_t *a)
{
	const uint64_t at = a[0];
	const uint32_t len = (uint32_t)a[1], flags = (uint32_t)a[2], sig = (uint32_t)a[3];
	const bool same = t->task.rseq && t->task.rseq == at && t->task.rseq_len == len;
	if (flags & ~(uint32_t)RSEQ_FLAG_UNREGISTER)
		return -EINVAL;
	if (flags || t->task.rseq) {
		if (!same)
			return -EINVAL;
		if (t->task.rseq_sig != sig)
			return -EPERM;
		if (!flags)
			return -EBUSY;
		t->task.rseq = 0;
		return rseq_write(at, (uint32_t)RSEQ_CPU_ID_UNINITIALIZED) ? 0 : -EFAULT;
	}
	if (len < 32 || at & 31)
		return -EINVAL;
	if (!rseq_write(at, 0))
		return -EFAULT;
	t->task.rseq = at;
	t->task.rseq_len = len;
	t->task.rseq_sig = sig;
	return 0;
}

/* ---- */

static long do_arch_prctl(const uint64_t *a, bool *done)
{
	const uint64_t xcr0 = machine()->xcr0;
	switch (a[0]) {
	case ARCH_GET_XCOMP_SUPP:
	case ARCH_GET_XCOMP_PERM:
		return put_guest(a[1], &xcr0, 8) ? 0 : -EFAULT;
	case ARCH_REQ_XCOMP_PERM:	/* no machine has state that must be asked for */
		return a[1] < 64 ? -EOPNOTSUPP : -EINVAL;
	default:
		*done = false;
		return 0;
	}
}

long machine_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	*done = true;
	switch (nr) {
	case __NR_getcpu:
		return machine_getcpu(a);
	case __NR_sched_getaffinity:
		return get_affinity(t, a);
	case __NR_sched_setaffinity:
		return set_affinity(t, a);
	case __NR_arch_prctl:
		return do_arch_prctl(a, done);
	case __NR_prctl:
		if ((uint32_t)a[0] == PR_GET_AUXV)
			return get_auxv(a);
		break;
	default:
		break;
	}
	*done = false;
	return 0;
}
