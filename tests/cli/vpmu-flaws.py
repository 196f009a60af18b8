#!/usr/bin/env python3
"""What the flaws of a virtual PMU add, to the last count.

usage: vpmu-flaws.py TARE PAGES CODES
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli  # noqa: E402
from cli import check, run, skipped  # noqa: E402

TARE, PAGES, CODES = (os.path.abspath(a) for a in sys.argv[1:4])
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
LOOP = """
	.globl _start
_start:	mov $COUNT, %ecx
1:	THIS
	dec %ecx
	jnz 1b
	xor %edi, %edi
	mov $231, %eax
	syscall
	.bss
	.balign 64
	.globl room
room:	.skip 4096
"""


def assembled(this="", count=1000):
    path = os.path.join(folder, "loop")
    subprocess.run(["cc", "-nostdlib", "-static", "-o", path, "-xassembler", "-"], check=True,
                   input=LOOP.replace("THIS", this).replace("COUNT", str(count)), text=True)
    return path


def virtual(model, flaws, *command, seed=0):
    got = run(TARE, "run", "--cpu", model, "--flaws", flaws, "--seed", str(seed), "--", *command, env=ENV)
    check(got.returncode == 0, model, flaws, command, got.stderr)
    return got.stdout


def stat(model, flaws, events, *command, seed=0):
    """{event: value} as tare's own hardware path counts them on that model."""
    out = os.path.join(folder, "stat.json")
    virtual(model, flaws, TARE, "stat", "--backend", "hw", "-j", "-o", out, "-e", ",".join(events), "--",
            *command, seed=seed)
    return {c["event"]: c["value"] for c in json.load(open(out))["runs"][0]["counts"]}


def faults():
    """They are the kernel's: 10,000 new pages are so many counts, and taking them out leaves the truth."""
    gross, net = "instructions:u", "instructions-minus-page-faults:u"
    refused = cli.perf_refused(TARE)
    if refused:
        skipped("-minus-page-faults", refused)
    for model, n in ("skylake", 1), ("k10", 3):
        true = stat(model, "", [gross], PAGES, "10000")[gross]
        few, many = (stat(model, f"faults={n}", [gross], PAGES, pages)[gross]
                     for pages in ("1", "10000"))
        plain = [stat(model, "", [gross], PAGES, pages)[gross] for pages in ("1", "10000")]
        check(many - few - (plain[1] - plain[0]) >= 9999 * n, model, many, few, plain)
        if not refused and n == 1:
            got = stat(model, "faults", [gross, "page-faults:u", net], PAGES, "10000", "50")
            true = stat(model, "", [gross], PAGES, "10000", "50")[gross]
            check(got["page-faults:u"] > 10050 and got[gross] - got["page-faults:u"] == got[net] == true,
                  model, got, true)
    # Zen's 0x0420 counts both kinds
    for model in "zen1", "zen2":
        events = [gross, "r0420:u", "r002c:u", "instructions-minus-r0420:u"]
        true = stat(model, "", [gross], PAGES, "3000")[gross]
        got = stat(model, "faults,interrupts=100000", events, PAGES, "3000", seed=3)
        check(got["r0420:u"] - got["r002c:u"] > 3000 and got["r002c:u"] > 0, model, got)
        check(got[gross] - got["r0420:u"] == got[events[3]] == true, model, got, true)


def proc_interrupts():
    """/proc/interrupts has the virtual interrupts, and no others. (That it has these to the last one is
    tested by vpmu-interrupts: when `tare stat` first looks there, the command runs already.)"""
    loop = assembled(count=3000000)
    for model, event in ("skylake", "r01cb:u"), ("zen2", "r002c:u"):
        net = "instructions-minus-proc-interrupts:u"
        true = stat(model, "", ["instructions:u", net], loop)
        check(true[net] == true["instructions:u"], model, "without flaws there are no interrupts", true)
        for seed in 1, 2:
            got = stat(model, "interrupts=50000", ["instructions:u", event, net], loop, seed=seed)
            check(got[event] > 50 and got["instructions:u"] - got[event] == true[net], model, got)
    text = virtual("zen2", "", "sh", "-c", "cat /proc/interrupts; cat /proc/self/../interrupts; wc -l "
                   "</proc/interrupts")
    half = text.splitlines()[:-1]
    check(half[:len(half) // 2] == half[len(half) // 2:], "the numbers of the machine stand still")
    check(any(re.match(r" *LOC:( +\d+)+ +Local timer", line) for line in half), text)


def codes():
    """Every code opens; most count nothing; what one counts is the model's own and does not change."""
    seen = {}
    for model in "zen2", "skylake", "zen3":
        lines = virtual(model, "", CODES, "0", "ff").splitlines()
        check(virtual(model, "", CODES, "0", "ff").splitlines() == lines, model, "two runs differ")
        opened, refused, zero = (int(n) for n in re.findall(r"\d+", lines[-1]))
        check(opened + refused == 2561 and refused < 40 and 0.7 < zero / opened < 0.97, model, lines[-1])
        seen[model] = {a: b for a, b in (line.split() for line in lines[:-1])}
        named = {e["encoding"]["config"] for e in json.loads(
            run(TARE, "list", "--cpu", model, "--json").stdout)["events"]
            if e["encoding"] and e["encoding"]["type"] == 4}
        for code, n in seen[model].items():
            check(n != "refused" or int(code, 16) in named or code in ("0076", "003c", "013c", "0300"),
                  model, code, "an unnamed code was refused")
    shared = set(seen["zen2"].items()) & set(seen["zen3"].items())
    unnamed = [c for c, n in seen["zen2"].items() if n != "refused"]
    check(len(shared) < len(unnamed) / 2, "zen2 and zen3 have the same codes", len(shared), len(unnamed))
    # all bits of the mask find the sub-event that the table names
    lines = dict(line.split(" ", 1) for line in virtual("zen2", "interrupts=1000000", CODES, "20", "20")
                 .splitlines())
    check(2 * int(lines["ff20"]) > int(lines["0420"]) > 5, lines)
    # such a count is nothing that tare calls exact
    out = virtual("zen2", "", TARE, "stat", "-j", "-o", "-", "--backend", "hw", "-e", "r00c0:u,r77f3:u",
                  "--", "true")
    provenance = [c["provenance"] for c in json.loads(out)["runs"][0]["counts"]]
    check(provenance == ["exact", "simulated"], provenance)


with tempfile.TemporaryDirectory() as folder:
    faults()
    proc_interrupts()
    codes()
cli.finish()
