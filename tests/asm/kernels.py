#!/usr/bin/env python3
"""The kernels of src/known: counted == written beside their instructions.

usage: kernels.py step|engine|vpmu LOOPS=N START.S (SOURCE.S PROGRAM)...
       kernels.py full KERNEL-RUN

The first form checks each as check.py does, as a program of its own. full: the kernels of the
library in their full size, together, under the engine; the loops alone, as the difference to a
run without them.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
import counting  # noqa: E402  (check.py has set the path)
import expect  # noqa: E402


def each(who, define, start, *pairs):
    failed = passed = 0
    for source, program in zip(pairs[::2], pairs[1::2]):
        status, lines = check.check(who, [source, start], program, dict([define.split("=")]))
        failed += status == 1
        passed += status == 0
        print(*lines, sep="\n", end="\n" if lines else "")
    print(f"{passed} kernels exact, {failed} not")
    return 1 if failed or not passed else 0


def loops_alone(kernel_run, names, events):
    none, full = (counting.engine([kernel_run, n, *names], events) for n in "01")
    if none.status or full.status:
        raise counting.Failed(f"{kernel_run}: status {none.status}, {full.status}: "
                              f"{full.err.decode(errors='replace')[:1000]}")
    return {e: full.counts[e] - none.counts[e] for e in events}


def full(kernel_run):
    counting.need_engine()
    want = {}
    for line in subprocess.run([kernel_run, "list"], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        if line.startswith("skipped:"):
            print(line)
            continue
        name, *counts = line.split()
        want[name] = dict(zip(expect.EVENTS, map(int, counts)))
    total = {e: sum(w[e] for w in want.values()) for e in expect.EVENTS}
    print(f"{len(want)} kernels, {total['instructions']} instructions")
    failed = total["instructions"] < 200_000_000
    for events in expect.SETS:
        got = loops_alone(kernel_run, list(want), events)
        if not check.differences("all", got, total, events):
            continue
        failed = True
        print(*check.differences("all", got, total, events), sep="\n")
        for name, count in want.items():
            got = loops_alone(kernel_run, [name], events)
            print(*check.differences(name, got, count, events), sep="\n")
    return 1 if failed else 0


def main(what, *rest):
    return full(*rest) if what == "full" else each(what, *rest)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except counting.Failed as e:
        sys.exit(str(e))
