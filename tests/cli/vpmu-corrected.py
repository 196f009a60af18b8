#!/usr/bin/env python3
"""A corrected counter with interrupts placed at every instruction of a read: exactly one too large
where the interrupt is between the two rdpmc, and exact everywhere else, whether an interrupt is counted
on entry or with iret.

usage: vpmu-corrected.py TARE PAGES PROGRAM
"""
import os, re, sys

from cli import check, finish, need_engine, run

tare, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])
need_engine(tare)
AT_ONCE = 16		# interrupts that a flaw can place
BETWEEN = 4		# boundaries of instructions from the first rdpmc to the second (counter-x86_64.h)


def reads(flaws):
    """Distance of two reads, {number of a read: how far it is off}, the last value's error."""
    p = run(tare, "run", "--cpu", "zen2", "--flaws", flaws, "--", program)
    check(p.returncode == 0, flaws, p.stdout, p.stderr)
    each = int(re.search(r"^each (\d+)$", p.stdout, re.M)[1])
    return each, {int(a): int(b) for a, b in re.findall(r"^(\d+) ([+-]\d+)$", p.stdout, re.M)}, \
        int(re.search(r"^total (-?\d+)$", p.stdout, re.M)[1])


each, off, total = reads("")
check(20 <= each < 40 and not off and total == 0, "without interrupts", each, off, total)
for hypothesis in "", ",iret", ",entry":
    # Interrupts 20 reads and one instruction apart from each other come to each instruction in turn.
    hit, first = [], 20000
    for k in range(0, each, AT_ONCE):
        times = [first + i * (20 * each + 1) for i in range(k, min(k + AT_ONCE, each))]
        _, off, total = reads("interrupt-at=" + ":".join(map(str, times)) + hypothesis)
        check(total == 0, "all interrupts are taken off", hypothesis, total, off)
        # a value that is one too large: one more before it, and one less after it
        large = [i for i in off if off[i] == 1]
        check(sorted(off) == sorted(large + [i + 1 for i in large]) and
              all(off[i + 1] == -1 for i in large), "one too large", hypothesis, off)
        hit += large
    check(len(hit) == BETWEEN, "between the two reads", hypothesis, hit)
finish()
