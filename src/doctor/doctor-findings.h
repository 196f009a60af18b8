/* Every finding of the doctor: one row each.
 *
 *	X(CHECK, NAME, "code", VERDICT, "meaning", "remedy")
 *
 * The enumerator is FIND_CHECK_NAME. A check makes a finding by its enumerator
 * and adds what it saw; the texts here say what that does to a count and what
 * a person can do. tests/unit/doctor-scripted.c produces every row.
 */
#ifndef DOCTOR_FINDINGS_H
#define DOCTOR_FINDINGS_H

/* X(CHECK, "id", "title"), in the order of the report */
#define DOCTOR_CHECKS(X)                                                       \
	X(CPU, "cpu", "Processor")                                              \
	X(PERF, "perf", "Kernel counter interface")                             \
	X(PMU, "pmu", "Hardware counters")                                      \
	X(ENGINE, "engine", "Software engine")                                  \
	X(PARANOID, "paranoid", "perf_event_paranoid")                          \
	X(CAPS, "capabilities", "Capabilities")                                 \
	X(SECCOMP, "seccomp", "Seccomp")                                        \
	X(RDPMC, "rdpmc", "User-space reads")                                   \
	X(WATCHDOG, "nmi-watchdog", "NMI watchdog")                             \
	X(COUNTERS, "counters", "Usable counters")                              \
	X(LOOP, "counting", "Known loop")                                       \
	X(OVERFLOW, "overflow", "Counter overflow")                             \
	X(TRAP, "vm-exits", "Branches beside VM exits")                         \
	X(TXCP, "in-txcp", "Transaction checkpoints")                           \
	X(SPECLOCK, "speclockmap", "SpecLockMap")                               \
	X(EXCLUSIVE, "exclusives", "Exclusive stores")                          \
	X(IRQ, "interrupt-event", "Interrupt event")                            \
	X(SMI, "freeze-on-smi", "freeze_on_smi")                                \
	X(SMT, "smt", "Hyperthreading")                                         \
	X(HYBRID, "hybrid", "Core types")                                       \
	X(TICK, "tick", "Timer tick")                                           \
	X(TICKLESS, "tickless", "Tickless cores")                               \
	X(ASLR, "aslr", "Address randomisation")                                \
	X(THP, "huge-pages", "Transparent huge pages")                          \
	X(JEMALLOC, "jemalloc", "jemalloc decay timers")                        \
	X(CLOCK, "clock", "Clock source")

#define NO_PMU_ROW(X, CHECK)                                                   \
	X(CHECK, NO_PMU, "no-pmu", INFO, "", "")

/* After a newline: a command to be copied as it is. */
#define MSR_COMMAND                                                            \
	"\nmodprobe msr; for c in /dev/cpu/[0-9]*; do n=${c##*/}; wrmsr -p $n "  \
	"0xC0011020 $((0x$(rdmsr -p $n 0xC0011020) | 1<<54)); done"

#define DOCTOR_FINDINGS(X)                                                     \
	X(CPU, KNOWN, "known", GOOD, "", "")                                    \
	X(CPU, UNKNOWN, "unknown", CAVEAT,                                      \
	  "the tables have no events for this CPU: only the kernel's generic names " \
	  "work, and nothing is known about which of them can be trusted",      \
	  "compare a count with the software engine's (--backend soft); "       \
	  "docs/adding-a-cpu.md tells how to add the CPU")                      \
	                                                                        \
	X(PERF, WORKS, "works", GOOD, "", "")                                   \
	X(PERF, ABSENT, "absent", BAD,                                          \
	  "this kernel has no perf_event_open, or a sandbox kernel stands in for it: " \
	  "neither hardware nor software events can be counted by the kernel",  \
	  "use a kernel with CONFIG_PERF_EVENTS, or count with --backend soft")  \
	X(PERF, SECCOMP, "seccomp", BAD,                                        \
	  "a seccomp filter refuses the system call before the kernel's own checks; " \
	  "container runtimes do this by default",                              \
	  "start the container with a profile that allows perf_event_open (docker: " \
	  "--security-opt seccomp=FILE, or --cap-add PERFMON), or count with "   \
	  "--backend soft")                                                     \
	X(PERF, PARANOID, "paranoid", BAD,                                      \
	  "kernel.perf_event_paranoid forbids counting to unprivileged users altogether", \
	  "as root: sysctl kernel.perf_event_paranoid=2 (or lower), or give the " \
	  "program CAP_PERFMON: setcap cap_perfmon+ep $(command -v tare)")      \
	X(PERF, REFUSED, "refused", BAD,                                        \
	  "the kernel refuses to open even a counter that counts nothing, and neither " \
	  "perf_event_paranoid nor a seccomp filter explains it: a security module " \
	  "(SELinux class perf_event) or a sandbox is the usual cause",         \
	  "look for a denial in the audit log; count with --backend soft meanwhile") \
	                                                                        \
	X(PMU, PRESENT, "present", GOOD, "", "")                                \
	X(PMU, PRESENT_VM, "present-vm", GOOD,                                  \
	  "the hypervisor lets this guest use counters; the known loop below tells " \
	  "whether they tell the truth", "")                                    \
	X(PMU, SIMULATED, "simulated", CAVEAT,                                  \
	  "these are not the counters of this machine: `tare run` shows the program a " \
	  "virtual PMU, and what follows is true of that one",                  \
	  "run `tare doctor` outside `tare run` for this machine")              \
	X(PMU, HIDDEN, "hidden", BAD,                                           \
	  "instructions, branches and cycles cannot be counted by hardware here; " \
	  "software events (page-faults, task-clock) can",                      \
	  "use a machine or VM type that exposes its PMU, or count with the software " \
	  "engine (--backend soft, the default here)")                          \
	X(PMU, MISSING, "missing", BAD,                                         \
	  "the kernel knows no hardware counters and no hypervisor shows itself: " \
	  "there is no driver for this PMU, firmware has disabled it, or a "    \
	  "hypervisor hides itself too",                                        \
	  "look for PMU messages in dmesg; count with the software engine meanwhile") \
	X(PMU, REFUSED, "refused", BAD,                                         \
	  "whether there are hardware counters cannot be known before the kernel lets " \
	  "this user open one", "see the permission checks below")              \
	X(PMU, BUSY, "busy", BAD,                                               \
	  "somebody else holds the whole PMU (another profiler, or a driver that " \
	  "reserved it)",                                                       \
	  "stop the other profiler, then run `tare doctor` again")              \
	X(PMU, ERROR, "error", BAD,                                             \
	  "the kernel refuses the plainest hardware event for an unusual reason", \
	  "please report this line with the output of uname -a")                \
	                                                                        \
	X(ENGINE, WORKS, "works", GOOD,                                         \
	  "user-mode instructions, branches, loads and stores can be counted exactly " \
	  "without hardware counters", "")                                      \
	X(ENGINE, ARCH, "architecture", INFO,                                   \
	  "the software engine translates x86-64 programs only",                \
	  "count with hardware counters")                                       \
	X(ENGINE, ABSENT, "absent", BAD,                                        \
	  "programs cannot be counted without hardware counters",               \
	  "use a build of tare that has the engine")                            \
	X(ENGINE, NO_PROC, "no-proc", BAD,                                      \
	  "the engine reads in /proc where the program is that it enters, and checks " \
	  "there that ASLR stayed off",                                         \
	  "mount -t proc proc /proc")                                           \
	X(ENGINE, YAMA_ADMIN, "yama-admin", BAD,                                \
	  "the engine enters a program by tracing its exec, which Yama allows here " \
	  "only with CAP_SYS_PTRACE",                                           \
	  "as root: sysctl kernel.yama.ptrace_scope=1, or run as root")         \
	X(ENGINE, YAMA_NONE, "yama-none", BAD,                                  \
	  "the engine enters a program by tracing its exec, which Yama forbids to " \
	  "everybody here until the next boot",                                 \
	  "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and reboot")         \
	X(ENGINE, SECCOMP, "seccomp", BAD,                                      \
	  "the engine enters a program by tracing its exec, which the seccomp filter " \
	  "of this container refuses",                                          \
	  "start the container with --cap-add SYS_PTRACE, or with a seccomp profile " \
	  "that allows ptrace")                                                 \
	X(ENGINE, REFUSED, "refused", BAD,                                      \
	  "the engine enters a program by tracing its exec, and that failed here", \
	  "if a debugger or tracer runs this program, leave it; otherwise look for a " \
	  "denial in the audit log")                                            \
	                                                                        \
	X(PARANOID, EVERYTHING, "everything", GOOD,                             \
	  "every user may count user and kernel mode, whole CPUs, and raw tracepoints", "") \
	X(PARANOID, CPUS, "per-cpu", GOOD,                                      \
	  "every user may count user and kernel mode, and whole CPUs", "")      \
	X(PARANOID, KERNEL, "kernel", GOOD,                                     \
	  "every user may count user and kernel mode of their own processes", "") \
	X(PARANOID, USER, "user", GOOD,                                         \
	  "unprivileged users may count user mode only (:u), which is what repeatable " \
	  "counts need; an event without a modifier is counted as :u, and named so", \
	  "for kernel mode, as root: sysctl kernel.perf_event_paranoid=1")      \
	X(PARANOID, FORBIDDEN, "forbidden", BAD,                                \
	  "unprivileged users may count nothing: this kernel gives levels above 2 a " \
	  "meaning that Linux's own do not have",                               \
	  "as root: sysctl kernel.perf_event_paranoid=2, and in /etc/sysctl.d to keep it") \
	X(PARANOID, OVERRIDDEN, "overridden", GOOD,                             \
	  "the level would forbid counting to unprivileged users, but this process " \
	  "may count (privileged, or a kernel that knows no level above 2)", "") \
	X(PARANOID, UNREADABLE, "unreadable", INFO,                             \
	  "kernels without CONFIG_PERF_EVENTS lack this file, and sandboxes hide it", "") \
	                                                                        \
	X(CAPS, PERFMON, "perfmon", GOOD,                                       \
	  "this process may count whatever perf_event_paranoid says", "")       \
	X(CAPS, ADMIN, "sys-admin", GOOD,                                       \
	  "this process may count whatever perf_event_paranoid says; CAP_PERFMON alone " \
	  "would do", "")                                                       \
	X(CAPS, NAMESPACE, "namespace", CAVEAT,                                 \
	  "the capability belongs to a user namespace, where perf_event_open does not " \
	  "honour it: the process is unprivileged after all",                   \
	  "give the capability outside the container, or lower perf_event_paranoid on " \
	  "the host")                                                           \
	X(CAPS, INACTIVE, "inactive", CAVEAT,                                   \
	  "the capability is permitted but not effective, so the kernel does not honour " \
	  "it (containers that run as another user than root)",                 \
	  "setcap cap_perfmon+ep on the program inside the container, or use ambient " \
	  "capabilities")                                                       \
	X(CAPS, NONE, "none", INFO,                                             \
	  "unprivileged: perf_event_paranoid decides what may be counted", "")  \
	X(CAPS, UNREADABLE, "unreadable", INFO, "", "")                         \
	                                                                        \
	X(SECCOMP, NONE, "none", GOOD, "", "")                                  \
	X(SECCOMP, PASSES, "passes", GOOD,                                      \
	  "the filter lets perf_event_open through", "")                        \
	X(SECCOMP, REFUSES, "refuses", BAD,                                     \
	  "the filter refuses perf_event_open",                                 \
	  "start the container with a profile that allows perf_event_open")     \
	X(SECCOMP, UNREADABLE, "unreadable", INFO, "", "")                      \
	                                                                        \
	NO_PMU_ROW(X, RDPMC)                                                    \
	X(RDPMC, WORKS, "works", GOOD,                                          \
	  "a program reads its counters in a few instructions, without a system call", "") \
	X(RDPMC, ALWAYS, "always", GOOD,                                        \
	  "rdpmc works in every process, even one that has no event open (a known side " \
	  "channel)",                                                           \
	  "echo 1 > /sys/bus/event_source/devices/cpu/rdpmc is enough for tare") \
	X(RDPMC, OFF, "off", CAVEAT,                                            \
	  "libtare reads by read(2) instead: the same numbers, about a microsecond a read", \
	  "as root: echo 1 > /sys/bus/event_source/devices/cpu/rdpmc (hybrid CPUs: "  \
	  "cpu_core and cpu_atom)")                                             \
	X(RDPMC, ARM_OFF, "arm64-off", CAVEAT,                                  \
	  "libtare reads by read(2) instead: the same numbers, about a microsecond a read", \
	  "as root: sysctl kernel.perf_user_access=1")                          \
	X(RDPMC, ARM_OLD, "arm64-old", CAVEAT,                                  \
	  "this kernel (before 5.17) has no user-space counter reads on arm64; libtare " \
	  "reads by read(2) instead", "use Linux 5.17 or later")                \
	X(RDPMC, NOT_GIVEN, "not-given", CAVEAT,                                \
	  "the kernel's page does not offer the counter; libtare reads by read(2) instead", \
	  "nothing is lost but speed; a newer kernel may offer it")             \
	X(RDPMC, TRAPS, "traps", BAD,                                           \
	  "the kernel offers user-space reads, but the instruction faults: the " \
	  "hypervisor does not pass it on; programs that use rdpmc would crash", \
	  "as root: echo 0 > /sys/bus/event_source/devices/cpu/rdpmc, so that reads " \
	  "go through read(2)")                                                 \
	X(RDPMC, WRONG, "wrong", BAD,                                           \
	  "a read in user space and read(2) do not agree on the same counter",   \
	  "as root: echo 0 > /sys/bus/event_source/devices/cpu/rdpmc, so that reads " \
	  "go through read(2); please report this line")                        \
	X(RDPMC, ERROR, "error", CAVEAT,                                        \
	  "user-space reads could not be tried; libtare reads by read(2) where they fail", \
	  "see the other checks for what keeps events from being opened")       \
	                                                                        \
	NO_PMU_ROW(X, WATCHDOG)                                                 \
	X(WATCHDOG, OFF, "off", GOOD, "", "")                                   \
	X(WATCHDOG, ON, "on", CAVEAT,                                           \
	  "the watchdog keeps one counter for itself on every CPU: one event fewer fits, " \
	  "and groups that would just fit are multiplexed or never scheduled",  \
	  "as root: sysctl kernel.nmi_watchdog=0")                              \
	X(WATCHDOG, CYCLES, "cycles", INFO,                                     \
	  "the watchdog counts cycles, if anything (since Linux 6.5 it may do without a " \
	  "counter): this PMU has a counter for cycles alone, and the others stay free", "") \
	X(WATCHDOG, FIXED, "fixed", INFO,                                       \
	  "the watchdog holds the fixed counter of cycles on every CPU, and the general " \
	  "counters stay free: cycles then take a general counter, and a group with cycles " \
	  "that needs all of them is never scheduled",                          \
	  "for such a group, as root: sysctl kernel.nmi_watchdog=0")            \
	X(WATCHDOG, ABSENT, "absent", GOOD, "this kernel has no hard lockup detector", "") \
	                                                                        \
	NO_PMU_ROW(X, COUNTERS)                                                 \
	X(COUNTERS, ALL, "all", GOOD, "", "")                                   \
	X(COUNTERS, FEWER, "fewer", CAVEAT,                                     \
	  "more events than this at once are multiplexed: estimates, not counts", \
	  "`tare stat --exact` runs the command in batches that fit; the NMI watchdog, " \
	  "other profilers, hyperthreading and hypervisors are what takes counters") \
	X(COUNTERS, ONE, "one", CAVEAT,                                         \
	  "an event and its correction (-minus-irqs) cannot be counted together", \
	  "free a counter (NMI watchdog, other profilers), or ask for a VM with more") \
	X(COUNTERS, HELD, "held", BAD,                                          \
	  "events open but are never scheduled: somebody else holds every counter", \
	  "stop other users of the PMU (perf record -a, another profiler, a driver)") \
	                                                                        \
	NO_PMU_ROW(X, LOOP)                                                     \
	X(LOOP, EXACT, "exact", GOOD,                                           \
	  "counted against code whose counts are known", "")                    \
	X(LOOP, ZERO, "zero", BAD,                                              \
	  "the kernel opens these events, but the counter never moves (seen in VMs and " \
	  "emulators): a 0 here is not a count",                                \
	  "do not use these events here; `tare list` shows the others")         \
	X(LOOP, SILENT, "silent", CAVEAT,                                       \
	  "arm64 kernels open every raw code, also of events that the PMU does not have: " \
	  "they read 0 for ever, and a 0 is not a count",                       \
	  "use raw events that count known code; the events folder of the PMU in " \
	  "/sys/bus/event_source/devices names those of the architecture that it has") \
	X(LOOP, UNDER, "under", BAD,                                            \
	  "fewer were counted than were executed: the counter loses events",    \
	  "do not use these events here; in a VM, ask for a host whose virtual PMU works") \
	X(LOOP, OVER, "over", CAVEAT,                                           \
	  "more were counted than the program executed, although the smallest of several " \
	  "tries was taken: not just interrupts",                               \
	  "compare with the software engine's count of the same program (--backend soft)") \
	X(LOOP, UNOPENED, "unopened", CAVEAT,                                   \
	  "the tables list these events for this CPU, but they cannot be opened here", \
	  "`tare list` shows which events open and why others do not")          \
	                                                                        \
	NO_PMU_ROW(X, OVERFLOW)                                                 \
	X(OVERFLOW, WORKS, "works", GOOD, "", "")                               \
	X(OVERFLOW, SILENT, "silent", CAVEAT,                                   \
	  "no interrupt came when the counter overflowed: counts of long runs lose a "  \
	  "whole counter width at every wrap, and sampling does not work",      \
	  "keep runs shorter than a counter's width, or count in software")     \
	X(OVERFLOW, WRONG, "wrong", BAD,                                        \
	  "the count changes when the counter overflows (a known fault of Xen's virtual " \
	  "PMU)", "do not count in this VM; use --backend soft")                \
	X(OVERFLOW, ERROR, "error", INFO, "overflow could not be tried", "")    \
	                                                                        \
	NO_PMU_ROW(X, TRAP)                                                     \
	X(TRAP, WORKS, "works", GOOD, "", "")                                   \
	X(TRAP, LOST, "lost", CAVEAT,                                           \
	  "conditional branches between two VM exits are lost (a known fault of VMware's " \
	  "virtual PMU)",                                                       \
	  "VMware: monitor_control.disable_hvsim_clusters = true in the .vmx file") \
	X(TRAP, NO_VM, "no-vm", INFO, "", "")                                   \
	X(TRAP, ERROR, "error", INFO, "could not be tried", "")                 \
	                                                                        \
	NO_PMU_ROW(X, TXCP)                                                     \
	X(TXCP, NO_TSX, "no-tsx", INFO, "", "")                                 \
	X(TXCP, WORKS, "works", GOOD, "", "")                                   \
	X(TXCP, MISSING, "missing", CAVEAT,                                     \
	  "in a program that uses transactions, work of aborted transactions is counted " \
	  "too: counts vary with contention",                                   \
	  "turn off TSX (boot with tsx=off), or count a program that does not use it") \
	X(TXCP, BROKEN, "broken", CAVEAT,                                       \
	  "events with in_tx_cp lose counts (a known fault of KVM's virtual PMU)", \
	  "do not use in_tx_cp here")                                           \
	X(TXCP, OVER, "over", CAVEAT,                                           \
	  "events with in_tx_cp count more than the plain event, which cannot be", \
	  "do not use in_tx_cp here")                                           \
	                                                                        \
	NO_PMU_ROW(X, SPECLOCK)                                                 \
	X(SPECLOCK, OTHER_CPU, "other-cpu", INFO, "", "")                       \
	X(SPECLOCK, OFF, "off", GOOD, "", "")                                   \
	X(SPECLOCK, ON, "on", CAVEAT,                                           \
	  "after a locked instruction the CPU may run ahead and roll back, without taking " \
	  "back what the counters counted: retired instructions overcount now and then " \
	  "by a piece of the code after an atomic operation (ten thousand in a "  \
	  "compiler's run of 40 thousand million were seen)",                   \
	  "set bit 54 of MSR 0xC0011020 on every CPU, as root (msr-tools; again after " \
	  "every boot and resume):" MSR_COMMAND)                                                           \
	X(SPECLOCK, ON_ZEN1, "on-zen1", CAVEAT,                                 \
	  "after a locked instruction the CPU may run ahead and roll back, without taking " \
	  "back what the counters counted: retired instructions overcount now and then " \
	  "by a piece of the code after an atomic operation. On Zen and Zen+ the kernel " \
	  "keeps its own copy of MSR 0xC0011020, whose bit 10 is the store bypass " \
	  "(SSBD) switch, and writes it back when it changes tasks: bit 54 alone does " \
	  "not stay",                                                           \
	  "load the kernel module described at "                                \
	  "https://github.com/rr-debugger/rr/wiki/Zen, which sets bit 54 in every write " \
	  "to the register; or boot with spec_store_bypass_disable=off (or =on), so that " \
	  "the kernel stops rewriting it, and then, as root (msr-tools):" MSR_COMMAND)                                                    \
	X(SPECLOCK, UNTESTED, "untested", CAVEAT,                               \
	  "this CPU may overcount after locked instructions, and the event that would " \
	  "show it cannot be counted here",                                     \
	  "in a VM, test and disable it on the host (MSR 0xC0011020 bit 54)")   \
	                                                                        \
	NO_PMU_ROW(X, EXCLUSIVE)                                                \
	X(EXCLUSIVE, OTHER_ARCH, "other-architecture", INFO, "", "")            \
	X(EXCLUSIVE, LSE, "lse", GOOD,                                          \
	  "atomic operations are single instructions, whose count does not depend on " \
	  "contention", "")                                                     \
	X(EXCLUSIVE, COUNTED, "counted", CAVEAT,                                \
	  "atomic operations are loops of load and store exclusive, repeated when " \
	  "something intervenes: instruction counts vary with interrupts and contention. " \
	  "The event raw 0x006f counts the stores and shows how often",         \
	  "count single-threaded, or on a core with LSE atomics (Armv8.1)")     \
	X(EXCLUSIVE, NOT_COUNTED, "not-counted", CAVEAT,                        \
	  "atomic operations are loops of load and store exclusive, repeated when " \
	  "something intervenes: instruction counts vary, and no event shows how often", \
	  "count single-threaded, or on a core with LSE atomics (Armv8.1)")     \
	                                                                        \
	X(IRQ, NO_PMU, "no-pmu", INFO,                                          \
	  "the software engine does not count interrupts, so it needs no correction", "") \
	X(IRQ, DOCUMENTED, "documented", GOOD,                                  \
	  "EVENT-minus-irqs takes out what interrupts add", "")                 \
	X(IRQ, UNDOCUMENTED, "undocumented", GOOD,                              \
	  "EVENT-minus-irqs takes out what interrupts add; the CPU's makers do not " \
	  "document the event, others have shown that it works",                \
	  "a busy loop shows it: instructions:u varies with the run's length, "  \
	  "instructions-minus-irqs:u stays")                                    \
	X(IRQ, UNKNOWN, "unknown", CAVEAT,                                      \
	  "what interrupts add to a count cannot be subtracted exactly on this CPU", \
	  "for whole runs: EVENT-minus-proc-interrupts, with its stated error; or count " \
	  "with --backend soft")                                                \
	X(IRQ, ZERO, "zero", CAVEAT,                                            \
	  "the event opens but does not count: EVENT-minus-irqs would subtract nothing", \
	  "on a tickless core (nohz_full) there may have been no interrupt: try another; " \
	  "otherwise for whole runs EVENT-minus-proc-interrupts, with its stated error, or " \
	  "--backend soft")                                                     \
	X(IRQ, REFUSED, "refused", CAVEAT,                                      \
	  "the tables know the event, but it cannot be opened here (a hypervisor that " \
	  "lets only some events through)",                                     \
	  "for whole runs: EVENT-minus-proc-interrupts, with its stated error; or count " \
	  "with --backend soft")                                                \
	                                                                        \
	NO_PMU_ROW(X, SMI)                                                      \
	X(SMI, ABSENT, "absent", INFO,                                          \
	  "only newer Intel CPUs have this switch", "")                         \
	X(SMI, ON, "on", GOOD, "counters stop while firmware runs (SMI)", "")   \
	X(SMI, OFF, "off", CAVEAT,                                              \
	  "what firmware executes during system management interrupts is counted as if " \
	  "the program had done it, at unpredictable moments",                  \
	  "as root: echo 1 > /sys/devices/cpu/freeze_on_smi (to keep it: 'w "   \
	  "/sys/devices/cpu/freeze_on_smi - - - - 1' in /etc/tmpfiles.d)")      \
	                                                                        \
	NO_PMU_ROW(X, SMT)                                                      \
	X(SMT, HARMLESS, "harmless", GOOD, "", "")                              \
	X(SMT, OFF, "off", GOOD, "", "")                                        \
	X(SMT, BREAKS_IRQ, "breaks-interrupts", CAVEAT,                         \
	  "the interrupt event of Intel CPUs before Skylake miscounts while the other " \
	  "hardware thread of the core works, so -minus-irqs subtracts the wrong number", \
	  "as root: echo off > /sys/devices/system/cpu/smt/control (or boot with nosmt)") \
	                                                                        \
	X(HYBRID, UNIFORM, "uniform", GOOD, "", "")                             \
	X(HYBRID, MIXED, "mixed", CAVEAT,                                       \
	  "core types have different events and counters: a program that moves between " \
	  "them is counted by two PMUs, each with its own share",               \
	  "pin the program to one type: taskset -c $(cat "                      \
	  "/sys/bus/event_source/devices/cpu_core/cpus) (arm64: the `cpus` file of one " \
	  "PMU)")                                                               \
	                                                                        \
	X(TICK, RATE, "rate", INFO,                                             \
	  "each interrupt adds one to events that count interrupts (instructions:u on " \
	  "most CPUs): expect about this many too many per second of run time",  \
	  "EVENT-minus-irqs subtracts them; the software engine does not see them") \
	X(TICK, UNKNOWN, "unknown", INFO,                                       \
	  "neither the clock nor a kernel configuration tells the tick rate", "") \
	                                                                        \
	X(TICKLESS, SOME, "some", GOOD,                                         \
	  "on these CPUs a single running thread is not interrupted by the tick", \
	  "taskset -c them for the least noise")                                \
	X(TICKLESS, NONE, "none", INFO,                                         \
	  "every CPU takes the timer tick while a program runs",                \
	  "boot with nohz_full=LIST for CPUs without it, where it matters")     \
	                                                                        \
	X(ASLR, PER_COMMAND, "per-command", GOOD,                               \
	  "addresses are random here, which changes hash orders and allocations from run " \
	  "to run; tare turns that off for each command it measures (--aslr keeps it)", "") \
	X(ASLR, OFF, "off", GOOD, "addresses are the same in every run", "")    \
	X(ASLR, REFUSED, "refused", CAVEAT,                                     \
	  "a random address layout changes hash orders and allocations from run to run, " \
	  "and this process may not turn it off for a command (container profiles refuse " \
	  "personality(2))",                                                    \
	  "allow personality(ADDR_NO_RANDOMIZE) in the seccomp profile, or as root: " \
	  "sysctl kernel.randomize_va_space=0")                                 \
	X(ASLR, UNKNOWN, "unknown", INFO,                                       \
	  "whether addresses are random here cannot be read; tare turns that off for each " \
	  "command it measures", "")                                            \
	                                                                        \
	X(THP, ALWAYS, "always", CAVEAT,                                        \
	  "how often a program faults depends on whether huge pages are free at that " \
	  "moment: page-faults vary from run to run, and so do events that count faults", \
	  "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")  \
	X(THP, SOME, "some", GOOD, "", "")                                      \
	X(THP, ABSENT, "absent", INFO, "this kernel has none", "")              \
	                                                                        \
	X(JEMALLOC, TIMED, "timed", CAVEAT,                                     \
	  "jemalloc gives memory back by the clock, in many steps over the decay time (10 s " \
	  "by default), so the addresses of later allocations, and counts with them, vary " \
	  "in runs of less than a second already",                              \
	  "export MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0")               \
	X(JEMALLOC, STILL, "still", GOOD, "memory is not given back by the clock", "") \
	X(JEMALLOC, NOT_SEEN, "not-seen", INFO,                                 \
	  "a program with jemalloc linked in gives memory back by the clock, which makes " \
	  "counts vary, in runs of less than a second already",                 \
	  "for such a program: MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0")  \
	                                                                        \
	X(CLOCK, FAST, "fast", GOOD, "", "")                                    \
	X(CLOCK, SLOW, "slow", CAVEAT,                                          \
	  "reading the time is a system call or a device access: wall-time costs far " \
	  "more than a counter read",                                           \
	  "see dmesg for why the TSC was given up; boot with tsc=reliable only if that " \
	  "was wrong")                                                          \
	X(CLOCK, VARIES, "varies", CAVEAT,                                      \
	  "the TSC changes its rate or stops in idle states on this CPU",       \
	  "do not convert TSC ticks to time here")                              \
	X(CLOCK, UNKNOWN, "unknown", INFO, "", "")

enum doctor_check {
#define DOCTOR_CHECK_ENUM(CHECK, id, title) CHECK_##CHECK,
	DOCTOR_CHECKS(DOCTOR_CHECK_ENUM)
#undef DOCTOR_CHECK_ENUM
	N_CHECKS
};

enum doctor_finding {
#define DOCTOR_FINDING_ENUM(CHECK, NAME, code, verdict, meaning, remedy) FIND_##CHECK##_##NAME,
	DOCTOR_FINDINGS(DOCTOR_FINDING_ENUM)
#undef DOCTOR_FINDING_ENUM
	N_FINDINGS
};

#endif
