#!/usr/bin/env python3
"""The geometric means of docs/speed.md are of the rows above them, and leave out no program of
bench/suite.py without naming it. usage: speed.py SOURCE"""
import math, re, sys

source, bad = sys.argv[1], 0
sys.path.insert(0, f"{source}/bench")
sys.dont_write_bytecode = True
import suite  # noqa: E402


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)


text = open(f"{source}/docs/speed.md").read()
rows = [[c.strip(" *") for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
head, end = rows[0], next(i for i, r in enumerate(rows) if r[0] == "geometric mean")
programs, means = rows[2:end], rows[end]
said = re.search(r"^The geometric means are over all programs of the table.*?\.$", text, re.M | re.S)
check(said, "no sentence about what the means leave out")
for name, _ in suite.SUITE:
    check(name in [r[0] for r in programs] or name in said[0], "neither measured nor named:", name)
for k in range(2, len(head)):
    values = [float(r[k]) for r in programs if r[k] != "–"]
    mean = math.exp(sum(map(math.log, values)) / len(values))
    # the rows are rounded to two digits
    check(abs(mean - float(means[k])) <= 0.01 + mean * 0.005, head[k], mean, means[k])
    for r in programs:
        check(r[k] != "–" or r[0] in said[0], r[0], "has no", head[k], "and is not named")
print(f"{bad} checks failed" if bad else f"{len(programs)} programs, all checks passed")
sys.exit(bad != 0)
