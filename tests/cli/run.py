#!/usr/bin/env python3
"""tare run: other people's programs and tare's own hardware path on a virtual PMU.

usage: run.py TARE PAGES
"""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli  # noqa: E402
from cli import check, given_time, run, skipped, until  # noqa: E402

TARE = os.path.abspath(sys.argv[1])
MODELS = [line.split()[0] for line in run(TARE, "run", "--list").stdout.split("\n\n")[0]
          .splitlines()[1:]]
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}


def program(text, name, *flags):
    path = os.path.join(folder, name)
    with open(path + ".c", "w") as f:
        f.write(text)
    subprocess.run(["cc", "-O1", "-o", path, path + ".c", *flags], check=True)
    return path


def virtual(model, *command, flaws="", seed=0, env=ENV, more=()):
    return run(TARE, "run", "--cpu", model, "--flaws", flaws, "--seed", str(seed), *more, "--", *command,
               env=env)


def stat(model, events, *command, flaws="", seed=0, more=(), run_with=(), status=0):
    """What tare's own hardware path counts on that model: {event: count record}."""
    out = os.path.join(folder, "stat.json")
    got = virtual(model, TARE, "stat", "--backend", "hw", "-j", "-o", out, *more, "-e",
                  ",".join(events), "--", *command, flaws=flaws, seed=seed, more=run_with)
    check(got.returncode == status, model, events, got.stderr)
    if got.returncode != status:
        return {e: {"value": None, "provenance": None, "state": None} for e in events}
    return {c["event"]: c for c in json.load(open(out))["runs"][0]["counts"]}


def exact(*command, events=("instructions", "branches")):
    out = os.path.join(folder, "soft.json")
    got = run(TARE, "stat", "--backend", "soft", "-j", "-o", out, "-e", ",".join(events), "--",
              *command, env=ENV)
    check(got.returncode == 0, got.stderr)
    return {c["event"].removesuffix(":u"): c["value"]
            for c in json.load(open(out))["runs"][0]["counts"]}


LOOP = r"""
int main(void)
{
	for (volatile long i = 0; i < 3000000; i++)
		;
	return 0;
}
"""
def errors():
    got = run(TARE, "run", "--cpu", "z80", "--", "true")
    check(got.returncode == 125 and "z80" in got.stderr and "--list" in got.stderr, got.stderr)
    got = run(TARE, "run", "--flaws", "rust", "--", "true")
    check(got.returncode == 125 and "rust" in got.stderr, got.stderr)
    got = run(TARE, "run", "--flaws", "interrupts=0", "--", "true")
    check(got.returncode == 125 and "1000000" in got.stderr, got.stderr)
    for flaws, word in (("wrap,", '""'), (",", '""'), ("wrap,wrap", "twice"), ("interrupts= 5", "1000000"),
                        ("interrupts=", "1000000"), ("interrupts=1e3", "1000000"), ("wrap=1", "no number"),
                        ("Interrupts", "--list"), ("cycles", "tare run --cycles"), ("interrupts=99999999999999999999", "1000000")):
        got = run(TARE, "run", "--flaws", flaws, "--", "true")
        check(got.returncode == 125 and word in got.stderr, flaws, got.stderr)
    check(run(TARE, "run", "--cpu", "", "--", "true").returncode == 125, "an empty model")
    check(run(TARE, "run", "--seed", "-1", "--", "true").returncode == 125, "a negative seed")
    # limits: on address space, on files (soft, hard), on descriptors
    for limit, status in (("-v 500000", 0), ("-S -f 200000", 0), ("-f 200000", 125), ("-n 12", 0)):
        got = run("sh", "-c", f'ulimit {limit}; exec "$0" run -- true', TARE)
        check(got.returncode == status and (status == 0 or "ulimit" in got.stderr), limit, got)
    check(run(TARE, "run", "--", "/nonexistent/x").returncode == 127, "not found")
    check(run(TARE, "run", "--", "sh", "-c", "exit 7").returncode == 7, "status")
    check(run(TARE, "run", "--", "sh", "-c", "kill -9 $$").returncode == 137, "signal")
    check(run(TARE, "run").returncode == 125, "no command")
    tmp = os.path.join(folder, "tmp")
    os.mkdir(tmp)
    got = virtual("zen2", "ls", "/sys/bus/event_source/devices/cpu", env={**ENV, "TMPDIR": tmp})
    check("tare_simulated" in got.stdout and not os.listdir(tmp), got.stdout, os.listdir(tmp))
    got = virtual("zen2", "true", env={**ENV, "TMPDIR": folder + "/none"})
    check(got.returncode == 125 and "/none" in got.stderr, got.stderr)


def ended():
    """Sent a signal, tare run ends the command, tidies up, and says so."""
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)	# whatever this test was started with
    tmp = os.path.join(folder, "tmp2")
    os.mkdir(tmp)
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        p = subprocess.Popen([TARE, "run", "--", "sh", "-c", "echo $$; exec sleep 1000"],
                             stdout=subprocess.PIPE, env={**ENV, "TMPDIR": tmp}, text=True)
        pid = int(p.stdout.readline())
        p.send_signal(number)
        check(p.wait(timeout=600) == 128 + number, number, p.returncode)
        check(not os.listdir(tmp), number, os.listdir(tmp))
        check(not os.path.exists(f"/proc/{pid}") or "Z" in open(f"/proc/{pid}/stat").read(), number, pid)
    # what is ignored stays ignored
    got = run("sh", "-c", 'trap "" INT HUP; "$0" run -- grep SigIgn /proc/self/status', TARE, env=ENV)
    check(int(got.stdout.split()[1], 16) & 3 == 3, got.stdout)
    got = run("sh", "-c", '"$0" run -- grep SigIgn /proc/self/status', TARE, env=ENV)
    check(int(got.stdout.split()[1], 16) & 3 == 0, got.stdout)


def identity():
    seen = {}
    for model in MODELS:
        got = virtual(model, "cat", "/proc/cpuinfo", "/sys/bus/event_source/devices/cpu/type",
                      "/sys/devices/cpu/tare_simulated")
        check(got.returncode == 0 and got.stdout.endswith("4\nexact\n"), model, got.stderr)
        said = virtual(model, TARE, "doctor", "-j")
        cpu = json.loads(said.stdout)["cpu"]
        check(cpu["uarch"] == model, model, cpu)
        words = dict(re.findall(r"^(vendor_id|cpu family|model)\s*: (.*)$", got.stdout, re.M))
        check(int(words["cpu family"]) == cpu["family"] and int(words["model"]) == cpu["model"],
              model, words)
        seen[model] = words
    check(len(seen) >= 15, seen)
    got = virtual("zen2", "cat", "/sys/bus/event_source/./devices/../devices/cpu//type", "//proc/./cpuinfo")
    check(got.stdout.startswith("4\n") and "3900X" in got.stdout, got.stdout[:200])
    got = virtual("zen2", "sh", "-c", "cd /sys/bus/event_source/devices; cat cpu/type; ls; cat cpu/format/event")
    check(got.stdout.startswith("4\n") and "software" in got.stdout, got.stdout)
    if os.getuid() == 0:	# readable by whoever the command becomes
        got = run("sh", "-c", 'umask 077; exec "$0" run --cpu zen2 -- setpriv --reuid 65534 --clear-groups '
                  "grep -c 3900X /proc/cpuinfo", TARE, env=ENV)
        check(int(got.stdout or 0) > 0, got.stdout, got.stderr)
    check("flaws wrap" in virtual("zen2", "cat", "/sys/devices/cpu/tare_simulated",
                                  flaws="wrap").stdout)


def hardware_path(loop):
    # without the C library, which asks cpuid who it runs on and goes another way
    bare = thousand("push %rax\n pop %rbx\n call 2f\n 2: pop %rbx")
    want = exact(bare)
    check(want["instructions"] == 2 + 7 * 1000 + 3, want)
    for model in MODELS:
        got = stat(model, ["instructions:u", "branches:u"], bare)
        for e in want:
            c = got[e + ":u"]
            check(c["provenance"] == "exact" and c["value"] == want[e], model, c, want[e])
        again = [stat(model, ["instructions:u", "branches:u"], loop) for _ in "12"]
        check(again[0] == again[1], model, "two runs differ")
    for flaw in "moved", "watchdog", "wrap":
        plain = stat("zen2", ["instructions:u"], loop)["instructions:u"]["value"]
        c = stat("zen2", ["instructions:u"], loop, flaws=flaw)["instructions:u"]
        check(c["value"] == plain and c["provenance"] == "simulated", flaw, c, plain)
    c = stat("zen2", ["instructions:u"], loop, flaws="stolen=1")["instructions:u"]
    check(c["provenance"] == "scaled" and c["running_ns"] < c["enabled_ns"], c)
    c = stat("zen2", ["instructions:u"], loop, flaws="stolen=1", more=["--exact"],
             status=125)["instructions:u"]
    check(c["value"] is None and c["state"] == "stolen", "a stolen pinned counter", c)


def corrections(loop):
    """Interrupts make instructions:u vary; -minus-irqs does not. (The Atom's interrupt event is known
    not to work, and -minus-irqs is refused.)"""
    for model in MODELS:
        if model == "bonnell":
            got = virtual(model, TARE, "stat", "--backend", "hw", "-e", "instructions-minus-irqs:u", "true")
            check(got.returncode == 125 and "does not work" in got.stderr, got.stderr)
            continue
        plain = stat(model, ["instructions:u"], loop)["instructions:u"]["value"]
        noisy, net = set(), set()
        for seed in range(10):
            got = stat(model, ["instructions:u", "instructions-minus-irqs:u"], loop,
                       flaws="interrupts=20000", seed=seed)
            noisy.add(got["instructions:u"]["value"])
            c = got["instructions-minus-irqs:u"]
            check(c["provenance"] == "simulated", model, c)
            net.add(c["value"])
        check(len(noisy) > 1 and min(noisy) > plain, model, noisy, plain)
        check(net == {plain}, model, net, plain)
    for model in "ivybridge", "haswell":
        # one in sixteen leaves no trace but in the interrupt event: less than the truth remains
        plain = stat(model, ["instructions:u"], loop)["instructions:u"]["value"]
        got = stat(model, ["instructions:u", "r01cb:u", "instructions-minus-irqs:u"], loop,
                   flaws="interrupts=20000,undercount")
        irqs, net = got["r01cb:u"]["value"], got["instructions-minus-irqs:u"]["value"]
        check(irqs > 50 and net == plain - irqs // 16, model, got, plain)
        check(got["instructions:u"]["value"] == plain + irqs - irqs // 16, model, got, plain)
    again = [stat("zen2", ["instructions:u"], loop, flaws="interrupts", seed=5) for _ in "12"]
    check(again[0] == again[1], "the same seed")


INSIDE = r"""
import ctypes, os, struct, sys
folder = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
def said(fd):
    with os.fdopen(fd) as f:
        text = f.read()
    return next((l.split(":")[1].strip() for l in text.splitlines() if l.startswith("model name")), text.strip())
def openat2(dirfd, path):
    how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    fd = libc.syscall(437, dirfd, path.encode(), how, len(how))
    return said(fd) if fd >= 0 else "openat2: %d" % ctypes.get_errno()
def mode(st):
    return "%o %d" % (st.st_mode & 0o7777, st.st_size)
INFO, TYPE = "/proc/cpuinfo", "/sys/bus/event_source/devices/cpu/type"
os.symlink(INFO, folder + "/info")
os.symlink("/", folder + "/root")
os.symlink("/sys/bus", folder + "/bus")
info, kind, seen, there = [], [], [], []
proc, root = os.open("/proc", os.O_RDONLY), os.open("/", os.O_RDONLY)
for path in (INFO, "/proc//cpuinfo", "//proc/./cpuinfo", "/sys/../proc/cpuinfo", "/proc/self/root/proc/cpuinfo",
             "/proc/self/../cpuinfo", folder + "/info", folder + "/root/proc/cpuinfo"):
    info.append(said(os.open(path, os.O_RDONLY)))
    info.append(openat2(-100, path))
    seen.append(mode(os.stat(path)))
info.append(said(os.open("cpuinfo", os.O_RDONLY, dir_fd=proc)))
info.append(said(os.open("proc/cpuinfo", os.O_RDONLY, dir_fd=root)))
info.append(openat2(proc, "cpuinfo"))
seen.append(mode(os.stat("cpuinfo", dir_fd=proc)))
seen.append(mode(os.stat("proc/cpuinfo", dir_fd=root)))
os.chdir("/proc")
info.append(said(os.open("cpuinfo", os.O_RDONLY)))
info.append(openat2(-100, "cpuinfo"))
seen.append(mode(os.stat("cpuinfo")))
bus = os.open("/sys/bus", os.O_RDONLY)
for path in (TYPE, "/sys/devices/cpu/type", "/proc/self/root" + TYPE, folder + "/root" + TYPE,
             folder + "/bus/event_source/devices/cpu/type"):
    kind.append(said(os.open(path, os.O_RDONLY)))
    there.append(os.access(path, os.R_OK))
    there.append(os.path.exists(path))
kind.append(said(os.open("event_source/devices/cpu/type", os.O_RDONLY, dir_fd=bus)))
there.append(os.access("event_source/devices/cpu", os.R_OK, dir_fd=bus))
os.chdir(folder + "/bus/event_source/devices")
kind.append(said(os.open("cpu/type", os.O_RDONLY)))
os.chdir("cpu/events")
kind.append(said(os.open("../type", os.O_RDONLY)))
there.append(os.getcwd() == "/sys/bus/event_source/devices/cpu/events")
there.append("instructions" in os.listdir("."))
there.append(os.path.exists("../../../../../../proc/version"))
kind.append(said(os.open("../../../../../bus/event_source/devices/cpu/type", os.O_RDONLY)))
alias = open("/sys/devices/system/cpu/modalias").read()
there.append("ven0000fam0006mod005E" in alias and open("/sys/devices/system/cpu/cpu0/uevent").read() ==
             "MODALIAS=" + alias)
# what is not the model's stays the machine's
there.append(os.readlink(folder + "/info") == INFO)
there.append(open("/proc/self/comm").read() == open(folder + "/root/proc/self/comm").read())
print(sorted(set(info)), sorted(set(kind)), len(set(seen)), set(there) if all(there) else there, sep="|")
"""


def paths():
    """However a file of the model is named, it is the model's."""
    inside = os.path.join(folder, "inside")
    os.mkdir(inside)
    got = virtual("skylake", sys.executable, "-c", INSIDE, inside)
    check(got.stdout == "['Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz']|['4']|1|{True}\n", got.stdout, got.stderr)
    got = virtual("skylake", "sh", "-c", "cd /proc; cat cpuinfo")
    check("i7-6700K" in got.stdout, got.stdout)
    if shutil.which("lscpu", path=ENV["PATH"]):
        got = virtual("zen2", "lscpu")
        check(re.search(r"Model name: .*3900X", got.stdout) and
              re.search(r"^CPU family:\s*23$", got.stdout, re.M) and
              re.search(r"^Model:\s*113$", got.stdout, re.M), got.stdout)
    else:
        skipped("lscpu", "not installed (package util-linux)")
    # the modalias is made of what this machine has
    check(os.path.exists("/sys/devices/system/cpu/modalias"), "no modalias here")


def killed():
    """SIGKILL leaves no files: neither of the launcher alone, nor of all that it started."""
    tmp = os.path.join(folder, "tmp3")
    os.mkdir(tmp)
    def start(command):
        p = subprocess.Popen([TARE, "run", "--", "sh", "-c", command], stdout=subprocess.PIPE,
                             env={**ENV, "TMPDIR": tmp}, text=True, start_new_session=True)
        return p, int(p.stdout.readline())
    # the command goes on with its files, and takes them along
    fifo = os.path.join(folder, "go")
    os.mkfifo(fifo)
    p, pid = start(f"echo $$; read go <{fifo}; read type </sys/bus/event_source/devices/cpu/type; echo $type")
    p.kill()
    p.wait()
    check(os.listdir(tmp), "gone too early")
    open(fifo, "w").write("\n")
    text = p.stdout.read()
    check(text == "4\n", text)
    until(lambda: not os.listdir(tmp), "the folder to be empty")
    p, pid = start("echo $$; exec sleep 1000")
    os.killpg(p.pid, signal.SIGKILL)
    p.wait()
    until(lambda: not os.listdir(tmp), "the folder to be empty")
    # where really everything was killed, the next run tidies up; what others keep stays
    left, kept = os.path.join(tmp, "tare-run-aaaaaa"), os.path.join(tmp, "tare-run-bbbbbb")
    for path in left, kept:
        os.makedirs(path + "/devices/cpu")
        open(path + "/devices/cpu/type", "w").close()
        open(path + "/lock", "w").close()
        os.utime(path, (0, 0))
    with open(kept + "/lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        virtual("zen2", "true", env={**ENV, "TMPDIR": tmp})
        check(os.listdir(tmp) == ["tare-run-bbbbbb"] and os.path.exists(kept + "/devices/cpu/type"),
              os.listdir(tmp))
    shutil.rmtree(tmp)


ASK = r"""
#include <linux/perf_event.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	/* TYPE CONFIG EXCLUDE_KERNEL EXCLUDE_USER */
	struct perf_event_attr a = { .type = strtoul(argv[1], 0, 0), .size = sizeof(a),
		.config = strtoull(argv[2], 0, 0), .exclude_kernel = atoi(argv[3]),
		.exclude_user = argc > 4 && atoi(argv[4]), .exclude_hv = 1 };
	const long fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	printf("%d\n", fd < 0 ? errno : 0);
	return 0;
}
"""


def cycles():
    """Only if they are asked for: one for each instruction, and never called exact."""
    ask, other = program(ASK, "ask"), program(ASK, "other")
    line = "tare: warning: run: ask, other asked for cycles, which the virtual PMU does not have; " \
           "`tare run --cycles` counts one for each instruction\n"
    codes = {"zen2": [(0, 0), (0, 9), (4, 0x76)], "zen4": [(4, 0x100000120)],
             "skylake": [(0, 0), (0, 9), (4, 0x3c), (4, 0x13c), (4, 0x300)]}
    for model, events in codes.items():
        for kind, config in events:
            twice = f"{ask} {kind} {config} 1; {other} {kind} {config} 1; {ask} {kind} {config} 1"
            got = virtual(model, "sh", "-c", twice)
            check(got.stdout == "2\n2\n2\n" and got.stderr == line, model, config, got)
            got = virtual(model, "sh", "-c", twice, more=["--cycles"])
            check(got.stdout == "0\n0\n0\n" and got.stderr == "", model, config, got)
    # misses are no cycles
    got = virtual("zen2", ask, "0", "5", "1")
    check(got.stdout == "2\n" and got.stderr == "", got)
    loop = thousand("nop")
    for model, raw in ("zen2", "r0076:u"), ("haswell", "r003c:u"):
        got = stat(model, ["cycles:u", "ref-cycles:u", raw, "instructions:u"], loop, run_with=["--cycles"])
        values = {c["value"] for c in got.values()}
        check(len(values) == 1 and values.pop() > 1000, got)
        check({e: c["provenance"] for e, c in got.items()} ==
              {"cycles:u": "simulated", "ref-cycles:u": "simulated", raw: "simulated",
               "instructions:u": "exact"}, got)


def kernel_as_user():
    """Events that include the kernel: refused, or counted in user mode and called so."""
    ask = program(ASK, "ask")
    got = virtual("zen2", ask, "0", "1", "0")
    check(got.stdout == "13\n" and got.stderr == "", got)
    got = virtual("zen2", ask, "0", "1", "0", more=["--kernel-as-user"])
    check(got.stdout == "0\n" and got.stderr == "tare: warning: run: events of ask include the kernel; "
          "they counted user mode only (--kernel-as-user)\n", got)
    # of the kernel alone there is nothing to count
    got = virtual("zen2", ask, "0", "1", "0", "1", more=["--kernel-as-user"])
    check(got.stdout == "13\n" and got.stderr == "", got)
    got = virtual("zen2", "cat", "/proc/sys/kernel/perf_event_paranoid", more=["--kernel-as-user"])
    check(got.stdout == "1\n", got)
    loop = thousand("nop")
    got = stat("zen2", ["instructions:uk", "instructions:u"], loop, run_with=["--kernel-as-user"])
    check(got["instructions:uk"]["value"] == got["instructions:u"]["value"], got)
    check(got["instructions:uk"]["provenance"] == "simulated" and
          got["instructions:u"]["provenance"] == "exact", got)
    # the remedy is this option
    got = virtual("zen2", TARE, "stat", "--backend", "hw", "-e", "instructions:uk", "true")
    check(got.returncode and "tare run --kernel-as-user" in got.stderr and "sysctl" not in got.stderr, got)


# An inherited counter and a child that execs argv[2]; prints the value and PERF_FORMAT_LOST.
# argv[1]: on (enabled before the fork), off, exec (enable_on_exec, opened on the child), group.
LOST = r"""
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int event(pid_t pid, int leader, int on_exec, int disabled, int group)
{
	struct perf_event_attr a = { .type = PERF_TYPE_HARDWARE, .size = sizeof(a),
		.config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_kernel = 1, .exclude_hv = 1,
		.inherit = !group, .enable_on_exec = on_exec, .disabled = disabled,
		.read_format = PERF_FORMAT_LOST | (group ? PERF_FORMAT_GROUP | PERF_FORMAT_ID : 0) };
	return (int)syscall(SYS_perf_event_open, &a, pid, -1, leader, 0);
}

int main(int argc, char **argv)
{
	uint64_t w[16] = { 0 };
	int go[2], fd = -1, n;
	const int group = !strcmp(argv[1], "group"), on_exec = group || !strcmp(argv[1], "exec");
	if (!on_exec)
		fd = event(0, -1, 0, !strcmp(argv[1], "off"), 0);
	pipe(go);
	const pid_t child = fork();
	if (child == 0) {
		read(go[0], w, 1);
		execv(argv[2], argv + 2);
		_exit(9);
	}
	if (on_exec)
		fd = event(child, -1, 1, 1, group);
	if (group)
		event(child, fd, 0, 0, 1);
	write(go[1], "", 1);
	waitpid(child, &n, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	n = (int)read(fd, w, sizeof(w));
	if (group)		/* 2, value, id, lost, value, id, lost */
		printf("%d %d %d\n", n == 56 && w[0] == 2, (int)w[3], (int)w[6]);
	else
		printf("%d %d\n", n == 16 && w[0] > 0, (int)w[1]);
	return 0;
}
"""

WHY_SET_UID = "set-uid, set-gid or with capabilities"
WHY_32_BIT = "not a 64-bit x86 program"


def uncountable():
    """Programs that the engine does not enter: {path: reason}."""
    gains = os.path.join(folder, "gains")
    shutil.copy(shutil.which("true", path=ENV["PATH"]), gains)
    os.chmod(gains, 0o4755)
    source, narrow = os.path.join(folder, "narrow.S"), os.path.join(folder, "narrow")
    with open(source, "w") as f:
        f.write(".globl _start\n_start: movl $1, %eax\n xorl %ebx, %ebx\n int $0x80\n")
    subprocess.run(["cc", "-m32", "-nostdlib", "-static", source, "-o", narrow], check=True)
    try:
        subprocess.run([narrow], check=True)
    except OSError:
        skipped("32-bit programs", "this kernel runs none")
        return {gains: WHY_SET_UID}
    return {gains: WHY_SET_UID, narrow: WHY_32_BIT}


def warning(path, why, count=""):
    return (rf"tare: warning: run: {re.escape(path)} \(process \d+{count}\): {why}: ran natively; "
            r"counts that include it are too low; to count it: .+\n")


def uncounted():
    """What ran without the virtual PMU is named at the end, and no count with it is called exact."""
    cannot = uncountable()
    lost = program(LOST, "lost")
    plain = thousand("nop")
    for path, why in cannot.items():
        for command in ([path], ["sh", "-c", f"{path}; true"]):
            got = virtual("zen2", *command)
            check(got.returncode == 0 and re.fullmatch(warning(path, why), got.stderr), command, got)
        got = virtual("zen2", "sh", "-c", f"{path}; {path}; {path}; true")
        check(re.fullmatch(warning(path, why, " and 2 more"), got.stderr), got)
        # tare stat in it: a lower bound, or no count where nothing was counted
        got = stat("zen2", ["instructions:u", "page-faults"], "sh", "-c", f"{path}; {path}; true")
        c = got["instructions:u"]
        check(c["provenance"] == "incomplete" and c["lower_bound"] and c["value"] > 1000 and
              c["uncounted"] == 2, c)
        check(got["page-faults"]["provenance"] == "raw" and not got["page-faults"]["lower_bound"], got)
        c = stat("zen2", ["instructions:u"], path)["instructions:u"]
        check(c["value"] is None and c["error"] == "NOT_COUNTED" and c["provenance"] is None, c)
        got = virtual("zen2", TARE, "stat", "-e", "instructions:u", "sh", "-c", f"{path}; true")
        check(re.search(r"^ *at least [\d,]+ +instructions:u +incomplete$", got.stderr, re.M) and
              "1 process ran outside of the virtual PMU" in got.stderr, got.stderr)
        got = virtual("zen2", TARE, "stat", "-x,", "-e", "instructions:u", "sh", "-c", f"{path}; true")
        check(re.match(r"\d+,,instructions:u,\d+,100\.00,,,incomplete\+lower-bound\n", got.stderr), got)
        # the interface under it: PERF_FORMAT_LOST
        for mode, want in (("on", "1 1"), ("exec", "0 1"), ("group", "1 1 1"), ("off", "0 0")):
            got = virtual("zen2", lost, mode, path)
            check(got.stdout == want + "\n", mode, path, got)
    # what is entered loses nothing, and an exec that fails does not either
    broken = os.path.join(folder, "broken")
    with open(broken, "wb") as f:
        f.write(b"\177ELF\1\1\1" + bytes(57))
    os.chmod(broken, 0o755)
    for mode, want in (("on", "1 0"), ("exec", "1 0"), ("group", "1 0 0")):
        got = virtual("zen2", lost, mode, plain)
        check(got.stdout == want + "\n" and not got.stderr, mode, got)
    got = virtual("zen2", lost, "on", broken)
    check(got.stdout == "1 0\n" and not got.stderr, "an exec that fails", got)
    got = run(TARE, "stat", "--backend", "soft", "-x,", "-e", "instructions:u", lost, "off", broken, env=ENV)
    check(got.stderr.endswith(",exact\n"), got)
    c = stat("zen2", ["instructions:u"], "sh", "-c", f"{plain}; true")["instructions:u"]
    check(c["provenance"] == "exact" and not c["lower_bound"] and "uncounted" not in c, c)
    unreadable()


def unreadable():
    """A program that may be executed and not read: the launcher finds out at the exec stop. Root
    may read everything, so somebody else runs it."""
    ours = tempfile.mkdtemp(prefix="tare-")     # the build may be where only root may go
    os.chmod(ours, 0o755)
    tare, path = shutil.copy(TARE, ours), os.path.join(ours, "closed")
    shutil.copy(shutil.which("true", path=ENV["PATH"]), path)
    os.chmod(path, 0o111)
    become = (lambda: (os.setgroups([]), os.setgid(65534), os.setuid(65534))) if os.geteuid() == 0 else None
    got = run(tare, "run", "--", tare, "stat", "-x,", "-e", "instructions:u", "sh", "-c", f"{path}; true",
              env={**ENV, "TMPDIR": "/tmp"}, preexec_fn=become, cwd="/")
    check(got.returncode == 0 and re.fullmatch(
        r"\d+,,instructions:u,\d+,100\.00,,,incomplete\+lower-bound\n" +
        warning("closed", "may be executed but not read"), got.stderr), got)
    shutil.rmtree(ours)
    p = run(TARE, "run", "--", TARE, "stat", "--per-thread", "-e", "instructions:u", "true")
    check(p.returncode == 125 and "would keep the virtual PMU out" in p.stderr and
          "outside of `tare run`" in p.stderr, p)


def speclockmap():
    """The report's signature: whole loop bodies too much; the event moves with every locked one."""
    locks = thousand("lock incl (%rdi)\n .rept 20\n nop\n .endr")
    body = 1 + 21 + 2
    plain = stat("zen2", ["instructions:u", "r0825:u"], locks)
    check(plain["r0825:u"]["value"] == 0, plain)
    seen = set()
    for seed in range(4):
        got = stat("zen2", ["instructions:u", "r0825:u"], locks, flaws="speclockmap=8", seed=seed)
        check(got["r0825:u"]["value"] == 1000, got)
        more = got["instructions:u"]["value"] - plain["instructions:u"]["value"]
        check(50 < more // body < 300 and more % body == 0, more, body)
        seen.add(more)
    check(len(seen) > 1, "the same with every seed", seen)
    # nothing is counted again across an exec: a locked instruction, many others, exec
    first = assembled(LOCK_AND_EXEC, "first")
    plain = stat("zen2", ["instructions:u"], first, locks)["instructions:u"]["value"]
    for seed in range(16):
        got = stat("zen2", ["instructions:u", "r0825:u"], first, locks, flaws="speclockmap=8", seed=seed)
        n, more = got["r0825:u"]["value"], got["instructions:u"]["value"] - plain
        check(n == 1001 and 50 < more // body < 300 and more % body == 0, "across an exec", seed,
              more, n)
    for flaws, word in ("speclockmap", "active"), ("", "stays 0"):
        said = json.loads(virtual("zen2", TARE, "doctor", "-j", flaws=flaws).stdout)
        finding = [c["finding"] for c in said["checks"] if c["title"] == "SpecLockMap"]
        check(finding and word in finding[0], flaws, finding)
        # the report's detection: one uncontended locked instruction is enough
        check(not flaws or "moved by 1 over 1 locked" in finding[0], finding)


SPEED = r"""
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct perf_event_attr a = { .size = sizeof(a), .config = PERF_COUNT_HW_INSTRUCTIONS,
				     .exclude_kernel = 1, .exclude_hv = 1 };
	double best = 1e9;
	uint32_t counter = 0;
	if (argc > 1) {
		const int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
		struct perf_event_mmap_page *p = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
		if (fd < 0 || p == MAP_FAILED || !p->index)
			return 1;
		counter = p->index - 1;
	}
	for (int k = 0; k < 20; k++) {
		const double start = now();
		for (int i = 0; i < 200000; i++)
			if (argc > 1)
				__asm__ volatile("lfence\n rdpmc" : : "c"(counter) : "rax", "rdx");
			else
				__asm__ volatile("lfence\n rdtsc" : : : "rax", "rdx");
		const double took = (now() - start) / 200000;
		best = took < best ? took : best;
	}
	printf("%f\n", best);
	return 0;
}
"""


def speed():
    """A serialised rdpmc here costs at most twice a serialised rdtsc natively."""
    prog = program(SPEED, "speed")
    ratios = []
    while not ratios or min(ratios) > 2 and len(ratios) < 40:    # until a moment without neighbours
        native = float(run(prog, env=ENV).stdout)
        got = virtual("zen2", prog, "rdpmc")
        check(got.returncode == 0, got.stderr)
        ratios.append(float(got.stdout) / native)
    print(f"lfence; rdpmc under tare run: {min(ratios):.2f} × lfence; rdtsc natively")
    check(min(ratios) <= 2, ratios)


PHASES = r"""
int main(void)
{
	for (volatile long i = 0; i < 6000000; i++)
		;
	long n = 2000000;	/* not a loop of C, which a compiler may unroll */
	__asm__ volatile("1:\n .rept 30\n nop\n .endr\n dec %0\n jnz 1b" : "+r"(n) : : "cc");
	return 0;
}
"""


def multiplexing(phases):
    """Six counters for eight events: estimates, said to be; --exact runs in parts."""
    events = ["instructions:u", "branches:u", "r00d1:u", "r00c4:u", "r00c8:u", "r00c6:u",
              "r01cb:u", "r0e25:u"]
    alone = {e: stat("zen2", [e], phases)[e]["value"] for e in events}
    got = stat("zen2", events, phases)
    scaled = [e for e in events if got[e]["provenance"] == "scaled"]
    check(len(scaled) >= 6, got)
    off = [abs(got[e]["value"] - alone[e]) / alone[e] for e in scaled if alone[e] > 1000000]
    check(off and max(off) > 0.05, "no estimate is visibly wrong", off)
    for e in scaled:
        check(got[e]["running_ns"] < got[e]["enabled_ns"], got[e])
    got = stat("zen2", events, phases, more=["--exact"])
    check({e: got[e]["value"] for e in events} == alone, got, alone)
    check(all(got[e]["provenance"] == "exact" for e in events), got)


THOUSAND = r"""
	.globl	_start
_start:	fninit
	mov	$1000, %r15
1:	lea	m(%rip), %rdi
	THIS
	dec	%r15
	jnz	1b
	mov	$231, %eax
	xor	%edi, %edi
	syscall
	.bss
	.balign	64
m:	.zero	1024
"""


LOCK_AND_EXEC = r"""
	.globl	_start
_start:	lock incl m(%rip)
	.rept	3000
	nop
	.endr
	mov	$59, %eax
	mov	16(%rsp), %rdi
	lea	16(%rsp), %rsi
	xor	%edx, %edx
	syscall
	ud2
	.bss
m:	.zero	4
"""


def assembled(text, name):
    path = os.path.join(folder, name)
    subprocess.run(["cc", "-nostdlib", "-static", "-o", path, "-xassembler", "-"], check=True,
                   input=text, text=True)
    return path


def thousand(insn):
    """A program that runs it a thousand times, and nothing else to speak of."""
    return assembled(THOUSAND.replace("THIS", insn), "thousand")


def overcounts():
    """What a CPU counts more than once, or not at all: a thousand of each. The paper, sections
    3.1.2 and 3.1.3; a row is the model, the event, the instruction, what one adds."""
    loads, stores, cond = "r01c0:u", "r020b:u", "r01c4:u"
    rows = [
        ("core2", "branches:u", "cpuid", 1), ("core2", loads, "push %rbp\n mov %rsp, %rbp\n leave", 1),
        ("core2", loads, "fnstenv 64(%rdi)", 1), ("core2", loads, "fxsave (%rdi)", 1),
        ("core2", loads, "fnsave (%rdi)", 1), ("core2", loads, "maskmovq %mm0, %mm0", 1),
        ("core2", loads, "maskmovdqu %xmm0, %xmm0", 1), ("core2", loads, "movups %xmm0, (%rdi)", 1),
        ("core2", loads, "movupd %xmm0, (%rdi)", 1), ("core2", loads, "movdqu %xmm0, (%rdi)", 1),
        ("core2", loads, "movss %xmm0, (%rdi)", 0), ("core2", loads, "movdqa %xmm0, (%rdi)", 0),
        ("core2", loads, "movups (%rdi), %xmm0", 0), ("core2", "instructions:u", "fnclex", 0),
        ("nehalem", cond, "pxor %mm0, %mm0", 1), ("nehalem", cond, "xor %eax, %eax", 0),
        ("nehalem", "r010b:u", "paddb (%rdi), %mm0", -1), ("nehalem", "r010b:u", "paddw (%rdi), %xmm0", -1),
        ("nehalem", "r010b:u", "paddq (%rdi), %xmm0", -1), ("nehalem", "r010b:u", "paddd (%rdi), %xmm0", 0),
        ("nehalem", "r010b:u", "paddb %mm0, %mm0", 0), ("nehalem", "branches:u", "cpuid", 0),
        ("nehalem", stores, "cpuid", 1), ("nehalem", stores, "clflush (%rdi)", 1),
        ("westmere", stores, "cpuid", 1), ("westmere", stores, "sfence", 1), ("westmere", stores, "mfence", 1),
        ("westmere", stores, "clflush (%rdi)", 1), ("westmere", stores, "lfence", 0),
        ("westmere", cond, "pxor %mm0, %mm0", 0), ("sandybridge", "branches:u", "cpuid", 0),
        ("sandybridge", cond, "pxor %mm0, %mm0", 0), ("zen2", "instructions:u", "fninit", 0),
    ]
    # AMD before Zen: only if a flag is set, and the first of them clears it
    rows += [(m, "instructions:u", i, 0) for m in ("k10", "bobcat") for i in ("fninit", "fnclex", "fnsave (%rdi)")]
    rows += [(m, "instructions:u", "fninit\n fld1\n fldz\n fdivrp\n " + i, 0.999 if i == "nop" else 1)
             for m in ("k10", "bobcat") for i in ("fninit", "fnclex", "fnsave (%rdi)", "nop")]
    fldcw = [("skylake", "instructions:u", i, n) for i, n in (
        ("fldcw (%rdi)", 1), ("fldenv 64(%rdi)", 1), ("fnsave 128(%rdi)\n frstor 128(%rdi)", 1), ("emms", 1),
        ("maskmovq %mm0, %mm0", 1), ("maskmovdqu %xmm0, %xmm0", 0), ("cvtpd2pi (%rdi), %mm0", 1),
        ("cvttpd2pi (%rdi), %mm0", 1), ("cvtps2pi (%rdi), %mm0", 0), ("sfence", 1), ("mfence", 1),
        ("lfence", 0), ("fnstcw (%rdi)", 0))]
    for flaw, group in ("overcount", rows), ("fldcw", fldcw):
        for model, event, insn, adds in group:
            prog = thousand(insn)
            got = [stat(model, [event], prog, flaws=f)[event]["value"] for f in (flaw, "")]
            want = 1000 * adds + (event == cond and model == "nehalem")	# syscall is 0F 05
            check(got[0] - got[1] == want, model, event, insn, got, "want", want)


def perf_counts(text):
    return {m[2]: int(m[1].replace(",", "")) for m in
            re.finditer(r"^\s*([\d,]+)\s+(\S+:u)", text, re.M)}


def perf(loop):
    if not shutil.which("perf"):
        skipped("perf stat", "perf is not installed (package linux-perf)")
        return
    events = "instructions:u,branches:u"
    env = dict(line.split("=", 1) for line in
               virtual("zen2", "perf", "stat", "-e", events, "--", "env").stdout.splitlines())
    out = os.path.join(folder, "perf.json")
    for command in [loop], ["sh", "-c", "exit 3"], ["sh", "-c", f"{loop} & {loop}; wait"]:
        got = virtual("zen2", "perf", "stat", "-e", events, "--", *command)
        ours = run(TARE, "run", "--cpu", "zen2", "--", TARE, "stat", "--backend", "hw", "-j", "-o", out,
                   "--aslr", "-e", events, "--", *command, env=env)
        want = {c["event"]: c["value"] for c in json.load(open(out))["runs"][0]["counts"]}
        if "&" not in command[-1]:
            check(perf_counts(got.stderr) == want, command, got.stderr, want)
        else:
            near = perf_counts(got.stderr)["instructions:u"] - want["instructions:u"]
            check(abs(near) < 20000, command, near)
        check(got.returncode == ours.returncode, got.returncode, ours.returncode)
    one = perf_counts(virtual("zen2", "perf", "stat", "-e", events, "--", loop).stderr)
    for more in ["-r", "5"], ["-e", "{instructions:u,branches:u}"]:
        words = more if more[0] == "-e" else [*more, "-e", events]
        got = virtual("zen2", "perf", "stat", *words, "--", loop)
        check(perf_counts(got.stderr) == one, more, got.stderr, one)

    def intervals(factor):
        got = virtual("zen2", "perf", "stat", "-I", "100", "-x,", "-e", "instructions:u", "--", "sh", "-c",
                      f"{loop}; sleep {0.25 * factor}; {loop}")
        rows = [line.split(",") for line in got.stderr.splitlines() if "instructions:u" in line]
        parts = [int(r[1]) for r in rows if r[1].isdigit()]
        # perf does not always print the last, incomplete interval
        most = 2 * one["instructions:u"] + 5000000
        check(len(rows) >= 2 and one["instructions:u"] < sum(parts) < most, got.stderr, one)
    given_time(intervals)


PAPI = r"""
#include <papi.h>
#include <stdio.h>

__attribute__((noinline)) static void region(int set, long n, long long d[2])
{
	long long v[2], w[2];
	PAPI_read(set, v);
	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(n) : : "cc");
	PAPI_read(set, w);
	d[0] = w[0] - v[0];
	d[1] = w[1] - v[1];
}

int main(void)
{
	int set = PAPI_NULL;
	long long v[2], one[2], many[2];
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT ||
	    PAPI_create_eventset(&set) || PAPI_add_event(set, PAPI_TOT_INS) ||
	    PAPI_add_event(set, PAPI_BR_INS) || PAPI_start(set))
		return 1;
	region(set, 1, one);
	region(set, 1, one);
	region(set, 1000001, many);
	if (PAPI_stop(set, v))
		return 2;
	printf("%lld %lld\n", many[0] - one[0], many[1] - one[1]);
	if (PAPI_hl_region_begin("loop") || PAPI_hl_region_end("loop"))
		return 3;
	return 0;
}
"""


def papi():
    if not shutil.which("papi_avail") or not os.path.exists("/usr/include/papi.h"):
        skipped("PAPI", "not installed (packages papi-tools and libpapi-dev)")
        return
    got = virtual("haswell", "papi_avail")
    check(re.search(r"PAPI_TOT_INS\s+\S+\s+Yes", got.stdout) and
          "Fast counter read (rdpmc): yes" in got.stdout, got.stdout[:2000])
    check(virtual("haswell", "papi_native_avail").returncode == 0)
    got = virtual("haswell", "papi_command_line", "PAPI_TOT_INS", "PAPI_BR_CN")
    values = dict(re.findall(r"(PAPI_\w+) : \s*(\d+)", got.stdout))
    check(int(values.get("PAPI_TOT_INS", 0)) > 10**8 and int(values.get("PAPI_BR_CN", 0)) > 10**7,
          got.stdout)
    # papi_cost wants cycles, which there are only on request, and then the first derived event
    # that it finds in its list, which is of misses: it gets a list without
    csv = [os.path.join(d, "papi_events.csv") for d, _, f in os.walk("/usr/share/papi")
           if "papi_events.csv" in f][0]
    mine = os.path.join(folder, "papi.csv")
    with open(mine, "w") as f:
        f.write("CPU,amd64_fam17h_zen2\n"
                "PRESET,PAPI_TOT_INS,NOT_DERIVED,RETIRED_INSTRUCTIONS\n"
                "PRESET,PAPI_TOT_CYC,NOT_DERIVED,CYCLES_NOT_IN_HALT\n")
    check("CPU,amd64_fam17h_zen2" in open(csv).read(), "PAPI's name of zen2")
    got = virtual("zen2", "papi_cost", "-t", "200", more=["--cycles"],
                  env={**ENV, "PAPI_CSV_EVENT_FILE": mine})
    check(got.returncode == 0 and "PAPI_start/stop" in got.stdout and
          "PAPI_reset" in got.stdout, got.stdout, got.stderr)
    for model, events in (("nehalem", ["PAPI_TOT_INS"]), ("sandybridge", ["PAPI_TOT_INS", "PAPI_BR_INS", "PAPI_BR_CN"]),
                          ("zen3", ["PAPI_TOT_INS", "PAPI_BR_INS"])):
        got = virtual(model, "papi_command_line", *events)
        check(all(re.search(e + r" : \s*\d\d", got.stdout) for e in events) and "Failed" not in got.stdout,
              model, got.stdout)
    user = program(PAPI, "papi", "-lpapi")
    for model in "haswell", "skylake", "zen2":
        got = virtual(model, user, env={**ENV, "PAPI_EVENTS": "PAPI_TOT_INS",
                                        "PAPI_OUTPUT_DIRECTORY": folder})
        check(got.returncode == 0 and got.stdout == "2000000 1000000\n", model, got)


folder = tempfile.mkdtemp(prefix="run-test")
try:
    loop = program(LOOP, "loop", "-static")
    phases = program(PHASES, "phases", "-static")
    for part, args in ((errors, ()), (ended, ()), (killed, ()), (identity, ()), (paths, ()), (hardware_path, (loop,)),
                       (corrections, (loop,)), (speclockmap, ()), (cycles, ()),
                       (kernel_as_user, ()), (uncounted, ()),
                       (multiplexing, (phases,)), (overcounts, ()),
                       (perf, (loop,)), (papi, ()), (speed, ())):
        if len(sys.argv) < 4 or part.__name__ in sys.argv[3:]:
            part(*args)
finally:
    shutil.rmtree(folder)
cli.finish()
