#!/usr/bin/env python3
"""tare bench: an inline read costs some 11 instructions, a corrected pair 20, whatever the CPU.

usage: bench.py TARE
"""
import json, os, sys

from cli import check, check_schema, finish, need_engine, run

tare = os.path.abspath(sys.argv[1])
need_engine(tare)


def bench(*before):
    p = run(*before, tare, "bench", "-j", "-n", "1000", "-r", "3")
    check(p.returncode == 0, before, p.returncode, p.stderr)
    doc = json.loads(p.stdout)
    check_schema(doc, "tare.bench-1")
    check(doc["reads"] == 1000 and doc["runs"] == 3 and doc["rows"][0]["counter"] is None, doc["rows"][0])
    return doc, {(r["counter"], r["path"], r["serializer"]): r for r in doc["rows"]}


for cpu, flaws in ("zen2", ""), ("skylake", "interrupts=100000"), ("sapphirerapids", ""):
    doc, rows = bench(tare, "run", "--cpu", cpu, "--flaws", flaws, "--")
    check(doc["counted_by"] == "instructions-minus-irqs:u" and doc["simulated"], cpu, doc["counted_by"])
    # Up to three more: a read takes registers, so a compiler may keep a pointer or the loop's number
    # in memory (tests/func/counter-steps.c counts the read alone).
    for counter, least, most in ("instructions:u", 11, 14), ("instructions-minus-irqs:u", 20, 23):
        found = [r for (c, p, _), r in rows.items() if (c, p) == (counter, "rdpmc") and r["measured"]]
        check(found and found[0]["serializer"] == "lfence", cpu, counter, found)
        check(found and least <= round(found[0]["instructions"], 1) <= most, cpu, counter, found)
        read = rows[(counter, "read", None)]
        check(read["measured"] and read["instructions"] > 50 and read["ns"] > 0, cpu, counter, read)
    kinds = {s: r for (c, p, s), r in rows.items() if (c, p) == ("instructions:u", "rdpmc")}
    check(kinds["cpuid"]["measured"] and kinds["mfence"]["measured"] and kinds["none"]["measured"], cpu, kinds)
    check(kinds["cpuid"]["instructions"] > kinds["none"]["instructions"] > 11, cpu, kinds)
    check(kinds["serialize"]["measured"] or "serialize" in kinds["serialize"]["missing"], cpu, kinds["serialize"])
    check(rows[("wall-time", "clock", None)]["measured"] and rows[("zero", "zero", None)]["measured"], cpu)

# A counter that counts nothing, that is too narrow, or whose register counts wrongly, also only while the counter that
# is read holds the first one: no number of instructions.
for flaws, why in ("dead=instructions", "counts nothing of a loop"), ("narrow=16", "of a loop of"), \
        ("register=0", "of a loop of"), ("register=1", "beside another counter"), ("register=2", "beside another counter"):
    doc, rows = bench(tare, "run", "--cpu", "zen2", "--flaws", flaws, "--")
    check(doc["counted_by"] is None and why in doc["why_not"], flaws, doc["counted_by"], doc["why_not"])
    check(all(r["instructions"] is None and r["total"] is None for r in doc["rows"]), flaws, doc["rows"])
    p = run(tare, "run", "--cpu", "zen2", "--flaws", flaws, "--", tare, "bench", "-n", "1000", "-r", "3")
    check(why in p.stdout and "tare run -- tare bench" not in p.stdout, "it is in a virtual PMU already", p.stdout)
# Counters that are taken away: each row that is missing says why, and a reason stands once. (At some times no
# counter counts, and then there is none free afterwards.)
said = ""
for ms in range(1, 9):
    p = run(tare, "run", "--cpu", "zen2", "--flaws", f"stolen={ms}", "--", tare, "bench", "-n", "5000", "-r", "5")
    reasons = [l.split(": ", 2)[2] for l in p.stdout.splitlines() if l.startswith("not measured: ")]
    check(all(reasons) and len(reasons) == len(set(reasons)), ms, p.stdout)
    said += p.stdout
check("the counter was taken away during the measurement" in said, said)
p = run(tare, "run", "--cpu", "zen2", "--", tare, "bench", "-n", "1", "-r", "1")
check(p.stdout.startswith("1 read, 1 run; "), p.stdout)

# On this machine, whatever it has: the clock and nothing.
doc, rows = bench()
check(rows[("wall-time", "clock", None)]["measured"] and rows[("zero", "zero", None)]["measured"], rows)
check((doc["counted_by"] is None) == bool(doc["why_not"]), doc["why_not"])
for r in doc["rows"]:
    check(r["measured"] != bool(r["missing"]), r)
p = run(tare, "bench", "-n", "10", "-r", "1")
check(p.returncode == 0 and "PER READ" in p.stdout, p.stdout)
check(doc["counted_by"] or "tare run -- tare bench" in p.stdout, p.stdout)

for args, status, word in (["operand"], 125, "operand"), (["-n", "x"], 125, "x"), \
        (["-n", "99999999999"], 125, "99999999999"), (["-r", "99999"], 125, "99999"), \
        (["-n", "0"], 125, "\"0\""), (["-r", "0"], 125, "\"0\""):
    p = run(tare, "bench", *args)
    check(p.returncode == status and word in p.stderr and not p.stdout, args, p.returncode, p.stderr)
finish()
