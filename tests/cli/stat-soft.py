#!/usr/bin/env python3
"""tare stat with the software engine: the same number on every run, and everything that
stat promises about a run. usage: stat-soft.py TARE PAGES"""
import json, os, re, signal, subprocess, sys, tempfile, time
from cli import can_refuse, check, check_schema, finish, refuse, run

tare, pages = map(os.path.abspath, sys.argv[1:3])
soft = ("stat", "--backend", "soft")
p = run(tare, *soft, "-e", "instructions:u", "true")
if p.returncode:
    print("skipped:", p.stderr.splitlines()[0])
    sys.exit(77)


def stat(*args, **how):
    with tempfile.NamedTemporaryFile() as f:
        p = run(tare, *soft, "-j", "-o", f.name, *args, **how)
        r = json.loads(open(f.name).read() or "null")
    if r:
        check_schema(r, "tare.stat-1")
        check(r["backend"] == "soft", r["backend"])
    return p, r


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
p, r = stat("--timeout", "0.5", "-e", "instructions:u", "sleep", "30")
check(p.returncode == 124 and r["runs"][0]["timed_out"], p.returncode)
p = subprocess.Popen([tare, *soft, "-e", "instructions:u", "-r", "10", "-j", "-o", "-",
                      "sleep", "0.4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(1.5)
p.send_signal(signal.SIGINT)
out, err = p.communicate(timeout=30)
r = json.loads(out)
check(p.returncode == 130 and 1 <= r["summary"][0]["n"] < 10, p.returncode, err)
check(r["summary"][0]["min"] == r["summary"][0]["max"], "±0 of what there is", r["summary"])

# What could not be counted to its end is named, and the total is a bound, not exact proof.
p, r = stat("-e", "instructions:u", "sh", "-c", "kill -9 $$")
check(p.returncode == 137, p.returncode)
if r["runs"][0].get("tasks"):
    check(r["runs"][0]["counts"][0]["lower_bound"] and r["summary"][0]["lower_bound"], r["runs"][0])
check(not stat("-e", "instructions:u", "true")[1]["summary"][0]["lower_bound"], "a full count")
# No intervals of what is known only at the end.
p = run(tare, *soft, "-I", "50", "-e", "page-faults,instructions:u", "true")
check(p.returncode == 125 and "intervals of instructions:u" in p.stderr, p.stderr)

# Where the kernel's counters are forbidden the engine still counts, and where ptrace is,
# it says what to change.
if can_refuse():
    p = run(tare, "stat", "-x,", "true", preexec_fn=refuse("perf_event_open"))
    check(p.returncode == 0 and ",exact" in p.stderr, p.stderr)
    p = run(tare, *soft, "-e", "instructions:u", "true", preexec_fn=refuse("ptrace"))
    check(p.returncode == 125 and "ptrace is refused" in p.stderr and "SYS_PTRACE" in p.stderr,
          p.stderr)

# compare: proof to the last instruction.
with tempfile.TemporaryDirectory() as d:
    for name, n in (("a", "10"), ("b", "10"), ("c", "11")):
        run(tare, *soft, "-j", "-o", f"{d}/{name}", "-e", "instructions:u", pages, n)
    check(run(tare, "compare", f"{d}/a", f"{d}/b").returncode == 0, "the same")
    p = run(tare, "compare", f"{d}/a", f"{d}/c")
    check(p.returncode == 1 and "exact" in p.stdout, p.stdout)
finish()
