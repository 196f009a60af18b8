#!/usr/bin/env python3
"""Checks one assembly program: counted == written beside its instructions.

usage: check.py step|engine SOURCE.S PROGRAM [-D NAME=VALUE]...
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import counting  # noqa: E402
import expect  # noqa: E402


def cpu_flags():
    for line in open("/proc/cpuinfo"):
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


def main(argv):
    who, source, program = argv[:3]
    defines = dict(d.split("=") for d in argv[3:] if d != "-D")
    prog = expect.expect(source, defines)
    name = os.path.basename(program)
    lacking = [f for f in prog.need if f not in cpu_flags()]
    if lacking:
        counting.skip(f"{name}: this CPU has no {' '.join(lacking)}")
    if prog.kernel and subprocess.run([program]).returncode < 0:
        counting.skip(f"{name}: this kernel has no {prog.kernel}")
    if who == "step":
        if prog.native:
            counting.skip(f"{name}: not single-stepped: {prog.native}")
        got = counting.step([program], expect.EVENTS)
    else:
        why = counting.have_engine()
        if why:
            counting.skip(f"{name}: {why}")
        got = counting.engine([program], expect.EVENTS)
    bad = got.status != prog.exit
    if bad:
        print(f"{name}: exit status {got.status}, expected {prog.exit}")
    for e in expect.EVENTS:
        if got.counts.get(e) != prog.count[e]:
            print(f"{name}: {e}: counted {got.counts.get(e)}, expected {prog.count[e]}")
            bad = True
    if bad and got.err:
        print(got.err.decode(errors="replace")[:2000])
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except counting.Failed as e:
        sys.exit(str(e))
