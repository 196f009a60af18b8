#!/usr/bin/env python3
"""tare stat with the software engine: the same number on every run, and everything that
stat promises about a run. usage: stat-soft.py TARE PAGES"""
import json, os, re, resource, shutil, signal, subprocess, sys, tempfile
from cli import (can_refuse, check, check_schema, finish, given_time, need_engine, perf_refused, refuse, run,
                 skipped, until_busy, until_run)

tare, pages = map(os.path.abspath, sys.argv[1:3])
soft = ("stat", "--backend", "soft")
need_engine(tare)


def stat(*args, **how):
    with tempfile.NamedTemporaryFile() as f:
        p = run(tare, *soft, "-j", "-o", f.name, *args, **how)
        r = json.loads(open(f.name).read() or "null")
    if r:
        check_schema(r, "tare.stat-1")
        check(r["backend"] == "soft", r["backend"])
    return p, r


# Hundreds of starts: none is missed by the tracer, all give the same number (without
# ld.so.cache, which changes when something is installed meanwhile).
p, r = stat("-r", "400", "-e", "instructions:u", "/lib64/ld-linux-x86-64.so.2", "--inhibit-cache",
            "/bin/true")
check(p.returncode == 0 and r["summary"][0]["n"] == 400, p)
check(r["summary"][0]["min"] == r["summary"][0]["max"] > 0, r["summary"])

# The default events, exact, of user mode, and the same every time.
p, r = stat("-r", "5", "true")
check([s["event"] for s in r["summary"]] ==
      ["instructions", "branches", "cond-branches", "loads", "stores"], r["summary"])
for s in r["summary"]:
    check(s["n"] == 5 and s["min"] == s["max"] > 0 and s["provenance"] == "exact", s)
check(all(c["user_only"] for c in r["runs"][0]["counts"]), "user_only")
again = stat("true")[1]
check([c["value"] for c in again["runs"][0]["counts"]] == [s["min"] for s in r["summary"]],
      "another call, the same counts")
_, u = stat("-e", "instructions:u", "true")
check(u["runs"][0]["counts"][0]["value"] == r["summary"][0]["min"], "alone, the same count")
check(not u["runs"][0]["counts"][0]["user_only"], "asked for user mode")
# Text says what it is.
p = run(tare, *soft, "-r", "2", "-e", "instructions:u", "true")
number = f"{r['summary'][0]['min']:,}"
check(re.search(rf"^ +{number} ±0 +instructions:u +exact$", p.stderr, re.M), p.stderr)
check("software engine" in p.stderr and "slowed by the engine" in p.stderr, p.stderr)

# Kernel events beside it, in the same run, and marked.
if perf_refused(tare):
    skipped("kernel events beside the engine", perf_refused(tare))
else:
    _, r = stat("-e", "page-faults,instructions:u,task-clock", pages, "100")
    faults, instructions, clock = r["runs"][0]["counts"]
    check(faults["perturbed"] and clock["perturbed"] and not instructions["perturbed"], r["runs"][0])
    check(faults["provenance"] == "raw" and faults["value"] > 100, faults)
    check(instructions["provenance"] == "exact", instructions)
    check(clock["value"] > 0, clock)

# Tasks by themselves: a process, its child, its thread; they add up.
_, r = stat("--per-thread", "-e", "instructions:u,branches:u", pages, "10", "20", "30")
tasks = r["runs"][0]["tasks"]
check([(t["is_thread"], t["pid"] == t["tid"]) for t in tasks] ==
      [(False, True), (False, True), (True, False)], tasks)
for k in range(2):
    check(sum(t["counts"][k]["value"] for t in tasks) == r["runs"][0]["counts"][k]["value"], r)
_, alone = stat("--no-inherit", "-e", "instructions:u", pages, "10", "20")
_, whole = stat("-e", "instructions:u", pages, "10", "20")
check(alone["runs"][0]["counts"][0]["value"] < whole["runs"][0]["counts"][0]["value"],
      "--no-inherit")

# Output, status and failure are the command's.
for command, status in (("exit 3", 3), ("kill -TERM $$", 143)):
    p = run(tare, *soft, "-e", "instructions:u", "sh", "-c", "echo out; echo err >&2; " + command)
    check(p.returncode == status and p.stdout == "out\n" and p.stderr.startswith("err\n"), p)
p = run(tare, *soft, "-e", "instructions:u", "no-such-command-here")
check(p.returncode == 127 and "command not found" in p.stderr, p.stderr)
p, r = stat("--timeout", "500", "-e", "instructions:u", "sleep", "9999")
check(p.returncode == 124 and r["runs"][0]["timed_out"], p.returncode)
with tempfile.TemporaryDirectory() as d:
    fifo = f"{d}/fifo"
    os.mkfifo(fifo)
    p = subprocess.Popen([tare, *soft, "-e", "instructions:u", "-r", "10", "-j", "-o", "-", "cat", fifo],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until_run(p.pid, 3, fifo)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=600)
r = json.loads(out)
check(p.returncode == 130 and r["summary"][0]["n"] == 2, p.returncode, err)
check(r["summary"][0]["min"] == r["summary"][0]["max"], "±0 of what there is", r["summary"])

# What could not be counted to its end is named, and the total is a bound, not exact proof.
p, r = stat("-e", "instructions:u", "sh", "-c", "kill -9 $$")       # reported before
check(p.returncode == 137, p.returncode)
check(r["summary"][0]["min"] > 10000 and not r["summary"][0]["lower_bound"], r["summary"])
p, r = stat("-e", "instructions:u", "sh", "-c", "(sleep 9999) & sleep 0.1; kill -9 $!; wait $!")
check(p.returncode == 137, p.returncode)
check(r["runs"][0]["counts"][0]["lower_bound"] and r["summary"][0]["lower_bound"], r["runs"][0])
check(not stat("-e", "instructions:u", "true")[1]["summary"][0]["lower_bound"], "a full count")
for c in r["runs"][0]["counts"][0], r["summary"][0]:
    check(c["provenance"] == "incomplete" and c["incomplete"] and c["lower_bound"], c)
# A task of which nothing is known has no count, which is not a count of 0; and nowhere is an
# incomplete count called exact.
killed = ("sh", "-c", "sleep 9999 & kill -9 $!; wait")
p, r = stat("-e", "instructions:u", *killed)
lost = [t for t in r["runs"][0]["tasks"] if t["cut_off"]]
check(len(lost) == 1, r["runs"][0]["tasks"])
for c in lost[0]["counts"]:
    check((c["value"] is None and c["provenance"] is None and c["error"] == "NOT_COUNTED") or
          (c["value"] > 0 and c["provenance"] == "incomplete" and c["incomplete"]), c)
p = run(tare, *soft, "-e", "instructions:u", *killed)
check(re.search(r"^ *at least [\d,]+ +instructions:u +incomplete$", p.stderr, re.M), p.stderr)
check("exact" not in p.stderr and not re.search(r"^ +0 ", p.stderr, re.M), p.stderr)
p = run(tare, *soft, "-x,", "-e", "instructions:u", *killed)
check(re.fullmatch(r"[1-9]\d*,,instructions:u,0,100\.00,,,incomplete\+lower-bound\n"
                   r"tare: warning: process \d+ \(\w+\) was not counted to its end: killed .*\n", p.stderr), p.stderr)
# A command that cannot be entered has no count, which is not a count of 0.
if os.geteuid() == 0 and os.path.exists("/bin/su"):
    nobody = lambda: (os.setgroups([]), os.setgid(65534), os.setuid(65534))
    ours = tempfile.mkdtemp(prefix="tare-")      # the build may be where only root may go
    os.chmod(ours, 0o755)
    anybodys = shutil.copy(tare, ours)
    p = run(anybodys, *soft, "-j", "-o", "-", "-e", "instructions:u", "sh", "-c", "exec /bin/su --help >&2",
            preexec_fn=nobody, cwd="/")
    r = json.loads(p.stdout)
    check(r["runs"][0]["counts"][0]["lower_bound"] and "set-uid" in p.stdout, r["runs"])
    p = run(anybodys, *soft, "-j", "-o", "-", "-e", "instructions:u", "/bin/su", "--help",
            preexec_fn=nobody, cwd="/")
    r = json.loads(p.stdout[p.stdout.index('{\n'):])
    check_schema(r, "tare.stat-1")
    c = r["runs"][0]["counts"][0]
    check(p.returncode == 0 and c["state"] == "not-opened" and c["error"] == "NOT_COUNTED", c)
    check(r["runs"][0]["tasks"][0]["comm"] == "su", r["runs"][0]["tasks"])
    p = run(anybodys, *soft, "-e", "instructions:u", "/bin/su", "--help", preexec_fn=nobody, cwd="/")
    check("<not counted>" in p.stderr and "set-uid" in p.stderr, p.stderr)
    p = run(anybodys, *soft, "-x,", "-e", "instructions:u", "/bin/su", "--help", preexec_fn=nobody, cwd="/")
    check(p.stderr.startswith("<not counted>,,instructions:u"), p.stderr)
    p = run(anybodys, *soft, "--refuse-uncounted", "-e", "instructions:u", "/bin/su", "--help",
            preexec_fn=nobody, cwd="/")
    check(p.returncode == 125 and "set-uid" in p.stderr and "tare: " in p.stderr, p)
    shutil.rmtree(ours)
else:
    skipped("set-uid programs", "only root can become another user, and /bin/su must be there")
# Inside another tracer: told apart from ptrace that is forbidden.
if shutil.which("strace"):
    for backend, what in (("soft", "entering true"), ("hw", "following each thread of true")):
        if backend == "hw" and perf_refused(tare):
            skipped("kernel events inside a tracer", perf_refused(tare))
            continue
        p = run("strace", "-f", "-o", "/dev/null", tare, "stat", "--backend", backend, "--per-thread",
                "-e", "instructions:u" if backend == "soft" else "page-faults", "true")
        check(p.returncode == 125 and what in p.stderr and "traced already" in p.stderr, p)
else:
    skipped("inside a tracer", "strace is not installed")
# tare in tare: both count, and the outer one says what it did not see.
p = run(tare, *soft, "-e", "instructions:u", "--", tare, *soft, "-e", "instructions:u", "-x,", "true")
check(p.returncode == 0, p)
alone = run(tare, *soft, "-e", "instructions:u", "-x,", "true").stderr.split(",")[0]
inner = re.search(r"^(\d+),,instructions:u", p.stderr, re.M)
check(inner and inner[1] == alone, "inside another tare", alone, p.stderr)
check(re.search(r"at least [\d,]+ +instructions:u +incomplete", p.stderr) and "true): not counted" in p.stderr, p.stderr)
# Signals that come while a program is being entered wait, whether it ignores them or not:
# it is entered all the same, and none is lost.
for storm in ("kill -WINCH $p", "kill -STOP $p; kill -CONT $p"):
    p, r = stat("-e", "instructions:u", "sh", "-c", "i=0; while [ $i -lt 20 ]; do /bin/true & p=$!; "
                f"j=0; while [ $j -lt 60 ]; do {storm}; j=$((j+1)); done; wait $p || exit 1; "
                "i=$((i+1)); done")
    check(p.returncode == 0 and not r["runs"][0]["counts"][0]["lower_bound"], storm, p, r["runs"])
p, r = stat("-e", "instructions:u", "sh", "-c", "i=0; while [ $i -lt 40 ]; do sleep 9999 & j=0; while "
            "[ $j -lt $i ]; do j=$((j+1)); done; kill $!; wait $!; [ $? = 143 ] || exit 1; "
            "i=$((i+1)); done")
check(p.returncode == 0, "a signal was lost", p)
# Too few descriptors is an error too, or it works: never an exact 0.
for n in range(4, 16):
    p = run(tare, *soft, "-x,", "-e", "instructions:u", "true",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
    check(p.returncode == 125 and p.stderr.startswith("tare: ") or
          p.returncode == 0 and re.match(r"[1-9]\d+,,instructions:u,.*,exact$", p.stderr.strip()), n, p)

# Intervals are read from the running process; they add up to what it reports at its end, and
# looking changes nothing.
# (A machine may be too fast for so short a file, or too busy to look every 20 ms. A shell
# would not do: it writes its parent's number, and 9,999 takes fewer steps than 10,000.)
zeros = tempfile.NamedTemporaryFile(prefix="tare-")
for mib in (16 << k for k in range(7)):
    zeros.truncate(mib << 20)
    summing = ("sha256sum", zeros.name)
    _, unseen = stat("-e", "instructions:u,branches:u", *summing)
    _, r = stat("-I", "20", "-e", "instructions:u,branches:u", *summing)
    parts = r["runs"][0]["intervals"]
    for k in range(2):
        total = r["runs"][0]["counts"][k]["value"]
        check(total == unseen["runs"][0]["counts"][k]["value"], "intervals change the count", total,
              unseen["runs"][0])
        check(sum(i["counts"][k]["value"] for i in parts) == total, "intervals do not add up", parts)
    if sum(i["counts"][0]["value"] > 0 for i in parts) > 5:
        break
else:
    check(False, "too short for intervals, or all in one", parts)
# With threads and children that come and go while they are looked at.
loop = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"
busy = ("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do (" + loop + ") & "
        + pages + " 5 5 5; done; wait")
_, r = stat("-I", "1", "-e", "branches:u", *busy)
for run_ in r["runs"]:
    check(sum(i["counts"][0]["value"] for i in run_["intervals"]) == run_["counts"][0]["value"],
          "intervals of a tree do not add up")
    check(not run_["counts"][0]["lower_bound"], "all of it reported")


def in_fields(_):
    p = run(tare, *soft, "-x,", "-I", "20", "-e", "instructions:u", *summing)
    check(p.stderr.count(",instructions:u,") > 2 and all(float(t.split(",")[0]) > 0
          for t in p.stderr.splitlines()), p.stderr)


given_time(in_fields)

# A command that has to be killed is looked at before: what it counted so far is told.
stubborn = ("sh", "-c", "trap '' TERM; while :; do :; done")


def has_to_be_killed(factor):
    p, r = stat("--timeout", str(700 * factor), "-e", "instructions:u", *stubborn)
    killed = r["runs"][0]
    check(p.returncode == 124 and killed["timed_out"] and killed["exit_status"] == 137, p, killed)
    check(killed["counts"][0]["value"] > 1000000 and killed["counts"][0]["lower_bound"], killed)
    check("counted until" in killed["tasks"][0]["cut_off"], killed["tasks"])


given_time(has_to_be_killed)
p = subprocess.Popen([tare, *soft, "-e", "instructions:u", "-j", "-o", "-", *stubborn],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
until_busy(p.pid, "sh", 0.3)
p.send_signal(signal.SIGINT)
out, err = p.communicate(timeout=600)
killed = json.loads(out)["runs"][0]
check(p.returncode == 130 and killed["counts"][0]["value"] > 1000000, p.returncode, killed)


def out_of_time(factor):
    p, r = stat("-e", "instructions:u", "sh", "-c", f"ulimit -t {factor}; while :; do :; done")
    check(p.returncode == 137, "killed for its CPU time", p.returncode)
    check(r["runs"][0]["counts"][0]["value"] > 1000000, r["runs"][0])


given_time(out_of_time)


# What the command leaves running is counted until the command ends.
def left_running(factor):
    with tempfile.TemporaryDirectory() as d:
        p, r = stat("-e", "instructions:u", "sh", "-c",
                    f"(while :; do :; done) >/dev/null 2>&1 & echo $! >{d}/pid; sleep {factor}")
        os.kill(int(open(f"{d}/pid").read()), signal.SIGKILL)
    left = [t for t in r["runs"][0]["tasks"] if t["cut_off"]]
    check(len(left) == 1 and left[0]["cut_off"].startswith("still running: counted until"), left)
    check(left[0]["counts"][0]["value"] > 1000000 < r["runs"][0]["counts"][0]["value"], left)


given_time(left_running)

# Where the kernel's counters are forbidden the engine still counts, and where ptrace is,
# it says what to change.
if can_refuse():
    p = run(tare, "stat", "-x,", "true", preexec_fn=refuse("perf_event_open"))
    check(p.returncode == 0 and ",exact" in p.stderr, p.stderr)
    p = run(tare, *soft, "-e", "instructions:u", "true", preexec_fn=refuse("ptrace"))
    check(p.returncode == 125 and "ptrace is refused" in p.stderr and "SYS_PTRACE" in p.stderr,
          p.stderr)
else:
    skipped("refusals", "no seccomp filter can be installed here")

# Both corrections of a whole run, on a virtual CPU whose counters have an interrupt event:
# the pair and the kernel's page faults are subtracted, one as the other.
if not perf_refused(tare):
    p = run(tare, "run", "--cpu", "zen2", "--flaws", "interrupts", "--", tare, "stat", "-x,", "-e",
            "instructions-minus-irqs:u,page-faults:u,instructions-minus-irqs-minus-page-faults:u,"
            "instructions-minus-page-faults-minus-irqs:u", pages, "100")
    corrected, faults, both, other = (int(line.split(",")[0]) for line in p.stderr.splitlines())
    check(faults > 100 and both == other == corrected - faults, p)
    # Totals are of the machine, which a virtual PMU does not share: no longer exact.
    p = run(tare, "run", "--cpu", "zen2", "--", tare, "stat", "-x,", "-e", "instructions:u,"
            "instructions-minus-irqs:u,instructions-minus-page-faults:u,"
            "instructions-minus-proc-interrupts:u", pages, "100")
    check([line.split(",")[-1] for line in p.stderr.splitlines()] ==
          ["exact", "exact", "corrected", "corrected"], p)
else:
    skipped("corrections by kernel events", perf_refused(tare))
p = run(tare, *soft, "-x,", "-e", "instructions:u,instructions-minus-irqs-minus-page-faults:u", "true")
alone, both = (line.split(",") for line in p.stderr.splitlines())
check(alone[0] == both[0] and both[-1] == "exact", "the engine has nothing to subtract", p.stderr)

# compare: proof to the last instruction.
with tempfile.TemporaryDirectory() as d:
    for name, n, runs in (("a", "10", "2"), ("b", "10", "1"), ("c", "11", "1")):
        run(tare, *soft, "-j", "-o", f"{d}/{name}", "-e", "instructions:u", "-r", runs, pages, n)
    check(run(tare, "compare", f"{d}/a", f"{d}/b").returncode == 0, "the same")
    p = run(tare, "compare", f"{d}/a", f"{d}/c")
    check(p.returncode == 1 and "exact" in p.stdout, p.stdout)
    # A count that lacks what somebody was killed over is no proof, even of itself.
    run(tare, *soft, "-j", "-o", f"{d}/k", "-e", "instructions:u", "sh", "-c",
        "(sleep 9999) & sleep 0.1; kill -9 $!")
    p = run(tare, "compare", f"{d}/k", f"{d}/k")
    check(p.returncode == 2 and "processes were cut off" in p.stdout, p.stdout)
    p = run(tare, "compare", "--threshold", "instructions:u=5%", f"{d}/k", f"{d}/k")
    check(p.returncode == 0, p.stdout)
finish()
