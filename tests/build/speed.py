#!/usr/bin/env python3
"""docs/speed.md is what bench/speed_page.py makes of bench/results; each geometric mean is of the rows above it,
and leaves out no program of bench/suite.py without naming it. usage: speed.py SOURCE"""
import math, re, sys

source, bad = sys.argv[1], 0
sys.path.insert(0, f"{source}/bench")
sys.dont_write_bytecode = True
import speed_page  # noqa: E402
import suite  # noqa: E402


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)


def check_table(rows, said):
    """A table of ratios: its rows, and the sentence behind it."""
    head, programs, means = rows[0], rows[2:-1], rows[-1]
    for k in range(1, len(head)):
        values = [float(r[k]) for r in programs if r[k] != "–"]
        mean = math.exp(sum(map(math.log, values)) / len(values))
        # the rows are rounded to two digits
        check(abs(mean - float(means[k])) <= 0.01 + mean * 0.005, head[k], mean, means[k])
        lacks = re.search(re.escape(f"that of {head[k]} lacks ") + r"([^;.]*)", said)
        named = lacks[1].split(", ") if lacks else []
        there = [r[0] for r in programs if r[k] != "–"]
        check(sorted(named) == sorted(n for n, _ in suite.SUITE if n not in there), head[k], "lacks", named)


text = open(f"{source}/docs/speed.md").read()
check(text == speed_page.page(speed_page.load(f"{source}/bench/results")),
      "docs/speed.md is not what bench/speed_page.py makes of bench/results")
tables = re.findall(r"((?:^\|.*\n)+)\n(The geometric means .*\.)$", text, re.M)
check(len(tables) >= 2, "tables with a mean:", len(tables))
for rows, said in tables:
    check_table([[c.strip(" *") for c in line.strip("|").split("|")] for line in rows.splitlines()], said)
print(f"{bad} checks failed" if bad else f"{len(tables)} tables, all checks passed")
sys.exit(bad != 0)
