#!/usr/bin/env python3
"""Checks one assembly program: counted == written beside its instructions.

usage: check.py step|engine|vpmu SOURCE.S PROGRAM [-D NAME=VALUE]... [SOURCE.S]...

The program may have more sources than one: their counts are added. vpmu: by a hardware-counter program (tare stat) inside `tare run`.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import counting  # noqa: E402
import expect  # noqa: E402


def cpu_flags():
    for line in open("/proc/cpuinfo"):
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


def why_not(who, prog, program):
    """None, or why this program cannot be checked here."""
    lacking = [f for f in prog.need if f not in cpu_flags()]
    if lacking:
        return f"this CPU has no {' '.join(lacking)}"
    if prog.kernel and subprocess.run([program]).returncode < 0:
        return f"this kernel has no {prog.kernel}"
    return who == "step" and prog.native and f"not single-stepped: {prog.native}"


# What the virtual PMU is asked for: the CPU, and events that it and the engine have.
VPMU_CPU = "skylake"
VPMU_EVENTS = ["instructions", "branches", "taken-branches", "loads", "stores"]


def count(who, command, events):
    if who == "step":
        return counting.step(command, events, share=True)
    if who == "engine":
        return counting.engine(command, events)
    tare = os.path.join(os.environ.get("TARE_BUILD", "build"), "tare")
    os.environ["TARE_COUNT"] = f"{tare} run --cpu {VPMU_CPU} -- {tare} stat --backend hw -j"
    return counting.engine(command, [e + ":u" for e in events])


def differences(name, got, want, events):
    """What is to be printed where the counts are not those of the notes."""
    return [f"{name}: {e}, one of {len(events)}: counted {got.get(e)}, expected {want[e]}"
            for e in events if got.get(e) != want[e]]


def check(who, sources, program, defines):
    """(0, 1 or 77; what to print)."""
    name = os.path.basename(program)
    prog = expect.expect_all(sources, defines)
    why = why_not(who, prog, program)
    if why:
        return counting.SKIP, [f"skipped: {name.removeprefix('asm-')}: {why}"]
    if who != "step":
        counting.need_engine()
    sets = {"vpmu": [VPMU_EVENTS], "engine": expect.SETS}.get(who, [expect.EVENTS])
    lines = []
    for events in sets:
        got = count(who, [program], events)
        before = len(lines)
        if got.status != prog.exit:
            lines.append(f"{name}: exit status {got.status}, expected {prog.exit}")
        lines += differences(name, got.counts, prog.count, events)
        if len(lines) > before and got.err:
            lines.append(got.err.decode(errors="replace")[:2000])
    return 1 if lines else 0, lines


def main(argv):
    who, source, program = argv[:3]
    more = [a for a in argv[3:] if a.endswith(".S")]
    defines = dict(d.split("=") for d in argv[3:] if "=" in d)
    status, lines = check(who, [source, *more], program, defines)
    print("\n".join(lines))
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except counting.Failed as e:
        sys.exit(str(e))
