/* A set-uid program that records ignores the variables of the user who starts it: nothing is
 * written to the folder that $TARE_RECORD_DIR names. Only root can try it. */
#include <tare/record.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
enum { RECORDED = 10, NOT_RECORDED, NOT_SECURE, FAILED };

/* The program that is set-uid, or that is not. */
static int record(bool secure)
{
	struct tare_recorder *r;
	if (!!getauxval(AT_SECURE) != secure)
		return NOT_SECURE;
	if (tare_record_start(&TARE_OPTIONS(record, .only_when_asked = true), &r, NULL) < 0)
		return FAILED;
	tare_record_stop(r, NULL);
	return r ? RECORDED : NOT_RECORDED;
}

/* A copy of this program that runs as nobody if it is set-uid. */
static bool copy(const char *path, mode_t mode)
{
	struct stat st;
	const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	bool good = from >= 0 && to >= 0 && fstat(from, &st) == 0;
	for (off_t left = good ? st.st_size : 0; good && left > 0;) {
		const ssize_t n = sendfile(to, from, NULL, (size_t)left);
		good = n > 0;
		left -= n;
	}
	good = good && fchown(to, NOBODY, (gid_t)-1) == 0 && fchmod(to, mode) == 0;
	close(from);
	close(to);
	return good;
}

static int run(const char *path, const char *what)
{
	int status;
	const pid_t pid = fork();
	if (pid == 0) {
		execl(path, path, what, NULL);
		_exit(FAILED);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int count_profiles(const char *path)
{
	DIR *const d = opendir(path);
	int n = 0;
	for (const struct dirent *e; d && (e = readdir(d));)
		n += strstr(e->d_name, ".mm_profdata") != NULL;
	if (d)
		closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return record(strcmp(argv[1], "secure") == 0);
	if (getuid() != 0) {
		puts("only root can make a set-uid program");
		return 77;
	}
	char folder[] = "/tmp/tare-XXXXXX", plain[64], secure[64];
	if (!mkdtemp(folder) || chmod(folder, 0777) < 0)
		return 1;
	snprintf(plain, sizeof(plain), "%s/plain", folder);
	snprintf(secure, sizeof(secure), "%s/secure", folder);
	setenv("TARE_RECORD_DIR", folder, 1);
	int failed = 1, by_plain = -1, by_secure = -1;
	if (copy(plain, 0755) && copy(secure, 04755)) {
		by_plain = run(plain, "plain");
		const int written = count_profiles(folder);
		by_secure = run(secure, "secure");
		failed = by_plain != RECORDED || written != 1 || by_secure != NOT_RECORDED ||
			 count_profiles(folder) != 1;
	}
	char line[96];
	snprintf(line, sizeof(line), "rm -r %s", folder);
	if (system(line) != 0)
		return 1;
	if (by_secure == NOT_SECURE) {
		puts("the kernel ignores set-uid here (nosuid, no_new_privs)");
		return 77;
	}
	printf("plain: %d, set-uid: %d\n", by_plain, by_secure);
	return failed;
}
