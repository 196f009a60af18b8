#!/usr/bin/env python3
"""tare stat --mix: what it says, and what it refuses. (Its numbers: tests/engine/code-steps.py.)
usage: stat-mix.py TARE PAGES"""
import json, re, sys
from cli import check, check_schema, finish, need_engine, run

tare = sys.argv[1]
need_engine(tare)

p = run(tare, "stat", "--mix", "-e", "instructions:u", "true")
check(p.returncode == 0 and re.search(r"\n Opcodes of [\d,]+ instructions, exact:\n", p.stderr), p.stderr)
rows = re.findall(r"^ +([\d,]+) +[\d.]+ %  (.*)$", p.stderr, re.M)
check(len(rows) == 21 and re.search(r"\d+ others, which -j lists", rows[-1][1]), rows)
total = int(re.search(r"Opcodes of ([\d,]+)", p.stderr)[1].replace(",", ""))
check(sum(int(n.replace(",", "")) for n, _ in rows) == total, rows, total)

p = run(tare, "stat", "--mix", "-j", "-o", "-", "-r", "2", "-e", "instructions:u", "sh", "-c", "true; ls / >/dev/null")
r = json.loads(p.stdout)
check_schema(r, "tare.stat-1")
check(r["mix"]["instructions"] == r["runs"][1]["counts"][0]["value"], r["mix"]["instructions"], r["runs"][1])
runs = [o["runs"] for o in r["mix"]["opcodes"]]
check(sum(runs) == r["mix"]["instructions"] and runs == sorted(runs, reverse=True) and min(runs) > 0, runs)
check(len({o["opcode"] for o in r["mix"]["opcodes"]}) == len(runs), "an opcode twice")
check(r["backend"] == "soft", r["backend"])
check("mix" not in json.loads(run(tare, "stat", "--backend", "soft", "-j", "-o", "-", "true").stdout), "unasked")

# A part of the run: not exact.
p = run(tare, "stat", "--mix", "-j", "-o", "-", "-e", "instructions:u", "sh", "-c",
        "sh -c 'while :; do :; done' & sleep 0.1; kill -9 $!; wait")
r = json.loads(p.stdout)
check(r["mix"]["provenance"] == "incomplete", r["mix"]["provenance"])

for words, says in {("--backend", "hw"): "only the software engine sees opcodes", ("-x,",): "--json lists every",
                    ("-I", "100"): "cannot be combined", ("-n",): "cannot be combined",
                    ("-p", "1"): "wants a command"}.items():
    p = run(tare, "stat", "--mix", *words, "true")
    check(p.returncode == 125 and says in p.stderr and p.stderr.count("tare: ") == 1, words, p.stderr)
finish()
