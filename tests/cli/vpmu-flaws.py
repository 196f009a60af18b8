#!/usr/bin/env python3
"""What the flaws of a virtual PMU add, to the last count.

usage: vpmu-flaws.py TARE PAGES CODES PAIR
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli  # noqa: E402
from cli import check, check_schema, run, skipped  # noqa: E402

TARE, PAGES, CODES, PAIR = (os.path.abspath(a) for a in sys.argv[1:5])
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}
LOOP = """
	.globl _start
_start:	mov $COUNT, %r15d
1:	lea room(%rip), %rdi
	THIS
	dec %r15d
	jnz 1b
	xor %edi, %edi
	mov $231, %eax
	syscall
	.bss
	.balign 64
	.globl room
room:	.skip 4096
"""


SIGNALS = r"""
#include <signal.h>
static void on_signal(int n)
{
	(void)n;
	__asm__ volatile("fld1\n fstp %st(0)");
}
int main(void)
{
	signal(SIGUSR1, on_signal);
	__asm__ volatile("fld1\n fldz\n fdivrp %st, %st(1)\n fstp %st(0)");
	for (int i = 0; i < 10; i++) {
		raise(SIGUSR1);
		__asm__ volatile("fld1\n fstp %st(0)");
	}
	return 0;
}
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
        few, many = (stat(model, f"faults={n}", [gross], PAGES, pages)[gross]
                     for pages in ("1", "10000"))
        plain = [stat(model, "", [gross], PAGES, pages)[gross] for pages in ("1", "10000")]
        # (the engine's own faults are among them, and vary by a few)
        check(many - few - (plain[1] - plain[0]) >= 9900 * n, model, many, few, plain)
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
        check(got["r0420:u"] - got["r002c:u"] >= 3000 and got["r002c:u"] > 0, model, got)
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


def per_round(model, flaws, event, this, seed=0):
    """What the flaws add to the event in each of 1000 rounds."""
    loop = assembled(this)
    with_flaws, true = (stat(model, f, [event], loop, seed=seed)[event] for f in (flaws, ""))
    return (with_flaws - true) / 1000


def causes():
    insns = "instructions:u"
    x87 = "fninit\n fld1\n fldz\n fdivrp\n fnclex"
    sse = "xorps %xmm0, %xmm0\n movups %xmm0, (%rdi)\n movl $0x1f80, (%rdi)\n ldmxcsr (%rdi)\n divps %xmm0, %xmm0"
    for this, flaws, adds in (
            (x87, "exceptions", 1), (x87, "exceptions=3", 3), ("fninit\n fld1\n fstp %st", "exceptions", 0),
            (sse, "exceptions", 1), ("xorps %xmm0, %xmm0\n addps %xmm0, %xmm0", "exceptions", 0),
            ("fninit\n fld1\n fldpi\n fdivrp\n fnclex", "exceptions", 0),    # inexact
            # two flags that one instruction sets are one exception; a flag that is set already, none
            ("fld1\n fldz\n fdivrp\n fstp %st", "exceptions", 0.001),
            # loading flags is no exception
            ("fninit\n fnstenv (%rdi)\n orl $4, 4(%rdi)\n fldenv (%rdi)\n fnclex", "exceptions", 0),
            (x87, "first-fp", 0.001), (x87, "first-fp=7", 0.007), ("nop", "first-fp", 0),
            ("movups (%rdi), %xmm0", "first-fp", 0), ("mulss %xmm0, %xmm0", "first-fp", 0.001),
            ("bswap %rax\n bswap %r9d", "insn=bswap", 2), ("bswap %rax", "insn=0fc8", 1),
            ("bswap %rbx", "insn=0fc8", 0), ("cmc", "insn=cmc:-1", -1), ("cmc", "insn=f5:100", 100),
            ("fldcw (%rdi)", "insn=fldcw", 1), ("fnstcw (%rdi)", "insn=d9/7:2", 2), ("fnstcw (%rdi)", "insn=d9/5", 0),
            ("addpd %xmm0, %xmm0", "insn=addpd", 1), ("addps %xmm0, %xmm0", "insn=addpd", 0),
            ("addsd %xmm0, %xmm0", "insn=addps", 0), ("rep stosb", "insn=stos", 1)):
        this = "xor %ecx, %ecx\n " + this if "rep" in this else this
        got = per_round("skylake", flaws, insns, this)
        check(got == adds, this, flaws, got, "want", adds)
    # nor is a signal handler, which begins without flags and ends with those from before
    path = os.path.join(folder, "signals")
    subprocess.run(["cc", "-O1", "-o", path, "-xc", "-"], check=True, text=True, input=SIGNALS)
    true, got = (stat("skylake", f, [insns], path)[insns] for f in ("", "exceptions"))
    check(got - true == 1, "exceptions and signals", got, true)
    # the other events do not change, and the clock neither
    check(per_round("skylake", "insn=bswap:100", "branches:u", "bswap %rax") == 0)
    loop = assembled(count=100000)
    true = stat("zen2", "", [insns, "branches:u"], loop)
    got = stat("zen2", "dead=branches", [insns, "branches:u"], loop)
    check(got == {insns: true[insns], "branches:u": 0}, "dead", got)
    got = stat("zen2", "dead=r00c0", [insns, "branches:u"], loop)
    check(got == {insns: 0, "branches:u": true["branches:u"]}, "dead", got)
    # the first event that is opened is on counter 0
    got = stat("zen2", "register=0:10", [insns, "branches:u"], loop)
    check(got == {insns: true[insns] + true[insns] // 10, "branches:u": true["branches:u"]}, "register", got, true)
    got = stat("zen2", "register=1:7", [insns, "branches:u"], loop)
    check(got == {insns: true[insns], "branches:u": true["branches:u"] + true["branches:u"] // 7}, got, true)
    got = stat("zen2", "narrow=10", [insns], loop)
    check(got[insns] == true[insns] % 1024, "narrow", got, true)
    one, two = (stat("skylake", "micro-ops=2", ["r81d0:u"], loop, seed=s)["r81d0:u"] for s in (1, 2))
    check(one != two and one > 0, "micro-ops are replayed at random", one, two)
    check(per_round("skylake", "micro-ops=2", "r81d0:u", "fld1\n fstp %st") >= 4)
    loop = assembled(count=3000000)
    got = stat("skylake", "interrupts=50000,undocumented=0x7712", ["r01cb:u", "r7712:u", insns], loop)
    true = stat("skylake", "", [insns], loop)[insns]
    check(got["r7712:u"] > 50 and got[insns] - got["r7712:u"] == true and got["r01cb:u"] != got["r7712:u"], got)


def pair():
    """An interrupt between the two reads of a pair makes their difference one too small, whether
    the CPU counts the interrupt or its iret: both have happened before the program goes on."""
    for model, code in ("skylake", "01cb"), ("zen2", "002c"):
        at, none = (int(n) for n in virtual(model, "", PAIR, code).split())
        check(none == 0, model, "no interrupts")
        for more in "", ",iret", ",entry":
            for n in range(at - 1, at + 7):
                base, irqs = (int(v) for v in virtual(model, f"interrupt-at={n}{more}", PAIR, code).split())
                want = (at + 1, 1) if n <= at else (at, 1) if n <= at + 4 else (at, 0)
                check((base, irqs) == want, model, n - at, base - at, irqs, more)
        base, irqs = (int(v) for v in virtual(model, f"interrupt-at=5:{at}:{at + 1}", PAIR, code).split())
        check((base, irqs) == (at + 2, 2), model, base - at, irqs)	# the event was opened after the first


def planted(model, flaws):
    got = run(TARE, "run", "--cpu", model, "--flaws", flaws, "--show-flaws")
    check(got.returncode == 0, flaws, got.stderr)
    r = json.loads(got.stdout)
    check_schema(r, "tare.flaws-1")
    return r["planted"]


def drawn():
    """--flaws random: what a seed plants is what is counted, and the command cannot read the seed."""
    seen, clean, tried = set(), 0, 0
    for seed in range(200):
        plan = planted("skylake", f"random:{seed}")
        if seed < 5:
            check(plan == planted("skylake", f"random:{seed}"), seed, "the same seed")
        clean += not plan
        seen |= {p["cause"] for p in plan}
        # of a seed that plants an instruction in this event, and nothing that comes by itself
        mine = [p for p in plan if p["cause"] == "instruction" and p["role"] == "instructions"]
        other = {p["cause"] for p in plan} & {"register", "narrow", "moved", "stolen", "speclockmap"}
        if mine and not other and tried < 4 and mine[0]["what"] in ("cmc", "stc", "clc", "bswap", "lahf", "sahf",
                "lfence", "mfence", "sfence", "fxch", "emms", "addps", "mulps", "maxps", "unpcklps", "rcpps", "sqrtps"):
            tried += 1
            what = mine[0]["what"]
            args = {"bswap": " %rax", "fxch": "", "emms": ""}.get(what, " %xmm0, %xmm1" if "ps" in what else "")
            got = []
            for this in what + args, "nop" + ("\n nop" if what == "" else ""):
                event = "r%04x:u" % mine[0]["code"]
                got.append(stat("skylake", f"random:{seed}", [event], assembled("addps %xmm2, %xmm2\n fld1\n fstp %st\n " + this, 3000))
                           [event])
            want = 3000 * sum(p["amount"] for p in mine if p["what"] == what)
            check(abs(got[0] - got[1] - want) < 300, seed, mine, got)
    check(tried, "no seed plants an instruction that can be tried")
    check(10 < clean < 60, "flawless seeds", clean)
    wanted = {"interrupt", "page-fault", "exception", "first-fp", "instruction", "micro-op", "replay", "iret", "dead",
              "entry", "migration", "switch", "early-read", "interrupts", "undocumented", "speclockmap", "contended", "register",
              "narrow", "wrap", "moved", "stolen", "watchdog"}
    check(seen == wanted, "causes", seen ^ wanted)
    text = virtual("skylake", "random:1234567", "sh", "-c",
                   "tr '\\0' ' ' </proc/$PPID/cmdline; env; cat /sys/devices/cpu/tare_simulated")
    check("1234567" not in text and text.endswith("flaws random\n"), text)
    for bad in "random:", "random:x", "random:1,wrap", "random:-1", "wrap,random:1":
        got = run(TARE, "run", "--flaws", bad, "--show-flaws")
        check(got.returncode == 125 and "random" in got.stderr, bad, got.stderr)
    names = {(p["role"], p["cause"], p["letter"], p["what"]) for p in planted("core2", "overcount,faults,insn=cmc:-1")}
    check(("branches", "instruction", "D", "cpuid") in names and ("instructions", "page-fault", "p", None) in names and
          ("instructions", "instruction", "M", "cmc") in names, names)
    check(planted("zen2", "") == [], "no flaws")


# Table 6 of the paper: instructions, branches, conditional branches, loads, stores; - : no such event
TABLE6 = {
    "bonnell": "hpEF hp - - -", "core2": "hpEF hpD p hpD .", "nehalem": "hpEF hp D hpM hpD",
    "westmere": "hpEF hp . hp hpD", "sandybridge": "hpEF hp . U U", "ivybridge": "hpEF hp . U U",
    "haswell": "hpEF hp . U U", "k10": "hpEFD hp - - -", "bobcat": "hpEFD hp - - -",
    # the results beside it
    "broadwell": "hp hp . U U", "jaguar": "hpD hp - - -", "bulldozer": "hpD hp - - -", "zen1": "hpD hp . - -",
    "skylake": "hp hp . hp D",
}


def paper():
    roles = (("instructions",), ("branches",), ("cond-branches",), ("loads", "load-uops"), ("stores", "store-uops"))
    for model, letters in TABLE6.items():
        plan = planted(model, "paper")
        for role, want in zip(roles, letters.split()):
            got = {p["letter"] for p in plan if p["role"] in role and p["letter"]}
            check(got == set(want) - set(".-"), model, role, got, want)
    loop = assembled("cpuid\n movups %xmm0, (%rdi)", 1000)
    # the events open, and count what they should
    got = stat("core2", "paper,interrupts=1", ["branches:u", "r01c0:u"], loop)
    true = stat("core2", "", ["branches:u", "r01c0:u"], loop)
    for event in "branches:u", "r01c0:u":
        check(1000 <= got[event] - true[event] < 1100, event, got, true)    # and the page faults of the program
    got = stat("core2", "paper", ["r008b:u", "r0fc2:u"], loop)
    check(got["r008b:u"] >= 1000 and got["r0fc2:u"] > 4000, got)
    got = stat("haswell", "paper", ["r81d0:u", "r82d0:u"], assembled("fld1\n fstpt (%rdi)"))
    check(got["r81d0:u"] >= 2000 and got["r82d0:u"] >= 3000, got)
    got = stat("bonnell", "paper,interrupts=100000", ["instructions:u", "r00c8:u"], assembled(count=300000))
    check(got["instructions:u"] > 900010 and got["r00c8:u"] == 0, got)


def refused():
    for flaws, word in (("insn=foo", "opcode"), ("insn", "wants a value"), ("insn=", "wants a value"), ("insn=cmc:0", "-1"),
                        ("insn=cmc:101", "100"), ("insn=0f0", "opcode"), ("insn=0fae/8", "opcode"), ("dead=foo", "role"),
                        ("dead=r0076", "role"), ("register=99", "0 to 5"), ("register=x", "0 to 5"), ("register=1:0", "1000000"),
                        ("interrupt-at=1:", "numbers"), ("interrupt-at=x", "numbers"), ("narrow=41", "40"),
                        ("interrupt-at=" + ":".join(["1"] * 17), "16"), ("iret=1", "no number"), ("undocumented=0xzz", "65535")):
        got = run(TARE, "run", "--cpu", "zen2", "--flaws", flaws, "--", "true")
        check(got.returncode == 125 and word in got.stderr, flaws, got.stderr)


with tempfile.TemporaryDirectory() as folder:
    faults()
    proc_interrupts()
    codes()
    causes()
    pair()
    drawn()
    paper()
    refused()
cli.finish()
