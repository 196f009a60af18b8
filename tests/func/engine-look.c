/* What a program can see of its surroundings. Its output natively and under the
 * engine, ASLR off, must be the same byte for byte: maps, auxv, brk and mmap
 * addresses, descriptors, names, cpuid, signal frames, rseq. What changes from
 * run to run anyway (pids, times, AT_RANDOM's bytes) is left out.
 */
#include <cpuid.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* A file of /proc/self, as it is. */
static void show(const char *path)
{
	char text[65536];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		printf("%s: %s\n", path, strerror(errno));
		return;
	}
	size_t n = 0;
	for (ssize_t got; (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0;)
		n += (size_t)got;
	close(fd);
	printf("== %s (%zu bytes)\n", path, n);
	for (size_t i = 0; i < n; i++)
		putchar(text[i] ? text[i] : '|');
	putchar('\n');
}

/* Without the columns that the kernel's own accounting changes. */
static void show_stat(void)
{
	char text[4096];
	FILE *const f = fopen("/proc/self/stat", "re");
	if (!f || !fgets(text, sizeof(text), f))
		return;
	fclose(f);
	int field = 2;
	for (char *s = strtok(strrchr(text, ')') + 1, " \n"); s; s = strtok(NULL, " \n")) {
		field++;
		/* start_code end_code start_stack; signals; start_data … env_end */
		if ((field >= 26 && field <= 28) || (field >= 45 && field <= 51))
			printf("stat %d %s\n", field, s);
	}
}

static void show_links(void)
{
	char to[4096];
	const char *const names[] = { "/proc/self/exe", "/proc/self/cwd", "/proc/self/root" };
	for (unsigned i = 0; i < 3; i++) {
		const ssize_t n = readlink(names[i], to, sizeof(to) - 1);
		printf("%s -> %.*s\n", names[i], (int)n, to);
	}
	char by_pid[64];
	snprintf(by_pid, sizeof(by_pid), "/proc/%d/exe", getpid());
	const ssize_t n = readlink(by_pid, to, sizeof(to) - 1);
	printf("/proc/PID/exe -> %.*s\n", (int)n, to);
	struct stat st;
	printf("exe opens: %s\n", stat("/proc/self/exe", &st) == 0 && S_ISREG(st.st_mode) ? "yes" : "no");
}

static void show_fds(void)
{
	DIR *const d = opendir("/proc/self/fd");
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			printf("fd %s\n", e->d_name);
	closedir(d);
	struct rlimit r;
	getrlimit(RLIMIT_NOFILE, &r);
	printf("RLIMIT_NOFILE %lu %lu\n", r.rlim_cur, r.rlim_max);
	const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	printf("next descriptor %d\n", next);
	close(next);
}

static void show_auxv(void)
{
	static const unsigned long types[] = {
		AT_PHDR, AT_PHENT, AT_PHNUM, AT_PAGESZ, AT_BASE, AT_FLAGS, AT_ENTRY, AT_UID,
		AT_EUID, AT_GID, AT_EGID, AT_HWCAP, AT_HWCAP2, AT_CLKTCK, AT_SECURE, AT_RANDOM,
		AT_SYSINFO_EHDR, AT_EXECFN, AT_PLATFORM, 51 /* AT_MINSIGSTKSZ */, 27, 28,
	};
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		printf("auxv %lu %#lx\n", types[i], getauxval(types[i]));
	printf("execfn %s platform %s\n", (char *)getauxval(AT_EXECFN),
	       (char *)getauxval(AT_PLATFORM));
	int n = 0;
	const int fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
	for (Elf64_auxv_t a; read(fd, &a, sizeof(a)) == sizeof(a); n++)
		printf("auxv file %lu %#lx\n", a.a_type, a.a_un.a_val);
	close(fd);
	printf("auxv entries %d\n", n);
}

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	printf("object %s %#lx\n", info->dlpi_name, info->dlpi_addr);
	return 0;
}

static void show_addresses(char **argv)
{
	int local;
	printf("main %p data %p stack %p argv %p env %p\n", (void *)show_addresses,
	       (void *)&environ, (void *)&local, (void *)argv, (void *)environ);
	printf("brk %p\n", sbrk(0));
	void *const grown = sbrk(0x21000);
	printf("sbrk %p then %p\n", grown, sbrk(0));
	for (size_t size = 4096; size <= (64u << 20); size *= 16) {
		void *const p = mmap(NULL, size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		printf("mmap %zu %p\n", size, p);
	}
	printf("mmap32 %p\n", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
				   -1, 0));
	printf("exec map %p\n", mmap(NULL, 4096, PROT_READ | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	printf("malloc %p %p %p\n", malloc(10), malloc(1000), malloc(1 << 20));
	dl_iterate_phdr(on_object, NULL);
}

/* Leaf 1's APIC id, leaf 0xb's and the like differ from CPU to CPU. */
static void show_cpuid(void)
{
	unsigned a, b, c, d;
	for (unsigned leaf = 0; leaf <= 7; leaf++) {
		__cpuid_count(leaf, 0, a, b, c, d);
		if (leaf == 1)
			b &= 0x00ffffff;
		if (leaf == 4 || leaf == 6)
			continue;
		printf("cpuid %x %08x %08x %08x %08x\n", leaf, a, b, c, d);
	}
	for (unsigned leaf = 0x80000000; leaf <= 0x80000008; leaf++) {
		__cpuid_count(leaf, 0, a, b, c, d);
		printf("cpuid %x %08x %08x %08x %08x\n", leaf, a, b, c, d);
	}
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	printf("xcr0 %08x %08x\n", a, d);
}

static void on_signal(int sig, siginfo_t *si, void *arg)
{
	const ucontext_t *const uc = arg;
	const greg_t *const g = uc->uc_mcontext.gregs;
	printf("signal %d code %d frame %p info %p uc %p\n", sig, si->si_code,
	       __builtin_frame_address(0), (void *)si, arg);
	printf("rip %#llx rsp %#llx flags %#llx cs %#llx err %#llx trap %#llx old %#llx cr2 %#llx\n",
	       g[REG_RIP], g[REG_RSP], g[REG_EFL] & ~0x100ull, g[REG_CSGSFS], g[REG_ERR],
	       g[REG_TRAPNO], g[REG_OLDMASK], g[REG_CR2]);
	printf("rbp %#llx r12 %#llx uc_flags %#lx link %p mask %#lx\n", g[REG_RBP],
	       g[REG_R12], uc->uc_flags, (void *)uc->uc_link,
	       *(const unsigned long *)&uc->uc_sigmask);
	printf("altstack %p %d %zu\n", uc->uc_stack.ss_sp, uc->uc_stack.ss_flags,
	       uc->uc_stack.ss_size);
	const uint32_t *const fp = (const uint32_t *)uc->uc_mcontext.fpregs;
	printf("fpregs %p aligned %lu\n", (const void *)fp, (uintptr_t)fp & 63);
	printf("cw %x mxcsr %x magic %x ext %u xfeatures %#lx size %u\n", fp[0] & 0xffff, fp[6],
	       fp[116], fp[117], *(const uint64_t *)(fp + 118), fp[120]);
	printf("si_addr %p return address %p\n", sig == SIGSEGV ? si->si_addr : NULL,
	       __builtin_return_address(0));
}

static void show_signal_frames(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	syscall(SYS_kill, getpid(), SIGUSR1);
	static char alt[65536] __attribute__((aligned(4096)));
	const stack_t ss = { .ss_sp = alt, .ss_size = sizeof(alt) };
	sigaltstack(&ss, NULL);
	sa.sa_flags |= SA_ONSTACK;
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	struct sigaction old;
	sigaction(SIGUSR1, NULL, &old);
	printf("old handler right: %d flags %#x\n", old.sa_sigaction == on_signal, old.sa_flags);
}

static void show_task(void)
{
	char comm[16];
	prctl(PR_GET_NAME, comm);
	printf("name %s\n", comm);
	show("/proc/self/comm");
	prctl(PR_SET_NAME, "renamed");
	show("/proc/self/comm");
	printf("personality %#x\n", personality(0xffffffff));
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
	printf("no_new_privs %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	printf("seccomp %d\n", prctl(PR_GET_SECCOMP));
	printf("tracer: ");
	char line[256];
	FILE *const f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "TracerPid", 9) || !strncmp(line, "Threads", 7) ||
		    (!strncmp(line, "Sig", 3) && line[3] != 'Q') || !strncmp(line, "Shd", 3) ||
		    !strncmp(line, "FDSize", 6) || !strncmp(line, "VmStk", 5) ||
		    !strncmp(line, "Seccomp:", 8))
			fputs(line, stdout);
	fclose(f);
}

static void show_rseq(void)
{
	const struct rseq *const r = (const struct rseq *)((char *)__builtin_thread_pointer() +
							   __rseq_offset);
	printf("rseq size %u flags %u offset %td registered %d\n", __rseq_size, __rseq_flags,
	       __rseq_offset, (int)r->cpu_id >= 0);
	const long again = syscall(SYS_rseq, r, 32, 0, 0x53053053);
	printf("rseq again %ld %d\n", again, errno);
	void *head;
	size_t len;
	printf("robust list %ld\n", syscall(SYS_get_robust_list, 0, &head, &len));
	printf("robust len %zu\n", len);
}

int main(int argc, char **argv)
{
	(void)argc;
	setvbuf(stdout, NULL, _IOFBF, 1 << 18);
	show("/proc/self/maps");
	show("/proc/self/cmdline");
	show("/proc/self/environ");
	show_links();
	show_stat();
	show_fds();
	show_auxv();
	show_addresses(argv);
	show_cpuid();
	show_signal_frames();
	show_task();
	show_rseq();
	show("/proc/self/maps");
	char by_pid[64];
	snprintf(by_pid, sizeof(by_pid), "/proc/%d/maps", getpid());
	const int fd = open(by_pid, O_RDONLY | O_CLOEXEC);
	printf("maps by pid: %s\n", fd >= 0 ? "opens" : strerror(errno));
	char first[64];
	printf("reads %zd\n", read(fd, first, 25));
	printf("%.25s\n", first);
	return 0;
}
