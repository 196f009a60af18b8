#!/usr/bin/env python3
"""Signals while code is translated: what is counted beyond them is always the same.

usage: storm.py PROGRAM
"""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
import counting  # noqa: E402
import expect  # noqa: E402

# instructions of a signal: inc, ret; mov, syscall of the restorer
COST = {"instructions": 4, "returns": 1, "syscalls": 1, "branches": 2, "far-transfers": 1,
        "loads": 2, "stores": 1, "taken-branches": 2}


def run(program, how_often, events):
    """(signals, counts without them)"""
    got = counting.engine([program, how_often], events)
    hits, = struct.unpack("<q", got.out)
    return hits, {e: n - hits * COST.get(e, 0) for e, n in got.counts.items()}


def main(program):
    counting.need_engine()
    _, want = run(program, "0", expect.EVENTS)
    bad = came = 0
    for i in range(8):
        hits, got = run(program, "12"[i // 2 % 2], expect.SETS[i % 2])
        came += hits
        for e in got:
            if got[e] != want[e]:
                print(f"{hits} signals: {e}: {got[e]} besides, without signals {want[e]}")
                bad = 1
    print(f"{came} signals")
    if not came:
        print("not one signal came")
        bad = 1
    return bad


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except counting.Failed as e:
        sys.exit(str(e))
