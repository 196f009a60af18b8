#!/usr/bin/env python3
"""Runs a program natively and under the engine; output and status must be equal.

usage: compare.py [--count] [--threads] PROGRAM [ARGUMENT]...

--count also compares every event with single-stepping (--threads: with its
threads and children), for programs whose path does not depend on time.
"""
import difflib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
import counting  # noqa: E402
import expect  # noqa: E402


def differences(a, b, name):
    lines = difflib.unified_diff(a.decode(errors="replace").splitlines(),
                                 b.decode(errors="replace").splitlines(),
                                 f"{name} natively", f"{name} under the engine",
                                 lineterm="", n=1)
    return list(lines)[:60]


def main(argv):
    count = "--count" in argv
    follow = "--threads" in argv
    command = [a for a in argv if a not in ("--count", "--threads")]
    counting.need_engine()
    want = counting.native(command)
    for line in want.out.decode(errors="replace").splitlines():
        if line.startswith("skipped: "):
            print(line)
    if want.status < 0:
        want.status = 128 - want.status
    step = counting.step(command, expect.EVENTS, follow=follow) if count else None
    bad = []
    for events in expect.SETS:
        got = counting.engine(command, events)
        if got.status != want.status:
            bad.append(f"exit status {got.status}, natively {want.status}")
        bad += differences(want.out, got.out, "stdout")
        bad += differences(want.err, got.err, "stderr")
        if step and not bad:
            bad += [f"{e}, one of {len(events)}: {got.counts.get(e)}, "
                    f"by single-stepping {step.counts[e]}"
                    for e in events if got.counts.get(e) != step.counts[e]]
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except counting.Failed as e:
        sys.exit(str(e))
