/* Prints what a program can see of the world around it, one line each. The last argument is a folder to work in. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void hex(const char *name, const void *p, size_t n)
{
	printf("%s=", name);
	for (size_t i = 0; i < n; i++)
		printf("%02x", ((const unsigned char *)p)[i]);
	puts("");
}

static void randoms(void)
{
	unsigned char b[24];
	uint64_t r;
	FILE *f = fopen("/dev/urandom", "r");
	hex("random.auxv", (const void *)getauxval(AT_RANDOM), 16);
	if (getrandom(b, sizeof(b), 0) == sizeof(b))
		hex("random.getrandom", b, sizeof(b));
	if (f && fread(b, 1, 8, f) == 8)
		hex("random.device", b, 8);
	__asm__ volatile(".byte 0x48,0x0f,0xc7,0xf0" : "=a"(r) : : "cc");	/* rdrand rax */
	hex("random.rdrand", &r, 8);
	__asm__ volatile(".byte 0x48,0x0f,0xc7,0xf8" : "=a"(r) : : "cc");	/* rdseed rax */
	hex("random.rdseed", &r, 8);
}

static void clocks(void)
{
	static const int ids[] = { 0, 1, 2, 3, 4, 5, 6, 7, 11 };
	struct timespec t, before, after;
	struct timeval v;
	struct tms tms;
	struct rusage u;
	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (clock_gettime(ids[i], &t) == 0)
			printf("clock.%d=%ld.%09ld\n", ids[i], (long)t.tv_sec, t.tv_nsec);
	gettimeofday(&v, NULL);
	printf("timeofday=%ld.%06ld\ntime=%ld\n", (long)v.tv_sec, (long)v.tv_usec, (long)time(NULL));
	printf("times=%ld\n", (long)times(&tms));
	getrusage(RUSAGE_SELF, &u);
	printf("rusage=%ld.%06ld maxrss %ld faults %ld\n", (long)u.ru_utime.tv_sec, (long)u.ru_utime.tv_usec, u.ru_maxrss,
	       u.ru_minflt);
	printf("tsc=%llu\n", (unsigned long long)__builtin_ia32_rdtsc());
	clock_gettime(CLOCK_MONOTONIC, &before);
	sleep(5);
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("slept=%ld\n", (long)(after.tv_sec - before.tv_sec));
	for (int i = 0; i < 100000; i++)		/* a clock that is read often goes on all the same */
		clock_gettime(CLOCK_MONOTONIC, &t);
	printf("goes_on=%d\n", t.tv_sec > after.tv_sec || t.tv_nsec > after.tv_nsec + 1000000);
}

static void ids(void)
{
	int status;
	printf("pid=%d\nppid=%d\ntid=%ld\n", getpid(), getppid(), syscall(SYS_gettid));
	for (int i = 0; i < 2; i++) {
		const pid_t child = fork();
		if (!child)
			_exit(getpid() - 1000 + getppid() - 1000);
		const pid_t got = waitpid(child, &status, 0);
		printf("child=%d %d %d\n", child, got, WEXITSTATUS(status));
	}
	char path[64], link[64] = "";
	snprintf(path, sizeof(path), "/proc/%d/comm", getpid());
	printf("proc=%d\n", access(path, F_OK));
	if (readlink("/proc/self", link, sizeof(link) - 1) > 0)
		printf("self=%s\n", link);
	printf("kill=%d\n", kill(getpid(), 0));
}

static void show_file(const char *name)
{
	struct stat s;
	if (stat(name, &s) < 0)
		printf("%s=none\n", name);
	else
		printf("%s=%lx %ld %ld %ld %ld.%09ld %ld\n", name, (long)s.st_dev, (long)s.st_ino, (long)s.st_nlink,
		       (long)s.st_size, (long)s.st_mtime, s.st_mtim.tv_nsec, (long)s.st_blocks);
}

static void files(const char *folder)
{
	if (chdir(folder) < 0)
		exit(1);
	DIR *d = opendir(".");
	for (struct dirent *e; d && (e = readdir(d));)
		printf("entry=%s %ld\n", e->d_name, (long)e->d_ino);
	if (d)
		closedir(d);
	show_file(".");
	show_file("b");
	show_file("/proc/self/stat");
	FILE *f = fopen("new", "w");
	fputs("x", f);
	fclose(f);
	show_file("new");
	unlink("new");
	f = fopen("new", "w");		/* perhaps with the inode of the one before */
	fclose(f);
	show_file("new");
	unlink("new");
	struct statfs fs;
	statfs(".", &fs);
	printf("statfs=%ld %ld\n", (long)fs.f_bfree, (long)fs.f_ffree);
	char name[] = "tmp-XXXXXX";
	const int fd = mkstemp(name);
	printf("mkstemp=%s\n", name);
	unlink(name);
	close(fd);
}

static void print_file(const char *name)
{
	char line[256];
	FILE *f = fopen(name, "r");
	printf("%s:", name);
	while (f && fgets(line, sizeof(line), f))
		printf(" %s", line);
	if (f)
		fclose(f);
	else
		puts(" none");
}

static void host(void)
{
	struct utsname u;
	struct sysinfo s;
	struct rlimit l;
	uname(&u);
	printf("uname=%s %s %s %s %s\n", u.sysname, u.nodename, u.release, u.version, u.machine);
	sysinfo(&s);
	printf("sysinfo=%ld %lu %lu %d\n", s.uptime, s.totalram, s.freeram, s.procs);
	for (int i = 0; i < 16; i++)
		if (getrlimit((__rlimit_resource_t)i, &l) == 0)
			printf("limit.%d=%lx %lx\n", i, (long)l.rlim_cur, (long)l.rlim_max);
	print_file("/proc/uptime");
	print_file("/proc/loadavg");
	print_file("/proc/meminfo");
	print_file("/proc/stat");
	print_file("/proc/self/stat");
	print_file("/proc/self/status");
	print_file("/proc/sys/kernel/random/uuid");
	print_file("/proc/sys/kernel/hostname");
	print_file("/proc/version");
	print_file("/sys/fs/cgroup/memory.max");
}

int main(int n, char **v, char **envp)
{
	char here;
	printf("stack=%p\n", (void *)&here);
	for (char **e = envp; *e; e++)
		printf("env=%s\n", *e);
	randoms();
	clocks();
	ids();
	host();
	files(v[n - 1]);
	return 0;
}
