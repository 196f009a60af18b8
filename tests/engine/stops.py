#!/usr/bin/env python3
"""tare stat --stop-at and --limit: every stop against a single-stepped trace of the same program.

usage: stops.py TARE STEPCOUNT STOPS names|no-names PROGRAM...

no-names: tare is built without tare-symbols.
"""
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import checking             # noqa: E402
import counting             # noqa: E402
from checking import check  # noqa: E402

tare, stepcount, stops, names = sys.argv[1:5]
programs = {os.path.basename(p).removeprefix("asm-"): p for p in sys.argv[5:]}
counting.need_engine()
folder = tempfile.mkdtemp()

REGISTERS = "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip eflags".split()
NAMES = []
RT_SIGRETURN = 15
TRAP_FLAG, RESUME_FLAG = 0x100, 0x10000


def trace(command):
    """[(address, events, {register: value})] of every instruction, single-stepped."""
    path, counts = f"{folder}/states", f"{folder}/counts"
    subprocess.run([stepcount, "-c", "-o", counts, "-s", path, "--", *command], env=counting.ENV,
                   stdout=subprocess.DEVNULL, check=False)
    NAMES[:] = [line.split()[0] for line in open(counts)]       # in the order of the bits
    lines = [[int(w, 16) for w in line.split()] for line in open(path)]
    return [(w[0], w[1], dict(zip(REGISTERS, w[2:]))) for w in lines]


def ignore_usr1():
    """Until the program has a handler."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def stat(options, command, stdout=subprocess.DEVNULL):
    """(exit status, stderr, the JSON result or None, stdout)"""
    path = f"{folder}/result.json"
    if os.path.exists(path):
        os.unlink(path)
    p = subprocess.run([tare, "stat", *options, "-j", "-o", path, "--", *command], env=counting.ENV,
                       stdout=stdout, stderr=subprocess.PIPE, preexec_fn=ignore_usr1)
    result = json.load(open(path)) if os.path.exists(path) else None
    return p.returncode, p.stderr.decode(errors="replace"), result, p.stdout


def dumps(text):
    """[(address of the last instruction, system call or None, registers, counts)]. A register that has
    the process's id, which differs from run to run, is left out."""
    found = []
    for part in text.split("tare: thread ")[1:]:
        last = int(re.search(r"the last one: 0x([0-9a-f]+)", part)[1], 16)
        registers = {a: int(b, 16) for a, b in re.findall(r"\b(\w+)\s+0x([0-9a-f]{16})",
                                                          part.split(" Backtrace")[0])}
        pid = int(re.match(r"\d+", part)[0])
        registers = {r: v for r, v in registers.items() if v != pid}
        call = re.search(r"system call (\d+), which is about to be made", part)
        counts = {b: int(a) for a, b in re.findall(r"^ +(\d+)  (\S+)$", part, re.M)}
        found.append((last, call and int(call[1]), registers, counts))
    return found


def differences(step, dump, flags):
    """Registers at a stop that are not those of the trace. Single-stepping shows in flags that the
    program saves (syscall, pushf), and in r11 of int_arith, which adds to them; a system call has not
    been made yet at a stop. Where stops are far apart, flags that are written again before they are
    read may differ."""
    address, events, want = step
    last, call, got, _ = dump
    wrong = [] if last == address else [("last", hex(last), hex(address))]
    if call is None and events >> NAMES.index("far-transfers") & 1:
        return wrong            # int3 and the like: the next instruction is the handler's first one
    for name in REGISTERS:
        if name not in got or call == RT_SIGRETURN:
            continue
        if call is not None and name in ("rax", "rcx", "r11", "rip", "eflags"):
            continue
        if not flags and name in ("eflags", "r11"):
            continue
        ignored = TRAP_FLAG | (RESUME_FLAG if name == "eflags" else 0)
        if (got[name] ^ want[name]) & ~ignored:
            wrong.append((name, hex(got[name]), hex(want[name])))
    return wrong


def compare(what, steps, found, flags=False):
    check(len(steps) == len(found), what, "stops", len(found), "expected", len(steps))
    for n, (step, dump) in enumerate(zip(steps, found)):
        wrong = differences(step, dump, flags)
        if wrong:
            check(False, what, "stop", n + 1, wrong)
            return


# Every instruction of each program, in order, with all registers.
traces = {}
for name, program in programs.items():
    steps = traces[name] = trace([program])
    status, text, result, _ = stat(["-e", "instructions", "--stop-at", "instructions=1", "--every"],
                                   [program])
    compare(name, steps, dumps(text), flags=name != "int_arith")
    check(result and result["runs"][0]["stops"][0]["hits"] == len(steps), name, result)
    for n, dump in enumerate(dumps(text)):
        if dump[3] != {"instructions": n + 1}:
            check(False, name, "counts at stop", n + 1, dump[3])
            break

# The same by each event; and single stops, for which the code asks elsewhere.
seen = 0
for name, program in programs.items():
    steps = traces[name]
    for bit, event in enumerate(NAMES):
        made = [s for s in steps if s[1] >> bit & 1]
        seen |= bool(made) << bit
        if not made or len(made) > 300:
            continue
        _, text, _, _ = stat(["-e", event, "--stop-at", f"{event}=1", "--every"], [program])
        compare(f"{name} {event}", made, dumps(text))
        for n in {1, len(made) // 2, len(made)} - {0} if len(made) < 40 else {len(made) - 20}:
            _, text, _, _ = stat(["-e", event, "--stop-at", f"{event}={n}"], [program])
            compare(f"{name} {event}={n}", made[n - 1:n], dumps(text))
check(seen == (1 << len(NAMES)) - 1, "an event that no program has", bin(seen))
name, program = max(programs.items(), key=lambda p: len(traces[p[0]]))
steps = traces[name]
for n in range(7, len(steps) + 1, len(steps) // 12):
    _, text, _, _ = stat(["-e", "instructions", "--stop-at", f"instructions={n}"], [program])
    compare(f"{name} instructions={n}", steps[n - 1:n], dumps(text))

# Twice in the same place: a loop of four instructions.
_, text, _, _ = stat(["-e", "instructions", "--stop-at", "instructions=4", "--every"], [programs["smc"]])
check(len(dumps(text)) == len(traces["smc"]) // 4, len(dumps(text)))
_, text, result, _ = stat(["-e", "cond-branches", "--stop-at", "cond-branches=30000", "--every"],
                          [stops, "signals"])
places = [d[0] for d in dumps(text)]
check(len(places) >= 3 and places[1] == places[2], [hex(p) for p in places])

# N beyond the end.
total = len(traces["overhead"])
status, text, result, _ = stat(["--stop-at", f"instructions={total + 1}"], [programs["overhead"]])
check(status == 0 and not dumps(text) and result["runs"][0]["stops"][0]["hits"] == 0, text)
p = subprocess.run([tare, "stat", "--stop-at", "instructions=1G", "--", "true"], stderr=subprocess.PIPE)
check(b"--stop-at instructions=1G: no thread came so far" in p.stderr, p.stderr)
p = subprocess.run([tare, "stat", "-x,", "--stop-at", "instructions=1G", "--", "true"], stderr=subprocess.PIPE)
check(b"--stop-at instructions=1G: no thread came so far" in p.stderr, p.stderr)
# Of several runs, the stops of each.
p = subprocess.run([tare, "stat", "-r", "3", "--stop-at", "instructions=1000", "--then", "continue", "--", "true"],
                   stderr=subprocess.PIPE)
check(b"--stop-at instructions=1000: 1 stop in each run." in p.stderr, p.stderr)
p = subprocess.run([tare, "stat", "-r", "2", "--stop-at", "instructions=10k", "--every", "--then", "continue", "--",
                    "sh", "-c", f"[ -e {folder}/ran ] && for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do "
                                f"for k in 1 2 3 4 5 6 7 8 9; do :; done; done; done; : > {folder}/ran"],
                   stderr=subprocess.PIPE)
check(re.search(rb"--stop-at instructions=10k: from \d+ to \d+ stops in a run\.", p.stderr), p.stderr)


def count_of(result):
    return result["runs"][0]["counts"][0]["value"]


# --then signal, continue. A thread's stops are its count divided by N.
def per_thread(result):
    tasks = {}
    for t in result["runs"][0]["tasks"]:
        tasks[t["tid"]] = tasks.get(t["tid"], 0) + t["counts"][0]["value"]
    return tasks


_, text, result, out = stat(["-e", "instructions", "--stop-at", "instructions=10k", "--every", "--then",
                             "signal:USR1"], [stops, "signals"], subprocess.PIPE)
hits = result["runs"][0]["stops"][0]["hits"]
start = count_of(stat(["-e", "instructions"], [stops])[2]) // 10000      # about, of the loader and libc
check(int(out) > 35 and start - 2 <= hits - int(out) <= start + 2, hits, out, start)
status, _, result, _ = stat(["--stop-at", "instructions=10k", "--then", "signal"], [stops, "signals"])
check(status == 128 + signal.SIGTRAP and result["runs"][0]["counts"][0]["value"] == 10000, status, result)
_, _, result, out = stat(["--stop-at", "cond-branches=50k", "--then", "signal:SIGUSR1"], [stops, "block"],
                         subprocess.PIPE)
check(out == b"0 1\n", out)
for what in ["threads", "fork", "exec"]:
    for n in [997, 50000]:
        _, text, result, _ = stat(["-e", "instructions", "--per-thread", "--stop-at", f"instructions={n}",
                                   "--every", "--then", "continue"], [stops, what])
        tasks = per_thread(result)
        check(result["runs"][0]["stops"][0]["hits"] == sum(c // n for c in tasks.values()), what, n, result)
        check(len(tasks) == {"threads": 3, "fork": 4, "exec": 4}[what], what, tasks)


# Limits: of one process, of a tree that runs one after the other, of threads that run at once.
def limited(event, n, command):
    return stat(["-e", event, "--limit", f"{event}={n}"], command, subprocess.PIPE)


# (A parent runs on after a fork, until it waits.)
at_once = [[stops, "fork"], ["sh", "-c", f"{stops} fork; {stops} exec; {stops} write"], [stops, "threads"]]
for command in [[programs["overhead"]], [stops, "signals"], *at_once]:
    for event in ["instructions", "taken-branches"]:
        _, _, result, _ = stat(["-e", event, "--backend", "soft"], command, subprocess.PIPE)
        total = count_of(result)
        if command[-1] == "threads":
            total += 1000       # (how threads wait for each other differs from run to run)
        if not total:
            continue
        status, text, result, _ = limited(event, total, command)
        check(status == 0 and not result["runs"][0]["limited"], command, event, total, status, text)
        for n in {1, total // 3, total - 1} if command[-1] != "threads" else {1, 600000}:
            if not 0 < n < total:
                continue
            status, text, result, _ = limited(event, n, command)
            run = result["runs"][0]
            check(status == 123 and run["limited"] and run["stops"][0]["ended"], command, event, n, status)
            if command in at_once:      # each of them may make the event that is too much
                check(n < count_of(result) <= n + 3, command, event, n, count_of(result))
                continue
            check(count_of(result) == n + 1, command, event, n, count_of(result))
            again = limited(event, n, command)[2]["runs"][0]
            check(again["stops"][0]["address"] == run["stops"][0]["address"], command, event, n,
                  again["stops"], run["stops"])

# The system call that exceeds the limit is not made; a dump says which one comes.
_, _, result, out = stat(["-e", "syscalls"], [stops, "write"], subprocess.PIPE)
total = count_of(result)
written = [len(limited("syscalls", n, [stops, "write"])[3]) for n in range(total - 12, total)]
check(written[-1] == 10 and written[0] == 0 and all(b - a in (0, 1) for a, b in zip(written, written[1:])),
      written)

# The message, and the exit status of several runs.
p = subprocess.run([tare, "stat", "-r", "3", "--limit", "instructions=1000", "--", stops, "fork"],
                   stderr=subprocess.PIPE)
check(p.returncode == 123 and b"it exceeded --limit instructions=1000" in p.stderr and
      b"at least 1,001" in p.stderr, p)
p = subprocess.run([tare, "stat", "-x,", "-e", "instructions", "--limit", "instructions=1000", "--", stops,
                    "fork"], stderr=subprocess.PIPE)
check(p.returncode == 123 and b"exceeded --limit instructions=1000 and was ended" in p.stderr, p)

# Bad input: one error that names it.
for bad, message in [
        (["--stop-at", "instructions=0"], "from 1 to"),
        (["--stop-at", "instructions"], "is not EVENT=N"),
        (["--stop-at", "=5"], "is not EVENT=N"),
        (["--stop-at", "instructions=x"], "is not a number"),
        (["--stop-at", "instructions=-1"], "is not a number"),
        (["--stop-at", "instructions=1.5"], "is not a number"),
        (["--stop-at", "instructions=99999999999999999999"], "is not a number"),
        (["--stop-at", "nosuchevent=5"], "nosuchevent"),
        (["--stop-at", "cycles=5"], "cannot be stopped at"),
        (["--stop-at", "page-faults=5"], "cannot be stopped at"),
        (["--stop-at", "loads,stores=5"], "more than one event"),
        (["--stop-at", "loads=5", "--backend", "hw"], "single-stepped"),
        (["--null", "--stop-at", "instructions=5", "--limit", "instructions=9", "--backend", "hw"],
         "which can stop at one"),
        (["--null", "--stop-at", "instructions=5", "--backend", "hw", "-D", "20"], "and a delay"),
        (["--stop-at", "instructions=5", "--then", "explode"], "--then wants"),
        (["--stop-at", "instructions=5", "--then", "signal:NOPE"], "no signal"),
        (["--stop-at", "instructions=5", "--then", "dump:1"], "--then wants"),
        (["--stop-at", "instructions=5", "--then", "gdb", "--every"], "cannot be combined"),
        (["--limit", "instructions=0"], "from 1 to"),
        (["--limit", "cycles=5"], "cannot be stopped at"),
        (["--limit", "instructions=5", "--every"], "belong to --stop-at"),
        (["--then", "dump"], "--stop-at"),
        (["--every"], "--stop-at"),
        ([f"--limit=instructions={n + 1}" for n in range(17)], "more than 16")]:
    p = subprocess.run([tare, "stat", *bad, "--", "true"], stderr=subprocess.PIPE)
    text = p.stderr.decode()
    check(p.returncode == 125 and message in text and text.count("tare: ") == 1, bad, p.returncode, text)
p = subprocess.run([tare, "stat", "--limit", "instructions=5", "-p", str(os.getpid())],
                   stderr=subprocess.PIPE)
check(p.returncode == 125 and b"want a command" in p.stderr, p.stderr)

# --then gdb: the process is native, at its own address with its own registers, and its next steps
# are those of the trace.
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
GETREGS, SINGLESTEP, DETACH, SEIZE, INTERRUPT = 12, 9, 17, 0x4206, 0x4207
USER = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp".split()


def registers_of(pid):
    words = (ctypes.c_ulong * 27)()
    check(libc.ptrace(GETREGS, pid, 0, ctypes.addressof(words)) == 0, "PTRACE_GETREGS")
    return dict(zip(USER, words))


def hand_over(name, n):
    steps = traces[name]
    err = open(f"{folder}/err", "w+")
    p = subprocess.Popen([tare, "stat", "-e", "instructions", "-j", "-o", f"{folder}/result.json",
                          "--stop-at", f"instructions={n}", "--then", "gdb", "--", programs[name]],
                         env=counting.ENV, stderr=err)
    while "gdb -p" not in open(err.name).read() and p.poll() is None:
        time.sleep(0.01)
    if not (found := re.search(r"gdb -p (\d+)", open(err.name).read())):
        check(False, name, n, "not stopped", open(err.name).read())
        return
    pid = int(found[1])
    while open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] not in "Tt":
        time.sleep(0.01)
    check(libc.ptrace(SEIZE, pid, 0, 0) == 0, "PTRACE_SEIZE", os.strerror(ctypes.get_errno()))
    libc.ptrace(INTERRUPT, pid, 0, 0)
    os.waitpid(pid, 0x40000000)             # __WALL
    os.kill(pid, signal.SIGCONT)
    call = steps[n - 1][1] >> NAMES.index("syscalls") & 1
    for at in range(n - 1, min(n + 15, len(steps) - 1)):
        now = registers_of(pid)
        wrong = [(r, hex(now[r]), hex(steps[at][2][r])) for r in REGISTERS
                 if (now[r] ^ steps[at][2][r]) & ~(TRAP_FLAG | RESUME_FLAG)]
        if call and at == n - 1:            # the call is made again
            wrong = [] if now["rip"] == steps[at][0] else [("rip", hex(now["rip"]))]
        check(not wrong, name, n, "natively at", at + 1, wrong)
        stopped = 0
        # other stops than SIGTRAP are of SIGCONT; a rep instruction traps after each iteration
        while stopped != signal.SIGTRAP or registers_of(pid)["rip"] == now["rip"]:
            if libc.ptrace(SINGLESTEP, pid, 0, 0) < 0:
                break
            stopped = os.waitpid(pid, 0x40000000)[1] >> 8
    libc.ptrace(DETACH, pid, 0, 0)
    status = p.wait()
    run = json.load(open(f"{folder}/result.json"))["runs"][0]
    check(status == 0 and run["counts"][0]["value"] == n and run["counts"][0]["incomplete"], name, n, status,
          run["counts"])


for name, n in [("overhead", 5), ("stack_use", 300), ("smc", 500), ("smc", len(traces["smc"]) - 20)]:
    hand_over(name, n)
p = subprocess.run([tare, "stat", "--stop-at", "cond-branches=290k", "--then", "gdb", "--", stops, "threads"],
                   stderr=subprocess.PIPE)
check(p.returncode == 0 and b"has several threads" in p.stderr, p.returncode, p.stderr)

# With hardware counters the last events are single-stepped, the first ones by steps alone: that part
# needs no PMU. (tests/kernel has the other one.)
for name, ns in [("overhead", [1, 5, 17]), ("smc", [100, 777]), ("rep_fault", [200, 600]), ("traps", [90])]:
    for n in ns:
        status, text, result, _ = stat(["--null", "--backend", "hw", "--stop-at", f"instructions={n}"],
                                       [programs[name]])
        found = dumps(text)
        check(status == 0 and len(found) == 1 and found[0][0] == traces[name][n - 1][0], name, n, text)
        check(result and result["runs"][0]["stops"][0]["hits"] == 1, name, n, result)
branches = [s for s in traces["smc"] if s[1] >> NAMES.index("branches") & 1]
_, text, _, _ = stat(["--null", "--backend", "hw", "--stop-at", "branches=70"], [programs["smc"]])
check([d[0] for d in dumps(text)] == [branches[69][0]], text)
status, _, result, _ = stat(["--null", "--backend", "hw", "--limit", "instructions=100"], [programs["smc"]])
check(status == 123 and result["runs"][0]["stops"][0]["address"] == traces["smc"][100][0], status, result)
status, _, result, _ = stat(["--null", "--backend", "hw", "--limit", "instructions=9000"], [programs["smc"]])
check(status == 0 and not result["runs"][0]["limited"], status, result)
status, _, _, _ = stat(["--null", "--backend", "hw", "--stop-at", "instructions=50", "--then", "signal:TERM"],
                       [programs["smc"]])
check(status == 128 + signal.SIGTERM, status)

# Functions and lines. (work() is called by main(), or by a function that main() calls.)
_, text, _, _ = stat(["--stop-at", "cond-branches=90k"], [stops, "signals"])
trail = re.findall(r"^   #\d+ +0x[0-9a-f]+  (.*)$", text, re.M)
if names == "names":
    check(trail and re.match(r"work\+0x[0-9a-f]+ \(.*stops\.c:\d+\), stops\+0x", trail[0]), text)
    check(any(re.match(r"main\+", t) for t in trail), trail)
else:
    check(trail and re.match(r"stops\+0x[0-9a-f]+$", trail[0]), text)

# The example.
judge = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/judge/judge.py")
for test, given, wanted in [("a", "1\n", "1\n"), ("b", "2\n", "3\n"), ("c", "1\n" * 20000, "1\n")]:
    open(f"{folder}/{test}.in", "w").write(given)
    open(f"{folder}/{test}.out", "w").write(wanted)
p = subprocess.run([sys.executable, judge, "--tare", tare, "--limit", "3000000", folder, "--", "sort", "-u"],
                   stdout=subprocess.PIPE)
check(p.returncode == 1 and re.match(rb"a  OK  .*\nb  WRONG ANSWER  .*\nc  LIMIT EXCEEDED  3,000,001 ",
                                     p.stdout), p)
checking.finish()
