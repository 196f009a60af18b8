#!/usr/bin/env python3
"""The letters of the paper's Table 6 come out on models with the paper's flaws.

usage: verify-paper.py TARE PAGES [MODEL...]; all models without one
"""
import json, sys

from cli import check, check_schema, finish, need_engine, run

tare = sys.argv[1]
need_engine(tare)

# Table 6: total instructions, total branches, conditional branches, loads, stores. Pentium D is no model:
# its PMU counts with pairs of registers.
ROLES = ["instructions", "branches", "cond-branches", "loads", "stores"]
TABLE = {
    "bonnell": ["hpEF", "hp", "–", "–", "–"],
    "core2": ["hpEF", "hpD", "p", "hpD", "DETERMINISTIC"],
    "nehalem": ["hpEF", "hp", "D", "hpM", "hpD"],
    "westmere": ["hpEF", "hp", "DETERMINISTIC", "hp", "hpD"],
    "sandybridge": ["hpEF", "hp", "DETERMINISTIC", "U", "U"],
    "ivybridge": ["hpEF", "hp", "DETERMINISTIC", "U", "U"],
    "haswell": ["hpEF", "hp", "DETERMINISTIC", "U", "U"],
    "k10": ["hpEFD", "hp", "–", "–", "–"],
    "bobcat": ["hpEFD", "hp", "–", "–", "–"],
}
CAUSES = ["page-faults", "interrupts", "exceptions", "lazy-fp", "instructions"]
UOPS = {"loads": "load-uops", "stores": "store-uops"}


def verified(cpu):
    words = [w for name in CAUSES for w in ("--experiment", name)]
    p = run(tare, "run", "--cpu", cpu, "--flaws", "paper", "--", tare, "verify", "--quick", "-r", "5", "-j", *words,
            timeout=900)
    check(p.returncode in (0, 2) and p.stdout, cpu, p.returncode, p.stderr)
    report = json.loads(p.stdout)
    check_schema(report, "tare.verify-1")
    found = {}
    for e in report["events"]:
        found.setdefault(e["role"], e)
    return found


for cpu in sys.argv[3:] or TABLE:
    found = verified(cpu)
    for role, word in zip(ROLES, TABLE[cpu]):
        event = found.get(role) or found.get(UOPS.get(role))
        got = event["word"] if event else "–"
        check(got == word, cpu, role, "found", got, "Table 6 has", word, event and event["reason"],
              event and [(c["letter"], c["amount"], c["instruction"]) for c in event["causes"]][:6])
finish()
