#!/usr/bin/env python3
"""Backtraces at exact stops, in code without frame pointers.

usage: backtraces.py TARE PROGRAM names|gdb

names: after every call, the caller is the next frame, and the last one is where the image starts. gdb: the same
addresses as gdb finds in the process that is handed over to it.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import checking             # noqa: E402
import counting             # noqa: E402
from checking import check  # noqa: E402

tare, program, mode = sys.argv[1:4]
counting.need_engine()
if mode == "gdb" and not shutil.which("gdb"):
    print("gdb is not installed")
    sys.exit(77)


def stat(*options):
    p = subprocess.run([tare, "stat", "-e", "calls", *options, "--", program], env=counting.ENV,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return p.stderr.decode(errors="replace")


def dumps(text):
    """[(last instruction, [(address, function, found by a frame pointer)])]"""
    found = []
    for part in text.split("tare: thread ")[1:]:
        last = int(re.search(r"the last one: 0x([0-9a-f]+)", part)[1], 16)
        frames = [(int(a, 16), name, bool(star)) for a, star, name in
                  re.findall(r"^   #\d+ +0x([0-9a-f]+)( \*)?  (\S+?)(?:\+0x\S+)?(?: .*)?$", part, re.M)]
        found.append((last, frames))
    return found


ENDS = ("_start", "_dl_start_user")        # of the program and of the dynamic linker
stops = dumps(stat("--stop-at", "calls=1", "--every"))
if mode == "names":
    check(len(stops) > 100, len(stops))
    for n, (last, frames) in enumerate(stops):
        if len(frames) < 2 or not 2 <= frames[1][0] - last <= 7 or frames[-1][1] not in ENDS:
            check(False, "after call", n + 1, hex(last), frames)
    chains = [[name for _, name, _ in frames] for _, frames in stops]
    own = [[n for n in c if n in ("leaf", "middle", "compare", "handler", "outer", "main")] for c in chains]
    check(["leaf", "middle", "compare", "outer", "main"] in own, "through qsort")
    check(["leaf", "middle", "handler", "outer", "main"] in own, "through a signal")
    inside = next(c for c, o in zip(chains, own) if o[:3] == ["leaf", "middle", "handler"])
    check(inside.index("outer") - inside.index("handler") > 2, "the frame of the signal, and raise()", inside)
    # the return of a leaf: the caller is the first frame
    back = [[name for _, name, _ in frames] for _, frames in dumps(stat("--stop-at", "returns=1", "--every"))]
    check(any(b[:2] == ["middle", "compare"] and b[-1] == "_start" for b in back), "after a return")
    checking.finish()

SCRIPT = """
import gdb
f = gdb.newest_frame()
while f:
    print("FRAME", hex(f.pc()), f.type() in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME))
    f = f.older()
"""


def by_gdb(n):
    """The addresses that gdb finds, without functions that are inlined or have left by a jump."""
    p = subprocess.Popen([tare, "stat", "-e", "calls", "--stop-at", f"calls={n}", "--then", "gdb", "--",
                          program], env=counting.ENV, stderr=subprocess.PIPE)
    for line in p.stderr:
        if found := re.search(rb"gdb -p (\d+)", line):
            break
    else:
        return None
    out = subprocess.run(["gdb", "-nx", "-batch", "-p", found[1].decode(), "-ex", "set backtrace past-main on",
                          "-ex", "set backtrace past-entry off", "-ex", "python " + "exec(" + repr(SCRIPT) + ")",
                          "-ex", "kill"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    p.stderr.read()
    p.wait()
    frames = re.findall(rb"FRAME (0x[0-9a-f]+) False", out.stdout)
    return [int(f, 16) for f in frames] or out.stdout


places = [[name for _, name, _ in frames] for _, frames in stops]
wanted = [next(i for i, c in enumerate(places) if c[:3] == first) for first in
          (["leaf", "middle", "compare"], ["leaf", "middle", "handler"])]
wanted.append(next(i for i, c in enumerate(places) if "outer" in c and "clock" in c[0]))
wanted.append(len(places) // 2)
for i in wanted:
    ours = [address for address, _, _ in stops[i][1]]
    theirs = by_gdb(i + 1)      # (of the dynamic linker it also shows what is above its start)
    check(theirs[:len(ours)] == ours, "calls", i + 1, [hex(a) for a in ours], theirs)
checking.finish()
