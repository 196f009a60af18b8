/* Inside `tare run`: what /sys/bus/event_source/devices/cpu/rdpmc says is what rdpmc does, as
 * arch/x86/events/core.c has it. Root may write it; nobody else may even read it. */
#include "vpmu.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FILE_NAME "/sys/bus/event_source/devices/cpu/rdpmc"

static sigjmp_buf back;

static void on_segv(int number)
{
	siglongjmp(back, number);
}

static bool faults(void)
{
	if (sigsetjmp(back, 1))
		return true;
	vpmu_rdpmc(0);
	return false;
}

static int set(const char *value)
{
	const int fd = open(FILE_NAME, O_WRONLY | O_TRUNC);
	CHECK(fd >= 0, "open: %s", strerror(errno));
	const ssize_t n = write(fd, value, strlen(value));
	const int err = n < 0 ? errno : 0;
	CHECK(n < 0 || n == (ssize_t)strlen(value), "wrote %zd", n);
	close(fd);
	return err;
}

static char get(void)
{
	char c = 0;
	const int fd = open(FILE_NAME, O_RDONLY);
	CHECK(fd >= 0 && read(fd, &c, 1) == 1, "read: %s", strerror(errno));
	close(fd);
	return c;
}

static int open_event(void)
{
	const struct perf_event_attr a = vpmu_instructions();
	const int fd = vpmu_open(&a, 0, -1, -1, 0);
	CHECK(fd >= 0, "%d", fd);
	return fd;
}

static void as_root(void)
{
	struct stat st;
	CHECK(stat(FILE_NAME, &st) == 0 && (st.st_mode & 0777) == 0600, "mode %o", st.st_mode);
	CHECK(get() == '1', "%c", get());

	const int before = open_event();
	CHECK(faults(), "1: nothing is mapped");
	struct perf_event_mmap_page *const p = vpmu_map(before);
	CHECK(p->cap_user_rdpmc && p->index && !faults(), "1: mapped");

	CHECK(set("0\n") == 0 && get() == '0', "0");
	CHECK(faults(), "0: rdpmc works");
	CHECK(p->cap_user_rdpmc && p->index, "0: an event that is open keeps its index");
	const int refused = open_event();
	struct perf_event_mmap_page *const q = vpmu_map(refused);
	CHECK(!q->cap_user_rdpmc && !q->index, "0: a new event offers rdpmc");
	CHECK(vpmu_read(refused) > 0 && vpmu_read(before) > 0, "read() goes on");

	CHECK(set("1") == 0 && !faults(), "1 again");
	munmap(p, 4096);
	CHECK(faults(), "1: only an event without rdpmc is mapped");
	CHECK(set("2\n") == 0 && !faults(), "2: without a mapped event");
	static const char *const wrong[] = { "3\n", "", "x", "1 1", "-1" };
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK((set(wrong[i]) == EINVAL || !wrong[i][0]) && get() == '2', "\"%s\"", wrong[i]);
	CHECK(set("0x1\n") == 0 && get() == '1', "0x1");
	munmap(q, 4096);
	close(before);
	close(refused);
}

static void as_user(void)
{
	CHECK(open(FILE_NAME, O_WRONLY) == -1 && errno == EACCES, "write: %s", strerror(errno));
	CHECK(open(FILE_NAME, O_RDONLY) == -1 && errno == EACCES, "read: %s", strerror(errno));
	CHECK(access(FILE_NAME, R_OK) == -1 && errno == EACCES, "access: %s", strerror(errno));
	CHECK(access(FILE_NAME, F_OK) == 0, "exists: %s", strerror(errno));
	CHECK(open("/sys/devices/cpu/type", O_WRONLY) == -1 && errno == EACCES, "%s", strerror(errno));
	CHECK(open("/sys/devices/cpu/type", O_RDONLY) >= 0, "%s", strerror(errno));
}

int main(void)
{
	int status;
	signal(SIGSEGV, on_segv);
	if (geteuid() == 0)
		as_root();
	const pid_t pid = fork();
	if (pid == 0) {
		if (geteuid() == 0)
			CHECK(setuid(65534) == 0, "setuid: %s", strerror(errno));
		as_user();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0, "as a user: 0x%x", status);
	return 0;
}
