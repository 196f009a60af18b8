/* The first and only process of a booted kernel: mounts what is needed, runs the
 * suites that the kernel command line asks for (tare.suite=a,b), prints their
 * results to the serial console and switches the machine off.
 *
 * The emulator counts instructions exactly (-icount), so counts are compared
 * with `==`, as everywhere.
 */
#include "guest.h"
#include "tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	void (*run)(void);
} suites[] = {
	{ "run", suite_run },
	{ "machine", suite_machine },
	{ "set", suite_set },
	{ "no-pmu", suite_no_pmu },
	{ "counter-32", suite_counter_32 },
	{ "counter-64", suite_counter_64 },
	{ "wrap", suite_wrap },
	{ "migrate", suite_migrate },
	{ "record", suite_record },
	{ "kernels", suite_kernels },
	{ "stat", suite_stat },
	{ "stat-no-pmu", suite_stat_no_pmu },
	{ "doctor", suite_doctor },
	{ "doctor-no-pmu", suite_doctor_no_pmu },
	{ "verify", suite_verify },
	{ "verify-any-core", suite_verify_any_core },
	{ "verify-no-pmu", suite_verify_no_pmu },
};

static void mount_at(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL) != 0)
		tap_ok(false, "mount %s on %s", type, where);
}

int sysctl_get(const char *name)
{
	char path[128];
	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	FILE *f = fopen(path, "r");
	int value = -1;
	if (!f || fscanf(f, "%d", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

void sysctl_set(const char *name, int value)
{
	char path[128];
	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	FILE *f = fopen(path, "w");
	if (!f || fprintf(f, "%d\n", value) < 0 || fclose(f) != 0)
		tap_ok(false, "write %d to %s", value, path);
}

static char *read_all(int fd)
{
	size_t have = 0, room = 65536;
	char *text = malloc(room);
	ssize_t n;
	while ((n = read(fd, text + have, room - have - 1)) > 0) {
		have += (size_t)n;
		if (have == room - 1)
			text = realloc(text, room *= 2);
	}
	text[have] = 0;
	return text;
}

int guest_run(char *const argv[], unsigned uid, char **output)
{
	int pipe_fd[2];
	if (pipe(pipe_fd) != 0)
		return -1;
	fflush(NULL);
	const pid_t pid = fork();
	if (pid == 0) {
		dup2(pipe_fd[1], 1);
		dup2(pipe_fd[1], 2);
		close(pipe_fd[0]);
		close(pipe_fd[1]);
		if (uid && (setgid(uid) != 0 || setuid(uid) != 0))
			_exit(126);
		execv(argv[0], argv);
		_exit(127);
	}
	close(pipe_fd[1]);
	*output = read_all(pipe_fd[0]);
	close(pipe_fd[0]);
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int guest_run_words(const char *words, unsigned uid, char **output)
{
	char copy[512], path[128] = "", *argv[32] = { NULL };
	size_t n = 0;
	snprintf(copy, sizeof(copy), "%s", words);
	for (char *w = strtok(copy, " \n"); w && n < 31; w = strtok(NULL, " \n"))
		argv[n++] = w;
	if (n)
		snprintf(path, sizeof(path), "/bin/%s", argv[0]);
	argv[0] = path;
	return guest_run(argv, uid, output);
}

void suite_run(void)
{
	FILE *f = fopen("/commands", "r");
	char line[512];
	while (f && fgets(line, sizeof(line), f)) {
		char *output = NULL;
		const int status = guest_run_words(line, 0, &output);
		tap_note_lines(output);
		tap_ok(status == 0, "%.*s: exit status %d", (int)strcspn(line, "\n"), line, status);
		free(output);
	}
	if (f)
		fclose(f);
}

void guest_send(const char *path)
{
	unsigned char piece[512];
	size_t n;
	FILE *const f = fopen(path, "r");
	if (!tap_ok(f, "send %s", path))
		return;
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0) {
		printf("#@ %s ", path);
		for (size_t i = 0; i < n; i++)
			printf("%02x", piece[i]);
		putchar('\n');
	}
	fclose(f);
}

/* tare.suite=NAME[,NAME...] of the kernel command line. */
static bool asked_for(const char *name)
{
	static char line[1024];
	if (!line[0]) {
		FILE *f = fopen("/proc/cmdline", "r");
		if (!f || !fgets(line, sizeof(line), f))
			tap_ok(false, "read /proc/cmdline");
		if (f)
			fclose(f);
	}
	const char *list = strstr(line, "tare.suite=");
	if (!list)
		return false;
	const size_t len = strlen(name);
	for (list += strlen("tare.suite="); *list > ' '; list += strcspn(list, ", \n")) {
		list += *list == ',';
		if (strncmp(list, name, len) == 0 && strchr(", \n", list[len]))
			return true;
	}
	return false;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	mount_at("proc", "/proc");
	mount_at("sysfs", "/sys");
	mount_at("tmpfs", "/tmp");
	chmod("/tmp", 01777);
	setenv("PATH", "/bin", 1);

	struct utsname u;
	uname(&u);
	tap_note("Linux %s %s %s", u.release, u.version, u.machine);
	unsigned ran = 0;
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		if (!asked_for(suites[i].name))
			continue;
		tap_note("suite %s", suites[i].name);
		suites[i].run();
		ran++;
	}
	tap_ok(ran != 0, "the kernel command line names a suite");
	tap_done();
	fflush(NULL);
	sync();
	reboot(RB_AUTOBOOT);	/* with -no-reboot this ends the emulator */
	for (;;)
		pause();
}
