#!/usr/bin/env python3
"""Code that processes of a program take over from an earlier one of the run (soft/translate/kept.c).

usage: kept.py TARE AGAIN PROGRAM1 PROGRAM2 LIBRARY1 LIBRARY2

Every process of a program counts what the program counts alone, before and after its file or a library of it is
replaced, also in place.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import checking             # noqa: E402
import counting             # noqa: E402
from checking import check  # noqa: E402

tare, again, *files = sys.argv[1:]
counting.need_engine()
folder = os.path.realpath(tempfile.mkdtemp())
PROGRAM, LIBRARY = f"{folder}/program", f"{folder}/library.so"
EVENTS = "instructions,branches,cond-branches,taken-branches,loads,stores,calls,returns,indirect-branches,syscalls"
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


def stat(events, *command, options=()):
    path = f"{folder}/result.json"
    p = subprocess.run([tare, "stat", *options, "--per-thread", "-e", events, "-j", "-o", path, "--", *command], env=ENV,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if p.returncode:
        sys.exit(f"{' '.join(command)}: status {p.returncode}: {p.stderr.decode()}")
    return json.load(open(path))["runs"][0]


def counts(run, exe):
    """Those of each process of that program, in order."""
    return [[c["value"] for c in t["counts"]] for t in run["tasks"] if os.path.basename(t["exe"]) ==
            os.path.basename(exe) and t["comm"] != "again"]


def put(source, target):
    """Another file takes the place of the target."""
    shutil.copy(source, target + ".new")
    os.rename(target + ".new", target)


def settle():
    """Code of a file that was changed just now is not kept."""
    time.sleep(3.1)


def alone(events):
    """(By way of a shell, whose processes have the same environment as those of a script.)"""
    got = counts(stat(events, "/bin/sh", "-c", f"{PROGRAM} {LIBRARY}; :"), PROGRAM)
    check(len(got) == 1, got)
    return got[0]


def all_same():
    for events in EVENTS, "instructions", "loads,taken-branches":
        for command in (["/bin/true"], ["/bin/ls", "/usr"], ["/usr/bin/expr", "6", "*", "7"], ["/usr/bin/env"],
                        ["/usr/bin/sort", "/etc/passwd"], ["/bin/gzip", "--version"]):
            if not os.path.exists(command[0]):
                continue
            exe = os.path.realpath(command[0])
            got = counts(stat(events, again, "6", exe, *command[1:]), exe)
            check(got == [got[0]] * 6, command, events, got)


def other_slots():
    """Processes whose tables of functions lead elsewhere: the C library has other functions for other CPUs, and a
    library that is preloaded moves others."""
    tuned = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL,-AVX512F,-AVX2,-AVX2_Usable,-ERMS,-BMI2"
    preloaded = f"LD_PRELOAD={os.path.realpath(files[2])}"
    for command in "/bin/ls /usr", "/usr/bin/sort /etc/passwd", "/usr/bin/expr 6 + 7":
        exe = os.path.realpath(command.split()[0])
        order = [""] * 4 + [tuned] * 2 + [""] + [preloaded] * 2 + [tuned, ""]
        want = {s: counts(stat(EVENTS, "/bin/sh", "-c", f"{s} {command}; :"), exe) for s in (*order, "")}
        got = counts(stat(EVENTS, "/bin/sh", "-c", "".join(f"{s} {command}; " for s in order) + ":"), exe)
        check(got == [want[s][0] for s in order], command, got, want)


def taken_over(*options):
    """Blocks are translated by the first two processes only. (A few entries of blocks are written by each.)"""
    exe = os.path.realpath("/bin/true")
    blocks = {n: stat("instructions", again, str(n), exe, options=options)["translated"]["blocks"] for n in (1, 2, 4, 8)}
    one = blocks[2] - blocks[1]
    check(0 <= blocks[8] - blocks[4] < one / 20, "four more processes translate next to nothing", options, blocks)


def profiles(*options):
    """With a profile, too: each process has the functions and counts of the first one, which add up to its own."""
    path = f"{folder}/profile.json"
    for command in ["/bin/true"], ["/usr/bin/expr", "6", "*", "7"]:
        exe = os.path.realpath(command[0])
        subprocess.run([tare, "annotate", "--no-names", "--top", "1000000", "--per-process", "-j", "--report", path,
                        *options, "--", again, "6", exe, *command[1:]], env=ENV, check=True, stdout=subprocess.DEVNULL)
        tasks = [t for t in json.load(open(path))["tasks"] if t["command"] == os.path.basename(exe)]
        rows = [sorted((r["object"], r["function"], r["counts"]["instructions"]) for r in t["rows"]) for t in tasks]
        check(len(rows) == 6 and rows[0] and rows == [rows[0]] * 6, command, [len(r) for r in rows])
        sums = [sum(n for _, _, n in r) for r in rows]
        check(sums == [t["counts"]["instructions"] for t in tasks], command, sums)


def replaced(what, change):
    """Four runs, the change, four more; what each counts."""
    first, second = files[0:2] if what == PROGRAM else files[2:4]
    put(files[0], PROGRAM)
    put(files[2], LIBRARY)
    put(second, folder + "/other")
    before = alone(EVENTS)
    settle()
    script = (f"for i in 1 2 3 4; do {PROGRAM} {LIBRARY}; done; {change}; "
              f"for i in 1 2 3 4; do {PROGRAM} {LIBRARY}; done; sleep 3.1; "
              f"for i in 1 2 3 4; do {PROGRAM} {LIBRARY}; done")
    got = counts(stat(EVENTS, "/bin/sh", "-c", script), PROGRAM)
    after = alone(EVENTS)
    check(before != after, change, before)
    check(got == [before] * 4 + [after] * 8, change, before, after, got)
    put(first, what)


all_same()
other_slots()
taken_over()
taken_over("--functions")
profiles()
profiles("--calls")
for what in PROGRAM, LIBRARY:
    replaced(what, f"cat {folder}/other > {what}")
    replaced(what, f"cp -p {folder}/other {what}.new; mv {what}.new {what}")
shutil.rmtree(folder)
checking.finish()
