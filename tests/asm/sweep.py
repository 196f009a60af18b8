#!/usr/bin/env python3
"""Signals at every instruction of a kernel: the count stays exact.

usage: sweep.py step|engine|inject SOURCE.S PROGRAM SIGNALS [SWEEPER]

step, engine: signals from a timer, counted by single-stepping or the engine.
inject: SWEEPER single-steps the program under the engine and injects signals.
The program says how often its loop ran and how many signals came; both go into
the closed form as PASSES and HITS.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402,F401  (sets the path)
import counting  # noqa: E402
import expect  # noqa: E402


def main(who, source, program, wanted, sweeper=None):
    if who == "step":
        return sweep(who, expect.EVENTS, source, program, wanted, sweeper)
    counting.need_engine()
    return max(sweep(who, events, source, program, wanted, sweeper) for events in expect.SETS)


def sweep(who, events, source, program, wanted, sweeper):
    if who == "step":
        got = counting.step([program], events, share=True)
    elif who == "engine":
        got = counting.engine([program], events)
    else:
        got = counting.engine([program], events, before=[sweeper, "97", "--"])
    if got.status != 0 or len(got.out) != 16:
        print(f"{program}: status {got.status}, {len(got.out)} bytes of output; "
              f"{got.err.decode(errors='replace')[:1000]}")
        return 1
    passes, hits = struct.unpack("<QQ", got.out)
    print(f"{hits} signals in {passes} passes")
    want = expect.expect(source, {"PASSES": passes, "HITS": hits, "HITS_WANTED": wanted}).count
    bad = [f"{e}: counted {got.counts.get(e)}, expected {want[e]}"
           for e in events if got.counts.get(e) != want[e]]
    if hits < int(wanted):
        bad.append(f"only {hits} signals of {wanted}")
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except counting.Failed as e:
        sys.exit(str(e))
