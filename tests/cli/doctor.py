#!/usr/bin/env python3
"""tare doctor tells the truth about this machine.

What it says is compared with what this script finds out by other means; then
the machine is made worse (a seccomp filter, no privileges, LD_PRELOAD) and the
doctor must notice. usage: doctor.py TARE
"""
import ctypes, errno, gzip, json, os, platform, pty, re, struct, subprocess, sys

from cli import check, check_schema, finish, skipped

tare = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
NR = {"x86_64": dict(perf=298, ptrace=101, personality=135),
      "aarch64": dict(perf=241, ptrace=117, personality=92)}[platform.machine()]


def doctor(*args, before=None, env=None):
    p = subprocess.run([tare, "doctor", *args], capture_output=True, text=True,
                       preexec_fn=before, env=env)
    return p.returncode, p.stdout, p.stderr


def report(**how):
    status, out, err = doctor("-j", **how)
    r = json.loads(out)
    check(status == r["exit_status"], "exit status", status, r["exit_status"])
    found = {c["check"] + ":" + c["code"]: c for c in r["checks"]}
    check_schema(r, "tare.doctor-1")
    check(r["status"] == {0: "good", 1: "cannot-count", 2: "caveats"}[status], r["status"])
    for c in r["checks"]:
        check(c["verdict"] in ("good", "info") or (c["meaning"] and c["remedy"]), c)
    worst = {c["verdict"] for c in r["checks"]}
    check((status == 0) == (r["hardware"] and not worst & {"caveat", "bad"}), status, worst)
    check((status == 1) == (not r["hardware"] and not r["engine"]), status)
    return r, found


def perf_open(kind, config):
    """errno of opening the event, user mode only, for this thread; 0: it opened."""
    attr = struct.pack("<IIQQQQQ", kind, 112, config, 0, 0, 0, 1 << 0 | 1 << 5 | 1 << 6)
    fd = libc.syscall(NR["perf"], attr.ljust(112, b"\0"), 0, -1, -1, 0)
    if fd < 0:
        return ctypes.get_errno()
    os.close(fd)
    return 0


def first_line(path):
    try:
        with open(path) as f:
            return f.readline().strip()
    except OSError:
        return None


def has(found, name):
    check(name in found, "does not find", name, "but", sorted(found))
    return found.get(name, {"finding": "", "remedy": ""})


# This machine as it is.
r, found = report()
software, hardware = perf_open(1, 9), perf_open(0, 1)
check((software == 0) == ("perf:works" in found), "perf", software)
if hardware == 0:
    check(any(n.startswith("pmu:present") or n == "pmu:simulated" for n in found), "pmu is there")
elif hardware in (errno.ENOENT, errno.EOPNOTSUPP):
    hidden = "hypervisor" in open("/proc/cpuinfo").read()
    has(found, "pmu:hidden" if hidden else "pmu:missing")
    check(not r["hardware"], "hardware counts without a PMU")
    for name in ("rdpmc", "counters", "counting"):
        has(found, name + ":no-pmu")
level = first_line("/proc/sys/kernel/perf_event_paranoid")
if level is not None:
    said = next(c for n, c in found.items() if n.startswith("paranoid:"))
    check(said["finding"] == f"kernel.perf_event_paranoid is {level}", said["finding"])
if os.path.exists("/proc/config.gz"):
    hz = re.search(r"^CONFIG_HZ=(\d+)", gzip.open("/proc/config.gz", "rt").read(), re.M).group(1)
    check(has(found, "tick:rate")["finding"].startswith(f"CONFIG_HZ={hz}:"), "tick", hz)
thp = first_line("/sys/kernel/mm/transparent_hugepage/enabled")
if thp:
    has(found, "huge-pages:always" if "[always]" in thp else "huge-pages:some")
clock = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
check(any(n.startswith("clock:") and (c["finding"] + " ").startswith(f"{clock} ")
          for n, c in found.items()) or not clock, "clock", clock)

check(r["engine"] == (platform.machine() == "x86_64"), "the engine runs on x86-64")

# Text: the conclusion first, every check, the width kept.
status, out, err = doctor()
check(status == r["exit_status"] and err == "", "text", status, err)
check(out.splitlines()[0] == r["conclusion"], out.splitlines()[0])
for c in r["checks"]:
    check(any(c["title"] in line and line.startswith(c["verdict"]) for line in out.splitlines()),
          "no row for", c["title"])
check("\033" not in out, "colour without a terminal")
long = [line for line in out.splitlines()[1:] if len(line) > 80 and " " in line.strip()]
check(not [line for line in long if len(line.split()) > 3 and "wrmsr" not in line], long)


def in_terminal(env):
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(tare, [tare, "doctor"], env)
    out = b""
    try:
        while chunk := os.read(fd, 4096):
            out += chunk
    except OSError:
        pass
    os.close(fd)
    os.waitpid(pid, 0)
    return out


env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LD_PRELOAD", "MALLOC_CONF")}
check(b"\033[" in in_terminal({**env, "TERM": "xterm"}), "no colour on a terminal")
check(b"\033[" not in in_terminal({**env, "TERM": "xterm", "NO_COLOR": "1"}), "NO_COLOR")


# The machine made worse: system calls refused by a seccomp filter.
def refuse(*calls):
    def install():
        def op(code, jt, jf, k):
            return struct.pack("<HBBI", code, jt, jf, k)
        prog = op(0x20, 0, 0, 0)                        # load the call's number
        for i, nr in enumerate(calls):
            prog += op(0x15, len(calls) - i, 0, nr)     # equal: to the refusal
        prog += op(0x06, 0, 0, 0x7fff0000) + op(0x06, 0, 0, 0x00050000 | errno.EPERM)
        code = ctypes.create_string_buffer(prog)
        fprog = struct.pack("<HxxxxxxQ", len(prog) // 8, ctypes.addressof(code))
        libc.prctl(38, 1, 0, 0, 0)                      # no new privileges
        if libc.prctl(22, 2, ctypes.c_char_p(fprog), 0, 0):
            os._exit(99)
    return install


can_filter = subprocess.run(["true"], preexec_fn=refuse(NR["perf"])).returncode == 0
if can_filter:
    r, found = report(before=refuse(NR["perf"]))
    has(found, "perf:seccomp"), has(found, "seccomp:refuses"), has(found, "pmu:refused")
    check(not r["hardware"], "counts although refused")
    r, found = report(before=refuse(NR["perf"], NR["ptrace"], NR["personality"]))
    check(r["exit_status"] == 1 and r["conclusion"].startswith("cannot count: "), r["conclusion"])
    if platform.machine() == "x86_64":
        has(found, "engine:seccomp")
    if first_line("/proc/sys/kernel/randomize_va_space") != "0":
        has(found, "aslr:refused")
    r, found = report(before=refuse(NR["personality"]))
    if software == 0:
        has(found, "seccomp:passes")
else:
    skipped("findings about seccomp", "no seccomp filter can be installed here")

# Without privileges.
if os.geteuid() == 0:
    r, found = report(before=lambda: (os.setgid(65534), os.setuid(65534)))
    has(found, "capabilities:none")
    if level == "2" and software == 0:
        check("user mode only" in has(found, "perf:works")["finding"], "unprivileged")
else:
    skipped("the report to another user", "only root can become another user")

# jemalloc, by its name alone (the library need not be there).
_, found = report(env={**env, "LD_PRELOAD": "/nowhere/libjemalloc.so.2"})
timed = has(found, "jemalloc:timed")
check("less than a second" in " ".join(map(str, timed.values())), "how long a run must be", timed)
_, found = report(env={**env, "LD_PRELOAD": "/nowhere/libjemalloc.so.2",
                       "MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"})
has(found, "jemalloc:still")

# Bad input, bad output.
for args in (["--nonsense"], ["operand"]):
    status, out, err = doctor(*args)
    check(status == 125 and out == "" and err.startswith("tare: ") and args[0] in err, args, err)
for where in ("/dev/full", None):
    p = subprocess.run(f"exec '{tare}' doctor " + (f"> {where}" if where else ">&-"), shell=True,
                       stderr=subprocess.PIPE, text=True)
    check(p.returncode == 1 and p.stderr.startswith("tare: "), where, p)

finish()
