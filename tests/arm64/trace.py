#!/usr/bin/env python3
"""The arm64 kernels of src/known: executed == written beside their instructions.

usage: trace.py QEMU-AARCH64 LOOPS=N START.S (SOURCE.S PROGRAM)...

QEMU runs each program and writes down every instruction it executes; objdump says what the
instruction is, and the table below what that counts as. Nothing here reads the notes.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import counting  # noqa: E402
import expect  # noqa: E402

# What a mnemonic is; the first line that matches.
CLASSES = [
    (r"b\.\w+|cbn?z|tbn?z", "branches cond-branches"),
    (r"bl", "branches calls"),
    (r"blr", "branches calls indirect-branches"),
    (r"br", "branches indirect-branches"),
    (r"ret", "branches returns"),
    (r"b", "branches"),
    (r"svc", "syscalls"),
    (r"(ld(add|clr|eor|set|[su]max|[su]min)|swp|cas).*", "loads stores locked"),
    (r"ld.*", "loads"),
    (r"st.*", "stores"),
    (r"[su]div", "divides"),
]
MULTIPLIES = r"mul|madd|msub|mneg|[su]mull|[su]maddl|[su]msubl|[su]mulh"
NO_ARITHMETIC = r"fmov|fcsel|mov"


def classify(mnemonic, operands):
    for pattern, events in CLASSES:
        if re.fullmatch(pattern, mnemonic):
            return events.split()
    vector = re.search(r"\b(v\d+\.|[bhsdq]\d+\b)", operands)
    if not vector:
        return ["multiplies"] if re.fullmatch(MULTIPLIES, mnemonic) else []
    if re.fullmatch(NO_ARITHMETIC, mnemonic):
        return []
    return ["fp"] if re.match(r"f|[su]cvtf", mnemonic) else ["simd-int"]


def disassemble(program):
    """{address: (mnemonic, operands)}"""
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", program],
                          check=True, capture_output=True, text=True).stdout
    found = {}
    for m in re.finditer(r"^\s*([0-9a-f]+):\t(\S+)(?:[ \t]+(.*))?$", text, re.M):
        found[int(m[1], 16)] = (m[2], (m[3] or "").split("//")[0])
    return found


def single(qemu):
    """What makes QEMU translate one instruction at a time: it has had two names."""
    text = subprocess.run([qemu, "-help"], capture_output=True, text=True).stdout
    return "-one-insn-per-tb" if "one-insn-per-tb" in text else "-singlestep"


def run(qemu, program):
    """The addresses of what is executed."""
    with tempfile.NamedTemporaryFile("r", prefix="trace") as log:
        done = subprocess.run([qemu, "-cpu", "max", single(qemu), "-d", "exec,nochain", "-D", log.name,
                               program], capture_output=True, text=True)
        if done.returncode:
            raise counting.Failed(f"{program}: status {done.returncode}: {done.stderr}")
        return [int(m, 16) for m in re.findall(r"^Trace.*?\[[0-9a-f]+/([0-9a-f]+)/", log.read(), re.M)]


def count(qemu, program):
    code, trace = disassemble(program), run(qemu, program)
    got = collections.Counter(dict.fromkeys(expect.EVENTS, 0))
    for pc, after in zip(trace, trace[1:] + [0]):
        events = classify(*code[pc])
        got["instructions"] += 1
        for e in events:
            got[e] += 1
        if "branches" in events and ("cond-branches" not in events or after != pc + 4):
            got["taken-branches"] += 1
    return got


def main(qemu, define, start, *pairs):
    failed = 0
    for source, program in zip(pairs[::2], pairs[1::2]):
        want = expect.expect_all([source, start], dict([define.split("=")])).count
        got = count(qemu, program)
        for e in expect.EVENTS:
            if got[e] != want[e]:
                print(f"{os.path.basename(source)}: {e}: executed {got[e]}, expected {want[e]}")
                failed += 1
    print(f"{len(pairs) // 2} kernels, {failed} counts differ")
    return 1 if failed or not pairs else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except counting.Failed as e:
        sys.exit(str(e))
