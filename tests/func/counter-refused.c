/* Refusals by the real kernel, each in a child of its own: a seccomp filter, a user
 * without rights, somebody else's process, no descriptors left. The cause and the
 * errno are told apart (peers say "permission denied" to most of them).
 */
#include "func.h"
#include "set.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tare/tare.h>
#include <unistd.h>

#define NOBODY 65534

static void in_a_child(int (*test)(void), const char *name)
{
	const pid_t pid = fork();
	if (pid == 0)
		_exit(test());
	int status;
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		SKIPPED(name, "cannot be arranged here (seccomp, uid or perf_event_paranoid)");
		return;
	}
	CHECK(status == 0, "%s: status %#x", name, status);
}

static int paranoid(void)
{
	char text[16] = "";
	const int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return -9;
	close(fd);
	return atoi(text);
}

static void refused(const char *name, int code, int sys_errno, const char *says)
{
	struct tare_counter *c;
	struct tare_why why = { 0 };
	const int err = tare_counter_open(name, &c, &why);
	CHECK(err == code && !c, "%s is %s (%s), not %s", name, tare_err_name(err), why.what,
	      tare_err_name(code));
	CHECK(why.sys_errno == sys_errno, "%s: errno %d, not %d", name, why.sys_errno, sys_errno);
	CHECK(strstr(why.what, says), "%s: \"%s\" lacks \"%s\"", name, why.what, says);
}

/* perf_event_open answers `err`, as the filters of containers do. */
static void filter(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
		_exit(77);
}

static int seccomp_eperm(void)
{
	filter(EPERM);
	refused("page-faults:u", TARE_E_SECCOMP, EPERM, "page-faults:u");
	refused("instructions:u", TARE_E_SECCOMP, EPERM, "instructions:u");
	return 0;
}

static int seccomp_enosys(void)
{
	filter(ENOSYS);
	refused("page-faults:u", TARE_E_SECCOMP, ENOSYS, "page-faults:u");
	return 0;
}

static void become_nobody(void)
{
	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0)
		_exit(77);
}

static int not_the_kernel(void)
{
	if (paranoid() < 2)
		return 77;
	become_nobody();
	refused("page-faults:k", TARE_E_PARANOID, EACCES, "perf_event_paranoid is");
	if (paranoid() > 2)
		return 0;
	/* where nothing was said about modes, user mode will do */
	struct tare_events *list;
	CHECK(tare_events_parse("page-faults,page-faults:k", NULL, &list, NULL) == 0, "parse");
	const struct tare_event *const events[] = { tare_events_at(list, 0),
						    tare_events_at(list, 1) };
	struct counter_set *set;
	const struct counter_set_opts o = { .user_fallback = true };
	CHECK(counter_set_open(events, 2, &o, &set, NULL) == 0, "open");
	CHECK(counter_set_why(set, 0)->code == 0 && counter_set_user_only(set, 0), "fallback");
	CHECK(counter_set_why(set, 1)->code == TARE_E_PARANOID && !counter_set_user_only(set, 1),
	      "no fallback where the kernel was asked for by name");
	struct tare_count c[2];
	CHECK(counter_set_read(set, c) == 0, "read");
	CHECK(c[0].state == TARE_COUNT_OK, "state");
	CHECK(c[1].state == TARE_COUNT_NOT_OPENED && c[1].code == TARE_E_PARANOID, "state");
	counter_set_close(set);
	tare_events_free(list);
	return 0;
}

static int not_your_process(void)
{
	if (geteuid() != 0 || paranoid() > 2)
		return 77;
	become_nobody();
	struct tare_events *list;
	CHECK(tare_events_parse("page-faults:u", NULL, &list, NULL) == 0, "parse");
	const struct tare_event *const events[] = { tare_events_at(list, 0) };
	struct counter_set *set;
	const struct counter_set_opts o = { .pid = 1 };
	CHECK(counter_set_open(events, 1, &o, &set, NULL) == 0, "open");
	const struct tare_why *const why = counter_set_why(set, 0);
	CHECK(why->code == TARE_E_PERMISSION && why->sys_errno == EACCES, "%s: %s",
	      tare_err_name(why->code), why->what);
	CHECK(strstr(why->what, "process 1"), "%s", why->what);
	counter_set_close(set);
	tare_events_free(list);
	return 0;
}

static int no_descriptors(void)
{
	const struct rlimit few = { 3, 3 };
	struct tare_events *list;
	CHECK(tare_events_parse("page-faults:u", NULL, &list, NULL) == 0, "parse");
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
	struct tare_counter *c;
	struct tare_why why;
	const int err = tare_counter_open_event(tare_events_at(list, 0), NULL, &c, &why);
	CHECK(err == TARE_E_TOO_MANY_FILES && why.sys_errno == EMFILE, "%s: %s",
	      tare_err_name(err), why.what);
	tare_events_free(list);
	return 0;
}

int main(void)
{
	struct tare_counter *c;
	struct tare_why why;
	if (tare_counter_open("page-faults:u", &c, &why) < 0)
		SKIP("no counters here: %s", why.what);
	tare_counter_close(c);
	in_a_child(seccomp_eperm, "seccomp EPERM");
	in_a_child(seccomp_enosys, "seccomp ENOSYS");
	in_a_child(not_the_kernel, "the kernel");
	in_a_child(not_your_process, "another's process");
	in_a_child(no_descriptors, "descriptors");
	return 0;
}
