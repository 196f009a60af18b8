/* Errors of libtare: one list, each with a code, a sentence and a remedy.
 *
 * Every function that can fail returns 0 (or a useful non-negative number) or
 * a negative enum tare_err. The library never prints, never exits and keeps no
 * "last error": a function that can say more than its code takes a
 * `struct tare_why *` (NULL is allowed) and fills it when it fails.
 *
 *	struct tare_why why;
 *	if (tare_event_parse(text, cpu, &list, &why) < 0)
 *		fprintf(stderr, "%s: %s\n%s\n", tare_err_name(why.code),
 *			why.what, tare_why_remedy(&why));
 */
#ifndef TARE_ERR_H
#define TARE_ERR_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, "sentence", "remedy or empty") */
#define TARE_ERR_LIST(X)                                                       \
	X(NOMEM, "out of memory", "free some memory, or raise ulimit -v or -d")    \
	X(INVALID, "invalid argument", "")                                      \
	X(IO, "input or output failed", "")                                     \
	X(NO_FILE, "no such file", "check the path")                            \
	X(FORMAT, "malformed input", "")                                        \
	X(SYNTAX, "malformed event list", "see tare-events(7) for the event language") \
	X(EVENT_UNKNOWN, "no such event", "`tare list` shows the events of this machine") \
	X(EVENT_NOT_ON_CPU, "this CPU does not have that event",                  \
	  "`tare list` shows the events of this CPU")                           \
	X(EVENT_UNCOUNTABLE, "the software engine cannot know this event",        \
	  "count it on a machine with hardware counters")                       \
	X(EVENT_UNSUPPORTED, "the kernel does not support this event here",       \
	  "`tare doctor` tells why; another event or machine may do")           \
	X(NO_PMU, "this machine shows no hardware counters",                      \
	  "run the program with the virtual PMU (`tare run -- ./program`), or count a whole " \
	  "command in software (`tare stat`); or use a machine or VM type that shows its PMU") \
	X(PARANOID, "kernel.perf_event_paranoid forbids this",                    \
	  "as root: sysctl kernel.perf_event_paranoid=1; or count user mode only (:u), which " \
	  "most kernels allow up to 2")                                         \
	X(PERMISSION, "permission denied",                                       \
	  "run with CAP_PERFMON, or measure your own processes")                \
	X(SECCOMP, "a seccomp filter forbids perf_event_open",                   \
	  "start the container with a profile that allows perf_event_open, or count in software " \
	  "(`tare stat --backend soft`, `tare run`)")                           \
	X(NO_PERF, "this kernel has no perf_event_open",                         \
	  "use a kernel built with CONFIG_PERF_EVENTS, or count in software (`tare stat " \
	  "--backend soft`, `tare run`)")                                       \
	X(BUSY, "another user of the PMU has it for itself",                     \
	  "stop the other profiler (an exclusive event, a hypervisor's or vendor's driver)") \
	X(TOO_MANY_FILES, "too many open files", "raise ulimit -n, or count fewer events") \
	X(NO_COUNTERS, "not enough hardware counters are free",                  \
	  "count fewer events at once, or stop other users of the PMU; `tare doctor` tells " \
	  "how many counters are free")                                         \
	X(WATCHDOG, "the NMI watchdog holds a counter",                          \
	  "as root: sysctl kernel.nmi_watchdog=0; or count fewer events at once") \
	X(RDPMC_FORBIDDEN, "user space may not read this counter",               \
	  "as root: echo 1 > /sys/bus/event_source/devices/cpu/rdpmc (arm64: sysctl " \
	  "kernel.perf_user_access=1); or read by system call (TARE_PATH_AUTO)") \
	X(WRONG_CORE, "this event belongs to another core type",                 \
	  "pin the program to cores of that type, or name the PMU (cpu_core/…/, cpu_atom/…/)") \
	X(WIDTH, "this counter's width is not usable",                          \
	  "read it by system call (TARE_PATH_READ), and report the CPU")         \
	X(STOLEN, "the counter was taken away during the measurement",           \
	  "stop other users of the PMU; `tare doctor` lists the usual ones")    \
	X(NOT_SCHEDULED, "the event was never scheduled on a counter",           \
	  "count fewer events at once, or stop other users of the PMU; `tare doctor` tells " \
	  "how many counters are free")                                         \
	X(NOT_OPENED, "the event was not opened", "")                           \
	X(FORKED, "this counter belongs to the parent process",                  \
	  "open a counter in the child (tare_counter_reopen)")                  \
	X(WRONG_THREAD, "this counter belongs to another thread",                \
	  "open one counter per thread")                                        \
	X(NO_COMMAND, "command not found", "check the name and PATH")           \
	X(NOT_EXECUTABLE, "command is not executable", "chmod +x, or name its interpreter") \
	X(NO_PROCESS, "no such process", "check the process id; it may have ended already") \
	X(TIMEOUT, "the command ran out of time", "raise --timeout")            \
	X(NO_ATTACH, "the software engine cannot join a process that runs already",  \
	  "start the program with `tare stat -- PROGRAM`, or attach on a machine with hardware " \
	  "counters (--backend hw)")                                            \
	X(NO_PTRACE, "ptrace is refused, so the software engine cannot start",   \
	  "allow ptrace (container: --cap-add SYS_PTRACE; Yama: kernel.yama.ptrace_scope below 2)") \
	X(NO_PROC, "/proc is not there, and the software engine reads it",       \
	  "mount -t proc proc /proc")                                           \
	X(TRACED, "the command is traced already, and a process has one tracer",  \
	  "run tare outside of it, or without what it needs ptrace for (the software " \
	  "engine, --per-thread)")                                               \
	X(NO_ENGINE, "the software engine counts x86-64 programs only",           \
	  "count with hardware counters (--backend hw)")                        \
	X(ENGINE, "the software engine failed",                                 \
	  "please report the message above with the program and its bytes")     \
	X(NOT_COUNTED, "a process of the command could not be counted", "")     \
	X(MISMATCH, "these cannot be compared", "")                             \
	X(RANGE, "value out of range", "")                                      \
	X(NOSPC, "no space left on the device", "free some space, or write elsewhere") \
	X(UNTESTED_CPU, "this CPU is not in the tables", "see docs/adding-a-cpu.md") \
	X(VIRTUAL_KERNEL, "a virtual PMU (tare run) has no kernel to count",          \
	  "count user mode only (:u), or start it with `tare run --kernel-as-user`, which counts " \
	  "user mode instead")                                                  \
	X(TRACEPOINT, "tare counts no tracepoints",                             \
	  "perf stat -e counts them; the event `syscalls` counts all system calls") \
	X(DELAY, "the command ended before the delay was over", "lower --delay")

enum tare_err {
	TARE_OK = 0,
#define TARE_ERR_NUMBER(name, sentence, remedy) TARE_ERR_N_##name,
	TARE_ERR_LIST(TARE_ERR_NUMBER)
#undef TARE_ERR_NUMBER
#define TARE_ERR_CODE(name, sentence, remedy) TARE_E_##name = -TARE_ERR_N_##name,
	TARE_ERR_LIST(TARE_ERR_CODE)
#undef TARE_ERR_CODE
};

/* What went wrong with what. `what` names the thing and the value found;
 * sys_errno is the errno the kernel gave, or 0. `remedy` is empty, or fits this
 * case better than the list's remedy for the code. */
struct tare_why {
	int code;
	int sys_errno;
	char what[256];
	char remedy[256];
};

/* Never NULL; unknown codes give "UNKNOWN". Static strings. */
const char *tare_err_name(int code);
const char *tare_err_sentence(int code);
const char *tare_err_remedy(int code);
/* What to do in this case: why->remedy, or else the list's; "" where there is none. */
const char *tare_why_remedy(const struct tare_why *why);

#ifdef __cplusplus
}
#endif
#endif
