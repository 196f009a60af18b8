/* Errors of libtare: one list, each with a code, a sentence and a remedy.
 *
 * Every function that can fail returns 0 (or a useful number that is not negative) or
 * a negative enum tare_err. The library never prints, never exits and keeps no
 * "last error": a function that can say more than its code takes a
 * `struct tare_why *` (NULL is allowed) and fills it when it fails.
 *
 *	struct tare_why why;
 *	if (tare_events_parse(text, cpu, &list, &why) < 0)
 *		fprintf(stderr, "%s: %s\n%s\n", tare_err_name(why.code),
 *			why.what, tare_why_remedy(&why));
 *
 * Threads: any thread, and signal handlers. No side effects.
 */
#ifndef TARE_ERR_H
#define TARE_ERR_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, number, "sentence", "remedy or empty"): TARE_E_NAME is -number. A number is never
 * changed and never used again; new errors take the next one. tests/unit/base-err.c has the
 * list as it was. */
#define TARE_ERR_LIST(X)                                                       \
	X(NOMEM, 1, "out of memory", "free some memory, or raise ulimit -v or -d")    \
	X(INVALID, 2, "invalid argument", "")                                      \
	X(IO, 3, "input or output failed", "")                                     \
	X(NO_FILE, 4, "no such file", "check the path")                            \
	X(FORMAT, 5, "malformed input", "")                                        \
	X(SYNTAX, 6, "malformed event list", "see tare-events(7) for the event language") \
	X(EVENT_UNKNOWN, 7, "no such event", "`tare list` shows the events of this machine") \
	X(EVENT_NOT_ON_CPU, 8, "this CPU does not have that event",                  \
	  "`tare list` shows the events of this CPU")                           \
	X(EVENT_UNCOUNTABLE, 9, "the software engine cannot know this event",        \
	  "count it on a machine with hardware counters")                       \
	X(EVENT_UNSUPPORTED, 10, "the kernel does not support this event here",       \
	  "`tare doctor` tells why; another event or machine may do")           \
	X(NO_PMU, 11, "this machine shows no hardware counters",                      \
	  "run the program with the virtual PMU (`tare run -- ./program`), or count a whole " \
	  "command in software (`tare stat`); or use a machine or VM type that shows its PMU") \
	X(PARANOID, 12, "kernel.perf_event_paranoid forbids this",                    \
	  "as root: sysctl kernel.perf_event_paranoid=1; or count user mode only (:u), which " \
	  "most kernels allow up to 2")                                         \
	X(PERMISSION, 13, "permission denied",                                       \
	  "run with CAP_PERFMON, or measure your own processes")                \
	X(SECCOMP, 14, "a seccomp filter forbids perf_event_open",                   \
	  "start the container with a profile that allows perf_event_open, or count in software " \
	  "(`tare stat --backend soft`, `tare run`)")                           \
	X(NO_PERF, 15, "this kernel has no perf_event_open",                         \
	  "use a kernel built with CONFIG_PERF_EVENTS, or count in software (`tare stat " \
	  "--backend soft`, `tare run`)")                                       \
	X(BUSY, 16, "another user of the PMU has it for itself",                     \
	  "stop the other profiler (an exclusive event, a hypervisor's or vendor's driver)") \
	X(TOO_MANY_FILES, 17, "too many open files", "raise ulimit -n, or count fewer events") \
	X(NO_COUNTERS, 18, "not enough hardware counters are free",                  \
	  "count fewer events at once, or stop other users of the PMU; `tare doctor` tells " \
	  "how many counters are free")                                         \
	X(WATCHDOG, 19, "the NMI watchdog holds a counter",                          \
	  "as root: sysctl kernel.nmi_watchdog=0; or count fewer events at once") \
	X(RDPMC_FORBIDDEN, 20, "user space may not read this counter",               \
	  "as root: echo 1 > /sys/bus/event_source/devices/cpu/rdpmc (arm64: sysctl " \
	  "kernel.perf_user_access=1); or read by system call (TARE_PATH_AUTO)") \
	X(WRONG_CORE, 21, "this event belongs to another core type",                 \
	  "pin the program to cores of that type, or name the PMU (cpu_core/…/, cpu_atom/…/)") \
	X(WIDTH, 22, "this counter's width is not usable",                          \
	  "read it by system call (TARE_PATH_READ), and report the CPU")         \
	X(STOLEN, 23, "the counter was taken away during the measurement",           \
	  "stop other users of the PMU; `tare doctor` lists the usual ones")    \
	X(NOT_SCHEDULED, 24, "the event was never scheduled on a counter",           \
	  "count fewer events at once, or stop other users of the PMU; `tare doctor` tells " \
	  "how many counters are free")                                         \
	X(NOT_OPENED, 25, "the event was not opened", "")                           \
	X(FORKED, 26, "this counter belongs to the parent process",                  \
	  "open a counter in the child (tare_counter_reopen)")                  \
	X(WRONG_THREAD, 27, "this counter belongs to another thread",                \
	  "open one counter per thread")                                        \
	X(NO_COMMAND, 28, "command not found", "check the name and PATH")           \
	X(NOT_EXECUTABLE, 29, "command is not executable", "chmod +x, or name its interpreter") \
	X(NO_PROCESS, 30, "no such process", "check the process id; it may have ended already") \
	X(TIMEOUT, 31, "the command ran out of time", "raise --timeout")            \
	X(NO_ATTACH, 32, "the software engine cannot join a process that runs already",  \
	  "start the program with `tare stat -- PROGRAM`, or attach on a machine with hardware " \
	  "counters (--backend hw)")                                            \
	X(NO_PTRACE, 33, "ptrace is refused, so the software engine cannot start",   \
	  "allow ptrace (container: --cap-add SYS_PTRACE; Yama: kernel.yama.ptrace_scope below 2)") \
	X(NO_PROC, 34, "/proc is not there, and the software engine reads it",       \
	  "mount -t proc proc /proc")                                           \
	X(TRACED, 35, "the command is traced already, and a process has one tracer",  \
	  "run tare outside of it, or without what it needs ptrace for (the software " \
	  "engine, --per-thread)")                                               \
	X(NO_ENGINE, 36, "the software engine counts x86-64 programs only",           \
	  "count with hardware counters (--backend hw)")                        \
	X(ENGINE, 37, "the software engine failed",                                 \
	  "please report the message above with the program and its bytes")     \
	X(NOT_COUNTED, 38, "a process of the command could not be counted", "")     \
	X(MISMATCH, 39, "these cannot be compared", "")                             \
	X(RANGE, 40, "value out of range", "")                                      \
	X(NOSPC, 41, "no space left on the device", "free some space, or write elsewhere") \
	X(UNTESTED_CPU, 42, "this CPU is not in the tables", "see docs/adding-a-cpu.md") \
	X(VIRTUAL_KERNEL, 43, "a virtual PMU (tare run) has no kernel to count",          \
	  "count user mode only (:u), or start it with `tare run --kernel-as-user`, which counts " \
	  "user mode instead")                                                  \
	X(TRACEPOINT, 44, "tare counts no tracepoints",                             \
	  "perf stat -e counts them; the event `syscalls` counts all system calls") \
	X(DELAY, 45, "the command ended before the delay was over", "lower --delay") \
	X(OPTION_UNKNOWN, 46, "an option is set that this libtare does not know", \
	  "leave the option at 0, or use a libtare at least as new as the program's headers " \
	  "(tare_version() tells the one in use)")                              \
	X(NEVER_ON, 47, "counting was off all the time",                            \
	  "count from the start (without --delay -1), or let the program switch it on " \
	  "(tare_region(3)), or send `enable` to --control")                     \
	X(WHOLE_ONLY, 48, "the kernel counts this event for the whole run, and only part of the run " \
	  "was counted", "leave this event out, or count with hardware counters (--backend hw)") \
	X(MACHINE, 49, "this host cannot be that machine",                          \
	  "choose a machine of a lower level (--machine x86-64-v2), or run on a host that has these " \
	  "features")                                                              \
	X(INTERRUPTED, 50, "interrupted", "")

enum tare_err {
	TARE_OK = 0,
#define TARE_ERR_CODE(name, number, sentence, remedy) TARE_E_##name = -(number),
	TARE_ERR_LIST(TARE_ERR_CODE)
#undef TARE_ERR_CODE
};

/* What went wrong with what. `what` names the thing and the value found;
 * sys_errno is the errno that the kernel gave, or 0. `remedy` is empty, or fits this
 * case better than the list's remedy for the code. The library only writes to it, so it needs no
 * initialiser; it is written only by a call that fails. */
struct tare_why {
	int code;
	int sys_errno;
	char what[256];
	char remedy[256];
};

/* The name ("NO_PMU"), the sentence and the remedy of a code; the sign does not matter. An
 * unknown code gives "UNKNOWN", "unknown error" and "". Never NULL; static strings. */
const char *tare_err_name(int code);
const char *tare_err_sentence(int code);
const char *tare_err_remedy(int code);
/* What to do in this case: why->remedy, or else the list's for why->code; "" where there is none,
 * and of NULL. The text lives as long as *why. */
const char *tare_why_remedy(const struct tare_why *why);

#ifdef __cplusplus
}
#endif
#endif
