#!/usr/bin/env python3
"""Blind spots of multiplexing: tare stat warns of scaled counts that may be wrong, names the remedy,
and is silent where the estimate is good. On the virtual PMU. usage: stat-blind.py TARE PAGES"""
import json, os, subprocess, sys, tempfile
from cli import check, check_schema, finish, need_engine, run

tare = os.path.abspath(sys.argv[1])
need_engine(tare)
FOLDER = tempfile.TemporaryDirectory()
# two phases of SIZE loops each, the first one with branches; 14 instructions per loop. A turn is
# 4 ms = 12,000,000 instructions
PROGRAM = r"""
	.globl	_start
_start:	mov	$ROUNDS, %r8
0:	mov	$SIZE, %rcx
1:	.rept	6
	jc	2f
2:	nop
	.endr
	dec	%rcx
	jnz	1b
	mov	$SIZE, %rcx
3:	.rept	12
	nop
	.endr
	dec	%rcx
	jnz	3b
	dec	%r8
	jnz	0b
	mov	$231, %eax
	xor	%edi, %edi
	syscall
"""
EVENTS = ["instructions:u", "branches:u"] + ["r00c4:u"] * 6      # zen2 has six counters


def program(name, rounds, size):
    path = os.path.join(FOLDER.name, name)
    source = path + ".S"
    open(source, "w").write(PROGRAM)
    subprocess.run(["cc", "-nostdlib", "-static", f"-DROUNDS={rounds}", f"-DSIZE={size}", source,
                    "-o", path], check=True)
    return path


def stat(command, *args):
    return run(tare, "run", "--cpu", "zen2", "--", tare, "stat", "-e", ",".join(EVENTS), *args, "--",
               command)


def results(command, *args):
    out = os.path.join(FOLDER.name, "out.json")
    p = stat(command, "-j", "-o", out, *args)
    check(p.returncode == 0, p)
    r = json.load(open(out))
    check_schema(r, "tare.stat-1")
    return r["runs"][0]


# Phases of 56,000 instructions, 200 of them in a turn: a good estimate, and no warning.
fast = program("fast", 8000, 4000)
r = results(fast)
truth = 8000 * (4000 * 8 + 1)
check(len(r["scaled"]) == 8 and not any(s["blind_spots"] for s in r["scaled"]), r["scaled"])
branches = r["counts"][1]
check(branches["provenance"] == "scaled" and abs(branches["value"] - truth) < truth / 1000, branches, truth)
check(r["scaled"][1]["turns"] >= 50 and r["scaled"][1]["turn_ms"] == 4, r["scaled"])
p = stat(fast)
check(p.returncode == 0 and "Scaled counts that may be wrong" not in p.stderr, p.stderr)

# The same phases, too few turns: each scaled count gets a line; --exact has none.
slow = program("slow", 3, 900000)
r = results(slow)
check(r["scaled"] and all(s["blind_spots"] and s["turns"] < 50 for s in r["scaled"]), r["scaled"])
truth = 3 * (900000 * 8 + 1) + 1       # the system call
wrong = abs(r["counts"][1]["value"] - truth) / truth
check(r["counts"][1]["provenance"] == "scaled" and wrong > 0.01, r["counts"][1], truth)
p = stat(slow)
check("Scaled counts that may be wrong (--exact counts without multiplexing" in p.stderr, p.stderr)
check("branches:u: on a counter in " in p.stderr and " turns of 4 ms only" in p.stderr, p.stderr)
for more in ("-x", ","), ("-I", "60000"):
    p = stat(slow, *more)
    check("tare: warning: the scaled count of branches:u: on a counter in" in p.stderr and "--exact" in p.stderr,
          more, p.stderr)
r = results(slow, "--exact")
check("scaled" not in r and r["counts"][1]["value"] == truth, r["counts"][1], truth)
finish()
