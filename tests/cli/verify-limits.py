#!/usr/bin/env python3
"""The detection limits that tare verify prints: a flaw above them is found, below them there is at most no verdict, and
no verdict of `deterministic` where anything deviates. For each kind of flaw, in several sizes around the limit, on a
quiet CPU and on one with many interrupts.

usage: verify-limits.py TARE
"""
import json, re, sys

from cli import check, check_schema, finish, need_engine, run

tare = sys.argv[1]
need_engine(tare)
NOISE = ",interrupts=30000"


def verify(flaws, *experiments, cpu="zen2", events="instructions:u", kernels=("nops",), args=()):
    words = [w for k in kernels for w in ("--kernel", k)] + [w for e in experiments for w in ("--experiment", e)]
    p = run(tare, "run", "--cpu", cpu, *(("--flaws", flaws) if flaws else ()), "--", tare, "verify", "-j", "--quick", "-e",
            events, *words, *args)
    check(p.stdout, flaws, p.returncode, p.stderr)
    r = json.loads(p.stdout)
    check_schema(r, "tare.verify-1")
    return r


def finding(report, experiment):
    return next(f for f in report["findings"] if f["experiment"] == experiment and f["event"])


# ---- events: what one execution, fault, exception, interrupt adds ----

CAUSES = "page-faults", "interrupts", "exceptions", "lazy-fp", "instructions"
KERNELS = "nops", "int_arith", "int_logic", "x87", "sse1", "cpuid_misc", "pages", "fp_exceptions"


def check_row(row, letters, *what):
    """A deviation above the limit in a kernel has its letter; below it the event is not called deterministic."""
    above = [s["kernel"] for s in row["sections"] if abs(s["mean"] - s["expected"]) > s["limit"] * s["passes"]]
    check(row["limit"] == max(s["limit"] for s in row["sections"]), *what, row["limit"])
    check(set(row["letters"]) <= set(letters), *what, "false alarm:", row["letters"], row["causes"])
    check(not above or row["verdict"] == "deviates", *what, "missed in", above, row["word"], row["reason"])
    if row["verdict"] == "deterministic":
        check(row["difference"] == 0 == row["distance"] or letters == "F", *what, row)
    elif row["verdict"] == "inconclusive":
        check(not above and "below the detection limit" in row["reason"], *what, row["reason"])
    return bool(above), row["verdict"]


def one_more_of_each():
    """The least that a cause can add: one, or one less. It is above every limit, also under noise."""
    for flaws, letters, cpu in (("faults=1", "p", "nehalem"), ("exceptions=1", "E", "nehalem"),
                                ("first-fp=1", "F", "nehalem"), ("insn=cpuid:1", "D", "zen2"),
                                ("insn=bswap:-1", "M", "zen2"), ("micro-ops=1", "U", "nehalem")):
        for noise in "", NOISE:
            events = "loads:u" if letters == "U" else "instructions:u"
            r = verify(flaws + noise, *CAUSES, cpu=cpu, events=events, kernels=available)
            row = r["events"][0]
            want = ("h" if noise and letters != "U" else "") + letters
            if letters == "U":
                check(row["letters"] in ("U", "hU"), flaws, noise, row["letters"])
            else:
                check_row(row, want, flaws, noise)
                check(row["letters"] == want and row["word"] == want, flaws, noise, row["letters"], row["reason"])


def seldom():
    """What comes seldom: an interrupt that is not counted, one locked instruction of many."""
    seen = set()
    for n in 2, 8, 16, 32, 64, 256, 2000:
        r = verify(f"interrupts=3000,undercount={n}", *CAUSES, events="instructions:u,instructions-minus-irqs:u",
                   kernels=available)
        check_row(r["events"][0], "h", "undercount", n)
        seen.add(check_row(r["events"][1], "h", "undercount", n, "corrected")[1])
    check(seen >= {"deviates", "inconclusive"}, "undercount: not on both sides of the limit", seen)
    seen = set()
    for n in 50, 2000, 20000, 100000, 1000000:
        r = verify(f"speclockmap={n}", *CAUSES, events="instructions:u,branches:u", kernels=("nops", "cpuid_misc", "int_arith"))
        for row in r["events"]:
            seen.add(check_row(row, "D", "speclockmap", n)[1])
    check("deviates" in seen and len(seen) > 1, "speclockmap: not on both sides of the limit", seen)
    for n in 10, 100, 1000, 30000:
        row = verify(f"interrupts={n}", *CAUSES, kernels=available)["events"][0]
        check_row(row, "h", "interrupts", n)


# ---- registers and surroundings: two counts of the same code ----

def registers():
    """One of N events more on a register: N around the limit that a clean one prints."""
    good = finding(verify("", "registers"), "registers")
    limit = int(re.search(r"1 in ([\d,]+) would show", good["text"])[1].replace(",", ""))
    check(abs(good["numbers"]["limit"] * limit - 1) < 0.001, good)
    for noise in "", NOISE:
        for part in 0.1, 0.5, 0.9, 1, 1.5, 3, 30:
            n = int(limit * part)
            f = finding(verify(f"register=1:{n}{noise}", "registers"), "registers")
            if f["verdict"] == "bad":
                check(f["numbers"]["worst_register"] == 1, n, noise, f)
            elif f["verdict"] == "good":        # then the report says that it would not have seen that
                shows = int(re.search(r"1 in ([\d,]+) would show", f["text"])[1].replace(",", ""))
                check(n > shows, "missed:", n, noise, f)
            else:
                check("inconclusive" in f["text"] and (part > 1 or noise), n, noise, f)
            check(part > 1 or noise or f["verdict"] == "bad", "above the limit", n, f)


def widths():
    """A register with as many bits as would show is found; one more is not called good beyond that."""
    bits = int(re.search(r"up to (\d+) bits", finding(verify("", "wrap"), "wrap")["text"])[1])
    for n in 16, bits - 1, bits, bits + 1, bits + 4:
        for noise in "", NOISE:
            f = finding(verify(f"narrow={n}{noise}", "wrap"), "wrap")
            if n <= bits:
                check(f["verdict"] == "bad" and f["numbers"]["measured_width"] == n, n, noise, f)
            else:
                shown = re.search(r"up to (\d+) bits", f["text"])
                check(f["verdict"] == "good" and int(shown[1]) < n or f["numbers"].get("measured_width") == n, n, noise, f)


def surroundings():
    """The least amount, one, of what a move, a context switch or an early read adds."""
    for flaw, experiment in ("migration", "migration"), ("crowded", "threads"), ("early-reads", "serialisers"):
        for n in 1, 2, 30:
            for noise in "", NOISE:
                f = finding(verify(f"{flaw}={n}{noise}", experiment), experiment)
                if f["verdict"] == "info":      # no verdict, which noise can explain
                    check(noise and n == 1 and "inconclusive" in f["text"], flaw, n, f)
                else:
                    check(f["verdict"] != "good", flaw, n, noise, "missed:", f)
                if flaw == "crowded" and f["verdict"] == "bad" and not noise:
                    check(f["numbers"].get("per_switch") == n, flaw, n, "per switch:", f)
        for noise in "", NOISE[1:]:
            f = finding(verify(noise, experiment), experiment)
            check(f["verdict"] in ("good", "info"), flaw, "false alarm", noise, f)


listed = run(tare, "verify", "--list").stdout
available = [k for k in KERNELS if re.search(rf"^\s*{k}\s", listed, re.M)]
check(len(available) >= 6, available, listed)
one_more_of_each()
seldom()
registers()
widths()
surroundings()
finish()
