#!/usr/bin/env python3
"""The engine's counts of real programs == the native ones, by single-stepping.

usage: equal.py [COMMAND...]      a command given as one word each; default: all

Everything is computed on the machine at hand: totals depend on its libraries,
its environment and its auxiliary vector.
"""
import os
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
import counting  # noqa: E402
import expect  # noqa: E402

COMMANDS = ["/bin/true", "/bin/echo hello world", "/bin/ls /usr", "/usr/bin/env",
            "/bin/gzip --version", "/usr/bin/sort /etc/passwd", "/bin/cat /etc/passwd",
            "/usr/bin/expr 6 * 7", "/bin/grep stack /proc/self/maps",
            "/bin/cat /proc/self/maps"]


def main(commands):
    counting.need_engine()
    bad = 0
    for text in commands:
        command = shlex.split(text)
        # sort asks how many CPUs it may use
        native = counting.step(command, expect.EVENTS, share="sort" not in text)
        for run in range(4):
            events = expect.SETS[run % 2]
            got = counting.engine(command, events)
            off = [f"{e} {got.counts.get(e)} != {native.counts[e]}"
                   for e in events if got.counts.get(e) != native.counts[e]]
            if got.out != native.out:
                off.append("output differs")
            if got.status != native.status:
                off.append(f"status {got.status} != {native.status}")
            if off:
                print(f"{text}, run {run + 1}: {'; '.join(off)}")
                bad += 1
        print(f"{text}: {native.counts['instructions']} instructions")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:] or COMMANDS))
    except counting.Failed as e:
        sys.exit(str(e))
