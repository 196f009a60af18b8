#include "diverge-room.h"

#include <tare/code.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct meaning {
	const char *call;		/* its name, or the beginning of it with * */
	enum tare_diverge_cause cause;
};

/* The first that fits. */
static const struct meaning meanings[] = {
	{ "getrandom", TARE_DIVERGE_BY_RANDOM },
	{ "clock_*", TARE_DIVERGE_BY_TIME }, { "gettimeofday", TARE_DIVERGE_BY_TIME }, { "time", TARE_DIVERGE_BY_TIME },
	{ "times", TARE_DIVERGE_BY_TIME }, { "getrusage", TARE_DIVERGE_BY_TIME }, { "timer*", TARE_DIVERGE_BY_TIME },
	{ "sysinfo", TARE_DIVERGE_BY_TIME }, { "getitimer", TARE_DIVERGE_BY_TIME }, { "adjtimex", TARE_DIVERGE_BY_TIME },
	{ "getpid", TARE_DIVERGE_BY_PID }, { "gettid", TARE_DIVERGE_BY_PID }, { "getppid", TARE_DIVERGE_BY_PID },
	{ "clone*", TARE_DIVERGE_BY_PID }, { "fork", TARE_DIVERGE_BY_PID }, { "vfork", TARE_DIVERGE_BY_PID },
	{ "wait*", TARE_DIVERGE_BY_PID }, { "set_tid_address", TARE_DIVERGE_BY_PID }, { "getpg*", TARE_DIVERGE_BY_PID },
	{ "getsid", TARE_DIVERGE_BY_PID },
	{ "mmap", TARE_DIVERGE_BY_ADDRESS }, { "brk", TARE_DIVERGE_BY_ADDRESS }, { "mremap", TARE_DIVERGE_BY_ADDRESS },
	{ "shmat", TARE_DIVERGE_BY_ADDRESS },
	{ "getdents*", TARE_DIVERGE_BY_DIRECTORY },
	{ "*stat", TARE_DIVERGE_BY_FILE }, { "newfstatat", TARE_DIVERGE_BY_FILE }, { "statx", TARE_DIVERGE_BY_FILE },
	{ "access", TARE_DIVERGE_BY_FILE }, { "faccessat*", TARE_DIVERGE_BY_FILE }, { "open*", TARE_DIVERGE_BY_FILE },
	{ "readlink*", TARE_DIVERGE_BY_FILE }, { "getcwd", TARE_DIVERGE_BY_FILE }, { "statfs", TARE_DIVERGE_BY_FILE },
	{ "getcpu", TARE_DIVERGE_BY_CPU }, { "sched_getaffinity", TARE_DIVERGE_BY_CPU },
	{ "uname", TARE_DIVERGE_BY_OUTSIDE }, { "getuid", TARE_DIVERGE_BY_OUTSIDE }, { "poll", TARE_DIVERGE_BY_OUTSIDE },
	{ "ppoll", TARE_DIVERGE_BY_OUTSIDE }, { "select", TARE_DIVERGE_BY_OUTSIDE }, { "pselect6", TARE_DIVERGE_BY_OUTSIDE },
	{ "epoll_*", TARE_DIVERGE_BY_OUTSIDE }, { "futex*", TARE_DIVERGE_BY_THREAD },
};

static bool fits(const char *pattern, const char *name)
{
	const size_t n = strlen(pattern), len = strlen(name);
	if (pattern[0] == '*')
		return len >= n - 1 && strcmp(name + len - (n - 1), pattern + 1) == 0;
	if (pattern[n - 1] == '*')
		return strncmp(name, pattern, n - 1) == 0;
	return strcmp(name, pattern) == 0;
}

static bool is_read(const char *name)
{
	return strcmp(name, "read") == 0 || strncmp(name, "pread", 5) == 0 || strncmp(name, "readv", 5) == 0 ||
	       strncmp(name, "recv", 4) == 0;
}

/* What a read brought: from where? */
static enum tare_diverge_cause cause_of_read(const char *file, bool other_size)
{
	if (strcmp(file, "/dev/urandom") == 0 || strcmp(file, "/dev/random") == 0 ||
	    strcmp(file, "/proc/sys/kernel/random/uuid") == 0)
		return TARE_DIVERGE_BY_RANDOM;
	if (other_size && strncmp(file, "/", 1) != 0)
		return TARE_DIVERGE_BY_SHORT_READ;
	return strncmp(file, "/proc/", 6) == 0 || strncmp(file, "/sys/", 5) == 0 || file[0] != '/' ? TARE_DIVERGE_BY_OUTSIDE :
	       TARE_DIVERGE_BY_FILE;
}

static enum tare_diverge_cause cause_of(const char *name)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (fits(meanings[i].call, name))
			return meanings[i].cause;
	return TARE_DIVERGE_BY_SYSTEM_CALL;
}

/* The first argument, if it is a descriptor. */
static bool has_descriptor(const char *name)
{
	return is_read(name) || strncmp(name, "getdents", 8) == 0 || strcmp(name, "fstat") == 0 || strcmp(name, "lseek") == 0;
}

/* Calls that write no memory of the program. Those that make tasks write only the number of the new one. */
static const char *const writes_nothing[] = {
	"futex", "sched_yield", "close", "write", "writev", "munmap", "mprotect", "madvise", "kill", "tkill", "tgkill",
	"clone*", "fork", "vfork", "exit", "set_robust_list", "set_tid_address", "lseek", "dup*",
};

bool diverge_call_writes(const struct state *before, const struct flow_memory *m)
{
	const char *const name = tare_code_syscall_name(before->at.call);
	for (int i = 0; i < 2; i++)
		if (before->task_words[i] && m->address - before->task_words[i] < 4)
			return true;
	for (size_t i = 0; name && i < sizeof(writes_nothing) / sizeof(writes_nothing[0]); i++)
		if (fits(writes_nothing[i], name))
			return false;
	return true;
}

void diverge_call_result(const struct state before[2], const struct state after[2], const struct flow_memory *m,
		 struct brought *b)
{
	const char *const known = tare_code_syscall_name(before[0].at.call);
	const char *const name = known ? known : "";
	const char *const file = has_descriptor(name) ? before[0].descriptor : "";
	char number[32], results[96] = "";
	snprintf(number, sizeof(number), "system call %d", (int)before[0].at.call);
	/* The next instruction was executed, too, but in libc it leaves rax alone. */
	const bool whole = !(before[0].flow.regs_written & 1u << STATE_RAX);
	const int64_t a = (int64_t)after[0].registers[STATE_RAX], c = (int64_t)after[1].registers[STATE_RAX];
	const bool other_size = whole && a != c;
	b->cause = is_read(name) ? cause_of_read(file, other_size) : cause_of(name);
	if (other_size)
		snprintf(results, sizeof(results), " returned %" PRId64 " in one run and %" PRId64 " in the other", a, c);
	else if (m)
		snprintf(results, sizeof(results), " gave other bytes");
	else
		snprintf(results, sizeof(results), " had another result");
	snprintf(b->text, sizeof(b->text), "%s%s%s%s%s", known ? name : number, file[0] ? " of " : "", file,
		 file[0] ? "" : "()", results);
}
