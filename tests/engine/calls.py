#!/usr/bin/env python3
"""The call graph of programs whose calls are known: tests/func/calls-cases.c and calls-throw.cc.

usage: calls.py CODE-CALLS CASES THROW

For every case: the contexts add up to the counts (code-calls checks that), each function was called so
often and from there, and runs with the callers in its path that it should have.
"""
import os
import re
import subprocess
import sys
import tempfile

CODE_CALLS, CASES, THROW = sys.argv[1:4]
failures = []


def symbols(path):
    """(file offset of the start, its end, name) of the functions of an ELF file."""
    loads = []
    for line in subprocess.run(["readelf", "-lW", path], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        m = re.match(r"\s+LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", line)
        if m:
            loads.append([int(x, 16) for x in m.groups()])
    found = []
    for line in subprocess.run(["nm", "-S", path], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        parts = line.split()
        if len(parts) != 4 or parts[2] not in "tTwW":
            continue
        address, size = int(parts[0], 16), int(parts[1], 16)
        for offset, start, length in loads:
            if start <= address < start + length:
                found.append((address - start + offset, address - start + offset + size, parts[3]))
    return sorted(found)


class Graph:
    def __init__(self, command):
        self.program = os.path.realpath(command[0])
        self.symbols = symbols(self.program)
        with tempfile.NamedTemporaryFile("r") as out:
            got = subprocess.run([CODE_CALLS, "-e", "instructions,calls", "-o", out.name, *command],
                                 capture_output=True, text=True)
            if got.returncode:
                failures.append(f"{command}: {got.stdout}{got.stderr}")
            self.rows = [line.rstrip("\n").split("\t") for line in out]
        self.by_id = {int(r[0]): r for r in self.rows}

    def name(self, place):
        if place == "-":
            return "-"
        offset, path = place.split("@", 1)
        if os.path.realpath(path) != self.program:
            return os.path.basename(path)
        for start, end, name in self.symbols:
            if start <= int(offset, 16) < end:
                return name.split(".")[0] if ".cold" not in name else name
        return offset

    def calls(self, caller, callee, kind=None):
        """How often the function was called from the other one."""
        return sum(int(r[9]) for r in self.rows
                   if self.name(r[8]) == callee and (caller is None or self.name(r[7]) == caller) and
                   (kind is None or r[2] == kind))

    def path(self, row):
        names = []
        while True:
            names.append(row[2] if row[2] in ("root", "thread", "signal") else self.name(row[8]))
            if row[1] == "0":
                return names
            row = self.by_id[int(row[1])]

    def within(self, function):
        """Instructions while the function was on the stack."""
        return sum(int(r[10]) for r in self.rows if function in self.path(r))

    def own(self, function):
        return sum(int(r[10]) for r in self.rows if self.name(r[8]) == function)

    def paths(self, function):
        return {tuple(self.path(r)) for r in self.rows if self.name(r[8]) == function}


def same(what, found, wanted):
    if found != wanted:
        failures.append(f"{what}: found {found}, expected {wanted}")


def recursion():
    g = Graph([CASES, "recursion"])
    same("fib", g.calls(None, "fib"), 177)
    same("fib from fib", g.calls("fib", "fib"), 176)
    same("fib: its own is all of it", g.within("fib"), g.own("fib"))
    same("even from odd", g.calls("odd", "even"), 50)
    same("odd from even", g.calls("even", "odd"), 50)
    same("deep", g.calls(None, "deep"), 500001)
    same("a recursion makes few contexts", len([r for r in g.rows if g.name(r[8]) in
                                                ("fib", "even", "odd", "deep")]) < 25, True)


def tails():
    g = Graph([CASES, "tails"])
    for caller, n in ("tail_direct", 14), ("tail_pointer", 7), ("tail_cond", 4):
        same(f"tail_leaf from {caller}", g.calls(caller, "tail_leaf", "tail"), n)
    same("tail_direct from tail_chain", g.calls("tail_chain", "tail_direct", "tail"), 7)
    same("tail_direct", g.calls(None, "tail_direct"), 14)
    same("split_cold from split", g.calls("split", "split_cold", "tail") +
         g.calls("split", "1", "tail"), 7)
    same("split is not called by its other part", g.calls("split_cold", "split"), 0)
    same("split's own instructions", g.own("split"), 7 * 4)
    same("tail_leaf by push and ret", [p[1] for p in g.paths("tail_leaf")].count("push_ret"), 1)
    same("a retpoline leads to leaf", g.calls(None, "leaf"), 7)
    same("leaf is below by_retpoline", all("by_retpoline" in p for p in g.paths("leaf")), True)
    same("tail_leaf's caller is main's case", all("main" in p for p in g.paths("tail_leaf")), True)


def flags():
    g = Graph([CASES, "flags"])
    same("calls of returns", g.calls(None, "returns"), 99)
    same("leaf: no carry was wrong", g.calls(None, "leaf"), 1)


def longjmps():
    g = Graph([CASES, "longjmps"])
    same("jumps", g.calls(None, "jumps"), 9 * 6)
    same("leaf from catches", g.calls("catches", "leaf"), 9)
    same("leaf after longjmp is not in jumps",
         any("jumps" in p for p in g.paths("leaf") if "catches" in p), False)
    same("leaf2 after all", all("catches" not in p for p in g.paths("leaf2")), True)
    same("allocates", g.calls(None, "allocates"), 7)
    same("leaf from allocates", g.calls("allocates", "leaf"), 7)


def signals():
    g = Graph([CASES, "signals"])
    same("handler", g.calls(None, "handler", "handler"), 4)
    same("nested", g.calls(None, "nested", "handler"), 4)
    same("leaf from handler", g.calls("handler", "leaf"), 4)
    same("leaf from interrupted", g.calls("interrupted", "leaf"), 4)
    same("leaf2 from nested", g.calls("nested", "leaf2"), 4)
    same("leaf2 after siglongjmp", g.calls(None, "leaf2") - g.calls("nested", "leaf2"), 3)
    same("handlers are below a root of their own",
         all(p[-1] == "signal" for f in ("handler", "nested", "jumps_out") for p in g.paths(f)), True)
    same("leaf2 after siglongjmp is not in a handler",
         sorted(p[-1] for p in g.paths("leaf2")), ["root", "signal"])
    same("interrupted does not have the handler's leaf",
         sorted("interrupted" in p for p in g.paths("leaf")), [False, True])


def stacks():
    g = Graph([CASES, "stacks"])
    same("resumes", g.calls(None, "resumes"), 6)
    same("leaf from coroutine", g.calls("coroutine", "leaf"), 6)
    same("leaf2 from coroutine", g.calls("coroutine", "leaf2"), 5)
    same("leaf from fiber", g.calls("fiber", "leaf"), 5)
    same("leaf2 from fiber", g.calls("fiber", "leaf2"), 4)
    same("coroutine starts once", g.calls(None, "coroutine"), 1)
    same("fiber starts once", g.calls(None, "fiber"), 1)
    same("resumes is called where it stands",
         {"coroutine" in p or "fiber" in p for f in ("resumes", "enters") for p in g.paths(f)}, {False})
    same("its own instructions are the same each time", g.own("enters") % 5, 0)


def tasks():
    g = Graph([CASES, "tasks"])
    same("worker", g.calls(None, "worker"), 3)
    same("leaf from worker", g.calls("worker", "leaf"), 30)
    same("a thread has a root", {p[-1] for p in g.paths("worker")}, {"thread"})
    same("leaf2", g.calls(None, "leaf2"), 4)
    same("leaf2 of the child of fork is below main",
         all("main" in p for p in g.paths("leaf2")), True)


def jit():
    g = Graph([CASES, "jit"])
    same("leaf", g.calls(None, "leaf"), 3)
    same("leaf2", g.calls(None, "leaf2"), 3)
    same("both are below main", all("main" in p for f in ("leaf", "leaf2") for p in g.paths(f)), True)


def exceptions():
    g = Graph([THROW])
    same("throws", g.calls(None, "throws"), 20)
    same("leaf from catches", g.calls("catches", "leaf") + g.calls("catches.cold", "leaf"), 10)
    same("leaf is not in throws", any("throws" in p for p in g.paths("leaf")), False)
    same("cleanups", g.calls(None, "leaf2"), 21)
    same("leaf2 from main", g.calls("main", "leaf2"), 1)
    same("leaf2 of main is not in catches",
         sorted({"catches" in p for p in g.paths("leaf2")}), [False, True])


for case in (recursion, tails, flags, longjmps, signals, stacks, tasks, jit, exceptions):
    before = len(failures)
    case()
    print(f"{case.__name__}: {'ok' if len(failures) == before else 'FAILED'}")
for f in failures:
    print(f)
sys.exit(1 if failures else 0)
