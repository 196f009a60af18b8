#!/usr/bin/env python3
"""tare verify --experiment generated: instructions that an event counts wrongly are found among all
that this CPU runs. usage: verify-generated.py TARE PAGES"""
import json, re, sys
from cli import check, check_schema, finish, need_engine, run

tare = sys.argv[1]
need_engine(tare)
verify = (tare, "verify", "-j", "--experiment", "generated", "--kernel", "nops")


def report(*args, run_args=()):
    words = (tare, "run", *run_args, "--", *verify, *args) if run_args else (*verify, *args)
    p = run(*words, timeout=600)
    r = json.loads(p.stdout)
    check_schema(r, "tare.verify-1")
    return r, {f["event"]: f for f in r["findings"] if f["experiment"] == "generated"}


def causes(r, event):
    (row,) = (x for x in r["events"] if x["event"] == event)
    return {c["instruction"]: c["amount"] for c in row["causes"]}


# The engine counts every instruction as the decoder says.
r, found = report("--backend", "soft")
check(found and all(f["verdict"] == "good" and f["numbers"]["difference"] == 0 for f in found.values()), found)
check(all(f["numbers"]["forms"] > 1000 for f in found.values()), found)

# A flawless PMU is clean, whatever the seed.
for seed in "0", "7":
    r, found = report("--quick", "--seed", seed, run_args=("--cpu", "zen2"))
    check(len(found) >= 5 and all(f["verdict"] == "good" for f in found.values()), seed, found)
    check(not any(row["causes"] for row in r["events"]), seed, r["events"])

# Nehalem's flaws, as the paper has them: these and no others are named, with what they count.
loads, stores = "MEM_INST_RETIRED.LOADS:u", "MEM_INST_RETIRED.STORES:u"
for seed in "1", "2":
    r, found = report("--seed", seed, "-e", f"{loads},{stores}", run_args=("--cpu", "nehalem", "--flaws", "overcount"))
    padd = {f"{p}0F {op} m": -1.0 for p in ("", "66 ") for op in ("D4", "FC", "FD")}
    check(causes(r, loads) == padd, seed, causes(r, loads))
    fences = {"0F AE /6 r": 1.0, "0F AE /7 r": 1.0, "0F AE /7 m": 1.0}
    check(causes(r, stores) == fences, seed, causes(r, stores))
    check(all(f["verdict"] == "caveat" for f in found.values()) and len(found) == 2, found)

# An instruction that the generator itself puts behind many others: it is named, and no others are.
for amount in 1, -1:
    for quick in (), ("--quick",):
        r, found = report("-e", "instructions:u,branches:u", *quick,
                          run_args=("--cpu", "zen2", "--flaws", f"insn=0f77:{amount}"))
        check(causes(r, "instructions:u") == {"0F 77": amount} and not causes(r, "branches:u"), quick, r["events"])
        check([e["word"] for e in r["events"]] == ["DM"[amount < 0], "DETERMINISTIC"], quick, r["events"])
        check(found["instructions:u"]["verdict"] == "caveat" and found["branches:u"]["verdict"] == "good", found)
        n, text = found["branches:u"]["numbers"], found["branches:u"]["text"]
        all_forms = re.search(r"sequences of (\d+ of )?(\d+) instructions", text)
        check(int(all_forms[2]) // (10 if quick else 1) == n["forms"] and bool(all_forms[1]) == bool(quick), text, n)
# Many forms of one opcode do not hide other ones.
r, found = report("-e", "instructions:u", "--seed", "99", run_args=("--cpu", "zen4", "--flaws", "insn=vex0f58,fldcw"))
got = causes(r, "instructions:u")
check({"0F 77", "0F AE /6 r", "0F AE /7 r", "66 0F 2C m", "66 0F 2D m"} ==
      {name for name in got if not name.startswith(("VEX", "EVEX"))} and set(got.values()) == {1}, got)
check("at least" not in found["instructions:u"]["text"], found)
# Two micro-operations for each, and some at random: no instruction is to blame, and nothing is good. Whatever the
# sequences are that come first.
for seed in 0, 1, 2, 3:
    r, found = report("-e", "loads:u", "--quick", "--seed", str(seed), run_args=("--cpu", "nehalem", "--flaws", "micro-ops"))
    check(r["events"][0]["word"] == "?" and not r["events"][0]["causes"] and "not tried: lazy-fp, instructions" in
          (r["events"][0]["reason"] or ""), seed, r["events"])
# Locked instructions after which anything is counted again: no single one is to blame, and nothing is good.
r, found = report("-e", "instructions:u", run_args=("--cpu", "zen2", "--flaws", "speclockmap=64"))
check(r["events"][0]["word"] == "?" and not causes(r, "instructions:u"), r["events"])
check(found["instructions:u"]["verdict"] == "caveat", found)
# Exceptions depend on what came before: no instruction is blamed for them, and the others are found all the same.
r, found = report("-e", "instructions:u", run_args=("--cpu", "nehalem", "--flaws", "exceptions=2,insn=f5,interrupts=30000,faults=2"))
row = r["events"][0]
check(row["word"] == "hpED" and causes(r, "instructions:u")["F5"] == 1, row)
check([c["instruction"] for c in row["causes"] if c["letter"] == "D"] == ["F5"], row["causes"])
check("no floating point" in found["instructions:u"]["text"], found)
# A register that counts wrongly is none of the instructions' faults; counters that are taken away leave no verdict.
r, found = report("--quick", "-e", "instructions:u", run_args=("--cpu", "core2", "--flaws", "register=0:3"))
check(r["events"][0]["word"] == "DETERMINISTIC" and found["instructions:u"]["verdict"] == "good", r["events"], found)
finish()
