#!/usr/bin/env python3
"""Stops with hardware counters, on the virtual PMU with skid: each one against the engine's own stop.

usage: stops-skid.py TARE KERNEL PLAIN IGNORED

The engine's stops are compared with single-stepping in stops.py. KERNEL does the same in each round: with
a period that has no factor in common with the length of a round, stops come to every place of it.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import checking             # noqa: E402
import counting             # noqa: E402
from checking import check  # noqa: E402

tare, kernel, plain, ignored = sys.argv[1:5]
counting.need_engine()
# More than what is stepped without a counter (STEP_ONLY of measure-stop.c, and the margin); a prime.
PERIOD = 10607


def run(command):
    p = subprocess.run(command, env=counting.ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p.returncode, p.stderr.decode(errors="replace")


def stat(options, command):
    return run([tare, "stat", *options, "--", *command])


def stat_hw(options, command, *world):
    return run([tare, "run", "--flaws", "skid", *world, "--", tare, "stat", "--backend", "hw", *options, "--",
                *command])


def dumps(text):
    """[(count, last instruction, {register: value})]. In the program itself all registers; in the
    dynamic linker, which reads the clock of the CPU, none. Flags may be written again before they are
    read; process ids differ. Of the first thread: the hardware stops no other."""
    found = []
    for part in text.split("tare: thread ")[1:]:
        tid, pid = re.match(r"(\d+) of process (\d+)", part).groups()
        if tid != pid:
            continue
        pid = int(pid)
        count = int(re.search(r"stopped after (\d+)", part)[1])
        last = int(re.search(r"the last one: 0x([0-9a-f]+)", part)[1], 16)
        registers = {a: int(b, 16) for a, b in re.findall(r"\b(\w+)\s+0x([0-9a-f]{16})",
                                                          part.split(" Backtrace")[0])}
        del registers["eflags"], registers["r11"]
        if "about to be made" in part:
            registers = {}              # the hardware stops after a system call
        elif last > 0x700000000000:
            registers = {"rip": registers["rip"]}
        found.append((count, last, {r: v for r, v in registers.items() if v != pid}))
    return found


def compare(what, ours, theirs, least):
    ours, theirs = dumps(ours[1]), dumps(theirs[1])
    check(len(ours) >= least and len(ours) == len(theirs), what, len(ours), len(theirs), least)
    for a, b in zip(ours, theirs):
        common = {r for r in a[2] if r in b[2]}
        same = a[:2] == b[:2] and all(a[2][r] == b[2][r] for r in common)
        if not same and what.startswith("forks") and a[:2] == b[:2]:
            continue        # ids of children are in registers
        if not same:
            check(False, what, a, b)
            return


def places(text):
    return {last for _, last, _ in dumps(text)}


# Every kind of kernel by instructions; the plain one by each event.
seen = set()
for kind, rounds, event in (
        ("calls", 1200, "instructions"), ("signals", 400, "instructions"), ("faults", 600, "instructions"),
        ("changes", 1200, "instructions"), ("forks", 1000, "instructions"),
        ("threads", 1000, "instructions"), ("exec", 2, "instructions"), ("exec", 2, "branches")):
    options = ["-e", event, "--stop-at", f"{event}={PERIOD}", "--every"]
    expected = stat(options, [kernel, kind, str(rounds)])
    found = stat_hw(options, [kernel, kind, str(rounds)])
    compare(f"{kind} {event}", expected, found, 5)
    seen |= places(found[1])
check(len(seen) > 80, "different places", len(seen))
for event, least in (("instructions", 40), ("branches", 15), ("cond-branches", 5), ("calls", 5),
                     ("returns", 5)):
    options = ["-e", event, "--stop-at", f"{event}={PERIOD}", "--every"]
    compare(event, stat(options, [plain]), stat_hw(options, [plain], "--cpu", "skylake"), least)

# With signals at any time runs differ; but the counter knows how many instructions have retired. Several runs at
# once, so that signals come at every moment of a step.
runs = [subprocess.Popen([tare, "run", "--flaws", "skid", "--", tare, "stat", "--backend", "hw", "-e", "instructions",
                          "--stop-at", f"instructions={PERIOD}", "--every", "--", kernel, "timer", "3000"],
                         env=counting.ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(8)]
for run_of in runs:
    text = run_of.communicate()[1].decode(errors="replace")
    counts = [int(n) for n in re.findall(r"^ +(\d+)  instructions$", text, re.M)]
    late = [n - PERIOD * (i + 1) for i, n in enumerate(counts)]
    check(len(counts) > 20 and not any(late), "late", run_of.returncode, late)

# One place after the other, the skid drawn anew: N, N+1, N+2, …; and what is stepped only.
for n in [*range(50000, 50012), 1, 2, 9999, 10000, 10001]:
    options = ["-e", "instructions", "--stop-at", f"instructions={n}"]
    compare(f"instructions={n}", stat(options, [plain]), stat_hw(options, [plain], "--seed", str(n)), 1)

# Beyond the end; a limit; a signal; a command that cannot be started.
status, text = stat_hw(["-e", "instructions", "--stop-at", "instructions=1G"], [kernel, "plain", "10"])
check(status == 0 and "instructions=1G: no thread came so far" in text, status, text)
status, text = stat_hw(["-e", "instructions", "--limit", "instructions=150000"], [kernel, "plain", "9999"])
check(status == 123 and "150,001" in text, status, text)
status, text = stat_hw(["-e", "instructions", "--stop-at", "instructions=150000", "--then", "signal:TERM"],
                       [kernel, "plain", "9999"])
check(status == 128 + 15, status, text)
status, text = stat_hw(["-e", "instructions", "--stop-at", "instructions=150000"], ["/nonexistent"])
check(status != 0 and "/nonexistent" in text, status, text)

# Natively, by steps alone: a signal that is ignored delays nothing.
for n in range(1, 12):
    options = ["--null", "--stop-at", f"instructions={n}"]
    compare(f"ignored signal, instructions={n}", stat(options, [ignored]),
            stat([*options, "--backend", "hw"], [ignored]), 1)

checking.finish()
