/* /proc/PID/maps and its relatives: what every kind of read returns, byte for byte and call
 * by call, must be the same natively and under the engine. So readers run the same
 * instructions for them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char text[1 << 20];

static unsigned sum_of(const char *p, size_t n)
{
	unsigned h = 5381;
	for (size_t i = 0; i < n; i++)
		h = h * 33 + (unsigned char)p[i];
	return h;
}

/* Numbers of smaps change by themselves: only lines that begin with an address count. */
static unsigned sum_of_headers(const char *p, size_t n)
{
	unsigned h = 5381;
	for (const char *line = p; line < p + n; line = memchr(line, '\n', (size_t)(p + n - line)) + 1)
		if (*line < 'A' || *line > 'Z')
			h = h * 33 + sum_of(line, strcspn(line, "\n"));
	return h;
}

static size_t read_all(int fd, size_t size, bool tell)
{
	size_t n = 0;
	unsigned calls = 0, sizes = 5381;
	for (ssize_t got; (got = read(fd, text + n, size)) > 0; calls++) {
		n += (size_t)got;
		sizes = sizes * 33 + (unsigned)got;
		if (tell && calls < 12)
			printf(" %zd", got);
	}
	if (tell)
		printf(" … %u calls, %08x\n", calls, sizes);
	text[n] = '\0';
	return n;
}

/* Mappings that do not join, below and above all that the program has. */
static void make_mappings(void)
{
	static const uint64_t where[] = { 0x20000000, 0x58000000000, 0x300000000000, 0x700000000000 };
	for (unsigned k = 0; k < 4; k++)
		for (unsigned i = 0; i < 64; i++)
			mmap((void *)(where[k] + i * 4096), 4096, i % 2 ? PROT_READ : PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static void sizes_of_reads(void)
{
	static const char *const files[] = { "/proc/self/maps", "/proc/thread-self/maps",
					     "/proc/self/smaps", "/proc/self/numa_maps" };
	static const size_t sizes[] = { 7, 100, 1000, 1024, 4000, 4095, 4096, 4097, 9000, 65536 };
	for (unsigned f = 0; f < 4; f++)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			const int fd = open(files[f], O_RDONLY | O_CLOEXEC);
			if (fd < 0) {
				printf("%s: %s\n", files[f], strerror(errno));
				break;
			}
			printf("%s by %zu:", files[f], sizes[i]);
			const size_t n = read_all(fd, sizes[i], f != 3);
			if (f != 3)
				printf("%zu bytes, %08x\n", n,
				       f == 2 ? sum_of_headers(text, n) : sum_of(text, n));
			else
				printf("%d\n", strstr(text, "\n44000") != NULL);
			close(fd);
		}
}

/* Short reads that end where a mapping's text does. */
static void short_reads(void)
{
	for (size_t size = 8; size < 24; size++) {
		const int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
		const size_t n = read_all(fd, size, false);
		printf("smaps by %zu: %zu bytes, %08x\n", size, n, sum_of_headers(text, n));
		close(fd);
	}
}

static void about_file(void)
{
	const int fd = open("/proc/self/maps", O_RDONLY);
	struct stat st, dir;
	fstat(fd, &st);
	stat("/proc", &dir);
	char path[64], link[64] = "";
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		perror(path);
	printf("size %ld mode %o links %lu of /proc %d, %s\n", (long)st.st_size, st.st_mode,
	       (unsigned long)st.st_nlink, st.st_dev == dir.st_dev, strrchr(link, '/'));
	printf("write %zd mmap %d\n", write(fd, "x", 1),
	       mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED);
	long got = syscall(SYS_read, fd, 8, 100);
	printf("read to nowhere %ld %d\n", got, errno);
	got = read(fd, text, 0);
	printf("read of nothing %ld\n", got);
	got = syscall(SYS_read, fd, text, -5l);
	printf("read of too much %ld %d\n", got, errno);
	close(fd);
}

static void positions(void)
{
	static const long offsets[] = { 0, 1, 50, 100, 777, 4095, 4096, 5000, 9999, 20000, 1000000, -1 };
	const int fd = open("/proc/self/maps", O_RDONLY);
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		const off_t at = lseek(fd, offsets[i], SEEK_SET);
		const ssize_t n = read(fd, text, 3000);
		printf("at %ld: %ld %zd %08x", offsets[i], (long)at, n, sum_of(text, n > 0 ? (size_t)n : 0));
		printf(" then %ld", (long)lseek(fd, 0, SEEK_CUR));
		printf(" back %ld", (long)lseek(fd, -20, SEEK_CUR));
		const ssize_t next = read(fd, text, 500);
		printf(" %zd %08x\n", next, sum_of(text, next > 0 ? (size_t)next : 0));
	}
	printf("end %ld %d\n", (long)lseek(fd, 0, SEEK_END), errno);
	lseek(fd, 300, SEEK_SET);
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		const ssize_t n = pread(fd, text, 2000, offsets[i]);
		printf("pread %ld: %zd %08x\n", offsets[i], n, sum_of(text, n > 0 ? (size_t)n : 0));
	}
	printf("still at %ld\n", (long)lseek(fd, 0, SEEK_CUR));
	memset(text, 0, 4096);
	const struct iovec v[3] = { { text, 10 }, { text + 100, 1000 }, { text + 2000, 500 } };
	ssize_t n = readv(fd, v, 3);
	printf("readv %zd %08x\n", n, sum_of(text, 4096));
	n = preadv(fd, v, 3, 4321);
	printf("preadv %zd %08x\n", n, sum_of(text, 4096));
	close(fd);
}

/* As getline() and the like do it, by one byte and by lines. */
static void by_stream(void)
{
	char line[256];
	unsigned n = 0;
	FILE *const f = fopen("/proc/self/maps", "re");
	while (fgets(line, sizeof(line), f))
		n = n * 33 + (unsigned)strlen(line);
	printf("by lines %08x, at %ld\n", n, ftell(f));
	fseek(f, 123, SEEK_SET);
	printf("again %s", fgets(line, sizeof(line), f));
	fclose(f);
	const int fd = open("/proc/self/maps", O_RDONLY);
	for (n = 0; n < 6000 && read(fd, text + n, 1) == 1; n++)
		;
	printf("by bytes %08x\n", sum_of(text, n));
	close(fd);
}

/* What is mapped while the file is read. */
static void changes(void)
{
	const int fd = open("/proc/self/maps", O_RDONLY);
	void *const low = mmap((void *)0x10000000, 4096, PROT_READ,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	ssize_t n = read(fd, text, 4096);
	printf("mapped after open: %d\n", strstr(text, "10000000-10001000") != NULL);
	munmap(low, 4096);
	mmap((void *)0x11000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
	     -1, 0);
	mmap((void *)0x710000000000, 4096, PROT_READ,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	printf("by addresses %zd,", n);
	n = (ssize_t)read_all(fd, 4096, true);
	printf("%08x, mapped while reading: %d %d\n", sum_of(text, (size_t)n),
	       strstr(text, "11000000-11001000") != NULL, strstr(text, "710000000000-") != NULL);
	lseek(fd, 0, SEEK_SET);
	read_all(fd, 4096, true);
	printf("rewound: %d\n", strstr(text, "11000000-11001000") != NULL);
	close(fd);
}

/* A descriptor that several have. */
static void shared(char *self)
{
	const int fd = open("/proc/self/maps", O_RDONLY), other = dup(fd);
	ssize_t n = read(fd, text, 1111);
	n += read(other, text + n, 1111);
	fflush(stdout);
	if (fork() == 0) {
		n = read(fd, text, 1111);
		printf("child %zd %08x\n", n, sum_of(text, (size_t)n));
		fflush(stdout);
		char number[16];
		snprintf(number, sizeof(number), "%d", fd);
		execl(self, self, number, NULL);
		_exit(1);
	}
	wait(NULL);
	printf("parent %zd", n);
	n = (ssize_t)read_all(other, 1000, true);
	printf("%08x\n", sum_of(text, (size_t)n));
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const int again = open(path, O_RDONLY);
	printf("opened by its number:");
	n = (ssize_t)read_all(again, 4096, true);
	printf("%08x\n", sum_of(text, (size_t)n));
}

static void tell_lines(const char *path)
{
	char line[1024];
	FILE *const f = fopen(path, "re");
	printf("%s\n", strrchr(path, '/'));
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "SigB", 4) || !strncmp(line, "SigI", 4) ||
		    !strncmp(line, "SigC", 4) || strchr(line, '['))
			fputs(line, stdout);
		else
			printf("%s\n", strtok(line, ":"));
	}
	if (f)
		fclose(f);
}

/* Who has come to the end stays there: also when a number in the file has a digit more. */
static void stays_at_end(void)
{
	const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	const size_t n = read_all(fd, 1000, false);
	for (size_t now = n; now <= n;) {
		usleep(1);
		const int other = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
		now = read_all(other, 4096, false);
		close(other);
	}
	printf("at the end %zd\n", read(fd, text, 100));
	lseek(fd, 0, SEEK_SET);
	printf("from the start %d\n", read_all(fd, 1000, false) > n);
	close(fd);
}

/* The file of a process that waits. */
static void others(void)
{
	int go[2], ready[2];
	char c = 0;
	if (pipe(go) || pipe(ready))
		return;
	fflush(stdout);
	const pid_t child = fork();
	if (child == 0) {
		close(go[1]);
		_exit(write(ready[1], &c, 1) != 1 || read(go[0], &c, 1) != 0);
	}
	close(go[0]);
	if (read(ready[0], &c, 1) != 1)		/* before, fork() itself may block signals */
		return;
	close(ready[0]);
	close(ready[1]);
	static const char *const files[] = { "maps", "task/%d/maps", "smaps" };
	for (unsigned i = 0; i < 3; i++) {
		char path[64], name[32];
		snprintf(name, sizeof(name), i == 1 ? "task/%d/maps" : files[i], child);
		snprintf(path, sizeof(path), "/proc/%d/%s", child, name);
		const int fd = open(path, O_RDONLY);
		printf("child's %s:", files[i]);
		const size_t n = read_all(fd, 4096, true);
		printf("%08x\n", sum_of_headers(text, n));
		close(fd);
	}
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/status", child);
	tell_lines(path);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", child, child);
	tell_lines(path);
	close(go[1]);
	wait(NULL);
}

static void on_signal(int sig)
{
}

static void about_process(void)
{
	sigset_t set;
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	tell_lines("/proc/self/status");
	tell_lines("/proc/thread-self/status");
	tell_lines("/proc/self/smaps_rollup");
}

/* Natively nothing is where the engine is. */
static void pages(void)
{
	uint64_t entry[4] = { 1, 1, 1, 1 };
	const int fd = open("/proc/self/pagemap", O_RDONLY);
	for (uint64_t at = 0x440000000000; at < 0x440000020000; at += 0x8000) {
		const ssize_t n = pread(fd, entry, sizeof(entry), (off_t)(at / 4096 * 8));
		printf("pages %zd %lx %lx\n", n, entry[0], entry[3]);
	}
	char *const mine = malloc(4096);
	mine[0] = 1;
	lseek(fd, (off_t)((uintptr_t)mine / 4096 * 8), SEEK_SET);
	const ssize_t n = read(fd, entry, 8);
	printf("mine %zd %d\n", n, (int)(entry[0] >> 63));
	close(fd);
	DIR *const d = opendir("/proc/self/map_files");
	for (struct dirent *e; d && (e = readdir(d));)
		printf("map_files %s\n", e->d_name);
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		const ssize_t n = read(atoi(argv[1]), text, 2222);
		printf("after exec %zd %08x\n", n, sum_of(text, n > 0 ? (size_t)n : 0));
		return 0;
	}
	about_file();
	sizes_of_reads();
	short_reads();
	make_mappings();
	sizes_of_reads();
	positions();
	by_stream();
	changes();
	shared(argv[0]);
	stays_at_end();
	about_process();
	others();
	pages();
	return 0;
}
